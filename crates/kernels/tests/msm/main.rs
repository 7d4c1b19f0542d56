//! Multi-scalar multiplication against ark-ec, on every instruction set.

mod common;
mod plan;
mod points;
mod sums;

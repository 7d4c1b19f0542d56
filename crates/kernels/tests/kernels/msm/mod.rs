//! Multi-scalar multiplication compared with ark-ec, on every instruction set.

mod common;
mod fixed;
mod plan;
mod points;
mod stream;
mod sums;

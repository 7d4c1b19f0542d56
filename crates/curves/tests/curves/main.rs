//! Multi-scalar multiplication compared with ark-ec, on every instruction set.

mod common;
mod fixed;
#[path = "../../../primitives/tests/primitives/forced.rs"]
mod forced;
mod frozen;
mod mutation;
mod plan;
mod points;
mod stream;
mod sums;

//! Kernels compared with their definitions and with ark, on every instruction set.

mod counts;
mod fields;
#[path = "../../../primitives/tests/primitives/forced.rs"]
mod forced;
mod merkle;
mod merkle_stream;
mod merkle_update;
mod mle;
mod mutation;
mod ntt;
mod oracle;
mod schedule;
mod sumcheck;
mod tree_ops;

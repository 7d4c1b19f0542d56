//! Prime fields.

mod goldilocks;

pub(crate) use goldilocks::partial_reduce;

pub use goldilocks::{Goldilocks, NonCanonical};

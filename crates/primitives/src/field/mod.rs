//! Prime fields.

pub mod goldilocks;
pub mod prime;

pub(crate) use goldilocks::{EPSILON, fold, partial_reduce};

pub use goldilocks::{Goldilocks, NonCanonical};

//! Prime fields.

pub mod goldilocks;

pub(crate) use goldilocks::{EPSILON, fold, partial_reduce};

pub use goldilocks::{Goldilocks, NonCanonical};

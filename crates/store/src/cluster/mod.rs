//! Proving on other machines: what a worker receives, and how it proves.

mod payload;
mod work;

pub use crate::prove::graph;
pub use payload::{Payload, PayloadError, Stated};
pub use work::ProofWork;

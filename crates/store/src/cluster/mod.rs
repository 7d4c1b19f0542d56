//! Proving elsewhere: what a worker is sent, and what it does with it.

mod payload;
mod simulate;
mod work;

pub use crate::prove::graph;
pub use payload::{Payload, PayloadError, Stated};
pub use simulate::{Overheads, Simulated, simulate};
pub use work::ProofWork;

//! Proving on other machines: what a worker receives, and how it proves.

mod payload;
mod simulate;
mod work;

pub use crate::prove::graph;
pub use payload::{Payload, PayloadError, Stated};
pub use simulate::{Overheads, Simulated, simulate};
pub use work::ProofWork;

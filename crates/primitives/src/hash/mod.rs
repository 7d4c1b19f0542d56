//! Hashes over field elements.

mod digest;
pub mod poseidon;

pub use digest::{Digest, ParseDigestError};

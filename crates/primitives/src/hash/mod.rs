//! Hashes over field elements, and Keccak over bytes.

mod digest;
pub mod keccak;
pub mod poseidon;

pub use digest::{Digest, ParseDigestError};

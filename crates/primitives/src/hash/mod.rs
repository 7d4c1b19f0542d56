//! Hashes over field elements, and Keccak and BLAKE3 over bytes.

pub mod blake3;
mod digest;
pub mod keccak;
pub mod poseidon;
pub mod tree;

pub use digest::{Digest, ParseDigestError};

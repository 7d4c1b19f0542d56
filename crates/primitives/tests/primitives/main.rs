//! Lanes, fields and hashes against references, on every instruction set.

mod blake3;
mod extension;
mod fields;
mod forced;
mod goldilocks_lanes;
mod keccak;
mod lanes;
mod poseidon;
mod poseidon_lanes;
mod prime;

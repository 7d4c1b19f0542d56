//! The arithmetic on which everything else in Evergrove is built.
//!
//! **What.** [`Goldilocks`], the prime field of order p = 2^64 - 2^32 + 1; [`hash::poseidon`], the width-12 permutation of
//! Plonky2 over it and the sponge and compression functions built from it; [`Digest`], four field elements; [`lanes`], eight
//! 64-bit words at a time on the best instruction set of the CPU; [`field::prime`], prime fields of 253 to 381 bits on
//! these lanes; [`reed_solomon`], the errors from which soundness figures are computed.
//!
//! **When.** Whenever a leaf, a node or a proof is hashed or decoded. Nothing here spawns threads or panics on data, and only a
//! [`hash::blake3`] allocates.
//!
//! **Neighbours.** `evergrove-verifier` (formats and verification) and everything above it use this crate. It has no
//! dependencies, unless the feature `ark` adds the fields of ark-ff.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod field;
pub mod float;
pub mod hash;
pub mod lanes;
pub mod reed_solomon;

pub use field::Goldilocks;
pub use hash::Digest;

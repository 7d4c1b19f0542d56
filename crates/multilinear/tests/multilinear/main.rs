//! Multilinear proofs against their definitions, on every instruction set.

mod common;
mod poseidon;
mod zerocheck;

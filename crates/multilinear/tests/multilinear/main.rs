//! Multilinear proofs compared with their definitions, on every instruction set.

mod arithmetic;
mod checks;
mod circuit;
mod common;
mod count;
#[path = "../../../primitives/tests/primitives/forced.rs"]
mod forced;
mod keccak;
mod mutation;
mod points;
mod poseidon;
mod proof;
mod recursion;
mod stream;

//! Multilinear proofs over the Goldilocks field: the parts of a recursion engine of our own.
//!
//! **What.** [`zerocheck`]: that constraints hold on every row of a table, with the values of its columns at one point left to be
//! checked; [`poseidon`]: the table of Poseidon permutations and its constraints.
//!
//! **When.** Not yet: nothing outside tests and measurements uses this crate. `docs/math/zerocheck.md` has the protocol.
//!
//! **Neighbours.** `evergrove-primitives` has the fields in lanes, `evergrove-kernels` the transcript's traits and tables of eq.

#![forbid(unsafe_code)]

pub mod algebra;
pub mod circuit;
pub mod poseidon;
pub mod tables;
pub mod verifier;
pub mod zerocheck;

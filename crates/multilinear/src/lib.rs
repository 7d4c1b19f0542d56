//! Multilinear proofs over the Goldilocks field: the parts of a recursion engine of our own.
//!
//! **What.** [`tables`]: the rows that circuits are made of, with their constraints, written once against [`algebra`]; [`circuit`]: making
//! circuits and filling their columns; [`verifier`]: the verifier of a proof, for programs and for circuits; [`reference`](mod@reference): a prover by
//! the definitions; [`zerocheck`]: the prover that
//! constraints hold on every row of a table; [`poseidon`]: the permutations among the rows.
//!
//! **When.** Not yet: nothing outside tests and measurements uses this crate. `docs/math/circuits.md` has tables and protocol,
//! `docs/math/zerocheck.md` the zerocheck.
//!
//! **Neighbours.** `evergrove-primitives` has the fields in lanes, `evergrove-kernels` the transcript's traits and tables of eq.

#![forbid(unsafe_code)]

pub mod algebra;
pub mod circuit;
pub mod key;
pub mod poseidon;
pub mod prover;
pub mod recursion;
pub mod reference;
pub mod tables;
pub mod verifier;
pub mod whir;

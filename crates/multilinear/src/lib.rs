//! Multilinear proofs over the Goldilocks field: our own recursion engine.
//!
//! **What.** [`circuit`]: making circuits and filling their columns; [`prover`]: proofs; [`key`]: the data that a
//! verifier needs; [`recursion`]: proofs about proofs. [`reference`](mod@reference) is a prover by the definitions,
//! [`whir`] the prover's commitments and openings, [`poseidon`] the permutations among the rows, [`count`] the work of a
//! proof's steps.
//!
//! **When.** To prove a circuit, or proofs about proofs: `evergrove-grove` has the circuits of Reckle trees.
//! `docs/math/circuits.md` has tables and protocol, `docs/math/rows.md` the prover.
//!
//! **Neighbours.** `evergrove-verifier` has the tables with their constraints, and the verifier of a proof, for programs
//! and for circuits. `evergrove-primitives` has the fields in lanes, `evergrove-kernels` tables of eq, transforms and
//! Merkle trees.

#![forbid(unsafe_code)]

pub mod circuit;
pub mod count;
pub mod key;
pub mod poseidon;
pub mod prover;
pub mod recursion;
pub mod reference;
pub mod whir;
pub mod writer;

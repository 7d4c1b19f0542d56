//! Map/Reduce proofs: what a set of leaves comes to, proven and kept fresh like the leaves themselves.
//!
//! **What.** [`MapReduce`] is what an application writes: a map from a leaf to a list of field elements and an associative
//! reduction of two such lists, each as code and as a circuit. [`laws`] check that the two agree.
//!
//! **When.** A batch proof says "these rows are in the table"; with an application it also says what they come to: how
//! many, their sum, their aggregate key. [`samples`] has two small ones to start from, [`aggregate`] SQL's over the
//! columns of a table.
//!
//! **Neighbours.** Circuits are built with `evergrove_recursion::circuit`; batches, plans and stores are those of
//! `evergrove-commit` and `evergrove`, which know an application by its [`AppId`] and parameters alone.

#![forbid(unsafe_code)]

pub mod aggregate;
#[cfg(feature = "plonky2")]
pub mod bls;
pub mod catalog;
pub mod digest_translation;
#[cfg(feature = "plonky2")]
pub mod family;
#[cfg(feature = "plonky2")]
mod generators;
#[cfg(feature = "plonky2")]
pub mod laws;
mod map_reduce;
#[cfg(feature = "plonky2")]
pub mod nonnative;
mod on_tables;
pub mod samples;

pub use evergrove_proof::AppId;
#[cfg(feature = "plonky2")]
pub use map_reduce::LeafTargets;
pub use map_reduce::{Leaf, MapReduce, MapReduceError};
pub use on_tables::{OnTables, family_on_tables};

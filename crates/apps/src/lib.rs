//! Map/Reduce proofs: what a set of leaves comes to, proven and kept fresh like the leaves themselves.
//!
//! **What.** [`MapReduce`] is what an application writes: a map from a leaf to a list of field elements and an associative
//! reduction of two such lists, each as code and as a circuit. [`laws`] check that the two agree. A [`catalog::Catalog`] has the applications
//! that a program knows, those of other crates among them.
//!
//! **When.** A batch proof says "these rows are in the table"; with an application it also says what they come to: how
//! many, their sum, their aggregate key. [`samples`] has two small ones to start from, [`aggregate`] SQL's over the
//! columns of a table.
//!
//! **Neighbours.** Circuits are written with [`tables`], those of Plonky2 with `evergrove_recursion::circuit`; batches, plans and stores are
//! those of `evergrove-commit` and `evergrove`, which know an application by its [`AppId`] and parameters alone.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod bls;
pub mod catalog;
pub mod digest_translation;
#[cfg(feature = "plonky2")]
pub mod family;
#[cfg(feature = "plonky2")]
mod generators;
pub mod laws;
mod map_reduce;
#[cfg(feature = "plonky2")]
pub mod nonnative;
#[cfg(feature = "plonky2")]
mod on_plonky2;
mod on_tables;
pub mod samples;
pub mod tables;

pub use evergrove_verifier::AppId;
pub use map_reduce::{Leaf, MapReduce, MapReduceError};
#[cfg(feature = "plonky2")]
pub use on_plonky2::{LeafTargets, Plonky2Circuits};
pub use on_tables::{OnTables, family_on_tables};

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
//! **Neighbours.** Circuits are written with [`tables`]. Those of Plonky2, for the profiles of version 0.1, are in `evergrove_recursion::apps`. Batches, plans and stores are
//! those of `evergrove-commit` and `evergrove`, which know an application by its [`AppId`] and parameters alone.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod bls;
pub mod catalog;
pub mod digest_translation;
pub mod laws;
mod map_reduce;
mod on_tables;
pub mod samples;
pub mod tables;

pub use evergrove_verifier::AppId;
pub use map_reduce::{Leaf, MapReduce, MapReduceError};
pub use on_tables::{OnTables, family_on_tables, output};

//! Map/Reduce proofs: functions of a set of leaves, proven and updated like the leaves themselves.
//!
//! **What.** An application implements [`MapReduce`]: a map from a leaf to a list of field elements and an associative
//! reduction of two such lists, both as code and as circuits. [`laws`] checks that code and circuits agree. A
//! [`catalog::Catalog`] has the applications that a program knows, including those of other crates.
//!
//! **When.** A batch proof says "these rows are in the table". With an application it also states a function of the
//! rows: their number, their sum, their aggregate key. Start from the two small applications in [`samples`];
//! [`aggregate`] has SQL's aggregates over the columns of a table.
//!
//! **Neighbours.** Circuits are written with [`tables`]. The circuits for Plonky2, for the profiles of version 0.1, are
//! in `evergrove_plonky2::apps`. Batches, plans and stores are those of `evergrove-commit` and `evergrove`, which
//! know only the [`AppId`] and the parameters of an application.

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
pub use on_tables::{OnTables, circuits_on_tables, output};

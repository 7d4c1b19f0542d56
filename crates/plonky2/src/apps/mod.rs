//! The applications of `evergrove-apps` as circuits of Plonky2, for the profiles of version 0.1 and for comparison.
//!
//! **What.** [`Plonky2Circuits`] are map and reduction of an application as constraints. The four standard applications
//! have them: queries (`aggregate.rs`), sums of keys ([`bls`]) and the samples (`samples.rs`). [`circuits()`] finds
//! them by name and parameters. [`circuit_set`] builds bucket and merge around them. [`digest_translation`] has those of
//! digest translation, which is not a Map/Reduce application. [`OnPlonky2`] is an application that has such circuits:
//! its size, its keys and its prover. [`laws`] test circuits against the code.
//!
//! **When.** For the backend `plonky2`: proofs of the profiles `proven`, `johnson` and `paper`. New applications are
//! written on tables (`evergrove_apps::tables`) and have no such circuits.
//!
//! **Neighbours.** `evergrove_apps` has the definition of applications, their code, their catalog and their circuits on
//! tables, and does not depend on Plonky2. [`nonnative`] has the arithmetic for points of BLS12-381.

mod aggregate;
pub mod bls;
mod catalog;
pub mod circuit_set;
mod circuits;
pub mod digest_translation;
mod generators;
pub mod laws;
pub mod nonnative;
mod samples;

pub use catalog::OnPlonky2;
pub use circuits::{LeafTargets, Plonky2Circuits, circuits};

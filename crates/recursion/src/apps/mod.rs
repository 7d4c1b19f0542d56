//! The applications of `evergrove-apps` as circuits of Plonky2, for the profiles of version 0.1 and to compare with.
//!
//! **What.** [`Plonky2Circuits`] are map and reduction of an application as constraints. The four standard applications have them: queries (`aggregate.rs`), sums
//! of keys ([`bls`]) and the samples (`samples.rs`). [`circuits()`] finds them by name and parameters. [`family`] builds bucket and merge around them, and
//! [`digest_translation`] has those of digest translation, which is not a Map/Reduce application. [`OnPlonky2`] is an application that has such circuits: its size, its keys,
//! what proves it. [`laws`] test circuits against the code.
//!
//! **When.** For the backend `plonky2`: proofs of the profiles `proven`, `johnson` and `paper`. New applications are written on tables
//! (`evergrove_apps::tables`) and have none of these.
//!
//! **Neighbours.** What an application is, its code, its catalog and its circuits on tables are in `evergrove_apps`, which knows nothing of
//! Plonky2. [`nonnative`] has the arithmetic that points of BLS12-381 take.

mod aggregate;
pub mod bls;
mod catalog;
mod circuits;
pub mod digest_translation;
pub mod family;
mod generators;
pub mod laws;
pub mod nonnative;
mod samples;

pub use catalog::OnPlonky2;
pub use circuits::{LeafTargets, Plonky2Circuits, circuits};

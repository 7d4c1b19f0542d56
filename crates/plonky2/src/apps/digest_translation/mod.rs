//! Digest translation by Plonky2: the circuits of `evergrove_apps::digest_translation` for the tree of [`Format::Keccak`].
//!
//! A bucket of 2^k slots hashes both trees. A merge verifies the proofs of its children that are not empty and computes
//! the one node above them in both trees. The Keccak digest is the output.
//!
//! A bucket has the Keccak tree in a table of [`crate::stark`] that it verifies. The table's records, each a message
//! and its digest, are compared with the circuit's by a sum at a challenge. The challenge is drawn after the table's
//! commitment and after a digest of all wires from which the circuit's records are made.

#[cfg(test)]
mod attacks;
mod backend;
mod bucket;
mod circuits;
mod keccak;
mod monolithic;
pub mod soundness;

#[cfg(doc)]
use evergrove_apps::digest_translation::Format;

pub use backend::TranslationBackend;
pub use bucket::{BucketTargets, SlotTargets};
pub use circuits::{NodeMerge, Shape};
pub use keccak::KeccakTarget;
pub use monolithic::Monolithic;

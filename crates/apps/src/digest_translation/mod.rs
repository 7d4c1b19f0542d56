//! Digest translation: the Poseidon digest of a table and the Keccak digest of the same table, proven to belong together
//! (Reckle trees, section 4.1 and Fig. 7).
//!
//! **Statement.** For (C, K, H): there are 2^H slots, each a value of four canonical words or empty, of which C is the
//! Poseidon digest (`evergrove_proof::tree`) and K the Keccak digest ([`tree`]). All slots: nothing is left out.
//!
//! **How.** A [`Translator`] has the circuits of a profile. A bucket of 2^k slots hashes the Poseidon tree in its circuit, and
//! the Keccak tree in a table of `evergrove_recursion::stark` that it verifies; a merge verifies two proofs and computes the one
//! Keccak node above them itself. A [`Translation`] keeps the proofs of all nodes: a change makes one bucket and the merges above
//! it anew.
//!
//! **Binding.** The table's records, a message and its digest each, are compared with the circuit's by a sum at a challenge
//! that is drawn after the table's commitment and after a digest of everything that the circuit's records are made of.
//!
//! Not a [`crate::MapReduce`]: a tree of hashes has no neutral element and is not associative.

mod bucket;
mod circuits;
mod keccak;
mod monolithic;
mod prover;
mod soundness;
pub mod tree;

#[cfg(test)]
mod attacks;

pub use bucket::{BucketTargets, SlotTargets};
pub use circuits::{BUCKET_HEIGHT, BUCKET_HEIGHTS, HEIGHT_MAX, NodeMerge, Shape, Statement};
pub use keccak::KeccakTarget;
pub use monolithic::Monolithic;
pub use prover::{Node, Translation, TranslationError, TranslationProof, TranslationVerifier, Translator};
pub use soundness::{binding_bits, bits, translation_layers};

//! What batches of Merkle openings were proven with before: real circuits, on the same prover as ours, for comparisons.
//!
//! **What.** [`TreeOfProofs`] proves every leaf's path alone and joins the proofs in pairs (Deng and Du, section 1.4 of the
//! paper); [`Monolithic`] verifies all paths in one circuit. Both state what ours states, (C, height, d) with the same tree
//! and the same canonical digest, and bind indices to positions as ours does; neither can be updated: a change of one slot
//! costs a new aggregation.
//!
//! **When.** In `evergrove-bench`, and nowhere else: keys are not pinned, and nothing of it is stored.
//!
//! **Neighbours.** Gadgets and hashing rules of [`crate::circuit`]; what leaves either of them is compacted by the wrap's
//! parameters, so that sizes and times of verification compare.

mod compact;
mod monolithic;
mod tree_of_proofs;

pub use compact::BatchProof;
pub use monolithic::Monolithic;
pub use tree_of_proofs::{Cost, JoinKind, PathProof, TreeOfProofs};

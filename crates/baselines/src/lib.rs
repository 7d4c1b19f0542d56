//! Other ways to prove batches of Merkle openings: real circuits, on the same prover as ours, for comparison.
//!
//! **What.** [`paper`] has the paper's own scheme, with a circuit for each level. [`TreeOfProofs`] proves every leaf's path separately and joins the proofs in pairs (Deng and Du, section
//! 1.4 of the paper); [`Monolithic`] verifies all paths in one circuit. Both make our statement, (C, height, d) with
//! the same tree and the same canonical digest, and bind indices to positions as ours does. Neither of
//! these two can be updated: a change of one slot costs a new aggregation.
//!
//! **When.** The last two only in `evergrove-bench`: keys are not pinned, and nothing is stored. Stores can have
//! batches of the paper's scheme, which the default policy refuses.
//!
//! **Neighbours.** Gadgets and hashing rules of [`evergrove_plonky2::circuit`]. The final proofs of both are compacted by the
//! wrap's parameters, so sizes and times of verification are comparable.

#![forbid(unsafe_code)]

mod compact;
mod monolithic;
pub mod paper;
mod tree_of_proofs;

pub use compact::BatchProof;
pub use monolithic::Monolithic;
pub use tree_of_proofs::{Cost, JoinKind, PathProof, TreeOfProofs};

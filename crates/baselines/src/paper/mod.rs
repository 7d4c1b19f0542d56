//! The paper's own scheme, for comparison: one circuit per level (Fig. 4), over blocks of 2^q leaves (section 3.7).
//!
//! **What.** [`PaperBackend`] proves the nodes of `evergrove_commit::batch::Structure::Levels`: a block for each 2^q adjacent
//! slots with members, a level for every node with members above. Each level's circuit has the key of the level below as a
//! constant. Tree, leaves, canonical digest and the encoding of proofs are those of our own scheme.
//!
//! **When.** To measure the paper's scheme beside ours, on the same prover. Do not rely on it: its circuits do not tie
//! a leaf's index to its position, so a dishonest commitment opens one index to two values. The default policy refuses
//! it.
//!
//! **Neighbours.** [`evergrove_plonky2::circuit`] has our circuits and the gadgets that both share.

#[cfg(test)]
mod attacks;
mod backend;
mod bucket;
mod chain;
mod gadgets;
mod level;
mod verifier;
mod wrap;

pub use backend::PaperBackend;
pub use bucket::BlockTargets;
pub use chain::{Chain, StandIn, paper_keys};
#[cfg(test)]
pub(crate) use chain::{LevelLink, Node};
pub use level::{LevelChild, LevelTargets};
pub use verifier::PaperVerifier;
pub use wrap::CompactionTargets;

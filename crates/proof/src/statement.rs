//! What a proof states.

use evergrove_primitives::Digest;

use crate::Commitment;

/// "`canonical` is the canonical digest of some non-empty set of leaves of the subtree of height `height` whose first
/// position is `base` and whose Merkle digest is `root`."
///
/// The statement of a batch proof has `base = 0` and the vector's own height; the proofs below it speak of subtrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// C of the subtree.
    pub root: Digest,
    /// d, the canonical digest of the chosen leaves.
    pub canonical: Digest,
    /// Height of the subtree.
    pub height: u8,
    /// First position of the subtree, a multiple of 2^height.
    pub base: u64,
}

impl Statement {
    /// The statement of a batch proof: `canonical` is the digest of some set of leaves of the whole vector.
    pub fn whole(commitment: &Commitment, canonical: Digest) -> Self {
        Self { root: commitment.root, canonical, height: commitment.height, base: 0 }
    }

    /// True when `position` lies in the subtree.
    pub fn covers(&self, position: u64) -> bool {
        position >> self.height == self.base >> self.height
    }
}

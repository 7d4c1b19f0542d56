//! Merkle trees as an operation of the tree engine.

use core::ops::RangeInclusive;

use evergrove_primitives::lanes::{LANES, Lanes};

use super::{Combine, NodeOp};
use crate::merkle::TreeHash;
use crate::tree::count::Arithmetic;

/// A node is the hash of its two children: 2^h - 1 hashes over 2^h digests.
///
/// The leaves are digests of rows. [`crate::merkle`] also hashes rows; use it for a commitment. This is the same
/// tree under any schedule. The hash picks its own instruction set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Merkle<H>(pub H);

impl<H: TreeHash> NodeOp for Merkle<H> {
    type Node = H::Digest;
    type Vector<L: Lanes> = [H::Digest; LANES];
    type Prepared<L: Lanes> = ();

    #[inline(always)]
    fn prepare<L: Lanes>(&self, _: L, _: RangeInclusive<u32>) {}
    #[inline(always)]
    fn load<L: Lanes>(&self, _: L, nodes: [&H::Digest; LANES]) -> [H::Digest; LANES] {
        nodes.map(|node| *node)
    }
    #[inline(always)]
    fn store<L: Lanes>(&self, _: L, nodes: [H::Digest; LANES], to: [&mut H::Digest; LANES]) {
        for (to, node) in to.into_iter().zip(nodes) {
            *to = node;
        }
    }
    fn arithmetic(&self, _: u32, _: u32) -> Arithmetic {
        Arithmetic::HASH
    }
}

impl<H: TreeHash> Combine for Merkle<H> {
    #[inline(always)]
    fn combine<L: Lanes>(
        &self,
        _: L,
        _: &(),
        _: u32,
        left: [H::Digest; LANES],
        right: [H::Digest; LANES],
    ) -> [H::Digest; LANES] {
        let pairs: [[H::Digest; 2]; LANES] = core::array::from_fn(|i| [left[i], right[i]]);
        let mut nodes = [H::Digest::default(); LANES];
        self.0.nodes(pairs.as_flattened(), 2, &mut nodes);
        nodes
    }
    fn node(&self, _: u32, left: &H::Digest, right: &H::Digest) -> H::Digest {
        self.0.node(&[*left, *right])
    }
}

//! Blocks with all their leaves: the circuits of complete batches.
//!
//! **The block** is satisfiable for exactly these statements: some block of 2^k slots lies below the node (C, h, b);
//! the leaves of the active slots are at their positions; the positions of the other slots are empty, and so is every
//! other position below the node. d is 0.
//!
//! **The merge** is that of batches with two differences: the subtrees beside the path from the parent to the node are
//! empty, and d and both children's d are 0.
//!
//! **No other leaves.** Each slot demands one node of height 0 at its position: its leaf, or the digest of an empty
//! slot. For the root of the block and each of its ancestors below the node, the circuit demands that the sibling be
//! the digest of an empty tree of that height. Every demanded node hangs on the root at its place
//! ([`circuit`](crate::circuit)). The block is therefore below the node, because a position elsewhere has no path
//! there.

use evergrove_multilinear::circuit::Builder;
use evergrove_multilinear::circuit::wires::{Base, Bool, Word};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tree::{LEAF_TAG, null_digests};

use crate::application::Slot;
use crate::circuit::{Node, Size};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
const TWO: Goldilocks = Goldilocks::new(2);

impl Size {
    /// k, for blocks of 2^k slots.
    pub(crate) fn block_height(self) -> u8 {
        self.capacity.ilog2() as u8
    }
    /// Nodes above the slots of a block, and on the path from the block to the highest root.
    pub(crate) fn block_nodes(self) -> usize {
        self.capacity - 1 + usize::from(self.height_max - self.block_height())
    }
}

/// The slots of a block below `node`, in the tree of the node.
///
/// # Panics
/// Unless the capacity is a power of two, and blocks are lower than the highest root.
pub(crate) fn slots<K: Extension>(b: &mut Builder<K>, node: &Node, tree: usize, size: Size) -> Vec<Slot> {
    let k = size.block_height();
    assert!(size.capacity == 1 << k && k < size.height_max, "blocks of {} slots", size.capacity);
    let (zero, one) = (b.zero(), b.one());
    let path = Path::new(b, k, size.height_max);
    let first = Goldilocks::new(size.capacity as u64);
    let start = b.combine_base([ZERO, first, ZERO], path.index, zero, zero);
    let nulls = null_digests(size.height_max);
    let empty = b.word(nulls[0].0);
    let tag = b.tag(LEAF_TAG);
    let slots = (0..size.capacity as u64)
        .map(|place| {
            // (index, value), then three zeros.
            let (leaf, [first, second]) = b.hash_free(tag);
            b.no_limbs(second, 1..4);
            let index = b.limb(first, 0);
            b.check([ZERO, ONE, Goldilocks::new(place)], start.into(), zero.into(), one.into(), index.into());
            let active = b.node(tree, leaf.digest(), zero, index, None);
            let not = b.combine_base([ZERO, -ONE, ONE], active.into(), zero, one);
            let not = b.boolean(not);
            b.node(tree, empty, zero, index, Some(not));
            let value = [(first, 1), (first, 2), (first, 3), (second, 0)];
            Slot { active, index, value }
        })
        .collect();
    for (level, sibling) in (k..).zip(path.siblings) {
        nothing(b, tree, level, sibling, node.flags[usize::from(level)]);
    }
    b.paths(size.block_nodes());
    slots
}

/// Demands that every subtree beside the path from a merge's parent up to `node` be empty. `parent` is the parent's
/// number; its children have height h', `size` is 2^h', and `below` flags the levels below h'.
pub(crate) fn nothing_beside<K: Extension>(
    b: &mut Builder<K>,
    node: &Node,
    tree: usize,
    [parent, size]: [Base; 2],
    below: &[Bool],
) {
    let zero = b.zero();
    // Half of the parent's first position: the parent has height at least 1.
    let path = Path::new(b, 1, node.flags.len() as u8);
    b.check([ONE, ZERO, ZERO], parent.into(), size.into(), zero.into(), path.index.into());
    for (level, sibling) in (1..).zip(path.siblings) {
        // 1 for the levels from the parent's up to the node's, exclusive.
        let [above, under]: [Base; 2] = [node.flags[usize::from(level)].into(), below[usize::from(level) - 1].into()];
        let beside = b.combine_base([ZERO, ONE, -ONE], above, zero, under);
        let beside = b.boolean(beside);
        nothing(b, tree, level, sibling, beside);
    }
}

/// Demands, where `active` is 1, that the subtree of this height and number be empty.
fn nothing<K: Extension>(b: &mut Builder<K>, tree: usize, level: u8, index: Base, active: Bool) {
    let null: Word = b.word(null_digests(level)[usize::from(level)].0);
    let height = b.constant(Goldilocks::new(level.into()));
    b.node(tree, null, height, index, Some(active));
}

/// The path from a node of a fixed height, chosen by the prover, up to the highest root.
struct Path {
    /// The node's number.
    index: Base,
    /// The number of the sibling at each level, starting at the node's height.
    siblings: Vec<Base>,
}

impl Path {
    fn new<K: Extension>(b: &mut Builder<K>, from: u8, to: u8) -> Self {
        let (zero, one) = (b.zero(), b.one());
        let (mut index, mut siblings) = (zero, Vec::new());
        for _ in from..to {
            let bit: Base = b.bit().into();
            index = b.combine_base([ZERO, TWO, ONE], index, zero, bit);
            let other = b.combine_base([ZERO, -TWO, ONE], bit, zero, one);
            siblings.push(b.combine_base([ZERO, ONE, ONE], index, zero, other));
        }
        siblings.reverse();
        Self { index, siblings }
    }
}

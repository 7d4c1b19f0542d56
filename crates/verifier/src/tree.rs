//! Hashing rules of the committed tree and of the canonical digest.
//!
//! Three zeros, never confused: [`null_digest`] is the digest of an empty subtree; [`Digest::ZERO`] as a canonical
//! digest means that no leaf below is a member of the batch; a padding slot exists only inside a circuit.

use alloc::vec::Vec;

use evergrove_primitives::hash::poseidon::{self, WIDTH};
use evergrove_primitives::{Digest, Goldilocks};

/// Domain tag of a leaf, ASCII "LEAF", in the first capacity element. Inner nodes have zero there.
pub const LEAF_TAG: Goldilocks = Goldilocks::new(0x4c45_4146);
/// Domain tag of an empty slot, ASCII "NULL", in the first capacity element.
pub const NULL_TAG: Goldilocks = Goldilocks::new(0x4e55_4c4c);

/// The value of a slot: four field elements.
pub type Value = [Goldilocks; 4];

/// The digest of the leaf at `index` with `value`: Poseidon of (index, value, 0, 0, 0 | LEAF, 0, 0, 0).
///
/// The tag is the paper's `leaf()` predicate (section 3.3): an inner node cannot pass as a leaf.
///
/// # Panics
/// If `index >= p`; the greatest height is 40, so every index of a vector is far below.
pub fn leaf_digest(index: u64, value: &Value) -> Digest {
    let mut s = [Goldilocks::ZERO; WIDTH];
    s[0] = Goldilocks::new(index);
    s[1..5].copy_from_slice(value);
    s[8] = LEAF_TAG;
    poseidon::permute(&mut s);
    Digest([s[0], s[1], s[2], s[3]])
}

/// The digest of an inner node: Plonky2's two-to-one Poseidon.
pub fn node_digest(left: &Digest, right: &Digest) -> Digest {
    poseidon::two_to_one(left, right)
}

/// The nodes on the path of `node`, which is the first, to the root. `number` is its place in its level; siblings are
/// ordered from its level up.
pub fn path(node: Digest, number: u64, siblings: &[Digest]) -> impl Iterator<Item = Digest> {
    let above = siblings.iter().enumerate().scan(node, move |node, (level, sibling)| {
        let is_left = number >> level & 1 == 0;
        *node = if is_left { node_digest(node, sibling) } else { node_digest(sibling, node) };
        Some(*node)
    });
    core::iter::once(node).chain(above)
}

/// The root: the last node of the [`path`].
pub fn root_of_path(node: Digest, number: u64, siblings: &[Digest]) -> Digest {
    path(node, number, siblings).last().unwrap_or(node)
}

/// The digest of an empty subtree of height `height`: null_0 has a tag of its own, null_{h+1} = H(null_h, null_h).
///
/// Costs `height + 1` permutations: keep a [`null_digests`] table if you need many.
pub fn null_digest(height: u8) -> Digest {
    (0..height).fold(null_leaf(), |d, _| node_digest(&d, &d))
}

/// The digests of the empty subtrees of heights 0 to `height`, inclusive.
pub fn null_digests(height: u8) -> Vec<Digest> {
    core::iter::successors(Some(null_leaf()), |d| Some(node_digest(d, d))).take(height as usize + 1).collect()
}

fn null_leaf() -> Digest {
    poseidon::compress(&Digest::ZERO, &Digest::ZERO, NULL_TAG)
}

/// The canonical digest d of a batch (section 3.1 of the paper) from its leaves' digests.
///
/// `leaves` holds (index, leaf digest) with strictly increasing indices. Nodes with one empty child pass the other through,
/// so the cost is `leaves.len() - 1` permutations. The digest of no leaves is [`Digest::ZERO`].
pub fn canonical_digest(leaves: &[(u64, Digest)]) -> Digest {
    match leaves {
        [] => Digest::ZERO,
        [(_, d)] => *d,
        _ => {
            let (left, right) = leaves.split_at(canonical_split(leaves));
            node_digest(&canonical_digest(left), &canonical_digest(right))
        }
    }
}

/// The split of the canonical digest of two or more leaves: the number of leaves below the left child of the node at
/// which they part. Strictly increasing indices are a precondition.
pub fn canonical_split<T>(leaves: &[(u64, T)]) -> usize {
    let bit = split_level(leaves[0].0, leaves[leaves.len() - 1].0);
    leaves.partition_point(|(i, _)| i >> bit & 1 == 0)
}

/// The height of the children of the lowest common ancestor of positions `a != b`: the highest bit in which they differ.
pub fn split_level(a: u64, b: u64) -> u8 {
    debug_assert_ne!(a, b);
    (63 - (a ^ b).leading_zeros()) as u8
}

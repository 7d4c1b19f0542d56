//! OpenZeppelin's Merkle tree over rows of ABI words, whose proofs a contract's `MerkleProof.verify` accepts.
//!
//! **What.** The digest of a row is [`leaf_digest`]; a node is [`node_digest`] of its children, whose order does not
//! count. The tree is over 2^h slots, each a digest or empty. A node with one child has the child's digest, and a node
//! without children has no digest ([`levels`]). [`proof`] has the siblings of a slot, and [`root_of_proof`] is the root
//! that a contract computes from them.
//!
//! Contracts accept the proofs of every tree of this kind, since they do not know its shape. The JavaScript library
//! `@openzeppelin/merkle-tree` builds one shape: its root is that of the slots that [`js_slot`] names.
//!
//! **Why no node passes as a leaf.** A node is hashed from 64 bytes, and a leaf from 32: the digest of its words.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::hash::keccak::keccak_256;

use crate::abi::AbiWord;
pub use crate::keccak_tree::KeccakDigest;
use crate::keccak_tree::node_message;

/// The digest of a row: Keccak-256 of Keccak-256 of its words, in order. `keccak256(bytes.concat(keccak256(abi.encode(..))))` in Solidity.
pub fn leaf_digest(words: &[AbiWord]) -> KeccakDigest {
    keccak_256(&keccak_256(words.as_flattened()))
}

/// The digest of a node: Keccak-256 of both children, the one with the lower bytes first.
pub fn node_digest(a: &KeccakDigest, b: &KeccakDigest) -> KeccakDigest {
    keccak_256(&node_message(a.min(b), a.max(b)))
}

/// A node above two children, each of which may be missing.
pub fn parent(left: Option<KeccakDigest>, right: Option<KeccakDigest>) -> Option<KeccakDigest> {
    match (left, right) {
        (Some(left), Some(right)) => Some(node_digest(&left, &right)),
        (only, None) | (None, only) => only,
    }
}

/// All levels of the tree over slots, the slots first and the root last; empty slots are added up to a power of two. At
/// most one permutation for each slot.
pub fn levels(slots: &[Option<KeccakDigest>]) -> Vec<Vec<Option<KeccakDigest>>> {
    let mut leaves = slots.to_vec();
    leaves.resize(slots.len().next_power_of_two(), None);
    let mut levels = vec![leaves];
    while let Some(below) = levels.last().filter(|level| level.len() > 1) {
        let level = below.as_chunks::<2>().0.iter().map(|&[left, right]| parent(left, right)).collect();
        levels.push(level);
    }
    levels
}

/// The root over slots; `None` if all are empty.
pub fn root(slots: &[Option<KeccakDigest>]) -> Option<KeccakDigest> {
    levels(slots).last()?.first().copied()?
}

/// The siblings of a slot in [`levels`], the lowest first: one for each level where there is a sibling. `None` if the
/// slot is empty or past the end.
pub fn proof(levels: &[Vec<Option<KeccakDigest>>], slot: usize) -> Option<Vec<KeccakDigest>> {
    (*levels.first()?.get(slot)?)?;
    let siblings = levels.iter().enumerate().map(|(height, level)| level.get((slot >> height) ^ 1).copied().flatten());
    Some(siblings.flatten().collect())
}

/// The root that a contract computes from a leaf and its proof: `MerkleProof.processProof`.
pub fn root_of_proof(leaf: KeccakDigest, proof: &[KeccakDigest]) -> KeccakDigest {
    proof.iter().fold(leaf, |digest, sibling| node_digest(&digest, sibling))
}

/// The slot of leaf `leaf` of `n`, in a tree over the least power of two of slots that is `n` or more. Leaves are in
/// the library's order: sorted by their digests by default. `None` unless `leaf` < n.
///
/// The library's tree is a heap of 2n - 1 nodes, and leaf j is node 2n - 2 - j. Let 2^h be the greatest power of two up to n, and m = n - 2^h: the first 2m leaves lie
/// one level deeper than the others. They are at the slots 2 (2^h - m) + j; leaf j of the others is alone below its node, at 2 (j - 2m).
pub fn js_slot(n: usize, leaf: usize) -> Option<usize> {
    if leaf >= n {
        return None;
    }
    let full = 1 << n.ilog2();
    let deep = n - full;
    match deep {
        0 => Some(leaf),
        _ if leaf < 2 * deep => Some(2 * (full - deep) + leaf),
        _ => Some(2 * (leaf - 2 * deep)),
    }
}

/// The first pair of equal rows, by position: a contract that marks a leaf as used pays only one of them. n log n
/// comparisons.
pub fn first_duplicate(leaves: impl IntoIterator<Item = (u64, KeccakDigest)>) -> Option<[u64; 2]> {
    let mut seen = BTreeMap::new();
    leaves.into_iter().find_map(|(index, leaf)| seen.insert(leaf, index).map(|first| [first, index]))
}

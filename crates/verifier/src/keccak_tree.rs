//! The Keccak tree over the slots of a vector: digest translation proves it beside the Poseidon tree.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::{DIGEST_BYTES, Function, NODE_BYTES, hash_many, keccak_256};

use crate::tree::Value;

/// A digest of the Keccak tree.
pub type KeccakDigest = [u8; DIGEST_BYTES];

/// Halves of 32 bits of a digest.
pub const DIGEST_HALVES: usize = DIGEST_BYTES / 4;
/// The message that an empty slot of the Keccak tree is the hash of. No leaf and no node is hashed from four bytes.
pub const NULL_MESSAGE: &[u8] = b"NULL";
/// Bytes that a leaf is hashed from.
pub const LEAF_BYTES: usize = 40;

/// A slot's value as 32 bytes: four words, each with its least significant byte first.
pub fn value_bytes(value: &Value) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(value) {
        *bytes = word.as_u64().to_le_bytes();
    }
    bytes
}

/// The message of a leaf of the Keccak tree: its index, most significant byte first, and its value.
pub fn leaf_message(index: u64, value: &Value) -> [u8; LEAF_BYTES] {
    let mut bytes = [0; LEAF_BYTES];
    bytes[..8].copy_from_slice(&index.to_be_bytes());
    bytes[8..].copy_from_slice(&value_bytes(value));
    bytes
}

/// The digest of a leaf, or of an empty slot: one permutation.
pub fn leaf_digest(index: u64, value: Option<&Value>) -> KeccakDigest {
    match value {
        Some(value) => keccak_256(&leaf_message(index, value)),
        None => keccak_256(NULL_MESSAGE),
    }
}

/// The message of a node.
pub fn node_message(left: &KeccakDigest, right: &KeccakDigest) -> [u8; NODE_BYTES] {
    let mut bytes = [0; NODE_BYTES];
    bytes[..DIGEST_BYTES].copy_from_slice(left);
    bytes[DIGEST_BYTES..].copy_from_slice(right);
    bytes
}

/// The digest of a node: one permutation.
pub fn node_digest(left: &KeccakDigest, right: &KeccakDigest) -> KeccakDigest {
    keccak_256(&node_message(left, right))
}

/// The digests of empty subtrees of heights 0 to `height`.
pub fn null_digests(height: u8) -> impl Iterator<Item = KeccakDigest> {
    core::iter::successors(Some(leaf_digest(0, None)), |null| Some(node_digest(null, null)))
        .take(usize::from(height) + 1)
}

/// A digest as field elements: its words of 32 bits, least significant byte first.
pub fn to_elements(digest: &KeccakDigest) -> [Goldilocks; DIGEST_HALVES] {
    let words = digest.as_chunks::<4>().0;
    core::array::from_fn(|i| Goldilocks::new(u32::from_le_bytes(words[i]).into()))
}

/// The digest with these elements; `None` if there is none.
pub fn from_elements(elements: &[Goldilocks]) -> Option<KeccakDigest> {
    let mut digest = [0; DIGEST_BYTES];
    if elements.len() != DIGEST_HALVES {
        return None;
    }
    for (bytes, element) in digest.as_chunks_mut().0.iter_mut().zip(elements) {
        *bytes = u32::try_from(element.as_u64()).ok()?.to_le_bytes();
    }
    Some(digest)
}

/// All levels of the Keccak tree over the slots from position `base` on, starting with the leaves; the number of slots
/// is a power of two.
///
/// Some eight leaves or nodes at a time.
pub fn levels(base: u64, slots: &[Option<Value>]) -> Vec<Vec<KeccakDigest>> {
    let leaves = slots.iter().zip(base..).map(|(value, index)| leaf_digest(index, value.as_ref())).collect();
    let mut levels: Vec<Vec<KeccakDigest>> = vec![leaves];
    while let Some(below) = levels.last().filter(|l| l.len() > 1) {
        let mut level = vec![[0; DIGEST_BYTES]; below.len() / 2];
        hash_many(Function::Keccak256, below.as_flattened(), NODE_BYTES, &mut level).expect("two digests to a node");
        levels.push(level);
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_tree_by_hand() {
        let value = |i: u64| core::array::from_fn(|k| Goldilocks::reduce(i * 4 + k as u64 + (1 << 40)));
        let slots = [Some(value(0)), None, Some(value(2)), Some(value(3))];
        let levels = levels(1 << 20, &slots);
        let mut message = vec![0, 0, 0, 0, 0, 0x10, 0, 2];
        for k in 0..4u64 {
            message.extend_from_slice(&(8 + k + (1 << 40)).to_le_bytes());
        }
        assert_eq!(levels[0][2], keccak_256(&message));
        assert_eq!(levels[0][1], keccak_256(b"NULL"));
        let [left, right] = [0, 2].map(|i| node_digest(&levels[0][i], &levels[0][i + 1]));
        assert_eq!(levels[1], [left, right]);
        assert_eq!(levels[2], [keccak_256(&[left, right].concat())]);
    }
}

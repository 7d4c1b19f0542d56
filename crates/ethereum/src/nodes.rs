//! Nodes by their hashes.

use std::collections::HashMap;

use evergrove_primitives::hash::keccak::{Function, hash_many, keccak_256};
use evergrove_verifier::ethereum::Hash;

/// Most nodes of an input.
pub const NODES_MAX: usize = 1 << 20;
/// Most bytes of all nodes of an input.
pub const BYTES_MAX: usize = 64 << 20;
/// From this number on, messages of one length are hashed in lanes: fewer are faster one by one.
const LANES_FROM: usize = 4;

/// Too many nodes, or too many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {NODES_MAX} nodes, or {BYTES_MAX} bytes of nodes: split the input")]
pub struct LimitError;

/// A set of nodes. A node is bytes until a walk reads it, so nodes that no claim needs are never decoded.
#[derive(Clone, Debug, Default)]
pub struct Nodes(HashMap<Hash, Vec<u8>>);

impl Nodes {
    /// The nodes with these bytes. Hashes them, those of one length in lanes.
    ///
    /// # Errors
    /// When there are more than [`NODES_MAX`], or they have more than [`BYTES_MAX`] bytes: before anything is hashed.
    pub fn new(nodes: impl IntoIterator<Item = Vec<u8>>) -> Result<Self, LimitError> {
        Ok(Self::with_hashes(nodes)?.0)
    }

    /// [`Nodes::new`], and the hash of each node in the given order.
    ///
    /// # Errors
    /// As for [`Nodes::new`].
    pub fn with_hashes(nodes: impl IntoIterator<Item = Vec<u8>>) -> Result<(Self, Vec<Hash>), LimitError> {
        let (mut list, mut bytes) = (Vec::new(), 0);
        for node in nodes {
            bytes += node.len();
            if list.len() == NODES_MAX || bytes > BYTES_MAX {
                return Err(LimitError);
            }
            list.push(node);
        }
        let hashes = hashes(&list);
        Ok((Self(hashes.iter().copied().zip(list).collect()), hashes))
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes with this hash.
    pub fn get(&self, hash: &Hash) -> Option<&[u8]> {
        self.0.get(hash).map(Vec::as_slice)
    }

    /// All nodes, in the order of their hashes.
    pub fn in_order(&self) -> Vec<&[u8]> {
        let mut nodes: Vec<_> = self.0.iter().collect();
        nodes.sort_unstable_by_key(|(hash, _)| **hash);
        nodes.into_iter().map(|(_, node)| node.as_slice()).collect()
    }

    pub(crate) fn insert(&mut self, bytes: Vec<u8>) -> Hash {
        let hash = keccak_256(&bytes);
        self.0.insert(hash, bytes);
        hash
    }
}

fn hashes(nodes: &[Vec<u8>]) -> Vec<Hash> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_unstable_by_key(|&i| nodes[i].len());
    let mut hashes = vec![[0; 32]; nodes.len()];
    for group in order.chunk_by(|&a, &b| nodes[a].len() == nodes[b].len()) {
        if group.len() < LANES_FROM {
            group.iter().for_each(|&i| hashes[i] = keccak_256(&nodes[i]));
            continue;
        }
        let length = nodes[group[0]].len();
        for part in group.chunks(1024) {
            let messages: Vec<u8> = part.iter().flat_map(|&i| &nodes[i]).copied().collect();
            let mut out = vec![[0; 32]; part.len()];
            hash_many(Function::Keccak256, &messages, length, &mut out).expect("one length");
            part.iter().zip(out).for_each(|(&i, hash)| hashes[i] = hash);
        }
    }
    hashes
}

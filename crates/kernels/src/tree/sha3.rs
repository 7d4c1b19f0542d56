//! Binary Merkle trees over leaves of 64 bytes, by SHA3-256 or Keccak-256.
//!
//! A leaf's digest is the hash of its 64 bytes, a node's that of its two children, left before right: every node is one
//! permutation, and a tree of n leaves takes 2n - 1 of them. Nothing separates leaves from nodes, hence two trees of
//! different heights may share a root: a root is a commitment only together with the number of leaves.
//!
//! [`build`] writes every level into the caller's buffer, [`root`] keeps none. Both run on the rayon pool that they are
//! called in, and give the same bytes on every instruction set and number of threads.
//!
//! The traversal is blocked: a block of [`BLOCK`] leaves goes through all its levels while it is in the cache, then the
//! blocks' roots are joined.

use evergrove_primitives::hash::keccak::{self, DIGEST_BYTES, Function, NODE_BYTES};
use rayon::prelude::*;
use thiserror::Error;

/// A leaf.
pub type Leaf = [u8; NODE_BYTES];
/// A digest.
pub type Node = [u8; DIGEST_BYTES];

/// Leaves of a block: 256 KiB of leaves and as many of digests.
pub const BLOCK: usize = 1 << 12;

/// A tree that cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Sha3TreeError {
    /// The number of leaves is zero or no power of two.
    #[error("a tree of {leaves} leaves: the number of leaves must be a power of two; pad them")]
    Leaves {
        /// The number of leaves.
        leaves: usize,
    },
    /// The buffer does not have one digest per node.
    #[error("a tree of {leaves} leaves has {needed} nodes, but the buffer holds {given} digests")]
    Nodes {
        /// The number of leaves.
        leaves: usize,
        /// Digests that the tree has.
        needed: usize,
        /// Digests in the buffer.
        given: usize,
    },
}

/// Nodes of a tree of `leaves` leaves: 2 * leaves - 1.
///
/// Errors unless `leaves` is a power of two.
pub fn node_count(leaves: usize) -> Result<usize, Sha3TreeError> {
    if leaves.is_power_of_two() && leaves <= usize::MAX / 2 {
        Ok(2 * leaves - 1)
    } else {
        Err(Sha3TreeError::Leaves { leaves })
    }
}

/// Computes every level into `nodes`: first the digests of the leaves, then their parents, and so on; the root is last.
///
/// Level h begins at 2n - 2n / 2^h, for n leaves, and has n / 2^h digests ([`level`]). Errors unless n is a power of two and
/// `nodes.len()` is [`node_count`] of it.
pub fn build(function: Function, leaves: &[Leaf], nodes: &mut [Node]) -> Result<(), Sha3TreeError> {
    let needed = node_count(leaves.len())?;
    if needed != nodes.len() {
        return Err(Sha3TreeError::Nodes { leaves: leaves.len(), needed, given: nodes.len() });
    }
    let mut levels = Vec::with_capacity(leaves.len().ilog2() as usize + 1);
    let mut rest = nodes;
    let mut width = leaves.len();
    while width > 0 {
        let (level, above) = rest.split_at_mut(width);
        levels.push(level);
        (rest, width) = (above, width / 2);
    }
    subtree(function, leaves, &mut levels);
    Ok(())
}

/// Level `height` of the nodes of a tree of `leaves` leaves, from [`build`]: 0 has the digests of the leaves.
///
/// `None` above the root, or if `nodes` is not such a tree's.
pub fn level(nodes: &[Node], leaves: usize, height: u32) -> Option<&[Node]> {
    if node_count(leaves) != Ok(nodes.len()) {
        return None;
    }
    let width = leaves.checked_shr(height).filter(|width| *width > 0)?;
    nodes.get(2 * (leaves - width)..)?.get(..width)
}

/// The root alone, in memory for one block per thread and one digest per block.
///
/// Errors unless the number of leaves is a power of two.
pub fn root(function: Function, leaves: &[Leaf]) -> Result<Node, Sha3TreeError> {
    node_count(leaves.len())?;
    let block = leaves.len().min(BLOCK);
    let mut level: Vec<Node> = leaves
        .par_chunks(block)
        .map_init(
            || vec![[0; DIGEST_BYTES]; 2 * block - 1],
            |nodes, leaves| {
                block_levels(function, leaves, nodes);
                nodes[2 * block - 2]
            },
        )
        .collect();
    while level.len() > 1 {
        let mut parents = vec![[0; DIGEST_BYTES]; level.len() / 2];
        pairs(function, &level, &mut parents);
        level = parents;
    }
    Ok(level[0])
}

/// All levels of a subtree, `levels[h]` with one digest per 2^h leaves.
fn subtree(function: Function, leaves: &[Leaf], levels: &mut [&mut [Node]]) {
    if leaves.len() <= BLOCK {
        hash_leaves(function, leaves, levels[0]);
        for h in 1..levels.len() {
            let (below, above) = levels.split_at_mut(h);
            pairs(function, below[h - 1], above[0]);
        }
        return;
    }
    let (top, lower) = levels.split_last_mut().expect("a level per height");
    let (mut left, mut right): (Vec<_>, Vec<_>) =
        lower.iter_mut().map(|level| level.split_at_mut(level.len() / 2)).unzip();
    let (left_leaves, right_leaves) = leaves.split_at(leaves.len() / 2);
    rayon::join(|| subtree(function, left_leaves, &mut left), || subtree(function, right_leaves, &mut right));
    pairs(function, lower.last().expect("the children of the top"), top);
}

/// All levels of one block, one after the other in `nodes`.
fn block_levels(function: Function, leaves: &[Leaf], nodes: &mut [Node]) {
    let (mut below, mut rest) = nodes.split_at_mut(leaves.len());
    hash_leaves(function, leaves, below);
    while !rest.is_empty() {
        let (level, above) = rest.split_at_mut(below.len() / 2);
        pairs(function, below, level);
        (below, rest) = (level, above);
    }
}

/// The instruction set is chosen in here, on the thread that computes.
fn hash_leaves(function: Function, leaves: &[Leaf], digests: &mut [Node]) {
    keccak::hash_many(function, leaves.as_flattened(), NODE_BYTES, digests).expect("one digest per leaf");
}

/// The instruction set is chosen in here, on the thread that computes.
fn pairs(function: Function, children: &[Node], parents: &mut [Node]) {
    keccak::two_to_one_many(function, children, parents).expect("two children per parent");
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergrove_primitives::hash::keccak::reference;

    const FUNCTIONS: [Function; 2] = [Function::Sha3_256, Function::Keccak256];

    fn leaves(count: usize) -> Vec<Leaf> {
        (0..count).map(|i| core::array::from_fn(|j| (i * 131 + j * 17 + (i >> 8)) as u8)).collect()
    }

    /// Every level by the definition of the hash.
    fn expected(function: Function, leaves: &[Leaf]) -> Vec<Node> {
        let mut level: Vec<Node> = leaves.iter().map(|leaf| reference::hash(function, leaf)).collect();
        let mut nodes = level.clone();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| reference::hash(function, pair.as_flattened())).collect();
            nodes.extend(&level);
        }
        nodes
    }

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn trees_equal_the_definition_on_any_number_of_threads() {
        for function in FUNCTIONS {
            for log in (0..=8).chain([12, 14]) {
                let leaves = leaves(1 << log);
                let expected = expected(function, &leaves);
                for threads in [1, 2, 3] {
                    let mut nodes = vec![[0xee; DIGEST_BYTES]; expected.len()];
                    let root = pool(threads).install(|| {
                        build(function, &leaves, &mut nodes).unwrap();
                        root(function, &leaves).unwrap()
                    });
                    assert!(nodes == expected, "2^{log} leaves on {threads} threads");
                    assert_eq!(Some(&root), expected.last(), "2^{log} leaves on {threads} threads");
                }
            }
        }
    }

    #[test]
    fn levels_are_where_the_documentation_says() {
        let leaves = leaves(16);
        let nodes = expected(Function::Sha3_256, &leaves);
        assert_eq!(level(&nodes, 16, 0).unwrap(), &nodes[..16]);
        assert_eq!(level(&nodes, 16, 1).unwrap(), &nodes[16..24]);
        assert_eq!(level(&nodes, 16, 4).unwrap(), &nodes[30..]);
        assert_eq!(level(&nodes, 16, 5), None);
        assert_eq!(level(&nodes, 16, 64), None);
        assert_eq!(level(&nodes, 8, 0), None);
        assert_eq!(level(&nodes[..1], 1, 0).unwrap(), &nodes[..1]);
    }

    #[test]
    fn trees_that_do_not_fit_are_refused() {
        let leaves = leaves(6);
        let mut nodes = [[0; DIGEST_BYTES]; 6];
        let odd = |leaves| Err(Sha3TreeError::Leaves { leaves });
        assert_eq!(build(Function::Sha3_256, &leaves, &mut nodes), odd(6));
        assert_eq!(build(Function::Sha3_256, &[], &mut nodes), odd(0));
        assert_eq!(root(Function::Sha3_256, &leaves[..3]).map(drop), odd(3));
        assert_eq!(root(Function::Sha3_256, &[]).map(drop), odd(0));
        assert_eq!(node_count(1 << (usize::BITS - 1)).map(drop), odd(1 << (usize::BITS - 1)));
        let error = build(Function::Sha3_256, &leaves[..4], &mut nodes).unwrap_err();
        assert_eq!(error, Sha3TreeError::Nodes { leaves: 4, needed: 7, given: 6 });
        assert_eq!(error.to_string(), "a tree of 4 leaves has 7 nodes, but the buffer holds 6 digests");
    }
}

//! The hashing rules of [`evergrove_verifier::tree`], many at a time in lanes.
//!
//! Each function here returns, digest for digest, the results of its scalar counterpart there. Many pairs are hashed on
//! all threads.

use evergrove_primitives::hash::poseidon::lanes::compress_many;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::tree::{LEAF_TAG, Value, split_level};
use evergrove_verifier::{LeavesError, check_batch};
use rayon::prelude::*;

/// [`evergrove_verifier::batch_digest`], eight permutations at a time: the canonical digest d of a batch of leaves (index, value)
/// of a vector of height `height`. Never panics.
///
/// # Errors
/// When there are no leaves, an index is out of range, or the indices do not strictly increase.
pub fn batch_digest(height: u8, leaves: &[(u64, Value)]) -> Result<Digest, LeavesError> {
    check_batch(height, leaves)?;
    let hashed = leaf_digests(leaves.iter().copied());
    let leaves: Vec<(u64, Digest)> = leaves.iter().map(|(index, _)| *index).zip(hashed).collect();
    Ok(canonical_digest(&leaves))
}

/// [`leaf_digest`](evergrove_verifier::tree::leaf_digest) of every leaf, in order.
///
/// # Panics
/// If an index is not below p.
pub(crate) fn leaf_digests(leaves: impl Iterator<Item = (u64, Value)>) -> Vec<Digest> {
    let zero = Goldilocks::ZERO;
    let words = |(index, [a, b, c, d]): (u64, Value)| {
        [Digest([Goldilocks::new(index), a, b, c]), Digest([d, zero, zero, zero])]
    };
    let pairs: Vec<[Digest; 2]> = leaves.map(words).collect();
    let mut digests = vec![Digest::ZERO; pairs.len()];
    compress_all(&pairs, LEAF_TAG, &mut digests);
    digests
}

/// [`compress_many`], on all threads if there are enough pairs.
fn compress_all(pairs: &[[Digest; 2]], tag: Goldilocks, digests: &mut [Digest]) {
    const TASK: usize = 256;
    if pairs.len() <= TASK {
        return compress_many(pairs, tag, digests);
    }
    let tasks = pairs.par_chunks(TASK).zip(digests.par_chunks_mut(TASK));
    tasks.for_each(|(pairs, digests)| compress_many(pairs, tag, digests));
}

/// [`canonical_digest`](evergrove_verifier::tree::canonical_digest) of leaves with strictly increasing indices.
///
/// The tree is found in one pass over the indices. Its nodes are hashed in waves, each with all nodes whose children
/// are ready: some log2(n) waves for indices that are spread out.
pub(crate) fn canonical_digest(leaves: &[(u64, Digest)]) -> Digest {
    if leaves.is_empty() {
        return Digest::ZERO;
    }
    // Nodes: leaf i is i, the inner ones follow. For each wave, the children and the node.
    let mut nodes: Vec<Digest> = leaves.iter().map(|(_, digest)| *digest).collect();
    let mut waves: Vec<Vec<[usize; 3]>> = Vec::new();
    // Subtrees that are complete on the left: node, wave, and the height at which each parts from its left neighbour.
    let mut open: Vec<(usize, usize, u8)> = vec![(0, 0, u8::MAX)];
    let gaps = leaves.array_windows().map(|[(a, _), (b, _)]| split_level(*a, *b));
    for (i, gap) in gaps.chain([u8::MAX]).enumerate() {
        // Subtrees that part below the gap are joined before it.
        while let [.., left, right] = open[..]
            && right.2 < gap
        {
            let (node, wave) = (nodes.len(), left.1.max(right.1));
            nodes.push(Digest::ZERO);
            if waves.len() == wave {
                waves.push(Vec::new());
            }
            waves[wave].push([left.0, right.0, node]);
            open.truncate(open.len() - 2);
            open.push((node, wave + 1, left.2));
        }
        open.push((i + 1, 0, gap));
    }
    let (mut pairs, mut digests) = (Vec::new(), Vec::new());
    for wave in &waves {
        pairs.clear();
        pairs.extend(wave.iter().map(|[left, right, _]| [nodes[*left], nodes[*right]]));
        digests.resize(pairs.len(), Digest::ZERO);
        compress_all(&pairs, Goldilocks::ZERO, &mut digests);
        for ([.., node], digest) in wave.iter().zip(&digests) {
            nodes[*node] = *digest;
        }
    }
    nodes[nodes.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergrove_verifier::tree;
    use proptest::prelude::*;

    fn leaf(index: u64) -> (u64, Digest) {
        (index, tree::leaf_digest(index, &[Goldilocks::new(index % 97); 4]))
    }

    #[test]
    fn leaves_are_those_of_the_rule() {
        let edges = [0, 1, 0xffff_ffff, 1 << 32, Goldilocks::ORDER - 1].map(Goldilocks::new);
        for n in [0, 1, 2, 3, 8, 9, 40, 70] {
            let leaves: Vec<(u64, Value)> =
                (0..n).map(|i| (i * 0xff_ffff, core::array::from_fn(|j| edges[(i as usize + 3 * j) % 5]))).collect();
            let expected: Vec<Digest> = leaves.iter().map(|(i, v)| tree::leaf_digest(*i, v)).collect();
            assert_eq!(leaf_digests(leaves.into_iter()), expected);
        }
    }

    #[test]
    fn canonical_digests_at_the_edges() {
        for leaves in [vec![], vec![5], vec![0, 1], vec![0, u64::MAX >> 24], vec![3, 4, 5, 6, 7, 8, 1 << 39]] {
            let leaves: Vec<_> = leaves.into_iter().map(leaf).collect();
            assert_eq!(canonical_digest(&leaves), tree::canonical_digest(&leaves), "{leaves:?}");
        }
        let chain: Vec<_> = (0..40).map(|bit| leaf(1 << bit)).collect();
        assert_eq!(canonical_digest(&chain), tree::canonical_digest(&chain));
        let full: Vec<_> = (0..1000).map(leaf).collect();
        assert_eq!(canonical_digest(&full), tree::canonical_digest(&full));
    }

    #[test]
    fn batches_are_those_of_the_rule() {
        let leaves: Vec<(u64, Value)> = (0..300).map(|i| (i * i, [Goldilocks::new(i); 4])).collect();
        for n in [0, 1, 2, 300] {
            let expected = evergrove_verifier::batch_digest(17, &leaves[..n]);
            assert_eq!((batch_digest(17, &leaves[..n]), n == 0), (expected.clone(), expected.is_err()));
        }
        let value = leaves[0].1;
        for (height, indices) in [(16, vec![0, 1 << 16]), (40, vec![u64::MAX]), (u8::MAX, vec![3, 3]), (8, vec![3, 2])]
        {
            let leaves: Vec<(u64, Value)> = indices.into_iter().map(|i| (i, value)).collect();
            let expected = evergrove_verifier::batch_digest(height, &leaves);
            assert!(expected.is_err());
            assert_eq!(batch_digest(height, &leaves), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn canonical_digests_are_those_of_the_rule(
            indices in prop::collection::btree_set(0u64..1 << 40, 0..200),
            bits in 1u32..41,
        ) {
            let indices: std::collections::BTreeSet<u64> = indices.into_iter().map(|i| i >> (40 - bits)).collect();
            let leaves: Vec<_> = indices.into_iter().map(leaf).collect();
            prop_assert_eq!(canonical_digest(&leaves), tree::canonical_digest(&leaves));
        }
    }
}

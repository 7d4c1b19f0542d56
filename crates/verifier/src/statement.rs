//! The statement of a proof.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::{Digest, Goldilocks};

use crate::Commitment;
use crate::tables::WORD;

/// "`canonical` is the root of some hash tree over a non-empty set of leaves of the subtree of height `height` whose first
/// position is `base` and whose Merkle digest is `root`."
///
/// The shape of that hash tree is not stated. A verifier that recomputes `canonical` as the canonical digest of leaves
/// that it has ([`crate::batch_digest`]) learns that these are in the subtree. A verifier without leaves learns nothing
/// about which leaves they are.
///
/// The statement of a batch proof has `base = 0` and the vector's own height; the proofs below it are about subtrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// C of the subtree.
    pub root: Digest,
    /// d; for an honest prover the canonical digest of the chosen leaves.
    pub canonical: Digest,
    /// Height of the subtree.
    pub height: u8,
    /// First position of the subtree, a multiple of 2^height.
    pub base: u64,
}

impl Statement {
    /// The statement of a batch proof: the leaves are those of the whole vector.
    pub fn whole(commitment: &Commitment, canonical: Digest) -> Self {
        Self { root: commitment.root, canonical, height: commitment.height, base: 0 }
    }

    /// True when `position` lies in the subtree.
    pub fn covers(&self, position: u64) -> bool {
        let block = |p: u64| p.checked_shr(self.height.into()).unwrap_or(0);
        block(position) == block(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtree_covers_its_block_and_every_height_has_an_answer() {
        let at = |height, base| Statement { root: Digest::ZERO, canonical: Digest::ZERO, height, base };
        assert!(at(0, 5).covers(5) && !at(0, 5).covers(4));
        assert!(at(3, 8).covers(8) && at(3, 8).covers(15) && !at(3, 8).covers(16) && !at(3, 8).covers(7));
        assert!(!at(63, 0).covers(1 << 63));
        for height in [64, 65, u8::MAX] {
            assert!(at(height, 0).covers(0) && at(height, 0).covers(u64::MAX));
        }
    }
}

/// The form of an application's output in the public inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The digest of the inputs ([`inputs_digest`](crate::inputs_digest)), followed by a word for each element.
    Elements {
        /// The digest.
        inputs: [Goldilocks; WORD],
    },
    /// Words of four elements, and no inputs: a Keccak digest.
    Words,
}

/// The words of a statement: the public inputs of all circuits. For an application they are followed by the digest of
/// its inputs and its output, with a word for each element.
pub fn information(statement: &Statement, said: Option<Said>, output: &[Goldilocks]) -> Vec<[Goldilocks; WORD]> {
    let number = |x: Goldilocks| [x, Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO];
    let Statement { root, canonical, height, base } = statement;
    let mut words =
        vec![root.0, canonical.0, number(Goldilocks::new((*height).into())), number(Goldilocks::reduce(*base))];
    match said {
        None => {}
        Some(Said::Elements { inputs }) => {
            words.push(inputs);
            words.extend(output.iter().map(|&x| number(x)));
        }
        Some(Said::Words) => words.extend(output.as_chunks().0),
    }
    words
}

//! The hashes of trees.

use core::fmt;

use evergrove_primitives::hash::keccak::{self, Function};
use evergrove_primitives::hash::poseidon;
use evergrove_primitives::hash::poseidon::lanes::{Groups, Sponge};
use evergrove_primitives::lanes::dispatch;
use evergrove_primitives::{Digest, Goldilocks};

/// A hash of rows and of groups of digests.
///
/// The functions on slices choose the instruction set when they are called, on the thread that computes.
pub trait TreeHash: Copy + Sync {
    /// An element of a row.
    type Element: Copy + Default + Send + Sync;
    /// A node of the tree. Its default fills up the levels of a padded tree.
    type Digest: Copy + Default + Send + Sync + fmt::Debug + PartialEq;

    /// Digest i is that of row i of `digests.len()` rows of `width` elements each.
    fn leaves(&self, rows: &[Self::Element], width: usize, digests: &mut [Self::Digest]);
    /// Digest i is that of group i of `digests.len()` groups of `arity` children each.
    fn nodes(&self, children: &[Self::Digest], arity: usize, digests: &mut [Self::Digest]);
    /// The digest of one row, by the simplest code: the reference for [`TreeHash::leaves`].
    fn leaf(&self, row: &[Self::Element]) -> Self::Digest;
    /// The digest of one group of children, by the simplest code.
    fn node(&self, children: &[Self::Digest]) -> Self::Digest;
}

/// Plonky2's Poseidon: `hash_or_noop` for rows, `two_to_one` for pairs.
///
/// Groups of 4 and 8 digests are hashed as rows of 16 and 32 words: 2 and 4 permutations, where a binary tree takes 3
/// and 7.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poseidon;

/// Polygon zkEVM's Poseidon: `linear_hash` for rows and for groups of digests.
///
/// For at most eight columns and for pairs it is [`Poseidon`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Polygon;

/// SHA3-256 or Keccak-256 of rows of bytes and of the children's bytes, one after the other.
///
/// The 136 bytes of the rate hold a node of arity 4: one permutation, while arity 8 takes two. Nothing separates leaves
/// from nodes, so trees of different heights may share a root: it is a commitment only together with the number of
/// rows.
#[derive(Clone, Copy, Debug)]
pub struct Keccak(pub Function);

impl TreeHash for Poseidon {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaves(&self, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        poseidon::lanes::hash_or_noop_many(rows, width, digests);
    }
    fn nodes(&self, children: &[Digest], arity: usize, digests: &mut [Digest]) {
        dispatch(Sponge::new(Groups::new(children, arity), Goldilocks::ZERO, digests));
    }
    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        poseidon::hash_or_noop(row)
    }
    fn node(&self, children: &[Digest]) -> Digest {
        poseidon::hash_no_pad(&words(children))
    }
}

impl TreeHash for Polygon {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaves(&self, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        poseidon::lanes::linear_hash_many(rows, width, digests);
    }
    fn nodes(&self, children: &[Digest], arity: usize, digests: &mut [Digest]) {
        dispatch(Sponge::chained(Groups::new(children, arity), digests));
    }
    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        poseidon::linear_hash(row)
    }
    fn node(&self, children: &[Digest]) -> Digest {
        poseidon::linear_hash(&words(children))
    }
}

impl TreeHash for Keccak {
    type Element = u8;
    type Digest = [u8; keccak::DIGEST_BYTES];

    fn leaves(&self, rows: &[u8], width: usize, digests: &mut [Self::Digest]) {
        keccak::hash_many(self.0, rows, width, digests).expect("a row per digest");
    }
    fn nodes(&self, children: &[Self::Digest], arity: usize, digests: &mut [Self::Digest]) {
        let bytes = arity * keccak::DIGEST_BYTES;
        keccak::hash_many(self.0, children.as_flattened(), bytes, digests).expect("a group per digest");
    }
    fn leaf(&self, row: &[u8]) -> Self::Digest {
        keccak::reference::hash(self.0, row)
    }
    fn node(&self, children: &[Self::Digest]) -> Self::Digest {
        keccak::reference::hash(self.0, children.as_flattened())
    }
}

fn words(digests: &[Digest]) -> Vec<Goldilocks> {
    digests.iter().flat_map(|d| d.0).collect()
}

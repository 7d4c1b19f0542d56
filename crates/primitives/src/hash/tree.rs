//! The hashes of Merkle trees.

use core::fmt;

use alloc::vec::Vec;

use super::Digest;
use super::keccak::{self, Function, Many};
use super::poseidon;
use super::poseidon::lanes::{Groups, Matrix, Sponge};
use crate::Goldilocks;
use crate::lanes::{Isa, dispatch_on};

/// A hash of rows and of groups of digests.
///
/// # Panics
/// The functions on slices panic if there is not a row or a group for every digest.
pub trait TreeHash: Copy + Sync {
    /// An element of a row.
    type Element: Copy + Default + Send + Sync;
    /// A node of the tree. Its default fills up the levels of a padded tree.
    type Digest: Copy + Default + Send + Sync + fmt::Debug + PartialEq;

    /// The digest of one row, by the simplest code.
    fn leaf(&self, row: &[Self::Element]) -> Self::Digest;
    /// The digest of one group of children, by the simplest code.
    fn node(&self, children: &[Self::Digest]) -> Self::Digest;

    /// Digest i is that of row i of `digests.len()` rows of `width` elements each. If it is not overridden, one row after
    /// the other by [`TreeHash::leaf`].
    fn leaves_on(&self, _isa: Isa, rows: &[Self::Element], width: usize, digests: &mut [Self::Digest]) {
        each(rows, width, digests, |row| self.leaf(row));
    }
    /// Digest i is that of group i of `digests.len()` groups of `arity` children each. If it is not overridden, one group
    /// after the other by [`TreeHash::node`].
    fn nodes_on(&self, _isa: Isa, children: &[Self::Digest], arity: usize, digests: &mut [Self::Digest]) {
        each(children, arity, digests, |group| self.node(group));
    }
    /// [`TreeHash::leaves_on`] the instruction set that [`Isa::detect`] finds on the thread that computes.
    fn leaves(&self, rows: &[Self::Element], width: usize, digests: &mut [Self::Digest]) {
        self.leaves_on(Isa::detect(), rows, width, digests);
    }
    /// [`TreeHash::nodes_on`] the instruction set that [`Isa::detect`] finds on the thread that computes.
    fn nodes(&self, children: &[Self::Digest], arity: usize, digests: &mut [Self::Digest]) {
        self.nodes_on(Isa::detect(), children, arity, digests);
    }
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

/// A hash on a given instruction set.
#[derive(Clone, Copy, Debug)]
pub struct On<H>(pub Isa, pub H);

/// A hash by the simplest code, one row or group after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar<H>(pub H);

impl TreeHash for Poseidon {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        poseidon::hash_or_noop(row)
    }
    fn node(&self, children: &[Digest]) -> Digest {
        match children {
            [left, right] => poseidon::two_to_one(left, right),
            _ => poseidon::hash_no_pad(&words(children)),
        }
    }
    fn leaves_on(&self, isa: Isa, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        if width > 4 {
            dispatch_on(isa, Sponge::new(Matrix::new(rows, width), Goldilocks::ZERO, digests));
        } else {
            each(rows, width, digests, |row| self.leaf(row));
        }
    }
    fn nodes_on(&self, isa: Isa, children: &[Digest], arity: usize, digests: &mut [Digest]) {
        dispatch_on(isa, Sponge::new(Groups::new(children, arity), Goldilocks::ZERO, digests));
    }
}

impl TreeHash for Polygon {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        poseidon::linear_hash(row)
    }
    fn node(&self, children: &[Digest]) -> Digest {
        poseidon::linear_hash(&words(children))
    }
    fn leaves_on(&self, isa: Isa, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        if width > 4 {
            dispatch_on(isa, Sponge::chained(Matrix::new(rows, width), digests));
        } else {
            each(rows, width, digests, |row| self.leaf(row));
        }
    }
    fn nodes_on(&self, isa: Isa, children: &[Digest], arity: usize, digests: &mut [Digest]) {
        dispatch_on(isa, Sponge::chained(Groups::new(children, arity), digests));
    }
}

impl TreeHash for Keccak {
    type Element = u8;
    type Digest = [u8; keccak::DIGEST_BYTES];

    fn leaf(&self, row: &[u8]) -> Self::Digest {
        keccak::reference::hash(self.0, row)
    }
    fn node(&self, children: &[Self::Digest]) -> Self::Digest {
        keccak::reference::hash(self.0, children.as_flattened())
    }
    fn leaves_on(&self, isa: Isa, rows: &[u8], width: usize, digests: &mut [Self::Digest]) {
        dispatch_on(isa, Many { function: self.0, messages: rows, message_bytes: width, digests });
    }
    fn nodes_on(&self, isa: Isa, children: &[Self::Digest], arity: usize, digests: &mut [Self::Digest]) {
        self.leaves_on(isa, children.as_flattened(), arity * keccak::DIGEST_BYTES, digests);
    }
}

impl<H: TreeHash> TreeHash for On<H> {
    type Element = H::Element;
    type Digest = H::Digest;

    fn leaf(&self, row: &[H::Element]) -> H::Digest {
        self.1.leaf(row)
    }
    fn node(&self, children: &[H::Digest]) -> H::Digest {
        self.1.node(children)
    }
    fn leaves_on(&self, _isa: Isa, rows: &[H::Element], width: usize, digests: &mut [H::Digest]) {
        self.1.leaves_on(self.0, rows, width, digests);
    }
    fn nodes_on(&self, _isa: Isa, children: &[H::Digest], arity: usize, digests: &mut [H::Digest]) {
        self.1.nodes_on(self.0, children, arity, digests);
    }
}

impl<H: TreeHash> TreeHash for Scalar<H> {
    type Element = H::Element;
    type Digest = H::Digest;

    fn leaf(&self, row: &[H::Element]) -> H::Digest {
        self.0.leaf(row)
    }
    fn node(&self, children: &[H::Digest]) -> H::Digest {
        self.0.node(children)
    }
}

/// The nodes, with their positions, to which the paths of ascending `nodes` lead over `levels` levels of groups of
/// 2^`log` nodes. `sibling` returns the node at a level and a position that is in a group with a path, but on no path
/// itself: level by level from the leaves, and from left to right. `join` makes the node above a group.
///
/// # Errors
/// Those of `sibling`.
pub fn climb<T, E>(
    levels: u8,
    log: u32,
    mut nodes: Vec<(u64, T)>,
    mut sibling: impl FnMut(u8, u64) -> Result<T, E>,
    mut join: impl FnMut(&[T]) -> T,
) -> Result<Vec<(u64, T)>, E> {
    for level in 0..levels {
        let (mut above, mut group) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(1 << log));
        let mut below = nodes.into_iter().peekable();
        while let Some((position, _)) = below.peek() {
            let parent = position >> log;
            for child in (0..1 << log).map(|i| (parent << log) + i) {
                group.push(match below.next_if(|(position, _)| *position == child) {
                    Some((_, node)) => node,
                    None => sibling(level, child)?,
                });
            }
            above.push((parent, join(&group)));
            group.clear();
        }
        nodes = above;
    }
    Ok(nodes)
}

/// Hashes groups of `size` elements, one for every digest.
fn each<T, D>(all: &[T], size: usize, digests: &mut [D], hash: impl Fn(&[T]) -> D) {
    assert_eq!(Some(all.len()), size.checked_mul(digests.len()), "{} groups of {size}", digests.len());
    for (i, digest) in digests.iter_mut().enumerate() {
        *digest = hash(&all[i * size..][..size]);
    }
}

fn words(digests: &[Digest]) -> Vec<Goldilocks> {
    digests.iter().flat_map(|d| d.0).collect()
}

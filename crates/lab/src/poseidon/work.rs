//! The rows of an engine: none for timing only, or those of a matrix.

use evergrove_kernels::merkle::{Polygon, Poseidon, TreeHash};
use evergrove_primitives::hash::poseidon::{WIDTH, permute};
use evergrove_primitives::{Digest, Goldilocks};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::error::field;

/// Words of a group of a matrix: the rate of the permutation.
const RATE: u32 = 8;

/// Rows that the engine absorbs group by group.
pub trait Rows {
    /// Checks that the rows have groups of `rate` words.
    ///
    /// # Errors
    /// If they do not.
    fn check(&self, rate: u32) -> Result<(), LabError>;
    /// The state of a row's sponge.
    type State: Clone;
    /// A digest.
    type Digest: Clone;
    /// Absorbs group `pass` of leaf `leaf` into `state`, or into a new sponge if it is `None`.
    fn absorb(&mut self, leaf: u64, pass: u64, state: Option<Self::State>) -> Self::State;
    /// The digest of a row after its last group.
    fn digest(&mut self, state: Self::State) -> Self::Digest;
    /// The hash of 2, 4 or 8 children.
    fn node(&mut self, children: &[Self::Digest]) -> Self::Digest;
}

/// Rows without data, for timing only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing;

impl Rows for Timing {
    fn check(&self, _: u32) -> Result<(), LabError> {
        Ok(())
    }
    type State = ();
    type Digest = ();
    #[inline(always)]
    fn absorb(&mut self, _: u64, _: u64, _: Option<()>) {}
    #[inline(always)]
    fn digest(&mut self, (): ()) {}
    #[inline(always)]
    fn node(&mut self, _: &[()]) {}
}

/// The sponge of a row. The two differ if a row has more than eight columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Convention {
    /// Plonky2's: a group overwrites as many words of the rate as it has.
    Plonky2,
    /// Polygon zkEVM's: the digest so far becomes the capacity, and a short group is padded with zeros.
    Polygon,
}

/// A matrix, stored row by row.
#[derive(Clone, Debug)]
pub struct Matrix<'a> {
    words: &'a [Goldilocks],
    columns: usize,
    convention: Convention,
    /// If set, leaf i is the row whose number is i with its bits reversed. The value is the number of bits.
    reversed: Option<u32>,
}

impl<'a> Matrix<'a> {
    /// Rows of `columns` words; leaf i is row i.
    pub fn new(words: &'a [Goldilocks], columns: usize, convention: Convention) -> Self {
        Self { words, columns, convention, reversed: None }
    }
    /// Makes leaf i the row whose number is i with its bits reversed.
    pub fn bit_reversed(self) -> Self {
        let rows = self.words.len() / self.columns;
        Self { reversed: Some(rows.ilog2()), ..self }
    }
    fn row(&self, leaf: u64) -> usize {
        match self.reversed {
            None | Some(0) => leaf as usize,
            Some(bits) => (leaf.reverse_bits() >> (64 - bits)) as usize,
        }
    }
}

impl Rows for Matrix<'_> {
    fn check(&self, rate: u32) -> Result<(), LabError> {
        if rate == RATE { Ok(()) } else { Err(field("rate", rate, "8 for a matrix")) }
    }
    type State = [Goldilocks; WIDTH];
    type Digest = Digest;
    fn absorb(&mut self, leaf: u64, pass: u64, state: Option<Self::State>) -> Self::State {
        let rate = RATE as usize;
        let start = self.row(leaf) * self.columns;
        let group = &self.words[start..start + self.columns].chunks(rate).nth(pass as usize).unwrap_or_default();
        let mut next = [Goldilocks::ZERO; WIDTH];
        match (self.convention, state) {
            (Convention::Plonky2, Some(state)) => next = state,
            (Convention::Polygon, Some(state)) => next[rate..].copy_from_slice(&state[..4]),
            (_, None) => {}
        }
        next[..group.len()].copy_from_slice(group);
        permute(&mut next);
        next
    }
    fn digest(&mut self, state: Self::State) -> Digest {
        Digest([state[0], state[1], state[2], state[3]])
    }
    fn node(&mut self, children: &[Digest]) -> Digest {
        match self.convention {
            Convention::Plonky2 => Poseidon.node(children),
            Convention::Polygon => Polygon.node(children),
        }
    }
}

/// The rows of one branch board: those from `first` on.
pub(super) struct Part<'a, W> {
    pub(super) work: &'a mut W,
    pub(super) first: u64,
}

impl<W: Rows> Rows for Part<'_, W> {
    fn check(&self, rate: u32) -> Result<(), LabError> {
        self.work.check(rate)
    }
    type State = W::State;
    type Digest = W::Digest;
    #[inline(always)]
    fn absorb(&mut self, leaf: u64, pass: u64, state: Option<W::State>) -> W::State {
        self.work.absorb(self.first + leaf, pass, state)
    }
    #[inline(always)]
    fn digest(&mut self, state: W::State) -> W::Digest {
        self.work.digest(state)
    }
    #[inline(always)]
    fn node(&mut self, children: &[W::Digest]) -> W::Digest {
        self.work.node(children)
    }
}

//! Many permutations at a time, eight to a vector.
//!
//! **What.** [`permute_many`], [`two_to_one_many`] and [`compress_many`] return, word for word, the results that
//! [`super::permute`], [`super::two_to_one`] and [`super::compress`] return one at a time. They take any number of
//! states or pairs; an incomplete vector is padded. For rows there are the [hashes of trees](crate::hash::tree).
//!
//! **Speed.** Vectors of eight states, four vectors interleaved: by products of 52 bits with AVX-512 IFMA, of 32 bits
//! with AVX-512F and AVX2. Without these, [`super::permute`] processes one state after the other: the portable bodies
//! of vectors would be slower.
//!
//! **When.** For some eight hashes or more. The functions dispatch by themselves, once per call; the [`Kernel`]s
//! [`Permute`] and [`Sponge`] behind them are for callers that choose the instruction set or have been dispatched
//! already. This module does not start threads.

mod chunks;
mod constants;
mod rounds;
mod sbox;
#[cfg(test)]
mod tests;

pub use rounds::SboxInputs;

use super::{RATE, WIDTH, permute, truncate};
use crate::lanes::{Isa, Kernel, Lanes, dispatch};
use crate::{Digest, Goldilocks};

/// The permutation of every state.
pub fn permute_many(states: &mut [[Goldilocks; WIDTH]]) {
    dispatch(Permute(states));
}

/// [`super::two_to_one`] of every pair.
///
/// # Panics
/// If the numbers of digests and pairs differ.
pub fn two_to_one_many(pairs: &[[Digest; 2]], digests: &mut [Digest]) {
    compress_many(pairs, Goldilocks::ZERO, digests);
}

/// [`super::compress`] of every pair, with the same tag.
///
/// # Panics
/// If the numbers of digests and pairs differ.
pub fn compress_many(pairs: &[[Digest; 2]], tag: Goldilocks, digests: &mut [Digest]) {
    dispatch(Sponge::new(Pairs::new(pairs), tag, digests));
}

/// The permutation of eight states, given by their words in any representatives, for kernels: S-boxes read the values
/// of `inputs`. The results are representatives below 2^64.
#[inline(always)]
pub fn permute_with<L: Lanes, S: SboxInputs<L>>(lanes: L, state: [L::V; WIDTH], inputs: S) -> [L::V; WIDTH] {
    let mut states = [state];
    rounds::permute_groups(lanes, &mut states, &mut [inputs]);
    states[0]
}

/// The product of the MDS matrix with eight states, by their words of any representatives, to representatives below 2^64.
#[inline(always)]
pub fn mds<L: Lanes>(lanes: L, state: [L::V; WIDTH]) -> [L::V; WIDTH] {
    rounds::mds(lanes, &state)
}

/// The kernel of [`permute_many`].
#[derive(Debug)]
pub struct Permute<'a>(pub &'a mut [[Goldilocks; WIDTH]]);

impl Kernel for Permute<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        if L::ISA == Isa::Portable {
            return self.0.iter_mut().for_each(permute);
        }
        chunks::permute_many(lanes, self.0);
    }
}

/// The kernel of the hashes: a sponge over equally long rows.
#[derive(Debug)]
pub struct Sponge<'a, R> {
    rows: R,
    mode: Mode,
    digests: &'a mut [Digest],
}

/// How a block changes the state.
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Plonky2's, with a domain tag in the first capacity element.
    Overwrite { tag: Goldilocks },
    /// Polygon zkEVM's, with a tag in the first capacity element of the first block.
    Chain { tag: Goldilocks },
}

impl Mode {
    /// The first capacity element of the empty sponge.
    #[inline(always)]
    fn tag(self) -> Goldilocks {
        match self {
            Self::Overwrite { tag } | Self::Chain { tag } => tag,
        }
    }

    /// Absorbs a block, zero after its `len` words, after `start` earlier words.
    #[inline(always)]
    fn absorb<T: Copy>(self, state: &mut [T; WIDTH], block: &[T; RATE], start: usize, len: usize) {
        match self {
            // A copy of known length needs no call.
            Self::Overwrite { .. } if len == RATE => state[..RATE].copy_from_slice(block),
            Self::Overwrite { .. } => state[..len].copy_from_slice(&block[..len]),
            Self::Chain { .. } => {
                if start > 0 {
                    state.copy_within(..WIDTH - RATE, RATE);
                }
                state[..RATE].copy_from_slice(block);
            }
        }
    }
}

impl<'a, R: Rows> Sponge<'a, R> {
    /// Plonky2's overwriting sponge with a domain tag in the first capacity element: row i of `rows` to digest i.
    ///
    /// # Panics
    /// If the numbers of digests and rows differ. If rows have no elements, any number of digests is allowed.
    pub fn new(rows: R, tag: Goldilocks, digests: &'a mut [Digest]) -> Self {
        Self::with(rows, Mode::Overwrite { tag }, digests)
    }

    /// Polygon zkEVM's sponge, with the same arguments. Unlike [`super::linear_hash`] it also permutes rows of four
    /// elements and fewer.
    ///
    /// # Panics
    /// As [`Sponge::new`].
    pub fn chained(rows: R, digests: &'a mut [Digest]) -> Self {
        Self::chained_from(rows, Goldilocks::ZERO, digests)
    }

    /// [`Sponge::chained`] with a domain tag in the first capacity element before the first block.
    ///
    /// # Panics
    /// As [`Sponge::new`].
    pub fn chained_from(rows: R, tag: Goldilocks, digests: &'a mut [Digest]) -> Self {
        Self::with(rows, Mode::Chain { tag }, digests)
    }

    fn with(rows: R, mode: Mode, digests: &'a mut [Digest]) -> Self {
        assert!(rows.has(digests.len()), "there are {} digests for rows of {}", digests.len(), rows.width());
        Self { rows, mode, digests }
    }
}

impl<R: Rows> Kernel for Sponge<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        if L::ISA == Isa::Portable {
            return sponge(self.rows, 0, self.mode, self.digests);
        }
        chunks::sponge(lanes, self.rows, self.mode, self.digests);
    }
}

/// The rows from `first` on, one after the other.
fn sponge<R: Rows>(rows: R, first: usize, mode: Mode, digests: &mut [Digest]) {
    for (row, digest) in (first..).zip(digests) {
        let mut state = [Goldilocks::ZERO; WIDTH];
        state[RATE] = mode.tag();
        for start in (0..rows.width()).step_by(RATE) {
            let len = (rows.width() - start).min(RATE);
            mode.absorb(&mut state, &rows.block(row, start), start, len);
            permute(&mut state);
        }
        *digest = truncate(&state);
    }
}

/// The source of the rows of a [`Sponge`]: [`Matrix`], [`Interleaved`], [`Pairs`] or [`Groups`].
pub trait Rows: Copy + Send + sealed::Sealed {
    /// Elements of a row.
    fn width(self) -> usize;
    /// Whether there are `n` rows.
    fn has(self, n: usize) -> bool;
    /// The elements of a row from `start` on, at most eight, followed by zeros.
    fn block(self, row: usize, start: usize) -> [Goldilocks; RATE];
    /// The eight elements of a row from `start` on: [`Rows::block`] if the row has that many.
    fn whole_block(self, row: usize, start: usize) -> [Goldilocks; RATE];
}

mod sealed {
    pub trait Sealed {}
}

/// Rows of equal width, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    elements: &'a [Goldilocks],
    width: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of `width` elements.
    pub fn new(elements: &'a [Goldilocks], width: usize) -> Self {
        Self { elements, width }
    }
}

impl sealed::Sealed for Matrix<'_> {}

impl Rows for Matrix<'_> {
    #[inline(always)]
    fn width(self) -> usize {
        self.width
    }
    fn has(self, n: usize) -> bool {
        self.width.checked_mul(n) == Some(self.elements.len())
    }
    #[inline(always)]
    fn block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        let rest = &self.elements[row * self.width..][..self.width][start..];
        let len = rest.len().min(RATE);
        let mut block = [Goldilocks::ZERO; RATE];
        block[..len].copy_from_slice(&rest[..len]);
        block
    }
    #[inline(always)]
    fn whole_block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        let row = &self.elements[row * self.width..][..self.width];
        *row[start..].first_chunk().expect("a whole block")
    }
}

/// Rows of a matrix that is stored in groups of eight interleaved columns.
///
/// Element j of row i is element j mod 8 of `groups[j / 8 * stride + i]`.
#[derive(Clone, Copy, Debug)]
pub struct Interleaved<'a> {
    groups: &'a [[Goldilocks; RATE]],
    stride: usize,
    first: usize,
    rows: usize,
    width: usize,
}

impl<'a> Interleaved<'a> {
    /// `rows` rows of `width` elements, from row `first` on, of groups of `stride` rows each.
    ///
    /// # Panics
    /// If there are fewer groups or rows.
    pub fn new(groups: &'a [[Goldilocks; RATE]], stride: usize, first: usize, rows: usize, width: usize) -> Self {
        let needed = width.div_ceil(RATE).checked_mul(stride);
        assert!(needed.is_some_and(|n| n <= groups.len()), "{width} columns in {} rows of groups", groups.len());
        let end = first.checked_add(rows);
        assert!(end.is_some_and(|end| end <= stride), "{rows} rows from row {first} on of {stride}");
        Self { groups, stride, first, rows, width }
    }
}

impl sealed::Sealed for Interleaved<'_> {}

impl Rows for Interleaved<'_> {
    #[inline(always)]
    fn width(self) -> usize {
        self.width
    }
    fn has(self, n: usize) -> bool {
        self.rows == n
    }
    #[inline(always)]
    fn block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        let mut block = self.groups[start / RATE * self.stride + self.first + row];
        if self.width - start < RATE {
            block[self.width - start..].fill(Goldilocks::ZERO);
        }
        block
    }
    #[inline(always)]
    fn whole_block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        self.groups[start / RATE * self.stride + self.first + row]
    }
}

/// Two digests are a row of eight elements.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a>(&'a [[Digest; 2]]);

impl<'a> Pairs<'a> {
    /// A row per pair.
    pub fn new(pairs: &'a [[Digest; 2]]) -> Self {
        Self(pairs)
    }
}

impl sealed::Sealed for Pairs<'_> {}

impl Rows for Pairs<'_> {
    #[inline(always)]
    fn width(self) -> usize {
        RATE
    }
    fn has(self, n: usize) -> bool {
        self.0.len() == n
    }
    #[inline(always)]
    fn block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        self.whole_block(row, start)
    }
    #[inline(always)]
    fn whole_block(self, row: usize, _start: usize) -> [Goldilocks; RATE] {
        let [Digest([a, b, c, d]), Digest([e, f, g, h])] = self.0[row];
        [a, b, c, d, e, f, g, h]
    }
}

/// A row is a fixed number of digests: the children of a node of a tree of any arity.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    digests: &'a [Digest],
    arity: usize,
}

impl<'a> Groups<'a> {
    /// A row per `arity` digests.
    pub fn new(digests: &'a [Digest], arity: usize) -> Self {
        Self { digests, arity }
    }
}

impl sealed::Sealed for Groups<'_> {}

impl Rows for Groups<'_> {
    #[inline(always)]
    fn width(self) -> usize {
        4 * self.arity
    }
    fn has(self, n: usize) -> bool {
        self.arity.checked_mul(n) == Some(self.digests.len())
    }
    #[inline(always)]
    fn block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        let group = &self.digests[row * self.arity..][..self.arity];
        let Digest([a, b, c, d]) = group[start / 4];
        let Digest([e, f, g, h]) = group.get(start / 4 + 1).copied().unwrap_or(Digest::ZERO);
        [a, b, c, d, e, f, g, h]
    }
    #[inline(always)]
    fn whole_block(self, row: usize, start: usize) -> [Goldilocks; RATE] {
        let pair = &self.digests[row * self.arity + start / 4..][..2];
        let (Digest([a, b, c, d]), Digest([e, f, g, h])) = (pair[0], pair[1]);
        [a, b, c, d, e, f, g, h]
    }
}

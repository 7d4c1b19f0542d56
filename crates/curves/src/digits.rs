//! Scalars as signed digits, which are read one at a time.
//!
//! A scalar k of the field of order r is represented by a sign and a magnitude, the smaller of k and r - k. Windows of
//! c_0, c_1, .. bits, from the lowest, cut the magnitude into digits from -2^(c - 1) to 2^(c - 1) - 1; the digit of the
//! highest window is from 0 to 2^(c - 1). Digits need no carries: with 2^(c - 1) added in every window but the highest,
//! a digit is the bits of its window minus 2^(c - 1).

use ark_ff::PrimeField;
use rayon::prelude::*;

use super::plan::Window;
use super::words::{SIGN, Words, length, sub, words};

/// Scalars that a thread takes at a time.
const CHUNK: usize = 1 << 12;

/// The number of scalars for each number of bits of their magnitude.
pub(super) type Lengths = [usize; 256];

/// The sum over chunks.
fn sum(chunks: impl ParallelIterator<Item = Lengths>) -> Lengths {
    let add = |mut a: Lengths, b: Lengths| {
        for (a, b) in a.iter_mut().zip(b) {
            *a += b;
        }
        a
    };
    chunks.reduce(|| [0; 256], add)
}

/// Magnitudes and signs of scalars, 0 where `skip` says so, and their lengths.
pub(super) fn magnitudes<F: PrimeField>(scalars: &[F], skip: impl Fn(usize) -> bool + Sync) -> (Vec<Words>, Lengths) {
    const { assert!(F::MODULUS_BIT_SIZE < 256, "the sign has a bit") };
    let order = words(&F::MODULUS);
    let mut out = vec![[0; 4]; scalars.len()];
    let chunk = |(at, (out, scalars)): (usize, (&mut [Words], &[F]))| {
        let mut lengths = [0; 256];
        for (i, (out, scalar)) in out.iter_mut().zip(scalars).enumerate() {
            let mut k = if skip(at * CHUNK + i) { [0; 4] } else { words(&scalar.into_bigint()) };
            let negated = sub(&order, &k).0;
            let negative = sub(&negated, &k).1;
            if negative {
                k = negated;
            }
            lengths[length(&k)] += 1;
            k[3] |= if negative { SIGN } else { 0 };
            *out = k;
        }
        lengths
    };
    let lengths = sum(out.par_chunks_mut(CHUNK).zip(scalars.par_chunks(CHUNK)).enumerate().map(chunk));
    (out, lengths)
}

/// The lengths of magnitudes, which may have signs.
pub(super) fn lengths(magnitudes: &[Words]) -> Lengths {
    sum(magnitudes.par_chunks(CHUNK).map(|chunk| {
        let mut lengths = [0; 256];
        for k in chunk {
            lengths[length(&[k[0], k[1], k[2], k[3] & !SIGN])] += 1;
        }
        lengths
    }))
}

/// The bits of the longest magnitude.
pub(super) fn longest(lengths: &Lengths) -> u32 {
    lengths.iter().rposition(|&n| n > 0).unwrap_or(0) as u32
}

/// Adds to every magnitude the offsets that [`digit`] expects for these windows.
pub(super) fn shift(magnitudes: &mut [Words], windows: &[Window]) {
    let mut shift = [0u64; 4];
    for window in windows.split_last().map_or(&[][..], |(_, lower)| lower) {
        let bit = window.offset + window.bits - 1;
        shift[bit as usize / 64] |= 1 << (bit % 64);
    }
    magnitudes.par_chunks_mut(CHUNK).for_each(|chunk| {
        for k in chunk {
            let mut carry = false;
            for (k, shift) in k.iter_mut().zip(shift) {
                (*k, carry) = k.carrying_add(shift, carry);
            }
        }
    });
}

/// How the digits of a window are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    word: usize,
    shift: u32,
    mask: u64,
    /// The offset that was added to the digits.
    half: i64,
}

impl Reader {
    /// Of window `at`.
    pub(super) fn new(windows: &[Window], at: usize) -> Self {
        let Window { offset, bits } = windows[at];
        let mask = (1 << bits) - 1;
        let half = if at + 1 == windows.len() { 0 } else { 1 << (bits - 1) };
        Self { word: offset as usize / 64, shift: offset % 64, mask, half }
    }

    /// The magnitude and the sign of a scalar's digit.
    #[inline(always)]
    pub(super) fn digit(&self, k: &Words) -> (usize, bool) {
        let low = k[self.word] >> self.shift;
        let high = if self.word < 3 { k[self.word + 1] << 1 << (63 - self.shift) } else { 0 };
        let digit = ((low | high) & self.mask) as i64 - self.half;
        (digit.unsigned_abs() as usize, (digit < 0) ^ (k[3] & SIGN != 0))
    }
}

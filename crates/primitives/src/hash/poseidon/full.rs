//! The full rounds: S-boxes on all words, and the MDS matrix as a convolution over the integers.
//!
//! **Layout.** 12 = 3 * 4 with coprime factors. So word i is at `[i mod 3][i mod 4]`, and a cyclic convolution of
//! length 12 is a two-dimensional one of 3 by 4 (Good and Thomas), without twiddle factors.
//!
//! **MDS.** Along the axis of length 4 a discrete Fourier transform takes only additions, since its roots are powers of
//! i. For each frequency this leaves a convolution of length 3 with the transform of the matrix' first row, divided
//! by 4. Those constants are 1 or powers of two times signs (see [`SPECTRUM`]): shifts and additions, no product.
//!
//! **Words.** The transform runs over the integers on halves of about 32 bits. The last product of an S-box is split into
//! such halves without being reduced, and the halves of a sum become a word only after the round constant is added.

use core::num::Wrapping;

use super::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0, ROUND_CONSTANTS};
use super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH};
use crate::field::{EPSILON, Goldilocks, fold, partial_reduce, wide};

/// Words (any representatives modulo p), word i at `[i mod 3][i mod 4]`.
pub(super) type State = [[u64; 4]; 3];
/// The constants that the rounds add *after* their MDS product, representatives in [-p/2, p/2]: those of the next
/// round.
type Constants = [[i64; 4]; 3];
/// Half of a word, or a sum of halves. It stays below 2^44 in magnitude; wrapping spares the checks.
type Half = Wrapping<i64>;

/// The full rounds before the partial ones, without the last MDS product, which [`super::partial`] computes.
pub(super) static FIRST: [Constants; HALF_FULL_ROUNDS - 1] = [centred(1), centred(2), centred(3)];
/// The full rounds after the partial ones. Nothing follows the last.
pub(super) static LAST: [Constants; HALF_FULL_ROUNDS] = {
    let first = HALF_FULL_ROUNDS + PARTIAL_ROUNDS;
    [centred(first + 1), centred(first + 2), centred(first + 3), [[0; 4]; 3]]
};

const fn centred(round: usize) -> Constants {
    let mut out = [[0; 4]; 3];
    let mut i = 0;
    while i < WIDTH {
        let c = ROUND_CONSTANTS[round][i];
        let centred = if c <= Goldilocks::ORDER / 2 { c as i64 } else { -((Goldilocks::ORDER - c) as i64) };
        // Room for adding a half.
        assert!(centred.unsigned_abs() < (1 << 63) - (1 << 44));
        out[i % 3][i % 4] = centred;
        i += 1;
    }
    out
}

/// The Fourier transform of the matrix' circulant part along the axis of length 4, for residues 0, 1, 2 modulo 3.
struct Spectrum {
    /// Frequency 0, divided by 4.
    zero: [i64; 3],
    /// Frequency 2, divided by 4.
    two: [i64; 3],
    /// Frequency 1 (and, conjugate, 3), divided by 2: real and imaginary part.
    one: [(i64, i64); 3],
}

const SPECTRUM: Spectrum = {
    let mut out = Spectrum { zero: [0; 3], two: [0; 3], one: [(0, 0); 3] };
    let mut j = 0;
    while j < 3 {
        let (a, b, c, d) = (entry(j, 0), entry(j, 1), entry(j, 2), entry(j, 3));
        let (zero, two, re, im) = (a + b + c + d, a - b + c - d, a - c, b - d);
        assert!(zero % 4 == 0 && two % 4 == 0 && re % 2 == 0 && im % 2 == 0);
        out.zero[j] = zero / 4;
        out.two[j] = two / 4;
        out.one[j] = (re / 2, im / 2);
        j += 1;
    }
    out
};

/// The entry of the first row at i = j (mod 3), i = k (mod 4).
const fn entry(j: usize, k: usize) -> i64 {
    MDS_CIRCULANT[(4 * j + 9 * k) % WIDTH] as i64
}

/// The transform of four halves: frequencies 0, 2 and 1 (the fourth is the conjugate of the last).
#[derive(Clone, Copy, Default)]
struct Frequencies {
    zero: Half,
    two: Half,
    re: Half,
    im: Half,
}

#[inline(always)]
fn transform([a, b, c, d]: [Half; 4]) -> Frequencies {
    Frequencies { zero: a + c + (b + d), two: a + c - (b + d), re: a - c, im: b - d }
}

/// Row `r` of the product, for all residues modulo 4; `offset` is added to each.
///
/// out[r] = sum of m[i] s[i + r]: a correlation, so that the matrix' spectrum is conjugated.
#[inline(always)]
fn row(s: &[Frequencies; 3], r: usize, offset: i64) -> [Half; 4] {
    let (mut zero, mut two, mut re, mut im) = (Wrapping(offset), Wrapping(0), Wrapping(0), Wrapping(0));
    for i in 0..3 {
        let x = &s[(i + r) % 3];
        let (p, q) = SPECTRUM.one[i];
        zero += x.zero * Wrapping(SPECTRUM.zero[i]);
        two += x.two * Wrapping(SPECTRUM.two[i]);
        re += x.re * Wrapping(p) + x.im * Wrapping(q);
        im += x.im * Wrapping(p) - x.re * Wrapping(q);
    }
    let (even, odd) = (zero + two, zero - two);
    [even + re, odd + im, even - re, odd - im]
}

#[inline(always)]
fn mul(a: u64, b: u64) -> u64 {
    partial_reduce(wide(a, b))
}

/// x^7 as a product that is not reduced.
#[inline(always)]
pub(super) fn sbox(x: u64) -> u128 {
    let x2 = mul(x, x);
    let x3 = mul(x2, x);
    wide(mul(x2, x2), x3)
}

/// Halves (l, h) with l + 2^32 h = x modulo p, -2^33 < l < 2^32 and 0 <= h < 2^33.
#[inline(always)]
fn split(x: u128) -> (Half, Half) {
    let (lo, hi) = (x as u64, (x >> 64) as u64);
    let (hh, hl) = ((hi >> 32) as i64, (hi & EPSILON) as i64);
    (Wrapping((lo & EPSILON) as i64 - (hl + hh)), Wrapping((lo >> 32) as i64 + hl))
}

/// The word l + 2^32 h modulo p, which must not be negative and must be below 2^95.
#[inline(always)]
fn join(l: Half, h: Half) -> u64 {
    let h = (h + (l >> 32)).0 as u64;
    fold((l.0 as u64 & EPSILON) | h << 32, h >> 32)
}

/// The state with the constants of the first round added.
#[inline(always)]
pub(super) fn enter(state: &[Goldilocks; WIDTH]) -> State {
    let mut out = [[0; 4]; 3];
    for (i, (x, c)) in state.iter().zip(&ROUND_CONSTANTS[0]).enumerate() {
        // Both are below p, so one wrap is enough.
        let (sum, carry) = x.as_u64().overflowing_add(*c);
        out[i % 3][i % 4] = sum.wrapping_add(EPSILON * carry as u64);
    }
    out
}

/// One full round per element of `constants`: S-boxes, MDS product, constants.
#[inline(never)]
pub(super) fn rounds(s: &mut State, constants: &[Constants]) {
    for c in constants {
        round(s, c);
    }
}

#[inline(always)]
fn round(s: &mut State, constants: &Constants) {
    let (mut low, mut high) = ([Frequencies::default(); 3], [Frequencies::default(); 3]);
    let mut diagonal = [(Wrapping(0), Wrapping(0)); 3];
    for (j, words) in s.iter().enumerate() {
        let [a, b, c, d] = *words;
        let (a, b, c, d) = (split(sbox(a)), split(sbox(b)), split(sbox(c)), split(sbox(d)));
        diagonal[j] = a;
        low[j] = transform([a.0, b.0, c.0, d.0]);
        high[j] = transform([a.1, b.1, c.1, d.1]);
    }
    // p = 1 + 2^32 (2^32 - 1), added as an offset, keeps the sums with negative halves and constants from going below 0.
    let (l, h) = (row(&low, 0, 1), row(&high, 0, EPSILON as i64));
    let extra = Wrapping(MDS_DIAGONAL_0 as i64);
    let (l0, h0) = (l[0] + diagonal[0].0 * extra, h[0] + diagonal[0].1 * extra);
    finish(&mut s[0], [l0, l[1], l[2], l[3]], [h0, h[1], h[2], h[3]], &constants[0]);
    finish(&mut s[1], row(&low, 1, 1), row(&high, 1, EPSILON as i64), &constants[1]);
    finish(&mut s[2], row(&low, 2, 1), row(&high, 2, EPSILON as i64), &constants[2]);
}

#[inline(always)]
fn finish(out: &mut [u64; 4], low: [Half; 4], high: [Half; 4], c: &[i64; 4]) {
    for k in 0..4 {
        out[k] = join(low[k] + Wrapping(c[k]), high[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: i128 = Goldilocks::ORDER as i128;

    #[test]
    fn halves_at_the_edges() {
        let edges = [0, 1, EPSILON - 1, EPSILON, EPSILON + 1, u64::MAX - EPSILON, u64::MAX - 1, u64::MAX];
        for lo in edges {
            for hi in edges {
                let x = (hi as u128) << 64 | lo as u128;
                let (l, h) = split(x);
                assert_eq!((l.0 as i128 + ((h.0 as i128) << 32)).rem_euclid(P), (x % P as u128) as i128, "{x:#x}");
            }
        }
        // Sums as `finish` sees them: the offset p is in, constants go to both ends, 272 halves are at theirs.
        let (low, high) = ([-272i64 << 33, -1, 0, 1, 272 << 32], [0i64, 1, 272 << 33]);
        let bound = i64::MAX - (1 << 44);
        for l in low {
            for c in [-bound, -1, 0, 1, bound] {
                for h in high {
                    let (l, h) = (l + 1 + c, h + EPSILON as i64);
                    let expected = (l as i128 + ((h as i128) << 32)).rem_euclid(P);
                    assert_eq!(join(Wrapping(l), Wrapping(h)) as i128 % P, expected, "{l} {h}");
                }
            }
        }
    }
}

//! The partial rounds as one linear recurrence.
//!
//! **The recurrence.** Let M be the MDS matrix, A the matrix M with its column 0 set to zero and B that column. Write s_n for
//! the state of partial round n with the round's constants c_n added, y_n for word 0 of s_n (what the S-box reads) and
//! z_n = y_n^7. A partial round is
//!
//! ```text
//! s_{n+1} = A s_n + B z_n + c_{n+1},    y_n = e_0 s_n.
//! ```
//!
//! The outputs y of such a system obey a recurrence in its outputs and inputs alone. Its order is 12, but a_12 = det A = 0:
//!
//! ```text
//! y_n = sum_{i=1..11} a_i y_{n-i} + sum_{i=1..12} b_i z_{n-i} + k_n,
//! ```
//!
//! where x^12 - a_1 x^11 - ... - a_12 is the characteristic polynomial of A (Cayley and Hamilton: the rows K_n = e_0 A^n
//! obey it), and b_n = h_n - sum_{i<n} a_i h_{n-i} with h_n = K_{n-1} B. M has small entries, so a and b are integers of at
//! most 60 bits apart from b_12, and all terms of a sum fit 128 bits: 23 products of words and one reduction make a round.
//!
//! **The start.** The state before is s_0 = M t + c_0, where t are the outputs of the S-boxes of the last full round. M
//! t = A t + B t_0, so t_0 counts as z_{-1}. The words 1 to 11 of t enter y_0 to y_10 by the rows (K_n - sum_i a_i
//! K_{n-i}) M, integers of at most 62 bits; there y_{n-i} with n < i is zero. The row for y_11 would be that of the
//! vanishing polynomial of A.
//!
//! **The end.** The window of the last 12 rounds determines the state after them: with K the matrix of rows K_0 to
//! K_11, s_10 = K^-1 (y_10..y_21 minus their responses to z), and s_22 = A^12 s_10 + sum_j A^{11-j} B z_{10+j}. That is
//! s_22 = G (y_11..y_21) + E (z_10..z_21) + f; y_10 drops out, again since A has a zero column. G and E have entries of
//! 64 bits.
//!
//! This is the classical passage from a state space to an ARMA model. It does the same as the sparse matrices of
//! appendix B of the Poseidon paper, with one reduction a round instead of twelve. [`super::derive`] computes all
//! values while the crate compiles.

use super::derive::{Coefficient, Partial, partial};
use super::full::{State, sbox};
use super::{PARTIAL_ROUNDS, WIDTH};
use crate::field::{EPSILON, fold, partial_reduce, wide};

const DERIVED: Partial = partial();
/// For values that are indexed at run time.
static TABLES: Partial = DERIVED;

/// Rounds before this one take the first `SHORT` lags of the recurrence: the words further back are zero.
pub(super) const SHORT_END: usize = 6;
pub(super) const SHORT: usize = 5;
/// And those before this one the first `MEDIUM` lags.
pub(super) const MEDIUM_END: usize = 11;
pub(super) const MEDIUM: usize = 10;
/// All later rounds take 11 lags.
pub(super) const LONG: usize = WIDTH - 1;

/// y_{-PAD} to y_21: the longest reach back is z_{0 - SHORT - 1}.
const PAD: usize = SHORT + 1;
const HISTORY: usize = PAD + PARTIAL_ROUNDS;

/// The partial rounds, from the S-box outputs of the last full round to the S-box inputs of the next.
#[inline(never)]
pub(super) fn rounds(s: &mut State) {
    let (mut history, starts) = History::enter(s);
    for (n, start) in starts.iter().enumerate().take(SHORT_END) {
        history.round::<SHORT>(n, *start);
    }
    for (n, start) in starts.iter().enumerate().skip(SHORT_END) {
        history.round::<MEDIUM>(n, *start);
    }
    for n in MEDIUM_END..PARTIAL_ROUNDS {
        history.round::<LONG>(n, TABLES.k[n]);
    }
    history.leave(s);
}

/// The words read and returned by the S-box so far: y_n and z_n at index n + PAD, zeros where nothing was.
struct History {
    y: [u64; HISTORY],
    z: [u64; HISTORY],
    /// The newest z.
    last: u64,
}

impl History {
    /// The empty history, and the terms that s_0 and the constants add to y_0 to y_10.
    #[inline(always)]
    fn enter(s: &State) -> (Self, [u128; MEDIUM_END]) {
        let mut t = [0; WIDTH];
        for (i, t) in t.iter_mut().enumerate() {
            *t = partial_reduce(sbox(s[i % 3][i % 4]));
        }
        let mut history = Self { y: [0; HISTORY], z: [0; HISTORY], last: t[0] };
        history.z[PAD - 1] = t[0];
        // The excess of the lifted rows: see `derive::lift`.
        t[0] = !partial_reduce(t[1..].iter().map(|t| *t as u128).sum());
        let mut starts = [0; MEDIUM_END];
        for (n, start) in starts.iter_mut().enumerate() {
            *start = TABLES.k[n];
            for (q, t) in TABLES.q[n].iter().zip(&t) {
                *start += wide(*q, *t);
            }
        }
        (history, starts)
    }

    /// Round `n`, which reads `LAGS` rounds back; `start` is the part of y_n that the history does not hold.
    #[inline(always)]
    fn round<const LAGS: usize>(&mut self, n: usize, start: u128) {
        let lag = |sum: u128, i: usize| {
            if i > LAGS {
                return sum;
            }
            plus(plus(sum, &DERIVED.b[i], self.z[PAD + n - i - 1]), &DERIVED.a[i - 1], self.y[PAD + n - i])
        };
        // A loop would not be unrolled, and would look up at run time which coefficients are negative.
        let mut sum = lag(start, 11);
        sum = lag(sum, 10);
        sum = lag(sum, 9);
        sum = lag(sum, 8);
        sum = lag(sum, 7);
        sum = lag(sum, 6);
        sum = lag(sum, 5);
        sum = lag(sum, 4);
        sum = lag(sum, 3);
        sum = lag(sum, 2);
        sum = lag(sum, 1);
        // z_{n-1}, the word that is ready last, is added to a sum that is reduced already.
        const { assert!(!DERIVED.b[0].negative) };
        let sum = plus(partial_reduce(sum) as u128, &DERIVED.b[0], self.last);
        let y = fold(sum as u64, (sum >> 64) as u64);
        self.last = partial_reduce(sbox(y));
        self.y[PAD + n] = y;
        self.z[PAD + n] = self.last;
    }

    /// The state after the last round.
    #[inline(always)]
    fn leave(&self, s: &mut State) {
        let (y, z) = (&self.y[HISTORY - LONG..], &self.z[HISTORY - WIDTH..]);
        for i in 0..WIDTH {
            let (g, e) = (&TABLES.g[i], &TABLES.e[i]);
            let mut sum = Difference::new(TABLES.f[i]).less(e[0], z[0]);
            for j in 0..LONG {
                sum = sum.less(e[j + 1], z[j + 1]).less(g[j], y[j]);
            }
            s[i % 3][i % 4] = sum.reduce();
        }
    }
}

/// sum + c w.
#[inline(always)]
fn plus(sum: u128, c: &Coefficient, w: u64) -> u128 {
    let product = wide(c.magnitude, w);
    if c.negative { sum - product } else { sum + product }
}

/// A word minus products of words: `low` - 2^128 `borrows`.
///
/// A difference, since its chain of borrows compiles to better code than the carries of a sum.
#[derive(Clone, Copy)]
struct Difference {
    low: u128,
    borrows: u32,
}

impl Difference {
    #[inline(always)]
    fn new(x: u64) -> Self {
        Self { low: x as u128, borrows: 0 }
    }

    #[inline(always)]
    fn less(self, a: u64, b: u64) -> Self {
        let (low, borrow) = self.low.overflowing_sub(wide(a, b));
        Self { low, borrows: self.borrows + borrow as u32 }
    }

    /// The value modulo p, where 2^128 = -2^32; `borrows` is below 2^31.
    #[inline(always)]
    fn reduce(self) -> u64 {
        let (x, carry) = partial_reduce(self.low).overflowing_add((self.borrows as u64) << 32);
        if carry {
            core::hint::cold_path();
            return x.wrapping_add(EPSILON);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of a reduction for the extreme values of a difference.
    #[test]
    fn differences_at_the_edges() {
        let p = crate::Goldilocks::ORDER as u128;
        for low in [0, 1, EPSILON as u128, p - 1, p, u64::MAX as u128, u128::MAX - EPSILON as u128, u128::MAX] {
            for borrows in [0, 1, 23, 24] {
                // -2^128 = 2^32
                let expected = (low % p + ((borrows as u128) << 32)) % p;
                assert_eq!(Difference { low, borrows }.reduce() as u128 % p, expected, "{low:#x} {borrows}");
            }
        }
        let least = (0..23).fold(Difference::new(0), |d, _| d.less(u64::MAX, u64::MAX));
        let square = (u64::MAX as u128 % p).pow(2) % p;
        assert_eq!(least.reduce() as u128 % p, (p - square) * 23 % p);
    }
}

//! Eight elements as limbs of 52 bits, lane by lane: for 52-bit multipliers, and for those that floating point makes.
//!
//! **Limbs.** A value is M vectors, limb j of eight elements in vector j, each limb below 2^52. [`Lanes::mul52_add`] splits
//! the product of two limbs into l + 2^52 h and adds both to *columns* of weight 2^(52 k); carries pass through the columns once,
//! at the end. Where l is rounded ([`Lanes::EXACT_LOW`] is false) columns may be negative.
//!
//! **Montgomery's reduction** takes one limb in each step. A *late* step computes m = -t/p mod 2^52 and t + m p; the
//! column that is now 0 modulo 2^52 is dropped. With exact l it carries (t + 2^52 - 1) >> 52, whatever m is. An *early*
//! step does not wait for m: with k = -1/p mod 2^52 and the multiple (k p + 1) / 2^52, a column q becomes q + (q mod
//! 2^52) k p = 2^52 (q >> 52) + (q mod 2^52) (k p + 1). It adds up to 2^52 p to the remaining columns, which the
//! following steps make small: two steps are late. The multiples of p are kept apart from the product, so neither waits
//! for the other.
//!
//! M steps divide by 2^(52 M), while memory holds x 2^(64 N). Three methods correct this, and they convert no value
//! when it is loaded or stored:
//!
//! - `mul` stops early: the last step takes 64 N - 52 (M - 1) bits, so the product is divided by 2^(64 N).
//! - A *factor* is kept as x 2^(52 M) mod p, so that the product with a value x 2^(64 N) is again in that form.
//! - A *sum* of products is divided by 2^(52 (M + 1)), and a product with a constant factor corrects the rest.
//!
//! **Bounds**, for p < 2^(64 N - 1) and 2^(64 N) <= 2^(52 M - 4). A product of a and b divided by 2^k is below
//! a b / 2^k + p. Values are below 9/4 p, lazy values below 8 p, factors below 5/4 p. With p / 2^(64 N) < 1/2:
//! (9/4)^2 / 2 + 1 < 18/5, from which `settle_one` makes 9/4; with a difference for one of the two (21/4) (9/4) / 2 + 1 < 7, which
//! takes `settle_one` of 4 p and of 2 p; with p / 2^(52 M) < 1/32: 8 (5/4) / 32 + 1 < 7/5.
//! A conditional subtraction of k p looks at the highest column alone, before carries. A column is between -2^58 and 2^58, so
//! that those below are worth less than 65 of its units either way ([`SLACK`]): the subtraction leaves no negative value, and
//! none of k p + e and more, where e is 2^8 units and, since the highest limb of p has twelve bits, at most p / 8.
//! A column of a sum takes 2 M products of a term: 128 terms stay below 2^63, and 2^63 if they are signed.

use core::marker::PhantomData;

use super::invert::invert_all;
use super::modulus::{limbs, negated_inverse, power_of_two, times};
use super::{PrimeElement, PrimeLanes, scalar};
use crate::field::{FieldLanes, Outlined, over_itself};
use crate::lanes::{Body, LANES, Lanes};

/// Arithmetic on eight elements of N words, as M limbs of 52 bits.
#[derive(Clone, Copy, Debug)]
pub struct Radix52<L, F, const N: usize, const M: usize>(L, PhantomData<F>);

/// Eight elements, below 9/4 p.
#[derive(Clone, Copy, Debug)]
pub struct Limbs<V, const M: usize>([V; M]);

/// Eight differences, below 21/4 p.
#[derive(Clone, Copy, Debug)]
pub struct DifferenceLimbs<V, const M: usize>([V; M]);

/// Eight elements, below 8 p.
#[derive(Clone, Copy, Debug)]
pub struct LazyLimbs<V, const M: usize>([V; M]);

/// Eight multipliers x 2^(52 M), below 5/4 p.
#[derive(Clone, Copy, Debug)]
pub struct FactorLimbs<V, const M: usize>([V; M]);

/// Eight sums of products: 2 M columns, low and high.
#[derive(Clone, Copy, Debug)]
pub struct Columns<V, const M: usize>([[V; M]; 2]);

impl<V, const M: usize> From<Limbs<V, M>> for DifferenceLimbs<V, M> {
    #[inline(always)]
    fn from(v: Limbs<V, M>) -> Self {
        Self(v.0)
    }
}

impl<V, const M: usize> From<Limbs<V, M>> for LazyLimbs<V, M> {
    #[inline(always)]
    fn from(v: Limbs<V, M>) -> Self {
        Self(v.0)
    }
}

/// The limbs of two factors.
type Factors<'a, V, const M: usize> = (&'a [V; M], &'a [V; M]);

const BITS: u32 = 52;
const MASK: u64 = (1 << BITS) - 1;
/// More than the columns below the highest may take from it or give to it, in its units.
const SLACK: u64 = 65;

/// The modulus of `F` in limbs, and constants that follow from it.
struct Constants<F, const N: usize, const M: usize>(PhantomData<F>);

impl<F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> Constants<F, N, M> {
    const P: [u64; M] = {
        assert!(F::MODULUS[0] % 2 == 1, "the modulus is odd");
        assert!(F::MODULUS[N - 1] < u64::MAX >> 1, "the modulus leaves the highest bit free");
        assert!(64 * N + 4 <= 52 * M && 52 * (M - 1) < 64 * N, "limbs leave four bits free, and none is superfluous");
        let p: [u64; M] = limbs(&F::MODULUS);
        assert!(p[M - 1] >> 11 != 0, "the highest limb has twelve bits");
        p
    };
    const P2: [u64; M] = times(2, &Self::P);
    const P3: [u64; M] = times(3, &Self::P);
    const P4: [u64; M] = times(4, &Self::P);
    const P5: [u64; M] = times(5, &Self::P);
    /// -1/p mod 2^52.
    const NEGATED_INVERSE: u64 = negated_inverse(Self::P[0]) & MASK;
    /// (p (-1/p mod 2^52) + 1) / 2^52, below p.
    const MULTIPLE: [u64; M] = {
        // p k + 1, limb by limb; the lowest is 0.
        let (mut out, mut carry, mut i) = ([0; M], 1u128, 0);
        while i < M {
            let sum = Self::P[i] as u128 * Self::NEGATED_INVERSE as u128 + carry;
            if i > 0 {
                out[i - 1] = sum as u64 & MASK;
            } else {
                assert!(sum as u64 & MASK == 0, "k is -1/p");
            }
            carry = sum >> BITS;
            i += 1;
        }
        assert!(carry <= MASK as u128);
        out[M - 1] = carry as u64;
        out
    };
    /// Whether (9/4)^2 p / 2^(64 N) + 1 < 9/4.
    const PRODUCTS_ARE_SETTLED: bool = F::MODULUS[N - 1] < 0x3f00_0000_0000_0000;
    /// Whether (21/4) (9/4) p / 2^(64 N) + 1 < 9/4.
    const DIFFERENCES_ARE_SETTLED: bool = F::MODULUS[N - 1] < 0x1b00_0000_0000_0000;
    /// Whether (21/4) (9/4) p / 2^(64 N) + 1 < 4.
    const DIFFERENCES_NEED_ONE: bool = F::MODULUS[N - 1] < 0x4000_0000_0000_0000;
    /// 2^(52 M) mod p: turns words into a factor.
    const FACTOR: [u64; N] = power_of_two(BITS * M as u32, &F::MODULUS);
    /// Turns a value into a factor: the factor 2^(52 M - 64 N).
    const TO_FACTOR: [u64; M] = limbs(&power_of_two(2 * BITS * M as u32 - 64 * N as u32, &F::MODULUS));
    /// Turns a sum divided by 2^(52 (M + 1)) into a value.
    const FINISH: [u64; M] = limbs(&power_of_two(BITS * (2 * M as u32 + 1) - 64 * N as u32, &F::MODULUS));
}

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> Radix52<L, F, N, M> {
    /// On an instruction set.
    #[inline(always)]
    pub fn new(lanes: L) -> Self {
        Self(lanes, PhantomData)
    }

    /// The same limbs in every lane.
    #[inline(always)]
    fn constant(self, x: &[u64; M]) -> [L::V; M] {
        let mut out = [self.0.splat(0); M];
        for (out, x) in out.iter_mut().zip(x) {
            *out = self.0.splat(*x);
        }
        out
    }

    /// Passes carries, which may be negative, up from every column but the highest.
    #[inline(always)]
    fn normalize(self, mut t: [L::V; M]) -> [L::V; M] {
        let w = self.0;
        for i in 0..M - 1 {
            let carry = w.shr_signed::<BITS>(t[i]);
            t[i] = w.and(t[i], w.splat(MASK));
            t[i + 1] = w.add(t[i + 1], carry);
        }
        t
    }

    /// The carry of a column to the next.
    #[inline(always)]
    fn carry_of(self, column: L::V) -> L::V {
        if L::EXACT_LOW { self.0.shr::<BITS>(column) } else { self.0.shr_signed::<BITS>(column) }
    }

    /// Subtracts `kp` where the highest column shows that it may.
    #[inline(always)]
    fn settle_one(self, mut t: [L::V; M], kp: &[u64; M]) -> [L::V; M] {
        let w = self.0;
        let (top, bound) = (t[M - 1], w.splat(kp[M - 1] + SLACK));
        for (t, p) in t.iter_mut().zip(kp) {
            *t = w.sub_where_less_signed(*t, w.splat(*p), bound, top);
        }
        t
    }

    /// Columns worth less than 8 p, as a value below 9/4 p.
    #[inline(always)]
    fn settle(self, t: [L::V; M]) -> Limbs<L::V, M> {
        let t = self.settle_one(t, const { &Constants::<F, N, M>::P4 });
        let t = self.settle_one(t, const { &Constants::<F, N, M>::P2 });
        Limbs(self.normalize(t))
    }

    /// The representative below p of a value below 9/4 p.
    #[inline(always)]
    fn canonical(self, v: Limbs<L::V, M>) -> [L::V; M] {
        let (w, p) = (self.0, const { &Constants::<F, N, M>::P });
        let v = self.settle_one(v.0, p);
        let mut less = v;
        for (x, p) in less.iter_mut().zip(p) {
            *x = w.sub(*x, w.splat(*p));
        }
        let (v, less) = (self.normalize(v), self.normalize(less));
        let (mut out, sign) = (v, less[M - 1]);
        for (out, less) in out.iter_mut().zip(less) {
            *out = w.select_negative(sign, *out, less);
        }
        out
    }

    /// a + b, as columns.
    #[inline(always)]
    fn plus(self, mut a: [L::V; M], b: [L::V; M]) -> [L::V; M] {
        for (a, b) in a.iter_mut().zip(b) {
            *a = self.0.add(*a, b);
        }
        a
    }

    /// a - b + 3 p, as columns.
    #[inline(always)]
    fn minus(self, mut a: [L::V; M], b: [L::V; M]) -> [L::V; M] {
        let p3 = const { &Constants::<F, N, M>::P3 };
        for ((a, b), p) in a.iter_mut().zip(b).zip(p3) {
            *a = self.0.sub(self.0.add(*a, self.0.splat(*p)), b);
        }
        a
    }

    /// Row i of the product a b, added to columns.
    #[inline(always)]
    fn row(self, t: &mut [L::V], a: &[L::V; M], b: &[L::V; M], i: usize) {
        let w = self.0;
        for j in 0..M {
            (t[i + j], t[i + j + 1]) = w.mul52_add(t[i + j], t[i + j + 1], a[j], b[i]);
        }
    }

    /// a^2, as columns.
    #[inline(always)]
    fn squared(self, a: &[L::V; M]) -> [[L::V; M]; 2] {
        let w = self.0;
        let mut columns = [[w.splat(0); M]; 2];
        let t = columns.as_flattened_mut();
        for i in 0..M {
            for j in i + 1..M {
                (t[i + j], t[i + j + 1]) = w.mul52_add(t[i + j], t[i + j + 1], a[i], a[j]);
            }
        }
        for i in 0..M {
            let (low, high) = (w.add(t[2 * i], t[2 * i]), w.add(t[2 * i + 1], t[2 * i + 1]));
            (t[2 * i], t[2 * i + 1]) = w.mul52_add(low, high, a[i], a[i]);
        }
        columns
    }

    /// Step i of the reduction of t + h by [`Constants::MULTIPLE`].
    #[inline(always)]
    fn early_step(self, t: &mut [L::V], h: &mut [L::V], i: usize) {
        let (w, k) = (self.0, const { &Constants::<F, N, M>::MULTIPLE });
        let q = w.add(t[i], h[i]);
        t[i + 1] = w.add(t[i + 1], self.carry_of(q));
        for j in 0..M {
            (h[i + 1 + j], h[i + 2 + j]) = w.mul52_add(h[i + 1 + j], h[i + 2 + j], q, w.splat(k[j]));
        }
    }

    /// Step i of the reduction of t + h by p; `low` bits of the column become zero. Returns the column with the added
    /// multiple.
    #[inline(always)]
    fn late_step(self, t: &mut [L::V], h: &mut [L::V], i: usize, low: u64) -> L::V {
        let (w, p) = (self.0, const { &Constants::<F, N, M>::P });
        let (zero, column) = (w.splat(0), w.add(t[i], h[i]));
        let (mut m, _) = w.mul52_add(zero, zero, column, w.splat(const { Constants::<F, N, M>::NEGATED_INVERSE }));
        let column = if low == MASK && L::EXACT_LOW {
            t[i + 1] = w.add(t[i + 1], w.shr::<BITS>(w.add(column, w.splat(MASK))));
            t[i + 1] = w.mul52_high(t[i + 1], m, w.splat(p[0]));
            column
        } else {
            m = w.and(m, w.splat(low));
            let (column, high) = w.mul52_add(column, t[i + 1], m, w.splat(p[0]));
            t[i + 1] = if low == MASK { w.add(high, self.carry_of(column)) } else { high };
            column
        };
        for j in 1..M {
            (h[i + j], h[i + j + 1]) = w.mul52_add(h[i + j], h[i + j + 1], m, w.splat(p[j]));
        }
        column
    }

    /// Row i + 1 of the product, if there is one, and step i of the reduction, of `steps`. Not a loop: the compiler
    /// unrolls only small ones, and columns would go to memory.
    #[inline(always)]
    fn round(self, t: &mut [L::V], h: &mut [L::V], factors: Option<Factors<'_, L::V, M>>, i: usize, steps: usize) {
        if let Some((a, b)) = factors
            && i + 1 < M
        {
            self.row(t, a, b, i + 1);
        }
        // An early step leaves up to 2^52 p at its place: it is early enough if two steps follow, or one step and the
        // last step of `finish_words`.
        if i + 2 < steps.max(M) {
            self.early_step(t, h, i);
        } else if i < steps {
            self.late_step(t, h, i, MASK);
        }
    }

    /// `steps` rounds of the reduction of t, interleaved with the product of two factors: the result is 2^(52 steps)
    /// too large. `steps` is M - 1, M or M + 1.
    #[inline(always)]
    fn rounds(self, t: &mut [L::V], h: &mut [L::V], factors: Option<Factors<'_, L::V, M>>, steps: usize) {
        if let Some((a, b)) = factors {
            self.row(t, a, b, 0);
        }
        self.round(t, h, factors, 0, steps);
        self.round(t, h, factors, 1, steps);
        self.round(t, h, factors, 2, steps);
        self.round(t, h, factors, 3, steps);
        self.round(t, h, factors, 4, steps);
        self.round(t, h, factors, 5, steps);
        self.round(t, h, factors, 6, steps);
        self.round(t, h, factors, 7, steps);
        self.round(t, h, factors, 8, steps);
        const { assert!(M < 9, "there are rounds enough") };
    }

    /// a b / 2^(52 M), as columns.
    #[inline(always)]
    fn multiply(self, a: &[L::V; M], b: &[L::V; M]) -> [L::V; M] {
        let zero = [[self.0.splat(0); M]; 2];
        let (mut t, mut h) = (zero, zero);
        self.rounds(t.as_flattened_mut(), h.as_flattened_mut(), Some((a, b)), M);
        self.plus(t[1], h[1])
    }

    /// a b / 2^(64 N), below 18/5 p, as a value. The first may be a difference.
    #[inline(always)]
    fn multiply_words(self, a: &[L::V; M], b: &[L::V; M], difference: bool) -> [L::V; M] {
        let zero = [[self.0.splat(0); M]; 2];
        let (mut t, mut h) = (zero, zero);
        self.rounds(t.as_flattened_mut(), h.as_flattened_mut(), Some((a, b)), M - 1);
        self.finish_words(t, h, difference)
    }

    /// a^2 / 2^(64 N), below 18/5 p, as a value.
    #[inline(always)]
    fn square_words(self, a: &[L::V; M]) -> [L::V; M] {
        let (mut t, mut h) = (self.squared(a), [[self.0.splat(0); M]; 2]);
        self.rounds(t.as_flattened_mut(), h.as_flattened_mut(), None, M - 1);
        self.finish_words(t, h, false)
    }

    /// A sum / 2^(52 (M + 1)), as columns. One more step than in `multiply`: the quotient is below 5/4 p for every sum.
    #[inline(always)]
    fn divide_sum(self, sum: &[[L::V; M]; 2]) -> [L::V; M] {
        let zero = [self.0.splat(0); M];
        let (mut columns, mut multiples) = ([sum[0], sum[1], zero], [zero; 3]);
        let (t, h) = (columns.as_flattened_mut(), multiples.as_flattened_mut());
        self.rounds(t, h, None, M + 1);
        let mut quotient = zero;
        for (j, out) in quotient.iter_mut().enumerate() {
            *out = self.0.add(t[M + 1 + j], h[M + 1 + j]);
        }
        quotient
    }

    /// Runs a long operation: inline where a product is two instructions, otherwise as a function, since the call costs
    /// little compared with the operation, and inlining costs much compile time.
    #[inline(always)]
    fn long(self, operation: Long<'_, L::V, M>) -> [L::V; M] {
        if L::EXACT_LOW { operation.run(self) } else { self.outline(operation) }
    }

    /// The last step of a division by 2^(64 N), and carries. `difference`: one factor was a difference.
    #[inline(always)]
    fn finish_words(self, mut columns: [[L::V; M]; 2], mut multiples: [[L::V; M]; 2], difference: bool) -> [L::V; M] {
        let w = self.0;
        // The last step takes `bits`; `rest` remain of the limb.
        let bits = (64 * N - 52 * (M - 1)) as u32;
        let (rest, low) = (BITS - bits, (1 << bits) - 1);
        let first = self.late_step(columns.as_flattened_mut(), multiples.as_flattened_mut(), M - 1, low);
        let mut t = self.plus(columns[1], multiples[1]);
        if rest <= 5 {
            // Columns below 2^58 may be shifted before carries pass.
            for t in &mut t {
                *t = w.shift_left(*t, rest);
            }
            // Above 0: 2^62 is more than a column can be below it.
            let first = w.shift_right(w.add(first, w.splat(1 << 62)), bits);
            t[0] = w.add(t[0], w.sub(first, w.splat(1 << (62 - bits))));
            if difference && const { !Constants::<F, N, M>::DIFFERENCES_NEED_ONE } {
                t = self.settle_one(t, const { &Constants::<F, N, M>::P4 });
            }
            let settled =
                const { [Constants::<F, N, M>::PRODUCTS_ARE_SETTLED, Constants::<F, N, M>::DIFFERENCES_ARE_SETTLED] };
            if !settled[difference as usize] {
                t = self.settle_one(t, const { &Constants::<F, N, M>::P2 });
            }
            return self.normalize(t);
        }
        const { assert!(Constants::<F, N, M>::DIFFERENCES_ARE_SETTLED || 64 * N + 5 >= 52 * M) };
        t[0] = w.add(t[0], self.carry_of(first));
        let t = self.normalize(t);
        let (mut out, mut below) = (t, w.and(first, w.splat(MASK)));
        for (out, t) in out.iter_mut().zip(t) {
            *out = w.or(w.shift_right(below, bits), w.and(w.shift_left(t, rest), w.splat(MASK)));
            below = t;
        }
        out
    }

    /// The limbs of eight elements.
    #[inline(always)]
    fn split(self, words: [L::V; N]) -> Limbs<L::V, M> {
        let w = self.0;
        let mut out = [w.splat(0); M];
        for (i, limb) in out.iter_mut().enumerate() {
            let (word, shift) = (BITS * i as u32 / 64, BITS * i as u32 % 64);
            *limb = w.shift_right(words[word as usize], shift);
            if shift > 64 - BITS && word as usize + 1 < N {
                *limb = w.or(*limb, w.shift_left(words[word as usize + 1], 64 - shift));
            }
            *limb = w.and(*limb, w.splat(MASK));
        }
        Limbs(out)
    }

    /// The words of eight elements.
    #[inline(always)]
    fn pack(self, limbs: [L::V; M]) -> [L::V; N] {
        let w = self.0;
        let mut out = [w.splat(0); N];
        for (i, word) in out.iter_mut().enumerate() {
            let (mut limb, shift) = (64 * i as u32 / BITS, 64 * i as u32 % BITS);
            *word = w.shift_right(limbs[limb as usize], shift);
            let mut filled = BITS - shift;
            while filled < 64 && limb as usize + 1 < M {
                limb += 1;
                *word = w.or(*word, w.shift_left(limbs[limb as usize], filled));
                filled += BITS;
            }
        }
        out
    }
}

/// An operation of many products of limbs.
enum Long<'a, V, const M: usize> {
    /// [`Radix52::multiply`].
    Scale(&'a [V; M], &'a [V; M]),
    /// [`Radix52::multiply_words`].
    Multiply(&'a [V; M], &'a [V; M], bool),
    /// [`Radix52::square_words`].
    Square(&'a [V; M]),
    /// Adds a product to the columns; the result is unused.
    Accumulate(&'a mut [[V; M]; 2], &'a [V; M], &'a [V; M]),
    /// [`Radix52::divide_sum`].
    Finish(&'a [[V; M]; 2]),
}

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> Body<Radix52<L, F, N, M>>
    for Long<'_, L::V, M>
{
    type Output = [L::V; M];

    #[inline(always)]
    fn run(self, f: Radix52<L, F, N, M>) -> [L::V; M] {
        match self {
            Self::Scale(a, k) => f.multiply(a, k),
            Self::Multiply(a, b, difference) => f.multiply_words(a, b, difference),
            Self::Square(a) => f.square_words(a),
            Self::Accumulate(sum, a, b) => {
                let t = sum.as_flattened_mut();
                for i in 0..M {
                    f.row(t, a, b, i);
                }
                *a
            }
            Self::Finish(sum) => f.divide_sum(sum),
        }
    }
}

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> FieldLanes for Radix52<L, F, N, M> {
    type Element = F;
    type V = Limbs<L::V, M>;
    type Lazy = LazyLimbs<L::V, M>;
    type Factor = FactorLimbs<L::V, M>;
    type Term = LazyLimbs<L::V, M>;
    type Sum = Columns<L::V, M>;

    #[inline(always)]
    fn zero(self) -> Self::V {
        Limbs([self.0.splat(0); M])
    }
    #[inline(always)]
    fn splat(self, x: &F) -> Self::V {
        Limbs(self.constant(&limbs(x.words())))
    }
    #[inline(always)]
    fn gather(self, x: [&F; LANES]) -> Self::V {
        let [a, b, c, d, e, f, g, h] = x;
        let rows = [a.words(), b.words(), c.words(), d.words(), e.words(), f.words(), g.words(), h.words()];
        self.split(self.0.load_rows(rows))
    }
    #[inline(always)]
    fn scatter(self, v: Self::V, x: [&mut F; LANES]) {
        let [a, b, c, d, e, f, g, h] = x;
        let rows = [
            a.words_mut(),
            b.words_mut(),
            c.words_mut(),
            d.words_mut(),
            e.words_mut(),
            f.words_mut(),
            g.words_mut(),
            h.words_mut(),
        ];
        self.0.store_rows(self.pack(self.canonical(v)), rows);
    }
    #[inline(always)]
    fn to_array(self, v: Self::V) -> [F; LANES] {
        let mut out = [F::from_words(F::MODULUS); LANES];
        self.store(v, &mut out);
        out
    }
    #[inline(always)]
    fn sum_lanes(self, v: Self::V) -> F {
        super::sum(&self.to_array(v))
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        self.settle(self.plus(a.0, b.0))
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        self.settle(self.minus(a.0, b.0))
    }
    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        Limbs(self.long(Long::Multiply(&a.0, &b.0, false)))
    }
    #[inline(always)]
    fn square(self, a: Self::V) -> Self::V {
        Limbs(self.long(Long::Square(&a.0)))
    }
    #[inline(always)]
    fn lazy_add(self, a: Self::V, b: Self::V) -> Self::Lazy {
        LazyLimbs(self.normalize(self.plus(a.0, b.0)))
    }
    #[inline(always)]
    fn lazy_sub(self, a: Self::V, b: Self::V) -> Self::Lazy {
        LazyLimbs(self.normalize(self.minus(a.0, b.0)))
    }
    #[inline(always)]
    fn extend(self, a: Self::V, b: Self::V) -> Self::Lazy {
        LazyLimbs(self.normalize(self.minus(self.plus(b.0, b.0), a.0)))
    }
    #[inline(always)]
    fn reduce(self, a: Self::Lazy) -> Self::V {
        self.settle(a.0)
    }
    #[inline(always)]
    fn factor(self, x: &F) -> Self::Factor {
        let words = scalar::mul::<F, N>(x.words(), const { &Constants::<F, N, M>::FACTOR });
        FactorLimbs(self.constant(&limbs(&words)))
    }
    #[inline(always)]
    fn to_factor(self, a: Self::V) -> Self::Factor {
        let k = FactorLimbs(self.constant(const { &Constants::<F, N, M>::TO_FACTOR }));
        FactorLimbs(self.scale(a.into(), k).0)
    }
    #[inline(always)]
    fn scale(self, a: Self::Lazy, k: Self::Factor) -> Self::V {
        Limbs(self.normalize(self.long(Long::Scale(&a.0, &k.0))))
    }
    #[inline(always)]
    fn line(self, a: Self::V, b: Self::V, k: Self::Factor) -> Self::V {
        // a + (8 (5/4) / 32 + 1) p < 15/4 p.
        let t = self.plus(self.long(Long::Scale(&self.lazy_sub(b, a).0, &k.0)), a.0);
        Limbs(self.normalize(self.settle_one(t, const { &Constants::<F, N, M>::P2 })))
    }
    #[inline(always)]
    fn empty(self) -> Self::Sum {
        Columns([[self.0.splat(0); M]; 2])
    }
    #[inline(always)]
    fn accumulate_terms(self, sum: &mut Self::Sum, a: Self::Lazy, b: Self::Lazy) {
        self.long(Long::Accumulate(&mut sum.0, &a.0, &b.0));
    }
    #[inline(always)]
    fn carry(self, sum: &mut Self::Sum) {
        let (w, t) = (self.0, sum.0.as_flattened_mut());
        for i in 0..2 * M - 1 {
            t[i + 1] = w.add(t[i + 1], self.carry_of(t[i]));
            t[i] = w.and(t[i], w.splat(MASK));
        }
    }
    #[inline(always)]
    fn finish(self, sum: Self::Sum) -> Self::V {
        let quotient = self.long(Long::Finish(&sum.0));
        let k = FactorLimbs(self.constant(const { &Constants::<F, N, M>::FINISH }));
        self.scale(LazyLimbs(self.normalize(quotient)), k)
    }
    over_itself!();

    #[inline(always)]
    fn term(self, a: Self::Lazy) -> Self::Term {
        a
    }
    #[inline(always)]
    fn outline<B: Body<Self>>(self, body: B) -> B::Output {
        self.0.outline(Outlined(self, body))
    }
}

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize, const M: usize> PrimeLanes for Radix52<L, F, N, M> {
    type Difference = DifferenceLimbs<L::V, M>;
    #[inline(always)]
    fn park(self, v: Self::V, [a, b, c, d, e, f, g, h]: [&mut F; LANES]) {
        let rows = [
            a.words_mut(),
            b.words_mut(),
            c.words_mut(),
            d.words_mut(),
            e.words_mut(),
            f.words_mut(),
            g.words_mut(),
            h.words_mut(),
        ];
        // 9/4 p is below 2^(64 N): one bit is free, and the limbs are normal.
        const { assert!(F::MODULUS[N - 1] < u64::MAX / 9 * 4) };
        self.0.store_rows(self.pack(v.0), rows);
    }
    #[inline(always)]
    fn sub_sum(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // Above a - 9/2 p, and below 29/4 p.
        let (w, p5) = (self.0, const { &Constants::<F, N, M>::P5 });
        let mut t = a.0;
        for (i, t) in t.iter_mut().enumerate() {
            *t = w.sub(w.add(*t, w.splat(p5[i])), w.add(b.0[i], c.0[i]));
        }
        self.settle(t)
    }
    #[inline(always)]
    fn difference(self, a: Self::V, b: Self::V) -> Self::Difference {
        DifferenceLimbs(self.normalize(self.minus(a.0, b.0)))
    }
    #[inline(always)]
    fn signed_difference(self, a: Self::V, b: Self::V, signs: &[u64; LANES]) -> Self::Difference {
        // 5 p - a - b or 3 p + a - b.
        let (w, p3, p5) = (self.0, const { &Constants::<F, N, M>::P3 }, const { &Constants::<F, N, M>::P5 });
        let (signs, mut t) = (w.load(signs), a.0);
        for (i, t) in t.iter_mut().enumerate() {
            let (plus, minus) = (w.add(w.splat(p3[i]), *t), w.sub(w.splat(p5[i]), *t));
            *t = w.sub(w.select_negative(signs, minus, plus), b.0[i]);
        }
        DifferenceLimbs(self.normalize(t))
    }
    #[inline(always)]
    fn mul_difference(self, d: Self::Difference, b: Self::V) -> Self::V {
        Limbs(self.long(Long::Multiply(&d.0, &b.0, true)))
    }
    #[inline(always)]
    fn invert(self, a: Self::V) -> Option<Self::V> {
        invert_all(&self.to_array(a)).map(|x| self.load(&x))
    }
}

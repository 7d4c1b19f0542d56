//! Sums of products that are reduced once.

use super::{Factor, GoldilocksLanes, Loose};
use crate::lanes::{Isa, Lanes};

/// A sum of at most [`GoldilocksLanes::MAX_TERMS`] products.
///
/// With AVX-512 IFMA the seven partial products of a term go to seven words, so that no two depend on each other; elsewhere
/// the sum is a word modulo p.
#[derive(Clone, Copy, Debug)]
pub struct ProductSum<V>([V; 7]);

impl<L: Lanes> GoldilocksLanes<L> {
    /// Products that a [`ProductSum`] takes.
    ///
    /// Three partial products of a term, each below 2^52, have the weight 2^52, and with the carry from below they stay under
    /// 2^64: 3 MAX_TERMS 2^52 + 2^12 < 2^64.
    pub const MAX_TERMS: usize = 1 << 10;

    /// The empty sum.
    #[inline(always)]
    pub fn product_sum(self) -> ProductSum<L::V> {
        ProductSum([self.lanes().splat(0); 7])
    }

    /// `sum` + a b: seven operations with AVX-512 IFMA.
    #[inline(always)]
    pub fn accumulate(self, sum: &mut ProductSum<L::V>, a: Factor<L::V>, b: Factor<L::V>) {
        let l = self.lanes();
        let p = &mut sum.0;
        if L::ISA != Isa::Avx512Ifma {
            let product = self.reduce(self.mul_by(Loose(a.word), b));
            p[0] = self.add(Loose(p[0]), product).0;
            return;
        }
        p[0] = l.mul52_low(p[0], a.word, b.word);
        p[1] = l.mul52_high(p[1], a.word, b.word);
        p[2] = l.mul52_low(p[2], a.high, b.word);
        p[3] = l.mul52_low(p[3], a.word, b.high);
        p[4] = l.mul52_high(p[4], a.high, b.word);
        p[5] = l.mul52_high(p[5], a.word, b.high);
        p[6] = l.mul52_low(p[6], a.high, b.high);
    }

    /// The sum modulo p.
    #[inline(always)]
    pub fn reduce_sum(self, sum: ProductSum<L::V>) -> Loose<L::V> {
        let (l, p) = (self.lanes(), sum.0);
        if L::ISA != Isa::Avx512Ifma {
            return Loose(p[0]);
        }
        let carry = l.shr::<52>(p[0]);
        let middle = l.add(l.add(p[1], p[2]), l.add(p[3], carry));
        let high = l.add(p[4], l.add(p[5], p[6]));
        self.fold52(l.and(p[0], l.splat((1 << 52) - 1)), middle, high)
    }

    /// Any words, each an element modulo p.
    #[inline(always)]
    pub fn from_vector(self, words: L::V) -> Loose<L::V> {
        Loose(words)
    }

    /// The representatives.
    #[inline(always)]
    pub fn to_vector(self, x: impl Into<Loose<L::V>>) -> L::V {
        x.into().0
    }
}

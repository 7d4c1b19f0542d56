//! Sums of products that are reduced once.
//!
//! With AVX-512 IFMA the partial products of 52 bits are summed by their weight. AVX2 and AVX-512F use digits of 32
//! bits: a product d0 + 2^32 d1 + 2^64 d2 + 2^96 d3 is d0 - d3 + 2^32 d1 + 2^64 d2 modulo p, and three words sum these.
//! A word with its sign has room for 2^20 digits. Plain Rust reduces each product.

use super::{EPSILON, Factor, Goldilocks, GoldilocksLanes, Loose};
use crate::lanes::{Isa, LANES, Lanes};

/// A sum of at most [`GoldilocksLanes::MAX_TERMS`] products.
///
/// With AVX-512 IFMA the seven partial products of a term go to seven words, so no two depend on each other.
#[derive(Clone, Copy, Debug)]
pub struct ProductSum<V>([V; 7]);

/// A [`ProductSum`] in three words: for many sums in progress at once, whose words do not fit registers.
#[derive(Clone, Copy, Debug)]
pub struct CompactSum<V>([V; 3]);

impl<L: Lanes> GoldilocksLanes<L> {
    /// The sum of digits, with those of a b added: 20 operations.
    #[inline(always)]
    fn add_digits(self, [s0, s1, s2]: [L::V; 3], a: Factor<L::V>, b: Factor<L::V>) -> [L::V; 3] {
        let (l, low32) = (self.lanes(), self.lanes().splat(EPSILON));
        let [ll, crossed, high] = self.wide_product(a, b);
        [
            l.add(s0, l.sub(l.and(ll, low32), l.shr::<32>(high))),
            l.add(s1, l.and(crossed, low32)),
            l.add(s2, l.and(high, low32)),
        ]
    }

    /// s0 + 2^32 s1 + 2^64 s2 for |s0|, s1, s2 <= 2^52, where s0 has a sign.
    #[inline(always)]
    fn reduce_digits(self, [s0, s1, s2]: [L::V; 3]) -> Loose<L::V> {
        let (l, bias) = (self.lanes(), self.lanes().splat(1 << 52));
        // 2^64 = 2^32 - 1.
        let s1 = l.add(s1, s2);
        let carry = l.shr::<32>(s1);
        let minus = l.add(l.add(s2, carry), bias);
        let plus = l.add(l.add(s0, bias), l.shl::<32>(carry));
        Loose(l.add_folded(l.sub_folded(l.shl::<32>(s1), minus), plus))
    }

    /// The empty sum.
    #[inline(always)]
    pub fn compact_sum(self) -> CompactSum<L::V> {
        CompactSum([self.lanes().splat(0); 3])
    }

    /// `sum` + a b: seven operations with AVX-512 IFMA.
    #[inline(always)]
    pub fn accumulate_compact(self, sum: &mut CompactSum<L::V>, a: Factor<L::V>, b: Factor<L::V>) {
        let l = self.lanes();
        match L::ISA {
            Isa::Portable => {
                let product = self.reduce(self.mul_by(Loose(a.word), b));
                sum.0[0] = self.add(Loose(sum.0[0]), product).0;
                return;
            }
            Isa::Avx2 | Isa::Avx512 => {
                sum.0 = self.add_digits(sum.0, a, b);
                return;
            }
            Isa::Avx512Ifma => {}
        }
        let [p0, p1, p2] = &mut sum.0;
        *p0 = l.mul52_low(*p0, a.word, b.word);
        *p1 = l.mul52_high(*p1, a.word, b.word);
        *p2 = l.mul52_high(*p2, a.high, b.word);
        *p1 = l.mul52_low(*p1, a.high, b.word);
        *p2 = l.mul52_high(*p2, a.word, b.high);
        *p1 = l.mul52_low(*p1, a.word, b.high);
        *p2 = l.mul52_low(*p2, a.high, b.high);
    }

    /// The words of the sum, canonical in plain Rust.
    #[inline(always)]
    pub(crate) fn plain_sum(self, sum: &CompactSum<L::V>) -> [Goldilocks; LANES] {
        self.plain(Loose(sum.0[0]))
    }

    /// The sum of words that are canonical in plain Rust.
    #[inline(always)]
    pub(crate) fn set_plain_sum(self, sum: &mut CompactSum<L::V>, words: &[Goldilocks; LANES]) {
        sum.0[0] = self.load(words).0;
    }

    /// Makes room for [`GoldilocksLanes::MAX_TERMS`] further products; at most 2^20 in all.
    #[inline(always)]
    pub fn carry_compact(self, sum: &mut CompactSum<L::V>) {
        if L::ISA != Isa::Avx512Ifma {
            return;
        }
        let (l, [p0, p1, p2]) = (self.lanes(), &mut sum.0);
        let low = l.splat((1 << 52) - 1);
        *p1 = l.add(*p1, l.shr::<52>(*p0));
        *p0 = l.and(*p0, low);
        *p2 = l.add(*p2, l.shr::<52>(*p1));
        *p1 = l.and(*p1, low);
    }

    /// The sum modulo p.
    #[inline(always)]
    pub fn reduce_compact(self, sum: CompactSum<L::V>) -> Loose<L::V> {
        let (l, [p0, p1, p2]) = (self.lanes(), sum.0);
        match L::ISA {
            Isa::Portable => return Loose(p0),
            Isa::Avx2 | Isa::Avx512 => return self.reduce_digits(sum.0),
            Isa::Avx512Ifma => {}
        }
        self.fold52(l.and(p0, l.splat((1 << 52) - 1)), l.add(p1, l.shr::<52>(p0)), p2)
    }
}

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
        match L::ISA {
            Isa::Portable => {
                let product = self.reduce(self.mul_by(Loose(a.word), b));
                p[0] = self.add(Loose(p[0]), product).0;
                return;
            }
            Isa::Avx2 | Isa::Avx512 => {
                [p[0], p[1], p[2]] = self.add_digits([p[0], p[1], p[2]], a, b);
                return;
            }
            Isa::Avx512Ifma => {}
        }
        p[0] = l.mul52_low(p[0], a.word, b.word);
        p[1] = l.mul52_high(p[1], a.word, b.word);
        p[2] = l.mul52_low(p[2], a.high, b.word);
        p[3] = l.mul52_low(p[3], a.word, b.high);
        p[4] = l.mul52_high(p[4], a.high, b.word);
        p[5] = l.mul52_high(p[5], a.word, b.high);
        p[6] = l.mul52_low(p[6], a.high, b.high);
    }

    /// Makes room for [`GoldilocksLanes::MAX_TERMS`] further products; at most 2^20 in all.
    #[inline(always)]
    pub fn carry_sum(self, sum: &mut ProductSum<L::V>) {
        if L::ISA != Isa::Avx512Ifma {
            return;
        }
        let (l, p) = (self.lanes(), &mut sum.0);
        let low = l.splat((1 << 52) - 1);
        let carry = l.shr::<52>(p[0]);
        p[0] = l.and(p[0], low);
        p[1] = l.add(p[1], carry);
        for i in 1..4 {
            // Words 4 to 6 take at most 2^24 of a term, and 2^12 here: far below 2^55.
            p[4] = l.add(p[4], l.shr::<52>(p[i]));
            p[i] = l.and(p[i], low);
        }
    }

    /// p0 + 2^52 (p1 + p2) + 2^104 (p3 + p4), with a b added.
    #[inline(always)]
    fn five_words(self, p: [L::V; 5], a: Factor<L::V>, b: Factor<L::V>) -> [L::V; 5] {
        let l = self.lanes();
        let [p0, p1, p2, p3, p4] = p;
        let p1 = l.mul52_high(p1, a.word, b.word);
        let p3 = l.mul52_high(p3, a.high, b.word);
        [
            l.mul52_low(p0, a.word, b.word),
            l.mul52_low(p1, a.word, b.high),
            l.mul52_low(p2, a.high, b.word),
            l.mul52_low(p3, a.high, b.high),
            l.mul52_high(p4, a.word, b.high),
        ]
    }

    /// The sum of N <= 3 products, reduced once: 7 N + 15 operations with AVX-512 IFMA.
    #[inline(always)]
    pub fn dot<const N: usize>(self, a: [Factor<L::V>; N], b: [Factor<L::V>; N]) -> Loose<L::V> {
        const { assert!(0 < N && N <= 3) };
        let l = self.lanes();
        match L::ISA {
            Isa::Avx512Ifma => {
                let mut p = self.five_words([l.splat(0); 5], a[0], b[0]);
                // Not a loop: see `prime::radix52`.
                if N > 1 {
                    p = self.five_words(p, a[1], b[1]);
                }
                if N > 2 {
                    p = self.five_words(p, a[2], b[2]);
                }
                let (middle, high) = (l.add(p[1], p[2]), l.add(p[3], p[4]));
                if N == 1 {
                    return self.fold52(p[0], middle, high);
                }
                let middle = l.add(middle, l.shr::<52>(p[0]));
                self.fold52(l.and(p[0], l.splat((1 << 52) - 1)), middle, high)
            }
            Isa::Avx2 | Isa::Avx512 => {
                let mut sum = self.add_digits([l.splat(0); 3], a[0], b[0]);
                if N > 1 {
                    sum = self.add_digits(sum, a[1], b[1]);
                }
                if N > 2 {
                    sum = self.add_digits(sum, a[2], b[2]);
                }
                self.reduce_digits(sum)
            }
            Isa::Portable => {
                let mut sum = self.mul_by(Loose(a[0].word), b[0]);
                if N > 1 {
                    sum = self.add(sum, self.reduce(self.mul_by(Loose(a[1].word), b[1])));
                }
                if N > 2 {
                    sum = self.add(sum, self.reduce(self.mul_by(Loose(a[2].word), b[2])));
                }
                sum
            }
        }
    }

    /// The sum modulo p.
    #[inline(always)]
    pub fn reduce_sum(self, sum: ProductSum<L::V>) -> Loose<L::V> {
        let (l, p) = (self.lanes(), sum.0);
        match L::ISA {
            Isa::Portable => return Loose(p[0]),
            Isa::Avx2 | Isa::Avx512 => return self.reduce_digits([p[0], p[1], p[2]]),
            Isa::Avx512Ifma => {}
        }
        let carry = l.shr::<52>(p[0]);
        let middle = l.add(l.add(p[1], p[2]), l.add(p[3], carry));
        let high = l.add(p[4], l.add(p[5], p[6]));
        self.fold52(l.and(p[0], l.splat((1 << 52) - 1)), middle, high)
    }

    /// Any words, each an element modulo p.
    #[inline(always)]
    pub fn from_vector(self, words: L::V) -> Loose<L::V> {
        if L::ISA == Isa::Portable {
            return self.by_words(words, words, |x, _| Goldilocks::reduce(x.0));
        }
        Loose(words)
    }

    /// The representatives.
    #[inline(always)]
    pub fn to_vector(self, x: impl Into<Loose<L::V>>) -> L::V {
        x.into().0
    }
}

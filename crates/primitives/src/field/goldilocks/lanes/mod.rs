//! Eight Goldilocks elements at a time.
//!
//! **What.** [`GoldilocksLanes`] has the operations of the field on vectors of any [`Lanes`]. A vector of elements has
//! one of two types: [`Loose`] holds any representatives below 2^64, [`Canonical`] the least ones. Sums and differences
//! take one canonical operand, since two loose ones may wrap twice. Products take anything and give loose results.
//! Storing takes canonical vectors, as [`Goldilocks`] is canonical. [`GoldilocksLanes::reduce`] makes a loose vector
//! canonical in two operations (five on AVX2, or three after a sum, a difference or a product).
//!
//! **When.** In kernels that do bulk arithmetic. A factor that is used more than once is split once, by
//! [`GoldilocksLanes::factor`].
//!
//! **Plain Rust** keeps every vector canonical and works lane by lane: there are no loose vectors, and reducing costs
//! nothing. A kernel must not rely on it.
//!
//! **Words.** Modulo p, 2^64 = 2^32 - 1, 2^96 = -1. Hence adding 2^32 - 1 corrects a carry out of a word, subtracting
//! it corrects a borrow, and one small product and two such corrections fold a product of 128 bits. Powers of two are
//! roots of unity of order 192: a product with one is a few shifts.

mod field;
mod sum;

use super::{EPSILON, Goldilocks};
use crate::lanes::{Isa, LANES, Lanes};

pub use sum::{CompactSum, ProductSum};

/// Any representatives, below 2^64.
#[derive(Clone, Copy, Debug)]
pub struct Loose<V>(V);

/// The least representatives, below p.
#[derive(Clone, Copy, Debug)]
pub struct Canonical<V>(V);

impl<V> From<Canonical<V>> for Loose<V> {
    #[inline(always)]
    fn from(x: Canonical<V>) -> Self {
        Self(x.0)
    }
}

impl<V: Copy> Factor<V> {
    /// The operand itself.
    #[inline(always)]
    pub(crate) fn word(self) -> Loose<V> {
        Loose(self.word)
    }
}

/// An operand of products, with the high part that the multipliers of the instruction set need beside it.
#[derive(Clone, Copy, Debug)]
pub struct Factor<V> {
    word: V,
    high: V,
}

/// The operations of the field on vectors: the witness of an instruction set, seen as eight fields.
///
/// A product costs 21 operations with AVX-512 IFMA, 23 with AVX-512F; a sum or a difference 3.
#[derive(Clone, Copy, Debug)]
pub struct GoldilocksLanes<L>(L);

impl<L: Lanes> GoldilocksLanes<L> {
    /// The field on the vectors of `lanes`.
    #[inline(always)]
    pub fn new(lanes: L) -> Self {
        Self(lanes)
    }

    /// The witness.
    #[inline(always)]
    pub fn lanes(self) -> L {
        self.0
    }

    /// `x` in every lane.
    #[inline(always)]
    pub fn splat(self, x: Goldilocks) -> Canonical<L::V> {
        Canonical(self.0.splat(x.0))
    }

    /// The elements in order.
    #[inline(always)]
    pub fn load(self, elements: &[Goldilocks; LANES]) -> Canonical<L::V> {
        // Not a closure, which might be called instead of being inlined.
        let [a, b, c, d, e, f, g, h] = elements;
        Canonical(self.0.load(&[a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0]))
    }

    /// The elements in order.
    #[inline(always)]
    pub fn store(self, x: Canonical<L::V>, elements: &mut [Goldilocks; LANES]) {
        let mut words = [0; LANES];
        self.0.store(x.0, &mut words);
        // Not a loop: the compiler would unroll it, in time that grows with the function into which everything is
        // inlined.
        let [a, b, c, d, e, f, g, h] = words;
        *elements = [
            Goldilocks(a),
            Goldilocks(b),
            Goldilocks(c),
            Goldilocks(d),
            Goldilocks(e),
            Goldilocks(f),
            Goldilocks(g),
            Goldilocks(h),
        ];
    }

    /// Lane j of vector i becomes lane i of vector j.
    #[inline(always)]
    pub fn transpose(self, x: [Canonical<L::V>; LANES]) -> [Canonical<L::V>; LANES] {
        let [a, b, c, d, e, f, g, h] = x;
        let rows = self.0.transpose([a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0]);
        let [a, b, c, d, e, f, g, h] = rows;
        [Canonical(a), Canonical(b), Canonical(c), Canonical(d), Canonical(e), Canonical(f), Canonical(g), Canonical(h)]
    }

    /// Coefficient j of eight elements of an extension of degree N in vector j.
    #[inline(always)]
    pub fn load_rows<const N: usize>(self, rows: [&[Goldilocks; N]; LANES]) -> [Canonical<L::V>; N] {
        let [a, b, c, d, e, f, g, h] = rows;
        let mut out = [Canonical(self.0.splat(0)); N];
        for (j, v) in out.iter_mut().enumerate() {
            *v = self.load(&[a[j], b[j], c[j], d[j], e[j], f[j], g[j], h[j]]);
        }
        out
    }

    /// The inverse of [`GoldilocksLanes::load_rows`].
    #[inline(always)]
    pub fn store_rows<const N: usize>(self, x: [Canonical<L::V>; N], rows: [&mut [Goldilocks; N]; LANES]) {
        let mut columns = [[Goldilocks::ZERO; LANES]; N];
        for (column, x) in columns.iter_mut().zip(x) {
            self.store(x, column);
        }
        for (i, row) in rows.into_iter().enumerate() {
            for (to, column) in row.iter_mut().zip(&columns) {
                *to = column[i];
            }
        }
    }

    /// Any words, each an element modulo p.
    #[inline(always)]
    pub fn load_words(self, words: &[u64; LANES]) -> Loose<L::V> {
        self.from_vector(self.0.load(words))
    }

    /// The representatives.
    #[inline(always)]
    pub fn store_words(self, x: impl Into<Loose<L::V>>, words: &mut [u64; LANES]) {
        self.0.store(x.into().0, words);
    }

    /// The least representatives.
    #[inline(always)]
    pub fn reduce(self, x: impl Into<Loose<L::V>>) -> Canonical<L::V> {
        let x = x.into().0;
        if L::ISA == Isa::Portable {
            return Canonical(x);
        }
        Canonical(self.0.fold(x))
    }

    /// a + b.
    #[inline(always)]
    pub fn add(self, a: impl Into<Loose<L::V>>, b: Canonical<L::V>) -> Loose<L::V> {
        let a = a.into().0;
        if L::ISA == Isa::Portable {
            return self.by_words(a, b.0, |a, b| a + b);
        }
        Loose(self.0.add_folded(a, b.0))
    }

    /// a - b.
    #[inline(always)]
    pub fn sub(self, a: impl Into<Loose<L::V>>, b: Canonical<L::V>) -> Loose<L::V> {
        let a = a.into().0;
        if L::ISA == Isa::Portable {
            return self.by_words(a, b.0, |a, b| a - b);
        }
        Loose(self.0.sub_folded(a, b.0))
    }

    /// -a.
    #[inline(always)]
    pub fn neg(self, a: Canonical<L::V>) -> Loose<L::V> {
        if L::ISA == Isa::Portable {
            return self.sub(self.splat(Goldilocks::ZERO), a);
        }
        Loose(self.0.sub(self.0.splat(Goldilocks::ORDER), a.0))
    }

    /// 2a.
    #[inline(always)]
    pub fn double(self, a: Canonical<L::V>) -> Loose<L::V> {
        self.add(a, a)
    }

    /// `x` prepared for products.
    #[inline(always)]
    pub fn factor(self, x: impl Into<Loose<L::V>>) -> Factor<L::V> {
        let word = x.into().0;
        let high = match L::ISA {
            Isa::Portable => word,
            Isa::Avx512Ifma => self.0.shr::<52>(word),
            Isa::Avx2 | Isa::Avx512 => self.0.high32(word),
        };
        Factor { word, high }
    }

    /// a b.
    #[inline(always)]
    pub fn mul(self, a: impl Into<Loose<L::V>>, b: impl Into<Loose<L::V>>) -> Loose<L::V> {
        self.mul_by(a, self.factor(b))
    }

    /// a b.
    #[inline(always)]
    pub fn mul_by(self, a: impl Into<Loose<L::V>>, b: Factor<L::V>) -> Loose<L::V> {
        let a = self.factor(a);
        match L::ISA {
            Isa::Portable => self.by_words(a.word, b.word, |a, b| a * b),
            Isa::Avx512Ifma => self.product52(a, b),
            Isa::Avx2 | Isa::Avx512 => self.product32(a, b),
        }
    }

    /// a^2.
    #[inline(always)]
    pub fn square(self, a: impl Into<Loose<L::V>>) -> Loose<L::V> {
        let a = self.factor(a);
        match L::ISA {
            Isa::Portable => self.by_words(a.word, a.word, |a, b| a * b),
            Isa::Avx512Ifma => self.square52(a),
            Isa::Avx2 | Isa::Avx512 => self.square32(a),
        }
    }

    /// 2^S a, for S < 96, by shifts: 6 operations for S <= 32 and S >= 64, 10 between.
    #[inline(always)]
    pub fn mul_power_of_two<const S: u32>(self, a: impl Into<Loose<L::V>>) -> Loose<L::V> {
        const { assert!(S < 96) };
        let (l, a) = (self.0, a.into().0);
        match S {
            0 => Loose(a),
            _ if L::ISA == Isa::Portable => {
                let power = const { Goldilocks(((1 << S) % Goldilocks::ORDER as u128) as u64) };
                self.by_words(a, l.splat(power.0), |a, b| a * b)
            }
            1..=32 => {
                let fold = l.mul_low32(l.shift_right(a, 64 - S));
                Loose(l.add_folded(l.shift_left(a, S), fold))
            }
            33..=63 => {
                // 2^64 (h0 + 2^32 h1) = (2^32 - 1) h0 - h1, with h1 < 2^31.
                let (low, fold) = (l.shift_left(a, S), l.mul_low32(l.shift_right(a, 64 - S)));
                Loose(l.add_folded(l.sub_folded(low, l.shift_right(a, 96 - S)), fold))
            }
            // The same with nothing below 2^64; h1 takes all bits from 2^96 on.
            _ => Loose(l.sub_folded(l.mul_low32(l.shift_left(a, S - 64)), l.shift_right(a, 96 - S))),
        }
    }

    /// low + 2^64 high.
    #[inline(always)]
    fn fold(self, low: L::V, high: L::V) -> Loose<L::V> {
        let l = self.0;
        Loose(l.add_folded(l.sub_folded(low, l.shr::<32>(high)), l.mul_low32(high)))
    }

    /// The elements of a vector that is canonical, as every one is in plain Rust.
    #[inline(always)]
    pub(crate) fn plain(self, x: Loose<L::V>) -> [Goldilocks; LANES] {
        let mut elements = [Goldilocks::ZERO; LANES];
        self.store(Canonical(x.0), &mut elements);
        elements
    }

    /// f of the elements, lane by lane.
    #[inline(always)]
    fn by_words(self, a: L::V, b: L::V, f: impl Fn(Goldilocks, Goldilocks) -> Goldilocks) -> Loose<L::V> {
        let (mut x, mut y) = ([0; LANES], [0; LANES]);
        self.0.store(a, &mut x);
        self.0.store(b, &mut y);
        Loose(self.0.load(&lane_by_lane(&x, &y, f)))
    }

    /// By four products of 32 bits.
    #[inline(always)]
    fn product32(self, a: Factor<L::V>, b: Factor<L::V>) -> Loose<L::V> {
        let [low, crossed, high] = self.wide_product(a, b);
        self.fold(self.0.join32(low, crossed), high)
    }

    /// Words whose low halves are the digits 0 and 1 of a b, and the upper word of a b.
    #[inline(always)]
    fn wide_product(self, a: Factor<L::V>, b: Factor<L::V>) -> [L::V; 3] {
        let l = self.0;
        let low32 = l.splat(EPSILON);
        let (ll, lh) = (l.mul32(a.word, b.word), l.mul32(a.word, b.high));
        let (hl, hh) = (l.mul32(a.high, b.word), l.mul32(a.high, b.high));
        // Each sum stays below 2^64: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
        let middle = l.add(hl, l.shr::<32>(ll));
        let crossed = l.add(lh, l.and(middle, low32));
        [ll, crossed, l.add(l.add(hh, l.shr::<32>(middle)), l.shr::<32>(crossed))]
    }

    /// By three products of 32 bits.
    #[inline(always)]
    fn square32(self, a: Factor<L::V>) -> Loose<L::V> {
        let l = self.0;
        let (ll, lh, hh) = (l.mul32(a.word, a.word), l.mul32(a.word, a.high), l.mul32(a.high, a.high));
        // ll + 2^33 lh + 2^64 hh, where lh + (ll >> 33) < 2^64 - 2^32.
        let high = l.add(hh, l.shr::<31>(l.add(lh, l.shr::<33>(ll))));
        self.fold(l.add(ll, l.shl::<33>(lh)), high)
    }

    /// By products of 52 bits: a = a0 + 2^52 a1 with a1 < 2^12.
    #[inline(always)]
    fn product52(self, a: Factor<L::V>, b: Factor<L::V>) -> Loose<L::V> {
        let (l, zero) = (self.0, self.0.splat(0));
        let p1 = l.mul52_high(zero, a.word, b.word);
        let p2 = l.mul52_high(zero, a.high, b.word);
        let p0 = l.mul52_low(zero, a.word, b.word);
        let p1 = l.mul52_low(p1, a.high, b.word);
        let p2 = l.mul52_high(p2, a.word, b.high);
        let p1 = l.mul52_low(p1, a.word, b.high);
        let p2 = l.mul52_low(p2, a.high, b.high);
        self.fold52(p0, p1, p2)
    }

    #[inline(always)]
    fn square52(self, a: Factor<L::V>) -> Loose<L::V> {
        let (l, zero) = (self.0, self.0.splat(0));
        let twice = l.add(a.high, a.high);
        let p1 = l.mul52_high(zero, a.word, a.word);
        let p2 = l.mul52_high(zero, twice, a.word);
        let p0 = l.mul52_low(zero, a.word, a.word);
        let p1 = l.mul52_low(p1, twice, a.word);
        let p2 = l.mul52_low(p2, a.high, a.high);
        self.fold52(p0, p1, p2)
    }

    /// p0 + 2^52 p1 + 2^104 p2 for p0 < 2^52, any p1, p2 < 2^55.
    ///
    /// With p1 = r + 2^12 q: 2^52 p1 = 2^52 r + 2^64 q and 2^64 q = (2^32 - 1) (q mod 2^32) - (q >> 32); 2^104 = -2^8.
    #[inline(always)]
    fn fold52(self, p0: L::V, p1: L::V, p2: L::V) -> Loose<L::V> {
        let l = self.0;
        let plus = l.add(p0, l.shl::<52>(p1));
        let minus = l.add(l.shr::<44>(p1), l.shl::<8>(p2));
        Loose(l.add_folded(l.sub_folded(plus, minus), l.mul_low32(l.shr::<12>(p1))))
    }
}

/// f of canonical words. A function of its own: inlined, the lanes of several operations would not fit the registers.
#[inline(never)]
fn lane_by_lane(x: &[u64; LANES], y: &[u64; LANES], f: impl Fn(Goldilocks, Goldilocks) -> Goldilocks) -> [u64; LANES] {
    let mut out = [0; LANES];
    for (out, (x, y)) in out.iter_mut().zip(x.iter().zip(y)) {
        *out = f(Goldilocks(*x), Goldilocks(*y)).0;
    }
    out
}

/// Elements a + b X of the quadratic extension by X^2 = 7, which is Plonky2's, as [a, b].
impl<L: Lanes> GoldilocksLanes<L> {
    /// a b in the extension: four products.
    #[inline(always)]
    pub fn mul_extension(self, a: [Loose<L::V>; 2], b: [Loose<L::V>; 2]) -> [Loose<L::V>; 2] {
        let b = [self.factor(b[0]), self.factor(b[1])];
        let real = self.reduce(self.mul_by(a[0], b[0]));
        let square = self.mul_by(a[1], b[1]);
        let crossed = self.reduce(self.mul_by(a[0], b[1]));
        [self.add(self.times_seven(square), real), self.add(self.mul_by(a[1], b[0]), crossed)]
    }

    /// 7 x = 8 x - x.
    #[inline(always)]
    pub(crate) fn times_seven(self, x: Loose<L::V>) -> Loose<L::V> {
        self.sub(self.mul_power_of_two::<3>(x), self.reduce(x))
    }
}

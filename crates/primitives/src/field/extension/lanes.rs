//! Eight elements of an extension at a time: a vector of each coefficient.
//!
//! Products use the schoolbook method: each coefficient is a sum of products that is reduced once. Vectors are
//! canonical; unreduced values are loose.

use super::{Cubic, Quadratic};
use crate::field::goldilocks::lanes::{Canonical, CompactSum, Factor, GoldilocksLanes, Loose};
use crate::field::{FieldLanes, Goldilocks, Outlined};
use crate::lanes::{Body, Isa, LANES, Lanes};

use super::Extension;

/// [`Quadratic`] on the vectors of an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct QuadraticLanes<L>(GoldilocksLanes<L>);

/// [`Cubic`] on the vectors of an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct CubicLanes<L>(GoldilocksLanes<L>);

/// A multiplier b0 + b1 X: b0, b1 and 7 b1.
#[derive(Clone, Copy, Debug)]
pub struct QuadraticFactor<V>([Factor<V>; 3]);

/// A multiplier b0 + b1 X + b2 X^2: b0, b1, b2, b0 + b2 and b1 + b2.
#[derive(Clone, Copy, Debug)]
pub struct CubicFactor<V>([Factor<V>; 5]);

impl<L: Lanes> QuadraticLanes<L> {
    /// On an instruction set.
    #[inline(always)]
    pub fn new(lanes: L) -> Self {
        Self(GoldilocksLanes::new(lanes))
    }
    /// `a` as a multiplier: computes 7 b1.
    #[inline(always)]
    fn multiplier(self, [b0, b1]: [Loose<L::V>; 2]) -> QuadraticFactor<L::V> {
        let f = self.0;
        // Plain Rust multiplies by the coefficients themselves.
        let seven = if L::ISA == Isa::Portable { b1 } else { f.times_seven(b1) };
        QuadraticFactor([f.factor(b0), f.factor(b1), f.factor(seven)])
    }
    /// a k, with any representatives.
    #[inline(always)]
    pub fn multiply(
        self,
        [a0, a1]: [Loose<L::V>; 2],
        QuadraticFactor([b0, b1, seven_b1]): QuadraticFactor<L::V>,
    ) -> [Loose<L::V>; 2] {
        let f = self.0;
        if L::ISA == Isa::Portable {
            return plain::<_, Quadratic, 2>(f, [a0, a1], [b0.word(), b1.word()]);
        }
        let (a0, a1) = (f.factor(a0), f.factor(a1));
        [f.dot([a0, a1], [b0, seven_b1]), f.dot([a0, a1], [b1, b0])]
    }
}

impl<L: Lanes> CubicLanes<L> {
    /// On an instruction set.
    #[inline(always)]
    pub fn new(lanes: L) -> Self {
        Self(GoldilocksLanes::new(lanes))
    }
    /// `a` as a multiplier.
    #[inline(always)]
    fn multiplier(self, [b0, b1, b2]: [Canonical<L::V>; 3]) -> CubicFactor<L::V> {
        let f = self.0;
        CubicFactor([f.factor(b0), f.factor(b1), f.factor(b2), f.factor(f.add(b0, b2)), f.factor(f.add(b1, b2))])
    }
    /// a k, with any representatives.
    #[inline(always)]
    pub fn multiply(
        self,
        a: [Loose<L::V>; 3],
        CubicFactor([b0, b1, b2, b02, b12]): CubicFactor<L::V>,
    ) -> [Loose<L::V>; 3] {
        let f = self.0;
        if L::ISA == Isa::Portable {
            return plain::<_, Cubic, 3>(f, a, [b0.word(), b1.word(), b2.word()]);
        }
        let a = [f.factor(a[0]), f.factor(a[1]), f.factor(a[2])];
        [f.dot(a, [b0, b2, b1]), f.dot(a, [b1, b02, b12]), f.dot(a, [b2, b1, b02])]
    }
}

/// The coefficients of eight elements, one element after the other.
type Plain<const D: usize> = [[Goldilocks; LANES]; D];

/// a b, lane by lane. A function of its own: inlined, the lanes of several products would not fit the registers.
#[inline(never)]
fn multiply_plain<K: Extension, const D: usize>(a: &Plain<D>, b: &Plain<D>) -> Plain<D> {
    let mut out = [[Goldilocks::ZERO; LANES]; D];
    for lane in 0..LANES {
        let product = element::<K, D>(a, lane) * element::<K, D>(b, lane);
        for (out, &c) in out.iter_mut().zip(product.as_ref()) {
            out[lane] = c;
        }
    }
    out
}

/// `sum` + a b, lane by lane.
#[inline(never)]
fn accumulate_plain<K: Extension, const D: usize>(sum: &mut Plain<D>, a: &Plain<D>, b: &Plain<D>) {
    for lane in 0..LANES {
        let product = element::<K, D>(a, lane) * element::<K, D>(b, lane);
        for (sum, &c) in sum.iter_mut().zip(product.as_ref()) {
            sum[lane] += c;
        }
    }
}

#[inline(always)]
fn element<K: Extension, const D: usize>(x: &Plain<D>, lane: usize) -> K {
    let mut coefficients = [Goldilocks::ZERO; D];
    for c in 0..D {
        coefficients[c] = x[c][lane];
    }
    K::from_coefficients(&coefficients).expect("as many as the degree")
}

/// a b in plain Rust.
#[inline(always)]
fn plain<L: Lanes, K: Extension, const D: usize>(
    f: GoldilocksLanes<L>,
    a: [Loose<L::V>; D],
    b: [Loose<L::V>; D],
) -> [Loose<L::V>; D] {
    let mut out = a;
    let product = multiply_plain::<K, D>(&a.map(|a| f.plain(a)), &b.map(|b| f.plain(b)));
    for c in 0..D {
        out[c] = f.load(&product[c]).into();
    }
    out
}

/// `sum` + a b in plain Rust.
#[inline(always)]
fn plain_sum<L: Lanes, K: Extension, const D: usize>(
    f: GoldilocksLanes<L>,
    sum: [&mut CompactSum<L::V>; D],
    [a, b]: [[Loose<L::V>; D]; 2],
) {
    let mut words = [[Goldilocks::ZERO; LANES]; D];
    for c in 0..D {
        words[c] = f.plain_sum(sum[c]);
    }
    accumulate_plain::<K, D>(&mut words, &a.map(|a| f.plain(a)), &b.map(|b| f.plain(b)));
    for (sum, words) in sum.into_iter().zip(&words) {
        f.set_plain_sum(sum, words);
    }
}

/// The coefficients, each made from its number. Not a closure, which might be called instead of being inlined, and not
/// a loop, which the compiler would unroll in time that grows with the function into which everything is inlined.
macro_rules! each {
    (2, $i:ident => $value:expr) => {
        [each!(@ $i = 0 => $value), each!(@ $i = 1 => $value)]
    };
    (3, $i:ident => $value:expr) => {
        [each!(@ $i = 0 => $value), each!(@ $i = 1 => $value), each!(@ $i = 2 => $value)]
    };
    (@ $i:ident = $number:literal => $value:expr) => {{
        let $i = $number;
        $value
    }};
}

/// The operations that are the same for each coefficient.
macro_rules! coefficients {
    ($name:ident, $element:ident, $degree:tt) => {
        type Element = $element;
        type Base = GoldilocksLanes<L>;
        type Term = [Factor<L::V>; $degree];
        type V = [Canonical<L::V>; $degree];
        type Lazy = Coefficients<Loose<L::V>, $degree>;

        #[inline(always)]
        fn zero(self) -> Self::V {
            [self.0.zero(); $degree]
        }
        #[inline(always)]
        fn splat(self, x: &$element) -> Self::V {
            each!($degree, i => self.0.splat(x.0[i]))
        }
        #[inline(always)]
        fn gather(self, x: [&$element; LANES]) -> Self::V {
            let [a, b, c, d, e, f, g, h] = x;
            self.0.load_rows([&a.0, &b.0, &c.0, &d.0, &e.0, &f.0, &g.0, &h.0])
        }
        #[inline(always)]
        fn scatter(self, v: Self::V, x: [&mut $element; LANES]) {
            let [a, b, c, d, e, f, g, h] = x;
            let rows = [&mut a.0, &mut b.0, &mut c.0, &mut d.0, &mut e.0, &mut f.0, &mut g.0, &mut h.0];
            self.0.store_rows(v, rows);
        }
        #[inline(always)]
        fn to_array(self, v: Self::V) -> [$element; LANES] {
            let mut out = [$element([Goldilocks::ZERO; $degree]); LANES];
            self.store(v, &mut out);
            out
        }
        #[inline(always)]
        fn sum_lanes(self, v: Self::V) -> $element {
            self.to_array(v).into_iter().sum()
        }
        #[inline(always)]
        fn add(self, a: Self::V, b: Self::V) -> Self::V {
            self.reduce(self.lazy_add(a, b))
        }
        #[inline(always)]
        fn sub(self, a: Self::V, b: Self::V) -> Self::V {
            self.reduce(self.lazy_sub(a, b))
        }
        #[inline(always)]
        fn mul(self, a: Self::V, b: Self::V) -> Self::V {
            self.scale(a.into(), self.to_factor(b))
        }
        #[inline(always)]
        fn lazy_add(self, a: Self::V, b: Self::V) -> Self::Lazy {
            Coefficients(each!($degree, i => self.0.add(a[i], b[i])))
        }
        #[inline(always)]
        fn lazy_sub(self, a: Self::V, b: Self::V) -> Self::Lazy {
            Coefficients(each!($degree, i => self.0.sub(a[i], b[i])))
        }
        #[inline(always)]
        fn extend(self, a: Self::V, b: Self::V) -> Self::Lazy {
            Coefficients(each!($degree, i => self.0.sub(self.0.double(b[i]), a[i])))
        }
        #[inline(always)]
        fn reduce(self, a: Self::Lazy) -> Self::V {
            each!($degree, i => self.0.reduce(a.0[i]))
        }
        #[inline(always)]
        fn factor(self, x: &$element) -> Self::Factor {
            self.to_factor(self.splat(x))
        }
        #[inline(always)]
        fn scale(self, a: Self::Lazy, k: Self::Factor) -> Self::V {
            let product = self.multiply(a.0, k);
            each!($degree, i => self.0.reduce(product[i]))
        }
        #[inline(always)]
        fn line(self, a: Self::V, b: Self::V, k: Self::Factor) -> Self::V {
            let step = self.multiply(self.lazy_sub(b, a).0, k);
            each!($degree, i => self.0.reduce(self.0.add(step[i], a[i])))
        }
        #[inline(always)]
        fn carry(self, sum: &mut Self::Sum) {
            for sum in sum {
                self.0.carry_compact(sum);
            }
        }
        #[inline(always)]
        fn term(self, a: Self::Lazy) -> Self::Term {
            each!($degree, i => self.0.factor(a.0[i]))
        }
        #[inline(always)]
        fn load_coefficients(self, x: &[Goldilocks], stride: usize) -> Self::V {
            each!($degree, c => self.0.load(x[c * stride..].first_chunk().expect("eight coefficients")))
        }
        #[inline(always)]
        fn store_coefficients(self, v: Self::V, x: &mut [Goldilocks], stride: usize) {
            let _: [(); $degree] =
                each!($degree, c => self.0.store(v[c], x[c * stride..].first_chunk_mut().expect("eight coefficients")));
        }
        #[inline(always)]
        fn embed(self, x: Canonical<L::V>) -> Self::V {
            let mut v = self.zero();
            v[0] = x;
            v
        }
        #[inline(always)]
        fn scale_base(self, a: Self::Lazy, k: Factor<L::V>) -> Self::V {
            each!($degree, i => self.0.reduce(self.0.mul_by(a.0[i], k)))
        }
        #[inline(always)]
        fn outline<B: Body<Self>>(self, body: B) -> B::Output {
            self.0.lanes().outline(Outlined(self, body))
        }
    };
}

/// The coefficients of eight elements.
#[derive(Clone, Copy, Debug)]
pub struct Coefficients<T, const D: usize>(pub [T; D]);

impl<V: Copy, const D: usize> From<[Canonical<V>; D]> for Coefficients<Loose<V>, D> {
    #[inline(always)]
    fn from(x: [Canonical<V>; D]) -> Self {
        let mut out = [Loose::from(x[0]); D];
        for i in 0..D {
            out[i] = Loose::from(x[i]);
        }
        Self(out)
    }
}

impl<L: Lanes> FieldLanes for QuadraticLanes<L> {
    type Factor = QuadraticFactor<L::V>;
    /// a0 b0, a1 b1, a0 b1 + a1 b0.
    type Sum = [CompactSum<L::V>; 3];

    coefficients!(QuadraticLanes, Quadratic, 2);

    #[inline(always)]
    fn square(self, a: Self::V) -> Self::V {
        let f = self.0;
        if L::ISA == Isa::Portable {
            return self.mul(a, a);
        }
        let cross = f.reduce(f.mul(a[0], a[1]));
        let square = f.times_seven(f.square(a[1]));
        [f.reduce(f.add(square, f.reduce(f.square(a[0])))), f.reduce(f.double(cross))]
    }
    #[inline(always)]
    fn to_factor(self, a: Self::V) -> Self::Factor {
        self.multiplier([Loose::from(a[0]), Loose::from(a[1])])
    }
    #[inline(always)]
    fn empty(self) -> Self::Sum {
        [self.0.compact_sum(); 3]
    }
    #[inline(always)]
    fn accumulate_base(self, [zero, _, cross]: &mut Self::Sum, a: Self::Term, b: Factor<L::V>) {
        self.0.accumulate_compact(zero, a[0], b);
        self.0.accumulate_compact(cross, a[1], b);
    }
    #[inline(always)]
    fn accumulate_terms(self, [zero, one, cross]: &mut Self::Sum, a: Self::Term, b: Self::Term) {
        let f = self.0;
        if L::ISA == Isa::Portable {
            let product = [[a[0].word(), a[1].word()], [b[0].word(), b[1].word()]];
            return plain_sum::<_, Quadratic, 2>(f, [zero, cross], product);
        }
        f.accumulate_compact(zero, a[0], b[0]);
        f.accumulate_compact(one, a[1], b[1]);
        f.accumulate_compact(cross, a[0], b[1]);
        f.accumulate_compact(cross, a[1], b[0]);
    }
    #[inline(always)]
    fn finish(self, [zero, one, cross]: Self::Sum) -> Self::V {
        let f = self.0;
        let seven = f.times_seven(f.reduce_compact(one));
        let zero = f.reduce(f.reduce_compact(zero));
        [f.reduce(f.add(seven, zero)), f.reduce(f.reduce_compact(cross))]
    }
}

impl<L: Lanes> FieldLanes for CubicLanes<L> {
    type Factor = CubicFactor<L::V>;
    /// By the power of X: those of 1, X, X^2, X^3, X^4.
    type Sum = [CompactSum<L::V>; 5];

    coefficients!(CubicLanes, Cubic, 3);

    #[inline(always)]
    fn square(self, a: Self::V) -> Self::V {
        self.mul(a, a)
    }
    #[inline(always)]
    fn to_factor(self, a: Self::V) -> Self::Factor {
        self.multiplier(a)
    }
    #[inline(always)]
    fn empty(self) -> Self::Sum {
        [self.0.compact_sum(); 5]
    }
    #[inline(always)]
    fn accumulate_base(self, sum: &mut Self::Sum, a: Self::Term, b: Factor<L::V>) {
        let _: [(); 3] = each!(3, i => self.0.accumulate_compact(&mut sum[i], a[i], b));
    }
    #[inline(always)]
    fn accumulate_terms(self, sum: &mut Self::Sum, a: Self::Term, b: Self::Term) {
        let f = self.0;
        if L::ISA == Isa::Portable {
            let [zero, one, two, _, _] = sum;
            let product = [[a[0].word(), a[1].word(), a[2].word()], [b[0].word(), b[1].word(), b[2].word()]];
            return plain_sum::<_, Cubic, 3>(f, [zero, one, two], product);
        }
        let _: [[(); 3]; 3] = each!(3, i => each!(3, j => f.accumulate_compact(&mut sum[i + j], a[i], b[j])));
    }
    #[inline(always)]
    fn finish(self, sum: Self::Sum) -> Self::V {
        let f = self.0;
        let [c0, c1, c2, c3, c4] = sum;
        let (c0, c1, c2) = (f.reduce_compact(c0), f.reduce_compact(c1), f.reduce_compact(c2));
        let (c0, c1, c2) = (f.reduce(c0), f.reduce(c1), f.reduce(c2));
        let (c3, c4) = (f.reduce(f.reduce_compact(c3)), f.reduce(f.reduce_compact(c4)));
        // X^3 = X + 1, X^4 = X^2 + X.
        let (c13, c24) = (FieldLanes::add(f, c1, c3), FieldLanes::add(f, c2, c4));
        [FieldLanes::add(f, c0, c3), FieldLanes::add(f, c13, c4), c24]
    }
}

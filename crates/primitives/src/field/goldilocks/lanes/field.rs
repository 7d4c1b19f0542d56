//! [`FieldLanes`] of the Goldilocks field: vectors are canonical, unreduced values are loose.

use super::{Canonical, Factor, Goldilocks, GoldilocksLanes, Loose, ProductSum};
use crate::field::{Field, FieldLanes, Outlined, over_itself};
use crate::lanes::{Body, LANES, Lanes};

impl Field for Goldilocks {
    type Base = Self;
    type On<L: Lanes> = GoldilocksLanes<L>;
    const ZERO: Self = Self::ZERO;
    const ONE: Self = Self::ONE;

    #[inline(always)]
    fn on<L: Lanes>(lanes: L) -> GoldilocksLanes<L> {
        GoldilocksLanes::new(lanes)
    }
    fn from_u64(x: u64) -> Self {
        Self::reduce(x)
    }
    fn half() -> Self {
        Self::new(Self::ORDER / 2 + 1)
    }
    fn inverse(self) -> Option<Self> {
        Self::inverse(self)
    }
}

impl<L: Lanes> FieldLanes for GoldilocksLanes<L> {
    type Element = Goldilocks;
    type V = Canonical<L::V>;
    type Lazy = Loose<L::V>;
    type Factor = Factor<L::V>;
    type Term = Factor<L::V>;
    type Sum = ProductSum<L::V>;

    #[inline(always)]
    fn zero(self) -> Self::V {
        self.splat(Goldilocks::ZERO)
    }
    #[inline(always)]
    fn splat(self, x: &Goldilocks) -> Self::V {
        self.splat(*x)
    }
    #[inline(always)]
    fn load(self, x: &[Goldilocks; LANES]) -> Self::V {
        self.load(x)
    }
    #[inline(always)]
    fn gather(self, x: [&Goldilocks; LANES]) -> Self::V {
        let [a, b, c, d, e, f, g, h] = x;
        self.load(&[*a, *b, *c, *d, *e, *f, *g, *h])
    }
    #[inline(always)]
    fn store(self, v: Self::V, x: &mut [Goldilocks; LANES]) {
        self.store(v, x);
    }
    #[inline(always)]
    fn scatter(self, v: Self::V, x: [&mut Goldilocks; LANES]) {
        for (to, element) in x.into_iter().zip(self.to_array(v)) {
            *to = element;
        }
    }
    #[inline(always)]
    fn to_array(self, v: Self::V) -> [Goldilocks; LANES] {
        let mut out = [Goldilocks::ZERO; LANES];
        self.store(v, &mut out);
        out
    }
    #[inline(always)]
    fn sum_lanes(self, v: Self::V) -> Goldilocks {
        self.to_array(v).into_iter().sum()
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        self.reduce(self.add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        self.reduce(self.sub(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        self.reduce(self.mul(a, b))
    }
    #[inline(always)]
    fn square(self, a: Self::V) -> Self::V {
        self.reduce(self.square(a))
    }
    #[inline(always)]
    fn lazy_add(self, a: Self::V, b: Self::V) -> Self::Lazy {
        self.add(a, b)
    }
    #[inline(always)]
    fn lazy_sub(self, a: Self::V, b: Self::V) -> Self::Lazy {
        self.sub(a, b)
    }
    #[inline(always)]
    fn extend(self, a: Self::V, b: Self::V) -> Self::Lazy {
        self.sub(self.double(b), a)
    }
    #[inline(always)]
    fn reduce(self, a: Self::Lazy) -> Self::V {
        self.reduce(a)
    }
    #[inline(always)]
    fn factor(self, x: &Goldilocks) -> Self::Factor {
        self.factor(self.splat(*x))
    }
    #[inline(always)]
    fn to_factor(self, a: Self::V) -> Self::Factor {
        self.factor(a)
    }
    #[inline(always)]
    fn scale(self, a: Self::Lazy, k: Self::Factor) -> Self::V {
        self.reduce(self.mul_by(a, k))
    }
    #[inline(always)]
    fn line(self, a: Self::V, b: Self::V, k: Self::Factor) -> Self::V {
        self.reduce(self.add(self.mul_by(self.sub(b, a), k), a))
    }
    #[inline(always)]
    fn empty(self) -> Self::Sum {
        self.product_sum()
    }
    #[inline(always)]
    fn accumulate_terms(self, sum: &mut Self::Sum, a: Self::Term, b: Self::Term) {
        self.accumulate(sum, a, b);
    }
    #[inline(always)]
    fn carry(self, sum: &mut Self::Sum) {
        self.carry_sum(sum);
    }
    #[inline(always)]
    fn finish(self, sum: Self::Sum) -> Self::V {
        self.reduce(self.reduce_sum(sum))
    }
    over_itself!();

    #[inline(always)]
    fn term(self, a: Self::Lazy) -> Self::Term {
        self.factor(a)
    }
    #[inline(always)]
    fn outline<B: Body<Self>>(self, body: B) -> B::Output {
        self.lanes().outline(Outlined(self, body))
    }
}

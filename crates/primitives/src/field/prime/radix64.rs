//! Eight elements as words of 64 bits, one after the other: plain Rust.

use core::array::from_fn;
use core::marker::PhantomData;

use super::invert::invert_all;
use super::scalar;
use super::{PrimeElement, PrimeLanes};
use crate::field::{FieldLanes, Outlined, over_itself};
use crate::lanes::{Body, LANES, Lanes};

/// Arithmetic on eight elements of N words, each by the scalar unit. Every value is canonical.
#[derive(Clone, Copy, Debug)]
pub struct Radix64<L, F, const N: usize>(L, PhantomData<F>);

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize> Radix64<L, F, N> {
    /// On an instruction set.
    #[inline(always)]
    pub fn new(lanes: L) -> Self {
        Self(lanes, PhantomData)
    }
}

/// Eight canonical elements.
#[derive(Clone, Copy, Debug)]
pub struct Words<const N: usize>([[u64; N]; LANES]);

/// Eight sums of products, of 2 N + 1 words each.
#[derive(Clone, Copy, Debug)]
pub struct WideWords<const N: usize> {
    low: [[u64; N]; LANES],
    high: [[u64; N]; LANES],
    top: [u64; LANES],
}

/// `sum` + a b for one lane.
#[inline(always)]
fn accumulate<const N: usize>(low: &mut [u64; N], high: &mut [u64; N], top: &mut u64, a: &[u64; N], b: &[u64; N]) {
    let (mut product_low, mut product_high) = ([0; N], [0; N]);
    for i in 0..N {
        let mut carry = 0;
        for j in 0..N {
            let at = if i + j < N { &mut product_low[i + j] } else { &mut product_high[i + j - N] };
            let x = a[i] as u128 * b[j] as u128 + *at as u128 + carry as u128;
            (*at, carry) = (x as u64, (x >> 64) as u64);
        }
        product_high[i] = carry;
    }
    let mut carry = false;
    for i in 0..N {
        (low[i], carry) = low[i].carrying_add(product_low[i], carry);
    }
    for i in 0..N {
        (high[i], carry) = high[i].carrying_add(product_high[i], carry);
    }
    *top += carry as u64;
}

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize> FieldLanes for Radix64<L, F, N> {
    type Element = F;
    type V = Words<N>;
    type Lazy = Words<N>;
    type Factor = Words<N>;
    type Term = Words<N>;
    type Sum = WideWords<N>;

    #[inline(always)]
    fn zero(self) -> Words<N> {
        Words([[0; N]; LANES])
    }
    #[inline(always)]
    fn splat(self, x: &F) -> Words<N> {
        Words([*x.words(); LANES])
    }
    #[inline(always)]
    fn gather(self, x: [&F; LANES]) -> Words<N> {
        Words(x.map(|x| *x.words()))
    }
    #[inline(always)]
    fn scatter(self, v: Words<N>, x: [&mut F; LANES]) {
        for (x, v) in x.into_iter().zip(v.0) {
            *x.words_mut() = v;
        }
    }
    #[inline(always)]
    fn to_array(self, v: Self::V) -> [F; LANES] {
        let mut out = [F::from_words(F::MODULUS); LANES];
        self.store(v, &mut out);
        out
    }
    #[inline(always)]
    fn sum_lanes(self, v: Words<N>) -> F {
        super::sum(&v.0.map(F::from_words))
    }
    #[inline(always)]
    fn add(self, a: Words<N>, b: Words<N>) -> Words<N> {
        Words(from_fn(|i| scalar::add::<F, N>(&a.0[i], &b.0[i])))
    }
    #[inline(always)]
    fn sub(self, a: Words<N>, b: Words<N>) -> Words<N> {
        Words(from_fn(|i| scalar::sub::<F, N>(&a.0[i], &b.0[i])))
    }
    #[inline(always)]
    fn mul(self, a: Words<N>, b: Words<N>) -> Words<N> {
        Words(from_fn(|i| scalar::mul::<F, N>(&a.0[i], &b.0[i])))
    }
    #[inline(always)]
    fn square(self, a: Words<N>) -> Words<N> {
        self.mul(a, a)
    }
    #[inline(always)]
    fn lazy_add(self, a: Words<N>, b: Words<N>) -> Words<N> {
        self.add(a, b)
    }
    #[inline(always)]
    fn lazy_sub(self, a: Words<N>, b: Words<N>) -> Words<N> {
        self.sub(a, b)
    }
    #[inline(always)]
    fn extend(self, a: Words<N>, b: Words<N>) -> Words<N> {
        self.add(b, self.sub(b, a))
    }
    #[inline(always)]
    fn reduce(self, a: Words<N>) -> Words<N> {
        a
    }
    #[inline(always)]
    fn factor(self, x: &F) -> Words<N> {
        self.splat(x)
    }
    #[inline(always)]
    fn to_factor(self, a: Words<N>) -> Words<N> {
        a
    }
    #[inline(always)]
    fn scale(self, a: Words<N>, k: Words<N>) -> Words<N> {
        self.mul(a, k)
    }
    #[inline(always)]
    fn line(self, a: Words<N>, b: Words<N>, k: Words<N>) -> Words<N> {
        self.add(a, self.mul(self.sub(b, a), k))
    }
    #[inline(always)]
    fn empty(self) -> WideWords<N> {
        WideWords { low: [[0; N]; LANES], high: [[0; N]; LANES], top: [0; LANES] }
    }
    #[inline(always)]
    fn accumulate_terms(self, sum: &mut WideWords<N>, a: Words<N>, b: Words<N>) {
        for i in 0..LANES {
            accumulate(&mut sum.low[i], &mut sum.high[i], &mut sum.top[i], &a.0[i], &b.0[i]);
        }
    }
    #[inline(always)]
    fn carry(self, _sum: &mut WideWords<N>) {}
    #[inline(always)]
    fn finish(self, sum: WideWords<N>) -> Words<N> {
        Words(from_fn(|i| scalar::reduce_wide::<F, N>(&sum.low[i], &sum.high[i], sum.top[i])))
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

impl<L: Lanes, F: PrimeElement<Words = [u64; N]>, const N: usize> PrimeLanes for Radix64<L, F, N> {
    type Difference = Words<N>;
    #[inline(always)]
    fn difference(self, a: Words<N>, b: Words<N>) -> Words<N> {
        self.sub(a, b)
    }
    #[inline(always)]
    fn signed_difference(self, mut a: Words<N>, b: Words<N>, signs: &[u64; LANES]) -> Words<N> {
        for (a, sign) in a.0.iter_mut().zip(signs) {
            if sign >> 63 != 0 {
                *a = scalar::sub::<F, N>(&[0; N], a);
            }
        }
        self.sub(a, b)
    }
    #[inline(always)]
    fn mul_difference(self, d: Words<N>, b: Words<N>) -> Words<N> {
        self.mul(d, b)
    }
    #[inline(always)]
    fn invert(self, a: Words<N>) -> Option<Words<N>> {
        invert_all(&a.0.map(F::from_words)).map(|x| self.load(&x))
    }
}

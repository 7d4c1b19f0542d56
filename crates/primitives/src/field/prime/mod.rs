//! Prime fields of 253 to 381 bits, eight elements at a time.
//!
//! **What.** [`PrimeElement`] is an element in the memory layout that arkworks, blst and halo2curves share: N little-endian
//! words of 64 bits that hold x 2^(64 N) mod p (the Montgomery form), canonical. [`PrimeLanes`] is arithmetic on eight of
//! them in registers. A kernel is written once:
//!
//! ```
//! use evergrove_primitives::field::prime::{PrimeElement, PrimeLanes};
//! use evergrove_primitives::lanes::{Kernel, LANES, Lanes, dispatch};
//!
//! /// x[i] = x[i] y[i], the ends that fill no vector apart.
//! struct Multiply<'a, F>(&'a mut [F], &'a [F]);
//!
//! impl<F: PrimeElement> Kernel for Multiply<'_, F> {
//!     type Output = ();
//!
//!     #[inline(always)]
//!     fn run<L: Lanes>(self, lanes: L) {
//!         let f = F::on(lanes);
//!         let (x, y) = (self.0.as_chunks_mut::<LANES>().0, self.1.as_chunks::<LANES>().0);
//!         for (x, y) in x.iter_mut().zip(y) {
//!             let product = f.mul(f.load(x), f.load(y));
//!             f.store(product, x);
//!         }
//!     }
//! }
//!
//! # fn multiply<F: PrimeElement>(x: &mut [F], y: &[F]) {
//! dispatch(Multiply(x, y));
//! # }
//! ```
//!
//! Its parts take `f: A` for an `A: PrimeLanes`, and are `#[inline(always)]` or go through [`PrimeLanes::outline`].
//!
//! **Ranges.** Values in registers are not canonical. Four types keep their bounds apart, p being the modulus:
//!
//! | type | value | made by |
//! |---|---|---|
//! | [`V`](PrimeLanes::V) | below 9/4 p | loads, products, reduced sums |
//! | [`Difference`](PrimeLanes::Difference) | below 21/4 p | `difference`, `signed_difference`: for one product |
//! | [`Lazy`](PrimeLanes::Lazy) | below 8 p | `lazy_add`, `lazy_sub`, `extend`: no conditional subtraction |
//! | [`Factor`](PrimeLanes::Factor) | what the fastest product takes | `factor`: constants, challenges, tables |
//! | [`Sum`](PrimeLanes::Sum) | a sum of products, not reduced | `accumulate`: dot products |
//!
//! The body of plain Rust keeps every value canonical; a kernel must not rely on it. What is stored is always
//! canonical, so that results are the same words on every instruction set.
//!
//! **Lanes.** Element i of what is loaded is in lane i, operations act lane by lane, and lane i is stored to element i.
//!
//! **Neighbours.** With the feature `ark`, every field of ark-ff of four or six words is a [`PrimeElement`]. A type of
//! another library becomes one by the trait's few methods.

#[cfg(feature = "ark")]
mod ark;
mod invert;
mod modulus;
mod radix52;
mod radix64;
pub mod reference;
mod scalar;

use core::fmt::Debug;

use crate::lanes::{Body, LANES, Lanes};

pub use radix52::Radix52;
pub use radix64::Radix64;

/// An element of a prime field in Montgomery form.
///
/// An implementation chooses its arithmetic by the numbers of its words and of limbs of 52 bits:
///
/// ```
/// # use evergrove_primitives::field::prime::PrimeElement;
/// # use evergrove_primitives::lanes::Lanes;
/// /// The scalar field of BN254.
/// #[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// struct Scalar([u64; 4]);
///
/// impl PrimeElement for Scalar {
///     type Words = [u64; 4];
///     type On<L: Lanes> = L::Prime<Self, 4, 5>;
///     const MODULUS: [u64; 4] =
///         [0x43e1_f593_f000_0001, 0x2833_e848_79b9_7091, 0xb850_45b6_8181_585d, 0x3064_4e72_e131_a029];
///
///     #[inline(always)]
///     fn words(&self) -> &[u64; 4] {
///         &self.0
///     }
///     #[inline(always)]
///     fn words_mut(&mut self) -> &mut [u64; 4] {
///         &mut self.0
///     }
///     #[inline(always)]
///     fn from_words(words: [u64; 4]) -> Self {
///         Self(words)
///     }
///     #[inline(always)]
///     fn on<L: Lanes>(lanes: L) -> Self::On<L> {
///         lanes.prime()
///     }
/// }
/// ```
pub trait PrimeElement: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// `[u64; N]`, little-endian.
    type Words: Copy + PartialEq + AsRef<[u64]> + AsMut<[u64]>;
    /// Arithmetic on eight elements.
    type On<L: Lanes>: PrimeLanes<Element = Self>;
    /// p, an odd prime below 2^(64 N - 1).
    const MODULUS: Self::Words;

    /// x 2^(64 N) mod p.
    fn words(&self) -> &Self::Words;
    /// The words, for what is stored.
    fn words_mut(&mut self) -> &mut Self::Words;
    /// The element with the words, which are below p.
    fn from_words(words: Self::Words) -> Self;
    /// Arithmetic on eight elements, where the witness `lanes` allows it.
    fn on<L: Lanes>(lanes: L) -> Self::On<L>;

    /// Whether the words are below p, as every element's should be.
    ///
    /// No result is promised for an element that is not canonical; nothing worse happens.
    fn is_canonical(&self) -> bool {
        self.words().as_ref().iter().rev().lt(Self::MODULUS.as_ref().iter().rev())
    }
}

/// Arithmetic on eight elements of a prime field. See the module for types, ranges and lanes.
///
/// Every method is inlined into its caller, which must be compiled for the instruction set: a kernel's `run`, what is
/// inlined into it, or a [`Body`].
pub trait PrimeLanes: Copy + Send + Sync {
    /// The element.
    type Element: PrimeElement;
    /// Eight elements, below 9/4 p.
    type V: Copy + Send + Sync;
    /// Eight differences, below 21/4 p.
    type Difference: Copy + Send + Sync + From<Self::V>;
    /// Eight sums or differences, below 8 p.
    type Lazy: Copy + Send + Sync + From<Self::V>;
    /// Eight multipliers.
    type Factor: Copy + Send + Sync;
    /// Eight sums of products: at most [`PrimeLanes::TERMS`] terms after each [`PrimeLanes::carry`], 2^15 in all.
    type Sum: Copy + Send + Sync;

    /// How many products may be accumulated between two calls of [`PrimeLanes::carry`].
    const TERMS: usize = 128;

    /// Zero in every lane.
    fn zero(self) -> Self::V;
    /// `x` in every lane.
    fn splat(self, x: &Self::Element) -> Self::V;
    /// Eight neighbours.
    #[inline(always)]
    fn load(self, x: &[Self::Element; LANES]) -> Self::V {
        let [a, b, c, d, e, f, g, h] = x;
        self.gather([a, b, c, d, e, f, g, h])
    }
    /// Eight elements from anywhere: strided, or by index.
    fn gather(self, x: [&Self::Element; LANES]) -> Self::V;
    /// The elements 2 i, and the elements 2 i + 1.
    #[inline(always)]
    fn load_pairs(self, x: &[Self::Element; 2 * LANES]) -> [Self::V; 2] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
        [self.gather([a, c, e, g, i, k, m, o]), self.gather([b, d, f, h, j, l, n, p])]
    }
    /// The canonical elements, to eight neighbours.
    #[inline(always)]
    fn store(self, v: Self::V, x: &mut [Self::Element; LANES]) {
        self.scatter(v, x.each_mut());
    }
    /// The canonical elements, to anywhere.
    fn scatter(self, v: Self::V, x: [&mut Self::Element; LANES]);
    /// The canonical elements of `even` to the places 2 i, of `odd` to the places 2 i + 1.
    #[inline(always)]
    fn store_pairs(self, even: Self::V, odd: Self::V, x: &mut [Self::Element; 2 * LANES]) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
        self.scatter(even, [a, c, e, g, i, k, m, o]);
        self.scatter(odd, [b, d, f, h, j, l, n, p]);
    }
    /// The canonical elements.
    #[inline(always)]
    fn to_array(self, v: Self::V) -> [Self::Element; LANES] {
        let mut out = [Self::Element::from_words(Self::Element::MODULUS); LANES];
        self.store(v, &mut out);
        out
    }
    /// The elements to anywhere, below 2^(64 N) but not canonical: for [`PrimeLanes::gather`] alone, which takes them back.
    #[inline(always)]
    fn park(self, v: Self::V, x: [&mut Self::Element; LANES]) {
        self.scatter(v, x);
    }
    /// The sum of the eight lanes.
    fn sum_lanes(self, v: Self::V) -> Self::Element;

    /// a + b.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// -a.
    #[inline(always)]
    fn neg(self, a: Self::V) -> Self::V {
        self.sub(self.zero(), a)
    }
    /// 2 a.
    #[inline(always)]
    fn double(self, a: Self::V) -> Self::V {
        self.add(a, a)
    }
    /// a b.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a^2.
    fn square(self, a: Self::V) -> Self::V;

    /// a - b - c.
    #[inline(always)]
    fn sub_sum(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.sub(self.sub(a, b), c)
    }
    /// a - b.
    fn difference(self, a: Self::V, b: Self::V) -> Self::Difference;
    /// -a - b in the lanes where the highest bit of the sign is set, a - b elsewhere.
    fn signed_difference(self, a: Self::V, b: Self::V, signs: &[u64; LANES]) -> Self::Difference;
    /// d b.
    fn mul_difference(self, d: Self::Difference, b: Self::V) -> Self::V;

    /// 1 / a by one inversion of a scalar, some microseconds; `None` if a lane is zero.
    fn invert(self, a: Self::V) -> Option<Self::V>;

    /// a + b.
    fn lazy_add(self, a: Self::V, b: Self::V) -> Self::Lazy;
    /// a - b.
    fn lazy_sub(self, a: Self::V, b: Self::V) -> Self::Lazy;
    /// 2 b - a: the value at 2 of the line through a at 0 and b at 1.
    fn extend(self, a: Self::V, b: Self::V) -> Self::Lazy;
    /// The same value, below 9/4 p.
    fn reduce(self, a: Self::Lazy) -> Self::V;

    /// `x` as a multiplier, in every lane. Costs about a product.
    fn factor(self, x: &Self::Element) -> Self::Factor;
    /// Eight elements as multipliers. Costs about a product.
    fn to_factor(self, a: Self::V) -> Self::Factor;
    /// a k: the cheapest product.
    fn scale(self, a: Self::Lazy, k: Self::Factor) -> Self::V;
    /// a + k (b - a): the value at k of the line through a at 0 and b at 1, the node of an MLE's evaluation.
    fn line(self, a: Self::V, b: Self::V, k: Self::Factor) -> Self::V;

    /// An empty sum.
    fn empty(self) -> Self::Sum;
    /// `sum` + a b, not reduced: half the work of a product.
    fn accumulate(self, sum: &mut Self::Sum, a: Self::Lazy, b: Self::Lazy);
    /// Makes room for [`PrimeLanes::TERMS`] further products.
    fn carry(self, sum: &mut Self::Sum);
    /// The value of the sum. Costs about two products.
    fn finish(self, sum: Self::Sum) -> Self::V;

    /// Runs `body` in a function of its own, with the instruction set switched on.
    fn outline<B: Body<Self>>(self, body: B) -> B::Output;
}

/// The sum of canonical elements.
#[inline(always)]
fn sum<F: PrimeElement<Words = [u64; N]>, const N: usize>(x: &[F; LANES]) -> F {
    let [first, rest @ ..] = x;
    F::from_words(rest.iter().fold(*first.words(), |sum, x| scalar::add::<F, N>(&sum, x.words())))
}

/// A body on words that runs one on elements.
struct Outlined<A, B>(A, B);

impl<L: Lanes, A: PrimeLanes, B: Body<A>> Body<L> for Outlined<A, B> {
    type Output = B::Output;

    #[inline(always)]
    fn run(self, _lanes: L) -> B::Output {
        self.1.run(self.0)
    }
}

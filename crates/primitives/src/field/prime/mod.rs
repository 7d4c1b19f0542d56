//! Prime fields of 253 to 381 bits, eight elements at a time.
//!
//! **What.** [`PrimeElement`] is an element in the memory layout that arkworks, blst and halo2curves share: N little-endian
//! words of 64 bits that hold x 2^(64 N) mod p (the Montgomery form), canonical. [`PrimeLanes`] is arithmetic on eight
//! elements in registers, with all operations of [`FieldLanes`]. A kernel is written once:
//!
//! ```
//! use evergrove_primitives::field::FieldLanes;
//! use evergrove_primitives::field::prime::PrimeElement;
//! use evergrove_primitives::lanes::{Kernel, LANES, Lanes, dispatch};
//!
//! /// x[i] = x[i] y[i], without the elements at the end that fill no vector.
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
//! Its parts take `f: A` for an `A: PrimeLanes`, and are `#[inline(always)]` or go through [`FieldLanes::outline`].
//!
//! **Ranges.** Values in registers are not canonical. Four types keep their bounds apart, where p is the modulus:
//!
//! | type | value | made by |
//! |---|---|---|
//! | [`V`](FieldLanes::V) | below 9/4 p | loads, products, reduced sums |
//! | [`Difference`](PrimeLanes::Difference) | below 21/4 p | `difference`, `signed_difference`: for one product |
//! | [`Lazy`](FieldLanes::Lazy) | below 8 p | `lazy_add`, `lazy_sub`, `extend`: no conditional subtraction |
//! | [`Factor`](FieldLanes::Factor) | in the form for the fastest product | `factor`: constants, challenges, tables |
//! | [`Sum`](FieldLanes::Sum) | a sum of products, not reduced | `accumulate`: dot products |
//!
//! The body of plain Rust keeps every value canonical; a kernel must not rely on it. Stored values are always
//! canonical, so results are the same words on every instruction set.
//!
//! **Lanes.** Element i of a load is in lane i, operations act lane by lane, and lane i is stored to element i.
//!
//! **Neighbours.** With the feature `ark`, every field of ark-ff of four or six words is a [`PrimeElement`]. A type of
//! another library becomes one by the trait's few methods.

#[cfg(feature = "ark")]
mod ark;
#[cfg(feature = "ark")]
mod fastest;
mod invert;
mod modulus;
mod radix52;
mod radix64;
pub mod reference;
mod scalar;

use core::fmt::Debug;

use super::FieldLanes;
use crate::lanes::{LANES, Lanes};

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
    /// The words, for storing.
    fn words_mut(&mut self) -> &mut Self::Words;
    /// The element with the words, which are below p.
    fn from_words(words: Self::Words) -> Self;
    /// Arithmetic on eight elements, where the witness `lanes` allows it.
    fn on<L: Lanes>(lanes: L) -> Self::On<L>;

    /// Whether the words are below p, as every element's should be.
    ///
    /// The result for an element that is not canonical is unspecified, but safe.
    fn is_canonical(&self) -> bool {
        self.words().as_ref().iter().rev().lt(Self::MODULUS.as_ref().iter().rev())
    }
}

/// Arithmetic on eight elements of a prime field: the operations that curves need besides [`FieldLanes`]. See the
/// module for types and ranges.
pub trait PrimeLanes: FieldLanes<Element: PrimeElement, Base = Self> {
    /// Eight differences, below 21/4 p.
    type Difference: Copy + Send + Sync + From<Self::V>;

    /// Stores the elements anywhere, below 2^(64 N) but not canonical: only [`FieldLanes::gather`] loads them again.
    #[inline(always)]
    fn park(self, v: Self::V, x: [&mut Self::Element; LANES]) {
        self.scatter(v, x);
    }
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
}

/// The sum of canonical elements.
#[inline(always)]
fn sum<F: PrimeElement<Words = [u64; N]>, const N: usize>(x: &[F; LANES]) -> F {
    let [first, rest @ ..] = x;
    F::from_words(rest.iter().fold(*first.words(), |sum, x| scalar::add::<F, N>(&sum, x.words())))
}

//! Fields, one element at a time and eight at a time.
//!
//! **What.** [`Goldilocks`] and its [extensions](extension) of degree two and three; [`prime`], prime fields of 253 to 381 bits.
//! A [`Field`] is any of them; [`FieldLanes`] is arithmetic on eight elements of one, on an instruction set of the CPU. Multilinear
//! extensions, SumChecks and products are written against these two, once for all fields.

pub mod extension;
pub mod goldilocks;
pub mod prime;

use alloc::vec::Vec;
use core::fmt::Debug;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::lanes::{Body, Isa, LANES, Lanes};

pub(crate) use goldilocks::{EPSILON, fold, partial_reduce, wide};

pub use extension::{Cubic, Quadratic};
pub use goldilocks::{Goldilocks, NonCanonical};

/// An element of a field, canonical, so equality is equality of the memory.
pub trait Field:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + Product
{
    /// The field that this one is built over: a prime field is built over itself.
    type Base: Field;
    /// Arithmetic on eight elements.
    type On<L: Lanes>: FieldLanes<Element = Self, Base = <Self::Base as Field>::On<L>>;
    /// The additive identity.
    const ZERO: Self;
    /// The multiplicative identity.
    const ONE: Self;

    /// Arithmetic on eight elements, where the witness `lanes` allows it.
    fn on<L: Lanes>(lanes: L) -> Self::On<L>;
    /// `x` times one.
    fn from_u64(x: u64) -> Self;
    /// 1 / 2.
    fn half() -> Self;
    /// The multiplicative inverse, `None` for zero.
    fn inverse(self) -> Option<Self>;

    /// The instruction set for kernels that are bound by products of this field: the best one of this CPU, or the one
    /// that was [chosen](Isa::choose), except where plain Rust multiplies faster.
    fn isa() -> Isa {
        Isa::detect()
    }

    /// Whether this is the additive identity.
    fn is_zero(self) -> bool {
        self == Self::ZERO
    }
    /// `self^exp` by square and multiply.
    fn pow(self, mut exp: u64) -> Self {
        let (mut base, mut power) = (self, Self::ONE);
        while exp != 0 {
            if exp & 1 == 1 {
                power *= base;
            }
            base *= base;
            exp >>= 1;
        }
        power
    }
}

/// Replaces each element by its inverse, zero by zero: one inversion and three multiplications an element (Montgomery's trick).
pub fn invert_all<F: Field>(elements: &mut [F]) {
    let mut product = F::ONE;
    let before: Vec<F> = elements
        .iter()
        .map(|x| {
            let before = product;
            if !x.is_zero() {
                product *= *x;
            }
            before
        })
        .collect();
    let mut inverse = product.inverse().expect("a product of elements that are not zero");
    for (x, before) in elements.iter_mut().zip(before).rev() {
        if !x.is_zero() {
            (*x, inverse) = (inverse * before, inverse * *x);
        }
    }
}

/// Arithmetic on eight elements of a field.
///
/// Values in registers need not be canonical; the types keep their bounds apart. Stored values are canonical, so
/// results are the same on every instruction set. Element i of a load is in lane i, operations act lane by lane, and
/// lane i is stored to element i.
///
/// Every method is inlined into its caller, which must be compiled for the instruction set: a kernel's `run`, functions
/// inlined into it, or a [`Body`].
pub trait FieldLanes: Copy + Send + Sync {
    /// The element.
    type Element: Copy + Debug + Send + Sync + 'static;
    /// Arithmetic of the field that this one is built over.
    type Base: FieldLanes;
    /// Eight elements.
    type V: Copy + Send + Sync;
    /// Eight sums or differences of two vectors, not reduced.
    type Lazy: Copy + Send + Sync + From<Self::V>;
    /// Eight multipliers, in the form for the cheapest product.
    type Factor: Copy + Send + Sync;
    /// Eight factors of a sum of products, prepared once for repeated use.
    type Term: Copy + Send + Sync;
    /// Eight sums of products, not reduced: at most [`FieldLanes::TERMS`] terms after each [`FieldLanes::carry`], 2^15 in all.
    type Sum: Copy + Send + Sync;

    /// How many products may be accumulated between two calls of [`FieldLanes::carry`].
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
    fn to_array(self, v: Self::V) -> [Self::Element; LANES];
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

    /// a + b.
    fn lazy_add(self, a: Self::V, b: Self::V) -> Self::Lazy;
    /// a - b.
    fn lazy_sub(self, a: Self::V, b: Self::V) -> Self::Lazy;
    /// 2 b - a: the value at 2 of the line through a at 0 and b at 1.
    fn extend(self, a: Self::V, b: Self::V) -> Self::Lazy;
    /// The same value, reduced.
    fn reduce(self, a: Self::Lazy) -> Self::V;

    /// `x` as a multiplier, in every lane. Costs at most about a product.
    fn factor(self, x: &Self::Element) -> Self::Factor;
    /// Eight elements as multipliers. Costs at most about a product.
    fn to_factor(self, a: Self::V) -> Self::Factor;
    /// a k: the cheapest product.
    fn scale(self, a: Self::Lazy, k: Self::Factor) -> Self::V;
    /// a + k (b - a): the value at k of the line through a at 0 and b at 1, the node of an MLE's evaluation.
    fn line(self, a: Self::V, b: Self::V, k: Self::Factor) -> Self::V;

    /// An empty sum.
    fn empty(self) -> Self::Sum;
    /// A factor of sums of products.
    fn term(self, a: Self::Lazy) -> Self::Term;
    /// `sum` + a b, not reduced: half the work of a product where the instruction set allows it.
    fn accumulate_terms(self, sum: &mut Self::Sum, a: Self::Term, b: Self::Term);
    /// [`FieldLanes::accumulate_terms`] of factors that are used once.
    #[inline(always)]
    fn accumulate(self, sum: &mut Self::Sum, a: Self::Lazy, b: Self::Lazy) {
        self.accumulate_terms(sum, self.term(a), self.term(b));
    }
    /// Makes room for [`FieldLanes::TERMS`] further products.
    fn carry(self, sum: &mut Self::Sum);
    /// The value of the sum. Costs about two products.
    fn finish(self, sum: Self::Sum) -> Self::V;

    /// Eight elements whose coefficients lie apart: coefficient c of lane i at `x[c * stride + i]`, i from 0 to 7.
    fn load_coefficients(self, x: &[<Self::Base as FieldLanes>::Element], stride: usize) -> Self::V;
    /// The canonical coefficients, to where [`FieldLanes::load_coefficients`] finds them.
    fn store_coefficients(self, v: Self::V, x: &mut [<Self::Base as FieldLanes>::Element], stride: usize);
    /// Elements of the base field in this one.
    fn embed(self, x: <Self::Base as FieldLanes>::V) -> Self::V;
    /// a k, for k in the base field.
    fn scale_base(self, a: Self::Lazy, k: <Self::Base as FieldLanes>::Factor) -> Self::V;
    /// `sum` + a b, for b in the base field.
    fn accumulate_base(self, sum: &mut Self::Sum, a: Self::Term, b: <Self::Base as FieldLanes>::Term);

    /// Runs `body` in a function of its own, with the instruction set switched on.
    fn outline<B: Body<Self>>(self, body: B) -> B::Output;
}

/// The methods that [`FieldLanes`] requires of a field that is built over itself.
macro_rules! over_itself {
    () => {
        type Base = Self;

        #[inline(always)]
        fn load_coefficients(self, x: &[Self::Element], _stride: usize) -> Self::V {
            self.load(x.first_chunk().expect("eight coefficients"))
        }
        #[inline(always)]
        fn store_coefficients(self, v: Self::V, x: &mut [Self::Element], _stride: usize) {
            self.store(v, x.first_chunk_mut().expect("eight coefficients"));
        }
        #[inline(always)]
        fn embed(self, x: Self::V) -> Self::V {
            x
        }
        #[inline(always)]
        fn scale_base(self, a: Self::Lazy, k: Self::Factor) -> Self::V {
            self.scale(a, k)
        }
        #[inline(always)]
        fn accumulate_base(self, sum: &mut Self::Sum, a: Self::Term, b: Self::Term) {
            self.accumulate_terms(sum, a, b);
        }
    };
}
pub(crate) use over_itself;

/// A body on words that runs one on elements.
pub(crate) struct Outlined<A, B>(pub(crate) A, pub(crate) B);

impl<L: Lanes, A: FieldLanes, B: Body<A>> Body<L> for Outlined<A, B> {
    type Output = B::Output;

    #[inline(always)]
    fn run(self, _lanes: L) -> B::Output {
        self.1.run(self.0)
    }
}

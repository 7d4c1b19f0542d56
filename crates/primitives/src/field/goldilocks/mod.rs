//! The Goldilocks field, integers modulo p = 2^64 - 2^32 + 1.

pub mod lanes;

use core::fmt;
use core::hint::select_unpredictable;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// 2^64 mod p = 2^32 - 1.
pub(crate) const EPSILON: u64 = 0xffff_ffff;

/// An element of the field of order p = 2^64 - 2^32 + 1.
///
/// The representative is always canonical (below p), so equality, ordering and hashing of the integer are those of the
/// field element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Goldilocks(u64);

/// An integer that is not below p was offered as a field element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonCanonical(pub u64);

impl fmt::Display for NonCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a field element: it must be below p = {}", self.0, Goldilocks::ORDER)
    }
}

impl core::error::Error for NonCanonical {}

impl Goldilocks {
    /// p, the order of the field.
    pub const ORDER: u64 = 0xffff_ffff_0000_0001;
    /// The additive identity.
    pub const ZERO: Self = Self(0);
    /// The multiplicative identity.
    pub const ONE: Self = Self(1);

    /// The generator of the multiplicative group that Plonky2 uses as the shift of its cosets.
    pub const GENERATOR: Self = Self(14_293_326_489_335_486_720);
    /// 2^32 divides p - 1, and no higher power of two does.
    pub const TWO_ADICITY: u32 = 32;
    /// `GENERATOR^((p - 1) / 2^32)`, of order 2^32.
    const TWO_ADIC_GENERATOR: Self = Self(7_277_203_076_849_721_926);

    /// The element with canonical representative `x`.
    ///
    /// # Panics
    /// If `x >= p`. Use this for constants, and [`Goldilocks::from_canonical`] for data.
    #[inline]
    pub const fn new(x: u64) -> Self {
        assert!(x < Self::ORDER, "not a canonical field element");
        Self(x)
    }

    /// The element with canonical representative `x`, or an error when `x >= p`.
    #[inline]
    pub const fn from_canonical(x: u64) -> Result<Self, NonCanonical> {
        if x < Self::ORDER { Ok(Self(x)) } else { Err(NonCanonical(x)) }
    }

    /// `x` modulo p.
    #[inline]
    pub const fn reduce(x: u64) -> Self {
        if x >= Self::ORDER { Self(x - Self::ORDER) } else { Self(x) }
    }

    /// [`Goldilocks::reduce`] without a branch.
    #[inline(always)]
    fn reduce_unpredictable(x: u64) -> Self {
        Self(select_unpredictable(x >= Self::ORDER, x.wrapping_sub(Self::ORDER), x))
    }

    /// The element with canonical representative `x`, which the caller knows to be below p.
    #[inline(always)]
    pub(crate) const fn from_word_below_order(x: u64) -> Self {
        debug_assert!(x < Self::ORDER);
        Self(x)
    }

    /// The canonical representative, below p.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// `self^exp` by square and multiply.
    pub fn pow(self, exp: u64) -> Self {
        super::Field::pow(self, exp)
    }

    /// Plonky2's root of unity of order 2^`log_order`, `None` above order 2^32. That of order 2^k, k <= 6, is 2^(192 / 2^k).
    #[inline]
    pub fn root_of_unity(log_order: u32) -> Option<Self> {
        /// By the logarithm of the order.
        const ROOTS: [Goldilocks; 33] = {
            let mut roots = [Goldilocks::TWO_ADIC_GENERATOR; 33];
            let mut i = 32;
            while i > 0 {
                let root = roots[i].0 as u128;
                roots[i - 1] = Goldilocks((root * root % Goldilocks::ORDER as u128) as u64);
                i -= 1;
            }
            roots
        };
        ROOTS.get(log_order as usize).copied()
    }

    /// The sum of N <= 8 products, reduced once.
    #[inline(always)]
    pub(crate) fn dot<const N: usize>(a: [Self; N], b: [Self; N]) -> Self {
        const { assert!(0 < N && N <= 8) };
        let (mut sum, mut carries) = (wide(a[0].0, b[0].0), 0u64);
        for i in 1..N {
            let (next, carry) = sum.overflowing_add(wide(a[i].0, b[i].0));
            (sum, carries) = (next, carries + carry as u64);
        }
        let sum = Self::reduce_unpredictable(partial_reduce(sum));
        // 2^128 = -2^32. A difference below 0 is as rare as a sum below 2^35: its branch is predicted.
        let (mut difference, borrow) = sum.0.overflowing_sub(carries << 32);
        if borrow {
            core::hint::cold_path();
            difference = difference.wrapping_add(Self::ORDER);
        }
        Self(difference)
    }

    /// The sum of the products a_i b_i of two slices, reduced once. Elements beyond the shorter slice do not count.
    #[inline]
    pub fn inner_product(a: &[Self], b: &[Self]) -> Self {
        // The low and the high words of the products: fewer than 2^64 products fit.
        let (mut low, mut high) = (0u128, 0u128);
        for (a, b) in a.iter().zip(b) {
            let product = wide(a.0, b.0);
            low += u128::from(product as u64);
            high += product >> 64;
        }
        let high = partial_reduce(high + (low >> 64));
        Self::reduce(partial_reduce(u128::from(high) << 64 | u128::from(low as u64)))
    }

    /// The multiplicative inverse, `None` for zero.
    pub fn inverse(self) -> Option<Self> {
        (self != Self::ZERO).then(|| self.pow(Self::ORDER - 2))
    }
}

/// The product of two words.
#[inline(always)]
pub(crate) const fn wide(a: u64, b: u64) -> u128 {
    // WebAssembly has no product of 128 bits: the compiler would call a function, twice as slow.
    if cfg!(target_arch = "wasm32") { by_halves(a, b) } else { a as u128 * b as u128 }
}

/// A product from those of halves.
#[inline(always)]
const fn by_halves(a: u64, b: u64) -> u128 {
    let ([a0, a1], [b0, b1]) = ([a & EPSILON, a >> 32], [b & EPSILON, b >> 32]);
    let low = a0 * b0;
    let first = a1 * b0 + (low >> 32);
    let second = a0 * b1 + (first & EPSILON);
    let high = a1 * b1 + (first >> 32) + (second >> 32);
    (high as u128) << 64 | (second << 32 | low & EPSILON) as u128
}

/// `x` modulo p up to one multiple of p: some `y < 2^64` with `y = x (mod p)`.
///
/// Let x = lo + 2^64 (hl + 2^32 hh): 2^64 = 2^32 - 1 and 2^96 = -1 modulo p. A branch handles the borrow, since it
/// happens once in 2^32 products and a predicted branch is off the critical path. The carry is a coin toss, so a branch
/// would cost more than the product.
#[inline(always)]
pub(crate) fn partial_reduce(x: u128) -> u64 {
    let (lo, hi) = (x as u64, (x >> 64) as u64);
    let (hh, hl) = (hi >> 32, hi & EPSILON);
    let (mut t, borrow) = lo.overflowing_sub(hh);
    if borrow {
        core::hint::cold_path();
        t = t.wrapping_sub(EPSILON);
    }
    let (r, carry) = t.overflowing_add((hl << 32) - hl);
    r.wrapping_add(select_unpredictable(carry, EPSILON, 0))
}

/// Some `y < 2^64` with `y = lo + 2^64 hi (mod p)`, for `hi < 2^31` that is usually so small that a carry is rare.
#[inline(always)]
pub(crate) const fn fold(lo: u64, hi: u64) -> u64 {
    let (r, carry) = lo.overflowing_add(hi * EPSILON);
    if carry {
        core::hint::cold_path();
        return r.wrapping_add(EPSILON);
    }
    r
}

impl Add for Goldilocks {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        let (s, carry) = self.0.overflowing_add(rhs.0);
        // s + 2^64 - p = s + EPSILON when the sum wrapped; it is then below p already.
        Self::reduce_unpredictable(s.wrapping_add(select_unpredictable(carry, EPSILON, 0)))
    }
}

impl Sub for Goldilocks {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        let (d, borrow) = self.0.overflowing_sub(rhs.0);
        Self(d.wrapping_add(select_unpredictable(borrow, Self::ORDER, 0)))
    }
}

impl Neg for Goldilocks {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl Mul for Goldilocks {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        Self::reduce_unpredictable(partial_reduce(wide(self.0, rhs.0)))
    }
}

impl AddAssign for Goldilocks {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl SubAssign for Goldilocks {
    #[inline]
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl MulAssign for Goldilocks {
    #[inline]
    fn mul_assign(&mut self, rhs: Self) {
        *self = *self * rhs;
    }
}

impl Sum for Goldilocks {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl Product for Goldilocks {
    fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ONE, Mul::mul)
    }
}

impl From<u32> for Goldilocks {
    fn from(x: u32) -> Self {
        Self(x as u64)
    }
}

impl TryFrom<u64> for Goldilocks {
    type Error = NonCanonical;
    fn try_from(x: u64) -> Result<Self, NonCanonical> {
        Self::from_canonical(x)
    }
}

impl fmt::Debug for Goldilocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Goldilocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around the ends of limbs, where the rare borrows and carries are.
    const EDGES: [u64; 10] = [
        0,
        1,
        EPSILON - 1,
        EPSILON,
        EPSILON + 1,
        1 << 63,
        u64::MAX - EPSILON,
        Goldilocks::ORDER,
        u64::MAX - 1,
        u64::MAX,
    ];

    #[test]
    fn sums_of_products_at_the_edges() {
        let p = Goldilocks::ORDER as u128;
        let greatest = Goldilocks(Goldilocks::ORDER - 1);
        for last in [0, 1, EPSILON, 1 << 35, Goldilocks::ORDER - 1] {
            let (mut a, b) = (
                [greatest; 8],
                [greatest, greatest, greatest, greatest, greatest, greatest, greatest, Goldilocks::ONE],
            );
            // The last product makes the low 128 bits of the sum a multiple of p plus `last`.
            let low = (0..7).fold(0u128, |sum, _| sum.wrapping_add((p - 1) * (p - 1)));
            a[7] = Goldilocks(((p - low % p + last as u128) % p) as u64);
            let expected = (0..8).fold(0, |sum, i| (sum + a[i].0 as u128 * b[i].0 as u128 % p) % p);
            assert_eq!(Goldilocks::dot(a, b).0 as u128, expected, "{last}");
            assert_eq!(Goldilocks::inner_product(&a, &b).0 as u128, expected, "{last}");
        }
    }

    #[test]
    fn partial_reduce_at_the_edges() {
        for lo in EDGES {
            for hi in EDGES {
                assert_eq!(by_halves(lo, hi), lo as u128 * hi as u128, "{lo:#x} {hi:#x}");
                let x = (hi as u128) << 64 | lo as u128;
                let p = Goldilocks::ORDER as u128;
                assert_eq!(partial_reduce(x) as u128 % p, x % p, "{x:#x}");
                let hi = hi >> 33;
                let x = (hi as u128) << 64 | lo as u128;
                assert_eq!(fold(lo, hi) as u128 % p, x % p, "{x:#x}");
            }
        }
    }
}

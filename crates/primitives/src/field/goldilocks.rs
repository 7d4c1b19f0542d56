//! The Goldilocks field, integers modulo p = 2^64 - 2^32 + 1.

use core::fmt;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// 2^64 mod p = 2^32 - 1.
const EPSILON: u64 = 0xffff_ffff;

/// An element of the field of order p = 2^64 - 2^32 + 1.
///
/// The representative is always canonical (below p), so that equality, ordering and hashing of the integer are those of
/// the field element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Goldilocks(u64);

/// An integer that is not below p was offered as a field element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonCanonical(pub u64);

impl fmt::Display for NonCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a field element: it must be below p = {}",
            self.0,
            Goldilocks::ORDER
        )
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

    /// The element with canonical representative `x`.
    ///
    /// # Panics
    /// If `x >= p`; meant for constants. Data goes through [`Goldilocks::from_canonical`].
    pub const fn new(x: u64) -> Self {
        assert!(x < Self::ORDER, "not a canonical field element");
        Self(x)
    }

    /// The element with canonical representative `x`, or an error when `x >= p`.
    pub const fn from_canonical(x: u64) -> Result<Self, NonCanonical> {
        if x < Self::ORDER {
            Ok(Self(x))
        } else {
            Err(NonCanonical(x))
        }
    }

    /// `x` modulo p.
    pub const fn reduce(x: u64) -> Self {
        if x >= Self::ORDER {
            Self(x - Self::ORDER)
        } else {
            Self(x)
        }
    }

    /// The canonical representative, below p.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// `self^exp` by square and multiply.
    pub fn pow(self, mut exp: u64) -> Self {
        let (mut base, mut acc) = (self, Self::ONE);
        while exp != 0 {
            if exp & 1 == 1 {
                acc *= base;
            }
            base *= base;
            exp >>= 1;
        }
        acc
    }

    /// The multiplicative inverse, `None` for zero.
    pub fn inverse(self) -> Option<Self> {
        (self != Self::ZERO).then(|| self.pow(Self::ORDER - 2))
    }
}

/// `x` modulo p up to one multiple of p: some `y < 2^64` with `y = x (mod p)`.
///
/// With x = lo + 2^64 (hl + 2^32 hh): 2^64 = 2^32 - 1 and 2^96 = -1 modulo p.
#[inline(always)]
pub(crate) const fn partial_reduce(x: u128) -> u64 {
    let (lo, hi) = (x as u64, (x >> 64) as u64);
    let (hh, hl) = (hi >> 32, hi & EPSILON);
    let (t, borrow) = lo.overflowing_sub(hh);
    let t = t.wrapping_sub(EPSILON * borrow as u64);
    let (r, carry) = t.overflowing_add(hl * EPSILON);
    r.wrapping_add(EPSILON * carry as u64)
}

impl Add for Goldilocks {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        let (s, carry) = self.0.overflowing_add(rhs.0);
        // s + 2^64 - p = s + EPSILON when the sum wrapped; it is then below p already.
        Self::reduce(s.wrapping_add(EPSILON * carry as u64))
    }
}

impl Sub for Goldilocks {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        let (d, borrow) = self.0.overflowing_sub(rhs.0);
        Self(d.wrapping_add(Self::ORDER * borrow as u64))
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
        Self::reduce(partial_reduce(self.0 as u128 * rhs.0 as u128))
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

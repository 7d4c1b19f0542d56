//! Extensions of the Goldilocks field F: of degree two, K2 = F\[X\]/(X^2 - 7), and of degree three, K3 = F\[X\]/(X^3 - X - 1).
//!
//! An element is its coefficients, starting with that of 1. Plonky2 draws its challenges from K2, Plonky3 and soundcalc
//! from K3. 7 is not a square modulo p, and X^3 - X - 1 has no root there: both are fields, as tests show.

pub mod lanes;

use core::fmt;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Field, Goldilocks};
use crate::lanes::Lanes;
use lanes::{CubicLanes, QuadraticLanes};

/// c0 + c1 X with X^2 = 7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Quadratic(pub [Goldilocks; 2]);

/// c0 + c1 X + c2 X^2 with X^3 = X + 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Cubic(pub [Goldilocks; 3]);

/// X^2 in K2.
pub(crate) const SEVEN: Goldilocks = Goldilocks::new(7);

/// A field that contains the Goldilocks field: a vector space over it of dimension [`Extension::DEGREE`].
pub trait Extension:
    Field<Base = Goldilocks> + From<Goldilocks> + Mul<Goldilocks, Output = Self> + AsRef<[Goldilocks]>
{
    /// The dimension.
    const DEGREE: usize;

    /// The element with these coefficients, starting with that of 1; `None` unless there are [`Extension::DEGREE`].
    fn from_coefficients(coefficients: &[Goldilocks]) -> Option<Self>;
}

impl Quadratic {
    /// a0 b0 + 7 a1 b1, a0 b1 + a1 b0.
    #[inline]
    fn product(Self([a0, a1]): Self, Self([b0, b1]): Self) -> Self {
        Self([Goldilocks::dot([a0, SEVEN * a1], [b0, b1]), Goldilocks::dot([a0, a1], [b1, b0])])
    }

    /// 1 / a = (a0 - a1 X) / (a0^2 - 7 a1^2).
    fn inverted(Self([a0, a1]): Self) -> Option<Self> {
        let norm = (a0 * a0 - SEVEN * (a1 * a1)).inverse()?;
        Some(Self([a0 * norm, -a1 * norm]))
    }
}

impl Cubic {
    /// By X^3 = X + 1 and X^4 = X^2 + X.
    #[inline]
    fn product(Self([a0, a1, a2]): Self, Self([b0, b1, b2]): Self) -> Self {
        let (b02, b12) = (b0 + b2, b1 + b2);
        let row = |b| Goldilocks::dot([a0, a1, a2], b);
        Self([row([b0, b2, b1]), row([b1, b02, b12]), row([b2, b1, b02])])
    }

    /// By Cramer's rule: the first column of the adjugate of multiplication by a, over its determinant, the norm.
    fn inverted(a: Self) -> Option<Self> {
        let Self([a0, a1, a2]) = a;
        // Multiplication by a has the columns a, a X = (a2, a0 + a2, a1) and a X^2 = (a1, a1 + a2, a0 + a2).
        let c0 = (a0 + a2) * (a0 + a2) - a1 * (a1 + a2);
        let c1 = a2 * (a1 + a2) - a1 * (a0 + a2);
        let c2 = a1 * a1 - a2 * (a0 + a2);
        let norm = (Self::product(a, Self([c0, c1, c2])).0[0]).inverse()?;
        Some(Self([c0 * norm, c1 * norm, c2 * norm]))
    }
}

macro_rules! extension {
    ($name:ident, $degree:literal, $lanes:ident) => {
        impl From<Goldilocks> for $name {
            fn from(x: Goldilocks) -> Self {
                let mut coefficients = [Goldilocks::ZERO; $degree];
                coefficients[0] = x;
                Self(coefficients)
            }
        }

        impl AsRef<[Goldilocks]> for $name {
            fn as_ref(&self) -> &[Goldilocks] {
                &self.0
            }
        }

        impl Extension for $name {
            const DEGREE: usize = $degree;

            fn from_coefficients(coefficients: &[Goldilocks]) -> Option<Self> {
                coefficients.try_into().ok().map(Self)
            }
        }

        impl Field for $name {
            type Base = Goldilocks;
            type On<L: Lanes> = $lanes<L>;
            const ZERO: Self = Self([Goldilocks::ZERO; $degree]);
            const ONE: Self = {
                let mut one = [Goldilocks::ZERO; $degree];
                one[0] = Goldilocks::ONE;
                Self(one)
            };

            #[inline(always)]
            fn on<L: Lanes>(lanes: L) -> $lanes<L> {
                $lanes::new(lanes)
            }
            fn from_u64(x: u64) -> Self {
                Goldilocks::reduce(x).into()
            }
            fn half() -> Self {
                Goldilocks::half().into()
            }
            fn inverse(self) -> Option<Self> {
                Self::inverted(self)
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(mut self, rhs: Self) -> Self {
                self += rhs;
                self
            }
        }

        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(mut self, rhs: Self) -> Self {
                self -= rhs;
                self
            }
        }

        impl Neg for $name {
            type Output = Self;
            #[inline]
            fn neg(self) -> Self {
                Self(self.0.map(Neg::neg))
            }
        }

        impl Mul for $name {
            type Output = Self;
            #[inline]
            fn mul(self, rhs: Self) -> Self {
                Self::product(self, rhs)
            }
        }

        impl Mul<Goldilocks> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, rhs: Goldilocks) -> Self {
                Self(self.0.map(|x| x * rhs))
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, rhs: Self) {
                for (x, y) in self.0.iter_mut().zip(rhs.0) {
                    *x += y;
                }
            }
        }

        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, rhs: Self) {
                for (x, y) in self.0.iter_mut().zip(rhs.0) {
                    *x -= y;
                }
            }
        }

        impl MulAssign for $name {
            #[inline]
            fn mul_assign(&mut self, rhs: Self) {
                *self = *self * rhs;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Add::add)
            }
        }

        impl Product for $name {
            fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ONE, Mul::mul)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

extension!(Quadratic, 2, QuadraticLanes);
extension!(Cubic, 3, CubicLanes);

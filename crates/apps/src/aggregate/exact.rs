//! Exact arithmetic on the values of accumulators: rational numbers, and the decimal places of results.

use core::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// Decimal places that a quotient or a root has in addition to those of its operands.
pub(super) const MORE_PLACES: u32 = 6;

/// Constants with more decimal places than this are rounded like quotients.
const MOST_PLACES: u32 = 36;

/// A rational number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rational {
    numerator: BigInt,
    /// Above 0.
    denominator: BigInt,
}

impl Rational {
    /// An integer in units of 10^-`scale`.
    pub(super) fn of_units(units: BigInt, scale: u32) -> Self {
        Self { numerator: units, denominator: ten_to(scale) }
    }

    pub(super) fn zero() -> Self {
        Self::of_units(BigInt::ZERO, 0)
    }

    pub(super) fn sign(&self) -> Ordering {
        self.numerator.cmp(&BigInt::ZERO)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }

    pub(super) fn negated(&self) -> Self {
        Self { numerator: -&self.numerator, denominator: self.denominator.clone() }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        if self.denominator == other.denominator {
            return Self { numerator: &self.numerator + &other.numerator, denominator: self.denominator.clone() };
        }
        let numerator = &self.numerator * &other.denominator + &other.numerator * &self.denominator;
        Self { numerator, denominator: &self.denominator * &other.denominator }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let numerator = &self.numerator * &other.numerator;
        Self { numerator, denominator: &self.denominator * &other.denominator }
    }

    /// 1 / self; `None` for 0.
    pub(super) fn inverse(&self) -> Option<Self> {
        let (sign, magnitude) = self.numerator.clone().into_parts();
        let numerator = if sign == Sign::Minus { -&self.denominator } else { self.denominator.clone() };
        (sign != Sign::NoSign).then(|| Self { numerator, denominator: BigInt::from_biguint(Sign::Plus, magnitude) })
    }

    /// The number in units of 10^-`places`, rounded half away from zero.
    pub(super) fn rounded(&self, places: u32) -> BigInt {
        let (sign, magnitude) = self.numerator.clone().into_parts();
        let n = BigInt::from_biguint(Sign::Plus, magnitude);
        let units: BigInt = (n * ten_to(places) * 2 + &self.denominator) / (&self.denominator * 2);
        if sign == Sign::Minus { -units } else { units }
    }

    /// Rounds down to units of 10^-`places`; also returns whether the result is exact.
    pub(super) fn floor(&self, places: u32) -> (BigInt, bool) {
        let scaled = &self.numerator * ten_to(places);
        let quotient = &scaled / &self.denominator;
        let exact = &quotient * &self.denominator == scaled;
        let below = scaled < BigInt::ZERO && !exact;
        (quotient - BigInt::from(u8::from(below)), exact)
    }

    /// The square root in units of 10^-`places`, rounded half away from zero. The number must not be negative.
    pub(super) fn root(&self, places: u32) -> BigInt {
        // Adds half a unit of the last place before the root is truncated.
        let doubled: BigInt = &self.numerator * 4 * ten_to(2 * places) / &self.denominator;
        (doubled.sqrt() + 1) / 2
    }

    /// The number of decimal places; `None` if there are more than [`MOST_PLACES`].
    pub(super) fn places(&self) -> Option<u32> {
        (0..=MOST_PLACES).find(|places| self.floor(*places).1)
    }
}

/// A result: a value, and the form in which it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: Rational,
    pub(super) form: Form,
}

/// Decimal places of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// The decimal places of its operands.
    pub(super) places: u32,
    /// True for a quotient, which is rounded to [`MORE_PLACES`] more places.
    pub(super) rounded: bool,
}

impl Form {
    pub(super) const fn exact(places: u32) -> Self {
        Self { places, rounded: false }
    }

    pub(super) const fn quotient(places: u32) -> Self {
        Self { places, rounded: true }
    }

    /// The form of a constant.
    pub(super) fn of(constant: &Rational) -> Self {
        constant.places().map_or(Self::quotient(0), Self::exact)
    }

    pub(super) fn of_sum(self, other: Self) -> Self {
        Self { places: self.places.max(other.places), rounded: self.rounded || other.rounded }
    }

    pub(super) fn of_product(self, other: Self) -> Self {
        Self { places: self.places + other.places, rounded: self.rounded || other.rounded }
    }
}

/// `+`, `-`, `*` and `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Plus,
    Minus,
    Times,
    Over,
}

impl Number {
    pub(super) fn exact(units: BigInt, scale: u32) -> Self {
        Self { value: Rational::of_units(units, scale), form: Form::exact(scale) }
    }

    pub(super) fn constant(value: Rational) -> Self {
        Self { form: Form::of(&value), value }
    }

    /// `None` for a division by zero.
    pub(super) fn joined(&self, operation: Operation, other: &Self) -> Option<Self> {
        let (l, r) = (&self.value, &other.value);
        let (value, form) = match operation {
            Operation::Plus => (l.plus(r), self.form.of_sum(other.form)),
            Operation::Minus => (l.plus(&r.negated()), self.form.of_sum(other.form)),
            Operation::Times => (l.times(r), self.form.of_product(other.form)),
            Operation::Over => (l.times(&r.inverse()?), Form::quotient(self.form.places)),
        };
        Some(Self { value, form })
    }
}

pub(super) fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

//! One round: the polynomial that the prover sends, and its relation to the claim.
//!
//! A round's polynomial t has degree d and is sent as its coefficients t_1, ..., t_d. The constant one follows from the
//! claim c of the round: without weights t(0) + t(1) = c; under the weight eq(w, X) of the round's variable (1 - w)
//! t(0) + w t(1) = c. Both can be solved for t_0 for every w.

use evergrove_primitives::field::Field;
/// The weight of the values 0 and 1 of a round's variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight<F> {
    /// 1 and 1.
    Uniform,
    /// 1 - w and w: the linear factor of eq(w, X).
    Eq(F),
}

impl<F: Field> Weight<F> {
    /// The claim that the values at 0 and 1 add up to.
    pub(super) fn sum(&self, at_zero: F, at_one: F) -> F {
        match *self {
            Self::Uniform => at_zero + at_one,
            Self::Eq(w) => at_zero + w * (at_one - at_zero),
        }
    }

    /// The value at 1, from the claim and the value at 0; only the value at 0 if the claim does not determine the
    /// other.
    pub(super) fn other(&self, claim: F) -> Other<F> {
        match *self {
            Self::Uniform => Other::AtOne { scale: F::ONE, zero: F::ONE, claim },
            Self::Eq(w) => match w.inverse() {
                None => Other::AtZero(claim),
                Some(scale) => Other::AtOne { scale, zero: F::ONE - w, claim },
            },
        }
    }

    /// The constant coefficient, from the claim and the other coefficients.
    pub(super) fn constant(&self, claim: F, rest: &[F]) -> F {
        // t(1) - t(0).
        let step: F = rest.iter().copied().sum();
        match *self {
            Self::Uniform => (claim - step) * F::half(),
            Self::Eq(w) => claim - w * step,
        }
    }
}

/// The information that a claim adds to a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other<F> {
    /// The value at 0, and nothing else: the weight of 1 is 0.
    AtZero(F),
    /// The value at 1 from that at 0: (claim - zero * at_zero) * scale.
    AtOne {
        /// The inverse of the weight of 1.
        scale: F,
        /// The weight of 0.
        zero: F,
        /// The claim.
        claim: F,
    },
}

/// The value at x of the polynomial with constant coefficient `constant` and further coefficients `rest`: d multiplications.
pub(super) fn evaluate<F: Field>(constant: F, rest: &[F], x: F) -> F {
    rest.iter().rev().fold(F::ZERO, |value, &coefficient| (value + coefficient) * x) + constant
}

/// Interpolation through 0, 1, ..., d - 1 and infinity, for one degree d.
#[derive(Clone, Debug)]
pub(super) struct Interpolation<F> {
    /// 1 / j! for j < d.
    inverse_factorials: Vec<F>,
}

impl<F: Field> Interpolation<F> {
    /// For polynomials of degree `degree`, at least 1.
    pub(super) fn new(degree: usize) -> Self {
        let mut factorial = F::ONE;
        let inverse_factorials = (0..degree)
            .map(|j| {
                factorial *= F::from_u64(j.max(1) as u64);
                factorial.inverse().expect("small factorials are not 0 modulo a large prime")
            })
            .collect();
        Self { inverse_factorials }
    }

    /// d.
    pub(super) fn degree(&self) -> usize {
        self.inverse_factorials.len()
    }

    /// All d + 1 coefficients from the values at 0, 1, ..., d - 1 and the leading coefficient, by divided differences.
    pub(super) fn coefficients(&self, values: &[F], leading: F) -> Vec<F> {
        let degree = self.inverse_factorials.len();
        assert_eq!(values.len(), degree, "a value at each of 0, 1, ..., d - 1");
        // The polynomial without the leading term has degree d - 1.
        let mut differences: Vec<F> = values
            .iter()
            .enumerate()
            .map(|(x, value)| *value - leading * F::from_u64(x as u64).pow(degree as u64))
            .collect();
        for order in 1..degree {
            for i in (order..degree).rev() {
                differences[i] = differences[i] - differences[i - 1];
            }
        }
        // Newton's form at the points 0, 1, ..., by Horner's rule: multiply by X - j, add the next divided difference.
        let mut coefficients = vec![F::ZERO; degree + 1];
        for j in (0..degree).rev() {
            let root = F::from_u64(j as u64);
            for i in (1..degree).rev() {
                coefficients[i] = coefficients[i - 1] - root * coefficients[i];
            }
            coefficients[0] = differences[j] * self.inverse_factorials[j] - root * coefficients[0];
        }
        coefficients[degree] = leading;
        coefficients
    }
}

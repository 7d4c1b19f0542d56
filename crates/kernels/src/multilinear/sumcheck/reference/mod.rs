//! The provers by definition, and the textbook provers of HyperPlonk.
//!
//! [`sum_check`] computes every round's polynomial as the sum that defines it; the provers of the parent module send
//! the same messages. [`textbook`] has the algorithm for performance comparisons, whose messages are values.

use evergrove_primitives::field::Field;
pub mod textbook;

use super::{Evaluations, Order, ProverTranscript, VirtualPolynomial};

/// eq(w, x) at the corner x of the cube with index `index`.
fn eq_at<F: Field>(w: &[F], index: usize) -> F {
    w.iter().enumerate().map(|(i, &w)| if index >> i & 1 == 1 { w } else { F::ONE - w }).product()
}

/// The rounds and final evaluations over `claim` = sum over x of weight(x) f(x), the weight being eq(point, x) or 1.
///
/// A round's polynomial is t(X) = sum over the later variables x of weight(x) f(r, X, x), sent as its coefficients
/// without the constant one. Costs d^2 2^n multiplications and more.
///
/// # Panics
/// If the tables or the point are not of the polynomial's size.
pub fn sum_check<F: Field>(
    polynomial: &VirtualPolynomial<F>,
    tables: &[&[F]],
    point: Option<&[F]>,
    order: Order,
    transcript: &mut impl ProverTranscript<F>,
) -> Evaluations<F> {
    let (variables, degree) = (polynomial.variables(), polynomial.degree());
    let mut tables: Vec<Vec<F>> = tables.iter().map(|table| table.to_vec()).collect();
    assert!(tables.iter().all(|table| table.len() == polynomial.len()), "tables of 2^n values");
    let mut challenges = vec![F::ZERO; variables];
    for (round, variable) in order.variables(variables).enumerate() {
        let half = 1 << (variables - round - 1);
        let later = point.map(|point| match order {
            Order::LowFirst => &point[variable + 1..],
            Order::HighFirst => &point[..variable],
        });
        // The tables with the round's variable at t.
        let bound = |t: F| -> Vec<Vec<F>> {
            let line = |table: &Vec<F>, i: usize| {
                let (zero, one) = match order {
                    Order::LowFirst => (table[2 * i], table[2 * i + 1]),
                    Order::HighFirst => (table[i], table[i + half]),
                };
                (F::ONE - t) * zero + t * one
            };
            tables.iter().map(|table| (0..half).map(|i| line(table, i)).collect()).collect()
        };
        let value = |t: u64| -> F {
            let tables = bound(F::from_u64(t));
            let at = |i: usize| polynomial.combine(&tables.iter().map(|table| table[i]).collect::<Vec<_>>());
            (0..half).map(|i| later.map_or(F::ONE, |w| eq_at(w, i)) * at(i)).sum()
        };
        let values: Vec<F> = (0..=degree as u64).map(value).collect();
        transcript.send(&interpolate(&values)[1..]);
        let challenge = transcript.challenge();
        tables = bound(challenge);
        challenges[variable] = challenge;
    }
    let values: Vec<F> = tables.iter().map(|table| table[0]).collect();
    transcript.send(&values);
    Evaluations { point: challenges, values }
}

/// The coefficients of the polynomial with the given values at 0, 1, 2, ..., by Lagrange's formula.
pub fn interpolate<F: Field>(values: &[F]) -> Vec<F> {
    let mut sum = vec![F::ZERO; values.len()];
    for (j, value) in values.iter().enumerate() {
        // The product over i != j of (X - i) / (j - i).
        let mut basis = vec![F::ONE];
        let mut denominator = F::ONE;
        for i in (0..values.len()).filter(|&i| i != j) {
            basis.insert(0, F::ZERO);
            for k in 0..basis.len() - 1 {
                let above = basis[k + 1];
                basis[k] -= F::from_u64(i as u64) * above;
            }
            denominator *= F::from_u64(j as u64) - F::from_u64(i as u64);
        }
        let scale = *value * denominator.inverse().expect("the points differ");
        for (sum, coefficient) in sum.iter_mut().zip(basis) {
            *sum += scale * coefficient;
        }
    }
    sum
}

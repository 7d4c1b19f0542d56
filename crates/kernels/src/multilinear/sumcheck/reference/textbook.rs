//! HyperPlonk's provers: a direct implementation of the paper, as the baseline of measurements.
//!
//! The algorithm of EspressoSystems/hyperplonk. Every round copies every table, binds it into a new one, and evaluates
//! the product at 0, 1, ..., d by steps, one field element at a time. eq is a table like any other, built level by
//! level into new buffers. Polynomials are sent as values. It uses as many threads as the current rayon pool has.

use std::sync::Arc;

use evergrove_primitives::field::Field;
use rayon::prelude::*;

use super::super::{ProverTranscript, Term, VirtualPolynomial};

/// The result of a run: the sum, and the final point and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<F> {
    /// The sum over the cube.
    pub sum: F,
    /// The challenges, lowest variable first.
    pub point: Vec<F>,
    /// The values of the tables there.
    pub values: Vec<F>,
}

/// x_0 bound to `challenge`: a copy, as HyperPlonk's `fix_variables` makes it, then a new table.
fn fix_variable<F: Field>(table: &[F], challenge: F) -> Vec<F> {
    let table = table.to_vec();
    let mut bound = vec![F::ZERO; table.len() / 2];
    bound.par_iter_mut().enumerate().for_each(|(i, bound)| {
        *bound = table[2 * i] + (table[2 * i + 1] - table[2 * i]) * challenge;
    });
    bound
}

/// The products of one term at 0, 1, ..., `factors.len()`, summed over the pairs.
fn sums<F: Field>(factors: &[usize], tables: &[Vec<F>], pairs: usize) -> Vec<F> {
    let degree = factors.len();
    let empty = || (vec![(F::ZERO, F::ZERO); degree], vec![F::ZERO; degree + 1]);
    let add_pair = |(mut lines, mut sums): (Vec<(F, F)>, Vec<F>), pair: usize| {
        for ((value, step), &factor) in lines.iter_mut().zip(factors) {
            let table = &tables[factor];
            *value = table[2 * pair];
            *step = table[2 * pair + 1] - table[2 * pair];
        }
        sums[0] += lines.iter().map(|(value, _)| *value).product::<F>();
        for sum in &mut sums[1..] {
            for (value, step) in &mut lines {
                *value += *step;
            }
            *sum += lines.iter().map(|(value, _)| *value).product::<F>();
        }
        (lines, sums)
    };
    let add = |mut a: Vec<F>, b: Vec<F>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    (0..pairs).into_par_iter().fold(empty, add_pair).map(|(_, sums)| sums).reduce(|| vec![F::ZERO; degree + 1], add)
}

/// Further values of the polynomial with the given values at 0, 1, ..., k, up to `len` in all.
fn extrapolate<F: Field>(mut values: Vec<F>, len: usize) -> Vec<F> {
    let degree = values.len() - 1;
    while values.len() < len {
        // The next value is the sum of the last differences of each order.
        let mut differences = values[values.len() - degree - 1..].to_vec();
        let mut next = F::ZERO;
        while let Some(&last) = differences.last() {
            next += last;
            differences = differences.windows(2).map(|pair| pair[1] - pair[0]).collect();
        }
        values.push(next);
    }
    values
}

/// SumCheck.
///
/// # Panics
/// If a table does not have 2^n values, or if there are no variables.
pub fn sum_check<F: Field>(
    polynomial: &VirtualPolynomial<F>,
    tables: &[Arc<Vec<F>>],
    transcript: &mut impl ProverTranscript<F>,
) -> Outcome<F> {
    assert!(tables.iter().all(|table| table.len() == polynomial.len()), "tables of 2^n values");
    let mut kept = tables.to_vec();
    let (mut sum, mut point) = (None, Vec::new());
    for round in 0..polynomial.variables() {
        let mut tables: Vec<Vec<F>> = kept.par_iter().map(|table| table.to_vec()).collect();
        if let Some(&challenge) = point.last() {
            tables.par_iter_mut().for_each(|table| *table = fix_variable(table, challenge));
        }
        let mut message = vec![F::ZERO; polynomial.degree() + 1];
        for term in polynomial.terms() {
            let values = sums(&term.factors, &tables, 1 << (polynomial.variables() - round - 1));
            let values = extrapolate(values, message.len());
            message.iter_mut().zip(values).for_each(|(sum, value)| *sum += term.coefficient * value);
        }
        kept = tables.par_iter().map(|table| Arc::new(table.clone())).collect();
        sum.get_or_insert(message[0] + message[1]);
        transcript.send(&message);
        point.push(transcript.challenge());
    }
    let values: Vec<F> = kept.iter().map(|table| fix_variable(table, *point.last().expect("a round"))[0]).collect();
    Outcome { sum: sum.expect("a round"), point, values }
}

/// eq(w, x) for every x, level by level, each into a new buffer: 2^(n+1) - 4 multiplications.
pub fn build_eq<F: Field>(w: &[F]) -> Vec<F> {
    let mut levels = w.iter().rev();
    let mut table = match levels.next() {
        Some(&w) => vec![F::ONE - w, w],
        None => return vec![F::ONE],
    };
    for &w in levels {
        let mut next = vec![F::ZERO; 2 * table.len()];
        next.par_iter_mut().enumerate().for_each(|(i, next)| {
            let above = table[i >> 1] * w;
            *next = if i & 1 == 1 { above } else { table[i >> 1] - above };
        });
        table = next;
    }
    table
}

/// The sum of eq(w, x) f(x): eq as one more factor of every term.
///
/// # Panics
/// As [`sum_check`].
pub fn weighted_sum_check<F: Field>(
    polynomial: &VirtualPolynomial<F>,
    tables: &[Arc<Vec<F>>],
    w: &[F],
    transcript: &mut impl ProverTranscript<F>,
) -> Outcome<F> {
    let mut tables = tables.to_vec();
    tables.push(Arc::new(build_eq(w)));
    let mut terms = polynomial.terms().to_vec();
    terms.iter_mut().for_each(|term| term.factors.push(polynomial.tables()));
    let polynomial = VirtualPolynomial::new(polynomial.variables(), tables.len(), terms).expect("one factor more");
    sum_check(&polynomial, &tables, transcript)
}

/// ZeroCheck: [`weighted_sum_check`] at a point of challenges.
///
/// # Panics
/// As [`sum_check`].
pub fn zero_check<F: Field>(
    polynomial: &VirtualPolynomial<F>,
    tables: &[Arc<Vec<F>>],
    transcript: &mut impl ProverTranscript<F>,
) -> Outcome<F> {
    let w: Vec<F> = (0..polynomial.variables()).map(|_| transcript.challenge()).collect();
    weighted_sum_check(polynomial, tables, &w, transcript)
}

/// ProductCheck of the product of one table's values: the tree of products level by level, then [`zero_check`].
///
/// # Panics
/// If there are fewer than two values, or not a power of two.
pub fn product_check<F: Field>(values: &Arc<Vec<F>>, transcript: &mut impl ProverTranscript<F>) -> Outcome<F> {
    let mut product = Vec::with_capacity(values.len());
    let mut below = values.to_vec();
    while below.len() > 1 {
        let level: Vec<F> = (0..below.len() / 2).into_par_iter().map(|i| below[2 * i] * below[2 * i + 1]).collect();
        product.extend_from_slice(&level);
        below = level;
    }
    product.push(F::ZERO);
    let half =
        |k: usize| -> Arc<Vec<F>> { Arc::new(values.iter().chain(&product).skip(k).step_by(2).copied().collect()) };
    let tables = [half(0), half(1), Arc::new(product)];
    let terms = vec![Term::new(F::ONE, [2]), Term::new(-F::ONE, [0, 1])];
    let variables = values.len().ilog2() as usize;
    let polynomial = VirtualPolynomial::new(variables, 3, terms).expect("a small polynomial");
    zero_check(&polynomial, &tables, transcript)
}

//! The passes of a few values, one at a time.

use super::Order;
use super::polynomial::VirtualPolynomial;
use super::prover::Sample;
use crate::multilinear::mle::eq_table_vec;
use evergrove_primitives::field::Field;

/// Pair i of a table.
fn pair<F: Copy>(table: &[F], order: Order, i: usize) -> [F; 2] {
    match order {
        Order::LowFirst => [table[2 * i], table[2 * i + 1]],
        Order::HighFirst => [table[i], table[i + table.len() / 2]],
    }
}

/// Binds the next variable of `from`, into the front of `to`.
pub(super) fn bind<F: Field>(from: &[F], to: &mut [F], order: Order, challenge: F) {
    for (i, to) in to[..from.len() / 2].iter_mut().enumerate() {
        let [zero, one] = pair(from, order, i);
        *to = zero + challenge * (one - zero);
    }
}

/// Binds the next variable, into the front half.
pub(super) fn bind_in_place<F: Field>(table: &mut [F], order: Order, challenge: F) {
    for i in 0..table.len() / 2 {
        let [zero, one] = pair(table, order, i);
        table[i] = zero + challenge * (one - zero);
    }
}

/// Samples the round polynomial of whole tables, with the weights of `point` or without.
pub(super) fn sample<F: Field>(
    polynomial: &VirtualPolynomial<F>,
    tables: &[&[F]],
    order: Order,
    point: Option<&[F]>,
    samples: &[Sample],
) -> Vec<F> {
    let pairs = tables.first().map_or(1 << point.map_or(0, <[F]>::len), |table| table.len() / 2);
    let weights = point.map(|w| eq_table_vec(w).expect("a few coordinates"));
    let mut sums = vec![F::ZERO; samples.len()];
    for i in 0..pairs {
        let weight = weights.as_ref().map_or(F::ONE, |weights| weights[i]);
        let lines: Vec<[F; 2]> = tables.iter().map(|table| pair(table, order, i)).collect();
        for (sum, &sample) in sums.iter_mut().zip(samples) {
            let value = match sample {
                Sample::At(x) => {
                    let at = |[zero, one]: &[F; 2]| *zero + F::from_u64(x) * (*one - *zero);
                    polynomial.combine(&lines.iter().map(at).collect::<Vec<_>>())
                }
                Sample::Infinity => {
                    let long = |term: &&super::Term<F>| term.factors.len() == polynomial.degree();
                    let slope = |i: &usize| lines[*i][1] - lines[*i][0];
                    let terms = polynomial.terms().iter().filter(long);
                    terms.map(|term| term.coefficient * term.factors.iter().map(slope).product::<F>()).sum()
                }
            };
            *sum += weight * value;
        }
    }
    sums
}

//! Textbook algorithms: tests compare the kernels with them, and benchmarks use them as the baseline.
//!
//! These are the algorithms of HyperPlonk's library, with one new vector for each level, in our own code. [`eq_table`]
//! multiplies for each child (2^(mu+1) - 4 multiplications, MTU paper section 3.1.1). Like that library,
//! [`product_table`] finds the operands of an entry from the bits of its index, in separate vectors. These functions
//! use the rayon pool of the caller where that library uses threads.

use evergrove_primitives::field::Field;
use rayon::prelude::*;

/// Entries of a level from which that library uses threads.
const PARALLEL: usize = 1 << 12;

/// The value at `point` of the multilinear extension of 2^mu values.
///
/// # Panics
/// If the number of values is not 2^mu for mu coordinates.
pub fn evaluate<F: Field>(values: &[F], point: &[F]) -> F {
    assert_eq!(values.len(), 1 << point.len(), "one value for each point of the hypercube");
    let mut table = values.to_vec();
    for r in point {
        let fix = |pair: &[F]| pair[0] + (pair[1] - pair[0]) * *r;
        let mut next = vec![F::ZERO; table.len() / 2];
        if next.len() >= PARALLEL {
            next.par_iter_mut().zip(table.par_chunks(2)).for_each(|(out, pair)| *out = fix(pair));
        } else {
            next.iter_mut().zip(table.chunks(2)).for_each(|(out, pair)| *out = fix(pair));
        }
        table = next;
    }
    table[0]
}

/// eq(x, `point`) for all x of the hypercube.
pub fn eq_table<F: Field>(point: &[F]) -> Vec<F> {
    let Some((last, others)) = point.split_last() else { return vec![F::ONE] };
    let mut table = vec![F::ONE - *last, *last];
    for r in others.iter().rev() {
        let mut next = vec![F::ZERO; 2 * table.len()];
        next.par_iter_mut().enumerate().for_each(|(i, out)| {
            let node = table[i / 2];
            let right = *r * node;
            *out = if i % 2 == 0 { node - right } else { right };
        });
        table = next;
    }
    table
}

/// The product of all values.
pub fn product<F: Field>(values: &[F]) -> F {
    values.iter().copied().product()
}

/// HyperPlonk's product MLE: entry x is the product of entries 2 x and 2 x + 1 of the values followed by the table itself;
/// the last entry is 0.
///
/// # Panics
/// If the number of values is not a power of two.
pub fn product_table<F: Field>(values: &[F]) -> Vec<F> {
    assert!(values.len().is_power_of_two(), "one value for each point of the hypercube");
    let bits = values.len().ilog2() as usize;
    // Grown entry by entry, as in that library.
    let mut table = Vec::new();
    for x in 0..values.len() - 1 {
        let (left, right, above) = operands(x, bits);
        table.push(if above { table[left] * table[right] } else { values[left] * values[right] });
    }
    table.push(F::ZERO);
    table
}

/// The indices of the operands of entry `x`, and whether they are in the table rather than among the values: the bits of x
/// moved up by one, below them 0 or 1.
fn operands(x: usize, bits: usize) -> (usize, usize, bool) {
    let mut digits = Vec::with_capacity(bits);
    let mut rest = x;
    for _ in 0..bits {
        digits.push(rest & 1 == 1);
        rest >>= 1;
    }
    let number = |digits: &[bool]| digits.iter().rev().fold(0, |n, digit| 2 * n + usize::from(*digit));
    let with = |low: bool| number(&[&[low], &digits[..bits - 1]].concat());
    (with(false), with(true), digits[bits - 1])
}

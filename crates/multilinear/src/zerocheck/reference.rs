//! The prover by definition: one row after the other, values at 0, 1, ..., 8, Lagrange's formula. Its messages are those of
//! [`prove`](super::prove).

use evergrove_kernels::sumcheck::ProverTranscript;
use evergrove_kernels::sumcheck::reference::interpolate;
use evergrove_primitives::field::extension::Extension;

use super::{BLOCK_LOG, DEGREE, End, PowerSum, Shape, eq_of_index, next_claim};

/// [`super::prove`], by its definition.
///
/// # Panics
/// If the sum is not of the shape.
pub fn prove<K: Extension>(
    shape: Shape,
    sum: &PowerSum<'_, K>,
    w: &[K],
    mut claim: K,
    transcript: &mut impl ProverTranscript<K>,
) -> End<K> {
    let size = 1 << shape.variables();
    let at = |x: usize, f: &dyn Fn(usize) -> K| if x < shape.rows() { f(x) } else { K::ZERO };
    let column = |j: usize| (0..size).map(|x| at(x, &|x| K::from(sum.columns[j][x] + sum.shifts[j]))).collect();
    let coefficients = |x: usize| (0..K::DEGREE).map(|c| sum.linear[c * shape.rows() + x]).collect::<Vec<_>>();
    let mut tables: Vec<Vec<K>> = (0..sum.columns.len()).map(column).collect();
    tables.push(
        (0..size).map(|x| at(x, &|x| K::from_coefficients(&coefficients(x)).expect("its coefficients"))).collect(),
    );
    tables.push((0..size).map(|x| at(x, &|x| eq_of_index(&w[BLOCK_LOG..], x >> BLOCK_LOG))).collect());
    // Tables by the rounds' variables: what is bound is a map from indices to values.
    let mut point = vec![K::ZERO; shape.variables()];
    let mut bound = 0;
    for variable in shape.order() {
        let bit = 1 << variable;
        let rest: Vec<usize> = (0..size).filter(|x| x & (bound | bit) == 0).collect();
        let polynomial = |t: K| -> K {
            let value = |x: usize| {
                let line: Vec<K> = tables.iter().map(|table| table[x] + t * (table[x | bit] - table[x])).collect();
                let (powers, [linear, blocks]) = line.split_at(sum.columns.len()) else {
                    unreachable!("two more tables")
                };
                let g = powers.iter().zip(sum.weights).map(|(y, &mu)| mu * y.pow(DEGREE as u64)).sum::<K>() + *linear;
                // eq of what is left within the block.
                let left = (0..BLOCK_LOG).filter(|v| (bound | bit) >> v & 1 == 0);
                let within = left.map(|v| if x >> v & 1 == 1 { w[v] } else { K::ONE - w[v] }).product::<K>();
                g * within * *blocks
            };
            rest.iter().map(|&x| value(x)).sum()
        };
        let degree = super::message_len(variable);
        let values: Vec<K> = (0..=degree as u64).map(|t| polynomial(K::from_u64(t))).collect();
        let message = interpolate(&values)[1..].to_vec();
        transcript.send(&message);
        let challenge = transcript.challenge();
        claim = next_claim(claim, variable, w[variable], &message, challenge);
        for table in &mut tables {
            for &x in &rest {
                table[x] = table[x] + challenge * (table[x | bit] - table[x]);
            }
        }
        point[variable] = challenge;
        bound |= bit;
    }
    End { point, claim }
}

//! The columns of sums of points.

use core::array;

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tables::addition::{CHORD, CONGRUENCES, Chord, FLAGS, SLOPE, flags, operands};
use evergrove_verifier::tables::congruence::{self, LIMBS, Limbs};

use super::congruence::{fill, integers, limbs, words};

/// Fills a row whose operands are filled, except its congruences.
pub(crate) fn fill_sum(columns: &mut [Goldilocks], chord: Chord) {
    let operands = operands(columns).map(|x| words(&integers(&x)));
    let sums = [1, 3].map(|i| -> Goldilocks { columns[i * LIMBS..][..LIMBS].iter().copied().sum() });
    let finite = sums.map(|sum| Goldilocks::new((sum != Goldilocks::ZERO).into()));
    let both = finite[0] * finite[1];
    let mut inverse = Goldilocks::ZERO;
    let (zero, one) = ([0; 6], [1, 0, 0, 0, 0, 0]);
    let mut values = [zero; 3];
    if both == Goldilocks::ONE {
        values = chord(operands).unwrap_or_else(|| {
            inverse = Goldilocks::ONE;
            [one, operands[0], zero]
        });
    }
    for (i, value) in values.iter().enumerate() {
        columns[SLOPE + i * LIMBS..][..LIMBS].copy_from_slice(&limbs(value));
    }
    let generic = both * (Goldilocks::ONE - inverse);
    let inverses = sums.map(|sum| evergrove_primitives::field::Field::inverse(sum).unwrap_or_default());
    let flags = [finite[0], inverses[0], finite[1], inverses[1], inverse, both, generic];
    columns[FLAGS..CONGRUENCES].copy_from_slice(&flags);
}

/// Fills the congruences of a row.
pub(crate) fn fill_congruences(columns: &mut [Goldilocks]) {
    let (columns, to) = columns.split_at_mut(CONGRUENCES);
    let [x1, y1, x2, y2] = operands(columns).map(|x| integers(&x));
    let [m, x3, y3] = [SLOPE, CHORD, CHORD + LIMBS].map(|first| integers(&columns[first..][..LIMBS]));
    let [.., both, generic] = flags(columns);
    let [both, g] = [both, generic].map(|flag| flag.as_u64() as i64);
    let limbs = |of: &dyn Fn(usize) -> i64| -> Limbs<i64> { array::from_fn(of) };
    let products = [
        (vec![[m, limbs(&|i| x2[i] - x1[i])]], limbs(&|i| g * (y1[i] - y2[i]))),
        (
            vec![
                [m, limbs(&|i| y1[i] + y2[i])],
                [limbs(&|i| -g * x1[i]), limbs(&|i| x1[i] + x2[i])],
                [limbs(&|i| -g * x2[i]), x2],
            ],
            [0; LIMBS],
        ),
        (vec![[m, m]], limbs(&|i| -g * (x1[i] + x2[i] + x3[i]) - if i == 0 { both - g } else { 0 })),
        (vec![[m, limbs(&|i| x1[i] - x3[i])]], limbs(&|i| -g * (y1[i] + y3[i]))),
    ];
    for ((products, linear), to) in products.iter().zip(to.chunks_exact_mut(congruence::COLUMNS)) {
        fill(products, linear, to);
    }
}

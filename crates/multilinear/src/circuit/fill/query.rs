//! The columns of queries.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::query::{Parameters, STEP, root};

/// The columns of a query: bits, products of z, its powers, r, products of y.
pub(crate) fn query<K: Extension>(parameters: &Parameters, index: u64, r: &[K], columns: &mut Vec<Goldilocks>) -> K {
    let first = columns.len();
    columns.extend((0..parameters.bits).map(|j| Goldilocks::new(index >> j & 1)));
    let mut z = Goldilocks::ONE;
    for step in 0..parameters.products() {
        for j in step * STEP..parameters.bits.min((step + 1) * STEP) {
            if index >> j & 1 == 1 {
                z *= root(j);
            }
        }
        columns.push(z);
    }
    let mut power = z;
    for _ in 1..parameters.pairs() {
        power = power.pow(4);
        columns.push(power);
    }
    for r in r {
        columns.extend_from_slice(r.as_ref());
    }
    let mut y = K::ONE;
    let mut power = z;
    for pair in r.chunks(2) {
        for r in pair {
            y *= K::ONE + *r * (power - Goldilocks::ONE);
            power *= power;
        }
        columns.extend_from_slice(y.as_ref());
    }
    debug_assert_eq!(columns.len() - first, parameters.columns::<K>());
    y
}

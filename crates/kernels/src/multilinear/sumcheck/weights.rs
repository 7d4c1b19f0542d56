//! eq(w, x) = product of w_i x_i + (1 - w_i)(1 - x_i), and its values over a cube as an outer product of two short tables.
//!
//! Gruen ("Some improvements for the PIOP for ZeroCheck", ePrint 2024/108) takes the factor of the round's own variable
//! out of the sum. Dao and Thaler ("More optimizations to sum-check proving", ePrint 2024/1210) split the rest. So no
//! table of 2^n weights is ever built, read or bound.

use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::Isa;

use crate::multilinear::mle::eq_table_on;

/// eq(w, x) at one point.
///
/// # Panics
/// If the points have different lengths.
pub fn eq<F: Field>(w: &[F], x: &[F]) -> F {
    assert_eq!(w.len(), x.len(), "points with as many coordinates");
    w.iter().zip(x).map(|(&w, &x)| F::ONE - w - x + w * x + w * x).product()
}

/// The weights of 2^(k + l) values: that of value i is inner[i mod 2^k] outer[i / 2^k].
#[derive(Clone, Debug)]
pub(super) struct SplitWeights<F> {
    pub(super) inner: Vec<F>,
    pub(super) outer: Vec<F>,
}

impl<F: Field> SplitWeights<F> {
    /// eq(w, x) for every x, with 2^k inner values.
    pub(super) fn new(isa: Isa, w: &[F], k: usize) -> Self {
        let (low, high) = w.split_at(k);
        let table = |w: &[F]| {
            let mut table = vec![F::ZERO; 1 << w.len()];
            eq_table_on(isa, w, &mut table).expect("a table half as long as the prover's");
            table
        };
        Self { inner: table(low), outer: table(high) }
    }
}

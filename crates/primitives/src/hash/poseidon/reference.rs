//! The permutation as its definition reads: the reference for [`super::permute`].
//!
//! Thirty rounds of round constants, S-boxes and a dense product with the MDS matrix, in operations of the field alone.
//! Some ten times slower than its twin; for tests.

use super::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0, ROUND_CONSTANTS};
use super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH};
use crate::field::Goldilocks;

/// The permutation.
pub fn permute(state: &mut [Goldilocks; WIDTH]) {
    for (round, constants) in ROUND_CONSTANTS.iter().enumerate() {
        for (x, c) in state.iter_mut().zip(constants) {
            *x += Goldilocks::new(*c);
        }
        if (HALF_FULL_ROUNDS..HALF_FULL_ROUNDS + PARTIAL_ROUNDS).contains(&round) {
            state[0] = state[0].pow(7);
        } else {
            *state = state.map(|x| x.pow(7));
        }
        *state = mds(state);
    }
}

/// The product with the MDS matrix: a circulant plus one entry on the diagonal.
fn mds(s: &[Goldilocks; WIDTH]) -> [Goldilocks; WIDTH] {
    let row = |r| (0..WIDTH).map(|i| s[(i + r) % WIDTH] * Goldilocks::new(MDS_CIRCULANT[i])).sum();
    let mut out: [Goldilocks; WIDTH] = core::array::from_fn(row);
    out[0] += s[0] * Goldilocks::new(MDS_DIAGONAL_0);
    out
}

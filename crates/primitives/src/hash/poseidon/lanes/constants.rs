//! The round constants as the vector code adds them.

use super::super::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0, ROUND_CONSTANTS};
use super::super::derive::{add, mds, sub, times};
use super::super::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH};
use crate::Goldilocks;
use crate::field::EPSILON;

/// More than the sum in a row of the matrix of negative low halves, which are above -2^54 - 2^43.
const BIAS: u64 = (1 << 62) + (1 << 60);
const _: () = {
    let (mut row, mut i) = (MDS_DIAGONAL_0, 0);
    while i < WIDTH {
        row += MDS_CIRCULANT[i];
        i += 1;
    }
    assert!(row * ((1 << 54) + (1 << 43)) < BIAS);
};

/// A round constant as halves.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub(super) low: u64,
    pub(super) high: u64,
}

/// c as halves; `bias` is added to the low half.
const fn halves(c: u64, bias: u64) -> Halves {
    let c = sub(c, bias % Goldilocks::ORDER);
    Halves { low: bias + (c & EPSILON), high: c >> 32 }
}

pub(super) struct Constants {
    /// Added before the first round.
    pub(super) first: [u64; WIDTH],
    /// Added after the matrix of full round r: the constants of the next round.
    pub(super) full: [[Halves; WIDTH]; 2 * HALF_FULL_ROUNDS],
    /// Added to word 0 after the matrix of partial round r; for the last round, the constant of the round after it.
    pub(super) partial: [Halves; PARTIAL_ROUNDS],
    /// Added after the partial rounds, to words 1 to 11.
    pub(super) middle: [Halves; WIDTH],
}

pub(super) static CONSTANTS: Constants = constants();

const fn constants() -> Constants {
    let m = mds();
    let mut rounds = ROUND_CONSTANTS;
    let end = HALF_FULL_ROUNDS + PARTIAL_ROUNDS;
    let mut r = HALF_FULL_ROUNDS;
    while r < end {
        // Words 1 to 11 meet no S-box: their constants pass through the matrix.
        let mut moved = rounds[r];
        moved[0] = 0;
        let moved = times(&m, &moved);
        let mut i = 0;
        while i < WIDTH {
            rounds[r + 1][i] = add(rounds[r + 1][i], moved[i]);
            if i > 0 {
                rounds[r][i] = 0;
            }
            i += 1;
        }
        r += 1;
    }
    let none = halves(0, BIAS);
    let mut out = Constants {
        first: rounds[0],
        full: [[none; WIDTH]; 2 * HALF_FULL_ROUNDS],
        partial: [halves(0, 0); PARTIAL_ROUNDS],
        middle: [halves(0, 0); WIDTH],
    };
    let mut r = 0;
    while r < HALF_FULL_ROUNDS {
        let mut i = 0;
        while i < WIDTH {
            // The first partial round has constants in word 0 alone, and nothing follows the last full round.
            out.full[r][i] = halves(rounds[r + 1][i], BIAS);
            if r + 1 < HALF_FULL_ROUNDS {
                out.full[HALF_FULL_ROUNDS + r][i] = halves(rounds[end + r + 1][i], BIAS);
            }
            i += 1;
        }
        r += 1;
    }
    let mut r = 0;
    while r < PARTIAL_ROUNDS {
        out.partial[r] = halves(rounds[HALF_FULL_ROUNDS + r + 1][0], 0);
        r += 1;
    }
    let mut i = 1;
    while i < WIDTH {
        out.middle[i] = halves(rounds[end][i], 0);
        i += 1;
    }
    out
}

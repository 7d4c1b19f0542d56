//! Keccak-f\[1600\] (FIPS 202, section 3.3) as a table: one row for a round, 24 for a permutation.
//!
//! **Rows.** A row has the state T between theta and rho as bits, and the parities C of the state's columns before
//! theta. They determine the state A before theta, A = T + D with D\[x, z\] = C\[x - 1, z\] + C\[x + 1, z - 1\] over
//! GF(2), and the next round's state is iota(chi(pi(rho(T)))). Of the states before and after, only the first message
//! words and the last digest words are separate columns, as 32-bit halves.
//!
//! **Constraints.** All hold for every row and the one after it, where the first follows the last. For bits:
//!
//! - theta: the parity of T\[x, ., z\] is that of A plus five times D, hence V = C + D. It holds as (s - V)(s - V -
//!   2)(s - V - 4) = 0 for the sum s of the five bits: degree 9, where V has degree 3;
//! - a round: the 32-bit halves of A in the next row, sums of 2^z (T + D), are those of chi and iota of this row's T;
//! - a message: if the next row is a first round, those halves are the message's, and constant beyond it;
//! - a digest: in the last round's row, the digest's halves are those of chi and iota.
//!
//! Both sides of an equation of halves are below 2^32 if bits are bits, so no sum wraps around p.
//!
//! **Rounds.** Flags give the round of a row; a row without a flag is idle. A flag moves from row to row, so a last
//! round has 23 rows of earlier rounds above it, and a first round cannot follow an unfinished permutation.
//!
//! **Records.** In the row of a last round whose flag `EMIT` is set: [`MESSAGE`] and [`DIGEST`] halves.

mod constraints;
#[cfg(test)]
mod tests;
mod trace;

use super::{Air, Algebra, Exposed};

pub use trace::{Block, Permutations};

/// 32-bit halves of a message block that are columns: words 0 to 7, low half first, and the low half of word 8. The
/// others are those of a padded message of at most 64 bytes: the last bit of word 16, and otherwise zero.
pub const MESSAGE_HALVES: usize = 17;
/// 32-bit halves of a digest of 256 bits.
pub const DIGEST_HALVES: usize = 8;
/// Rounds, hence rows of a permutation.
pub const ROUNDS: usize = 24;

/// The bits T\[x, y, z\] at 64 (x + 5 y) + z.
const T: usize = 0;
/// The bits C\[x, z\] at C + 64 x + z.
const C: usize = 1600;
/// The first of [`MESSAGE_HALVES`] columns.
pub const MESSAGE: usize = C + 320;
/// The first of [`DIGEST_HALVES`] columns.
pub const DIGEST: usize = MESSAGE + MESSAGE_HALVES;
/// The flag of rows that expose a record.
const EMIT: usize = DIGEST + DIGEST_HALVES;
/// Flags of rounds.
const ROUND: usize = EMIT + 1;

/// The table.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeccakAir;

impl Air for KeccakAir {
    const COLUMNS: usize = ROUND + ROUNDS;
    const PUBLIC_INPUTS: usize = 0;
    const DEGREE: usize = 9;
    const CONSTRAINTS: usize =
        (ROUNDS + 1) + (ROUNDS - 1) + 2 + (1600 + 320) + 320 + 50 + MESSAGE_HALVES + DIGEST_HALVES;

    #[inline(always)]
    fn constraints<A: Algebra>(a: &mut A, local: &[A::T], next: &[A::T], _: &[A::T]) {
        constraints::constraints(a, local, next);
    }

    fn exposed() -> Option<Exposed> {
        Some(Exposed { columns: (MESSAGE..EMIT).collect(), filter: EMIT })
    }
}

/// Constant of a round (FIPS 202, algorithm 6): bit 2^j - 1 is output 7 i + j of the register of algorithm 5.
const fn round_constants() -> [u64; ROUNDS] {
    let mut out = [0; ROUNDS];
    let mut register = 1u8;
    let mut round = 0;
    while round < ROUNDS {
        let mut j = 0;
        while j < 7 {
            out[round] |= (register as u64 & 1) << ((1 << j) - 1);
            register = register << 1 ^ if register >> 7 == 1 { 0x71 } else { 0 };
            j += 1;
        }
        round += 1;
    }
    out
}

/// Rotations of the words x + 5 y (algorithm 2): (t + 1)(t + 2) / 2 along the walk (x, y) -> (y, 2x + 3y) from (1, 0).
const fn rotations() -> [usize; 25] {
    let mut out = [0; 25];
    let (mut x, mut y) = (1, 0);
    let mut t = 0;
    while t < 24 {
        out[x + 5 * y] = (t + 1) * (t + 2) / 2 % 64;
        (x, y) = (y, (2 * x + 3 * y) % 5);
        t += 1;
    }
    out
}

/// The round constants.
pub const ROUND_CONSTANTS: [u64; ROUNDS] = round_constants();
/// By how much rho rotates the words x + 5 y.
pub const ROTATIONS: [usize; 25] = rotations();

/// The word that pi moves to word (x, y): (x + 3y, x).
pub const fn source(x: usize, y: usize) -> usize {
    (x + 3 * y) % 5 + 5 * x
}

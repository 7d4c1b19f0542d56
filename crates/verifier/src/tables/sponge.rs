//! Steps of Plonky2's sponge: Poseidon permutations whose whole state is wires.
//!
//! | committed | |
//! |---|---|
//! | 0 to 117 | the inputs of the S-boxes ([`poseidon`](crate::poseidon)); 0 to 11 are the state |
//! | 118 to 129 | the state after the permutation |
//!
//! | fixed | |
//! |---|---|
//! | 0, 1 | uses of the first two words of the state, the rate, which the row defines |
//! | 2 | number of the third word, the capacity |
//! | 3 to 5 | uses of the three words of the next state |
//!
//! The sponge overwrites its rate. The prover chooses a step's first two words, and a circuit ties the elements that
//! are not absorbed to the state before (`Builder::sponge` of `evergrove-multilinear`).

use alloc::vec::Vec;

use evergrove_primitives::hash::poseidon::WIDTH;

use super::{Port, Row, WORD, defined, permutation, used};
use crate::algebra::Algebra;
use crate::poseidon::SBOXES;

/// Committed columns.
pub const COLUMNS: usize = SBOXES + WIDTH;
/// Ports: the words of the state, those of the next one.
pub const PORTS: usize = 2 * WIDTH / WORD;
/// Fixed columns: for each port the number of its wire, or the number of its uses.
pub const FIXED: usize = PORTS;
/// The port of the capacity, which is used.
pub const CAPACITY: usize = 2;

pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    permutation::rounds(f, row.columns, WIDTH, out);
}

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    for port in 0..PORTS {
        let first = column(port);
        let word = core::array::from_fn(|i| row.columns[first + i]);
        let fixed = row.fixed[port];
        out.push(if port == CAPACITY { used(f, fixed, word) } else { defined(f, row, port, fixed, word) });
    }
}

/// The first column of a port's word.
pub fn column(port: usize) -> usize {
    if port < PORTS / 2 { port * WORD } else { SBOXES + (port - PORTS / 2) * WORD }
}

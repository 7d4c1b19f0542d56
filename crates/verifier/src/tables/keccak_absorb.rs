//! Two lanes of a message, added to two lanes of a state: the input of [Keccak's rounds](super::keccak).
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | 0 to 127 | the bits of four halves of 32 bits | [`NUMBER`] | number of the word of the halves |
//! | [`STATE`] to + 15 | values of two lanes | [`LATER`] | 1 where the lanes are of a state, 0 where they are zero |
//! | | | [`KEYS`], + 1 | keys of these lanes |
//! | | | [`USES`], + 1 | uses of the outgoing lanes |
//!
//! The word is a wire, whose elements are below 2^32 by their bits. The outgoing lanes of row i have the keys 2^40 + 2
//! i and one more. Digits of their parts are from 0 to 2: sums, which the first round of a permutation accepts.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::keccak::{DIGITS, PARTS, VALUES, value_ports};
use super::{Port, Row, WORD, used};
use crate::algebra::Algebra;

/// Bits of the halves.
pub const BITS: usize = 32 * WORD;
/// The first committed column of values.
pub const STATE: usize = BITS;
/// Committed columns.
pub const COLUMNS: usize = STATE + 2 * VALUES;
/// The fixed column of the word's number.
pub const NUMBER: usize = 0;
/// The fixed column that is 1 in blocks after the first.
pub const LATER: usize = 1;
/// The first fixed column of keys.
pub const KEYS: usize = 2;
/// The first fixed column of uses.
pub const USES: usize = 4;
/// Fixed columns.
pub const FIXED: usize = 6;
/// Ports: the word, lanes in, lanes out.
pub const PORTS: usize = 9;

/// The key of an outgoing lane.
pub fn key(row: usize, lane: usize) -> u64 {
    (1 << 40) + 2 * row as u64 + lane as u64
}

/// The weight of bit z of a lane in one of its values, and which.
pub(super) fn place(z: usize) -> (usize, Goldilocks) {
    let (part, digit) = (z % PARTS, z / PARTS);
    debug_assert!(digit < DIGITS);
    (part % VALUES, Goldilocks::new(1 << (4 * digit + 32 * (part / VALUES))))
}

#[inline(never)]
pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    for bit in &row.columns[..BITS] {
        out.push(f.boolean(*bit));
    }
    for value in &row.columns[STATE..] {
        // Zero, if they belong to no state.
        out.push(f.combine([-Goldilocks::ONE, Goldilocks::ONE, Goldilocks::ZERO], *value, row.fixed[LATER], *value));
    }
}

#[inline(never)]
pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let bits = &row.columns[..BITS];
    let powers: Vec<Goldilocks> = (0..32).map(|j| Goldilocks::new(1 << j)).collect();
    let word: [A::V; WORD] = core::array::from_fn(|i| f.dot(&powers, &bits[32 * i..][..32]));
    out.push(used(f, row.fixed[NUMBER], word));
    let taken = f.scale(-Goldilocks::ONE, row.fixed[LATER]);
    let lanes: [[A::V; VALUES]; 2] =
        core::array::from_fn(|lane| core::array::from_fn(|j| row.columns[STATE + lane * VALUES + j]));
    for (lane, values) in lanes.into_iter().enumerate() {
        value_ports(f, row.fixed[KEYS + lane], taken, values, out);
    }
    let one = f.one();
    for (lane, values) in lanes.into_iter().enumerate() {
        let values = core::array::from_fn(|value| {
            let own = (0..64).filter(|&z| place(z).0 == value);
            let bits = own.map(|z| (place(z).1, bits[64 * lane + z]));
            let (weights, terms): (Vec<_>, Vec<_>) = [(Goldilocks::ONE, values[value])].into_iter().chain(bits).unzip();
            f.dot(&weights, &terms)
        });
        let first = f.scale(Goldilocks::new(key(0, lane)), one);
        let key = f.add_scaled(first, Goldilocks::new(2), row.number);
        value_ports(f, key, row.fixed[USES + lane], values, out);
    }
}

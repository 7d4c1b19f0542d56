//! Five lanes of a Keccak state, or zeros where a bit is 0. The next block is added to them; the prover's bit says
//! whether the block begins a message.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | 0 to 39 | values of the five lanes of a plane, as on the bus | [`NUMBER`] | number of the bit |
//! | [`BIT`] | the bit | [`KEY`] | key of the first incoming lane |
//! | | | [`ACTIVE`] | 1, or 0 in a row that only fills a block |
//!
//! The bit is a wire. The outgoing lanes of row i have the keys 2^42 + 8 i and following, each once.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::keccak::{TUPLES, VALUES, value_ports};
use super::{Port, Row, padded, used};
use crate::algebra::Algebra;

/// Lanes of a row.
pub const LANES: usize = 5;
/// The committed column of the bit.
pub const BIT: usize = LANES * VALUES;
/// Committed columns.
pub const COLUMNS: usize = BIT + 1;
/// The fixed column of the bit's number.
pub const NUMBER: usize = 0;
/// The fixed column of the key of the first lane.
pub const KEY: usize = 1;
/// The fixed column that is 0 in rows that fill a block.
pub const ACTIVE: usize = 2;
/// Fixed columns.
pub const FIXED: usize = 3;
/// Ports: the bit, lanes in, lanes out.
pub const PORTS: usize = 1 + 2 * LANES * TUPLES;

/// The key of an outgoing lane.
pub fn key(row: usize, lane: usize) -> u64 {
    (1 << 42) + 8 * row as u64 + lane as u64
}

#[inline(never)]
pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (bit, active, one) = (row.columns[BIT], row.fixed[ACTIVE], f.one());
    let word = padded(f, &[bit]);
    out.push(used(f, row.fixed[NUMBER], word));
    let taken = f.scale(-Goldilocks::ONE, active);
    let lanes = row.columns[..BIT].as_chunks::<VALUES>().0;
    for (lane, values) in lanes.iter().enumerate() {
        let key = f.add_scaled(row.fixed[KEY], Goldilocks::new(lane as u64), one);
        value_ports(f, key, taken, *values, out);
    }
    for (lane, values) in lanes.iter().enumerate() {
        let first = f.scale(Goldilocks::new(key(0, lane)), one);
        let key = f.add_scaled(first, Goldilocks::new(8), row.number);
        let values = values.map(|value| f.mul(bit, value));
        value_ports(f, key, active, values, out);
    }
}

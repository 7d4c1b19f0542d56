//! The last step of a Keccak permutation on a plane, bit by bit: the output of [Keccak's rounds](super::keccak).
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | 0 to 319 | the bits of five lanes | [`KEY`] | key of the first lane |
//! | 320 to 323 | bits [`CONSTANT_BITS`] of the first result, before the constant | [`ACTIVE`] | 1, or 0 in a row that only fills a block |
//! | | | [`FIRST`] | 1 where the last constant is added: in the first plane |
//! | | | [`LANE_USES`] | 1 where the outgoing lanes are used |
//! | | | [`USES`], + 1 | uses of both words |
//!
//! The first four results are two words of four halves of 32 bits, low halves first: the digest. As lanes, the results
//! of row i have the keys 2^41 + 8 i and following.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::keccak::{ROUND_CONSTANTS, VALUES, value_ports};
use super::keccak_absorb::place;
use super::{Port, Row, WORD, defined};
use crate::algebra::Algebra;

/// Bits of a lane.
pub const BITS: usize = 64;
/// The first committed column of bits before the constant.
pub const CONSTANT: usize = 5 * BITS;
/// The bits of the last constant.
pub const CONSTANT_BITS: [usize; 4] = [3, 15, 31, 63];
/// Committed columns.
pub const COLUMNS: usize = CONSTANT + CONSTANT_BITS.len();
/// The fixed column of the key of the first lane.
pub const KEY: usize = 0;
/// The fixed column that is 0 in rows that fill a block.
pub const ACTIVE: usize = 1;
/// The fixed column that is 1 in first planes.
pub const FIRST: usize = 2;
/// The fixed column that is 1 where lanes are used.
pub const LANE_USES: usize = 3;
/// The first fixed column of uses of words.
pub const USES: usize = 4;
/// Fixed columns.
pub const FIXED: usize = 6;
/// Ports: both words, lanes in, lanes out.
pub const PORTS: usize = 2 + 2 * 5 * super::keccak::TUPLES;

/// The key of an outgoing lane.
pub fn key(row: usize, lane: usize) -> u64 {
    (1 << 41) + 8 * row as u64 + lane as u64
}

/// a xor (not b and c).
#[inline(never)]
fn chi<A: Algebra>(f: &mut A, [a, b, c]: [A::V; 3]) -> A::V {
    let one = Goldilocks::ONE;
    let and = f.combine([-one, Goldilocks::ZERO, one], b, c, c);
    f.combine([-Goldilocks::new(2), one, one], a, and, and)
}

#[inline(never)]
fn operands<V: Copy>(columns: &[V], lane: usize, z: usize) -> [V; 3] {
    [0, 1, 2].map(|by| columns[(lane + by) % 5 * BITS + z])
}

#[inline(never)]
pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    for bit in &row.columns[..CONSTANT] {
        out.push(f.boolean(*bit));
    }
    for (i, z) in CONSTANT_BITS.into_iter().enumerate() {
        let result = chi(f, operands(row.columns, 0, z));
        out.push(f.sub(row.columns[CONSTANT + i], result));
    }
}

#[inline(never)]
pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let mut results = Vec::with_capacity(5 * BITS);
    for i in 0..5 * BITS {
        let (lane, z) = (i / BITS, i % BITS);
        let constant = CONSTANT_BITS.iter().position(|&own| lane == 0 && own == z);
        results.push(match constant {
            Some(i) => {
                let (bit, first) = (row.columns[CONSTANT + i], row.fixed[FIRST]);
                f.combine([-Goldilocks::new(2), Goldilocks::ONE, Goldilocks::ONE], bit, first, first)
            }
            None => chi(f, operands(row.columns, lane, z)),
        });
    }
    let powers: Vec<Goldilocks> = (0..32).map(|j| Goldilocks::new(1 << j)).collect();
    for word in 0..2 {
        let halves: [A::V; WORD] =
            core::array::from_fn(|half| f.dot(&powers, &results[(WORD * word + half) * 32..][..32]));
        out.push(defined(f, row, word, row.fixed[USES + word], halves));
    }
    let one = f.one();
    let number = |x: usize| Goldilocks::new(x as u64);
    let taken = f.scale(-Goldilocks::ONE, row.fixed[ACTIVE]);
    for lane in 0..5 {
        let values = values_of(f, &row.columns[lane * BITS..][..BITS]);
        let key = f.add_scaled(row.fixed[KEY], number(lane), one);
        value_ports(f, key, taken, values, out);
    }
    for lane in 0..5 {
        let values = values_of(f, &results[lane * BITS..][..BITS]);
        let first = f.scale(Goldilocks::new(key(0, lane)), one);
        let key = f.add_scaled(first, number(8), row.number);
        value_ports(f, key, row.fixed[LANE_USES], values, out);
    }
}

/// The values of a lane on the bus, from its bits.
#[inline(never)]
fn values_of<A: Algebra>(f: &mut A, bits: &[A::V]) -> [A::V; VALUES] {
    core::array::from_fn(|value| {
        let own = (0..BITS).filter(|&z| place(z).0 == value);
        let (weights, bits): (Vec<_>, Vec<_>) = own.map(|z| (place(z).1, bits[z])).unzip();
        f.dot(&weights, &bits)
    })
}

/// The results of a row, before the constant.
pub fn results(lanes: [u64; 5], first: bool) -> [u64; 5] {
    let mut results: [u64; 5] = core::array::from_fn(|x| lanes[x] ^ (!lanes[(x + 1) % 5] & lanes[(x + 2) % 5]));
    if first {
        results[0] ^= ROUND_CONSTANTS[23];
    }
    results
}

//! The bytes at an address: a [window](super::bytes) of sixteen bytes, or a byte.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | [`ADDRESS`] | address | [`NUMBER`] | number of the address |
//! | [`LOW`] to + 3 | low part of a window, or the byte and zeros | [`ACTIVE`] | 1, or 0 in a row that only fills a block |
//! | [`HIGH`] to + 3 | high part | [`WINDOW`] | 1 for a window, 0 for a byte |
//! | | | [`USES`] | uses of the word |
//!
//! The word is the sum of both parts; for a byte it is the low part. The address is any wire: an address without bytes
//! has no part that could be read.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::{BYTES, Port, Row, WORD, bytes, defined, padded, put, used};
use crate::algebra::Algebra;

/// The committed column of the address.
pub const ADDRESS: usize = 0;
/// The first committed column of the low part.
pub const LOW: usize = 1;
/// The first committed column of the high part.
pub const HIGH: usize = LOW + WORD;
/// Committed columns.
pub const COLUMNS: usize = HIGH + WORD;
/// The fixed column of the address's number.
pub const NUMBER: usize = 0;
/// The fixed column that is 0 in rows that fill a block.
pub const ACTIVE: usize = 1;
/// The fixed column that is 1 where a window is read.
pub const WINDOW: usize = 2;
/// The fixed column of the uses of the word.
pub const USES: usize = 3;
/// Fixed columns.
pub const FIXED: usize = 4;
/// Ports: the address, both parts, the word.
pub const PORTS: usize = 4;

#[inline(never)]
pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (address, active, window) = (row.columns[ADDRESS], row.fixed[ACTIVE], row.fixed[WINDOW]);
    let one = f.one();
    let word = padded(f, &[address]);
    out.push(used(f, row.fixed[NUMBER], word));
    let space = f.scale(BYTES, one);
    let [low, high]: [[A::V; WORD]; 2] = [LOW, HIGH].map(|first| core::array::from_fn(|i| row.columns[first + i]));
    // For a byte the level is that of bytes, for a window that of low parts.
    let byte = f.scale(Goldilocks::new(bytes::BYTE as u64), one);
    let step = Goldilocks::new(bytes::LOW as u64) - Goldilocks::new(bytes::BYTE as u64);
    let levels = [f.add_scaled(byte, step, window), f.scale(Goldilocks::new(bytes::HIGH as u64), one)];
    for ((level, word), there) in levels.into_iter().zip([low, high]).zip([active, window]) {
        let multiplicity = f.scale(-Goldilocks::ONE, there);
        put(out, multiplicity, [space, address, level], word);
    }
    let word = core::array::from_fn(|i| f.mul_add(window, high[i], low[i]));
    out.push(defined(f, row, PORTS - 1, row.fixed[USES], word));
}

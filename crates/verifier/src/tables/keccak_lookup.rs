//! The lookup table of [Keccak's rounds](super::keccak): its content is fixed, and each row is offered as often as the prover says.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | 0 | how often it is offered | 0 | key |
//! | | | 1, 2 | the result with its digits turned, the result |
//!
//! A key is 2^16 times the kind plus a number of four digits to base 16. Kinds 0 to 3 map digits s from 0 to 10 to the
//! bits that are 1 where s modulo 4 is 0 or 3, turned by that many digits. Kind 4 maps digits from 0 to 7 to their
//! parities.
//!
//! *A use is a row.* There are fewer than p uses, so a tuple that is used is offered, and only this table offers in
//! this namespace.

use alloc::vec::Vec;

use super::keccak::{DIGITS, KINDS, PARITY, turned};
use super::{LOOKUP, Port, Row, TUPLE};
use crate::algebra::Algebra;

/// Committed columns.
pub const COLUMNS: usize = 1;
/// Fixed columns: key, turned, plain.
pub const FIXED: usize = 3;
/// Digits of s.
pub const CHI: u64 = 11;
/// Digits of a parity's sum.
pub const SUMS: u64 = 8;
/// Rows of a kind other than parities.
const CHI_ROWS: usize = CHI.pow(DIGITS as u32) as usize;
/// Rows with content.
pub const ROWS: usize = DIGITS * CHI_ROWS + SUMS.pow(DIGITS as u32) as usize;

/// The content of a row: key, turned, unturned. Rows after the last one repeat it.
pub fn content(row: usize) -> [u64; FIXED] {
    let row = row.min(ROWS - 1);
    let (kind, mut rest, base) = match row / CHI_ROWS {
        kind if kind < DIGITS => (kind as u64, (row % CHI_ROWS) as u64, CHI),
        _ => (PARITY, (row - DIGITS * CHI_ROWS) as u64, SUMS),
    };
    let (mut key, mut plain) = (kind * KINDS, 0);
    for j in 0..DIGITS {
        let digit = rest % base;
        rest /= base;
        let bit = if kind == PARITY { digit % 2 } else { u64::from(matches!(digit % 4, 0 | 3)) };
        key += digit << (4 * j);
        plain += bit << (4 * j);
    }
    let by = if kind == PARITY { 0 } else { kind as u8 };
    [key, turned(plain, by), plain]
}

/// The row of a key, if it has one.
pub fn row_of(key: u64) -> Option<usize> {
    let kind = key / KINDS;
    if kind > PARITY {
        return None;
    }
    let base = if kind == PARITY { SUMS } else { CHI };
    let mut row = 0;
    for j in (0..DIGITS).rev() {
        let digit = key >> (4 * j) & 15;
        if digit >= base {
            return None;
        }
        row = row * base + digit;
    }
    Some(kind as usize * CHI_ROWS + row as usize)
}

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (one, zero) = (f.one(), f.zero());
    let space = f.scale(LOOKUP, one);
    let tuple: [A::V; TUPLE] = [space, row.fixed[0], row.fixed[1], row.fixed[2], zero, zero, zero];
    out.push(Port { multiplicity: row.columns[0], tuple, len: 4 });
}

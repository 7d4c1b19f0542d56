//! Sixteen bytes, at addresses that other rows read: row i holds those at 16 i to 16 i + 15.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | 0 to 127 | the bits of four halves of 32 bits, each four bytes with the least significant first | [`ACTIVE`] | 1, or 0 in a row that only fills a block |
//! | [`COUNTS`] to + 47 | how often each part is read | [`USES`] to + 2 | uses of the words |
//!
//! **Words** are wires: all four halves; the first two and zeros; zeros and the last two.
//!
//! **Parts** are offered as ([`BYTES`], address, kind, word), as often as the prover says. A *window* is the sixteen
//! bytes from an address on, as four halves. It is the sum of its *low* part, which has zeros after the end of the row,
//! and its *high* part, which belongs to the next row and has zeros before its beginning.
//!
//! | kind | of row i, for o = 0 to 15 | address |
//! |---|---|---|
//! | [`LOW`] | bytes o to 15, then o zeros | 16 i + o |
//! | [`HIGH`] | 16 - o zeros, then bytes 0 to o - 1 | 16 (i - 1) + o |
//! | [`BYTE`] | byte o, then zeros | 16 i + o |
//!
//! There are fewer than p reads, so a part that is read is offered, by the one active row that has its kind and address.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::{BYTES, Port, Row, WORD, defined, put};
use crate::algebra::Algebra;

/// Bytes of a row.
pub const ROW: usize = 16;
/// Bits of a row.
pub const BITS: usize = 8 * ROW;
/// Kind of the part of a window in the row of its first byte.
pub const LOW: usize = 0;
/// Kind of the part of a window in the next row.
pub const HIGH: usize = 1;
/// Kind of a byte.
pub const BYTE: usize = 2;
/// Kinds of parts.
pub const KINDS: usize = 3;
/// The first committed column of counts: kind by kind, each from the first address on.
pub const COUNTS: usize = BITS;
/// Committed columns.
pub const COLUMNS: usize = COUNTS + KINDS * ROW;
/// Words that are wires.
pub const WORDS: usize = 3;
/// The fixed column that is 0 in rows that fill a block.
pub const ACTIVE: usize = 0;
/// The first fixed column of uses of words.
pub const USES: usize = 1;
/// Fixed columns.
pub const FIXED: usize = USES + WORDS;
/// Ports: words, parts.
pub const PORTS: usize = WORDS + KINDS * ROW;

/// The first address of a kind in row 0; in row i it is 16 i higher.
fn first(kind: usize) -> Goldilocks {
    if kind == HIGH { -Goldilocks::new(ROW as u64) } else { Goldilocks::ZERO }
}

/// The first place in a part that holds a byte of the row, that byte, and the number of bytes from there.
fn run(kind: usize, offset: usize) -> (usize, usize, usize) {
    match kind {
        LOW => (0, offset, ROW - offset),
        HIGH => (ROW - offset, 0, offset),
        _ => (0, offset, 1),
    }
}

/// A part of a row with these bits.
#[inline(never)]
fn word<A: Algebra>(f: &mut A, bits: &[A::V], kind: usize, offset: usize) -> [A::V; WORD] {
    let powers: Vec<Goldilocks> = (0..32).map(|j| Goldilocks::new(1 << j)).collect();
    let (place, byte, count) = run(kind, offset);
    core::array::from_fn(|half| {
        let within = |end: usize| end.clamp(place, place + count);
        let (from, to) = (within(4 * half), within(4 * half + 4));
        let own = &bits[8 * (byte + from - place)..8 * (byte + to - place)];
        let first = 8 * from.saturating_sub(4 * half).min(4);
        f.dot(&powers[first..first + own.len()], own)
    })
}

#[inline(never)]
pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    for bit in &row.columns[..BITS] {
        out.push(f.boolean(*bit));
    }
}

#[inline(never)]
pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (zero, one) = (f.zero(), f.one());
    let bits = &row.columns[..BITS];
    let all = word(f, bits, LOW, 0);
    for i in 0..WORDS {
        let mut word = all;
        if i > 0 {
            word[if i == 1 { WORD / 2..WORD } else { 0..WORD / 2 }].fill(zero);
        }
        out.push(defined(f, row, i, row.fixed[USES + i], word));
    }
    let space = f.scale(BYTES, one);
    for part in 0..KINDS * ROW {
        let (kind, offset) = (part / ROW, part % ROW);
        let level = f.scale(Goldilocks::new(kind as u64), one);
        let address = f.scale(Goldilocks::new(offset as u64) + first(kind), one);
        let address = f.add_scaled(address, Goldilocks::new(ROW as u64), row.number);
        let multiplicity = f.mul(row.fixed[ACTIVE], row.columns[COUNTS + part]);
        let word = word(f, bits, kind, offset);
        put(out, multiplicity, [space, address, level], word);
    }
}

/// The row that offers a part at an address, and the column of its count.
pub fn place(kind: usize, address: u64) -> (u64, usize) {
    let (row, offset) = (address / ROW as u64, (address % ROW as u64) as usize);
    (row + u64::from(kind == HIGH), COUNTS + kind * ROW + offset)
}

/// The part of a row with these bytes.
pub fn part(bytes: &[u8; ROW], kind: usize, offset: usize) -> [Goldilocks; WORD] {
    let (place, byte, count) = run(kind, offset);
    let mut part = [0; ROW];
    part[place..place + count].copy_from_slice(&bytes[byte..byte + count]);
    core::array::from_fn(|half| Goldilocks::new((0..4).map(|i| u64::from(part[4 * half + i]) << (8 * i)).sum()))
}

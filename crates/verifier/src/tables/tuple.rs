//! A tuple of wires on the bus, as often as a bit says: nodes of trees whose root, height and place are wires, and
//! multisets.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | [`KEY`] | key | [`SPACE`] | namespace |
//! | [`LEVEL`] | level | [`TIMES`] | 1 or -1: the multiplicity is this times the count |
//! | [`VALUE`] to + 3 | word | [`USED`] | 1 where the count is an existing wire |
//! | [`COUNT`] | count | [`FREE`] | 1 where the count is any number, otherwise it is 0 or 1 |
//! | | | [`NUMBERS`] to + 2 | numbers of key, level, word |
//! | | | [`NUMBERS`] + 3 | number of the count, or how often the wire that it defines is used |
//!
//! **Trees.** The tuple of a root is offered with a free count; every tuple of the same tree that is used, here with a count of 1 or by a
//! [node row](super::permutation), hangs on it by the claim there.
//!
//! **Multisets.** Tuples of a set are given and taken with bits as counts, fewer than p: what is given is what is
//! taken, each equally often.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::{Port, Row, TUPLE, WORD, padded, used, used_or_defined};
use crate::algebra::Algebra;

/// The committed column of the key.
pub const KEY: usize = 0;
/// The committed column of the level.
pub const LEVEL: usize = 1;
/// The first committed column of the word.
pub const VALUE: usize = 2;
/// The committed column of the count.
pub const COUNT: usize = VALUE + WORD;
/// Committed columns.
pub const COLUMNS: usize = COUNT + 1;

/// The fixed column of the namespace.
pub const SPACE: usize = 0;
/// The fixed column of the factor of the count.
pub const TIMES: usize = 1;
/// The fixed column that is 1 where the count is a wire that is used.
pub const USED: usize = 2;
/// The fixed column that is 1 where the count is any number.
pub const FREE: usize = 3;
/// The fixed column of the key's number; those of level, word and count follow.
pub const NUMBERS: usize = 4;
/// Fixed columns.
pub const FIXED: usize = NUMBERS + 4;
/// Ports: key, level, word, count, the tuple.
pub const PORTS: usize = 5;

pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    let one = f.one();
    let bit = f.boolean(row.columns[COUNT]);
    let bound = f.sub(one, row.fixed[FREE]);
    out.push(f.mul(bound, bit));
}

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (key, level, count) = (row.columns[KEY], row.columns[LEVEL], row.columns[COUNT]);
    let value: [A::V; WORD] = core::array::from_fn(|i| row.columns[VALUE + i]);
    for (i, word) in [padded(f, &[key]), padded(f, &[level]), value].into_iter().enumerate() {
        out.push(used(f, row.fixed[NUMBERS + i], word));
    }
    let word = padded(f, &[count]);
    out.push(used_or_defined(f, row, PORTS - 2, row.fixed[USED], row.fixed[NUMBERS + 3], word));
    let [a, b, c, d] = value;
    let tuple: [A::V; TUPLE] = [row.fixed[SPACE], key, level, a, b, c, d];
    out.push(Port { multiplicity: f.mul(row.fixed[TIMES], count), tuple, len: TUPLE });
}

/// The fixed columns of a tuple.
pub fn set(fixed: &mut [Goldilocks], space: Goldilocks, times: Goldilocks, free: bool) {
    fixed[SPACE] = space;
    fixed[TIMES] = times;
    fixed[FREE] = Goldilocks::new(free.into());
}

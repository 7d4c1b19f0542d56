//! The numbers below 2^16: a number that is used here is one of them.
//!
//! Row i offers the tuple ([`RANGE`], i) as often as its one column says. Each use takes one, and there are fewer than
//! p uses. So every tuple that is used is offered, hence is the number of a row. The table has all of its [`ROWS`] rows
//! or no rows.

use alloc::vec::Vec;

use super::{Port, RANGE, Row};
use crate::algebra::Algebra;

/// Committed columns: how often a number is used.
pub const COLUMNS: usize = 1;
/// Rows.
pub const ROWS: usize = 1 << 16;

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (zero, one) = (f.zero(), f.one());
    let space = f.scale(RANGE, one);
    out.push(Port { multiplicity: row.columns[0], tuple: [space, row.number, zero, zero, zero, zero, zero], len: 2 });
}

/// The use of a number: a demand that it be below 2^16.
pub(super) fn within<A: Algebra>(f: &mut A, number: A::V) -> Port<A::V> {
    let (zero, one) = (f.zero(), f.one());
    let (space, multiplicity) = (f.scale(RANGE, one), f.scale(-evergrove_primitives::Goldilocks::ONE, one));
    Port { multiplicity, tuple: [space, number, zero, zero, zero, zero, zero], len: 2 }
}

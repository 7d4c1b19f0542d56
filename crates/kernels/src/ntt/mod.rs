//! Number-theoretic transforms over Goldilocks, eight columns at a time.
//!
//! **What.** [`Forward`] evaluates polynomials of n = 2^k coefficients on a coset s H of the group H of order n,
//! [`Inverse`] interpolates. [`Lde`] evaluates them on a coset of a group 2^rate_bits times as large: the low-degree
//! extension. [`columns`] moves a matrix that is stored column by column into groups and back.
//!
//! **Groups.** Eight columns are interleaved: a [`Row`] is one element of each. A transform works on rows, hence on
//! eight polynomials at once, and no lane needs its neighbour. A matrix of c columns is ceil(c / 8) groups, one after
//! the other; the columns that fill up the last group are zeros.
//!
//! **Orders.** Coefficients are in natural order. Row k of the values belongs to the point s w^rev(k), where w is
//! [`Goldilocks::root_of_unity`] and rev(k) is the bits of k reversed. That is the order of the leaves of Plonky2's
//! Merkle trees, so transforms do not permute. [`columns`] reverses bits where values in natural order are wanted.
//!
//! **Algorithm.** The polynomial is reduced modulo the factors of X^n - s^n, sixteen at a time: for a factor X^m -
//! u^16, coefficients are multiplied by powers of u and go through a transform of length 16, whose roots of unity are
//! powers of two and cost only shifts. So the powers of u include the shift of a coset, which costs nothing. Subtrees
//! of [`CACHED`] rows are transformed in the cache, and above them each pass over memory does four of the log2 n
//! levels.
//!
//! **Threads and instruction sets.** Work is split over the rayon pool of the caller; results depend on neither.

mod butterfly;
pub mod columns;
mod field;
mod lde;
mod pass;
pub mod reference;
mod transform;
mod twiddles;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::LANES;
use thiserror::Error;

pub use lde::Lde;
pub use transform::{CACHED, Forward, Inverse};

/// One element of each of eight columns.
pub type Row = [Goldilocks; LANES];

/// A row of zeros.
pub const ZERO_ROW: Row = [Goldilocks::ZERO; LANES];

/// Groups that hold a matrix of `columns` columns.
pub fn groups(columns: usize) -> usize {
    columns.div_ceil(LANES)
}

/// Sizes without a transform, or a buffer that does not fit the transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NttError {
    /// The field has no root of unity of this order.
    #[error("a transform of length 2^{log_size}: the field has roots of unity of order 2^{max} at most", max = Goldilocks::TWO_ADICITY)]
    LogSize {
        /// log2 of the length.
        log_size: u32,
    },
    /// The shift s of a coset s H is zero.
    #[error("a coset with shift 0 is one point: the shift must not be zero")]
    ZeroShift,
    /// A buffer of rows has another length than the transform.
    #[error("{found} rows were given for the {buffer}: {expected} are needed")]
    Rows {
        /// The purpose of the buffer.
        buffer: &'static str,
        /// Rows that it has.
        found: usize,
        /// Rows that the transform needs.
        expected: usize,
    },
    /// A column has another length than the others.
    #[error("column {column} has {found} elements: {expected} are needed")]
    Column {
        /// Which column.
        column: usize,
        /// Its elements.
        found: usize,
        /// Elements that it needs.
        expected: usize,
    },
    /// A column's length is not a power of two, so its bits cannot be reversed.
    #[error("columns of {rows} elements: their number must be a power of two; pad them")]
    RowCount {
        /// Elements of a column.
        rows: usize,
    },
}

fn check_rows(buffer: &'static str, rows: &[Row], expected: usize) -> Result<(), NttError> {
    if rows.len() != expected {
        return Err(NttError::Rows { buffer, found: rows.len(), expected });
    }
    Ok(())
}

/// The lowest `bits` bits of `x` in reverse order.
pub(crate) fn reverse(x: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS - bits) }
}

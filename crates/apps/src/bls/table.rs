//! Keys as rows of a table.

use ark_ff::PrimeField;
use evergrove_commit::schema::{Cell, Column, ColumnType, Row, Schema};
use evergrove_primitives::Goldilocks;

use super::point::{KeyError, Point};

/// The columns of a table of keys, and the elements that open a row: x and y, each as 7 numbers of 56 bits.
pub const KEY_ELEMENTS: usize = 14;
/// Bits per column.
const COLUMN_BITS: usize = 56;

/// A key that a table may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {source}")]
pub struct TableError {
    /// The number of the row, from 0.
    pub row: u64,
    /// The reason.
    pub source: KeyError,
}

/// The columns of a table of keys: `x0` to `x6` and `y0` to `y6`, the least significant number first.
pub fn schema() -> Schema {
    let columns = (0..KEY_ELEMENTS).map(|i| {
        let (coordinate, limb) = (["x", "y"][i / 7], i % 7);
        Column::new(format!("{coordinate}{limb}"), ColumnType::Unsigned)
    });
    Schema::new(columns.collect()).expect("fourteen names")
}

/// The numbers of a key's row; `None` for the identity, which is not a key.
pub fn numbers(key: &Point) -> Option<[u64; KEY_ELEMENTS]> {
    let (x, y) = key.coordinates()?;
    let mut out = [0; KEY_ELEMENTS];
    for (half, x) in out.as_chunks_mut::<7>().0.iter_mut().zip([x, y]) {
        let mut bytes = [0; 56];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(x.into_bigint().0) {
            *chunk = word.to_le_bytes();
        }
        for (number, seven) in half.iter_mut().zip(bytes.as_chunks::<7>().0) {
            let mut le = [0; 8];
            le[..7].copy_from_slice(seven);
            *number = u64::from_le_bytes(le);
        }
    }
    Some(out)
}

/// A key's row in [`schema`]; `None` for the identity.
pub fn row(key: &Point) -> Option<Row> {
    Some(Row::Cells(numbers(key)?.map(Cell::Unsigned).to_vec()))
}

/// The key of a row's elements; `None` unless they are the canonical form of a point of the curve.
pub fn key(elements: &[Goldilocks]) -> Option<Point> {
    let elements: &[Goldilocks; KEY_ELEMENTS] = elements.try_into().ok()?;
    if elements.iter().any(|e| e.as_u64() >> COLUMN_BITS != 0) {
        return None;
    }
    let limbs = elements.iter().flat_map(|e| [e.as_u64() & 0xfff_ffff, e.as_u64() >> 28]);
    let limbs: Vec<Goldilocks> = limbs.map(Goldilocks::reduce).collect();
    Point::from_elements(&limbs).filter(|p| *p != Point::IDENTITY)
}

/// Decodes keys from their compressed forms, and checks for each that it is on the curve and in the subgroup.
///
/// The caller must check that the owners know their secret keys (proofs of possession). Without that check a rogue key
/// forges signatures of others (Boneh, Drijvers, Neven, ASIACRYPT 2018, section 1).
///
/// # Errors
/// Names the first row that is not a key.
pub fn parse_keys<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Point>, TableError> {
    let parse = |(row, bytes)| Point::from_compressed(bytes).map_err(|source| TableError { row, source });
    (0..).zip(keys).map(parse).collect()
}

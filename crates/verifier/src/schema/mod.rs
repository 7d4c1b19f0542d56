//! The rows of a table, and how a row becomes the value of a slot.
//!
//! **What.** A [`Schema`] lists [`Column`]s; a [`Row`] holds one [`Cell`] per column. [`Schema::value`] maps a row to the
//! [`Value`] that the tree commits to, by this rule:
//!
//! | column type | elements | encoding |
//! |---|---|---|
//! | `unsigned` | 1 | x, below 2^63 |
//! | `signed` | 1 | x + 2^62 for x in \[-2^62, 2^62): order is preserved |
//! | `fixed:s` | 1 | as `signed`, x in units of 10^-s |
//! | `bytes` | 4 | Poseidon sponge of the bytes, 7 per element, with the length in the domain tag |
//! | `address`, `bool`, `uintN`, `intN`, `bytesN` | 8 | the word of Solidity's ABI as halves of 32 bits ([`abi`](crate::abi)); never null |
//! | `boolean` | 1 | 1 for true, 0 for false |
//! | `date`, `timestamp` | 1 | as `signed`, x days from 1970-01-01, or microseconds from 1970-01-01T00:00:00Z |
//! | `decimal(p,s)`, p up to 18 | 1 | as `signed`, x in units of 10^-s |
//! | `uuid` | 4 | the 16 bytes as four integers of 32 bits, big-endian |
//! | `unsigned128` | 4 | x as four integers of 32 bits, the highest first |
//! | `integer128`, `decimal(p,s)`, p above 18 | 4 | x + 2^127 in the same form, decimals in units of 10^-s |
//! | null in a nullable column | same | ([`NULL`], 0, ..): 2^63, outside the range of every number |
//!
//! A row of up to 4 elements *is* the value, padded with zeros ([`Schema::is_inline`]); a longer one is hashed with the
//! number of its elements in the domain tag. In raw mode there are no columns: a row is 4 field elements.
//!
//! **When.** For every row that is committed, opened or exported. The bytes of hashed columns are kept beside the tree
//! ([`Schema::encode_row`]), so a table can be printed again.
//!
//! **Neighbours.** The module `input` of `evergrove-store` reads and writes files; this module does no I/O.

mod cell;
mod column;
pub mod csv;
pub mod field;
pub mod json;
mod row;
mod text;
pub mod time;

#[cfg(test)]
mod tests;

pub use cell::{Cell, CellError, Excerpt};
pub use column::{Column, ColumnType, MAX_PRECISION, MAX_SCALE, ParseColumnTypeError};
pub use row::{Row, RowError};
pub use text::{DecodeSchemaError, SchemaTextError};

use alloc::string::String;
use alloc::vec::Vec;

use crate::abi::AbiType;
use crate::tree::Value;
use evergrove_primitives::hash::poseidon::{domain_tag, hash_bytes, hash_tagged};
use evergrove_primitives::{Digest, Goldilocks};

/// The encoding of null: 2^63, the first integer that does not encode a number of a column.
pub const NULL: Goldilocks = Goldilocks::new(1 << 63);
/// The offset of signed and fixed-point columns, and of dates and timestamps.
pub const SIGNED_OFFSET: u64 = 1 << 62;
/// The offset of signed numbers of 128 bits.
pub const WIDE_OFFSET: u128 = 1 << 127;
/// The greatest number of columns of a schema.
pub const MAX_COLUMNS: usize = 1024;
/// The greatest length of a column's name, in bytes.
pub const MAX_NAME_BYTES: usize = 128;
/// The greatest length of a cell of a `bytes` column.
pub const MAX_CELL_BYTES: usize = 1 << 24;
/// A row of at most this many elements is the value itself.
pub const INLINE_ELEMENTS: usize = 4;

/// Domain of the sponge over the bytes of a cell, ASCII "BYTE".
const BYTES_DOMAIN: u32 = 0x4259_5445;
/// Domain of the sponge over the elements of a row, ASCII "ROWE".
const ROW_DOMAIN: u32 = 0x524f_5745;
/// Domain of the digest of a schema, ASCII "SCHM".
const SCHEMA_DOMAIN: u32 = 0x5343_484d;

/// The columns of a table, or raw mode.
///
/// Names are unique and not empty; the order of the columns is part of the schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schema {
    columns: Vec<Column>,
}

/// The columns are not a valid schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// No columns.
    #[error("a schema needs at least one column: name one, or use raw mode (raw = true)")]
    Empty,
    /// More than [`MAX_COLUMNS`].
    #[error("{0} columns are more than {MAX_COLUMNS}: split the table")]
    TooManyColumns(usize),
    /// Two columns have the same name.
    #[error("two columns are named {0:?}: rename one")]
    DuplicateName(String),
    /// The name is empty, too long or holds control characters.
    #[error("column {position} is named {name:?}: a name has 1 to {MAX_NAME_BYTES} bytes and no control characters")]
    Name {
        /// Position of the column, from 1.
        position: usize,
        /// Its name.
        name: String,
    },
    /// A column of an ABI type allows nulls.
    #[error("column {name:?} of type {kind} is nullable: types of the ABI have no null")]
    Nullable {
        /// Name of the column.
        name: String,
        /// Its type.
        kind: AbiType,
    },
    /// A fixed-point column has too many decimal places.
    #[error("column {name:?} has {scale} decimal places: at most {MAX_SCALE} fit")]
    Scale {
        /// Name of the column.
        name: String,
        /// Its scale.
        scale: u8,
    },
    /// A decimal column has no digits, too many, or more places than digits.
    #[error(
        "column {name:?} is of type {kind}: a decimal has 1 to {MAX_PRECISION} digits, and no more places than digits"
    )]
    Precision {
        /// Name of the column.
        name: String,
        /// Its type.
        kind: ColumnType,
    },
}

/// Rows of a schema are not rows of ABI words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAbi {
    /// A column of another type.
    #[error(
        "column {name:?} is of type {kind}: OpenZeppelin's tree needs types of the ABI in every column, like address or uint256"
    )]
    Column {
        /// Name of the column.
        name: String,
        /// Its type.
        kind: ColumnType,
    },
    /// Raw mode.
    #[error(
        "a table in raw mode has no columns: OpenZeppelin's tree needs columns of ABI types, like address or uint256"
    )]
    Raw,
}

impl Schema {
    /// The schema with these columns, in this order.
    ///
    /// # Errors
    /// [`SchemaError`]: no columns or more than [`MAX_COLUMNS`], an invalid or duplicate name, a scale above
    /// [`MAX_SCALE`], a decimal beyond [`MAX_PRECISION`], nulls in a column of an ABI type.
    pub fn new(columns: Vec<Column>) -> Result<Self, SchemaError> {
        if columns.is_empty() {
            return Err(SchemaError::Empty);
        }
        if columns.len() > MAX_COLUMNS {
            return Err(SchemaError::TooManyColumns(columns.len()));
        }
        let mut names = alloc::collections::BTreeSet::new();
        for (i, c) in columns.iter().enumerate() {
            if c.name.is_empty() || c.name.len() > MAX_NAME_BYTES || c.name.chars().any(char::is_control) {
                return Err(SchemaError::Name { position: i + 1, name: c.name.clone() });
            }
            if let ColumnType::Fixed { scale } = c.kind
                && scale > MAX_SCALE
            {
                return Err(SchemaError::Scale { name: c.name.clone(), scale });
            }
            if let ColumnType::Decimal { precision, scale } = c.kind
                && (scale > precision || !(1..=MAX_PRECISION).contains(&precision))
            {
                return Err(SchemaError::Precision { name: c.name.clone(), kind: c.kind });
            }
            if let ColumnType::Abi(kind) = c.kind
                && c.nullable
            {
                return Err(SchemaError::Nullable { name: c.name.clone(), kind });
            }
            if !names.insert(c.name.as_str()) {
                return Err(SchemaError::DuplicateName(c.name.clone()));
            }
        }
        Ok(Self { columns })
    }

    /// Raw mode: a row is 4 field elements, which are the value.
    pub const fn raw() -> Self {
        Self { columns: Vec::new() }
    }

    /// True in raw mode.
    pub fn is_raw(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns, in order; none in raw mode.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Position and description of the column with this name.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, c)| c.name == name)
    }

    /// Field elements of a row before any hashing.
    pub fn elements_per_row(&self) -> usize {
        if self.is_raw() { INLINE_ELEMENTS } else { self.columns.iter().map(|c| c.kind.elements()).sum() }
    }

    /// True when a row's elements are the value itself, false when the value is their hash.
    pub fn is_inline(&self) -> bool {
        self.elements_per_row() <= INLINE_ELEMENTS
    }

    /// The types of the columns if all are ABI types: the table then has a tree of OpenZeppelin
    /// ([`openzeppelin`](crate::openzeppelin)).
    ///
    /// # Errors
    /// [`NotAbi`] with the first column of another type.
    pub fn abi_types(&self) -> Result<Vec<AbiType>, NotAbi> {
        let types = self.columns.iter().map(|c| match c.kind {
            ColumnType::Abi(kind) => Ok(kind),
            kind => Err(NotAbi::Column { name: c.name.clone(), kind }),
        });
        if self.is_raw() { Err(NotAbi::Raw) } else { types.collect() }
    }

    /// Header of the column of positions in a table of this schema: `index`, followed by as many `_` as needed to
    /// differ from every column.
    pub fn index_name(&self) -> String {
        let mut name = String::from("index");
        while self.column(&name).is_some() {
            name.push('_');
        }
        name
    }

    /// The field elements of a row, [`Self::elements_per_row`] of them.
    pub fn elements(&self, row: &Row) -> Result<Vec<Goldilocks>, RowError> {
        self.elements_where(row, |_| true)
    }

    /// The same with zeros for columns, by their positions, that are not in `needed`: their cells are neither read nor
    /// hashed.
    ///
    /// # Errors
    /// [`RowError`] when the row does not fit the schema.
    pub fn elements_where(&self, row: &Row, needed: impl Fn(usize) -> bool) -> Result<Vec<Goldilocks>, RowError> {
        match row {
            Row::Raw(value) if self.is_raw() => Ok(value.to_vec()),
            Row::Cells(cells) if !self.is_raw() => {
                self.check_width(cells.len())?;
                let mut out = Vec::with_capacity(self.elements_per_row());
                for (i, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
                    if needed(i) {
                        column.encode(cell, &mut out)?;
                    } else {
                        out.resize(out.len() + column.kind.elements(), Goldilocks::ZERO);
                    }
                }
                Ok(out)
            }
            Row::Raw(_) => Err(RowError::RawInTable),
            Row::Cells(_) => Err(RowError::CellsInRaw),
        }
    }

    /// The value of a row: what the tree commits to. A row of more than [`INLINE_ELEMENTS`] elements costs one
    /// permutation per 8 elements, and a cell of a `bytes` column one per 56 bytes.
    ///
    /// # Errors
    /// [`RowError`] when the row does not fit the schema.
    pub fn value(&self, row: &Row) -> Result<Value, RowError> {
        let elements = self.elements(row)?;
        if elements.len() <= INLINE_ELEMENTS {
            let mut value = Value::default();
            value[..elements.len()].copy_from_slice(&elements);
            Ok(value)
        } else {
            Ok(hash_tagged(&elements, self.row_tag()).0)
        }
    }

    /// The tag with which the elements of a row are hashed to its value, unless [`Self::is_inline`].
    pub fn row_tag(&self) -> Goldilocks {
        row_tag(self.elements_per_row())
    }

    fn check_width(&self, found: usize) -> Result<(), RowError> {
        let expected = self.columns.len();
        if found == expected { Ok(()) } else { Err(RowError::Width { expected, found }) }
    }
}

/// The tag with which rows of this many elements are hashed: [`Schema::row_tag`].
pub fn row_tag(elements: usize) -> Goldilocks {
    domain_tag(ROW_DOMAIN, elements)
}

/// The elements of a cell of a `bytes` column that is not null: the hash of its content.
pub fn content_digest(bytes: &[u8]) -> Digest {
    hash_bytes(BYTES_DOMAIN, bytes)
}

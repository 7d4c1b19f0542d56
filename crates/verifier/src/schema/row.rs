//! Rows and the bytes that the store keeps of them.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::tree::Value;
use evergrove_primitives::{Digest, Goldilocks};

use super::{Cell, CellError, Schema};
use crate::abi::AbiWord;

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// Raw mode: the value itself.
    Raw(Value),
    /// One cell per column of the schema.
    Cells(Vec<Cell>),
}

impl Row {
    /// The words of a row of a schema with [`Schema::abi_types`], in the order of the columns; cells of other types are
    /// skipped.
    pub fn words(&self) -> Vec<AbiWord> {
        let Self::Cells(cells) = self else { return Vec::new() };
        cells.iter().filter_map(|cell| if let Cell::Word(word) = cell { Some(*word) } else { None }).collect()
    }
}

/// A row does not fit the schema. [`RowError::remedy`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The numbers of cells and columns differ.
    #[error("{found} cells for {expected} columns")]
    Width {
        /// Columns of the schema.
        expected: usize,
        /// Cells of the row.
        found: usize,
    },
    /// A cell does not fit its column.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A raw value for a table with columns.
    #[error("a raw value was given for a table with columns")]
    RawInTable,
    /// Cells for a table in raw mode.
    #[error("cells were given for a table in raw mode")]
    CellsInRaw,
    /// A field element of a raw value is not an integer below p.
    #[error("element {position} of the raw value: {value} is not an integer below p = {}", Goldilocks::ORDER)]
    Element {
        /// Position in the value, from 1.
        position: usize,
        /// The offending text.
        value: String,
    },
    /// Stored bytes are not a row.
    #[error("the stored bytes are not a row of this schema")]
    Encoding,
}

impl RowError {
    /// What to do, in one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::Width { expected, .. } => format!("give {expected} cells, in the order of the schema"),
            Self::Cell(e) => e.remedy(),
            Self::RawInTable => "give one cell per column of the schema".into(),
            Self::CellsInRaw => "give 4 field elements".into(),
            Self::Element { .. } => {
                "reduce the element modulo p, or commit the bytes through a schema with a bytes column".into()
            }
            Self::Encoding => "the store is damaged: restore it from a copy, or commit the table again".into(),
        }
    }
}

impl Schema {
    /// The row that texts represent: one text for each column ([`super::Column::parse`]), or in raw mode 4 integers
    /// below p.
    pub fn parse_row<T: AsRef<[u8]>>(&self, texts: &[T]) -> Result<Row, RowError> {
        if self.is_raw() {
            let expected = 4;
            if texts.len() != expected {
                return Err(RowError::Width { expected, found: texts.len() });
            }
            let mut value = Value::default();
            for (i, (x, text)) in value.iter_mut().zip(texts).enumerate() {
                *x = parse_element(text.as_ref()).ok_or_else(|| RowError::Element {
                    position: i + 1,
                    value: String::from_utf8_lossy(text.as_ref()).chars().take(40).collect(),
                })?;
            }
            return Ok(Row::Raw(value));
        }
        self.check_width(texts.len())?;
        let cells: Result<_, CellError> = self.columns().iter().zip(texts).map(|(c, t)| c.parse(t.as_ref())).collect();
        Ok(Row::Cells(cells?))
    }

    /// The row whose raw value has these 32 bytes: 4 canonical elements, little-endian.
    pub fn raw_row(bytes: &[u8; 32]) -> Result<Row, RowError> {
        let mut value = Value::default();
        for (i, (x, chunk)) in value.iter_mut().zip(bytes.chunks_exact(8)).enumerate() {
            let mut le = [0; 8];
            le.copy_from_slice(chunk);
            *x = Goldilocks::from_canonical(u64::from_le_bytes(le))
                .map_err(|e| RowError::Element { position: i + 1, value: e.0.to_string() })?;
        }
        Ok(Row::Raw(value))
    }

    /// The texts of a row, as [`Self::parse_row`] takes them.
    pub fn format_row(&self, row: &Row) -> Vec<Vec<u8>> {
        match row {
            Row::Raw(value) => value.iter().map(|x| x.to_string().into_bytes()).collect(),
            Row::Cells(cells) => self.columns().iter().zip(cells).map(|(c, cell)| c.format(cell)).collect(),
        }
    }

    /// The bytes that a store keeps of a row: the cells in postcard, including the bytes of hashed columns; in raw mode
    /// the 32 bytes of the value.
    pub fn encode_row(&self, row: &Row) -> Result<Vec<u8>, RowError> {
        match row {
            Row::Raw(value) if self.is_raw() => Ok(Digest(*value).to_bytes().to_vec()),
            Row::Cells(cells) if !self.is_raw() => {
                self.check_cells(cells)?;
                postcard::to_allocvec(cells).map_err(|_| RowError::Encoding)
            }
            Row::Raw(_) => Err(RowError::RawInTable),
            Row::Cells(_) => Err(RowError::CellsInRaw),
        }
    }

    /// The row that [`Self::encode_row`] encodes as these bytes. Checks every cell against its column.
    pub fn decode_row(&self, bytes: &[u8]) -> Result<Row, RowError> {
        if self.is_raw() {
            let bytes: &[u8; 32] = bytes.try_into().map_err(|_| RowError::Encoding)?;
            return Self::raw_row(bytes);
        }
        let (cells, rest): (Vec<Cell>, _) = postcard::take_from_bytes(bytes).map_err(|_| RowError::Encoding)?;
        if !rest.is_empty() {
            return Err(RowError::Encoding);
        }
        self.check_cells(&cells)?;
        Ok(Row::Cells(cells))
    }

    fn check_cells(&self, cells: &[Cell]) -> Result<(), RowError> {
        self.check_width(cells.len())?;
        for (column, cell) in self.columns().iter().zip(cells) {
            column.fits(cell)?;
        }
        Ok(())
    }
}

fn parse_element(text: &[u8]) -> Option<Goldilocks> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let x: u64 = core::str::from_utf8(text).ok()?.parse().ok()?;
    Goldilocks::from_canonical(x).ok()
}

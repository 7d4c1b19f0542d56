//! Cells: text in, field elements out.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use evergrove_primitives::Goldilocks;
use serde::{Deserialize, Serialize};

use super::{Column, ColumnType, MAX_CELL_BYTES, MAX_SCALE, NULL, SIGNED_OFFSET, content_digest};
use crate::abi::{AbiError, AbiType, AbiWord, word_elements};

/// Least number of a signed or fixed-point column, in units.
const SIGNED_MIN: i64 = -(1 << 62);
/// Greatest number of a signed or fixed-point column, in units.
const SIGNED_MAX: i64 = (1 << 62) - 1;
/// Greatest number of an unsigned column.
const UNSIGNED_MAX: u64 = (1 << 63) - 1;

/// The content of one column of one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cell {
    /// Null, in nullable columns only.
    Null,
    /// A number of an `unsigned` column.
    Unsigned(u64),
    /// A number of a `signed` column, or of a `fixed:s` column in units of 10^-s.
    Signed(i64),
    /// The content of a `bytes` column.
    Bytes(Vec<u8>),
    /// The word of a column of an ABI type.
    Word(AbiWord),
}

/// A cell does not fit its column. [`CellError::remedy`] says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// A null, or an empty text where a number is due.
    #[error("column {column:?} ({kind}) is empty")]
    Null {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
    },
    /// The text is not a number of the column's form.
    #[error("column {column:?}: {value} is not a number of type {kind}")]
    NotANumber {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
        /// The offending text, shortened.
        value: Excerpt,
    },
    /// The number is outside the range of the type.
    #[error("column {column:?}: {value} does not fit type {kind}, which holds {range}")]
    OutOfRange {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
        /// The offending text, shortened.
        value: Excerpt,
        /// The range in words.
        range: String,
    },
    /// The number has more decimal places than the column.
    #[error("column {column:?}: {value} has {found} decimal places, type {kind} holds {}", kind.scale())]
    Decimals {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
        /// The offending text, shortened.
        value: Excerpt,
        /// Decimal places of the text, without trailing zeros.
        found: usize,
    },
    /// More than [`MAX_CELL_BYTES`].
    #[error("column {column:?}: a cell of {length} bytes is longer than {MAX_CELL_BYTES}")]
    TooLong {
        /// Name of the column.
        column: String,
        /// Length of the cell.
        length: usize,
    },
    /// The text is not a value of the column's ABI type.
    #[error("column {column:?}: {error}")]
    Abi {
        /// Name of the column.
        column: String,
        /// What is wrong, and what to write.
        error: AbiError,
    },
    /// The word is not a value of the column's ABI type.
    #[error("column {column:?}: {value} is not a word of type {kind}")]
    Word {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: AbiType,
        /// The word in hexadecimal digits.
        value: String,
    },
    /// The cell is of another kind than its column.
    #[error("column {column:?} is of type {kind}, the cell is {found}")]
    Kind {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
        /// What the cell is.
        found: &'static str,
    },
}

impl CellError {
    /// What to do about it, in one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::Null { kind: ColumnType::Abi(_), .. } => "fill the cell: types of the ABI have no null".into(),
            Self::Null { column, .. } => {
                format!("fill the cell, or set nullable = true on column {column:?} in the schema")
            }
            Self::NotANumber { column, kind: ColumnType::Fixed { .. }, .. } => {
                format!(
                    "write it as plain digits with a point, without exponent, or give column {column:?} the type bytes"
                )
            }
            Self::NotANumber { column, .. } => {
                format!(
                    "write it as plain digits, or give column {column:?} another type in the schema (fixed:S or bytes)"
                )
            }
            Self::OutOfRange { column, kind: ColumnType::Unsigned, value, .. } if value.0.starts_with('-') => {
                format!("give column {column:?} the type signed in the schema")
            }
            Self::OutOfRange { column, .. } => {
                format!("correct the value, or give column {column:?} the type bytes in the schema")
            }
            Self::Decimals { column, found, .. } if *found <= MAX_SCALE as usize => {
                format!("give column {column:?} the type fixed:{found} in the schema, or round the value")
            }
            Self::Decimals { column, .. } => {
                format!("round the value, or give column {column:?} the type bytes in the schema")
            }
            Self::TooLong { column, .. } => format!("store the content elsewhere and its digest in column {column:?}"),
            Self::Abi { .. } | Self::Word { .. } => "correct the value".into(),
            Self::Kind { column, kind, .. } => format!("give column {column:?} a cell of type {kind}"),
        }
    }

    /// Name of the column at fault.
    pub fn column(&self) -> &str {
        match self {
            Self::Null { column, .. }
            | Self::NotANumber { column, .. }
            | Self::OutOfRange { column, .. }
            | Self::Decimals { column, .. }
            | Self::TooLong { column, .. }
            | Self::Abi { column, .. }
            | Self::Word { column, .. }
            | Self::Kind { column, .. } => column,
        }
    }
}

/// The beginning of an offending text, printed in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt(String);

impl Excerpt {
    /// Up to 40 characters of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let head = &bytes[..bytes.len().min(200)];
        let text = String::from_utf8_lossy(head);
        let mut out: String = text.chars().take(40).collect();
        if bytes.len() > head.len() || text.chars().nth(40).is_some() {
            out.push_str("...");
        }
        Self(out)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Column {
    /// The cell that a text stands for, as in a csv file.
    ///
    /// Empty text is null in a nullable column, the empty string in a `bytes` column that is not nullable, and an error
    /// elsewhere. Numbers are plain digits, with `-` in front and a decimal point where the type has them; `true` and `false` are 1 and 0
    /// in `unsigned` and `signed` columns. ABI types: [`AbiType::parse`].
    pub fn parse(&self, text: &[u8]) -> Result<Cell, CellError> {
        if text.is_empty() {
            return match self.kind {
                _ if self.nullable => Ok(Cell::Null),
                ColumnType::Bytes => Ok(Cell::Bytes(Vec::new())),
                kind => Err(CellError::Null { column: self.name.clone(), kind }),
            };
        }
        let text = match (self.kind, text) {
            (ColumnType::Unsigned | ColumnType::Signed, b"true") => b"1",
            (ColumnType::Unsigned | ColumnType::Signed, b"false") => b"0",
            _ => text,
        };
        match self.kind {
            ColumnType::Bytes => self.check(Cell::Bytes(text.to_vec())),
            ColumnType::Unsigned => self.parse_unsigned(text),
            ColumnType::Signed | ColumnType::Fixed { .. } => self.parse_signed(text),
            ColumnType::Abi(kind) => match kind.parse(&String::from_utf8_lossy(text)) {
                Ok(word) => Ok(Cell::Word(word)),
                Err(error) => Err(CellError::Abi { column: self.name.clone(), error }),
            },
        }
    }

    fn parse_unsigned(&self, text: &[u8]) -> Result<Cell, CellError> {
        let (negative, digits) = sign(text);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(self.not_a_number(text));
        }
        match accumulate(0, digits) {
            Some(x) if x <= UNSIGNED_MAX as i128 && (!negative || x == 0) => Ok(Cell::Unsigned(x as u64)),
            _ => Err(self.out_of_range(text)),
        }
    }

    fn parse_signed(&self, text: &[u8]) -> Result<Cell, CellError> {
        let scale = self.kind.scale() as usize;
        let (negative, digits) = sign(text);
        let point = digits.iter().position(|&c| c == b'.');
        let (whole, fraction) = match point {
            Some(at) => (&digits[..at], &digits[at + 1..]),
            None => (digits, &digits[..0]),
        };
        let well_formed = !whole.is_empty()
            && (point.is_none() || !fraction.is_empty())
            && whole.iter().chain(fraction).all(u8::is_ascii_digit);
        if !well_formed {
            return Err(self.not_a_number(text));
        }
        let places = fraction.iter().rposition(|&c| c != b'0').map_or(0, |i| i + 1);
        if places > scale {
            let value = Excerpt::new(text);
            return Err(CellError::Decimals { column: self.name.clone(), kind: self.kind, value, found: places });
        }
        let zeros = [b'0'; MAX_SCALE as usize];
        let units = accumulate(0, whole)
            .and_then(|x| accumulate(x, &fraction[..places]))
            .and_then(|x| accumulate(x, zeros.get(..scale - places)?))
            .map(|x| if negative { -x } else { x });
        match units {
            Some(x) if (SIGNED_MIN as i128..=SIGNED_MAX as i128).contains(&x) => Ok(Cell::Signed(x as i64)),
            _ => Err(self.out_of_range(text)),
        }
    }

    fn not_a_number(&self, text: &[u8]) -> CellError {
        CellError::NotANumber { column: self.name.clone(), kind: self.kind, value: Excerpt::new(text) }
    }

    fn out_of_range(&self, text: &[u8]) -> CellError {
        let range = match self.kind {
            ColumnType::Unsigned => format!("0 to {UNSIGNED_MAX}"),
            kind => format!("{} to {}", decimal(SIGNED_MIN, kind.scale()), decimal(SIGNED_MAX, kind.scale())),
        };
        CellError::OutOfRange { column: self.name.clone(), kind: self.kind, value: Excerpt::new(text), range }
    }

    /// The cell itself when it fits this column: its kind, its range, null only where allowed.
    pub fn check(&self, cell: Cell) -> Result<Cell, CellError> {
        self.fits(&cell)?;
        Ok(cell)
    }

    pub(super) fn fits(&self, cell: &Cell) -> Result<(), CellError> {
        let kind = self.kind;
        let column = || self.name.clone();
        match (cell, kind) {
            (Cell::Null, _) if self.nullable => Ok(()),
            (Cell::Null, _) => Err(CellError::Null { column: column(), kind }),
            (Cell::Unsigned(x), ColumnType::Unsigned) if *x <= UNSIGNED_MAX => Ok(()),
            (Cell::Unsigned(x), ColumnType::Unsigned) => Err(self.out_of_range(x.to_string().as_bytes())),
            (Cell::Signed(x), ColumnType::Signed | ColumnType::Fixed { .. }) => {
                let fits = (SIGNED_MIN..=SIGNED_MAX).contains(x);
                if fits { Ok(()) } else { Err(self.out_of_range(decimal(*x, kind.scale()).as_bytes())) }
            }
            (Cell::Bytes(b), ColumnType::Bytes) if b.len() <= MAX_CELL_BYTES => Ok(()),
            (Cell::Bytes(b), ColumnType::Bytes) => Err(CellError::TooLong { column: column(), length: b.len() }),
            (Cell::Word(word), ColumnType::Abi(kind)) if kind.is_canonical(word) => Ok(()),
            (Cell::Word(word), ColumnType::Abi(kind)) => {
                Err(CellError::Word { column: column(), kind, value: kind.format(word) })
            }
            (Cell::Unsigned(_), _) => Err(CellError::Kind { column: column(), kind, found: "an unsigned number" }),
            (Cell::Signed(_), _) => Err(CellError::Kind { column: column(), kind, found: "a signed number" }),
            (Cell::Bytes(_), _) => Err(CellError::Kind { column: column(), kind, found: "a string of bytes" }),
            (Cell::Word(_), _) => Err(CellError::Kind { column: column(), kind, found: "a word of the ABI" }),
        }
    }

    /// Appends the elements of a cell, `self.kind.elements()` of them.
    pub(super) fn encode(&self, cell: &Cell, out: &mut Vec<Goldilocks>) -> Result<(), CellError> {
        self.fits(cell)?;
        match cell {
            Cell::Null => {
                out.push(NULL);
                out.extend((1..self.kind.elements()).map(|_| Goldilocks::ZERO));
            }
            Cell::Unsigned(x) => out.push(Goldilocks::new(*x)),
            Cell::Signed(x) => out.push(Goldilocks::new(x.wrapping_add(SIGNED_OFFSET as i64) as u64)),
            Cell::Bytes(bytes) => out.extend(content_digest(bytes).0),
            Cell::Word(word) => out.extend(word_elements(word)),
        }
        Ok(())
    }

    /// The cell that an element of a numeric column encodes; `None` where it encodes none, and for columns of
    /// other types.
    pub fn decode(&self, element: Goldilocks) -> Option<Cell> {
        let x = element.as_u64();
        match self.kind {
            ColumnType::Bytes | ColumnType::Abi(_) => None,
            _ if element == NULL => self.nullable.then_some(Cell::Null),
            _ if x > UNSIGNED_MAX => None,
            ColumnType::Unsigned => Some(Cell::Unsigned(x)),
            ColumnType::Signed | ColumnType::Fixed { .. } => Some(Cell::Signed(x as i64 - SIGNED_OFFSET as i64)),
        }
    }

    /// The text of a cell as in a csv file: empty for null, all `scale` places of a fixed-point number, bytes as they are.
    /// [`Self::parse`] gives the cell back, but for an empty string in a nullable `bytes` column, which reads as null.
    pub fn format(&self, cell: &Cell) -> Vec<u8> {
        match cell {
            Cell::Null => Vec::new(),
            Cell::Unsigned(x) => x.to_string().into_bytes(),
            Cell::Signed(x) => decimal(*x, self.kind.scale()).into_bytes(),
            Cell::Bytes(b) => b.clone(),
            Cell::Word(word) => match self.kind {
                ColumnType::Abi(kind) => kind.format(word).into_bytes(),
                _ => word.to_vec(),
            },
        }
    }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    }
}

/// `start` followed by `digits` in base 10, or `None` beyond 2^64: no sum of two steps overflows an i128.
fn accumulate(start: i128, digits: &[u8]) -> Option<i128> {
    digits.iter().try_fold(start, |x, c| {
        let x = x * 10 + (c - b'0') as i128;
        (x < 1 << 64).then_some(x)
    })
}

/// An integer of units 10^-scale as decimal text with exactly `scale` places.
fn decimal(units: i64, scale: u8) -> String {
    if scale == 0 {
        return units.to_string();
    }
    let one = 10u64.pow(scale.min(MAX_SCALE) as u32);
    let (sign, abs) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    format!("{sign}{}.{:0width$}", abs / one, abs % one, width = scale as usize)
}

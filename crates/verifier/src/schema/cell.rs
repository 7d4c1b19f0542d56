//! Cells: from text to field elements.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use evergrove_primitives::Goldilocks;
use serde::{Deserialize, Serialize};

use super::time;
use super::{
    Column, ColumnType, MAX_CELL_BYTES, MAX_PRECISION, MAX_SCALE, NULL, SIGNED_OFFSET, WIDE_OFFSET, content_digest,
};
use crate::abi::{AbiError, AbiType, AbiWord, word_elements};

/// Least number of a signed or fixed-point column, in units.
const SIGNED_MIN: i64 = -(1 << 62);
/// Greatest number of a signed or fixed-point column, in units.
const SIGNED_MAX: i64 = (1 << 62) - 1;
/// Greatest number of an unsigned column.
const UNSIGNED_MAX: u64 = (1 << 63) - 1;
/// The positions of the hyphens in a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The content of one column of one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cell {
    /// Null, in nullable columns only.
    Null,
    /// A number of an `unsigned` column; 1 for true and 0 for false of a `boolean` column.
    Unsigned(u64),
    /// A number of a `signed` column; of a `fixed:s` column, or a `decimal(p,s)` column with p up to 18, in units of 10^-s;
    /// days of a `date` column, and microseconds of a `timestamp` column, from 1970 on.
    Signed(i64),
    /// The content of a `bytes` column.
    Bytes(Vec<u8>),
    /// The word of a column of an ABI type.
    Word(AbiWord),
    /// A number of an `integer128` column; of a `decimal(p,s)` column with p above 18 in units of 10^-s.
    Integer128(i128),
    /// A number of an `unsigned128` column.
    Unsigned128(u128),
    /// The bytes of a `uuid` column.
    Uuid([u8; 16]),
}

/// A cell does not fit its column. [`CellError::remedy`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// A null, or an empty text instead of a number.
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
    /// The text is not a truth value, date, timestamp or UUID.
    #[error("column {column:?}: {value} is not of type {kind}: {reason}")]
    Form {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
        /// The offending text, shortened.
        value: Excerpt,
        /// The reason.
        reason: &'static str,
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
        /// The fault, and what to write.
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
    /// The kind of the cell differs from that of its column.
    #[error("column {column:?} is of type {kind}, the cell is {found}")]
    Kind {
        /// Name of the column.
        column: String,
        /// Its type.
        kind: ColumnType,
        /// The kind of the cell.
        found: &'static str,
    },
}

impl CellError {
    /// What to do, in one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::Null { kind: ColumnType::Abi(_), .. } => "fill the cell: types of the ABI have no null".into(),
            Self::Null { column, .. } => {
                format!("fill the cell, or set nullable = true on column {column:?} in the schema")
            }
            Self::NotANumber { column, kind: ColumnType::Fixed { .. } | ColumnType::Decimal { .. }, .. } => {
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
            Self::OutOfRange { column, kind: ColumnType::Unsigned128, value, .. } if value.0.starts_with('-') => {
                format!("give column {column:?} the type integer128 in the schema")
            }
            Self::OutOfRange { column, kind: ColumnType::Unsigned, .. } => {
                format!("correct the value, or give column {column:?} the type unsigned128 in the schema")
            }
            Self::OutOfRange { column, kind: ColumnType::Signed, .. } => {
                format!("correct the value, or give column {column:?} the type integer128 in the schema")
            }
            Self::OutOfRange { column, kind: ColumnType::Fixed { scale }, .. } => {
                format!(
                    "correct the value, or give column {column:?} the type decimal({MAX_PRECISION},{scale}) in the schema"
                )
            }
            Self::OutOfRange { column, .. } => {
                format!("correct the value, or give column {column:?} the type bytes in the schema")
            }
            Self::Decimals { column, kind: ColumnType::Decimal { precision, .. }, found, .. }
                if *found <= usize::from(*precision) =>
            {
                format!(
                    "give column {column:?} the type decimal({precision},{found}) in the schema, or round the value"
                )
            }
            Self::Decimals { column, found, .. } if *found <= MAX_SCALE as usize => {
                format!("give column {column:?} the type fixed:{found} in the schema, or round the value")
            }
            Self::Decimals { column, .. } => {
                format!("round the value, or give column {column:?} the type bytes in the schema")
            }
            Self::Form { column, kind: ColumnType::Timestamp, value, .. } if value.0.parse::<i128>().is_ok() => {
                format!("round it to microseconds, or give column {column:?} the type signed in the schema")
            }
            Self::Form { column, kind, .. } => {
                let form = match kind {
                    ColumnType::Boolean => "true or false",
                    ColumnType::Date => "YYYY-MM-DD, for example 2024-01-31",
                    ColumnType::Timestamp => "YYYY-MM-DDTHH:MM:SSZ, for example 2024-01-31T12:34:56.789Z",
                    _ => "32 hexadecimal digits with hyphens, 8-4-4-4-12",
                };
                format!("write it as {form}, or give column {column:?} the type bytes in the schema")
            }
            Self::TooLong { column, .. } => format!("store the content elsewhere and its digest in column {column:?}"),
            Self::Abi { .. } | Self::Word { .. } => "correct the value".into(),
            Self::Kind { column, kind, .. } => format!("give column {column:?} a cell of type {kind}"),
        }
    }

    /// Name of the column with the fault.
    pub fn column(&self) -> &str {
        match self {
            Self::Null { column, .. }
            | Self::NotANumber { column, .. }
            | Self::OutOfRange { column, .. }
            | Self::Decimals { column, .. }
            | Self::Form { column, .. }
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

    /// The text, without quotes.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Column {
    /// The cell that a text represents, as in a csv file.
    ///
    /// Empty text is null in a nullable column, the empty string in a `bytes` column that is not nullable, and an error
    /// elsewhere. Numbers are plain digits, preceded by `-` and with a decimal point if the type has them; `true` and
    /// `false` are 1 and 0 in `unsigned` and `signed` columns. In a `boolean` column 1 and 0 are `true` and `false`, in
    /// letters of either case. Dates are `YYYY-MM-DD`, points in time as [`time::parse_timestamp`] reads them, UUIDs 32
    /// digits with hyphens. ABI types: [`AbiType::parse`].
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
        let form =
            |reason| CellError::Form { column: self.name.clone(), kind: self.kind, value: Excerpt::new(text), reason };
        match self.kind {
            ColumnType::Bytes => self.check(Cell::Bytes(text.to_vec())),
            ColumnType::Unsigned | ColumnType::Unsigned128 => self.parse_unsigned(text),
            ColumnType::Signed | ColumnType::Fixed { .. } | ColumnType::Integer128 | ColumnType::Decimal { .. } => {
                self.parse_signed(text)
            }
            ColumnType::Abi(kind) => match kind.parse(&String::from_utf8_lossy(text)) {
                Ok(word) => Ok(Cell::Word(word)),
                Err(error) => Err(CellError::Abi { column: self.name.clone(), error }),
            },
            ColumnType::Boolean => {
                let truth = truth(text).ok_or_else(|| form("a truth value is true or false"))?;
                Ok(Cell::Unsigned(truth.into()))
            }
            ColumnType::Date => time::parse_date(text).map(Cell::Signed).map_err(form),
            ColumnType::Timestamp => time::parse_timestamp(text).map(Cell::Signed).map_err(form),
            ColumnType::Uuid => {
                let uuid = parse_uuid(text).ok_or_else(|| form("a UUID has 32 hexadecimal digits and 4 hyphens"))?;
                Ok(Cell::Uuid(uuid))
            }
        }
    }

    fn parse_unsigned(&self, text: &[u8]) -> Result<Cell, CellError> {
        let (negative, digits) = sign(text);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(self.not_a_number(text));
        }
        let cell = match accumulate(0, digits) {
            Some(x) if negative && x != 0 => return Err(self.out_of_range(text)),
            Some(x) if self.kind == ColumnType::Unsigned128 => Some(Cell::Unsigned128(x)),
            Some(x) => u64::try_from(x).ok().filter(|x| *x <= UNSIGNED_MAX).map(Cell::Unsigned),
            None => None,
        };
        cell.ok_or_else(|| self.out_of_range(text))
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
        let zeros = [b'0'; MAX_PRECISION as usize];
        let units = accumulate(0, whole)
            .and_then(|x| accumulate(x, &fraction[..places]))
            .and_then(|x| accumulate(x, zeros.get(..scale - places)?))
            .and_then(|x| if negative { 0i128.checked_sub_unsigned(x) } else { x.try_into().ok() });
        let cell = units.map(|units| self.of_units(units));
        cell.filter(|cell| self.fits(cell).is_ok()).ok_or_else(|| self.out_of_range(text))
    }

    /// The cell of a number of units in a column of signed numbers.
    fn of_units(&self, units: i128) -> Cell {
        match i64::try_from(units) {
            Ok(x) if self.kind.is_number() => Cell::Signed(x),
            _ => Cell::Integer128(units),
        }
    }

    fn not_a_number(&self, text: &[u8]) -> CellError {
        CellError::NotANumber { column: self.name.clone(), kind: self.kind, value: Excerpt::new(text) }
    }

    fn out_of_range(&self, text: &[u8]) -> CellError {
        let range = match (self.kind, units_of(self.kind)) {
            (ColumnType::Unsigned, _) => format!("0 to {UNSIGNED_MAX}"),
            (ColumnType::Unsigned128, _) => format!("0 to {}", u128::MAX),
            (_, (low, high)) => {
                let [low, high] = [low, high].map(|x| self.format(&self.of_units(x)));
                format!("{} to {}", String::from_utf8_lossy(&low), String::from_utf8_lossy(&high))
            }
        };
        CellError::OutOfRange { column: self.name.clone(), kind: self.kind, value: Excerpt::new(text), range }
    }

    /// The cell itself if it fits this column: its kind, its range, null only where allowed.
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
            (Cell::Unsigned(x), ColumnType::Unsigned | ColumnType::Boolean) => {
                let greatest = if kind == ColumnType::Boolean { 1 } else { UNSIGNED_MAX };
                if *x <= greatest { Ok(()) } else { Err(self.out_of_range(x.to_string().as_bytes())) }
            }
            (Cell::Unsigned128(_), ColumnType::Unsigned128) | (Cell::Uuid(_), ColumnType::Uuid) => Ok(()),
            (Cell::Signed(_) | Cell::Integer128(_), _) if has_units(cell, kind) => {
                let units = match cell {
                    Cell::Integer128(x) => *x,
                    Cell::Signed(x) => (*x).into(),
                    _ => 0,
                };
                let (low, high) = units_of(kind);
                let fits = (low..=high).contains(&units);
                if fits { Ok(()) } else { Err(self.out_of_range(decimal(units, kind.scale()).as_bytes())) }
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
            (Cell::Integer128(_), _) => {
                Err(CellError::Kind { column: column(), kind, found: "a signed number of 128 bits" })
            }
            (Cell::Unsigned128(_), _) => {
                Err(CellError::Kind { column: column(), kind, found: "an unsigned number of 128 bits" })
            }
            (Cell::Uuid(_), _) => Err(CellError::Kind { column: column(), kind, found: "a UUID" }),
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
            Cell::Integer128(x) => out.extend(quarters(x.cast_unsigned().wrapping_add(WIDE_OFFSET))),
            Cell::Unsigned128(x) => out.extend(quarters(*x)),
            Cell::Uuid(bytes) => out.extend(quarters(u128::from_be_bytes(*bytes))),
        }
        Ok(())
    }

    /// The cell that an element of a numeric column encodes; `None` if it encodes no cell, and for columns of other
    /// types.
    pub fn decode(&self, element: Goldilocks) -> Option<Cell> {
        let x = element.as_u64();
        let cell = match self.kind {
            kind if !kind.is_number() => return None,
            _ if element == NULL => Cell::Null,
            _ if x > UNSIGNED_MAX => return None,
            ColumnType::Unsigned | ColumnType::Boolean => Cell::Unsigned(x),
            _ => Cell::Signed(x as i64 - SIGNED_OFFSET as i64),
        };
        self.fits(&cell).is_ok().then_some(cell)
    }

    /// The text of a cell as in a csv file: empty for null, all `scale` places of a fixed-point number, bytes
    /// unchanged. [`Self::parse`] returns the cell again, except for an empty string in a nullable `bytes` column,
    /// which reads as null.
    pub fn format(&self, cell: &Cell) -> Vec<u8> {
        match cell {
            Cell::Null => Vec::new(),
            Cell::Unsigned(x) if self.kind == ColumnType::Boolean => (*x != 0).to_string().into_bytes(),
            Cell::Unsigned(x) => x.to_string().into_bytes(),
            Cell::Signed(x) => match self.kind {
                ColumnType::Date if time::DATES.contains(x) => time::format_date(*x).into_bytes(),
                ColumnType::Timestamp if time::TIMESTAMPS.contains(x) => time::format_timestamp(*x).into_bytes(),
                kind => decimal((*x).into(), kind.scale()).into_bytes(),
            },
            Cell::Integer128(x) => decimal(*x, self.kind.scale()).into_bytes(),
            Cell::Unsigned128(x) => x.to_string().into_bytes(),
            Cell::Uuid(bytes) => format_uuid(bytes).into_bytes(),
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

/// True if a column of this type has cells of this kind, as numbers of units.
fn has_units(cell: &Cell, kind: ColumnType) -> bool {
    match kind {
        ColumnType::Signed | ColumnType::Fixed { .. } | ColumnType::Date | ColumnType::Timestamp => {
            matches!(cell, Cell::Signed(_))
        }
        ColumnType::Decimal { .. } if kind.is_number() => matches!(cell, Cell::Signed(_)),
        ColumnType::Decimal { .. } | ColumnType::Integer128 => matches!(cell, Cell::Integer128(_)),
        ColumnType::Unsigned
        | ColumnType::Bytes
        | ColumnType::Abi(_)
        | ColumnType::Boolean
        | ColumnType::Uuid
        | ColumnType::Unsigned128 => false,
    }
}

/// The least and the greatest number of units of a type of signed numbers, and of truth values.
fn units_of(kind: ColumnType) -> (i128, i128) {
    let ends = |range: core::ops::RangeInclusive<i64>| ((*range.start()).into(), (*range.end()).into());
    match kind {
        ColumnType::Boolean => (0, 1),
        ColumnType::Date => ends(time::DATES),
        ColumnType::Timestamp => ends(time::TIMESTAMPS),
        ColumnType::Integer128 => (i128::MIN, i128::MAX),
        ColumnType::Decimal { precision, .. } => {
            let end = 10i128.checked_pow(precision.into()).unwrap_or(i128::MAX);
            (1 - end, end - 1)
        }
        _ => ends(SIGNED_MIN..=SIGNED_MAX),
    }
}

/// `start` followed by `digits` in base 10, or `None` beyond 2^128.
fn accumulate(start: u128, digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(start, |x, c| x.checked_mul(10)?.checked_add((c - b'0').into()))
}

/// An integer of units 10^-scale as decimal text with exactly `scale` places.
fn decimal(units: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A number as four of 32 bits, the highest first.
fn quarters(x: u128) -> [Goldilocks; 4] {
    [96, 64, 32, 0].map(|shift| Goldilocks::new((x >> shift) as u64 & 0xffff_ffff))
}

/// The truth value of a text.
fn truth(text: &[u8]) -> Option<bool> {
    let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
    if is(b"true") || is(b"1") { Some(true) } else { (is(b"false") || is(b"0")).then_some(false) }
}

/// The bytes of a UUID in its usual form, with digits of either case.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut digits = 0u128;
    for (at, byte) in text.iter().enumerate() {
        match (HYPHENS.contains(&at), byte) {
            (true, b'-') => {}
            (false, byte) => digits = digits << 4 | u128::from(char::from(*byte).to_digit(16)?),
            (true, _) => return None,
        }
    }
    (text.len() == 36).then(|| digits.to_be_bytes())
}

/// A UUID as 32 digits in lower case, with hyphens.
fn format_uuid(bytes: &[u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
    for at in HYPHENS {
        text.insert(at, '-');
    }
    text
}

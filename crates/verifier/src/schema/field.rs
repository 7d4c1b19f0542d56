//! Fields in files, and the cells that they become.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;

use super::{Cell, CellError, Column, ColumnType, Excerpt};

/// One field of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    /// An explicit null.
    Null,
    /// Text of a format without types: empty text may mean null.
    Text(Cow<'a, [u8]>),
    /// The decimal text of a number.
    Number(Cow<'a, str>),
    /// A string: empty is not null.
    Bytes(Cow<'a, [u8]>),
    /// A truth value.
    Bool(bool),
    /// A date: days from 1970-01-01.
    Date(i64),
    /// A point in time: units from 1970-01-01T00:00:00Z.
    Timestamp {
        /// Their number.
        units: i128,
        /// Units in a second.
        per_second: u32,
    },
    /// The bytes of a UUID.
    Uuid([u8; 16]),
}

impl Field<'_> {
    /// The text of the field, for error messages and positions.
    pub fn text(&self) -> Cow<'_, [u8]> {
        match self {
            Field::Null => Cow::Borrowed(b""),
            Field::Text(t) | Field::Bytes(t) => Cow::Borrowed(t.as_ref()),
            Field::Number(n) => Cow::Borrowed(n.as_bytes()),
            Field::Bool(b) => Cow::Borrowed(if *b { b"true" } else { b"false" }),
            Field::Date(days) => Cow::Owned(days.to_string().into_bytes()),
            Field::Timestamp { units, .. } => Cow::Owned(units.to_string().into_bytes()),
            Field::Uuid(bytes) => Cow::Owned(bytes.to_vec()),
        }
    }

    /// The cell of the field in this column.
    pub fn cell(self, column: &Column) -> Result<Cell, CellError> {
        match (self, column.kind) {
            (Field::Null, _) => column.check(Cell::Null),
            (Field::Bytes(b), ColumnType::Bytes) => column.check(Cell::Bytes(b.into_owned())),
            (Field::Date(days), ColumnType::Date) => column.check(Cell::Signed(days)),
            (Field::Timestamp { units, per_second }, ColumnType::Timestamp) => {
                let micros = micros(units, per_second).map_err(|reason| CellError::Form {
                    column: column.name.clone(),
                    kind: column.kind,
                    value: Excerpt::new(units.to_string().as_bytes()),
                    reason,
                })?;
                column.check(Cell::Signed(micros))
            }
            (Field::Uuid(bytes), ColumnType::Uuid) => column.check(Cell::Uuid(bytes)),
            (Field::Uuid(bytes), ColumnType::Bytes) => column.check(Cell::Bytes(bytes.to_vec())),
            (Field::Number(n), kind) if kind != ColumnType::Bytes => match plain(&n) {
                Some(digits) => column.parse(digits.as_bytes()),
                None => column.parse(n.as_bytes()),
            },
            (field, _) => column.parse(&field.text()),
        }
    }
}

/// Converts `units`, of which a second has `per_second`, to microseconds.
fn micros(units: i128, per_second: u32) -> Result<i64, &'static str> {
    const MICROS: i128 = 1_000_000;
    let per_second = i128::from(per_second.max(1));
    let scaled = units.checked_mul(MICROS).ok_or("it is outside the years 0001 to 9999")?;
    if scaled % per_second != 0 {
        return Err("it has parts of a microsecond");
    }
    i64::try_from(scaled / per_second).map_err(|_| "it is outside the years 0001 to 9999")
}

/// The most zeros that writing out an exponent may add.
const MAX_SHIFT: i32 = 64;

/// A number with an exponent as plain digits (`1.5e-3` is `0.0015`); `None` if it has no exponent, or one that is too
/// large to matter.
pub fn plain(number: &str) -> Option<String> {
    let at = number.find(['e', 'E'])?;
    let exponent: i32 = number[at + 1..].parse().ok()?;
    let (sign, mantissa) = match number[..at].strip_prefix('-') {
        Some(m) => ("-", m),
        None => ("", &number[..at]),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i32 + exponent.checked_abs().filter(|e| *e <= MAX_SHIFT).map(|_| exponent)?;
    let (whole, fraction) = if point <= 0 {
        ("0".to_string(), "0".repeat(point.unsigned_abs() as usize) + &digits)
    } else if point as usize >= digits.len() {
        (digits.clone() + &"0".repeat(point as usize - digits.len()), String::new())
    } else {
        (digits[..point as usize].to_string(), digits[point as usize..].to_string())
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        w => w,
    };
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

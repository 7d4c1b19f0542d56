//! Cells of rows, as programs read and write them.

use core::cmp::Ordering;
use core::fmt;

use evergrove_commit::schema::{Cell, CellError, Column, ColumnType};
use evergrove_verifier::abi::{AbiType, AbiWord};

/// The content of one cell.
///
/// A value compares with integers, floating-point numbers and text: `row["cost"] > 1_000`, `row["state"] == "Ohio"`.
/// There a number never equals a text, and a null equals neither. Two values are equal only if variant, digits and
/// scale match: 1.0 and 1.00 differ, and null equals null ([`Value::is_null`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No content.
    Null,
    /// A whole number.
    Integer(i128),
    /// `units` times 10^-`scale`: a number of a fixed-point column.
    Decimal {
        /// The number without its point.
        units: i128,
        /// Digits after the point.
        scale: u8,
    },
    /// The content of a `bytes` column, for example UTF-8 text.
    Bytes(Vec<u8>),
    /// The word of a column of an ABI type. A number compares with numbers. A word of another type equals every text
    /// that the type reads as this word: for example, an address in either case.
    Word {
        /// The type.
        kind: AbiType,
        /// The word.
        word: AbiWord,
    },
    /// True or false, of a `boolean` column.
    Boolean(bool),
    /// A date, timestamp or UUID, or an integer of more than 127 bits: a cell with its type. It equals every text that
    /// the type reads as this cell: for example, a UUID in either case.
    Typed {
        /// The type.
        kind: ColumnType,
        /// The cell.
        cell: Cell,
    },
}

impl Value {
    /// The text of a `bytes` column, if the value is UTF-8 text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => core::str::from_utf8(bytes).ok(),
            Self::Null
            | Self::Integer(_)
            | Self::Decimal { .. }
            | Self::Word { .. }
            | Self::Boolean(_)
            | Self::Typed { .. } => None,
        }
    }

    /// The whole number of a column of integers, or of an ABI type, if it has at most 128 bits with its sign.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Integer(n) => Some(*n),
            Self::Word { kind, word } => integer(*kind, word)?.ok(),
            Self::Null | Self::Decimal { .. } | Self::Bytes(_) | Self::Boolean(_) | Self::Typed { .. } => None,
        }
    }

    /// True where the cell has no content.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    pub(crate) fn of(column: &Column, cell: &Cell) -> Self {
        match (cell, column.kind) {
            (Cell::Null, _) => Self::Null,
            (Cell::Unsigned(n), ColumnType::Boolean) => Self::Boolean(*n == 1),
            (Cell::Unsigned(n), _) => Self::Integer((*n).into()),
            (Cell::Signed(_), ColumnType::Date | ColumnType::Timestamp) | (Cell::Uuid(_), _) => {
                Self::Typed { kind: column.kind, cell: cell.clone() }
            }
            (Cell::Signed(n), ColumnType::Fixed { scale } | ColumnType::Decimal { scale, .. }) => {
                Self::Decimal { units: (*n).into(), scale }
            }
            (Cell::Signed(n), _) => Self::Integer((*n).into()),
            (Cell::Integer128(units), ColumnType::Decimal { scale, .. }) => Self::Decimal { units: *units, scale },
            (Cell::Integer128(n), _) => Self::Integer(*n),
            (Cell::Unsigned128(n), kind) => {
                i128::try_from(*n).map_or_else(|_| Self::Typed { kind, cell: cell.clone() }, Self::Integer)
            }
            (Cell::Bytes(bytes), _) => Self::Bytes(bytes.clone()),
            (Cell::Word(word), ColumnType::Abi(kind)) => Self::Word { kind, word: *word },
            // No other column holds a word.
            (Cell::Word(word), _) => Self::Bytes(word.to_vec()),
        }
    }

    /// The cell of this value in a column. A text in a column of numbers is read as a number.
    pub(crate) fn cell(&self, column: &Column) -> Result<Cell, CellError> {
        let is_bytes = column.kind == ColumnType::Bytes;
        match self {
            Self::Null => column.check(Cell::Null),
            Self::Bytes(bytes) if is_bytes => column.check(Cell::Bytes(bytes.clone())),
            Self::Bytes(text) => column.parse(text),
            Self::Boolean(_) if is_bytes => {
                Err(CellError::Kind { column: column.name.clone(), kind: column.kind, found: "a truth value" })
            }
            Self::Typed { kind, cell } if *kind == column.kind => column.check(cell.clone()),
            Self::Typed { .. } => column.parse(self.to_string().as_bytes()),
            Self::Integer(_) | Self::Decimal { .. } if is_bytes => {
                Err(CellError::Kind { column: column.name.clone(), kind: column.kind, found: "a number" })
            }
            Self::Word { .. } if is_bytes => {
                Err(CellError::Kind { column: column.name.clone(), kind: column.kind, found: "a word of the ABI" })
            }
            Self::Integer(_) | Self::Decimal { .. } | Self::Word { .. } | Self::Boolean(_) => {
                column.parse(self.to_string().as_bytes())
            }
        }
    }

    /// The number as an integer of units 10^-`scale`, and the scale.
    fn number(&self) -> Option<(i128, u8)> {
        match self {
            Self::Integer(n) => Some((*n, 0)),
            Self::Decimal { units, scale } => Some((*units, *scale)),
            Self::Null | Self::Bytes(_) | Self::Word { .. } | Self::Boolean(_) | Self::Typed { .. } => None,
        }
    }

    fn compare_integer(&self, other: i128) -> Option<Ordering> {
        if let Self::Word { kind, word } = self {
            return Some(integer(*kind, word)?.map_or_else(|side| side, |n| n.cmp(&other)));
        }
        if let Self::Typed { cell: Cell::Unsigned128(_), .. } = self {
            // It is greater than every number of 127 bits.
            return Some(Ordering::Greater);
        }
        let (units, scale) = self.number()?;
        let scaled = 10i128.checked_pow(scale.into()).and_then(|power| other.checked_mul(power));
        // A number too large to scale is larger than every cell.
        Some(scaled.map_or(if other > 0 { Ordering::Less } else { Ordering::Greater }, |other| units.cmp(&other)))
    }

    fn compare_float(&self, other: f64) -> Option<Ordering> {
        if let Self::Word { kind: kind @ (AbiType::Uint(_) | AbiType::Int(_)), word } = self {
            return kind.format(word).parse::<f64>().ok()?.partial_cmp(&other);
        }
        if let Self::Typed { cell: Cell::Unsigned128(n), .. } = self {
            return (*n as f64).partial_cmp(&other);
        }
        let (units, scale) = self.number()?;
        (units as f64 / 10f64.powi(scale.into())).partial_cmp(&other)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Decimal { units, scale: 0 } => write!(f, "{units}"),
            Self::Decimal { units, scale } => {
                let sign = if *units < 0 { "-" } else { "" };
                let (digits, width) = (units.unsigned_abs().to_string(), usize::from(*scale) + 1);
                let digits = format!("{digits:0>width$}");
                let (whole, places) = digits.split_at(digits.len() - usize::from(*scale));
                write!(f, "{sign}{whole}.{places}")
            }
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Word { kind, word } => f.write_str(&kind.format(word)),
            Self::Boolean(truth) => truth.fmt(f),
            Self::Typed { kind, cell } => f.write_str(&String::from_utf8_lossy(&Column::new("", *kind).format(cell))),
        }
    }
}

/// The number of an ABI type; for more than 128 bits, its comparison with numbers of 128 bits. `None` for other types.
fn integer(kind: AbiType, word: &AbiWord) -> Option<Result<i128, Ordering>> {
    let below_zero = match kind {
        AbiType::Uint(_) => false,
        AbiType::Int(_) => word[0] & 0x80 != 0,
        AbiType::Address | AbiType::Bool | AbiType::Bytes(_) => return None,
    };
    let (above, low) = word.split_last_chunk::<16>()?;
    let n = i128::from_be_bytes(*low);
    let sign = if below_zero { 0xff } else { 0 };
    let fits = above.iter().all(|&b| b == sign) && (n < 0) == below_zero;
    Some(if fits { Ok(n) } else { Err(if below_zero { Ordering::Less } else { Ordering::Greater }) })
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl From<$t> for Value {
            fn from(n: $t) -> Self {
                Self::Integer(n as i128)
            }
        }
        impl PartialEq<$t> for Value {
            fn eq(&self, other: &$t) -> bool {
                self.compare_integer(*other as i128) == Some(Ordering::Equal)
            }
        }
        impl PartialOrd<$t> for Value {
            fn partial_cmp(&self, other: &$t) -> Option<Ordering> {
                self.compare_integer(*other as i128)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, i128, isize);

impl PartialEq<f64> for Value {
    fn eq(&self, other: &f64) -> bool {
        self.compare_float(*other) == Some(Ordering::Equal)
    }
}

impl PartialOrd<f64> for Value {
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.compare_float(*other)
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        match self {
            Self::Bytes(bytes) => bytes == other.as_bytes(),
            // A text never equals a number.
            Self::Word { kind: AbiType::Uint(_) | AbiType::Int(_), .. } => false,
            Self::Word { kind, word } => kind.parse(other).as_ref() == Ok(word),
            Self::Typed { kind: ColumnType::Unsigned128, .. } => false,
            Self::Typed { kind, cell } => Column::new("", *kind).parse(other.as_bytes()).as_ref() == Ok(cell),
            Self::Null | Self::Integer(_) | Self::Decimal { .. } | Self::Boolean(_) => false,
        }
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialEq<String> for Value {
    fn eq(&self, other: &String) -> bool {
        self == other.as_str()
    }
}

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        matches!(self, Self::Boolean(truth) if truth == other)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Boolean(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Bytes(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Bytes(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_compare_as_numbers_and_as_text() {
        let price = Value::Decimal { units: -1_250, scale: 2 };
        assert!(price == -12.5 && price < -12 && price > -13 && price != -12);
        assert!(price < u64::MAX && price > i64::MIN);
        assert_eq!(price.to_string(), "-12.50");
        assert_eq!(Value::Decimal { units: 7, scale: 3 }.to_string(), "0.007");
        let (five, text) = (Value::from(5u8), Value::from("5"));
        assert!(five == 5 && five == 5.0 && five >= 5 && !(five > 5) && five != "5");
        assert!(text != 5 && text == "5");
        let (owned, large) = (String::from("5"), Value::from(i128::MAX));
        assert_eq!((&text, &Value::from(&owned)), (&Value::from("5"), &text));
        assert!(text == owned && large == i128::MAX && large > i64::MAX && large < f64::MAX);
        assert_eq!(Value::Null, Value::from(None::<&str>));
        assert_ne!(Value::Decimal { units: 10, scale: 1 }, Value::Decimal { units: 100, scale: 2 });
        let null = Value::from(None::<u64>);
        assert!(null.is_null() && null != 0 && null != "" && !(null < 1) && !(null > -1));
    }

    #[test]
    fn cells_keep_their_column_s_type() {
        let column = |kind| Column::new("c", kind);
        let fixed = column(ColumnType::Fixed { scale: 2 });
        for (value, units) in [(Value::from(12), 1_200), (Value::from("12.5"), 1_250), (Value::from("-0.01"), -1)] {
            assert_eq!(value.cell(&fixed), Ok(Cell::Signed(units)));
            let back = Value::of(&fixed, &Cell::Signed(units));
            assert_eq!(
                (back.cell(&fixed), back),
                (Ok(Cell::Signed(units)), Value::Decimal { units: units.into(), scale: 2 })
            );
        }
        for (kind, text) in [
            ("boolean", "true"),
            ("date", "2024-02-29"),
            ("timestamp", "2024-02-29T12:00:00.500Z"),
            ("uuid", "00112233-4455-6677-8899-aabbccddeeff"),
            ("integer128", "-170141183460469231731687303715884105728"),
            ("unsigned128", "340282366920938463463374607431768211455"),
            ("unsigned128", "5"),
            ("decimal(9,2)", "-0.05"),
            ("decimal(38,2)", "12345678901234567890.50"),
        ] {
            let column = column(kind.parse().unwrap());
            let cell = column.parse(text.as_bytes()).unwrap();
            let value = Value::of(&column, &cell);
            assert_eq!((value.cell(&column), value.to_string()), (Ok(cell), text.to_owned()), "{kind}");
        }
        let of = |kind: &str, text: &str| {
            let column = column(kind.parse().unwrap());
            Value::of(&column, &column.parse(text.as_bytes()).unwrap())
        };
        assert!(of("boolean", "true") == true && of("boolean", "false") != true && of("boolean", "1") != 1);
        assert!(
            of("timestamp", "2024-01-01") == "2024-01-01 01:00:00+01:00" && of("date", "2024-01-01") != "2024-01-02"
        );
        let large = of("unsigned128", "340282366920938463463374607431768211455");
        assert!(large > i128::MAX && large != "340282366920938463463374607431768211455" && large > 3e38);
        assert_eq!(Value::from(2_500).cell(&column(ColumnType::Unsigned)), Ok(Cell::Unsigned(2_500)));
        assert!(matches!(
            Value::from(-1).cell(&column(ColumnType::Unsigned)),
            Err(CellError::OutOfRange { .. } | CellError::NotANumber { .. })
        ));
        assert!(matches!(Value::from(1).cell(&column(ColumnType::Bytes)), Err(CellError::Kind { .. })));
        assert!(matches!(
            Value::Null.cell(&column(ColumnType::Bytes)),
            Err(CellError::Null { .. } | CellError::Kind { .. })
        ));
        assert_eq!(Value::from("").cell(&column(ColumnType::Bytes).nullable()), Ok(Cell::Bytes(vec![])));
    }
}

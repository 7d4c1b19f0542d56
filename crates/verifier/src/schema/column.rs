//! Columns and their types.

use alloc::string::String;
use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::abi::{AbiType, WORD_HALVES};

/// The greatest scale of a fixed-point column: 10^18 is the last power of ten below 2^62.
pub const MAX_SCALE: u8 = 18;
/// The greatest number of digits of a decimal column.
pub const MAX_PRECISION: u8 = 38;
/// A decimal column of at most this many digits is encoded as one number.
const NUMBER_DIGITS: u8 = 18;
/// Field elements of a hash, a UUID, or a number of 128 bits.
const WIDE_ELEMENTS: usize = 4;

/// The type of a column.
///
/// As text: `unsigned`, `signed`, `fixed:2`, `bytes`, `boolean`, `date`, `timestamp`, `uuid`, `integer128`, `unsigned128`,
/// `decimal(20,2)`, and Solidity's names of ABI types: `address`, `uint256`, `bytes32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ColumnType {
    /// Integers below 2^63.
    Unsigned,
    /// Integers from -2^62 to 2^62 - 1.
    Signed,
    /// Decimal numbers with `scale` places, as integers of units 10^-scale in the range of [`ColumnType::Signed`].
    Fixed {
        /// Number of decimal places.
        scale: u8,
    },
    /// Strings of bytes, committed to by their hash.
    Bytes,
    /// Words of Solidity's ABI, never null.
    Abi(AbiType),
    /// True or false.
    Boolean,
    /// Days from 1970-01-01, in the years 1 to 9999.
    Date,
    /// Microseconds from 1970-01-01T00:00:00Z, in the years 1 to 9999.
    Timestamp,
    /// 16 bytes.
    Uuid,
    /// Integers from -2^127 to 2^127 - 1.
    Integer128,
    /// Integers below 2^128.
    Unsigned128,
    /// Decimal numbers of up to `precision` digits, `scale` of them after the point, as integers of units 10^-scale.
    Decimal {
        /// Number of digits, 1 to [`MAX_PRECISION`].
        precision: u8,
        /// Number of decimal places, at most `precision`.
        scale: u8,
    },
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name, unique in its schema.
    pub name: String,
    /// Type of its cells.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// True when a cell may be null.
    #[serde(default)]
    pub nullable: bool,
}

impl Column {
    /// A column without nulls.
    pub fn new(name: impl Into<String>, kind: ColumnType) -> Self {
        Self { name: name.into(), kind, nullable: false }
    }

    /// The same column, nulls allowed.
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }
}

impl ColumnType {
    /// Field elements of a cell: 4 for hashed bytes, UUIDs and numbers of 128 bits, 8 for a word of the ABI, and 1 for
    /// others.
    pub const fn elements(self) -> usize {
        match self {
            Self::Bytes | Self::Uuid | Self::Integer128 | Self::Unsigned128 => WIDE_ELEMENTS,
            Self::Decimal { precision, .. } if precision > NUMBER_DIGITS => WIDE_ELEMENTS,
            Self::Abi(_) => WORD_HALVES,
            Self::Unsigned
            | Self::Signed
            | Self::Fixed { .. }
            | Self::Boolean
            | Self::Date
            | Self::Timestamp
            | Self::Decimal { .. } => 1,
        }
    }

    /// True if a cell is one number below 2^63, which keeps the order of the cells.
    pub const fn is_number(self) -> bool {
        self.elements() == 1
    }

    /// Decimal places: 0 for all types except decimal numbers.
    pub const fn scale(self) -> u8 {
        match self {
            Self::Fixed { scale } | Self::Decimal { scale, .. } => scale,
            Self::Unsigned
            | Self::Signed
            | Self::Bytes
            | Self::Abi(_)
            | Self::Boolean
            | Self::Date
            | Self::Timestamp
            | Self::Uuid
            | Self::Integer128
            | Self::Unsigned128 => 0,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("unsigned"),
            Self::Signed => f.write_str("signed"),
            Self::Fixed { scale } => write!(f, "fixed:{scale}"),
            Self::Bytes => f.write_str("bytes"),
            Self::Abi(kind) => kind.fmt(f),
            Self::Boolean => f.write_str("boolean"),
            Self::Date => f.write_str("date"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Uuid => f.write_str("uuid"),
            Self::Integer128 => f.write_str("integer128"),
            Self::Unsigned128 => f.write_str("unsigned128"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
        }
    }
}

/// A text does not name a column type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown column type {0:?}: choose unsigned, signed, fixed:0 to fixed:{MAX_SCALE}, bytes, boolean, date, timestamp, uuid, \
     integer128, unsigned128, decimal(P,S) of P digits, 1 to {MAX_PRECISION}, with S behind the point, or a type of Solidity: \
     address, bool, uint8 to uint256, int8 to int256, bytes1 to bytes32"
)]
pub struct ParseColumnTypeError(pub String);

impl FromStr for ColumnType {
    type Err = ParseColumnTypeError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| digits.parse::<u8>().ok().filter(|x| x.to_string() == digits);
        let fixed =
            |digits: &str| number(digits).filter(|scale| *scale <= MAX_SCALE).map(|scale| Self::Fixed { scale });
        let decimal = |arguments: &str| {
            let (precision, scale) = arguments.strip_suffix(')')?.split_once(',')?;
            let (precision, scale) = (number(precision)?, number(scale)?);
            let fits = (1..=MAX_PRECISION).contains(&precision) && scale <= precision;
            fits.then_some(Self::Decimal { precision, scale })
        };
        match s {
            "unsigned" => Some(Self::Unsigned),
            "signed" => Some(Self::Signed),
            "bytes" => Some(Self::Bytes),
            "boolean" => Some(Self::Boolean),
            "date" => Some(Self::Date),
            "timestamp" => Some(Self::Timestamp),
            "uuid" => Some(Self::Uuid),
            "integer128" => Some(Self::Integer128),
            "unsigned128" => Some(Self::Unsigned128),
            _ => {
                let named = s.strip_prefix("fixed:").and_then(fixed);
                let named = named.or_else(|| s.strip_prefix("decimal(").and_then(decimal));
                named.or_else(|| s.parse().ok().map(Self::Abi))
            }
        }
        .ok_or_else(|| ParseColumnTypeError(s.into()))
    }
}

impl TryFrom<String> for ColumnType {
    type Error = ParseColumnTypeError;
    fn try_from(s: String) -> Result<Self, Self::Error> {
        s.parse()
    }
}

impl From<ColumnType> for String {
    fn from(t: ColumnType) -> Self {
        t.to_string()
    }
}

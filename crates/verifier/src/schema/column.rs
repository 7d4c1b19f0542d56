//! Columns and their types.

use alloc::string::String;
use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::abi::{AbiType, WORD_HALVES};

/// The greatest scale of a fixed-point column: 10^18 is the last power of ten below 2^62.
pub const MAX_SCALE: u8 = 18;

/// The type of a column.
///
/// As text: `unsigned`, `signed`, `fixed:2`, `bytes`, and Solidity's names of ABI types: `address`, `uint256`, `bytes32`.
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
    /// Field elements of a cell: 4 for hashed bytes, 8 for a word of the ABI, else 1.
    pub const fn elements(self) -> usize {
        match self {
            Self::Bytes => 4,
            Self::Abi(_) => WORD_HALVES,
            Self::Unsigned | Self::Signed | Self::Fixed { .. } => 1,
        }
    }

    /// Decimal places: 0 for integers.
    pub const fn scale(self) -> u8 {
        match self {
            Self::Fixed { scale } => scale,
            Self::Unsigned | Self::Signed | Self::Bytes | Self::Abi(_) => 0,
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
        }
    }
}

/// A text names no column type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown column type {0:?}: choose unsigned, signed, fixed:0 to fixed:{MAX_SCALE}, bytes, or a type of Solidity: address, bool, \
     uint8 to uint256, int8 to int256, bytes1 to bytes32"
)]
pub struct ParseColumnTypeError(pub String);

impl FromStr for ColumnType {
    type Err = ParseColumnTypeError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let fixed = |digits: &str| {
            let scale: u8 = digits.parse().ok()?;
            (scale <= MAX_SCALE && scale.to_string() == digits).then_some(Self::Fixed { scale })
        };
        match s {
            "unsigned" => Some(Self::Unsigned),
            "signed" => Some(Self::Signed),
            "bytes" => Some(Self::Bytes),
            _ => s.strip_prefix("fixed:").and_then(fixed).or_else(|| s.parse().ok().map(Self::Abi)),
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

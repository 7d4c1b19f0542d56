//! What can be wrong with a file.

use std::fmt;
use std::path::{Path, PathBuf};

use evergrove_commit::schema::{RowError, SchemaError};
use evergrove_verifier::HEIGHT_MAX;

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// What is counted: `line`, or `row` in files without lines.
    pub unit: &'static str,
    /// Its number, from 1.
    pub number: Option<u64>,
}

impl Place {
    pub(crate) fn file(path: &Path) -> Self {
        Self { path: path.to_path_buf(), unit: "line", number: None }
    }

    pub(crate) fn line(path: &Path, number: u64) -> Self {
        Self { path: path.to_path_buf(), unit: "line", number: Some(number) }
    }

    pub(crate) fn row(path: &Path, number: u64) -> Self {
        Self { path: path.to_path_buf(), unit: "row", number: Some(number) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.number.map_or(Ok(()), |n| write!(f, ", {} {n}", self.unit))
    }
}

/// A file does not hold the table that it should.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct InputError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Box<Problem>,
}

/// What is wrong at a place of a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file does not open or read.
    #[error("{0}")]
    Io(std::io::Error),
    /// The record is not one of the file's format.
    #[error("malformed {format}: {detail}")]
    Malformed {
        /// Name of the format.
        format: &'static str,
        /// What the parser says.
        detail: String,
    },
    /// The record is longer than [`super::MAX_RECORD_BYTES`].
    #[error("a record is longer than {} bytes", super::MAX_RECORD_BYTES)]
    TooLong,
    /// There is no row.
    #[error("the table has no rows")]
    NoRows,
    /// A column that is needed is not in the file.
    #[error("unknown column {name:?}: the file has {}", list(available))]
    NoColumn {
        /// The column.
        name: String,
        /// The columns that there are.
        available: Vec<String>,
    },
    /// A record lacks a column.
    #[error("missing column {name:?}: the record has {}", list(available))]
    Lacking {
        /// The column.
        name: String,
        /// The columns that it has.
        available: Vec<String>,
    },
    /// A column that the schema does not name, and that does not hold the positions: its content would go unread.
    #[error("column {0:?} is neither in the schema nor the column of positions")]
    UnknownColumn(String),
    /// A record has a column twice.
    #[error("duplicate column {0:?}")]
    DuplicateColumn(String),
    /// The file is raw, and a column was asked for.
    #[error("a raw file has no column {0:?}")]
    RawColumn(String),
    /// A raw file for a table with columns.
    #[error("a raw file has no columns, but the schema has")]
    RawForColumns,
    /// The length of a raw file is not a multiple of 32.
    #[error("{0} bytes are not a multiple of 32")]
    RawLength(u64),
    /// A row does not fit the schema.
    #[error(transparent)]
    Row(RowError),
    /// The position is not an integer.
    #[error("column {column:?}: invalid position {value}: expected an integer from 0 to 2^{HEIGHT_MAX} - 1")]
    Index {
        /// Name of the index column.
        column: String,
        /// The offending text, shortened.
        value: String,
    },
    /// Two rows have one position.
    #[error("duplicate position {0}")]
    DuplicateIndex(u64),
    /// The list of positions is shorter or longer than the table.
    #[error("{positions} positions for {}{rows} rows", if rows > positions { "at least " } else { "" })]
    ListLength {
        /// Length of the list.
        positions: u64,
        /// Rows of the table.
        rows: u64,
    },
    /// The columns of the file make no schema.
    #[error(transparent)]
    Schema(SchemaError),
    /// This build reads no Parquet files.
    #[error("this build does not read parquet files")]
    NoParquet,
    /// A parquet column has a form that is not read.
    #[error("column {column:?} is {found}, which is not supported")]
    Unsupported {
        /// Name of the column.
        column: String,
        /// Its form.
        found: String,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let shown: Vec<_> = names.iter().take(12).map(|n| format!("{n:?}")).collect();
    let more = if names.len() > shown.len() { ", ..." } else { "" };
    shown.join(", ") + more
}

impl InputError {
    pub(crate) fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem: Box::new(problem) }
    }

    /// True when the file could not be opened or read, false when its content is at fault.
    pub fn is_io(&self) -> bool {
        matches!(*self.problem, Problem::Io(_))
    }
}

//! Errors of files with tables.

use std::fmt;
use std::path::{Path, PathBuf};

use evergrove_commit::schema::{RowError, SchemaError};
use evergrove_verifier::HEIGHT_MAX;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The unit of `number`: `line`, or `row` in files without lines.
    pub unit: &'static str,
    /// Number of the line or row, from 1.
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

/// A file does not contain the expected table.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct InputError {
    /// The place.
    pub place: Place,
    /// The problem.
    pub problem: Box<Problem>,
}

/// The problem at a place of a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Io(std::io::Error),
    /// The record does not have the file's format.
    #[error("malformed {format}: {detail}")]
    Malformed {
        /// Name of the format.
        format: &'static str,
        /// The message of the parser.
        detail: String,
    },
    /// The record is longer than [`super::MAX_RECORD_BYTES`].
    #[error("a record is longer than {} bytes", super::MAX_RECORD_BYTES)]
    TooLong,
    /// The table has no rows.
    #[error("the table has no rows")]
    NoRows,
    /// The file does not have a required column.
    #[error("unknown column {name:?}: the file has {}", list(available))]
    NoColumn {
        /// The column.
        name: String,
        /// The columns of the file.
        available: Vec<String>,
    },
    /// A record does not have a required column.
    #[error("missing column {name:?}: the record has {}", list(available))]
    Lacking {
        /// The column.
        name: String,
        /// The columns of the record.
        available: Vec<String>,
    },
    /// A column is neither in the schema nor the column of positions. Its content would not be read.
    #[error("column {0:?} is neither in the schema nor the column of positions")]
    UnknownColumn(String),
    /// A record has the same column twice.
    #[error("duplicate column {0:?}")]
    DuplicateColumn(String),
    /// A column of a raw file was requested.
    #[error("a raw file has no column {0:?}")]
    RawColumn(String),
    /// The file is raw, but the table has columns.
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
        /// The invalid text, shortened.
        value: String,
    },
    /// Two rows have the same position.
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
    /// The columns of the file are not a valid schema.
    #[error(transparent)]
    Schema(SchemaError),
    /// This build cannot read Parquet files.
    #[error("this build does not read parquet files")]
    NoParquet,
    /// The form of a parquet column is not supported.
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

    /// True if the file could not be opened or read, false if its content is invalid.
    pub fn is_io(&self) -> bool {
        matches!(*self.problem, Problem::Io(_))
    }
}

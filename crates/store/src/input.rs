//! Tables in files: csv, jsonl, parquet and raw 32-byte values in, csv, jsonl and raw values out.
//!
//! **What.** A [`Table`] is a file with a format, a schema (given or inferred) and a rule that gives every row its position;
//! [`Table::rows`] streams `(position, Row)` pairs. [`parse_indices`] reads lists of positions, [`parse_record`] one row;
//! [`TableWriter`] prints rows again.
//!
//! **When.** Whenever rows or positions come from outside: commit, update, and the leaves that a verifier compares with.
//! One record at a time is in memory; errors name the file, the line, the column, the value and the remedy.
//!
//! **Neighbours.** [`evergrove_commit::schema`] says what a cell is; nothing here knows a store.

#[cfg(feature = "parquet")]
mod columnar;
mod delimited;
mod error;

mod indices;
mod infer;
mod jsonl;
mod record;
mod rows;
mod seen;
mod values;
mod writer;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergrove_commit::schema::Schema;

pub use error::{InputError, Place, Problem};
pub use indices::{IndexListError, MAX_POSITIONS, parse_indices, read_indices};
pub use record::{RecordError, parse_record};
pub use rows::{Rows, json_row};
pub use writer::{TableWriter, WriteError};

/// The greatest number of bytes of one record: a stray quote can not swallow a file into memory.
pub const MAX_RECORD_BYTES: u64 = 1 << 26;

/// How a file holds a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet with flat columns. Needs the feature `parquet`.
    Parquet,
    /// Values of 32 bytes, 4 little-endian field elements each, without header.
    Raw,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Jsonl, Self::Parquet, Self::Raw];

    /// The name: `csv`, `jsonl`, `parquet`, `raw`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Raw => "raw",
        }
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The format that a file's extension suggests.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "parquet" => Some(Self::Parquet),
            "raw" | "bin" => Some(Self::Raw),
            _ => None,
        }
    }
}

/// Where the bytes of a table are.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// The name in errors, and the file unless there is a text.
    path: PathBuf,
    text: Option<Arc<[u8]>>,
}

impl Content {
    fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), text: None }
    }

    fn open(&self) -> Result<Input, InputError> {
        match &self.text {
            Some(text) => Ok(Input::Text(Cursor::new(text.clone()))),
            None => {
                let file = File::open(&self.path);
                file.map(Input::File).map_err(|e| InputError::new(Place::file(&self.path), Problem::Io(e)))
            }
        }
    }
}

/// The bytes of a table, read from the first on.
pub(crate) enum Input {
    File(File),
    Text(Cursor<Arc<[u8]>>),
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buf),
            Self::Text(text) => text.read(buf),
        }
    }
}

/// What gives a row its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexSource {
    /// The order of the rows, from 0.
    RowOrder,
    /// A column of the file.
    Column(String),
    /// A list: the k-th row is at its k-th position.
    List(Vec<u64>),
}

/// Which fields a record may have, and must have, beside the one that holds its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fields {
    /// Those of the schema and no others: all that a reader sees in the file is in the row. The rule for rows that are to be
    /// verified.
    #[default]
    Exact,
    /// None but those of the schema; a jsonl record that lacks a nullable column has null there.
    Sparse,
    /// The schema selects: other fields are left out, and what is lacking is taken as in [`Fields::Sparse`].
    Selected,
}

/// A file that holds a table.
#[derive(Clone, Debug)]
pub struct Table {
    content: Content,
    format: Format,
    index: IndexSource,
    schema: Schema,
    fields: Fields,
    len: Option<u64>,
}

impl Table {
    /// A table whose schema is known, with [`Fields::Exact`].
    pub fn new(path: impl Into<PathBuf>, format: Format, index: IndexSource, schema: Schema) -> Self {
        Self { content: Content::file(path), format, index, schema, fields: Fields::Exact, len: None }
    }

    /// The same with csv or jsonl that is in memory. Errors name `path`, which is not read.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Arc<[u8]>>) -> Self {
        self.content.text = Some(text.into());
        self
    }

    /// Says which fields a record may have.
    #[must_use]
    pub fn with_fields(mut self, fields: Fields) -> Self {
        self.fields = fields;
        self
    }

    /// Gives rows other positions.
    #[must_use]
    pub fn with_index(mut self, index: IndexSource) -> Self {
        self.index = index;
        self
    }

    /// A table whose schema is found by reading the file once: integers become `unsigned` or `signed`, decimals `fixed` with
    /// the largest number of places seen, all else `bytes`; a column with an empty cell is nullable. Raw files are raw. Records are
    /// taken as [`Fields::Sparse`].
    pub fn infer(path: impl Into<PathBuf>, format: Format, index: IndexSource) -> Result<Self, InputError> {
        let content = Content::file(path);
        let (schema, len) = match format {
            Format::Raw => (Schema::raw(), None),
            Format::Csv | Format::Jsonl | Format::Parquet => {
                let (schema, len) = infer::infer(&content, format, &index)?;
                (schema, Some(len))
            }
        };
        Ok(Self { content, format, index, schema, fields: Fields::Sparse, len })
    }

    /// The schema, given or inferred.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of rows, where it is known before the rows are read.
    pub fn len_hint(&self) -> Option<u64> {
        self.len.or_else(|| match self.format {
            Format::Raw => Some(std::fs::metadata(&self.content.path).ok()?.len() / values::VALUE_BYTES as u64),
            Format::Csv | Format::Jsonl | Format::Parquet => None,
        })
    }

    /// The rows with their positions, in the order of the file. After an error the iterator ends.
    pub fn rows(&self) -> Result<Rows, InputError> {
        Rows::open(&self.content, self.format, self.index.clone(), &self.schema, self.fields)
    }
}

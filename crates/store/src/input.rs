//! Tables in files: csv, tsv, jsonl, parquet and raw 32-byte values, in and out.
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
#[cfg(feature = "parquet")]
mod columnar_writer;
mod delimited;
mod error;

mod indices;
mod infer;
mod jsonl;
mod record;
mod rows;
mod seen;
mod source;
mod values;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergrove_commit::schema::Schema;

pub use error::{InputError, Place, Problem};
pub use indices::{IndexListError, MAX_POSITIONS, parse_indices, read_indices};
pub use infer::Untyped;
pub use record::{RecordError, parse_record};
pub use rows::{Rows, json_row};
pub use source::Source;
pub use writer::{TableWriter, WriteError};

/// The greatest number of bytes of one record: a stray quote can not swallow a file into memory.
pub const MAX_RECORD_BYTES: u64 = 1 << 26;

/// How a file holds a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// The same with tabs in the place of commas.
    Tsv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet with flat columns. Needs the feature `parquet`.
    Parquet,
    /// Values of 32 bytes, 4 little-endian field elements each, without header.
    Raw,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Csv, Self::Tsv, Self::Jsonl, Self::Parquet, Self::Raw];

    /// The name: `csv`, `tsv`, `jsonl`, `parquet`, `raw`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Raw => "raw",
        }
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The format that a file's extension suggests, or for a file of gzip the extension in front of `.gz`.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let last = extension(path)?;
        if last == "gz" {
            // Parquet files have compression of their own, and are not read from their beginning to their end.
            let inner = Self::from_path(Path::new(path.file_stem()?));
            return inner.filter(|format| *format != Self::Parquet);
        }
        match last.as_str() {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "parquet" => Some(Self::Parquet),
            "raw" | "bin" => Some(Self::Raw),
            _ => None,
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
    source: Source,
    format: Format,
    index: IndexSource,
    schema: Schema,
    fields: Fields,
    len: Option<u64>,
    untyped: Vec<Untyped>,
}

impl Table {
    /// A table whose schema is known, with [`Fields::Exact`].
    pub fn new(path: impl Into<PathBuf>, format: Format, index: IndexSource, schema: Schema) -> Self {
        Self::of(Source::file(path), format, index, schema)
    }

    /// The same of a source.
    pub fn of(source: Source, format: Format, index: IndexSource, schema: Schema) -> Self {
        Self { source, format, index, schema, fields: Fields::Exact, len: None, untyped: Vec::new() }
    }

    /// The same with csv or jsonl that is in memory. Errors name `path`, which is not read.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Arc<[u8]>>) -> Self {
        self.source = self.source.with_text(text);
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
    /// the largest number of places seen; truth values, dates, timestamps and UUIDs that are printed again as they are have types of
    /// their own, all else is `bytes` ([`Self::untyped`]); a column with an empty cell is nullable. Raw files are raw. Records are taken as
    /// [`Fields::Sparse`].
    pub fn infer(path: impl Into<PathBuf>, format: Format, index: IndexSource) -> Result<Self, InputError> {
        Self::infer_of(Source::file(path), format, index)
    }

    /// The same of a source.
    pub fn infer_of(source: Source, format: Format, index: IndexSource) -> Result<Self, InputError> {
        let (schema, len, untyped) = match format {
            Format::Raw => (Schema::raw(), None, Vec::new()),
            Format::Csv | Format::Tsv | Format::Jsonl | Format::Parquet => {
                let infer::Inferred { schema, rows, untyped } = infer::infer(&source, format, &index)?;
                (schema, Some(rows), untyped)
            }
        };
        Ok(Self { source, format, index, schema, fields: Fields::Sparse, len, untyped })
    }

    /// The schema, given or inferred.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// For each column of an inferred schema that has the type `bytes`, the cell that made it so.
    pub fn untyped(&self) -> &[Untyped] {
        &self.untyped
    }

    /// Number of rows, where it is known before the rows are read.
    pub fn len_hint(&self) -> Option<u64> {
        self.len.or_else(|| match self.format {
            Format::Raw => Some(self.source.length()? / values::VALUE_BYTES as u64),
            Format::Csv | Format::Tsv | Format::Jsonl | Format::Parquet => None,
        })
    }

    /// The rows with their positions, in the order of the file. After an error the iterator ends.
    pub fn rows(&self) -> Result<Rows, InputError> {
        Rows::open(&self.source, self.format, self.index.clone(), &self.schema, self.fields)
    }
}

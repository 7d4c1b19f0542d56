//! Tables in files: csv, tsv, jsonl, parquet and raw 32-byte values, for reading and writing.
//!
//! **What.** A [`Table`] is a file with a format, a schema (given or inferred) and a rule that gives every row its
//! position. [`Table::rows`] streams `(position, Row)` pairs. [`parse_indices`] reads lists of positions,
//! [`parse_record`] one row. [`TableWriter`] writes rows.
//!
//! **When.** For rows or positions from outside: to commit or change a table, and for the leaves that a verifier
//! compares. Keeps one record in memory at a time, or 1,024 rows of a parquet file. Errors name the file, the line, the
//! column, the value and the remedy.
//!
//! **Neighbours.** [`evergrove_commit::schema`] defines cells. This module does not use a store.

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

/// Size of the largest record in bytes. The limit keeps a stray quote from reading a whole file into memory.
pub const MAX_RECORD_BYTES: u64 = 1 << 26;

/// The format of a file with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// The same with tabs instead of commas.
    Tsv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet with flat columns. Needs the feature `parquet`.
    Parquet,
    /// Values of 32 bytes, 4 little-endian field elements each, without a header.
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

    /// The format that a file's extension suggests. For a gzip file, the extension before `.gz` counts.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let last = extension(path)?;
        if last == "gz" {
            // Parquet files have their own compression, and are not read from start to end.
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

/// The source of a row's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexSource {
    /// The order of the rows, from 0.
    RowOrder,
    /// A column of the file.
    Column(String),
    /// A list. Row k has the k-th position.
    List(Vec<u64>),
}

/// Which fields a record may have and must have, apart from the field with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fields {
    /// Exactly the fields of the schema: everything that a reader sees in the file is in the row. The rule for rows
    /// that will be verified.
    #[default]
    Exact,
    /// Only fields of the schema. A nullable column that a jsonl record lacks is null.
    Sparse,
    /// Fields outside the schema are ignored. Missing fields are handled as by [`Fields::Sparse`].
    Selected,
}

/// A file with a table.
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
    /// A table with a known schema and [`Fields::Exact`].
    pub fn new(path: impl Into<PathBuf>, format: Format, index: IndexSource, schema: Schema) -> Self {
        Self::of(Source::file(path), format, index, schema)
    }

    /// As [`Self::new`], with a source.
    pub fn of(source: Source, format: Format, index: IndexSource, schema: Schema) -> Self {
        Self { source, format, index, schema, fields: Fields::Exact, len: None, untyped: Vec::new() }
    }

    /// Replaces the file with csv or jsonl text in memory. Errors name the path, which is not read.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Arc<[u8]>>) -> Self {
        self.source = self.source.with_text(text);
        self
    }

    /// Sets which fields a record may have.
    #[must_use]
    pub fn with_fields(mut self, fields: Fields) -> Self {
        self.fields = fields;
        self
    }

    /// Sets where rows get their positions.
    #[must_use]
    pub fn with_index(mut self, index: IndexSource) -> Self {
        self.index = index;
        self
    }

    /// A table whose schema is inferred by reading the file once. Integers become `unsigned` or `signed`, and decimals
    /// `fixed` with the largest number of places in the column. Truth values, dates, timestamps and UUIDs get types of
    /// their own if these types print the same text. Everything else becomes `bytes` ([`Self::untyped`]). A column with
    /// an empty cell is nullable. Raw files are raw. Records are read with [`Fields::Sparse`].
    pub fn infer(path: impl Into<PathBuf>, format: Format, index: IndexSource) -> Result<Self, InputError> {
        Self::infer_of(Source::file(path), format, index)
    }

    /// As [`Self::infer`], with a source.
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

    /// For each column of type `bytes` in an inferred schema, the cell that caused this type.
    pub fn untyped(&self) -> &[Untyped] {
        &self.untyped
    }

    /// Number of rows, if it is known before the rows are read.
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

//! Writing rows.

use std::io::Write;

use evergrove_commit::schema::{Cell, Column, ColumnType, Row, Schema};
use evergrove_primitives::Digest;
use evergrove_verifier::abi::AbiType;

use super::Format;
#[cfg(feature = "parquet")]
use super::columnar_writer::ParquetWriter;
use super::rows::raw_columns;
use evergrove_verifier::schema::json::HEX_KEY;

/// A row was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Writing to the output failed.
    #[error("the rows cannot be written: {0}")]
    Io(#[from] std::io::Error),
    /// This build cannot write Parquet files.
    #[error("this build does not write parquet files")]
    NoParquet,
    /// Strings of a Parquet file must be UTF-8.
    #[error("parquet cannot hold the cell in column {column:?}, which is not UTF-8")]
    NotUtf8 {
        /// Name of the column.
        column: String,
    },
    /// The file is raw, but the table has columns.
    #[error("a raw file cannot hold a table with columns")]
    Columns,
    /// A nullable column has an empty string, which csv cannot tell from null.
    #[error("csv cannot tell the empty string in column {column:?} from null")]
    EmptyString {
        /// Name of the column.
        column: String,
    },
}

/// Writes rows with their positions, so that [`super::Table`] can read them: csv or tsv with a header, jsonl, parquet,
/// or raw values.
///
/// The column of positions is called [`Schema::index_name`]. Raw mode has the columns e0 to e3. A raw file contains
/// only the values, in the order of the calls.
pub struct TableWriter<W: Write + Send> {
    out: Output<W>,
    columns: Vec<Column>,
    index_name: String,
}

enum Output<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
    Raw(W),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter<W>>),
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file. Writes the header of a csv or tsv file.
    pub fn new(out: W, format: Format, schema: &Schema) -> Result<Self, WriteError> {
        let index_name = schema.index_name();
        let columns = if schema.is_raw() { raw_columns() } else { schema.columns().to_vec() };
        let out = match format {
            Format::Csv | Format::Tsv => {
                let separator = if format == Format::Csv { b',' } else { b'\t' };
                let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(out);
                let names = std::iter::once(index_name.as_bytes()).chain(columns.iter().map(|c| c.name.as_bytes()));
                writer.write_record(names).map_err(io)?;
                Output::Csv(Box::new(writer))
            }
            Format::Jsonl => Output::Jsonl(out),
            Format::Raw if schema.is_raw() => Output::Raw(out),
            Format::Raw => return Err(WriteError::Columns),
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                Output::Parquet(Box::new(ParquetWriter::new(out, &index_name, &columns, schema.is_raw())?))
            }
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(WriteError::NoParquet),
        };
        Ok(Self { out, columns, index_name })
    }

    /// Writes a row of the schema.
    pub fn write(&mut self, index: u64, row: &Row) -> Result<(), WriteError> {
        match &mut self.out {
            Output::Csv(writer) => {
                let mut record = vec![index.to_string().into_bytes()];
                match row {
                    Row::Raw(value) => record.extend(value.iter().map(|x| x.to_string().into_bytes())),
                    Row::Cells(cells) => {
                        for (column, cell) in self.columns.iter().zip(cells) {
                            record.push(csv_text(column, cell)?);
                        }
                    }
                }
                writer.write_record(&record).map_err(io)
            }
            Output::Jsonl(out) => {
                let mut line = format!("{{{}:{index}", quoted(&self.index_name));
                for (i, column) in self.columns.iter().enumerate() {
                    let text = match row {
                        Row::Raw(value) => value.get(i).map_or("null".into(), ToString::to_string),
                        Row::Cells(cells) => cells.get(i).map_or("null".into(), |cell| json(column, cell)),
                    };
                    line.push_str(&format!(",{}:{text}", quoted(&column.name)));
                }
                line.push_str("}\n");
                Ok(out.write_all(line.as_bytes())?)
            }
            Output::Raw(out) => match row {
                Row::Raw(value) => Ok(out.write_all(&Digest(*value).to_bytes())?),
                Row::Cells(_) => Err(WriteError::Columns),
            },
            #[cfg(feature = "parquet")]
            Output::Parquet(writer) => writer.write(index, row, &self.columns),
        }
    }

    /// Flushes the output.
    pub fn finish(self) -> Result<(), WriteError> {
        match self.out {
            Output::Csv(mut writer) => Ok(writer.flush()?),
            Output::Jsonl(mut out) | Output::Raw(mut out) => Ok(out.flush()?),
            #[cfg(feature = "parquet")]
            Output::Parquet(writer) => writer.finish(),
        }
    }
}

fn io(error: csv::Error) -> WriteError {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => WriteError::Io(e),
        other => WriteError::Io(std::io::Error::other(format!("{other:?}"))),
    }
}

fn csv_text(column: &Column, cell: &Cell) -> Result<Vec<u8>, WriteError> {
    if column.nullable && matches!(cell, Cell::Bytes(b) if b.is_empty()) {
        return Err(WriteError::EmptyString { column: column.name.clone() });
    }
    Ok(column.format(cell))
}

/// A cell as JSON: numbers in plain digits; bytes as a string, or as `{"hex": ".."}` if they are not UTF-8; truth
/// values as such; other words of the ABI, dates, timestamps, UUIDs and numbers of 128 bits as strings.
fn json(column: &Column, cell: &Cell) -> String {
    match (cell, column.kind) {
        (Cell::Null, _) => "null".into(),
        (Cell::Bytes(b), _) => match std::str::from_utf8(b) {
            Ok(text) => quoted(text),
            Err(_) => {
                let hex: String = b.iter().map(|x| format!("{x:02x}")).collect();
                format!("{{\"{HEX_KEY}\":\"{hex}\"}}")
            }
        },
        (_, ColumnType::Unsigned | ColumnType::Signed | ColumnType::Fixed { .. } | ColumnType::Boolean)
        | (_, ColumnType::Abi(AbiType::Bool)) => bare(column, cell),
        (_, ColumnType::Decimal { .. }) if column.kind.is_number() => bare(column, cell),
        // Numbers of 128 and 256 bits are strings, as in JavaScript's libraries, because readers of JSON round numbers.
        (
            _,
            ColumnType::Bytes
            | ColumnType::Abi(_)
            | ColumnType::Date
            | ColumnType::Timestamp
            | ColumnType::Uuid
            | ColumnType::Integer128
            | ColumnType::Unsigned128
            | ColumnType::Decimal { .. },
        ) => quoted(&bare(column, cell)),
    }
}

fn bare(column: &Column, cell: &Cell) -> String {
    String::from_utf8_lossy(&column.format(cell)).into_owned()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

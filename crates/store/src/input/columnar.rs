//! parquet files with flat columns, read in batches of rows.
//!
//! Dates, timestamps and UUIDs are read as such if the schema has these types, otherwise as the integers and bytes in
//! the file. Times of day are read as integers.
//!
//! The parquet crate panics on some damaged files. Every call of it goes through [`guarded`], which turns a panic into
//! an error. The reader is not used after that.

use std::borrow::Cow;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::error::{InputError, Place, Problem};
use super::rows::Sink;
use super::source::Source;
use evergrove_verifier::schema::field::Field;

/// Units per second.
const MILLIS: u32 = 1_000;
const MICROS: u32 = 1_000_000;
const NANOS: u32 = 1_000_000_000;
const DAY_NANOS: i128 = 86_400 * NANOS as i128;
const JULIAN_DAY_OF_1970: i128 = 2_440_588;
/// Number of rows read at a time.
const BATCH: usize = 1024;

/// Rows of a parquet file.
pub(crate) struct Parquet {
    path: PathBuf,
    file: SerializedFileReader<File>,
    columns: Vec<ColumnForm>,
    /// The next row group to open.
    group: usize,
    /// Rows of the open group that are not read yet.
    left: usize,
    readers: Vec<ColumnReader>,
    /// One buffer of fields per column, all of the same length, last row first.
    batch: Vec<Vec<Field<'static>>>,
    number: u64,
}

struct ColumnForm {
    name: String,
    numbers: Numbers,
    optional: bool,
}

/// What the integers and bytes of a column mean.
#[derive(Clone, Copy)]
enum Numbers {
    Plain,
    Unsigned,
    Decimal { scale: i32 },
    Date,
    Timestamp { per_second: u32 },
    Uuid,
}

impl Parquet {
    pub(crate) fn open(source: &Source) -> Result<Self, InputError> {
        let path = source.path();
        let at = |p| InputError::new(Place::file(path), p);
        let file = File::open(source.on_disk()).map_err(|e| at(Problem::Io(e)))?;
        let file = guarded(|| SerializedFileReader::new(file).map_err(problem)).map_err(at)?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let columns: Result<Vec<_>, _> = schema.columns().iter().map(|c| form(c)).collect();
        let columns = columns.map_err(at)?;
        let batch = columns.iter().map(|_| Vec::new()).collect();
        Ok(Self { path: path.into(), file, columns, group: 0, left: 0, readers: Vec::new(), batch, number: 0 })
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Place>, InputError> {
        let place = Place::row(&self.path, self.number + 1);
        let next = guarded(|| self.fill()).and_then(|more| {
            if more {
                for (column, fields) in self.columns.iter().zip(&mut self.batch) {
                    sink(&column.name, fields.pop().unwrap_or(Field::Null))?;
                }
            }
            Ok(more)
        });
        match next {
            Ok(true) => {
                self.number += 1;
                Ok(Some(place))
            }
            Ok(false) => Ok(None),
            Err(p) => Err(InputError::new(place, p)),
        }
    }

    /// Makes sure that the buffers have a row. False at the end of the file.
    fn fill(&mut self) -> Result<bool, Problem> {
        if self.batch.first().is_none_or(|b| !b.is_empty()) {
            return Ok(!self.batch.is_empty());
        }
        while self.left == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group).map_err(problem)?;
            self.group += 1;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let readers: Result<_, _> = (0..self.columns.len()).map(|i| group.get_column_reader(i)).collect();
            self.readers = readers.map_err(problem)?;
        }
        let rows = self.left.min(BATCH);
        for ((reader, column), fields) in self.readers.iter_mut().zip(&self.columns).zip(&mut self.batch) {
            *fields = read(reader, column, rows)?;
            fields.reverse();
        }
        self.left -= rows;
        Ok(true)
    }
}

/// Runs `read`. A panic becomes an error.
fn guarded<T>(read: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let cause =
            panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        let detail = format!("the file is damaged ({})", cause.unwrap_or("unknown cause"));
        Err(Problem::Malformed { format: "parquet", detail })
    })
}

fn problem(error: ParquetError) -> Problem {
    match error {
        ParquetError::External(e) => match e.downcast::<std::io::Error>() {
            Ok(io) => Problem::Io(*io),
            Err(e) => Problem::Malformed { format: "parquet", detail: e.to_string() },
        },
        e => Problem::Malformed { format: "parquet", detail: e.to_string() },
    }
}

fn form(column: &ColumnDescriptor) -> Result<ColumnForm, Problem> {
    let name = column.path().string();
    if column.path().parts().len() != 1 || column.max_rep_level() != 0 || column.max_def_level() > 1 {
        return Err(Problem::Unsupported { column: name, found: "nested".into() });
    }
    let numbers = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Decimal(d)), _) => Numbers::Decimal { scale: d.scale },
        (None, ConvertedType::DECIMAL) => Numbers::Decimal { scale: column.type_scale() },
        (Some(LogicalType::Integer(i)), _) if !i.is_signed => Numbers::Unsigned,
        (None, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64) => {
            Numbers::Unsigned
        }
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => Numbers::Date,
        (Some(LogicalType::Timestamp(t)), _) => Numbers::Timestamp {
            per_second: match t.unit {
                TimeUnit::MILLIS => MILLIS,
                TimeUnit::MICROS => MICROS,
                TimeUnit::NANOS => NANOS,
            },
        },
        (None, ConvertedType::TIMESTAMP_MILLIS) => Numbers::Timestamp { per_second: MILLIS },
        (None, ConvertedType::TIMESTAMP_MICROS) => Numbers::Timestamp { per_second: MICROS },
        (Some(LogicalType::Uuid), _) => Numbers::Uuid,
        _ => Numbers::Plain,
    };
    Ok(ColumnForm { name, numbers, optional: column.max_def_level() == 1 })
}

fn read(reader: &mut ColumnReader, column: &ColumnForm, rows: usize) -> Result<Vec<Field<'static>>, Problem> {
    let numbers = column.numbers;
    let integer = move |x: i64, unsigned: u64| match numbers {
        Numbers::Plain | Numbers::Uuid => Ok(number(x.to_string())),
        Numbers::Date => Ok(Field::Date(x)),
        Numbers::Timestamp { per_second } => Ok(Field::Timestamp { units: x.into(), per_second }),
        Numbers::Unsigned => Ok(number(unsigned.to_string())),
        Numbers::Decimal { scale } => decimal(x as i128, scale),
    };
    let float =
        |x: f64, text: String| if x.is_finite() { number(text) } else { Field::Bytes(Cow::Owned(text.into_bytes())) };
    let bytes = |b: ByteArray| match numbers {
        Numbers::Decimal { scale } => big_endian(b.data()).ok_or_else(|| wide(column)).and_then(|x| decimal(x, scale)),
        Numbers::Uuid if let Ok(bytes) = b.data().try_into() => Ok(Field::Uuid(bytes)),
        _ => Ok(Field::Bytes(Cow::Owned(b.data().to_vec()))),
    };
    match reader {
        ColumnReader::BoolColumnReader(r) => fields(r, column, rows, |b| Ok(Field::Bool(b))),
        ColumnReader::Int32ColumnReader(r) => fields(r, column, rows, |x| integer(x as i64, x as u32 as u64)),
        ColumnReader::Int64ColumnReader(r) => fields(r, column, rows, |x| integer(x, x as u64)),
        ColumnReader::Int96ColumnReader(r) => {
            fields(r, column, rows, |x| Ok(Field::Timestamp { units: nanos(x.data()), per_second: NANOS }))
        }
        ColumnReader::FloatColumnReader(r) => fields(r, column, rows, |x| Ok(float(x as f64, x.to_string()))),
        ColumnReader::DoubleColumnReader(r) => fields(r, column, rows, |x| Ok(float(x, x.to_string()))),
        ColumnReader::ByteArrayColumnReader(r) => fields(r, column, rows, bytes),
        ColumnReader::FixedLenByteArrayColumnReader(r) => fields(r, column, rows, |b| bytes(b.into())),
    }
}

/// The nanoseconds since 1970-01-01T00:00:00Z of an INT96, which has the nanoseconds of the day and the Julian day
/// number.
fn nanos(words: &[u32]) -> i128 {
    let [low, high, day] = [0, 1, 2].map(|at| i128::from(words.get(at).copied().unwrap_or(0)));
    (day - JULIAN_DAY_OF_1970) * DAY_NANOS + (high << 32) + low
}

fn wide(column: &ColumnForm) -> Problem {
    Problem::Unsupported { column: column.name.clone(), found: "a decimal of more than 128 bits".into() }
}

fn number(text: String) -> Field<'static> {
    Field::Number(Cow::Owned(text))
}

/// `rows` fields of a column: the values in order, nulls where the definition level is 0.
fn fields<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    column: &ColumnForm,
    rows: usize,
    field: impl Fn(T::T) -> Result<Field<'static>, Problem>,
) -> Result<Vec<Field<'static>>, Problem> {
    let short = || Problem::Malformed {
        format: "parquet",
        detail: format!("column {:?} has fewer rows than its row group", column.name),
    };
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (n, _, _) = reader.read_records(rows - read, Some(&mut levels), None, &mut values).map_err(problem)?;
        if n == 0 {
            return Err(short());
        }
        read += n;
    }
    let mut values = values.into_iter();
    let mut out = Vec::with_capacity(rows);
    for row in 0..rows {
        let present = !column.optional || *levels.get(row).ok_or_else(short)? == 1;
        out.push(if present { field(values.next().ok_or_else(short)?)? } else { Field::Null });
    }
    Ok(out)
}

fn big_endian(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let start = if negative { -1i128 } else { 0 };
    (bytes.len() <= 16).then(|| bytes.iter().fold(start, |x, b| x << 8 | *b as i128))
}

/// The decimal text of an integer in units of 10^-scale.
fn decimal(units: i128, scale: i32) -> Result<Field<'static>, Problem> {
    let digits = units.unsigned_abs().to_string();
    let sign = if units < 0 { "-" } else { "" };
    let scale = usize::try_from(scale).ok().filter(|s| *s <= 38);
    let scale = scale.ok_or_else(|| Problem::Malformed { format: "parquet", detail: "a scale beyond 38".into() })?;
    if scale == 0 {
        return Ok(number(format!("{sign}{digits}")));
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    Ok(number(format!("{sign}{whole}.{fraction}")))
}

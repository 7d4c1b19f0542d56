//! Rows as a parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use evergrove_commit::schema::{Cell, Column, ColumnType, Row};
use evergrove_verifier::abi::AbiType;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::writer::WriteError;

/// A group of rows is written when it has this many rows, or this many bytes in its strings.
const GROUP_ROWS: usize = 1 << 16;
const GROUP_BYTES: usize = 1 << 24;
/// Size in bytes of a decimal number of 19 digits.
const DECIMAL_BYTES: i32 = 9;
/// Size in bytes of a decimal number of 38 digits, and of a UUID.
const WIDE_BYTES: i32 = 16;
/// Decimal digits of a number in a `fixed` column.
const DECIMAL_DIGITS: i32 = 19;

/// Writes rows with their positions. Numbers become INT64, `fixed` and `decimal` DECIMAL, `bytes` STRING, `bool` and
/// `boolean` BOOLEAN. Dates, timestamps and UUIDs keep their types. Other types of the ABI and integers of 128 bits
/// become STRING.
pub(crate) struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// The positions, then the columns.
    group: Vec<Buffer>,
    rows: usize,
    bytes: usize,
}

/// The cells of a column in a group.
struct Buffer {
    name: String,
    values: Values,
    /// 1 for a cell and 0 for null, if the column is nullable.
    levels: Option<Vec<i16>>,
}

enum Values {
    Integers(Vec<i64>),
    Days(Vec<i32>),
    /// Decimals and UUIDs.
    Arrays(Vec<FixedLenByteArray>),
    Booleans(Vec<bool>),
    Strings(Vec<ByteArray>),
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(crate) fn new(out: W, index_name: &str, columns: &[Column], raw: bool) -> Result<Self, WriteError> {
        let index = Column::new(index_name, ColumnType::Unsigned);
        let kinds = std::iter::once((&index, false)).chain(columns.iter().map(|column| (column, raw)));
        let (mut fields, mut group) = (Vec::new(), Vec::new());
        for (column, is_element) in kinds {
            let Form { physical, logical, length, decimal, values } = form(column, is_element);
            let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            let mut field = Type::primitive_type_builder(&column.name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical);
            if let Some(length) = length {
                field = field.with_length(length);
            }
            if let Some((precision, scale)) = decimal {
                field = field.with_precision(precision).with_scale(scale);
            }
            fields.push(Arc::new(field.build().map_err(error)?));
            let levels = column.nullable.then(Vec::new);
            group.push(Buffer { name: column.name.clone(), values, levels });
        }
        let schema = Type::group_type_builder("table").with_fields(fields).build().map_err(error)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(error)?;
        Ok(Self { writer, group, rows: 0, bytes: 0 })
    }

    pub(crate) fn write(&mut self, index: u64, row: &Row, columns: &[Column]) -> Result<(), WriteError> {
        let (positions, buffers) = self.group.split_at_mut(1);
        positions[0].push_integer(index);
        match row {
            Row::Raw(value) => buffers.iter_mut().zip(value).for_each(|(buffer, x)| buffer.push_integer(x.as_u64())),
            Row::Cells(cells) => {
                for ((buffer, column), cell) in buffers.iter_mut().zip(columns).zip(cells) {
                    self.bytes += buffer.push(column, cell)?;
                }
            }
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS || self.bytes >= GROUP_BYTES { self.end_group() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let mut out = self.writer.into_inner().map_err(error)?;
        Ok(out.flush()?)
    }

    fn end_group(&mut self) -> Result<(), WriteError> {
        let mut group = self.writer.next_row_group().map_err(error)?;
        for buffer in &mut self.group {
            let levels = buffer.levels.as_mut().map(std::mem::take);
            let levels = levels.as_deref();
            match &mut buffer.values {
                Values::Integers(values) => column::<Int64Type, W>(&mut group, values, levels),
                Values::Days(values) => column::<Int32Type, W>(&mut group, values, levels),
                Values::Arrays(values) => column::<FixedLenByteArrayType, W>(&mut group, values, levels),
                Values::Booleans(values) => column::<BoolType, W>(&mut group, values, levels),
                Values::Strings(values) => column::<ByteArrayType, W>(&mut group, values, levels),
            }
            .map_err(error)?;
        }
        group.close().map_err(error)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Buffer {
    fn push_integer(&mut self, x: u64) {
        if let Values::Integers(values) = &mut self.values {
            values.push(x as i64);
        }
    }

    /// Adds a cell of the column. Returns the size of its string in bytes, or 0 if it is not a string.
    fn push(&mut self, column: &Column, cell: &Cell) -> Result<usize, WriteError> {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(*cell != Cell::Null));
        }
        match (&mut self.values, cell) {
            (_, Cell::Null) => {}
            (Values::Integers(values), Cell::Unsigned(x)) => values.push(*x as i64),
            (Values::Integers(values), Cell::Signed(x)) => values.push(*x),
            (Values::Arrays(values), Cell::Signed(x)) => {
                let bytes = i128::from(*x).to_be_bytes();
                values.push(FixedLenByteArray::from(bytes[bytes.len() - DECIMAL_BYTES as usize..].to_vec()));
            }
            (Values::Arrays(values), Cell::Integer128(x)) => {
                values.push(FixedLenByteArray::from(x.to_be_bytes().to_vec()));
            }
            (Values::Arrays(values), Cell::Uuid(bytes)) => values.push(FixedLenByteArray::from(bytes.to_vec())),
            // Dates are far below 2^31.
            (Values::Days(values), Cell::Signed(x)) => values.push(i32::try_from(*x).unwrap_or(i32::MAX)),
            (Values::Booleans(values), Cell::Unsigned(x)) => values.push(*x == 1),
            (Values::Booleans(values), Cell::Word(word)) => values.push(word.last().is_some_and(|x| *x == 1)),
            (Values::Strings(values), cell) => {
                let text = column.format(cell);
                if std::str::from_utf8(&text).is_err() {
                    return Err(WriteError::NotUtf8 { column: self.name.clone() });
                }
                let length = text.len();
                values.push(text.into());
                return Ok(length);
            }
            // A row of the schema has no other cells.
            _ => return Err(WriteError::Columns),
        }
        Ok(0)
    }
}

/// How a column is stored.
struct Form {
    physical: Physical,
    logical: Option<LogicalType>,
    length: Option<i32>,
    /// Digits and decimal places.
    decimal: Option<(i32, i32)>,
    values: Values,
}

fn form(column: &Column, is_element: bool) -> Form {
    let plain = |physical, logical, values| Form { physical, logical, length: None, decimal: None, values };
    let decimal = |length, precision: i32, scale: u8| Form {
        physical: Physical::FIXED_LEN_BYTE_ARRAY,
        logical: Some(LogicalType::decimal(scale.into(), precision)),
        length: Some(length),
        decimal: Some((precision, scale.into())),
        values: Values::Arrays(Vec::new()),
    };
    match column.kind {
        _ if is_element => plain(Physical::INT64, Some(LogicalType::integer(64, false)), Values::Integers(Vec::new())),
        ColumnType::Unsigned | ColumnType::Signed => plain(Physical::INT64, None, Values::Integers(Vec::new())),
        ColumnType::Fixed { scale } => decimal(DECIMAL_BYTES, DECIMAL_DIGITS, scale),
        ColumnType::Decimal { precision, scale } => {
            let length = if column.kind.is_number() { DECIMAL_BYTES } else { WIDE_BYTES };
            decimal(length, precision.into(), scale)
        }
        ColumnType::Boolean | ColumnType::Abi(AbiType::Bool) => {
            plain(Physical::BOOLEAN, None, Values::Booleans(Vec::new()))
        }
        ColumnType::Date => plain(Physical::INT32, Some(LogicalType::Date), Values::Days(Vec::new())),
        ColumnType::Timestamp => {
            let logical = LogicalType::timestamp(true, TimeUnit::MICROS);
            plain(Physical::INT64, Some(logical), Values::Integers(Vec::new()))
        }
        ColumnType::Uuid => Form {
            length: Some(WIDE_BYTES),
            ..plain(Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid), Values::Arrays(Vec::new()))
        },
        ColumnType::Bytes | ColumnType::Abi(_) | ColumnType::Integer128 | ColumnType::Unsigned128 => {
            plain(Physical::BYTE_ARRAY, Some(LogicalType::String), Values::Strings(Vec::new()))
        }
    }
}

/// Writes the next column of a group.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| ParquetError::General("a group has fewer columns than the schema".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    values.clear();
    column.close()
}

fn error(error: ParquetError) -> WriteError {
    WriteError::Io(match error {
        ParquetError::External(e) => match e.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(e) => io::Error::other(e),
        },
        e => io::Error::other(e),
    })
}

//! Turning records into rows with positions.

use std::collections::HashMap;
use std::path::PathBuf;

use evergrove_commit::schema::{Cell, Column, Row, RowError, Schema};
use evergrove_verifier::HEIGHT_MAX;

#[cfg(feature = "parquet")]
use super::columnar::Parquet;
use super::delimited::Csv;
use super::error::{InputError, Place, Problem};
use super::jsonl::{self, Jsonl};
use super::seen::Seen;
use super::source::Source as Bytes;
use super::values::Values;
use super::{Fields, Format, IndexSource};
use evergrove_verifier::schema::field::Field;

/// Receives the fields of a record, with their names.
pub(crate) type Sink<'a> = dyn FnMut(&str, Field<'_>) -> Result<(), Problem> + 'a;

/// Records of a file with named fields.
pub(crate) enum Records {
    Csv(Csv),
    Jsonl(Jsonl),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet>),
}

impl Records {
    /// Opens a file. `None` for raw files, which have no fields.
    pub(crate) fn open(source: &Bytes, format: Format) -> Result<Option<Self>, InputError> {
        Ok(Some(match format {
            Format::Csv | Format::Tsv => Self::Csv(Csv::open(source, format)?),
            Format::Jsonl => Self::Jsonl(Jsonl::open(source)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Self::Parquet(Box::new(Parquet::open(source)?)),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(InputError::new(Place::file(source.path()), Problem::NoParquet)),
            Format::Raw => return Ok(None),
        }))
    }

    /// The names of all fields, if the file states them before its records.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        match self {
            Self::Csv(r) => Some(r.names().to_vec()),
            #[cfg(feature = "parquet")]
            Self::Parquet(r) => Some(r.names()),
            Self::Jsonl(_) => None,
        }
    }

    /// Passes the fields of the next record to `sink` and returns the record's place. `None` at the end.
    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Place>, InputError> {
        match self {
            Self::Csv(r) => r.next(sink),
            Self::Jsonl(r) => r.next(sink),
            #[cfg(feature = "parquet")]
            Self::Parquet(r) => r.next(sink),
        }
    }
}

/// Largest number of unknown fields that an error lists.
const SHOWN: usize = 12;

/// The rows of a [`super::Table`] with their positions.
pub struct Rows {
    source: Source,
    index: IndexSource,
    path: PathBuf,
    seen: Seen,
    row: u64,
    place: Option<Place>,
    done: bool,
}

enum Source {
    Records { records: Records, assembly: Box<Assembly> },
    Values(Values),
}

/// Collects the fields of one record.
struct Assembly {
    schema: Schema,
    /// Names and types of the columns: those of the schema, or four elements named e0 to e3 in raw mode.
    columns: Vec<Column>,
    positions: HashMap<String, usize>,
    index_column: Option<String>,
    fields: Fields,
    /// Texts that mean null in nullable columns.
    nulls: Vec<Vec<u8>>,
    slots: Vec<Option<Slot>>,
    index: Option<Result<u64, Problem>>,
    /// The first unknown fields of the record, at most [`SHOWN`].
    unknown: Vec<String>,
}

enum Slot {
    Cell(Cell),
    Element(Vec<u8>),
}

impl Rows {
    pub(crate) fn open(
        bytes: &Bytes,
        format: Format,
        index: IndexSource,
        schema: &Schema,
        fields: Fields,
    ) -> Result<Self, InputError> {
        let at = |p| InputError::new(Place::file(bytes.path()), p);
        let source = match Records::open(bytes, format)? {
            Some(records) => {
                let index_column = match &index {
                    IndexSource::Column(name) => Some(name.clone()),
                    IndexSource::RowOrder | IndexSource::List(_) => None,
                };
                let assembly = Assembly::new(schema, index_column, fields, bytes.nulls());
                if let Some(names) = records.names() {
                    assembly.check_names(&names).map_err(at)?;
                }
                Source::Records { records, assembly: Box::new(assembly) }
            }
            None => {
                if let IndexSource::Column(name) = index {
                    return Err(at(Problem::RawColumn(name)));
                }
                if !schema.is_raw() {
                    return Err(at(Problem::RawForColumns));
                }
                Source::Values(Values::open(bytes)?)
            }
        };
        let path = bytes.path().to_path_buf();
        Ok(Self { source, index, path, seen: Seen::default(), row: 0, place: None, done: false })
    }

    /// The place of the last row.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    fn read(&mut self) -> Result<Option<(u64, Row)>, InputError> {
        let (place, column_index, row) = match &mut self.source {
            Source::Values(values) => match values.next()? {
                Some((place, row)) => (place, None, row),
                None => return self.end(),
            },
            Source::Records { records, assembly } => {
                let Some(place) = records.next(&mut |name, field| assembly.take(name, field))? else {
                    return self.end();
                };
                match assembly.finish() {
                    Ok((index, row)) => (place, index, row),
                    Err(p) => return Err(InputError::new(place, p)),
                }
            }
        };
        let index = match (&self.index, column_index) {
            (_, Some(index)) => index,
            (IndexSource::List(list), None) => match list.get(self.row as usize) {
                Some(index) => *index,
                None => {
                    let p = Problem::ListLength { positions: list.len() as u64, rows: self.row + 1 };
                    return Err(InputError::new(place, p));
                }
            },
            (IndexSource::RowOrder | IndexSource::Column(_), None) => self.row,
        };
        self.row += 1;
        if !self.seen.insert(index) {
            return Err(InputError::new(place, Problem::DuplicateIndex(index)));
        }
        self.place = Some(place);
        Ok(Some((index, row)))
    }

    fn end(&self) -> Result<Option<(u64, Row)>, InputError> {
        let problem = match &self.index {
            IndexSource::List(list) if list.len() as u64 != self.row => {
                Problem::ListLength { positions: list.len() as u64, rows: self.row }
            }
            _ if self.row == 0 => Problem::NoRows,
            _ => return Ok(None),
        };
        Err(InputError::new(Place::file(&self.path), problem))
    }
}

impl Iterator for Rows {
    type Item = Result<(u64, Row), InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.read().transpose();
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}

impl Assembly {
    fn new(schema: &Schema, index_column: Option<String>, fields: Fields, nulls: &[String]) -> Self {
        let columns = if schema.is_raw() { raw_columns() } else { schema.columns().to_vec() };
        let positions = columns.iter().enumerate().map(|(i, c)| (c.name.clone(), i)).collect();
        let slots = columns.iter().map(|_| None).collect();
        let nulls = nulls.iter().map(|text| text.clone().into_bytes()).collect();
        let schema = schema.clone();
        Self { schema, columns, positions, index_column, fields, nulls, slots, index: None, unknown: Vec::new() }
    }

    fn check_names(&self, names: &[String]) -> Result<(), Problem> {
        let needed = self.columns.iter().map(|c| &c.name).chain(&self.index_column);
        for name in needed {
            match names.iter().filter(|n| *n == name).count() {
                0 => return Err(Problem::NoColumn { name: name.clone(), available: names.to_vec() }),
                1 => {}
                _ => return Err(Problem::DuplicateColumn(name.clone())),
            }
        }
        let placed = |name: &String| self.positions.contains_key(name) || self.index_column.as_ref() == Some(name);
        match names.iter().find(|n| !placed(n)) {
            Some(name) if self.fields != Fields::Selected => Err(Problem::UnknownColumn(name.clone())),
            _ => Ok(()),
        }
    }

    fn take(&mut self, name: &str, field: Field<'_>) -> Result<(), Problem> {
        let holds_index = self.index_column.as_deref() == Some(name);
        if holds_index {
            if self.index.is_some() {
                return Err(Problem::DuplicateColumn(name.into()));
            }
            self.index = Some(position(name, &field));
            // A schema may have the index column as well. The position is then part of the row.
        }
        let Some(&at) = self.positions.get(name) else {
            if !holds_index && self.unknown.len() < SHOWN {
                self.unknown.push(name.into());
            }
            return Ok(());
        };
        if self.slots[at].is_some() {
            return Err(Problem::DuplicateColumn(name.into()));
        }
        let is_null = |text: &[u8]| self.columns[at].nullable && self.nulls.iter().any(|null| null == text);
        self.slots[at] = Some(if self.schema.is_raw() {
            Slot::Element(field.text().into_owned())
        } else if matches!(&field, Field::Text(text) if is_null(text)) {
            Slot::Cell(Cell::Null)
        } else {
            Slot::Cell(field.cell(&self.columns[at]).map_err(|e| Problem::Row(RowError::Cell(e)))?)
        });
        Ok(())
    }

    /// True if a record must have this column. A raw value must have all its elements.
    fn needs(&self, column: &Column) -> bool {
        self.fields == Fields::Exact || self.schema.is_raw() || !column.nullable
    }

    /// Checks that no required field is missing, and that no field is ignored unless the schema selects.
    fn check_record(&mut self) -> Result<(), Problem> {
        let unknown = std::mem::take(&mut self.unknown);
        let mut missing = self.slots.iter().zip(&self.columns).filter(|(slot, _)| slot.is_none());
        if let Some((_, column)) = missing.find(|(_, column)| self.needs(column)) {
            let index = self.index_column.iter().filter(|_| self.index.is_some());
            let taken = self.slots.iter().zip(&self.columns).filter(|(slot, _)| slot.is_some());
            let available = index.chain(taken.map(|(_, c)| &c.name)).chain(&unknown).cloned().collect();
            return Err(Problem::Lacking { name: column.name.clone(), available });
        }
        match unknown.into_iter().next() {
            Some(name) if self.fields != Fields::Selected => Err(Problem::UnknownColumn(name)),
            _ => Ok(()),
        }
    }

    /// The row of the fields taken since the last call.
    fn finish(&mut self) -> Result<(Option<u64>, Row), Problem> {
        self.check_record()?;
        let index = self.index.take().transpose()?;
        if let (None, Some(name)) = (index, &self.index_column) {
            return Err(Problem::Index { column: name.clone(), value: "nothing".into() });
        }
        if self.schema.is_raw() {
            let mut texts = Vec::with_capacity(self.slots.len());
            for (slot, column) in self.slots.iter_mut().zip(&self.columns) {
                match slot.take() {
                    Some(Slot::Element(text)) => texts.push(text),
                    _ => return Err(Problem::Lacking { name: column.name.clone(), available: Vec::new() }),
                }
            }
            return Ok((index, self.schema.parse_row(&texts).map_err(Problem::Row)?));
        }
        let mut cells = Vec::with_capacity(self.slots.len());
        for (slot, column) in self.slots.iter_mut().zip(&self.columns) {
            cells.push(match slot.take() {
                Some(Slot::Cell(cell)) => cell,
                _ => column.check(Cell::Null).map_err(|e| Problem::Row(RowError::Cell(e)))?,
            });
        }
        Ok((index, Row::Cells(cells)))
    }
}

/// The row of one JSON object, which must have exactly the fields of the schema, as in a line of a jsonl file. In raw
/// mode the fields are `e0` to `e3`.
///
/// # Errors
/// The problem of the object, without a place.
pub fn json_row(schema: &Schema, object: &str) -> Result<Row, Problem> {
    let mut assembly = Assembly::new(schema, None, Fields::Exact, &[]);
    jsonl::record(object.as_bytes(), &mut |name, field| assembly.take(name, field))?;
    assembly.finish().map(|(_, row)| row)
}

/// The columns of raw values in files with columns: four elements, named e0 to e3.
pub(crate) fn raw_columns() -> Vec<Column> {
    (0..4).map(|i| Column::new(format!("e{i}"), evergrove_commit::schema::ColumnType::Bytes)).collect()
}

/// The position in a field.
pub(crate) fn position(column: &str, field: &Field<'_>) -> Result<u64, Problem> {
    let text = field.text();
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let index = std::str::from_utf8(&text).ok().filter(|_| digits).and_then(|t| t.parse::<u64>().ok());
    index.filter(|i| i >> HEIGHT_MAX == 0).ok_or_else(|| Problem::Index {
        column: column.into(),
        value: format!("{:?}", String::from_utf8_lossy(&text).chars().take(40).collect::<String>()),
    })
}

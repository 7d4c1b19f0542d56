//! Tables to be committed, and the rows of a proof.

use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::ops::Index;
use std::path::Path;

use evergrove_commit::schema::{Column, Row, Schema};
use evergrove_store::input;
use evergrove_store::input::{Fields, Format, IndexSource, TableWriter};
use evergrove_verifier::tree;

use crate::{Error, Value, openzeppelin};

/// A table: a file of rows, or rows in memory. Row i of the file has position i, unless [`Table::in_order`] places it elsewhere.
#[derive(Clone, Debug)]
pub struct Table(Source);

#[derive(Clone, Debug)]
enum Source {
    File(input::Table),
    Memory { schema: Schema, rows: Vec<(u64, Row)> },
}

impl Table {
    /// The table in a file of comma-separated values with a header line.
    ///
    /// The content decides the types of the columns. Whole numbers are `unsigned`, or `signed` if one is negative;
    /// decimal numbers are `fixed` with the most places that occur; every other column is `bytes`, also one with a cell
    /// like `007`, `+5` or `1e3`, or with a number out of range. A column with an empty cell is nullable.
    /// [`Self::with_schema`] fixes the types.
    ///
    /// The file is read once here, and again by each [`Self::rows`], [`Self::rows_where`] and
    /// [`Store::create`](crate::Store::create). It must not change in between.
    ///
    /// # Errors
    /// [`Error::Input`] when the file cannot be read or is not a table; the error names line and column.
    pub fn from_csv(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::infer(path.as_ref(), Format::Csv)
    }

    /// The table in a file with one JSON object per line. The types are found as by [`Self::from_csv`].
    ///
    /// # Errors
    /// The errors of [`Self::from_csv`].
    pub fn from_jsonl(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::infer(path.as_ref(), Format::Jsonl)
    }

    /// The table in an Apache Parquet file with flat columns.
    ///
    /// # Errors
    /// The errors of [`Self::from_csv`].
    #[cfg(feature = "parquet")]
    pub fn from_parquet(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::infer(path.as_ref(), Format::Parquet)
    }

    fn infer(path: &Path, format: Format) -> Result<Self, Error> {
        Ok(Self(Source::File(input::Table::infer(path, format, IndexSource::RowOrder)?)))
    }

    /// The table in a file of this format, with the columns of `schema`; other fields of the file are ignored. The
    /// calls that read rows open the file and report its errors.
    pub fn with_schema(path: impl AsRef<Path>, format: Format, schema: &Schema) -> Self {
        let table = input::Table::new(path.as_ref(), format, IndexSource::RowOrder, schema.clone());
        Self(Source::File(table.with_fields(Fields::Selected)))
    }

    /// A table of these rows, at positions 0, 1, 2 and so on.
    ///
    /// # Errors
    /// [`Error::Schema`] when the columns are not a schema; [`Error::Row`] when a row does not have one value per
    /// column, or a value does not fit its column.
    pub fn from_rows(columns: Vec<Column>, rows: impl IntoIterator<Item = Vec<Value>>) -> Result<Self, Error> {
        let schema = Schema::new(columns)?;
        let rows = (0..).zip(rows).map(|(at, values)| Ok((at, to_row(&schema, at, &values)?)));
        let rows = rows.collect::<Result<_, Error>>()?;
        Ok(Self(Source::Memory { schema, rows }))
    }

    /// The same rows at the positions at which the tree of the committed table has the root of OpenZeppelin's JavaScript library
    /// ([`openzeppelin`]). Reads the rows once, and takes 40 bytes of memory for each.
    ///
    /// # Errors
    /// [`Error::NotAbi`] when a column is not of an ABI type; [`Error::EqualRows`] when two rows are equal, unless
    /// `duplicates` allows it; the errors of [`Self::rows`].
    pub fn in_order(self, order: openzeppelin::Order, duplicates: bool) -> Result<Self, Error> {
        let positions = openzeppelin::positions(self.schema(), self.rows()?, order, duplicates)?;
        Ok(Self(match self.0 {
            Source::File(table) => Source::File(table.with_index(IndexSource::List(positions))),
            Source::Memory { schema, rows } => {
                let rows = rows.into_iter().zip(positions).map(|((_, row), position)| (position, row));
                Source::Memory { schema, rows: rows.collect() }
            }
        }))
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        match &self.0 {
            Source::File(table) => table.schema(),
            Source::Memory { schema, .. } => schema,
        }
    }

    /// The rows with their positions, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be opened; each item may be an error of its row.
    pub fn rows(&self) -> Result<impl Iterator<Item = Result<(u64, Row), Error>> + '_, Error> {
        let (file, memory) = match &self.0 {
            Source::File(table) => (Some(table.rows()?), None),
            Source::Memory { rows, .. } => (None, Some(rows)),
        };
        let memory = memory.into_iter().flatten().cloned().map(Ok);
        Ok(file.into_iter().flatten().map(|row| row.map_err(Error::from)).chain(memory))
    }

    /// The positions of the rows for which `wanted` is true.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`] when `wanted` asks for a column that the table does not have, and the errors of
    /// [`Self::rows`].
    pub fn rows_where(&self, mut wanted: impl FnMut(&NamedRow<'_>) -> bool) -> Result<Vec<u64>, Error> {
        let unknown = RefCell::new(None);
        let mut out = Vec::new();
        for row in self.rows()? {
            let (position, row) = row?;
            if wanted(&NamedRow::new(self.schema(), position, &row, &unknown)) {
                out.push(position);
            }
            if let Some(name) = unknown.take() {
                return Err(unknown_column(self.schema(), &name));
            }
        }
        Ok(out)
    }
}

/// A row whose cells are found by the names of their columns: `row["state"]`.
///
/// A column that the table does not have reads as [`Value::Null`], and [`Table::rows_where`] then fails and names it.
#[derive(Debug)]
pub struct NamedRow<'a> {
    schema: &'a Schema,
    position: u64,
    values: Vec<Value>,
    unknown: &'a RefCell<Option<String>>,
}

impl<'a> NamedRow<'a> {
    fn new(schema: &'a Schema, position: u64, row: &Row, unknown: &'a RefCell<Option<String>>) -> Self {
        let values = match row {
            Row::Cells(cells) => {
                schema.columns().iter().zip(cells).map(|(column, cell)| Value::of(column, cell)).collect()
            }
            Row::Raw(_) => Vec::new(),
        };
        Self { schema, position, values, unknown }
    }

    /// The row's position in the table.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl Index<&str> for NamedRow<'_> {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        match self.schema.column(name).and_then(|(at, _)| self.values.get(at)) {
            Some(value) => value,
            None => {
                self.unknown.borrow_mut().get_or_insert_with(|| name.to_owned());
                &Value::Null
            }
        }
    }
}

/// Rows with their positions: what a verifier compares a proof with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    schema: Schema,
    rows: Vec<(u64, Row)>,
}

impl Rows {
    /// These rows of a table with this schema, in any order. The cells are not checked: see [`Self::from_values`].
    pub fn new(schema: Schema, mut rows: Vec<(u64, Row)>) -> Self {
        rows.sort_by_key(|(position, _)| *position);
        Self { schema, rows }
    }

    /// Rows of a table with this schema, in any order, from their positions and one value per column, in the order of
    /// the columns.
    ///
    /// # Errors
    /// [`Error::Row`] when a row does not have one value per column, or a value does not fit its column.
    pub fn from_values(schema: &Schema, rows: impl IntoIterator<Item = (u64, Vec<Value>)>) -> Result<Self, Error> {
        let rows = rows.into_iter().map(|(at, values)| Ok((at, to_row(schema, at, &values)?)));
        let rows = rows.collect::<Result<_, Error>>()?;
        Ok(Self::new(schema.clone(), rows))
    }

    /// The rows in a file of comma-separated values with a header line. The column [`Schema::index_name`] (`index`,
    /// unless the table has a column of that name) holds their positions. The other columns must be exactly those of
    /// `schema`. The schema must come from a source that the verifier trusts: it gives the values their meaning.
    ///
    /// # Errors
    /// [`Error::Input`] when the file cannot be read, or its columns or cells do not match `schema`; the error names
    /// line and column.
    pub fn from_csv(path: impl AsRef<Path>, schema: &Schema) -> Result<Self, Error> {
        let index = IndexSource::Column(schema.index_name());
        let table = input::Table::new(path.as_ref(), Format::Csv, index, schema.clone());
        let rows = table.rows()?.collect::<Result<_, _>>()?;
        Ok(Self::new(schema.clone(), rows))
    }

    /// Writes the rows to a file that [`Self::from_csv`] reads.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::Write`] when a row cannot be written as text.
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let out = BufWriter::new(File::create(path).map_err(Error::io(path))?);
        let mut writer = TableWriter::new(out, Format::Csv, &self.schema)?;
        for (position, row) in &self.rows {
            writer.write(*position, row)?;
        }
        Ok(writer.finish()?)
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Position and cells of every row, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Vec<Value>)> + '_ {
        let unknown = RefCell::new(None);
        self.rows.iter().map(move |(at, row)| (*at, NamedRow::new(&self.schema, *at, row, &unknown).values))
    }

    /// Positions, ascending, and rows.
    #[cfg(feature = "apps")]
    pub(crate) fn as_slice(&self) -> &[(u64, Row)] {
        &self.rows
    }

    /// Position and committed value of every row, ascending. Hashes each `bytes` cell, and each row of more than 4
    /// elements.
    pub(crate) fn leaves(&self) -> Result<Vec<(u64, tree::Value)>, Error> {
        let leaf = |(at, row): &(u64, Row)| {
            let value = self.schema.value(row).map_err(|source| Error::Row { position: *at, source })?;
            Ok((*at, value))
        };
        self.rows.iter().map(leaf).collect()
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = (u64, Vec<Value>);
    type IntoIter = Box<dyn Iterator<Item = Self::Item> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

/// The row of these values.
pub(crate) fn to_row(schema: &Schema, position: u64, values: &[Value]) -> Result<Row, Error> {
    let failed = |source| Error::Row { position, source };
    let (found, expected) = (values.len(), schema.columns().len());
    if found != expected {
        return Err(failed(evergrove_commit::schema::RowError::Width { expected, found }));
    }
    let cells = schema.columns().iter().zip(values).map(|(column, value)| value.cell(column));
    Ok(Row::Cells(cells.collect::<Result<_, _>>().map_err(|e| failed(e.into()))?))
}

pub(crate) fn unknown_column(schema: &Schema, name: &str) -> Error {
    let known = schema.columns().iter().map(|c| c.name.clone()).collect();
    Error::UnknownColumn { name: name.into(), known }
}

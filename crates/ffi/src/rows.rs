//! Rows as text, and their leaves.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use evergrove_verifier::HEIGHT_MAX;
use evergrove_verifier::schema::csv::{BYTE_ORDER_MARK, CsvReader};
use evergrove_verifier::schema::field::Field;
use evergrove_verifier::schema::json::{self, RecordError};
use evergrove_verifier::schema::{Cell, Column, ColumnType, Excerpt, Row, Schema};
use evergrove_verifier::tree::Value;

/// The format of a text of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A header line, then one line per row.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// The text is not a list of rows of the schema. [`Display`](fmt::Display) prints one sentence with the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsError {
    /// The line, counted from 1, where the record begins, or where the invalid quote is.
    pub line: u64,
    what: String,
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        // Control characters of foreign text must not break the sentence.
        self.what
            .chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

impl core::error::Error for RowsError {}

/// The leaves of rows, sorted by position. The field [`Schema::index_name`], `index` by default, is the position of a
/// row. Its other fields are the columns of the schema in any order; in raw mode these are e0 to e3.
///
/// # Errors
/// [`RowsError`] if the text does not have this format; if a column is missing, unknown or duplicate; if a cell does
/// not fit its column; or if a position is duplicate or beyond every tree.
pub fn leaves(schema: &Schema, format: Format, text: &[u8]) -> Result<Vec<(u64, Value)>, RowsError> {
    let mut leaves = read(format, text, Rows::new(schema))?;
    leaves.sort_unstable_by_key(|(index, _)| *index);
    let Some(pair) = leaves.windows(2).find(|pair| pair[0].0 == pair[1].0) else { return Ok(leaves) };
    // Leaves do not keep their lines, so read the text again, up to the second row with this position.
    let repeated = pair[0].0;
    let what = format!("duplicate position {repeated}");
    drop(leaves);
    let again = Rows { repeated: Some((repeated, false)), ..Rows::new(schema) };
    Err(read(format, text, again).err().unwrap_or(RowsError { line: 1, what }))
}

fn read(format: Format, text: &[u8], mut rows: Rows<'_>) -> Result<Vec<(u64, Value)>, RowsError> {
    match format {
        Format::Csv => csv(text, &mut rows)?,
        Format::Jsonl => jsonl(text, &mut rows)?,
    }
    Ok(rows.leaves)
}

/// The beginning of a foreign text, in quotes.
fn excerpt(text: &[u8]) -> String {
    format!("{}", Excerpt::new(text))
}

struct Rows<'a> {
    schema: &'a Schema,
    /// The columns of the schema; in raw mode, four of field elements.
    columns: Vec<Column>,
    index: String,
    /// Cells of the current row.
    cells: Vec<Option<Cell>>,
    texts: Vec<Option<Vec<u8>>>,
    position: Option<u64>,
    leaves: Vec<(u64, Value)>,
    /// A position whose second row is an error, and whether the first was read.
    repeated: Option<(u64, bool)>,
}

impl<'a> Rows<'a> {
    fn new(schema: &'a Schema) -> Self {
        let columns = match schema.is_raw() {
            true => (0..4).map(|i| Column::new(format!("e{i}"), ColumnType::Unsigned)).collect(),
            false => schema.columns().to_vec(),
        };
        let count = columns.len();
        let index = schema.index_name();
        Self {
            schema,
            columns,
            index,
            cells: vec![None; count],
            texts: vec![None; count],
            position: None,
            leaves: vec![],
            repeated: None,
        }
    }

    /// Compares the header of a csv text with the columns.
    fn check_names(&self, names: &[String]) -> Result<(), String> {
        for needed in self.columns.iter().map(|column| &column.name).chain([&self.index]) {
            match names.iter().filter(|name| *name == needed).count() {
                0 => return Err(format!("missing column {needed:?}")),
                1 => {}
                _ => return Err(format!("duplicate column {needed:?}")),
            }
        }
        let known = |name: &str| name == self.index || self.columns.iter().any(|column| column.name == name);
        match names.iter().find(|name| !known(name)) {
            Some(name) => Err(format!("unknown column {}", excerpt(name.as_bytes()))),
            None => Ok(()),
        }
    }

    fn take(&mut self, name: &str, field: Field<'_>) -> Result<(), String> {
        let twice = || format!("duplicate column {name:?}");
        if name == self.index {
            if self.position.is_some() {
                return Err(twice());
            }
            let text = field.text();
            let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            let number = core::str::from_utf8(&text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
            let position = number.filter(|x: &u64| x >> HEIGHT_MAX == 0);
            let bad = || format!("{} is not a position from 0 to 2^{HEIGHT_MAX} - 1", excerpt(&text));
            self.position = Some(position.ok_or_else(bad)?);
            return Ok(());
        }
        let at = self.columns.iter().position(|column| column.name == name);
        let at = at.ok_or_else(|| format!("unknown column {}", excerpt(name.as_bytes())))?;
        if self.schema.is_raw() {
            let before = self.texts[at].replace(field.text().into_owned());
            return if before.is_some() { Err(twice()) } else { Ok(()) };
        }
        let cell = field.cell(&self.columns[at]).map_err(|e| e.to_string())?;
        if self.cells[at].replace(cell).is_some() { Err(twice()) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), String> {
        let index = self.index.clone();
        let position = self.position.take().ok_or_else(|| format!("missing column {index:?}"))?;
        let columns = &self.columns;
        let missing = |at: usize| format!("missing column {:?}", columns[at].name);
        let row = if self.schema.is_raw() {
            let texts = self.texts.iter_mut().enumerate().map(|(at, text)| text.take().ok_or_else(|| missing(at)));
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            self.schema.parse_row(&texts).map_err(|e| e.to_string())?
        } else {
            let cells = self.cells.iter_mut().enumerate().map(|(at, cell)| cell.take().ok_or_else(|| missing(at)));
            Row::Cells(cells.collect::<Result<_, _>>()?)
        };
        let value = self.schema.value(&row).map_err(|e| e.to_string())?;
        if let Some((repeated, come)) = &mut self.repeated
            && *repeated == position
            && core::mem::replace(come, true)
        {
            return Err(format!("duplicate position {position}"));
        }
        self.leaves.push((position, value));
        Ok(())
    }
}

fn jsonl(text: &[u8], rows: &mut Rows<'_>) -> Result<(), RowsError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let at = |what| RowsError { line: number, what };
        json::record(line, &mut |name, field| rows.take(name, field)).map_err(|e| match e {
            // The parser sees only this line, so its line number is always 1.
            RecordError::Malformed(what) => at(what.replace(" at line 1 column ", " at column ")),
            RecordError::Refused(what) => at(what),
        })?;
        rows.finish().map_err(at)?;
    }
    Ok(())
}

fn csv(text: &[u8], rows: &mut Rows<'_>) -> Result<(), RowsError> {
    let mut reader = CsvReader::new(b',');
    let mut left = text;
    if !next(&mut reader, &mut left)? {
        return Err(RowsError { line: 1, what: "missing header: the first line names the columns".into() });
    }
    let line = reader.line();
    let header = |what: String| RowsError { line, what };
    let names: Option<Vec<String>> = reader.cells().map(|name| String::from_utf8(name.to_vec()).ok()).collect();
    let names = names.ok_or_else(|| header("the header is not UTF-8".into()))?;
    rows.check_names(&names).map_err(header)?;
    while next(&mut reader, &mut left)? {
        let line = reader.line();
        let at = |what| RowsError { line, what };
        let found = reader.cells().len();
        if found != names.len() {
            return Err(at(format!("{found} fields, the header has {}", names.len())));
        }
        for (name, cell) in names.iter().zip(reader.cells()) {
            rows.take(name, Field::Text(Cow::Borrowed(cell))).map_err(at)?;
        }
        rows.finish().map_err(at)?;
    }
    Ok(())
}

/// Reads the next record of a text. Returns false at the end.
fn next(reader: &mut CsvReader, left: &mut &[u8]) -> Result<bool, RowsError> {
    let read = match left.is_empty() {
        true => reader.finish(),
        false => reader.feed(left).and_then(|(taken, complete)| {
            *left = &left[taken..];
            if complete { Ok(true) } else { reader.finish() }
        }),
    };
    read.map_err(|e| RowsError { line: e.line(), what: e.to_string() })
}

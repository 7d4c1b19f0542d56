//! Rows as text, and the leaves that they are.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use csv_core::{ReadRecordResult, Reader};
use evergrove_verifier::HEIGHT_MAX;
use evergrove_verifier::schema::field::Field;
use evergrove_verifier::schema::json::{self, RecordError};
use evergrove_verifier::schema::{Cell, Column, ColumnType, Excerpt, Row, Schema};
use evergrove_verifier::tree::Value;

/// The form of a text of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A header, then a line for each row.
    Csv,
    /// A JSON object in each line.
    Jsonl,
}

/// The text is not a list of rows of the schema. [`Display`](fmt::Display) is one sentence, which names the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsError {
    /// The number of the line on which the record begins, from 1.
    pub line: u64,
    what: String,
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        // Text from outside stays within the sentence.
        self.what
            .chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

impl core::error::Error for RowsError {}

/// The leaves of rows, in the order of positions. The field [`Schema::index_name`], `index` by default, is the position of a row. Its other fields are the
/// columns of the schema, in any order; in raw mode they are e0 to e3.
///
/// # Errors
/// [`RowsError`]: the text does not have this form; a column is missing, unknown or duplicate; a cell does not fit its column; a position is duplicate or
/// beyond any tree.
pub fn leaves(schema: &Schema, format: Format, text: &[u8]) -> Result<Vec<(u64, Value)>, RowsError> {
    let mut leaves = read(format, text, Rows::new(schema))?;
    leaves.sort_unstable_by_key(|(index, _)| *index);
    let Some(pair) = leaves.windows(2).find(|pair| pair[0].0 == pair[1].0) else { return Ok(leaves) };
    // Lines are not kept: the text is read again, up to the second row of this position.
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

/// The beginning of a text from outside, in quotes.
fn excerpt(text: &[u8]) -> String {
    format!("{}", Excerpt::new(text))
}

struct Rows<'a> {
    schema: &'a Schema,
    /// The schema's, or four of elements in raw mode.
    columns: Vec<Column>,
    index: String,
    /// Of the row in the making.
    cells: Vec<Option<Cell>>,
    texts: Vec<Option<Vec<u8>>>,
    position: Option<u64>,
    leaves: Vec<(u64, Value)>,
    /// A position that is an error when it comes the second time, and whether it has come.
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
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let at = |what| RowsError { line: number, what };
        json::record(line, &mut |name, field| rows.take(name, field)).map_err(|e| match e {
            // The parser has seen this line alone.
            RecordError::Malformed(what) => at(what.replace(" at line 1 column ", " at column ")),
            RecordError::Refused(what) => at(what),
        })?;
        rows.finish().map_err(at)?;
    }
    Ok(())
}

fn csv(text: &[u8], rows: &mut Rows<'_>) -> Result<(), RowsError> {
    let mut records = Records { reader: Reader::new(), text, bytes: vec![0; 256], ends: vec![0; 16], line: 1, next: 1 };
    let names = records.next().unwrap_or_default();
    let line = records.line;
    let header = |what: String| RowsError { line, what };
    let names: Option<Vec<String>> = names.iter().map(|name| String::from_utf8(name.to_vec()).ok()).collect();
    let mut names = names.ok_or_else(|| header("the header is not UTF-8".into()))?;
    if let Some(first) = names.first_mut()
        && let Some(rest) = first.strip_prefix('\u{feff}')
    {
        *first = rest.into();
    }
    if names.is_empty() {
        return Err(RowsError { line: 1, what: "missing header: the first line names the columns".into() });
    }
    rows.check_names(&names).map_err(header)?;
    loop {
        let Some(fields) = records.next() else { return Ok(()) };
        let line = records.line;
        let at = |what| RowsError { line, what };
        if fields.len() != names.len() {
            return Err(at(format!("{} fields, the header has {}", fields.len(), names.len())));
        }
        for (name, field) in names.iter().zip(&fields) {
            rows.take(name, Field::Text(Cow::Borrowed(field))).map_err(at)?;
        }
        rows.finish().map_err(at)?;
    }
}

/// The records of a csv text.
struct Records<'a> {
    reader: Reader,
    text: &'a [u8],
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The line on which the last record begins, and the line of the text that is left.
    line: u64,
    next: u64,
}

impl Records<'_> {
    /// Leaves out the next bytes of the text, and counts their lines.
    fn skip(&mut self, count: usize) {
        let (skipped, rest) = self.text.split_at(count);
        self.next += skipped.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.text = rest;
    }

    /// The next record, none at the end.
    fn next(&mut self) -> Option<Vec<Vec<u8>>> {
        // The reader skips empty lines: so does the count of lines.
        self.skip(self.text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count());
        self.line = self.next;
        let (mut filled, mut count) = (0, 0);
        loop {
            let (result, read, written, ended) =
                self.reader.read_record(self.text, &mut self.bytes[filled..], &mut self.ends[count..]);
            self.skip(read);
            (filled, count) = (filled + written, count + ended);
            match result {
                // No text is left: the next call says so to the reader, which ends the last record.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.bytes.resize(2 * self.bytes.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::End => return None,
                ReadRecordResult::Record => {
                    let starts = core::iter::once(0).chain(self.ends[..count].iter().copied());
                    return Some(
                        starts.zip(&self.ends[..count]).map(|(from, to)| self.bytes[from..*to].to_vec()).collect(),
                    );
                }
            }
        }
    }
}

//! Parsing one row on a command line.

use std::borrow::Cow;

use evergrove_commit::schema::{Row, RowError, Schema};
use evergrove_verifier::schema::csv::CsvReader;

/// A text is not a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The text is not one record of comma-separated values.
    #[error("{0:?} is not one record of comma-separated values")]
    Malformed(String),
    /// The cells do not fit the schema.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A named column is not in the schema.
    #[error("unknown column {name:?}: the schema has {there}")]
    UnknownColumn {
        /// The name.
        name: String,
        /// The columns of the schema.
        there: String,
    },
    /// A column is named twice.
    #[error("duplicate column {0:?}")]
    DuplicateColumn(String),
    /// The cell of a pair is in quotes, which would become a part of the cell.
    #[error("column {0:?}: the quotes are within COLUMN=CELL, and belong around it")]
    QuotedCell(String),
    /// Some columns are not named, and the slot has no row to take them from.
    #[error("the slot is empty and column {0:?} is not given")]
    Incomplete(String),
}

/// Parses a row: cells in the order of the schema, as in a line of csv; or `COLUMN=CELL` pairs, which change some
/// columns of `current`; or, in raw mode, 4 integers below p.
///
/// If every item of a text begins with the name of a column and `=`, the items are pairs.
pub fn parse_record(schema: &Schema, text: &str, current: Option<&Row>) -> Result<Row, RecordError> {
    let items = split(text)?;
    // In an item with quotes around it, anything may follow the name.
    if !schema.is_raw() && !text.starts_with('"') && !text.contains(",\"") {
        let cell = items.iter().find_map(|item| pair(schema, item).filter(|(_, cell)| cell.starts_with('"')));
        if let Some((at, _)) = cell {
            return Err(RecordError::QuotedCell(schema.columns()[at].name.clone()));
        }
    }
    let pairs: Option<Vec<_>> = items.iter().map(|item| pair(schema, item)).collect();
    let Some(pairs) = pairs.filter(|_| !schema.is_raw()) else {
        if let Some(name) = unknown(schema, &items) {
            let there = schema.columns().iter().map(|c| format!("{:?}", c.name)).collect::<Vec<_>>().join(", ");
            return Err(RecordError::UnknownColumn { name: name.into(), there });
        }
        return Ok(schema.parse_row(&items)?);
    };
    let mut texts: Vec<Option<Cow<'_, [u8]>>> = match current {
        Some(row) => schema.format_row(row).into_iter().map(|t| Some(Cow::Owned(t))).collect(),
        None => schema.columns().iter().map(|_| None).collect(),
    };
    let mut named = vec![false; texts.len()];
    for (at, cell) in pairs {
        if std::mem::replace(&mut named[at], true) {
            return Err(RecordError::DuplicateColumn(schema.columns()[at].name.clone()));
        }
        texts[at] = Some(Cow::Borrowed(cell.as_bytes()));
    }
    let mut cells = Vec::with_capacity(texts.len());
    for (at, (column, text)) in schema.columns().iter().zip(texts).enumerate() {
        let text = text.ok_or_else(|| RecordError::Incomplete(column.name.clone()))?;
        // A kept cell is not parsed again, because its text may mean another cell.
        let kept = match current {
            Some(Row::Cells(cells)) if !named[at] => cells.get(at).cloned(),
            _ => None,
        };
        cells.push(match kept {
            Some(cell) => cell,
            None => column.parse(&text).map_err(RowError::Cell)?,
        });
    }
    Ok(Row::Cells(cells))
}

fn pair<'a>(schema: &Schema, item: &'a str) -> Option<(usize, &'a str)> {
    let (name, cell) = item.split_once('=')?;
    schema.column(name).map(|(at, _)| (at, cell))
}

/// The first unknown column in a text that can only be pairs: fewer items than the schema has columns, all with `=`.
fn unknown<'a>(schema: &Schema, items: &'a [String]) -> Option<&'a str> {
    if schema.is_raw() || items.len() >= schema.columns().len() || !items.iter().all(|item| item.contains('=')) {
        return None;
    }
    let item = items.iter().find(|item| pair(schema, item).is_none())?;
    item.split_once('=').map(|(name, _)| name)
}

fn split(text: &str) -> Result<Vec<String>, RecordError> {
    let malformed = || RecordError::Malformed(text.chars().take(60).collect());
    let mut reader = CsvReader::new(b',');
    let (taken, mut complete) = reader.feed(text.as_bytes()).map_err(|_| malformed())?;
    if !complete {
        complete = reader.finish().map_err(|_| malformed())?;
    }
    if !complete {
        return Ok(vec![String::new()]);
    }
    let cells = reader.cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    // Nothing may follow the end of the line.
    let mut rest = reader.clone();
    match rest.feed(&text.as_bytes()[taken..]).map(|(_, more)| more || rest.finish() != Ok(false)) {
        Ok(false) => Ok(cells),
        Ok(true) | Err(_) => Err(malformed()),
    }
}

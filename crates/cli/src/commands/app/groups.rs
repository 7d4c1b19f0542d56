//! The groups of a query with `GROUP BY`: found in a store's rows, and in files with one JSON object a line.

use std::path::Path;

use anyhow::{Context, Result};
use evergrove::apps::aggregate::{Grouping, Query, SqlError};
use evergrove::commit::schema::{Cell, Column, Row, Schema};
use evergrove::store::Store;
use evergrove::store::input::json_row;
use serde_json::{Map, Value as Json, json};

use crate::exit::Mistake;
use crate::files::{self, Out};

/// A file of groups has at most so many bytes.
const MAX_BYTES: u64 = 1 << 24;

/// The groups that the rows of a store have: of all rows, or of those at some positions.
pub(in crate::commands) fn of_store(store: &Store, sql: &str, members: Option<&[u64]>) -> Result<Vec<Row>> {
    let refused = |e: SqlError| Mistake::usage(format!("--sql: {e}"), e.remedy());
    let mut grouping = Grouping::new(store.schema(), sql).map_err(refused)?;
    let view = store.view()?;
    let mut add =
        |index: u64| -> Result<()> { view.row(index)?.map_or(Ok(()), |row| grouping.add(&row).map_err(refused)) };
    match members {
        Some(members) => members.iter().try_for_each(|index| add(*index))?,
        None => view.vector()?.occupied().try_for_each(|index| add(index?))?,
    }
    Ok(grouping.groups())
}

/// Refuses a list that lacks a group of the rows.
pub(in crate::commands) fn check(by: &[Column], found: &[Row], listed: &[Row]) -> Result<()> {
    let missing = found.iter().find(|group| !listed.contains(group));
    let Some(Row::Cells(cells)) = missing else { return Ok(()) };
    let cells = by.iter().zip(cells).map(|(column, cell)| format!("{} {}", column.name, text(column, cell)));
    let message = format!("--groups: the group {} is missing", cells.collect::<Vec<_>>().join(", "));
    Err(Mistake::usage(message, "add it, or leave --groups out"))
}

/// A cell for people: null bare, what bytes hold in quotes.
pub(in crate::commands) fn text(column: &Column, cell: &Cell) -> String {
    match (cell, json_of(column, cell)) {
        (Cell::Null, _) => "NULL".into(),
        (Cell::Bytes(_), json) => json.to_string(),
        (_, Json::String(number)) => number,
        (_, json) => json.to_string(),
    }
}

/// The query of a text, with the groups of a file where it has `GROUP BY`.
pub(in crate::commands) fn query(
    schema: &Schema,
    sql: &str,
    file: Option<&Path>,
    found: impl FnOnce() -> Result<Vec<Row>>,
) -> Result<(Query, Vec<Row>)> {
    let refused = |e: SqlError| Mistake::usage(format!("--sql: {e}"), e.remedy());
    let by = Query::grouped_by(schema, sql).map_err(refused)?;
    let groups = match file {
        _ if by.is_empty() => {
            if file.is_some() {
                return Err(Mistake::usage("--groups: the query has no GROUP BY", "leave it out"));
            }
            vec![]
        }
        Some(file) => read(file, &by)?,
        None => found()?,
    };
    Ok((Query::with_groups(schema, sql, &groups).map_err(refused)?, groups))
}

/// Writes groups, in the form that [`query`] reads.
pub(in crate::commands) fn write(path: &Path, by: &[Column], groups: &[Row]) -> Result<()> {
    files::write(path, |out| write_to(out, by, groups))
}

/// The same where `out` leads.
pub(in crate::commands) fn write_to(out: &mut Out<'_>, by: &[Column], groups: &[Row]) -> Result<()> {
    for group in groups {
        let Row::Cells(cells) = group else { continue };
        let object: Map<String, Json> =
            by.iter().zip(cells).map(|(column, cell)| (column.name.clone(), json_of(column, cell))).collect();
        writeln!(out, "{}", Json::Object(object))?;
    }
    Ok(())
}

/// A cell in the form of files of groups.
pub(in crate::commands) fn json_of(column: &Column, cell: &Cell) -> Json {
    match cell {
        Cell::Null => Json::Null,
        Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
        },
        cell => String::from_utf8_lossy(&column.format(cell)).into(),
    }
}

fn read(path: &Path, by: &[Column]) -> Result<Vec<Row>> {
    let bytes = files::read(path, MAX_BYTES, "check the path: no list of groups is that long")?;
    parse(path, &bytes, by)
}

/// The groups in the bytes of a file.
pub(in crate::commands) fn parse(path: &Path, bytes: &[u8], by: &[Column]) -> Result<Vec<Row>> {
    let text = std::str::from_utf8(bytes).with_context(|| path.display().to_string())?;
    let schema = Schema::new(by.to_vec())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(i, line)| {
            json_row(&schema, line).map_err(|e| {
                let message = format!("{}, line {}: {e}", path.display(), i + 1);
                Mistake::usage(message, "write one JSON object a line, with the columns of GROUP BY")
            })
        })
        .collect()
}

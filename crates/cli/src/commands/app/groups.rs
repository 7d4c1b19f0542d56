//! Groups of a query with `GROUP BY`, `DISTINCT` or `LIKE`: found in the rows of a store, and in files with one JSON
//! object per line.

use std::path::Path;

use anyhow::{Context, Result};
use evergrove::apps::aggregate::{Query, SqlError};
use evergrove::commit::schema::{Cell, Column, Row, Schema};
use evergrove::store::Store;
use evergrove::{Error, Groups};
use serde_json::Value as Json;

use crate::exit::CliError;
use crate::files;

/// Greatest size of a file of groups in bytes.
const MAX_BYTES: u64 = 1 << 24;

/// The groups of the rows of a store: of all rows, or of the rows at these positions.
pub(in crate::commands) fn of_store(store: &Store, sql: &str, members: Option<&[u64]>) -> Result<Groups> {
    Groups::of_store(store, sql, members).map_err(refused)
}

fn refused(e: Error) -> anyhow::Error {
    match e {
        Error::Query(e) => of_query(&e),
        e => e.into(),
    }
}

fn of_query(e: &SqlError) -> anyhow::Error {
    CliError::usage(format!("--sql: {e}"), e.remedy())
}

/// Refuses a file that lacks a group of the rows.
pub(in crate::commands) fn check(found: &Groups, listed: &Groups) -> Result<()> {
    for ((columns, found), (_, listed)) in found.lists().iter().zip(listed.lists()) {
        let missing = found.iter().find(|group| !listed.contains(group));
        let Some(Row::Cells(cells)) = missing else { continue };
        let cells = columns.iter().zip(cells).map(|(column, cell)| format!("{} {}", column.name, text(column, cell)));
        let message = format!("--groups: the group {} is missing", cells.collect::<Vec<_>>().join(", "));
        return Err(CliError::usage(message, "add it, or leave --groups out"));
    }
    Ok(())
}

/// A cell for people: null without quotes, bytes in quotes.
pub(in crate::commands) fn text(column: &Column, cell: &Cell) -> String {
    match (cell, Groups::json(column, cell)) {
        (Cell::Null, _) => "NULL".into(),
        (Cell::Bytes(_), json) => json.to_string(),
        (_, Json::String(number)) => number,
        (_, json) => json.to_string(),
    }
}

/// The query of a text and its groups: from the file, or from `found` if the query needs groups and no file is given.
pub(in crate::commands) fn query(
    schema: &Schema,
    sql: &str,
    file: Option<&Path>,
    found: impl FnOnce() -> Result<Groups>,
) -> Result<(Query, Groups)> {
    let needed = !Query::grouped_by(schema, sql).map_err(|e| of_query(&e))?.is_empty();
    let groups = match file {
        Some(_) if !needed => {
            return Err(CliError::usage("--groups: the query has no GROUP BY, DISTINCT or LIKE", "leave it out"));
        }
        Some(file) => read(file, schema, sql)?,
        None if needed => found()?,
        None => Groups::default(),
    };
    Ok((groups.query(schema, sql).map_err(refused)?, groups))
}

/// Writes groups in the form that [`query`] reads.
pub(in crate::commands) fn write(path: &Path, groups: &Groups) -> Result<()> {
    files::write(path, |out| Ok(write!(out, "{groups}")?))
}

fn read(path: &Path, schema: &Schema, sql: &str) -> Result<Groups> {
    let bytes = files::read(path, MAX_BYTES, "check the path: no list of groups is that long")?;
    let text = String::from_utf8(bytes).with_context(|| path.display().to_string())?;
    Groups::parse(schema, sql, &text).map_err(|e| match e {
        Error::Groups { line, reason } => {
            let message = format!("{}, line {line}: {reason}", path.display());
            CliError::usage(message, "write one JSON object a line, with the columns of GROUP BY, DISTINCT or LIKE")
        }
        e => refused(e),
    })
}

//! The groups of a query with `GROUP BY`: found in a store's rows, and in files with one JSON object a line.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result};
use evergrove::apps::aggregate::{MAX_ACCUMULATORS, Query};
use evergrove::commit::schema::{Cell, Column, Row, Schema};
use evergrove::store::Store;
use evergrove::store::input::json_row;
use serde_json::{Map, Value as Json, json};

use crate::exit::Mistake;
use crate::files;

/// A file of groups has at most so many bytes.
const MAX_BYTES: u64 = 1 << 24;

/// The groups that the rows of a store have: of all rows, or of those at some positions.
pub(super) fn of_store(store: &Store, by: &[Column], members: Option<&[u64]>) -> Result<Vec<Row>> {
    let view = store.view()?;
    let places: Vec<usize> = by.iter().filter_map(|column| Some(store.schema().column(&column.name)?.0)).collect();
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    let mut add = |index: u64| -> Result<()> {
        let Some(Row::Cells(cells)) = view.row(index)? else { return Ok(()) };
        let group: Vec<Cell> = places.iter().map(|place| cells[*place].clone()).collect();
        if seen.insert(format!("{group:?}")) {
            found.push(Row::Cells(group));
        }
        // Each group has a count and an aggregate at least.
        if found.len() > MAX_ACCUMULATORS / 2 {
            let names: Vec<&str> = by.iter().map(|column| column.name.as_str()).collect();
            let message = format!("--sql: more than {} groups by {}", MAX_ACCUMULATORS / 2, names.join(", "));
            return Err(Mistake::usage(
                message,
                "group by columns of few values, or name those of interest with FILTER",
            ));
        }
        Ok(())
    };
    match members {
        Some(members) => members.iter().try_for_each(|index| add(*index))?,
        None => view.vector()?.occupied().try_for_each(|index| add(index?))?,
    }
    Ok(found)
}

/// The query of a text, with the groups of a file where it has `GROUP BY`.
pub(super) fn query(
    schema: &Schema,
    sql: &str,
    file: Option<&Path>,
    found: impl FnOnce(&[Column]) -> Result<Vec<Row>>,
) -> Result<(Query, Vec<Row>)> {
    let refused = |e: evergrove::apps::aggregate::SqlError| Mistake::usage(format!("--sql: {e}"), e.remedy());
    let by = Query::grouped_by(schema, sql).map_err(refused)?;
    let groups = match file {
        _ if by.is_empty() => {
            if file.is_some() {
                return Err(Mistake::usage("--groups: the query has no GROUP BY", "leave it out"));
            }
            vec![]
        }
        Some(file) => read(file, &by)?,
        None => found(&by)?,
    };
    Ok((Query::with_groups(schema, sql, &groups).map_err(refused)?, groups))
}

/// Writes groups, in the form that [`query`] reads.
pub(super) fn write(path: &Path, by: &[Column], groups: &[Row]) -> Result<()> {
    files::write(path, |out| {
        for group in groups {
            let Row::Cells(cells) = group else { continue };
            let object: Map<String, Json> =
                by.iter().zip(cells).map(|(column, cell)| (column.name.clone(), json_of(column, cell))).collect();
            writeln!(out, "{}", Json::Object(object))?;
        }
        Ok(())
    })
}

fn json_of(column: &Column, cell: &Cell) -> Json {
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
    let text = String::from_utf8(bytes).with_context(|| path.display().to_string())?;
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

//! The distinct values of columns that make the answer to a query complete.

use core::fmt;
use std::collections::BTreeSet;

use evergrove_apps::aggregate::{Grouping, Query};
use evergrove_commit::schema::{Cell, Column, Row, Schema};
use evergrove_store::input::json_row;
use serde_json::{Map, Value as Json, json};

use crate::Error;

/// The groups of a query with `GROUP BY`, the values that `DISTINCT` counts, and the contents that `LIKE` matches.
///
/// [`Store::groups`](crate::Store::groups) finds them. As text they are JSON objects, one on each line: each has the
/// columns of `GROUP BY`, of `DISTINCT` or of `LIKE`, and their values. The text may come from anyone: a
/// [`Verifier`](crate::Verifier) refuses an answer if a group is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    lists: Vec<(Vec<Column>, Vec<Row>)>,
}

impl Groups {
    /// The groups in the rows of a store, or in the rows at some positions. The list is empty for a query that needs no
    /// groups.
    ///
    /// # Errors
    /// When the text is not a query about the store's table, or there are more groups than a query can have; the errors
    /// of the store.
    pub fn of_store(store: &evergrove_store::Store, sql: &str, positions: Option<&[u64]>) -> Result<Self, Error> {
        let columns = Query::grouped_by(store.schema(), sql)?;
        if columns.is_empty() {
            return Ok(Self::default());
        }
        let view = store.view()?;
        let all = if positions.is_none() { view.positions()? } else { vec![] };
        let mut grouping = Grouping::new(store.schema(), sql)?;
        for &position in positions.unwrap_or(&all) {
            if let Some(row) = view.row(position)? {
                grouping.add(&row)?;
            }
        }
        Ok(Self { lists: columns.into_iter().zip(grouping.groups()?).collect() })
    }

    /// Reads the text of groups.
    ///
    /// # Errors
    /// [`Error::Groups`] with the number of the line; when the text is not a query about this schema.
    pub fn parse(schema: &Schema, sql: &str, text: &str) -> Result<Self, Error> {
        let columns = Query::grouped_by(schema, sql)?;
        let schemas = columns.iter().map(|columns| Schema::new(columns.clone())).collect::<Result<Vec<_>, _>>()?;
        let mut lists: Vec<_> = columns.into_iter().map(|columns| (columns, vec![])).collect();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let failed = |reason: String| Error::Groups { line: i + 1, reason };
            let object: Map<String, Json> = serde_json::from_str(line).unwrap_or_default();
            let names: BTreeSet<&str> = object.keys().map(String::as_str).collect();
            // A line with other columns is compared with the first list, to give its error.
            let list = lists.iter().position(|(columns, _)| names_of(columns) == names).unwrap_or(0);
            let Some(schema) = schemas.get(list) else { return Err(failed("the query needs no groups".into())) };
            let row = json_row(schema, line).map_err(|e| failed(e.to_string()))?;
            lists[list].1.push(row);
        }
        Ok(Self { lists })
    }

    /// The query in a text, with these groups if it needs any.
    ///
    /// # Errors
    /// When the text is not a query about this schema; when a group is repeated.
    pub fn query(&self, schema: &Schema, sql: &str) -> Result<Query, Error> {
        let rows: Vec<Vec<Row>> = self.lists.iter().map(|(_, rows)| rows.clone()).collect();
        Ok(if Query::grouped_by(schema, sql)?.is_empty() && rows.is_empty() {
            Query::parse(schema, sql)?
        } else {
            Query::with_groups(schema, sql, &rows)?
        })
    }

    /// Columns and their values, for each list of columns in the query.
    pub fn lists(&self) -> &[(Vec<Column>, Vec<Row>)] {
        &self.lists
    }

    /// A cell as in the text of groups.
    pub fn json(column: &Column, cell: &Cell) -> Json {
        match cell {
            Cell::Null => Json::Null,
            Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(_) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
            },
            cell => String::from_utf8_lossy(&column.format(cell)).into(),
        }
    }
}

fn names_of(columns: &[Column]) -> BTreeSet<&str> {
    columns.iter().map(|column| column.name.as_str()).collect()
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (columns, rows) in &self.lists {
            for row in rows {
                let Row::Cells(cells) = row else { continue };
                let cells = columns.iter().zip(cells);
                let object: Map<String, Json> =
                    cells.map(|(column, cell)| (column.name.clone(), Self::json(column, cell))).collect();
                writeln!(f, "{}", Json::Object(object))?;
            }
        }
        Ok(())
    }
}

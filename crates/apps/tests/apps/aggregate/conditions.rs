//! The queries that SQLite and DuckDB answered, and circuits for some of them. The tests of `evergrove-plonky2`
//! include this file for the circuits of Plonky2.

use evergrove_apps::aggregate::Aggregate;
use evergrove_commit::schema::{Column, Row, Schema};
use serde_json::Value;

use super::circuits::check;
use super::table::{Table, cell};

/// The table and the queries of the corpus.
pub(super) fn corpus() -> (Table, Vec<Value>) {
    let text = include_str!("../../../../../vectors/aggregates.json");
    let corpus: Value = serde_json::from_str(text).unwrap();
    (table(&corpus), corpus["queries"].as_array().unwrap().clone())
}

/// The table of a JSON document with columns and rows.
pub(super) fn table(of: &Value) -> Table {
    let columns = of["columns"].as_array().unwrap().iter().map(|c| {
        let column = Column::new(c["name"].as_str().unwrap(), c["type"].as_str().unwrap().parse().unwrap());
        if c["nullable"].as_bool().unwrap() { column.nullable() } else { column }
    });
    let schema = Schema::new(columns.collect()).unwrap();
    let rows = of["rows"].as_array().unwrap().iter().map(|row| {
        let cells = schema.columns().iter().zip(row.as_array().unwrap()).map(|(c, v)| cell(c, v));
        Row::Cells(cells.collect())
    });
    let rows = rows.collect();
    Table { rows, schema }
}

/// Random conditions with nulls: every 16th query, over six rows that differ from query to query.
#[test]
fn circuits_agree_on_random_conditions() {
    let (table, queries) = corpus();
    for (k, query) in queries.iter().enumerate().skip(20).step_by(16) {
        let app = Aggregate::new(table.query(query["sql"].as_str().unwrap()).plan().clone());
        let cases = table.cases(&app);
        let at = k % (cases.len() - 6);
        check(&app, &cases[at..at + 6]);
    }
}

//! 400 queries answered as SQLite answers them, and some of them by the circuits too.

use evergrove_apps::aggregate::Aggregate;
use evergrove_apps::laws;
use evergrove_commit::schema::{Column, Row, Schema};
use serde_json::Value;

use super::table::{Table, cell};

/// The table of the corpus and its queries.
fn corpus() -> (Table, Vec<Value>) {
    let text = include_str!("../../../../../vectors/aggregates.json");
    let corpus: Value = serde_json::from_str(text).unwrap();
    let columns = corpus["columns"].as_array().unwrap().iter().map(|c| {
        let column = Column::new(c["name"].as_str().unwrap(), c["type"].as_str().unwrap().parse().unwrap());
        if c["nullable"].as_bool().unwrap() { column.nullable() } else { column }
    });
    let schema = Schema::new(columns.collect()).unwrap();
    let rows = corpus["rows"].as_array().unwrap().iter().map(|row| {
        let cells = schema.columns().iter().zip(row.as_array().unwrap()).map(|(c, v)| cell(c, v));
        Row::Cells(cells.collect())
    });
    let rows = rows.collect();
    (Table { rows, schema }, corpus["queries"].as_array().unwrap().clone())
}

#[test]
fn queries_are_answered_as_sqlite_answers_them() {
    let (table, queries) = corpus();
    assert_eq!(queries.len(), 400);
    for query in &queries {
        let sql = query["sql"].as_str().unwrap();
        let found = table.values(sql);
        let expected = query["answer"].as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{sql}");
        for (found, expected) in found.iter().zip(expected) {
            match expected.as_str() {
                None => assert_eq!(found, "NULL", "{sql}"),
                Some(about) if about.starts_with('~') => {
                    let (found, about): (f64, f64) = (found.parse().unwrap(), about[1..].parse().unwrap());
                    assert!((found - about).abs() <= 1e-6 + about.abs() * 1e-12, "{sql}: {found} is not {about}");
                }
                Some(exact) => assert_eq!(found, exact, "{sql}"),
            }
        }
    }
}

/// Random conditions with nulls: every 16th query, over six rows that differ from query to query.
#[test]
fn circuits_agree_on_random_conditions() {
    let (table, queries) = corpus();
    for (k, query) in queries.iter().enumerate().skip(20).step_by(16) {
        let app = Aggregate::new(table.query(query["sql"].as_str().unwrap()).plan().clone());
        let cases = table.cases(&app);
        let at = k % (cases.len() - 6);
        laws::check(&app, &cases[at..at + 6]);
    }
}

//! 400 queries answered as SQLite and DuckDB answer them, and some of them by the circuits too.

use evergrove_apps::aggregate::Aggregate;
use evergrove_apps::laws;
use evergrove_commit::RecursionBackend;
use evergrove_commit::batch::Batch;
use evergrove_commit::schema::{Column, Row, Schema};
use evergrove_verifier::{Profile, Scheme};
use serde_json::Value;

use super::table::{Table, cell};
use crate::family::world::{Proofs, prove_opened};
use crate::on_tables::{committed, family};

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

/// The values of an answer are those of the corpus.
fn compare(sql: &str, found: &[String], expected: &Value) {
    let expected = expected.as_array().unwrap();
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

#[test]
fn queries_are_answered_as_sqlite_answers_them() {
    let (table, queries) = corpus();
    assert_eq!(queries.len(), 400);
    for query in &queries {
        let sql = query["sql"].as_str().unwrap();
        compare(sql, &table.values(sql), &query["answer"]);
    }
}

/// Proven over all rows, and verified by a verifier that makes its own key.
#[test]
#[ignore = "apps: a hundred proofs, two minutes"]
fn a_hundred_of_them_are_proven() {
    let (table, queries) = corpus();
    let vector = committed(&table, 10);
    let opening = |i: u64| table.schema.elements(&table.rows[i as usize]).unwrap();
    for query in queries.iter().step_by(4) {
        let sql = query["sql"].as_str().unwrap();
        let query_of = table.query(sql);
        let app = || Aggregate::new(query_of.plan().clone());
        let (_, backend) = family(app(), Scheme::Complete, Profile::Grove100);
        let batch = Batch::build_as(&vector, &[], backend.spec().structure()).unwrap();
        let (proof, _) = prove_opened(&backend, &vector, &batch, &mut Proofs::new(), opening);
        family(app(), Scheme::Complete, Profile::Grove100).0.verifier().unwrap().verify(&proof).unwrap();
        let answer = query_of.answer(&proof.output).unwrap();
        compare(sql, &answer.values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>(), &query["answer"]);
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

//! 400 queries with the answers of SQLite and DuckDB, and random queries of all kinds with SQLite's answers.

use std::collections::BTreeSet;
use std::process::Command;

use evergrove_apps::aggregate::{Aggregate, Answer, Decimal, Query, QueryError, SqlError, Value as Found};
use evergrove_commit::RecursionBackend;
use evergrove_commit::batch::Batch;
use evergrove_commit::schema::{Cell, Column};
use evergrove_verifier::{Profile, Scheme};
use num_bigint::BigInt;
use serde_json::Value;

use super::conditions::{corpus, table};
use super::table::{Table, cell};
use crate::on_tables::{circuit_set, committed};
use crate::world::{Proofs, prove_opened};

/// Compares the values of an answer with those of the corpus.
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

/// Proven over all rows, and verified by a verifier that builds its own key.
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
        let (_, backend) = circuit_set(app(), Scheme::Complete, Profile::Grove100);
        let batch = Batch::build_as(&vector, &[], backend.spec().structure()).unwrap();
        let (proof, _) = prove_opened(&backend, &vector, &batch, &mut Proofs::new(), opening);
        circuit_set(app(), Scheme::Complete, Profile::Grove100).0.verifier().unwrap().verify(&proof).unwrap();
        let answer = query_of.answer(&proof.output).unwrap();
        compare(sql, &answer.values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>(), &query["answer"]);
    }
}

/// Random tables and queries, with SQLite's answers; empty if Python is missing.
fn cases(count: usize, seed: u64) -> Vec<(Table, Vec<Value>)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/aggregates.py");
    let arguments = ["--cases".to_owned(), count.to_string(), "--seed".to_owned(), seed.to_string()];
    let Ok(out) = Command::new("python3").arg(script).args(arguments).output() else {
        evergrove_testkit::not_tested("TEST", "python3 is missing");
        return vec![];
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let cases = text.lines().map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        (table(&case), case["queries"].as_array().unwrap().clone())
    });
    cases.collect()
}

/// True if a value is the expected fraction, or the nearest number with the value's decimal places.
fn is(found: &Found, expected: &Value) -> bool {
    let Some(expected) = expected.as_str() else { return *found == Found::Null };
    let (Found::Exact(Decimal { units, scale }) | Found::Rounded(Decimal { units, scale })) = found else {
        return false;
    };
    if let Some(about) = expected.strip_prefix('~') {
        let (found, about): (f64, f64) = (found.to_string().parse().unwrap(), about.parse().unwrap());
        return (found - about).abs() <= 1e-6 + about.abs() * 1e-12;
    }
    let (n, d) = expected.split_once('/').unwrap_or((expected, "1"));
    let (n, d): (BigInt, BigInt) = (n.parse().unwrap(), d.parse().unwrap());
    let twice: BigInt = (units * &d - n * BigInt::from(10).pow(*scale)) * 2;
    if matches!(found, Found::Exact(_)) { twice == BigInt::ZERO } else { twice <= d && -twice <= d }
}

/// The rows of an answer: the cells of each group, and its values.
fn rows(answer: &Answer) -> Vec<(Vec<Cell>, Vec<&Found>)> {
    if !answer.values.is_empty() {
        return vec![(vec![], answer.values.iter().map(|(_, value)| value).collect())];
    }
    let row = |key: &[(Column, Cell)]| key.iter().map(|(_, cell)| cell.clone()).collect();
    answer.groups.iter().map(|group| (row(&group.key), group.values.iter().map(|(_, value)| value).collect())).collect()
}

fn agrees(query: &Value, answer: &Answer) {
    let sql = query["sql"].as_str().unwrap();
    let expected = query["answers"].as_array().unwrap();
    let found = rows(answer);
    assert_eq!(found.len(), expected.len(), "{sql}: {answer:?}");
    for row in expected {
        let key = row["key"].as_array().unwrap();
        let columns = answer.groups.first().map_or(&[][..], |group| &group.key);
        let key: Vec<Cell> = columns.iter().zip(key).map(|((column, _), value)| cell(column, value)).collect();
        let (_, values) = found.iter().find(|(other, _)| *other == key).unwrap_or_else(|| panic!("{sql}: {key:?}"));
        for (found, expected) in values.iter().zip(row["values"].as_array().unwrap()) {
            assert!(is(found, expected), "{sql}: {found} is not {expected}");
        }
        assert_eq!(values.len(), row["values"].as_array().unwrap().len(), "{sql}");
    }
}

/// The queries that need at most 64 accumulators.
fn fitting(cases: &[(Table, Vec<Value>)]) -> Vec<(&Table, &Value, Query)> {
    let all = cases.iter().flat_map(|(table, queries)| queries.iter().map(move |query| (table, query)));
    let fitting = all.filter_map(|(table, query)| {
        let sql = query["sql"].as_str().unwrap();
        let parsed = match Query::parse(&table.schema, sql) {
            Err(SqlError::Grouped) => Query::with_groups(&table.schema, sql, &table.groups(sql)),
            parsed => parsed,
        };
        match parsed {
            Ok(parsed) => Some((table, query, parsed)),
            Err(SqlError::Query(QueryError::Accumulators(_) | QueryError::Steps(_))) => None,
            Err(e) => panic!("{sql}: {e}"),
        }
    });
    fitting.collect()
}

fn random(count: usize, seed: u64) {
    let cases = cases(count, seed);
    let fitting = fitting(&cases);
    assert!(cases.is_empty() || fitting.len() * 20 > count * 19, "{} of {count} fit", fitting.len());
    let texts: BTreeSet<&str> = fitting.iter().map(|(_, query, _)| query["sql"].as_str().unwrap()).collect();
    assert!(cases.is_empty() || texts.len() * 10 > count * 9);
    for (table, query, parsed) in &fitting {
        agrees(query, &table.answer_of(parsed));
    }
}

#[test]
fn random_queries_are_answered_as_sqlite_answers_them() {
    random(2000, 7);
}

/// `EVERGROVE_CASES` sets the number of cases, and `EVERGROVE_SEED` the first seed.
#[test]
#[ignore = "apps: a minute, fifty thousand queries"]
fn many_random_queries_are_answered_as_sqlite_answers_them() {
    let of = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    random(of("EVERGROVE_CASES", 50_000) as usize, of("EVERGROVE_SEED", 1000));
}

/// Proven over all rows, and verified by a verifier that builds its own key.
#[test]
#[ignore = "apps: a hundred proofs, minutes"]
fn a_hundred_random_queries_are_proven() {
    let cases = cases(2000, 8);
    let fitting = fitting(&cases);
    let wide = |query: &Query| query.plan().accumulators().len() <= 24 && query.plan().conditions().len() <= 12;
    let proven = fitting.iter().filter(|(table, _, query)| table.rows.len() > 1 && wide(query)).step_by(9);
    let proven: Vec<_> = proven.take(110).collect();
    assert!(cases.is_empty() || proven.len() >= 100, "{}", proven.len());
    for (table, query, parsed) in proven {
        let vector = committed(table, 5);
        let opening = |i: u64| table.schema.elements(&table.rows[i as usize]).unwrap();
        let app = || Aggregate::new(parsed.plan().clone());
        let (_, backend) = circuit_set(app(), Scheme::Complete, Profile::Grove100);
        let batch = Batch::build_as(&vector, &[], backend.spec().structure()).unwrap();
        let (proof, _) = prove_opened(&backend, &vector, &batch, &mut Proofs::new(), opening);
        circuit_set(app(), Scheme::Complete, Profile::Grove100).0.verifier().unwrap().verify(&proof).unwrap();
        agrees(query, &parsed.answer(&proof.output).unwrap());
    }
}

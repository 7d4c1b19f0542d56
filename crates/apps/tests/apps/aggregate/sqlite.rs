//! 400 queries answered as SQLite and DuckDB answer them.

use evergrove_apps::aggregate::Aggregate;
use evergrove_commit::RecursionBackend;
use evergrove_commit::batch::Batch;
use evergrove_verifier::{Profile, Scheme};
use serde_json::Value;

use super::conditions::corpus;
use crate::on_tables::{committed, family};
use crate::world::{Proofs, prove_opened};

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

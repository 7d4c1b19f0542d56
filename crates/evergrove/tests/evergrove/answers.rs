//! Answers to queries.
#![cfg(feature = "apps")]

use evergrove::prelude::*;

use crate::{native, table};

const QUERY: &str = "SELECT SUM(price), COUNT(*) FROM t WHERE stock >= 4";

#[cfg(feature = "grove")]
#[test]
fn answers_are_proven_refreshed_and_verified() {
    check(Config::default());
}

#[cfg(feature = "plonky2")]
#[test]
#[ignore = "apps: a minute of processor time, the circuits of a query in two schemes"]
fn answers_are_proven_refreshed_and_verified_with_the_parameters_of_paper() {
    let dir = tempfile::tempdir().unwrap();
    let keys = Some(dir.path().join("keys"));
    check(Config { backend: Backend::Plonky2, profile: Profile::Paper, keys, ..Config::default() });
}

#[cfg(any(feature = "grove", feature = "plonky2"))]
fn check(config: Config) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path().join("db"), &table(), &config).unwrap();
    let texts = |answer: &Answer| answer.values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(&store.prove_query("all", QUERY).unwrap()), ["63.00", "6"]);
    assert_eq!(texts(&store.prove_query_over("some", QUERY, &[0, 4, 5, 8]).unwrap()), ["25.50", "3"]);
    store.update(Changes::new().set(5, "price", "0.01")).unwrap();

    let commitment = store.commitment().unwrap();
    let verifier = Verifier::new(Policy::default(), &config).allow_profile(config.profile);
    let [all, some] = ["all", "some"].map(|batch| store.proof(batch).unwrap());
    let rows = store.rows("some").unwrap();
    assert_eq!(texts(&verifier.verify_answer(&all, &commitment, store.schema(), QUERY).unwrap()), ["55.51", "6"]);
    assert_eq!(texts(&verifier.verify_answer_over(&some, &commitment, &rows, QUERY).unwrap()), ["18.01", "3"]);
    let other = QUERY.replace(">= 4", ">= 5");
    for refused in [
        verifier.verify_answer(&all, &commitment, store.schema(), &other),
        verifier.verify_answer(&some, &commitment, store.schema(), QUERY),
        verifier.verify_answer_over(&all, &commitment, &rows, QUERY),
    ] {
        assert!(matches!(refused, Err(Error::Verify(_))), "{refused:?}");
    }
    if config.profile == Profile::Paper {
        let strict = Verifier::new(Policy::default(), &config);
        let refused = strict.verify_answer(&all, &commitment, store.schema(), QUERY);
        assert!(matches!(refused, Err(Error::Verify(_))), "{refused:?}");
    }
}

#[test]
fn what_is_no_query_or_no_proof_of_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    for sql in ["", "SELECT", "SELECT SUM(prize) FROM t", "DROP TABLE t"] {
        assert!(store.prove_query("q", sql).is_err(), "{sql}");
    }
    assert!(store.batches().unwrap().is_empty());
    store.prove("b", &[0]).unwrap();
    let (proof, commitment) = (store.proof("b").unwrap(), store.commitment().unwrap());
    let verifier = Verifier::default().allow_backend(Backend::Native);
    for proof in [proof, Proof::from_bytes(vec![])] {
        let refused = verifier.verify_answer(&proof, &commitment, store.schema(), QUERY);
        assert!(matches!(refused, Err(Error::Verify(_))), "{refused:?}");
    }
}

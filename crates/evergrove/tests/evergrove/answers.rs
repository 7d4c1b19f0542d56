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

#[cfg(feature = "grove")]
#[test]
fn rows_are_listed_proven_and_verified() {
    use evergrove::listing::ListProof;

    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(dir.path().join("db"), &table()).unwrap();
    let all = "SELECT price FROM t WHERE stock >= 4";
    let top = "SELECT * FROM t WHERE stock >= 2 ORDER BY price DESC, stock LIMIT 3";
    let verifier = Verifier::default();
    for (name, sql, len) in [("all", all, 6), ("top", top, 3)] {
        let listed = store.list(sql).unwrap();
        let proof = store.prove_list(name, sql).unwrap();
        let commitment = store.commitment().unwrap();
        assert_eq!((listed.len(), proof.rows.len()), (len, len));
        assert_eq!(verifier.verify_list(&proof, &commitment, store.schema(), sql).unwrap(), listed);
        let other = sql.replace("stock >=", "stock >");
        assert!(verifier.verify_list(&proof, &commitment, store.schema(), &other).is_err());
        // Leaves out a row, with its paths.
        let rows: Vec<_> = listed[1..].to_vec();
        let positions: Vec<u64> = {
            let mut positions: Vec<u64> = rows.iter().map(|(position, _)| *position).collect();
            positions.sort_unstable();
            positions
        };
        let paths = store.layer().view().unwrap().multiproof(&positions).unwrap();
        let fewer = ListProof { rows: Rows::new(store.schema().clone(), rows), paths, ..proof.clone() };
        let refused = verifier.verify_list(&fewer, &commitment, store.schema(), sql).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Refused, "{refused}");
        // The paths of other rows.
        let paths = ListProof { paths: fewer.paths, ..proof };
        let refused = verifier.verify_list(&paths, &commitment, store.schema(), sql).unwrap_err();
        assert!(matches!(refused, Error::Paths(_)), "{refused}");
    }
    assert!(matches!(store.list("SELECT COUNT(*) FROM t"), Err(Error::Aggregates)));
}

/// Groups, distinct values and contents are found in the rows; a verifier takes them as text from anyone, and notices a
/// missing one.
#[cfg(feature = "grove")]
#[test]
fn answers_by_groups_are_proven_and_verified() {
    let (dir, config) = (tempfile::tempdir().unwrap(), Config::default());
    let mut store = Store::create_with(dir.path().join("db"), &table(), &config).unwrap();
    let schema = store.schema().clone();
    let by_stock = "SELECT stock, COUNT(*), SUM(price * 2) FROM t WHERE stock < 4 GROUP BY stock";
    let distinct = "SELECT COUNT(DISTINCT name), SUM(stock) FROM t WHERE name LIKE 'item 1%'";
    for (batch, sql, found) in [("groups", by_stock, "0.00 3.00 6.00"), ("distinct", distinct, "3 11")] {
        let groups = store.groups(sql, None).unwrap();
        let answer = store.prove_query(batch, sql).unwrap();
        let (proof, commitment) = (store.proof(batch).unwrap(), store.commitment().unwrap());
        let read = Groups::parse(&schema, sql, &groups.to_string()).unwrap();
        assert_eq!(read, groups);
        let verify =
            |groups: Groups| Verifier::default().with_groups(groups).verify_answer(&proof, &commitment, &schema, sql);
        assert_eq!(verify(read).unwrap(), answer, "{sql}");
        let values = answer.groups.iter().filter_map(|group| group.values.last()).chain(&answer.values);
        assert_eq!(values.map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(" "), found, "{sql}");
        let text = groups.to_string();
        let (_, fewer) = text.split_once('\n').unwrap();
        assert!(matches!(verify(Groups::parse(&schema, sql, fewer).unwrap()), Err(Error::Verify(_))), "{sql}");
        assert!(matches!(verify(Groups::default()), Err(Error::Query(_))), "{sql}");
        assert!(matches!(Groups::parse(&schema, sql, "{\"other\": 1}"), Err(Error::Groups { line: 1, .. })));
        let over = store.groups(sql, Some(&[0, 4, 5])).unwrap();
        let some = store.prove_query_over("some", sql, &[0, 4, 5]).unwrap();
        let (proof, rows) = (store.proof("some").unwrap(), store.rows("some").unwrap());
        let verifier = Verifier::default().with_groups(over);
        assert_eq!(verifier.verify_answer_over(&proof, &commitment, &rows, sql).unwrap(), some, "{sql}");
    }
    let unneeded = Verifier::default().with_groups(store.groups(by_stock, None).unwrap());
    store.prove_query("all", QUERY).unwrap();
    let (proof, commitment) = (store.proof("all").unwrap(), store.commitment().unwrap());
    assert!(matches!(unneeded.verify_answer(&proof, &commitment, &schema, QUERY), Err(Error::Query(_))));
}

/// By circuits with pinned keys: one key file for all queries, without a digest.
#[cfg(feature = "grove")]
#[test]
fn a_pinned_key_answers_any_query() {
    use evergrove::apps::aggregate::{Aggregate, Query};
    use evergrove::apps::catalog::Application;
    use evergrove::proof::{HeightClass, Scheme};

    let (dir, config) = (tempfile::tempdir().unwrap(), Config::default());
    let mut store = Store::create_with(dir.path().join("db"), &table(), &config).unwrap();
    let other = "SELECT MAX(stock), COUNT(price) FROM t WHERE price < 10 OR stock = 3";
    let proven = [("all", QUERY), ("other", other)].map(|(batch, sql)| {
        let answer = store.prove_query_pinned(batch, sql, None).unwrap();
        (store.proof(batch).unwrap(), sql, answer)
    });
    let over = store.prove_query_pinned("some", QUERY, Some(&[0, 4, 5, 8])).unwrap();
    let (commitment, schema) = (store.commitment().unwrap(), store.schema().clone());
    let query = Query::parse(&schema, "SELECT COUNT(*) FROM t").unwrap().pinned().unwrap();
    let app = Application::from(
        std::sync::Arc::new(Aggregate::new(query.plan().clone())) as std::sync::Arc<dyn evergrove::apps::MapReduce>
    );
    let class = HeightClass::of(commitment.height).unwrap();
    let key = config.app_key(&app, Scheme::Complete, Profile::Grove100, class).unwrap();
    let path = dir.path().join("key");
    key.write(&mut std::fs::File::create(&path).unwrap()).unwrap();
    let by_key = Verifier::default().with_pinned_key_file(&path);
    for (proof, sql, answer) in &proven {
        for verifier in [&Verifier::default(), &by_key] {
            assert_eq!(&verifier.verify_answer(proof, &commitment, &schema, sql).unwrap(), answer);
        }
        let wrong = if *sql == QUERY { other } else { QUERY };
        assert!(matches!(by_key.verify_answer(proof, &commitment, &schema, wrong), Err(Error::Verify(_))));
    }
    let (proof, rows) = (store.proof("some").unwrap(), store.rows("some").unwrap());
    assert_eq!(Verifier::default().verify_answer_over(&proof, &commitment, &rows, QUERY).unwrap(), over);
    // The key is of proofs over all rows.
    assert!(matches!(by_key.verify_answer_over(&proof, &commitment, &rows, QUERY), Err(Error::Key(_))));
    store.prove_query("own", QUERY).unwrap();
    let own = store.proof("own").unwrap();
    assert!(matches!(by_key.verify_answer(&own, &commitment, &schema, QUERY), Err(Error::NoDigest)));
    let refused = store.prove_query_pinned("no", "SELECT SUM(price * stock) FROM t", None);
    assert!(matches!(refused, Err(Error::NotPinned(_))));
}

/// One key for queries that differ in constants; any other key, digest or byte is refused.
#[cfg(feature = "grove")]
#[test]
fn a_key_file_takes_the_place_of_circuits() {
    use evergrove::AppKey;
    use evergrove::apps::catalog::{Application, Catalog};
    use evergrove::proof::{HeightClass, Scheme};

    let (dir, config) = (tempfile::tempdir().unwrap(), Config::default());
    let mut store = Store::create_with(dir.path().join("db"), &table(), &config).unwrap();
    store.prove_query("all", QUERY).unwrap();
    let (proof, commitment, schema) = (store.proof("all").unwrap(), store.commitment().unwrap(), store.schema());
    let class = HeightClass::of(commitment.height).unwrap();
    let app = |sql: &str| -> Application { Catalog::standard().parse("aggregate", sql, schema).unwrap().into() };
    let key = |sql: &str, scheme| config.app_key(&app(sql), scheme, Profile::Grove100, class).unwrap();
    let kept = |name: &str, key: &AppKey| {
        let path = dir.path().join(name);
        key.write(&mut std::fs::File::create(&path).unwrap()).unwrap();
        path
    };
    // Built from a query with other constants.
    let other = QUERY.replace(">= 4", ">= 5");
    let right = key(&other, Scheme::Complete);
    let path = kept("right", &right);
    assert!(std::fs::metadata(&path).unwrap().len() < 30 << 20);
    let answer = |path, digest| {
        let verifier = Verifier::default().with_key_file(path, digest);
        verifier.verify_answer(&proof, &commitment, schema, QUERY).map(|answer| answer.values.len())
    };
    assert_eq!(answer(path.clone(), right.digest()).unwrap(), 2);
    // Nothing in a proof binds its label. The key does, and its digest belongs to one shape.
    let label = |sql: &str| {
        let mut file = evergrove::proof::BatchProof::decode(proof.as_bytes()).unwrap();
        file.app.as_mut().unwrap().app = app(sql).id();
        Proof::from_bytes(file.encode())
    };
    for relabelled in [QUERY.replace("SUM(price)", "SUM(stock)"), other.clone()] {
        let by_key = Verifier::default().with_key_file(&path, right.digest());
        for verifier in [by_key, Verifier::default()] {
            let refused = verifier.verify_answer(&label(&relabelled), &commitment, schema, &relabelled);
            assert!(matches!(refused, Err(Error::Key(_) | Error::Verify(_))), "{relabelled}: {refused:?}");
        }
    }
    // The key says nothing about constants: statements do.
    let verifier = Verifier::default().with_key_file(&path, right.digest());
    assert!(matches!(verifier.verify_answer(&proof, &commitment, schema, &other), Err(Error::Verify(_))));

    let [min, batch] = [key(&QUERY.replace("SUM", "MIN"), Scheme::Complete), key(QUERY, Scheme::Selected)];
    for (name, wrong) in [("min", min), ("batch", batch)] {
        assert_ne!(wrong.digest(), right.digest(), "{name}");
        let path = kept(name, &wrong);
        assert!(matches!(answer(path.clone(), wrong.digest()), Err(Error::Key(_))), "{name}");
        assert!(matches!(answer(path, right.digest()), Err(Error::Key(_))), "{name}");
    }
    let bytes = std::fs::read(&path).unwrap();
    for at in [0, 8, 16, 24, 200, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let path = dir.path().join("damaged");
        std::fs::write(&path, &damaged).unwrap();
        assert!(matches!(answer(path.clone(), right.digest()), Err(Error::Key(_))), "byte {at}");
        std::fs::write(&path, &bytes[..at]).unwrap();
        assert!(matches!(answer(path, right.digest()), Err(Error::Key(_))), "{at} bytes");
    }
    let path = dir.path().join("long");
    std::fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    assert!(matches!(answer(path, right.digest()), Err(Error::Key(_))));
    assert!(matches!(answer(dir.path().join("none"), right.digest()), Err(Error::Io { .. })));
    // A key of the other profile is not accepted under this profile's name.
    let johnson = config.app_key(&app(QUERY), Scheme::Complete, Profile::Grove128, class).unwrap();
    let path = kept("johnson", &johnson);
    assert!(matches!(answer(path, johnson.digest()), Err(Error::Key(_))));
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

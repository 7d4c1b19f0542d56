//! Untrusted bytes that reach applications: parameters from stores and payloads, queries, outputs of proofs,
//! signatures. They are refused or read, without a panic.
//!
//! `PROPTEST_CASES` sets the number of cases.

use evergrove_apps::aggregate::{Plan, Query, SqlError};
use evergrove_apps::bls::light_client::{self, Claim};
use evergrove_apps::bls::{Output, Point, table};
use evergrove_apps::catalog::Catalog;
use evergrove_apps::digest_translation::{DigestTranslation, tree};
use evergrove_commit::schema::{Cell, Column, ColumnType, Row, Schema};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::AppSpec;
use proptest::prelude::*;

/// Queries that use every feature.
const QUERIES: [&str; 7] = [
    "SELECT COUNT(*), SUM(a), AVG(a), SUM(a * b), VAR_SAMP(b) FROM t WHERE a > 3 AND NOT b IN (1, -2.5, NULL) OR c IS NULL",
    "SELECT MIN(b) AS x, MAX(a), HISTOGRAM(b, -1, 0, 2.25) FROM t AS s WHERE s.b BETWEEN -1 AND 0.5 AND c = 'text'",
    "SELECT WAVG(a, b), STDDEV_POP(a) FROM t WHERE a <> 5 AND (c <> 'x' OR a < 2) AND TRUE",
    "SELECT COUNT(c) FROM t WHERE c IN ('a', 'b') AND NOT (a >= 1 OR FALSE)",
    "SELECT SUM(a * b * 0.9 - 2 / 4), ROUND( 100.0 * SUM(a) / COUNT(*) , 2), AVG((a + b) / 2) FROM t WHERE a * 2 - 1 > 10 / 3 AND b - b = 0",
    "SELECT COUNT(DISTINCT c, a), SUM(DISTINCT b) FILTER (WHERE a > 1 ) FROM t WHERE c LIKE 'x%' AND c >= 'a'",
    "SELECT c, MAX(2 * b + 1) - MIN( b ) FROM t WHERE c NOT LIKE 'x%' GROUP BY c",
];

/// The tokens of queries.
const WORDS: [&str; 51] = [
    "SELECT",
    "FROM",
    "WHERE",
    "COUNT",
    "SUM",
    "HISTOGRAM",
    "WAVG",
    "NOT",
    "AND",
    "OR",
    "BETWEEN",
    "IN",
    "IS",
    "NULL",
    "AS",
    "t",
    "a",
    "b",
    "c",
    "(",
    ")",
    ",",
    "*",
    "=",
    "<>",
    "<",
    ">=",
    "-",
    ".",
    "'x'",
    "1",
    "2.5",
    "99999999999999999999999999",
    "TRUE",
    "CASE",
    "WHEN",
    "EXISTS",
    "ALL",
    "INTERVAL",
    "+",
    "/",
    "0.1",
    "DISTINCT",
    "LIKE",
    "'x%'",
    "ROUND",
    "GROUP BY",
    "FILTER",
    "SUM(a)",
    "COUNT(*)",
    ";",
];

fn schema() -> Schema {
    let columns = vec![
        Column::new("a", ColumnType::Unsigned).nullable(),
        Column::new("b", ColumnType::Fixed { scale: 2 }),
        Column::new("c", ColumnType::Bytes).nullable(),
    ];
    Schema::new(columns).expect("three names")
}

fn query(at: usize) -> Query {
    parse(QUERIES[at % QUERIES.len()]).expect("a query")
}

/// Parses a query, with two groups for each list of columns that it needs.
fn parse(text: &str) -> Result<Query, SqlError> {
    let lists = Query::grouped_by(&schema(), text)?;
    if lists.is_empty() {
        return Query::parse(&schema(), text);
    }
    let cell = |column: &Column, second: bool| match column.kind {
        ColumnType::Bytes => Cell::Bytes(if second { b"xy".to_vec() } else { b"a".to_vec() }),
        ColumnType::Unsigned => Cell::Unsigned(second.into()),
        _ => Cell::Signed(second.into()),
    };
    let row = |columns: &[Column], second| Row::Cells(columns.iter().map(|column| cell(column, second)).collect());
    let groups: Vec<_> = lists.iter().map(|columns| vec![row(columns, false), row(columns, true)]).collect();
    Query::with_groups(&schema(), text, &groups)
}

/// The names and parameters of all applications.
fn specs() -> Vec<AppSpec> {
    let queries = (0..QUERIES.len()).map(query);
    let queries = queries.flat_map(|query| query.pinned().ok().into_iter().chain([query]));
    let aggregates = queries.map(|query| ("aggregate", query.plan().to_bytes()));
    let others = [("tally", vec![20]), ("sequence", vec![]), ("bls-keys", b"BLS12-381 G1".to_vec())];
    let spec = |(name, parameters): (&str, Vec<u8>)| AppSpec { name: name.into(), parameters };
    aggregates.chain(others).map(spec).chain([DigestTranslation::default().spec()]).collect()
}

fn elements(some: &[u64], n: usize) -> Vec<Goldilocks> {
    (0..n).map(|i| Goldilocks::reduce(some[i % some.len()].rotate_left(i as u32))).collect()
}

#[test]
fn deep_and_long_queries_end_soon() {
    let start = std::time::Instant::now();
    for depth in [10, 40, 100, 900] {
        let [open, close] = ["(", ")"].map(|x| x.repeat(depth));
        for text in [
            format!("SELECT COUNT(*) FROM t WHERE {open}a = 1{close}"),
            format!("SELECT COUNT(*) FROM t WHERE {open}a = 1"),
            format!("SELECT {open}COUNT(*){close} FROM t"),
            format!("SELECT COUNT(*) FROM {open}t{close}"),
            format!("SELECT SUM{open}a{close} FROM t"),
            format!("SELECT COUNT(*) FROM t WHERE {}a = 1", "NOT ".repeat(depth)),
            format!("SELECT COUNT(*) FROM t WHERE a = 1{}", " AND a = 1".repeat(depth / 4)),
            format!("SELECT COUNT(*) FROM t WHERE a = 1 {}", "OR (a = 1 AND ".repeat(depth)),
            format!("SELECT COUNT(*) FROM t WHERE a IN {open}1{close}"),
            format!("SELECT COUNT(*) FROM t WHERE a = {}1", "-".repeat(depth)),
            format!("SELECT COUNT(*) FROM t WHERE a = {}", "CASE WHEN a = ".repeat(depth)),
            format!("{open}SELECT COUNT(*) FROM t{close}"),
            format!("SELECT COUNT(*) FROM t WHERE a = {}1", "1+".repeat(depth)),
            format!("SELECT COUNT(*) FROM t WHERE {}a = 1", "a+".repeat(depth)),
            format!("SELECT SUM({}a) FROM t", "(a+".repeat(depth) + &close),
            format!("SELECT SUM({}a) FROM t", "a/2+".repeat(depth)),
            format!("SELECT {}1 FROM t", "SUM(a)*".repeat(depth / 3)),
            format!("SELECT {}SUM(a{close} FROM t", "ROUND(".repeat(depth)),
        ] {
            let _ = Query::parse(&schema(), &text);
        }
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn parameters_mutated(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 0..4),
    ) {
        let specs = specs();
        let mut spec: AppSpec = which.get(&specs).clone();
        for (at, to, how) in edits {
            let at = at.index(spec.parameters.len() + 1);
            match how {
                0 if at < spec.parameters.len() => spec.parameters[at] = to,
                1 if at < spec.parameters.len() => drop(spec.parameters.remove(at)),
                2 => spec.parameters.truncate(at),
                _ => spec.parameters.insert(at, to),
            }
        }
        if let Ok(app) = Catalog::standard().make(&spec) {
            prop_assert_eq!(app.spec(), spec);
        }
    }

    #[test]
    fn plans_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), head in 0usize..40) {
        let good = query(0).plan().to_bytes();
        let bytes = [&good[..head], &bytes[..]].concat();
        if let Ok(plan) = Plan::from_bytes(&bytes) {
            prop_assert_eq!(plan.to_bytes(), bytes);
        }
    }

    #[test]
    fn queries_of_any_words(
        which in 0..QUERIES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..WORDS.len(), any::<bool>()), 0..6),
    ) {
        let mut words: Vec<&str> = QUERIES[which].split(' ').collect();
        for (at, word, replace) in edits {
            let at = at.index(words.len());
            if replace { words[at] = WORDS[word] } else { words.insert(at, WORDS[word]) }
        }
        if let Ok(query) = parse(&words.join(" ")) {
            let again = Plan::from_bytes(&query.plan().to_bytes());
            prop_assert_eq!(again.as_ref(), Ok(query.plan()));
        }
    }

    #[test]
    fn outputs_of_any_elements(
        which in 0..QUERIES.len(),
        some in prop::collection::vec(any::<u64>(), 1..6), small: bool, n in 0usize..70) {
        let query = query(which);
        let mask = if small { 0xff_ffff } else { u64::MAX };
        let some: Vec<u64> = some.iter().map(|x| x & mask).collect();
        let len = query.plan().output_len();
        let mut output = elements(&some, len);
        if small {
            output.iter_mut().for_each(|x| *x = Goldilocks::reduce(x.as_u64() & mask));
        }
        if let Ok(answer) = query.answer(&output) {
            answer.values.iter().for_each(|(_, value)| drop(value.to_string()));
        }
        let other = elements(&some, n);
        prop_assert!(n == len || query.answer(&other).is_err());
        if let Some(found) = Output::from_elements(&other) {
            prop_assert_eq!(found.to_elements(), other.clone());
        }
        if let Some(digest) = tree::from_elements(&other) {
            prop_assert_eq!(tree::to_elements(&digest).to_vec(), other.clone());
        }
        if let Some(key) = table::key(&other) {
            prop_assert!(table::numbers(&key).is_some());
        }
    }

    #[test]
    fn keys_and_signatures_of_any_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        flags in 0u8..8,
        count: u64,
        threshold: u64,
    ) {
        let at = |n: usize| {
            let mut out: Vec<u8> = bytes.iter().copied().cycle().take(if bytes.is_empty() { 0 } else { n }).collect();
            if let Some(first) = out.first_mut() {
                *first = *first & 0x1f | flags << 5;
            }
            out
        };
        for n in [48, 96, bytes.len()] {
            if let Ok(key) = Point::from_compressed(&at(n)) {
                prop_assert!(key.to_key().is_ok());
            }
            let claim = Claim { message: &bytes, signature: &at(n), threshold };
            for key in [Point::IDENTITY, Point::from_elements(&elements(&[0], 28)).expect("the identity")] {
                let output = Output { key, count };
                prop_assert!(light_client::check(&output, &claim).is_err());
            }
        }
    }
}

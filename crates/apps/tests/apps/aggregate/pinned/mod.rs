//! Queries with pinned keys: they have the same answers as with circuits of their own, one key serves all of them, and
//! the keys are the pinned ones.

mod random;

use std::collections::BTreeSet;
use std::sync::Arc;

use evergrove_apps::aggregate::{Aggregate, PinnedKey, Plan, Query, RowWidth};
use evergrove_apps::laws::{check, refuses_leaf};
use evergrove_apps::{MapReduce, circuits_on_tables};
use evergrove_commit::{NodeProof, RecursionBackend};
use evergrove_grove::application::Circuits as _;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use super::conditions::corpus;
use super::laws::wide;
use super::table::Table;
use crate::on_tables::{answered, circuit_set, committed};
use crate::world::{Proofs, refuses_other_statements};

fn pinned(table: &Table, sql: &str) -> Query {
    table.query(sql).pinned().unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn app(query: &Query) -> Aggregate {
    Aggregate::new(query.plan().clone())
}

/// Rows of `columns` numbers.
fn numbers(columns: usize) -> Table {
    let names: Vec<String> =
        (0..columns).map(|i| format!("c{i}:{}", ["unsigned", "signed?", "fixed:2?"][i % 3])).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = |row: usize, i: usize| match (row + i) % 4 {
        0 if !i.is_multiple_of(3) => String::new(),
        _ => (row * 100 + i * i).to_string(),
    };
    let rows: Vec<Vec<String>> = (0..4).map(|row| (0..columns).map(|i| text(row, i)).collect()).collect();
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
    Table::new(&names, &rows)
}

#[test]
fn circuits_map_and_reduce_as_the_code_does() {
    let table = wide();
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT SUM(u), MIN(s), MAX(s), COUNT(k), AVG(v) FROM t",
        "SELECT SUM(s), MIN(u), MAX(v) FROM t WHERE s < 0 AND (k = 'red' OR k IS NULL) AND NOT v BETWEEN 1 AND 2",
        "SELECT COUNT(*), SUM(f) FROM t WHERE NOT (s BETWEEN -4294967296 AND 5 OR k <> 'red') OR k IN ('x', NULL)",
        "SELECT MAX(f), MAX(u) FROM t WHERE v IS NOT NULL AND (u = 7 OR u > 4294967296) OR k IS NULL",
        "SELECT COUNT(v), COUNT(k), COUNT(s) FROM t WHERE u < 9223372036854775807 OR FALSE",
    ] {
        let app = app(&pinned(&table, sql));
        check(&app, &table.cases(&app));
    }
}

/// Rows that are values, rows of one step and of several steps, of whole blocks and of partial blocks: the last column
/// counts.
#[test]
fn rows_of_every_width_are_opened() {
    for columns in [1, 4, 6, 13, 16, 29] {
        let table = numbers(columns);
        let (first, last) = ("c0", format!("c{}", columns - 1));
        let sql = format!("SELECT SUM({last}), MIN({last}), COUNT({last}), MAX({first}) FROM t WHERE {last} > 0.5");
        let sql = if columns % 3 == 0 { sql } else { sql.replace("0.5", "0") };
        let app = app(&pinned(&table, &sql));
        assert_eq!(app.plan().width(), RowWidth::of(columns));
        let cases = table.cases(&app);
        check(&app, &cases);
        // An element that differs from the value's is refused, even where the query reads nothing.
        for at in [0, columns / 2, columns - 1] {
            let mut case = cases[1].clone();
            if case.opening.is_empty() {
                case.value[3] += Goldilocks::ONE;
                if columns == 4 {
                    continue;
                }
            } else {
                case.opening[at] += Goldilocks::ONE;
            }
            refuses_leaf(&app, &case);
        }
    }
}

#[test]
fn what_is_no_number_is_refused() {
    let table = Table::new(&["u:unsigned", "s:signed?"], &[&["1", ""]]);
    for sql in [
        "SELECT SUM(u), COUNT(s) FROM t",
        "SELECT COUNT(*) FROM t WHERE u > 3 OR s < 5",
        "SELECT MIN(s), MAX(u) FROM t",
    ] {
        let app = app(&pinned(&table, sql));
        for (u, s) in [
            (1 << 63, 0),
            ((1 << 63) + 1, 0),
            (Goldilocks::ORDER - 1, 0),
            (0, (1 << 63) + 1),
            (0, Goldilocks::ORDER - 1),
        ] {
            let mut case = table.cases(&app).swap_remove(0);
            case.value = [u, s, 0, 0].map(Goldilocks::new);
            refuses_leaf(&app, &case);
        }
    }
}

/// All queries of the corpus that fit, and circuits for some of them.
#[test]
fn queries_have_the_answers_of_their_own_circuits() {
    let (table, queries) = corpus();
    let mut answered = 0;
    for (k, query) in queries.iter().enumerate() {
        let sql = query["sql"].as_str().unwrap();
        let Ok(query) = table.query(sql).pinned() else { continue };
        let app = app(&query);
        let cases = table.cases(&app);
        let output = cases.iter().fold(app.identity(), |before, case| {
            MapReduce::reduce(&app, &before, &app.map(&case.leaf()).unwrap()).unwrap()
        });
        assert_eq!(query.answer(&output).unwrap(), table.answer(sql), "{sql}");
        if answered % 30 == 0 {
            let at = k % (cases.len() - 6);
            check(&app, &cases[at..at + 6]);
        }
        answered += 1;
    }
    assert_eq!(answered, 177, "queries that fit");
}

#[test]
fn what_does_not_fit_says_why() {
    let table = wide();
    let refused = |table: &Table, sql: &str| table.query(sql).pinned().unwrap_err().to_string();
    let lines: Vec<String> = [
        "SELECT COUNT(*) FROM t WHERE u < v",
        "SELECT COUNT(*) FROM t WHERE u = v",
        "SELECT SUM(u * v) FROM t",
        "SELECT VAR_POP(u) FROM t",
        "SELECT SUM(u) FILTER (WHERE v > 5) FROM t",
        "SELECT HISTOGRAM(u, 5) FROM t",
        "SELECT COUNT(*) FROM t WHERE u IN (1, 2, 3, 4)",
        "SELECT COUNT(*) FROM t WHERE k IN ('a', 'b', 'c')",
        "SELECT SUM(u), SUM(s), SUM(v) FROM t",
        "SELECT MIN(u), MIN(s), MIN(v) FROM t",
        "SELECT COUNT(*), COUNT(s), COUNT(k), COUNT(v), COUNT(u) FROM t",
        "SELECT COUNT(*), COUNT(s), COUNT(k), AVG(v), AVG(f) FROM t WHERE u IN (1, 2, 3)",
    ]
    .map(|sql| format!("{sql}: {}", table.query(sql).pinned().err().map_or("fits".into(), |e| e.to_string())))
    .into();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(
        refused(&numbers(33), "SELECT COUNT(*) FROM t"),
        "rows of 33 elements are longer than the 32 of circuits with pinned keys"
    );
    let texts = Table::new(&["a:bytes", "b:bytes?"], &[]);
    assert_eq!(
        refused(&texts, "SELECT COUNT(*) FROM t"),
        "circuits with pinned keys are for tables with a column of numbers"
    );
}

/// The encoding of parameters is canonical, and parameters are not those of other circuits.
#[test]
fn parameters_name_the_circuits() {
    let table = wide();
    let sql = "SELECT SUM(u), COUNT(k) FROM t WHERE s > 3 AND k = 'red'";
    let (own, pinned) = (app(&table.query(sql)), app(&pinned(&table, sql)));
    assert_ne!(own.id(), pinned.id());
    assert_ne!(own.shape(), pinned.shape());
    let cases = table.cases(&pinned);
    let bytes = pinned.parameters();
    assert_eq!(Aggregate::from_parameters(&bytes).unwrap(), pinned);
    // Accumulators that are not those of the set.
    let mut other = own.parameters();
    other[0] = bytes[0];
    assert!(Plan::from_bytes(&other).is_err());
    let mut other = bytes.clone();
    other[0] = own.parameters()[0];
    assert!(Plan::from_bytes(&other).unwrap().width().is_none());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut other = bytes.clone();
            other[at] ^= 1 << bit;
            if let Ok(plan) = Plan::from_bytes(&other) {
                assert_eq!(plan.to_bytes(), other);
                let app = Aggregate::new(plan);
                if app.inputs() == pinned.inputs() && app.shape() == pinned.shape() {
                    // The column has another name or type, or the same condition is written in another way.
                    for case in &cases {
                        assert_eq!(app.map(&case.leaf()).ok(), pinned.map(&case.leaf()).ok(), "byte {at}, bit {bit}");
                    }
                }
            }
        }
    }
}

/// Queries that share only the width of their rows, with one key, in both schemes. A proof for one query is refused for
/// the other.
#[test]
fn one_key_answers_different_queries_over_different_tables() {
    let first = wide();
    let second = numbers(6);
    let queries = [
        (&first, "SELECT SUM(v), COUNT(k), MAX(s) FROM t WHERE u > 5 AND k <> 'red'"),
        (&second, "SELECT AVG(c3), MIN(c5) FROM t WHERE c1 IS NULL OR c4 < 200 OR c0 BETWEEN 100 AND 150"),
    ];
    for scheme in [Scheme::Selected, Scheme::Complete] {
        let proven: Vec<_> = queries
            .iter()
            .map(|(table, sql)| {
                let query = pinned(table, sql);
                let (_, backend) = circuit_set(app(&query), scheme, Profile::Grove100);
                let members: Vec<u64> =
                    if scheme == Scheme::Selected { (0..table.rows.len() as u64).collect() } else { vec![] };
                let vector = committed(table, 12);
                let proof = answered(&backend, table, &vector, &members, &mut Proofs::new());
                assert_eq!(query.answer(&proof.output).unwrap(), table.answer(sql), "{sql}");
                refuses_other_statements(&backend, &proof);
                (backend, proof)
            })
            .collect();
        let [(left, first), (right, second)] = &proven[..] else { panic!("two proofs") };
        assert_eq!(left.key_digest(), right.key_digest());
        assert!(left.verify(second).is_err() && right.verify(first).is_err());
        let swapped = NodeProof { output: second.output.clone(), ..first.clone() };
        assert!(left.verify(&swapped).is_err());
        let pinned = RowWidth::W8.key(scheme, Profile::Grove100, HeightClass::H27);
        assert_eq!(pinned, Some(left.key_digest()), "{scheme}");
    }
}

/// The line of keys.txt for these circuits.
fn line(width: RowWidth, scheme: Scheme, profile: Profile, class: HeightClass) -> String {
    let table = numbers(width.elements());
    let app: Arc<dyn MapReduce> = Arc::new(app(&pinned(&table, "SELECT COUNT(*) FROM t")));
    let circuit_set = circuits_on_tables(&app, scheme, profile, class).unwrap().unwrap();
    let bits = circuit_set.bits();
    let least = if profile == Profile::Grove100 { bits.unique_decoding } else { bits.johnson };
    let demanded = if profile == Profile::Grove100 { 100.0 } else { 127.9 };
    assert!(least >= demanded, "{width:?} {scheme} {profile}: {bits:?}");
    let digest = circuit_set.verifier().unwrap().key_digest();
    eprintln!("{width:?} {scheme} {profile}: {} slots", circuit_set.capacity());
    format!("{} {scheme} {profile} {} {digest}", width.elements(), class.height_max())
}

/// Each scheme, profile, class and width has exactly one key.
#[test]
fn all_keys_are_pinned() {
    let keys: BTreeSet<_> = PinnedKey::all()
        .map(|key| (key.width, key.scheme.name(), key.profile.name(), key.class.height_max()))
        .collect();
    assert_eq!(PinnedKey::all().count(), 40);
    assert_eq!(keys.len(), 40);
}

/// If circuits change, earlier proofs no longer verify. `EVERGROVE_BLESS=1` writes the file.
#[test]
fn keys_are_those_of_the_circuits() {
    let mut lines = Vec::new();
    for class in [HeightClass::H27, HeightClass::H40] {
        for width in RowWidth::ALL {
            for scheme in [Scheme::Selected, Scheme::Complete] {
                lines.extend(Profile::GROVE.map(|profile| line(width, scheme, profile, class)));
            }
        }
    }
    let found = lines.join("\n") + "\n";
    if std::env::var_os("EVERGROVE_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/aggregate/pinned/keys.txt"), &found).unwrap();
    }
    assert_eq!(found, include_str!("../../../../src/aggregate/pinned/keys.txt"));
}

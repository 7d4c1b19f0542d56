//! `FILTER (WHERE ..)` and `CASE WHEN ..`: aggregates with conditions of their own.

use evergrove_apps::aggregate::{Aggregate, Plan};
use evergrove_apps::laws::check;
use evergrove_apps::{MapReduce, circuits_on_tables};
use evergrove_commit::RecursionBackend;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use super::laws::{app, wide};
use super::table::Table;
use crate::on_tables::{answered, circuit_set, committed};
use crate::world::{Proofs, refuses_other_statements};

fn orders() -> Table {
    let rows: [&[&str]; 7] = [
        &["paid", "120", "3"],
        &["paid", "80", ""],
        &["open", "", "2"],
        &["open", "300", "1"],
        &["", "15", "9"],
        &["lost", "", ""],
        &["paid", "101", "4"],
    ];
    Table::new(&["status:bytes?", "total:signed?", "items:unsigned?"], &rows)
}

/// The answers are those of SQLite 3.40.
#[test]
fn conditions_of_aggregates_have_the_answers_of_sqlite() {
    let table = orders();
    for (sql, expected) in [
        ("SELECT COUNT(*) FILTER (WHERE status = 'paid'), COUNT(*) FROM t", "3 7"),
        ("SELECT SUM(total) FILTER (WHERE status = 'paid'), SUM(total) FROM t WHERE items > 2", "221 236"),
        ("SELECT SUM(CASE WHEN total > 100 THEN 1 ELSE 0 END) FROM t", "3"),
        ("SELECT SUM(CASE WHEN total > 100 THEN 1 ELSE 0 END) FROM t WHERE FALSE", "NULL"),
        ("SELECT SUM(CASE WHEN status = 'paid' THEN total ELSE 0 END) FROM t", "301"),
        ("SELECT SUM(CASE WHEN status = 'gone' THEN total ELSE 0 END) FROM t", "0"),
        ("SELECT SUM(CASE WHEN status = 'gone' THEN total END) FROM t", "NULL"),
        ("SELECT SUM(CASE WHEN status = 'lost' THEN total ELSE 0 END) FROM t", "0"),
        ("SELECT SUM(CASE WHEN status = 'lost' THEN total ELSE 0 END) FROM t WHERE status = 'lost'", "NULL"),
        ("SELECT SUM(CASE WHEN TRUE THEN total ELSE 0 END) FROM t WHERE FALSE", "NULL"),
        (
            "SELECT COUNT(CASE WHEN status = 'paid' THEN items END), COUNT(CASE WHEN total > 100 THEN 1 END) FROM t",
            "2 3",
        ),
        (
            "SELECT MIN(CASE WHEN items > 1 THEN total END), MAX(CASE WHEN items > 1 THEN total ELSE NULL END) FROM t",
            "15 120",
        ),
        (
            "SELECT AVG(total) FILTER (WHERE status IS NULL), AVG(CASE WHEN status = 'open' THEN total END) FROM t",
            "15.000000 300.000000",
        ),
        ("SELECT SUM(CASE WHEN items > 2 THEN 1 ELSE 0 END) FILTER (WHERE total > 100) FROM t", "2"),
        (
            "SELECT SUM(total * items) FILTER (WHERE items < 4), COUNT(*) FILTER (WHERE NOT status = 'paid') FROM t",
            "660 3",
        ),
    ] {
        assert_eq!(table.values(sql).join(" "), expected, "{sql}");
    }
}

#[test]
fn circuits_map_and_reduce_as_the_code_does() {
    let table = wide();
    for sql in [
        "SELECT COUNT(*) FILTER (WHERE u > 5), SUM(s) FILTER (WHERE u > 5), MIN(v), SUM(v) FROM t WHERE k = 'red' OR v > 1",
        "SELECT SUM(CASE WHEN s < 0 OR k IS NULL THEN f ELSE 0 END), MAX(u) FILTER (WHERE NOT u = v) FROM t",
        "SELECT HISTOGRAM(u, 5, 4294967296) FILTER (WHERE k = 'red'), COUNT(CASE WHEN k IN ('x', 'red') THEN 1 END) FROM t",
        "SELECT VAR_POP(s) FILTER (WHERE v IS NOT NULL AND u <> 7), COUNT(*) FILTER (WHERE FALSE) FROM t WHERE u < 281474976710656",
    ] {
        let app = app(&table, sql);
        check(&app, &table.cases(&app));
    }
}

#[test]
fn constants_of_conditions_are_inputs() {
    let table = wide();
    let of = |bound: u64, key: &str| {
        app(
            &table,
            &format!(
                "SELECT SUM(u) FILTER (WHERE v > {bound}), COUNT(*) FILTER (WHERE k = '{key}') FROM t WHERE s < {bound}"
            ),
        )
    };
    let (first, second) = (of(5, "red"), of(77, "blue"));
    assert_eq!(first.shape(), second.shape());
    assert_ne!(first.id(), second.id());
    let plain = app(&table, "SELECT SUM(u), COUNT(*) FROM t WHERE s < 5");
    assert_ne!(plain.shape(), first.shape());
    let key = |app: Aggregate| {
        let app: std::sync::Arc<dyn MapReduce> = std::sync::Arc::new(app);
        let circuit_set =
            circuits_on_tables(&app, Scheme::Complete, Profile::Grove100, HeightClass::H27).unwrap().unwrap();
        circuit_set.verifier().unwrap().key_digest()
    };
    assert_eq!(key(first), key(second));

    // The circuits have each condition once: two equal conditions have another shape than two that differ in a
    // constant.
    let two = |left: u64, right: u64| {
        let sql = format!("SELECT SUM(u) FILTER (WHERE v = {left}), SUM(s) FILTER (WHERE v = {right}) FROM t");
        app(&table, &sql)
    };
    assert_ne!(two(1, 1).shape(), two(1, 2).shape());
    assert_eq!(two(1, 3).shape(), two(1, 2).shape());
    assert_ne!(key(two(1, 1)), key(two(1, 2)));

    // The encoding of the parameters is canonical.
    let bytes = of(5, "red").parameters();
    assert_eq!(bytes[0], 3);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut other = bytes.clone();
            other[at] ^= 1 << bit;
            if let Ok(plan) = Plan::from_bytes(&other) {
                assert_eq!(plan.to_bytes(), other);
            }
        }
    }
}

#[test]
fn an_answer_with_conditions_is_proven() {
    let table = orders();
    let sql = "SELECT SUM(CASE WHEN total > 100 THEN 1 ELSE 0 END), SUM(total) FILTER (WHERE status = 'paid') FROM t";
    let vector = committed(&table, 12);
    for (scheme, members) in [(Scheme::Selected, (0..7).collect::<Vec<u64>>()), (Scheme::Complete, vec![])] {
        let query = table.query(sql);
        let (_, backend) = circuit_set(Aggregate::new(query.plan().clone()), scheme, Profile::Grove100);
        let proof = answered(&backend, &table, &vector, &members, &mut Proofs::new());
        assert_eq!(query.answer(&proof.output).unwrap(), table.answer(sql));
        refuses_other_statements(&backend, &proof);
        let other = Aggregate::new(table.query(&sql.replace("100", "101")).plan().clone());
        let (_, other) = circuit_set(other, scheme, Profile::Grove100);
        assert_eq!(other.key_digest(), backend.key_digest());
        assert!(other.verify(&proof).is_err());
    }
}

#[test]
fn what_is_no_condition_is_refused() {
    let table = orders();
    for sql in [
        "SELECT SUM(CASE WHEN total > 100 THEN total ELSE 1 END) FROM t",
        "SELECT SUM(CASE WHEN total > 100 THEN 1 WHEN total > 50 THEN 1 ELSE 0 END) FROM t",
        "SELECT SUM(CASE status WHEN 'paid' THEN 1 ELSE 0 END) FROM t",
        "SELECT AVG(CASE WHEN total > 100 THEN total ELSE 0 END) FROM t",
        "SELECT COUNT(CASE WHEN total > 100 THEN total ELSE 0 END) FROM t",
        "SELECT VAR_POP(CASE WHEN total > 100 THEN total END) FROM t",
        "SELECT SUM(CASE WHEN total THEN 1 ELSE 0 END) FROM t",
        "SELECT COUNT(*) FILTER (WHERE nothing = 1) FROM t",
        "SELECT CASE WHEN total > 1 THEN 1 END FROM t",
    ] {
        let refused = evergrove_apps::aggregate::Query::parse(&table.schema, sql);
        assert!(refused.is_err(), "{sql}: {refused:?}");
    }
}

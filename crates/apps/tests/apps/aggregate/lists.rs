//! `DISTINCT` and `LIKE`: values that are missing, duplicate or invalid, and answers that are proven.

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, OutputError, Query, SqlError};
use evergrove_apps::laws::check;
use evergrove_commit::RecursionBackend;
use evergrove_commit::schema::{Cell, Row};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{Profile, Scheme};

use super::table::Table;
use crate::on_tables::{answered, circuit_set, committed};
use crate::world::Proofs;

fn visits() -> Table {
    let rows: [&[&str]; 9] = [
        &["/home", "de", "3"],
        &["/home/a", "fr", "5"],
        &["/shop", "de", ""],
        &["/shop/ä", "", "5"],
        &["", "de", "7"],
        &["/home", "fr", "3"],
        &["/", "us", "1"],
        &["/shop", "de", "-2"],
        &["", "", ""],
    ];
    Table::new(&["page:bytes?", "country:bytes?", "n:signed?"], &rows)
}

fn output(table: &Table, query: &Query) -> Vec<Goldilocks> {
    let app = Aggregate::new(query.plan().clone());
    let cases = table.cases(&app);
    cases
        .iter()
        .fold(app.identity(), |before, case| MapReduce::reduce(&app, &before, &app.map(&case.leaf()).unwrap()).unwrap())
}

fn text(x: &str) -> Row {
    Row::Cells(vec![Cell::Bytes(x.into())])
}

#[test]
fn values_are_counted_and_prefixes_are_found() {
    let table = visits();
    let one = |sql: &str| table.values(sql).join(" ");
    assert_eq!(one("SELECT COUNT(DISTINCT page), COUNT(DISTINCT country), COUNT(DISTINCT n) FROM t"), "5 3 5");
    assert_eq!(one("SELECT COUNT(DISTINCT page, country) FROM t"), "5");
    assert_eq!(one("SELECT SUM(DISTINCT n), AVG(DISTINCT n), MAX(DISTINCT n), SUM(n) FROM t"), "14 2.800000 7 22");
    assert_eq!(one("SELECT COUNT(DISTINCT page) FROM t WHERE n > 100"), "0");
    assert_eq!(one("SELECT SUM(DISTINCT n), COUNT(*) FROM t WHERE page LIKE '/shop%'"), "3 3");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page LIKE '/%'"), "7");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page NOT LIKE '/home%'"), "4");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE NOT (page NOT LIKE '/home%' OR n = 5)"), "2");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page LIKE 'x%'"), "0");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page NOT LIKE 'x%'"), "7");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page LIKE '/shop/ä'"), "1");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page LIKE '%'"), "7");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page NOT LIKE '%'"), "0");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page LIKE NULL"), "0");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE page >= '/home' AND page < '/shop'"), "3");
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE country BETWEEN 'de' AND 'fr'"), "6");
    assert_eq!(one("SELECT COUNT(*) FILTER (WHERE page LIKE '/s%'), COUNT(*) FROM t WHERE country = 'de'"), "2 4");
}

/// The conditions beside `LIKE` restrict the contents that must be listed.
#[test]
fn contents_are_those_of_rows_that_the_rest_lets_pass() {
    let table = visits();
    let groups = table.groups("SELECT COUNT(*) FROM t WHERE country = 'us' AND page LIKE '/h%'");
    assert_eq!(groups, [vec![text("/")]]);
    let groups = table.groups("SELECT COUNT(DISTINCT country) FROM t WHERE page LIKE '/shop%'");
    assert_eq!(groups[0].len(), 5);
    assert_eq!(groups[1], [text("de")]);
}

#[test]
fn a_value_that_is_left_out_is_missed() {
    let table = visits();
    for (sql, list) in [
        ("SELECT COUNT(DISTINCT page) FROM t", 0),
        ("SELECT COUNT(*), SUM(DISTINCT n) FROM t WHERE country = 'de'", 0),
        ("SELECT COUNT(DISTINCT page, country) FROM t", 0),
        ("SELECT COUNT(DISTINCT n) FILTER (WHERE page LIKE '/home%') FROM t", 0),
        ("SELECT COUNT(*) FROM t WHERE page LIKE '/home%'", 0),
        ("SELECT COUNT(*) FROM t WHERE page NOT LIKE '/home%'", 0),
        ("SELECT COUNT(*) FROM t WHERE page < '/home'", 0),
        ("SELECT SUM(CASE WHEN page LIKE '/home%' THEN n ELSE 0 END) FROM t WHERE n > 0", 0),
        ("SELECT country, COUNT(*) FROM t WHERE page LIKE '/home%' GROUP BY country", 0),
        ("SELECT country, COUNT(DISTINCT page) FROM t GROUP BY country", 1),
    ] {
        let all = table.groups(sql);
        let answer = |groups: &[Vec<Row>]| {
            let query = Query::with_groups(&table.schema, sql, groups).unwrap();
            query.answer(&output(&table, &query))
        };
        answer(&all).unwrap();
        for left_out in 0..all[list].len() {
            let mut some = all.clone();
            some[list].remove(left_out);
            let refused = answer(&some);
            let missed = matches!(refused, Err(OutputError::Groups { .. } | OutputError::Contents { .. }));
            assert!(missed, "{sql}: {refused:?}");
        }
        // A value that no row has changes nothing.
        let mut more = all.clone();
        if let Some(Row::Cells(cells)) = more[list].first() {
            let other = cells.iter().map(|cell| match cell {
                Cell::Signed(_) => Cell::Signed(1 << 40),
                _ => Cell::Bytes(b"/home/none".to_vec()),
            });
            let other = Row::Cells(other.collect());
            more[list].push(other.clone());
            assert_eq!(answer(&more).unwrap(), answer(&all).unwrap(), "{sql}");
            more[list].push(other);
        }
        let twice = Query::with_groups(&table.schema, sql, &more);
        assert!(matches!(twice, Err(SqlError::GroupTwice(_))), "{sql}: {twice:?}");
        let lists = Query::with_groups(&table.schema, sql, &[]);
        assert_eq!(lists, Err(SqlError::Lists { expected: all.len(), found: 0 }), "{sql}");
    }
}

#[test]
fn too_many_values_are_counted() {
    let table = visits();
    let sql = "SELECT COUNT(DISTINCT n), COUNT(*) FROM t WHERE page LIKE '/shop%' OR n IS NOT NULL";
    let mut grouping = evergrove_apps::aggregate::Grouping::new(&table.schema, sql).unwrap();
    for i in 0..200 {
        let cells = vec![Cell::Bytes(format!("/{i}").into()), Cell::Null, Cell::Signed(i % 70)];
        grouping.add(&Row::Cells(cells)).unwrap();
    }
    let refused = grouping.groups().unwrap_err();
    assert_eq!(refused.to_string(), "the rows have 200 values of page, a query can have 128");
    assert!(!refused.remedy().is_empty());
    let mut grouping =
        evergrove_apps::aggregate::Grouping::new(&table.schema, "SELECT COUNT(DISTINCT n) FROM t").unwrap();
    for i in 0..70 {
        grouping.add(&Row::Cells(vec![Cell::Null, Cell::Null, Cell::Signed(i)])).unwrap();
    }
    assert_eq!(grouping.groups().unwrap_err().to_string(), "the rows have 70 values of n, a query can have 63");
}

#[test]
fn circuits_map_and_reduce_as_the_code_does() {
    let table = visits();
    for sql in [
        "SELECT COUNT(DISTINCT country), SUM(n * 2 - 1) FROM t WHERE page LIKE '/h%'",
        "SELECT country, COUNT(*) FROM t WHERE n > 0 AND page NOT LIKE '/h%' GROUP BY country",
        "SELECT SUM(n * n * 0.5 - n), COUNT(*) FROM t WHERE n * 2 > 1 AND page < '/shop'",
    ] {
        let app = Aggregate::new(table.query(sql).plan().clone());
        check(&app, &table.cases(&app)[1..6]);
    }
}

/// A proof with a missing value verifies for the query with that shorter list, but the query's answer is refused. For
/// the query with all values the proof itself is refused.
#[test]
fn an_answer_by_values_is_proven() {
    let table = visits();
    let sql = "SELECT COUNT(DISTINCT country), SUM(n), COUNT(*) FROM t WHERE page LIKE '/home%'";
    let all = table.groups(sql);
    let of = |groups: &[Vec<Row>]| Query::with_groups(&table.schema, sql, groups).unwrap();
    let backend =
        |query: &Query| circuit_set(Aggregate::new(query.plan().clone()), Scheme::Complete, Profile::Grove100).1;
    let prove = |query: &Query| {
        let backend = backend(query);
        answered(&backend, &table, &committed(&table, 12), &[], &mut Proofs::new())
    };
    let proof = prove(&of(&all));
    let answer = of(&all).answer(&proof.output).unwrap();
    assert_eq!(answer.values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>(), ["2", "11", "3"]);
    for list in 0..2 {
        let mut some = all.clone();
        some[list].pop();
        let proof = prove(&of(&some));
        backend(&of(&some)).verify(&proof).unwrap();
        assert!(backend(&of(&all)).verify(&proof).is_err());
        let refused = of(&some).answer(&proof.output);
        assert!(matches!(refused, Err(OutputError::Groups { .. } | OutputError::Contents { .. })), "{refused:?}");
    }
}

#[test]
#[ignore = "apps: circuits of 128 contents, a minute"]
fn as_many_contents_as_a_query_can_have_are_proven() {
    let rows: Vec<String> = (0..128).map(|i| format!("page {i}")).collect();
    let cells: Vec<[&str; 2]> = rows.iter().map(|row| [row.as_str(), "7"]).collect();
    let table = Table::new(&["page:bytes", "n:unsigned"], &cells.iter().map(|row| &row[..]).collect::<Vec<_>>());
    let query = table.query("SELECT COUNT(*), SUM(n) FROM t WHERE page LIKE 'page 1%'");
    let (_, backend) = circuit_set(Aggregate::new(query.plan().clone()), Scheme::Complete, Profile::Grove100);
    let proof = answered(&backend, &table, &committed(&table, 8), &[], &mut Proofs::new());
    let answer = query.answer(&proof.output).unwrap();
    assert_eq!(answer.values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>(), ["39", "273"]);
}

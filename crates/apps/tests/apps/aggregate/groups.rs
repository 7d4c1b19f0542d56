//! `GROUP BY`: SQLite's answers, and groups that are missing, duplicate or invalid.

use std::collections::BTreeSet;

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, Answer, OutputError, Query, SqlError};
use evergrove_apps::laws::check;
use evergrove_commit::RecursionBackend;
use evergrove_commit::schema::{Cell, Row};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{Profile, Scheme};

use super::table::Table;
use crate::on_tables::{answered, circuit_set, committed};
use crate::world::Proofs;

fn orders() -> Table {
    let rows: [&[&str]; 8] = [
        &["paid", "de", "120", "3"],
        &["paid", "fr", "80", ""],
        &["open", "de", "", "2"],
        &["open", "de", "300", "1"],
        &["", "fr", "15", "9"],
        &["lost", "", "", "0"],
        &["paid", "de", "101", "4"],
        &["", "de", "-7", "0"],
    ];
    Table::new(&["status:bytes?", "country:bytes?", "total:signed?", "items:unsigned?"], &rows)
}

/// The groups of a query over all rows.
pub(super) fn groups(table: &Table, sql: &str) -> Vec<Row> {
    let [groups] = <[_; 1]>::try_from(table.groups(sql)).unwrap();
    groups
}

pub(super) fn output(table: &Table, query: &Query) -> Vec<Goldilocks> {
    let app = Aggregate::new(query.plan().clone());
    let cases = table.cases(&app);
    cases
        .iter()
        .fold(app.identity(), |before, case| MapReduce::reduce(&app, &before, &app.map(&case.leaf()).unwrap()).unwrap())
}

fn lines(answer: &Answer) -> BTreeSet<String> {
    let line = |group: &evergrove_apps::aggregate::GroupAnswer| {
        let key = group.key.iter().map(|(column, cell)| match cell {
            Cell::Null => "NULL".to_owned(),
            cell => String::from_utf8(column.format(cell)).unwrap(),
        });
        key.chain(group.values.iter().map(|(_, value)| value.to_string())).collect::<Vec<_>>().join(" ")
    };
    answer.groups.iter().map(line).collect()
}

/// The answers are those of SQLite 3.40.
#[test]
fn groups_have_the_answers_of_sqlite() {
    let table = orders();
    for (sql, expected) in [
        ("SELECT status, COUNT(*), SUM(total) FROM t GROUP BY status", "NULL 2 8;lost 1 NULL;open 2 300;paid 3 301"),
        ("SELECT COUNT(*) FROM t WHERE total > 90 GROUP BY status", "open 1;paid 2"),
        (
            "SELECT country, status, MIN(total) AS least FROM t GROUP BY status, country",
            "NULL de -7;NULL fr 15;lost NULL NULL;open de 300;paid de 101;paid fr 80",
        ),
        (
            "SELECT items, COUNT(status) FROM t WHERE items < 4 OR items IS NULL GROUP BY items",
            "0 1;1 1;2 1;3 1;NULL 1",
        ),
        (
            "SELECT country, SUM(CASE WHEN status = 'paid' THEN 1 ELSE 0 END), COUNT(*) FILTER (WHERE total > 100) FROM t GROUP BY country",
            "NULL 0 0;de 2 3;fr 1 0",
        ),
        ("SELECT status, COUNT(*) FROM t WHERE FALSE GROUP BY status", ""),
    ] {
        let query = Query::with_groups(&table.schema, sql, &table.groups(sql)).unwrap();
        let answer = query.answer(&output(&table, &query)).unwrap();
        assert!(answer.values.is_empty());
        let expected: BTreeSet<String> =
            expected.split(';').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        assert_eq!(lines(&answer), expected, "{sql}");
    }
}

#[test]
fn circuits_map_and_reduce_as_the_code_does() {
    let table = orders();
    let sql = "SELECT status, SUM(total), MAX(items) FROM t WHERE items < 9 GROUP BY status, country";
    let query = Query::with_groups(&table.schema, sql, &table.groups(sql)).unwrap();
    let app = Aggregate::new(query.plan().clone());
    check(&app, &table.cases(&app)[2..7]);
}

/// A prover that leaves out a group, splits one or invents one has no answer.
#[test]
fn all_groups_are_there_once() {
    let table = orders();
    let sql = "SELECT status, COUNT(*), AVG(total) FROM t WHERE total IS NOT NULL GROUP BY status";
    let all = groups(&table, sql);
    for left_out in 0..all.len() {
        let mut some = all.clone();
        let Row::Cells(cells) = some.remove(left_out) else { panic!("cells") };
        let query = Query::with_groups(&table.schema, sql, &[some]).unwrap();
        let found = query.answer(&output(&table, &query));
        assert!(matches!(found, Err(OutputError::Groups { all: 6, .. })), "{cells:?}: {found:?}");
    }
    // No row of the group `lost` passes the condition.
    assert_eq!(all.len(), 3);
    let mut more = all.clone();
    more.push(Row::Cells(vec![Cell::Bytes(b"gone".to_vec())]));
    let query = Query::with_groups(&table.schema, sql, &[more.clone()]).unwrap();
    assert_eq!(query.answer(&output(&table, &query)).unwrap().groups.len(), 3);
    more.push(all[0].clone());
    assert_eq!(Query::with_groups(&table.schema, sql, &[more.clone()]), Err(SqlError::GroupTwice(4)));
    let wrong = [Row::Cells(vec![Cell::Unsigned(3)]), Row::Cells(vec![]), Row::Raw([Goldilocks::ZERO; 4])];
    for wrong in wrong {
        assert!(matches!(Query::with_groups(&table.schema, sql, &[vec![wrong]]), Err(SqlError::Group { .. })));
    }
    assert_eq!(Query::parse(&table.schema, sql), Err(SqlError::Grouped));
    for refused in [
        "SELECT COUNT(*) FROM t GROUP BY status, status",
        "SELECT COUNT(*) FROM t GROUP BY total + 1",
        "SELECT COUNT(*) FROM t GROUP BY 1",
        "SELECT COUNT(*) FROM t GROUP BY nothing",
        "SELECT COUNT(*) FROM t GROUP BY ROLLUP (status)",
        "SELECT COUNT(*) FROM t GROUP BY ALL",
        "SELECT COUNT(*) FROM t GROUP BY status HAVING COUNT(*) > 1",
    ] {
        assert!(Query::grouped_by(&table.schema, refused).is_err(), "{refused}");
    }
    for other in [
        "SELECT country, COUNT(*) FROM t GROUP BY status",
        "SELECT status AS s, COUNT(*) FROM t GROUP BY status",
        "SELECT nothing, COUNT(*) FROM t GROUP BY status",
        "SELECT MEDIAN(total) FROM t GROUP BY status",
    ] {
        assert!(Query::with_groups(&table.schema, other, std::slice::from_ref(&all)).is_err(), "{other}");
        assert!(Query::with_groups(&table.schema, other, &[]).is_err(), "{other}: without groups");
    }
    assert_eq!(
        Query::with_groups(&table.schema, "SELECT COUNT(*) FROM t", std::slice::from_ref(&all)),
        Err(SqlError::NotGrouped)
    );
    // The order of the groups does not matter.
    let turned: Vec<Row> = all.iter().rev().cloned().collect();
    assert_eq!(Query::with_groups(&table.schema, sql, &[turned]), Query::with_groups(&table.schema, sql, &[all]));
}

/// A proof is about its groups: with other groups it is refused, even with a key of the same shape.
#[test]
fn an_answer_by_groups_is_proven() {
    let table = orders();
    let sql = "SELECT status, COUNT(*), SUM(total) FROM t GROUP BY status";
    let all = groups(&table, sql);
    let of = |groups: &[Row]| Query::with_groups(&table.schema, sql, &[groups.to_vec()]).unwrap();
    let backend =
        |query: &Query| circuit_set(Aggregate::new(query.plan().clone()), Scheme::Complete, Profile::Grove100).1;
    let query = of(&all);
    let first = backend(&query);
    let proof = answered(&first, &table, &committed(&table, 12), &[], &mut Proofs::new());
    assert_eq!(lines(&query.answer(&proof.output).unwrap()).len(), 4);
    let mut renamed = all.clone();
    renamed[0] = Row::Cells(vec![Cell::Bytes(b"sold".to_vec())]);
    let second = backend(&of(&renamed));
    assert_eq!(first.key_digest(), second.key_digest());
    assert!(second.verify(&proof).is_err());
}

/// A list of groups is untrusted: a list that is too long for any query is refused before it is processed.
#[test]
fn more_groups_than_numbers_are_refused_at_once() {
    let table = orders();
    let groups: Vec<Row> = (0..100_000).map(|x| Row::Cells(vec![Cell::Unsigned(x)])).collect();
    for (sql, most) in
        [("SELECT items, COUNT(*) FROM t GROUP BY items", 63), ("SELECT COUNT(DISTINCT items) FROM t", 63)]
    {
        let found = Query::with_groups(&table.schema, sql, std::slice::from_ref(&groups));
        let expected = SqlError::Groups { columns: "items".into(), found: 100_000, most };
        assert_eq!(found, Err(expected), "{sql}");
    }
}

//! Queries that list rows: the rows and their order; rows that are missing, invented or in the wrong place.

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, Listed, Listing, ListingError, SqlError};
use evergrove_commit::schema::{Cell, Row};
use evergrove_primitives::Goldilocks;

use super::table::Table;

fn orders() -> Table {
    let rows: [&[&str]; 9] = [
        &["ann", "120", "3"],
        &["bob", "80", ""],
        &["ann", "", "2"],
        &["ann", "300", "1"],
        &["cid", "80", "9"],
        &["bob", "", "0"],
        &["ann", "4611686018427387903", "4"],
        &["bob", "-4611686018427387904", "0"],
        &["", "80", "3"],
    ];
    Table::new(&["name:bytes?", "total:signed?", "items:unsigned?"], &rows)
}

fn listing(table: &Table, sql: &str) -> Listing {
    Listing::parse(&table.schema, sql).unwrap().unwrap()
}

fn found(table: &Table, listing: &Listing) -> Vec<(u64, Row)> {
    let mut finder = listing.finder().unwrap();
    for (index, row) in table.rows.iter().enumerate() {
        finder.add(index as u64, row.clone()).unwrap();
    }
    finder.rows()
}

/// The output of a proof over all rows.
fn output(table: &Table, listed: &Listed) -> Vec<Goldilocks> {
    let app = Aggregate::new(listed.plan().clone());
    let cases = table.cases(&app);
    cases
        .iter()
        .fold(app.identity(), |before, case| MapReduce::reduce(&app, &before, &app.map(&case.leaf()).unwrap()).unwrap())
}

/// Everything that a verifier checks, except the Merkle paths of the rows.
fn verify(table: &Table, listing: &Listing, rows: &[(u64, Row)]) -> Result<(), ListingError> {
    let listed = listing.listed(rows.to_vec())?;
    listed.accept(&output(table, &listed))
}

fn positions(rows: &[(u64, Row)]) -> Vec<u64> {
    rows.iter().map(|(index, _)| *index).collect()
}

/// SQLite's answers with `NULLS LAST`, and with the position as the last column of the order.
const QUERIES: [(&str, &[u64]); 12] = [
    ("SELECT * FROM t WHERE name = 'ann'", &[0, 2, 3, 6]),
    ("SELECT name, items FROM t WHERE total = 80", &[1, 4, 8]),
    ("SELECT name FROM t WHERE FALSE", &[]),
    ("SELECT * FROM t", &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    ("SELECT name FROM t ORDER BY total DESC LIMIT 3", &[6, 3, 0]),
    ("SELECT name FROM t ORDER BY total DESC LIMIT 5", &[6, 3, 0, 1, 4]),
    ("SELECT name FROM t ORDER BY total ASC LIMIT 1", &[7]),
    ("SELECT name FROM t ORDER BY total DESC NULLS LAST LIMIT 8", &[6, 3, 0, 1, 4, 8, 7, 2]),
    ("SELECT name FROM t ORDER BY total LIMIT 20", &[7, 1, 4, 8, 0, 3, 6, 2, 5]),
    ("SELECT name FROM t ORDER BY total, items DESC LIMIT 3", &[7, 4, 8]),
    ("SELECT name FROM t WHERE items IS NOT NULL ORDER BY items, total DESC LIMIT 4", &[7, 5, 3, 2]),
    ("SELECT * FROM t WHERE name = 'zoe' ORDER BY items LIMIT 2", &[]),
];

#[test]
fn rows_are_found_in_their_order() {
    let table = orders();
    for (sql, expected) in QUERIES {
        let listing = listing(&table, sql);
        let rows = found(&table, &listing);
        assert_eq!(positions(&rows), expected, "{sql}");
        // The rows may come in any order, because the verifier sorts them.
        let listed = listing.listed(rows.iter().rev().cloned().collect()).unwrap();
        assert_eq!(listed.rows(), rows, "{sql}");
        listed.accept(&output(&table, &listed)).unwrap();
    }
}

#[test]
fn cells_are_those_of_the_columns() {
    let table = orders();
    let listing = listing(&table, "SELECT items, t.name FROM t WHERE total > 200");
    let names: Vec<&str> = listing.columns().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["items", "name"]);
    let (_, row) = &found(&table, &listing)[0];
    let cells: Vec<&Cell> = listing.cells(row).collect();
    assert_eq!(cells, [&Cell::Unsigned(1), &Cell::Bytes(b"ann".to_vec())]);
}

/// Every set of rows except the answers is refused: all 512 sets, for each query.
#[test]
fn no_other_rows_are_accepted() {
    let table = orders();
    for (sql, expected) in QUERIES {
        let listing = listing(&table, sql);
        let mut accepted = 0;
        for chosen in 0..1u32 << table.rows.len() {
            let rows = table.rows.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1);
            let rows: Vec<(u64, Row)> = rows.map(|(i, row)| (i as u64, row.clone())).collect();
            if verify(&table, &listing, &rows).is_err() {
                continue;
            }
            accepted += 1;
            assert_eq!(rows.len(), expected.len(), "{sql}");
            // Among rows that are equal in the order, any may be the last ones.
            let key = |row: &Row| listing_key(sql, row);
            let mut keys: Vec<_> = rows.iter().map(|(_, row)| key(row)).collect();
            let mut wanted: Vec<_> = expected.iter().map(|i| key(&table.rows[*i as usize])).collect();
            keys.sort();
            wanted.sort();
            assert_eq!(keys, wanted, "{sql}: {:?}", positions(&rows));
        }
        let ties = sql.ends_with("DESC LIMIT 5");
        let nulls = sql.ends_with("LIMIT 8");
        // Two of three rows with 80, or one of two nulls.
        assert_eq!(
            accepted,
            if ties {
                3
            } else if nulls {
                2
            } else {
                1
            },
            "{sql}"
        );
    }
}

/// The columns of the query's order, or the whole row.
fn listing_key(sql: &str, row: &Row) -> String {
    let Row::Cells(cells) = row else { panic!("cells") };
    match sql {
        sql if sql.contains("ORDER BY total, items") => format!("{:?}", &cells[1..]),
        sql if sql.contains("ORDER BY total") => format!("{:?}", cells[1]),
        _ => format!("{cells:?}"),
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let table = orders();
    let listing = listing(&table, "SELECT name FROM t WHERE items > 0 ORDER BY total DESC LIMIT 2");
    let row = |index: u64| (index, table.rows[index as usize].clone());
    let refused = |rows: &[(u64, Row)]| verify(&table, &listing, rows).unwrap_err();
    assert_eq!(refused(&[row(6), row(5)]), ListingError::Excluded(5));
    assert_eq!(refused(&[row(6), row(6)]), ListingError::Twice(6));
    assert_eq!(refused(&[row(6), row(3), row(0)]), ListingError::Many { most: 2 });
    let missing = |proven, listed, which| ListingError::Missing { proven, listed, which };
    assert_eq!(refused(&[row(6)]), missing(6, 1, "pass the condition"));
    assert_eq!(refused(&[row(6), row(0)]), missing(2, 1, "come before the last one"));
    assert!(matches!(refused(&[(0, Row::Cells(vec![]))]), ListingError::Row { index: 0, .. }));
    let listed = listing.listed(vec![row(6), row(3)]).unwrap();
    assert_eq!(listed.accept(&[]), Err(ListingError::Output(0)));
    let [two, one, zero] = [2, 1, 0].map(Goldilocks::new);
    assert_eq!(listed.accept(&[two, one]), Ok(()));
    assert_eq!(listed.accept(&[one, one]), Err(missing(1, 2, "pass the condition")));
    assert_eq!(listed.accept(&[two, zero]), Err(missing(0, 1, "come before the last one")));
}

#[test]
fn texts_that_list_no_rows() {
    let table = orders();
    let parse = |sql: &str| Listing::parse(&table.schema, sql);
    for sql in ["SELECT COUNT(*) FROM t", "SELECT name FROM t GROUP BY name", "SELECT name, COUNT(*) FROM t"] {
        assert!(parse(sql).unwrap().is_none(), "{sql}");
    }
    for (sql, what) in [
        ("SELECT name FROM t LIMIT 3", "LIMIT without ORDER BY"),
        ("SELECT name FROM t ORDER BY total", "ORDER BY without LIMIT"),
        ("SELECT name FROM t ORDER BY total LIMIT 0", "LIMIT 0"),
        ("SELECT name FROM t ORDER BY total LIMIT 65537", "LIMIT 65537"),
        ("SELECT name FROM t ORDER BY total LIMIT 3 OFFSET 2", "LIMIT 3 OFFSET 2"),
        ("SELECT name FROM t ORDER BY total NULLS FIRST LIMIT 3", "NULLS FIRST"),
        ("SELECT name FROM t ORDER BY total, total LIMIT 3", "ORDER BY total"),
        ("SELECT name FROM t ORDER BY 1 LIMIT 3", "ORDER BY 1"),
        ("SELECT name AS who FROM t", "name AS who"),
        ("SELECT DISTINCT name FROM t", "SELECT DISTINCT"),
        ("SELECT name FROM t FOR UPDATE", "a clause after the SELECT"),
        ("SELECT name FROM t FETCH FIRST 3 ROWS ONLY", "a clause after the SELECT"),
        ("WITH u AS (SELECT 1) SELECT name FROM t", "WITH"),
        ("SELECT * EXCEPT (name) FROM t", "* EXCEPT (name)"),
    ] {
        match parse(sql) {
            Err(SqlError::Unsupported { what: found, .. }) => assert_eq!(found, what, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    assert!(matches!(parse("SELECT name FROM t ORDER BY name LIMIT 3"), Err(SqlError::ColumnType { .. })));
    assert!(matches!(parse("SELECT nobody FROM t"), Err(SqlError::UnknownColumn { .. })));
}

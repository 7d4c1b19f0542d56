//! Truth values, dates, timestamps, UUIDs and wide numbers: DuckDB's answers, refusals, circuits and a proof.

use evergrove_apps::aggregate::{Aggregate, Query, SqlError};
use evergrove_apps::laws::check;
use evergrove_commit::RecursionBackend;
use evergrove_commit::schema::{Cell, Row};
use evergrove_verifier::{Profile, Scheme};
use serde_json::Value;

use super::groups::{groups, output};
use super::table::Table;
use crate::on_tables::{answered, circuit_set, committed};
use crate::world::Proofs;

/// The table and the queries of the corpus.
fn corpus() -> (Table, Vec<Value>) {
    let corpus: Value = serde_json::from_str(include_str!("../../../../../vectors/dates.json")).unwrap();
    let columns = corpus["columns"].as_array().unwrap().iter().map(|c| {
        let nullable = if c["nullable"].as_bool().unwrap() { "?" } else { "" };
        format!("{}:{}{nullable}", c["name"].as_str().unwrap(), c["type"].as_str().unwrap())
    });
    let columns: Vec<String> = columns.collect();
    let rows =
        corpus["rows"].as_array().unwrap().iter().map(|row| {
            row.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap_or_default()).collect::<Vec<_>>()
        });
    let rows: Vec<Vec<&str>> = rows.collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
    (Table::new(&columns, &rows), corpus["queries"].as_array().unwrap().clone())
}

/// The keys and values of a query's groups, or the values of a query without groups, in the form of the corpus.
fn answers(table: &Table, sql: &str) -> Vec<Vec<Option<String>>> {
    let known = |text: String| Some(text).filter(|text| text != "NULL");
    let query = Query::with_groups(&table.schema, sql, &table.groups(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let answer = query.answer(&output(table, &query)).unwrap_or_else(|e| panic!("{sql}: {e}"));
    if answer.groups.is_empty() && !answer.values.is_empty() {
        return vec![answer.values.iter().map(|(_, value)| known(value.to_string())).collect()];
    }
    let groups = answer.groups.iter().map(|group| {
        let key = group
            .key
            .iter()
            .map(|(column, cell)| (*cell != Cell::Null).then(|| String::from_utf8(column.format(cell)).unwrap()));
        key.chain(group.values.iter().map(|(_, value)| known(value.to_string()))).collect()
    });
    let mut groups: Vec<Vec<Option<String>>> = groups.collect();
    groups.sort();
    groups
}

#[test]
fn queries_are_answered_as_duckdb_answers_them() {
    let (table, queries) = corpus();
    assert!(queries.len() > 450);
    for query in &queries {
        let sql = query["sql"].as_str().unwrap();
        let text =
            |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_str().map(str::to_owned)).collect::<Vec<_>>();
        let expected = match query["groups"].as_array() {
            Some(groups) => {
                let mut groups: Vec<_> = groups.iter().map(text).collect();
                groups.sort();
                groups
            }
            None => vec![text(&query["answer"])],
        };
        assert_eq!(answers(&table, sql), expected, "{sql}");
    }
}

#[test]
fn circuits_agree_on_dates_and_wide_cells() {
    let (table, queries) = corpus();
    for (k, query) in queries.iter().enumerate().step_by(48) {
        let sql = query["sql"].as_str().unwrap();
        let query = Query::with_groups(&table.schema, sql, &table.groups(sql)).unwrap();
        let plan = query.plan();
        if plan.filter().tests().count() > 16 || plan.accumulators().len() > 8 {
            continue;
        }
        let app = Aggregate::new(query.plan().clone());
        let cases = table.cases(&app);
        let at = k % (cases.len() - 4);
        check(&app, &cases[at..at + 3]);
    }
}

fn orders() -> Table {
    let rows: [&[&str]; 6] = [
        &["true", "2023-12-31", "2023-12-31T23:59:59.999999Z", "00112233-4455-6677-8899-aabbccddeeff", "5"],
        &["false", "2024-01-01", "2024-01-01T00:00:00Z", "00112233-4455-6677-8899-aabbccddeefe", "-5"],
        &["true", "2024-02-29", "2024-02-29T12:00:00Z", "", "170141183460469231731687303715884105727"],
        &["", "2024-03-01", "", "00112233-4455-6677-8899-aabbccddeeff", ""],
        &["true", "", "1969-12-31T00:00:00Z", "00112233-4455-6677-8899-aabbccddeeff", "5"],
        &["false", "2024-12-31", "2024-12-31T23:59:59Z", "", "0"],
    ];
    Table::new(&["paid:boolean?", "day:date?", "made:timestamp?", "key:uuid?", "wide:integer128?"], &rows)
}

#[test]
fn texts_of_dates_are_read_as_the_column_holds_them() {
    let table = orders();
    let count = |condition: &str| table.values(&format!("SELECT COUNT(*) FROM t WHERE {condition}")).concat();
    for (condition, expected) in [
        ("paid", "3"),
        ("NOT paid", "2"),
        ("paid IS NOT TRUE", "3"),
        ("paid = FALSE OR paid IS NULL", "3"),
        ("day > '2024-01-01'", "3"),
        ("day > TIMESTAMP '2024-01-01 12:00:00'", "3"),
        ("day >= TIMESTAMP '2024-01-01 12:00:00'", "3"),
        ("day = TIMESTAMP '2024-01-01 12:00:00'", "0"),
        ("day <> TIMESTAMP '2024-01-01 12:00:00'", "5"),
        ("made = DATE '2024-01-01'", "1"),
        ("made < '2024-01-01T01:00:00+01:00'", "2"),
        ("EXTRACT(YEAR FROM day) = 2024", "4"),
        ("EXTRACT(YEAR FROM day) <> 2024", "1"),
        ("2024.5 > EXTRACT(YEAR FROM day)", "5"),
        ("EXTRACT(YEAR FROM made) = 1969", "1"),
        ("EXTRACT(YEAR FROM made) = 20240", "0"),
        ("EXTRACT(YEAR FROM day) = 2024 AND EXTRACT(MONTH FROM day) IN (2, 3)", "2"),
        ("EXTRACT(YEAR FROM day) = 2024 AND NOT (EXTRACT(MONTH FROM day) = 2 OR paid)", "2"),
        ("NOT (day BETWEEN '2024-01-01' AND '2024-12-31' AND EXTRACT(DAY FROM day) = 1)", "3"),
        ("key = '00112233-4455-6677-8899-AABBCCDDEEFF' AND wide = 5", "2"),
        ("wide = 170141183460469231731687303715884105727", "1"),
        ("wide = 170141183460469231731687303715884105728", "0"),
        ("wide <> 170141183460469231731687303715884105728", "5"),
        ("wide = 5.5", "0"),
    ] {
        assert_eq!(count(condition), expected, "{condition}");
    }
    let filtered =
        "SELECT COUNT(*) FILTER (WHERE EXTRACT(MONTH FROM day) < 3) FROM t WHERE EXTRACT(YEAR FROM day) = 2024";
    assert_eq!(table.values(filtered).concat(), "2");
    let extremes = "SELECT MIN(day), MAX(made), MIN(paid), MAX(day) FILTER (WHERE FALSE) FROM t";
    assert_eq!(table.values(extremes), ["2023-12-31", "2024-12-31T23:59:59Z", "false", "NULL"]);
}

#[test]
fn refusals_say_what_to_write() {
    let table = orders();
    for (sql, error, remedy) in [
        (
            "MAX(day) - MIN(day) FROM t",
            "arithmetic does not work on column \"day\" of type date",
            "write MIN(day) or MAX(day), count rows, or group by date_trunc('month', day)",
        ),
        (
            "ROUND(MAX(day)) FROM t",
            "ROUND does not work on column \"day\" of type date",
            "write MIN(day) or MAX(day), count rows, or group by date_trunc('month', day)",
        ),
        (
            "SUM(paid) FROM t",
            "SUM does not work on column \"paid\" of type boolean",
            "write COUNT(*) FILTER (WHERE paid), or group by paid",
        ),
        (
            "AVG(day) FROM t",
            "AVG does not work on column \"day\" of type date",
            "write MIN(day) or MAX(day), count rows, or group by date_trunc('month', day)",
        ),
        (
            "MIN(key) FROM t",
            "MIN does not work on column \"key\" of type uuid",
            "leave key out: columns of type uuid know =, <>, IN, IS NULL, GROUP BY and COUNT",
        ),
        (
            "COUNT(*) FROM t WHERE wide < 5",
            "an order does not work on column \"wide\" of type integer128",
            "leave wide out: columns of type integer128 know =, <>, IN, IS NULL, GROUP BY and COUNT",
        ),
        (
            "COUNT(*) FROM t WHERE paid = 'true'",
            "'true' cannot be compared with column \"paid\" of type boolean",
            "write paid = TRUE or paid = FALSE",
        ),
        (
            "COUNT(*) FROM t WHERE paid = \"yes\"",
            "\"yes\" in double quotes is a name, and no column has it",
            "write a text in single quotes: 'yes'",
        ),
        (
            "COUNT(*) FROM t WHERE day = 20240131",
            "20240131 cannot be compared with column \"day\" of type date",
            "write a date, like DATE '2024-01-31'",
        ),
        (
            "COUNT(*) FROM t WHERE day = DATE '2023-02-29'",
            "DATE '2023-02-29' is not of type date: the month has no such day",
            "write a date, like DATE '2024-01-31'",
        ),
        (
            "COUNT(*) FROM t WHERE made < 'noon'",
            "'noon' is not of type timestamp: a date is YYYY-MM-DD",
            "write a timestamp, like TIMESTAMP '2024-01-31 12:34:56'",
        ),
        (
            "COUNT(*) FROM t WHERE key = 'x'",
            "'x' is not of type uuid: a UUID has 32 hexadecimal digits and 4 hyphens",
            "write 32 hexadecimal digits with hyphens, 8-4-4-4-12, in single quotes",
        ),
        (
            "COUNT(*) FROM t WHERE EXTRACT(YEAR FROM paid) = 1",
            "EXTRACT does not work on column \"paid\" of type boolean",
            "choose a column of type date or timestamp",
        ),
        (
            "COUNT(*) FROM t WHERE EXTRACT(MONTH FROM day) = 1",
            "EXTRACT(MONTH FROM day) is not supported",
            "bound the column's year in the same conjunction, like EXTRACT(YEAR FROM column) = 2024 AND ..; the other way is a range of dates",
        ),
        (
            "COUNT(*) FROM t WHERE EXTRACT(HOUR FROM made) = 1",
            "EXTRACT(HOUR FROM made) is not supported",
            "extract YEAR, MONTH or DAY, or compare the column itself with dates",
        ),
        (
            "COUNT(*) FROM t GROUP BY EXTRACT(MONTH FROM day)",
            "GROUP BY EXTRACT(MONTH FROM day) is not supported",
            "group by EXTRACT(YEAR FROM column) too, or bound the column to one year in WHERE",
        ),
        (
            "COUNT(*) FROM t GROUP BY date_trunc('week', day)",
            "date_trunc('week', day) is not supported",
            "write date_trunc('year', column), with 'month' or with 'day'",
        ),
    ] {
        let e = Query::with_groups(&table.schema, &format!("SELECT {sql}"), &[]).expect_err(sql);
        assert_eq!((e.to_string().as_str(), e.remedy().as_str()), (error, remedy), "{sql}");
    }
}

#[test]
fn groups_of_dates_are_disjoint_ranges() {
    let table = orders();
    let by = "SELECT EXTRACT(YEAR FROM day), EXTRACT(MONTH FROM day), COUNT(*) FROM t GROUP BY EXTRACT(YEAR FROM day), EXTRACT(MONTH FROM day)";
    let key = |year: u64, month: u64| Row::Cells(vec![Cell::Unsigned(year), Cell::Unsigned(month)]);
    let found = groups(&table, by);
    let nulls = Row::Cells(vec![Cell::Null, Cell::Null]);
    assert_eq!(found, [key(2023, 12), key(2024, 1), key(2024, 2), key(2024, 3), nulls, key(2024, 12)]);
    let names = Query::grouped_by(&table.schema, by).unwrap();
    assert_eq!(names[0][1].name, "EXTRACT(MONTH FROM day)");
    for wrong in
        [key(2024, 13), key(2024, 0), key(0, 1), key(10_000, 1), Row::Cells(vec![Cell::Null, Cell::Unsigned(1)])]
    {
        assert_eq!(Query::with_groups(&table.schema, by, &[vec![wrong]]), Err(SqlError::GroupDates(0)));
    }
    assert_eq!(
        Query::with_groups(&table.schema, by, &[vec![key(2024, 1), key(2024, 1)]]),
        Err(SqlError::GroupTwice(1))
    );
    // Only the first day of a month names the month.
    let by = "SELECT date_trunc('month', day), COUNT(*) FROM t GROUP BY date_trunc('month', day)";
    let of = |day: i64| Query::with_groups(&table.schema, by, &[vec![Row::Cells(vec![Cell::Signed(day)])]]);
    assert!(of(19_723).is_ok());
    assert_eq!(of(19_724), Err(SqlError::GroupDates(0)));
    // A missing year is detected.
    let by = "SELECT EXTRACT(YEAR FROM day), COUNT(*) FROM t WHERE paid GROUP BY EXTRACT(YEAR FROM day)";
    let mut found = table.groups(by);
    assert_eq!(found[0].len(), 3);
    found[0].remove(0);
    let query = Query::with_groups(&table.schema, by, &found).unwrap();
    assert!(query.answer(&output(&table, &query)).is_err());
}

#[test]
fn an_answer_about_dates_is_proven() {
    let table = orders();
    let sql = "SELECT COUNT(*), MAX(day), MIN(made) FROM t WHERE paid AND EXTRACT(YEAR FROM made) >= 1900 AND \
               key = '00112233-4455-6677-8899-aabbccddeeff' AND wide <> 7";
    let query = table.query(sql);
    let backend = || circuit_set(Aggregate::new(query.plan().clone()), Scheme::Complete, Profile::Grove100).1;
    let proof = answered(&backend(), &table, &committed(&table, 12), &[], &mut Proofs::new());
    backend().verify(&proof).unwrap();
    let answer = query.answer(&proof.output).unwrap();
    let values: Vec<String> = answer.values.iter().map(|(_, value)| value.to_string()).collect();
    assert_eq!(values, ["2", "2023-12-31", "1969-12-31T00:00:00Z"]);
}

/// Circuits with pinned keys compare the four elements of a cell, whatever its type is.
#[test]
fn circuits_with_pinned_keys_know_the_types() {
    let table = orders();
    let sql = "SELECT COUNT(*), MAX(day), COUNT(key) FROM t WHERE NOT paid OR wide = 5 AND key <> \
               '00112233-4455-6677-8899-aabbccddeefe'";
    let own = table.query(sql);
    let pinned = own.pinned().unwrap();
    let answer = |query: &Query| query.answer(&output(&table, query)).unwrap();
    assert_eq!(answer(&pinned), answer(&own));
    let app = Aggregate::new(pinned.plan().clone());
    check(&app, &table.cases(&app)[..3]);
}

#[test]
fn literals_and_years_at_the_edges() {
    let least = format!("0.{}1", "0".repeat(37));
    let table = Table::new(&["x:decimal(38,38)", "d:date"], &[&[&least, "9999-12-31"]]);
    let count = |condition: &str| table.values(&format!("SELECT COUNT(*) FROM t WHERE {condition}"));
    // Folded constants equal the literals.
    for equal in [least.clone(), format!("{least} * 1"), format!("-(-{least})")] {
        assert_eq!(count(&format!("x = {equal}")), ["1"], "{equal}");
        assert_eq!(count(&format!("x <> {equal}")), ["0"], "{equal}");
    }
    // The last year bounds a column, too.
    assert_eq!(count("EXTRACT(YEAR FROM d) = 9999 AND EXTRACT(MONTH FROM d) = 12"), ["1"]);
    assert_eq!(count("EXTRACT(YEAR FROM d) BETWEEN 9998 AND 9999 AND EXTRACT(MONTH FROM d) = 11"), ["0"]);
    // A date with a time of day is refused.
    for date in ["DATE '2024-01-31 12:00:00'", "CAST('2024-01-31T00:30:00+02:00' AS DATE)"] {
        let found = Query::parse(&table.schema, &format!("SELECT COUNT(*) FROM t WHERE d = {date}"));
        assert!(matches!(found, Err(SqlError::Form { .. })), "{date}: {found:?}");
    }
    let rounded = Query::parse(&table.schema, "SELECT COUNT(*) FROM t WHERE d = TIMESTAMP(0) '2024-01-31 00:00:00.7'");
    assert!(rounded.is_err(), "{rounded:?}");
}

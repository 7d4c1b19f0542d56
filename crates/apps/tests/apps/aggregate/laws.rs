//! Code against circuits. This crate tests circuits on tables. The tests of `evergrove-plonky2` include this file for
//! the circuits of Plonky2.

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::Aggregate;
use evergrove_commit::schema::{Cell, Row};
use evergrove_primitives::Goldilocks;

use super::circuits::{check, refuses_leaf, refuses_pair};
use super::table::Table;

const TOP: &str = "9223372036854775807";

/// Rows of more than four elements, with numbers at the ends of limbs and ranges, and with nulls.
pub(super) fn wide() -> Table {
    let rows: [&[&str]; 12] = [
        &["0", "0", "red", "0", "0.00"],
        &["1", "-1", "blue", "", "0.01"],
        &["4294967295", "4611686018427387903", "", TOP, "-0.01"],
        &["4294967296", "-4611686018427387904", "red", "4294967295", "9.99"],
        &["4294967297", "5", "red", "4294967296", "10.00"],
        &[TOP, "", "", "1", "46116860184273879.03"],
        &["9223372036854775806", "-5", "green", "2", "-46116860184273879.04"],
        &["16777215", "4294967296", "blue", "16777216", "1.00"],
        &["281474976710655", "-4294967296", "blue", "281474976710656", "1.00"],
        &["7", "7", "red", "7", "0.07"],
        &["8", "6", "red", "", "0.07"],
        &["9223372032559808512", "0", "x", "9223372032559808511", "3.00"],
    ];
    Table::new(&["u:unsigned", "s:signed?", "k:bytes?", "v:unsigned?", "f:fixed:2"], &rows)
}

pub(super) fn app(table: &Table, sql: &str) -> Aggregate {
    Aggregate::new(table.query(sql).plan().clone())
}

#[test]
fn circuits_map_and_reduce_as_the_code_does() {
    let table = wide();
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE TRUE",
        "SELECT SUM(u), MIN(s), MAX(s), COUNT(k), AVG(v) FROM t",
        "SELECT SUM(u * v), VAR_POP(s), SUM(s * f), HISTOGRAM(u, 1, 4294967296, 4294967297, 9223372036854775807) FROM t",
        "SELECT SUM(s), MIN(u), MAX(v) FROM t WHERE s < 0 AND (k = 'red' OR k IS NULL) AND NOT v IN (1, 2)",
        "SELECT COUNT(*), SUM(f) FROM t WHERE (NOT (s BETWEEN -4294967296 AND 5 OR k <> 'red')) OR u = v OR k IN ('x', '', NULL)",
        "SELECT MAX(f), MIN(v) FROM t WHERE u < v OR u <= 4294967295 OR NOT u <= v OR k IS NOT NULL OR FALSE",
    ] {
        let app = app(&table, sql);
        check(&app, &table.cases(&app));
    }
}

#[test]
fn rows_that_are_their_own_value_need_no_opening() {
    let rows: [&[&str]; 4] = [&["1", ""], &["0", "-3"], &["12", "0"], &[TOP, "9"]];
    let table = Table::new(&["u:unsigned", "s:signed?"], &rows);
    let app = app(&table, "SELECT SUM(u), MIN(s) FROM t WHERE s IS NULL OR s > -3");
    assert_eq!(app.opening_len(), 0);
    let mut cases = table.cases(&app);
    check(&app, &cases);
    // The elements behind the row must be zero.
    cases[1].value[2] = Goldilocks::ONE;
    refuses_leaf(&app, &cases[1]);
}

#[test]
fn rows_that_are_no_rows_of_the_schema_are_refused() {
    let table = Table::new(&["u:unsigned", "s:signed?"], &[&["1", ""]]);
    let app = app(&table, "SELECT SUM(u), COUNT(s) FROM t");
    for (u, s) in
        [(1 << 63, 0), ((1 << 63) + 1, 0), (Goldilocks::ORDER - 1, 0), (0, (1 << 63) + 1), (0, Goldilocks::ORDER - 1)]
    {
        let mut case = table.cases(&app).swap_remove(0);
        case.value = [u, s, 0, 0].map(Goldilocks::new);
        refuses_leaf(&app, &case);
    }
}

#[test]
fn a_row_that_is_not_behind_the_value_is_refused() {
    let table = wide();
    let app = app(&table, "SELECT SUM(u) FROM t WHERE k = 'red'");
    assert_eq!(app.opening_len(), table.schema.elements_per_row());
    for at in [0, 1, 3, app.opening_len() - 1] {
        let mut case = table.cases(&app).swap_remove(3);
        case.opening[at] = Goldilocks::new(case.opening[at].as_u64() ^ 1);
        refuses_leaf(&app, &case);
    }
    let mut other = table.cases(&app).swap_remove(3);
    other.value = table.cases(&app)[4].value;
    refuses_leaf(&app, &other);
}

#[test]
fn sums_beyond_their_width_are_refused() {
    let table = wide();
    let app = app(&table, "SELECT SUM(u), SUM(u * v) FROM t");
    // The outputs for u * v: the products, the sum of v over rows with both numbers, and the count of these rows.
    let output = |sum: [u64; 4], products: [u64; 8]| -> Vec<Goldilocks> {
        let mut out = app.identity();
        for (k, (_, len)) in [(sum.as_slice(), 4), (products.as_slice(), 8)].into_iter().enumerate() {
            let start = if k == 0 { 0 } else { 5 };
            let limbs = if k == 0 { &sum[..] } else { &products[..] };
            for (i, x) in limbs.iter().enumerate().take(len) {
                out[start + i] = Goldilocks::new(*x);
            }
        }
        out
    };
    let (full, most) = ((1u64 << 32) - 1, (1u64 << 24) - 1);
    let one = output([1, 0, 0, 0], [0; 8]);
    let largest = output([full; 4], [most; 8]);
    refuses_pair(&app, &largest, &one);
    refuses_pair(&app, &one, &largest);
    refuses_pair(&app, &largest, &largest);
    refuses_pair(&app, &output([0, 0, 0, 1 << 31], [0; 8]), &output([0, 0, 0, 1 << 31], [0; 8]));
    refuses_pair(
        &app,
        &output([0; 4], [0, 0, 0, 0, 0, 0, 0, 1 << 23]),
        &output([0; 4], [0, 0, 0, 0, 0, 0, 0, 1 << 23]),
    );
    let just_fits = app.reduce(&output([full - 1, full, full, full], [most; 8]), &one).unwrap();
    assert_eq!(just_fits, largest);
}

#[test]
fn outputs_out_of_range_are_no_operands() {
    let table = wide();
    let app = app(&table, "SELECT SUM(u), MIN(u) FROM t");
    let good = app.identity();
    for (at, x) in [(0, 1u64 << 32), (3, 1 << 32), (5, 1 << 32), (6, 1 << 32), (6, (1 << 31) + 1)] {
        let mut bad = good.clone();
        bad[at] = Goldilocks::new(x);
        assert!(app.reduce(&bad, &good).is_err(), "element {at}");
        assert!(app.reduce(&good, &bad).is_err(), "element {at}");
        assert!(table.query("SELECT SUM(u), MIN(u) FROM t").answer(&bad).is_err(), "element {at}");
    }
    assert!(app.reduce(&good[1..], &good).is_err());
}

#[test]
fn an_empty_text_is_not_null() {
    let mut table = Table::new(&["k:bytes?", "x:unsigned"], &[&["", "1"], &["a", "2"]]);
    table.rows.push(Row::Cells(vec![Cell::Bytes(vec![]), Cell::Unsigned(4)]));
    assert_eq!(table.values("SELECT SUM(x) FROM t WHERE k = ''"), ["4"]);
    assert_eq!(table.values("SELECT SUM(x) FROM t WHERE k IS NULL"), ["1"]);
    let app = app(&table, "SELECT SUM(x), COUNT(k) FROM t WHERE k = '' OR k IS NULL");
    check(&app, &table.cases(&app));
}

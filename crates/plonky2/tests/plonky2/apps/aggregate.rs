//! Aggregates: code compared with circuits of Plonky2, on the tables and queries of the tests of `evergrove-apps`, and
//! rows.

#[path = "../../../../apps/tests/apps/aggregate/conditions.rs"]
mod conditions;
#[path = "../../../../apps/tests/apps/aggregate/laws.rs"]
mod laws;
#[path = "../../../../apps/tests/apps/aggregate/table.rs"]
mod table;

/// The circuits that the laws compare with the code.
use evergrove_plonky2::apps::laws as circuits;
use evergrove_plonky2::apps::laws::{FoldCircuit, ReduceCircuit};

use laws::{app, wide};

/// Rows of gates for each row of the table, in addition to those of its leaf, and for a merge.
#[test]
fn the_rows_of_circuits() {
    let table = wide();
    let queries = [
        "SELECT COUNT(*) FROM t",
        "SELECT SUM(u), COUNT(*) FROM t",
        "SELECT SUM(u), COUNT(*), MIN(u), MAX(u) FROM t WHERE v BETWEEN 5 AND 9",
        "SELECT VAR_SAMP(s) FROM t",
        "SELECT WAVG(u, v) FROM t",
        "SELECT HISTOGRAM(u, 10, 20, 30) FROM t",
        "SELECT COUNT(*) FROM t WHERE k = 'red'",
    ];
    let lines = queries.map(|sql| {
        let app = app(&table, sql);
        let [few, more] = [100, 200].map(|n| FoldCircuit::build(&app, n).rows);
        let a_row = (more - few) as f64 / 100.0;
        format!("{sql}: {a_row:.1} a row, {} a merge", ReduceCircuit::build(&app).rows)
    });
    insta::assert_snapshot!(lines.join("\n"));
}

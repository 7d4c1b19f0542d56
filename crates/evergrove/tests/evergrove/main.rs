//! The facade as a program uses it, with the backend `native`.

mod answers;
mod features;
mod flow;
mod grove;
mod migrate;
mod mistakes;
mod openzeppelin;

use std::path::{Path, PathBuf};

use evergrove::prelude::*;

/// The shipped table.
fn strikes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/birdstrikes.csv")
}

/// A configuration whose proofs take milliseconds.
fn native() -> Config {
    Config { backend: Backend::Native, ..Config::default() }
}

/// A table of three columns and twelve rows.
fn table() -> Table {
    let columns = vec![
        Column::new("name", ColumnType::Bytes),
        Column::new("price", ColumnType::Fixed { scale: 2 }),
        Column::new("stock", ColumnType::Unsigned).nullable(),
    ];
    let row = |i: u64| {
        let stock = (i % 4 != 3).then_some(i);
        vec![Value::from(format!("item {i}")), Value::Decimal { units: 150 * i128::from(i), scale: 2 }, stock.into()]
    };
    Table::from_rows(columns, (0..12).map(row)).expect("rows of these columns")
}

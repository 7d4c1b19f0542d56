//! `evergrove commit`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::openzeppelin::{self, Order};
use evergrove::store::Store;
use evergrove::store::input::{Fields, IndexSource, Table, Untyped};
use serde_json::json;

use super::Terminal;
use crate::args::{RowsArgs, StoreArgs};
use crate::exit::CliError;
use crate::files;
use crate::progress::Counter;
use crate::report::Report;

/// Commit a table: create a store that holds it, and print the commitment
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// File of rows. Without --index-column or --indices, the rows are numbered from 0 in their order
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Schema file (TOML): it leaves out columns of the file that it does not name; without it, the columns follow from the content,
    /// which reads the file twice
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
    /// Place the rows where OpenZeppelin's tree has the root of its JavaScript library: openzeppelin-js sorts them by their leaves,
    /// openzeppelin-js-unsorted keeps their order (sortLeaves: false). Reads the file twice. Every column needs a type of Solidity's ABI
    #[arg(long, value_name = "ORDER", conflicts_with_all = ["index_column", "indices"])]
    order: Option<Order>,
    /// Accept equal rows, which a contract cannot tell apart; by default --order refuses them
    #[arg(long, requires = "order")]
    allow_duplicates: bool,
    /// Height of the tree: 2^HEIGHT slots, 1 to 40 [default: the smallest that holds every row]
    #[arg(long, value_name = "HEIGHT")]
    height: Option<u8>,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let start = Instant::now();
    let schema = args.schema.as_deref().map(files::schema).transpose()?;
    let selects = schema.is_some();
    let mut table = files::table(&args.input, &args.rows, schema, IndexSource::RowOrder)?;
    if selects {
        table = table.with_fields(Fields::Selected);
    }
    if let Some(order) = args.order {
        table = in_order(table, order, args.allow_duplicates)?;
    }
    let counter = Counter::new(terminal.quiet, "rows", table.len_hint());
    let rows = table.rows()?.inspect(|_| counter.step());
    let store = Store::create(&args.store.store, table.schema(), args.height, rows).map_err(|e| match e {
        evergrove::store::Error::OutOfRange { index, height } => CliError::usage(
            format!("index {index} is outside the vector of 2^{height} slots"),
            "raise --height, or leave it out to get the smallest that holds the table",
        ),
        e => e.into(),
    })?;
    counter.finish();
    let epoch = store.epoch()?;
    let elapsed = start.elapsed();

    let mut report = Report::default();
    report.add("commitment", epoch.commitment.to_string());
    report.add("store", args.store.store.display().to_string());
    report.add("rows", epoch.filled);
    report.add("height", epoch.commitment.height);
    if let Some(order) = args.order {
        report.add("order", order.name());
    }
    report.add("epoch", epoch.number);
    report.add("schema_digest", store.schema().digest().to_string());
    report.hidden("schema", serde_json::to_value(store.schema())?);
    report.hidden("schema_inferred", args.schema.is_none());
    report.add_time("seconds", elapsed);
    if args.schema.is_none() {
        let untyped = |u: &Untyped| json!({ "column": u.column, u.place.unit: u.place.number, "cell": u.cell.text() });
        report.hidden("untyped", table.untyped().iter().map(untyped).collect::<Vec<_>>());
        report.note("\nThe schema was found from the content:\n");
        report.note(store.schema().to_toml().trim_end());
        if !table.untyped().is_empty() {
            report.note(
                "\nColumns of type bytes, by the first cell that no other type holds and prints again as it is:\n",
            );
        }
        for Untyped { column, place, cell } in table.untyped() {
            report.note(format!("  {column}: {} {}: {cell}", place.unit, place.number.unwrap_or_default()));
        }
    }
    report.print(terminal.format)
}

/// The table with its rows at the positions of an order.
fn in_order(table: Table, order: Order, duplicates: bool) -> Result<Table> {
    match openzeppelin::positions(table.schema(), table.rows()?, order, duplicates) {
        Ok(positions) => Ok(table.with_index(IndexSource::List(positions))),
        Err(evergrove::Error::EqualRows { first, second }) => {
            let mut rows = table.rows()?;
            let mut place = |skip: u64| -> Result<_> {
                rows.nth(usize::try_from(skip)?).transpose()?;
                rows.place().cloned().context("the file has changed")
            };
            let (a, b) = (place(first)?, place(second - first - 1)?);
            Err(CliError::usage(
                format!("{b}: duplicate of the row at {} {}", a.unit, a.number.unwrap_or_default()),
                "remove one of them, or commit both with --allow-duplicates",
            ))
        }
        Err(e) => Err(e.into()),
    }
}

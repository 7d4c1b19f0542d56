//! `evergrove status`.

use std::path::Path;

use anyhow::Result;
use evergrove::commit::schema::Schema;
use evergrove::store::Store;

use super::{Terminal, batches};
use crate::args::StoreArgs;
use crate::report::{Report, count, size};

/// Show the commitment, the schema, the batches and the size of a store
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    show(&args.store.store, Report::default(), terminal)
}

/// Prints the report with the status of a store.
pub(crate) fn show(dir: &Path, mut report: Report, terminal: Terminal) -> Result<()> {
    let status = Store::open(dir)?.status()?;
    let commitment = status.epoch.commitment;
    report.add("commitment", commitment.to_string());
    report.hidden("scheme", evergrove::proof::SCHEME);
    report.add("height", commitment.height);
    report.add("rows", status.epoch.filled);
    report.add("epoch", status.epoch.number);
    report.add("oldest_epoch", status.oldest);
    report.add_as("database_bytes", status.database_bytes, size(status.database_bytes));
    report.add("proofs_kept", status.objects);
    report.add_as("proofs_bytes", status.object_bytes, size(status.object_bytes));
    report.add("schema_digest", status.schema.digest().to_string());
    report.hidden("schema", serde_json::to_value(&status.schema)?);
    report.hidden("batches", status.batches.iter().map(batches::object).collect::<Vec<_>>());
    add_columns(&mut report, &status.schema);
    report.note(if status.batches.is_empty() { "\nNo batches." } else { "\nBatches:" });
    for batch in &status.batches {
        report.note(format!("  {}", batches::line(batch)));
    }
    report.print(terminal.format)
}

/// Adds the columns of a schema, for people.
pub(crate) fn add_columns(report: &mut Report, schema: &Schema) {
    if schema.is_raw() {
        report.note("\nRaw values: a row is 4 field elements.");
        return;
    }
    let form = if schema.is_inline() { "are the value of its slot" } else { "are hashed to the value of its slot" };
    report.note(format!("\nColumns ({} of a row {form}):", count(schema.elements_per_row(), "element")));
    for column in schema.columns() {
        let nullable = if column.nullable { ", nullable" } else { "" };
        report.note(format!("  {}: {}{nullable}", column.name, column.kind));
    }
}

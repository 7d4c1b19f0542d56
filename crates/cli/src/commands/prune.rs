//! `evergrove prune`.

use anyhow::Result;
use evergrove::store::Store;

use super::Terminal;
use crate::args::StoreArgs;
use crate::report::{Report, size};

/// Remove old epochs, and proofs that no batch needs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Number of epochs to keep, the current one included
    #[arg(long, value_name = "N", default_value_t = 1)]
    keep: u64,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let mut store = Store::open(&args.store.store)?;
    let pruned = store.prune(args.keep, args.dry_run)?;
    let mut report = Report::default();
    report.add_as("dry_run", args.dry_run, if args.dry_run { "yes, nothing was taken away" } else { "no" });
    report.add("oldest_epoch", pruned.oldest);
    report.add("epochs", pruned.epochs);
    report.add("pages", pruned.pages);
    report.add("slots", pruned.slots);
    report.add("proofs", pruned.objects);
    report.add_as("proofs_bytes", pruned.object_bytes, size(pruned.object_bytes));
    report.print(terminal.format)
}

//! `evergrove app bls-keys`.

use std::sync::Arc;

use anyhow::Result;
use evergrove::apps::MapReduce;
use evergrove::apps::bls::{BlsKeys, Output, table};
use evergrove::apps::catalog::Catalog;
use evergrove::proof::Scheme;
use evergrove::store::Store;
use evergrove::store::input::read_indices;

use super::super::Terminal;
use super::proving::{Job, ProveArgs};
use crate::exit::CliError;
use crate::report::Report;

/// Prove the sum and the number of some BLS keys of a table
///
/// The table is one of bls-table. The signers become a batch of the store, which update refreshes like any other: with --add and
/// --remove as signers come and go. --dry-run prints what it would cost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    prove: ProveArgs,
    /// Name of the batch of signers
    #[arg(long, value_name = "NAME")]
    batch: String,
    /// Rows of the signers: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE")]
    indices: String,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.prove.store.store)?;
    if *store.schema() != table::schema() {
        let remedy = "commit a table that app bls-table has made, with its schema";
        return Err(CliError::usage("the store does not hold a table of BLS keys", remedy));
    }
    let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    let members = read_indices(&args.indices)?;
    let job = Job { app: app.into(), scheme: Scheme::Selected, name: args.batch.clone(), members };
    args.prove.prove(&store, catalog, job, Report::default(), terminal, |report, batch| {
        let output = Output::from_elements(&batch.output)
            .ok_or_else(|| CliError::usage("the stored output is none of bls-keys", "run doctor"))?;
        add_output(report, &output);
        Ok(())
    })
}

/// Adds the aggregate key, compressed, and the number of signers. Keys outside the subgroup have no compressed form
/// here.
pub(super) fn add_output(report: &mut Report, output: &Output) {
    report.add("aggregate_key", output.key.to_key().map_or_else(|e| e.to_string(), |k| hex::encode(k.compress())));
    report.add("signers", output.count);
}

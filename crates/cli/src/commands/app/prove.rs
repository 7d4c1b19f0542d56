//! `evergrove app prove`.

use std::sync::Arc;

use anyhow::Result;
use evergrove::apps::MapReduce;
use evergrove::apps::catalog::Catalog;
use evergrove::primitives::Goldilocks;
use evergrove::proof::Scheme;
use evergrove::store::Store;
use evergrove::store::input::read_indices;
use serde_json::json;

use super::super::Terminal;
use super::Named;
use super::proving::{Job, ProveArgs};
use crate::exit::CliError;
use crate::report::Report;

/// Prove the output of an application: over the rows at some positions, or over all rows of the table
///
/// app list has the applications. The rows become a batch of the store, which update refreshes like any other. --dry-run prints what it
/// would cost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    app: Named,
    #[command(flatten)]
    prove: ProveArgs,
    /// Name of the batch
    #[arg(long, value_name = "NAME")]
    batch: String,
    /// Over the rows at these positions: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE", required_unless_present = "all")]
    indices: Option<String>,
    /// Over all rows of the table, in the order of their positions
    #[arg(long, conflicts_with = "indices")]
    all: bool,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.prove.store.store)?;
    let app = catalog.parse(&args.app.name, &args.app.parameters, store.schema())?;
    let (scheme, members) = match &args.indices {
        Some(_) if !app.is_commutative() => {
            let message = format!("{} depends on the order of rows and has only proofs over all rows", app.name());
            return Err(CliError::usage(message, "give --all in the place of --indices"));
        }
        Some(list) => (Scheme::Selected, read_indices(list)?),
        None => (Scheme::Complete, Vec::new()),
    };
    let job = Job { app: app.clone().into(), scheme, name: args.batch.clone(), members };
    let mut report = Report::default();
    report.add("application", app.id().to_string());
    args.prove.prove(&store, catalog, job, report, terminal, |report, batch| {
        add_output(report, &app, &batch.output);
        Ok(())
    })
}

/// Adds an output: its elements, and how the application describes it.
pub(super) fn add_output(report: &mut Report, app: &Arc<dyn MapReduce>, output: &[Goldilocks]) {
    let (elements, fields) = (output.iter().map(ToString::to_string).collect::<Vec<_>>(), app.describe(output));
    let text = elements.join(" ");
    match fields.is_empty() {
        true => report.add_as("output", elements, text),
        false => report.hidden("output", elements),
    }
    let objects = fields.iter().map(|(name, value)| json!({ "name": name, "value": value }));
    report.hidden("fields", objects.collect::<Vec<_>>());
    for (name, value) in &fields {
        report.note(format!("  {name} = {value}"));
    }
}

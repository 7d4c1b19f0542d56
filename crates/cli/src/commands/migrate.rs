//! `evergrove migrate`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::Config;
use evergrove::apps::catalog::Catalog;
use evergrove::jobs::Event;
use evergrove::proof::Profile;
use evergrove::store::{BatchEstimate, Prover, Store};
use serde_json::Value;

use super::Terminal;
use crate::args::{ProvingArgs, StoreArgs};
use crate::progress::Proofs;
use crate::report::{Report, count, seconds, size};
use crate::{files, leader, results};

/// Copy a store to a new one of the current format, and prove its batches with the current backend
///
/// The source stays as it is. The copy holds the same epochs, rows and batches; every root is computed again and compared.
/// Batches that Plonky2 proves without an application are then proven by grove. Answers to queries, other applications and
/// batches of other backends keep their backends and their proofs. If proving is interrupted, update --store DIR continues it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Directory of the new store
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Security profile of the batches that are proven again: grove-100 or grove-128
    #[arg(long, value_name = "PROFILE", default_value_t)]
    profile: Profile,
    #[command(flatten)]
    proving: ProvingArgs,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let start = Instant::now();
    let source = Store::open_to_read(&args.store.store)?;
    let trace = leader::trace(&args.proving);
    let config = Config { profile: args.profile, ..args.proving.config(catalog, trace.as_ref())? };
    config.check()?;
    let watched = leader::watched(&args.proving, &config, terminal)?;
    let mut backends = config.backends();
    config.add_apps(&mut backends, &source)?;
    let successors = config.successors(&backends, &source)?;
    let costs = |spec: &_| config.costs(spec);
    let specs = successors.iter().map(|(_, spec)| (spec, config.costs(spec)));
    let engine =
        config.engine(specs.chain(source.batches()?.iter().map(|b| (&b.backend, config.costs(&b.backend)))))?;

    let mut report = Report::default();
    report.add("commitment", source.commitment()?.to_string());
    report.add("epochs", source.epochs()?.len());
    report.add("batches", source.batches()?.len());
    let again: Vec<_> = successors.iter().map(|(name, _)| name.clone()).collect();
    report.add("proven_again", again);
    if args.proving.dry_run {
        let prover = Prover::new(&source, &backends, engine.as_ref());
        let mut estimates = Vec::new();
        for (name, spec) in &successors {
            let members = source.members(name)?;
            estimates.push(prover.estimate_prove(name, Some((&members, &spec.choice)), &costs)?);
        }
        let (made, time) = (
            estimates.iter().map(BatchEstimate::to_make).sum::<usize>(),
            estimates.iter().map(|e| e.seconds).sum::<f64>(),
        );
        report.add("proofs_to_make", made);
        report.add_as("seconds", time, format!("about {}, one proof at a time", seconds(time)));
        report.hidden("refreshed", estimates.iter().map(results::estimate_object).collect::<Vec<Value>>());
        return report.print(terminal.format);
    }
    files::check(&args.proving.timings)?;
    let store = source.copy_to(&args.to, &|batch| {
        Ok(successors.iter().find(|(name, _)| *name == batch.name).map(|(_, spec)| spec.clone()))
    })?;
    drop(source);
    report.add("store", args.to.display().to_string());

    let progress = Proofs::new(terminal.quiet, trace.clone(), watched.metrics.clone());
    let note = |batch: &str, event: &Event<'_>| progress.event(batch, event);
    let prover =
        Prover::new(&store, &backends, engine.as_ref()).with_progress(&note).with_cancel(leader::cancel(&config)?);
    let refreshed = prover.refresh().with_context(|| {
        format!("the store is copied, and not all batches are proven: update {}", args.to.display())
    })?;
    progress.finish();
    let made: usize = refreshed.iter().map(|b| b.made).sum();
    report.add("proofs_made", made);
    report.add_time("seconds", start.elapsed());
    report.hidden("refreshed", refreshed.iter().map(results::batch_object).collect::<Vec<_>>());
    for b in &refreshed {
        report.note(format!("  {}: {} of {} made, {}", b.name, b.made, count(b.total, "proof"), size(b.bytes as u64)));
    }
    leader::write_trace(&mut report, &args.proving, trace.as_ref())?;
    report.print(terminal.format)
}

//! `evergrove app bls-keys`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use evergrove::input::read_indices;
use evergrove::{Prover, Store};
use evergrove_apps::MapReduce;
use evergrove_apps::bls::{BlsKeys, Output, table};
use evergrove_jobs::Event;
use evergrove_proof::{HeightClass, Profile, Scheme};

use super::super::Terminal;
use crate::args::{ProvingArgs, StoreArgs, parse_profile};
use crate::exit::Mistake;
use crate::progress::Proofs;
use crate::report::{Report, count, seconds};
use crate::{backends, files, proving};

/// Prove the sum and the number of some BLS keys of a table
///
/// The table is one of bls-table. The signers become a batch of the store, which update refreshes like any other: with --add and
/// --remove as signers come and go. --dry-run prints what it would cost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Name of the batch of signers
    #[arg(long, value_name = "NAME")]
    batch: String,
    /// Rows of the signers: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE")]
    indices: String,
    /// Security profile: proven, johnson or paper
    #[arg(long, value_name = "PROFILE", default_value_t, value_parser = parse_profile)]
    profile: Profile,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    proving: ProvingArgs,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let store = Store::open(&args.store.store)?;
    if *store.schema() != table::schema() {
        let remedy = "commit a table that app bls-table has made, with its schema";
        return Err(Mistake::usage("the store does not hold a table of BLS keys", remedy));
    }
    let members = read_indices(&args.indices)?;
    let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    let keys = backends::keys_dir(args.proving.keys.as_deref());
    let class = HeightClass::of(store.commitment()?.height).unwrap_or(HeightClass::H40);
    let (spec, size) = backends::app_spec(&app, Scheme::Selected, args.profile, class, keys.as_deref())?;
    let choice = spec.choice();
    let trace = proving::trace(&args.proving);
    let mut backends = backends::provers(keys.clone(), args.proving.prover, trace.as_ref());
    backends::add_app(&mut backends, spec.clone(), app, keys.as_deref(), args.proving.prover, trace.as_ref());
    let engine = proving::engine(&args.proving, std::iter::once(&spec))?;
    let progress = Proofs::new(terminal.quiet, trace.clone());
    let note = |batch: &str, event: &Event<'_>| progress.event(batch, event);
    let prover = Prover::new(&store, &backends, &engine).with_progress(&note);

    let estimate = prover.estimate_prove(&args.batch, Some((&members, &choice)), &|s| backends::app_costs(s, size))?;
    let mut report = Report::default();
    if args.proving.dry_run {
        proving::add_estimate(&mut report, &estimate);
        report.print(terminal.format);
        return Ok(());
    }
    if !terminal.quiet && estimate.to_make() > 0 {
        let proofs = count(estimate.to_make(), "proof");
        eprintln!("{proofs} to make, about {}, one proof at a time", seconds(estimate.seconds));
    }
    prover.define(&args.batch, &members, &choice)?;
    let start = Instant::now();
    let batch = prover.prove(&args.batch)?;
    progress.finish();
    let output = Output::from_elements(&batch.output)
        .ok_or_else(|| Mistake::usage("the stored output is none of bls-keys", "run doctor"))?;
    add_output(&mut report, &output);
    proving::add_batch(&mut report, &batch, start.elapsed().as_secs_f64());
    if let Some(path) = &args.out {
        let bytes = store.export(&args.batch)?;
        files::write(path, |out| Ok(out.write_all(&bytes)?))?;
        report.add("proof", path.display().to_string());
    }
    proving::write_trace(&mut report, &args.proving, trace.as_ref())?;
    report.print(terminal.format);
    Ok(())
}

/// The aggregate key, compressed, and the number of signers. Keys outside the subgroup have no compressed form here.
pub(super) fn add_output(report: &mut Report, output: &Output) {
    report.add("aggregate_key", output.key.to_key().map_or_else(|e| e.to_string(), |k| hex::encode(k.compress())));
    report.add("signers", output.count);
}

//! `evergrove prove`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use evergrove::Config;
use evergrove::apps::catalog::Catalog;
use evergrove::commit::BackendChoice;
use evergrove::jobs::Event;
use evergrove::proof::{HeightClass, Profile, Scheme};
use evergrove::store::input::{Format, read_indices};
use evergrove::store::{Prover, Store};

use super::{Terminal, export};
use crate::args::{ProvingArgs, StoreArgs, formats, parse_scheme};
use crate::exit::CliError;
use crate::files::{Fill, Out};
use crate::progress::Proofs;
use crate::proof_tree::SHOWN;
use crate::report::Report;
use crate::{files, leader, results};

/// Prove a batch of rows: define it if it is new, and make the missing proofs, also those that an earlier run did not finish
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Name of the batch: letters, digits, '-', '_' and '.', at most 64
    #[arg(long, value_name = "NAME")]
    batch: String,
    /// Positions of the rows of a new batch: a list like 0,5,9-20, or a file of such lists
    #[arg(long, value_name = "LIST|FILE")]
    indices: Option<String>,
    /// Security profile: grove-100 or grove-128 of grove, proven, johnson or paper of plonky2 [default: that of the batch; for a
    /// new batch grove-100, with --backend plonky2 proven]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,
    /// Proof system: grove, plonky2, or native for tests [default: that of the batch or of --profile, otherwise grove]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Scheme: evergrove1, or reckle-paper for comparisons, which verifiers must allow [default: that of the batch; for a new
    /// batch evergrove1]
    #[arg(long, value_name = "NAME", value_parser = parse_scheme)]
    scheme: Option<Scheme>,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the rows of the batch with their positions to this file, for verify --leaves
    #[arg(long, value_name = "FILE")]
    leaves_out: Option<PathBuf>,
    /// Format of --leaves-out [default: by its extension]. A file whose name ends in .gz is compressed
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    output_format: Option<Format>,
    /// Show the proofs as a tree while they are made; without a terminal, a line for each proof
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    #[command(flatten)]
    proving: ProvingArgs,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let indices = args.indices.as_deref().map(read_indices).transpose()?;
    let store = Store::open(&args.store.store)?;
    let leaves = match &args.leaves_out {
        Some(path) => Some((path, export::rows_format(&store, path, args.output_format, false)?)),
        None => None,
    };
    let trace = leader::trace(&args.proving);
    let config = args.proving.config(catalog, trace.as_ref())?;
    let watched = leader::watched(&args.proving, &config, terminal)?;
    let mut backends = config.backends();
    config.add_apps(&mut backends, &store)?;
    let choice = choice(args, &store, indices.is_some())?;
    // An existing batch changes its backend only if a flag asks for it.
    let members = match (indices, args.profile.is_some() || args.backend.is_some() || args.scheme.is_some()) {
        (Some(indices), _) => Some(indices),
        (None, true) => Some(store.members(&args.batch)?),
        (None, false) => {
            store.batch(&args.batch)?;
            None
        }
    };
    let height = store.commitment()?.height;
    let spec = backends.spec(&choice, HeightClass::of(height).unwrap_or(HeightClass::H40))?;
    let engine = config.engine([(spec, config.costs(spec))])?;
    let progress = Proofs::new(terminal.quiet, trace.clone(), watched.metrics.clone());
    let note = |batch: &str, event: &Event<'_>| progress.event(batch, event);
    let prover =
        Prover::new(&store, &backends, engine.as_ref()).with_progress(&note).with_cancel(leader::cancel(&config)?);

    let mut report = Report::default();
    if args.proving.dry_run {
        let config = leader::measured(config.clone(), terminal);
        let members = members.as_deref().map(|m| (m, &choice));
        let estimate = prover.estimate_prove(&args.batch, members, &|spec| config.costs(spec))?;
        results::add_estimate(&mut report, &estimate);
        results::add_bits(&mut report, &estimate.backend);
        return report.print(terminal.format);
    }
    files::check([&args.out, &args.leaves_out, &args.proving.timings].into_iter().flatten())?;
    if let Some(members) = &members {
        prover.define(&args.batch, members, &choice)?;
    }
    if args.watch {
        progress.watch(prover.tree(&args.batch, None, SHOWN)?.nodes);
    }
    let start = Instant::now();
    let batch = prover.prove(&args.batch)?;
    progress.finish();
    results::add_batch(&mut report, &batch, start.elapsed().as_secs_f64());
    let mut outputs: Vec<(&Path, Fill<'_>)> = Vec::new();
    if let Some(path) = &args.out {
        let bytes = store.export(&args.batch)?;
        outputs.push((path, Box::new(move |out| Ok(out.write_all(&bytes)?))));
        report.add("proof", path.display().to_string());
    }
    if let Some((path, format)) = leaves {
        let (store, batch) = (&store, &args.batch);
        let members = store.members(batch)?;
        let rows = move |out: &mut Out<'_>| export::fill(store, batch, &members, out, format, false);
        outputs.push((path, Box::new(move |out| files::compressed(path, out, rows))));
        report.add("leaves", path.display().to_string());
    }
    files::write_together(outputs)?;
    leader::write_trace(&mut report, &args.proving, trace.as_ref())?;
    report.print(terminal.format)
}

/// The backend that the flags name, by default that of the batch, or of the configuration for a new batch.
fn choice(args: &Args, store: &Store, new: bool) -> Result<BackendChoice> {
    let known = match store.batch(&args.batch) {
        Ok(batch) => Some(batch),
        Err(evergrove::store::Error::UnknownBatch { .. }) if new => None,
        Err(e) => return Err(e.into()),
    };
    let known = known.map_or_else(|| Config::default().choice(), |b| b.backend.choice);
    let known = BackendChoice {
        app: known.app.filter(|_| args.scheme.is_none()),
        scheme: args.scheme.unwrap_or(known.scheme),
        ..known
    };
    let app = known.app.clone().filter(|_| args.backend.as_ref().is_some_and(|name| *name != known.name));
    if let (Some(app), Some(backend)) = (app, &args.backend) {
        let message = format!("backend {backend} has no circuits for application {}", app.name);
        return Err(CliError::usage(message, format!("leave --backend out, or give --backend {}", known.name)));
    }
    Ok(Config::choose(known, args.backend.as_deref(), args.profile)?)
}

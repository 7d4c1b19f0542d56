//! Shared parts of the proving commands of applications.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use evergrove::apps::catalog::{Application, Catalog};
use evergrove::jobs::Event;
use evergrove::proof::{HeightClass, Profile, Scheme};
use evergrove::store::{BatchReport, Prover, Store};

use super::super::Terminal;
use crate::args::{ProvingArgs, StoreArgs};
use crate::progress::Proofs;
use crate::report::{Report, count, seconds};
use crate::{files, leader, results};

/// The flags of all of them.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ProveArgs {
    #[command(flatten)]
    pub(in crate::commands) store: StoreArgs,
    /// Security profile: grove-100 or grove-128, which queries have; proven, johnson or paper [default: grove-100, else proven]
    #[arg(long, value_name = "PROFILE")]
    pub(in crate::commands) profile: Option<Profile>,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE")]
    pub(in crate::commands) out: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::commands) proving: ProvingArgs,
}

/// The batch whose output is proven.
pub(in crate::commands) struct Job {
    pub(in crate::commands) app: Application,
    pub(in crate::commands) scheme: Scheme,
    pub(in crate::commands) name: String,
    /// Rows of the batch; empty if the scheme is over all rows.
    pub(in crate::commands) members: Vec<u64>,
}

impl ProveArgs {
    /// Defines the batch, proves it, and prints `report` with the fields that `describe` adds. With `--dry-run`, prints
    /// the estimate.
    pub(in crate::commands) fn prove(
        &self,
        store: &Store,
        catalog: &Catalog,
        job: Job,
        report: Report,
        terminal: Terminal,
        describe: impl FnOnce(&mut Report, &BatchReport) -> Result<()>,
    ) -> Result<()> {
        self.report(store, catalog, job, report, terminal, describe)?.print(terminal.format)
    }

    /// Like [`Self::prove`], without printing.
    pub(in crate::commands) fn report(
        &self,
        store: &Store,
        catalog: &Catalog,
        job: Job,
        mut report: Report,
        terminal: Terminal,
        describe: impl FnOnce(&mut Report, &BatchReport) -> Result<()>,
    ) -> Result<Report> {
        let Job { app, scheme, name, members } = job;
        let args = &self.proving;
        let trace = leader::trace(args);
        let config = leader::measured(args.config(catalog, trace.as_ref())?, terminal);
        let class = HeightClass::of(store.commitment()?.height).unwrap_or(HeightClass::H40);
        let profile = self.profile.unwrap_or_default();
        let (spec, circuits) = config.app_spec(&app, scheme, profile, class)?;
        let choice = spec.choice.clone();
        let watched = leader::watched(args, &config, terminal)?;
        let mut backends = config.provers();
        config.add_app(&mut backends, spec.clone(), app, &circuits);
        let engine = config.engine([(&spec, config.app_costs(&spec, &circuits))])?;
        let progress = Proofs::new(terminal.quiet, trace.clone(), watched.metrics.clone());
        let note = |batch: &str, event: &Event<'_>| progress.event(batch, event);
        let cancel = leader::cancel(&config)?;
        let prover = Prover::new(store, &backends, engine.as_ref()).with_progress(&note).with_cancel(cancel);

        let costs = |s: &_| config.app_costs(s, &circuits);
        let estimate = prover.estimate_prove(&name, Some((&members, &choice)), &costs)?;
        if args.dry_run {
            results::add_estimate(&mut report, &estimate);
            return Ok(report);
        }
        files::check([&self.out, &args.timings].into_iter().flatten())?;
        if !terminal.quiet && estimate.to_make() > 0 {
            let proofs = count(estimate.to_make(), "proof");
            eprintln!("{proofs} to make, about {}, one proof at a time", seconds(estimate.seconds));
        }
        prover.define(&name, &members, &choice)?;
        let start = Instant::now();
        let batch = prover.prove(&name)?;
        progress.finish();
        describe(&mut report, &batch)?;
        results::add_batch(&mut report, &batch, start.elapsed().as_secs_f64());
        if let Some(path) = &self.out {
            let bytes = store.export(&name)?;
            files::write(path, |out| Ok(out.write_all(&bytes)?))?;
            report.add("proof", path.display().to_string());
        }
        leader::write_trace(&mut report, args, trace.as_ref())?;
        Ok(report)
    }
}

//! `evergrove doctor`.

use std::time::Instant;

use anyhow::Result;
use evergrove::apps::catalog::Catalog;
use evergrove::store::Store;
use evergrove::{Config, Machine};
use serde_json::json;

use super::Terminal;
use crate::args::StoreArgs;
use crate::command_error::repair;
use crate::exit::CliError;
use crate::leader;
use crate::progress::Counter;
use crate::report::{Report, count, seconds};

/// Check everything in a store: every page, row, batch and proof; repair nothing
///
/// Also measures how fast this machine proves, which the estimates of later commands use.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let start = Instant::now();
    let mut store = Store::open(&args.store.store)?;
    let config = Config { catalog: catalog.clone(), ..leader::config(None)? };
    let mut backends = config.verifiers();
    config.add_apps(&mut backends, &store)?;
    let mut counter = None;
    let found = store.doctor_watched(&backends, &mut |looked, all| {
        let counter = counter.get_or_insert_with(|| Counter::new(terminal.quiet, "proofs", Some(all as u64)));
        if looked > 0 {
            counter.step();
        }
    })?;
    if let Some(counter) = counter {
        counter.finish();
    }
    let elapsed = start.elapsed();
    let healthy = found.healthy();
    // Measured again, because other work may have run during an earlier measurement.
    let machine = Machine::measure(leader::threads(None));
    let kept = config.keys.as_deref().map_or(Ok(()), |dir| machine.keep(dir));
    let isa = machine.isa;
    let mut report = Report::default();
    report.add_as("healthy", healthy, if healthy { "yes" } else { "no" });
    report.add("epochs", found.epochs);
    report.add("pages", found.pages);
    report.add("slots", found.slots);
    report.add("batches", found.batches);
    report.add_as("proofs", found.proofs, format!("{} verified", found.proofs));
    report.add_as("unverified", found.unverified, format!("{} for want of a backend", found.unverified));
    report.add_as(
        "orphans",
        found.orphans.len(),
        format!("{}, which prune takes away", count(found.orphans.len(), "proof")),
    );
    report.hidden("leftovers", found.leftovers.clone());
    for name in &found.leftovers {
        report.note(format!("left by an interrupted command, prune takes it away: {name}"));
    }
    let findings: Vec<_> =
        found.findings.iter().map(|f| json!({ "what": f.what, "remedy": repair(f.repair) })).collect();
    report.hidden("findings", findings);
    report.add("cpu", machine.cpu);
    report.add("isa", isa.to_string());
    report.add("threads", machine.threads);
    let millions = format!("{:.2} million a second", machine.permutations / 1e6);
    report.add_as("permutations_per_second", machine.permutations.round(), millions);
    let proof = format!("about {} for a proof in the profile grove-100", seconds(machine.proof_seconds));
    report.add_as("proof_seconds", machine.proof_seconds, proof);
    #[cfg(feature = "plonky2")]
    report.add_as("prover", config.prover.name(), format!("{}, the faster one on {isa}", config.prover));
    report.add_time("seconds", elapsed);
    if let Err(e) = kept {
        report.note(format!("the figures of this machine cannot be kept in the directory of keys: {e}"));
    }
    for finding in &found.findings {
        report.note(format!("\nfound: {}\nhelp: {}", finding.what, repair(finding.repair)));
    }
    report.print(terminal.format)?;
    if healthy {
        return Ok(());
    }
    let remedy = found.findings.first().map_or("", |f| repair(f.repair));
    Err(CliError::damage(
        format!("{} in {}", count(found.findings.len(), "finding"), args.store.store.display()),
        remedy,
    ))
}

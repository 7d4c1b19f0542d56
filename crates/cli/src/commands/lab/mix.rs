//! `evergrove lab mix`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use evergrove_lab::mix::{Budget, Mixes, Outcome};
use evergrove_lab::whatif::Proofs;
use serde_json::json;

use super::super::Terminal;
use super::reproduce::{costs, digits};
use crate::args::Output;
use crate::exit::CliError;
use crate::report::{line, seconds, text};

/// Say which mix of the machines shortens one update most, under budgets of area
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Trace that --timings of update or prove wrote
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// Areas of a chip at 7 nm, in mm2, separated by commas
    #[arg(long, value_name = "MM2", value_delimiter = ',', value_parser = parse_area,
          default_value = "15,16,17,17.5,18,18.5,19,19.5,20,20.5,21,22,25,30,40,60")]
    area: Vec<f64>,
    /// Directory for the figure, as SVG, PNG and CSV
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// TOML table of costs that replaces entries of the built-in one
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

fn parse_area(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|area| (0.0..1e6).contains(area)).ok_or_else(|| "choose an area in mm2".into())
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let body = std::fs::read_to_string(&args.trace).with_context(|| format!("reading {}", args.trace.display()))?;
    let proofs = Proofs::parse(&body).map_err(|e| {
        CliError::usage(format!("{}: {e}", args.trace.display()), "write one with --timings of update or prove")
    })?;
    let mixes = Mixes::new(&costs(args.costs.as_ref())?, &proofs)?;
    let budgets: Vec<Budget> = args.area.iter().map(|area| mixes.within(*area)).collect();
    if let Some(dir) = &args.out {
        mixes.figure("One update on a chip: speed-up by area", &budgets).write(dir, "lab-mix")?;
    }
    if terminal.format == Output::Json {
        return line(&json!({ "proofs": proofs, "limit": mixes.limit(), "budgets": budgets }));
    }
    text(&format!("{} proofs, {} one after the other\n\n{}", proofs.count, seconds(proofs.seconds), kinds(&proofs)))?;
    text(&table(&budgets))?;
    text(&format!("\nmachines that take no time: {:.2} times\n", mixes.limit()))?;
    if proofs.products.is_empty() {
        text("chiplet multiplier: the trace has no sum of points, so no mix has one\n")?;
    }
    match budgets.iter().rev().find_map(|budget| budget.best.as_ref()) {
        Some(outcome) => text(&phases(outcome)),
        None => Ok(()),
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", digits(1e3 * seconds))
}

fn kinds(proofs: &Proofs) -> String {
    let mut out = format!(
        "{:<12}  {:>7}  {:>10}  {:>11}  {:>8}  {:>7}\n",
        "step", "share", "M hashes", "M products", "MB", "rounds"
    );
    for (kind, work) in &proofs.kinds {
        out.push_str(&format!(
            "{kind:<12}  {:>5.1} %  {:>10.3}  {:>11.2}  {:>8.1}  {:>7}\n",
            100.0 * work.seconds / proofs.seconds,
            work.hashes / 1e6,
            work.multiplications / 1e6,
            work.bytes / 1e6,
            work.rounds,
        ));
    }
    for (tree, count) in &proofs.trees {
        let (leaves, words, blowup) = (tree.log_rows, tree.columns, 1_u64 << tree.log_blowup);
        out.push_str(&format!("{count} trees of 2^{leaves} leaves of {words} words, extended {blowup} times\n"));
    }
    out
}

fn table(budgets: &[Budget]) -> String {
    let mut out = format!(
        "\n{:>6}  {:>6}  {:>5}  {:>4}  {:>6}  {:>10}  {:>8}  {:>12}  {:>15}\n",
        "budget", "area", "cores", "PEs", "stacks", "update", "speed-up", "engine alone", "tree unit alone"
    );
    let alone = |outcome: &Option<Outcome>| outcome.as_ref().map_or("-".into(), |o| format!("{:.2}", o.speedup));
    for Budget { area_mm2, best, engine, unit } in budgets {
        let Some(best) = best else {
            out.push_str(&format!("{:>6}  nothing fits\n", digits(*area_mm2)));
            continue;
        };
        let mix = best.mix;
        out.push_str(&format!(
            "{:>6}  {:>6.1}  {:>5}  {:>4}  {:>6}  {:>10}  {:>8.2}  {:>12}  {:>15}\n",
            digits(*area_mm2),
            best.area.area_mm2(),
            mix.cores,
            mix.pes,
            mix.stacks,
            milliseconds(best.seconds),
            best.speedup,
            alone(engine),
            alone(unit),
        ));
    }
    out
}

/// The steps and the parts of the mix under the largest budget.
fn phases(outcome: &Outcome) -> String {
    let mut out = format!("\nwith {:.1} mm2:\n", outcome.area.area_mm2());
    for part in &outcome.area.parts {
        out.push_str(&format!("  {:<15}  {:>6.2} mm2\n", part.name, part.area_mm2));
    }
    out.push_str(&format!("\n  {:<12}  {:<13}  {:>10}  {:>10}\n", "step", "machine", "before", "after"));
    for phase in &outcome.phases {
        let (before, after) = (milliseconds(phase.before_s), milliseconds(phase.after_s));
        out.push_str(&format!("  {:<12}  {:<13}  {before:>10}  {after:>10}\n", phase.kind, phase.machine));
    }
    out
}

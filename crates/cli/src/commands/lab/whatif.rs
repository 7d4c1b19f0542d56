//! `evergrove lab whatif`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use evergrove_lab::whatif::{Proofs, answers};
use serde_json::json;

use super::super::Terminal;
use crate::args::Output;
use crate::exit::CliError;
use crate::report::{line, seconds, text};

/// Say which of the machines would shorten the proofs of a trace, and by how much
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Trace that --timings of prove or update wrote
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let body = std::fs::read_to_string(&args.trace).with_context(|| format!("reading {}", args.trace.display()))?;
    let proofs = Proofs::parse(&body).map_err(|e| {
        CliError::usage(format!("{}: {e}", args.trace.display()), "write one with --timings of prove or update")
    })?;
    let answers = answers(&proofs)?;
    if terminal.format == Output::Json {
        return line(&json!({ "proofs": proofs, "answers": answers }));
    }
    text(&format!("{} proofs, {} one after the other\n", proofs.count, seconds(proofs.seconds)))?;
    for (kind, work) in &proofs.kinds {
        text(&format!("  {kind:<10}  {:>5.1} %\n", 100.0 * work.seconds / proofs.seconds))?;
    }
    for (tree, count) in &proofs.trees {
        text(&format!("  {count:>4} trees of 2^{} leaves of {} words\n", tree.log_rows, tree.columns))?;
    }
    for a in answers {
        text(&format!("\n{}\n", a.machine))?;
        if a.kinds.is_empty() {
            text("  these proofs have nothing for it\n")?;
            continue;
        }
        let stays = proofs.seconds - a.before_s;
        text(&format!(
            "  takes over {}: {} become {} (bound by {})\n  {} stay + {} = {}: {:.2} times faster, {:.2} at most\n",
            a.kinds.join(", "),
            seconds(a.before_s),
            seconds(a.after_s),
            a.bound,
            seconds(stays),
            seconds(a.after_s),
            seconds(a.proofs_s),
            a.speedup,
            a.limit
        ))?;
    }
    Ok(())
}

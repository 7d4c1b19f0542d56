//! `evergrove lab run` and `evergrove lab sweep`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use evergrove_lab::LabError;
use evergrove_lab::config::{Cell, File, Row};
use evergrove_lab::results::sweep as run_sweep;
use serde_json::{Map, Value, json};

use super::super::Terminal;
use super::reproduce::{costs, digits};
use crate::args::Output;
use crate::exit::CliError;
use crate::report::{line, text};

/// Greatest number of operations in a trace.
const TRACE_EVENTS: usize = 100_000;

/// Run one design and show its cycles, bytes, stalls and costs
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// TOML file with a machine and its parameters; crates/lab/configs has the published designs
    file: PathBuf,
    /// Write the first operations to this file: .vcd for waveforms, else Chrome's trace format
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Run it on random data too, and compare results with this program's kernels and cycles with timing alone
    #[arg(long)]
    data: bool,
    /// TOML table of costs that replaces entries of the built-in one
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

/// Run every combination of the axes in a file, in parallel; the results of an earlier run are kept
#[derive(Debug, clap::Args)]
pub(crate) struct SweepArgs {
    /// TOML file with a machine, its parameters and axes
    file: PathBuf,
    /// Directory of the results: results.csv, results.parquet, manifest.json, and runs/ with every run
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// TOML table of costs that replaces entries of the built-in one
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

/// Reads a file of designs.
fn read(path: &Path) -> Result<File> {
    let body = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    File::parse(&body).map_err(|e| refused(path, &e))
}

fn refused(path: &Path, e: &LabError) -> anyhow::Error {
    CliError::usage(format!("{}: {e}", path.display()), "docs/models/ describes the parameters of each machine")
}

fn object(row: &Row) -> Value {
    let cell = |cell: &Cell| match cell {
        Cell::Number(x) => json!(x),
        Cell::Text(s) => json!(s),
    };
    Value::Object(row.iter().map(|(name, value)| (name.clone(), cell(value))).collect::<Map<_, _>>())
}

pub(crate) fn run(args: &RunArgs, terminal: Terminal) -> Result<()> {
    let file = read(&args.file)?;
    let designs = file.designs().map_err(|e| refused(&args.file, &e))?;
    let [design] = &designs[..] else {
        return Err(CliError::usage(
            format!("{} has {} designs", args.file.display(), designs.len()),
            "run it with `evergrove lab sweep FILE --out DIR`",
        ));
    };
    let mut row = design.run(&costs(args.costs.as_ref())?).map_err(|e| refused(&args.file, &e))?;
    if args.data {
        let check = design.check().map_err(|e| refused(&args.file, &e))?;
        ensure!(check.holds(), "the model differs from the kernels: {check:?}");
        for (name, value) in [("data_results", check.results), ("data_results_equal_to_kernels", check.equal)] {
            row.push((name.to_owned(), Cell::Number(value as f64)));
        }
        row.push(("data_cycles".to_owned(), Cell::Number(check.cycles as f64)));
    }
    if let Some(path) = &args.trace {
        let trace = design.trace(TRACE_EVENTS).map_err(|e| refused(&args.file, &e))?;
        let vcd = path.extension().is_some_and(|e| e == "vcd");
        let body = if vcd { trace.vcd() } else { trace.chrome().to_string() };
        std::fs::write(path, body).with_context(|| format!("writing {}", path.display()))?;
    }
    match terminal.format {
        Output::Json => line(&object(&row)),
        Output::Text => {
            let width = row.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, cell) in &row {
                let value = match cell {
                    Cell::Number(x) => digits(*x),
                    Cell::Text(s) => s.clone(),
                };
                text(&format!("{name:<width$}  {value}\n"))?;
            }
            Ok(())
        }
    }
}

pub(crate) fn sweep(args: &SweepArgs, terminal: Terminal) -> Result<()> {
    let file = read(&args.file)?;
    let designs = file.designs().map_err(|e| refused(&args.file, &e))?;
    let costs = costs(args.costs.as_ref())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.map_or(0, usize::from)).build()?;
    let bar = (!terminal.quiet).then(|| indicatif::ProgressBar::new(designs.len() as u64));
    let last = AtomicU64::new(0);
    let done = |finished: usize| {
        if let Some(bar) = &bar {
            // Threads report out of order, but the bar must not go back.
            let most = last.fetch_max(finished as u64, Ordering::Relaxed).max(finished as u64);
            bar.set_position(most);
        }
    };
    let rows = pool.install(|| run_sweep(&designs, &costs, &args.out, &done))?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    match terminal.format {
        Output::Json => line(&json!({ "runs": rows.len(), "out": args.out.display().to_string() })),
        Output::Text => text(&format!("{} runs in {}\n", rows.len(), args.out.join("results.csv").display())),
    }
}

//! Speed of the hardware models: simulated cycles per second, timing only, and the time to reproduce everything that
//! the papers publish.

use std::time::Instant;

use anyhow::ensure;
use evergrove_lab::cost::Costs;
use evergrove_lab::cpu::Baseline;
use evergrove_lab::mtu::{self, Traversal, Workload};
use evergrove_lab::reproduce::{Item, reproduce};
use evergrove_lab::{msm, poseidon};
use serde::Serialize;

use crate::turns::print_json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the leaves of the tree unit's workloads.
    #[arg(long, default_value_t = 26, value_parser = clap::value_parser!(u32).range(10..=28))]
    log_size: u32,
    /// log2 of the rows of the Poseidon engine's tree.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(8..=24))]
    log_rows: u32,
    /// Runs of the tree unit; the least time counts, since others only add what else the machine does.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Required cycles per second of the tree unit with 8 PEs.
const CYCLES_PER_SECOND: f64 = 20e6;
/// Largest allowed time of the Poseidon engine for 2^24 rows of 136 columns, in seconds.
const ENGINE_SECONDS: f64 = 60.0;
/// Largest allowed time of all items together, in seconds.
const ALL_SECONDS: f64 = 300.0;

/// One line of results.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    /// The simulated design.
    design: String,
    /// Cycles, or lines of a reproduction.
    size: u64,
    threads: usize,
    seconds: f64,
    ns_per_element: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcycles_per_second: Option<f64>,
    /// Largest allowed seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    most_seconds: Option<f64>,
}

impl Row {
    fn new(kernel: &'static str, design: String, cycles: u64, seconds: f64) -> Self {
        Self {
            kernel,
            r#impl: "evergrove",
            design,
            size: cycles,
            threads: 1,
            seconds,
            ns_per_element: seconds * 1e9 / cycles as f64,
            mcycles_per_second: Some(cycles as f64 / seconds / 1e6),
            most_seconds: None,
        }
    }
    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let Self { kernel, design, size, threads, seconds, .. } = self;
        let rate = self.mcycles_per_second.map_or(String::new(), |r| format!(", {r:.1} M cycles/s"));
        let most = self.most_seconds.map_or(String::new(), |s| format!(", at most {s:.2} s are asked for"));
        println!("{kernel:14} {design:34} {size:>11}, {threads} threads: {seconds:.3} s{rate}{most}");
        Ok(())
    }
}

fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    let result = run()?;
    Ok((result, start.elapsed().as_secs_f64()))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    for traversal in [Traversal::Hybrid, Traversal::BreadthFirst, Traversal::DepthFirst] {
        for workload in Workload::ALL {
            // Memory that never waits: every cycle has work, so no cycle is skipped.
            let params = mtu::Params {
                workload,
                traversal,
                log_size: args.log_size,
                bandwidth_gb_s: 100_000,
                ..mtu::Params::default()
            };
            let (mut best, mut cycles) = (f64::INFINITY, 0);
            for _ in 0..args.repeat {
                let (report, seconds) = timed(|| mtu::run(&params))?;
                (best, cycles) = (best.min(seconds), report.cycles);
            }
            let mut row = Row::new("lab-mtu", format!("{} {}, 8 PEs", traversal.name(), workload.name()), cycles, best);
            row.most_seconds = (traversal == Traversal::Hybrid).then(|| cycles as f64 / CYCLES_PER_SECOND);
            row.print(args.json)?;
        }
    }
    let engine = poseidon::Params { log_rows: args.log_rows, ..poseidon::Params::default() };
    let (report, seconds) = timed(|| poseidon::run(&engine))?;
    let design = format!("{} columns, 2^{} rows", engine.columns, args.log_rows);
    let mut row = Row::new("lab-poseidon", design, report.cycles, seconds);
    row.most_seconds = (args.log_rows == 24).then_some(ENGINE_SECONDS);
    row.print(args.json)?;
    for pes in [1, 20] {
        let params = msm::Params { parallel_windows: pes, chiplets: pes.div_ceil(10), ..msm::Params::default() };
        let (report, seconds) = timed(|| msm::run(&params))?;
        Row::new("lab-msm", format!("{pes} PEs, honest, 2^16 points"), report.cycles, seconds).print(args.json)?;
    }
    all(args)
}

/// Runs what `evergrove lab reproduce all` runs, including its measurement of the CPU.
fn all(args: &Args) -> anyhow::Result<()> {
    let (costs, cores) = (Costs::published(), std::thread::available_parallelism().map_or(1, usize::from));
    let start = Instant::now();
    let cpu = Baseline::measure(20, cores, || start.elapsed().as_secs_f64())?;
    let mut lines = 0;
    for item in Item::ALL {
        lines += reproduce(item, &costs, Some(&cpu))?.lines.len() as u64;
    }
    ensure!(lines > 0, "nothing is reproduced");
    let mut row = Row::new("lab-reproduce", "all".to_owned(), lines, start.elapsed().as_secs_f64());
    (row.threads, row.mcycles_per_second, row.most_seconds) = (cores, None, Some(ALL_SECONDS));
    row.print(args.json)
}

//! Times of this CPU for the figures that compare with one.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use evergrove_lab::cpu::{Baseline, Code, Measured, Workbench};
use evergrove_lab::mtu::Workload;

/// Runs of which the least time counts: others only add what else the machine does.
const RUNS: u32 = 3;

/// Times all workloads with one and two threads.
pub(super) fn measure(log_size: u32) -> Result<Baseline> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pools: Vec<rayon::ThreadPool> = (1..=cores.min(2))
        .map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build())
        .collect::<Result<_, _>>()?;
    let mut bench = Workbench::new(log_size);
    let mut rows = Vec::new();
    for workload in Workload::FIGURES {
        for code in [Code::Kernels, Code::Textbook] {
            let mut best = [f64::INFINITY; 2];
            for _ in 0..RUNS {
                for (best, pool) in best.iter_mut().zip(&pools) {
                    let start = Instant::now();
                    black_box(pool.install(|| bench.run(workload, code)));
                    *best = best.min(start.elapsed().as_secs_f64());
                }
            }
            let [one, two] = best;
            rows.push(Measured { workload, code, one, two: two.is_finite().then_some(two) });
        }
    }
    let conditions = format!(
        "CPU: 2^{log_size} leaves on this machine ({cores} cores), least of {RUNS} runs with one and two threads; more by Amdahl's law. Other work on the machine makes it slower."
    );
    Ok(Baseline { log_size, conditions, rows })
}

//! `stack-opening` commits to a stack of columns and opens it, as in a proof of a circuit of tables.
//!
//! The stack is that of a table of permutations. `seconds` is the total, and `commit_seconds` is the part of the
//! commitment.

use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use evergrove_multilinear::whir::{self, Oracles};
use evergrove_multilinear::writer::Writer;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_verifier::argument::{JOHNSON_128, Round, Schedule, UNIQUE_100, tags};
use evergrove_verifier::tables::{Layout, Table, Tables, bits, query};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::turns::{median_by, print_json};

/// Runs; the median is reported.
const RUNS: usize = 9;

#[derive(Clone, Copy, ValueEnum)]
enum Rounds {
    /// 100 bits by unique decoding, over the extension of degree two.
    #[value(name = "unique-100")]
    Unique,
    /// 128 bits up to the Johnson bound, over the extension of degree three.
    #[value(name = "johnson-128")]
    Johnson,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Blocks of 512 rows of 128 columns. 35 are as many elements as the design counts for a merge over the extension of degree two.
    #[arg(long, default_value_t = 35, value_parser = clap::value_parser!(u32).range(1..=4096))]
    blocks: u32,
    /// Folds, rates and queries.
    #[arg(long, value_enum, default_value = "unique-100")]
    rounds: Rounds,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    size: usize,
    threads: u32,
    seconds: f64,
    ns_per_element: f64,
    commit_seconds: f64,
    proof_bytes: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    match args.rounds {
        Rounds::Unique => measure::<Quadratic>(args, &UNIQUE_100),
        Rounds::Johnson => measure::<Cubic>(args, &JOHNSON_128),
    }
}

fn measure<K: Extension>(args: &Args, rounds: &[Round]) -> anyhow::Result<()> {
    let tables = Tables::<K>::new(query::Parameters { bits: 1, variables: 1 }, bits::Parameters::new(vec![], vec![]));
    let mut blocks = [0; Table::ALL.len()];
    blocks[Table::Permutation as usize] = args.blocks as usize;
    let layout = Layout::new(&tables, blocks);
    let stack = layout.committed();
    let schedule = Schedule::new(rounds, stack.elements());
    let mut rng = ChaCha8Rng::seed_from_u64(18);
    let mut base = || Goldilocks::reduce(rng.next_u64());
    let elements: Vec<Goldilocks> = (0..stack.elements()).map(|_| base()).collect();
    let mut element =
        || K::from_coefficients(&(0..K::DEGREE).map(|_| base()).collect::<Vec<_>>()).context("coefficients");
    let point = (0..layout.row_variables()).map(|_| element()).collect::<anyhow::Result<Vec<K>>>()?;
    let eta = element()?;
    let oracles = Oracles::new(&schedule);
    let mut runs = Vec::with_capacity(RUNS);
    let mut proof_bytes = 0;
    for _ in 0..RUNS {
        let mut writer = Writer::new(tags::TRANSCRIPT);
        let start = Instant::now();
        let commitment = whir::commit(&oracles, stack, &elements);
        let commitment = commitment.send(&mut writer);
        let committed = start.elapsed().as_secs_f64();
        let sums = commitment.sums(&point);
        commitment.open(|table| layout.shape(table), &point, eta, sums, &mut writer);
        runs.push((start.elapsed().as_secs_f64(), committed));
        proof_bytes = size_of::<Goldilocks>() * writer.finish().len();
    }
    let (seconds, commit_seconds) = median_by(runs, |run| run.0).context("a run")?;
    let size = stack.elements();
    let ns_per_element = seconds * 1e9 / size as f64;
    let Args { threads, json, .. } = *args;
    let row = Row {
        kernel: "stack-opening",
        r#impl: "evergrove",
        size,
        threads,
        seconds,
        ns_per_element,
        commit_seconds,
        proof_bytes,
    };
    if json {
        return print_json(&row);
    }
    println!(
        "stack-opening {size} elements, {threads} threads: {seconds:.4} s, {commit_seconds:.4} s of it the commitment, {proof_bytes} bytes"
    );
    Ok(())
}

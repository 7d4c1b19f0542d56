//! `evergrove-bench keccak-stark` proves the table of Keccak permutations with our prover and with starky's.

use std::time::Instant;

use anyhow::Context;
use evergrove_plonky2::circuit::F;
use evergrove_plonky2::stark::keccak::{Block, KeccakAir, Permutations, ROUNDS};
use evergrove_plonky2::stark::{StarkProver, starky_proof, verify};
use plonky2::field::types::Field;
use plonky2::fri::FriConfig;
use plonky2::fri::reduction_strategies::FriReductionStrategy;
use plonky2::hash::hash_types::HashOut;
use starky::config::StarkConfig;

use crate::turns::{self, Row};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the table's rows, 24 to a permutation.
    #[arg(long, default_value_t = 11)]
    log_size: u32,
    /// Queries.
    #[arg(long, default_value_t = 28)]
    queries: usize,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Proofs by each prover, of which the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Leave out starky's prover.
    #[arg(long)]
    alone: bool,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build()?;
    pool.install(|| measure(args))
}

fn measure(args: &Args) -> anyhow::Result<()> {
    let fri_config = FriConfig {
        rate_bits: 3,
        cap_height: 4,
        proof_of_work_bits: 16,
        reduction_strategy: FriReductionStrategy::ConstantArityBits(4, 5),
        num_query_rounds: args.queries,
    };
    let config = StarkConfig::new(1, 2, fri_config);
    let permutations = (1 << args.log_size) / ROUNDS;
    let blocks = (0..permutations).map(|i| Block::of(&(i as u64).to_le_bytes())).collect::<Option<_>>();
    let table =
        Permutations::new(blocks.context("short messages")?, args.log_size).context("a table of permutations")?;
    let records = table.records();
    let binding = HashOut { elements: [F::ONE; 4] };
    let prover = StarkProver::<KeccakAir>::new(&config, args.log_size)?;
    let names = ["evergrove", "starky"];
    let seconds = turns::medians(if args.alone { 1 } else { 2 }, args.runs, |k| {
        let start = Instant::now();
        let proof = match k {
            0 => prover.prove_bound(&table, &[], binding)?,
            _ => starky_proof::<KeccakAir>(&config, &table, binding)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        verify::<KeccakAir>(&config, args.log_size as usize, &proof, binding, &records)?;
        Ok((seconds, (proof.proof.trace_cap, proof.proof.quotient_polys_cap)))
    })?;
    for (name, s) in names.into_iter().zip(&seconds) {
        let row = Row {
            kernel: "keccak-stark",
            r#impl: name.into(),
            size: permutations,
            columns: None,
            threads: args.threads as u32,
            seconds: *s,
            ns_per_element: s * 1e9 / permutations as f64,
            mperm_per_second: None,
            ratio: (name != "evergrove").then(|| s / seconds[0]),
        };
        row.print(args.json, &format!("{:.2} ms a permutation", s * 1e3 / permutations as f64))?;
    }
    Ok(())
}

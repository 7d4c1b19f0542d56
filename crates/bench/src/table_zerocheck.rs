//! `table-zerocheck`: the zerocheck of a table of Poseidon permutations, on every instruction set of this CPU.
//!
//! A run combines the constraints by random weights, makes the linear part and proves. The columns are there before, and challenges
//! are drawn by their number alone: a transcript's permutations are counted elsewhere.

use std::time::Instant;

use anyhow::ensure;
use clap::ValueEnum;
use evergrove_kernels::sumcheck::{ProverTranscript, Transcript};
use evergrove_multilinear::poseidon::{COLUMNS, Combined, SBOXES, trace};
use evergrove_multilinear::zerocheck::{End, PowerSum, Shape, prove_on};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::lanes::{Isa, available};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::merkle::parse_isa;
use crate::turns::{Row, medians};

/// Runs of each instruction set.
const RUNS: usize = 9;

#[derive(Clone, Copy, ValueEnum)]
enum Degree {
    /// Challenges from the extension of degree two.
    #[value(name = "2")]
    Two,
    /// Challenges from the extension of degree three.
    #[value(name = "3")]
    Three,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rows, a multiple of 512. The default is what the design counts for a merge in the extension of degree two.
    #[arg(long, default_value_t = 13_824)]
    rows: usize,
    /// The degree of the extension.
    #[arg(long, value_enum, default_value = "2")]
    degree: Degree,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// On this instruction set alone: portable, avx2, avx512, avx512ifma.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Challenges by their number alone.
struct Scripted(ChaCha8Rng);

impl<K: Extension> Transcript<K> for Scripted {
    fn public_bytes(&mut self, _bytes: &[u8]) {}
    fn public(&mut self, _elements: &[K]) {}
    fn challenge(&mut self) -> K {
        element(&mut self.0)
    }
}

impl<K: Extension> ProverTranscript<K> for Scripted {
    fn send(&mut self, _message: &[K]) {}
}

fn element<K: Extension>(rng: &mut ChaCha8Rng) -> K {
    let coefficients: Vec<Goldilocks> = (0..K::DEGREE).map(|_| Goldilocks::reduce(rng.next_u64())).collect();
    K::from_coefficients(&coefficients).expect("as many as the degree")
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    match args.degree {
        Degree::Two => measure::<Quadratic>(args),
        Degree::Three => measure::<Cubic>(args),
    }
}

fn measure<K: Extension>(args: &Args) -> anyhow::Result<()> {
    let shape = Shape::new(args.rows)?;
    let mut rng = ChaCha8Rng::seed_from_u64(18);
    let states: Vec<[Goldilocks; WIDTH]> =
        (0..args.rows).map(|_| std::array::from_fn(|_| Goldilocks::reduce(rng.next_u64()))).collect();
    let mut columns = vec![vec![Goldilocks::ZERO; args.rows]; COLUMNS];
    trace(&states, &mut columns.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    let columns: Vec<&[Goldilocks]> = columns.iter().map(Vec::as_slice).collect();
    let weights: Vec<K> = (0..COLUMNS - WIDTH).map(|_| element(&mut rng)).collect();
    let w: Vec<K> = (0..shape.variables()).map(|_| element(&mut rng)).collect();
    let prove = |isa: Isa| {
        let combined = Combined::new(&weights);
        let linear = combined.linear_on(isa, &columns);
        let sum = PowerSum {
            columns: &columns[..SBOXES],
            shifts: &combined.shifts,
            weights: &combined.sboxes,
            linear: &linear,
        };
        prove_on(isa, shape, &sum, &w, K::ZERO, &mut Scripted(ChaCha8Rng::seed_from_u64(1)))
    };
    let isas: Vec<Isa> = match args.isa {
        Some(isa) => vec![isa],
        // The best one first.
        None => available().collect::<Vec<_>>().into_iter().rev().collect(),
    };
    ensure!(!isas.is_empty(), "an instruction set");
    let seconds = medians(isas.len(), RUNS, |k| {
        rayon::scope(|_| {
            let start = Instant::now();
            let end: End<K> = prove(isas[k]);
            Ok((start.elapsed().as_secs_f64(), end))
        })
    })?;
    for (k, isa) in isas.iter().enumerate() {
        let row = Row {
            kernel: "table-zerocheck",
            r#impl: if k == 0 && args.isa.is_none() { "evergrove".into() } else { format!("evergrove-{isa}") },
            size: args.rows,
            columns: Some(COLUMNS),
            threads: args.threads,
            seconds: seconds[k],
            ns_per_element: seconds[k] * 1e9 / args.rows as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds[k] / seconds[0]),
        };
        row.print(args.json, &format!("degree {}", K::DEGREE))?;
    }
    Ok(())
}

//! `ntt` computes the low-degree extension of columns on a coset, with our code, Plonky2 and Plonky3.

use std::time::Instant;

use evergrove_kernels::ntt::columns::{Order, gather_on, scatter_on};
use evergrove_kernels::ntt::{Lde, ZERO_ROW, groups};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{Isa, LANES};
use p3_dft::Radix2DFTSmallBatch;
use plonky2::field::fft::fft_root_table;
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::polynomial::PolynomialCoeffs;
use plonky2::field::types::{Field, PrimeField64};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::merkle::parse_isa;
use crate::p3::{Extension, From};
use crate::turns::{Row, medians};

/// Runs of each implementation.
const RUNS: usize = 5;
/// The number of values to compare.
const SAMPLES: usize = 1 << 12;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Coefficients of a column, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=24))]
    log_size: u32,
    /// Columns.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4096))]
    columns: u32,
    /// Values per coefficient, as a power of two.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=6))]
    rate_bits: u32,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Extends the columns. Returns the seconds and some of the values.
type Run<'a> = Box<dyn FnMut() -> anyhow::Result<(f64, Vec<Goldilocks>)> + Send + 'a>;

/// Coefficients of columns, and the places (column, row) where values are compared.
struct Input {
    columns: Vec<Vec<Goldilocks>>,
    rate_bits: u32,
    samples: Vec<(usize, usize)>,
}

impl Input {
    fn size(&self) -> usize {
        self.columns[0].len()
    }

    fn lde(&self, isa: Isa) -> anyhow::Result<Lde> {
        Ok(Lde::on(isa, self.size().ilog2(), self.rate_bits, Goldilocks::GENERATOR)?)
    }

    /// Extends groups of interleaved columns into the same layout, in the order of a Merkle tree's leaves, as a
    /// commitment needs them.
    fn ours(&self, isa: Isa) -> anyhow::Result<Run<'_>> {
        let lde = self.lde(isa)?;
        let groups = groups(self.columns.len());
        let mut coefficients = vec![ZERO_ROW; groups * lde.size()];
        gather_on(isa, &self.columns, Order::Natural, &mut coefficients)?;
        let mut values = vec![ZERO_ROW; groups * lde.extended_size()];
        Ok(Box::new(move || {
            let start = Instant::now();
            lde.extend(&coefficients, &mut values)?;
            let seconds = start.elapsed().as_secs_f64();
            let n = lde.extended_size();
            let at = |row: usize| if n == 1 { 0 } else { row.reverse_bits() >> (usize::BITS - n.ilog2()) };
            let sample = |(column, row): &(usize, usize)| values[column / LANES * n + at(*row)][column % LANES];
            Ok((seconds, self.samples.iter().map(sample).collect()))
        }))
    }

    /// Extends columns into columns in natural order, as Plonky2 does.
    fn by_columns(&self, isa: Isa) -> anyhow::Result<Run<'_>> {
        let lde = self.lde(isa)?;
        let groups = groups(self.columns.len());
        let mut coefficients = vec![ZERO_ROW; groups * lde.size()];
        let mut values = vec![ZERO_ROW; groups * lde.extended_size()];
        let mut columns = vec![vec![Goldilocks::ZERO; lde.extended_size()]; self.columns.len()];
        Ok(Box::new(move || {
            let start = Instant::now();
            gather_on(isa, &self.columns, Order::Natural, &mut coefficients)?;
            lde.extend(&coefficients, &mut values)?;
            scatter_on(isa, &values, Order::BitReversed, &mut columns)?;
            let seconds = start.elapsed().as_secs_f64();
            Ok((seconds, self.samples.iter().map(|(column, row)| columns[*column][*row]).collect()))
        }))
    }

    /// Plonky2's `lde` and `coset_fft`, with a precomputed table of roots.
    fn plonky2(&self) -> Run<'_> {
        let element = |x: &Goldilocks| GoldilocksField::from_canonical_u64(x.as_u64());
        let polynomial = |c: &Vec<Goldilocks>| PolynomialCoeffs::new(c.iter().map(element).collect());
        let polynomials: Vec<_> = self.columns.iter().map(polynomial).collect();
        let rate_bits = self.rate_bits as usize;
        let roots = fft_root_table(self.size() << rate_bits);
        Box::new(move || {
            let start = Instant::now();
            let extend = |p: &PolynomialCoeffs<GoldilocksField>| {
                p.lde(rate_bits).coset_fft_with_options(GoldilocksField::coset_shift(), Some(rate_bits), Some(&roots))
            };
            let values: Vec<_> = polynomials.par_iter().map(extend).collect();
            let seconds = start.elapsed().as_secs_f64();
            let sample = |(c, r): &(usize, usize)| Goldilocks::reduce(values[*c].values[*r].to_canonical_u64());
            Ok((seconds, self.samples.iter().map(sample).collect()))
        })
    }

    /// Plonky3's transform for few columns, with precomputed tables of roots: from coefficients, like the others, and
    /// from values.
    ///
    /// Its `Radix2DitParallel` is slower for eight columns on one thread.
    fn plonky3(&self) -> anyhow::Result<[(&'static str, Run<'_>); 2]> {
        let run = |from| -> anyhow::Result<Run<'_>> {
            let extension = Extension::new(Radix2DFTSmallBatch::default(), from, &self.columns, self.rate_bits)?;
            Ok(Box::new(move || Ok(extension.run(&self.samples))))
        };
        Ok([("p3-small-batch", run(From::Coefficients)?), ("p3-small-batch-lde", run(From::Values)?)])
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let (n, count) = (1usize << args.log_size, args.columns as usize);
    let mut column = || (0..n).map(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))).collect();
    let columns: Vec<Vec<Goldilocks>> = (0..count).map(|_| column()).collect();
    let values = n << args.rate_bits;
    let samples = (0..SAMPLES).map(|_| (rng.gen_range(0..count), rng.gen_range(0..values))).collect();
    let input = Input { columns, rate_bits: args.rate_bits, samples };

    let isa = args.isa.unwrap_or_else(Isa::detect);
    let name = args.isa.map_or("evergrove".to_owned(), |isa| format!("evergrove-{isa}"));
    let by_columns = format!("{name}-columns");
    let mut runs =
        vec![(name, input.ours(isa)?), ("plonky2".to_owned(), input.plonky2()), (by_columns, input.by_columns(isa)?)];
    for (name, run) in input.plonky3()? {
        runs.push((name.to_owned(), run));
    }
    let medians = medians(runs.len(), RUNS, |k| rayon::scope(|_| runs[k].1()))?;
    let elements = (values * count) as f64;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let row = Row {
            kernel: "ntt",
            r#impl: name,
            size: n,
            columns: Some(count),
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / elements,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{:.2} GB/s of values", 8.0 * elements / seconds / 1e9))?;
    }
    Ok(())
}

//! `commit-matrix` computes the low-degree extension and the Merkle tree of a matrix of values, with our code and with
//! Plonky2's `PolynomialBatch`.

use std::sync::Arc;
use std::time::Instant;

use evergrove_kernels::oracle::{Domain, Keep, Workspace};
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::field::fft::fft_root_table;
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::polynomial::PolynomialValues;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::fri::oracle::PolynomialBatch;
use plonky2::plonk::config::PoseidonGoldilocksConfig;
use plonky2::util::timing::TimingTree;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::merkle::parse_isa;
use crate::turns::{Row, medians};

/// Runs of each implementation. Plonky2 takes many seconds.
const RUNS: usize = 3;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rows, as a power of two.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=22))]
    log_size: u32,
    /// Columns.
    #[arg(long, default_value_t = 136, value_parser = clap::value_parser!(u32).range(1..=4096))]
    columns: u32,
    /// Values per coefficient, as a power of two.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=6))]
    rate_bits: u32,
    /// log2 of the digests of the cap.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=22))]
    cap_height: u32,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Makes the commitment. Returns the seconds and the cap.
type Run<'a> = Box<dyn FnMut() -> anyhow::Result<(f64, Vec<Digest>)> + Send + 'a>;

fn ours<'a>(args: &Args, keep: Keep, columns: &'a [Vec<Goldilocks>]) -> anyhow::Result<Run<'a>> {
    let isa = args.isa.unwrap_or_else(Isa::detect);
    let domain = Arc::new(Domain::on(isa, args.log_size, args.rate_bits)?);
    let mut workspace = Some(Workspace::new(domain, columns.len(), args.cap_height, keep)?);
    Ok(Box::new(move || {
        let buffers = workspace.take().expect("given back by the run before");
        let start = Instant::now();
        let oracle = buffers.commit_values(columns)?;
        let seconds = start.elapsed().as_secs_f64();
        let cap = oracle.cap().to_vec();
        workspace = Some(oracle.into_workspace());
        Ok((seconds, cap))
    }))
}

/// Plonky2 takes its values by value; copying them is not counted. Its table of roots is precomputed.
fn plonky2<'a>(args: &Args, columns: &'a [Vec<Goldilocks>]) -> Run<'a> {
    let (rate_bits, cap_height) = (args.rate_bits as usize, args.cap_height as usize);
    let roots = fft_root_table(columns[0].len() << rate_bits);
    Box::new(move || {
        let element = |x: &Goldilocks| GoldilocksField::from_canonical_u64(x.as_u64());
        let values = columns.iter().map(|c| PolynomialValues::new(c.iter().map(element).collect())).collect();
        let start = Instant::now();
        let batch = PolynomialBatch::<GoldilocksField, PoseidonGoldilocksConfig, 2>::from_values(
            values,
            rate_bits,
            false,
            cap_height,
            &mut TimingTree::default(),
            Some(&roots),
        );
        let seconds = start.elapsed().as_secs_f64();
        let digest =
            |elements: [GoldilocksField; 4]| Digest(elements.map(|x| Goldilocks::reduce(x.to_canonical_u64())));
        Ok((seconds, batch.merkle_tree.cap.0.iter().map(|h| digest(h.elements)).collect()))
    })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let mut rng = ChaCha8Rng::seed_from_u64(136);
    let (n, count) = (1usize << args.log_size, args.columns as usize);
    let mut column = || (0..n).map(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))).collect();
    let columns: Vec<Vec<Goldilocks>> = (0..count).map(|_| column()).collect();

    let name = args.isa.map_or("evergrove".to_owned(), |isa| format!("evergrove-{isa}"));
    let kept = format!("{name}-values-kept");
    let mut runs = vec![
        (name, ours(args, Keep::Coefficients, &columns)?),
        ("plonky2".to_owned(), plonky2(args, &columns)),
        (kept, ours(args, Keep::Values, &columns)?),
    ];
    let medians = medians(runs.len(), RUNS, |k| rayon::scope(|_| runs[k].1()))?;
    let per_leaf = if count <= 4 { 0 } else { count.div_ceil(8) };
    let rows = n << args.rate_bits;
    let permutations = (rows * (per_leaf + 1) - (1 << args.cap_height)) as f64;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let mperm_per_second = permutations / seconds / 1e6;
        let row = Row {
            kernel: "commit-matrix",
            r#impl: name,
            size: n,
            columns: Some(count),
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / (rows * count) as f64,
            mperm_per_second: Some(mperm_per_second),
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{mperm_per_second:.3} Mperm/s and the transforms"))?;
    }
    Ok(())
}

//! `mle-eval`, `build-mle`, `product-mle` and `multiplication-tree`: multilinear extensions over the scalar field of
//! BLS12-381, compared with ark-poly and the textbook algorithms (HyperPlonk's).

use std::hint::black_box;
use std::time::Instant;

use anyhow::ensure;
use ark_bls12_381::Fr;
use ark_ff::{AdditiveGroup, Field, UniformRand};
use ark_poly::{DenseMultilinearExtension, Polynomial};
use clap::ValueEnum;
use evergrove_kernels::multilinear::mle::{
    eq_table_on, evaluate_on, evaluate_scratch, product_on, product_table_on, reference,
};
use evergrove_primitives::lanes::{Isa, available};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::turns::{Row, medians};

/// Runs of each implementation.
const RUNS: usize = 11;

#[derive(Clone, clap::Args)]
pub(crate) struct Args {
    /// Values of the table, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=27))]
    log_size: u32,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Ours on this instruction set alone, beside the peers; else on the best one, and on portable and avx2 as well.
    #[arg(long)]
    isa: Option<IsaName>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// The instruction sets by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsaName {
    Portable,
    Avx2,
    Avx512,
    Avx512ifma,
}

impl From<IsaName> for Isa {
    fn from(name: IsaName) -> Self {
        match name {
            IsaName::Portable => Self::Portable,
            IsaName::Avx2 => Self::Avx2,
            IsaName::Avx512 => Self::Avx512,
            IsaName::Avx512ifma => Self::Avx512Ifma,
        }
    }
}

/// A computation on tables of field elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// The value of a multilinear extension at a point.
    Evaluate,
    /// The table of eq, into the caller's buffer.
    Build,
    /// The product MLE: all levels of the product tree, into the caller's buffer.
    ProductTable,
    /// The product of all values.
    Product,
}

impl Kernel {
    fn name(self) -> &'static str {
        match self {
            Self::Evaluate => "mle-eval",
            Self::Build => "build-mle",
            Self::ProductTable => "product-mle",
            Self::Product => "multiplication-tree",
        }
    }
}

/// The input of a computation.
struct Input {
    values: Vec<Fr>,
    point: Vec<Fr>,
}

impl Input {
    fn random(log_size: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(255);
        let mut random = |n: usize| (0..n).map(|_| Fr::rand(&mut rng)).collect();
        Self { values: random(1 << log_size), point: random(log_size as usize) }
    }
}

/// Mixes a table into one element, so that results can be compared cheaply.
fn summary(table: &[Fr]) -> Fr {
    table.iter().rev().fold(Fr::ZERO, |sum, x| sum.double() + x)
}

/// Runs a computation. Returns the seconds and a summary of the results.
type Run<'a> = Box<dyn FnMut() -> anyhow::Result<(f64, Fr)> + Send + 'a>;

fn timed<R>(compute: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = black_box(compute());
    (start.elapsed().as_secs_f64(), result)
}

fn ours(kernel: Kernel, isa: Isa, input: &Input) -> Run<'_> {
    let (values, point) = (&input.values[..], &input.point[..]);
    match kernel {
        Kernel::Evaluate => {
            let mut scratch = vec![Fr::ZERO; evaluate_scratch(point.len())];
            Box::new(move || {
                let (seconds, value) = timed(|| evaluate_on(isa, values, point, &mut scratch));
                Ok((seconds, value?))
            })
        }
        Kernel::Product => Box::new(move || Ok(timed(|| product_on(isa, values)))),
        Kernel::Build | Kernel::ProductTable => {
            let mut table = vec![Fr::ONE; values.len()];
            Box::new(move || {
                let (seconds, done) = timed(|| match kernel {
                    Kernel::Build => eq_table_on(isa, point, &mut table),
                    _ => product_table_on(isa, values, &mut table),
                });
                done?;
                Ok((seconds, summary(&table)))
            })
        }
    }
}

fn textbook(kernel: Kernel, input: &Input) -> Run<'_> {
    let (values, point) = (&input.values[..], &input.point[..]);
    Box::new(move || match kernel {
        Kernel::Evaluate => Ok(timed(|| reference::evaluate(values, point))),
        Kernel::Product => Ok(timed(|| reference::product(values))),
        Kernel::Build | Kernel::ProductTable => {
            let (seconds, table) = timed(|| match kernel {
                Kernel::Build => reference::eq_table(point),
                _ => reference::product_table(values),
            });
            Ok((seconds, summary(&table)))
        }
    })
}

/// ark-poly has an evaluation only. For products, the product of an iterator in arkworks is the textbook algorithm.
fn ark(kernel: Kernel, input: &Input) -> Option<Run<'_>> {
    (kernel == Kernel::Evaluate).then(|| {
        let extension = DenseMultilinearExtension::from_evaluations_slice(input.point.len(), &input.values);
        Box::new(move || Ok(timed(|| extension.evaluate(&input.point)))) as Run<'_>
    })
}

pub(crate) fn run(kernel: Kernel, args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let first = args.isa.map_or_else(Isa::detect, Isa::from);
    ensure!(first.is_available(), "this CPU lacks {first}: its best is {}", Isa::detect());
    let input = Input::random(args.log_size);
    let name = if first == Isa::detect() { "evergrove".to_owned() } else { format!("evergrove-{first}") };
    let mut runs = vec![(name, ours(kernel, first, &input))];
    runs.extend(ark(kernel, &input).map(|run| ("ark".to_owned(), run)));
    runs.push(("reference".to_owned(), textbook(kernel, &input)));
    if args.isa.is_none() {
        for isa in available().filter(|isa| [Isa::Portable, Isa::Avx2].contains(isa) && *isa != first) {
            runs.push((format!("evergrove-{isa}"), ours(kernel, isa, &input)));
        }
    }
    let medians = medians(runs.len(), RUNS, |k| rayon::scope(|_| runs[k].1()))?;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let size = input.values.len();
        let row = Row {
            kernel: kernel.name(),
            r#impl: name,
            size,
            columns: None,
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / size as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{:.1} M elements/s", size as f64 / seconds / 1e6))?;
    }
    Ok(())
}

//! The CPU study of the MTU paper (section 6.1, Fig. 4): four workloads with three traversals, by number of threads.

use std::fmt::Debug;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::ensure;
use ark_bls12_381::Fr;
use ark_ff::UniformRand;
use evergrove_kernels::merkle::Keccak;
use evergrove_kernels::tree::count::Traffic;
use evergrove_kernels::tree::ops::{
    BuildMle, Combine, EvaluateMle, Expand, Merkle, NodeOp, Product, expand_on, reduce_levels_on, reduce_on,
};
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree};
use evergrove_primitives::hash::keccak::Function;
use evergrove_primitives::lanes::{Isa, LANES};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::reckle::table::Table;
use crate::turns::{Row, medians};
use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};

/// Bytes of a node: a field element of 255 bits, or a digest.
const NODE_BYTES: u64 = 32;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the figures and the table go.
    #[arg(long, value_name = "DIR", default_value = "target/figures/mtu")]
    out: PathBuf,
    /// log2 of the leaves.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(6..=26))]
    log_size: u32,
    /// Threads to measure with, ascending, from 1.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<u32>,
    /// Threads to compute by Amdahl's law through the least and the most that were measured.
    #[arg(long, value_delimiter = ',', default_value = "4,8,16,32")]
    modelled: Vec<u32>,
    /// Runs; the median counts.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// One JSON object per line, beside the files.
    #[arg(long)]
    json: bool,
}

/// The traversals, ours first.
fn schedules(log_size: u32, threads: u32) -> [Schedule; 3] {
    // As in the paper, every thread has one static subtree; here every lane of every thread has one.
    let subtrees = LANES.ilog2() + threads.next_power_of_two().ilog2();
    let subtree = log_size.saturating_sub(subtrees).max(1);
    [Schedule::hybrid_for(log_size), Schedule::DepthFirst { subtree }, Schedule::BreadthFirst { chunk: 8 }]
}

/// Runs a plan of a workload. Returns the seconds, and a result that must be the same for all plans.
type Run<'a> = Box<dyn FnMut() -> anyhow::Result<(f64, String)> + Send + 'a>;

fn timed<R: Debug>(compute: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<(f64, String)> {
    let start = Instant::now();
    let result = black_box(compute()?);
    Ok((start.elapsed().as_secs_f64(), format!("{result:?}")))
}

fn reducing<'a, O: Combine + Send + 'a>(isa: Isa, op: O, plan: Plan, leaves: &'a [O::Node]) -> Run<'a> {
    let mut scratch = vec![leaves[0]; plan.scratch()];
    Box::new(move || timed(|| Ok(reduce_on(isa, &op, &plan, leaves, &mut scratch)?)))
}

fn all_levels<'a, O: Combine + Send + 'a>(isa: Isa, op: O, plan: Plan, leaves: &'a [O::Node]) -> Run<'a> {
    let mut nodes = vec![leaves[0]; plan.leaves() - 1];
    Box::new(move || {
        timed(|| {
            reduce_levels_on(isa, &op, &plan, leaves, &mut nodes)?;
            Ok(nodes[nodes.len() - 1])
        })
    })
}

fn expanding<'a, O: Expand + Send + 'a>(isa: Isa, op: O, plan: Plan) -> Run<'a> {
    let mut scratch = vec![op.root(); plan.scratch()];
    let mut leaves = vec![op.root(); plan.leaves()];
    Box::new(move || {
        timed(|| {
            expand_on(isa, &op, &plan, &mut scratch, &mut leaves)?;
            Ok(leaves[leaves.len() / 3])
        })
    })
}

/// The workloads of the paper's Fig. 4.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Workload {
    BuildMle,
    MleEvaluation,
    ProductMle,
    MerkleTree,
}

impl Workload {
    const ALL: [Self; 4] = [Self::BuildMle, Self::MleEvaluation, Self::ProductMle, Self::MerkleTree];

    /// The name in rows and files.
    fn name(self) -> &'static str {
        match self {
            Self::BuildMle => "mtu-build-mle",
            Self::MleEvaluation => "mtu-mle-eval",
            Self::ProductMle => "mtu-product-mle",
            Self::MerkleTree => "mtu-merkle-sha3",
        }
    }
    fn title(self) -> &'static str {
        match self {
            Self::BuildMle => "Build MLE",
            Self::MleEvaluation => "MLE evaluation",
            Self::ProductMle => "Product MLE",
            Self::MerkleTree => "Merkle tree, SHA3-256",
        }
    }
    fn tree(self) -> Tree {
        match self {
            Self::BuildMle => Tree::Expand,
            Self::MleEvaluation | Self::MerkleTree => Tree::Reduce,
            Self::ProductMle => Tree::ReduceLevels,
        }
    }
    fn run<'a>(self, isa: Isa, plan: Plan, input: &'a Input) -> Run<'a> {
        match self {
            Self::BuildMle => expanding(isa, BuildMle::new(&input.point), plan),
            Self::MleEvaluation => reducing(isa, EvaluateMle::new(&input.point), plan, &input.values),
            Self::ProductMle => all_levels(isa, Product::new(), plan, &input.values),
            Self::MerkleTree => reducing(isa, MERKLE, plan, &input.digests),
        }
    }
}

const MERKLE: Merkle<Keccak> = Merkle(Keccak(Function::Sha3_256));

/// The input of the workloads.
struct Input {
    values: Vec<Fr>,
    point: Vec<Fr>,
    digests: Vec<<Merkle<Keccak> as NodeOp>::Node>,
}

impl Input {
    fn random(log_size: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let values = (0..1 << log_size).map(|_| Fr::rand(&mut rng)).collect();
        let point = (0..log_size).map(|_| Fr::rand(&mut rng)).collect();
        Self { values, point, digests: (0..1 << log_size).map(|_| rng.r#gen()).collect() }
    }
}

/// The seconds of each schedule, ours first, on `threads` threads.
fn measure(workload: Workload, isa: Isa, threads: u32, args: &Args, input: &Input) -> anyhow::Result<Vec<f64>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build()?;
    let schedules = schedules(args.log_size, threads);
    let mut runs = schedules
        .iter()
        .map(|schedule| Ok(workload.run(isa, Plan::new(workload.tree(), args.log_size, *schedule)?, input)))
        .collect::<anyhow::Result<Vec<Run<'_>>>>()?;
    medians(runs.len(), args.repeat as usize, |k| pool.install(|| runs[k]()))
}

/// The seconds on `threads` threads by Amdahl's law, through two measured points (threads, seconds).
fn amdahl(threads: f64, few: (f64, f64), many: (f64, f64)) -> f64 {
    // seconds = serial + parallel / threads, where neither part is negative.
    let parallel = ((few.1 - many.1) / (1.0 / few.0 - 1.0 / many.0)).clamp(0.0, few.0 * few.1);
    let serial = few.1 - parallel / few.0;
    serial + parallel / threads
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let ascend = |threads: &[u32]| threads.windows(2).all(|w| w[0] < w[1]);
    ensure!(args.threads.first() == Some(&1) && ascend(&args.threads), "--threads ascend from 1");
    ensure!(
        args.modelled.is_empty() || (args.threads.len() > 1 && ascend(&args.modelled)),
        "--modelled ascend, and need two measured numbers of threads"
    );
    ensure!(args.modelled.first() > args.threads.last() || args.modelled.is_empty(), "--modelled exceed --threads");
    let input = Input::random(args.log_size);
    let size = 1 << args.log_size;
    let mut rows = vec![];
    for workload in Workload::ALL {
        let names = schedules(args.log_size, 1).map(|s| s.name());
        let mut points = vec![vec![]; names.len()];
        for threads in &args.threads {
            let seconds = measure(workload, Isa::detect(), *threads, args, &input)?;
            // Without vectors, traversals run at the speed of a scalar processor. Hashes always choose their own
            // instruction set.
            let portable = match workload {
                Workload::MerkleTree => None,
                _ => Some(measure(workload, Isa::Portable, *threads, args, &input)?),
            };
            for (k, name) in names.iter().enumerate() {
                let schedule = schedules(args.log_size, *threads)[k];
                let traffic = Traffic::of(&Plan::new(workload.tree(), args.log_size, schedule)?);
                points[k].push((f64::from(*threads), seconds[k]));
                Row {
                    kernel: workload.name(),
                    r#impl: if k == 0 { "evergrove".to_owned() } else { format!("evergrove-{name}") },
                    size,
                    columns: None,
                    threads: *threads,
                    seconds: seconds[k],
                    ns_per_element: seconds[k] * 1e9 / size as f64,
                    mperm_per_second: None,
                    ratio: (k > 0).then(|| seconds[k] / seconds[0]),
                }
                .print(args.json, name)?;
                rows.push(vec![
                    workload.title().to_owned(),
                    (*name).to_owned(),
                    threads.to_string(),
                    format!("{:.2}", seconds[k] * 1e3),
                    format!("{:.2}", seconds[k] / seconds[0]),
                    portable.as_ref().map_or("-".into(), |s| format!("{:.2}", s[k] * 1e3)),
                    portable.as_ref().map_or("-".into(), |s| format!("{:.2}", s[k] / s[0])),
                    format!("{:.1}", (traffic.words() * NODE_BYTES) as f64 / f64::from(1 << 20)),
                    traffic.local_peak.to_string(),
                ]);
            }
        }
        for path in draw(workload, &names, &points, args)? {
            eprintln!("wrote {}", path.display());
        }
    }
    let about = format!(
        "Four workloads of 2^{} leaves by three traversals: medians of {} runs on {} and in portable code, which take turns; \
         the ratio is to the hybrid traversal. MiB and nodes are exact counts of the schedule.",
        args.log_size,
        args.repeat,
        Isa::detect()
    );
    let head = vec![
        "workload",
        "traversal",
        "threads",
        "ms",
        "ratio",
        "portable ms",
        "portable ratio",
        "MiB through memory",
        "nodes kept by a task",
    ];
    eprintln!("wrote {}", Table { about, head, rows }.write(&args.out, "mtu")?.display());
    Ok(())
}

fn draw(workload: Workload, names: &[&str], points: &[Vec<(f64, f64)>], args: &Args) -> anyhow::Result<[PathBuf; 3]> {
    let series = names.iter().zip(points).map(|(name, measured)| {
        let point = |(x, y): (f64, f64), origin| Point { x, y: y * 1e3, origin };
        let (first, last) = (measured[0], measured[measured.len() - 1]);
        let modelled = args.modelled.iter().map(|threads| {
            let threads = f64::from(*threads);
            point((threads, amdahl(threads, first, last)), Origin::Extrapolated)
        });
        let measured = measured.iter().map(|p| point(*p, Origin::Measured));
        Series { name: (*name).to_owned(), points: measured.chain(modelled).collect() }
    });
    let files = Figure {
        title: format!("{}, 2^{} leaves; hatched: Amdahl's law, not measured", workload.title(), args.log_size),
        x: Axis { label: "threads".into(), column: "threads", scale: Scale::Log2 },
        y: Axis { label: "milliseconds".into(), column: "milliseconds", scale: Scale::Log10 },
        series: series.collect(),
    }
    .write(&args.out, workload.name())?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{Input, Workload, amdahl, schedules};
    use evergrove_kernels::tree::schedule::Plan;
    use evergrove_primitives::lanes::Isa;

    #[test]
    fn the_law_goes_through_both_points() {
        for (few, many) in [((1.0, 8.0), (2.0, 5.0)), ((1.0, 8.0), (2.0, 4.0)), ((2.0, 3.0), (8.0, 1.5))] {
            assert!((amdahl(few.0, few, many) - few.1).abs() < 1e-12);
            assert!((amdahl(many.0, few, many) - many.1).abs() < 1e-12);
        }
        assert!((amdahl(1e9, (1.0, 8.0), (2.0, 5.0)) - 2.0).abs() < 1e-6);
        // Slower on two threads: no speed-up. More than twice as fast: no negative serial part.
        assert_eq!(amdahl(32.0, (1.0, 4.0), (2.0, 5.0)), 4.0);
        assert_eq!(amdahl(4.0, (1.0, 8.0), (2.0, 1.0)), 2.0);
    }

    #[test]
    fn traversals_agree() {
        let input = Input::random(9);
        for workload in Workload::ALL {
            let results: Vec<String> = [1, 2, 5]
                .into_iter()
                .flat_map(|threads| schedules(9, threads))
                .flat_map(|schedule| [Isa::Portable, Isa::detect()].map(|isa| (schedule, isa)))
                .map(|(schedule, isa)| {
                    let plan = Plan::new(workload.tree(), 9, schedule).unwrap();
                    workload.run(isa, plan, &input)().unwrap().1
                })
                .collect();
            assert!(results.iter().all(|r| *r == results[0]), "{results:?}");
        }
    }
}

//! Fig. 11 of the Reckle trees paper: our scheme compared with all others, on a vector of 2^27 slots and batches of 2^2
//! to 2^12.

mod buckets;
pub(super) mod table;

use std::path::{Path, PathBuf};

use anyhow::ensure;
use evergrove_verifier::{Profile, Scheme};

use crate::published::{Published, Quantity};
use crate::reckle::{Compared, Comparison, SchemeArg, World, ours};
use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the figures and tables go.
    #[arg(long, value_name = "DIR", default_value = "target/figures/reckle")]
    out: PathBuf,
    /// log2 of the number of slots.
    #[arg(long, default_value_t = 27)]
    log_size: u8,
    /// log2 of the number of filled slots, at random positions.
    #[arg(long, default_value_t = 20)]
    fill_log: u8,
    /// log2 of the sizes of the batches, ascending.
    #[arg(long, value_delimiter = ',', default_value = "2,4,6,8,10,12")]
    batch_logs: Vec<u8>,
    /// Profile of all schemes.
    #[arg(long, default_value_t = Profile::Paper)]
    profile: Profile,
    /// `all`, or some of `evergrove`, `reckle-paper`, `tree-of-proofs`, `monolithic`; ours is always among them.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", default_value = "all")]
    schemes: Vec<SchemeArg>,
    /// log2 of the largest batch that `reckle-paper` and `tree-of-proofs` really prove.
    #[arg(long, default_value_t = 2)]
    measured_log: u8,
    /// Updates; the median counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Threads, all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// One JSON object per line, beside the files.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let ascend = args.batch_logs.windows(2).all(|w| w[0] < w[1]);
    let Some(largest) = args.batch_logs.last().filter(|_| ascend) else {
        anyhow::bail!("--batch-logs ascend, and there is one at least");
    };
    ensure!(args.measured_log <= *largest, "--measured-log is at most the largest batch");
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let repeat = args.repeat as usize;
    let world = World::build(args.profile, args.log_size, args.fill_log, *largest)?;
    let names = SchemeArg::names(&args.schemes);
    let ours = ours(None, args.profile, &world, repeat)?;
    let (block_height, proven) = (Scheme::BLOCK_HEIGHT, 1 << args.measured_log);
    let mut comparison = Comparison::load(&names, args.profile, &world, ours, block_height, proven, repeat)?;
    comparison.footprints(args.profile, args.log_size, *largest, threads)?;
    let mut all: Vec<Vec<Compared>> = vec![];
    for log in &args.batch_logs {
        let compared = comparison.run(&world.members[..1 << log])?;
        for c in &compared {
            c.print(args.profile, &world, threads, args.json)?;
        }
        all.push(compared);
    }
    let published = if args.log_size == 27 { Some(Published::reckle()?) } else { None };
    for path in draw(&args.out, args, &all, published.as_ref(), threads)? {
        eprintln!("wrote {}", path.display());
    }
    let largest = all.last().map_or(&[][..], Vec::as_slice);
    let table = table::one_update(largest, args.profile, threads, published.as_ref());
    eprintln!("wrote {}", table.write(&args.out, "one-update")?.display());
    if let Some(costs) = buckets::Costs::of(&comparison, &all, args.profile, args.log_size)? {
        eprintln!("wrote {}", costs.table().write(&args.out, "bucket-size")?.display());
    }
    Ok(())
}

/// Draws the three figures.
fn draw(
    out: &Path,
    args: &Args,
    all: &[Vec<Compared>],
    published: Option<&Published>,
    threads: usize,
) -> anyhow::Result<Vec<PathBuf>> {
    let kinds = [
        ("fig-11a", "Aggregate", Quantity::Aggregate),
        ("fig-11b", "Verify", Quantity::Verify),
        ("fig-11c", "Update one leaf", Quantity::Update),
    ];
    let mut written = vec![];
    for (file, title, quantity) in kinds {
        let mut series: Vec<Series> = vec![];
        for compared in all.iter().flatten() {
            let point = point(compared, quantity);
            match series.iter_mut().find(|s| s.name == compared.name) {
                Some(series) => series.points.push(point),
                None => series.push(Series { name: compared.name.to_owned(), points: vec![point] }),
            }
        }
        series.extend(published.map_or(vec![], |p| p.series(quantity)));
        let figure = Figure {
            title: format!("{title}: 2^{} slots, profile {}, {threads} threads", args.log_size, args.profile),
            x: Axis { label: "members of the batch".to_owned(), column: "batch", scale: Scale::Log2 },
            y: Axis { label: "seconds".to_owned(), column: "seconds", scale: Scale::Log10 },
            series,
        };
        written.extend(figure.write(out, file)?);
    }
    Ok(written)
}

/// A point counts as measured if all of its proofs were made for this batch.
fn point(compared: &Compared, quantity: Quantity) -> Point {
    let timing = match quantity {
        Quantity::Aggregate => compared.aggregate,
        Quantity::Update => compared.update,
        Quantity::Verify => compared.verify,
    };
    let own = !timing.extrapolated && timing.measured_batch == compared.batch;
    let origin = if own { Origin::Measured } else { Origin::Extrapolated };
    Point { x: compared.batch as f64, y: timing.seconds, origin }
}

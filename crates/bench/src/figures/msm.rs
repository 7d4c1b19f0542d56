//! Multi-scalar multiplication by size, on one thread, compared with peers on three curves.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use ark_ec::short_weierstrass::Affine;
use evergrove_primitives::lanes::Isa;
use serde::{Deserialize, Serialize};

use super::reckle::table::Table;
use crate::msm::input::{Input, Progression, Scalars};
use crate::msm::peers::{Measured, Run, ark, bytes, ours};
use crate::msm::streamed;
use crate::turns::{Row, medians};
use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the figures and the table go, and what was measured for them: a run that was stopped goes on from there.
    #[arg(long, value_name = "DIR", default_value = "target/figures/msm")]
    out: PathBuf,
    /// log2 of the numbers of points, ascending.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "10,11,12,13,14,15,16,17,18,19,20,21,22,23,24",
        value_parser = clap::value_parser!(u32).range(0..=26)
    )]
    log_sizes: Vec<u32>,
    /// log2 of the most points that peers multiply.
    #[arg(long, default_value_t = 20)]
    peers_log: u32,
    /// log2 of the most points that are held in memory; more are read from a file.
    #[arg(long, default_value_t = 22)]
    memory_log: u32,
    /// Memory for points of a file, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 768)]
    memory: usize,
    /// Turns of each implementation up to 2^20 points; more have one.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// One JSON object per line, beside the files.
    #[arg(long)]
    json: bool,
}

/// The times of one size of one curve: a line of the file from which a stopped run resumes.
#[derive(Serialize, Deserialize)]
struct Record {
    kernel: String,
    isa: String,
    log_size: u32,
    /// Implementations and their seconds, ours first.
    seconds: Vec<(String, f64)>,
}

/// The seconds of one implementation at each size.
struct Line {
    name: String,
    seconds: Vec<(u32, f64)>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(!args.log_sizes.is_empty() && args.log_sizes.is_sorted_by(|a, b| a < b), "--log-sizes ascend");
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    std::fs::create_dir_all(&args.out)?;
    let mut rows = Vec::new();
    curve::<ark_bls12_377::g1::Config>("BLS12-377", args, &mut rows)?;
    curve::<ark_bls12_381::g1::Config>("BLS12-381", args, &mut rows)?;
    curve::<ark_bn254::g1::Config>("BN254", args, &mut rows)?;
    let about = format!(
        "Sums of random scalars times different points of G1 on one thread ({}): medians of {} runs up to 2^20 points, single \
         runs above; implementations take turns. More than 2^{} points are read from a file meanwhile.",
        Isa::detect(),
        args.runs,
        args.memory_log
    );
    let head = vec!["curve", "points", "ms", "ns a point", "ark-ec", "other peer"];
    eprintln!("wrote {}", Table { about, head, rows }.write(&args.out, "msm")?.display());
    Ok(())
}

/// Measures one curve, prints its rows and draws its figure.
fn curve<C: Measured>(title: &str, args: &Args, table: &mut Vec<Vec<String>>) -> anyhow::Result<()> {
    let isa = Isa::detect();
    let path = args.out.join("measured.jsonl");
    let known = if path.exists() { std::fs::read_to_string(&path)? } else { String::new() };
    let known: Vec<Record> = known.lines().map(serde_json::from_str).collect::<Result<_, _>>().with_context(|| {
        format!("{} has a line that this program did not write: remove the file to measure anew", path.display())
    })?;
    let is_known =
        |log: u32| known.iter().find(|r| r.kernel == C::KERNEL && r.isa == isa.to_string() && r.log_size == log);
    let held = args.log_sizes.iter().filter(|&&log| log <= args.memory_log && is_known(log).is_none()).max();
    let (points, scalars) = match held {
        Some(log) => (Progression::<C>::new().points(0, 1 << log), Scalars::Random.take::<C>(1 << log)),
        None => Default::default(),
    };
    let mut lines: Vec<Line> = vec![];
    for &log in &args.log_sizes {
        let size = 1usize << log;
        let seconds = match is_known(log) {
            Some(record) => record.seconds.clone(),
            None => {
                let seconds = measure::<C>(args, log, &points, &scalars)?;
                let record = Record {
                    kernel: C::KERNEL.to_owned(),
                    isa: isa.to_string(),
                    log_size: log,
                    seconds: seconds.clone(),
                };
                let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
                writeln!(file, "{}", serde_json::to_string(&record)?)?;
                seconds
            }
        };
        let ratio = |k: usize| seconds.get(k).map(|(_, s)| s / seconds[0].1);
        for (k, (name, seconds)) in seconds.iter().enumerate() {
            match lines.iter_mut().find(|l| l.name == *name) {
                Some(line) => line.seconds.push((log, *seconds)),
                None => lines.push(Line { name: name.clone(), seconds: vec![(log, *seconds)] }),
            }
            Row {
                kernel: C::KERNEL,
                r#impl: name.clone(),
                size,
                columns: None,
                threads: 1,
                seconds: *seconds,
                ns_per_element: seconds * 1e9 / size as f64,
                mperm_per_second: None,
                ratio: ratio(k).filter(|_| k > 0),
            }
            .print(args.json, &format!("{:.2} M points/s", size as f64 / seconds / 1e6))?;
        }
        let times = |k| ratio(k).map_or("-".to_owned(), |r| format!("{r:.2} times ours"));
        table.push(vec![
            title.to_owned(),
            format!("2^{log}"),
            format!("{:.3}", seconds[0].1 * 1e3),
            format!("{:.0}", seconds[0].1 * 1e9 / size as f64),
            times(1),
            times(2),
        ]);
    }
    let series = lines.into_iter().map(|line| Series {
        name: line.name.to_owned(),
        points: line
            .seconds
            .into_iter()
            .map(|(log, s)| Point {
                x: f64::from(log).exp2(),
                y: s * 1e9 / f64::from(log).exp2(),
                origin: Origin::Measured,
            })
            .collect(),
    });
    let figure = Figure {
        title: format!("Multi-scalar multiplication over {title}, one thread"),
        x: Axis { label: "points".into(), column: "points", scale: Scale::Log2 },
        y: Axis { label: "nanoseconds a point".into(), column: "ns_per_point", scale: Scale::Log10 },
        series: series.collect(),
    };
    for path in figure.write(&args.out, C::KERNEL)? {
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// The seconds of every implementation for one size, ours first.
fn measure<C: Measured>(
    args: &Args,
    log: u32,
    points: &[Affine<C>],
    scalars: &[C::ScalarField],
) -> anyhow::Result<Vec<(String, f64)>> {
    let size = 1usize << log;
    if log > args.memory_log {
        return Ok(vec![("evergrove".to_owned(), streamed::<C>(&args.out, size, args.memory << 20)?)]);
    }
    let input = Input { points: &points[..size], scalars: &scalars[..size] };
    let (_, sum) = ours(Isa::detect(), input)();
    ensure!(sum == bytes(Progression::<C>::new().sum(input.scalars)), "our sum is not that of the progression");
    let mut runs: Vec<(&str, Run<'_>)> = vec![("evergrove", ours(Isa::detect(), input))];
    if log <= args.peers_log {
        runs.push(("ark", ark(input)));
        runs.extend(C::peers(input, true));
    }
    let turns = if log <= 20 { args.runs as usize } else { 1 };
    let seconds = medians(runs.len(), turns, |k| Ok(rayon::scope(|_| runs[k].1())))?;
    Ok(runs.iter().map(|(name, _)| (*name).to_owned()).zip(seconds).collect())
}

//! `msm-bls12-377`, `msm-bls12-381` and `msm-bn254` compare our multi-scalar multiplication with ark-ec, blst and
//! halo2curves.

mod edwards;
mod file;
pub(crate) mod input;
pub(crate) mod peers;
mod walk;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use evergrove_curves::{CheckedPoints, FixedBase, Plan, msm_with_on};
use evergrove_primitives::lanes::Isa;

use crate::merkle::parse_isa;
use crate::turns::{Row, medians};
use input::{Input, Progression, Scalars};
use peers::{Measured, Run, ark, bytes, ours, timed};

pub(crate) use file::once as streamed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Bls12_377,
    Bls12_381,
    Bn254,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Points, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=24))]
    log_size: u32,
    /// Points, in the place of a power of two.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    size: Option<u32>,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// The distribution of the scalars.
    #[arg(long, value_enum, default_value = "random")]
    scalars: Scalars,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Turns of each implementation.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Ours alone.
    #[arg(long)]
    alone: bool,
    /// Also ours by windows of these widths, from the lowest: `12x6,13x14`, for instance.
    #[arg(long, value_delimiter = ',', value_parser = parse_widths)]
    windows: Vec<(u32, usize)>,
    /// Also ours with multiples of the points in so many MiB, which are computed before.
    #[arg(long, value_name = "MIB", value_delimiter = ',')]
    fixed: Vec<usize>,
    /// Points of a file, read while they are multiplied, instead of points in memory.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["log_size", "size", "windows", "fixed", "write_points"])]
    points: Option<PathBuf>,
    /// Memory for points of a file, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 768)]
    memory: usize,
    /// Check the points of the file before they are multiplied.
    #[arg(long)]
    check: bool,
    /// Write a file of different points, and do nothing else.
    #[arg(long, value_name = "FILE")]
    write_points: Option<PathBuf>,
    /// The additions to buckets alone, affine ones beside those of the twisted Edwards form: BLS12-377 has one.
    #[arg(long, conflicts_with_all = ["points", "write_points", "size", "windows", "fixed"])]
    edwards: bool,
    /// 1, 2, 3, 4, 6, 8, 12, .. points up to the size beside ark-ec's, and where ours is the least ahead.
    #[arg(long, conflicts_with_all = ["points", "write_points", "windows", "fixed", "edwards", "alone"])]
    walk: bool,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// A width and the number of its windows: `12x6` or `12`.
fn parse_widths(text: &str) -> Result<(u32, usize), String> {
    let (width, count) = text.split_once('x').unwrap_or((text, "1"));
    let wrong = |e: std::num::ParseIntError| format!("{text}: {e}; 12x6 is six windows of 12 bits");
    Ok((width.parse().map_err(wrong)?, count.parse().map_err(wrong)?))
}

impl Args {
    fn isa(&self) -> anyhow::Result<Isa> {
        let isa = self.isa.unwrap_or_else(Isa::detect);
        ensure!(isa.is_available(), "this CPU lacks {isa}: its best is {}", Isa::detect());
        Ok(isa)
    }

    /// The name of our implementation in rows.
    fn ours(&self) -> String {
        self.isa.map_or("evergrove".to_owned(), |isa| format!("evergrove-{isa}"))
    }

    /// A row without its ratio.
    fn row(&self, kernel: &'static str, name: String, size: usize, seconds: f64) -> Row {
        Row {
            kernel,
            r#impl: name,
            size,
            columns: None,
            threads: self.threads,
            seconds,
            ns_per_element: seconds * 1e9 / size as f64,
            mperm_per_second: None,
            ratio: None,
        }
    }
}

fn rate(size: usize, seconds: f64) -> String {
    format!("{:.2} M points/s", size as f64 / seconds / 1e6)
}

fn measure<C: Measured>(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let isa = args.isa()?;
    let size = args.size.map_or(1 << args.log_size, |size| size as usize);
    if let Some(path) = &args.write_points {
        return file::write::<C>(path, size);
    }
    if let Some(path) = &args.points {
        return file::measure::<C>(path, args);
    }
    if args.walk {
        return walk::measure::<C>(args, size);
    }
    let progression = Progression::<C>::new();
    let (points, scalars) = (progression.points(0, size), args.scalars.take::<C>(size));
    let input = Input { points: &points, scalars: &scalars };
    let (_, sum) = ours(isa, input)();
    ensure!(sum == bytes(progression.sum(&scalars)), "our sum is not that of the progression");
    let mut runs: Vec<(String, Run<'_>)> = vec![(args.ours(), ours(isa, input))];
    if !args.windows.is_empty() {
        let widths: Vec<u32> = args.windows.iter().flat_map(|(width, count)| vec![*width; *count]).collect();
        let bits = widths.iter().sum::<u32>().checked_sub(1).context("--windows have no bits")?;
        ensure!(widths.iter().all(|w| (1..=24).contains(w)) && bits < 255, "--windows have 1 to 24 bits, 255 in all");
        let plan = Plan::of_widths(size, bits, &widths, args.threads as usize);
        let _ = msm_with_on(isa, &plan, CheckedPoints::trusted(&points), &scalars)?;
        let run: Run<'_> = Box::new(move || {
            let points = CheckedPoints::trusted(input.points);
            let (seconds, sum) = timed(|| msm_with_on(isa, &plan, points, input.scalars).expect("windows enough"));
            (seconds, bytes(sum))
        });
        runs.push((format!("{}-windows", args.ours()), run));
    }
    for mib in &args.fixed {
        let fixed = FixedBase::new_on(isa, CheckedPoints::trusted(&points), mib << 20)?;
        let run: Run<'_> = Box::new(move || {
            let (seconds, sum) = timed(|| fixed.msm_on(isa, input.scalars).expect("as many"));
            (seconds, bytes(sum))
        });
        runs.push((format!("{}-fixed-{mib}", args.ours()), run));
    }
    if !args.alone {
        runs.push(("ark".to_owned(), ark(input)));
        runs.extend(C::peers(input, args.threads == 1).into_iter().map(|(name, run)| (name.to_owned(), run)));
    }
    let medians = medians(runs.len(), args.runs as usize, |k| Ok(rayon::scope(|_| runs[k].1())))?;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let row = Row { ratio: (k > 0).then(|| seconds / medians[0]), ..args.row(C::KERNEL, name, size, *seconds) };
        row.print(args.json, &rate(size, *seconds))?;
    }
    Ok(())
}

pub(crate) fn run(name: Name, args: &Args) -> anyhow::Result<()> {
    ensure!(!args.edwards || name == Name::Bls12_377, "only BLS12-377 has a twisted Edwards form");
    match name {
        Name::Bls12_377 if args.edwards => edwards::measure(args),
        Name::Bls12_377 => measure::<ark_bls12_377::g1::Config>(args),
        Name::Bls12_381 => measure::<ark_bls12_381::g1::Config>(args),
        Name::Bn254 => measure::<ark_bn254::g1::Config>(args),
    }
}

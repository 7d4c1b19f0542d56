//! Sums of points from a file.

use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, ensure};
use ark_ec::VariableBaseMSM;
use ark_ec::short_weierstrass::Projective;
use ark_ff::AdditiveGroup;
use evergrove_curves::{Curve, PointFile, PointWriter, Progress, msm_stream_on};
use evergrove_primitives::lanes::Isa;
use serde::Serialize;

use super::input::{Progression, Scalars};
use super::peers::{Measured, bytes, timed};
use super::{Args, rate};
use crate::memory::{resident, start_peak};
use crate::turns::{Row, medians, print_json};

/// Points that are written, or that ark-ec multiplies, at a time.
const CHUNK: usize = 1 << 20;

/// A row with the peak memory of the process.
#[derive(Serialize)]
struct MemoryRow {
    #[serde(flatten)]
    row: Row,
    /// The peak since points and scalars were made.
    peak_rss_bytes: u64,
}

/// Writes a file of distinct points.
pub(crate) fn write<C: Curve>(path: &Path, size: usize) -> anyhow::Result<()> {
    let progression = Progression::<C>::new();
    let file = File::create(path).with_context(|| format!("making {}", path.display()))?;
    let mut writer = PointWriter::new(BufWriter::new(file), size as u64)?;
    for first in (0..size).step_by(CHUNK) {
        writer.write(&progression.points(first, CHUNK.min(size - first)))?;
    }
    writer.finish()?;
    eprintln!("wrote {size} points to {}", path.display());
    Ok(())
}

pub(crate) fn open<C: Curve>(path: &Path, check: bool) -> anyhow::Result<PointFile<File, C>> {
    let file = File::open(path).with_context(|| format!("opening {}: --write-points writes one", path.display()))?;
    let open = if check { PointFile::new } else { PointFile::trusted };
    open(file).with_context(|| path.display().to_string())
}

/// The sum of a file's points, with its seconds.
pub(crate) fn ours<C: Curve>(
    isa: Isa,
    file: PointFile<File, C>,
    scalars: &[C::ScalarField],
    memory: usize,
) -> anyhow::Result<(f64, Vec<u8>)> {
    let show = std::io::stderr().is_terminal();
    let tell = |Progress { done, points }| {
        if show {
            eprint!("\r{done} of {points} points{}", if done == points { "\n" } else { "" });
        }
        ControlFlow::Continue(())
    };
    let (seconds, sum) = timed(|| msm_stream_on(isa, file, scalars, memory, tell));
    Ok((seconds, bytes(sum?)))
}

/// The sums of chunks with ark-ec. The time includes reading the points.
fn ark<C: Curve>(mut file: PointFile<File, C>, scalars: &[C::ScalarField]) -> anyhow::Result<(f64, Vec<u8>)> {
    let (seconds, sum) = timed(|| -> anyhow::Result<_> {
        let (mut sum, mut points) = (Projective::<C>::ZERO, Vec::new());
        for scalars in scalars.chunks(CHUNK) {
            file.next(CHUNK, &mut points)?;
            sum += <Projective<C> as VariableBaseMSM>::msm_unchecked(&points, scalars);
        }
        Ok(sum)
    });
    Ok((seconds, bytes(sum?)))
}

/// Measures the sum of a file and prints its rows. The memory peak is that of our sum only with `--alone`; otherwise it
/// includes ark-ec.
pub(super) fn measure<C: Measured>(path: &Path, args: &Args) -> anyhow::Result<()> {
    let isa = args.isa()?;
    let size = usize::try_from(open::<C>(path, false)?.len())?;
    ensure!(size > 0, "{} has no points", path.display());
    let scalars = args.scalars.take::<C>(size);
    start_peak();
    let count = if args.alone { 1 } else { 2 };
    let medians = medians(count, args.runs as usize, |k| match k {
        0 => rayon::scope(|_| ours(isa, open::<C>(path, args.check)?, &scalars, args.memory << 20)),
        _ => rayon::scope(|_| ark(open::<C>(path, args.check)?, &scalars)),
    })?;
    for (k, (name, seconds)) in
        [format!("{}-stream", args.ours()), "ark".to_owned()].into_iter().zip(&medians).enumerate()
    {
        let row = Row { ratio: (k > 0).then(|| seconds / medians[0]), ..args.row(C::KERNEL, name, size, *seconds) };
        if args.json {
            print_json(&MemoryRow { row, peak_rss_bytes: resident().1 })?;
        } else {
            let mib = resident().1 >> 20;
            row.print(false, &format!("{}, {mib} MiB at the peak", rate(size, *seconds)))?;
        }
    }
    Ok(())
}

/// The seconds of one sum of a file of `size` points, which is written for it and then removed.
pub(crate) fn once<C: Measured>(dir: &Path, size: usize, memory: usize) -> anyhow::Result<f64> {
    let path = dir.join(format!("points-{}-{size}.bin", C::KERNEL));
    write::<C>(&path, size)?;
    let scalars = Scalars::Random.take::<C>(size);
    let run = || ours(Isa::detect(), open::<C>(&path, false)?, &scalars, memory);
    let result = run();
    std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
    let (seconds, sum) = result?;
    ensure!(sum == bytes(Progression::<C>::new().sum(&scalars)), "our sum is not that of the progression");
    Ok(seconds)
}

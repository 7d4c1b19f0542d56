//! Compares our sums with those of ark-ec over all orders of magnitude of points, and finds where our lead is the
//! smallest.

use anyhow::{Context, ensure};

use super::input::{Input, Progression};
use super::peers::{Measured, ark, bytes, ours};
use super::{Args, rate};
use crate::turns::{Row, median};

/// Time that both implementations together run for each size, unless [`TURNS`] ends it earlier.
const SECONDS: f64 = 0.4;
/// The maximum number of turns.
const TURNS: usize = 200;

/// The sizes 1, 2, 3, 4, 6, 8, 12, .. up to `most`.
fn sizes(most: usize) -> Vec<usize> {
    let powers = (0..usize::BITS).map(|log| 1usize << log);
    powers
        .flat_map(|n| [n, n + n / 2])
        .filter(|n| *n <= most)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// Measures both implementations for each size up to `most`. Prints their rows and the smallest ratio.
pub(super) fn measure<C: Measured>(args: &Args, most: usize) -> anyhow::Result<()> {
    let isa = args.isa()?;
    let progression = Progression::<C>::new();
    let (points, scalars) = (progression.points(0, most), args.scalars.take::<C>(most));
    let mut least = None;
    for size in sizes(most) {
        let input = Input { points: &points[..size], scalars: &scalars[..size] };
        let expected = bytes(progression.sum(input.scalars));
        let (mut ours, mut ark) = (ours(isa, input), ark(input));
        let mut seconds = [Vec::new(), Vec::new()];
        let mut spent = 0.0;
        // For few points, a first turn that is not counted loads code and memory.
        let first = usize::from(size < 1 << 16);
        for turn in 0.. {
            for (run, seconds) in [&mut ours, &mut ark].into_iter().zip(&mut seconds) {
                let (taken, sum) = rayon::scope(|_| run());
                ensure!(sum == expected, "a sum of {size} points is not that of the progression");
                if turn >= first {
                    seconds.push(taken);
                    spent += taken;
                }
            }
            let turns = seconds[0].len();
            if turns >= TURNS || spent > SECONDS && turns >= if size < 1 << 18 { args.runs as usize } else { 1 } {
                break;
            }
        }
        let [ours, ark] = seconds.map(median);
        let ratio = ark / ours;
        for (name, seconds, ratio) in [(args.ours(), ours, None), ("ark".to_owned(), ark, Some(ratio))] {
            Row { ratio, ..args.row(C::KERNEL, name, size, seconds) }.print(args.json, &rate(size, seconds))?;
        }
        if least.is_none_or(|(least, _)| ratio < least) {
            least = Some((ratio, size));
        }
    }
    let (ratio, size) = least.context("no sizes")?;
    eprintln!("{}: ark-ec takes at least {ratio:.2} times as long, which is at {size} points", C::KERNEL);
    ensure!(ratio >= 1.0, "ours is slower than ark-ec's at {size} points");
    Ok(())
}

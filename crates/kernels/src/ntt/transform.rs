//! The transforms: a pass of radix 2 to 16 over all rows, then passes of radix 16, depth first down to what fits the cache.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Factor, GoldilocksLanes, Loose};
use evergrove_primitives::lanes::{Isa, Kernel, Lanes, dispatch_on};
use rayon::prelude::*;

use super::butterfly::{evaluate, interpolate};
use super::twiddles::{Direction, Node, RADIX, Twiddles};
use super::{NttError, Row, check_rows};

/// Rows of a subtree that is transformed level by level: 256 KiB.
pub const CACHED: usize = 1 << 12;

/// Rows of each part that one task of a pass takes.
const PASS: usize = 1 << 8;

/// Evaluation on a coset: coefficients in natural order to values in bit-reversed order.
#[derive(Clone, Debug)]
pub struct Forward {
    isa: Isa,
    twiddles: Twiddles,
}

impl Forward {
    /// The transform of length 2^`log_size` on the coset `shift` H. Its tables take 2^`log_size` words.
    pub fn new(log_size: u32, shift: Goldilocks) -> Result<Self, NttError> {
        Self::on(Isa::detect(), log_size, shift)
    }

    /// [`Forward::new`] with another instruction set than the best, for tests and comparisons.
    ///
    /// # Panics
    /// When used on a CPU that lacks it.
    pub fn on(isa: Isa, log_size: u32, shift: Goldilocks) -> Result<Self, NttError> {
        Ok(Self { isa, twiddles: Twiddles::new(isa, log_size, shift, Direction::Forward)? })
    }

    /// log2 of the length.
    pub fn log_size(&self) -> u32 {
        self.twiddles.log_size
    }

    /// The values of eight polynomials. n/2 log2 n butterflies; above [`CACHED`] rows, four levels a pass over memory.
    pub fn transform(&self, coefficients: &[Row], values: &mut [Row]) -> Result<(), NttError> {
        check_rows("coefficients", coefficients, self.twiddles.len())?;
        check_rows("values", values, self.twiddles.len())?;
        self.run(Some(coefficients), values);
        Ok(())
    }

    /// [`Forward::transform`] in place.
    pub fn transform_in_place(&self, rows: &mut [Row]) -> Result<(), NttError> {
        check_rows("rows", rows, self.twiddles.len())?;
        self.run(None, rows);
        Ok(())
    }

    fn run(&self, from: Option<&[Row]>, rows: &mut [Row]) {
        let (isa, top) = (self.isa, &self.twiddles.top[..]);
        match top.len() {
            0 => {
                if let Some(from) = from {
                    rows.copy_from_slice(from);
                }
                return;
            }
            2 => forward_pass::<2>(isa, from, rows, top),
            4 => forward_pass::<4>(isa, from, rows, top),
            8 => forward_pass::<8>(isa, from, rows, top),
            _ => forward_pass::<RADIX>(isa, from, rows, top),
        }
        let part = rows.len() / top.len();
        rows.par_chunks_mut(part).enumerate().for_each(|(q, rows)| descend(isa, rows, &self.twiddles.levels, q));
    }
}

/// Interpolation on a coset: values in bit-reversed order to coefficients in natural order.
#[derive(Clone, Debug)]
pub struct Inverse {
    isa: Isa,
    twiddles: Twiddles,
}

impl Inverse {
    /// The inverse of [`Forward::new`] with the same arguments.
    pub fn new(log_size: u32, shift: Goldilocks) -> Result<Self, NttError> {
        Self::on(Isa::detect(), log_size, shift)
    }

    /// [`Inverse::new`] with another instruction set than the best, for tests and comparisons.
    ///
    /// # Panics
    /// When used on a CPU that lacks it.
    pub fn on(isa: Isa, log_size: u32, shift: Goldilocks) -> Result<Self, NttError> {
        Ok(Self { isa, twiddles: Twiddles::new(isa, log_size, shift, Direction::Inverse)? })
    }

    /// log2 of the length.
    pub fn log_size(&self) -> u32 {
        self.twiddles.log_size
    }

    /// The coefficients of eight polynomials from their values, in place.
    pub fn transform_in_place(&self, rows: &mut [Row]) -> Result<(), NttError> {
        check_rows("rows", rows, self.twiddles.len())?;
        let (isa, top) = (self.isa, &self.twiddles.top[..]);
        if top.is_empty() {
            return Ok(());
        }
        let part = rows.len() / top.len();
        rows.par_chunks_mut(part).enumerate().for_each(|(q, rows)| ascend(isa, rows, &self.twiddles.levels, q));
        match top.len() {
            2 => inverse_pass::<2>(isa, rows, top),
            4 => inverse_pass::<4>(isa, rows, top),
            8 => inverse_pass::<8>(isa, rows, top),
            _ => inverse_pass::<RADIX>(isa, rows, top),
        }
        Ok(())
    }
}

/// Node `q` of the first level and all below it.
fn descend(isa: Isa, rows: &mut [Row], levels: &[Vec<Node>], q: usize) {
    let Some((nodes, below)) = levels.split_first() else { return };
    if rows.len() <= CACHED {
        return dispatch_on(isa, Evaluate { rows, levels, q });
    }
    forward_pass::<RADIX>(isa, None, rows, &nodes[q]);
    let part = rows.len() / RADIX;
    rows.par_chunks_mut(part).enumerate().for_each(|(i, rows)| descend(isa, rows, below, RADIX * q + i));
}

/// All below node `q` of the first level, then the node.
fn ascend(isa: Isa, rows: &mut [Row], levels: &[Vec<Node>], q: usize) {
    let Some((nodes, below)) = levels.split_first() else { return };
    if rows.len() <= CACHED {
        return dispatch_on(isa, Interpolate { rows, levels, q });
    }
    let part = rows.len() / RADIX;
    rows.par_chunks_mut(part).enumerate().for_each(|(i, rows)| ascend(isa, rows, below, RADIX * q + i));
    inverse_pass::<RADIX>(isa, rows, &nodes[q]);
}

/// The N parts of `rows`, cut into tasks: task t has piece t of every part.
fn tasks<const N: usize>(rows: &mut [Row]) -> Vec<[&mut [Row]; N]> {
    let part = rows.len() / N;
    let mut parts = rows.chunks_exact_mut(part);
    let mut pieces: [_; N] = core::array::from_fn(|_| parts.next().expect("N parts").chunks_mut(PASS));
    (0..part.div_ceil(PASS)).map(|_| pieces.each_mut().map(|p| p.next().expect("a piece per task"))).collect()
}

/// One node with N children over all rows, read from `from` if there is one.
fn forward_pass<const N: usize>(isa: Isa, from: Option<&[Row]>, rows: &mut [Row], powers: &[Goldilocks]) {
    let part = rows.len() / N;
    let powers: &[Goldilocks; N] = powers.try_into().expect("a power per child");
    tasks::<N>(rows).into_par_iter().enumerate().for_each(|(t, to)| match from {
        Some(from) => {
            let from = core::array::from_fn(|i| &from[i * part + t * PASS..][..to[i].len()]);
            dispatch_on(isa, ForwardCopy { from, to, powers });
        }
        None => dispatch_on(isa, ForwardPass { rows: to, powers }),
    });
}

fn inverse_pass<const N: usize>(isa: Isa, rows: &mut [Row], powers: &[Goldilocks]) {
    let powers: &[Goldilocks; N] = powers.try_into().expect("a power per child");
    tasks::<N>(rows).into_par_iter().for_each(|rows| dispatch_on(isa, InversePass { rows, powers }));
}

#[inline(always)]
fn factors<L: Lanes, const N: usize>(f: GoldilocksLanes<L>, powers: &[Goldilocks; N]) -> [Factor<L::V>; N] {
    let mut out = [f.factor(f.splat(powers[0])); N];
    for (out, power) in out.iter_mut().zip(powers) {
        *out = f.factor(f.splat(*power));
    }
    out
}

/// N coefficients times the powers of u, evaluated. The power 0 is taken to be 1.
#[inline(always)]
fn forward_rows<L: Lanes, const N: usize>(
    f: GoldilocksLanes<L>,
    powers: &[Factor<L::V>; N],
    rows: [&Row; N],
) -> [Loose<L::V>; N] {
    let mut x = [Loose::from(f.load(rows[0])); N];
    for i in 1..N {
        x[i] = f.mul_by(f.load(rows[i]), powers[i]);
    }
    evaluate(f, &mut x);
    x
}

/// N values interpolated, times the powers. Without `SCALE` the power 0 is taken to be 1.
#[inline(always)]
fn inverse_rows<L: Lanes, const N: usize, const SCALE: bool>(
    f: GoldilocksLanes<L>,
    powers: &[Factor<L::V>; N],
    rows: [&Row; N],
) -> [Loose<L::V>; N] {
    let mut x = [Loose::from(f.load(rows[0])); N];
    for i in 1..N {
        x[i] = f.load(rows[i]).into();
    }
    interpolate(f, &mut x);
    for i in usize::from(!SCALE)..N {
        x[i] = f.mul_by(x[i], powers[i]);
    }
    x
}

struct ForwardCopy<'a, const N: usize> {
    from: [&'a [Row]; N],
    to: [&'a mut [Row]; N],
    powers: &'a [Goldilocks; N],
}

impl<const N: usize> Kernel for ForwardCopy<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { from, mut to, powers } = self;
        let powers = factors(f, powers);
        for j in 0..to[0].len() {
            let x = forward_rows(f, &powers, from.each_ref().map(|rows| &rows[j]));
            for (x, rows) in x.into_iter().zip(&mut to) {
                f.store(f.reduce(x), &mut rows[j]);
            }
        }
    }
}

struct ForwardPass<'a, const N: usize> {
    rows: [&'a mut [Row]; N],
    powers: &'a [Goldilocks; N],
}

impl<const N: usize> Kernel for ForwardPass<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { mut rows, powers } = self;
        let powers = factors(f, powers);
        for j in 0..rows[0].len() {
            let x = forward_rows(f, &powers, rows.each_ref().map(|rows| &rows[j]));
            for (x, rows) in x.into_iter().zip(&mut rows) {
                f.store(f.reduce(x), &mut rows[j]);
            }
        }
    }
}

struct InversePass<'a, const N: usize> {
    rows: [&'a mut [Row]; N],
    powers: &'a [Goldilocks; N],
}

impl<const N: usize> Kernel for InversePass<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { mut rows, powers } = self;
        let powers = factors(f, powers);
        for j in 0..rows[0].len() {
            let x = inverse_rows::<L, N, true>(f, &powers, rows.each_ref().map(|rows| &rows[j]));
            for (x, rows) in x.into_iter().zip(&mut rows) {
                f.store(f.reduce(x), &mut rows[j]);
            }
        }
    }
}

/// A subtree in the cache, level by level from the top.
struct Evaluate<'a> {
    rows: &'a mut [Row],
    levels: &'a [Vec<Node>],
    q: usize,
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let (mut size, mut first) = (self.rows.len(), self.q);
        for nodes in self.levels {
            for (rows, powers) in self.rows.chunks_exact_mut(size).zip(&nodes[first..]) {
                let powers = factors(f, powers);
                let part = rows.len() / RADIX;
                for j in 0..part {
                    let x = forward_rows(f, &powers, core::array::from_fn(|i| &rows[i * part + j]));
                    for (i, x) in x.into_iter().enumerate() {
                        f.store(f.reduce(x), &mut rows[i * part + j]);
                    }
                }
            }
            (size, first) = (size / RADIX, first * RADIX);
        }
    }
}

/// A subtree in the cache, level by level from the bottom.
struct Interpolate<'a> {
    rows: &'a mut [Row],
    levels: &'a [Vec<Node>],
    q: usize,
}

impl Kernel for Interpolate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for (depth, nodes) in self.levels.iter().enumerate().rev() {
            let size = self.rows.len() / RADIX.pow(depth as u32);
            let first = self.q * RADIX.pow(depth as u32);
            for (rows, powers) in self.rows.chunks_exact_mut(size).zip(&nodes[first..]) {
                let powers = factors(f, powers);
                let part = rows.len() / RADIX;
                for j in 0..part {
                    let rows_j = core::array::from_fn(|i| &rows[i * part + j]);
                    let x = inverse_rows::<L, RADIX, false>(f, &powers, rows_j);
                    for (i, x) in x.into_iter().enumerate() {
                        f.store(f.reduce(x), &mut rows[i * part + j]);
                    }
                }
            }
        }
    }
}

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
        children(rows, top.len(), |q, rows| descend(isa, rows, &self.twiddles.levels, q));
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
        children(rows, top.len(), |q, rows| ascend(isa, rows, &self.twiddles.levels, q));
        match top.len() {
            2 => inverse_pass::<2>(isa, rows, top),
            4 => inverse_pass::<4>(isa, rows, top),
            8 => inverse_pass::<8>(isa, rows, top),
            _ => inverse_pass::<RADIX>(isa, rows, top),
        }
        Ok(())
    }
}

/// `f` on each of `count` equal parts of `rows`: in parallel where they are worth it.
fn children(rows: &mut [Row], count: usize, f: impl Fn(usize, &mut [Row]) + Sync) {
    let part = rows.len() / count;
    match part {
        1 => {}
        _ if rows.len() <= CACHED => rows.chunks_mut(part).enumerate().for_each(|(i, rows)| f(i, rows)),
        _ => rows.par_chunks_mut(part).enumerate().for_each(|(i, rows)| f(i, rows)),
    }
}

/// Node `q` of the first level and all below it.
fn descend(isa: Isa, rows: &mut [Row], levels: &[Vec<Node>], q: usize) {
    let Some((nodes, below)) = levels.split_first() else { return };
    if rows.len() <= CACHED {
        return dispatch_on(isa, Evaluate { rows, levels, q });
    }
    forward_pass::<RADIX>(isa, None, rows, &nodes[q]);
    children(rows, RADIX, |i, rows| descend(isa, rows, below, RADIX * q + i));
}

/// All below node `q` of the first level, then the node.
fn ascend(isa: Isa, rows: &mut [Row], levels: &[Vec<Node>], q: usize) {
    let Some((nodes, below)) = levels.split_first() else { return };
    if rows.len() <= CACHED {
        return dispatch_on(isa, Interpolate { rows, levels, q });
    }
    children(rows, RADIX, |i, rows| ascend(isa, rows, below, RADIX * q + i));
    inverse_pass::<RADIX>(isa, rows, &nodes[q]);
}

/// Cuts the N parts of `rows` into tasks: task t has piece t of every part.
fn each_task<const N: usize>(rows: &mut [Row], f: impl Fn(usize, [&mut [Row]; N]) + Sync) {
    let part = rows.len() / N;
    let mut parts = rows.chunks_exact_mut(part);
    let mut pieces: [_; N] = core::array::from_fn(|_| parts.next().expect("N parts").chunks_mut(PASS));
    let tasks = (0..part.div_ceil(PASS)).map(|_| pieces.each_mut().map(|p| p.next().expect("a piece per task")));
    if part <= PASS {
        tasks.enumerate().for_each(|(t, task)| f(t, task));
    } else {
        tasks.collect::<Vec<_>>().into_par_iter().enumerate().for_each(|(t, task)| f(t, task));
    }
}

/// One node with N children over all rows, read from `from` if there is one.
fn forward_pass<const N: usize>(isa: Isa, from: Option<&[Row]>, rows: &mut [Row], powers: &[Goldilocks]) {
    let part = rows.len() / N;
    let powers: &[Goldilocks; N] = powers.try_into().expect("a power per child");
    each_task::<N>(rows, |t, to| match from {
        Some(from) => {
            let from = core::array::from_fn(|i| &from[i * part + t * PASS..][..to[i].len()]);
            dispatch_on(isa, ForwardCopy { from, to, powers });
        }
        None => dispatch_on(isa, ForwardPass { rows: to, powers }),
    });
}

fn inverse_pass<const N: usize>(isa: Isa, rows: &mut [Row], powers: &[Goldilocks]) {
    let powers: &[Goldilocks; N] = powers.try_into().expect("a power per child");
    each_task::<N>(rows, |_, rows| dispatch_on(isa, InversePass { rows, powers }));
}

#[inline(always)]
fn factors<L: Lanes, const N: usize>(f: GoldilocksLanes<L>, powers: &[Goldilocks; N]) -> [Factor<L::V>; N] {
    let mut out = [f.factor(f.splat(powers[0])); N];
    for (out, power) in out.iter_mut().zip(powers) {
        *out = f.factor(f.splat(*power));
    }
    out
}

/// N equally long parts of rows. Row (i, j) is row j of part i.
trait Parts {
    fn row(&self, i: usize, j: usize) -> &Row;
}

trait PartsMut: Parts {
    fn row_mut(&mut self, i: usize, j: usize) -> &mut Row;
}

/// Parts that lie apart.
impl<R: core::ops::Deref<Target = [Row]>, const N: usize> Parts for [R; N] {
    #[inline(always)]
    fn row(&self, i: usize, j: usize) -> &Row {
        &self[i][j]
    }
}

impl<const N: usize> PartsMut for [&mut [Row]; N] {
    #[inline(always)]
    fn row_mut(&mut self, i: usize, j: usize) -> &mut Row {
        &mut self[i][j]
    }
}

/// Parts one behind the other.
struct Adjacent<'a> {
    rows: &'a mut [Row],
    part: usize,
}

impl Parts for Adjacent<'_> {
    #[inline(always)]
    fn row(&self, i: usize, j: usize) -> &Row {
        &self.rows[i * self.part + j]
    }
}

impl PartsMut for Adjacent<'_> {
    #[inline(always)]
    fn row_mut(&mut self, i: usize, j: usize) -> &mut Row {
        &mut self.rows[i * self.part + j]
    }
}

/// Rows (0, j) to (N - 1, j), as vectors.
#[inline(always)]
fn load<L: Lanes, const N: usize>(f: GoldilocksLanes<L>, parts: &impl Parts, j: usize) -> [Loose<L::V>; N] {
    let mut x = [Loose::from(f.load(parts.row(0, j))); N];
    for (i, x) in x.iter_mut().enumerate().skip(1) {
        *x = f.load(parts.row(i, j)).into();
    }
    x
}

#[inline(always)]
fn store<L: Lanes, const N: usize>(f: GoldilocksLanes<L>, x: [Loose<L::V>; N], parts: &mut impl PartsMut, j: usize) {
    for (i, x) in x.into_iter().enumerate() {
        f.store(f.reduce(x), parts.row_mut(i, j));
    }
}

/// Vectors 1 to N - 1 times their powers.
#[inline(always)]
fn scale<L: Lanes, const N: usize>(f: GoldilocksLanes<L>, powers: &[Factor<L::V>; N], x: &mut [Loose<L::V>; N]) {
    // In parts short enough to be unrolled, which keeps the vectors in registers.
    scale_part(f, powers, x, 1, 4);
    scale_part(f, powers, x, 4, 8);
    scale_part(f, powers, x, 8, 12);
    scale_part(f, powers, x, 12, 16);
}

#[inline(always)]
fn scale_part<L: Lanes, const N: usize>(
    f: GoldilocksLanes<L>,
    powers: &[Factor<L::V>; N],
    x: &mut [Loose<L::V>; N],
    first: usize,
    end: usize,
) {
    for i in first..end.min(N) {
        x[i] = f.mul_by(x[i], powers[i]);
    }
}

/// N coefficients times the powers of u, evaluated. The power 0 is taken to be 1.
#[inline(always)]
fn evaluate_rows<L: Lanes, const N: usize>(
    f: GoldilocksLanes<L>,
    powers: &[Factor<L::V>; N],
    mut x: [Loose<L::V>; N],
) -> [Loose<L::V>; N] {
    scale(f, powers, &mut x);
    evaluate(f, &mut x);
    x
}

/// N values interpolated, times the powers. Without `SCALE` the power 0 is taken to be 1.
#[inline(always)]
fn interpolate_rows<L: Lanes, const N: usize, const SCALE: bool>(
    f: GoldilocksLanes<L>,
    powers: &[Factor<L::V>; N],
    mut x: [Loose<L::V>; N],
) -> [Loose<L::V>; N] {
    interpolate(f, &mut x);
    if SCALE {
        x[0] = f.mul_by(x[0], powers[0]);
    }
    scale(f, powers, &mut x);
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
            let x = evaluate_rows(f, &powers, load(f, &from, j));
            store(f, x, &mut to, j);
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
            let x = evaluate_rows(f, &powers, load(f, &rows, j));
            store(f, x, &mut rows, j);
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
            let x = interpolate_rows::<L, N, true>(f, &powers, load(f, &rows, j));
            store(f, x, &mut rows, j);
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
            let part = size / RADIX;
            for (rows, powers) in self.rows.chunks_exact_mut(size).zip(&nodes[first..]) {
                let powers = factors(f, powers);
                let mut rows = Adjacent { rows, part };
                for j in 0..part {
                    let x = evaluate_rows(f, &powers, load(f, &rows, j));
                    store(f, x, &mut rows, j);
                }
            }
            (size, first) = (part, first * RADIX);
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
            let (part, first) = (size / RADIX, self.q * RADIX.pow(depth as u32));
            for (rows, powers) in self.rows.chunks_exact_mut(size).zip(&nodes[first..]) {
                let powers = factors(f, powers);
                let mut rows = Adjacent { rows, part };
                for j in 0..part {
                    let x = interpolate_rows::<L, RADIX, false>(f, &powers, load(f, &rows, j));
                    store(f, x, &mut rows, j);
                }
            }
        }
    }
}

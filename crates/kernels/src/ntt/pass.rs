//! The loops of the transforms over rows, on any instruction set.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes};

use super::Row;
use super::butterfly::{evaluate, interpolate};
use super::field::{Elements, Field};
use super::twiddles::{Node, RADIX};

/// The body for each number below N <= 16. Not a loop: the compiler may not unroll it, and values indexed by a variable
/// lie in memory.
macro_rules! each_below {
    ($n:ident, $i:ident => $body:expr) => {
        each_below!(@ $n, $i => $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $n:ident, $i:ident => $body:expr; $($number:literal)*) => {
        $(if $number < $n {
            let $i = $number;
            $body;
        })*
    };
}

#[inline(always)]
fn factors<F: Field, const N: usize>(f: F, powers: &[Goldilocks; N]) -> [F::Factor; N] {
    let mut out = [f.factor(powers[0]); N];
    each_below!(N, i => out[i] = f.factor(powers[i]));
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

/// Parts one after the other.
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

/// The elements from `lane` on of rows (0, j) to (N - 1, j).
#[inline(always)]
fn load<F: Field, const N: usize>(f: F, parts: &impl Parts, j: usize, lane: usize) -> [F::Loose; N] {
    let mut x = [f.load(parts.row(0, j), lane); N];
    each_below!(N, i => x[i] = f.load(parts.row(i, j), lane));
    x
}

#[inline(always)]
fn store<F: Field, const N: usize>(f: F, x: [F::Loose; N], parts: &mut impl PartsMut, j: usize, lane: usize) {
    each_below!(N, i => f.store(x[i], parts.row_mut(i, j), lane));
}

/// Vectors 1 to N - 1 times their powers.
#[inline(always)]
fn scale<F: Field, const N: usize>(f: F, powers: &[F::Factor; N], x: &mut [F::Loose; N]) {
    each_below!(N, i => if i > 0 {
        x[i] = f.mul(x[i], powers[i]);
    });
}

/// N coefficients times the powers of u, evaluated. The power 0 is taken to be 1.
#[inline(always)]
fn evaluate_rows<F: Field, const N: usize>(f: F, powers: &[F::Factor; N], mut x: [F::Loose; N]) -> [F::Loose; N] {
    scale(f, powers, &mut x);
    evaluate(f, &mut x);
    x
}

/// N values interpolated, times the powers. Without `SCALE` the power 0 is taken to be 1.
#[inline(always)]
fn interpolate_rows<F: Field, const N: usize, const SCALE: bool>(
    f: F,
    powers: &[F::Factor; N],
    mut x: [F::Loose; N],
) -> [F::Loose; N] {
    interpolate(f, &mut x);
    if SCALE {
        x[0] = f.mul(x[0], powers[0]);
    }
    scale(f, powers, &mut x);
    x
}

/// A kernel over any [`Field`].
trait Run {
    fn run<F: Field>(self, f: F);
}

/// Runs a kernel on vectors, or element by element where there are no vectors.
pub(super) struct OnRows<T>(pub(super) T);

impl<T: Run> Kernel for OnRows<T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        if L::ISA == Isa::Portable { self.0.run(Elements) } else { self.0.run(GoldilocksLanes::new(lanes)) }
    }
}

pub(super) struct ForwardCopy<'a, const N: usize> {
    pub(super) from: [&'a [Row]; N],
    pub(super) to: [&'a mut [Row]; N],
    pub(super) powers: &'a [Goldilocks; N],
}

impl<const N: usize> Run for ForwardCopy<'_, N> {
    #[inline(always)]
    fn run<F: Field>(self, f: F) {
        let Self { from, mut to, powers } = self;
        let powers = factors(f, powers);
        for j in 0..to[0].len() {
            for lane in (0..LANES).step_by(F::WIDTH) {
                let x = evaluate_rows(f, &powers, load(f, &from, j, lane));
                store(f, x, &mut to, j, lane);
            }
        }
    }
}

pub(super) struct ForwardPass<'a, const N: usize> {
    pub(super) rows: [&'a mut [Row]; N],
    pub(super) powers: &'a [Goldilocks; N],
}

impl<const N: usize> Run for ForwardPass<'_, N> {
    #[inline(always)]
    fn run<F: Field>(self, f: F) {
        let Self { mut rows, powers } = self;
        let powers = factors(f, powers);
        for j in 0..rows[0].len() {
            for lane in (0..LANES).step_by(F::WIDTH) {
                let x = evaluate_rows(f, &powers, load(f, &rows, j, lane));
                store(f, x, &mut rows, j, lane);
            }
        }
    }
}

pub(super) struct InversePass<'a, const N: usize> {
    pub(super) rows: [&'a mut [Row]; N],
    pub(super) powers: &'a [Goldilocks; N],
}

impl<const N: usize> Run for InversePass<'_, N> {
    #[inline(always)]
    fn run<F: Field>(self, f: F) {
        let Self { mut rows, powers } = self;
        let powers = factors(f, powers);
        for j in 0..rows[0].len() {
            for lane in (0..LANES).step_by(F::WIDTH) {
                let x = interpolate_rows::<F, N, true>(f, &powers, load(f, &rows, j, lane));
                store(f, x, &mut rows, j, lane);
            }
        }
    }
}

/// A subtree in the cache, level by level from the top.
pub(super) struct Evaluate<'a> {
    pub(super) rows: &'a mut [Row],
    pub(super) levels: &'a [Vec<Node>],
    pub(super) q: usize,
}

impl Run for Evaluate<'_> {
    #[inline(always)]
    fn run<F: Field>(self, f: F) {
        let (mut size, mut first) = (self.rows.len(), self.q);
        for nodes in self.levels {
            let part = size / RADIX;
            for (rows, powers) in self.rows.chunks_exact_mut(size).zip(&nodes[first..]) {
                let powers = factors(f, powers);
                let mut rows = Adjacent { rows, part };
                for j in 0..part {
                    for lane in (0..LANES).step_by(F::WIDTH) {
                        let x = evaluate_rows(f, &powers, load(f, &rows, j, lane));
                        store(f, x, &mut rows, j, lane);
                    }
                }
            }
            (size, first) = (part, first * RADIX);
        }
    }
}

/// A subtree in the cache, level by level from the bottom.
pub(super) struct Interpolate<'a> {
    pub(super) rows: &'a mut [Row],
    pub(super) levels: &'a [Vec<Node>],
    pub(super) q: usize,
}

impl Run for Interpolate<'_> {
    #[inline(always)]
    fn run<F: Field>(self, f: F) {
        for (depth, nodes) in self.levels.iter().enumerate().rev() {
            let size = self.rows.len() / RADIX.pow(depth as u32);
            let (part, first) = (size / RADIX, self.q * RADIX.pow(depth as u32));
            for (rows, powers) in self.rows.chunks_exact_mut(size).zip(&nodes[first..]) {
                let powers = factors(f, powers);
                let mut rows = Adjacent { rows, part };
                for j in 0..part {
                    for lane in (0..LANES).step_by(F::WIDTH) {
                        let x = interpolate_rows::<F, RADIX, false>(f, &powers, load(f, &rows, j, lane));
                        store(f, x, &mut rows, j, lane);
                    }
                }
            }
        }
    }
}

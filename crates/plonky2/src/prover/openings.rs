//! Values of polynomials at points of the extension field, and their combination.

use evergrove_kernels::ntt::{Row, ZERO_ROW};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use plonky2::field::extension::FieldExtension;
use plonky2::field::types::Field;
use rayon::prelude::*;

use super::E;
use crate::circuit::{from_plonky, to_plonky};

/// Coefficients that a sum holds before it is reduced.
const TERMS: usize = 1 << 9;

/// x = re + im X.
type Pair = [Goldilocks; 2];

pub(super) fn pair(x: E) -> Pair {
    <E as FieldExtension<2>>::to_basefield_array(&x).map(from_plonky)
}

pub(super) fn extension(x: Pair) -> E {
    <E as FieldExtension<2>>::from_basefield_array(x.map(to_plonky))
}

/// 1, x, .., x^(n - 1).
pub(super) fn powers(x: E, n: usize) -> Vec<Pair> {
    core::iter::successors(Some(E::ONE), |power| Some(*power * x)).take(n).map(pair).collect()
}

/// The values of the polynomials of each group, by the powers of the point: 2 n products per column.
pub(super) fn evaluate(isa: Isa, groups: &[&[Row]], powers: &[Pair]) -> Vec<[E; LANES]> {
    groups.par_iter().map(|rows| dispatch_on(isa, Evaluate { rows, powers }).map(extension)).collect()
}

struct Evaluate<'a> {
    rows: &'a [Row],
    powers: &'a [Pair],
}

impl Kernel for Evaluate<'_> {
    type Output = [Pair; LANES];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [Pair; LANES] {
        let f = GoldilocksLanes::new(lanes);
        let mut totals = [f.splat(Goldilocks::ZERO); 2];
        for (rows, powers) in self.rows.chunks(TERMS).zip(self.powers.chunks(TERMS)) {
            let mut sums = [f.product_sum(); 2];
            for (row, power) in rows.iter().zip(powers) {
                let x = f.factor(f.load(row));
                f.accumulate(&mut sums[0], x, f.factor(f.splat(power[0])));
                f.accumulate(&mut sums[1], x, f.factor(f.splat(power[1])));
            }
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total = f.reduce(f.add(f.reduce_sum(sum), *total));
            }
        }
        let mut rows = [ZERO_ROW; 2];
        for (row, total) in rows.iter_mut().zip(totals) {
            f.store(total, row);
        }
        core::array::from_fn(|j| [rows[0][j], rows[1][j]])
    }
}

/// A group of polynomials with their factors in a combination.
pub(super) struct Weighted<'a> {
    pub(super) rows: &'a [Row],
    /// Real and imaginary parts by column.
    pub(super) weights: [Row; 2],
}

/// The coefficients of the sum of all polynomials times their weights.
pub(super) fn combine(isa: Isa, groups: &[Weighted<'_>], n: usize) -> Vec<E> {
    let mut out = vec![E::ZERO; n];
    out.par_chunks_mut(TERMS).enumerate().for_each(|(task, out)| {
        dispatch_on(isa, Combine { groups, first: task * TERMS, out });
    });
    out
}

struct Combine<'a> {
    groups: &'a [Weighted<'a>],
    first: usize,
    out: &'a mut [E],
}

impl Kernel for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for (i, out) in (self.first..).zip(self.out) {
            let mut sums = [f.product_sum(); 2];
            for group in self.groups {
                let x = f.factor(f.load(&group.rows[i]));
                f.accumulate(&mut sums[0], x, f.factor(f.load(&group.weights[0])));
                f.accumulate(&mut sums[1], x, f.factor(f.load(&group.weights[1])));
            }
            let mut parts = [Goldilocks::ZERO; 2];
            for (part, sum) in parts.iter_mut().zip(sums) {
                let mut row = ZERO_ROW;
                f.store(f.reduce(f.reduce_sum(sum)), &mut row);
                *part = row.into_iter().sum();
            }
            *out = extension(parts);
        }
    }
}

//! Evaluation as two nested inner products with tables of eq, reduced once for each row.

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::build::eq_table_on;
use super::{MleError, check_table};

/// log2 of the values of a row: their table of eq stays in the first-level cache.
const ROW_LOG: usize = 9;

/// Rows of a task.
const ROWS: usize = 128;

/// Elements of scratch memory for [`evaluate`], for `coordinates` of a point: the tables of eq for the rows' index and
/// within a row.
///
/// # Panics
/// If there are more coordinates than a `usize` has bits.
pub fn evaluate_scratch(coordinates: usize) -> usize {
    let low = coordinates.min(ROW_LOG);
    (1 << low) + (1 << (coordinates - low))
}

/// The value at `point` of the multilinear extension of 2^mu values, with [`evaluate_scratch`] elements of scratch
/// memory.
///
/// sum over h of eq(h, high) * sum over l of eq(l, low) values[512 h + l], for the 9 lowest coordinates `low` and the others
/// `high` of the point. 2^mu products, reduced once in 512, and reads each value once.
pub fn evaluate<F: Field>(values: &[F], point: &[F], scratch: &mut [F]) -> Result<F, MleError> {
    evaluate_on(F::isa(), values, point, scratch)
}

/// [`evaluate`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn evaluate_on<F: Field>(isa: Isa, values: &[F], point: &[F], scratch: &mut [F]) -> Result<F, MleError> {
    check_table("values", values.len(), point.len())?;
    let expected = evaluate_scratch(point.len());
    if scratch.len() != expected {
        return Err(MleError::Length { buffer: "scratch", found: scratch.len(), expected });
    }
    let low = point.len().min(ROW_LOG);
    let (within, of_rows) = scratch.split_at_mut(1 << low);
    eq_table_on(isa, &point[..low], within)?;
    eq_table_on(isa, &point[low..], of_rows)?;
    let (within, of_rows) = (&*within, &*of_rows);
    if within.len() < LANES {
        return Ok(values.iter().zip(within).map(|(value, weight)| *value * *weight).sum());
    }
    let task = |(values, weights): (&[F], &[F])| dispatch_on(isa, Rows { values, within, weights });
    Ok(values.par_chunks(ROWS << low).zip(of_rows.par_chunks(ROWS)).map(task).sum())
}

/// The sum over rows of a weight times the inner product of the row and `within`.
struct Rows<'a, F> {
    values: &'a [F],
    within: &'a [F],
    weights: &'a [F],
}

impl<F: Field> Kernel for Rows<'_, F> {
    type Output = F;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> F {
        const { assert!(ROWS <= <F::On<L> as FieldLanes>::TERMS) };
        const { assert!((1 << ROW_LOG) / LANES <= <F::On<L> as FieldLanes>::TERMS) };
        let f = F::on(lanes);
        // A row has at most 2^9 values, hence 2^6 vectors.
        let mut table = [f.zero(); (1 << ROW_LOG) / LANES];
        let within = self.within.as_chunks().0;
        let table = &mut table[..within.len()];
        for (v, weights) in table.iter_mut().zip(within) {
            *v = f.load(weights);
        }
        let mut total = f.empty();
        for (row, weight) in self.values.chunks_exact(self.within.len()).zip(self.weights) {
            let mut sum = f.empty();
            for (values, weights) in row.as_chunks().0.iter().zip(&*table) {
                f.accumulate(&mut sum, f.load(values).into(), (*weights).into());
            }
            f.accumulate(&mut total, f.finish(sum).into(), f.splat(weight).into());
        }
        f.sum_lanes(f.finish(total))
    }
}

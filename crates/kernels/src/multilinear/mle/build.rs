//! The table of eq as an outer product: a short table in the cache, scaled once for each row.

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::{MleError, check_table};

/// log2 of the values of a row.
const ROW_LOG: usize = 9;

/// Rows of a task.
const ROWS: usize = 16;

/// eq(x, `point`) for all x of the hypercube, into 2^mu elements.
///
/// The table of the nine lowest coordinates, times the value of the other coordinates for each row of 512: one
/// multiplication and one store for each element.
pub fn eq_table<F: Field>(point: &[F], table: &mut [F]) -> Result<(), MleError> {
    eq_table_on(F::isa(), point, table)
}

/// [`eq_table`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn eq_table_on<F: Field>(isa: Isa, point: &[F], table: &mut [F]) -> Result<(), MleError> {
    check_table("table", table.len(), point.len())?;
    if point.len() <= ROW_LOG {
        fill(point, F::ONE, table);
        return Ok(());
    }
    let (low, high) = point.split_at(ROW_LOG);
    let mut row = [F::ZERO; 1 << ROW_LOG];
    fill(low, F::ONE, &mut row);
    table.par_chunks_mut(ROWS << ROW_LOG).enumerate().for_each(|(task, table)| {
        let inner = high.len().min(ROWS.ilog2() as usize);
        let mut weights = [F::ZERO; ROWS];
        let weights = &mut weights[..1 << inner];
        let (inner, outer) = high.split_at(inner);
        let scale = outer.iter().enumerate().map(|(k, r)| if task >> k & 1 == 1 { *r } else { F::ONE - *r }).product();
        fill(inner, scale, weights);
        dispatch_on(isa, Rows { table, row: &row, weights });
    });
    Ok(())
}

/// `scale` eq(x, `point`) for all x, one element after the other.
fn fill<F: Field>(point: &[F], scale: F, table: &mut [F]) {
    table[0] = scale;
    for (k, r) in point.iter().enumerate() {
        let (left, right) = table[..2 << k].split_at_mut(1 << k);
        for (left, right) in left.iter_mut().zip(right) {
            *right = *left * *r;
            *left -= *right;
        }
    }
}

/// [`eq_table`] in a new vector.
pub fn eq_table_vec<F: Field>(point: &[F]) -> Result<Vec<F>, MleError> {
    let expected = super::table_len("table", point.len())?;
    let mut table = vec![F::ZERO; expected];
    eq_table(point, &mut table)?;
    Ok(table)
}

/// Rows of a table: a row of weights, times a weight of each.
struct Rows<'a, F> {
    table: &'a mut [F],
    row: &'a [F; 1 << ROW_LOG],
    weights: &'a [F],
}

impl<F: Field> Kernel for Rows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = F::on(lanes);
        let mut row = [f.zero(); (1 << ROW_LOG) / LANES];
        for (v, weights) in row.iter_mut().zip(self.row.as_chunks().0) {
            *v = f.load(weights);
        }
        for (table, weight) in self.table.as_chunks_mut::<{ 1 << ROW_LOG }>().0.iter_mut().zip(self.weights) {
            let weight = f.factor(weight);
            for (out, v) in table.as_chunks_mut().0.iter_mut().zip(&row) {
                f.store(f.scale((*v).into(), weight), out);
            }
        }
    }
}

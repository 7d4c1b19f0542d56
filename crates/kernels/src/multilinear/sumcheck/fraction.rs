//! Quotients of products, many at a time.

use core::ops::Range;

use evergrove_primitives::field::{Field, FieldLanes, invert_all};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

/// Values of a task, which share one inversion.
const TASK: usize = 1 << 12;

/// `out[i]` = the product of the numerators at i divided by that of the denominators, which are not 0.
///
/// Montgomery's trick, eight chains side by side: with k numerators and l denominators k + 2 l + 1 multiplications a value.
pub(super) fn quotients<F: Field>(isa: Isa, numerators: &[&[F]], denominators: &[&[F]], out: &mut [F]) {
    out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
        let range = TASK * task..TASK * task + out.len();
        let (numerators, denominators) = (part(numerators, &range), part(denominators, &range));
        let whole = out.len() / LANES * LANES;
        let (eights, rest) = out.split_at_mut(whole);
        dispatch_on(isa, Quotients { numerators: &numerators, denominators: &denominators, out: eights });
        let product = |tables: &[&[F]], i: usize| tables.iter().map(|table| table[whole + i]).product::<F>();
        for (i, out) in rest.iter_mut().enumerate() {
            *out = product(&denominators, i);
        }
        invert_all(rest);
        for (i, out) in rest.iter_mut().enumerate() {
            *out *= product(&numerators, i);
        }
    });
}

/// A part of every table.
fn part<'a, F>(tables: &[&'a [F]], range: &Range<usize>) -> Vec<&'a [F]> {
    tables.iter().map(|table| &table[range.clone()]).collect()
}

/// [`quotients`] of a multiple of [`LANES`] values, from tables that have at least this many.
struct Quotients<'a, F> {
    numerators: &'a [&'a [F]],
    denominators: &'a [&'a [F]],
    out: &'a mut [F],
}

/// `value` times eight values of each table.
#[inline(always)]
fn multiply<A: FieldLanes>(f: A, mut value: A::V, tables: &[&[A::Element]], eight: usize) -> A::V {
    for table in tables {
        value = f.mul(value, f.load(table[LANES * eight..].first_chunk().expect("a whole eight")));
    }
    value
}

impl<F: Field> Kernel for Quotients<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = F::on(lanes);
        let (out, _) = self.out.as_chunks_mut::<LANES>();
        // The product before each group of eight, then from the end its inverse.
        let mut product = f.splat(&F::ONE);
        for (eight, out) in out.iter_mut().enumerate() {
            f.store(product, out);
            product = multiply(f, product, self.denominators, eight);
        }
        let mut inverses = f.to_array(product);
        invert_all(&mut inverses);
        let mut inverse = f.load(&inverses);
        for (eight, out) in out.iter_mut().enumerate().rev() {
            let quotient = f.mul(inverse, f.load(out));
            f.store(multiply(f, quotient, self.numerators, eight), out);
            inverse = multiply(f, inverse, self.denominators, eight);
        }
    }
}

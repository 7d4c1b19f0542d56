//! Four more terms of a sum of products: sum = before + x_0 w_0 + x_1 w_1 + x_2 w_2 + x_3 w_3, for the elements x of a word and w in K.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | 4 | x | 0 | number of x |
//! | D each | w_0 to w_3 | 1 to 4 | numbers of w |
//! | D | before | 5 | number of before |
//! | D | sum | 6 | uses of the sum |
//!
//! Dot rows fold leaves of oracles, compute linear layers with constant coefficients, and turn one element of a word
//! into a wire, with 1 for one weight and 0 for the others.

use alloc::vec::Vec;

use evergrove_primitives::field::extension::Extension;

use super::{Port, Row, WORD, defined, padded, used};
use crate::algebra::Algebra;

/// Fixed columns.
pub const FIXED: usize = 7;
/// Ports: x, the weights, before, sum.
pub const PORTS: usize = 7;

/// Committed columns.
pub fn columns<K: Extension>() -> usize {
    WORD + 6 * K::DEGREE
}

pub(super) fn constraints<K: Extension, A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    let degree = K::DEGREE;
    let (x, rest) = row.columns.split_at(WORD);
    let (weights, ends) = rest.split_at(WORD * degree);
    for i in 0..degree {
        let mut sum = ends[i];
        for (j, x) in x.iter().enumerate() {
            sum = f.mul_add(*x, weights[j * degree + i], sum);
        }
        out.push(f.sub(ends[degree + i], sum));
    }
}

pub(super) fn ports<K: Extension, A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (x, rest) = row.columns.split_at(WORD);
    out.push(used(f, row.fixed[0], [x[0], x[1], x[2], x[3]]));
    for (j, element) in rest.chunks_exact(K::DEGREE).enumerate() {
        let word = padded(f, element);
        let fixed = row.fixed[1 + j];
        out.push(if j < WORD + 1 { used(f, fixed, word) } else { defined(f, row, PORTS - 1, fixed, word) });
    }
}

//! One operation in K: d = q0 a b + q1 a + q2 c, where a, b, c are wires and d is a new wire or, in a *check*, an
//! existing one.
//!
//! | committed | | fixed | |
//! |---|---|---|---|
//! | D each | a, b, c, d | 0 to 2 | q0, q1, q2, in F |
//! | | | 3 | 1 in a check, otherwise 0 |
//! | | | 4 to 6 | numbers of a, b, c |
//! | | | 7 | uses of d; in a check the number of d |
//!
//! Since q is in F, d is in F where a, b and c are.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::{Port, Row, padded, used, used_or_defined};
use crate::algebra::{Algebra, product};

/// Fixed columns.
pub const FIXED: usize = 8;
/// Ports: a, b, c, d.
pub const PORTS: usize = 4;
/// The fixed column that is 1 in a check.
pub const CHECK: usize = 3;
/// The fixed column of a's number; those of b, c and d follow.
pub const NUMBERS: usize = 4;

/// Committed columns.
pub fn columns<K: Extension>() -> usize {
    4 * K::DEGREE
}

pub(super) fn constraints<K: Extension, A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    let degree = K::DEGREE;
    let (a, rest) = row.columns.split_at(degree);
    let (b, rest) = rest.split_at(degree);
    let (c, d) = rest.split_at(degree);
    let mut ab = [f.zero(); 3];
    product::<K, A>(f, a, b, &mut ab[..degree]);
    for i in 0..degree {
        let sum = f.mul(row.fixed[0], ab[i]);
        let sum = f.mul_add(row.fixed[1], a[i], sum);
        let sum = f.mul_add(row.fixed[2], c[i], sum);
        out.push(f.sub(d[i], sum));
    }
}

pub(super) fn ports<K: Extension, A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    for (operand, number) in row.columns.chunks_exact(K::DEGREE).zip(&row.fixed[NUMBERS..]).take(3) {
        let word = padded(f, operand);
        out.push(used(f, *number, word));
    }
    let word = padded(f, &row.columns[3 * K::DEGREE..]);
    out.push(used_or_defined(f, row, 3, row.fixed[CHECK], row.fixed[NUMBERS + 3], word));
}

/// The fixed columns q.
pub fn set(fixed: &mut [Goldilocks], q: [Goldilocks; 3]) {
    fixed[..3].copy_from_slice(&q);
}

//! The weight of a query of an oracle: y = the product over v of (1 + r_v (z^(2^v) - 1)), where z is the domain's point
//! at an index and r a point of K. So the sum of a table of coefficients times these weights is the polynomial's value
//! at z.
//!
//! An oracle's leaf i is at z = g_1^(i_0) g_2^(i_1) g_3^(i_2) ..., for the bits i_0, i_1, ... of i and g_j of order
//! 2^j: the domain in bit-reversed order, where z does not depend on the number of leaves. Coordinates of r after the
//! oracle's last variable are the wire 0.
//!
//! | committed | |
//! |---|---|
//! | `bits` | bits of the index |
//! | `bits` / 6 | products of z: one column for six bits, the last is z |
//! | `variables` / 2 - 1 | z^4, z^16, ... |
//! | D each | r |
//! | D each | products of y: one for two variables, the last is y |
//!
//! | fixed | |
//! |---|---|
//! | 0 | number of the wire of the index |
//! | 1 + v | number of r_v |
//! | last | uses of y |

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::{Port, Row, WORD, defined, padded, used};
use crate::algebra::{Algebra, product};

/// Bits of the index in one product.
pub const STEP: usize = 6;

/// The sizes of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bits of an index: log2 of the leaves of the largest oracle.
    pub bits: usize,
    /// Coordinates of r.
    pub variables: usize,
}

impl Parameters {
    /// Columns of products of z.
    pub fn products(&self) -> usize {
        self.bits.div_ceil(STEP)
    }
    /// Pairs of variables.
    pub fn pairs(&self) -> usize {
        self.variables.div_ceil(2)
    }
    /// Committed columns.
    pub fn columns<K: Extension>(&self) -> usize {
        self.bits + self.products() + self.pairs() - 1 + K::DEGREE * (self.variables + self.pairs())
    }
    /// Fixed columns.
    pub fn fixed(&self) -> usize {
        self.variables + 2
    }
    /// Ports.
    pub fn ports(&self) -> usize {
        self.variables + 2
    }

    /// The constraints of a row.
    pub fn constraints<K: Extension, A: Algebra>(&self, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
        let one = f.one();
        let minus = -Goldilocks::ONE;
        let (bits, rest) = row.columns.split_at(self.bits);
        let (products, rest) = rest.split_at(self.products());
        let (powers, rest) = rest.split_at(self.pairs() - 1);
        let (r, y) = rest.split_at(self.variables * K::DEGREE);
        for bit in bits {
            out.push(f.boolean(*bit));
        }
        let mut before = one;
        for (step, column) in products.iter().enumerate() {
            for (j, bit) in bits.iter().enumerate().skip(step * STEP).take(STEP) {
                // before (1 + bit (g - 1))
                before = f.combine([root(j) - Goldilocks::ONE, Goldilocks::ONE, Goldilocks::ZERO], before, *bit, one);
            }
            out.push(f.sub(before, *column));
            before = *column;
        }
        let mut power = before;
        for (pair, next) in (0..self.pairs()).zip(powers.iter().map(Some).chain([None])) {
            let square = f.mul(power, power);
            let mut weight =
                if pair == 0 { padded(f, &[one]) } else { padded(f, &y[(pair - 1) * K::DEGREE..pair * K::DEGREE]) };
            for (v, z) in [power, square].into_iter().enumerate().take(self.variables - 2 * pair) {
                let coordinate = &r[(2 * pair + v) * K::DEGREE..][..K::DEGREE];
                // 1 + r (z - 1)
                let step = f.sub(z, one);
                let mut factor = [f.zero(); WORD];
                for (factor, r) in factor.iter_mut().zip(coordinate) {
                    *factor = f.mul(step, *r);
                }
                factor[0] = f.add(factor[0], one);
                let mut next = [f.zero(); WORD];
                product::<K, A>(f, &weight[..K::DEGREE], &factor[..K::DEGREE], &mut next[..K::DEGREE]);
                weight = next;
            }
            for (value, column) in weight.iter().zip(&y[pair * K::DEGREE..][..K::DEGREE]) {
                out.push(f.sub(*value, *column));
            }
            if let Some(next) = next {
                let fourth = f.mul(square, square);
                out.push(f.combine([Goldilocks::ZERO, Goldilocks::ONE, minus], fourth, one, *next));
                power = *next;
            }
        }
    }

    pub(super) fn ports_on<K: Extension, A: Algebra>(&self, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
        let powers: Vec<_> = (0..self.bits).map(|j| Goldilocks::new(1 << j)).collect();
        let index = f.dot(&powers, &row.columns[..self.bits]);
        let word = padded(f, &[index]);
        out.push(used(f, row.fixed[0], word));
        let r = &row.columns[self.bits + self.products() + self.pairs() - 1..];
        for (r, number) in r.chunks_exact(K::DEGREE).zip(&row.fixed[1..]).take(self.variables) {
            let word = padded(f, r);
            out.push(used(f, *number, word));
        }
        let word = padded(f, &row.columns[row.columns.len() - K::DEGREE..]);
        out.push(defined(f, row, self.variables + 1, row.fixed[self.variables + 1], word));
    }
}

/// The weight of a query, at a point of any number of coordinates.
pub fn weight<K: Extension>(index: u64, r: &[K]) -> K {
    let mut z = point(index);
    let mut y = K::ONE;
    for r in r {
        y *= K::ONE + *r * (z - Goldilocks::ONE);
        z *= z;
    }
    y
}

/// The point of the domain at an index.
pub fn point(index: u64) -> Goldilocks {
    let (mut point, mut left) = (Goldilocks::ONE, index);
    while left != 0 {
        point *= root(left.trailing_zeros() as usize);
        left &= left - 1;
    }
    point
}

/// The factor of bit j of an index: the root of unity of order 2^(j + 1).
pub fn root(j: usize) -> Goldilocks {
    Goldilocks::root_of_unity(j as u32 + 1).expect("an order that divides p - 1")
}

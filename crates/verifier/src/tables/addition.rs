//! Sums of two points of BLS12-381 G1, complete for equal and inverse points and for the identity.
//!
//! A point (x, y) is 12 words, the [limbs](super::congruence) of x and then those of y, each below 2^16; zeros encode
//! the identity, and no other point has y = 0.
//! Operands have such limbs; they and their sum need not be below p.
//!
//! **Flags.** F_P and F_Q say whether the operands are finite, by the sum of the limbs of y and an inverse of it. B = F_P F_Q, I is a bit, and G = B (1 - I). With slope m and a third
//! point (x3, y3), modulo p,
//!
//! - m (x2 - x1) = G (y2 - y1)
//! - m (y1 + y2) = G (x1^2 + x1 x2 + x2^2)
//! - m^2 = G (x1 + x2 + x3) + (B - G)
//! - m (x1 - x3) = G (y1 + y3)
//! - m = 1, limb by limb, where B - G is 1.
//!
//! *Claim.* For points of the curve, the row's sum G (x3, y3) + (F_P - B) P + (F_Q - B) Q is theirs. *Proof.* Let both be finite. On the curve (y2 - y1)(y2 + y1) = (x2 - x1)(x1^2 + x1 x2 +
//! x2^2). With G = 1: where x1 != x2 the first line leaves one m, the chord's; where the points are equal the second leaves one, the tangent's; where they are inverses the first is 0 = -2 y1,
//! which no point has. The other lines are the sum. With G = 0: m = 1, and the first two say that the points are inverses; the sum is zeros. Where an operand is the identity, B and G are 0, and the sum is the
//! other one.
//!
//! | committed | |
//! |---|---|
//! | [`OPERANDS`] to + 95 | x1, y1, x2, y2 |
//! | [`SLOPE`] to + 23 | m, of an honest prover 0 where an operand is the identity |
//! | [`CHORD`] to + 47 | x3, y3 |
//! | [`FLAGS`] to + 6 | F_P, its inverse, F_Q, its inverse, I, B, G |
//! | [`CONGRUENCES`] on | of each congruence quotient and carries |
//!
//! | port | fixed | |
//! |---|---|---|
//! | 0 to 23 | number | uses of the words of both operands |
//! | 24 to 35 | uses | definitions of the words of the sum |
//! | then | | ranges |

use alloc::vec;
use alloc::vec::Vec;
use core::array;

use evergrove_primitives::Goldilocks;

use super::congruence::{self, Congruence, LIMBS, Limbs};
use super::{Port, Row, WORD, defined, range, used};
use crate::algebra::Algebra;

/// Words of a point.
pub const WORDS: usize = 2 * LIMBS / WORD;
/// The first committed column of the operands.
pub const OPERANDS: usize = 0;
/// That of the slope.
pub const SLOPE: usize = 4 * LIMBS;
/// That of the third point.
pub const CHORD: usize = SLOPE + LIMBS;
/// That of the flags.
pub const FLAGS: usize = CHORD + 2 * LIMBS;
/// That of the congruences.
pub const CONGRUENCES: usize = FLAGS + 7;
/// Committed columns.
pub const COLUMNS: usize = CONGRUENCES + 4 * congruence::COLUMNS;
/// Fixed columns: of each port of a word its number, or how often it is used.
pub const FIXED: usize = 3 * WORDS;
/// Ports.
pub const PORTS: usize = FIXED + 3 * LIMBS + 4 * congruence::RANGES;

/// Slope and third point of a line through two finite points, or that they are inverses of each other: from x1, y1, x2, y2, in words of 64 bits, least significant
/// first. It binds nothing.
pub type Chord = fn([[u64; 6]; 4]) -> Option<[[u64; 6]; 3]>;

fn element<V: Copy>(columns: &[V], first: usize) -> Limbs<V> {
    array::from_fn(|i| columns[first + i])
}
/// x1, y1, x2, y2.
pub fn operands<V: Copy>(columns: &[V]) -> [Limbs<V>; 4] {
    array::from_fn(|i| element(columns, OPERANDS + i * LIMBS))
}
/// The flags, in their order.
pub fn flags<V: Copy>(columns: &[V]) -> [V; 7] {
    array::from_fn(|i| columns[FLAGS + i])
}

pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    let one = f.one();
    let [_, y1, _, y2] = operands(row.columns);
    let [p, p_inverse, q, q_inverse, inverse, both, generic] = flags(row.columns);
    let ones = [Goldilocks::ONE; LIMBS];
    for (y, finite, factor) in [(y1, p, p_inverse), (y2, q, q_inverse)] {
        // Limbs are below 2^16: their sum is 0 where all of them are.
        let sum = f.dot(&ones, &y);
        let product = f.mul(sum, factor);
        out.push(f.sub(product, finite));
        let not = f.sub(one, finite);
        out.push(f.mul(not, sum));
    }
    out.push(f.boolean(inverse));
    let product = f.mul(p, q);
    out.push(f.sub(product, both));
    let not = f.sub(one, inverse);
    let product = f.mul(both, not);
    out.push(f.sub(product, generic));
    let inverses = f.sub(both, generic);
    let slope: Limbs<A::V> = element(row.columns, SLOPE);
    let excess = f.sub(slope[0], one);
    let others = f.dot(&ones[1..], &slope[1..]);
    out.push(f.mul(inverses, excess));
    out.push(f.mul(inverses, others));
}

pub(super) fn congruences<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Congruence<A::V>>) {
    let [x1, y1, x2, y2] = operands(row.columns);
    let [.., both, generic] = flags(row.columns);
    let [slope, x3, y3] = [SLOPE, CHORD, CHORD + LIMBS].map(|first| element(row.columns, first));
    let minus = -Goldilocks::ONE;
    let columns = |i: usize| &row.columns[CONGRUENCES + i * congruence::COLUMNS..][..congruence::COLUMNS];

    let difference: Limbs<_> = array::from_fn(|i| f.sub(x2[i], x1[i]));
    let linear = array::from_fn(|i| {
        let fall = f.sub(y1[i], y2[i]);
        f.mul(generic, fall)
    });
    out.push(Congruence::new(f, vec![[slope, difference]], linear, columns(0)));

    let ys: Limbs<_> = array::from_fn(|i| f.add(y1[i], y2[i]));
    let xs: Limbs<_> = array::from_fn(|i| f.add(x1[i], x2[i]));
    let [g1, g2] = [x1, x2].map(|x| -> Limbs<_> {
        array::from_fn(|i| f.combine([minus, Goldilocks::ZERO, Goldilocks::ZERO], generic, x[i], x[i]))
    });
    let zero = [f.zero(); LIMBS];
    out.push(Congruence::new(f, vec![[slope, ys], [g1, xs], [g2, x2]], zero, columns(1)));

    let linear = array::from_fn(|i| {
        let sum = f.add(xs[i], x3[i]);
        let sum = f.combine([minus, Goldilocks::ZERO, Goldilocks::ZERO], generic, sum, sum);
        if i > 0 {
            return sum;
        }
        let inverses = f.sub(both, generic);
        f.sub(sum, inverses)
    });
    out.push(Congruence::new(f, vec![[slope, slope]], linear, columns(2)));

    let fall: Limbs<_> = array::from_fn(|i| f.sub(x1[i], x3[i]));
    let linear = array::from_fn(|i| {
        let sum = f.add(y1[i], y3[i]);
        f.combine([minus, Goldilocks::ZERO, Goldilocks::ZERO], generic, sum, sum)
    });
    out.push(Congruence::new(f, vec![[slope, fall]], linear, columns(3)));
}

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    for port in 0..2 * WORDS {
        let word = array::from_fn(|i| row.columns[OPERANDS + port * WORD + i]);
        out.push(used(f, row.fixed[port], word));
    }
    for word in 0..WORDS {
        let port = 2 * WORDS + word;
        let word = sum(f, row.columns, word);
        out.push(defined(f, row, port, row.fixed[port], word));
    }
    let mut within = Vec::with_capacity(PORTS);
    ranges(f, row.columns, &mut within);
    for number in within {
        out.push(range::within(f, number));
    }
}

/// A word of the sum.
pub fn sum<A: Algebra>(f: &mut A, columns: &[A::V], word: usize) -> [A::V; WORD] {
    let [p, _, q, _, _, both, generic] = flags(columns);
    let (p, q) = (f.sub(p, both), f.sub(q, both));
    array::from_fn(|i| {
        let limb = word * WORD + i;
        let sum = f.mul(generic, columns[CHORD + limb]);
        let sum = f.mul_add(p, columns[OPERANDS + limb], sum);
        f.mul_add(q, columns[OPERANDS + 2 * LIMBS + limb], sum)
    })
}

/// The columns that must be below 2^16.
pub fn ranges<A: Algebra>(f: &mut A, columns: &[A::V], out: &mut Vec<A::V>) {
    out.extend_from_slice(&columns[SLOPE..FLAGS]);
    for columns in columns[CONGRUENCES..COLUMNS].chunks_exact(congruence::COLUMNS) {
        congruence::ranges(f, columns, out);
    }
}

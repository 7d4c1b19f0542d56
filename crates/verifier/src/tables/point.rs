//! Points of BLS12-381 G1 from numbers of 56 bits: the coordinates are below p and on the curve y^2 = x^3 + 4.
//!
//! There are seven numbers for each coordinate, least significant first. The [limbs](super::congruence) 3, 10 and 17
//! lie in two numbers, one byte in each. If the row's bit is set, the row defines the words of the point
//! ([`addition`](super::addition)). Otherwise it defines zeros, and says nothing about the numbers.
//!
//! **Below p.** x + t = p - 1 for a t of 24 limbs, three limbs at a time with carries of one bit: both sides stay below 2^50.
//!
//! **On the curve.** s = x^2 and y^2 = x s + 4 c, modulo p, for a bit c that is 1 if the row's bit is: an honest one is
//! 0 only for zeros.
//!
//! | committed | |
//! |---|---|
//! | [`COORDINATES`] to + 53 | of x, then of y: the limbs (for limbs in two numbers the low byte), and the three high bytes |
//! | [`COMPLEMENTS`] to + 61 | of x, then of y: t, and seven carries |
//! | [`SQUARE`] to + 23 | s |
//! | [`CONGRUENCES`] on | of each congruence quotient and carries |
//! | [`ACTIVE`] | the bit |
//! | [`CURVE`] | c |
//! | [`REST`], + 1 | the elements after the last number in its word |
//!
//! | port | fixed | |
//! |---|---|---|
//! | 0 to 3 | number | the numbers as four words, where [`APART`] is 0 |
//! | 4 to 17 | number, the first four those of ports 0 to 3 | the numbers as separate wires, where it is 1 |
//! | 18 | number | use of the bit |
//! | 19 to 30 | uses | definitions of the words of the point |
//! | then | | ranges |

use alloc::vec;
use alloc::vec::Vec;
use core::array;

use evergrove_primitives::Goldilocks;

use super::addition::WORDS;
use super::congruence::{self, Congruence, LIMB_BITS, LIMBS, Limbs, MODULUS, power};
use super::{Port, Row, WORD, defined, padded, range, used};
use crate::algebra::Algebra;

/// Numbers of a point.
pub const NUMBERS: usize = 14;
/// Numbers of a coordinate.
pub const EACH: usize = NUMBERS / 2;
/// Limbs that lie in two numbers, of each coordinate.
pub const SPLIT: usize = 3;
/// Columns of a coordinate.
pub const COORDINATE: usize = LIMBS + SPLIT;
/// Limbs that are compared with those of p at a time.
pub const GROUP: usize = 3;
/// Carries between them.
pub const CARRIES: usize = LIMBS / GROUP - 1;
/// Columns of a complement.
pub const COMPLEMENT: usize = LIMBS + CARRIES;

/// The first committed column of the coordinates.
pub const COORDINATES: usize = 0;
/// That of the complements.
pub const COMPLEMENTS: usize = 2 * COORDINATE;
/// That of x^2.
pub const SQUARE: usize = COMPLEMENTS + 2 * COMPLEMENT;
/// That of the congruences.
pub const CONGRUENCES: usize = SQUARE + LIMBS;
/// The committed column of the bit.
pub const ACTIVE: usize = CONGRUENCES + 2 * congruence::COLUMNS;
/// The committed column of the factor of the curve's constant.
pub const CURVE: usize = ACTIVE + 1;
/// The first committed column of the elements after the last number.
pub const REST: usize = CURVE + 1;
/// Committed columns.
pub const COLUMNS: usize = REST + 2;

/// The fixed column that is 1 where numbers are separate wires.
pub const APART: usize = 0;
/// The fixed column of the first number's wire; the column of the bit follows that of the last number.
pub const WIRES: usize = 1;
/// The fixed column of the uses of the point's first word.
pub const USES: usize = WIRES + NUMBERS + 1;
/// Fixed columns.
pub const FIXED: usize = USES + WORDS;

/// The port of the point's first word.
pub const POINT: usize = NUMBER_WORDS + NUMBERS + 1;
/// Words that the numbers fill.
const NUMBER_WORDS: usize = NUMBERS.div_ceil(WORD);
/// Ports.
pub const PORTS: usize = POINT + WORDS + 2 * (LIMBS - SPLIT + 4 * SPLIT) + 2 * LIMBS + LIMBS + 2 * congruence::RANGES;

/// Which of the limbs in two numbers a limb is.
pub const fn split(limb: usize) -> Option<usize> {
    if limb % EACH == SPLIT && limb / EACH < SPLIT { Some(limb / EACH) } else { None }
}

/// The limbs of a coordinate.
pub fn coordinate<A: Algebra>(f: &mut A, columns: &[A::V], which: usize) -> Limbs<A::V> {
    let columns = &columns[COORDINATES + which * COORDINATE..][..COORDINATE];
    array::from_fn(|i| split(i).map_or(columns[i], |high| f.add_scaled(columns[i], power(8), columns[LIMBS + high])))
}

/// A number.
fn number<A: Algebra>(f: &mut A, columns: &[A::V], which: usize) -> A::V {
    let (columns, number) = (&columns[COORDINATES + which / EACH * COORDINATE..][..COORDINATE], which % EACH);
    let first = number / 2 * EACH;
    let limb = |i: usize| columns[first + i];
    let [zero, one, two, three] = [0, 1, 2, 3].map(|i| power(LIMB_BITS * i));
    match (number % 2, number / 2) {
        // The last three limbs.
        (0, SPLIT) => f.dot(&[zero, one, two], &[limb(0), limb(1), limb(2)]),
        // Three limbs, and the low byte of the next.
        (0, _) => f.dot(&[zero, one, two, three], &[limb(0), limb(1), limb(2), limb(3)]),
        // The high byte of it, and three more.
        (_, high) => {
            f.dot(&[zero, power(8), power(24), power(40)], &[columns[LIMBS + high], limb(4), limb(5), limb(6)])
        }
    }
}

pub(super) fn constraints<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    let one = f.one();
    let (active, curve) = (row.columns[ACTIVE], row.columns[CURVE]);
    out.push(f.boolean(active));
    out.push(f.boolean(curve));
    let not = f.sub(one, curve);
    out.push(f.mul(active, not));
    for which in 0..2 {
        let x = coordinate(f, row.columns, which);
        let columns = &row.columns[COMPLEMENTS + which * COMPLEMENT..][..COMPLEMENT];
        let (t, carries) = columns.split_at(LIMBS);
        for &carry in carries {
            out.push(f.boolean(carry));
        }
        for group in 0..LIMBS / GROUP {
            let mut sum = f.zero();
            for i in 0..GROUP {
                let limb = group * GROUP + i;
                let both = f.add(x[limb], t[limb]);
                // p is odd: the lowest limb of p - 1 is one less.
                let due = Goldilocks::new(MODULUS[limb] - u64::from(limb == 0));
                let excess = f.add_scaled(both, -due, one);
                sum = f.add_scaled(sum, power(LIMB_BITS * i), excess);
            }
            if group > 0 {
                sum = f.add(sum, carries[group - 1]);
            }
            if let Some(&carry) = carries.get(group) {
                sum = f.add_scaled(sum, -power(GROUP * LIMB_BITS), carry);
            }
            out.push(sum);
        }
    }
}

pub(super) fn congruences<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Congruence<A::V>>) {
    let [x, y] = [0, 1].map(|which| coordinate(f, row.columns, which));
    let square: Limbs<A::V> = array::from_fn(|i| row.columns[SQUARE + i]);
    let columns = |i: usize| &row.columns[CONGRUENCES + i * congruence::COLUMNS..][..congruence::COLUMNS];
    let minus = -Goldilocks::ONE;
    let negative = square.map(|limb| f.scale(minus, limb));
    out.push(Congruence::new(f, vec![[x, x]], negative, columns(0)));
    let mut linear = [f.zero(); LIMBS];
    linear[0] = f.scale(-Goldilocks::new(4), row.columns[CURVE]);
    out.push(Congruence::new(f, vec![[y, y], [x, negative]], linear, columns(1)));
}

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let one = f.one();
    let apart = row.fixed[APART];
    let together = f.sub(one, apart);
    let numbers: [A::V; NUMBERS] = array::from_fn(|i| number(f, row.columns, i));
    let mut use_of = |f: &mut A, wire: usize, times: A::V, word: [A::V; WORD]| {
        let port = used(f, row.fixed[WIRES + wire], word);
        out.push(Port { multiplicity: f.scale(-Goldilocks::ONE, times), ..port });
    };
    for word in 0..NUMBER_WORDS {
        let element = |i: usize| numbers.get(i).copied().unwrap_or_else(|| row.columns[REST + i - NUMBERS]);
        use_of(f, word, together, array::from_fn(|i| element(word * WORD + i)));
    }
    for (i, &number) in numbers.iter().enumerate() {
        let word = padded(f, &[number]);
        use_of(f, i, apart, word);
    }
    let word = padded(f, &[row.columns[ACTIVE]]);
    use_of(f, NUMBERS, one, word);
    for word in 0..WORDS {
        let limbs = self::word(f, row.columns, word);
        out.push(defined(f, row, POINT + word, row.fixed[USES + word], limbs));
    }
    let mut within = Vec::with_capacity(PORTS);
    ranges(f, row.columns, &mut within);
    for number in within {
        out.push(range::within(f, number));
    }
}

/// A word of the point.
pub fn word<A: Algebra>(f: &mut A, columns: &[A::V], word: usize) -> [A::V; WORD] {
    let limbs = coordinate(f, columns, word * WORD / LIMBS);
    array::from_fn(|i| f.mul(columns[ACTIVE], limbs[(word * WORD + i) % LIMBS]))
}

/// The columns that must be below 2^16.
pub fn ranges<A: Algebra>(f: &mut A, columns: &[A::V], out: &mut Vec<A::V>) {
    for coordinate in columns[COORDINATES..COMPLEMENTS].chunks_exact(COORDINATE) {
        for (i, &limb) in coordinate.iter().enumerate() {
            out.push(limb);
            // Bytes.
            if i >= LIMBS || split(i).is_some() {
                out.push(f.scale(power(8), limb));
            }
        }
    }
    for complement in columns[COMPLEMENTS..SQUARE].chunks_exact(COMPLEMENT) {
        out.extend_from_slice(&complement[..LIMBS]);
    }
    out.extend_from_slice(&columns[SQUARE..CONGRUENCES]);
    for columns in columns[CONGRUENCES..ACTIVE].chunks_exact(congruence::COLUMNS) {
        congruence::ranges(f, columns, out);
    }
}

//! Sums of few points, one addition at a time: Straus' algorithm on half-length scalars, from tables of odd multiples.

use ark_ec::CurveGroup;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::AdditiveGroup;

use super::Curve;
use super::endo::Halves;
use super::words::{SIGN, Words};

/// Odd multiples of a point in a table: 1, 3, 5 and 7 times the point.
const TABLE: usize = 4;

/// Bits of the longest half, and one for the carry of its digits.
const BITS: usize = 128;

/// The digits of a magnitude from the lowest: 0, or odd and at most 2 [`TABLE`] - 1 in magnitude, at least four places
/// apart (Solinas' width-w NAF for w = 4); if `table` is 1, only 0 and 1 in magnitude.
fn digits(k: &Words, table: usize) -> [i8; BITS + 1] {
    let (width, mut digits) = (table.ilog2() + 2, [0; BITS + 1]);
    assert_eq!((k[2], k[3] & !SIGN, k[1] >> 63), (0, 0, 0), "halves have at most 127 bits");
    let mut rest = u128::from(k[1]) << 64 | u128::from(k[0]);
    let mut at = 0;
    while rest != 0 {
        let zeros = rest.trailing_zeros();
        (rest, at) = (rest >> zeros, at + zeros as usize);
        let low = (rest & ((1 << width) - 1)) as i8;
        let digit = if low >> (width - 1) != 0 { low - (1 << width) } else { low };
        rest = if digit < 0 { rest + u128::from(digit.unsigned_abs()) } else { rest - digit as u128 };
        digits[at] = if k[3] & SIGN != 0 { -digit } else { digit };
    }
    digits
}

/// The sum of magnitudes, of `longest` bits at most, times points.
///
/// 128 doublings, and 52 additions a point for scalars of full length.
pub(super) fn sum<C: Curve>(
    points: &[Affine<C>],
    magnitudes: &[Words],
    longest: u32,
    halves: &Halves,
) -> Projective<C> {
    // A larger table pays off after some digits.
    let table = if longest > 24 { TABLE } else { 1 };
    let multiples = multiples(points, table);
    let images: Vec<Affine<C>> =
        multiples.iter().map(|p| Affine::new_unchecked(p.x * C::ENDO_COEFFS[0], p.y)).collect();
    let halves: Vec<_> = magnitudes.iter().map(|k| halves.split(k).map(|half| digits(&half, table))).collect();
    let top = halves.iter().flatten().filter_map(|digits| digits.iter().rposition(|&d| d != 0)).max();
    let mut sum = Projective::ZERO;
    for at in (0..top.map_or(0, |top| top + 1)).rev() {
        sum.double_in_place();
        for (i, halves) in halves.iter().enumerate() {
            for (table_of, digits) in [&multiples, &images].into_iter().zip(halves) {
                let digit = digits[at];
                if digit != 0 {
                    let multiple = table_of[i * table + usize::from(digit.unsigned_abs() / 2)];
                    sum += if digit < 0 { -multiple } else { multiple };
                }
            }
        }
    }
    sum
}

/// The `table` odd multiples of each point.
fn multiples<C: Curve>(points: &[Affine<C>], table: usize) -> Vec<Affine<C>> {
    if table == 1 {
        return points.to_vec();
    }
    let mut multiples = Vec::with_capacity(points.len() * table);
    for point in points {
        let mut multiple = Projective::from(*point);
        let twice = multiple.double();
        for _ in 0..table {
            multiples.push(multiple);
            multiple += twice;
        }
    }
    Projective::normalize_batch(&multiples)
}

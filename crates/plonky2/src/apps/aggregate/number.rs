//! Numbers and sums in limbs.

use plonky2::field::types::Field;
use plonky2::iop::target::{BoolTarget, Target};

use evergrove_apps::aggregate::Width;

use crate::circuit::{Builder, F};

/// Bits of the low limb of a number.
pub(super) const LIMB_BITS: usize = 32;
/// Unreduced limbs are below 2^62: with the bit that a carry may add, no sum leaves the field.
const UNREDUCED_BITS: usize = 62;

/// True where `x + 2^32 >= 2^32` as integers, for -2^32 <= x < 2^32; one row.
fn not_negative(b: &mut Builder, x: Target) -> BoolTarget {
    let shifted = b.add_const(x, F::from_canonical_u64(1 << LIMB_BITS));
    b.split_le(shifted, LIMB_BITS + 1)[LIMB_BITS]
}

/// `left >= right` for limbs of at most 32 bits; two rows.
pub(super) fn at_least(b: &mut Builder, left: [Target; 2], right: [Target; 2]) -> BoolTarget {
    let low = b.sub(left[0], right[0]);
    let low = not_negative(b, low);
    // high_l > high_r, or equal and low_l >= low_r: high_l - high_r - 1 + [low_l >= low_r] >= 0.
    let high = b.sub(left[1], right[1]);
    let borrow = b.not(low);
    let high = b.sub(high, borrow.target);
    not_negative(b, high)
}

/// `limbs >= bound` for a constant with `0 < bound < 2^63`; one row if a limb of the bound is 0, otherwise two.
pub(super) fn at_least_constant(b: &mut Builder, limbs: [Target; 2], bound: u64) -> BoolTarget {
    let (low, high) = (bound & 0xffff_ffff, bound >> LIMB_BITS);
    let minus = |x: u64| -F::from_canonical_u64(x);
    let low_reaches = (low != 0).then(|| {
        let difference = b.add_const(limbs[0], minus(low));
        not_negative(b, difference)
    });
    match (low_reaches, high) {
        (None, _) => {
            let difference = b.add_const(limbs[1], minus(high));
            not_negative(b, difference)
        }
        (Some(low), 0) => {
            let zero = b.zero();
            let is_zero = b.is_equal(limbs[1], zero);
            let positive = b.not(is_zero);
            b.or(positive, low)
        }
        (Some(low), _) => {
            let difference = b.add_const(limbs[1], minus(high + 1));
            let difference = b.add(difference, low.target);
            not_negative(b, difference)
        }
    }
}

/// The smaller of two numbers of at most 2^63.
pub(super) fn least_of(b: &mut Builder, left: [Target; 2], right: [Target; 2]) -> [Target; 2] {
    let right_is_least = at_least(b, left, right);
    core::array::from_fn(|k| b.select(right_is_least, right[k], left[k]))
}

/// The sum of two sums; no assignment holds if it has more bits than the width. One row for each limb.
pub(super) fn reduce_limbs(b: &mut Builder, width: Width, left: &[Target], right: &[Target]) -> Vec<Target> {
    let mut carry = b.zero();
    let minus_base = -F::from_canonical_u64(1 << width.limb_bits);
    let mut limbs = Vec::with_capacity(width.limbs);
    for (l, r) in left.iter().zip(right) {
        let sum = b.add(*l, *r);
        let sum = b.add(sum, carry);
        carry = b.split_le(sum, width.limb_bits + 1)[width.limb_bits].target;
        limbs.push(b.mul_const_add(minus_base, carry, sum));
    }
    b.assert_zero(carry);
    limbs
}

/// Limbs in range of the integer whose unreduced limbs are `columns`, each at most 3 * 2^60. Two rows per limb.
pub(super) fn normalise(b: &mut Builder, width: Width, columns: &[Target]) -> Vec<Target> {
    let mut carry = b.zero();
    let mut limbs = Vec::with_capacity(width.limbs);
    for k in 0..width.limbs {
        let sum = columns.get(k).map_or(carry, |c| b.add(*c, carry));
        let (low, high) = b.split_low_high(sum, width.limb_bits, UNREDUCED_BITS);
        limbs.push(low);
        carry = high;
    }
    b.assert_zero(carry);
    limbs
}

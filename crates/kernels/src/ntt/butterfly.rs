//! Transforms of length 2 to 16, whose roots of unity are powers of two.

use super::field::Field;

/// The root by which block Q of any level multiplies its upper half: w_16^rev(Q), w_16 = 2^12, with Q of three bits.
#[inline(always)]
fn twist<F: Field, const Q: usize>(f: F, x: F::Loose) -> F::Loose {
    match Q {
        0 => x,
        1 => f.mul_power_of_two::<48>(x),
        2 => f.mul_power_of_two::<24>(x),
        3 => f.mul_power_of_two::<72>(x),
        4 => f.mul_power_of_two::<12>(x),
        5 => f.mul_power_of_two::<60>(x),
        6 => f.mul_power_of_two::<36>(x),
        7 => f.mul_power_of_two::<84>(x),
        _ => unreachable!("a transform of length 16 has blocks 0 to 7"),
    }
}

/// Minus the inverse of [`twist`], for Q > 0: 2^96 = -1.
#[inline(always)]
fn untwist<F: Field, const Q: usize>(f: F, x: F::Loose) -> F::Loose {
    match Q {
        1 => f.mul_power_of_two::<48>(x),
        2 => f.mul_power_of_two::<72>(x),
        3 => f.mul_power_of_two::<24>(x),
        4 => f.mul_power_of_two::<84>(x),
        5 => f.mul_power_of_two::<36>(x),
        6 => f.mul_power_of_two::<60>(x),
        7 => f.mul_power_of_two::<12>(x),
        _ => unreachable!("blocks 1 to 7 have roots other than 1"),
    }
}

/// (x_i, x_j) to (x_i + t x_j, x_i - t x_j), t the root of block Q.
#[inline(always)]
fn split<F: Field, const N: usize, const Q: usize>(f: F, x: &mut [F::Loose; N], i: usize, j: usize) {
    let (a, b) = (x[i], f.reduce(twist::<F, Q>(f, x[j])));
    x[i] = f.add(a, b);
    x[j] = f.sub(a, b);
}

/// Twice the inverse of [`split`].
#[inline(always)]
fn join<F: Field, const N: usize, const Q: usize>(f: F, x: &mut [F::Loose; N], i: usize, j: usize) {
    let (a, b) = (x[i], f.reduce(x[j]));
    x[i] = f.add(a, b);
    x[j] = if Q == 0 { f.sub(a, b) } else { untwist::<F, Q>(f, f.sub(b.into(), f.reduce(a))) };
}

/// Two levels of the transform on four of its values, `step` apart from `first` on: block Q of the upper level, Q0 = 2 Q and Q1 = 2 Q + 1 of
/// the lower one.
#[inline(always)]
fn split_four<F: Field, const N: usize, const Q: usize, const Q0: usize, const Q1: usize>(
    f: F,
    x: &mut [F::Loose; N],
    first: usize,
    step: usize,
) {
    let [i, j, k, l] = [first, first + step, first + 2 * step, first + 3 * step];
    split::<F, N, Q>(f, x, i, k);
    split::<F, N, Q>(f, x, j, l);
    split::<F, N, Q0>(f, x, i, j);
    split::<F, N, Q1>(f, x, k, l);
}

/// Four times the inverse of [`split_four`].
#[inline(always)]
fn join_four<F: Field, const N: usize, const Q: usize, const Q0: usize, const Q1: usize>(
    f: F,
    x: &mut [F::Loose; N],
    first: usize,
    step: usize,
) {
    let [i, j, k, l] = [first, first + step, first + 2 * step, first + 3 * step];
    join::<F, N, Q0>(f, x, i, j);
    join::<F, N, Q1>(f, x, k, l);
    join::<F, N, Q>(f, x, i, k);
    join::<F, N, Q>(f, x, j, l);
}

/// The values at the N-th roots of unity, N from 2 to 16, in bit-reversed order, from N coefficients.
///
/// By two levels on four values at a time: this takes eight registers of AVX2, which has sixteen.
#[inline(always)]
pub(super) fn evaluate<F: Field, const N: usize>(f: F, x: &mut [F::Loose; N]) {
    const { assert!(N == 2 || N == 4 || N == 8 || N == 16) };
    match N {
        2 => split::<F, N, 0>(f, x, 0, 1),
        4 => split_four::<F, N, 0, 0, 1>(f, x, 0, 1),
        8 => {
            split_four::<F, N, 0, 0, 1>(f, x, 0, 2);
            split_four::<F, N, 0, 0, 1>(f, x, 1, 2);
            split::<F, N, 0>(f, x, 0, 1);
            split::<F, N, 1>(f, x, 2, 3);
            split::<F, N, 2>(f, x, 4, 5);
            split::<F, N, 3>(f, x, 6, 7);
        }
        _ => {
            split_four::<F, N, 0, 0, 1>(f, x, 0, 4);
            split_four::<F, N, 0, 0, 1>(f, x, 1, 4);
            split_four::<F, N, 0, 0, 1>(f, x, 2, 4);
            split_four::<F, N, 0, 0, 1>(f, x, 3, 4);
            split_four::<F, N, 0, 0, 1>(f, x, 0, 1);
            split_four::<F, N, 1, 2, 3>(f, x, 4, 1);
            split_four::<F, N, 2, 4, 5>(f, x, 8, 1);
            split_four::<F, N, 3, 6, 7>(f, x, 12, 1);
        }
    }
}

/// N times the coefficients of N values: the inverse of [`evaluate`], not scaled.
#[inline(always)]
pub(super) fn interpolate<F: Field, const N: usize>(f: F, x: &mut [F::Loose; N]) {
    const { assert!(N == 2 || N == 4 || N == 8 || N == 16) };
    match N {
        2 => join::<F, N, 0>(f, x, 0, 1),
        4 => join_four::<F, N, 0, 0, 1>(f, x, 0, 1),
        8 => {
            join::<F, N, 0>(f, x, 0, 1);
            join::<F, N, 1>(f, x, 2, 3);
            join::<F, N, 2>(f, x, 4, 5);
            join::<F, N, 3>(f, x, 6, 7);
            join_four::<F, N, 0, 0, 1>(f, x, 0, 2);
            join_four::<F, N, 0, 0, 1>(f, x, 1, 2);
        }
        _ => {
            join_four::<F, N, 0, 0, 1>(f, x, 0, 1);
            join_four::<F, N, 1, 2, 3>(f, x, 4, 1);
            join_four::<F, N, 2, 4, 5>(f, x, 8, 1);
            join_four::<F, N, 3, 6, 7>(f, x, 12, 1);
            join_four::<F, N, 0, 0, 1>(f, x, 0, 4);
            join_four::<F, N, 0, 0, 1>(f, x, 1, 4);
            join_four::<F, N, 0, 0, 1>(f, x, 2, 4);
            join_four::<F, N, 0, 0, 1>(f, x, 3, 4);
        }
    }
}

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

/// (x, y) to (x + t y, x - t y) for the two halves of block Q, t its root.
#[inline(always)]
fn split<F: Field, const N: usize, const Q: usize>(f: F, x: &mut [F::Loose; N], half: usize) {
    let start = 2 * half * Q;
    for j in start..start + half {
        let (a, b) = (x[j], f.reduce(twist::<F, Q>(f, x[j + half])));
        x[j] = f.add(a, b);
        x[j + half] = f.sub(a, b);
    }
}

/// Twice the inverse of [`split`].
#[inline(always)]
fn join<F: Field, const N: usize, const Q: usize>(f: F, x: &mut [F::Loose; N], half: usize) {
    let start = 2 * half * Q;
    for j in start..start + half {
        let (a, b) = (x[j], f.reduce(x[j + half]));
        x[j] = f.add(a, b);
        x[j + half] = if Q == 0 { f.sub(a, b) } else { untwist::<F, Q>(f, f.sub(b.into(), f.reduce(a))) };
    }
}

/// The values at the N-th roots of unity, N from 2 to 16, in bit-reversed order, of N coefficients.
#[inline(always)]
pub(super) fn evaluate<F: Field, const N: usize>(f: F, x: &mut [F::Loose; N]) {
    const { assert!(N == 2 || N == 4 || N == 8 || N == 16) };
    split::<F, N, 0>(f, x, N / 2);
    if N >= 4 {
        split::<F, N, 0>(f, x, N / 4);
        split::<F, N, 1>(f, x, N / 4);
    }
    if N >= 8 {
        split::<F, N, 0>(f, x, N / 8);
        split::<F, N, 1>(f, x, N / 8);
        split::<F, N, 2>(f, x, N / 8);
        split::<F, N, 3>(f, x, N / 8);
    }
    if N >= 16 {
        split::<F, N, 0>(f, x, N / 16);
        split::<F, N, 1>(f, x, N / 16);
        split::<F, N, 2>(f, x, N / 16);
        split::<F, N, 3>(f, x, N / 16);
        split::<F, N, 4>(f, x, N / 16);
        split::<F, N, 5>(f, x, N / 16);
        split::<F, N, 6>(f, x, N / 16);
        split::<F, N, 7>(f, x, N / 16);
    }
}

/// N times the coefficients of N values: the inverse of [`evaluate`], not scaled.
#[inline(always)]
pub(super) fn interpolate<F: Field, const N: usize>(f: F, x: &mut [F::Loose; N]) {
    const { assert!(N == 2 || N == 4 || N == 8 || N == 16) };
    if N >= 16 {
        join::<F, N, 0>(f, x, N / 16);
        join::<F, N, 1>(f, x, N / 16);
        join::<F, N, 2>(f, x, N / 16);
        join::<F, N, 3>(f, x, N / 16);
        join::<F, N, 4>(f, x, N / 16);
        join::<F, N, 5>(f, x, N / 16);
        join::<F, N, 6>(f, x, N / 16);
        join::<F, N, 7>(f, x, N / 16);
    }
    if N >= 8 {
        join::<F, N, 0>(f, x, N / 8);
        join::<F, N, 1>(f, x, N / 8);
        join::<F, N, 2>(f, x, N / 8);
        join::<F, N, 3>(f, x, N / 8);
    }
    if N >= 4 {
        join::<F, N, 0>(f, x, N / 4);
        join::<F, N, 1>(f, x, N / 4);
    }
    join::<F, N, 0>(f, x, N / 2);
}

//! Inverses, one element at a time: the optimized binary GCD of Pornin (ePrint 2020/972, Algorithm 2).
//!
//! Thirty-one steps of the binary algorithm see two words of 64 bits, which hold the highest 33 and the lowest 31 bits
//! of the two numbers. The effect of these steps is four factors, which then combine the numbers and their cofactors.
//! The words do not determine which number is greater, so a combination may be negative: it is negated together with
//! its factors.

use super::PrimeElement;
use super::modulus::{power_of_two, sub};
use super::scalar::{self, Constants};
use crate::lanes::LANES;

/// Steps between two combinations.
const STEPS: u32 = 31;
const LOW: u64 = (1 << STEPS) - 1;

/// a f + b g, in N words and a signed one above.
#[inline(always)]
fn combine<const N: usize>(a: &[u64; N], b: &[u64; N], f: i64, g: i64) -> ([u64; N], i64) {
    let (mut out, mut carry) = ([0; N], 0i128);
    for i in 0..N {
        // Below 2^96 in magnitude, since |f| + |g| is at most 2^31.
        let sum = a[i] as i128 * f as i128 + b[i] as i128 * g as i128 + carry;
        (out[i], carry) = (sum as u64, sum >> 64);
    }
    (out, carry as i64)
}

/// x / 2^31, rounded down, with the word above.
#[inline(always)]
fn shift<const N: usize>(x: &[u64; N], above: i64) -> ([u64; N], i64) {
    let mut out = *x;
    for i in 0..N {
        let next = if i + 1 < N { x[i + 1] } else { above as u64 };
        out[i] = x[i] >> STEPS | next << (64 - STEPS);
    }
    (out, above >> STEPS)
}

/// (a f + b g) / 2^31 without its sign, and whether it had one.
#[inline(always)]
fn halve<const N: usize>(a: &[u64; N], b: &[u64; N], f: i64, g: i64) -> ([u64; N], bool) {
    let (sum, above) = combine(a, b, f, g);
    let (mut out, above) = shift(&sum, above);
    if above < 0 {
        out = sub(&[0; N], &out).0;
    }
    (out, above < 0)
}

/// (u f + v g) / 2^31 modulo p, for u and v below p.
#[inline(always)]
fn halve_modulo<F, const N: usize>(u: &[u64; N], v: &[u64; N], f: i64, g: i64) -> [u64; N]
where
    F: PrimeElement<Words = [u64; N]>,
{
    let (p, negated_inverse) = const { (Constants::<F, N>::P, Constants::<F, N>::NEGATED_INVERSE) };
    let (mut sum, mut above) = combine(u, v, f, g);
    let q = sum[0].wrapping_mul(negated_inverse) & LOW;
    let mut carry = 0;
    for i in 0..N {
        let x = sum[i] as u128 + q as u128 * p[i] as u128 + carry as u128;
        (sum[i], carry) = (x as u64, (x >> 64) as u64);
    }
    above += carry as i64;
    // Above -p, and below 2 p.
    let (out, above) = shift(&sum, above);
    if above < 0 {
        let (mut out, mut carry) = (out, false);
        for i in 0..N {
            (out[i], carry) = out[i].carrying_add(p[i], carry);
        }
        return out;
    }
    let (less, borrow) = sub(&out, &p);
    if borrow { out } else { less }
}

/// The word that 31 steps see of a: the lowest 31 bits, and those at the height of the greater of both numbers.
#[inline(always)]
fn approximate<const N: usize>(a: &[u64; N], highest: usize, zeros: u32) -> u64 {
    if highest == 0 {
        return a[0];
    }
    let high = a[highest] << zeros | a[highest - 1] >> 1 >> (63 - zeros);
    a[0] & LOW | high >> STEPS << STEPS
}

/// The inverse of an element that is canonical and not zero, in Montgomery form.
fn invert<F: PrimeElement<Words = [u64; N]>, const N: usize>(x: &[u64; N]) -> [u64; N] {
    let p = const { Constants::<F, N>::P };
    let bits = const { 64 * N as u32 - Constants::<F, N>::P[N - 1].leading_zeros() };
    let (mut a, mut b) = (*x, p);
    // a = x u and b = x v modulo p.
    let (mut u, mut v) = ([0; N], [0; N]);
    u[0] = 1;
    for _ in 0..(2 * bits - 1).div_ceil(STEPS) {
        let highest = (0..N).rev().find(|&i| a[i] | b[i] != 0).unwrap_or(0);
        let zeros = (a[highest] | b[highest]).leading_zeros();
        let (mut s, mut t) = (approximate(&a, highest, zeros), approximate(&b, highest, zeros));
        let (mut f0, mut g0, mut f1, mut g1) = (1i64, 0i64, 0i64, 1i64);
        for _ in 0..STEPS {
            let odd = (s & 1).wrapping_neg();
            let swap = odd & u64::from(s < t).wrapping_neg();
            let exchange = |x: &mut u64, y: &mut u64| {
                let d = (*x ^ *y) & swap;
                (*x, *y) = (*x ^ d, *y ^ d);
            };
            exchange(&mut s, &mut t);
            let exchange = |x: &mut i64, y: &mut i64| {
                let d = (*x ^ *y) & swap as i64;
                (*x, *y) = (*x ^ d, *y ^ d);
            };
            exchange(&mut f0, &mut f1);
            exchange(&mut g0, &mut g1);
            s = s.wrapping_sub(t & odd) >> 1;
            f0 -= f1 & odd as i64;
            g0 -= g1 & odd as i64;
            f1 *= 2;
            g1 *= 2;
        }
        let (next, negative) = halve(&a, &b, f0, g0);
        if negative {
            (f0, g0) = (-f0, -g0);
        }
        let (below, negative) = halve(&a, &b, f1, g1);
        if negative {
            (f1, g1) = (-f1, -g1);
        }
        (a, b) = (next, below);
        (u, v) = (halve_modulo::<F, N>(&u, &v, f0, g0), halve_modulo::<F, N>(&u, &v, f1, g1));
    }
    // b is 1. The words were x 2^(64 N): the inverse's are 2^(128 N) times v.
    scalar::mul::<F, N>(&v, &const { power_of_two(192 * N as u32, &F::MODULUS) })
}

/// The inverses of eight canonical elements, by one; `None` if one is zero.
pub(super) fn invert_all<F: PrimeElement<Words = [u64; N]>, const N: usize>(x: &[F; LANES]) -> Option<[F; LANES]> {
    let mut out = *x;
    let mut product = *x[0].words();
    for i in 1..LANES {
        *out[i].words_mut() = product;
        product = scalar::mul::<F, N>(&product, x[i].words());
    }
    if product == [0; N] {
        return None;
    }
    let mut inverse = invert::<F, N>(&product);
    for i in (1..LANES).rev() {
        *out[i].words_mut() = scalar::mul::<F, N>(out[i].words(), &inverse);
        inverse = scalar::mul::<F, N>(&inverse, x[i].words());
    }
    *out[0].words_mut() = inverse;
    Some(out)
}

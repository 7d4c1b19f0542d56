//! One element at a time: the body of plain Rust, and the scalar parts of constants and of sums of lanes.
//!
//! Words are canonical before and after. The modulus leaves the highest bit of its N words free. So a sum of two
//! elements fits the words, and so does every row of the product: its two carries together are below 2^64 ("no-carry"
//! CIOS, Botrel, Piellard, Housni, Kubjas, Tabaie: Gnark, 2022).

use core::marker::PhantomData;

use super::PrimeElement;
use super::modulus::{negated_inverse, power_of_two};

/// The modulus of `F`, and constants that follow from it.
pub(super) struct Constants<F, const N: usize>(PhantomData<F>);

impl<F: PrimeElement<Words = [u64; N]>, const N: usize> Constants<F, N> {
    /// p.
    pub(super) const P: [u64; N] = {
        assert!(F::MODULUS[0] % 2 == 1, "the modulus is odd");
        assert!(F::MODULUS[N - 1] < u64::MAX >> 1, "the modulus leaves the highest bit free");
        F::MODULUS
    };
    /// -1/p mod 2^64.
    pub(super) const NEGATED_INVERSE: u64 = negated_inverse(Self::P[0]);
    /// 2^(64 N + 64 N) mod p: the Montgomery form of 2^(64 N).
    pub(super) const R_SQUARED: [u64; N] = power_of_two(128 * N as u32, &Self::P);
}

/// x - p if that is not negative, otherwise x; for x below 2 p.
#[inline(always)]
fn subtract_modulus<F: PrimeElement<Words = [u64; N]>, const N: usize>(x: [u64; N]) -> [u64; N] {
    let p = const { Constants::<F, N>::P };
    let (mut less, mut borrow) = (x, false);
    for i in 0..N {
        (less[i], borrow) = x[i].borrowing_sub(p[i], borrow);
    }
    core::array::from_fn(|i| core::hint::select_unpredictable(borrow, x[i], less[i]))
}

/// a + b.
#[inline(always)]
pub(super) fn add<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let (mut sum, mut carry) = (*a, false);
    for i in 0..N {
        (sum[i], carry) = a[i].carrying_add(b[i], carry);
    }
    subtract_modulus::<F, N>(sum)
}

/// a - b.
#[inline(always)]
pub(super) fn sub<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let p = const { Constants::<F, N>::P };
    let (mut out, mut borrow) = (*a, false);
    for i in 0..N {
        (out[i], borrow) = a[i].borrowing_sub(b[i], borrow);
    }
    let mask = (borrow as u64).wrapping_neg();
    let mut carry = false;
    for i in 0..N {
        (out[i], carry) = out[i].carrying_add(p[i] & mask, carry);
    }
    out
}

/// c + a b + d, as (low, high).
#[inline(always)]
fn multiply_add(c: u64, a: u64, b: u64, d: u64) -> (u64, u64) {
    let x = a as u128 * b as u128 + c as u128 + d as u128;
    (x as u64, (x >> 64) as u64)
}

/// a b 2^(-64 N).
#[inline(always)]
pub(super) fn mul<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let (p, negated_inverse) = const { (Constants::<F, N>::P, Constants::<F, N>::NEGATED_INVERSE) };
    let mut t = [0; N];
    for &b in b {
        let (low, mut high) = multiply_add(t[0], a[0], b, 0);
        let m = low.wrapping_mul(negated_inverse);
        let (_, mut carry) = multiply_add(low, m, p[0], 0);
        for j in 1..N {
            let (low, next) = multiply_add(t[j], a[j], b, high);
            high = next;
            (t[j - 1], carry) = multiply_add(low, m, p[j], carry);
        }
        t[N - 1] = high + carry;
    }
    subtract_modulus::<F, N>(t)
}

/// x 2^(-64 N) modulo p, for x below 2^(128 N + 64).
#[inline(always)]
pub(super) fn reduce_wide<F: PrimeElement<Words = [u64; N]>, const N: usize>(
    low: &[u64; N],
    high: &[u64; N],
    top: u64,
) -> [u64; N] {
    let (p, negated_inverse) = const { (Constants::<F, N>::P, Constants::<F, N>::NEGATED_INVERSE) };
    // The low half, divided by 2^(64 N): below p + 1.
    let mut t = *low;
    for _ in 0..N {
        let m = t[0].wrapping_mul(negated_inverse);
        let (_, mut carry) = multiply_add(t[0], m, p[0], 0);
        for j in 1..N {
            (t[j - 1], carry) = multiply_add(t[j], m, p[j], carry);
        }
        t[N - 1] = carry;
    }
    let t = subtract_modulus::<F, N>(t);
    // The rest is an integer h + 2^(64 N) top. A product with 2^(128 N) 2^(-64 N) reduces it modulo p and keeps its
    // weight; top takes two products.
    let r_squared = const { Constants::<F, N>::R_SQUARED };
    let one = {
        let mut one = [0; N];
        one[0] = 1;
        one
    };
    let mut top_word = [0; N];
    top_word[0] = top;
    let top = mul::<F, N>(&r_squared, &top_word);
    // r_squared is canonical, hence the product is below 2 p for any words h.
    let high = mul::<F, N>(&mul::<F, N>(&r_squared, high), &one);
    add::<F, N>(&add::<F, N>(&t, &high), &top)
}

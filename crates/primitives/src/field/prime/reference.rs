//! The arithmetic as textbooks write it, word by word. Every other body is compared with it.
//!
//! Elements are canonical before and after.

use alloc::vec;

use super::PrimeElement;

/// x minus the largest multiple of p that leaves it non-negative, for the number x = `high` 2^(64 N) + `low`.
fn reduce<F: PrimeElement<Words = [u64; N]>, const N: usize>(mut high: u64, mut low: [u64; N]) -> F {
    loop {
        let (mut less, mut borrow) = (low, false);
        for (x, p) in less.iter_mut().zip(F::MODULUS) {
            (*x, borrow) = x.borrowing_sub(p, borrow);
        }
        let (above, below_zero) = high.borrowing_sub(0, borrow);
        if below_zero {
            return F::from_words(low);
        }
        (high, low) = (above, less);
    }
}

/// a + b.
pub fn add<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: F, b: F) -> F {
    let (mut sum, mut carry) = (*a.words(), false);
    for (x, b) in sum.iter_mut().zip(b.words()) {
        (*x, carry) = x.carrying_add(*b, carry);
    }
    reduce(carry as u64, sum)
}

/// -a.
pub fn neg<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: F) -> F {
    let (mut difference, mut borrow) = (F::MODULUS, false);
    for (x, a) in difference.iter_mut().zip(a.words()) {
        (*x, borrow) = x.borrowing_sub(*a, borrow);
    }
    reduce(0, difference)
}

/// a - b.
pub fn sub<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: F, b: F) -> F {
    add(a, neg(b))
}

/// a b: the whole product, then N steps of Montgomery's reduction, each of which clears the lowest word.
pub fn mul<F: PrimeElement<Words = [u64; N]>, const N: usize>(a: F, b: F) -> F {
    let mut t = vec![0u64; 2 * N + 1];
    let add_product = |t: &mut [u64], x: u64, y: &[u64; N]| {
        let mut carry = 0;
        for (j, t) in t.iter_mut().enumerate() {
            let sum = *t as u128 + x as u128 * *y.get(j).unwrap_or(&0) as u128 + carry;
            (*t, carry) = (sum as u64, sum >> 64);
        }
        assert_eq!(carry, 0, "the product fits its words");
    };
    for (i, x) in a.words().iter().enumerate() {
        add_product(&mut t[i..], *x, b.words());
    }
    // 1/p mod 2^64 by Newton's iteration: each step doubles the number of right bits.
    let inverse = (0..6).fold(1u64, |y, _| y.wrapping_mul(2u64.wrapping_sub(F::MODULUS[0].wrapping_mul(y))));
    for i in 0..N {
        let m = t[i].wrapping_mul(inverse.wrapping_neg());
        add_product(&mut t[i..], m, &F::MODULUS);
        assert_eq!(t[i], 0, "m was chosen so");
    }
    reduce(t[2 * N], *t[N..2 * N].as_array().expect("N words"))
}

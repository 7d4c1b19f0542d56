//! What the arithmetic needs to know of a modulus, computed at compile time.

/// -1/p mod 2^64, for the lowest word of an odd p.
pub(super) const fn negated_inverse(p: u64) -> u64 {
    // Each step doubles the number of right bits; p is its own inverse modulo 8.
    let mut inverse = p;
    let mut i = 0;
    while i < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(inverse)));
        i += 1;
    }
    inverse.wrapping_neg()
}

/// a - b and the borrow.
pub(super) const fn sub<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], bool) {
    let (mut out, mut borrow) = (*a, false);
    let mut i = 0;
    while i < N {
        let (less, first) = a[i].overflowing_sub(b[i]);
        let (less, second) = less.overflowing_sub(borrow as u64);
        (out[i], borrow) = (less, first | second);
        i += 1;
    }
    (out, borrow)
}

/// 2^k mod p, for p below 2^(64 N - 1).
pub(super) const fn power_of_two<const N: usize>(k: u32, p: &[u64; N]) -> [u64; N] {
    let mut x = [0; N];
    x[0] = 1;
    let mut step = 0;
    while step < k {
        let mut i = N;
        while i > 0 {
            i -= 1;
            x[i] = x[i] << 1 | if i > 0 { x[i - 1] >> 63 } else { 0 };
        }
        let (less, borrow) = sub(&x, p);
        if !borrow {
            x = less;
        }
        step += 1;
    }
    x
}

//! Constants that the arithmetic needs for a modulus, computed at compile time.

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

/// The bits of `x` in limbs of 52; M of them hold all bits.
pub(super) const fn limbs<const N: usize, const M: usize>(x: &[u64; N]) -> [u64; M] {
    let mut out = [0; M];
    let mut i = 0;
    while i < M {
        let (word, shift) = (52 * i / 64, 52 * i % 64);
        let mut limb = if word < N { x[word] >> shift } else { 0 };
        if shift > 12 && word + 1 < N {
            limb |= x[word + 1] << (64 - shift);
        }
        out[i] = limb & ((1 << 52) - 1);
        i += 1;
    }
    out
}

/// k x in limbs of 52 bits, the highest as large as it gets.
pub(super) const fn times<const M: usize>(k: u64, x: &[u64; M]) -> [u64; M] {
    let (mut out, mut carry) = (*x, 0);
    let mut i = 0;
    while i < M {
        let sum = k * x[i] + carry;
        out[i] = if i + 1 < M { sum & ((1 << 52) - 1) } else { sum };
        carry = sum >> 52;
        i += 1;
    }
    out
}

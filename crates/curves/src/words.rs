//! Integers of 256 bits, little-endian, modulo 2^256.

/// Words of an integer; the highest bit of a magnitude is its sign.
pub(super) type Words = [u64; 4];

/// The sign of a magnitude, in its highest word.
pub(super) const SIGN: u64 = 1 << 63;

/// The integer of a field's representation.
#[inline(always)]
pub(super) fn words(integer: &impl AsRef<[u64]>) -> Words {
    let mut out = [0; 4];
    for (out, word) in out.iter_mut().zip(integer.as_ref()) {
        *out = *word;
    }
    out
}

/// a - b, and whether b is greater.
#[inline(always)]
pub(super) fn sub(a: &Words, b: &Words) -> (Words, bool) {
    let (mut out, mut borrow) = (*a, false);
    for i in 0..4 {
        (out[i], borrow) = a[i].borrowing_sub(b[i], borrow);
    }
    (out, borrow)
}

/// a + b.
#[inline(always)]
pub(super) fn add(a: &Words, b: &Words) -> Words {
    let (mut out, mut carry) = (*a, false);
    for i in 0..4 {
        (out[i], carry) = a[i].carrying_add(b[i], carry);
    }
    out
}

/// a b, of 512 bits.
#[inline(always)]
pub(super) fn product(a: &Words, b: &Words) -> [u64; 8] {
    let mut out = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            (out[i + j], carry) = a[i].carrying_mul_add(b[j], out[i + j], carry);
        }
        out[i + 4] = carry;
    }
    out
}

/// a b modulo 2^256.
#[inline(always)]
pub(super) fn product_low(a: &Words, b: &Words) -> Words {
    let mut out = [0; 4];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 - i {
            (out[i + j], carry) = a[i].carrying_mul_add(b[j], out[i + j], carry);
        }
    }
    out
}

/// The number of bits.
#[inline(always)]
pub(super) fn length(a: &Words) -> usize {
    (0..4).rev().find(|&i| a[i] != 0).map_or(0, |i| 64 * i + 64 - a[i].leading_zeros() as usize)
}

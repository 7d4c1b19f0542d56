//! Scalars and their signed windows.

/// A scalar, least significant word first.
pub type Scalar = [u64; 4];

/// Significant bits.
pub(super) fn bits(scalar: &Scalar) -> u32 {
    (0..4).rev().find(|i| scalar[*i] != 0).map_or(0, |i| 64 * i as u32 + 64 - scalar[i].leading_zeros())
}

/// Random words, always the same (SplitMix64).
pub(crate) fn random_words() -> impl FnMut() -> u64 {
    let mut state = 0x5EED_u64;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = state;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }
}

/// 2^`log` scalars of so many random bits, always the same.
pub(super) fn random(log: u32, bits: u32) -> Vec<Scalar> {
    let mut next = random_words();
    let mask = |word: u32| match bits.saturating_sub(64 * word) {
        0 => 0,
        n @ 1..=63 => (1 << n) - 1,
        _ => u64::MAX,
    };
    (0..1_usize << log).map(|_| [0, 1, 2, 3].map(|word| next() & mask(word))).collect()
}

/// The digits of a scalar in signed windows, the lowest first: s = sum of d_j 2^(w_0 + .. + w_(j-1)), each from
/// -2^(w-1) + 1 to 2^(w-1).
///
/// The windows must have at least one bit more than the scalar: the last takes the carry.
pub fn recode(scalar: &Scalar, windows: &[u32], digits: &mut Vec<i32>) {
    digits.clear();
    let (mut offset, mut carry) = (0, 0);
    for &w in windows {
        let (word, shift) = (offset / 64, offset % 64);
        let mut value = scalar.get(word as usize).map_or(0, |x| x >> shift);
        if shift + w > 64 {
            value |= scalar.get(word as usize + 1).map_or(0, |x| x << (64 - shift));
        }
        let digit = (value & ((1 << w) - 1)) as i64 + carry;
        carry = i64::from(digit > 1 << (w - 1));
        digits.push((digit - (carry << w)) as i32);
        offset += w;
    }
    debug_assert_eq!(carry, 0, "the windows take the carry");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_sum_up_to_the_scalar() {
        for windows in [vec![12; 22], [vec![12; 6], vec![13; 14]].concat(), vec![1; 254], vec![16; 16], vec![3; 85]] {
            let mut scalars = random(6, 253);
            scalars.extend([[0; 4], [1, 0, 0, 0], [u64::MAX, u64::MAX, u64::MAX, (1 << 61) - 1]]);
            for scalar in scalars {
                let mut digits = Vec::new();
                recode(&scalar, &windows, &mut digits);
                // Horner from the top, in 64-bit limbs with sign extension.
                let mut sum = [0_i128; 5];
                let mut offset = 0;
                for (d, w) in digits.iter().zip(&windows) {
                    assert!(*d <= 1 << (w - 1) && *d > -(1 << (w - 1)), "{d} in {w} bits");
                    let (word, shift) = ((offset / 64) as usize, offset % 64);
                    let value = i128::from(*d) << shift;
                    sum[word] += value & i128::from(u64::MAX);
                    sum[word + 1] += value >> 64;
                    offset += w;
                }
                let mut carry = 0_i128;
                for (limb, expected) in sum.iter().zip(scalar.iter().chain([&0])) {
                    let value = limb + carry;
                    assert_eq!(value as u64, *expected);
                    carry = value >> 64;
                }
                assert_eq!(carry, 0);
            }
        }
    }
}

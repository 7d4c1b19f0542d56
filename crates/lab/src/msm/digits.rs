//! Scalars and their digits in signed windows.

/// A scalar, least significant word first.
pub type Scalar = [u64; 4];

/// Number of significant bits.
pub(super) fn bits(scalar: &Scalar) -> u32 {
    (0..4).rev().find(|i| scalar[*i] != 0).map_or(0, |i| 64 * i as u32 + 64 - scalar[i].leading_zeros())
}

/// Word `index` of a fixed pseudorandom sequence: SplitMix64, whose state is linear in the index.
#[inline]
fn random_word(index: u64) -> u64 {
    let mut x = 0x5EED_u64.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The words of that sequence, in order.
pub(crate) fn random_words() -> impl FnMut() -> u64 {
    let mut index = 0;
    move || {
        index += 1;
        random_word(index - 1)
    }
}

/// Scalar `index` of a fixed sequence of random scalars of `bits` bits. Each takes four words of the sequence above.
#[inline]
pub(super) fn random(index: usize, bits: u32) -> Scalar {
    let mask = |word: u32| match bits.saturating_sub(64 * word) {
        0 => 0,
        n @ 1..=63 => (1 << n) - 1,
        _ => u64::MAX,
    };
    [0, 1, 2, 3].map(|word| random_word(4 * index as u64 + u64::from(word)) & mask(word))
}

/// Writes the digits of a scalar in signed windows, the lowest first: s = sum of d_j 2^(w_0 + .. + w_(j-1)), with each
/// digit from -2^(w-1) + 1 to 2^(w-1).
///
/// The windows must have at least one bit more than the scalar in all, since the last window takes the carry.
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

/// Digits of one scalar after another, each read by itself.
///
/// Let c be the sum of (2^(w_j - 1) - 1) 2^(w_0 + .. + w_(j-1)). Then s + c has in window j, without carries, the digit of
/// [`recode`] plus 2^(w_j - 1) - 1, since this sum is from 0 to 2^w_j - 1.
#[derive(Clone, Debug)]
pub(super) struct Digits {
    /// The first bit and the width of each window.
    windows: Vec<(u32, u32)>,
    added: [u64; 5],
    /// The scalar's s + c.
    sum: [u64; 5],
}

/// Windows that begin above this bit have the digit 0: a scalar has 256 bits, and the window at this bit takes the carry.
const LAST: u32 = 256;

impl Digits {
    pub(super) fn new(windows: &[u32]) -> Self {
        let (mut out, mut offset) = (Self { windows: Vec::new(), added: [0; 5], sum: [0; 5] }, 0);
        for &w in windows {
            let ones = if offset <= LAST { offset..offset + w - 1 } else { 0..0 };
            for bit in ones {
                out.added[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            out.windows.push((offset, w));
            offset += w;
        }
        out
    }
    /// Takes a scalar.
    #[inline]
    pub(super) fn load(&mut self, scalar: &Scalar) {
        let mut carry = false;
        for (i, added) in self.added.iter().enumerate() {
            let (word, first) = added.overflowing_add(scalar.get(i).copied().unwrap_or(0));
            let (word, second) = word.overflowing_add(u64::from(carry));
            (self.sum[i], carry) = (word, first || second);
        }
    }
    /// The scalar's digit in a window.
    #[inline]
    pub(super) fn digit(&self, window: usize) -> i32 {
        let (offset, w) = self.windows[window];
        if offset > LAST {
            return 0;
        }
        let (word, shift) = ((offset / 64) as usize, offset % 64);
        let [low, high] = [word, word + 1].map(|i| self.sum.get(i).copied().unwrap_or(0));
        let value = ((u128::from(high) << 64 | u128::from(low)) >> shift) as u64 & ((1 << w) - 1);
        (value as i64 - ((1 << (w - 1)) - 1)) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_cut_from_one_sequence_of_words() {
        // SplitMix64 from 0x5EED.
        let words = [
            0x09F1_FD9D_03F0_A9B4,
            0x5532_7416_1BBF_8475,
            0x5D5B_CA46_96B3_43B3,
            0x70D2_9B6C_7D22_528D,
            0x0BF2_B716_F991_5475,
            0x5EB7_F92B_9538_7CCA,
            0x296C_D0F2_C21D_7F90,
            0x1289_A698_05C1_25B1,
        ];
        let mut next = random_words();
        assert_eq!([(); 8].map(|()| next()), words);
        assert_eq!(random(0, 256), words[..4]);
        assert_eq!(random(1, 130), [words[4], words[5], words[6] & 3, 0]);
    }

    #[test]
    fn digits_sum_up_to_the_scalar() {
        for windows in [
            vec![12; 22],
            [vec![12; 6], vec![13; 14]].concat(),
            vec![1; 254],
            vec![16; 16],
            vec![3; 85],
            vec![5; 90],
            vec![20; 14],
        ] {
            let mut scalars: Vec<Scalar> = (0..64).map(|i| random(i, 253)).collect();
            scalars.extend([[0; 4], [1, 0, 0, 0], [u64::MAX, u64::MAX, u64::MAX, (1 << 61) - 1]]);
            for scalar in scalars {
                let mut digits = Vec::new();
                recode(&scalar, &windows, &mut digits);
                // Horner from the top, in 64-bit limbs with sign extension.
                let mut sum = [0_i128; 9];
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
                for (limb, expected) in sum.iter().zip(scalar.iter().chain(&[0; 5])) {
                    let value = limb + carry;
                    assert_eq!(value as u64, *expected);
                    carry = value >> 64;
                }
                assert_eq!(carry, 0);
                let mut single = Digits::new(&windows);
                single.load(&scalar);
                assert!(digits.iter().enumerate().all(|(window, digit)| single.digit(window) == *digit));
            }
        }
    }
}

//! Sums in limbs: wide unsigned integers as field elements of few bits each, lowest first.

use evergrove_primitives::Goldilocks;

/// A width of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// Bits of a limb.
    pub limb_bits: usize,
    /// Limbs of a sum.
    pub limbs: usize,
}

/// Sums of numbers: 128 bits, where 2^40 numbers of 63 bits need 103.
pub const SUM: Width = Width { limb_bits: 32, limbs: 4 };
/// Sums of products: 192 bits, where 2^40 products of 126 bits need 166.
///
/// A factor has three limbs of 24 bits, so that a limb of a product of two is below 3 * 2^48 and 2^12 of them still add up to
/// an integer below 2^62, in the field without a wrap.
pub const PRODUCTS: Width = Width { limb_bits: 24, limbs: 8 };
/// Limbs of a factor of a product.
pub const FACTOR_LIMBS: usize = 3;

impl Width {
    /// Bits of a sum.
    pub(super) const fn bits(&self) -> usize {
        self.limb_bits * self.limbs
    }

    const fn mask(&self) -> u64 {
        (1 << self.limb_bits) - 1
    }

    /// The limbs of an integer below 2^128.
    pub(super) fn split(&self, mut x: u128) -> Vec<Goldilocks> {
        let mut out = Vec::with_capacity(self.limbs);
        for _ in 0..self.limbs {
            out.push(Goldilocks::new(x as u64 & self.mask()));
            x >>= self.limb_bits;
        }
        out
    }

    /// The sum of two integers, or `None` where it has more bits than the width.
    pub(super) fn add(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Option<Vec<Goldilocks>> {
        let mut carry = 0;
        let limbs = left.iter().zip(right).map(|(l, r)| {
            let sum = l.as_u64() + r.as_u64() + carry;
            carry = sum >> self.limb_bits;
            Goldilocks::new(sum & self.mask())
        });
        let limbs = limbs.collect();
        (carry == 0).then_some(limbs)
    }

    /// True when these are limbs: of this number and in range.
    pub(super) fn contains(&self, limbs: &[Goldilocks]) -> bool {
        limbs.len() == self.limbs && limbs.iter().all(|l| l.as_u64() <= self.mask())
    }
}

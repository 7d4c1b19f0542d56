//! Sums in limbs: wide unsigned integers as field elements with few bits each, the lowest limb first.

use evergrove_primitives::Goldilocks;

/// The width of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// Bits per limb.
    pub limb_bits: usize,
    /// Limbs per sum.
    pub limbs: usize,
}

/// Sums of numbers: 128 bits. 2^40 numbers of 63 bits need 103 bits.
pub const SUM: Width = Width { limb_bits: 32, limbs: 4 };
/// Sums of products: 192 bits. 2^40 products of 126 bits need 166 bits.
///
/// A factor has three limbs of 24 bits, so a limb of a product is below 3 * 2^48. The sum of 2^12 such limbs is an
/// integer below 2^62, which does not wrap in the field.
pub const PRODUCTS: Width = Width { limb_bits: 24, limbs: 8 };
/// Limbs per factor of a product.
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

    /// The sum of two integers; `None` if it has more bits than the width.
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

    /// True if the limbs have the right number and range.
    pub(super) fn contains(&self, limbs: &[Goldilocks]) -> bool {
        limbs.len() == self.limbs && limbs.iter().all(|l| l.as_u64() <= self.mask())
    }
}

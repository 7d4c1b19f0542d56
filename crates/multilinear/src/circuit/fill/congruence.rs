//! The columns of congruences.

use core::array;

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tables::congruence::{CARRIES, CARRY, EQUATIONS, LIMB_BITS, LIMBS, Limbs, MODULUS, QUOTIENT};

/// 1 / p modulo 2^16.
const INVERSE: u64 = {
    // Newton's iteration doubles the number of correct bits.
    let (mut x, mut i) = (1_u64, 0);
    while i < 4 {
        x = x.wrapping_mul(2_u64.wrapping_sub(MODULUS[0].wrapping_mul(x)));
        i += 1;
    }
    x & 0xffff
};

/// Quotient and carries for these products, each with a sign, and this linear part. If there are none, those of the low
/// half.
pub(crate) fn fill(products: &[[Limbs<i64>; 2]], linear: &Limbs<i64>, columns: &mut [Goldilocks]) {
    let mut quotient = [0_i64; LIMBS];
    let mut carry = 0_i64;
    let at = |limbs: &Limbs<i64>, i: usize| limbs[i];
    for k in 0..2 * EQUATIONS {
        let pairs = (k + 1).saturating_sub(LIMBS)..LIMBS.min(k + 1);
        let mut total = carry + linear.get(k).copied().unwrap_or(0);
        for [a, b] in products {
            total += pairs.clone().map(|i| at(a, i) * at(b, k - i)).sum::<i64>();
        }
        total -= pairs.filter(|i| *i < k).map(|i| quotient[i] * MODULUS[k - i] as i64).sum::<i64>();
        if k < LIMBS {
            // The lowest bits cancel, with a limb of either sign.
            let limb = (total as u64).wrapping_mul(INVERSE).wrapping_add(QUOTIENT) & 0xffff;
            quotient[k] = limb as i64 - QUOTIENT as i64;
            columns[k] = Goldilocks::new(limb);
            total -= quotient[k] * MODULUS[0] as i64;
        }
        carry = total >> LIMB_BITS;
        if k % 2 == 1 && k / 2 < CARRIES {
            let stored = (carry + CARRY as i64) as u64;
            columns[LIMBS + k - 1] = Goldilocks::new(stored & 0xffff);
            columns[LIMBS + k] = Goldilocks::reduce(stored >> LIMB_BITS);
        }
    }
}

/// The limbs of a number, which are those of columns.
pub(crate) fn integers(columns: &[Goldilocks]) -> Limbs<i64> {
    array::from_fn(|i| columns[i].as_u64() as i64)
}

/// The number that limbs represent, in words of 64 bits: for limbs below 2^16.
pub(crate) fn words(limbs: &Limbs<i64>) -> [u64; 6] {
    array::from_fn(|i| (0..4).map(|j| (limbs[4 * i + j] as u64 & 0xffff) << (LIMB_BITS * j)).sum())
}

/// The limbs of a number.
pub(crate) fn limbs(words: &[u64; 6]) -> Limbs<Goldilocks> {
    array::from_fn(|i| Goldilocks::new(words[i / 4] >> (LIMB_BITS * (i % 4)) & 0xffff))
}

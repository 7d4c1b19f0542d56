//! Elements of the base field of BLS12-381 as 14 limbs of 28 bits.

use ark_bls12_381::Fq;
use ark_ff::{BigInt, PrimeField};
use evergrove_primitives::Goldilocks;

/// Limbs per element.
pub const LIMBS: usize = 14;
/// Bits per limb.
pub const LIMB_BITS: usize = 28;

/// p, as limbs.
pub const MODULUS: Limbs = {
    let (words, mut limbs, mut i) = (&<Fq as PrimeField>::MODULUS.0, [0; LIMBS], 0);
    while i < LIMBS {
        limbs[i] = window(words, i);
        i += 1;
    }
    limbs
};

/// 2^28.
pub const BASE: u64 = 1 << LIMB_BITS;

/// Limbs, the least significant first.
pub type Limbs = [u64; LIMBS];

/// Bits 28 i to 28 i + 27 of a number.
const fn window(words: &[u64; 6], i: usize) -> u64 {
    let (word, shift) = (LIMB_BITS * i / 64, LIMB_BITS * i % 64);
    let mut bits = words[word] >> shift;
    if shift + LIMB_BITS > 64 && word + 1 < 6 {
        bits |= words[word + 1] << (64 - shift);
    }
    bits & (BASE - 1)
}

/// The limbs of an element.
pub fn to_limbs(x: &Fq) -> Limbs {
    let words = x.into_bigint().0;
    core::array::from_fn(|i| window(&words, i))
}

/// The element with these limbs; `None` unless each limb is below 2^28 and the number is below p.
pub fn from_limbs(limbs: &Limbs) -> Option<Fq> {
    if limbs.iter().any(|l| *l >= BASE) || limbs[LIMBS - 1] > MODULUS[LIMBS - 1] {
        return None;
    }
    // The highest limb ends at bit 381.
    let mut words = [0; 6];
    for (i, limb) in limbs.iter().enumerate() {
        let (word, shift) = (LIMB_BITS * i / 64, LIMB_BITS * i % 64);
        words[word] |= limb << shift;
        if shift + LIMB_BITS > 64 && word + 1 < 6 {
            words[word + 1] |= limb >> (64 - shift);
        }
    }
    Fq::from_bigint(BigInt(words))
}

/// The element with these limbs modulo p. Limbs may have any size.
pub fn reduce_limbs(limbs: &Limbs) -> Fq {
    limbs.iter().rev().fold(Fq::from(0_u64), |sum, l| sum * Fq::from(BASE) + Fq::from(*l))
}

/// The limbs as field elements.
pub fn to_elements(limbs: &Limbs) -> [Goldilocks; LIMBS] {
    limbs.map(Goldilocks::reduce)
}

#[cfg(test)]
mod tests {
    use ark_ff::Field;

    use super::*;

    #[test]
    fn limbs_are_those_of_the_number() {
        for x in [Fq::from(0_u64), Fq::from(1_u64), -Fq::from(1_u64), Fq::from(3_u64).pow([977]), -Fq::from(BASE)] {
            let limbs = to_limbs(&x);
            assert_eq!(from_limbs(&limbs), Some(x));
            assert_eq!(reduce_limbs(&limbs), x);
        }
        let words = <Fq as PrimeField>::MODULUS.0;
        assert_eq!(MODULUS, core::array::from_fn(|i| window(&words, i)));
        assert_eq!(from_limbs(&MODULUS), None);
        assert_eq!(reduce_limbs(&MODULUS), Fq::from(0_u64));
        let mut limbs = to_limbs(&-Fq::from(1_u64));
        assert_eq!(limbs[0] + 1, MODULUS[0]);
        limbs[13] |= 1 << 20;
        assert_eq!(from_limbs(&limbs), None);
        let mut limbs = [0; LIMBS];
        limbs[3] = BASE;
        assert_eq!(from_limbs(&limbs), None);
    }
}

//! The columns of points.

use core::array;

use evergrove_primitives::Goldilocks;
use evergrove_verifier::algebra::Ground;
use evergrove_verifier::tables::congruence::{self, LIMB_BITS, LIMBS, Limbs, MODULUS};
use evergrove_verifier::tables::point::{
    ACTIVE, CARRIES, COMPLEMENT, COMPLEMENTS, CONGRUENCES, COORDINATE, COORDINATES, CURVE, EACH, GROUP, NUMBERS, SPLIT,
    SQUARE, coordinate, split,
};

use super::congruence::{fill, integers, limbs, words};

/// Fills the columns of numbers (of their low 56 bits), and the square.
pub(crate) fn fill_numbers(columns: &mut [Goldilocks], numbers: &[Goldilocks; NUMBERS]) {
    for (which, numbers) in numbers.chunks_exact(EACH).enumerate() {
        let columns = &mut columns[COORDINATES + which * COORDINATE..][..COORDINATE];
        let bits = |number: u64, from: usize, count: usize| Goldilocks::new(number >> from & ((1 << count) - 1));
        for (i, number) in numbers.iter().map(|number| number.as_u64()).enumerate() {
            let first = i / 2 * EACH;
            if i % 2 == 0 {
                let count = if i / 2 < SPLIT { 4 } else { 3 };
                for limb in 0..count {
                    columns[first + limb] = bits(number, limb * LIMB_BITS, if limb == 3 { 8 } else { LIMB_BITS });
                }
            } else {
                columns[LIMBS + i / 2] = bits(number, 0, 8);
                for limb in 0..3 {
                    columns[first + 4 + limb] = bits(number, 8 + limb * LIMB_BITS, LIMB_BITS);
                }
            }
        }
    }
    let x: Limbs<Goldilocks> = coordinate(&mut Ground, columns, 0);
    let square = square(&words(&integers(&x)));
    columns[SQUARE..CONGRUENCES].copy_from_slice(&limbs(&square));
}

/// Fills the columns that follow from the coordinates, the square and the bit.
pub(crate) fn fill_congruences(columns: &mut [Goldilocks]) {
    let both: [Limbs<i64>; 2] = [0, 1].map(|which| {
        let columns = &columns[COORDINATES + which * COORDINATE..][..COORDINATE];
        let limb = |i: usize| columns[i].as_u64() as i64;
        array::from_fn(|i| limb(i) + split(i).map_or(0, |high| limb(LIMBS + high) << 8))
    });
    for (which, x) in both.iter().enumerate() {
        let columns = &mut columns[COMPLEMENTS + which * COMPLEMENT..][..COMPLEMENT];
        let mut borrow = 0;
        for i in 0..LIMBS {
            let due = MODULUS[i] as i64 - i64::from(i == 0) - x[i] - borrow;
            columns[i] = Goldilocks::new((due & 0xffff) as u64);
            borrow = i64::from(due < 0);
            if i % GROUP == GROUP - 1 && i / GROUP < CARRIES {
                columns[LIMBS + i / GROUP] = Goldilocks::new(borrow as u64);
            }
        }
    }
    let [x, y] = both;
    let negative = integers(&columns[SQUARE..]).map(|limb| -limb);
    let mut linear = [0; LIMBS];
    let zeros = columns[ACTIVE] == Goldilocks::ZERO && both == [[0; LIMBS]; 2];
    columns[CURVE] = Goldilocks::new((!zeros).into());
    linear[0] = -4 * i64::from(!zeros);
    let to = &mut columns[CONGRUENCES..ACTIVE];
    let (first, second) = to.split_at_mut(congruence::COLUMNS);
    fill(&[[x, x]], &negative, first);
    fill(&[[y, y], [x, negative]], &linear, second);
}

/// x^2 modulo p.
fn square(x: &[u64; 6]) -> [u64; 6] {
    let mut product = [0_u64; 12];
    for (i, &a) in x.iter().enumerate() {
        let mut carry = 0;
        for (j, &b) in x.iter().enumerate() {
            let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + 6] = carry as u64;
    }
    let modulus = words(&MODULUS.map(|limb| limb as i64));
    // The part above 2^448 is below 2^320 and so below p; with one bit more a remainder is below 2 p, which fits.
    let mut rest = [0_u64; 6];
    rest[..5].copy_from_slice(&product[7..]);
    for bit in (0..448).rev() {
        let mut carry = product[bit / 64] >> (bit % 64) & 1;
        for word in &mut rest {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        let mut less = [0; 6];
        let mut borrow = false;
        for (i, word) in less.iter_mut().enumerate() {
            let (difference, first) = rest[i].overflowing_sub(modulus[i]);
            let (difference, second) = difference.overflowing_sub(borrow.into());
            (*word, borrow) = (difference, first || second);
        }
        if !borrow {
            rest = less;
        }
    }
    rest
}

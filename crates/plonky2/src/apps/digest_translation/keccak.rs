//! One node of the Keccak tree as a circuit, for merges: for a single permutation, a STARK would cost more to verify.
//!
//! Bits are signs s = (-1)^bit, so a sum over GF(2) is a product. chi then takes three operations: a + (1 + b) c
//! becomes s_a (1 - s_b + s_c + s_b s_c) / 2.

use plonky2::field::types::Field;
use plonky2::iop::target::Target;
use plonky2::plonk::plonk_common::reduce_with_powers_circuit;

use crate::circuit::{Builder, F};
use crate::stark::keccak::{DIGEST_HALVES, ROTATIONS, ROUND_CONSTANTS, source};

/// A digest of the Keccak tree as wires: its words in order, low half first.
pub type KeccakTarget = [Target; DIGEST_HALVES];

/// Bits of a half.
const HALF: usize = 32;

/// Keccak-256 of two digests: [`hash`] of 64 bytes.
pub(super) fn node(b: &mut Builder, left: &KeccakTarget, right: &KeccakTarget) -> KeccakTarget {
    hash(b, &[*left, *right].concat())
}

/// Keccak-256 of a message of whole words, at most 16, as halves, which become constrained to be below 2^32. The digest's are
/// then too. About 9,500 rows.
pub(super) fn hash(b: &mut Builder, message: &[Target]) -> KeccakTarget {
    assert!(message.len().is_multiple_of(2) && message.len() <= 32, "{} halves of whole words", message.len());
    let (one, minus_one) = (b.one(), b.neg_one());
    let mut state = vec![[one; 64]; 25];
    for (i, half) in message.iter().enumerate() {
        for (z, bit) in b.split_le(*half, HALF).into_iter().enumerate() {
            let sign = b.arithmetic(-F::TWO, F::ONE, bit.target, one, one);
            state[i / 2][HALF * (i % 2) + z] = sign;
        }
    }
    // Padding: the first bit after the message and the last of the block.
    state[message.len() / 2][0] = minus_one;
    state[16][63] = minus_one;
    for constant in ROUND_CONSTANTS {
        state = round(b, &state, constant);
    }
    core::array::from_fn(|i| half(b, &state[i / 2][HALF * (i % 2)..][..HALF]))
}

fn round(b: &mut Builder, state: &[[Target; 64]], constant: u64) -> Vec<[Target; 64]> {
    let mut parities = [[b.one(); 64]; 5];
    for (x, parity) in parities.iter_mut().enumerate() {
        for (z, parity) in parity.iter_mut().enumerate() {
            for y in 0..5 {
                *parity = b.mul(*parity, state[x + 5 * y][z]);
            }
        }
    }
    let mut mixed = state.to_vec();
    for x in 0..5 {
        for z in 0..64 {
            let difference = b.mul(parities[(x + 4) % 5][z], parities[(x + 1) % 5][(z + 63) % 64]);
            for y in 0..5 {
                mixed[x + 5 * y][z] = b.mul(mixed[x + 5 * y][z], difference);
            }
        }
    }
    let at = |x: usize, y: usize, z: usize| {
        let word = source(x % 5, y);
        mixed[word][(z + 64 - ROTATIONS[word]) % 64]
    };
    let half = F::TWO.inverse();
    let mut out = state.to_vec();
    for (i, word) in out.iter_mut().enumerate() {
        let (x, y) = (i % 5, i / 5);
        for (z, bit) in word.iter_mut().enumerate() {
            let [first, second, third] = [at(x, y, z), at(x + 1, y, z), at(x + 2, y, z)];
            let sum = b.mul_add(second, third, third);
            let sum = b.mul_add(first, sum, first);
            *bit = b.arithmetic(-half, half, first, second, sum);
            if i == 0 && constant >> z & 1 == 1 {
                *bit = b.neg(*bit);
            }
        }
    }
    out
}

/// The number with these signs: the sum of 2^z (1 - s_z) / 2.
fn half(b: &mut Builder, signs: &[Target]) -> Target {
    let two = b.two();
    let sum = reduce_with_powers_circuit(b, signs, two);
    let one = b.one();
    let half = F::TWO.inverse();
    b.arithmetic(-half, half * F::from_canonical_u64((1 << HALF) - 1), sum, one, one)
}

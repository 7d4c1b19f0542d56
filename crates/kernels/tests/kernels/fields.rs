//! Elements of every field that the kernels are generic over.

use ark_ff::PrimeField;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::{Field, Quadratic};

/// A field whose elements can be made from words.
pub(crate) trait Sample: Field {
    /// An element for any words: uniform if they are.
    fn sample(words: [u64; 6]) -> Self;
}

fn prime<F: PrimeField>(words: [u64; 6]) -> F {
    F::from_le_bytes_mod_order(&words.map(u64::to_le_bytes).concat())
}

impl Sample for ark_bls12_381::Fr {
    fn sample(words: [u64; 6]) -> Self {
        prime(words)
    }
}
#[cfg(feature = "long-builds")]
impl Sample for ark_bn254::Fr {
    fn sample(words: [u64; 6]) -> Self {
        prime(words)
    }
}
impl Sample for Goldilocks {
    fn sample([a, ..]: [u64; 6]) -> Self {
        Self::reduce(a)
    }
}
impl Sample for Quadratic {
    fn sample([a, b, ..]: [u64; 6]) -> Self {
        Self([a, b].map(Goldilocks::reduce))
    }
}
#[cfg(feature = "long-builds")]
impl Sample for evergrove_primitives::field::Cubic {
    fn sample([a, b, c, ..]: [u64; 6]) -> Self {
        Self([a, b, c].map(Goldilocks::reduce))
    }
}

/// Elements among which edge values are frequent.
pub(crate) fn elements<F: Sample>(n: usize, seed: u64) -> Vec<F> {
    let word =
        |i: u64| F::sample([0, 1, 2, 3, 4, 5].map(|k| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(11 * k)));
    let mut x = word(seed);
    let edges = [F::ZERO, F::ONE, -F::ONE, -F::from_u64(2), F::from_u64(1 << 52), F::sample([u64::MAX; 6])];
    (0..n)
        .map(|i| {
            x = x * x + word(seed);
            if i % 7 == 5 { edges[i / 7 % edges.len()] } else { x }
        })
        .collect()
}

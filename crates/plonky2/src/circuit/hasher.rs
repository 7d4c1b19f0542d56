//! Plonky2's Poseidon configuration with our permutation behind it: the same function, keys and proofs, in less time.
//!
//! Permutations of leaves and nodes of its Merkle trees take half of a proof's time. In circuits, and in everything
//! that is stored, this hasher is `PoseidonHash`.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::{self, RATE, WIDTH};
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::hash::hash_types::HashOut;
use plonky2::hash::hashing::PlonkyPermutation;
use plonky2::hash::poseidon::{PoseidonHash, PoseidonPermutation};
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::plonk::circuit_builder::CircuitBuilder;
use plonky2::plonk::config::{AlgebraicHasher, GenericConfig, Hasher};

use super::F;

/// Poseidon by `evergrove_primitives`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poseidon;

/// The state of a sponge over [`Poseidon`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permutation([F; WIDTH]);

/// Plonky2's `PoseidonGoldilocksConfig` with [`Poseidon`] for its hasher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PoseidonConfig;

impl GenericConfig<2> for PoseidonConfig {
    type F = F;
    type FE = QuadraticExtension<F>;
    type Hasher = Poseidon;
    type InnerHasher = Poseidon;
}

impl Hasher<F> for Poseidon {
    const HASH_SIZE: usize = 4 * 8;
    type Hash = HashOut<F>;
    type Permutation = Permutation;

    fn hash_no_pad(input: &[F]) -> HashOut<F> {
        let mut state = Permutation::default();
        for block in input.chunks(RATE) {
            state.set_from_slice(block, 0);
            state.permute();
        }
        state.digest()
    }

    fn hash_or_noop(input: &[F]) -> HashOut<F> {
        if input.len() > 4 {
            return Self::hash_no_pad(input);
        }
        let mut elements = [F::ZERO; 4];
        elements[..input.len()].copy_from_slice(input);
        HashOut { elements }
    }

    fn two_to_one(left: HashOut<F>, right: HashOut<F>) -> HashOut<F> {
        let mut state = Permutation::default();
        state.set_from_slice(&left.elements, 0);
        state.set_from_slice(&right.elements, 4);
        state.permute();
        state.digest()
    }
}

impl AlgebraicHasher<F> for Poseidon {
    type AlgebraicPermutation = PoseidonPermutation<Target>;

    fn permute_swapped<const D: usize>(
        inputs: PoseidonPermutation<Target>,
        swap: BoolTarget,
        builder: &mut CircuitBuilder<F, D>,
    ) -> PoseidonPermutation<Target>
    where
        F: plonky2::hash::hash_types::RichField + plonky2::field::extension::Extendable<D>,
    {
        PoseidonHash::permute_swapped(inputs, swap, builder)
    }
}

impl Permutation {
    fn digest(&self) -> HashOut<F> {
        HashOut { elements: [self.0[0], self.0[1], self.0[2], self.0[3]] }
    }
}

impl AsRef<[F]> for Permutation {
    fn as_ref(&self) -> &[F] {
        &self.0
    }
}

impl PlonkyPermutation<F> for Permutation {
    const RATE: usize = RATE;
    const WIDTH: usize = WIDTH;

    fn new<I: IntoIterator<Item = F>>(elements: I) -> Self {
        let mut state = Self::default();
        state.set_from_iter(elements, 0);
        state
    }

    fn set_elt(&mut self, element: F, at: usize) {
        self.0[at] = element;
    }

    fn set_from_iter<I: IntoIterator<Item = F>>(&mut self, elements: I, start: usize) {
        for (x, element) in self.0[start..].iter_mut().zip(elements) {
            *x = element;
        }
    }

    fn set_from_slice(&mut self, elements: &[F], start: usize) {
        self.0[start..start + elements.len()].copy_from_slice(elements);
    }

    fn permute(&mut self) {
        let mut state = self.0.map(|x| Goldilocks::reduce(x.to_noncanonical_u64()));
        poseidon::permute(&mut state);
        self.0 = state.map(|x| F::from_canonical_u64(x.as_u64()));
    }

    fn squeeze(&self) -> &[F] {
        &self.0[..RATE]
    }
}

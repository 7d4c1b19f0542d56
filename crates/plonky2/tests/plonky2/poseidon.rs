//! Our Poseidon is plonky2's: permutation, compression, sponge and leaf hash agree.

use evergrove_plonky2::circuit::{F, from_hash, to_hash, to_plonky};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon;
use plonky2::field::types::PrimeField64;
use plonky2::hash::poseidon::{Poseidon, PoseidonHash};
use plonky2::plonk::config::Hasher;
use proptest::prelude::*;

fn element() -> impl Strategy<Value = Goldilocks> {
    let edge = prop::sample::select(vec![0, 1, u64::from(u32::MAX), 1 << 32, Goldilocks::ORDER - 1]);
    prop_oneof![edge, 0..Goldilocks::ORDER].prop_map(Goldilocks::new)
}

proptest! {
    #[test]
    fn permutations_agree(state in prop::array::uniform12(element())) {
        let theirs = F::poseidon(state.map(to_plonky)).map(|x| x.to_canonical_u64());
        let mut ours = state;
        poseidon::permute(&mut ours);
        prop_assert_eq!(ours.map(Goldilocks::as_u64), theirs);
    }

    #[test]
    fn hashes_agree(input in prop::collection::vec(element(), 0..40)) {
        let plonky: Vec<F> = input.iter().copied().map(to_plonky).collect();
        prop_assert_eq!(poseidon::hash_no_pad(&input), from_hash(&PoseidonHash::hash_no_pad(&plonky)));
        prop_assert_eq!(poseidon::hash_or_noop(&input), from_hash(&PoseidonHash::hash_or_noop(&plonky)));
    }

    #[test]
    fn compressions_agree(input in prop::array::uniform8(element())) {
        let (left, right) = (poseidon::hash_or_noop(&input[..4]), poseidon::hash_or_noop(&input[4..]));
        let theirs = PoseidonHash::two_to_one(to_hash(&left), to_hash(&right));
        prop_assert_eq!(poseidon::two_to_one(&left, &right), from_hash(&theirs));
    }
}

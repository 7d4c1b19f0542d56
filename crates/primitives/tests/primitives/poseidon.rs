//! The permutation compared with its reference and with the values of Plonky2 (vectors/poseidon.json).

use evergrove_primitives::hash::poseidon::{self, WIDTH, reference};
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../vectors/poseidon.json")).unwrap()
}

fn words(v: &Value) -> Vec<Goldilocks> {
    let word = |x: &Value| Goldilocks::new(u64::from_str_radix(x.as_str().unwrap(), 16).unwrap());
    v.as_array().unwrap().iter().map(word).collect()
}

fn digest(v: &Value) -> Digest {
    v.as_str().unwrap().parse().unwrap()
}

#[test]
fn permutations_are_those_of_plonky2() {
    for case in vectors()["permutation"].as_array().unwrap() {
        let input: [Goldilocks; WIDTH] = words(&case["input"]).try_into().unwrap();
        for permute in [poseidon::permute, reference::permute] {
            let mut state = input;
            permute(&mut state);
            assert_eq!(state.to_vec(), words(&case["output"]), "of {input:?}");
        }
    }
}

#[test]
fn hashes_are_those_of_plonky2() {
    let vectors = vectors();
    for case in vectors["sponge"].as_array().unwrap() {
        let input = words(&case["input"]);
        assert_eq!(poseidon::hash_no_pad(&input), digest(&case["hash_no_pad"]), "of {input:?}");
        assert_eq!(poseidon::hash_or_noop(&input), digest(&case["hash_or_noop"]), "of {input:?}");
    }
    for case in vectors["two_to_one"].as_array().unwrap() {
        let (left, right) = (digest(&case["left"]), digest(&case["right"]));
        assert_eq!(poseidon::two_to_one(&left, &right), digest(&case["output"]), "of {left}, {right}");
    }
}

/// Values of the tests of Polygon zkEVM's `goldilocks` library: its permutation, `linear_hash` and the sponge's first block.
#[test]
fn polygon_is_polygon() {
    let vectors: Value = serde_json::from_str(include_str!("../../../../vectors/poseidon-polygon.json")).unwrap();
    let mut state: [Goldilocks; WIDTH] = core::array::from_fn(|i| Goldilocks::new(i as u64));
    poseidon::permute(&mut state);
    assert_eq!(state[..4], words(&vectors["permutation_of_0_to_11"]));
    let mut fibonacci = vec![Goldilocks::ZERO, Goldilocks::ONE];
    for i in 2..128 {
        fibonacci.push(fibonacci[i - 1] + fibonacci[i - 2]);
    }
    assert_eq!(poseidon::linear_hash(&fibonacci).0.to_vec(), words(&vectors["linear_hash_of_128_fibonacci"]));
}

/// The definition of `linear_hash`, permutation by permutation.
#[test]
fn chained_sponges_are_their_definition() {
    let input: Vec<Goldilocks> = (0..21).map(|i| Goldilocks::new(i * i + 3)).collect();
    for len in 0..=4 {
        assert_eq!(poseidon::linear_hash(&input[..len]), poseidon::hash_or_noop(&input[..len]));
    }
    for len in 5..=8 {
        assert_eq!(poseidon::linear_hash(&input[..len]), poseidon::hash_no_pad(&input[..len]), "one block of {len}");
    }
    for len in 9..=21 {
        let mut state = [Goldilocks::ZERO; WIDTH];
        for (i, block) in input[..len].chunks(8).enumerate() {
            let capacity = if i == 0 { [Goldilocks::ZERO; 4] } else { [state[0], state[1], state[2], state[3]] };
            state = [Goldilocks::ZERO; WIDTH];
            state[..block.len()].copy_from_slice(block);
            state[8..].copy_from_slice(&capacity);
            reference::permute(&mut state);
        }
        assert_eq!(poseidon::linear_hash(&input[..len]).0, state[..4], "{len} words");
        assert_ne!(poseidon::linear_hash(&input[..len]), poseidon::hash_no_pad(&input[..len]), "{len} words");
    }
}

/// Words at the ends of the field and around the limbs that the kernel splits words into.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_fffe_ffff_ffff,
    Goldilocks::ORDER - 2,
    Goldilocks::ORDER - 1,
];

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![0..Goldilocks::ORDER, proptest::sample::select(EDGES.to_vec()), 0..1u64 << 33]
}

#[test]
fn every_edge_in_every_word() {
    for edge in EDGES {
        for i in 0..WIDTH {
            for rest in [0, Goldilocks::ORDER - 1] {
                let mut state = [Goldilocks::new(rest); WIDTH];
                state[i] = Goldilocks::new(edge);
                let mut twin = state;
                poseidon::permute(&mut state);
                reference::permute(&mut twin);
                assert_eq!(state, twin, "{edge} at {i} among {rest}");
            }
        }
    }
}

proptest! {
    #[test]
    fn permute_equals_its_reference(words in prop::array::uniform12(word())) {
        let mut state = words.map(Goldilocks::new);
        let mut twin = state;
        poseidon::permute(&mut state);
        reference::permute(&mut twin);
        prop_assert_eq!(state, twin);
    }

    /// Operands whose products are at the ends of the range of one reduction, compared with 128-bit remainders.
    #[test]
    fn field_operations_are_those_of_integers(a in word(), b in word()) {
        let p = Goldilocks::ORDER as u128;
        let (x, y) = (Goldilocks::new(a), Goldilocks::new(b));
        let (a, b) = (a as u128, b as u128);
        prop_assert_eq!((x * y).as_u64() as u128, a * b % p);
        prop_assert_eq!((x + y).as_u64() as u128, (a + b) % p);
        prop_assert_eq!((x - y).as_u64() as u128, (p + a - b) % p);
    }
}

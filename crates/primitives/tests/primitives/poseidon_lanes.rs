//! Many permutations at a time compared with one at a time, on every instruction set of this CPU.

use std::fmt::Display;

use evergrove_primitives::hash::poseidon::lanes::{
    Groups, Interleaved, Matrix, Pairs, Permute, Sponge, compress_many, permute_many, two_to_one_many,
};
use evergrove_primitives::hash::poseidon::{self, WIDTH, reference};
use evergrove_primitives::hash::tree::{On, Polygon, Poseidon, Scalar, TreeHash};
use evergrove_primitives::lanes::{available, dispatch, dispatch_on};
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;

type State = [Goldilocks; WIDTH];

/// Words at the ends of the field and around the limbs that the kernels split words into.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    (1 << 52) - 1,
    1 << 52,
    (1 << 52) + 1,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0xffff_fffe_ffff_ffff,
    Goldilocks::ORDER - 2,
    Goldilocks::ORDER - 1,
];

fn word() -> impl Strategy<Value = Goldilocks> {
    prop_oneof![0..Goldilocks::ORDER, proptest::sample::select(EDGES.to_vec()), 0..1u64 << 33].prop_map(Goldilocks::new)
}

fn edge() -> impl Strategy<Value = Goldilocks> {
    proptest::sample::select(EDGES.to_vec()).prop_map(Goldilocks::new)
}

/// The permutation of the states on every instruction set, compared with that of each by the definition.
fn check_permutations(states: &[State]) {
    let mut expected = states.to_vec();
    expected.iter_mut().for_each(reference::permute);
    for isa in available() {
        let mut found = states.to_vec();
        dispatch_on(isa, Permute(&mut found));
        for (i, found) in found.iter().enumerate() {
            assert_eq!(*found, expected[i], "state {i} of {} on {isa}: {:?}", states.len(), states[i]);
        }
    }
}

/// A sequence without structure that the kernels could share.
fn words(seed: u64) -> impl Iterator<Item = Goldilocks> {
    (1..).map(move |i: u64| {
        let x = (seed.wrapping_add(i)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Goldilocks::reduce(x ^ x >> 32)
    })
}

fn state(words: &mut impl Iterator<Item = Goldilocks>) -> State {
    core::array::from_fn(|_| words.next().expect("the sequence does not end"))
}

#[test]
fn any_number_of_states() {
    let mut words = words(1);
    for n in 0..=75 {
        let states: Vec<State> = (0..n).map(|_| state(&mut words)).collect();
        check_permutations(&states);
    }
}

#[test]
#[ignore = "isa: seconds, 2^18 states on every instruction set"]
fn many_states() {
    let mut words = words(2);
    let states: Vec<State> = (0..(1 << 18) + 5).map(|_| state(&mut words)).collect();
    check_permutations(&states);
}

#[test]
fn every_edge_in_every_word() {
    let mut states = vec![];
    for edge in EDGES {
        for i in 0..WIDTH {
            for rest in [0, 0xffff_ffff, Goldilocks::ORDER - 1] {
                let mut state = [Goldilocks::new(rest); WIDTH];
                state[i] = Goldilocks::new(edge);
                states.push(state);
            }
        }
    }
    check_permutations(&states);
    // Not a multiple of the interleaved vectors, so single vectors process the same states.
    for chunk in states.chunks(8) {
        check_permutations(chunk);
    }
}

/// The values of Plonky2.
#[test]
fn known_permutations() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../../vectors/poseidon.json")).unwrap();
    let state = |v: &serde_json::Value| -> State {
        let words = v.as_array().unwrap().iter();
        let words = words.map(|x| Goldilocks::new(u64::from_str_radix(x.as_str().unwrap(), 16).unwrap()));
        words.collect::<Vec<_>>().try_into().unwrap()
    };
    let cases = vectors["permutation"].as_array().unwrap();
    let inputs: Vec<State> = cases.iter().map(|c| state(&c["input"])).cycle().take(40).collect();
    let outputs: Vec<State> = cases.iter().map(|c| state(&c["output"])).cycle().take(40).collect();
    for isa in available() {
        let mut found = inputs.clone();
        dispatch_on(isa, Permute(&mut found));
        assert_eq!(found, outputs, "{isa}");
    }
}

/// Rows of a width around the multiples of the rate, in every number around the sizes of chunks.
#[test]
fn rows_of_any_width_and_number() {
    let tags = [Goldilocks::ZERO, Goldilocks::new(7), Goldilocks::new(Goldilocks::ORDER - 1)];
    for width in [0, 1, 4, 5, 7, 8, 9, 12, 15, 16, 17, 130, 135, 136] {
        for n in [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 43, 64] {
            let rows: Vec<Goldilocks> = words(width as u64 * 1000 + n as u64).take(width * n).collect();
            for tag in tags {
                let row = |i: usize| &rows[i * width..][..width];
                let expected: Vec<Digest> = (0..n).map(|i| poseidon::hash_tagged(row(i), tag)).collect();
                for isa in available() {
                    let mut found = vec![Digest::ZERO; n];
                    dispatch_on(isa, Sponge::new(Matrix::new(&rows, width), tag, &mut found));
                    assert_eq!(found, expected, "{n} rows of {width} with {tag} on {isa}");
                }
            }
            let mut found = vec![Digest::ZERO; n];
            let each = |f: fn(&[Goldilocks]) -> Digest| -> Vec<Digest> {
                (0..n).map(|i| f(&rows[i * width..][..width])).collect()
            };
            let (plonky2, polygon) = (each(poseidon::hash_or_noop), each(poseidon::linear_hash));
            let mut check = |hash: &dyn Fn(&mut [Digest]), expected: &[Digest], how: &dyn Display| {
                found.fill(Digest::ZERO);
                hash(&mut found);
                assert_eq!(found, expected, "{n} rows of {width}, {how}");
            };
            check(&|found| Poseidon.leaves(&rows, width, found), &plonky2, &"Plonky2");
            check(&|found| Polygon.leaves(&rows, width, found), &polygon, &"Polygon");
            check(&|found| Scalar(Poseidon).leaves(&rows, width, found), &plonky2, &"one by one");
            for isa in available() {
                check(&|found| On(isa, Poseidon).leaves(&rows, width, found), &plonky2, &isa);
                check(&|found| On(isa, Polygon).leaves(&rows, width, found), &polygon, &isa);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn states_are_permuted(states in prop::collection::vec(prop::array::uniform12(word()), 1..70)) {
        check_permutations(&states);
    }

    #[test]
    fn states_of_edges_are_permuted(states in prop::collection::vec(prop::array::uniform12(edge()), 8..70)) {
        check_permutations(&states);
    }

    #[test]
    fn pairs_are_compressed(words in prop::collection::vec(prop::array::uniform8(word()), 0..70), tag in word()) {
        let pairs: Vec<[Digest; 2]> =
            words.iter().map(|&[a, b, c, d, e, f, g, h]| [Digest([a, b, c, d]), Digest([e, f, g, h])]).collect();
        let expected: Vec<Digest> = pairs.iter().map(|[l, r]| poseidon::compress(l, r, tag)).collect();
        let mut found = vec![Digest::ZERO; pairs.len()];
        for isa in available() {
            found.fill(Digest::ZERO);
            dispatch_on(isa, Sponge::new(Pairs::new(&pairs), tag, &mut found));
            prop_assert_eq!(&found, &expected, "{}", isa);
        }
        compress_many(&pairs, tag, &mut found);
        prop_assert_eq!(&found, &expected);
        two_to_one_many(&pairs, &mut found);
        let expected: Vec<Digest> = pairs.iter().map(|[l, r]| poseidon::two_to_one(l, r)).collect();
        prop_assert_eq!(found, expected);
    }
}

/// Nodes with any number of children, by both sponges.
#[test]
fn groups_are_rows_of_digests() {
    for arity in [1, 2, 3, 4, 8, 16] {
        for n in [0, 1, 5, 8, 33, 40] {
            let elements: Vec<Goldilocks> = words(arity as u64).take(4 * arity * n).collect();
            let digests: Vec<Digest> = elements.as_chunks().0.iter().map(|d| Digest(*d)).collect();
            for isa in available() {
                let (mut found, mut expected) = (vec![Digest::ZERO; n], vec![Digest::ZERO; n]);
                On(isa, Poseidon).nodes(&digests, arity, &mut found);
                dispatch_on(isa, Sponge::new(Matrix::new(&elements, 4 * arity), Goldilocks::ZERO, &mut expected));
                assert_eq!(found, expected, "{n} groups of {arity} on {isa}");
                Scalar(Poseidon).nodes(&digests, arity, &mut found);
                assert_eq!(found, expected, "{n} groups of {arity}, one by one");
                On(isa, Polygon).nodes(&digests, arity, &mut found);
                dispatch_on(isa, Sponge::chained(Matrix::new(&elements, 4 * arity), &mut expected));
                assert_eq!(found, expected, "{n} chained groups of {arity} on {isa}");
            }
        }
    }
}

#[test]
fn interleaved_rows_are_rows() {
    let (stride, first, rows) = (13, 2, 9);
    for width in [1usize, 4, 7, 8, 9, 20] {
        let mut words = words(5);
        let groups: Vec<[Goldilocks; 8]> =
            (0..width.div_ceil(8) * stride).map(|_| core::array::from_fn(|_| words.next().unwrap())).collect();
        let element = |i: usize, j: usize| groups[j / 8 * stride + first + i][j % 8];
        let matrix: Vec<_> = (0..rows).flat_map(|i| (0..width).map(move |j| element(i, j))).collect();
        for isa in available() {
            let interleaved = || Interleaved::new(&groups, stride, first, rows, width);
            let (mut found, mut expected) = (vec![Digest::ZERO; rows], vec![Digest::ZERO; rows]);
            dispatch_on(isa, Sponge::new(interleaved(), Goldilocks::ONE, &mut found));
            dispatch_on(isa, Sponge::new(Matrix::new(&matrix, width), Goldilocks::ONE, &mut expected));
            assert_eq!(found, expected, "{width} on {isa}");
            dispatch_on(isa, Sponge::chained(interleaved(), &mut found));
            dispatch_on(isa, Sponge::chained(Matrix::new(&matrix, width), &mut expected));
            assert_eq!(found, expected, "chained, {width} on {isa}");
        }
    }
}

#[test]
#[should_panic(expected = "9 columns in 8 rows of groups")]
fn groups_that_are_missing_are_refused() {
    Interleaved::new(&[[Goldilocks::ZERO; 8]; 8], 8, 0, 8, 9);
}

#[test]
#[should_panic(expected = "8 rows from row 1 on of 8")]
fn rows_that_are_missing_are_refused() {
    Interleaved::new(&[[Goldilocks::ZERO; 8]; 8], 8, 1, 8, 8);
}

#[test]
fn the_functions_dispatch() {
    let mut words = words(5);
    let states: Vec<State> = (0..50).map(|_| state(&mut words)).collect();
    let (mut found, mut expected) = (states.clone(), states);
    permute_many(&mut found);
    expected.iter_mut().for_each(poseidon::permute);
    assert_eq!(found, expected);
}

#[test]
fn lengths_that_do_not_match_are_refused() {
    let refused = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    let rows = [Goldilocks::ONE; 24];
    for (width, n) in [(8, 2), (8, 4), (usize::MAX, 3), (4, 5)] {
        assert!(refused(&|| Poseidon.leaves(&rows, width, &mut vec![Digest::ZERO; n])));
        assert!(refused(&|| Scalar(Poseidon).leaves(&rows, width, &mut vec![Digest::ZERO; n])));
        assert!(refused(&|| Polygon.leaves(&rows, width, &mut vec![Digest::ZERO; n])));
    }
    let digests = [Digest::ZERO; 8];
    assert!(refused(&|| dispatch(Sponge::chained(Groups::new(&digests, 4), &mut [Digest::ZERO; 3]))));
    let groups = Groups::new(&digests, usize::MAX);
    assert!(refused(&|| dispatch(Sponge::new(groups, Goldilocks::ONE, &mut [Digest::ZERO; 2]))));
    assert!(refused(&|| two_to_one_many(&[[Digest::ZERO; 2]; 3], &mut [Digest::ZERO; 2])));
    assert!(refused(&|| two_to_one_many(&[[Digest::ZERO; 2]; 3], &mut [Digest::ZERO; 4])));
}

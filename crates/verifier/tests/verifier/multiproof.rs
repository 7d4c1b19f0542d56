//! Merkle paths of many slots: shown, refused, and damaged.

use std::convert::Infallible;

use evergrove_primitives::Digest;
use evergrove_verifier::Commitment;
use evergrove_verifier::tree::{Value, leaf_digest, node_digest, null_digest};
use evergrove_verifier::wire::{DecodeError, Multiproof, MultiproofError};
use proptest::prelude::*;

use crate::common::Random;

const HEIGHT: u8 = 6;

/// A vector with values in some slots, and all of its nodes, level by level.
struct Tree {
    values: Vec<Option<Value>>,
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let values: Vec<Option<Value>> =
            (0..1 << HEIGHT).map(|_| (!random.u64().is_multiple_of(3)).then(|| random.digest().0)).collect();
        let leaf = |(i, value): (usize, &Option<Value>)| match value {
            Some(value) => leaf_digest(i as u64, value),
            None => null_digest(0),
        };
        let mut levels: Vec<Vec<Digest>> = vec![values.iter().enumerate().map(leaf).collect()];
        for level in 0..usize::from(HEIGHT) {
            let above = levels[level].chunks(2).map(|pair| node_digest(&pair[0], &pair[1])).collect();
            levels.push(above);
        }
        Self { values, levels }
    }

    fn commitment(&self) -> Commitment {
        Commitment { height: HEIGHT, root: self.levels[usize::from(HEIGHT)][0] }
    }

    /// The filled ones among these slots.
    fn leaves(&self, slots: impl IntoIterator<Item = u64>) -> Vec<(u64, Value)> {
        slots.into_iter().filter_map(|i| Some((i, self.values[i as usize]?))).collect()
    }

    fn prove(&self, leaves: &[(u64, Value)]) -> Multiproof {
        let indices: Vec<u64> = leaves.iter().map(|(i, _)| *i).collect();
        let node = |level: u8, position: u64| Ok::<_, Infallible>(self.levels[level as usize][position as usize]);
        let Ok(proof) = Multiproof::new(HEIGHT, &indices, node);
        proof
    }
}

#[test]
fn all_slots_need_no_siblings_of_filled_ones() {
    let tree = Tree::new(1);
    let all = tree.leaves(0..1 << HEIGHT);
    let proof = tree.prove(&all);
    // Empty slots are not shown: they are siblings, or below one.
    assert!(proof.siblings.len() <= tree.values.len() - all.len());
    assert_eq!(proof.verify(&tree.commitment(), &all), Ok(()));
    let one = tree.leaves([5]);
    assert_eq!((one.len(), tree.prove(&one).siblings.len()), (1, usize::from(HEIGHT)));
    let none = tree.prove(&[]);
    assert_eq!((none.siblings.len(), none.verify(&tree.commitment(), &[])), (0, Ok(())));
}

#[test]
fn what_is_not_shown_is_refused() {
    let tree = Tree::new(2);
    let (root, leaves) = (tree.commitment(), tree.leaves([3, 8, 9, 20, 41, 63]));
    let proof = tree.prove(&leaves);
    let refused = |commitment: &Commitment, leaves: &[(u64, Value)]| proof.verify(commitment, leaves).unwrap_err();
    let higher = Commitment { height: HEIGHT + 1, ..root };
    assert_eq!(refused(&higher, &leaves), MultiproofError::Height { expected: HEIGHT + 1, found: HEIGHT });
    let mut exchanged = leaves.clone();
    exchanged.swap(1, 2);
    assert_eq!(refused(&root, &exchanged), MultiproofError::Position { index: exchanged[2].0 });
    let twice = [leaves[0], leaves[0]];
    assert_eq!(refused(&root, &twice), MultiproofError::Position { index: leaves[0].0 });
    let outside = [(1 << HEIGHT, leaves[0].1)];
    assert_eq!(refused(&root, &outside), MultiproofError::Position { index: 1 << HEIGHT });
    let fewer = leaves[..leaves.len() - 1].to_vec();
    assert!(matches!(refused(&root, &fewer), MultiproofError::Siblings { .. }));
    assert!(matches!(refused(&root, &[]), MultiproofError::Siblings { expected: 0, .. }));
    let mut other = leaves.clone();
    other[2].1[0] += evergrove_primitives::Goldilocks::ONE;
    assert!(matches!(refused(&root, &other), MultiproofError::Root { .. }));
    let mut moved = leaves.clone();
    moved[0].0 ^= 1;
    assert!(matches!(refused(&root, &moved), MultiproofError::Root { .. }));
    let longer = Multiproof { siblings: [proof.siblings.clone(), vec![Digest::ZERO]].concat(), ..proof };
    assert!(matches!(longer.verify(&root, &leaves), Err(MultiproofError::Siblings { .. })));
}

#[test]
fn a_path_from_the_last_position_of_all_ends() {
    let Ok(proof) = Multiproof::new(40, &[u64::MAX], |_, _| Ok::<_, Infallible>(Digest::ZERO));
    assert_eq!(proof.siblings.len(), 40);
}

#[test]
fn heights_of_files_are_checked() {
    let proof = Multiproof { height: 41, siblings: vec![] };
    for height in [0, 41] {
        let found = Multiproof::decode(&Multiproof { height, ..proof.clone() }.encode());
        assert_eq!(found, Err(DecodeError::Range { what: "height", found: height.into(), max: 40 }));
    }
    let tall = Commitment { height: 41, root: Digest::ZERO };
    assert!(matches!(proof.verify(&tall, &[]), Err(MultiproofError::Height { .. })));
}

proptest! {
    #[test]
    fn any_slots_are_shown_and_files_come_back(seed in any::<u64>(), slots in prop::collection::btree_set(0u64..1 << HEIGHT, 0..20)) {
        let tree = Tree::new(seed);
        let leaves = tree.leaves(slots);
        let proof = tree.prove(&leaves);
        prop_assert_eq!(proof.verify(&tree.commitment(), &leaves), Ok(()));
        prop_assert_eq!(Multiproof::decode(&proof.encode()), Ok(proof.clone()));
        // A changed sibling or leaf leads elsewhere.
        for i in 0..proof.siblings.len() {
            let mut spoiled = proof.clone();
            spoiled.siblings[i] = Digest::ZERO;
            prop_assert!(spoiled.verify(&tree.commitment(), &leaves).is_err());
        }
    }

    #[test]
    fn damaged_files(seed in any::<u64>(), at in any::<prop::sample::Index>(), byte in 1u8.., cut in any::<bool>()) {
        let tree = Tree::new(seed);
        let leaves = tree.leaves([1, 2, 30]);
        let mut bytes = tree.prove(&leaves).encode();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= byte }
        if let Ok(proof) = Multiproof::decode(&bytes) {
            prop_assert_eq!(proof.encode(), bytes);
            prop_assert!(proof.verify(&tree.commitment(), &leaves).is_err());
        }
    }
}

#[test]
fn a_tree_that_fails_has_no_paths() {
    assert_eq!(Multiproof::new(HEIGHT, &[3], |_, _| Err::<Digest, _>("no node")), Err("no node"));
}

//! Attacks on the path and the joins, by setting wires.

use std::sync::LazyLock;

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::{Value, leaf_digest, node_digest};

use super::*;
use evergrove_plonky2::assignment::{Assignment, assert_refused, assert_refused_at_a_child};

const HEIGHT: u8 = 3;

static TREE: LazyLock<TreeOfProofs> = LazyLock::new(|| TreeOfProofs::build(Profile::Paper, HEIGHT).unwrap());

fn value(x: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::new(10 * x + k as u64))
}

/// The root of eight leaves of these indices, which need not be their positions, and their paths.
fn tree(indices: [u64; 8]) -> (Digest, Vec<LeafWitness>) {
    let mut levels = vec![indices.map(|i| leaf_digest(i, &value(i))).to_vec()];
    while levels[levels.len() - 1].len() > 1 {
        levels.push(levels[levels.len() - 1].chunks(2).map(|p| node_digest(&p[0], &p[1])).collect());
    }
    let path = |at: usize| (0..usize::from(HEIGHT)).map(|l| levels[l][(at >> l) ^ 1]).collect();
    let leaves = indices.iter().enumerate().map(|(at, i)| LeafWitness {
        index: *i,
        value: value(*i),
        siblings: path(at),
        opening: vec![],
    });
    (levels[usize::from(HEIGHT)][0], leaves.collect())
}

fn honest() -> (Digest, Vec<LeafWitness>) {
    tree([0, 1, 2, 3, 4, 5, 6, 7])
}

static PATHS: LazyLock<Vec<PathProof>> = LazyLock::new(|| {
    let (root, leaves) = honest();
    leaves.iter().map(|l| TREE.prove_path(&root, l).unwrap()).collect()
});

/// The join of positions 2 and 3, of two paths.
static JOIN: LazyLock<PathProof> = LazyLock::new(|| TREE.join(&PATHS[2], &PATHS[3]).unwrap());

fn complete(kind: JoinKind, children: [&PathProof; 2], swapped: bool, forced: &[(Target, F)]) -> Assignment<'static> {
    let wires = TREE.wires(kind, children, swapped).unwrap();
    Assignment::complete(&TREE.joins[kind as usize].data, forced, wires)
}

#[test]
fn honest_assignments_violate_nothing() {
    let (root, leaves) = honest();
    let path = Assignment::complete(&TREE.path.data, &[], TREE.path.targets.assign(&root, &leaves[5]).unwrap());
    assert_eq!(path.violations(), Default::default());
    let paths = complete(JoinKind::Paths, [&PATHS[0], &PATHS[7]], false, &[]);
    assert_eq!(paths.violations(), Default::default());
    for (path, swapped) in [(0, false), (5, true)] {
        let mixed = complete(JoinKind::Mixed, [&PATHS[path], &JOIN], swapped, &[]);
        assert_eq!(mixed.violations(), Default::default());
    }
}

#[test]
fn a_leaf_that_names_another_index_than_its_position_is_refused() {
    // Position 6 holds a leaf that names index 2, beside the leaf of index 2 at its own position.
    let (root, leaves) = tree([0, 1, 2, 3, 4, 5, 2, 7]);
    let claimed = &leaves[6];
    let wires = TREE.path.targets.assign(&root, claimed).unwrap();
    assert_refused(&Assignment::complete(&TREE.path.data, &[], wires), 2);
    TREE.prove_path(&root, claimed).unwrap_err();
    TREE.prove_path(&root, &leaves[2]).unwrap();
}

#[test]
fn a_leaf_in_two_proofs_and_leaves_out_of_order_are_refused() {
    for (left, right) in [(4, 4), (5, 4)] {
        assert_refused(&complete(JoinKind::Paths, [&PATHS[left], &PATHS[right]], false, &[]), 4);
    }
    // Position 3 is below the join already; a path on the wrong side of a join.
    for (path, swapped) in [(3, true), (2, false), (5, false), (0, true)] {
        assert_refused(&complete(JoinKind::Mixed, [&PATHS[path], &JOIN], swapped, &[]), 4);
    }
}

#[test]
fn leaves_of_two_vectors_are_refused() {
    let (root, leaves) = tree([0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(root, honest().0);
    let (other_root, _) = tree([0, 1, 2, 3, 4, 5, 6, 6]);
    assert_ne!(root, other_root);
    let (_, others) = tree([0, 1, 2, 3, 4, 5, 6, 6]);
    let foreign = TREE.prove_path(&other_root, &others[4]).unwrap();
    TREE.prove_path(&root, &leaves[4]).unwrap();
    assert_refused_at_a_child(&complete(JoinKind::Paths, [&PATHS[1], &foreign], false, &[]));
}

#[test]
fn a_join_by_a_circuit_of_none_of_the_kinds_is_refused() {
    // It joins two paths, and is said to be of another kind: another key's digest enters the transcript, and the cap does
    // not hash to it.
    let flags = TREE.joins[JoinKind::Mixed as usize].targets.children[1].kind.unwrap();
    for forced in [[F::ZERO, F::ONE], [F::ZERO, F::ZERO]] {
        let forced: Vec<_> = flags.iter().map(|f| f.target).zip(forced).collect();
        assert_refused_at_a_child(&complete(JoinKind::Mixed, [&PATHS[0], &JOIN], false, &forced));
    }
}

/// A join of two paths does not look at the keys of the joins, and so can be made for any.
fn of_other_keys() -> PathProof {
    let targets = &TREE.joins[JoinKind::Paths as usize].targets;
    let members: Vec<F> = (100..112).map(F::from_canonical_u64).collect();
    let mut wires = PartialWitness::new();
    let forced = targets.members.iter().flat_map(|m| m.elements).zip(members.iter().copied());
    let keys_digest = targets.keys_digest.elements.into_iter().zip(Poseidon::hash_no_pad(&members).elements);
    for (target, value) in forced.chain(keys_digest) {
        wires.set_target(target, value).unwrap();
    }
    for (target, value) in TREE.wires(JoinKind::Paths, [&PATHS[2], &PATHS[3]], false).unwrap().target_values {
        if !wires.target_values.contains_key(&target) {
            wires.set_target(target, value).unwrap();
        }
    }
    let proof = TREE.joins[JoinKind::Paths as usize].data.prove(wires).unwrap();
    PathProof { proof, join: Some(JoinKind::Paths) }
}

#[test]
fn a_join_made_for_other_joins_is_refused() {
    let foreign = of_other_keys();
    assert_refused_at_a_child(&complete(JoinKind::Mixed, [&PATHS[0], &foreign], false, &[]));
    TREE.compact(&foreign).unwrap_err();
    TREE.compact(&JOIN).unwrap();
}

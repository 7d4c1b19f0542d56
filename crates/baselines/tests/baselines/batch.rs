//! The baselines: the statement is ours, valid proofs are accepted, and others are refused.

use std::sync::LazyLock;

use evergrove_baselines::{BatchProof, Cost, Monolithic, TreeOfProofs};
use evergrove_commit::Witness;
use evergrove_commit::batch::Batch;
use evergrove_commit::{BucketWitness, MemoryStore, Vector};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::commit::vector;
use evergrove_verifier::{Profile, Statement};

const HEIGHT: u8 = 8;
/// Joins of every kind and order: a join beside a path in the left half, a path beside a join in the right half.
const MEMBERS: [u64; 6] = [3, 17, 100, 128, 250, 255];

static TREE: LazyLock<TreeOfProofs> = LazyLock::new(|| TreeOfProofs::build(Profile::Paper, HEIGHT).unwrap());

fn witness(vector: &Vector<MemoryStore>, members: &[u64]) -> BucketWitness {
    let batch = Batch::build(vector, members, members.len()).unwrap();
    match batch.root().witness(vector).unwrap() {
        Witness::Bucket(witness) => witness,
        other => panic!("a batch that fits one bucket has {other:?}"),
    }
}

/// Each part of a statement and some bytes, changed.
fn variants(proof: &BatchProof) -> Vec<BatchProof> {
    let bump = |Digest([a, b, c, d]): Digest| Digest([a, b, c, d + Goldilocks::ONE]);
    let s = proof.statement;
    let statements = [
        Statement { root: bump(s.root), ..s },
        Statement { canonical: bump(s.canonical), ..s },
        Statement { canonical: Digest::ZERO, ..s },
        Statement { height: s.height + 1, ..s },
        Statement { height: s.height - 1, ..s },
        Statement { base: 1 << s.height, ..s },
    ];
    let mut out: Vec<_> = statements.map(|statement| BatchProof { statement, ..proof.clone() }).into();
    for at in (0..proof.bytes.len()).step_by(proof.bytes.len() / 16) {
        let mut bytes = proof.bytes.clone();
        bytes[at] ^= 1;
        out.push(BatchProof { bytes, ..proof.clone() });
    }
    out.push(BatchProof { bytes: vec![], ..proof.clone() });
    out
}

#[test]
fn a_tree_of_proofs_states_what_a_batch_states() {
    let vector = vector(HEIGHT, MEMBERS.into_iter().chain([4, 200]));
    let witness = witness(&vector, &MEMBERS);
    let tree = &*TREE;
    let proof = tree.prove(&witness.statement.root, &witness.leaves).unwrap();
    assert_eq!(proof.statement, witness.statement);
    tree.verify(&proof).unwrap();
    for other in variants(&proof) {
        assert!(tree.verify(&other).is_err(), "{:?}", other.statement);
    }
    assert!(tree.verification_key_bytes() > 0 && tree.proving_key_bytes().unwrap() > 1 << 20);
}

#[test]
fn a_tree_of_proofs_joins_only_what_belongs_together() {
    let vector = vector(HEIGHT, MEMBERS);
    let BucketWitness { statement, leaves } = witness(&vector, &MEMBERS);
    let tree = &*TREE;
    let paths: Vec<_> = leaves[..3].iter().map(|l| tree.prove_path(&statement.root, l).unwrap()).collect();
    // Out of order, and a leaf twice.
    assert!(tree.join(&paths[1], &paths[0]).is_err());
    assert!(tree.join(&paths[0], &paths[0]).is_err());
    let joined = tree.join(&paths[0], &paths[1]).unwrap();
    assert!(tree.join(&paths[2], &joined).is_err());
    assert!(tree.join(&joined, &paths[1]).is_err());
    // Of another vector.
    let other = evergrove_testkit::commit::vector(HEIGHT, MEMBERS[1..].iter().copied());
    let foreign = witness(&other, &MEMBERS[1..]);
    let path = tree.prove_path(&foreign.statement.root, &foreign.leaves[3]).unwrap();
    assert!(tree.join(&joined, &path).is_err());
    assert!(tree.prove_path(&foreign.statement.root, &leaves[0]).is_err());
    // One leaf, no leaf, leaves out of order.
    assert!(tree.compact(&paths[0]).is_err());
    assert!(tree.prove(&statement.root, &[]).is_err());
    assert!(tree.prove(&statement.root, &[leaves[1].clone(), leaves[0].clone()]).is_err());
}

#[test]
fn a_tree_of_proofs_counts_its_proofs() {
    assert_eq!(Cost::of(&[]), Cost::default());
    assert_eq!(Cost::of(&[9]), Cost::default());
    assert_eq!(Cost::of(&MEMBERS), Cost { paths: 6, joins: [2, 2, 1], compactions: 1 });
    assert_eq!(Cost::of(&MEMBERS).total(), 12);
    let all: Vec<u64> = (0..64).collect();
    assert_eq!(Cost::of(&all), Cost { paths: 64, joins: [32, 0, 31], compactions: 1 });
    // A chain: every join except the lowest takes a path.
    let chain: Vec<u64> = (0..20).map(|k| 1 << k).collect();
    assert_eq!(Cost::of(&chain).joins, [1, 18, 0]);
}

#[test]
fn a_monolithic_proof_states_what_a_batch_states() {
    let vector = vector(HEIGHT, MEMBERS.into_iter().chain([4, 200]));
    let circuit = Monolithic::build(Profile::Paper, HEIGHT, 8).unwrap();
    assert!(circuit.rows() <= 1 << circuit.degree_bits());
    for members in [&MEMBERS[..], &MEMBERS[2..3]] {
        let witness = witness(&vector, members);
        let proof = circuit.prove(&witness).unwrap();
        assert_eq!(proof.statement, witness.statement);
        circuit.verify(&proof).unwrap();
        for other in variants(&proof) {
            assert!(circuit.verify(&other).is_err(), "{:?}", other.statement);
        }
    }
    let nine: Vec<u64> = (0..9).collect();
    let vector = evergrove_testkit::commit::vector(HEIGHT, nine.iter().copied());
    assert!(circuit.prove(&witness(&vector, &nine)).is_err(), "more leaves than slots");
    let mut other = witness(&vector, &nine[..4]);
    other.statement.base = 1 << HEIGHT;
    assert!(circuit.prove(&other).is_err(), "a statement that the leaves do not show");
    assert!(Monolithic::build(Profile::Paper, 0, 8).is_err() && Monolithic::build(Profile::Paper, 8, 0).is_err());
}

#[test]
#[ignore = "slow: minutes, circuits of 2^15 rows"]
fn every_profile_has_its_baselines() {
    for profile in [Profile::Johnson, Profile::Proven] {
        let members = &MEMBERS[..2];
        let vector = vector(HEIGHT, MEMBERS);
        let witness = witness(&vector, members);
        let tree = TreeOfProofs::build(profile, HEIGHT).unwrap();
        let proof = tree.prove(&witness.statement.root, &witness.leaves).unwrap();
        assert_eq!(proof.statement, witness.statement);
        tree.verify(&proof).unwrap();
        let circuit = Monolithic::build(profile, HEIGHT, 2).unwrap();
        circuit.verify(&circuit.prove(&witness).unwrap()).unwrap();
        // Circuits of another kind refuse the proof, though it states the same.
        circuit.verify(&proof).unwrap_err();
    }
}

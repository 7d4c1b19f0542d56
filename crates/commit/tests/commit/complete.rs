//! Batches over all slots: their structure, their statements, and what the native backend refuses.

use std::collections::{BTreeMap, BTreeSet};

use evergrove_commit::Witness;
use evergrove_commit::batch::{Batch, Change, Input, NodeShape, Plan, Structure};
use evergrove_commit::{
    LevelWitness, MemoryStore, MergeWitness, NativeBackend, NodeKind, NodeProof, RecursionBackend, Vector, vc,
};
use evergrove_primitives::Digest;
use evergrove_testkit::commit::{Rng, value, vector};
use evergrove_verifier::{HeightClass, Profile, Statement};

const K: u8 = 2;

fn backend() -> NativeBackend {
    NativeBackend::complete(Profile::Proven, HeightClass::H27, K)
}

fn build(vector: &Vector<MemoryStore>) -> Batch {
    Batch::build_as(vector, &[], Structure::Complete { block_height: K }).unwrap()
}

type Proofs = BTreeMap<(u8, u64, [u8; 32], u8), NodeProof>;

fn key(s: &Statement, kind: NodeKind) -> (u8, u64, [u8; 32], u8) {
    (s.height, s.base, s.root.to_bytes(), kind.code())
}

/// Makes the missing proofs; returns the proof of the whole batch and how many were made.
fn prove(vector: &Vector<MemoryStore>, batch: &Batch, proofs: &mut Proofs) -> (NodeProof, usize) {
    let Plan { steps, result, .. } = batch.plan(false, |s, kind| proofs.contains_key(&key(s, kind)));
    for step in &steps {
        let inputs: Vec<NodeProof> = step
            .inputs
            .iter()
            .map(|input| match input {
                Input::Step(n) => proofs[&key(&steps[*n].statement, steps[*n].kind)].clone(),
                Input::Existing { statement, kind } => proofs[&key(statement, *kind)].clone(),
            })
            .collect();
        let made = backend().prove(&step.witness(vector).unwrap(), &inputs.iter().collect::<Vec<_>>()).unwrap();
        backend().verify(&made).unwrap();
        proofs.insert(key(&step.statement, step.kind), made);
    }
    let (statement, kind) = match result {
        Input::Step(n) => (steps[n].statement, steps[n].kind),
        Input::Existing { statement, kind } => (statement, kind),
    };
    (proofs[&key(&statement, kind)].clone(), steps.len())
}

#[test]
fn the_structure_is_the_filled_blocks_and_where_they_meet() {
    let vector = vector(8, [0, 3, 4, 130, 255]);
    let batch = build(&vector);
    assert_eq!((batch.count(), batch.indices()), (5, vec![0, 3, 4, 130, 255]));
    let shape = |n: &evergrove_commit::batch::Node| (n.statement.height, n.statement.base, n.children().count());
    let nodes: Vec<_> = batch.nodes().into_iter().map(|n| shape(n)).collect();
    assert_eq!(nodes, [(2, 0, 0), (2, 4, 0), (7, 0, 2), (6, 128, 0), (6, 192, 0), (7, 128, 2), (8, 0, 2)]);
    for node in batch.nodes() {
        let Statement { root, canonical, height, base } = node.statement;
        assert_eq!((root, canonical), (vector.node(height, base >> height).unwrap(), Digest::ZERO));
    }
    assert!(batch.contains(130) && !batch.contains(131) && !batch.contains(1));
    let cost = batch.cost(true);
    assert_eq!((cost.buckets, cost.merges, cost.wraps, cost.depth), (4, 3, 1, 4));
}

#[test]
fn a_vector_lower_than_a_block_counts_as_grown() {
    let vector = vector(1, [1]);
    let batch = build(&vector);
    let grown = vector.commitment().unwrap().grown(K);
    assert_eq!((batch.statement().height, batch.statement().root), (grown.height, grown.root));
    let (proof, made) = prove(&vector, &batch, &mut Proofs::new());
    assert_eq!((made, proof.statement), (1, *batch.statement()));
}

#[test]
fn updates_end_where_a_rebuild_does_and_reprove_one_path() {
    let mut rng = Rng(5);
    let mut vector = vector(10, (0..60).map(|i| i * 17));
    let mut batch = build(&vector);
    let mut proofs = Proofs::new();
    prove(&vector, &batch, &mut proofs);
    let bound = Structure::Complete { block_height: K }.worst_case(10, Change::Value, false);
    for round in 0..120 {
        let slot = rng.below(1 << 10);
        let filled = rng.below(3) > 0;
        vector.apply(&[(slot, filled.then(|| value(rng.next_u64())))]).unwrap();
        batch = batch.update(&vector, &[], &[], &[slot]).unwrap();
        assert_eq!(batch, build(&vector), "round {round}");
        let (proof, made) = prove(&vector, &batch, &mut proofs);
        assert!(made <= bound, "round {round}: {made} proofs, {bound} at most");
        assert_eq!(proof.statement.root, vector.root().unwrap());
    }
}

#[test]
fn what_is_not_all_of_a_node_is_refused() {
    let vector = vector(8, [0, 1, 4, 130]);
    let batch = build(&vector);
    let mut proofs = Proofs::new();
    prove(&vector, &batch, &mut proofs);
    let block = batch.nodes()[0].clone();
    let Witness::Bucket(honest) = block.witness(&vector).unwrap() else { panic!("a block") };
    let mut less = honest.clone();
    less.leaves.pop();
    assert!(backend().prove(&less.into(), &[]).is_err(), "a leaf left out");
    let mut twice = honest.clone();
    twice.leaves.push(honest.leaves[1].clone());
    assert!(backend().prove(&twice.into(), &[]).is_err(), "a leaf twice");
    let mut low = honest.clone();
    low.statement.height = 1;
    assert!(backend().prove(&low.into(), &[]).is_err(), "below the block");
    let mut high = honest;
    high.statement = *batch.statement();
    assert!(backend().prove(&high.into(), &[]).is_err(), "above leaves that are not its own");

    let lowest = batch.nodes().into_iter().find(|n| matches!(n.shape, NodeShape::Merge { .. })).unwrap().clone();
    let below = lowest.statement;
    let children: Vec<_> = lowest.children().map(|c| &proofs[&key(&c.statement, c.kind())]).collect();
    let Witness::Merge(witness) = lowest.witness(&vector).unwrap() else { panic!("a merge") };
    assert_eq!((below.height, witness.siblings.len()), (7, 4));
    let over = vector.siblings(0, 7, 8).unwrap();
    let passed = MergeWitness { statement: *batch.statement(), siblings: [witness.siblings, over].concat() };
    let refused = backend().prove(&passed.into(), &children).unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
}

fn tree() -> NativeBackend {
    NativeBackend::tree(Profile::Proven, HeightClass::H27, K)
}

#[test]
fn a_tree_has_every_node_that_is_not_empty() {
    let structure = Structure::Tree { block_height: K };
    for members in [vec![0, 3, 4, 130, 255], vec![77], vec![]] {
        let vector = vector(8, members.iter().copied());
        let batch = Batch::build_as(&vector, &[], structure).unwrap();
        assert_eq!(batch.indices(), members);
        let first = if members.is_empty() { vec![0] } else { members.clone() };
        let at = |level: u8| first.iter().map(|i| i >> level).collect::<BTreeSet<_>>().len();
        let cost = batch.cost(true);
        let merges: usize = (K + 1..=8).map(at).sum();
        assert_eq!((cost.buckets, cost.merges, cost.depth), (at(K), merges, usize::from(8 - K) + 2));
        for node in batch.nodes() {
            let Statement { root, canonical, height, base } = node.statement;
            assert_eq!((root, canonical), (vector.node(height, base >> height).unwrap(), Digest::ZERO));
        }
        let pp = vc::setup(8, tree()).unwrap();
        let (proof, data) = vc::agg(&pp, &[], &vector).unwrap();
        assert_eq!((proof.statement, data.made), (*batch.statement(), cost.total() - 1));
    }
}

#[test]
fn updates_of_a_tree_reprove_one_path() {
    let mut rng = Rng(6);
    let mut vector = vector(10, (0..60).map(|i| i * 17));
    let pp = vc::setup(10, tree()).unwrap();
    let (_, mut data) = vc::agg(&pp, &[], &vector).unwrap();
    let bound = Structure::Tree { block_height: K }.worst_case(10, Change::Value, false);
    assert_eq!(bound, 9);
    for round in 0..120 {
        let slot = rng.below(1 << 10);
        let filled = rng.below(3) > 0;
        vector.apply(&[(slot, filled.then(|| value(rng.next_u64())))]).unwrap();
        let (proof, next) = vc::upd_batch_proof(&pp, &data, &vector, &[slot], &[], &[]).unwrap();
        assert_eq!(next.batch, Batch::build_as(&vector, &[], next.batch.structure()).unwrap(), "round {round}");
        assert!(next.made <= bound, "round {round}: {} proofs, {bound} at most", next.made);
        assert_eq!(proof.statement.root, vector.root().unwrap());
        data = next;
    }
    vector.grow().unwrap();
    let (_, grown) = vc::upd_batch_proof(&vc::setup(11, tree()).unwrap(), &data, &vector, &[], &[], &[]).unwrap();
    assert_eq!(grown.made, 1);
}

#[test]
fn nodes_of_a_tree_that_are_none_are_refused() {
    let vector = vector(4, [0, 9, 14]);
    let (_, data) = vc::agg(&vc::setup(4, tree()).unwrap(), &[], &vector).unwrap();
    let at = |height, base| {
        data.batch.nodes().into_iter().find(|n| (n.statement.height, n.statement.base) == (height, base))
    };
    let proof = |height, base| {
        let node = at(height, base).unwrap();
        data.proofs[&(node.statement, node.kind())].clone()
    };
    let witness = |height, base| match at(height, base).unwrap().witness(&vector).unwrap() {
        Witness::Level(witness) => witness,
        other => panic!("{other:?}"),
    };
    let backend = tree();
    let refused = |children: [Option<&NodeProof>; 2], witness: &LevelWitness, what: &str| {
        let refused = backend
            .prove(&witness.clone().into(), &Vec::from_iter(children.into_iter().flatten()))
            .unwrap_err()
            .to_string();
        assert!(refused.contains(what), "{refused}");
    };
    let (left, right) = (proof(2, 8), proof(2, 12));
    backend.prove(&witness(3, 8).into(), &[&left, &right]).unwrap();
    // A child left out, the two children exchanged, and one child above the other's sibling.
    let mut alone = witness(3, 8);
    alone.canonicals[1] = None;
    refused([Some(&left), None], &alone, "not empty");
    let mut swapped = witness(3, 8);
    swapped.roots.swap(0, 1);
    refused([Some(&right), Some(&left)], &swapped, "is not child 0");
    let first = proof(2, 0);
    let mut mixed = witness(3, 8);
    mixed.roots[0] = first.statement.root;
    refused([Some(&first), Some(&right)], &mixed, "is not child 1");
    refused([None, None], &LevelWitness { canonicals: [None; 2], ..alone }, "without a child");
    let merge = MergeWitness { statement: witness(3, 8).statement, siblings: vec![] };
    assert!(backend.prove(&merge.into(), &[&left, &right]).is_err());
    // Damaged bytes of a tree's proof, as for the other scheme.
    let mut rng = Rng(10);
    let whole = proof(4, 0);
    for _ in 0..1000 {
        let mut bytes = whole.bytes.clone();
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << rng.below(8),
            _ => bytes.insert(at, rng.next_u64() as u8),
        }
        assert!(backend.verify(&NodeProof { bytes, ..(*whole).clone() }).is_err());
    }
}

#[test]
fn no_bytes_panic() {
    let vector = vector(8, [0, 1, 4, 130]);
    let (proof, _) = prove(&vector, &build(&vector), &mut Proofs::new());
    let mut rng = Rng(9);
    for _ in 0..2000 {
        let mut bytes = proof.bytes.clone();
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << rng.below(8),
            _ => bytes.insert(at, rng.next_u64() as u8),
        }
        assert!(backend().verify(&NodeProof { bytes, ..proof.clone() }).is_err());
    }
}

#[test]
fn an_empty_vector_is_one_empty_block() {
    for height in [1, K, 9] {
        let vector = Vector::new(height, MemoryStore::new()).unwrap();
        let batch = build(&vector);
        assert_eq!((batch.count(), batch.indices()), (0, vec![]));
        let (proof, made) = prove(&vector, &batch, &mut Proofs::new());
        assert_eq!((made, proof.kind), (1, NodeKind::Bucket));
        let grown = vector.commitment().unwrap().grown(height.max(K));
        assert_eq!((proof.statement.root, proof.statement.height), (grown.root, grown.height));
        let same = batch.update(&vector, &[], &[], &[]).unwrap();
        assert_eq!(same.statement(), batch.statement());
    }
}

//! Attacks by a prover that sets wires: outputs that do not follow from the leaves, leaves left out or counted twice,
//! subtrees that are said to be empty, and children of another scheme.

use std::sync::{Arc, LazyLock};

use evergrove_apps::samples::Tally;
use evergrove_commit::Witness;
use evergrove_commit::batch::{Batch, NodeShape, Structure};
use evergrove_commit::{BucketWitness, LeafWitness, MergeWitness, NodeProof, RecursionBackend};
use evergrove_plonky2::apps::circuit_set::{AppBackend, AppBucket, CircuitSetSpec, Leaves, Size};
use evergrove_plonky2::assignment::{Assignment, assert_refused, assert_refused_at_a_child};
use evergrove_plonky2::circuit::{Builder, C, D, F, NODE_PUBLIC_INPUTS, to_hash, to_plonky};
use evergrove_plonky2::setup::PairSpec;
use evergrove_primitives::Digest;
use evergrove_verifier::tree::{leaf_digest, node_digest};
use evergrove_verifier::{HeightClass, Profile, Scheme};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::Target;
use plonky2::plonk::circuit_data::CircuitData;

use super::{COMPLETE, SELECTED};
use crate::apps::world::{Proofs, key, vector};

/// A small bucket of the tally, as a separate circuit.
struct Small {
    bucket: AppBucket,
    data: CircuitData<F, C, D>,
}

fn small(scheme: Scheme) -> Small {
    let app = Arc::new(Tally::new(20));
    let size = Size { capacity: 4, degree_bits: 10 };
    let spec = CircuitSetSpec::new(app, scheme, Profile::Paper, HeightClass::H27, size);
    let mut b = Builder::new(spec.spec().config.clone());
    let bucket = spec.bucket(&mut b);
    Small { bucket, data: b.build() }
}

static CHOSEN: LazyLock<Small> = LazyLock::new(|| small(Scheme::Selected));
static BLOCK: LazyLock<Small> = LazyLock::new(|| small(Scheme::Complete));

impl Small {
    fn complete(&self, witness: &BucketWitness, forced: &[(Target, F)]) -> Assignment<'_> {
        Assignment::complete(&self.data, forced, self.bucket.assign(witness, HashOut::ZERO).unwrap())
    }

    /// Wires of slot k: active, index or nothing, value.
    fn slot(&self, k: usize) -> (Target, Target, [Target; 4]) {
        match &self.bucket.leaves {
            Leaves::Chosen(b) => (b.slots[k].active.target, b.slots[k].index, b.slots[k].value),
            Leaves::Block(b) => (b.slots[k].active.target, b.slots[k].index, b.slots[k].value),
        }
    }
}

fn number(target: Target, x: u64) -> (Target, F) {
    (target, F::from_canonical_u64(x))
}

fn digest(targets: [Target; 4], d: Digest) -> Vec<(Target, F)> {
    targets.into_iter().zip(to_hash(&d).elements).collect()
}

/// The bucket of chosen members in a vector of height 8.
fn chosen(members: &[u64]) -> BucketWitness {
    let vector = vector(8, [3, 5, 69, 200]);
    let batch = Batch::build_as(&vector, members, Structure::Compressed { capacity: 4 }).unwrap();
    let Witness::Bucket(witness) = batch.root().witness(&vector).unwrap() else { panic!("one bucket") };
    witness
}

/// The block of slots 4 to 7, where 5 and 6 are filled, in a vector with nothing else.
fn block() -> BucketWitness {
    let vector = vector(8, [5, 6]);
    let batch = Batch::build_as(&vector, &[], Structure::Complete { block_height: 2 }).unwrap();
    let Witness::Bucket(witness) = batch.root().witness(&vector).unwrap() else { panic!("one block") };
    witness
}

#[test]
fn honest_buckets_violate_nothing() {
    for members in [&[5][..], &[3, 5, 69, 200]] {
        let assignment = CHOSEN.complete(&chosen(members), &[]);
        assert_eq!(assignment.violations(), Default::default());
        let sum: u64 = members.iter().map(|i| i % 1000).sum();
        let expected = [members.len() as u64, sum].map(F::from_canonical_u64);
        assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], expected);
    }
    let assignment = BLOCK.complete(&block(), &[]);
    assert_eq!(assignment.violations(), Default::default());
    assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], [2, 11].map(F::from_canonical_u64));
}

#[test]
fn an_output_that_does_not_follow_is_refused() {
    for (small, witness) in [(&CHOSEN, chosen(&[3, 5])), (&BLOCK, block())] {
        for (k, x) in [(0, 3), (0, 1), (1, 0), (1, 999)] {
            assert_refused(&small.complete(&witness, &[number(small.bucket.output[k], x)]), 2);
        }
    }
}

#[test]
fn an_inactive_slot_counts_for_nothing() {
    // The prover fills it as it likes: the output stays, and another is refused.
    let (_, index, value) = CHOSEN.slot(2);
    let garbage = [number(index, 77), number(value[0], 1000)];
    let assignment = CHOSEN.complete(&chosen(&[3, 5]), &garbage);
    assert_eq!(assignment.violations(), Default::default());
    assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], [2, 8].map(F::from_canonical_u64));
    let with_output = [&garbage[..], &[number(CHOSEN.bucket.output[1], 1008)]].concat();
    assert_refused(&CHOSEN.complete(&chosen(&[3, 5]), &with_output), 2);

    let (_, _, value) = BLOCK.slot(0);
    let assignment = BLOCK.complete(&block(), &[number(value[0], 1000)]);
    assert_eq!(assignment.violations(), Default::default());
    assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], [2, 11].map(F::from_canonical_u64));
}

#[test]
fn a_leaf_counted_twice_is_refused() {
    let honest = chosen(&[5]);
    let Leaves::Chosen(bucket) = &CHOSEN.bucket.leaves else { panic!("a bucket of members") };
    let (active, index, value) = CHOSEN.slot(1);
    let leaf: &LeafWitness = &honest.leaves[0];
    let own = leaf_digest(5, &leaf.value);
    let mut forced = vec![number(active, 1), number(index, 5)];
    forced.extend(value.into_iter().zip(leaf.value.map(to_plonky)));
    for (targets, sibling) in bucket.slots[1].siblings.iter().zip(&leaf.siblings) {
        forced.extend(digest(*targets, *sibling));
    }
    forced.extend(digest(bucket.merges[0].left, own));
    forced.extend(digest(bucket.merges[0].right, own));
    forced.extend(digest(bucket.node.canonical, node_digest(&own, &own)));
    // All but the order of the slots holds, the count of two included.
    let assignment = CHOSEN.complete(&honest, &forced);
    assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], [2, 10].map(F::from_canonical_u64));
    assert_refused(&assignment, 2);
}

#[test]
fn a_filled_slot_left_out_of_a_block_is_refused() {
    // Slot 6 is declared empty: the block then has another root, wherever that is forced to be the vector's.
    let (active, ..) = BLOCK.slot(2);
    let assignment = BLOCK.complete(&block(), &[number(active, 0)]);
    assert_eq!(assignment.public_inputs()[NODE_PUBLIC_INPUTS..], [1, 5].map(F::from_canonical_u64));
    assert_refused(&assignment, 4);
    // The inverse: an empty slot that is said to hold a leaf.
    let (active, _, value) = BLOCK.slot(0);
    assert_refused(&BLOCK.complete(&block(), &[number(active, 1), number(value[0], 1)]), 4);
}

#[test]
fn a_value_changed_in_a_block_is_refused() {
    let (_, _, value) = BLOCK.slot(1);
    assert_refused(&BLOCK.complete(&block(), &[number(value[0], 6)]), 4);
}

#[test]
fn another_place_of_a_block_is_refused() {
    let Leaves::Block(block_targets) = &BLOCK.bucket.leaves else { panic!("a block") };
    assert_refused(&BLOCK.complete(&block(), &[number(block_targets.number, 2)]), 8);
    assert_refused(&BLOCK.complete(&block(), &[number(block_targets.node.base, 4)]), 2);
}

#[test]
fn a_block_below_leaves_that_are_not_its_own_is_refused() {
    // Slot 100 is filled too. The block's climb assumes emptiness beside it, and does not lead to the vector's root.
    let full = vector(8, [5, 6, 100]);
    let mut witness = block();
    witness.statement.root = full.root().unwrap();
    assert_refused(&BLOCK.complete(&witness, &[]), 4);
    // Declared to have height 2 it has its own root, which the policy refuses because the vector's height differs.
    let mut low = block();
    low.statement.height = 2;
    low.statement.base = 4;
    low.statement.root = full.node(2, 1).unwrap();
    assert_eq!(BLOCK.complete(&low, &[]).violations(), Default::default());
}

#[test]
fn a_canonical_digest_of_all_leaves_is_refused() {
    let mut witness = block();
    witness.statement.canonical = Digest([1, 2, 3, 4].map(evergrove_primitives::Goldilocks::new));
    // d is connected to the circuit's zero, so that more breaks than one gate.
    assert_refused_at_a_child(&BLOCK.complete(&witness, &[]));
}

/// The merge of the two children of a batch's root, with a witness that `change` may spoil.
fn merge(
    backend: &'static AppBackend,
    [left, right]: [&NodeProof; 2],
    witness: &MergeWitness,
    forced: &[(Target, F)],
) -> Assignment<'static> {
    let pair = backend.circuits();
    let [l, r] = [left, right].map(|p| backend.verifier().verified(p).unwrap());
    let keys = [&pair.bucket.data.verifier_only, &pair.merge.data.verifier_only];
    let children = [(&l, true), (&r, true)];
    let honest = pair.merge.targets.node.assign(witness, children, left.statement.height, keys[0], keys[1]).unwrap();
    Assignment::complete(&pair.merge.data, forced, honest)
}

/// Proofs of the two blocks of a vector whose blocks 0 and 1 are filled, the lowest merge's witness and the vector's root.
fn two_blocks(others: &[u64]) -> ([NodeProof; 2], MergeWitness) {
    let slots = COMPLETE.spec().capacity as u64;
    let vector = vector(24, [0, 3, slots + 1].into_iter().chain(others.iter().copied()));
    let batch = Batch::build_as(&vector, &[], COMPLETE.spec().structure()).unwrap();
    let mut proofs = Proofs::new();
    let lowest = batch.nodes().into_iter().find(|n| matches!(n.shape, NodeShape::Merge { .. })).unwrap().clone();
    let children: Vec<NodeProof> = lowest
        .children()
        .map(|child| {
            let made = COMPLETE.prove(&child.witness(&vector).unwrap(), &[]).unwrap();
            proofs.insert(key(&made.statement, made.kind), made.clone());
            made
        })
        .collect();
    let Witness::Merge(witness) = lowest.witness(&vector).unwrap() else { panic!("a merge") };
    (children.try_into().unwrap(), witness)
}

#[test]
fn a_merge_that_reduces_wrongly_or_swaps_is_refused() {
    let ([l, r], witness) = two_blocks(&[]);
    let honest = merge(&COMPLETE, [&l, &r], &witness, &[]);
    assert_eq!(honest.violations(), Default::default());
    let output = &COMPLETE.circuits().merge.targets.output;
    let right = &honest.public_inputs()[NODE_PUBLIC_INPUTS..];
    for k in 0..2 {
        assert_refused(&merge(&COMPLETE, [&l, &r], &witness, &[(output[k], right[k] + F::ONE)]), 2);
    }
}

#[test]
fn a_merge_that_passes_over_leaves_is_refused() {
    // Slot 9 * 2^k is filled as well: the merge of blocks 0 and 1 climbs past it to the vector's root.
    let slots = COMPLETE.spec().capacity as u64;
    let ([l, r], low) = two_blocks(&[9 * slots]);
    let vector = vector(24, [0, 3, slots + 1, 9 * slots]);
    let height = 24;
    let siblings = vector.siblings(0, low.statement.height, height).unwrap();
    let statement = evergrove_verifier::Statement { root: vector.root().unwrap(), height, base: 0, ..low.statement };
    let passed = MergeWitness { statement, siblings: [low.siblings.clone(), siblings].concat() };
    assert_refused(&merge(&COMPLETE, [&l, &r], &passed, &[]), 4);
    let refused = COMPLETE.prove(&passed.into(), &[&l, &r]).unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
}

#[test]
fn a_child_by_the_key_of_the_other_scheme_is_refused() {
    // A merge has one constant key for buckets, and takes no other's; proofs of the other scheme have another shape besides.
    let (own, other) = (COMPLETE.keys().set, SELECTED.keys().set);
    assert_ne!(own.bucket.circuit_digest, other.bucket.circuit_digest);
    assert_ne!(own.node_common, other.node_common);
    let ([l, r], witness) = two_blocks(&[]);
    let [l, r] = [l, r].map(|p| (COMPLETE.verifier().verified(&p).unwrap(), p.statement.height));
    let circuit = &COMPLETE.circuits().merge;
    for key in [&other.bucket, &other.merge, &own.merge] {
        let children = [(&l.0, true), (&r.0, true)];
        let honest = circuit.targets.node.assign(&witness, children, r.1, key, &own.merge).unwrap();
        assert_refused_at_a_child(&Assignment::complete(&circuit.data, &[], honest));
    }
}

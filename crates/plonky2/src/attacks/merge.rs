//! Attacks on the merge circuit, for positions below 2^8.
//!
//! The merge under attack trusts, instead of the bucket, a circuit that proves *any* public inputs. So the children are
//! proofs that verify, whatever they state, and only the merge's own constraints can refuse.

use std::sync::{LazyLock, Mutex};

use evergrove_commit::MergeWitness;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::Statement;
use evergrove_verifier::tree::{node_digest, root_of_path};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};

use super::{Assignment, assert_refused, assert_refused_at_a_child};
use crate::circuit::{C, CircuitSpec, D, F, MergeTargets, PlonkyProof, to_hash};
use crate::setup::{Circuit, CircuitPair, build_anything, build_merge};

const HEIGHT: u8 = 8;

/// The circuits of these attacks.
pub(super) struct Fixture {
    /// A real pair.
    pub(super) pair: CircuitPair,
    /// Proves any public inputs; shares the pair's common data.
    pub(super) anything: Circuit<Vec<Target>>,
    /// A merge that accepts `anything` as the bucket.
    pub(super) merge: Circuit<MergeTargets>,
}

pub(super) static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let spec = CircuitSpec {
        config: CircuitConfig::standard_recursion_config(),
        height_max: HEIGHT,
        capacity: 4,
        degree_bits: 13,
    };
    let pair = CircuitPair::build(&spec, None).unwrap();
    let common = &pair.merge.data.common;
    let anything = build_anything(&spec, common);
    let merge = build_merge(&spec, common, anything.data.verifier_only.circuit_digest);
    assert_eq!((&anything.data.common, &merge.data.common), (common, common));
    Fixture { pair, anything, merge }
});

pub(super) fn digest(x: u64) -> Digest {
    Digest(core::array::from_fn(|k| Goldilocks::new(100 * x + k as u64 + 1)))
}

pub(super) fn statement(x: u64, height: u8, base: u64) -> Statement {
    Statement { root: digest(x), canonical: digest(x + 50), height, base }
}

/// A proof of any statement, made for any merge key.
pub(super) fn prove_anything(data: &CircuitData<F, C, D>, st: &Statement, merge_key: HashOut<F>) -> PlonkyProof {
    let mut values = [to_hash(&st.root).elements, to_hash(&st.canonical).elements].concat();
    values.extend([F::from_canonical_u8(st.height), F::from_canonical_u64(st.base)]);
    values.extend(merge_key.elements);
    let mut wires = PartialWitness::new();
    wires.set_target_arr(&FIXTURE.anything.targets, &values).unwrap();
    data.prove(wires).unwrap()
}

/// A child of the merge under attack; several attacks share one.
fn child(st: &Statement, merge_key: HashOut<F>) -> PlonkyProof {
    static MADE: Mutex<Vec<(Statement, PlonkyProof)>> = Mutex::new(Vec::new());
    let found = MADE.lock().unwrap().iter().find(|(s, _)| s == st).map(|(_, p)| p.clone());
    found.unwrap_or_else(|| {
        let proof = prove_anything(&FIXTURE.anything.data, st, merge_key);
        MADE.lock().unwrap().push((*st, proof.clone()));
        proof
    })
}

/// The merge of two children, each a proof of its claimed statement, as far as the statement's numbers allow.
struct Merge {
    children: [PlonkyProof; 2],
    child_height: u8,
    witness: MergeWitness,
}

impl Merge {
    fn new(children: [Statement; 2], height: u8, base: u64, siblings: &[Digest]) -> Self {
        let key = FIXTURE.merge.data.verifier_only.circuit_digest;
        let [l, r] = &children;
        let root = root_of_path(node_digest(&l.root, &r.root), l.base >> (l.height + 1), siblings);
        let canonical = node_digest(&l.canonical, &r.canonical);
        let statement = Statement { root, canonical, height, base };
        Self {
            children: children.map(|st| child(&st, key)),
            child_height: l.height,
            witness: MergeWitness { statement, siblings: siblings.to_vec() },
        }
    }

    fn complete(&self, forced: &[(Target, F)]) -> Assignment<'static> {
        let Fixture { anything, merge, .. } = &*FIXTURE;
        // Attacks on the heights set them themselves.
        let height = self.child_height.min(self.witness.statement.height - 1);
        let keys = [&anything.data.verifier_only, &merge.data.verifier_only];
        let children = [(&self.children[0], true), (&self.children[1], true)];
        let honest = merge.targets.assign(&self.witness, children, height, keys[0], keys[1]).unwrap();
        Assignment::complete(&merge.data, forced, honest)
    }
}

fn flags(targets: &[plonky2::iop::target::BoolTarget], height: u8) -> Vec<(Target, F)> {
    targets.iter().enumerate().map(|(l, t)| (t.target, F::from_bool(l < height.into()))).collect()
}

#[test]
fn an_honest_merge_violates_nothing_and_proves() {
    let merge = Merge::new([statement(1, 2, 64), statement(2, 2, 68)], 7, 0, &[7, 8, 9, 10].map(digest));
    assert_eq!(merge.complete(&[]).violations(), Default::default());
    let Fixture { anything, merge: circuit, .. } = &*FIXTURE;
    let keys = [&anything.data.verifier_only, &circuit.data.verifier_only];
    let children = [(&merge.children[0], true), (&merge.children[1], true)];
    let wires = circuit.targets.assign(&merge.witness, children, 2, keys[0], keys[1]).unwrap();
    circuit.data.verify(circuit.data.prove(wires).unwrap()).unwrap();
}

#[test]
fn swapped_children_are_refused() {
    // The right child on the left, and beside it the node at the next position.
    let merge = Merge::new([statement(1, 2, 4), statement(2, 2, 8)], 3, 0, &[]);
    assert_refused(&merge.complete(&[]), 2);
    // The two children in the wrong order.
    let merge = Merge::new([statement(1, 2, 4), statement(2, 2, 0)], 3, 0, &[]);
    assert_refused(&merge.complete(&[]), 3);
}

#[test]
fn children_that_are_no_siblings_are_refused() {
    let merge = Merge::new([statement(1, 2, 0), statement(2, 2, 12)], 3, 0, &[]);
    assert_refused(&merge.complete(&[]), 2);
    // The same child twice would count its leaves twice.
    let merge = Merge::new([statement(1, 2, 0), statement(1, 2, 0)], 3, 0, &[]);
    assert_refused(&merge.complete(&[]), 2);
}

#[test]
fn children_of_the_full_height_are_refused() {
    // h_c = H_max = h: nothing climbs, and positions 2^H_max and beyond would be proven.
    let merge = Merge::new([statement(1, HEIGHT, 0), statement(2, HEIGHT, 1 << HEIGHT)], HEIGHT, 0, &[]);
    // The flag of level H_max - 1 is wired to zero, so the flags cannot add up to h_c.
    assert_refused(&merge.complete(&[]), 2);
}

#[test]
fn a_base_beyond_the_class_is_refused() {
    let base = 1 << HEIGHT;
    let merge = Merge::new([statement(1, 2, base), statement(2, 2, base + 4)], 3, base, &[]);
    assert_refused(&merge.complete(&[]), 2);
    // Climbing from there with the low bits' path.
    let merge = Merge::new([statement(1, 2, base), statement(2, 2, base + 4)], 8, base, &[3, 4, 5, 6, 7].map(digest));
    assert_refused(&merge.complete(&[]), 2);
}

#[test]
fn a_merge_that_does_not_rise_is_refused() {
    // h = h_c: the statement of the parent under the height of the child.
    let merge = Merge::new([statement(1, 3, 0), statement(2, 3, 8)], 3, 0, &[]);
    let forced = flags(&FIXTURE.merge.targets.below_child, 3);
    assert_refused(&merge.complete(&forced), 6);
}

#[test]
fn a_statement_at_another_height_is_refused() {
    // The digest of height 4 stated as one of height 5 and of height 3.
    for height in [3, 5] {
        let merge = Merge::new([statement(1, 2, 0), statement(2, 2, 4)], height, 0, &[digest(9)]);
        assert_refused(&merge.complete(&[]), 4);
    }
}

#[test]
fn children_of_unequal_height_are_refused() {
    let merge = Merge::new([statement(1, 2, 0), statement(2, 3, 4)], 4, 0, &[digest(9)]);
    assert_refused_at_a_child(&merge.complete(&[]));
}

#[test]
fn another_canonical_digest_is_refused() {
    let mut merge = Merge::new([statement(1, 2, 0), statement(2, 2, 4)], 3, 0, &[]);
    merge.witness.statement.canonical = node_digest(&digest(52), &digest(51));
    assert_refused(&merge.complete(&[]), 2);
}

#[test]
fn a_child_made_for_another_merge_key_is_refused() {
    let mut merge = Merge::new([statement(1, 2, 0), statement(2, 2, 4)], 3, 0, &[]);
    merge.children[1] = prove_anything(&FIXTURE.anything.data, &statement(2, 2, 4), to_hash(&digest(77)));
    assert_refused_at_a_child(&merge.complete(&[]));
}

/// A circuit that proves anything, disguised as the one with this digest: its transcripts start from that digest.
pub(super) fn disguised(digest: HashOut<F>, spec_of: &CircuitData<F, C, D>) -> CircuitData<F, C, D> {
    let spec = CircuitSpec {
        config: spec_of.common.config.clone(),
        height_max: HEIGHT,
        capacity: 4,
        degree_bits: spec_of.common.degree_bits(),
    };
    let mut data = build_anything(&spec, &spec_of.common).data;
    data.prover_only.circuit_digest = digest;
    data.verifier_only.circuit_digest = digest;
    data
}

#[test]
fn a_foreign_verification_key_is_refused() {
    let pair = &FIXTURE.pair;
    let merge_key = &pair.merge.data.verifier_only;
    for is_bucket in [true, false] {
        let genuine = if is_bucket { &pair.bucket.data.verifier_only } else { merge_key };
        let foreign = disguised(genuine.circuit_digest, &pair.bucket.data);
        let children = [statement(1, 2, 0), statement(2, 2, 4)];
        let proofs = children.map(|st| prove_anything(&foreign, &st, merge_key.circuit_digest));
        let root = node_digest(&children[0].root, &children[1].root);
        let canonical = node_digest(&children[0].canonical, &children[1].canonical);
        let witness = MergeWitness { statement: Statement { root, canonical, height: 3, base: 0 }, siblings: vec![] };
        let keys = if is_bucket { [&foreign.verifier_only, merge_key] } else { [merge_key, &foreign.verifier_only] };
        let honest = pair
            .merge
            .targets
            .assign(&witness, [(&proofs[0], is_bucket), (&proofs[1], is_bucket)], 2, keys[0], keys[1])
            .unwrap();
        // Only the two caps that do not hash to the digest reveal the forgery.
        assert_refused(&Assignment::complete(&pair.merge.data, &[], honest), 2);
    }
}

//! Attacks on the bucket circuit, in a vector of 2^8 slots with buckets of 4.

use std::sync::LazyLock;

use evergrove_commit::{BucketWitness, LeafWitness, MemoryStore, Vector};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::Statement;
use evergrove_verifier::tree::{Value, canonical_digest, leaf_digest, node_digest, null_digest, root_of_path};
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::hash::hashing::hash_n_to_m_no_pad;
use plonky2::hash::poseidon::PoseidonPermutation;
use plonky2::iop::target::Target;
use plonky2::iop::witness::PartialWitness;
use plonky2::plonk::circuit_data::CircuitConfig;

use super::{Assignment, assert_refused};
use crate::circuit::{BucketTargets, CircuitSpec, DigestTarget, F, to_hash, to_plonky};
use crate::setup::{Circuit, build_bucket};

const HEIGHT: u8 = 8;

static BUCKET: LazyLock<Circuit<BucketTargets>> = LazyLock::new(|| {
    build_bucket(&CircuitSpec {
        config: CircuitConfig::standard_recursion_config(),
        height_max: HEIGHT,
        capacity: 4,
        degree_bits: 7,
    })
});

fn value(x: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::new(1000 * x + k as u64))
}

/// Slots 3, 5, 5 + 64, 200 and 201 are filled.
const FILLED: [u64; 5] = [3, 5, 69, 200, 201];

fn vector() -> Vector<MemoryStore> {
    let mut vector = Vector::new(HEIGHT, MemoryStore::new()).unwrap();
    vector.apply(&FILLED.map(|i| (i, Some(value(i))))).unwrap();
    vector
}

/// A witness of these members, in this order, with d as the canonical digest of the leaves in this order.
fn witness(members: &[u64]) -> BucketWitness {
    let vector = vector();
    let leaf = |i: &u64| LeafWitness {
        index: *i,
        value: value(*i),
        siblings: vector.siblings(*i, 0, HEIGHT).unwrap(),
        opening: vec![],
    };
    let digests: Vec<_> = members.iter().map(|i| (*i, leaf_digest(*i, &value(*i)))).collect();
    let statement = Statement::whole(&vector.commitment().unwrap(), canonical_digest(&digests));
    BucketWitness { statement, leaves: members.iter().map(leaf).collect() }
}

fn assign(witness: &BucketWitness) -> PartialWitness<F> {
    BUCKET.targets.assign(witness, HashOut::ZERO).unwrap()
}

fn digest(targets: DigestTarget, d: Digest) -> Vec<(Target, F)> {
    targets.into_iter().zip(to_hash(&d).elements).collect()
}

fn number(target: Target, x: u64) -> (Target, F) {
    (target, F::from_canonical_u64(x))
}

/// A slot filled in by hand: active, with this index, value and path.
fn slot(k: usize, index: u64, v: &Value, siblings: &[Digest]) -> Vec<(Target, F)> {
    let slot = &BUCKET.targets.slots[k];
    let mut out = vec![number(slot.active.target, 1), number(slot.index, index)];
    out.extend(slot.value.into_iter().zip(v.map(to_plonky)));
    for (targets, s) in slot.siblings.iter().zip(siblings) {
        out.extend(digest(*targets, *s));
    }
    out
}

/// Merge k hashes these two.
fn merge(k: usize, left: Digest, right: Digest) -> Vec<(Target, F)> {
    let m = &BUCKET.targets.merges[k];
    [digest(m.left, left), digest(m.right, right)].concat()
}

#[test]
fn honest_assignments_violate_nothing_and_prove() {
    for members in [&[5][..], &[3, 5], &[3, 5, 69, 201]] {
        let assignment = Assignment::complete(&BUCKET.data, &[], assign(&witness(members)));
        assert_eq!(assignment.violations(), Default::default(), "{members:?}");
    }
    let proof = BUCKET.data.prove(assign(&witness(&[3, 5, 69]))).unwrap();
    BUCKET.data.verify(proof).unwrap();
}

#[test]
fn the_shape_of_the_digest_is_free() {
    // Not an attack: the circuit leaves this to the verifier, which recomputes d. H(leaf 5, leaf 3) is canonical for no
    // set.
    let (a, b) = (leaf_digest(3, &value(3)), leaf_digest(5, &value(5)));
    let mut forced = merge(0, b, a);
    forced.extend(digest(BUCKET.targets.node.canonical, node_digest(&b, &a)));
    let assignment = Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[3, 5])));
    assert_eq!(assignment.violations(), Default::default());
}

#[test]
fn a_violation_makes_the_proof_fail() {
    let mut wrong = witness(&[3, 5]);
    wrong.statement.canonical = Digest::ZERO;
    assert!(!Assignment::complete(&BUCKET.data, &[], assign(&wrong)).violations().is_empty());
    let proof = std::panic::catch_unwind(|| BUCKET.data.prove(assign(&wrong)));
    assert!(!matches!(proof, Ok(Ok(p)) if BUCKET.data.verify(p.clone()).is_ok()));
}

#[test]
fn an_empty_bucket_is_refused() {
    // No active slot, no active merge, d = 0: every argument balances, for any C.
    let mut forced = digest(BUCKET.targets.node.root, leaf_digest(1, &value(1)));
    forced.extend(digest(BUCKET.targets.node.canonical, Digest::ZERO));
    forced.extend(BUCKET.targets.slots.iter().map(|s| number(s.active.target, 0)));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[5]))), 2);
}

#[test]
fn one_leaf_in_two_slots_is_refused() {
    let honest = witness(&[5]);
    let leaf = leaf_digest(5, &value(5));
    let mut forced = slot(1, 5, &value(5), &honest.leaves[0].siblings);
    forced.extend(merge(0, leaf, leaf));
    forced.extend(digest(BUCKET.targets.node.canonical, node_digest(&leaf, &leaf)));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 2);
}

#[test]
fn unsorted_slots_are_refused() {
    let honest = witness(&[3, 5, 69]);
    let [_, second, third] = &honest.leaves[..] else { panic!("three leaves") };
    let mut forced = slot(1, 69, &value(69), &third.siblings);
    forced.extend(slot(2, 5, &value(5), &second.siblings));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 1);
}

#[test]
fn a_witness_out_of_order_is_an_error() {
    let mut swapped = witness(&[3, 5, 69]);
    swapped.leaves.swap(1, 2);
    assert!(BUCKET.targets.assign(&swapped, HashOut::ZERO).is_err());
}

#[test]
fn a_gap_in_the_active_slots_is_refused() {
    // Members in slots 0 and 2, the index of inactive slot 1 between theirs; their hash in the merge of slot 2.
    let honest = witness(&[3, 5]);
    let mut forced = slot(2, 5, &value(5), &honest.leaves[1].siblings);
    forced.extend([number(BUCKET.targets.slots[1].active.target, 0), number(BUCKET.targets.slots[1].index, 4)]);
    forced.extend(merge(0, Digest::ZERO, Digest::ZERO));
    forced.extend(merge(1, leaf_digest(3, &value(3)), leaf_digest(5, &value(5))));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 1);
}

#[test]
fn a_leaf_that_names_another_index_than_its_position_is_refused() {
    // The adversary's tree: position 5 holds the leaf of index 4.
    let vector = vector();
    let siblings = vector.siblings(5, 0, HEIGHT).unwrap();
    let root = root_of_path(leaf_digest(4, &value(4)), 5, &siblings);
    let mut forced = slot(0, 4, &value(4), &siblings);
    forced.extend(digest(BUCKET.targets.node.root, root));
    forced.extend(digest(BUCKET.targets.node.canonical, leaf_digest(4, &value(4))));
    // With the bits of the index the leaf does not climb to C; the bits of the position are not those of the index.
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[5]))), 4);
    forced.extend(BUCKET.targets.slots[0].bits.iter().enumerate().map(|(l, b)| number(b.target, 5 >> l & 1)));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[5]))), 2);
}

#[test]
fn two_leaves_naming_one_index_are_refused() {
    // Positions 4 and 5 of the adversary's tree both hold leaves of index 4, with different values.
    let vector = vector();
    let (a, b) = (leaf_digest(4, &value(4)), leaf_digest(4, &value(40)));
    let upper = vector.siblings(5, 1, HEIGHT).unwrap();
    let climb = |sibling| [vec![sibling], upper.clone()].concat();
    let root = root_of_path(node_digest(&a, &b), 2, &upper);
    let mut forced = slot(0, 4, &value(4), &climb(b));
    forced.extend(slot(1, 4, &value(40), &climb(a)));
    forced.extend(BUCKET.targets.slots[1].bits.iter().enumerate().map(|(l, bit)| number(bit.target, 5 >> l & 1)));
    forced.extend(merge(0, a, b));
    forced.extend(digest(BUCKET.targets.node.root, root));
    forced.extend(digest(BUCKET.targets.node.canonical, node_digest(&a, &b)));
    // The order of the slots, and the bits of the second index.
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[5]))), 4);
}

#[test]
fn an_inactive_leaf_in_the_digest_is_refused() {
    let honest = witness(&[3, 5]);
    let (a, b, c) = (leaf_digest(3, &value(3)), leaf_digest(5, &value(5)), leaf_digest(7, &value(7)));
    let mut forced = [merge(0, a, b), merge(1, node_digest(&a, &b), c)].concat();
    forced.extend(digest(BUCKET.targets.node.canonical, node_digest(&node_digest(&a, &b), &c)));
    // Slot 2 holds leaf 7, which is not in the tree, and stays inactive.
    let inactive = &BUCKET.targets.slots[2];
    forced.push(number(inactive.index, 7));
    forced.extend(inactive.value.into_iter().zip(value(7).map(to_plonky)));
    // Merge 1 is inactive with its slot: its left operand must be zero, and the product does not balance.
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 6);
}

#[test]
fn an_inactive_merge_that_swallows_a_leaf_is_refused() {
    // Drops leaf 5 from d: inactive merge 1 uses it as its zero, and the zero replaces the leaf.
    let (a, b) = (leaf_digest(3, &value(3)), leaf_digest(5, &value(5)));
    let mut forced = merge(0, Digest::ZERO, a);
    forced.extend(merge(1, b, Digest::ZERO));
    forced.extend(digest(BUCKET.targets.node.canonical, node_digest(&Digest::ZERO, &a)));
    // The four elements of the operand that must be zero.
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[3, 5]))), 4);
}

#[test]
fn a_zero_operand_of_an_active_merge_is_refused() {
    // d = H(0, leaf) is the canonical digest of no set: its zero has no source.
    let a = leaf_digest(5, &value(5));
    let mut forced = merge(0, Digest::ZERO, a);
    forced.extend(digest(BUCKET.targets.node.canonical, node_digest(&Digest::ZERO, &a)));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[5]))), 2);
}

#[test]
fn a_digest_chosen_after_the_challenges_is_refused() {
    let honest = witness(&[3, 5]);
    let [a, b] = [3, 5].map(|i| leaf_digest(i, &value(i)));
    // The input of the challenges: four slots, three merges, the flags of the slots as bits, d.
    let (zero, unused) = (Digest::ZERO, node_digest(&Digest::ZERO, &Digest::ZERO));
    let digests = [a, b, zero, zero, node_digest(&a, &b), unused, unused];
    let mut transcript: Vec<F> = digests.iter().flat_map(|d| to_hash(d).elements).collect();
    transcript.push(F::from_canonical_u64(0b1100));
    let d = to_hash(&honest.statement.canonical).elements;
    transcript.extend(d);
    let challenges = hash_n_to_m_no_pad::<F, PoseidonPermutation<F>>(&transcript, 4);
    let assignment = Assignment::complete(&BUCKET.data, &[], assign(&honest));
    assert!(assignment.has(&challenges), "the circuit has other challenges");

    // Another d with the same factor in the product, at these challenges: beta^3 + beta e_1 + e_0 = 0.
    let beta = QuadraticExtension([challenges[0], challenges[1]]);
    let cube = beta * beta * beta;
    let e_1 = -cube.0[1] * beta.0[1].inverse();
    let e_0 = -(cube.0[0] + beta.0[0] * e_1);
    let forged = [d[0] + e_0, d[1] + e_1, d[2], d[3] + F::ONE];
    let factor = |x: [F; 4]| {
        x.iter().rev().fold(QuadraticExtension([F::ZERO; 2]), |sum, x| sum * beta + QuadraticExtension([*x, F::ZERO]))
    };
    assert_eq!(factor(forged), factor(d));
    let forced: Vec<_> = BUCKET.targets.node.canonical.into_iter().zip(forged).collect();
    // The challenges hash d: with it they change, and the products differ.
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 2);
}

#[test]
fn a_leaf_outside_the_tree_is_refused() {
    let honest = witness(&[5]);
    let forged = leaf_digest(5, &value(6));
    let mut forced: Vec<_> = BUCKET.targets.slots[0].value.into_iter().zip(value(6).map(to_plonky)).collect();
    forced.extend(digest(BUCKET.targets.node.canonical, forged));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 4);
}

#[test]
fn an_inner_node_as_leaf_is_refused() {
    // Over an adversary's tree, (index, value) may be chosen to read like two children: only the tag tells them apart. The
    // attack hashes the leaf without it.
    let vector = vector();
    let siblings = vector.siblings(5, 0, HEIGHT).unwrap();
    let v = value(5);
    let left = Digest([Goldilocks::new(5), v[0], v[1], v[2]]);
    let right = Digest([v[3], Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO]);
    let inner = node_digest(&left, &right);
    let root = root_of_path(inner, 5, &siblings);
    let mut forced = slot(0, 5, &v, &siblings);
    forced.extend(digest(BUCKET.targets.node.root, root));
    forced.extend(digest(BUCKET.targets.node.canonical, inner));
    let honest = witness(&[5]);
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 6);
    forced.extend(digest(BUCKET.targets.slots[0].digest, inner));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 1);
}

#[test]
fn an_empty_slot_as_leaf_is_refused() {
    // Slot 4 is empty: its digest is null_0, whatever value is claimed.
    let siblings = vector().siblings(4, 0, HEIGHT).unwrap();
    let mut forced = slot(0, 4, &[Goldilocks::ZERO; 4], &siblings);
    let honest = witness(&[5]);
    let claimed = leaf_digest(4, &[Goldilocks::ZERO; 4]);
    let with_digest = [forced.clone(), digest(BUCKET.targets.node.canonical, claimed)].concat();
    assert_refused(&Assignment::complete(&BUCKET.data, &with_digest, assign(&honest)), 4);
    forced.extend(digest(BUCKET.targets.node.canonical, null_digest(0)));
    forced.extend(digest(BUCKET.targets.slots[0].digest, null_digest(0)));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 1);
}

#[test]
fn a_root_opened_at_another_height_is_refused() {
    let honest = witness(&[5]);
    for height in [HEIGHT - 1, 0] {
        let mut forced = vec![number(BUCKET.targets.node.height, height.into())];
        for (l, flag) in BUCKET.targets.below_height.iter().enumerate() {
            forced.push(number(flag.target, u64::from(l < height.into())));
        }
        forced.push(number(BUCKET.targets.node.base, 5 >> height << height));
        assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 4);
    }
    // Heights beyond H_max have no flags that add up to them.
    let forced = [number(BUCKET.targets.node.height, u64::from(HEIGHT) + 1)];
    assert!(!Assignment::complete(&BUCKET.data, &forced, assign(&honest)).violations().is_empty());
}

#[test]
fn flags_that_rise_again_are_refused() {
    // h = 1 through the flag of level 1 instead of level 0: the weights of the low bits would be wrong.
    let vector = vector();
    let member =
        LeafWitness { index: 5, value: value(5), siblings: vector.siblings(5, 0, 1).unwrap(), opening: vec![] };
    let d = leaf_digest(5, &value(5));
    let statement = Statement { root: vector.node(1, 2).unwrap(), canonical: d, height: 1, base: 4 };
    let honest = BucketWitness { statement, leaves: vec![member] };
    assert_eq!(Assignment::complete(&BUCKET.data, &[], assign(&honest)).violations(), Default::default());
    let flags = &BUCKET.targets.below_height;
    let forced = [number(flags[0].target, 0), number(flags[1].target, 1), number(BUCKET.targets.node.base, 5)];
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 3);
}

#[test]
fn another_base_is_refused() {
    for base in [1, 4, 256] {
        let forced = [number(BUCKET.targets.node.base, base)];
        assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&witness(&[5]))), 2);
    }
}

#[test]
fn an_index_beyond_the_class_is_refused() {
    // Index 256 + 5 with the path of 5: bit 8 is set in a limb that must be zero, or missing from the sum.
    let honest = witness(&[5]);
    let leaf = leaf_digest(256 + 5, &value(5));
    let siblings = honest.leaves[0].siblings.clone();
    let root = root_of_path(leaf, 5, &siblings);
    let mut forced = slot(0, 256 + 5, &value(5), &siblings);
    forced.extend(digest(BUCKET.targets.node.root, root));
    forced.extend(digest(BUCKET.targets.node.canonical, leaf));
    forced.push(number(BUCKET.targets.node.base, 256));
    assert_refused(&Assignment::complete(&BUCKET.data, &forced, assign(&honest)), 2);
}

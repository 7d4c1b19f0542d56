//! Attacks on the circuits of digest translation that set values directly, in trees of height 8 with buckets of 4.

use std::collections::HashMap;
use std::sync::LazyLock;

use evergrove_commit::vc;
use evergrove_commit::{BucketWitness, LeafWitness, MemoryStore, NodeProof, RecursionBackend, Vector};
use evergrove_grove::AppCircuitSet;
use evergrove_grove::circuit::{CircuitSet, Size};
use evergrove_grove::translation::{self, KeccakTree, bucket_data, merge_data};
use evergrove_multilinear::circuit::{Circuit, Witness};
use evergrove_multilinear::recursion::{claim_data, fixed_point};
use evergrove_primitives::Digest;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Field, Goldilocks, Quadratic};
use evergrove_verifier::argument::{JOHNSON_128, Round, UNIQUE_100};
use evergrove_verifier::keccak_tree::{self, KeccakDigest, from_elements, node_digest, to_elements};
use evergrove_verifier::key::Public;
use evergrove_verifier::tables::{Table, keccak_plane};
use evergrove_verifier::tree::{self, Value, leaf_digest, null_digests};
use evergrove_verifier::{AppSpec, HeightClass, Profile, Statement};

use crate::common::{fill, parameters, refused, says_nothing_else};
use crate::world::{Said, World, child, node, sides};

const ONE: Goldilocks = Goldilocks::ONE;
const ZERO: Goldilocks = Goldilocks::ZERO;
const SIZE: Size = Size { height_max: 8, capacity: 4 };
/// The bucket's first position.
const BASE: u64 = 20;
/// Elements before the messages: C, the key, bits of the number. Each message has twelve.
const MESSAGES: usize = 8 + 6;
const MESSAGE: usize = 12;

fn circuit_set() -> CircuitSet<'static> {
    CircuitSet { translation: Some(&KeccakTree::Values), ..CircuitSet::of_batches(SIZE) }
}

/// The largest words, an empty slot, small words.
fn slots() -> Vec<Option<Value>> {
    let value = |x: u64| -> Value { core::array::from_fn(|k| Goldilocks::reduce((x << 40) + 77 * k as u64 + x)) };
    let largest = [Goldilocks::new(5), -ONE, Goldilocks::new((1 << 32) - 1), Goldilocks::new(1 << 32)];
    vec![Some(largest), None, Some(value(9)), Some(value(3))]
}

fn poseidon_root(slots: &[Option<Value>]) -> Digest {
    let null = null_digests(0)[0];
    let leaf = |(i, value): (u64, &Option<Value>)| value.map_or(null, |value| leaf_digest(i, &value));
    let mut level: Vec<Digest> = (BASE..).zip(slots).map(leaf).collect();
    while level.len() > 1 {
        level = level.chunks_exact(2).map(|pair| tree::node_digest(&pair[0], &pair[1])).collect();
    }
    level[0]
}

/// The Keccak digest in the last plane.
fn said(circuit: &Circuit<Quadratic>, witness: &Witness) -> KeccakDigest {
    let row = circuit.rows(Table::KeccakPlane) - 1;
    let columns = witness.row(circuit.tables(), Table::KeccakPlane, row);
    let lanes: [u64; 5] = core::array::from_fn(|x| (0..64).fold(0, |sum, z| sum | columns[64 * x + z].as_u64() << z));
    let mut digest = KeccakDigest::default();
    for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(keccak_plane::results(lanes, true)) {
        *bytes = word.to_le_bytes();
    }
    digest
}

struct Bucket {
    circuit: Circuit<Quadratic>,
    free: Vec<Goldilocks>,
}

static BUCKET: LazyLock<Bucket> = LazyLock::new(|| {
    let circuit = circuit_set().bucket(&parameters(SIZE)).finish();
    let slots = slots();
    let statement = Statement { root: poseidon_root(&slots), canonical: Digest::ZERO, height: 2, base: BASE };
    let mut free = bucket_data(SIZE, [ONE; 4], &statement, &slots);
    let claim = Public { information: vec![], point: vec![Quadratic::ONE; 21], value: Quadratic::ZERO };
    free.extend(claim_data(&claim));
    Bucket { circuit, free }
});

fn with(changes: &[(usize, Goldilocks)]) -> Witness {
    let Bucket { circuit, free } = &*BUCKET;
    let mut free = free.clone();
    for &(at, by) in changes {
        free[at] += by;
    }
    fill(circuit, &free)
}

#[test]
fn a_bucket_says_both_digests() {
    let Bucket { circuit, .. } = &*BUCKET;
    let witness = with(&[]);
    assert_eq!(witness.faults(circuit), []);
    assert_eq!(said(circuit, &witness), translation::digest(BASE, &slots()));
    assert_eq!(said(circuit, &witness), keccak_tree::levels(BASE, &slots())[2][0]);
    // The slots of a witness.
    let leaves = [0, 2, 3].map(|i| LeafWitness {
        index: BASE + i,
        value: slots()[i as usize].unwrap(),
        siblings: Vec::new(),
        opening: Vec::new(),
    });
    let statement = Statement { root: Digest::ZERO, canonical: Digest::ZERO, height: 2, base: BASE };
    assert_eq!(translation::slots(SIZE, &BucketWitness { statement, leaves: leaves.to_vec() }), slots());
}

/// Changes any half of a message, for a slot with a leaf and for an empty one: indices, the padding and its end.
#[test]
fn messages_are_those_of_slots() {
    let circuit = &BUCKET.circuit;
    for slot in [0, 1] {
        for i in 0..MESSAGE {
            let at = MESSAGES + slot * MESSAGE + i;
            let faults = refused("a half", circuit, &with(&[(at, ONE)]), 12);
            assert!(!faults.is_empty(), "{slot} {i}");
        }
    }
}

#[test]
fn words_have_one_pair_of_halves() {
    let circuit = &BUCKET.circuit;
    // 5 written as p + 5: the halves are below 2^32, and their word equals the leaf's in F.
    let largest = Goldilocks::new((1 << 32) - 1);
    let low = MESSAGES + 2;
    assert_eq!(refused("p + 5", circuit, &with(&[(low, ONE), (low + 1, largest)]), 2).len(), 2);
    // p - 1 has the largest half and zero, so any inverse is accepted.
    let zero = BUCKET.free[MESSAGES + 4];
    assert_eq!([zero, BUCKET.free[MESSAGES + 5]], [ZERO, largest]);
    // A half of at least 2^32.
    let carry = Goldilocks::new(1 << 32);
    refused("a carry", circuit, &with(&[(low, carry), (low + 1, -ONE)]), 8);
    let high = MESSAGES + 2 * MESSAGE + 3;
    refused("a carry", circuit, &with(&[(high - 1, carry), (high, -ONE)]), 8);
    // Another inverse.
    let Bucket { circuit, free } = &*BUCKET;
    let choices: Vec<u32> = circuit.choices().collect();
    assert_eq!(choices.len(), 4 * 4);
    for (i, row) in choices.into_iter().enumerate() {
        let mut free = free.clone();
        let witness = loop {
            match circuit.witness_with(&free, &HashMap::from([(row, Goldilocks::new(3))])) {
                Ok(witness) => break witness,
                Err(e) => free.resize(e.taken, ZERO),
            }
        };
        let slot = slots()[i / 4].unwrap_or_default();
        // Any inverse is accepted if the low half is zero.
        let needed = slot[i % 4].as_u64() & 0xffff_ffff != 0;
        assert_eq!(!witness.faults(circuit).is_empty(), needed, "{i}");
    }
}

#[test]
fn slots_are_in_both_trees_or_in_none() {
    let circuit = &BUCKET.circuit;
    let slot = |slot: usize| {
        // A slot is eight elements, its bit, and the siblings that no earlier slot had: two, none, one, none.
        MESSAGES + 4 * MESSAGE + 9 * slot + 4 * [0, 2, 2, 3][slot]
    };
    assert_eq!(BUCKET.free[slot(1)], Goldilocks::new(BASE + 1));
    for (i, value) in slots().iter().enumerate() {
        let bit = slot(i) + 8;
        assert_eq!(BUCKET.free[bit], Goldilocks::new(value.is_some().into()));
        let other = if value.is_some() { -ONE } else { ONE };
        // The free data behind the bit is shifted.
        refused("the other bit", circuit, &with(&[(bit, other)]), 400);
        refused("half a bit", circuit, &with(&[(bit, Goldilocks::half() - BUCKET.free[bit])]), 400);
        refused("another index", circuit, &with(&[(slot(i), ONE)]), 8);
        refused("another value", circuit, &with(&[(slot(i) + 2, ONE)]), 8);
        refused("more behind the value", circuit, &with(&[(slot(i) + 6, ONE)]), 8);
    }
    // The message of an empty slot for a slot with a leaf, and the reverse.
    let message = |slot: usize| BUCKET.free[MESSAGES + slot * MESSAGE..][..MESSAGE].to_vec();
    for (from, to) in [(1, 0), (2, 1), (2, 3)] {
        let changes: Vec<(usize, Goldilocks)> =
            (0..MESSAGE).map(|i| (MESSAGES + to * MESSAGE + i, message(from)[i] - message(to)[i])).collect();
        refused("another slot's message", circuit, &with(&changes), 24);
    }
    // Another position of the node, values that are not bits, another digest.
    for i in 8..MESSAGES {
        let bit = BUCKET.free[i];
        refused("another number", circuit, &with(&[(i, ONE - bit - bit)]), 64);
        refused("no bit", circuit, &with(&[(i, Goldilocks::half())]), 64);
    }
    refused("another C", circuit, &with(&[(0, ONE)]), 8);
}

static WORLD: LazyLock<World> = LazyLock::new(|| World::new(parameters(SIZE), &circuit_set()));

/// The columns of a merge that makes this statement about proofs of `said`.
fn merged(statement: Statement, said: [&Said; 2], empty: [bool; 2], changes: &[(usize, Goldilocks)]) -> Witness {
    let (mut free, _) = merge_data(SIZE, WORLD.key.digest(), &statement, &KeccakTree::Values, sides(said, empty));
    for &(at, by) in changes {
        free[at] += by;
    }
    fill(&WORLD.merge, &[free, WORLD.children(said)].concat())
}

#[test]
fn a_merge_says_the_node_above_its_children() {
    let merge = &WORLD.merge;
    let (left, right) = (child(1, 2, 16), child(2, 2, 20));
    let null = keccak_tree::null_digests(2).last().unwrap();
    let digest = |said: &Said| from_elements(&said.1).unwrap();
    for (said_of, empty, expected) in [
        ([&left, &right], [false, false], [digest(&left), digest(&right)]),
        ([&left, &left], [false, true], [digest(&left), null]),
        ([&right, &right], [true, false], [null, digest(&right)]),
        // True for an empty subtree.
        ([&left, &right], [true, true], [null, null]),
    ] {
        let witness = merged(node(3, 16), said_of, empty, &[]);
        assert_eq!(witness.faults(merge), [], "{empty:?}");
        let (_, output) =
            merge_data(SIZE, WORLD.key.digest(), &node(3, 16), &KeccakTree::Values, sides(said_of, empty));
        let expected = node_digest(&expected[0], &expected[1]);
        assert_eq!((said(merge, &witness), &output[..]), (expected, &to_elements(&expected)[..]));
    }
}

#[test]
fn children_are_the_two_halves() {
    let merge = &WORLD.merge;
    let (left, right) = (child(1, 2, 16), child(2, 2, 20));
    let refused = |what: &str, statement, said, empty, changes: &[(usize, Goldilocks)]| {
        refused(what, merge, &merged(statement, said, empty, changes), 24);
    };
    let there = [false, false];
    refused("swapped", node(3, 16), [&right, &left], there, &[]);
    refused("doubled", node(3, 16), [&left, &left], there, &[]);
    refused("another parent", node(3, 24), [&left, &right], there, &[]);
    refused("another height", node(4, 16), [&left, &right], there, &[]);
    refused("no height", node(0, 16), [&left, &right], there, &[]);
    // An empty merge at height 0, whose children would have no height. Only the check of the lowest flag refuses it.
    let both = [true; 2];
    let (data, _) =
        merge_data(SIZE, WORLD.key.digest(), &node(1, 16), &KeccakTree::Values, sides([&left, &right], both));
    let mut changes: Vec<(usize, Goldilocks)> = (16..16 + 8 + 16).map(|at| (at, -data[at])).collect();
    changes.push((8, -ONE));
    let nothing = merged(node(1, 16), [&left, &right], both, &changes);
    assert!((1..=2).contains(&nothing.faults(merge).len()), "{:?}", nothing.faults(merge));
    let (low, moved) = (child(3, 1, 16), child(2, 2, 24));
    refused("a lower child", node(3, 16), [&low, &right], there, &[]);
    refused("a child elsewhere", node(3, 16), [&left, &moved], there, &[]);
    // Elements before those of the children: key and number, flags, C and K as used, then as stated, places, circuits,
    // empty bits.
    let (number, flags, used) = (4, 8, 8 + 8);
    let stated = used + 8 + 16;
    let places = stated + 8 + 16;
    let empty = places + 8 + 2;
    refused("another number", node(3, 16), [&left, &right], there, &[(number, ONE)]);
    refused("a flag that rises", node(3, 16), [&left, &right], there, &[(flags, -ONE)]);
    for at in used..used + 8 + 16 {
        refused("another digest", node(3, 16), [&left, &right], there, &[(at, ONE)]);
    }
    for at in (stated..places).step_by(3).chain([places, places + 1, places + 4, places + 5]) {
        // The child's proof does not hold, which gives many faults.
        assert!(!merged(node(3, 16), [&left, &right], there, &[(at, ONE)]).faults(merge).is_empty(), "{at}");
    }
    // A child that is called empty but has digests of its own, and the reverse; half a bit.
    for side in 0..2 {
        refused("called empty", node(3, 16), [&left, &right], there, &[(empty + side, ONE)]);
        let mut one = there;
        one[side] = true;
        refused("called there", node(3, 16), [&left, &right], one, &[(empty + side, -ONE)]);
        refused("half empty", node(3, 16), [&left, &right], there, &[(empty + side, Goldilocks::half())]);
        // Empty in one tree only: C of the empty subtree, but K of the child.
        let (free, _) =
            merge_data(SIZE, WORLD.key.digest(), &node(3, 16), &KeccakTree::Values, sides([&left, &right], there));
        let (nothing, _) =
            merge_data(SIZE, WORLD.key.digest(), &node(3, 16), &KeccakTree::Values, sides([&left, &right], one));
        let poseidon: Vec<_> = (used + 4 * side..used + 4 * side + 4).map(|at| (at, nothing[at] - free[at])).collect();
        refused("empty in one tree", node(3, 16), [&left, &right], there, &poseidon);
        let keccak: Vec<_> =
            (used + 8 + 8 * side..used + 16 + 8 * side).map(|at| (at, nothing[at] - free[at])).collect();
        refused("empty in one tree", node(3, 16), [&left, &right], there, &keccak);
    }
}

/// Rows of bucket and merge per table; committed and fixed elements; log2 of the places on the bus and of the stack;
/// columns of the first oracle.
pub(crate) fn counts<K: Extension>(rounds: &[Round], circuit_set: &CircuitSet<'_>) -> [Vec<usize>; 3] {
    let parameters =
        fixed_point::<K>(rounds, &circuit_set.modes(), |parameters| circuit_set.blocks(parameters)).unwrap();
    let [bucket, merge] = [circuit_set.bucket(&parameters), circuit_set.merge(&parameters)]
        .map(|b| Table::ALL.map(|table| b.rows(table)).to_vec());
    let (layout, schedule) = (parameters.layout(), parameters.schedule());
    let elements = [layout.committed().elements(), layout.fixed().elements()];
    [bucket, merge, [&elements[..], &[layout.bus_variables(), schedule.variables, schedule.width]].concat()]
}

/// `docs/math/applications.md` lists these numbers.
#[test]
fn the_circuits_have_these_rows() {
    let size = Size { height_max: 27, capacity: 128 };
    let circuit_set = CircuitSet { translation: Some(&KeccakTree::Values), ..CircuitSet::of_batches(size) };
    let all = [counts::<Quadratic>(&UNIQUE_100, &circuit_set), counts::<Cubic>(&JOHNSON_128, &circuit_set)];
    let text = format!("{all:?}").replace("]], [[", "]],\n[[");
    assert_eq!(text, include_str!("translation.txt").trim_end());
}

/// Proofs of earlier versions verify, because the key of [`KeccakTree::Values`] has not changed.
#[test]
fn the_key_is_that_of_earlier_versions() {
    let circuit_set = AppCircuitSet::translation(Profile::Grove100, HeightClass::H27, 7, KeccakTree::Values).unwrap();
    let digest = circuit_set.verifier().unwrap().key_digest().to_string();
    assert_eq!(digest, "1e07f530cc458769b06b0624abcc65cb4368294c1a8c068e912c705e9676eaa8");
}

/// Real proofs with one key: a bucket and an empty one, then two buckets.
#[test]
fn a_small_tree_is_proven_and_updated() {
    let app = AppSpec { name: "digest-translation".into(), parameters: b"\x01keccak-256".to_vec() };
    let circuit_set = AppCircuitSet::translation(Profile::Grove100, HeightClass::H27, 1, KeccakTree::Values).unwrap();
    let backend = circuit_set.backend(app).unwrap();
    let verifier = circuit_set.verifier().unwrap();
    assert_eq!(backend.key_digest(), verifier.key_digest());
    let value = |x: u64| -> Value { core::array::from_fn(|k| Goldilocks::new(x + k as u64)) };
    let mut vector = Vector::new(2, MemoryStore::new()).unwrap();
    vector.apply(&[(0, Some(value(7))), (1, Some(value(9)))]).unwrap();
    let parameters = vc::setup(2, &backend).unwrap();
    let (proof, data) = vc::agg(&parameters, &[], &vector).unwrap();
    let expected = |slots: [Option<Value>; 4]| to_elements(&keccak_tree::levels(0, &slots)[2][0]).to_vec();
    let holds = |proof: &NodeProof| backend.verify(proof).and(verifier.verify(proof)).is_ok();
    assert!(holds(&proof));
    assert_eq!(proof.statement.root, vector.root().unwrap());
    assert_eq!(proof.output, expected([Some(value(7)), Some(value(9)), None, None]));
    vector.apply(&[(3, Some(value(5)))]).unwrap();
    let (proof, _) = vc::upd_batch_proof(&parameters, &data, &vector, &[3], &[], &[]).unwrap();
    assert!(holds(&proof));
    assert_eq!(proof.statement.root, vector.root().unwrap());
    assert_eq!(proof.output, expected([Some(value(7)), Some(value(9)), None, Some(value(5))]));
    says_nothing_else(&proof, holds);
    let mut other = (*proof).clone();
    other.statement.base = 4;
    assert!(!holds(&other));
    let mut other = (*proof).clone();
    other.output.pop();
    assert!(!holds(&other));
}

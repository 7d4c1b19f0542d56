//! Attacks on the bucket that set values directly, in trees of height 8 with buckets of 4.

use std::collections::BTreeSet;

use evergrove_commit::{BucketWitness, LeafWitness, MemoryStore, Vector};
use evergrove_grove::circuit::{self, Size};
use evergrove_grove::witness;
use evergrove_multilinear::circuit::{Circuit, Fault, Witness};
use evergrove_multilinear::poseidon;
use evergrove_multilinear::recursion::claim_data;
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Field, Goldilocks, Quadratic};
use evergrove_verifier::Statement;
use evergrove_verifier::key::Public;
use evergrove_verifier::poseidon::{OUTPUTS, digest};
use evergrove_verifier::tables::{Table, permutation, tuple};
use evergrove_verifier::tree::{LEAF_TAG, Value, canonical_digest, leaf_digest, node_digest};

use crate::common::{fill, parameters, refused};

const ONE: Goldilocks = Goldilocks::ONE;
const ZERO: Goldilocks = Goldilocks::ZERO;

const SIZE: Size = Size { height_max: 8, capacity: 4 };
/// The filled slots. 69 is 5 + 64.
const FILLED: [u64; 5] = [3, 5, 69, 200, 201];

fn value(x: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::new(1000 * x + k as u64))
}
fn vector() -> Vector<MemoryStore> {
    let mut vector = Vector::new(SIZE.height_max, MemoryStore::new()).unwrap();
    vector.apply(&FILLED.map(|i| (i, Some(value(i))))).unwrap();
    vector
}
fn leaf(index: u64) -> Digest {
    leaf_digest(index, &value(index))
}
fn build() -> Circuit<Quadratic> {
    circuit::bucket(&parameters(SIZE), SIZE).finish()
}

/// The values that a prover chooses.
#[derive(Clone)]
struct Choice {
    root: Digest,
    canonical: Digest,
    /// q, the number of the node.
    number: Goldilocks,
    flags: Vec<Goldilocks>,
    slots: Vec<Slot>,
    /// Both operands, and the count of the hash.
    hashes: Vec<([Digest; 2], Goldilocks)>,
}
#[derive(Clone)]
struct Slot {
    /// Index, value, then three zeros.
    leaf: [Goldilocks; 8],
    active: Goldilocks,
    siblings: Vec<Digest>,
}

impl Slot {
    fn new(index: u64, value: Value, siblings: Vec<Digest>) -> Self {
        let mut leaf = [ZERO; 8];
        leaf[0] = Goldilocks::new(index);
        leaf[1..5].copy_from_slice(&value);
        Self { leaf, active: ONE, siblings }
    }
    fn of(index: u64) -> Self {
        Self::new(index, value(index), vector().siblings(index, 0, SIZE.height_max).unwrap())
    }
    fn idle() -> Self {
        Self { leaf: [ZERO; 8], active: ZERO, siblings: Vec::new() }
    }
}

impl Choice {
    /// Slots of these members, and as d their chain from the left: the shape of d is free.
    fn of(members: &[u64]) -> Self {
        let mut slots: Vec<Slot> = members.iter().map(|&index| Slot::of(index)).collect();
        slots.resize(SIZE.capacity, Slot::idle());
        let mut choice = Self {
            root: vector().commitment().unwrap().root,
            canonical: Digest::ZERO,
            number: ZERO,
            flags: vec![ONE; SIZE.height_max.into()],
            slots,
            hashes: Vec::new(),
        };
        choice.digest_of(&members.iter().map(|&index| leaf(index)).collect::<Vec<_>>());
        choice
    }
    /// Sets d to the chain of these digests from the left.
    fn digest_of(&mut self, digests: &[Digest]) {
        self.hashes.clear();
        self.canonical = digests[1..].iter().fold(digests[0], |left, &right| {
            self.hashes.push(([left, right], ONE));
            node_digest(&left, &right)
        });
        self.hashes.resize(SIZE.capacity - 1, ([Digest::ZERO; 2], ZERO));
    }
    fn free(&self) -> Vec<Goldilocks> {
        let mut free = [self.root.0, self.canonical.0, [ONE; 4], [self.number, ZERO, ZERO, ZERO]].concat();
        free.extend(&self.flags);
        let mut known = BTreeSet::new();
        for (i, slot) in self.slots.iter().enumerate() {
            free.extend(slot.leaf);
            if i > 0 {
                free.push(slot.active);
            }
            if slot.active == ONE {
                witness::path(&mut free, &mut known, slot.leaf[0].as_u64(), &slot.siblings);
            }
        }
        for ([left, right], active) in &self.hashes {
            free.extend([left.0, right.0].concat());
            free.push(*active);
        }
        let claim = Public { information: vec![], point: vec![Quadratic::ONE; 21], value: Quadratic::ZERO };
        free.extend(claim_data(&claim));
        free
    }
    fn faults(&self) -> Vec<Fault> {
        let circuit = build();
        fill(&circuit, &self.free()).faults(&circuit)
    }
    fn refused(&self, what: &str, most: usize) -> Vec<Fault> {
        let circuit = build();
        refused(what, &circuit, &fill(&circuit, &self.free()), most)
    }
}

#[test]
fn honest_choices_are_accepted() {
    for members in [&[5][..], &[3, 5], &[3, 5, 69, 201]] {
        assert_eq!(Choice::of(members).faults(), [], "{members:?}");
    }
    // The free data that `witness` computes from a witness.
    let vector = vector();
    let members = [3, 69, 200];
    let leaves = members.map(|index| LeafWitness {
        index,
        value: value(index),
        siblings: vector.siblings(index, 0, SIZE.height_max).unwrap(),
        opening: vec![],
    });
    let canonical = canonical_digest(&members.map(|i| (i, leaf(i))));
    let statement = Statement::whole(&vector.commitment().unwrap(), canonical);
    let mut free = witness::bucket(SIZE, [ONE; 4], &BucketWitness { statement, leaves: leaves.to_vec() });
    let own = Choice::of(&members).free();
    free.extend(&own[free.len()..]);
    let circuit = build();
    assert_eq!(circuit.witness(&free).unwrap().faults(&circuit), []);
}

#[test]
fn indices_rise() {
    // One leaf in two slots, falling slots, and a gap below an active slot.
    let mut twice = Choice::of(&[5]);
    twice.slots[1] = Slot::of(5);
    twice.digest_of(&[leaf(5), leaf(5)]);
    twice.refused("a leaf in two slots", 1);
    Choice::of(&[3, 69, 5]).refused("slots that fall", 1);
    let mut gap = Choice::of(&[3, 5]);
    gap.slots.swap(1, 2);
    gap.refused("an active slot behind one that is not", 2);
}

/// Only the count of a root may be any number. The set also shows that a bucket has a leaf: the set is given one leaf
/// more than there are active hashes.
#[test]
fn counts_are_bits_and_wires() {
    let circuit = build();
    let free = (0..circuit.rows(Table::Tuple)).filter(|&row| circuit.fixed(Table::Tuple, row)[tuple::FREE] == ONE);
    assert_eq!(free.count(), 1);
    let honest = fill(&circuit, &Choice::of(&[5]).free());
    for row in 0..circuit.rows(Table::Tuple) {
        let mut witness = honest.clone();
        let row = witness.row_mut(circuit.tables(), Table::Tuple, row);
        row[tuple::COUNT] = if row[tuple::COUNT] == ZERO { ONE } else { ZERO };
        assert!(!witness.faults(&circuit).is_empty());
    }
}

#[test]
fn leaves_lie_at_their_indices() {
    // A leaf that names index 7, at position 3 of another tree.
    let mut vector = vector();
    let stray = leaf_digest(7, &value(3));
    let root = vector.siblings(3, 0, SIZE.height_max).unwrap();
    let mut top = stray;
    for (level, sibling) in root.iter().enumerate() {
        top = if 3 >> level & 1 == 1 { node_digest(sibling, &top) } else { node_digest(&top, sibling) };
    }
    let mut choice = Choice::of(&[3]);
    choice.root = top;
    choice.slots[0] = Slot::new(7, value(3), root.clone());
    choice.digest_of(&[stray]);
    choice.refused("a leaf that names another index", 2);
    // The same with index 7 only in the tuple of the node: the wire has another value.
    let circuit = build();
    choice.slots[0] = Slot::new(3, value(3), root);
    let mut witness = fill(&circuit, &choice.free());
    let which =
        (0..circuit.rows(Table::Tuple)).find(|&row| circuit.fixed(Table::Tuple, row)[tuple::TIMES] == -ONE).unwrap();
    witness.row_mut(circuit.tables(), Table::Tuple, which)[tuple::KEY] = Goldilocks::new(7);
    assert!(!witness.faults(&circuit).is_empty());
    // A missing leaf, and a leaf with another value.
    let mut choice = Choice::of(&[3, 5]);
    choice.slots[1] = Slot::new(6, value(6), vector.siblings(6, 0, SIZE.height_max).unwrap());
    choice.digest_of(&[leaf(3), leaf(6)]);
    choice.refused("a leaf that is not in the tree", 4);
    let mut choice = Choice::of(&[3, 5]);
    choice.slots[1] = Slot::new(5, value(6), vector.siblings(5, 0, SIZE.height_max).unwrap());
    choice.digest_of(&[leaf(3), leaf_digest(5, &value(6))]);
    choice.refused("another value", 4);
    vector.apply(&[(5, None)]).unwrap();
    let mut choice = Choice::of(&[5]);
    choice.root = vector.commitment().unwrap().root;
    choice.refused("a leaf of an earlier state", 2);
}

#[test]
fn what_is_behind_a_value_is_zero() {
    for limb in 5..8 {
        // The attacker committed to this leaf.
        let mut choice = Choice::of(&[3]);
        choice.slots[0].leaf[limb] = ONE;
        let stray = chained(&choice.slots[0].leaf);
        let siblings = choice.slots[0].siblings.clone();
        choice.root = siblings.iter().enumerate().fold(stray, |top, (level, sibling)| {
            if 3 >> level & 1 == 1 { node_digest(sibling, &top) } else { node_digest(&top, sibling) }
        });
        choice.digest_of(&[stray]);
        // The sum is not 0, so it differs from the wire that it is compared with.
        choice.refused("a leaf with more behind its value", 2);
    }
}

#[test]
fn the_digest_is_of_the_active_leaves() {
    let mut choice = Choice::of(&[3, 5, 69]);
    choice.digest_of(&[leaf(3), leaf(5)]);
    choice.refused("a leaf that d leaves out", 1);
    choice.digest_of(&[leaf(3), leaf(5), leaf(69), leaf(200)]);
    choice.refused("a leaf of d that is in no slot", 1);
    choice.digest_of(&[leaf(3), leaf(5), leaf(69), leaf(3)]);
    choice.refused("a leaf twice in d", 1);
    // An inactive slot in d.
    let mut choice = Choice::of(&[3, 5]);
    choice.slots[1].active = ZERO;
    choice.refused("a leaf of d whose slot is not active", 1);
    // The same active hash twice with half its count: the multiplicity of the sum would be right.
    let mut choice = Choice::of(&[3, 5]);
    let ([left, right], _) = choice.hashes[0];
    for hash in &mut choice.hashes[..2] {
        *hash = ([left, right], Goldilocks::half());
    }
    let faults = choice.refused("two halves of a hash", 6);
    assert!(faults.iter().all(|fault| matches!(fault, Fault::Constraint { table: Table::Tuple, .. })));
    // A hash with a count above 1.
    choice.hashes[0].1 = Goldilocks::new(2);
    choice.hashes[1].1 = -ONE;
    choice.refused("hashes of other counts", 6);
    // A changed d.
    let mut choice = Choice::of(&[3, 5]);
    choice.canonical.0[2] += ONE;
    choice.refused("another d", 2);
    // Not an attack: the shape of d is free.
    let mut choice = Choice::of(&[3, 5]);
    choice.digest_of(&[leaf(5), leaf(3)]);
    assert_eq!(choice.faults(), []);
}

#[test]
fn positions_are_those_of_nodes() {
    // The root opened at another height; flags that rise again; flags that are not bits.
    let mut choice = Choice::of(&[3, 5]);
    choice.flags[7] = ZERO;
    for slot in &mut choice.slots {
        slot.siblings.truncate(7);
    }
    choice.refused("another height", 2);
    let mut choice = Choice::of(&[3, 5]);
    choice.flags[2] = ZERO;
    assert!(!choice.faults().is_empty());
    let mut choice = Choice::of(&[3, 5]);
    choice.flags[7] = Goldilocks::new(2);
    assert!(!choice.faults().is_empty());
    // The flags 1 and -1 give height 0 and size 0, and would put a leaf at 5 into a bucket at 0. Everything else holds.
    let lone = |flags: &[Goldilocks], number: u64| {
        let mut choice = Choice::of(&[5]);
        choice.flags.fill(ZERO);
        choice.flags[..flags.len()].copy_from_slice(flags);
        choice.slots[0].siblings.clear();
        (choice.root, choice.number) = (leaf(5), Goldilocks::new(number));
        choice
    };
    let faults = lone(&[ONE, -ONE], 5).refused("a flag that is no bit", 1);
    assert!(matches!(faults[..], [Fault::Constraint { table: Table::Tuple, .. }]), "{faults:?}");
    // Buckets of height 0 and of height 1.
    assert_eq!(lone(&[], 5).faults(), []);
    let mut low = Choice::of(&[5]);
    low.flags[1..].fill(ZERO);
    low.slots[0].siblings.truncate(1);
    low.root = node_digest(&low.slots[0].siblings[0], &leaf(5));
    low.number = Goldilocks::new(2);
    assert_eq!(low.faults(), []);
}

/// A bucket of height 1 with one leaf, the right or the left child of the node with this number: node q has the leaves
/// 2q and 2q + 1 in F. Path and root are computed by hand, because no number below p has such a parent.
fn at_number(number: Goldilocks, right: bool) -> (Circuit<Quadratic>, Witness) {
    let mut choice = Choice::of(&[5]);
    choice.flags[1..].fill(ZERO);
    choice.number = number;
    let slot = &mut choice.slots[0];
    slot.leaf[0] = Goldilocks::new(2) * number + Goldilocks::new(right.into());
    let own = chained(&slot.leaf);
    // The path of the free data leads nowhere.
    slot.siblings = vec![Digest::ZERO; 64];
    let sibling = leaf(200);
    let halves = if right { [sibling, own] } else { [own, sibling] };
    choice.root = node_digest(&halves[0], &halves[1]);
    choice.digest_of(&[own]);
    let circuit = build();
    let mut witness = fill(&circuit, &choice.free());
    let rows = 0..circuit.rows(Table::Permutation);
    let inner: Vec<usize> =
        rows.filter(|&row| circuit.fixed(Table::Permutation, row)[permutation::INNER] == ONE).collect();
    for &row in &inner {
        witness.row_mut(circuit.tables(), Table::Permutation, row)[permutation::INDEX..].fill(ZERO);
    }
    let row = witness.row_mut(circuit.tables(), Table::Permutation, inner[0]);
    let width = row.len();
    row[..8].copy_from_slice(&[halves[0].0, halves[1].0].concat());
    row[8..12].fill(ZERO);
    poseidon::fill(row, width, OUTPUTS);
    row[permutation::INDEX] = number;
    row[permutation::LEVEL] = Goldilocks::new(1 << 20);
    row[permutation::ACTIVE] = ONE;
    row[if right { permutation::RIGHT } else { permutation::LEFT }] = ONE;
    let root = (0..circuit.rows(Table::Tuple))
        .find(|&row| circuit.fixed(Table::Tuple, row)[tuple::FREE] == ONE)
        .expect("a root");
    witness.row_mut(circuit.tables(), Table::Tuple, root)[tuple::COUNT] = ONE;
    (circuit, witness)
}

/// The digest of a leaf, whatever its elements are.
fn chained(leaf: &[Goldilocks; 8]) -> Digest {
    let mut state = [ZERO; 12];
    state[..8].copy_from_slice(leaf);
    state[8] = LEAF_TAG;
    Digest(digest(state))
}

#[test]
fn numbers_of_nodes_do_not_wrap() {
    let (circuit, witness) = at_number(Goldilocks::new(3), true);
    assert_eq!(witness.faults(&circuit), []);
    // Node -1 has the leaves p - 2 and p - 1; node 1/2 has the leaves 1 and 2; node 128 is the first one beyond the
    // class.
    for (number, right, wrong) in [
        (-ONE, true, 1),
        (-ONE, false, 1),
        (Goldilocks::half(), false, 2),
        (Goldilocks::half(), true, 2),
        (Goldilocks::new(128), true, 1),
        (Goldilocks::new(1 << 24), false, 2),
    ] {
        let (circuit, witness) = at_number(number, right);
        let faults = refused("a number of no node", &circuit, &witness, wrong);
        assert_eq!(faults.len(), wrong, "{number:?}");
        let bits = |fault: &Fault| matches!(fault, Fault::Constraint { table: Table::Bits, .. });
        assert!(faults.iter().all(bits), "{number:?}: {faults:?}");
    }
}

#[test]
fn every_column_of_rows_in_use_counts() {
    let circuit = build();
    let honest = fill(&circuit, &Choice::of(&[3, 5, 69, 201]).free());
    for table in [Table::Tuple, Table::Operation, Table::Bits] {
        let step = if table == Table::Operation { 13 } else { 1 };
        for row in (0..circuit.rows(table)).step_by(step) {
            for column in 0..circuit.tables().columns(table) {
                let mut witness = honest.clone();
                witness.row_mut(circuit.tables(), table, row)[column] += ONE;
                assert!(!witness.faults(&circuit).is_empty(), "{} {row} {column}", table.name());
            }
        }
    }
    // The node rows in use, and the first one that is not in use.
    let rows = (0..circuit.rows(Table::Permutation))
        .filter(|&row| circuit.fixed(Table::Permutation, row)[permutation::INNER] == ONE);
    let rows: Vec<usize> = rows.collect();
    let active = |row: usize| honest.row(circuit.tables(), Table::Permutation, row)[permutation::ACTIVE] == ONE;
    let idle = rows.iter().copied().find(|&row| !active(row)).expect("more rows than nodes");
    for row in rows.into_iter().filter(|&row| active(row)) {
        for column in permutation::INDEX..permutation::COLUMNS {
            let mut witness = honest.clone();
            witness.row_mut(circuit.tables(), Table::Permutation, row)[column] += ONE;
            assert!(!witness.faults(&circuit).is_empty(), "{row} {column}");
        }
    }
    for column in [permutation::LEFT, permutation::RIGHT] {
        let mut witness = honest.clone();
        witness.row_mut(circuit.tables(), Table::Permutation, idle)[column] = ONE;
        assert!(!witness.faults(&circuit).is_empty());
    }
}

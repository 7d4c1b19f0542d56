//! Circuits: rows, wires and trees, and machines that agree.

use std::collections::BTreeSet;

use evergrove_multilinear::circuit::{Builder, Circuit, Fault, InCircuit};
use evergrove_multilinear::poseidon;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Field, Goldilocks, Quadratic};
use evergrove_verifier::algebra::Point;
use evergrove_verifier::argument::{Machine, Reader, tags};
use evergrove_verifier::poseidon as hash;
use evergrove_verifier::tables::{Row, TUPLE, Table, Tables, bits, permutation, query, tuple};

use crate::arithmetic::application;
use crate::common::{Elements, combined_at};

const DEPTH: usize = 5;
const CAP: usize = 2;
const QUERIES: usize = 11;
const GRINDING: usize = 4;
const WORDS: usize = 4;

pub(crate) fn tables<K: Extension>() -> Tables<K> {
    Tables::new(
        query::Parameters { bits: DEPTH, variables: 3 },
        bits::Parameters::new(vec![3, DEPTH, bits::CHUNK], vec![0..GRINDING, 40..64, 63..64]),
    )
}

/// Everything that machines do, up to the indices of an opening.
fn opening<M: Machine>(m: &mut M) -> (usize, Vec<M::Index>, Vec<M::Element>) {
    m.begin(tags::TRANSCRIPT);
    let one = m.constant(M::Field::ONE);
    m.observe_elements(&[one; 3]);
    let mut message = m.receive(3);
    message.extend((0..5).map(|_| m.challenge()));
    let tree = m.receive_cap(DEPTH, CAP);
    m.grind(GRINDING);
    (tree, m.indices(QUERIES, DEPTH), message)
}

/// The [`opening`], followed by a demand: the sum of the weights of leaves and queries must be the last message and `expected`.
fn program<M: Machine>(m: &mut M, expected: M::Field) {
    let (tree, indices, message) = opening(m);
    let mut sum = m.dot(&[3, 5, 7, 11, 13].map(Goldilocks::new), &message[..5]);
    let weights: Vec<_> = (0..4 * WORDS).map(|i| message[i % message.len()]).collect();
    for index in indices {
        let leaf = m.open(tree, tags::BASE_ORACLE, index, WORDS);
        let value = m.weigh(&leaf, &weights);
        let weight = m.query(index, &message[..3]);
        sum = m.combine([Goldilocks::ONE, Goldilocks::new(2), -Goldilocks::ONE], value, weight, sum);
    }
    let last = m.receive(1)[0];
    m.assert_equal(last, sum);
    let expected = m.constant(expected);
    m.assert_equal(sum, expected);
}

/// A circuit of the program, its result, and free data that it accepts.
fn example<K: Extension>() -> (Circuit<K>, K, Vec<Goldilocks>) {
    let (builder, sum, free) = built();
    (builder.finish(), sum, free)
}

/// The same, before it is finished.
pub(crate) fn built<K: Extension>() -> (Builder<K>, K, Vec<Goldilocks>) {
    let mut elements = Elements::new(7);
    let leaves: Vec<Vec<Goldilocks>> = (0..1 << DEPTH).map(|_| elements.bases(4 * WORDS)).collect();
    let mut levels: Vec<Vec<[Goldilocks; 4]>> = vec![leaves.iter().map(|leaf| digest(leaf)).collect()];
    for level in 0..DEPTH - CAP {
        levels.push(levels[level].chunks_exact(2).map(|pair| hash::node([pair[0], pair[1]])).collect());
    }
    // A message fills its last half with zeros.
    let mut free: Vec<Goldilocks> = match K::DEGREE {
        2 => [elements.bases(6), vec![Goldilocks::ZERO; 2]].concat(),
        _ => (0..3).flat_map(|_| [elements.bases(3), vec![Goldilocks::ZERO]].concat()).collect(),
    };
    free.extend(levels[DEPTH - CAP].iter().flatten());
    let nonce = free.len();
    free.extend([Goldilocks::ZERO; 4]);
    let indices = (0..)
        .find_map(|x| {
            free[nonce] = Goldilocks::new(x);
            let mut reader = Reader::<K>::new(&free);
            let (_, indices, _) = opening(&mut reader);
            reader.finish().is_ok().then_some(indices)
        })
        .expect("a proof of work");
    let mut nodes = BTreeSet::new();
    for index in indices {
        let mut index = index as usize;
        free.extend_from_slice(&leaves[index]);
        for (height, level) in levels[..DEPTH - CAP].iter().enumerate() {
            if !nodes.insert((height, index / 2)) {
                break;
            }
            free.extend(level[index ^ 1]);
            index /= 2;
        }
    }
    let mut reader = Reader::<K>::new(&free);
    program(&mut reader, K::ZERO);
    let (sum, _) = *reader.equations().last().expect("an equation");
    free.extend_from_slice(sum.as_ref());
    free.resize(free.len().next_multiple_of(4), Goldilocks::ZERO);

    let mut builder = Builder::new(tables());
    program(&mut InCircuit::new(&mut builder, tags::TRANSCRIPT), sum);
    (builder, sum, free)
}

/// Leaves 22 and 23 of the node 5 of height 2, which is a wire as is its height, and a set that both are given to. Returns the free data.
pub(crate) fn tree<K: Extension>(builder: &mut Builder<K>, elements: &mut Elements) -> Vec<Goldilocks> {
    let [zero, two, number] = [0, 2, 5].map(|x| builder.constant(Goldilocks::new(x)));
    let tag = builder.tag(tags::BASE_ORACLE);
    let (leaves, words): (Vec<_>, Vec<_>) = (0..2).map(|_| builder.hash_free(tag)).unzip();
    let node = builder.tag(Goldilocks::ZERO);
    let parent = builder.hash(node, [leaves[0].digest(), leaves[1].digest()]);
    let root = builder.hash(node, [words[0][0], parent.digest()]);
    let tree = builder.tree(root.digest(), two, number);
    let (set, bit) = (builder.set(), builder.bit());
    for (i, leaf) in leaves.iter().enumerate() {
        let index = builder.constant(Goldilocks::new(22 + i as u64));
        let active = builder.node(tree, leaf.digest(), zero, index, None);
        builder.give(set, leaf.digest(), Some(active));
        builder.give(set, leaf.digest(), Some(bit));
        builder.take(set, leaf.digest(), None);
    }
    builder.paths(3);
    let data = [elements.bases(8), elements.bases(8)];
    let one = [Goldilocks::ONE];
    // The sibling of the leaf, then that of its parent; of the second leaf all are known.
    let path = [&chain(tags::BASE_ORACLE, &data[1])[..], &data[0][..4]].concat();
    [&data[0][..], &data[1], &[Goldilocks::ZERO], &one, &path, &one, &one, &one].concat()
}

#[test]
fn a_tree_of_wires_has_no_other_nodes() {
    let mut elements = Elements::new(5);
    let mut builder = Builder::<Quadratic>::new(tables());
    let free = tree(&mut builder, &mut elements);
    let circuit = builder.finish();
    let right = circuit.witness(&free).unwrap();
    assert_eq!(right.faults(&circuit), []);
    // Counts that are not bits, a leaf that is taken twice, the root once more.
    for row in 0..circuit.rows(Table::Tuple) {
        for count in [Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::new(2), -Goldilocks::ONE, Goldilocks::half()] {
            let mut witness = right.clone();
            let columns = witness.row_mut(circuit.tables(), Table::Tuple, row);
            if columns[tuple::COUNT] != count {
                columns[tuple::COUNT] = count;
                let faults = witness.faults(&circuit);
                assert!(!faults.is_empty(), "{row} {count:?}");
                assert_eq!(witness.faults_beside(&circuit, &right), faults);
                assert_eq!(witness.check(&circuit).unwrap_err(), faults[0]);
            }
        }
    }
    // Not enough rows for a path of three: the missing row is a fault, not a panic.
    let data = elements.bases(8);
    let siblings = elements.bases(12);
    let root = siblings.chunks_exact(4).fold(data[4..].to_vec(), |node, sibling| {
        hash::node([[node[0], node[1], node[2], node[3]], [sibling[0], sibling[1], sibling[2], sibling[3]]]).to_vec()
    });
    for rows in 0..=3 {
        let mut builder = Builder::<Quadratic>::new(tables());
        let zero = builder.zero();
        let tag = builder.tag(Goldilocks::ZERO);
        let (_, [root_word, leaf]) = builder.hash_free(tag);
        let height = builder.constant(Goldilocks::new(3));
        let tree = builder.tree(root_word, height, zero);
        builder.node(tree, leaf, zero, zero, None);
        builder.paths(rows);
        let circuit = builder.finish();
        let free = [&root[..], &data[4..], &[Goldilocks::ONE], &siblings].concat();
        let faults = circuit.witness(&free).unwrap().faults(&circuit);
        // Idle rows fill the block: they are not node rows.
        assert_eq!(faults.is_empty(), rows == 3, "{rows}");
    }
}

/// Elements of a word that must be zero, two of them in a sum or three.
#[test]
fn limbs_that_are_demanded_to_be_zero() {
    fn check<K: Extension>() {
        let mut builder = Builder::<K>::new(tables());
        let tag = builder.tag(tags::TRANSCRIPT);
        let (_, [word, _]) = builder.hash_free(tag);
        builder.no_limbs(word, 1..4);
        let circuit = builder.finish();
        for limb in 0..8 {
            let mut free = [Goldilocks::ZERO; 8];
            free[limb] = Goldilocks::new(7);
            let faults = circuit.witness(&free).unwrap().faults(&circuit);
            assert_eq!(faults.is_empty(), !(1..4).contains(&limb), "{limb}");
        }
    }
    check::<Quadratic>();
    check::<Cubic>();
}

fn digest(leaf: &[Goldilocks]) -> [Goldilocks; 4] {
    chain(tags::BASE_ORACLE, leaf)
}

/// The hash of whole blocks, from a tag.
pub(crate) fn chain(tag: Goldilocks, elements: &[Goldilocks]) -> [Goldilocks; 4] {
    let tag = [tag, Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO];
    elements
        .chunks_exact(8)
        .fold(tag, |h, m| hash::digest(core::array::from_fn(|i| if i < 8 { m[i] } else { h[i - 8] })))
}

fn machines_agree<K: Extension>() {
    let (circuit, sum, free) = example::<K>();
    let witness = circuit.witness(&free).unwrap();
    witness.check(&circuit).unwrap();
    let mut reader = Reader::<K>::new(&free);
    program(&mut reader, sum);
    assert_eq!(reader.equations(), circuit.checks(&witness));
    assert!(reader.equations().len() >= 2);
    reader.finish().unwrap();

    // Whatever element is changed, both refuse: the circuit takes longer, and sees every 23rd.
    for at in 0..free.len() {
        let mut changed = free.clone();
        changed[at] += Goldilocks::ONE;
        let mut reader = Reader::<K>::new(&changed);
        program(&mut reader, sum);
        reader.finish().unwrap_err();
        if at % 23 == 0
            && let Ok(witness) = circuit.witness(&changed)
        {
            witness.check(&circuit).unwrap_err();
        }
    }
    circuit.witness(&free[1..]).unwrap_err();
    circuit.witness(&[&free[..], &[Goldilocks::ZERO]].concat()).unwrap_err();
}

#[test]
fn machines_agree_on_a_program_and_on_changed_data() {
    machines_agree::<Quadratic>();
    machines_agree::<Cubic>();
}

/// Changes the first row for which `change` says so, and expects a fault.
fn attack(what: &str, change: impl Fn(&mut [Goldilocks], &[Goldilocks]) -> bool, table: Table) {
    let (circuit, _, free) = example::<Quadratic>();
    let mut witness = circuit.witness(&free).unwrap();
    let rows = circuit.layout().shape(table).unwrap().rows();
    let changed = (0..rows).any(|i| change(witness.row_mut(circuit.tables(), table, i), circuit.fixed(table, i)));
    assert!(changed, "{what}: no such row");
    assert!(witness.check(&circuit).is_err(), "{what}");
}

#[test]
fn every_column_of_every_table_counts() {
    let (mut builder, _, mut free) = built::<Quadratic>();
    free.extend(tree(&mut builder, &mut Elements::new(5)));
    free.extend(application(&mut builder, &mut Elements::new(6)));
    let circuit = builder.finish();
    let right = circuit.witness(&free).unwrap();
    // Those of points have separate tests.
    for (table, _) in circuit.layout().heights() {
        // The first row that is used.
        for row in [0, circuit.rows(table).saturating_sub(1)] {
            for column in 0..circuit.tables().columns(table) {
                let mut witness = right.clone();
                witness.row_mut(circuit.tables(), table, row)[column] += Goldilocks::ONE;
                // A column that a mode does not read may be anything.
                let idle = table == Table::Permutation && column >= permutation::INDEX;
                assert!(witness.check(&circuit).is_err() || idle, "{} {row} {column}", table.name());
            }
        }
    }
}

#[test]
fn nodes_are_what_they_say() {
    let node = |fixed: &[Goldilocks]| fixed[permutation::INNER] == Goldilocks::ONE;
    let cap = |fixed: &[Goldilocks]| fixed[permutation::CAP] == Goldilocks::ONE;
    let half = Goldilocks::half();
    for (what, column, value) in [
        ("half active", permutation::ACTIVE, half),
        ("not active and offered", permutation::ACTIVE, Goldilocks::ZERO),
        ("another index", permutation::INDEX, Goldilocks::new(77)),
        ("another level", permutation::LEVEL, Goldilocks::new(77)),
        ("a node more", permutation::LEFT, Goldilocks::new(77)),
        ("a node less", permutation::RIGHT, Goldilocks::new(77)),
        ("h is not zero", permutation::RATE, Goldilocks::ONE),
    ] {
        let change = |row: &mut [Goldilocks], fixed: &[Goldilocks]| {
            let there = node(fixed) && row[permutation::ACTIVE] == Goldilocks::ONE;
            if there {
                row[column] = value;
            }
            there
        };
        attack(what, change, Table::Permutation);
    }
    // An inactive row offers a node.
    let change = |row: &mut [Goldilocks], fixed: &[Goldilocks]| {
        let there = node(fixed) && row[permutation::ACTIVE] == Goldilocks::ZERO;
        if there {
            row[permutation::LEFT] = Goldilocks::ONE;
        }
        there
    };
    attack("an offer of a row that does not count", change, Table::Permutation);
    for column in [permutation::LEFT, permutation::RIGHT] {
        let change = |row: &mut [Goldilocks], fixed: &[Goldilocks]| {
            if cap(fixed) {
                row[column] += Goldilocks::ONE;
            }
            cap(fixed)
        };
        attack("a node of the cap offered once more", change, Table::Permutation);
    }
    let change = |row: &mut [Goldilocks], fixed: &[Goldilocks]| {
        let leaf = fixed[permutation::LEAF] == Goldilocks::ONE;
        if leaf {
            row[permutation::INDEX] += Goldilocks::ONE;
        }
        leaf
    };
    attack("a leaf at another index", change, Table::Permutation);
}

#[test]
fn a_split_of_x_plus_p_is_a_challenge_s_alone() {
    // 12345 + p has the low bits of 12346.
    let mut builder = Builder::<Quadratic>::new(tables());
    let (_, [word, _]) = {
        let tag = builder.tag(tags::TRANSCRIPT);
        builder.hash_free(tag)
    };
    let [number, challenge] = [0, 1].map(|i| builder.limb(word, i));
    builder.range::<40>(number);
    builder.indices(challenge, DEPTH);
    let circuit = builder.finish();
    let free = [12345, 12345, 0, 0, 0, 0, 0, 0].map(Goldilocks::new);
    let right = circuit.witness(&free).unwrap();
    right.check(&circuit).unwrap();
    for (row, accepted) in [(0, false), (1, true)] {
        let mut witness = right.clone();
        let other = 12345 + Goldilocks::ORDER;
        for (j, bit) in witness.row_mut(circuit.tables(), Table::Bits, row).iter_mut().enumerate() {
            *bit = Goldilocks::new(other >> j & 1);
        }
        assert_eq!(witness.check(&circuit).is_ok(), accepted, "row {row}");
    }
    let too_large = [1 << 40, 0, 0, 0, 0, 0, 0, 0].map(Goldilocks::new);
    assert!(matches!(
        circuit.witness(&too_large).unwrap().check(&circuit),
        Err(Fault::Constraint { table: Table::Bits, .. })
    ));
}

#[test]
fn types_are_demanded() {
    let mut builder = Builder::<Quadratic>::new(tables());
    let tag = builder.tag(tags::TRANSCRIPT);
    let (_, [word, _]) = builder.hash_free(tag);
    let bit = builder.limb(word, 1);
    builder.boolean(bit);
    let circuit = builder.finish();
    for (x, accepted) in [(0, true), (1, true), (2, false)] {
        let free = [5, x, 5, 5, 5, 5, 5, 5].map(Goldilocks::new);
        let witness = circuit.witness(&free).unwrap();
        assert_eq!(witness.check(&circuit).is_ok(), accepted);
        let checks = circuit.checks(&witness);
        assert_eq!(checks.iter().all(|(a, b)| a == b), accepted);
    }
    assert_eq!(circuit.rows(Table::Operation), 1);
}

#[test]
fn the_constraints_of_permutations_are_those_that_the_prover_combines() {
    let mut elements = Elements::new(3);
    let columns: Vec<Quadratic> = elements.elements(permutation::COLUMNS);
    let fixed = vec![Quadratic::ZERO; permutation::FIXED];
    let activity = elements.element::<Quadratic>();
    let mut out = Vec::new();
    let row = Row { columns: &columns, fixed: &fixed, number: Quadratic::ZERO, places: &[Goldilocks::ZERO; 8] };
    tables::<Quadratic>().constraints(Table::Permutation, &mut Point { activity }, &row, &mut out);
    let weights: Vec<Quadratic> = elements.elements(poseidon::COLUMNS - 12);
    let combined = poseidon::Combined::new(&weights);
    let sum: Quadratic = weights.iter().zip(&out).map(|(&w, &c)| w * c).sum();
    assert_eq!(sum, combined_at(&combined, &columns[..poseidon::COLUMNS], activity));
}

/// A verifier sums the uses of lookup tables: they belong to one table, once each, and their tuples have no further
/// elements.
#[test]
fn short_ports_are_uses_of_one_lookup_table() {
    let mut elements = Elements::new(9);
    let tables = tables::<Quadratic>();
    let offers = |table: Table| matches!(table, Table::Range | Table::KeccakLookup);
    let mut short = 0;
    for table in Table::ALL.into_iter().filter(|table| !offers(*table)) {
        let columns: Vec<Quadratic> = elements.elements(tables.columns(table));
        let fixed: Vec<Quadratic> = elements.elements(tables.fixed(table));
        let places = elements.bases(tables.ports_of(table));
        let row = Row { columns: &columns, fixed: &fixed, number: elements.element(), places: &places };
        let activity = elements.element::<Quadratic>();
        let mut ports = Vec::new();
        tables.ports(table, &mut Point { activity }, &row, &mut ports);
        let mut kinds = BTreeSet::new();
        for port in ports.iter().filter(|port| port.len < TUPLE) {
            short += 1;
            assert_eq!(port.multiplicity, -activity, "{table:?}");
            assert!(port.tuple[port.len..].iter().all(|x| x.is_zero()), "{table:?}");
            kinds.insert(format!("{} {:?}", port.len, port.tuple[0]));
        }
        assert!(kinds.len() <= 1, "{table:?}: {kinds:?}");
    }
    assert!(short > 0);
}

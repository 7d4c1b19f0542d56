//! Lies about rows, slots and children of OpenZeppelin's tree.

use std::collections::HashMap;

use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_primitives::hash::poseidon::hash_tagged;
use evergrove_verifier::abi::{AbiType, AbiWord, WORD_HALVES};
use evergrove_verifier::keccak_tree::DIGEST_HALVES;
use evergrove_verifier::openzeppelin as tree;
use evergrove_verifier::tables::Table;
use evergrove_verifier::tables::permutation::RATE;

use super::merge::{Choice, ROOTS};
use super::*;
use crate::openzeppelin::{Row, bucket_data};
use evergrove_commit::schema::row_tag;

/// Types with every kind of bound: 40 halves, so the rows have two blocks of Keccak.
const TYPES: [&str; 5] = ["bool", "uint40", "bytes3", "int8", "int248"];
const HALVES: usize = WORD_HALVES * TYPES.len();
/// The columns of the types.
const BOOL: usize = 0;
const UINT40: usize = 1;
const BYTES3: usize = 2;
const INT8: usize = 3;
const INT248: usize = 4;

/// Elements of a node: both operands, the node, the swap bit, flags.
pub(super) const NODE: usize = 3 * DIGEST_HALVES + 1 + DIGEST_HALVES;
/// Elements of a slot without the sibling: the row, its leaf, its bit, three pairs of words of the message.
const SLOT: usize = HALVES + LEAF + 3 * 2 * WORD;
const LEAF: usize = 9;

/// Numbers of rows whose digests have other orders in the first half and in another half.
const ANY: [u64; 2] = [1, 2];
/// Numbers of rows whose digests have the same last half. In the other order are the differences of the first and the
/// last half, and the sums.
const SAME: [u64; 2] = [782_481, 904_777];

fn types() -> Vec<AbiType> {
    TYPES.map(|text| text.parse().unwrap()).to_vec()
}

fn of() -> KeccakTree {
    KeccakTree::OpenZeppelin(types())
}

/// The words of a row.
fn words(x: u64) -> Vec<AbiWord> {
    let texts = ["true".into(), x.to_string(), "0x059cbb".into(), "-3".into(), "77".to_string()];
    types().iter().zip(texts).map(|(kind, text)| kind.parse(&text).unwrap()).collect()
}

fn row(x: u64) -> Row {
    Row::new(&words(x))
}

fn digest(x: u64) -> KeccakDigest {
    tree::leaf_digest(&words(x))
}

/// The place of a slot's row, of its leaf, and of its message.
fn slot(i: usize) -> usize {
    // The sibling of the first leaf is in the first slot.
    SLOTS + (SLOT + WORD) * i
}
fn leaf(i: usize) -> usize {
    slot(i) + HALVES
}
fn message(i: usize) -> usize {
    leaf(i) + LEAF + if i == 0 { WORD } else { 0 }
}

/// Rows by their hashes: those of the columns without faults, and those of these columns.
fn rows(subject: &Subject, columns: &Columns) -> HashMap<Value, Vec<Goldilocks>> {
    let mut rows = HashMap::new();
    for columns in [&subject.sound, columns] {
        let steps = HALVES / RATE;
        for first in (0..subject.circuit.rows(Table::Sponge)).step_by(steps) {
            let row = |step: usize| columns.row(subject.circuit.tables(), Table::Sponge, first + step);
            let halves: Vec<Goldilocks> = (0..steps).flat_map(|step| row(step)[..RATE].to_vec()).collect();
            rows.insert(hash_tagged(&halves, row_tag(HALVES)).0, halves);
        }
    }
    rows
}

/// True if C and K are not those of the same slots, or no slot has a row, or a row is not of the types.
fn is_false(subject: &Subject, _: &[Goldilocks], columns: &Columns) -> bool {
    let own = Stated::new(&published(subject, columns, WORDS));
    let rows = rows(subject, columns);
    // The digest of a slot's row, if there is a row of the types.
    let leaf = |value: Value| -> Option<KeccakDigest> {
        let words: Option<Vec<AbiWord>> = rows.get(&value)?.chunks(WORD_HALVES).map(from_elements).collect();
        let words = words?;
        types().iter().zip(&words).all(|(kind, word)| kind.is_canonical(word)).then(|| tree::leaf_digest(&words))
    };
    let Some(slots) = own.slots(&Known::new(subject, columns)) else { return true };
    let leaves: Option<Vec<Option<KeccakDigest>>> =
        slots.into_iter().map(|slot| slot.map_or(Some(None), |value| leaf(value).map(Some))).collect();
    leaves.is_none_or(|leaves| tree::root(&leaves).is_none_or(|root| own.keccak != Some(root)))
}

/// C of slots from a position on.
fn root(base: u64, slots: &[Option<Row>; 2]) -> Digest {
    root_of([0, 1].map(|i| slots[i].as_ref().map_or(null_digest(0), |row| leaf_digest(base + i as u64, &row.value))))
}

/// Writes a node whose operands are in the wrong order.
fn exchange(free: &mut [Goldilocks], node: usize, children: [KeccakDigest; 2], flags: [i64; DIGEST_HALVES]) {
    let [low, high] = [children[0].max(children[1]), children[0].min(children[1])];
    let own = keccak_256(&[low, high].concat());
    let swap = integer(i64::from(low == children[1]));
    let digests = [low, high, own].map(|digest| to_elements(&digest));
    let elements = [digests.as_flattened(), &[swap], &flags.map(integer)].concat();
    free[node..node + NODE].copy_from_slice(&elements);
}

/// Lies about the order of the operands of a node above the digests of two rows. `data` has the free data for the
/// numbers of these rows, and the place of the node.
fn orders(report: &mut Report, subject: &Subject, data: &dyn Fn([u64; 2]) -> (Vec<Goldilocks>, usize)) {
    let lie = |pair: [u64; 2], flags: [i64; DIGEST_HALVES]| {
        let (mut free, node) = data(pair);
        exchange(&mut free, node, pair.map(digest), flags);
        Lie { free, ..Lie::new(subject) }
    };
    let first = [1, 0, 0, 0, 0, 0, 0, 0];
    lie(ANY, first).refused_by(report, "openzeppelin.rs: Zeros: b.zeros(above, from(HALF_BITS));");
    // The flag is at a half where the order is the other one, behind halves that are not equal.
    let [left, right] = ANY.map(|x| to_elements(&digest(x)).map(|half| (half.as_u64() as u32).swap_bytes()));
    let at = (1..DIGEST_HALVES).find(|&i| (left[i] < right[i]) != (left[0] < right[0])).unwrap();
    lie(ANY, core::array::from_fn(|i| i64::from(i == at)))
        .refused_by(report, "openzeppelin.rs: Equation: equal(b, low, high);");
    // The bytes of the first operand are zeros.
    let choices: Vec<u32> = subject.circuit.choices().collect();
    let [.., low, both, _] = choices[..] else { panic!("bytes of operands") };
    let wrong = lie(ANY, first);
    let own = subject.count(&subject.columns(&wrong.free, &wrong.chosen), both).as_u64();
    wrong
        .choose(low, ZERO)
        .choose(both, Goldilocks::new(own >> 21 << 21))
        .refused_by(report, "openzeppelin.rs: Equation: equal(b, half.into(), halves[i].into());");
    lie(SAME, [1, 0, 0, 0, 0, 0, 0, -1]).refused_by(
        report,
        "openzeppelin.rs: Bit: let flags: [Base; DIGEST_HALVES] = core::array::from_fn(|_| b.bit().into());",
    );
    lie(SAME, [1, 0, 0, 0, 0, 0, 0, 1]).refused_by(report, "openzeppelin.rs: Equation: b.boolean(same);");
}

/// Lies about buckets that are made one by one.
fn each(report: &mut Report) {
    let of = of();
    let circuit_set = circuit_set(&of);
    let parameters = parameters(&circuit_set);
    let claim = batches::claim(&parameters);
    let data = |base: u64, slots: [Option<Row>; 2]| {
        let statement = statement(root(base, &slots), base);
        [bucket_data(SIZE, TYPES.len(), [ONE; 4], &statement, &slots), claim.clone()].concat()
    };
    let rows = [Some(row(1)), Some(row(2))];
    let only = data(BASE, [Some(row(1)), None]);
    let circuit = circuit_set.bucket(&parameters).finish();
    let alone = Subject::new(circuit.clone(), only.clone(), is_false);
    let subject = Subject::new(circuit, data(BASE, rows.clone()), is_false);
    for subject in [&alone, &subject] {
        assert!(!is_false(subject, &subject.free, &subject.sound));
        report.of(subject);
    }
    let circuit = &subject.circuit;
    let lie = |free: Vec<Goldilocks>| Lie { free, ..Lie::new(&subject) };
    // A row at 256.
    let mut beyond = data(0, [Some(row(1)), None]);
    beyond[SLOTS - 1] = Goldilocks::new(2);
    for i in 0..2 {
        beyond[leaf(i)] = Goldilocks::new(256 + i as u64);
    }
    beyond[..WORD].copy_from_slice(&root(256, &[Some(row(1)), None]).0);
    lie(beyond).refused_by(report, "openzeppelin.rs: Bit: let bit: Base = b.bit().into();");
    // A row in both slots, whose leaf is only at the first position.
    let mut twice = data(BASE, [Some(row(1)), Some(row(1))]);
    twice[leaf(1)] = Goldilocks::new(BASE);
    twice[message(0) - WORD..][..WORD].copy_from_slice(&null_digest(0).0);
    twice[..WORD].copy_from_slice(&only[..WORD]);
    lie(twice).refused_by(
        report,
        "b.check([ZERO, ONE, Goldilocks::new(place)], start.into(), zero.into(), one.into(), index.into());",
    );
    // A row where nothing is, and nothing where a row is.
    for (slots, paths, right, text) in [
        (rows.clone(), &alone, true, "let active = b.node(tree, leaf.digest(), zero, index, None);"),
        ([None, Some(row(2))], &subject, false, "b.node(tree, empty, zero, index, Some(not));"),
    ] {
        let mut free = data(BASE, slots);
        free[..WORD].copy_from_slice(&paths.free[..WORD]);
        lie(free)
            .change(|columns| {
                with_paths_of(circuit, columns, &paths.sound);
                unused(circuit, columns, (HEIGHT.into(), BASE >> HEIGHT), right);
            })
            .refused_by(report, &format!("openzeppelin.rs: Node: {text}"));
    }
    // The tree has another leaf: with more behind its value, with another value.
    for (at, text) in
        [(5, "b.no_limbs(second, 1..WORD);"), (1, "b.equal_limbs(active, &value, &[0, 1, 2, 3].map(|i| (digest, i)));")]
    {
        let mut other = only.clone();
        other[leaf(0) + at] += ONE;
        let digest = chained(other[leaf(0)..].first_chunk().unwrap());
        other[..WORD].copy_from_slice(&root_of([digest, null_digest(0)]).0);
        lie(other).refused_by(report, &format!("openzeppelin.rs: Equation: {text}"));
    }
    // Rows that are not of the types: bytes that are changed, and the choices of a sign and of the bits below it.
    let choices: Vec<u32> = subject.circuit.choices().collect();
    let third = Goldilocks::new((1 << 8) - 1 + (1 << 15)).inverse().unwrap();
    for (column, changes, chosen, text) in [
        (BOOL, vec![(0, 1)], vec![], "Equation: b.no_limbs(word, limbs.start - WORD * i..limbs.end - WORD * i);"),
        (BOOL, vec![(31, 2)], vec![], "Equation: b.boolean(byte);"),
        (UINT40, vec![(26, 1)], vec![], "Zeros: b.zeros(rest, from(HALF_BITS - 8 * bytes));"),
        (BYTES3, vec![(3, 1)], vec![], "Zeros: b.zeros(half, from(8 * bytes));"),
        (INT8, vec![(28, 0)], vec![], "Equation: 0 => equal(b, rest.into(), zero.into()),"),
        (
            INT8,
            vec![(0, 0)],
            vec![],
            "Equation: b.check([ZERO, MAX_HALF, ZERO], sign.into(), zero.into(), zero.into(), half.into());",
        ),
        // A negative number without its sign in front, called positive.
        (
            INT8,
            (0..31).map(|i| (i, 0)).chain([(31, 0x85)]).collect(),
            vec![(choices[0], ZERO), (choices[1], Goldilocks::new(0x85))],
            "Zeros: b.zeros(low, from(7));",
        ),
        (INT248, vec![(0, 1)], vec![], "Zeros: b.zeros(rest, from(room));"),
        // The sign is not a bit.
        (
            INT248,
            vec![(0, 1)],
            vec![(choices[2], third)],
            "Bit: let sign: Base = b.bit_of(&[own], [bit::<7>, bit::<15>, bit::<23>, bit::<31>][bytes]).into();",
        ),
    ] {
        let mut words = words(1);
        changes.into_iter().for_each(|(at, byte)| words[column][at] = byte);
        let made = lie(data(BASE, [Some(Row::new(&words)), None]));
        let made = chosen.into_iter().fold(made, |lie, (row, x)| lie.choose(row, x));
        made.refused_by(report, &format!("openzeppelin.rs: {text}"));
    }
    // Another message than that of the row, more than the first block has, and another padding.
    for (at, text) in [
        (0, "openzeppelin.rs: Equation: equal(b, given, own);"),
        (2, "keccak.rs: Equation: self.no_limbs(word, 2..WORD);"),
        (4 * WORD + 2, "keccak.rs: Equation: self.same_limbs(given, padding, rest % WORD..WORD);"),
    ] {
        let at = message(0) + at;
        lie(only.clone()).set(at, &[only[at] + ONE]).refused_by(report, text);
    }
    lie(data(BASE, [None, None]))
        .refused_by(report, "openzeppelin.rs: Equation: equal(b, Base::from(there).into(), one.into());");
    orders(report, &subject, &|pair| (data(BASE, pair.map(|x| Some(row(x)))), slot(2) - WORD));
}

/// Lies about merges that are made one by one.
fn each_merge(report: &mut Report) -> Subject {
    let of = of();
    let (subject, claim) = merge::subject(report, &of, |subject, _, columns| merge::is_false(subject, columns, false));
    // One child is empty.
    let only = Choice { empty: [false, true], ..Choice::honest() };
    let alone = Subject::new(subject.circuit.clone(), only.data(&of, &claim), |subject, _, columns| {
        merge::is_false(subject, columns, false)
    });
    assert!(!(alone.other)(&alone, &alone.free, &alone.sound));
    report.of(&alone);
    merge::places(report, &subject, &of, &claim);
    // A child of a leaf, at the height -1, beside nothing.
    let mut free = Choice { height: 1, base: 16, ..only.clone() }.at([(0, 16); 2]).data(&of, &claim);
    merge::with_flags(&mut free, 16, [0; SIZE.height_max as usize]);
    free[ROOTS + WORD..ROOTS + 2 * WORD].fill(ZERO);
    let places = free.len() - claim.len() - NODE - merge::PLACES_FROM_END;
    free[places] = -ONE;
    Lie { free, ..Lie::new(&subject) }.refused_by(report, merge::LOWEST);
    // No child.
    let nothing = Choice { empty: [true; 2], ..only.clone() };
    Lie { free: nothing.data(&of, &claim), ..Lie::new(&subject) }
        .refused_by(report, "translation.rs: Equation: equal(b, Base::from(there).into(), one.into());");
    orders(report, &subject, &|pair| {
        let mut choice = Choice::honest();
        for (child, x) in choice.children.iter_mut().zip(pair) {
            child.1 = digest(x);
        }
        let free = choice.data(&of, &claim);
        let node = free.len() - claim.len() - NODE;
        (free, node)
    });
    subject
}

#[test]
fn the_line_of_each_lie_about_a_bucket_alone_refuses_it() {
    let mut report = Report::new(argued::OPENZEPPELIN_BUCKET);
    // Each line has its own lie. A search would take a minute, so there is none.
    each(&mut report);
    judge("openzeppelin_bucket", &report);
}

#[test]
fn the_line_of_each_lie_about_a_merge_alone_refuses_it() {
    let mut report = Report::new(argued::OPENZEPPELIN_MERGE);
    let subject = each_merge(&mut report);
    report.search(&subject);
    judge("openzeppelin_merge", &report);
}

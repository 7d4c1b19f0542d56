//! The demands of the circuit that relates claims about the slots of a contract and rows of a table, with room for four
//! slots. The circuit of these tests publishes its words as a hash.
//!
//! The strongest lies state something false: the test opens both digests with all hashes that it knows, and compares the
//! rows with the claims. The circuit is about claims whose elements are words of 32 bits, so nothing that is stated
//! about other claims counts as false.

use std::collections::HashMap;

use evergrove_commit::schema::row_tag;
use evergrove_multilinear::circuit::{Builder, Witness as Columns};
use evergrove_multilinear::poseidon;
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::poseidon::{WIDTH, hash_tagged};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::demands::{Lie, Report, Subject};
use evergrove_verifier::ethereum::{Account, Address, Claim, Word};
use evergrove_verifier::keccak_tree::from_elements;
use evergrove_verifier::poseidon::{SBOXES, digest};
use evergrove_verifier::tables::permutation::RATE;
use evergrove_verifier::tables::{Table, Tables, WORD, bits, query};
use evergrove_verifier::tree::{LEAF_TAG, node_digest};

use super::batches::{chained, published};
use crate::reshape::{Size, StorageTable, modes, reshape};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// log2 of the slots of the circuit, and its slots.
const HEIGHT: u8 = 2;
const ROOM: usize = 1 << HEIGHT;
const DECIMALS: u8 = 18;
const UNIT: u128 = 10_u128.pow(DECIMALS as u32);
const CONTRACT: Address = [0xc0; 20];
/// Words that the circuit publishes.
const WORDS: usize = 5;
/// Elements of a row: the halves of the slot, units, rest.
const CELLS: usize = 10;
/// Choices of a slot that follow from other elements, and the place of the first carry among them.
const CHOICES: usize = 16;
const CARRY: usize = 13;

/// The place of a slot's elements in the free data, and places in them.
fn slot(i: usize) -> usize {
    // The first slot has no bit in front.
    4 * WORD + 1 + SLOT * i
}
const UNITS: usize = 8;
const REST: usize = 9;
const LEAF: usize = 10;
const BEHIND: usize = 15;
const CLAIM: usize = 19;
const VALUE: usize = 32;
const SLOT: usize = 36;
/// The places of the hashes of both trees: two operands and a bit for each.
const OF_CLAIMS: usize = 4 * WORD + SLOT * ROOM + 1 + 4 * RATE;
const OF_ROWS: usize = OF_CLAIMS + HASH * ROOM;
const HASH: usize = 2 * WORD + 1;

fn number(x: u128) -> Word {
    let mut word = [0; 32];
    word[16..].copy_from_slice(&x.to_be_bytes());
    word
}

/// The value of a slot that is not a zero slot. Its lowest word is the largest possible word.
fn value(i: u8) -> u128 {
    ((u128::from(i) * 5 * UNIT) << 32) + 0xffff_ffff
}

/// The account, and three slots in the order of their keys. The second of them is a zero slot.
fn claims() -> Vec<Claim> {
    let slot = |i: u8| Claim::Slot {
        address: CONTRACT,
        slot: core::array::from_fn(|j| (37 * j % 251) as u8 ^ i),
        value: number(0),
    };
    let mut slots: Vec<Claim> = (1..4).map(slot).collect();
    slots.sort_by_key(Claim::key);
    for (slot, x) in slots.iter_mut().zip([value(1), 0, value(2)]) {
        let Claim::Slot { value, .. } = slot else { unreachable!("slots") };
        *value = number(x);
    }
    let account = Account { nonce: 1, balance: number(77), storage_root: [3; 32], code_hash: [4; 32] };
    [vec![Claim::Account { address: CONTRACT, account }], slots].concat()
}

/// The inputs of hashes, by their digests: those of the columns without faults, and those of these columns.
struct Hashes(HashMap<Digest, [Goldilocks; WIDTH]>);

impl Hashes {
    fn new(subject: &Subject, columns: &Columns) -> Self {
        let rows = 0..subject.circuit.rows(Table::Permutation);
        let states = rows.flat_map(|row| {
            [&subject.sound, columns].map(|columns| -> [Goldilocks; WIDTH] {
                columns.row(subject.circuit.tables(), Table::Permutation, row)[..WIDTH].try_into().unwrap()
            })
        });
        Self(states.map(|state| (Digest(digest(state)), state)).collect())
    }
    /// The leaves of a tree of hashes of two digests.
    fn leaves(&self, root: Digest) -> Vec<Digest> {
        match self.0.get(&root) {
            Some(state) if state[RATE..] == [ZERO; WORD] => {
                let halves = [0, WORD].map(|at| Digest(state[at..at + WORD].try_into().unwrap()));
                halves.into_iter().flat_map(|half| self.leaves(half)).collect()
            }
            _ => vec![root],
        }
    }
    /// The tag of a chain and its elements.
    fn chain(&self, end: Digest) -> Option<(Goldilocks, Vec<Goldilocks>)> {
        let state = self.0.get(&end)?;
        let before: [Goldilocks; WORD] = state[RATE..].try_into().unwrap();
        let (tag, mut elements) =
            if before[1..] == [ZERO; WORD - 1] { (before[0], Vec::new()) } else { self.chain(Digest(before))? };
        elements.extend(&state[..RATE]);
        Some((tag, elements))
    }
}

fn tag(letters: &[u8; 4]) -> Goldilocks {
    Goldilocks::new(u32::from_be_bytes(*letters).into())
}

fn is_word(x: &Goldilocks) -> bool {
    x.as_u64() < 1 << 32
}

/// The claim about the slot of a row.
fn claim_of(address: Address, cells: &[Goldilocks]) -> Option<Claim> {
    let [units, rest] = [UNITS, REST].map(|i| u128::from(cells[i].as_u64()));
    let slot = from_elements(&cells[..UNITS])?;
    (units < 1 << 63 && rest < UNIT).then(|| Claim::Slot { address, slot, value: number(units * UNIT + rest) })
}

/// True if both digests are not about the same slots of the contract.
fn is_false(subject: &Subject, _: &[Goldilocks], columns: &Columns) -> bool {
    let words = published(subject, columns, WORDS);
    let address = [&words[2][..], &words[3][..1]].concat();
    let hashes = Hashes::new(subject, columns);
    let mut claims = hashes.leaves(Digest(words[0]));
    let Some(chains) = claims.iter().map(|leaf| hashes.chain(*leaf)).collect::<Option<Vec<_>>>() else { return true };
    if !chains.iter().flat_map(|(_, elements)| elements).chain(&address).all(is_word) {
        return false;
    }
    let bytes: Vec<u8> = address.iter().flat_map(|x| (x.as_u64() as u32).to_le_bytes()).collect();
    let bytes: Address = bytes.try_into().unwrap();
    // Rows by their hashes: two steps of a sponge each.
    let mut rows = HashMap::new();
    for columns in [&subject.sound, columns] {
        for first in (0..subject.circuit.rows(Table::Sponge)).step_by(2) {
            let step = |row: usize| columns.row(subject.circuit.tables(), Table::Sponge, row);
            let cells = [&step(first)[..RATE], &step(first + 1)[..CELLS - RATE]].concat();
            rows.insert(hash_tagged(&cells, row_tag(CELLS)).0, cells);
        }
    }
    let row = |leaf: Digest| -> Option<(u64, Digest)> {
        let state = hashes.0.get(&leaf)?;
        let is_leaf = state[RATE..] == [LEAF_TAG, ZERO, ZERO, ZERO] && state[WORD + 1..RATE] == [ZERO; WORD - 1];
        let cells = rows.get::<[Goldilocks; WORD]>(&state[1..=WORD].try_into().unwrap()).filter(|_| is_leaf)?;
        Some((state[0].as_u64(), claim_of(bytes, cells)?.leaf_digest()))
    };
    let rows: Option<Vec<(u64, Digest)>> = hashes.leaves(Digest(words[1])).into_iter().map(row).collect();
    let Some(mut rows) = rows else { return true };
    rows.sort_unstable_by_key(|(position, _)| *position);
    if rows.len() as u64 != words[4][0].as_u64() || !rows.iter().map(|(position, _)| *position).eq(0..rows.len() as u64)
    {
        return true;
    }
    for (_, claim) in rows {
        let Some(at) = claims.iter().position(|own| *own == claim) else { return true };
        claims.remove(at);
    }
    // What is left is the account, if anything is.
    let is_account = |(found, elements): (Goldilocks, Vec<Goldilocks>)| {
        found == tag(b"ETHA") && elements[..address.len()] == address
    };
    claims.len() > 1 || claims.iter().any(|leaf| !hashes.chain(*leaf).is_some_and(is_account))
}

/// Writes trees over these leaves of claims and rows.
fn with_trees(free: &mut [Goldilocks], leaves: [&[Digest]; 2]) {
    for (which, (leaves, hashes)) in leaves.into_iter().zip([ROOM, ROOM - 1]).enumerate() {
        let begin = [OF_CLAIMS, OF_ROWS][which];
        free[begin..begin + HASH * hashes].fill(ZERO);
        let mut sum = leaves[0];
        for (leaf, at) in leaves[1..].iter().zip((begin..).step_by(HASH)) {
            free[at..at + HASH].copy_from_slice(&[&sum.0[..], &leaf.0, &[ONE]].concat());
            sum = node_digest(&sum, leaf);
        }
        free[WORD * which..][..WORD].copy_from_slice(&sum.0);
    }
}

/// Writes the hash of a row into its leaf.
fn with_value(free: &mut [Goldilocks], i: usize) {
    let value = hash_tagged(&free[slot(i)..][..CELLS], row_tag(CELLS));
    free[slot(i) + LEAF + 1..][..WORD].copy_from_slice(&value.0);
}

/// Replaces an element of the state in the second step of the first row's sponge that the row does not overwrite, and
/// all that follows from it.
fn with_state(subject: &Subject, columns: &mut Columns) {
    let (circuit, tables) = (&subject.circuit, subject.circuit.tables());
    let row = columns.row_mut(tables, Table::Sponge, 1);
    let old: Vec<Goldilocks> = row.to_vec();
    row[2] += ONE;
    let width = row.len();
    poseidon::fill(row, width, WIDTH);
    let new = row.to_vec();
    let pairs: Vec<(Goldilocks, Goldilocks)> =
        [2].into_iter().chain(SBOXES..SBOXES + WORD).map(|at| (old[at], new[at])).collect();
    let replace = |row: &mut [Goldilocks]| {
        for x in row {
            *x = pairs.iter().find(|(old, _)| old == x).map_or(*x, |(_, new)| *new);
        }
    };
    for table in [Table::Dot, Table::Operation, Table::Tuple] {
        for i in 0..circuit.rows(table) {
            let row = columns.row_mut(tables, table, i);
            // The word of the state before has the same element.
            if table != Table::Dot || row[..WORD] == old[..WORD] || row[..WORD] == old[SBOXES..SBOXES + WORD] {
                replace(row);
            }
        }
    }
}

/// Lies that are made one by one.
fn each(report: &mut Report) -> Subject {
    let modes = modes();
    let tables =
        Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros));
    let mut b = Builder::<Quadratic>::new(tables);
    let size = Size::new(HEIGHT, DECIMALS).unwrap();
    let (key, said) = reshape(&mut b, size);
    let none = b.word([ZERO; WORD]);
    let words = [vec![key, key], said, vec![none]].concat();
    let begin = b.tag(ZERO);
    let hash = words.as_chunks().0.iter().fold(begin, |hash, &pair| b.hash(hash, pair));
    b.publish(hash);
    let claims = claims();
    let honest = StorageTable::new(&claims, DECIMALS).unwrap().data(size, [ONE; WORD]);
    let subject = Subject::new(b.finish(), honest, is_false);
    assert!(!is_false(&subject, &subject.free, &subject.sound));
    report.of(&subject);
    let honest = &subject.free;
    let lie = |free: Vec<Goldilocks>| Lie { free, ..Lie::new(&subject) };
    let own = slot(0);
    // The second slot is not used, and the third one is.
    let mut gap = honest.clone();
    gap[slot(1) - 1] = ZERO;
    let leaves = [0, 1, 2, 3].map(|i| claims[i].leaf_digest());
    let rows = [0, 2].map(|i| chained(honest[slot(i) + LEAF..].first_chunk().unwrap()));
    with_trees(&mut gap, [&[leaves[0], leaves[1], leaves[3]], &rows]);
    lie(gap).refused_by(report, "reshape.rs: Equation: implies(g.b, active, before);");
    // A claim about another account or another slot, a row at another position, more behind the value of a row, words of
    // another value in a claim.
    for (at, text) in [
        (CLAIM + WORD, "Equation: equal(self.b, last.into(), self.address.1.into());"),
        (LEAF, "Equation: equal(self.b, given, due);"),
        (BEHIND, "Set: same_word(self.b, yes, second, word(last));"),
        (CLAIM + WORD + 1, "Equation: self.b.check([ONE, ZERO, ONE], x, half.into(), word.into(), sum);"),
        (VALUE + 1, "Equation: equal(self.b, given, due);"),
        (VALUE + 2, "Equation: equal(self.b, given.into(), third.into());"),
    ] {
        let mut free = honest.clone();
        free[own + at] += ONE;
        lie(free).refused_by(report, &format!("reshape.rs: {text}"));
    }
    // A claim of another kind.
    let choices: Vec<u32> = subject.circuit.choices().collect();
    assert_eq!(choices.len(), CHOICES * ROOM);
    lie(honest.clone())
        .choose(choices[0], tag(b"ETHX"))
        .refused_by(report, "reshape.rs: Set: let start = self.b.either(word(tag), is_zero, tags[0], tags[1]);");
    // The value of a row is not its hash.
    let mut row = subject.sound.row(subject.circuit.tables(), Table::Sponge, 1).to_vec();
    row[2] += ONE;
    let width = row.len();
    poseidon::fill(&mut row, width, WIDTH);
    let mut other = honest.clone();
    other[own + LEAF + 1..][..WORD].copy_from_slice(&row[SBOXES..SBOXES + WORD]);
    lie(other).change(|columns| with_state(&subject, columns)).refused_by(
        report,
        "reshape.rs: Equation: let (value, cells) = self.b.sponge(row_tag(ROW_ELEMENTS), ROW_ELEMENTS);",
    );
    // Rows with units of 2^63 and more, with a rest of a unit and more, with the rest -1, and of a zero slot.
    let (units, rest) = (value(1) / UNIT, value(1) % UNIT);
    assert_eq!([UNITS, REST].map(|at| honest[own + at].as_u64()), [units as u64, rest as u64]);
    let one_less = (units + 1) * UNIT - 1;
    for (i, cells, words, text) in [
        (0, [units + (1 << 63), rest], value(1), "let limbs = self.b.limbs(units);"),
        (0, [units - 1, rest + UNIT], value(1), "self.b.zeros(above, REST_BITS..bits::COLUMNS);"),
        (0, [units + 1, u128::from(Goldilocks::ORDER) - 1], one_less, "self.b.zeros(rest, REST_BITS..bits::COLUMNS);"),
        (
            1,
            [(1 << 96) / UNIT, (1 << 96) % UNIT],
            0,
            "self.b.check([ONE, ZERO, ZERO], Base::from(is_zero).into(), both, zero.into(), zero.into());",
        ),
    ] {
        let mut free = honest.clone();
        free[slot(i) + UNITS..][..2].copy_from_slice(&cells.map(|x| Goldilocks::new(x as u64)));
        with_value(&mut free, i);
        for j in 0..3 {
            free[slot(i) + VALUE + j] = Goldilocks::new((words >> (32 * j)) as u64 & 0xffff_ffff);
        }
        lie(free).refused_by(report, text);
    }
    // 2^64 more and 2^32 - 1 less in a claim: p more in its first two words and the carry.
    let mut wrapped = honest.clone();
    assert_eq!(wrapped[own + VALUE], Goldilocks::new(0xffff_ffff));
    wrapped[own + VALUE] = ZERO;
    wrapped[own + VALUE + 2] += ONE;
    let carry = choices[CARRY];
    lie(wrapped)
        .choose(carry, subject.count(&subject.sound, carry) + Goldilocks::new(1 << 32))
        .refused_by(report, "reshape.rs: Zeros: self.b.zeros(carry, CARRY_BITS..bits::COLUMNS);");
    subject
}

#[test]
fn the_line_of_each_lie_about_slots_alone_refuses_it() {
    let mut report = Report::new(&[]);
    let subject = each(&mut report);
    report.search(&subject);
    insta::assert_snapshot!("reshape", report.text());
    report.check();
}

//! Which demands of the circuit of pieces alone refuse some witness: a circuit without one of these lines accepts it. The
//! list of all demands is a snapshot, and `docs/security.md` has its counts.
//!
//! A *lie* is a witness with faults. The strongest lies state something else than the data say: another list of edges
//! for a piece, another content for the slot of a node. A lie that keeps the statement shows only that the line is not
//! redundant. [`argued`] has the lines that other lines make redundant.

mod argued;
mod entries;
mod nodes;
mod pieces;
mod state;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use evergrove_ethereum::{Keys, Trie};
use evergrove_multilinear::circuit::{Builder, Circuit, Demand, Fault, Witness as Columns};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Account, Address, Hash, Word, rlp};
use evergrove_verifier::tables::{SET, TUPLE, Table, Tables, bits, query, tuple};

use super::gadgets::{ONE, ZERO};
use super::*;

/// What a prover chooses, by rows.
type Choices = HashMap<u32, Goldilocks>;

/// A demand that alone refuses a lie, and whether the lie states something else than the data.
type Found = (Demand, bool);

/// A circuit with columns without faults.
struct Subject {
    circuit: Circuit<Quadratic>,
    sound: Columns,
    /// The free data of the columns without faults. A piece's begin with its statement.
    free: Vec<Goldilocks>,
}

/// A word that was expected, and the word that is there instead.
struct Repair {
    old: [Goldilocks; WORD],
    new: [Goldilocks; WORD],
    /// True for a word that was looked up, false for one that was taken from a set.
    looked_up: bool,
}

/// Elements of a piece's statement: the digests of two lists.
const STATEMENT: usize = 2 * WORD;

impl Subject {
    fn new(circuit: Circuit<Quadratic>, free: Vec<Goldilocks>) -> Self {
        let sound = circuit.witness(&free).unwrap();
        let faults = sound.faults(&circuit);
        assert_eq!(faults.len(), 0, "{:?}", &faults[..faults.len().min(8)]);
        Self { circuit, sound, free }
    }
    /// The demands that alone refuse this free data with these choices, where the prover also makes everything else
    /// follow: words that were given to a set and hashes that were looked up are changed wherever they are in the free
    /// data. The places of the lie stay as they are, and what it looks up is not changed elsewhere.
    fn follows(&self, free: &[Goldilocks], chosen: &Choices, lies: &BTreeSet<usize>) -> Vec<Found> {
        let mut free = free.to_vec();
        for _ in 0..6 {
            let columns = self.circuit.witness_with(&free, chosen).unwrap();
            let faults = columns.faults_beside(&self.circuit, &self.sound);
            if faults.is_empty() || faults.len() > 60 {
                break;
            }
            let alone = columns.refused_only_by(&self.circuit, &self.sound);
            if !alone.is_empty() {
                let other = free[..STATEMENT] != self.free[..STATEMENT];
                return alone.into_iter().map(|demand| (demand, other)).collect();
            }
            let before = free.clone();
            for Repair { old, new, looked_up } in self.repairs(&columns, &faults) {
                let places = before.windows(WORD).enumerate().filter(|(_, own)| **own == old).map(|(at, _)| at);
                let (of_lie, others): (Vec<_>, Vec<_>) =
                    places.partition(|&at| lies.range(at..at + WORD).next().is_some());
                if !looked_up || of_lie.is_empty() {
                    others.into_iter().for_each(|at| free[at..at + WORD].copy_from_slice(&new));
                }
            }
            if free == before {
                break;
            }
        }
        Vec::new()
    }
    /// Words that were expected and the words that are there instead.
    fn repairs(&self, columns: &Columns, faults: &[Fault]) -> Vec<Repair> {
        let word = |tuple: &[Goldilocks; TUPLE]| -> [Goldilocks; WORD] { tuple[3..].try_into().unwrap() };
        let tuples = faults.iter().filter_map(|fault| match fault {
            Fault::Tuple { tuple, count } if tuple[4] != ZERO => Some((tuple, *count)),
            _ => None,
        });
        let tuples: Vec<_> = tuples.collect();
        let mut all = Vec::new();
        for (taken, _) in tuples.iter().filter(|(tuple, count)| tuple[0] == SET && *count == -ONE) {
            let given = tuples.iter().find(|(tuple, count)| tuple[..3] == taken[..3] && *count == ONE);
            all.extend(given.map(|(given, _)| Repair { old: word(taken), new: word(given), looked_up: false }));
        }
        for row in 0..self.circuit.rows(Table::Tuple) {
            let fixed = self.circuit.fixed(Table::Tuple, row);
            if fixed[tuple::TIMES] != ONE || fixed[tuple::FREE] != ONE {
                continue;
            }
            let own = columns.row(self.circuit.tables(), Table::Tuple, row);
            for (tuple, _) in &tuples {
                if tuple[0] == fixed[tuple::SPACE] && tuple[1..3] == own[..2] {
                    let new = own[2..2 + WORD].try_into().unwrap();
                    all.push(Repair { old: word(tuple), new, looked_up: true });
                }
            }
        }
        all
    }
    /// The choices of an honest prover.
    fn honest(&self, free: &[Goldilocks]) -> Vec<(u32, Goldilocks)> {
        let columns = self.circuit.witness(free).unwrap();
        self.circuit.choices().map(|row| (row, self.count(&columns, row))).collect()
    }
    /// The count of a row of tuples: what the prover chooses there.
    fn count(&self, columns: &Columns, row: u32) -> Goldilocks {
        columns.row(self.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT]
    }
    /// The place in the free data of what the prover chooses in a row of tuples.
    fn place(&self, row: u32) -> usize {
        let numbers: Vec<Goldilocks> = (0..self.free.len() as u64).map(Goldilocks::new).collect();
        self.count(&self.circuit.witness(&numbers).unwrap(), row).as_u64() as usize
    }
    /// The rows of the demands of lines with this text behind the name of their file.
    fn rows(&self, text: &str) -> Vec<u32> {
        let rows = self.circuit.demands().iter().filter(|(.., demand)| named(demand).contains(text));
        let rows: Vec<u32> = rows.map(|(_, row, _)| *row).collect();
        assert!(!rows.is_empty(), "{text}");
        rows
    }
    /// The first of these rows.
    fn row(&self, text: &str) -> u32 {
        self.rows(text)[0]
    }
}

/// One lie about a piece.
struct Lie<'a> {
    subject: &'a Subject,
    free: Vec<Goldilocks>,
    chosen: Choices,
    /// Places of the free data that do not follow.
    places: BTreeSet<usize>,
    /// True if the data say what the lie states.
    true_of_data: bool,
}

impl<'a> Lie<'a> {
    fn new(subject: &'a Subject) -> Self {
        Self {
            subject,
            free: subject.free.clone(),
            chosen: Choices::new(),
            places: BTreeSet::new(),
            true_of_data: false,
        }
    }
    /// Chooses an element in a row of tuples.
    fn choose(mut self, row: u32, x: Goldilocks) -> Self {
        self.chosen.insert(row, x);
        self
    }
    /// Chooses small numbers in a row and the rows behind it.
    fn choose_all(self, row: u32, numbers: &[i64]) -> Self {
        numbers.iter().zip(row..).fold(self, |lie, (&x, row)| lie.choose(row, integer(x)))
    }
    /// Changes elements of the free data, which stay as they are changed.
    fn set(mut self, at: usize, elements: &[Goldilocks]) -> Self {
        self.free[at..at + elements.len()].copy_from_slice(elements);
        self.places.extend(at..at + elements.len());
        self
    }
    /// Replaces elements wherever they are behind the stream.
    fn replace(mut self, old: &[Goldilocks], new: &[Goldilocks]) -> Self {
        let all: Vec<usize> = self.find(old);
        assert!(!all.is_empty(), "{old:?}");
        for at in all {
            self.free[at..at + new.len()].copy_from_slice(new);
        }
        self
    }
    /// The places of elements behind the stream.
    fn find(&self, elements: &[Goldilocks]) -> Vec<usize> {
        let windows = self.free.windows(elements.len()).enumerate();
        let begin = self.subject.circuit.rows(Table::Bytes).min(1) * STREAM;
        windows.filter(|(at, own)| *at > begin && *own == elements).map(|(at, _)| at).collect()
    }
    /// Changes bytes of the stream.
    fn bytes(mut self, at: usize, bytes: &[u8]) -> Self {
        for (at, &byte) in (at..).zip(bytes) {
            let (element, shift) = (&mut self.free[STREAM + at / 4], 8 * (at % 4));
            *element = Goldilocks::new(element.as_u64() & !(0xff << shift) | u64::from(byte) << shift);
        }
        self
    }
    /// Marks a lie that states what the data say, in a wrong way.
    fn true_of_data(self) -> Self {
        Self { true_of_data: true, ..self }
    }
    /// Demands that the line with this text alone refuses the lie.
    fn refused_by(self, report: &mut Report, text: &str) {
        let Self { subject, free, chosen, places, true_of_data } = self;
        let found = subject.follows(&free, &chosen, &places);
        if !found.iter().any(|(demand, _)| named(demand).contains(text)) {
            let columns = subject.circuit.witness_with(&free, &chosen).unwrap();
            let faults = columns.faults_beside(&subject.circuit, &subject.sound);
            let found: Vec<String> = found.iter().map(|(demand, _)| named(demand)).collect();
            report.failed.push(format!("{text}: {found:?}, {:?}", &faults[..faults.len().min(8)]));
        }
        report.add(found.into_iter().map(|(demand, other)| (demand, other && !true_of_data)).collect::<Vec<_>>());
    }
}

/// The place of the stream in the free data of a piece.
const STREAM: usize = 4 * WORD;

fn integer(x: i64) -> Goldilocks {
    if x < 0 { -Goldilocks::new(x.unsigned_abs()) } else { Goldilocks::new(x as u64) }
}

/// The line of a demand.
fn source(demand: &Demand) -> String {
    static FILES: LazyLock<Mutex<HashMap<&str, Vec<String>>>> = LazyLock::new(Mutex::default);
    let mut files = FILES.lock().unwrap();
    let lines = files.entry(demand.line.file()).or_insert_with(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(demand.line.file());
        fs::read_to_string(path).unwrap().lines().map(|line| line.trim().to_string()).collect()
    });
    lines[demand.line.line() as usize - 1].clone()
}

/// The line of a demand behind the name of its file and what it asks for.
fn named(demand: &Demand) -> String {
    let path = Path::new(demand.line.file());
    // A file `mod.rs` has the name of its folder.
    let module = if path.ends_with("mod.rs") { path.parent().unwrap() } else { path };
    format!("{}.rs: {:?}: {}", module.file_stem().unwrap().to_string_lossy(), demand.asked, source(demand))
}

fn tables() -> Tables<Quadratic> {
    let modes = modes();
    Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros))
}

fn piece_of(size: Size) -> Circuit<Quadratic> {
    let mut b = Builder::new(tables());
    piece(&mut b, size);
    b.finish()
}

fn address(i: u8) -> Address {
    [i; 20]
}

fn word(x: u8) -> Word {
    let mut word = [0; 32];
    word[31] = x;
    word
}

/// The value of a slot: of one byte without a header, of one byte with a header, then of two bytes.
fn value(slot: u8) -> Word {
    let mut word = [0; 32];
    word[31] = slot.wrapping_mul(100) + 90;
    word[30] = slot / 2;
    word
}

/// A state of these accounts with this many slots, with all nodes on the way of some keys.
fn state(slots: &[u8]) -> (Hash, HashMap<Hash, Vec<u8>>) {
    let mut nodes = HashMap::new();
    let mut keep = |trie: &mut Trie, key: &[u8]| {
        nodes.extend(trie.proof(&keccak_256(key)).unwrap().into_iter().map(|node| (keccak_256(node), node.to_vec())));
    };
    let mut state = Trie::empty(Keys::Hashed);
    for (i, &count) in (0..).zip(slots) {
        let mut storage = Trie::empty(Keys::Hashed);
        for slot in 0..count {
            let mut item = Vec::new();
            rlp::write_string(&mut item, rlp::trimmed(&value(slot)));
            storage.put(&keccak_256(&word(slot)), Some(&item)).unwrap();
        }
        let account = Account { nonce: 1, balance: word(9), storage_root: storage.root(), code_hash: [1; 32] };
        state.put(&keccak_256(&address(i)), Some(&account.rlp())).unwrap();
        (0..count + 9).for_each(|slot| keep(&mut storage, &word(slot)));
    }
    let root = state.root();
    (0..slots.len() as u8 + 20).for_each(|i| keep(&mut state, &address(i)));
    (root, nodes)
}

/// How it is known that a demand is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It alone refuses some lie that states something else than the data.
    Needed,
    /// That something is a bit which is also the count of a row of tuples: the row demands the same.
    Count,
    /// One side of a set: honest witnesses are refused without it.
    Side,
    /// Without it nothing else can be stated: see [`argued`].
    Argued,
    /// It alone refuses some lie, which states what the data say.
    Alone,
    /// No lie is known that it alone refuses.
    Open,
}

/// The demands of all circuits so far, and those that a lie needs.
#[derive(Default)]
struct Report {
    all: BTreeSet<Demand>,
    /// Demands that alone refuse a lie; true if one of the lies states something else than the data.
    found: BTreeMap<Demand, bool>,
    /// Demands that in some circuit no row demands by a count.
    uncounted: BTreeSet<Demand>,
    /// Without these demands honest witnesses are refused.
    sets: BTreeSet<Demand>,
    /// Lies that the line for which they were made does not alone refuse.
    failed: Vec<String>,
}

impl Report {
    fn of(&mut self, subject: &Subject) {
        // Lines of tests that compare what a slot offers are not part of a circuit.
        let own = subject.circuit.demands().iter().filter(|(.., demand)| !demand.line.file().ends_with("tests.rs"));
        let all: BTreeSet<Demand> = own.map(|(.., demand)| *demand).collect();
        self.uncounted.extend(&all - &subject.circuit.bits_of_counts());
        self.sets.extend(subject.sound.sets_without(&subject.circuit));
        self.all.extend(all);
    }
    fn add(&mut self, found: impl IntoIterator<Item = Found>) {
        for (demand, other) in found {
            *self.found.entry(demand).or_default() |= other;
        }
    }
    fn standing(&self, demand: &Demand) -> Standing {
        let found = self.found.get(demand);
        if found == Some(&true) {
            Standing::Needed
        } else if !self.uncounted.contains(demand) {
            Standing::Count
        } else if self.sets.contains(demand) {
            Standing::Side
        } else if argued::LINES.iter().any(|(line, _)| *line == named(demand)) {
            Standing::Argued
        } else if found.is_some() {
            Standing::Alone
        } else {
            Standing::Open
        }
    }
    /// How many demands stand in each way, and the line of each demand.
    fn text(&self) -> String {
        let mut lines: BTreeMap<(Standing, String), usize> = BTreeMap::new();
        for demand in &self.all {
            let line = format!("{}: {:?}: {}", demand.line.file(), demand.asked, source(demand));
            *lines.entry((self.standing(demand), line)).or_default() += 1;
        }
        let all =
            [Standing::Needed, Standing::Count, Standing::Side, Standing::Argued, Standing::Alone, Standing::Open];
        let count = |standing: Standing| self.all.iter().filter(|demand| self.standing(demand) == standing).count();
        let mut text: String = all.iter().map(|&standing| format!("{standing:?}: {}\n", count(standing))).collect();
        for ((standing, line), count) in lines {
            text += &format!(
                "{standing:?}: {line}{}\n",
                if count > 1 { format!(" ({count} times)") } else { String::new() }
            );
        }
        text
    }
}

/// Other values of an element.
fn others(x: Goldilocks) -> BTreeSet<Goldilocks> {
    [x + ONE, ONE - x, Goldilocks::new(2)].into_iter().filter(|other| *other != x).collect()
}

/// The lies that are made one by one, without a search.
#[test]
fn the_line_of_each_lie_alone_refuses_it() {
    let mut report = Report::default();
    nodes::each(&mut report, false);
    nodes::each(&mut report, true);
    state::each(&mut report);
    entries::each(&mut report);
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
}

#[test]
#[ignore = "slow: minutes of processor time, thousands of false witnesses"]
fn demands_that_refuse_a_lie_alone() {
    let mut report = Report::default();
    nodes::all(&mut report, false);
    nodes::all(&mut report, true);
    state::each(&mut report);
    pieces::of_state(&mut report);
    entries::each(&mut report);
    pieces::of_entries(&mut report);
    insta::assert_snapshot!("demands", report.text());
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    for (line, _) in argued::LINES {
        let argued = report.all.iter().filter(|demand| report.standing(demand) == Standing::Argued);
        assert_eq!(argued.filter(|demand| named(demand) == *line).count(), 1, "one argued demand: {line}");
    }
}

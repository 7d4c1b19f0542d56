//! Which demands of the circuit of pieces alone refuse some witness: a circuit without one of these lines accepts it.
//! Whether the witness says something untrue is not compared. The list of all demands is a snapshot, and
//! `docs/security.md` has its counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use evergrove_ethereum::{Keys, Trie};
use evergrove_multilinear::circuit::{Asked, Builder, Circuit, Demand, Fault, Witness as Columns};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_verifier::ethereum::{Account, Address, Claim, EMPTY_ROOT, Hash, Roots, Tag, Word, rlp};
use evergrove_verifier::tables::{SET, TUPLE, Table, Tables, bits, query, tuple};
use rayon::prelude::*;

use super::gadgets::{ONE, ZERO};
use super::node::tests::{BLOCKS, Content, Slot, branch_of, content, data, hash, leaf, prefixed};
use super::*;

/// What a prover chooses, by rows.
type Choices = HashMap<u32, Goldilocks>;

/// A circuit with columns without faults.
struct Subject {
    circuit: Circuit<Quadratic>,
    sound: Columns,
}

impl Subject {
    fn new(circuit: Circuit<Quadratic>, free: &[Goldilocks]) -> Self {
        let sound = circuit.witness(free).unwrap();
        let faults = sound.faults(&circuit);
        assert_eq!(faults.len(), 0, "{:?}", &faults[..faults.len().min(8)]);
        Self { circuit, sound }
    }
    /// The demands that alone refuse this free data with these choices.
    fn lie(&self, free: &[Goldilocks], chosen: &Choices) -> Vec<Demand> {
        self.circuit.witness_with(free, chosen).unwrap().refused_only_by(&self.circuit, &self.sound)
    }
    /// The same, where the prover also makes everything else follow: words that were given to a set and hashes that were
    /// looked up are changed wherever they are in the free data.
    fn follows(&self, free: &[Goldilocks], chosen: &Choices) -> Vec<Demand> {
        let mut free = free.to_vec();
        for _ in 0..6 {
            let columns = self.circuit.witness_with(&free, chosen).unwrap();
            let alone = columns.refused_only_by(&self.circuit, &self.sound);
            let faults = columns.faults_beside(&self.circuit, &self.sound);
            if !alone.is_empty() || faults.is_empty() || faults.len() > 60 {
                return alone;
            }
            let mut changed = false;
            for (old, new) in self.repairs(&columns, &faults) {
                for at in 0..free.len() - old.len() {
                    if free[at..at + old.len()] == old {
                        free[at..at + old.len()].copy_from_slice(&new);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        Vec::new()
    }
    /// Words that were expected and the words that are there instead.
    fn repairs(&self, columns: &Columns, faults: &[Fault]) -> Vec<([Goldilocks; WORD], [Goldilocks; WORD])> {
        let word = |tuple: &[Goldilocks; TUPLE]| -> [Goldilocks; WORD] { tuple[3..].try_into().unwrap() };
        let tuples = faults.iter().filter_map(|fault| match fault {
            Fault::Tuple { tuple, count } if tuple[4] != ZERO => Some((tuple, *count)),
            _ => None,
        });
        let tuples: Vec<_> = tuples.collect();
        let mut all = Vec::new();
        for (taken, _) in tuples.iter().filter(|(tuple, count)| tuple[0] == SET && *count == -ONE) {
            let given = tuples.iter().find(|(tuple, count)| tuple[..3] == taken[..3] && *count == ONE);
            all.extend(given.map(|(given, _)| (word(taken), word(given))));
        }
        for row in 0..self.circuit.rows(Table::Tuple) {
            let fixed = self.circuit.fixed(Table::Tuple, row);
            if fixed[tuple::TIMES] != ONE || fixed[tuple::FREE] != ONE {
                continue;
            }
            let own = columns.row(self.circuit.tables(), Table::Tuple, row);
            for (tuple, _) in &tuples {
                if tuple[0] == fixed[tuple::SPACE] && tuple[1..3] == own[..2] {
                    all.push((word(tuple), own[2..2 + WORD].try_into().unwrap()));
                }
            }
        }
        all
    }
    /// The choices of an honest prover.
    fn honest(&self, free: &[Goldilocks]) -> Vec<(u32, Goldilocks)> {
        let columns = self.circuit.witness(free).unwrap();
        let choice = |row: u32| (row, columns.row(self.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT]);
        self.circuit.choices().map(choice).collect()
    }
    /// The rows of the demands of lines with this text.
    fn rows(&self, text: &str) -> Vec<u32> {
        let rows = self.circuit.demands().iter().filter(|(.., demand)| source(demand).contains(text));
        let rows: Vec<u32> = rows.map(|(_, row, _)| *row).collect();
        assert!(!rows.is_empty(), "{text}");
        rows
    }
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
    /// Some lie is refused by it alone.
    Needed,
    /// A bit that is also the count of a row of tuples, which demands the same.
    Count,
    /// One side of a set: honest witnesses are refused without it.
    Side,
    /// No lie is known that it alone refuses.
    Open,
}

/// The demands of all circuits so far, and those that a lie needs.
#[derive(Default)]
struct Report {
    all: BTreeSet<Demand>,
    needed: BTreeSet<Demand>,
    /// Bits that are no counts, in some circuit.
    bits: BTreeSet<Demand>,
    /// Without these demands honest witnesses are refused.
    sets: BTreeSet<Demand>,
}

impl Report {
    fn of(&mut self, subject: &Subject) {
        // Lines of tests that compare what a slot offers are not part of a circuit.
        let own = subject.circuit.demands().iter().filter(|(.., demand)| !demand.line.file().ends_with("tests.rs"));
        let all: BTreeSet<Demand> = own.map(|(.., demand)| *demand).collect();
        let counts = subject.circuit.bits_of_counts();
        self.bits.extend(all.iter().filter(|demand| demand.asked == Asked::Bit && !counts.contains(demand)));
        self.sets.extend(subject.sound.sets_without(&subject.circuit));
        self.all.extend(all);
    }
    fn standing(&self, demand: &Demand) -> Standing {
        if self.needed.contains(demand) {
            Standing::Needed
        } else if demand.asked == Asked::Bit && !self.bits.contains(demand) {
            Standing::Count
        } else if self.sets.contains(demand) {
            Standing::Side
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
        let all = [Standing::Needed, Standing::Count, Standing::Side, Standing::Open];
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

/// Blocks whose list is a node or resembles one: true nodes of every form, and these with changed bytes.
fn streams(branch: bool) -> Vec<(Vec<u8>, bool)> {
    let string = |bytes: &[u8]| {
        let mut item = Vec::new();
        rlp::write_string(&mut item, bytes);
        item
    };
    let extension = |nibbles: &[u8]| rlp::list(&[string(&prefixed(nibbles, 0)), hash(3)].concat());
    let nodes = if branch {
        vec![
            branch_of(|i| if i % 7 == 0 { hash(i) } else { vec![0x80] }),
            branch_of(|i| match i {
                2 => hash(i),
                9 => leaf(&[1; 9], b"w"),
                _ => vec![0x80],
            }),
            branch_of(|i| if i < 14 { hash(i) } else { vec![0x80] }),
        ]
    } else {
        vec![
            leaf(&[3, 5, 1], b"v"),
            leaf(&[3], b"v"),
            leaf(&[3, 5, 1, 1, 7], &[0x81, 5]),
            leaf(&[9; 30], &[0xc0; 60]),
            leaf(&[4; 40], &[1; 300]),
            leaf(&[4; 64], &[1; 55]),
            leaf(&[4; 64], &[7; 99]),
            leaf(&[4; 64], &[7; 98]),
            extension(&[6; 6]),
            extension(&[5]),
        ]
    };
    nodes
        .into_iter()
        .map(|node| {
            let is_leaf = matches!(content(&witness::padded(&node)), Some(Content::Path(_, _, None)));
            (node, is_leaf)
        })
        .collect()
}

/// Other values of an element.
fn others(x: Goldilocks) -> BTreeSet<Goldilocks> {
    [x + ONE, ONE - x, Goldilocks::new(2)].into_iter().filter(|other| *other != x).collect()
}

const BYTES: [u8; 9] = [0, 0x35, 0x7f, 0x80, 0x81, 0xa0, 0xb8, 0xc1, 0xf8];

/// Nodes that differ in a byte from true ones, and choices that honest provers do not make.
fn of_slots(report: &mut Report, branch: bool) {
    let Slot { circuit, sound, .. } = Slot::new(branch);
    let subject = Subject { circuit, sound };
    report.of(&subject);
    for (i, (node, is_leaf)) in streams(branch).into_iter().enumerate() {
        let stream = witness::padded(&node);
        let free = data(branch, &stream, is_leaf, None);
        let own = subject.honest(&free);
        let last = stream.len() - 1;
        let places = (0..stream.len()).filter(|&at| at < 5 || at % 33 < 2 || at.abs_diff(node.len()) < 2 || at == last);
        let lies = places.flat_map(|at| BYTES.map(|byte| (at, byte))).filter(|&(at, byte)| stream[at] != byte);
        let found = lies.collect::<Vec<_>>().into_par_iter().flat_map_iter(|(at, byte)| {
            let mut stream = stream.clone();
            stream[at] = byte;
            let free = data(branch, &stream, is_leaf, None);
            let mut all = subject.lie(&free, &Choices::new());
            all.extend(subject.lie(&free, &own.iter().copied().collect()));
            all
        });
        report.needed.extend(found.collect::<BTreeSet<_>>());
        if i % 8 > 0 {
            continue;
        }
        let begin = ((BLOCKS * RATE_BYTES).next_multiple_of(16) + 16) / 4;
        let elements = (begin..free.len()).flat_map(|i| others(free[i]).into_iter().map(move |x| (i, x)));
        let found = elements.collect::<Vec<_>>().into_par_iter().flat_map_iter(|(i, x)| {
            let mut free = free.clone();
            free[i] = x;
            subject.lie(&free, &Choices::new())
        });
        report.needed.extend(found.collect::<BTreeSet<_>>());
        // One choice, or two neighbours.
        let found = own.par_windows(2).flat_map_iter(|pair| {
            let [(row, x), (next, y)] = [pair[0], pair[1]];
            let mut all = Vec::new();
            for x in others(x) {
                all.extend(subject.lie(&free, &Choices::from([(row, x)])));
                for y in others(y) {
                    all.extend(subject.lie(&free, &Choices::from([(row, x), (next, y)])));
                }
            }
            all
        });
        report.needed.extend(found.collect::<BTreeSet<_>>());
    }
    of_padding(report, &subject, branch);
}

/// Bytes behind a node that are not its padding.
fn of_padding(report: &mut Report, subject: &Subject, branch: bool) {
    let (node, is_leaf) = streams(branch).remove(0);
    let with = |padding: &[(usize, u8)], chosen: &[(&str, Goldilocks)]| {
        let mut stream = witness::padded(&node);
        let last = stream.len() - 1;
        assert!(node.len() + 10 < last, "a padding");
        padding.iter().for_each(|&(at, byte)| stream[if at == 0 { last } else { node.len() + at - 1 }] = byte);
        let rows = chosen.iter().flat_map(|&(text, x)| subject.rows(text).into_iter().map(move |row| (row, x)));
        subject.lie(&data(branch, &stream, is_leaf, None), &rows.collect())
    };
    let (alone, flags) = ("let alone = self.b.bit_of(&[rest]", "let there = self.b.bit_of(&[count], unary(i));");
    // The first byte of the padding taken for the last one, with other bytes between the two.
    let found = with(&[(1, 0x81), (2, 7), (9, 7), (0, 0x81)], &[(alone, ONE)]);
    assert!(found.iter().any(|demand| source(demand) == "self.vanishes(alone, rest);"), "{found:?}");
    report.needed.extend(found);
    // No byte between the first and the last one is read.
    let found = with(&[(2, 7), (9, 7)], &[(flags, ZERO)]);
    assert!(found.iter().any(|demand| source(demand) == "self.same(bit, found, count);"), "{found:?}");
    report.needed.extend(found);
}

/// Lies about a piece: an element of the free data, a byte of a node, or a choice, and what follows from it.
fn of_piece(report: &mut Report, witness: &super::Witness, more: Size, every: usize) {
    let own = witness.size();
    let size = Size {
        blocks: own.blocks + more.blocks,
        branches: own.branches + more.branches,
        paths: own.paths + more.paths,
        accounts: own.accounts + more.accounts,
        slots: own.slots + more.slots,
        roots: own.roots + more.roots,
        opens: own.opens + more.opens,
        entries: own.entries + more.entries,
        steps: own.steps + more.steps,
        header: own.header,
    };
    let free = witness.data(size, [ONE; 4]).unwrap();
    let subject = Subject::new(piece_of(size), &free);
    report.of(&subject);
    let stream = 16..16 + 4 * ((size.messages() * RATE_BYTES).div_ceil(16) + 1);
    // Bits that continue messages are behind the stream: only bits are hashed.
    let bits = stream.end..stream.end + size.messages() - 1;
    let elements = (0..free.len()).filter(|i| !stream.contains(i) || i + 8 >= stream.end);
    let elements = elements.flat_map(|i| others(free[i]).into_iter().map(move |x| (i, x)));
    let elements = elements.filter(|(i, x)| !bits.contains(i) || x.as_u64() < 2).map(|lie| (Some(lie), None));
    let bytes =
        stream.clone().filter(|&i| free[i] != ZERO).flat_map(|i| (0..4).map(move |k| (i, k))).flat_map(|(i, k)| {
            let half = free[i].as_u64();
            BYTES.into_iter().map(move |byte| {
                (Some((i, Goldilocks::new(half & !(0xff << (8 * k)) | u64::from(byte) << (8 * k)))), None)
            })
        });
    let own = subject.honest(&free);
    let choices =
        own.iter().step_by(5).flat_map(|&(row, x)| others(x).into_iter().map(move |x| (None, Some((row, x)))));
    let lies: Vec<_> = elements.chain(bytes.step_by(every)).chain(choices).collect();
    let found = lies.into_par_iter().flat_map_iter(|(element, choice)| {
        let mut free = free.to_vec();
        element.into_iter().for_each(|(i, x)| free[i] = x);
        subject.follows(&free, &choice.into_iter().collect())
    });
    report.needed.extend(found.collect::<BTreeSet<_>>());
}

fn of_state(report: &mut Report) {
    let none = Size::NONE;
    let (root, nodes) = state(&[0]);
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let of = |root: Hash, claims: &[Claim]| super::Witness::new(&Roots::of_state(root), &find, claims).unwrap();
    let account = Account { nonce: 1, balance: word(9), storage_root: EMPTY_ROOT, code_hash: [1; 32] };
    let present = Claim::Account { address: address(0), account };
    of_piece(report, &of(root, std::slice::from_ref(&present)), none, 13);
    of_piece(report, &of(root, &[Claim::AbsentAccount { address: address(7) }]), none, 97);
    let zero = Claim::Slot { address: address(0), slot: word(3), value: [0; 32] };
    of_piece(report, &of(root, &[zero]), none, 97);
    let nothing = Claim::AbsentAccount { address: address(7) };
    let empty = super::Witness::new(&Roots::of_state(EMPTY_ROOT), &|_| None, &[nothing]).unwrap();
    of_piece(report, &empty, none, 97);

    // A storage trie below an open edge.
    let (root, nodes) = state(&[2, 1, 0]);
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let claims = [0, 1, 7].map(|slot| {
        let value = if slot < 2 { value(slot) } else { [0; 32] };
        Claim::Slot { address: address(0), slot: word(slot), value }
    });
    let whole = super::Witness::new(&Roots::of_state(root), &find, &claims).unwrap();
    let size = Size { blocks: 8, branches: 2, paths: 3, accounts: 3, slots: 4, roots: 3, opens: 3, ..none };
    let plan = Plan::new(&whole, &claims, size, Some(0)).unwrap();
    for i in 0..plan.pieces.len() {
        let witness = plan.witness(i, &find).unwrap();
        of_piece(report, &witness, Size { roots: 1, opens: 1, accounts: 1, ..none }, 97);
    }
}

fn of_entries(report: &mut Report) {
    for (count, length, index, every) in [(1, 12, 0, 11), (1, 70, 0, 29), (3, 20, 200, 97)] {
        let values: Vec<Vec<u8>> = (0..count).map(|i| vec![0x90 + i; length]).collect();
        let mut trie = Trie::indexed(&values).unwrap();
        let root = trie.root();
        let proof = trie.proof(&rlp::integer(index)).unwrap();
        let nodes: HashMap<Hash, Vec<u8>> = proof.into_iter().map(|node| (keccak_256(node), node.to_vec())).collect();
        let claim = match values.get(index as usize) {
            Some(value) => Claim::Entry { trie: Tag::Receipts, index, value: value.clone() },
            None => Claim::AbsentEntry { trie: Tag::Receipts, index },
        };
        let roots = Roots::new(vec![(Tag::Receipts, root)]).unwrap();
        let witness = super::Witness::new(&roots, &|hash| nodes.get(hash).map(Vec::as_slice), &[claim]).unwrap();
        of_piece(report, &witness, Size::NONE, every);
    }
}

#[test]
#[ignore = "slow: minutes of processor time, thousands of false witnesses"]
fn demands_that_refuse_a_lie_alone() {
    let mut report = Report::default();
    of_slots(&mut report, false);
    of_slots(&mut report, true);
    of_state(&mut report);
    of_entries(&mut report);
    insta::assert_snapshot!("demands", report.text());
}

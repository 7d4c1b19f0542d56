//! Lies about accounts, their storage and open edges, each made for one line.

use std::collections::HashMap;

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::ethereum::{Account, Address, Claim, EMPTY_ROOT, Hash, Tag, rlp};

use super::super::claims::{ENTRIES, NO_ENTRIES};
use super::super::gadgets::{ONE, ZERO};
use super::super::list::List;
use super::super::node::tests::{branch_of, hash, leaf};
use super::super::plan::Planned;
use super::super::witness::{halves, lanes, merge, nibbles_of, padded};
use evergrove_verifier::tables::WORD;

use super::super::{ADDRESS, EDGE_ELEMENTS, Edge, Size, Trie, Witness};
use super::pieces::subject;
use super::{Lie, Report, STREAM, Streamed, Subject, address, integer, state, word};

const NONE: Size = Size::NONE;

/// The witness of a piece with one root: these claims and open edges are below the root, whose node has this hash.
pub(super) fn piece(root: (Trie<Address>, &[u8]), claims: &[Claim], open: &[Edge], nodes: &[Vec<u8>]) -> Witness {
    let all: HashMap<Hash, Vec<u8>> = nodes.iter().map(|node| (keccak_256(node), node.clone())).collect();
    let firsts: Vec<Vec<u8>> = open.iter().map(|edge| first(&edge.prefix)).collect();
    let mut leaves: Vec<(Vec<u8>, Digest)> =
        claims.iter().map(|claim| (claim.key().bytes().to_vec(), claim.leaf_digest())).collect();
    leaves.extend(firsts.iter().cloned().zip(open.iter().map(|edge| edge.digest)));
    leaves.sort_unstable();
    let digest = merge(&leaves, &mut Vec::new());
    let root = Edge { trie: root.0, prefix: root.1.to_vec(), hash: keccak_256(&nodes[0]), digest };
    let planned = Planned {
        roots: vec![root],
        claims: claims.iter().cloned().enumerate().collect(),
        open: (!open.is_empty()).then(|| List::of_edges(open)),
        open_firsts: firsts,
        ..Planned::default()
    };
    Witness::of_piece(&planned, &|hash| all.get(hash).map(Vec::as_slice)).unwrap()
}

/// The key of the first claim below a prefix in the state.
fn first(prefix: &[u8]) -> Vec<u8> {
    let nibbles: Vec<u8> = prefix.iter().copied().chain(core::iter::repeat(0)).take(64).collect();
    core::iter::once(1).chain(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1])).collect()
}

/// The element of which an address consists five times, for the first addresses whose key is as demanded.
fn elements_with(key: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = Goldilocks> {
    let numbers = (0x0100_0000..).filter(move |&x| key(&nibbles_of(&keccak_256(&address_of(Goldilocks::new(x))))));
    numbers.map(Goldilocks::new)
}

/// The address that consists of an element.
fn address_of(x: Goldilocks) -> Address {
    let bytes = (x.as_u64() as u32).to_le_bytes();
    core::array::from_fn(|i| bytes[i % 4])
}

/// The nibbles of the key of such an address.
fn key_of(x: Goldilocks) -> Vec<u8> {
    nibbles_of(&keccak_256(&address_of(x)))
}

fn absent(x: Goldilocks) -> Claim {
    Claim::AbsentAccount { address: address_of(x) }
}

/// A branch with hashes at some nibbles.
fn branch(at: &[usize]) -> Vec<u8> {
    branch_of(|i| if at.contains(&i) { hash(i + 1) } else { vec![0x80] })
}

pub(super) fn each(report: &mut Report) {
    other_path(report);
    before_the_path(report);
    empty_child(report);
    below_a_prefix(report);
    order(report);
    account(report);
    storage(report);
    roots(report);
    open(report);
    open_twice(report);
    below_open(report);
    below_nothing(report);
}

/// The rows of an absent key.
struct Absent {
    /// The bits of the two cases, the number of a node and a nibble.
    cases: u32,
    /// The half of the distance to the end of the path, and its last bit.
    back: u32,
    /// The byte of the key, its last bit, and the byte itself.
    at: u32,
    /// The nibbles of this byte.
    nibbles: u32,
}

impl Absent {
    fn of(subject: &Subject) -> Self {
        Self {
            cases: subject.row("claims.rs: Bit: let [other, without] = "),
            back: subject.row("claims.rs: Bit: let (back, low) = ") - 1,
            at: subject.row("claims.rs: Bit: let (at, second) = ") - 1,
            nibbles: subject.row("claims.rs: LookUp: let [high_nibble, low_nibble] = self.nibbles(byte, other);") - 2,
        }
    }
    /// The lie that key and path differ at a position. The path ends behind 64 nibbles.
    fn position<'a>(&self, lie: Lie<'a>, position: usize, key: &[u8]) -> Lie<'a> {
        let (back, at) = (63 - position, position / 2);
        let lie = lie.choose_all(self.back, &[back as i64 / 2, back as i64 % 2]);
        let byte = key[2 * at] << 4 | key[2 * at + 1];
        lie.choose_all(self.at, &[at as i64, position as i64 % 2, byte.into()])
    }
}

/// An account that is absent because the state has only one account, with another path.
fn other_path(report: &mut Report) {
    let (root, nodes) = state(&[0]);
    let node = &nodes[&root];
    let x = elements_with(|_| true).next().unwrap();
    let witness = piece((Trie::State, &[]), &[absent(x)], &[], std::slice::from_ref(node));
    let (subject, _) = subject(report, &witness, Size { blocks: 2, ..NONE });
    let rows = Absent::of(&subject);
    let key = nibbles_of(&keccak_256(&address(0)));
    // The account of the path, at a nibble of both.
    let lie = || rows.position(Lie::new(&subject).replace(&[x], &[ZERO]), 10, &key);
    lie().refused_by(report, "claims.rs: Equation: self.same(other, product, one);");
    let wrong = Goldilocks::new(key[10].into()) + ONE;
    lie()
        .choose(rows.nibbles, wrong)
        .refused_by(report, "claims.rs: LookUp: let [high_nibble, low_nibble] = self.nibbles(byte, other);");
    // The same account, with another path in a node that is not the one with the hash.
    let mut other = node.clone();
    other[4 + 5] ^= 0xf0;
    let [old, new] = [node, &other].map(|node| halves(&keccak_256(node)).collect::<Vec<_>>());
    let lie = lie().bytes(0, &other);
    // The root keeps its hash, and the slot of the node has another one.
    let slot = lie.find(&old)[1];
    lie.set(slot, &new).refused_by(report, "gadgets.rs: LookUp: self.b.look_up(hash, from, nibble, word, bit);");
    // A block that continues a message twice.
    let goes_on = subject.rows("keccak.rs: Bit: let bit = self.bit();")[1];
    Lie::new(&subject)
        .choose(goes_on, integer(2))
        .true_of_data()
        .refused_by(report, "keccak.rs: Bit: let bit = self.bit();");
}

/// An account whose leaf is below a branch: the nibble in which it differs is taken from the byte of flags.
fn before_the_path(report: &mut Report) {
    let (root, nodes) = state(&[0, 0]);
    let key = |i: u8| nibbles_of(&keccak_256(&address(i)));
    assert!(key(0)[0] != key(1)[0] && key(0)[0] != 3);
    let x = elements_with(|nibbles| nibbles[0] == key(0)[0]).next().unwrap();
    let nodes: Vec<Vec<u8>> = core::iter::once(&nodes[&root])
        .chain(nodes.values().filter(|node| keccak_256(node) != root))
        .cloned()
        .collect();
    let witness = piece((Trie::State, &[]), &[absent(x)], &[], &nodes);
    let (subject, _) = subject(report, &witness, NONE);
    let lie = Lie::new(&subject).replace(&[x], &[ZERO]);
    Absent::of(&subject).position(lie, 0, &key(0)).refused_by(report, "claims.rs: LookUp: self.byte(within, other);");
}

/// Accounts that are absent because child 8 of the root is empty.
fn empty_child(report: &mut Report) {
    let node = branch_of(|i| match i {
        0 | 15 => hash(i + 1),
        3 => [&[0xa0][..], &EMPTY_ROOT].concat(),
        _ => vec![0x80],
    });
    let [x, low, high] = [8, 0, 15].map(|nibble| elements_with(move |key| key[0] == nibble).next().unwrap());
    let witness = piece((Trie::State, &[]), &[absent(x)], &[], &[node]);
    let (subject, _) = subject(report, &witness, NONE);
    let lie = |other: Goldilocks| Lie::new(&subject).replace(&[x], &[other]);
    lie(high).refused_by(report, "claims.rs: Zeros: self.b.zeros(above, LANE_ZEROS);");
    lie(low).refused_by(report, "claims.rs: Zeros: self.b.zeros(rest, LANE_ZEROS);");
    let positions = "claims.rs: LookUp: self.b.look_up(positions, depth, own, Element::from(weight).into(), bit);";
    let weight = subject.row(positions) - 1;
    lie(high).choose(weight, Goldilocks::new(1 << 56)).refused_by(report, positions);
    // No flag for the lane of the place, so the key may begin with anything.
    let flags = subject.row("claims.rs: Bit: let flags = hints.map(|hint| self.b.bit_of(&[own], hint));");
    lie(high).choose_all(flags, &[0; 5]).refused_by(report, "claims.rs: Equation: self.same(bit, sum, one);");
    // A child with the hash of the empty trie.
    let rows = Absent::of(&subject);
    let lie = lie(high).choose_all(rows.cases, &[0, 1]).choose(rows.cases + 3, integer(3));
    lie.refused_by(report, "claims.rs: Equation: self.vanishes(without, first);");
}

/// An account that is absent below a root with a prefix of 20 nibbles.
fn below_a_prefix(report: &mut Report) {
    let x = elements_with(|key| key[0] > 0 && key[15] > 0 && key[20] == 8).next().unwrap();
    let prefix = &key_of(x)[..20];
    let witness = piece((Trie::State, prefix), &[absent(x)], &[], &[branch(&[1, 2])]);
    let (subject, _) = subject(report, &witness, NONE);
    // Another prefix, in the first lane or in the second.
    let lanes = lanes(prefix);
    let lie = |lane: usize| Lie::new(&subject).replace(&[lanes[lane]], &[lanes[lane] - Goldilocks::new(1 << 56)]);
    lie(0).refused_by(report, "claims.rs: Equation: self.vanishes(bit, earlier);");
    let flags = subject.row("claims.rs: Bit: let flags = hints.map(|hint| self.b.bit_of(&[own], hint));");
    lie(1).choose_all(flags, &[1, 0]).refused_by(report, "claims.rs: Equation: self.same(bit, which, own);");
}

/// A claim twice, in an order that only the lines for the order refuse.
fn order(report: &mut Report) {
    let key = |x: Goldilocks| lanes(&key_of(x)).map(Goldilocks::as_u64);
    let mut all: Vec<Goldilocks> = elements_with(|key| key[0] == 8).take(12).collect();
    all.sort_by_key(|x| key(*x));
    let (first, second) = (0..11).map(|i| (all[i], all[i + 1])).find(|(x, y)| key(*x)[1] > key(*y)[1]).unwrap();
    let third = all[11];
    assert!(key(second) < key(third));
    let witness = piece((Trie::State, &[]), &[first, second, third].map(absent), &[], &[branch(&[1, 2])]);
    let (subject, _) = subject(report, &witness, NONE);
    let slots: Vec<usize> = subject
        .rows("claims.rs: Bit: let [active, present, claimed, foreign] = ")
        .chunks(4)
        .map(|rows| subject.place(rows[0]))
        .collect();
    let copy = |from: usize, to: usize| {
        let slot = subject.free[slots[from]..][..slots[1] - slots[0]].to_vec();
        Lie::new(&subject).set(slots[to], &slot)
    };
    // The first account once more as the third one: the first lane falls, and the second one rises.
    copy(0, 2).refused_by(report, "claims.rs: Zeros: self.b.zeros(gap, LANE_ZEROS);");
    let flags = subject.rows("claims.rs: Bit: let flags = hints.map(|hint| self.b.bit_of(&differences, hint));")[6];
    let text = "claims.rs: Equation: self.vanishes(bit, equal);";
    copy(0, 2).choose_all(flags, &[0, 0, 1, 0, 0, 0]).refused_by(report, text);
}

/// The item of an account's leaf is another string than the account's.
fn account(report: &mut Report) {
    let own = Account { nonce: 1, balance: word(9), storage_root: EMPTY_ROOT, code_hash: [1; 32] };
    let key = nibbles_of(&keccak_256(&address(0)));
    let node = leaf(&key, &own.rlp());
    let claim = |account: Account| Claim::Account { address: address(0), account };
    let witness = piece((Trie::State, &[]), &[claim(own)], &[], std::slice::from_ref(&node));
    let (subject, _) = subject(report, &witness, Size { accounts: 1, ..NONE });
    let fields: Vec<u8> = own.rlp()[2..].to_vec();
    let path = node[2..36].to_vec();
    // A leaf with this item, which is taken for this account.
    let lie = |item: &[u8], account: Account| {
        let other = rlp::list(&[&path[..], item].concat());
        let [old, new] = [claim(own), claim(account)].map(|claim| claim.elements().1);
        Lie::new(&subject).bytes(0, &padded(&other)).replace(&old, &new)
    };
    let item = |header: [u8; 4], more: &[u8]| [&header[..], &fields, more].concat();
    let mut text = "claims.rs: Equation: self.same(present, at, end);";
    lie(&item([0xb8, 71, 0xf8, 69], &[0]), own).refused_by(report, text);
    text = "claims.rs: Equation: self.same(present, outer, expected);";
    lie(&item([0xb8, 71, 0xf8, 68], &[0]), own).refused_by(report, text);
    text = "claims.rs: Equation: self.same(present, list, of_list);";
    lie(&item([0xb8, 70, 0xf7, 68], &[]), own).refused_by(report, text);
    // A string of 55 bytes. The last bytes of the account are those of the padding.
    let mut code_hash = [0; 32];
    code_hash[..16].copy_from_slice(&[1; 16]);
    code_hash[16] = 1;
    text = "claims.rs: Equation: self.same(present, long, string);";
    lie(&item([0xb7, 70, 0xf8, 68], &[])[..56], Account { code_hash, ..own }).refused_by(report, text);
    // A nonce with a byte between its header and its number.
    text = "gadgets.rs: Bit: let single = ";
    let nonce = subject.rows(text)[1];
    let item = [&[0xb8, 72, 0xf8, 70, 0x81, 5, 0x90][..], &fields[1..]].concat();
    lie(&item, Account { nonce: 0x90, ..own }).choose(nonce, -ONE).refused_by(report, text);
    // An unused slot for the account, which is present and not known.
    text = "claims.rs: Bit: let [active, present, claimed, foreign] = ";
    let rows = subject.rows(text);
    let slots = [rows[0], rows[4]].map(|row| subject.place(row));
    let mut slot = subject.free[slots[0]..slots[1]].to_vec();
    slot[..4].copy_from_slice(&[ZERO, ONE, ZERO, -ONE]);
    Lie::new(&subject).set(slots[1], &slot).true_of_data().refused_by(report, text);
}

/// The items of a leaf in the storage of an account that is above the root.
fn storage(report: &mut Report) {
    let slot = word(3);
    let key = nibbles_of(&keccak_256(&slot));
    let node = leaf(&key, &[0x81, 0x90]);
    let claim = |value: u64| {
        let mut all = [0; 32];
        all[24..].copy_from_slice(&value.to_be_bytes());
        Claim::Slot { address: address(5), slot, value: all }
    };
    let witness = piece((Trie::Storage(address(5)), &[]), &[claim(0x90)], &[], &[node]);
    let (subject, _) = subject(report, &witness, Size { roots: 1, ..NONE });
    let old = claim(0x90).elements().1;
    let value = |value: u64| {
        let mut new = old.clone();
        new[13] = Goldilocks::new(value);
        Lie::new(&subject).replace(&old, &new)
    };
    let mut text = "claims.rs: Bit: let alone = ";
    let alone = subject.row(text);
    text = "claims.rs: Equation: self.same(present, alone.into(), single);";
    value(0x8190).choose(alone, ONE).refused_by(report, text);
    text = "claims.rs: Equation: self.same(present, number.positive.into(), one);";
    value(0).bytes(0, &padded(&leaf(&key, &[0x80]))).refused_by(report, text);
    text = "claims.rs: Equation: self.vanishes(present, difference);";
    Lie::new(&subject).bytes(0, &padded(&leaf(&key, &[0x81, 0x90, 7]))).refused_by(report, text);
    // The root is in the storage of another account.
    let edge = Lie::new(&subject).find(&halves(&address(5)).collect::<Vec<_>>())[0];
    let one_more = |at: usize| Lie::new(&subject).set(edge + at, &[subject.free[edge + at] + ONE]);
    text = "edges.rs: LookUp: self.b.look_up(offers[0], account, one, edge.address, bit);";
    one_more(0).refused_by(report, text);
    text = "edges.rs: LookUp: self.b.look_up(offers[1], account, root, Element::from(edge.rest).into(), bit);";
    one_more(ADDRESS - 1).refused_by(report, text);
    // An unused root in the storage of the account and in the trie of receipts.
    let flags = subject.rows("edges.rs: Bit: let [storage, entries, third, fourth] = ")[4];
    let unused = subject.place(subject.row("mpt.rs: Bit: let active = if i == 0 { yes } else { g.b.bit() };")) + 1;
    let mut root = subject.free[edge..edge + EDGE_ELEMENTS + 2].to_vec();
    root[ADDRESS] = integer(3);
    let lie = Lie::new(&subject).set(unused, &root).choose_all(flags, &[1, 1, 0, 0]);
    lie.true_of_data().refused_by(report, "edges.rs: Equation: self.b.boolean(one_of);");
}

/// Roots of one kind that name another kind.
fn roots(report: &mut Report) {
    let x = elements_with(|key| key[0] == 8).next().unwrap();
    let witness = piece((Trie::State, &[]), &[absent(x)], &[], &[branch(&[1, 2])]);
    let (subject, size) = subject(report, &witness, NONE);
    // The trie of accounts as somebody's storage.
    let trie = first_root(size) + ADDRESS;
    let flags = subject.row(FLAGS);
    for (flag, text) in [(2, "self.implies(third, entries);"), (3, "self.implies(fourth, third);")] {
        let lie = Lie::new(&subject).set(trie, &[ONE]).choose_all(flags, &[0, 0, 0, 0]);
        lie.choose(flags + flag, ONE).refused_by(report, &format!("edges.rs: Equation: {text}"));
    }
}

const FLAGS: &str = "edges.rs: Bit: let [storage, entries, third, fourth] = ";

/// The place of the first root in the free data.
pub(super) fn first_root(size: Size) -> usize {
    STREAM + 4 * ((size.blocks * RATE_BYTES).div_ceil(16) + 1) + size.blocks - 1
}

/// The edge at a child of [`branch`], with a d.
fn child(prefix: &[u8]) -> Edge {
    let nibble = prefix[prefix.len() - 1];
    let digest = Digest([1, 2, 3, nibble.into()].map(Goldilocks::new));
    Edge { trie: Trie::State, prefix: prefix.to_vec(), hash: [(nibble + 1) * 7; 32], digest }
}

/// Two roots, and two open edges below the first one: lists of two members, and an absent account between the edges.
pub(super) fn with_two_open() -> Witness {
    let x = elements_with(|key| key[0] == 8).next().unwrap();
    let index = Claim::AbsentEntry { trie: Tag::Receipts, index: 0 };
    let (state, receipts) = (branch(&[0, 15, 4]), branch(&[1, 2]));
    let open = [child(&[0]), child(&[15])];
    let mut leaves: Vec<(Vec<u8>, Digest)> = open.iter().map(|edge| (first(&edge.prefix), edge.digest)).collect();
    leaves.insert(1, (absent(x).key().bytes().to_vec(), absent(x).leaf_digest()));
    let roots = vec![
        Edge::of_root(Tag::State, keccak_256(&state), merge(&leaves, &mut Vec::new())),
        Edge::of_root(Tag::Receipts, keccak_256(&receipts), index.leaf_digest()),
    ];
    let nodes = HashMap::from([state, receipts].map(|node| (keccak_256(&node), node)));
    let planned = Planned {
        roots,
        claims: vec![(0, absent(x)), (1, index)],
        open_firsts: open.iter().map(|edge| first(&edge.prefix)).collect(),
        open: Some(List::of_edges(&open)),
        ..Planned::default()
    };
    Witness::of_piece(&planned, &|hash| nodes.get(hash).map(Vec::as_slice)).unwrap()
}

/// An open edge at an empty child: its hash is what a child without a hash offers, the first bytes of the stream.
fn open(report: &mut Report) {
    let (subject, _) = subject(report, &with_two_open(), NONE);
    let old = child(&[0]);
    let mut edge = Edge { prefix: vec![1], ..old.clone() };
    edge.hash[..16].copy_from_slice(&branch(&[0, 15, 4])[..16]);
    edge.hash.copy_within(..16, 16);
    let nibble = subject.row("edges.rs: Bit: let active = self.b.bit();") + 2;
    let lie = Lie::new(&subject).replace(&old.elements(), &edge.elements()).choose(nibble, ONE);
    let text = "edges.rs: LookUp: self.b.look_up(child, from, nibble, Element::from(hash).into(), active);";
    lie.refused_by(report, text);
}

/// The first open edge once more, behind an unused slot. No claims with distinct keys have its d twice.
fn open_twice(report: &mut Report) {
    let open = [child(&[0]), child(&[15])];
    let witness = piece((Trie::State, &[]), &[], &open, &[branch(&[0, 15, 4])]);
    let (subject, _) = subject(report, &witness, Size { accounts: 1, opens: 1, ..NONE });
    let slots: Vec<usize> =
        subject.rows("edges.rs: Bit: let active = self.b.bit();").into_iter().map(|row| subject.place(row)).collect();
    let slot = |i: usize| &subject.free[slots[i]..][..slots[1] - slots[0]];
    let [first, second] = &open;
    let lie = Lie::new(&subject).replace(&second.digest.0, &first.digest.0).replace(&second.list().0, &first.list().0);
    // The unused slot has a depth beyond all nibbles, so it ends before the first key.
    let depth = Lie::new(&subject).find(&first.elements())[0] - slots[0] + ADDRESS + 1;
    let lie = lie.set(slots[1], slot(2)).set(slots[1] + depth, &[integer(80)]).set(slots[2], slot(0));
    lie.refused_by(report, "edges.rs: Equation: self.implies(active, before.bit);");
}

/// Only an open edge below a root with a prefix.
fn below_open(report: &mut Report) {
    let with = |prefix: &[u8]| {
        let open = child(&[prefix, &[0]].concat());
        piece((Trie::State, prefix), &[], &[open], &[branch(&[0, 15, 4])])
    };
    let prefix: Vec<u8> = (1..=15).chain(1..=5).collect();
    let (subject, size) = subject(report, &with(&prefix), Size { accounts: 1, ..NONE });
    // A lane of more than 60 bits.
    let second = lanes(&prefix)[1];
    let lie = Lie::new(&subject).replace(&[second], &[second + Goldilocks::new(1 << 60)]);
    lie.refused_by(report, "edges.rs: Zeros: self.b.zeros(lane, LANE_ZEROS);");
    // An edge behind the last nibble.
    let long: Vec<u8> = (0..63).map(|i| 1 + i % 15).collect();
    let free = with(&long).data(size, [ONE; 4]).unwrap();
    let lie = Lie { free, ..Lie::new(&subject) };
    lie.refused_by(report, "edges.rs: Equation: self.same(active, product, one);");
    // The edge of a block: trie 9, for the hash of a node.
    let (subject, size) = super::pieces::subject(report, &with(&[]), Size { accounts: 1, ..NONE });
    let open = Lie::new(&subject).find(&child(&[0]).elements())[0];
    let mut lie = Lie::new(&subject);
    for at in [first_root(size), open] {
        lie = lie.set(at + ADDRESS, &[integer(9)]);
    }
    for flags in subject.rows(FLAGS).chunks(4) {
        lie = lie.choose(flags[3], integer(6));
    }
    for text in ["node.rs: Bit: let active = self.b.bit();", "edges.rs: Bit: let active = self.b.bit();"] {
        lie = lie.choose(subject.row(text) + 4, Goldilocks::new(ENTRIES + 9));
    }
    // Behind the unused account in the order, and before its end.
    let order = subject.row("claims.rs: LookUp: self.b.look_up(offers, own, level, lanes.into(), bit);");
    let own = |row: u32| subject.count(&subject.sound, row);
    lie = lie.choose(order - 7, own(order - 7) + ONE);
    for (i, end) in (0..6).zip([NO_ENTRIES, 0, 0, 0, 0, 0]) {
        lie = lie.choose(order - 6 + i, own(order + 3 + i)).choose(order + 3 + i, Goldilocks::new(end));
    }
    lie.refused_by(report, FLAGS);
}

/// A branch below an unused slot for a branch, which offers any place, and any bytes of the stream as a hash.
fn below_nothing(report: &mut Report) {
    let x = elements_with(|key| key[0] == 8).next().unwrap();
    let node = branch(&[1, 2]);
    let witness = piece((Trie::State, &[]), &[absent(x)], &[], std::slice::from_ref(&node));
    let (subject, size) = subject(report, &witness, Size { blocks: 1, branches: 1, ..NONE });
    let rows = subject.rows("node.rs: Bit: let active = self.b.bit();");
    let below = subject.row("node.rs: Bit: let below = self.b.bit();");
    let start = subject.rows("gadgets.rs: LookUp: self.b.look_up(hash, from, nibble, word, bit);")[2] - 2;
    let block = [&[0xc0, 0xa0][..], &keccak_256(&node)].concat();
    // The root has another hash.
    let lie = Lie::new(&subject).bytes(RATE_BYTES, &block).set(first_root(size) + 3 * WORD, &[ONE; 2 * WORD]);
    let lie = lie.choose(rows[0] + 1, integer(2)).choose(below, integer(3) * Goldilocks::new(4).inverse().unwrap());
    let lie = lie.choose(rows[1] + 3, -Goldilocks::new(2)).choose(start, Goldilocks::new(RATE_BYTES as u64));
    lie.refused_by(report, "node.rs: Bit: let below = self.b.bit();");
}

//! Attacks on circuits of entries with lies that are consistent in everything that follows from them; tries and sizes
//! of unusual forms; plans of lists in tiny pieces.

use std::collections::{HashMap, HashSet};

use evergrove_ethereum::{Keys, Nodes, Trie, Tries};
use evergrove_grove::mpt::{
    self, Batch, Edge, Kind, Plan, Prepared, Size, StateProof, StateProofError, Statement, Witness,
};
use evergrove_multilinear::circuit::Circuit;
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_primitives::hash::poseidon;
use evergrove_verifier::ethereum::{Claim, Hash, Roots, Tag, canonical_digest, rlp};

use crate::common::random;
use crate::mpt::{KEY, WORLD, circuit};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
/// The address of no step.
const NOWHERE: u64 = 1 << 40;

type Known = HashMap<Hash, Vec<u8>>;

pub(crate) fn halves(bytes: &[u8]) -> Vec<Goldilocks> {
    let half = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    bytes.chunks(4).map(|bytes| Goldilocks::new(half(bytes))).collect()
}

pub(crate) fn chain(tag: [u8; 4], elements: &[Goldilocks]) -> [Goldilocks; 4] {
    let mut state = [Goldilocks::new(u32::from_be_bytes(tag).into()), ZERO, ZERO, ZERO];
    for step in elements.chunks(8) {
        let mut full = [ZERO; 12];
        full[..8].copy_from_slice(step);
        full[8..].copy_from_slice(&state);
        poseidon::permute(&mut full);
        state.copy_from_slice(&full[..4]);
    }
    state
}

pub(crate) fn padded(mut node: Vec<u8>) -> Vec<u8> {
    node.push(1);
    node.resize(node.len().next_multiple_of(136), 0);
    *node.last_mut().unwrap() |= 0x80;
    node
}

pub(crate) fn holds(circuit: &Circuit<Quadratic>, free: &[Goldilocks]) -> bool {
    circuit.witness(free).unwrap().faults(circuit).is_empty()
}

fn bytes(length: usize, first: u8) -> Vec<u8> {
    let mut value: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
    value[0] = first;
    value
}

/// A trie of values at keys of any length, with all nodes on the paths of some keys.
fn trie<'a>(values: impl IntoIterator<Item = (&'a [u8], &'a [u8])>, asked: &[&[u8]]) -> (Hash, Known) {
    let mut trie = Trie::empty(Keys::Index);
    let mut keys: Vec<Vec<u8>> = asked.iter().map(|key| key.to_vec()).collect();
    for (key, value) in values {
        trie.put(key, Some(value)).unwrap();
        keys.push(key.to_vec());
    }
    let mut nodes = Known::new();
    for key in keys {
        nodes.extend(trie.proof(&key).unwrap().into_iter().map(|node| (keccak_256(node), node.to_vec())));
    }
    (trie.root(), nodes)
}

fn roots(tag: Tag, root: Hash) -> Roots {
    Roots::new(vec![(tag, root)]).unwrap()
}

fn witness(tag: Tag, root: Hash, nodes: &Known, claims: &[Claim]) -> Result<Witness, mpt::PieceError> {
    Witness::new(&roots(tag, root), &|hash| nodes.get(hash).map(Vec::as_slice), claims)
}

/// True if the native walk accepts the claim.
fn native(tag: Tag, root: Hash, nodes: impl IntoIterator<Item = Vec<u8>>, claim: &Claim) -> bool {
    Tries::new(&roots(tag, root), Nodes::new(nodes).unwrap()).check(claim).is_ok()
}

/// A circuit of one claim about an entry, and its free data. A lie may change all of the data.
struct Lie {
    size: Size,
    free: Vec<Goldilocks>,
}

impl Lie {
    const END: usize = 10;
    const ADDRESS: usize = 32;
    const START: usize = 33;
    const HEAD: usize = 34;
    const DIGEST: usize = 38;
    const TAIL: usize = 42;

    /// The free data of a true claim, with room for more steps than it needs.
    fn new(tag: Tag, root: Hash, nodes: &Known, claim: &Claim, more: usize) -> Self {
        let witness = witness(tag, root, nodes, std::slice::from_ref(claim)).unwrap();
        let size = Size { steps: witness.size().steps + more, ..witness.size() };
        let free = witness.data(size, KEY).unwrap();
        let this = Self { size, free };
        assert_eq!(this.entry() + 50, this.free.len());
        this
    }
    fn root(&self) -> usize {
        16 + 4 * ((self.size.blocks * 136).div_ceil(16) + 1) + self.size.blocks - 1
    }
    fn branch(&self) -> usize {
        self.root() + 26
    }
    fn path(&self) -> usize {
        self.branch() + 22 * self.size.branches
    }
    fn step(&self, i: usize) -> usize {
        let first = self.path() + 23 * self.size.paths;
        if i == 0 { first } else { first + 10 + 19 * (i - 1) }
    }
    fn entry(&self) -> usize {
        if self.size.steps == 0 { self.step(0) } else { self.step(0) + 10 + 19 * (self.size.steps - 1) }
    }
    fn put(&mut self, at: usize, elements: &[Goldilocks]) {
        self.free[at..at + elements.len()].copy_from_slice(elements);
    }
    /// Replaces the first message by another one with as many blocks. Its hash becomes that of the node below the root,
    /// and that of the node in `slot`.
    fn node(&mut self, node: &[u8], slot: usize) {
        let hash = keccak_256(node);
        let message = padded(node.to_vec());
        self.put(16, &halves(&message));
        let root = self.root();
        self.put(root + 12, &halves(&hash));
        self.put(slot, &halves(&hash));
    }
    /// Sets the root's d to the claim's leaf, and updates the shown list.
    fn seal(&mut self, leaf: [Goldilocks; 4]) {
        let root = self.root();
        self.put(root + 20, &leaf);
        let list = chain(*b"ETHD", &self.free[root..root + 24]);
        self.put(0, &list);
    }
    fn of_trie(&mut self, tag: u64) {
        let root = self.root();
        self.free[root + 5] = Goldilocks::new(tag);
    }
    fn absent(&mut self, tag: u64, index: u64) {
        let at = self.entry();
        self.put(at + 2, &[tag, index].map(Goldilocks::new));
        let leaf = chain(*b"ETHM", &self.free[at + 2..at + 10]);
        self.seal(leaf);
    }
    /// Makes the entry present: its value's item is at one address, and its value at another one. The steps hash these
    /// bytes, with this stated length.
    fn present(&mut self, (tag, index): (u64, u64), (item, content): (usize, usize), value: &[u8], length: usize) {
        let mut elements = [tag, index, 0, length as u64].map(Goldilocks::new).to_vec();
        elements.extend(halves(value));
        elements.resize(elements.len().next_multiple_of(8), ZERO);
        let steps = elements.len() / 8;
        assert!(steps <= self.size.steps);
        let address = Goldilocks::new(content as u64) - Goldilocks::new(16);
        for i in 0..self.size.steps {
            let (at, used) = (self.step(i), i < steps);
            let bit = |bit: bool| Goldilocks::new(bit.into());
            self.put(at, &[bit(i + 1 == steps), if i == 0 { address } else { ZERO }]);
            if i > 0 {
                self.free[at + 2] = bit(!used);
                let state = chain(*b"ETHE", &elements[..if used { 8 * i } else { 0 }]);
                self.put(at + 3, &state);
            }
            let words = if used {
                elements[8 * i..][..8].to_vec()
            } else {
                [[ZERO; 4].as_slice(), &self.free[20..24]].concat()
            };
            self.put(at + if i == 0 { 2 } else { 11 }, &words);
        }
        let at = self.entry();
        self.put(at + 2, &[tag, index].map(Goldilocks::new));
        self.free[at + Self::END + 1] = Goldilocks::new(item as u64);
        self.put(at + Self::ADDRESS, &[address + Goldilocks::new(32 * (steps as u64 - 1)), ZERO]);
        self.put(at + Self::HEAD, &elements[..4]);
        let leaf = chain(*b"ETHE", &elements);
        self.put(at + Self::DIGEST, &leaf);
        self.put(at + Self::TAIL, &elements[elements.len() - 8..]);
        self.seal(leaf);
    }
}

/// The positions of a leaf's path and value, in bytes that may not be canonical RLP.
struct Lenient {
    /// The bytes of the path with its flags.
    path: Vec<u8>,
    item: usize,
    value: std::ops::Range<usize>,
}

fn lenient(node: &[u8]) -> Option<Lenient> {
    let string = |at: usize| -> Option<std::ops::Range<usize>> {
        let (from, length) = match *node.get(at)? {
            0..0x80 => (at, 1),
            byte @ 0x80..=0xb7 => (at + 1, usize::from(byte) - 0x80),
            0xb8 => (at + 2, usize::from(*node.get(at + 1)?)),
            0xb9 => (at + 3, usize::from(*node.get(at + 1)?) << 8 | usize::from(*node.get(at + 2)?)),
            _ => return None,
        };
        (from + length <= node.len()).then_some(from..from + length)
    };
    let content = match *node.first()? {
        0xc0..0xf8 => 1,
        0xf8 => 2,
        0xf9 => 3,
        _ => return None,
    };
    let path = string(content)?;
    let item = path.end;
    let value = string(item)?;
    Some(Lenient { path: node[path].to_vec(), item, value })
}

/// Lies about leaves with changed bytes: claims of any index and value that the bytes can be read as, with everything
/// that follows. The circuit accepts exactly what the native walk accepts.
fn leaves_of_lies(cases: u64) -> [u64; 2] {
    let mut next = random(7);
    let shapes: Vec<(Vec<u8>, Lie, Circuit<Quadratic>)> = [1, 17, 55, 56, 255, 256]
        .into_iter()
        .enumerate()
        .map(|(i, length)| {
            let index = [0, 5, 0x80, 0x1234][i % 4];
            let value = bytes(length, 0x85);
            let (root, nodes) = trie([(&rlp::integer(index)[..], &value[..])], &[]);
            let lie = Lie::new(Tag::Receipts, root, &nodes, &Claim::Entry { trie: Tag::Receipts, index, value }, 0);
            let circuit = circuit(lie.size);
            (nodes[&root].clone(), lie, circuit)
        })
        .collect();
    let mut counts = [0; 2];
    let mut seen = HashSet::new();
    for case in 0..cases {
        let (node, lie, circuit) = &shapes[next(shapes.len() as u64) as usize];
        let mut node = node.clone();
        for _ in 0..1 + next(2) {
            let at = next(node.len().min(8) as u64) as usize;
            match next(6) {
                0 => node[at] = node[at].wrapping_add(1),
                1 => node[at] = node[at].wrapping_sub(1),
                2 => node[at] ^= 1 << next(8),
                3 => node[at] = [0, 1, 0x7f, 0x80, 0x81, 0xb8][next(6) as usize],
                4 => {
                    let at = next(node.len() as u64) as usize;
                    node[at] = next(256) as u8;
                }
                _ => node.swap(at, 0),
            }
        }
        let Some(Lenient { path, item, value }) = lenient(&node) else { continue };
        let key = path.get(1..).unwrap_or_default();
        let index = match *key {
            [0x80] => 0,
            [byte @ 1..0x80] | [0x81, byte] => u64::from(byte),
            [0x82, high, low] => u64::from(high) << 8 | u64::from(low),
            _ => 0,
        };
        let said = &node[value.clone()];
        if padded(node.clone()).len() != lie.size.blocks * 136
            || (16 + said.len()).div_ceil(32) != lie.size.steps
            || !seen.insert(node.clone())
        {
            continue;
        }
        let mut free = Lie { free: lie.free.clone(), size: lie.size };
        free.node(&node, free.path() + 15);
        free.present((3, index), (item, value.start), said, said.len());
        let claim = Claim::Entry { trie: Tag::Receipts, index, value: said.to_vec() };
        let expected = !said.is_empty() && native(Tag::Receipts, keccak_256(&node), [node.clone()], &claim);
        assert_eq!(holds(circuit, &free.free), expected, "case {case}: {claim} in {node:02x?}");
        counts[usize::from(expected)] += 1;
    }
    counts
}

#[test]
fn leaves_say_what_the_native_walk_says() {
    let [refused, accepted] = leaves_of_lies(30);
    assert!(refused > 3 && accepted > 3, "{refused} {accepted}");
}

#[test]
#[ignore = "slow: minutes"]
fn twenty_thousand_leaves_say_what_the_native_walk_says() {
    leaves_of_lies(20_000);
}

/// A byte below 0x80 has no header, so a leaf with a header for it is invalid.
#[test]
fn a_single_byte_has_no_header() {
    let honest = bytes(1, 0x85);
    let claim = |value: Vec<u8>| Claim::Entry { trie: Tag::Receipts, index: 5, value };
    let (root, nodes) = trie([(&[5][..], &honest[..])], &[]);
    let mut lie = Lie::new(Tag::Receipts, root, &nodes, &claim(honest), 0);
    let circuit = circuit(lie.size);
    let mut node = nodes[&root].clone();
    let at = node.len() - 1;
    for byte in [0x85, 0x80, 0x7f, 5, 0] {
        node[at] = byte;
        lie.node(&node, lie.path() + 15);
        lie.present((3, 5), (at - 1, at), &[byte], 1);
        let expected = native(Tag::Receipts, keccak_256(&node), [node.clone()], &claim(vec![byte]));
        assert_eq!(expected, byte >= 0x80);
        assert_eq!(holds(&circuit, &lie.free), expected, "{node:02x?}");
    }
}

/// Lanes are padded with zeros, but a leaf whose longer key ends with zeros is not the leaf of the shorter key.
#[test]
fn a_longer_key_is_another_key() {
    let value = bytes(40, 0xc0);
    let key = rlp::integer(256);
    let (root, nodes) = trie([(&key[..], &value[..])], &[]);
    let claim = Claim::Entry { trie: Tag::Receipts, index: 256, value: value.clone() };
    let mut lie = Lie::new(Tag::Receipts, root, &nodes, &claim, 0);
    let circuit = circuit(lie.size);
    let node = nodes[&root].clone();
    let at = node.windows(3).position(|window| window == &key[..]).unwrap();
    let Lenient { item, value: place, .. } = lenient(&node).unwrap();
    // The leaf's key and the claimed index: only the second pair is true.
    for (own, index, expected) in [
        ([0x80, 0, 0], 0, false),
        ([0x82, 2, 0], 512, true),
        ([0x81, 0x90, 0], 0x90, false),
        ([7, 0, 0], 7, false),
        ([0x82, 0, 5], 5, false),
    ] {
        let mut node = node.clone();
        node[at..at + 3].copy_from_slice(&own);
        lie.node(&node, lie.path() + 15);
        lie.present((3, index), (item, place.start), &value, value.len());
        assert_eq!(holds(&circuit, &lie.free), expected, "{own:02x?} as {index}");
    }
}

/// An empty child below the end of a key does not show that the key is absent.
#[test]
fn nothing_below_the_end_of_a_key() {
    // An extension above a branch with two leaves.
    let (keys, value) = ([rlp::integer(0x80), rlp::integer(0x90)], bytes(40, 0xc0));
    let absent = rlp::integer(0xa0);
    let (root, nodes) = trie(keys.iter().map(|key| (&key[..], &value[..])), &[&absent]);
    let claim = Claim::AbsentEntry { trie: Tag::Receipts, index: 0xa0 };
    let mut lie = Lie::new(Tag::Receipts, root, &nodes, &claim, 0);
    assert_eq!((lie.size.branches, lie.size.paths), (1, 1));
    let circuit = circuit(lie.size);
    let node = nodes[&root].clone();
    let at = node.iter().position(|byte| *byte == 0x81).unwrap();
    // The byte of the extension, the index, and the empty nibble after the first two nibbles.
    for (byte, index, nibble, expected) in [
        (0x81, 0xa0, 0xa, true),
        (0x82, 0xa0a0, 0xa, true),
        (1, 1, 0, false),
        (0x7f, 0x7f, 0, false),
        (0x80, 0, 0, false),
    ] {
        let mut node = node.clone();
        node[at] = byte;
        lie.node(&node, lie.path() + 15);
        let lane = Goldilocks::new(u64::from(byte) << 52);
        // The branch and the absence are below the extension's path.
        let branch = lie.branch();
        lie.free[branch + 6] = lane;
        let end = lie.entry() + Lie::END + 3;
        lie.free[end + 3] = Goldilocks::new(nibble);
        lie.free[end + 7] = lane;
        lie.absent(3, index);
        assert_eq!(holds(&circuit, &lie.free), expected, "{byte:02x}: {index}");
    }
}

/// An entry is in the trie of its root's tag, whatever else is adapted to another tag.
#[test]
fn entries_are_of_the_tag_of_their_root() {
    let value = bytes(40, 0xc0);
    let (root, nodes) = trie([(&[5][..], &value[..])], &[]);
    for claim in [
        Claim::Entry { trie: Tag::Receipts, index: 5, value: value.clone() },
        Claim::AbsentEntry { trie: Tag::Receipts, index: 6 },
    ] {
        let honest = Lie::new(Tag::Receipts, root, &nodes, &claim, 0);
        let circuit = circuit(honest.size);
        let Lenient { item, value: place, .. } = lenient(&nodes[&root]).unwrap();
        // The trie of the root, that of the claim, and the one stated for nodes.
        for (of_root, of_claim, of_node) in
            [(3, 3, 3), (4, 4, 4), (2, 3, 3), (4, 3, 4), (0, 3, 0), (3, 1, 3), (0, 0, 0), (5, 5, 5)]
        {
            let mut lie = Lie { free: honest.free.clone(), size: honest.size };
            lie.of_trie(of_root);
            if let Claim::Entry { .. } = claim {
                lie.present((of_claim, 5), (item, place.start), &value, value.len());
            } else {
                lie.absent(of_claim, 6);
            }
            let number = Goldilocks::new(if of_node > 1 { (1 << 32) + of_node } else { of_node });
            let (path, way) = (lie.path() + 6, lie.entry() + Lie::END + 3 + 5);
            lie.free[path] = number;
            if let Claim::AbsentEntry { .. } = claim {
                assert_eq!(lie.free[way], Goldilocks::new((1 << 32) + 3));
                lie.free[way] = number;
            }
            let expected = (2..=4).contains(&of_root) && [of_claim, of_node] == [of_root; 2];
            assert_eq!(holds(&circuit, &lie.free), expected, "{of_root} {of_claim} {of_node}");
        }
    }
}

/// Values of other bytes or lengths than the leaf's, with the steps, the address of the last step and all hashes that
/// follow. One lie in `every` is tried.
fn steps_of_lies(lengths: &[usize], every: usize) -> usize {
    let mut tried = 0;
    for &length in lengths {
        let value = bytes(length, 0x85);
        let (root, nodes) = trie([(&[5][..], &value[..])], &[]);
        let claim = Claim::Entry { trie: Tag::Receipts, index: 5, value: value.clone() };
        let mut lie = Lie::new(Tag::Receipts, root, &nodes, &claim, 1);
        let circuit = circuit(lie.size);
        let message = padded(nodes[&root].clone());
        let Lenient { item, value: place, .. } = lenient(&nodes[&root]).unwrap();
        lie.present((3, 5), (item, place.start), &value, length);
        assert!(holds(&circuit, &lie.free), "{length}");
        let mut refused = |free: &[Goldilocks], what: &str| {
            tried += 1;
            assert!(tried % every != 0 || !holds(&circuit, free), "{length}: {what}");
        };
        let zeros = |count: usize| [&value[..], &vec![0; count]].concat();
        let longer = |count: usize| message[place.start..place.end + count].to_vec();
        let shorter = |count: usize| value[..length.saturating_sub(count)].to_vec();
        let lies = [
            (longer(1), length),
            (longer(1), length + 1),
            (zeros(1), length + 1),
            (shorter(1), length - 1),
            (shorter(1), length),
            (value.clone(), length + 1),
            // One step more, of zeros or of the bytes behind the value; and one step less.
            (zeros(32), length),
            (zeros(32), length + 32),
            (longer(32), length),
            (longer(32), length + 32),
            (shorter(32), length),
            (value[length.min(32)..].to_vec(), length),
        ];
        for (said, said_length) in lies {
            let whole = |bytes: &[u8]| {
                Claim::Entry { trie: Tag::Receipts, index: 5, value: bytes.to_vec() }.elements().1[4..].to_vec()
            };
            let same = said_length == length && whole(&said) == whole(&value);
            if said.is_empty() || (16 + said.len()).div_ceil(32) > lie.size.steps || same {
                continue;
            }
            for start in [place.start, place.start + 1, place.start - 1] {
                lie.present((3, 5), (item, start), &said, said_length);
                refused(&lie.free, "another value");
            }
            // The last step is said to be the value's own, or one that is not the last.
            lie.present((3, 5), (item, place.start), &said, said_length);
            let last = place.start + 32 * ((16 + length).div_ceil(32) - 1);
            let at = lie.entry() + Lie::ADDRESS;
            for address in [Goldilocks::new(last as u64) - Goldilocks::new(16), Goldilocks::new(NOWHERE)] {
                lie.free[at] = address;
                refused(&lie.free, "another last step");
            }
        }
        lie.present((3, 5), (item, place.start), &value, length);
        for i in 0..lie.size.steps {
            let mut free = lie.free.clone();
            let (at, step) = (lie.entry(), lie.step(i));
            free[step] = ONE - free[step];
            refused(&free, "a step that is the last one");
            free[at + Lie::ADDRESS] = Goldilocks::new(NOWHERE);
            refused(&free, "the digest of a step that is not the last one");
            let mut free = lie.free.clone();
            free[at + Lie::START] = Goldilocks::new(i as u64 + 1);
            refused(&free, "a value that begins at another step");
        }
    }
    tried
}

#[test]
fn steps_are_over_the_value_alone() {
    assert!(steps_of_lies(&[16, 17, 49], 11) > 100);
}

#[test]
#[ignore = "slow: a minute"]
fn steps_of_values_of_many_lengths_are_over_them_alone() {
    assert!(steps_of_lies(&[1, 2, 15, 16, 17, 32, 47, 48, 49, 80, 112, 113], 1) > 400);
}

/// Keys that no index has: the path of an index ends within a node's path. The circuit's witness and the native walk
/// return an error and do not panic.
#[test]
fn a_key_that_ends_inside_of_a_path_is_an_error() {
    let value = bytes(40, 0xc0);
    for keys in [&[&[0x80, 0][..]][..], &[&[0x80, 0, 1], &[0x80, 0, 2]], &[&[0x80, 0, 1], &[0x80, 0, 2], &[7]]] {
        let (root, nodes) = trie(keys.iter().map(|key| (*key, &value[..])), &[]);
        let claim = Claim::AbsentEntry { trie: Tag::Receipts, index: 0 };
        assert!(!native(Tag::Receipts, root, nodes.values().cloned(), &claim));
        let error = witness(Tag::Receipts, root, &nodes, &[claim]).map(|_| ()).unwrap_err().to_string();
        assert!(error.ends_with("its path does not fit the keys of its trie"), "{error}");
    }
}

/// A proof whose roots are not in order is refused without a panic.
#[test]
fn roots_are_each_there_once() {
    let size = Size { blocks: 1, accounts: 1, roots: 2, ..Size::NONE };
    let of = |tag: Tag, x: u64| (tag, [7; 32], Digest([Goldilocks::new(x); 4]));
    for roots in [
        vec![of(Tag::State, 1), of(Tag::State, 2)],
        vec![of(Tag::State, 1), of(Tag::State, 1)],
        vec![of(Tag::Receipts, 1), of(Tag::State, 2)],
    ] {
        let proof = StateProof { size, kind: Kind::Piece, statement: Statement::Roots(roots), proof: Vec::new() };
        let known = Roots::new(vec![(Tag::State, [7; 32]), (Tag::Receipts, [7; 32])]).unwrap();
        assert!(matches!(proof.verify(&known, None), Err(StateProofError::Format(_))));
        assert!(StateProof::from_bytes(&proof.to_bytes()).is_err());
    }
}

/// Sizes with only entries, with only steps, and with as many as possible: either a circuit is built and the proof is
/// refused, or no circuit is built.
#[test]
fn sizes_with_entries() {
    let least = Size { blocks: 1, roots: 1, entries: 1, ..Size::NONE };
    for (size, readable) in [
        (least, true),
        (Size { steps: 3, ..least }, true),
        (Size { entries: 0, ..least }, false),
        (Size { entries: 0, steps: 5, ..least }, false),
        (Size { entries: 0, accounts: 1, steps: 5, ..least }, true),
        (Size { opens: 1, entries: 0, ..least }, false),
        (Size { steps: u32::MAX as usize, ..least }, false),
        (Size { entries: u32::MAX as usize, ..least }, false),
    ] {
        let roots = vec![(Tag::Receipts, [7; 32], Digest::ZERO)];
        let proof = StateProof { size, kind: Kind::Piece, statement: Statement::Roots(roots), proof: vec![0; 1000] };
        assert_eq!(StateProof::from_bytes(&proof.to_bytes()).is_ok(), readable, "{size:?}");
        assert!(proof.verify(&self::roots(Tag::Receipts, [7; 32]), None).is_err());
        if readable {
            circuit(size);
        }
    }
}

/// A size has room for the longest value, however many others there are, and for the roots of several tries.
#[test]
fn a_size_has_room_for_what_stays_together() {
    let long = bytes(39_422, 0xf9);
    let values: Vec<Vec<u8>> = (0..200).map(|i| if i == 7 { long.clone() } else { bytes(40 + i, 0xc0) }).collect();
    let one = list(Tag::Receipts, values);
    let (mut lists, mut roots, mut nodes, mut claims) =
        (vec![(vec![one.tag], one.claims(0..200))], Vec::new(), one.nodes.clone(), Vec::new());
    roots.push((one.tag, one.root));
    let others =
        [(Tag::Transactions, 6), (Tag::Withdrawals, 7)].map(|(tag, seed)| list(tag, receipts(120, seed).values));
    for list in &others {
        nodes.extend(list.nodes.clone());
        roots.push((list.tag, list.root));
        claims.extend(list.claims((0..125).chain(400..430)));
    }
    lists.push((vec![Tag::Transactions, Tag::Withdrawals], claims.clone()));
    claims.extend(one.claims(0..200));
    lists.push((vec![Tag::Transactions, Tag::Receipts, Tag::Withdrawals], claims));
    roots.sort_unstable();
    for (tags, claims) in lists {
        let roots = Roots::new(roots.iter().copied().filter(|(tag, _)| tags.contains(tag)).collect()).unwrap();
        let whole = Witness::new(&roots, &|hash| nodes.get(hash).map(Vec::as_slice), &claims).unwrap();
        let all = whole.size().elements();
        for elements in [2, 3, 4, 6, 9, 14, 20].map(|pieces| all / pieces) {
            let size = Batch::size_for(&whole, elements, None);
            assert!(size.is_possible(), "{size:?}");
            let plan = Plan::new(&whole, &claims, size, None);
            assert!(plan.is_ok(), "{tags:?}, {elements} of {all}: {:?}", plan.err());
        }
    }
}

struct List {
    tag: Tag,
    root: Hash,
    nodes: Known,
    values: Vec<Vec<u8>>,
}

fn list(tag: Tag, values: Vec<Vec<u8>>) -> List {
    let keys: Vec<Vec<u8>> = (0..values.len() as u64 + 40).chain([999, 65_535]).map(rlp::integer).collect();
    let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let (root, nodes) = trie(keys.iter().zip(&values).map(|(key, value)| (&key[..], &value[..])), &asked);
    List { tag, root, nodes, values }
}

impl List {
    fn claims(&self, indices: impl IntoIterator<Item = u64>) -> Vec<Claim> {
        let trie = self.tag;
        let claim = |index: u64| match self.values.get(index as usize) {
            Some(value) => Claim::Entry { trie, index, value: value.clone() },
            None => Claim::AbsentEntry { trie, index },
        };
        indices.into_iter().map(claim).collect()
    }
    fn witness(&self, claims: &[Claim]) -> Witness {
        witness(self.tag, self.root, &self.nodes, claims).unwrap()
    }
}

/// Checks one in `every` pieces of a plan, that each claim is in one of them, and that the last one shows the roots.
/// Returns the number of pieces.
fn pieces_hold(roots: &Roots, nodes: &Known, claims: &[Claim], size: Size, every: usize) -> usize {
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let whole = Witness::new(roots, &find, claims).unwrap();
    let plan = Plan::new(&whole, claims, size, None).unwrap();
    let circuit = circuit(size);
    let mut seen = HashSet::new();
    for (i, piece) in plan.pieces.iter().enumerate() {
        let witness = plan.witness(i, &find).unwrap();
        assert!(piece.claims.iter().all(|(place, claim)| *claim == claims[*place] && seen.insert(*place)));
        for (own, most) in [
            (witness.size().steps, size.steps),
            (witness.size().entries, size.entries),
            (witness.size().roots, size.roots),
            (witness.size().opens, size.opens),
        ] {
            assert!(own <= most);
        }
        assert_eq!(witness.lists()[1] == Digest::ZERO, piece.below.is_empty());
        assert!(piece.roots.iter().zip(witness.digests()).all(|(edge, digest)| edge.digest == *digest));
        if i % every == 0 || i + 1 == plan.pieces.len() {
            let columns = circuit.witness(&witness.data(size, KEY).unwrap()).unwrap();
            let faults = columns.faults(&circuit);
            assert_eq!(faults.len(), 0, "piece {i} of {size:?}: {:?}", &faults[..faults.len().min(8)]);
        }
    }
    assert_eq!(seen.len(), claims.len());
    let tops: Vec<Edge> = roots
        .iter()
        .map(|&(tag, root)| {
            let below: Vec<Claim> = claims.iter().filter(|claim| claim.tag() == tag).cloned().collect();
            Edge::of_root(tag, root, canonical_digest(&below).unwrap())
        })
        .collect();
    assert_eq!(plan.pieces.last().unwrap().roots, tops);
    plan.pieces.len()
}

fn receipts(count: usize, seed: u64) -> List {
    let mut next = random(seed);
    let length = |next: &mut dyn FnMut(u64) -> u64| match next(8) {
        0 => 250 + next(200) as usize,
        1 => [31, 32, 33, 48, 55, 56, 255, 256][next(8) as usize],
        _ => 29 + next(60) as usize,
    };
    let values = (0..count).map(|_| bytes(length(&mut next), [0, 0x7f, 0x80, 0xb9, 0xc0][next(5) as usize])).collect();
    list(Tag::Receipts, values)
}

#[test]
fn plans_of_receipts_hold() {
    let list = receipts(300, 1);
    let mut next = random(2);
    for (seed, every) in (0..3).zip([4, 9, 12]) {
        let size = Size {
            blocks: 8 + next(8) as usize,
            branches: 2 + next(3) as usize,
            paths: 3 + next(6) as usize,
            accounts: next(2) as usize,
            slots: next(2) as usize,
            roots: 2 + next(4) as usize,
            opens: 16 + next(6) as usize,
            entries: 6 + next(6) as usize,
            steps: 15 + next(16) as usize,
            ..Size::NONE
        };
        let indices: HashSet<u64> = (0..20 + next(30)).map(|_| next(if seed % 2 == 0 { 304 } else { 60 })).collect();
        let claims = list.claims(indices);
        let pieces = pieces_hold(&roots(list.tag, list.root), &list.nodes, &claims, size, every);
        assert!(pieces > 2, "{pieces}");
    }
}

#[test]
fn plans_of_all_receipts_are_made() {
    let list = receipts(300, 3);
    let claims = list.claims((0..310).chain([999, 65_535]));
    let whole = list.witness(&claims);
    let mut next = random(4);
    for _ in 0..20 {
        let size = Size {
            blocks: 6 + next(20) as usize,
            branches: 1 + next(6) as usize,
            paths: 2 + next(10) as usize,
            roots: 2 + next(4) as usize,
            opens: 4 + next(14) as usize,
            entries: 16 + next(6) as usize,
            steps: 15 + next(16) as usize,
            ..Size::NONE
        };
        match Plan::new(&whole, &claims, size, None) {
            Ok(plan) => assert_eq!(plan.pieces.iter().map(|piece| piece.claims.len()).sum::<usize>(), claims.len()),
            Err(e) => assert!(matches!(e, mpt::PieceError::Crowded { .. }), "{e}"),
        }
    }
}

/// The state, storage and two lists together, in pieces with roots and open edges of several tries.
#[test]
fn plans_of_all_tries_hold() {
    let world = &*WORLD;
    let receipts = receipts(150, 5);
    let withdrawals = list(Tag::Withdrawals, (0..20).map(|i| bytes(34 + i % 3, 0xc0)).collect());
    let mut nodes = world.nodes.clone();
    nodes.extend(receipts.nodes.clone());
    nodes.extend(withdrawals.nodes.clone());
    let roots = Roots::new(vec![
        (Tag::State, world.root),
        (Tag::Receipts, receipts.root),
        (Tag::Withdrawals, withdrawals.root),
    ])
    .unwrap();
    let mut claims = receipts.claims([0, 1, 5, 16, 17, 40, 127, 128, 129, 140, 149, 150, 160, 999]);
    claims.extend([0, 1, 3, 8, 11, 29, 33].map(|slot| world.slot(2, slot)));
    claims.extend([world.slot(50, 1), world.slot(3, 1), world.slot(1, 0)]);
    claims.extend(withdrawals.claims([19, 0, 1, 2, 15, 20, 65_535]));
    let sizes = [
        Size {
            blocks: 14,
            branches: 4,
            paths: 6,
            accounts: 3,
            slots: 4,
            roots: 4,
            opens: 20,
            entries: 4,
            steps: 20,
            ..Size::NONE
        },
        Size {
            blocks: 24,
            branches: 8,
            paths: 12,
            accounts: 4,
            slots: 6,
            roots: 8,
            opens: 16,
            entries: 9,
            steps: 40,
            ..Size::NONE
        },
    ];
    for size in sizes {
        let pieces = pieces_hold(&roots, &nodes, &claims, size, 2);
        assert!(pieces > 2, "{pieces}");
    }
    // A batch with the claims in another order has the same proofs.
    let size = sizes[1];
    let find = |hash: &Hash| nodes.get(hash).map(Vec::as_slice);
    let prepared = Prepared::new(&roots, &find, &claims, (size, None), None).unwrap();
    claims.reverse();
    let other = Prepared::new(&roots, &find, &claims, (size, None), None).unwrap();
    assert_eq!(prepared.all_proofs(), other.all_proofs());
}

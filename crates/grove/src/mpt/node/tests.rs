//! The slots of nodes alone, on bytes of every form. With an honest prover's choices a slot accepts exactly the messages
//! that the native decoder reads, and offers what it reads; with one other choice it accepts no other message.
//!
//! The circuits have no Keccak: one hash belongs to every message. So a case takes milliseconds, and a million of them
//! are feasible.

use std::collections::HashMap;

use evergrove_ethereum::{Keys, Nodes, Trie, TrieError};
use evergrove_multilinear::circuit::{Builder, Circuit, Witness};
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_verifier::ethereum::rlp::{self, Item, Reader};
use evergrove_verifier::tables::{Table, Tables, bits, query, tuple};
use rayon::prelude::*;

use super::super::gadgets::{LANES, ZERO};
use super::super::{modes, witness};
use super::*;
use crate::circuit::free;

/// Blocks of the stream: the longest branch takes four.
pub(in crate::mpt) const BLOCKS: usize = 5;
/// Free elements of a slot's edge and message.
const EDGE: usize = 10;
const MESSAGE: usize = 2 + 8;

/// A slot whose node is below a root, and bits with which the prover demands contents.
pub(in crate::mpt) struct Slot {
    pub(in crate::mpt) circuit: Circuit<Quadratic>,
    /// Columns of a true node.
    pub(in crate::mpt) sound: Witness,
    /// Rows with choices of the prover.
    choices: Vec<u32>,
    branch: bool,
}

/// What a prover chooses, by rows.
type Choices = HashMap<u32, Goldilocks>;

/// What a slot offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mpt) enum Content {
    /// Codes and hashes of the children.
    Branch(Vec<(u64, Option<[u8; 32]>)>),
    /// The nibbles of the path, the address behind it, and the hash below an extension.
    Path(Vec<u8>, usize, Option<[u8; 32]>),
}

fn circuit(branch: bool) -> Circuit<Quadratic> {
    let modes = modes();
    let tables =
        Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros));
    let mut b = Builder::new(tables);
    let mut g = Gadgets::new(&mut b);
    g.b.stream_bytes(BLOCKS);
    let hash = free(g.b);
    let (zero, one) = (g.zero, g.one);
    for blocks in 1..=BLOCKS {
        let end = g.constant(blocks as u64);
        g.offer_message(zero, end, hash);
    }
    let minus = g.b.constant(-ONE);
    let lanes = g.packed([zero; LANES]);
    g.offer_root(zero, Place { depth: minus, trie: zero, root: zero, lanes }, zero, hash);
    if branch {
        g.branch(1);
        let child = g.spaces.child;
        let compared = g.b.bit();
        for nibble in 0..16 {
            let (level, said, is_hash) = (g.constant(nibble), g.b.any(), g.b.bit());
            g.b.look_up(child, one, level, Element::from(said).into(), compared);
            for (half, word) in free(g.b).into_iter().enumerate() {
                let hash = g.spaces.hash[half];
                g.b.look_up(hash, one, level, word, is_hash);
            }
        }
        return b.finish();
    }
    g.path(1);
    let [is_leaf, is_extension] = [(); 2].map(|()| g.b.bit());
    let (depth, last, behind) = (g.b.any(), g.b.any(), g.b.any());
    let lanes = [(); LANES].map(|()| g.b.any());
    let packed = g.packed(lanes);
    // A leaf: its key, and the address of its value.
    let ends = [packed[0], packed[1], g.with_depth(packed[2], depth)];
    for ((offers, level), lanes) in g.spaces.leaf.into_iter().zip([zero, behind, zero]).zip(ends) {
        g.b.look_up(offers, one, level, lanes.into(), is_leaf);
    }
    // An extension: the end of its path, the hash of the branch below, and where its path ends.
    let places = g.spaces.place;
    g.look_up_place(places, one, Place { depth: last, trie: zero, root: zero, lanes: packed }, is_extension);
    let (child, ends, below) = (g.spaces.child, g.spaces.ends, g.constant(code::BRANCH));
    g.b.look_up(child, one, zero, Element::from(below).into(), is_extension);
    g.b.look_up(ends, one, depth, Element::from(behind).into(), is_extension);
    for (half, word) in free(g.b).into_iter().enumerate() {
        let hash = g.spaces.hash[half];
        g.b.look_up(hash, one, zero, word, is_extension);
    }
    b.finish()
}

impl Slot {
    pub(in crate::mpt) fn new(branch: bool) -> Self {
        let circuit = circuit(branch);
        let node =
            if branch { branch_of(|i| if i < 2 { hash(i) } else { vec![0x80] }) } else { leaf(&[5; 64], b"value") };
        let stream = witness::padded(&node);
        let content = content(&stream).unwrap();
        let sound = circuit.witness(&data(branch, &stream, true, Some(&content))).unwrap();
        assert_eq!(sound.faults(&circuit), []);
        Self { choices: circuit.choices().collect(), circuit, sound, branch }
    }
    /// True if the slot accepts these blocks, as a leaf or not, and offers this content. The prover chooses some rows.
    fn accepts(&self, stream: &[u8], leaf: bool, content: Option<&Content>, chosen: &Choices) -> bool {
        let free = data(self.branch, stream, leaf, content);
        self.circuit.witness_with(&free, chosen).unwrap().faults_beside(&self.circuit, &self.sound).is_empty()
    }
    /// The choices of an honest prover, row by row.
    fn honest(&self, stream: &[u8], leaf: bool) -> Vec<Goldilocks> {
        let columns = self.circuit.witness(&data(self.branch, stream, leaf, None)).unwrap();
        let choice = |&row: &u32| columns.row(self.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT];
        self.choices.iter().map(choice).collect()
    }
    /// Demands that the slot agrees with the native decoder on these blocks. Returns whether it accepts them.
    fn agrees(&self, stream: &[u8], next: Next<'_>, what: &dyn Fn() -> String) -> bool {
        let content = content(stream);
        let leaf = match &content {
            Some(Content::Path(_, _, child)) if !self.branch => child.is_none(),
            Some(Content::Branch(_)) if self.branch => false,
            _ => {
                // A slot for branches has no bit for leaves.
                let leaf = !self.branch && next(2) == 1;
                assert!(!self.accepts(stream, leaf, None, &Choices::new()), "{}: {content:?} {leaf}", what());
                if next(4) == 0 {
                    let row = self.choices[next(self.choices.len() as u64) as usize];
                    let value = [0, 1, 2, 33, next(256)][next(5) as usize];
                    let lie = self.accepts(stream, leaf, None, &[(row, Goldilocks::new(value))].into());
                    assert!(!lie, "{}: {content:?} {leaf}, {value} in row {row}", what());
                }
                return false;
            }
        };
        assert!(self.accepts(stream, leaf, content.as_ref(), &Choices::new()), "{}: {content:?}", what());
        // The same without a comparison, which every refusal rests on; and other contents, or the other kind of node.
        let other = content.map(|content| content.changed(next));
        match next(4) {
            0 => assert!(self.accepts(stream, leaf, None, &Choices::new()), "{}: not compared", what()),
            1 if !self.branch => assert!(!self.accepts(stream, !leaf, None, &Choices::new()), "{}: both kinds", what()),
            _ => assert!(!self.accepts(stream, leaf, other.as_ref(), &Choices::new()), "{}: {other:?}", what()),
        }
        true
    }
}

impl Content {
    /// The same with one change.
    fn changed(mut self, next: Next<'_>) -> Self {
        match &mut self {
            Self::Branch(children) => match &mut children[next(16) as usize] {
                (_, Some(hash)) if next(2) == 0 => hash[next(32) as usize] ^= 1 << next(8),
                (code, _) => *code ^= 1 << next(12),
            },
            Self::Path(nibbles, behind, child) => match (next(4), child) {
                (0, Some(hash)) => hash[next(32) as usize] ^= 1 << next(8),
                (1, _) => *behind ^= 1 << next(8),
                (2, _) if (1..=64).contains(&nibbles.len()) => {
                    let at = next(nibbles.len() as u64) as usize;
                    nibbles[at] ^= 1;
                }
                _ if nibbles.pop().is_none() => nibbles.push(1),
                _ => {}
            },
        }
        self
    }
}

/// Free data: the blocks, the hash of every message, the slot, and its content if it is compared.
pub(in crate::mpt) fn data(branch: bool, stream: &[u8], leaf: bool, content: Option<&Content>) -> Vec<Goldilocks> {
    let mut bytes = stream.to_vec();
    bytes.resize((BLOCKS * RATE_BYTES).next_multiple_of(16) + 16, 0);
    let mut free: Vec<Goldilocks> = witness::halves(&bytes).collect();
    let hash = [Goldilocks::new(9); 8];
    free.extend(hash);
    free.push(ONE);
    if !branch {
        free.extend([number(leaf), ZERO]);
    }
    // The edge: below root 0, whose place is before the first nibble.
    let mut edge = [ZERO; EDGE];
    edge[2] = -ONE;
    free.extend(edge);
    if branch {
        free.push(ZERO);
    }
    let mut message = [ZERO; MESSAGE];
    message[1] = Goldilocks::new((stream.len() / RATE_BYTES) as u64);
    message[2..].copy_from_slice(&hash);
    free.extend(message);
    match content {
        Some(Content::Branch(children)) => {
            free.push(ONE);
            for (code, hash) in children {
                free.extend([Goldilocks::new(*code), number(hash.is_some())]);
                free.extend(witness::halves(&hash.unwrap_or_default()));
            }
        }
        Some(Content::Path(nibbles, behind, child)) => {
            let depth = Goldilocks::new(nibbles.len() as u64);
            free.extend([number(child.is_none()), number(child.is_some())]);
            free.extend([depth, depth - ONE, Goldilocks::new(*behind as u64)]);
            free.extend(witness::lanes(&nibbles[..nibbles.len().min(NIBBLES as usize)]));
            free.extend(witness::halves(&child.unwrap_or_default()));
        }
        None => free.resize(free.len() + if branch { 1 + 16 * 10 } else { 2 + 3 + LANES + 8 }, ZERO),
    }
    free
}

/// What whole blocks contain, if they are a padded node. A slot does not demand three things: that
/// embedded nodes are valid; that a value of one byte below 0x80 has no header; and that a path has at most 64 nibbles:
/// at depth 0 it reads 65.
pub(in crate::mpt) fn content(stream: &[u8]) -> Option<Content> {
    let mut outer = Reader::new(stream);
    let mut items = outer.list().ok()?;
    let node = &stream[..stream.len() - outer.len()];
    if witness::padded(node) != stream {
        return None;
    }
    let at = |rest: &[u8]| node.len() - rest.len();
    let content = shallow(&mut items, &at);
    let key = keccak_256(node);
    let trie = Trie::new(&key, Keys::Hashed, Nodes::new([node.to_vec()]).unwrap().into());
    let natively = !matches!(trie.get(&[0; 32]), Err(TrieError::Node { .. }));
    let loose = match &content {
        Some(Content::Branch(children)) => children.iter().any(|(code, _)| code % 4 == code::EMBEDDED),
        Some(Content::Path(nibbles, behind, child)) => {
            nibbles.len() == 65 || child.is_none() && node[*behind] == 0x81 && node[behind + 1] < 0x80
        }
        None => false,
    };
    assert!(content.is_some() || !natively, "{node:02x?}");
    assert!(content.is_none() || natively || loose, "{node:02x?}");
    content
}

fn shallow(items: &mut Reader<'_>, at: &dyn Fn(&[u8]) -> usize) -> Option<Content> {
    let (mut rest, mut count) = (*items, 0);
    while !rest.is_empty() {
        let begin = rest.rest();
        // The header of a value of one byte is not read here.
        if count == 1 && begin[0] == 0x81 && begin.len() == 2 {
            count = 2;
            break;
        }
        rest.item().ok()?;
        count += 1;
    }
    let hash = |bytes: &[u8]| -> Option<[u8; 32]> { bytes.try_into().ok() };
    if count == 17 {
        let mut children = Vec::new();
        for _ in 0..16 {
            let begin = items.rest();
            children.push(match items.item().ok()? {
                Item::String([]) => (code::EMPTY, None),
                Item::String(bytes) => (code::HASH, Some(hash(bytes)?)),
                Item::List(nested) if (1..31).contains(&nested.len()) => (code::EMBEDDED + 4 * at(begin) as u64, None),
                Item::List(_) => return None,
            });
        }
        let there = children.iter().filter(|(code, _)| *code != code::EMPTY).count();
        let empty = matches!(items.item().ok()?, Item::String([]));
        return (there > 1 && empty).then_some(Content::Branch(children));
    }
    if count != 2 {
        return None;
    }
    let path = items.string(1, 33).ok()?;
    let (flags, low) = (path[0] >> 4, path[0] & 15);
    let mut nibbles: Vec<u8> = path.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
    nibbles.drain(..if flags % 2 == 1 { 1 } else { 2 });
    if flags > 3 || flags % 2 == 0 && low != 0 {
        return None;
    }
    let behind = at(items.rest());
    if flags < 2 {
        let Item::String(child) = items.item().ok()? else { return None };
        let child = hash(child)?;
        return (!nibbles.is_empty()).then_some(Content::Path(nibbles, behind, Some(child)));
    }
    let value = items.rest();
    let single = value[0] == 0x81 && value.len() == 2;
    let full = single || matches!(items.item().ok()?, Item::String(value) if !value.is_empty());
    full.then_some(Content::Path(nibbles, behind, None))
}

pub(in crate::mpt) fn hash(i: usize) -> Vec<u8> {
    [&[0xa0][..], &[i as u8 * 7; 32]].concat()
}

pub(in crate::mpt) fn branch_of(child: impl FnMut(usize) -> Vec<u8>) -> Vec<u8> {
    let children: Vec<Vec<u8>> = (0..16).map(child).collect();
    rlp::list(&[children.concat(), vec![0x80]].concat())
}

/// The bytes of a path: with these flags, plus 1 for an odd number of nibbles.
pub(in crate::mpt) fn prefixed(nibbles: &[u8], flags: u8) -> Vec<u8> {
    let mut own = if nibbles.len() % 2 == 1 { vec![flags + 1] } else { vec![flags, 0] };
    own.extend(nibbles);
    own.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

pub(in crate::mpt) fn leaf(nibbles: &[u8], value: &[u8]) -> Vec<u8> {
    let mut items = Vec::new();
    rlp::write_string(&mut items, &prefixed(nibbles, 2));
    rlp::write_string(&mut items, value);
    rlp::list(&items)
}

type Next<'a> = &'a mut dyn FnMut(u64) -> u64;

/// A string, with a header that may be longer than needed if it is `odd`.
fn string(bytes: &[u8], odd: bool, next: Next<'_>) -> Vec<u8> {
    let mut item = Vec::new();
    match next(if odd { 4 } else { 1 }) {
        0 => rlp::write_string(&mut item, bytes),
        form => {
            header(&mut item, 0x80, form, bytes.len());
            item.extend(bytes);
        }
    }
    item
}

/// The header of a string (from 0x80) or a list (from 0xc0): in the first byte, in one more byte, or in two.
fn header(out: &mut Vec<u8>, base: u8, form: u64, length: usize) {
    match form {
        1 if length < 56 => out.push(base + length as u8),
        3 => out.extend([base + 57, (length >> 8) as u8, length as u8]),
        _ => out.extend([base + 56, length as u8]),
    }
}

/// An item that is rarely in its place.
fn odd_item(next: Next<'_>) -> Vec<u8> {
    let bytes = vec![next(256) as u8; [0, 1, 1, 30, 31, 32, 32, 33, 55, 56][next(10) as usize]];
    if next(3) > 0 {
        return string(&bytes, next(2) == 0, next);
    }
    let mut item = Vec::new();
    header(&mut item, 0xc0, 1 + next(3), bytes.len());
    [item, bytes].concat()
}

/// A node of a random form: an `odd` one has other items or headers, and a list as long as they are.
fn node(branch: bool, odd: bool, next: Next<'_>) -> Vec<u8> {
    let mut items: Vec<Vec<u8>> = Vec::new();
    if branch {
        let most = next(17);
        items.extend((0..16).map(|i| match next(16) {
            0 => leaf(&vec![next(16) as u8; next(20) as usize], &vec![next(256) as u8; 1 + next(12) as usize]),
            x if x < most => hash(i),
            _ => vec![0x80],
        }));
        items.push(vec![0x80]);
    } else {
        let length = [0, 1, 2, 3, 30, 31, 61, 62, 63, 64, 65, 66][next(12) as usize];
        let nibbles: Vec<u8> = (0..length).map(|_| next(16) as u8).collect();
        let extension = next(3) == 0;
        let flags = if extension { 0 } else { 2 } + if odd && next(8) == 0 { 4 } else { 0 };
        items.push(string(&prefixed(&nibbles, flags), odd && next(4) == 0, next));
        if extension {
            items.push(hash(next(16) as usize));
        } else {
            let some = [1, 1, 2, 31, 33, 54, 55, 56, 57, 110, 255, 256, 257, 500, 1 + next(300), 1 + next(300)];
            let mut value: Vec<u8> = (0..some[next(16) as usize]).map(|_| next(256) as u8).collect();
            value[0] = [0, 1, 0x7f, 0x80, 0xff, value[0]][next(6) as usize];
            items.push(string(&value, odd && next(2) == 0, next));
        }
    }
    if odd {
        let at = next(items.len() as u64) as usize;
        match next(8) {
            0 => drop(items.remove(at)),
            1 => items.insert(at, items[at].clone()),
            2..5 => items[at] = odd_item(next),
            _ => {}
        }
    }
    let content = items.concat();
    if !odd || next(2) == 0 {
        return rlp::list(&content);
    }
    let mut list = Vec::new();
    header(&mut list, 0xc0, 1 + next(3), content.len());
    [list, content].concat()
}

/// Changes bytes: those of headers more often than others.
fn change(bytes: &mut Vec<u8>, branch: bool, next: Next<'_>) {
    // Where items of the node begin, with some luck.
    let mut headers: Vec<usize> = (0..4).collect();
    headers.extend((0..17).map(|i| 2 + if branch { next(33 * (i + 1)) as usize } else { 33 + i as usize % 4 }));
    headers.extend((0..bytes.len()).filter(|&i| [0x80, 0x81, 0xa0, 0xb8, 0xb9].contains(&bytes[i])));
    for _ in 0..1 + next(3) {
        let any = next(bytes.len() as u64) as usize;
        let at = if next(4) > 0 { headers[next(headers.len() as u64) as usize].min(bytes.len() - 1) } else { any };
        match next(6) {
            0 => bytes[at] = bytes[at].wrapping_add(1),
            1 => bytes[at] = bytes[at].wrapping_sub(1),
            2 => bytes[at] ^= 1 << next(8),
            3 => {
                let edges = [0, 1, 0x7f, 0x80, 0x81, 0x9f, 0xa0, 0xa1, 0xb7, 0xb8, 0xb9, 0xba, 0xc0, 0xc1, 0xde, 0xdf];
                bytes[at] = [&edges[..], &[0xf7, 0xf8, 0xf9, 0xfa]].concat()[next(20) as usize];
            }
            4 if bytes.len() > 1 => {
                bytes.remove(at);
            }
            5 => bytes.insert(at, next(256) as u8),
            _ => {}
        }
    }
}

/// Changes the padding behind a node.
fn pad(stream: &mut Vec<u8>, node: usize, next: Next<'_>) {
    let last = stream.len() - 1;
    match next(3) {
        // One block more than needed.
        0 => {
            stream[last] ^= 0x80;
            stream.resize(stream.len() + RATE_BYTES, 0);
            *stream.last_mut().unwrap() = 0x80;
        }
        // As if one byte were both ends.
        1 => [stream[node], stream[last]] = [0x81; 2],
        _ => {
            let at = node - 1 + next((last + 2 - node) as u64) as usize;
            stream[at] ^= [1, 0x80, 0x81][next(3) as usize];
        }
    }
}

/// Nodes of every form, changed in every way.
fn mutated(cases: u64) {
    let slots = [Slot::new(false), Slot::new(true)];
    let outcomes = (0..cases).into_par_iter().map(|case| {
        let mut seed = case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        // As it is; with changes behind the node; with other items or headers; with changes of bytes.
        let (branch, kind) = (next(2) == 1, next(8));
        let mut bytes = node(branch, (2..6).contains(&kind), &mut next);
        if kind > 4 {
            change(&mut bytes, branch, &mut next);
        }
        let mut stream = witness::padded(&bytes);
        if kind == 1 {
            pad(&mut stream, bytes.len(), &mut next);
        }
        if stream.len() > BLOCKS * RATE_BYTES {
            return [0, 0];
        }
        let accepted = slots[usize::from(branch)].agrees(&stream, &mut next, &|| format!("case {case}: {bytes:02x?}"));
        [u64::from(accepted), u64::from(!accepted)]
    });
    let [accepted, refused] = outcomes.reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("{accepted} accepted and {refused} refused of {cases}");
    assert!(accepted > cases / 10 && refused > cases / 4, "{accepted} accepted and {refused} refused of {cases}");
}

#[test]
fn mutated_nodes_are_read_as_natively() {
    mutated(2_000);
}

#[test]
#[ignore = "slow: minutes"]
fn many_mutated_nodes_are_read_as_natively() {
    mutated(std::env::var("EVERGROVE_CASES").map_or(50_000, |n| n.parse().expect("EVERGROVE_CASES is a number")));
}

/// Messages that are no nodes, read with the choices for a node that they resemble: all that differ, one, or two of them.
fn choices_for_another_node(every: usize) {
    let slots = [Slot::new(false), Slot::new(true)];
    let (mut tried, mut turn) = (0, 0);
    let nodes = [
        (false, leaf(&[3, 5, 1], b"v")),
        (false, leaf(&[3, 5, 1, 1, 7], &[0x81, 5])),
        (false, leaf(&[9; 30], &[0xc0; 60])),
        (false, leaf(&[4; 40], &[1; 300])),
        (false, rlp::list(&[string(&prefixed(&[6; 6], 0), false, &mut |_| 0), hash(3)].concat())),
        (true, branch_of(|i| if i % 5 == 0 { hash(i) } else { vec![0x80] })),
        (
            true,
            branch_of(|i| {
                if i == 2 {
                    hash(i)
                } else if i == 9 {
                    leaf(&[1; 9], b"w")
                } else {
                    vec![0x80]
                }
            }),
        ),
    ];
    for (branch, node) in nodes {
        let slot = &slots[usize::from(branch)];
        let true_stream = witness::padded(&node);
        let leaf = matches!(content(&true_stream), Some(Content::Path(_, _, None)));
        let chosen = slot.honest(&true_stream, leaf);
        for at in (0..node.len()).filter(|&at| at < 8 || at % 33 < 4 || at + 2 > node.len()) {
            let mut changed = Vec::new();
            for byte in
                [0, 5, 0x35, 0x7f, 0x80, 0x81, 0xa0, 0xa1, 0xb7, 0xb8, 0xb9, 0xc0, 0xc5, 0xdf, 0xe5, 0xf8, 0xf9, 0xff]
            {
                changed.push([&node[..at], &[byte], &node[at + 1..]].concat());
            }
            // A byte less and one more, with the length of the list that follows.
            let begin = node.len() - Reader::new(&node).list().unwrap().rest().len();
            if at >= begin {
                changed.push(rlp::list(&[&node[begin..at], &node[at + 1..]].concat()));
                changed.push(rlp::list(&[&node[begin..at], &[0x81], &node[at..]].concat()));
            }
            for bytes in changed {
                turn += 1;
                let stream = witness::padded(&bytes);
                if turn % every != 0 || content(&stream).is_some() || stream.len() > BLOCKS * RATE_BYTES {
                    continue;
                }
                let own = slot.honest(&stream, leaf);
                let lies: Vec<(u32, Goldilocks)> =
                    (0..own.len()).filter(|&i| own[i] != chosen[i]).map(|i| (slot.choices[i], chosen[i])).collect();
                let pairs = lies.windows(2).map(|pair| pair.iter().copied().collect());
                let ones = lies.iter().map(|&lie| [lie].into());
                for choices in ones.chain(pairs).chain([lies.iter().copied().collect::<Choices>()]) {
                    let accepted = slot.accepts(&stream, leaf, None, &choices);
                    assert!(!accepted, "{bytes:02x?} with the choices {choices:?} for {node:02x?}");
                    tried += 1;
                }
            }
        }
    }
    println!("{tried} lies");
    assert!(tried > 1000 / every, "{tried}");
}

#[test]
fn choices_for_another_node_do_not_hold() {
    choices_for_another_node(60);
}

#[test]
#[ignore = "slow: minutes"]
fn many_choices_for_another_node_do_not_hold() {
    choices_for_another_node(1);
}

/// Choices that an honest prover does not make, for true nodes: whatever a slot accepts, it offers the same.
fn other_choices(every: usize) {
    let slots = [Slot::new(false), Slot::new(true)];
    let (mut tried, mut turn) = (0, 0);
    for (branch, node) in [
        (false, leaf(&[3, 5, 1, 1, 7], b"value")),
        (false, rlp::list(&[string(&prefixed(&[6; 8], 0), false, &mut |_| 0), hash(3)].concat())),
        (true, branch_of(|i| if i % 7 == 0 { hash(i) } else { vec![0x80] })),
    ] {
        let slot = &slots[usize::from(branch)];
        let stream = witness::padded(&node);
        let content = content(&stream).unwrap();
        let leaf = matches!(content, Content::Path(_, _, None));
        let own = slot.honest(&stream, leaf);
        let row = |i: usize| slot.choices[i];
        for i in 0..own.len() {
            let mut lies: Vec<Choices> = [ONE, -ONE].map(|change| [(row(i), own[i] + change)].into()).to_vec();
            lies.push([(row(i), ONE - own[i])].into());
            // Two choices exchanged: flags that rise again.
            for j in (i + 1..own.len()).filter(|&j| own[j] != own[i] && (j - i).is_multiple_of(13) || j == i + 1) {
                lies.push([(row(i), own[j]), (row(j), own[i])].into());
            }
            for choices in lies {
                turn += 1;
                if turn % every == 0 && slot.accepts(&stream, leaf, None, &choices) {
                    assert!(slot.accepts(&stream, leaf, Some(&content), &choices), "{node:02x?}: {choices:?}");
                }
                tried += 1;
            }
        }
    }
    println!("{tried} lies");
    assert!(tried > 1000, "{tried}");
}

#[test]
fn other_choices_change_nothing() {
    other_choices(20);
}

#[test]
#[ignore = "slow: minutes"]
fn no_other_choice_changes_anything() {
    other_choices(1);
}

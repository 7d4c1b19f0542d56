//! Lies about the slots of nodes alone. A lie is about something else if its bytes are not a node, or if the slot offers
//! something else than the native decoder reads.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::RATE_BYTES;
use evergrove_verifier::ethereum::rlp;
use evergrove_verifier::tables::{Table, tuple};
use rayon::prelude::*;

use super::super::gadgets::{ONE, ZERO};
use super::super::node::tests::{BLOCKS, Content, Slot, branch_of, content, data, hash, leaf, prefixed};
use super::super::witness;
use super::{Choices, Columns, Found, Report, Subject, integer, named, others};

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

const BYTES: [u8; 9] = [0, 0x35, 0x7f, 0x80, 0x81, 0xa0, 0xb8, 0xc1, 0xf8];

/// The slot for a branch, or for a node with a path.
pub(super) struct Node {
    subject: Subject,
    branch: bool,
}

/// True for a leaf.
fn is_leaf(stream: &[u8]) -> bool {
    matches!(content(stream), Some(Content::Path(_, _, None)))
}

impl Node {
    fn new(report: &mut Report, branch: bool) -> Self {
        let Slot { circuit, sound, .. } = Slot::new(branch);
        let subject = Subject { circuit, sound, free: Vec::new(), other: Box::new(|_, _, _| false) };
        report.of(&subject);
        Self { subject, branch }
    }
    /// What the slot offers.
    fn offers<'a>(&'a self, columns: &'a Columns) -> impl Iterator<Item = &'a [Goldilocks]> {
        let circuit = &self.subject.circuit;
        let rows = (0..circuit.rows(Table::Tuple)).filter(|&row| {
            let fixed = circuit.fixed(Table::Tuple, row);
            fixed[tuple::TIMES] == ONE && fixed[tuple::FREE] == ONE
        });
        rows.map(|row| &columns.row(circuit.tables(), Table::Tuple, row)[..tuple::COUNT])
    }
    /// The demands that alone refuse this free data, which has these blocks, with these choices.
    fn lie(&self, stream: &[u8], free: &[Goldilocks], chosen: &Choices) -> Vec<Found> {
        let Subject { circuit, sound, .. } = &self.subject;
        let columns = circuit.witness_with(free, chosen).unwrap();
        let alone = columns.refused_only_by(circuit, sound);
        if alone.is_empty() {
            return Vec::new();
        }
        let other = content(stream).is_none() || {
            let honest = circuit.witness(&data(self.branch, stream, is_leaf(stream), None)).unwrap();
            !self.offers(&columns).eq(self.offers(&honest))
        };
        alone.into_iter().map(|demand| (demand, other)).collect()
    }
    /// Demands that the line with this text alone refuses these blocks with these choices, which are not a node.
    fn refuses(
        &self,
        report: &mut Report,
        text: &str,
        stream: &[u8],
        leaf: bool,
        chosen: &[(&str, usize, Goldilocks)],
    ) {
        let rows = chosen.iter().map(|&(text, i, x)| (self.subject.rows(text)[0] + i as u32, x));
        let found = self.lie(stream, &data(self.branch, stream, leaf, None), &rows.collect());
        let names: Vec<String> = found.iter().map(|(demand, _)| named(demand)).collect();
        if !found.iter().any(|(demand, other)| *other && named(demand).contains(text)) {
            report.failed.push(format!("{text}: {names:?}"));
        }
        report.add(found);
    }
}

/// Nodes that differ in a byte from true ones, and choices that honest provers do not make.
pub(super) fn all(report: &mut Report, branch: bool) {
    let node = each(report, branch);
    for (i, (bytes, is_leaf)) in streams(branch).into_iter().enumerate() {
        let stream = witness::padded(&bytes);
        let free = data(branch, &stream, is_leaf, None);
        let own = node.subject.honest(&free);
        let last = stream.len() - 1;
        let places =
            (0..stream.len()).filter(|&at| at < 5 || at % 33 < 2 || at.abs_diff(bytes.len()) < 2 || at == last);
        let lies = places.flat_map(|at| BYTES.map(|byte| (at, byte))).filter(|&(at, byte)| stream[at] != byte);
        let found = lies.collect::<Vec<_>>().into_par_iter().flat_map_iter(|(at, byte)| {
            let mut stream = stream.clone();
            stream[at] = byte;
            let free = data(branch, &stream, is_leaf, None);
            let mut all = node.lie(&stream, &free, &Choices::new());
            all.extend(node.lie(&stream, &free, &own.iter().copied().collect()));
            all
        });
        report.add(found.collect::<Vec<_>>());
        if i % 8 > 0 {
            continue;
        }
        let begin = ((BLOCKS * RATE_BYTES).next_multiple_of(16) + 16) / 4;
        let elements = (begin..free.len()).flat_map(|i| others(free[i]).into_iter().map(move |x| (i, x)));
        let found = elements.collect::<Vec<_>>().into_par_iter().flat_map_iter(|(i, x)| {
            let mut free = free.clone();
            free[i] = x;
            node.lie(&stream, &free, &Choices::new())
        });
        report.add(found.collect::<Vec<_>>());
        // One choice, or two neighbours.
        let found = own.par_windows(2).flat_map_iter(|pair| {
            let [(row, x), (next, y)] = [pair[0], pair[1]];
            let mut all = Vec::new();
            for x in others(x) {
                all.extend(node.lie(&stream, &free, &Choices::from([(row, x)])));
                for y in others(y) {
                    all.extend(node.lie(&stream, &free, &Choices::from([(row, x), (next, y)])));
                }
            }
            all
        });
        report.add(found.collect::<Vec<_>>());
    }
}

/// Lies that are made one by one.
pub(super) fn each(report: &mut Report, branch: bool) -> Node {
    let node = Node::new(report, branch);
    padding(report, &node);
    if !branch {
        paths(report, &node);
        headers(report, &node);
    }
    node
}

/// Bytes behind a node that are not its padding.
fn padding(report: &mut Report, node: &Node) {
    let (bytes, is_leaf) = streams(node.branch).remove(0);
    let with = |padding: &[(usize, u8)]| {
        let mut stream = witness::padded(&bytes);
        let last = stream.len() - 1;
        assert!(bytes.len() + 10 < last, "a padding");
        padding.iter().for_each(|&(at, byte)| stream[if at == 0 { last } else { bytes.len() + at - 1 }] = byte);
        stream
    };
    // The first byte of the padding taken for the last one, with other bytes between the two.
    let alone = "let alone = self.b.bit_of(&[rest]";
    let stream = with(&[(1, 0x81), (2, 7), (9, 7), (0, 0x81)]);
    node.refuses(report, "self.vanishes(alone, rest);", &stream, is_leaf, &[(alone, 0, ONE)]);
    // No byte between the first and the last one is read.
    let stream = with(&[(2, 7), (9, 7)]);
    let flags = node.subject.rows("let there = self.b.bit_of(&[count], unary(i));");
    let free = data(node.branch, &stream, is_leaf, None);
    let found = node.lie(&stream, &free, &flags.into_iter().map(|row| (row, ZERO)).collect());
    if !found.iter().any(|(demand, _)| named(demand).ends_with("self.same(bit, found, count);")) {
        report.failed.push(format!("flags of zeros: {found:?}"));
    }
    report.add(found);
}

/// Bytes of paths, and flags for them.
fn paths(report: &mut Report, node: &Node) {
    // The bytes of the path begin at address 3.
    let even = leaf(&[9; 30], &[0xc0; 60]);
    let with = |at: usize, byte: u8| {
        let mut bytes = even.clone();
        bytes[at] = byte;
        witness::padded(&bytes)
    };
    assert_eq!(even[3], 0x20);
    let odd = "node.rs: Bit: let odd = ";
    node.refuses(report, odd, &with(3, 0x40), true, &[(odd, 0, integer(2))]);
    node.refuses(report, "self.vanishes(active, padding);", &with(3, 0x25), true, &[]);
    // One flag for two bytes; a byte behind the path instead of its last byte.
    let there = "node.rs: Bit: let there = ";
    let flags = node.subject.rows(there);
    let stream = witness::padded(&even);
    for (text, first, x, y) in [(there, 13, 2, 0), ("node.rs: Equation: self.implies(there, before);", 14, 0, 1)] {
        let chosen = Choices::from([(flags[first], integer(x)), (flags[first + 1], integer(y))]);
        let found = node.lie(&stream, &data(false, &stream, true, None), &chosen);
        if !found.iter().any(|(demand, other)| *other && named(demand).contains(text)) {
            report.failed.push(format!("{text}: {found:?}"));
        }
        report.add(found);
    }
    // A string of 33 bytes below an extension.
    let mut items = Vec::new();
    rlp::write_string(&mut items, &prefixed(&[6; 6], 0));
    rlp::write_string(&mut items, &[3; 33]);
    let extension = witness::padded(&rlp::list(&items));
    node.refuses(report, "node.rs: Equation: self.same(extension, first, hash);", &extension, false, &[]);
    // A path of two bytes without a header.
    let (single, bytes) = ("gadgets.rs: Bit: let single = ", [0xc3, 0x35, 0x11, 0x76]);
    let text = "gadgets.rs: Equation: self.vanishes(bit, difference);";
    node.refuses(report, text, &witness::padded(&bytes), true, &[(single, 1, integer(2))]);
}

/// Headers of lists, with flags for the bytes of the length that are not bits.
fn headers(report: &mut Report, node: &Node) {
    let [one, two] = ["gadgets.rs: Bit: let one_byte = ", "gadgets.rs: Bit: let two_bytes = "];
    let with = |nibbles: &[u8], value: usize, length: u8| {
        let mut bytes = leaf(nibbles, &vec![7; value]);
        assert_eq!(bytes[0], 0xf8);
        bytes[1] = length;
        witness::padded(&bytes)
    };
    // The length is the first byte of the content, a1, or half of 01 a0.
    node.refuses(report, one, &with(&[4; 64], 125, 0), true, &[(one, 0, -ONE), (two, 0, ONE)]);
    let half = Goldilocks::new(2).inverse().unwrap();
    node.refuses(report, two, &with(&[4; 62], 173, 1), true, &[(one, 0, ZERO), (two, 0, half)]);
}

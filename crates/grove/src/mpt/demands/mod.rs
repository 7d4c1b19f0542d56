//! The demands of the circuit of pieces: see [`evergrove_testkit::demands`].
//!
//! The strongest lies state another list of edges for a piece, or another content for the slot of a node.

mod argued;
mod entries;
mod header;
mod joins;
mod nodes;
mod pieces;
mod state;

use std::collections::HashMap;

use evergrove_ethereum::{Keys, Trie};
use evergrove_multilinear::circuit::{Builder, Circuit, Witness as Columns};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_testkit::demands::{Choices, Found, Lie, Report, Subject, integer, named, others};
use evergrove_verifier::ethereum::{Account, Address, Hash, Word, rlp};
use evergrove_verifier::tables::{Table, Tables, bits, query};

use super::*;

/// Elements of a piece's statement: the digests of two lists. Its free data begin with them.
const STATEMENT: usize = 2 * WORD;

/// The place of the stream in the free data of a piece.
const STREAM: usize = 4 * WORD;

/// True if a piece states other lists.
fn other_lists(subject: &Subject, free: &[Goldilocks], _: &Columns) -> bool {
    free[..STATEMENT] != subject.free[..STATEMENT]
}

/// Lies about data behind a stream of bytes.
trait Streamed {
    /// Replaces elements wherever they are behind the stream.
    fn replace(self, old: &[Goldilocks], new: &[Goldilocks]) -> Self;
    /// The places of elements behind the stream.
    fn find(&self, elements: &[Goldilocks]) -> Vec<usize>;
    /// Changes bytes of the stream.
    fn bytes(self, at: usize, bytes: &[u8]) -> Self;
}

impl Streamed for Lie<'_> {
    fn replace(mut self, old: &[Goldilocks], new: &[Goldilocks]) -> Self {
        let all: Vec<usize> = self.find(old);
        assert!(!all.is_empty(), "{old:?}");
        for at in all {
            self.free[at..at + new.len()].copy_from_slice(new);
        }
        self
    }
    fn find(&self, elements: &[Goldilocks]) -> Vec<usize> {
        let windows = self.free.windows(elements.len()).enumerate();
        let begin = self.subject.circuit.rows(Table::Bytes).min(1) * STREAM;
        windows.filter(|(at, own)| *at > begin && *own == elements).map(|(at, _)| at).collect()
    }
    fn bytes(mut self, at: usize, bytes: &[u8]) -> Self {
        for (at, &byte) in (at..).zip(bytes) {
            let (element, shift) = (&mut self.free[STREAM + at / 4], 8 * (at % 4));
            *element = Goldilocks::new(element.as_u64() & !(0xff << shift) | u64::from(byte) << shift);
        }
        self
    }
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

/// The lies that are made one by one, without a search.
#[test]
fn the_line_of_each_lie_alone_refuses_it() {
    let mut report = Report::new(argued::LINES);
    nodes::each(&mut report, false);
    nodes::each(&mut report, true);
    state::each(&mut report);
    entries::each(&mut report);
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
}

#[test]
#[ignore = "slow: minutes of processor time, thousands of false witnesses"]
fn demands_that_refuse_a_lie_alone() {
    let mut report = Report::new(argued::LINES);
    nodes::all(&mut report, false);
    nodes::all(&mut report, true);
    state::each(&mut report);
    pieces::of_state(&mut report);
    entries::each(&mut report);
    pieces::of_entries(&mut report);
    insta::assert_snapshot!("demands", report.text());
    report.check();
}

//! Free data of a piece, in the order of its rows.

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::ethereum::{Claim, Tag, rlp};
use evergrove_verifier::poseidon;
use evergrove_verifier::tables::WORD;

use super::super::claims::ENTRIES;
use super::super::entries::{self, HALF_STEP, STEP};
use super::super::gadgets::{LANES, ONE, ZERO, number};
use super::super::header::HeaderSlot;
use super::super::{EDGE_ELEMENTS, Edge, Size, Trie};
use super::{AccountSlot, Child, End, EntrySlot, Link, Node, Number, OpenSlot, StorageSlot, halves, lanes, nibbles_of};
use crate::translation;

/// The address of a value's first step is this many bytes before the value.
const SIXTEEN: Goldilocks = Goldilocks::new(HALF_STEP as u64);

/// Free data in the order of rows.
pub(super) struct Data {
    pub(super) size: Size,
    pub(super) free: Vec<Goldilocks>,
}

impl Data {
    pub(super) fn words<const N: usize>(&mut self, words: [[Goldilocks; WORD]; N]) {
        self.free.extend(words.as_flattened());
    }
    pub(super) fn bits(&mut self, bits: impl IntoIterator<Item = bool>) {
        self.free.extend(bits.into_iter().map(number));
    }
    pub(super) fn numbers(&mut self, numbers: impl IntoIterator<Item = usize>) {
        self.free.extend(numbers.into_iter().map(|x| Goldilocks::new(x as u64)));
    }
    pub(super) fn nothing(&mut self, count: usize) {
        self.free.extend((0..count).map(|_| ZERO));
    }
    pub(super) fn number(&mut self, number: Number) {
        self.free.push(number.element(self.size));
    }
    /// The number of a trie in the circuit.
    pub(super) fn trie(&self, trie: Trie<usize>) -> Goldilocks {
        match trie {
            Trie::State => ZERO,
            Trie::Storage(account) => Number::Account(account).element(self.size),
            Trie::Entries(tag) => Goldilocks::new(ENTRIES + tag as u64),
        }
    }
    /// An account's number, 0 without an account.
    fn account_number(&self, account: Option<usize>) -> Goldilocks {
        account.map_or(ZERO, |account| Number::Account(account).element(self.size))
    }
    pub(super) fn place(&mut self, depth: i64, trie: Trie<usize>, root: usize, nibbles: &[u8]) {
        self.free.push(if depth < 0 { -ONE } else { Goldilocks::new(depth as u64) });
        self.free.push(self.trie(trie));
        self.numbers([root]);
        self.free.extend(lanes(nibbles));
    }
    pub(super) fn link(&mut self, link: &Link) {
        self.number(link.from);
        self.numbers([link.nibble.into()]);
        self.place(link.depth, link.trie, link.root, &link.prefix);
    }
    /// A root, with its account and the number of the root that the account is below.
    pub(super) fn root(&mut self, i: usize, edge: Option<&Edge>, account: Option<(usize, usize)>) {
        if i > 0 {
            self.bits([edge.is_some()]);
        }
        match edge {
            Some(edge) => self.free.extend(edge.elements()),
            None => self.nothing(EDGE_ELEMENTS),
        }
        self.free.push(self.account_number(account.map(|account| account.0)));
        self.numbers([account.map_or(0, |account| account.1)]);
    }
    /// An open edge, with its account and the number of the root that the account is below.
    pub(super) fn open(
        &mut self,
        slot: Option<&OpenSlot>,
        account: Option<(usize, usize)>,
        order: &[[Goldilocks; 1 + LANES]],
    ) {
        let Some(OpenSlot { link, edge }) = slot else {
            return self.nothing(1 + 10 + EDGE_ELEMENTS + 1 + 1 + 2 * (1 + LANES));
        };
        self.bits([true]);
        self.link(link);
        self.free.extend(edge.elements());
        self.numbers([account.map_or(0, |account| account.1)]);
        let [a, b, c, d, e] = lanes(&edge.prefix);
        let low = [self.trie(link.trie), a, b, c, d, e].map(Goldilocks::as_u64);
        let before = order[1..].partition_point(|key| key.map(Goldilocks::as_u64) < low);
        self.numbers([self.size.first_account() - 1 + before]);
        self.free.extend(order[before..].iter().take(2).flatten());
    }
    pub(super) fn message(&mut self, node: &Node) {
        self.numbers([node.start, node.end]);
        let hash = if let Child::Hash(hash) = node.link.child { translation::halves(&hash) } else { [[ZERO; WORD]; 2] };
        self.words(hash);
    }
    pub(super) fn header(&mut self, slot: Option<&HeaderSlot>) {
        let part = |tag: Tag| slot.and_then(|slot| slot.digests.iter().find(|own| own.0 == tag)).map(|own| own.1);
        let parts = Tag::ALL.map(part);
        self.bits([slot.is_some()]);
        self.words(slot.map_or([[ZERO; WORD]; 2], |slot| translation::halves(&slot.header.hash)));
        self.words(parts.map(|part| part.unwrap_or(Digest::ZERO).0));
        // Its message is behind those of the nodes.
        let [start, end] =
            slot.map_or([0; 2], |slot| [self.size.blocks * RATE_BYTES, self.size.blocks + slot.header.blocks]);
        self.numbers([start, end]);
        self.bits(parts.map(|part| part.is_some()));
    }
    /// The operands of a hash in a tree over a set, if the hash is used.
    pub(super) fn pair(&mut self, pair: Option<&[Digest; 2]>) {
        self.words(pair.map_or([[ZERO; WORD]; 2], |pair| pair.map(|digest| digest.0)));
        self.bits([pair.is_some()]);
    }
    pub(super) fn branch(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return self.nothing(22) };
        self.bits([true]);
        self.link(&node.link);
        self.bits([node.link.extension]);
        self.message(node);
    }
    pub(super) fn path(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return self.nothing(23) };
        self.bits([true, node.leaf, matches!(node.link.child, Child::Embedded(..))]);
        self.link(&node.link);
        self.message(node);
    }
    /// Free data of `present` and of `absent`.
    pub(super) fn end(&mut self, end: Option<&End>, root: usize, key: &[u8]) {
        match end {
            None | Some(End::There(_)) => self.nothing(3 + 19),
            Some(End::Present { path, item, .. }) => {
                self.number(Number::Path(*path));
                self.numbers([*item, root]);
                self.nothing(19);
            }
            Some(End::Nothing(link)) => {
                self.nothing(3);
                self.bits([false, matches!(link.child, Child::Hash(_))]);
                self.link(link);
                self.nothing(7);
            }
            Some(End::Other { path, own }) => {
                self.nothing(3);
                self.bits([true, false]);
                self.number(Number::Path(*path));
                self.numbers([0]);
                self.place(own.depth as i64, own.trie, own.root, &own.prefix);
                self.numbers([own.end.len(), own.behind]);
                let at = nibbles_of(key).iter().zip(&own.end).position(|(a, b)| a != b).expect("another path");
                let back = own.end.len() - 1 - at;
                self.numbers([back / 2, back % 2, at / 2, at % 2, key[at / 2].into()]);
            }
        }
    }
    pub(super) fn account(&mut self, slot: Option<&AccountSlot>) {
        let present = slot.is_some_and(AccountSlot::is_present);
        let claim = slot.and_then(|slot| slot.claim.as_ref());
        let foreign = slot.is_some_and(|slot| slot.end.is_none());
        self.bits([slot.is_some(), present, claim.is_some(), foreign]);
        let address = slot.map_or([0; 20], |slot| slot.address);
        let mut words: Vec<Goldilocks> = halves(&address).collect();
        let last = words[4];
        words.resize(2 * WORD, ZERO);
        self.free.extend(words);
        self.free.extend([last, ONE, ZERO, ZERO]);
        self.nothing(WORD);
        let root = slot.map_or(0, |slot| slot.root);
        self.end(slot.and_then(|slot| slot.end.as_ref()), root, &keccak_256(&address));
        match claim.filter(|_| present) {
            Some(elements) => self.free.extend(elements),
            None => self.nothing(32),
        }
    }
    pub(super) fn slot(&mut self, slot: Option<&StorageSlot>, accounts: &[AccountSlot]) {
        let present = slot.is_some_and(|slot| matches!(slot.end, Some(End::Present { .. })));
        self.bits([slot.is_some(), present]);
        let account = slot.map(|slot| &accounts[slot.account]);
        let (address, number) = (account.map_or([0; 20], |account| account.address), slot.map_or([0; 32], |s| s.slot));
        let zero = Claim::Slot { address, slot: number, value: [0; 32] };
        self.free.extend(zero.elements().1);
        self.free.push(self.account_number(slot.map(|slot| slot.account)));
        self.numbers([account.map_or(0, |account| account.root)]);
        self.bits([account.is_some_and(AccountSlot::is_known)]);
        self.words(translation::halves(&number));
        self.end(slot.and_then(|slot| slot.end.as_ref()), slot.map_or(0, |slot| slot.root), &keccak_256(&number));
        match slot.filter(|_| present) {
            Some(slot) => self.free.extend(&slot.value),
            None => self.nothing(24),
        }
    }
    /// The steps of the entries' leaf digests, one entry after the other. Each unused step begins a value at address 0.
    pub(super) fn steps(&mut self, entries: &[EntrySlot], stream: &[u8]) {
        let mut made = 0;
        let mut state = entries::BEGIN;
        for entry in entries {
            let Some(value) = entry.value() else { continue };
            let elements = entry.elements(&stream[value.clone()]);
            let count = elements.len() / (2 * WORD);
            for (i, words) in elements.as_chunks::<WORD>().0.as_chunks::<2>().0.iter().enumerate() {
                if i == 0 {
                    state = entries::BEGIN;
                }
                let begin = if i == 0 { Goldilocks::new(value.start as u64) - SIXTEEN } else { ZERO };
                self.step(made, [i == 0, i + 1 == count], begin, state, *words);
                state = poseidon::digest(poseidon::join(*words, state));
                made += 1;
            }
        }
        let mut second = [ZERO; WORD];
        halves(&stream[HALF_STEP..2 * HALF_STEP]).zip(&mut second).for_each(|(half, own)| *own = half);
        for made in made..self.size.steps {
            self.step(made, [true, false], ZERO, entries::BEGIN, [[ZERO; WORD], second]);
        }
    }
    fn step(
        &mut self,
        made: usize,
        [first, last]: [bool; 2],
        begin: Goldilocks,
        state: [Goldilocks; WORD],
        words: [[Goldilocks; WORD]; 2],
    ) {
        self.bits([last]);
        self.free.push(begin);
        if made > 0 {
            self.bits([first]);
            self.words([state, [ZERO; WORD]]);
        }
        self.words(words);
    }
    /// An entry. `start` is the number of its value's first step.
    pub(super) fn entry(&mut self, slot: Option<&EntrySlot>, start: usize, stream: &[u8]) {
        let value = slot.and_then(EntrySlot::value);
        self.bits([slot.is_some(), value.is_some()]);
        let (trie, index) = slot.map_or((Tag::Transactions, 0), |slot| (slot.trie, slot.index));
        self.free.extend(Claim::AbsentEntry { trie, index }.elements().1);
        self.end(slot.map(|slot| &slot.end), slot.map_or(0, |slot| slot.root), &rlp::integer(index));
        let (Some(value), Some(slot)) = (value, slot) else { return self.nothing(2 + 4 * WORD) };
        let elements = slot.elements(&stream[value.clone()]);
        let steps = elements.as_chunks::<WORD>().0.as_chunks::<2>().0;
        let address = Goldilocks::new((value.start + STEP * (steps.len() - 1)) as u64) - SIXTEEN;
        self.free.extend([address, Goldilocks::new(start as u64)]);
        let digest = steps.iter().fold(entries::BEGIN, |state, step| poseidon::digest(poseidon::join(*step, state)));
        self.words([steps[0][0], digest]);
        self.words(steps[steps.len() - 1]);
    }
}

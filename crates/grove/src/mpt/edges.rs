//! Edges between pieces, and the circuit's slots for them: roots, at which a piece begins, and open edges, at which it
//! ends.

use evergrove_multilinear::circuit::wires::{Base, Bool, Element, Set, Word};
use evergrove_multilinear::circuit::{Arithmetic, Hint};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::ethereum::{Address, Hash, Tag};
use evergrove_verifier::poseidon;
use evergrove_verifier::tables::WORD;

use super::claims::{ENTRIES, LANE_ZEROS, NO_ENTRIES};
use super::gadgets::{Gadgets, LANES, NIBBLES, ONE, Place, ZERO, code, number};
use super::plan;
use super::witness::{halves, lanes};
use super::{ADDRESS, EDGE_ELEMENTS, EDGE_TAG};

/// The trie of a block that contains a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trie<A> {
    /// The trie of accounts.
    State,
    /// The storage trie of an account.
    Storage(A),
    /// The trie of transactions, receipts or withdrawals, keyed by index.
    Entries(Tag),
}

impl<A> Trie<A> {
    /// The trie whose root has this tag.
    pub fn of(tag: Tag) -> Self {
        if tag == Tag::State { Self::State } else { Self::Entries(tag) }
    }
    /// The account, for a storage trie.
    pub fn account(self) -> Option<A> {
        if let Self::Storage(account) = self { Some(account) } else { None }
    }
    /// 0 for the state, 1 for storage, otherwise the tag.
    pub(super) fn number(&self) -> u8 {
        match self {
            Self::State => 0,
            Self::Storage(_) => 1,
            Self::Entries(tag) => *tag as u8,
        }
    }
    /// Renames the account.
    pub(super) fn map<B>(self, name: impl FnOnce(A) -> B) -> Trie<B> {
        match self {
            Self::State => Trie::State,
            Self::Storage(account) => Trie::Storage(name(account)),
            Self::Entries(tag) => Trie::Entries(tag),
        }
    }
}

/// A node's place and hash, and d of the claims below it. The edge is true if for each state with this node at this
/// place there are claims with distinct keys, all of them true and below the place, and d is the root of a tree over
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The trie that contains the node.
    pub trie: Trie<Address>,
    /// The nibbles on the path to the node.
    pub prefix: Vec<u8>,
    /// The hash of the node.
    pub hash: Hash,
    /// d.
    pub digest: Digest,
}

impl Edge {
    /// The edge above the root with this tag.
    pub fn of_root(tag: Tag, root: Hash, digest: Digest) -> Self {
        Self { trie: Trie::of(tag), prefix: Vec::new(), hash: root, digest }
    }
    /// The place and the hash of its node.
    pub(super) fn place(&self) -> plan::Place {
        (self.trie, self.prefix.clone(), self.hash)
    }
    /// The elements of its digest.
    pub(super) fn elements(&self) -> [Goldilocks; EDGE_ELEMENTS] {
        let address = self.trie.account().unwrap_or_default();
        let address = halves(&address);
        let place = [self.trie.number().into(), self.prefix.len() as u64].map(Goldilocks::new);
        let hash = halves(&self.hash);
        let mut elements = address.chain(place).chain(lanes(&self.prefix)).chain(hash).chain(self.digest.0);
        core::array::from_fn(|_| elements.next().expect("as many elements"))
    }
    /// The digest of the list of this edge alone.
    pub fn list(&self) -> Digest {
        Self::list_of(&self.elements())
    }
    /// The digest of the list of an edge with these elements.
    pub(super) fn list_of(elements: &[Goldilocks; EDGE_ELEMENTS]) -> Digest {
        let mut state = [ZERO; WORD];
        state[0] = Goldilocks::new(u32::from_be_bytes(*EDGE_TAG).into());
        for step in elements.as_chunks::<WORD>().0.as_chunks::<2>().0 {
            state = poseidon::digest(poseidon::join(*step, state));
        }
        Digest(state)
    }
}

/// An edge chosen by the prover, as wires.
struct Said {
    digest: Word,
    /// First word of the address.
    address: Word,
    /// The last element of the address.
    rest: Base,
    storage: Bool,
    /// True in the trie of a tag.
    entries: Bool,
    /// 0 in the state's trie, 1 in storage, otherwise the tag.
    trie: Base,
    depth: Base,
    lanes: [Base; LANES],
    hash: [Word; 2],
    d: Word,
}

/// An open edge, with the range of keys below it.
pub(super) struct Open {
    bit: Bool,
    /// The first key behind the edge, minus 1 in the last lane: every key that is greater than this is at least the
    /// first key behind the edge.
    after: [Base; 1 + LANES],
}

impl<K: Extension> Gadgets<'_, K> {
    /// An edge that the prover chooses.
    fn said(&mut self) -> Said {
        let (digest, words) = self.chain(EDGE_TAG, EDGE_ELEMENTS);
        let fields = self.limbs(&words, ADDRESS + 2 + LANES);
        // The trie: 0, 1, or a tag from 2 to 4.
        let trie = fields[ADDRESS];
        let hints: [Hint; 4] = [
            |x| number(x[0] == ONE),
            |x| number(x[0].as_u64() >= 2),
            |x| number(x[0].as_u64() >= 3),
            |x| number(x[0].as_u64() >= 4),
        ];
        let [storage, entries, third, fourth] = hints.map(|hint| self.b.bit_of(&[trie], hint));
        self.implies(third, entries);
        self.implies(fourth, third);
        let one_of = self.b.add(storage.into(), entries.into());
        self.b.boolean(one_of);
        let tag = self.b.add(third.into(), fourth.into());
        let tag = self.b.scale_add(Goldilocks::new(2), entries.into(), tag);
        let said = self.b.add(storage.into(), tag);
        self.b.equal(trie, said);
        let lanes = core::array::from_fn(|i| fields[ADDRESS + 2 + i]);
        const { assert!(ADDRESS + 2 + LANES == 3 * WORD) };
        Said {
            digest,
            address: words[0],
            rest: fields[ADDRESS - 1],
            storage,
            entries,
            trie,
            depth: fields[ADDRESS + 1],
            lanes,
            hash: [words[3], words[4]],
            d: words[5],
        }
    }
    /// Demands, where the bit is 1, that this account be known and have the address of the edge.
    fn account_of(&mut self, edge: &Said, account: Base, bit: Bool) {
        let (root, one) = (self.b.any(), self.one);
        let offers = self.spaces.account;
        self.b.look_up(offers[0], account, one, edge.address, bit);
        self.b.look_up(offers[1], account, root, Element::from(edge.rest).into(), bit);
    }

    /// The number of an edge's trie: 0 for the state, the number of the account for its storage, [`ENTRIES`] plus the
    /// tag for entries.
    fn number_of(&mut self, edge: &Said, account: Base) -> Base {
        let of_entries = self.plus(edge.trie, ENTRIES);
        let of_entries = self.b.mul(edge.entries.into(), of_entries);
        self.b.mul_add(edge.storage.into(), account, of_entries)
    }

    /// One slot for a root, used or not; the first slot is used. Claims below the root have its d.
    pub(super) fn root(&mut self, own: u64, active: Bool, claims: Set, edges: Set) {
        let own = self.constant(own);
        let edge = self.said();
        // Lanes have 60 bits, so open edges below the root are ordered as numbers, without a wrap.
        for lane in edge.lanes {
            self.b.zeros(lane, LANE_ZEROS);
        }
        let account = self.b.any();
        self.account_of(&edge, account, edge.storage);
        let trie = self.number_of(&edge, account);
        let one = self.one;
        let depth = self.b.sub(edge.depth, one);
        let lanes = self.packed(edge.lanes);
        let [hash, none] = [code::HASH, code::NONE].map(|code| self.constant(code));
        let said = self.b.select(active, hash, none);
        self.offer_root(own, Place { depth, trie, root: own, lanes }, said, edge.hash);
        self.b.take_at(claims, own, edge.d, active);
        self.b.give(edges, edge.digest, Some(active));
    }

    /// One slot for an open edge, used or not: a hash whose node the piece does not look up. Neither a claim of the
    /// piece nor another open edge is below it.
    pub(super) fn open(&mut self, before: Option<&Open>, claims: Set, edges: Set) -> Open {
        let active = self.b.bit();
        let ([from, nibble], place) = self.edge(active);
        let (child, hash) = (self.spaces.child, self.constant(code::HASH));
        self.b.look_up(child, from, nibble, Element::from(hash).into(), active);
        let edge = self.said();
        for (offers, word) in self.spaces.hash.into_iter().zip(edge.hash) {
            self.b.look_up(offers, from, nibble, word, active);
        }
        self.implies(edge.storage, active);
        self.account_of(&edge, place.trie, edge.storage);
        let trie = self.number_of(&edge, place.trie);
        self.same(active, place.trie, trie);
        // Without an account the address is zero.
        let other = self.b.sub(active.into(), edge.storage.into());
        let other = self.b.boolean(other);
        let none = self.b.word([ZERO; WORD]);
        self.same_word(other, edge.address, none);
        self.vanishes(other, edge.rest);
        self.same(active, edge.depth, place.depth);
        let lanes = self.packed(edge.lanes);
        for (found, expected) in place.lanes.into_iter().zip(lanes) {
            self.same_pair(active, found, expected);
        }
        self.b.give_at(claims, place.root, edge.d, active);
        self.b.give(edges, edge.digest, Some(active));

        // Keys below the edge range from its nibbles followed by zeros to below its nibbles plus one. The depth is not
        // 64: no nibble follows there.
        let all = self.constant(NIBBLES);
        let rest = self.b.sub(all, edge.depth);
        let inverse = self.b.any_of(&[rest], |x| x[0].inverse().unwrap_or_default());
        let product = self.b.mul(rest, inverse);
        let one = self.one;
        self.same(active, product, one);
        let weight = self.weight(edge.depth, active);
        let mut lanes: [Base; LANES] =
            core::array::from_fn(|i| self.b.scale_add(Goldilocks::new(16), weight[i], edge.lanes[i]));
        lanes[LANES - 1] = self.b.sub(lanes[LANES - 1], one);
        let of = |[a, b, c, d, e]: [Base; LANES]| [place.trie, a, b, c, d, e];
        let (low, after) = (of(edge.lanes), of(lanes));
        let number = self.b.any();
        let next = self.plus(number, 1);
        let [earlier, later] = [number, next].map(|number| self.ordered(number, active));
        self.rises([earlier, low], active);
        self.rises([after, later], active);
        if let Some(before) = before {
            self.implies(active, before.bit);
            self.rises([before.after, low], active);
        }
        Open { bit: active, after }
    }

    /// Offers a key before the first one and a key behind the last one.
    pub(super) fn ends_of_order(&mut self, first: u64, last: u64) {
        let zero = self.zero;
        let before = self.b.constant(-ONE);
        let behind = self.constant(NO_ENTRIES);
        for (own, trie, lane) in [(first, zero, before), (last, behind, zero)] {
            let own = self.constant(own);
            self.order(own, [trie, lane, zero, zero, zero, zero]);
        }
    }
}

impl Open {
    /// True if the slot is used.
    pub(super) fn bit(&self) -> Bool {
        self.bit
    }
}

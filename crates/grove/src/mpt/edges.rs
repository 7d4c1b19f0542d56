//! Edges between pieces, and their slots: roots, which a piece begins at, and open edges, which it ends at.

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

/// Which trie of a block a node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trie<A> {
    /// That of the accounts.
    State,
    /// The storage of an account.
    Storage(A),
    /// Transactions, receipts or withdrawals by their index.
    Entries(Tag),
}

impl<A> Trie<A> {
    /// The trie whose root has this tag.
    pub fn of(tag: Tag) -> Self {
        if tag == Tag::State { Self::State } else { Self::Entries(tag) }
    }
    /// The account whose storage it is.
    pub fn account(self) -> Option<A> {
        if let Self::Storage(account) = self { Some(account) } else { None }
    }
    /// 0 for the state, 1 for storage, else the tag.
    pub(super) fn number(&self) -> u8 {
        match self {
            Self::State => 0,
            Self::Storage(_) => 1,
            Self::Entries(tag) => *tag as u8,
        }
    }
    /// The same for an account by another name.
    pub(super) fn map<B>(self, name: impl FnOnce(A) -> B) -> Trie<B> {
        match self {
            Self::State => Trie::State,
            Self::Storage(account) => Trie::Storage(name(account)),
            Self::Entries(tag) => Trie::Entries(tag),
        }
    }
}

/// A node's place and hash, and d of the claims below it. It is true if in each state in which this node is at this place there are claims with distinct keys, all of
/// them true and below the place, of which d is a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The trie that it is in.
    pub trie: Trie<Address>,
    /// The nibbles before it.
    pub prefix: Vec<u8>,
    /// The hash of the node.
    pub hash: Hash,
    /// d.
    pub digest: Digest,
}

impl Edge {
    /// The edge above the root with a tag.
    pub fn of_root(tag: Tag, root: Hash, digest: Digest) -> Self {
        Self { trie: Trie::of(tag), prefix: Vec::new(), hash: root, digest }
    }
    /// Its node's place and hash.
    pub(super) fn place(&self) -> plan::Place {
        (self.trie, self.prefix.clone(), self.hash)
    }
    /// What it is a chain over.
    pub(super) fn elements(&self) -> [Goldilocks; EDGE_ELEMENTS] {
        let address = self.trie.account().unwrap_or_default();
        let address = halves(&address);
        let place = [self.trie.number().into(), self.prefix.len() as u64].map(Goldilocks::new);
        let hash = halves(&self.hash);
        let mut elements = address.chain(place).chain(lanes(&self.prefix)).chain(hash).chain(self.digest.0);
        core::array::from_fn(|_| elements.next().expect("as many elements"))
    }
    /// Its digest: a list of one edge.
    pub fn list(&self) -> Digest {
        let mut state = [ZERO; WORD];
        state[0] = Goldilocks::new(u32::from_be_bytes(*EDGE_TAG).into());
        for step in self.elements().as_chunks::<WORD>().0.as_chunks::<2>().0 {
            state = poseidon::digest(poseidon::join(*step, state));
        }
        Digest(state)
    }
}

/// An edge of the prover's choice, as a circuit says it.
struct Said {
    digest: Word,
    /// First word of the address.
    address: Word,
    /// The rest of it.
    rest: Base,
    storage: Bool,
    /// In the trie of a tag.
    entries: Bool,
    /// 1 in storage, or the tag.
    trie: Base,
    depth: Base,
    lanes: [Base; LANES],
    hash: [Word; 2],
    d: Word,
}

/// An open edge: the keys that are below it.
pub(super) struct Open {
    bit: Bool,
    /// The last key less one in the last lane, so that what rises from it is at least the last key and one.
    after: [Base; 1 + LANES],
}

impl<K: Extension> Gadgets<'_, K> {
    /// An edge of the prover's choice.
    fn said(&mut self) -> Said {
        let (digest, words) = self.chain(EDGE_TAG, EDGE_ELEMENTS);
        let fields = self.limbs(&words, ADDRESS + 2 + LANES);
        // 0, 1, or a tag from 2 to 4.
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
    /// Demands, where the bit is 1, that an account is there with the address of an edge.
    fn account_of(&mut self, edge: &Said, account: Base, bit: Bool) {
        let (root, one) = (self.b.any(), self.one);
        let offers = self.spaces.account;
        self.b.look_up(offers[0], account, one, edge.address, bit);
        self.b.look_up(offers[1], account, root, Element::from(edge.rest).into(), bit);
    }

    /// The number of an edge's trie: 0 for the state, the number of the account for its storage.
    fn number_of(&mut self, edge: &Said, account: Base) -> Base {
        let of_entries = self.plus(edge.trie, ENTRIES);
        let of_entries = self.b.mul(edge.entries.into(), of_entries);
        self.b.mul_add(edge.storage.into(), account, of_entries)
    }

    /// A root, or none; the first one is there. Claims below it have its d.
    pub(super) fn root(&mut self, own: u64, active: Bool, claims: Set, edges: Set) {
        let own = self.constant(own);
        let edge = self.said();
        // Lanes of 60 bits: open edges below them rise as numbers do, without a wrap.
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

    /// An open edge, or none: a hash that no node of the piece is looked up for. No claim of the piece and no other open edge is below it.
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
        // Of no account: no address.
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

        // Keys below it: from its nibbles and zeros to less than its nibbles and one more. A node at depth 64 has no nibble behind it.
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

    /// Keys before the first and behind the last one.
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
    /// It is there.
    pub(super) fn bit(&self) -> Bool {
        self.bit
    }
}

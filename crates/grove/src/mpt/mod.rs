//! Claims about Ethereum's state, over the nodes that prove them: pieces, which cover many nodes without child proofs,
//! and joins of proofs.
//!
//! `docs/math/ethereum.md` has the statement, and the constraints of each slot of the circuits.

mod batch;
mod claims;
#[cfg(test)]
mod demands;
mod edges;
mod entries;
mod gadgets;
#[cfg(test)]
pub(crate) mod gates;
mod header;
mod list;
mod node;
mod plan;
mod proof;
mod witness;

use evergrove_multilinear::circuit::wires::{Bool, Set, Word};
use evergrove_multilinear::circuit::{Arithmetic, Builder};
use evergrove_multilinear::recursion::{About, Children, Modes};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::tables::WORD;

use gadgets::{Gadgets, LANES};
use header::HEADER_BLOCKS;

use crate::circuit::{NODE_TAG, free};

pub use batch::{Batch, Prepared, Progress};
pub use edges::{Edge, Trie};
pub(crate) use gadgets::same_word;
pub use list::Sublist;
pub use plan::{Plan, Planned};
pub use proof::{Join, Kind, Known, NodeProof, StateProof, StateProofError, StateProver, StateVerifier, Statement};
pub(crate) use witness::merge;
pub use witness::{Block, PieceError, Witness};

/// Elements of an address.
const ADDRESS: usize = 5;
/// Elements of an edge: address, trie, depth, lanes, hash, d.
const EDGE_ELEMENTS: usize = ADDRESS + 2 + LANES + 8 + WORD;
/// The tag of the digests of edges.
const EDGE_TAG: &[u8; 4] = b"ETHD";
/// The tag of lists of edges, ASCII "LIST".
const LIST_TAG: Goldilocks = Goldilocks::new(0x4c49_5354);

/// The room of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Keccak blocks of nodes.
    pub blocks: usize,
    /// Branches.
    pub branches: usize,
    /// Leaves and extensions.
    pub paths: usize,
    /// Accounts, claimed or with claimed slots.
    pub accounts: usize,
    /// Slots of storage.
    pub slots: usize,
    /// Roots: edges at which a piece begins.
    pub roots: usize,
    /// Open edges, at which a piece ends.
    pub opens: usize,
    /// Entries of transactions, receipts or withdrawals.
    pub entries: usize,
    /// Steps of the leaf digests of entries. A step takes 32 bytes of a value, the first step of a value 16.
    pub steps: usize,
    /// True with room for the header of a block.
    pub header: bool,
}

/// The number of counts in a [`Size`].
const COUNTS: usize = 9;

impl Size {
    /// No room at all.
    pub const NONE: Self = Self {
        blocks: 0,
        branches: 0,
        paths: 0,
        accounts: 0,
        slots: 0,
        roots: 0,
        opens: 0,
        entries: 0,
        steps: 0,
        header: false,
    };

    /// The number of the first path's slot, after roots and branches.
    fn first_path(&self) -> usize {
        self.roots + self.branches
    }
    /// The number of the first account's slot.
    fn first_account(&self) -> usize {
        self.first_path() + self.paths
    }
    /// The number of the first storage slot's slot.
    fn first_slot(&self) -> usize {
        self.first_account() + self.accounts
    }
    /// The number of the first entry's slot.
    fn first_entry(&self) -> usize {
        self.first_slot() + self.slots
    }
    /// Blocks of messages: those of nodes, then those of a header.
    fn messages(&self) -> usize {
        self.blocks.saturating_add(if self.header { HEADER_BLOCKS } else { 0 })
    }
    /// Keccak permutations: one per block, and one per hashed key.
    pub fn keccak_blocks(&self) -> usize {
        self.messages().saturating_add(self.accounts).saturating_add(self.slots)
    }
    /// The most claims.
    fn claims(&self) -> usize {
        self.accounts.saturating_add(self.slots).saturating_add(self.entries)
    }
    /// Slots for the inner nodes of the trees of claims.
    fn merges(&self) -> usize {
        self.claims() + self.opens - 1
    }
}

/// The modes of the rows of the table of bits.
pub fn modes() -> Modes {
    Modes { zeros: vec![claims::LANE_ZEROS], ..Modes::default() }
}

/// Adds the rows of a piece. Returns the key and the public words: the digest of the list of shown edges, and that of
/// the list of open edges, or 0. May be called once per circuit.
///
/// # Panics
/// Unless the builder's tables have the modes of [`modes`], and the size has room for a claim and a root.
pub fn piece<K: Extension>(b: &mut Builder<K>, size: Size) -> (Word, Vec<Word>) {
    assert!(size.claims() > 0 && size.roots > 0, "there is a claim, and it is below a root");
    let [shown, left_open] = free(b);
    let [key, _] = free(b);
    let [claims, roots, opens] = [(); 3].map(|()| b.set());
    let mut g = Gadgets::new(b);
    g.messages(size.messages());
    let yes = g.yes;
    for i in 0..size.roots {
        let active = if i == 0 { yes } else { g.b.bit() };
        g.root(i as u64, active, claims, roots);
    }
    if size.header {
        g.block(roots);
    }
    for i in 0..size.branches {
        g.branch((size.roots + i) as u64);
    }
    for i in 0..size.paths {
        g.path((size.first_path() + i) as u64);
    }
    g.ends_of_order(size.first_account() as u64 - 1, (size.first_entry() + size.entries) as u64);
    let mut before = None;
    for i in 0..size.accounts {
        before = Some(g.account((size.first_account() + i) as u64, before.as_ref(), claims));
    }
    let mut before = None;
    for i in 0..size.slots {
        before = Some(g.slot((size.first_slot() + i) as u64, before.as_ref(), claims));
    }
    g.values(size.steps);
    let mut before = None;
    for i in 0..size.entries {
        before = Some(g.entry((size.first_entry() + i) as u64, before.as_ref(), claims));
    }
    let (mut first, mut before) = (None, None);
    for _ in 0..size.opens {
        let open = g.open(before.as_ref(), claims, opens);
        first = first.or(Some(open.bit()));
        before = Some(open);
    }
    let tag = b.tag(NODE_TAG);
    for _ in 0..size.merges() {
        let (hash, [left, right]) = b.hash_free(tag);
        let (root, active) = (b.any(), b.bit());
        b.take_at(claims, root, left, active);
        b.take_at(claims, root, right, active);
        b.give_at(claims, root, hash.digest(), active);
    }
    list(b, roots, size.roots);
    b.take(roots, shown, Some(yes));
    let none = b.word([Goldilocks::ZERO; WORD]);
    match first {
        None => same_word(b, yes, left_open, none),
        Some(first) => {
            list(b, opens, size.opens);
            b.take(opens, left_open, Some(first));
            let not = b.not(first);
            same_word(b, not, left_open, none);
        }
    }
    (key, vec![shown, left_open])
}

/// The hashes of a list with at most `members` members.
fn list<K: Extension>(b: &mut Builder<K>, set: Set, members: usize) {
    let tag = b.tag(LIST_TAG);
    for _ in 1..members {
        let (hash, [left, right]) = b.hash_free(tag);
        let active = b.take(set, left, None);
        b.take(set, right, Some(active));
        b.give(set, hash.digest(), Some(active));
    }
}

/// The lists of a join: those of both proofs, and those that the join shows and leaves open. [`Join`] relates them.
struct Lists {
    proofs: [[Word; 2]; 2],
    own: [Word; 2],
}

fn lists<K: Extension>(b: &mut Builder<K>, parts: bool) -> Lists {
    let tag = b.tag(LIST_TAG);
    let (both, shown) = b.hash_free(tag);
    let open = free(b);
    let own = free(b);
    let [below, alone] = [b.bit(), b.bit()];
    let none = b.word([Goldilocks::ZERO; WORD]);
    same_word(b, alone, own[0], shown[0]);
    same_word(b, alone, own[1], open[0]);
    same_word(b, below, own[0], shown[0]);
    same_word(b, below, own[1], open[1]);
    let mut all = below;
    if parts {
        let some = b.bit();
        let not_some = b.not(some);
        all = b.and(below, not_some);
        let some = b.and(below, some);
        list::part(b, shown[1], open[0], some);
    }
    same_word(b, all, open[0], shown[1]);
    let [not_below, not_alone] = [b.not(below), b.not(alone)];
    let beside = b.and(not_below, not_alone);
    same_word(b, beside, own[0], both.digest());
    for word in [open[0], open[1], own[1]] {
        same_word(b, beside, word, none);
    }
    Lists { proofs: [[shown[0], open[0]], [shown[1], open[1]]], own }
}

/// The lists of a join of two proofs of pieces or of two joins, the key of its own circuit, and for each proof which
/// circuit it is of.
struct Joined {
    lists: Lists,
    key: Word,
    circuits: [Bool; 2],
}

/// The join of two proofs of pieces, without the proofs.
fn joined_pieces<K: Extension>(b: &mut Builder<K>) -> Joined {
    let lists = lists(b, false);
    let [key, _] = free(b);
    // Both circuits of a key of pieces are the same one.
    let first = b.zero();
    let first = b.boolean(first);
    Joined { lists, key, circuits: [first; 2] }
}

/// The join of two joins, without their proofs.
fn joined_joins<K: Extension>(b: &mut Builder<K>) -> Joined {
    let lists = lists(b, true);
    let [key, _] = free(b);
    let circuits = [b.bit(), b.bit()];
    Joined { lists, key, circuits }
}

/// The join of two proofs of pieces, whose key has these parameters and this digest. Publishes the join's lists and the
/// digest of a claim about the fixed columns of pieces, which it passes on.
pub fn join_of_pieces<K: Extension>(parameters: &Parameters<K>, pieces: (&Parameters<K>, Digest)) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let Joined { lists: Lists { proofs, own: [shown, open] }, key, circuits } = joined_pieces(b);
    let mut about = About::new(pieces.0, b.word(pieces.1.0));
    for (circuit, proof) in circuits.into_iter().zip(proofs) {
        about.proof(b, circuit, &proof);
    }
    let claim = about.hand_on(b, Vec::new());
    Children::new(b, parameters, key).publish(vec![shown, open, claim]);
    builder
}

/// The join of two joins. The first one may leave open a part of the edges that the second one shows.
pub fn join_of_joins<K: Extension>(parameters: &Parameters<K>, pieces: (&Parameters<K>, Digest)) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let Joined { lists: Lists { proofs, own: [shown, open] }, key, circuits } = joined_joins(b);
    let mut about = About::new(pieces.0, b.word(pieces.1.0));
    let claims = [about.claim(b), about.claim(b)];
    let claim = about.hand_on(b, Vec::new());
    let mut children = Children::new(b, parameters, key);
    for ((circuit, proof), claim) in circuits.into_iter().zip(proofs).zip(claims) {
        children.child(circuit, &[proof[0], proof[1], claim]);
    }
    children.publish(vec![shown, open, claim]);
    builder
}

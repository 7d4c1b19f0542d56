//! What a prover knows: claims, the nodes on the paths of their keys, and the contents of each slot of a piece.

mod data;
mod slots;
mod walks;

use std::collections::{BTreeMap, HashMap};

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::ethereum::rlp::{self, RlpError};
use evergrove_verifier::ethereum::{Account, Address, Claim, ClaimsError, Hash, Header, Roots, Tag, canonical_digest};
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tree::node_digest;

use data::Data;
use slots::OpenSlot;
use walks::Walks;

pub(super) use slots::{AccountSlot, Child, End, EntrySlot, Link, Node, Number, Own, StorageSlot};

use super::claims::{ENTRIES, LANE_ZEROS, NO_ENTRIES, NO_TRIE};
use super::edges::Trie;
use super::entries::INDICES;
use super::gadgets::{LANES, ONE, ZERO, lane};
use super::header::HeaderSlot;
use super::list::List;
use super::plan::Planned;
use super::{COUNTS, Edge, Size};

/// Reasons why nodes and claims cannot be proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// The claims are not a batch.
    #[error("{0}")]
    Claims(#[from] ClaimsError),
    /// A claim is about a trie whose root was not given.
    #[error("claim {place} is about {trie}, whose root is not known: take the header of the block, or name the root")]
    Root {
        /// The claim's place in the input.
        place: usize,
        /// The trie.
        trie: Tag,
    },
    /// A header has another root.
    #[error("the {0} root is not that of the header: take header and root of one block")]
    Header(Tag),
    /// Claims about withdrawals in a block whose header circuits cannot read.
    #[error(
        "the header has a field of more than 55 bytes before the root of withdrawals: prove claims about withdrawals by roots"
    )]
    LongField,
    /// No claim is about this root.
    #[error("no claim is about the {0} root: leave it out")]
    Idle(Tag),
    /// A claim is about an index that circuits cannot have.
    #[error("claim {place} is about index {index}: circuits have indices below {INDICES}")]
    Index {
        /// The claim's place in the input.
        place: usize,
        /// The index.
        index: u64,
    },
    /// A node is missing.
    #[error("the node with hash 0x{} is missing: add the proof of the key that it is on the way of", hex(&.0[..]))]
    Missing(Box<Hash>),
    /// A node is invalid.
    #[error("the node with hash 0x{} is invalid: {}", hex(&.0[..]), .1)]
    Node(Box<Hash>, String),
    /// The value of a leaf is not an account.
    #[error("the leaf of account 0x{} is invalid: {}", hex(&.0[..]), .1)]
    Account(Box<Address>, String),
    /// A claim is false.
    #[error("claim {place} is false: {claim}")]
    False {
        /// The claim's place in the input.
        place: usize,
        /// The claim.
        claim: Box<Claim>,
    },
    /// The circuit has no room for the witness.
    #[error("{needed} {what} are more than the {room} of the circuit: prove fewer claims at once")]
    Room {
        /// The kind of item.
        what: &'static str,
        /// The number of items.
        needed: usize,
        /// The number of items that fit.
        room: usize,
    },
    /// No circuit is large enough.
    #[error("{blocks} blocks of Keccak are too many for one proof: prove a batch")]
    TooLarge {
        /// The blocks of the nodes.
        blocks: usize,
    },
    /// The nodes that must stay together are too many for a piece.
    #[error(
        "nodes that stay together, with {claims} claims that end there, are more than a piece has room for: prove the claims in several batches"
    )]
    Crowded {
        /// The claims that end at these nodes.
        claims: usize,
    },
    /// A new proof does not verify.
    #[error("a fresh proof is refused ({0}): the machine or the program is faulty")]
    Internal(String),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A block as a prover knows it: roots, each with claims, and the header that has them if the proof is to name the
/// block's hash in the place of the roots.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The roots.
    pub roots: &'a Roots,
    /// The header.
    pub header: Option<&'a Header>,
}

impl<'a> From<&'a Roots> for Block<'a> {
    fn from(roots: &'a Roots) -> Self {
        Self { roots, header: None }
    }
}

/// Nodes and claims, and the contents of each slot of a circuit.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The list of edges that it shows, and the list that it leaves open.
    lists: [Digest; 2],
    digests: Vec<Digest>,
    stream: Vec<u8>,
    goes_on: Vec<bool>,
    roots: Vec<Edge>,
    pub(super) header: Option<HeaderSlot>,
    pub(super) branches: Vec<Node>,
    pub(super) paths: Vec<Node>,
    pub(super) accounts: Vec<AccountSlot>,
    pub(super) slots: Vec<StorageSlot>,
    pub(super) entries: Vec<EntrySlot>,
    opens: Vec<OpenSlot>,
    /// The operands of the hashes in the trees of claims, each with the number of its root.
    merges: Vec<(usize, [Digest; 2])>,
    /// The operands of the hashes in the lists of roots and of open edges.
    pairs: [Vec<[Digest; 2]>; 2],
}

/// An account that the search has found.
struct Found {
    /// Its number.
    number: usize,
    /// The link to its storage, if it is there.
    storage: Option<Link>,
    /// Its value, if it is there.
    value: Option<Vec<u8>>,
}

/// The search for the ends of a piece's claims.
struct Search<'p, 'n> {
    roots: &'p [Edge],
    walks: Walks<'n>,
    found: HashMap<Address, Found>,
    accounts: Vec<AccountSlot>,
    slots: Vec<StorageSlot>,
    entries: Vec<EntrySlot>,
}

impl<'p, 'n> Search<'p, 'n> {
    /// Finds the accounts of claims and edges, in the order of the hashes of their addresses.
    fn new(piece: &'p Planned, nodes: &'n dyn Fn(&Hash) -> Option<&'n [u8]>) -> Result<Self, PieceError> {
        let of_claims = piece.claims.iter().filter_map(|(_, claim)| match claim {
            Claim::Account { address, .. } | Claim::AbsentAccount { address } | Claim::Slot { address, .. } => {
                Some(*address)
            }
            Claim::Entry { .. } | Claim::AbsentEntry { .. } => None,
        });
        let opened = piece.open.as_ref().map(List::edges).unwrap_or_default();
        let of_edges = piece.roots.iter().chain(opened).filter_map(|edge| edge.trie.account());
        let addresses: BTreeMap<Hash, Address> =
            of_claims.chain(of_edges).map(|address| (keccak_256(&address), address)).collect();
        let mut search = Self {
            roots: &piece.roots,
            walks: Walks::new(nodes),
            found: HashMap::new(),
            accounts: Vec::new(),
            slots: Vec::new(),
            entries: Vec::new(),
        };
        for (key, address) in addresses {
            search.account(&nibbles_of(&key), address)?;
        }
        Ok(search)
    }
    /// The root whose edge is above these nibbles.
    fn covering(&self, trie: Trie<Address>, nibbles: &[u8]) -> Option<usize> {
        self.roots.iter().position(|edge| edge.trie == trie && nibbles.starts_with(&edge.prefix))
    }
    fn link(&self, root: usize, trie: Trie<usize>) -> Link {
        Link::root(root, trie, &self.roots[root])
    }
    fn account(&mut self, nibbles: &[u8], address: Address) -> Result<(), PieceError> {
        let number = self.accounts.len();
        let root = self.covering(Trie::State, nibbles);
        let end = match root {
            Some(root) => Some(self.walks.walk(self.link(root, Trie::State), nibbles)?),
            None => None,
        };
        let value = end.as_ref().and_then(|end| self.walks.value(end)).map(<[u8]>::to_vec);
        let account = value.as_deref().map(Account::from_rlp).transpose();
        let account = account.map_err(|e| PieceError::Account(Box::new(address), e.to_string()))?;
        let root = root.unwrap_or(0);
        let storage = account.map(|account| Link::storage(number, root, account.storage_root));
        self.found.insert(address, Found { number, storage, value });
        self.accounts.push(AccountSlot { address, end, root, claim: None });
        Ok(())
    }
    /// The link at which a search in an account's storage begins.
    fn storage(&self, address: &Address, nibbles: &[u8]) -> Option<Link> {
        let Found { number, storage, .. } = &self.found[address];
        let below = |root| self.link(root, Trie::Storage(*number));
        storage.clone().or_else(|| self.covering(Trie::Storage(*address), nibbles).map(below))
    }
    /// Finds where a claim ends. Returns its root.
    fn claim(&mut self, place: usize, claim: &Claim) -> Result<usize, PieceError> {
        let wrong = || PieceError::False { place, claim: Box::new(claim.clone()) };
        let (_, elements) = claim.elements();
        match claim {
            Claim::Account { address, .. } | Claim::AbsentAccount { address } => {
                let expected = if let Claim::Account { account, .. } = claim { Some(account.rlp()) } else { None };
                let Found { number, value, .. } = &self.found[address];
                if *value != expected {
                    return Err(wrong());
                }
                let account = &mut self.accounts[*number];
                account.claim = Some(elements);
                Ok(account.root)
            }
            Claim::Slot { address, slot, value } => {
                let account = self.found[address].number;
                let nibbles = nibbles_of(&keccak_256(slot));
                let link = self.storage(address, &nibbles);
                let root = link.as_ref().map_or(self.accounts[account].root, |link| link.root);
                let end = link.map(|link| self.walks.walk(link, &nibbles)).transpose()?;
                let found = end.as_ref().and_then(|end| self.walks.value(end));
                let zero = *value == [0; 32];
                let mut expected = Vec::new();
                rlp::write_string(&mut expected, rlp::trimmed(value));
                if found != (!zero).then_some(&expected[..]) {
                    return Err(wrong());
                }
                let value = if zero { Vec::new() } else { elements };
                self.slots.push(StorageSlot { account, slot: *slot, root, end, value });
                Ok(root)
            }
            &Claim::Entry { trie, index, .. } | &Claim::AbsentEntry { trie, index } => {
                let nibbles: Vec<u8> = nibbles_of(&rlp::integer(index));
                let own = Trie::of(trie);
                let root = self.covering(Trie::of(trie), &nibbles).ok_or(PieceError::Root { place, trie })?;
                let end = self.walks.walk(self.link(root, own), &nibbles)?;
                let expected = if let Claim::Entry { value, .. } = claim { Some(&value[..]) } else { None };
                if self.walks.value(&end) != expected {
                    return Err(wrong());
                }
                self.entries.push(EntrySlot { trie, index, root, end });
                Ok(root)
            }
        }
    }
    /// Finds an edge at which the piece ends.
    fn open(&mut self, edge: &Edge) -> Result<OpenSlot, PieceError> {
        let missing = || PieceError::Missing(Box::new(edge.hash));
        let link = match &edge.trie {
            Trie::Storage(address) => self.storage(address, &edge.prefix),
            &(Trie::State | Trie::Entries(_)) => {
                let own = edge.trie.map(|_| unreachable!("no storage"));
                self.covering(edge.trie, &edge.prefix).map(|root| self.link(root, own))
            }
        };
        match self.walks.walk_to(link.ok_or_else(missing)?, &edge.prefix)? {
            End::There(link) => Ok(OpenSlot { link, edge: edge.clone() }),
            _ => Err(missing()),
        }
    }
}

impl Witness {
    /// Collects the nodes on the paths of claims about tries of a block, as a piece that leaves no edge open.
    ///
    /// # Errors
    /// If a root or a node is missing or invalid, a claim is false, a root has no claim, or the header has another root.
    pub fn new<'b, 'a>(
        block: impl Into<Block<'b>>,
        nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>,
        claims: &[Claim],
    ) -> Result<Self, PieceError> {
        let Block { roots, header } = block.into();
        canonical_digest(claims)?;
        let edges = roots.iter().map(|&(tag, root)| {
            let digest = digest_under(tag, claims).map_err(|_| PieceError::Idle(tag))?;
            Ok(Edge::of_root(tag, root, digest))
        });
        let roots = edges.collect::<Result<Vec<Edge>, PieceError>>()?;
        let header = header.map(|header| HeaderSlot::new(header, &roots)).transpose()?;
        let all = claims.iter().enumerate().map(|(i, claim)| (i, claim.clone())).collect();
        Self::of_piece(&Planned { roots, header, claims: all, ..Planned::default() }, nodes)
    }

    /// Collects the nodes of a piece.
    ///
    /// # Errors
    /// The errors of [`Witness::new`].
    pub(super) fn of_piece<'a>(
        piece: &Planned,
        nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>,
    ) -> Result<Self, PieceError> {
        let mut order = Vec::new();
        for (place, claim) in &piece.claims {
            if let &Claim::Entry { index, .. } | &Claim::AbsentEntry { index, .. } = claim
                && index >= INDICES
            {
                return Err(PieceError::Index { place: *place, index });
            }
            order.push((claim.key(), *place, claim));
        }
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut found = Search::new(piece, nodes)?;
        let (roots, of_state) = (&piece.roots, piece.roots.iter().any(|edge| !matches!(edge.trie, Trie::Entries(_))));
        let mut leaves = vec![Vec::new(); roots.len()];
        for (key, place, claim) in order {
            if claim.tag() == Tag::State && !of_state {
                return Err(PieceError::Root { place, trie: Tag::State });
            }
            let root = found.claim(place, claim)?;
            leaves[root].push((key.bytes().to_vec(), claim.leaf_digest()));
        }
        let opened = piece.open.as_ref().map(List::edges).unwrap_or_default();
        let mut opens = Vec::new();
        for (edge, first) in opened.into_iter().zip(&piece.open_firsts) {
            let open = found.open(edge)?;
            leaves[open.link.root].push((first.clone(), edge.digest));
            opens.push(open);
        }
        opens.sort_by(|a, b| (a.link.trie, &a.edge.prefix).cmp(&(b.link.trie, &b.edge.prefix)));
        let (mut merges, mut digests) = (Vec::new(), Vec::new());
        for (root, leaves) in leaves.iter_mut().enumerate() {
            leaves.sort_unstable();
            let mut pairs = Vec::new();
            digests.push(merge(leaves, &mut pairs));
            merges.extend(pairs.into_iter().map(|pair| (root, pair)));
        }
        let shown = piece.header.as_ref().map_or_else(|| piece.shown().pairs(), |header| header.list().1);
        let pairs = [shown, piece.open.as_ref().map(List::pairs).unwrap_or_default()];
        let lists = piece.lists();
        let Search { walks: Walks { stream, goes_on, branches, paths, .. }, accounts, slots, entries, .. } = found;
        let roots = roots.clone();
        Ok(Self {
            lists,
            digests,
            stream,
            goes_on,
            roots,
            header: piece.header.clone(),
            branches,
            paths,
            accounts,
            slots,
            entries,
            opens,
            merges,
            pairs,
        })
    }
    /// The hashes of its nodes. Embedded nodes have no hash.
    pub(super) fn hashes(&self) -> impl Iterator<Item = Hash> {
        self.branches.iter().chain(&self.paths).filter_map(|node| match node.link.child {
            Child::Hash(hash) => Some(hash),
            Child::Empty | Child::Embedded(..) => None,
        })
    }
    /// For each count, the most that must stay together in every plan: the nodes down to edges that may be left open,
    /// these edges, and the claims that end at the nodes. All roots stay together.
    pub(super) fn crowd(&self) -> [usize; COUNTS] {
        let links: Vec<&Link> = self.branches.iter().chain(&self.paths).map(|node| &node.link).collect();
        let place = |number: Number| match number {
            Number::Branch(i) => Some(i),
            Number::Path(i) => Some(self.branches.len() + i),
            Number::Root(_) | Number::Account(_) => None,
        };
        let end_of = |account: usize| self.accounts[account].end.as_ref().map_or(Number::Root(0), End::at);
        // The topmost node of those that stay together.
        let head = |mut number: Number| loop {
            if let Number::Account(account) = number {
                number = end_of(account);
            }
            match place(number) {
                Some(i) if links[i].may_be_open() => return Some(i),
                Some(i) => number = links[i].from,
                None => return None,
            }
        };
        let mut counts: HashMap<Option<usize>, [usize; COUNTS]> = HashMap::new();
        counts.insert(None, Size { roots: self.roots.len(), ..Size::NONE }.counts());
        let mut add = |at: Option<usize>, more: Size| {
            let counts = counts.entry(at).or_default();
            *counts = core::array::from_fn(|i| counts[i] + more.counts()[i]);
        };
        let none = Size::NONE;
        for (i, node) in self.branches.iter().chain(&self.paths).enumerate() {
            let branches = usize::from(i < self.branches.len());
            let own = if i < self.branches.len() { Number::Branch(i) } else { Number::Path(i - self.branches.len()) };
            add(head(own), Size { blocks: node.blocks(), branches, paths: 1 - branches, ..none });
            if node.link.may_be_open() {
                add(head(node.link.from), Size { opens: 1, ..none });
            }
        }
        for i in 0..self.accounts.len() {
            add(head(end_of(i)), Size { accounts: 1, ..none });
        }
        for slot in &self.slots {
            let at = slot.end.as_ref().map_or(Number::Account(slot.account), End::at);
            add(head(at), Size { slots: 1, ..none });
        }
        for entry in &self.entries {
            add(head(entry.end.at()), Size { entries: 1, steps: entry.steps(), ..none });
        }
        counts.into_values().fold([0; COUNTS], |most, own| core::array::from_fn(|i| most[i].max(own[i])))
    }
    /// The number of nodes of the state's trie above a depth, and the number of hashed nodes at this depth.
    pub(super) fn around(&self, depth: u8) -> [usize; 2] {
        let of_state =
            || self.branches.iter().chain(&self.paths).map(|node| &node.link).filter(|link| link.trie == Trie::State);
        let hash = |link: &&Link| matches!(link.child, Child::Hash(_));
        let depths = |link: &Link| link.place().len().cmp(&depth.into());
        [
            of_state().filter(|link| depths(link).is_lt()).count(),
            of_state().filter(hash).filter(|link| depths(link).is_eq()).count(),
        ]
    }
    /// The edges above its roots.
    pub(super) fn root_edges(&self) -> &[Edge] {
        &self.roots
    }
    /// The lists of edges that it shows and leaves open.
    pub fn lists(&self) -> [Digest; 2] {
        self.lists
    }
    /// For each root, d of the claims and open edges below it.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }
    /// The room that it needs, with at least one block.
    pub fn size(&self) -> Size {
        Size {
            blocks: self.goes_on.len().max(1),
            branches: self.branches.len(),
            paths: self.paths.len(),
            accounts: self.accounts.len(),
            slots: self.slots.len(),
            roots: self.roots.len(),
            opens: self.opens.len(),
            entries: self.entries.len(),
            steps: self.entries.iter().map(EntrySlot::steps).sum(),
            header: self.header.is_some(),
        }
    }
    fn check_room(&self, size: Size) -> Result<(), PieceError> {
        let needed = self.size();
        for (what, needed, room) in [
            ("blocks of Keccak", needed.blocks, size.blocks),
            ("branches", needed.branches, size.branches),
            ("leaves and extensions", needed.paths, size.paths),
            ("accounts", needed.accounts, size.accounts),
            ("slots", needed.slots, size.slots),
            ("roots", needed.roots, size.roots),
            ("open edges", needed.opens, size.opens),
            ("entries", needed.entries, size.entries),
            ("steps of values", needed.steps, size.steps),
            ("headers", needed.header.into(), size.header.into()),
        ] {
            if needed > room {
                return Err(PieceError::Room { what, needed, room });
            }
        }
        Ok(())
    }

    /// The free data of [`piece`](super::piece) in a circuit of this size, for this key.
    ///
    /// # Errors
    /// If the circuit has no room for the witness.
    pub fn data(&self, size: Size, key: [Goldilocks; WORD]) -> Result<Vec<Goldilocks>, PieceError> {
        self.check_room(size)?;
        let mut data = Data { size, free: Vec::new() };
        data.words(self.lists.map(|list| list.0));
        data.words([key, [ZERO; WORD]]);
        // Rows of sixteen bytes, then the bits that continue a message in the next block.
        let mut stream = self.stream.clone();
        let mut goes_on = self.goes_on.clone();
        goes_on.resize(size.blocks, false);
        stream.resize(size.blocks * RATE_BYTES, 0);
        if let Some(slot) = &self.header {
            let message = padded(&slot.header.bytes);
            goes_on.extend((0..message.len() / RATE_BYTES).map(|block| block > 0));
            stream.extend(message);
        }
        goes_on.resize(size.messages(), false);
        stream.resize((size.messages() * RATE_BYTES).next_multiple_of(16) + 16, 0);
        data.free.extend(halves(&stream));
        data.bits(goes_on.into_iter().skip(1));
        let account = |trie: Trie<Address>| {
            let own = |slot: &AccountSlot| Some(slot.address) == trie.account();
            self.accounts.iter().position(own).map(|i| (i, self.accounts[i].root))
        };
        for i in 0..size.roots {
            let root = self.roots.get(i);
            data.root(i, root, root.and_then(|root| account(root.trie)));
        }
        if size.header {
            data.header(self.header.as_ref());
        }
        for i in 0..size.branches {
            data.branch(self.branches.get(i));
        }
        for i in 0..size.paths {
            data.path(self.paths.get(i));
        }
        for i in 0..size.accounts {
            data.account(self.accounts.get(i));
        }
        for i in 0..size.slots {
            data.slot(self.slots.get(i), &self.accounts);
        }
        // The number of the first step of each entry.
        let mut starts = vec![0];
        data.steps(&self.entries, &stream);
        for entry in &self.entries {
            starts.push(starts[starts.len() - 1] + entry.steps());
        }
        for i in 0..size.entries {
            data.entry(self.entries.get(i), starts.get(i).copied().unwrap_or(0), &stream);
        }
        let order = self.order(size);
        for i in 0..size.opens {
            let open = self.opens.get(i);
            data.open(open, open.and_then(|open| account(open.edge.trie)), &order);
        }
        for i in 0..size.merges() {
            let pair = self.merges.get(i);
            data.words(pair.map_or([[ZERO; WORD]; 2], |(_, pair)| pair.map(|digest| digest.0)));
            data.numbers([pair.map_or(0, |(root, _)| *root)]);
            data.bits([pair.is_some()]);
        }
        for (pairs, members) in self.pairs.iter().zip([size.roots, size.opens]) {
            for i in 1..members {
                data.pair(pairs.get(i - 1));
            }
        }
        Ok(data.free)
    }
    /// Keys in the order of claims, starting with the one before the first account's key.
    fn order(&self, size: Size) -> Vec<[Goldilocks; 1 + LANES]> {
        let of = |trie: Goldilocks, key: &[u8]| {
            let lanes = lanes(&nibbles_of(key));
            [trie, lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]]
        };
        let mut order = vec![[ZERO, -ONE, ZERO, ZERO, ZERO, ZERO]];
        for i in 0..size.accounts {
            let slot = self.accounts.get(i);
            let mut key = of(ZERO, &keccak_256(&slot.map_or([0; 20], |slot| slot.address)));
            if slot.is_none() {
                key[1] = Goldilocks::new(1 << LANE_ZEROS.start);
            }
            order.push(key);
        }
        let behind = Goldilocks::new(NO_TRIE);
        for i in 0..size.slots {
            let slot = self.slots.get(i);
            let trie = slot.map_or(behind, |slot| Number::Account(slot.account).element(size));
            order.push(of(trie, &keccak_256(&slot.map_or([0; 32], |slot| slot.slot))));
        }
        let behind = Goldilocks::new(NO_ENTRIES);
        for i in 0..size.entries {
            let entry = self.entries.get(i);
            let trie = entry.map_or(behind, |entry| Goldilocks::new(ENTRIES + entry.trie as u64));
            order.push(of(trie, &rlp::integer(entry.map_or(0, |entry| entry.index))));
        }
        order.push([behind, ZERO, ZERO, ZERO, ZERO, ZERO]);
        order
    }
}

/// The blocks of a message, with Keccak's padding.
pub(super) fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut message = bytes.to_vec();
    message.push(1);
    message.resize(message.len().next_multiple_of(RATE_BYTES), 0);
    *message.last_mut().expect("a block") |= 0x80;
    message
}

/// d of the claims about one root.
pub(super) fn digest_under(tag: Tag, claims: &[Claim]) -> Result<Digest, ClaimsError> {
    let below: Vec<Claim> = claims.iter().filter(|claim| claim.tag() == tag).cloned().collect();
    canonical_digest(&below)
}

/// d of leaves ordered by their keys. Appends the operands of its hashes to `merges`.
pub(crate) fn merge(leaves: &[(Vec<u8>, Digest)], merges: &mut Vec<[Digest; 2]>) -> Digest {
    let [(first, leaf), .., (last, _)] = leaves else { return leaves[0].1 };
    debug_assert!(leaves.len() > 1, "{leaf:?}");
    let at = first.iter().zip(last).position(|(a, b)| a != b).expect("no key begins another");
    let bit = 1_u8 << (first[at] ^ last[at]).ilog2();
    let (left, right) = leaves.split_at(leaves.partition_point(|(key, _)| key[at] & bit == 0));
    let pair = [left, right].map(|half| merge(half, merges));
    merges.push(pair);
    node_digest(&pair[0], &pair[1])
}

fn invalid(hash: &Hash, error: RlpError) -> PieceError {
    PieceError::Node(Box::new(*hash), error.to_string())
}

pub(super) fn nibbles_of(key: &[u8]) -> Vec<u8> {
    key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()
}

/// The lanes of nibbles.
pub(super) fn lanes(nibbles: &[u8]) -> [Goldilocks; LANES] {
    let mut lanes = [ZERO; LANES];
    for (depth, &nibble) in nibbles.iter().enumerate() {
        let (own, weight) = lane(depth as u64);
        lanes[own] += Goldilocks::new(weight) * Goldilocks::new(nibble.into());
    }
    lanes
}

/// Numbers of four bytes each, in little-endian order.
pub(super) fn halves(bytes: &[u8]) -> impl Iterator<Item = Goldilocks> {
    bytes.chunks(4).map(|bytes| Goldilocks::new(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))))
}

//! What a prover knows: the nodes on the ways of keys, found once each, and the free data of the circuit.

use std::collections::{BTreeMap, HashMap};

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::ethereum::rlp::{self, Item, Reader, RlpError, RlpFault};
use evergrove_verifier::ethereum::{Account, Address, Claim, ClaimsError, EMPTY_ROOT, Hash, Word, sorted};
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tree::node_digest;

use super::Size;
use super::gadgets::{LANES, NIBBLES, ONE, ZERO, lane, number};
use crate::translation;

/// Nodes and claims that are not what a circuit says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// The claims are no batch.
    #[error("{0}")]
    Claims(#[from] ClaimsError),
    /// A claim that is not about the state.
    #[error("claim {0} is an entry of a list: only accounts and slots are proven")]
    Entry(usize),
    /// A node is missing.
    #[error("the node with hash 0x{} is missing: add the proof of the key that it is on the way of", hex(.0))]
    Missing(Box<Hash>),
    /// A node is invalid.
    #[error("the node with hash 0x{} is invalid: {}", hex(.0), .1)]
    Node(Box<Hash>, String),
    /// A claim is false.
    #[error("claim {place} is false: {claim}")]
    False {
        /// Its place.
        place: usize,
        /// The claim.
        claim: Box<Claim>,
    },
    /// The circuit has no room.
    #[error("{needed} {what} are more than the {room} of the circuit: prove fewer claims at once")]
    Room {
        /// Of what.
        what: &'static str,
        /// How many there are.
        needed: usize,
        /// How many fit.
        room: usize,
    },
    /// No circuit is as large.
    #[error("{blocks} blocks of Keccak are too many for one proof: prove fewer claims at once")]
    TooLarge {
        /// Those of the nodes.
        blocks: usize,
    },
    /// A proof that was made is not accepted.
    #[error("a fresh proof is refused ({0}): the machine or the program is faulty")]
    Internal(String),
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of a slot, before the circuit's size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Number {
    Root,
    Branch(usize),
    Path(usize),
    Account(usize),
}

impl Number {
    fn element(self, size: Size) -> Goldilocks {
        Goldilocks::new(match self {
            Self::Root => 0,
            Self::Branch(i) => 1 + i,
            Self::Path(i) => 1 + size.branches + i,
            Self::Account(i) => size.first_account() + i,
        } as u64)
    }
}

/// Where a child hangs: the slot that offers it, the nibble there, the place that is offered.
#[derive(Clone, Debug)]
struct Edge {
    from: Number,
    nibble: u8,
    /// Of the place that the parent offers; -1 above a root.
    depth: i64,
    trie: Number,
    /// The nibbles of that place.
    prefix: Vec<u8>,
    child: Child,
    /// The parent is an extension.
    extension: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Child {
    Empty,
    Hash(Hash),
    /// An embedded node's address and length.
    Embedded(usize, usize),
}

/// A node that has a slot.
#[derive(Clone, Debug)]
struct Node {
    edge: Edge,
    /// Addresses and one behind the last block.
    start: usize,
    end: usize,
    leaf: bool,
}

/// A way's end.
#[derive(Clone, Debug)]
enum End {
    /// A leaf, the address of its value's item, and the value's own address and length.
    Present { path: usize, item: usize, value: usize, length: usize },
    /// An empty child, or a trie without keys.
    Nothing(Edge),
    /// Another path.
    Other { path: usize, own: Own },
}

/// A node with a path, as absences use it.
#[derive(Clone, Debug)]
struct Own {
    depth: usize,
    trie: Number,
    prefix: Vec<u8>,
    /// The nibbles up to its end, and the address behind its path.
    end: Vec<u8>,
    behind: usize,
}

#[derive(Clone, Debug)]
struct AccountSlot {
    address: Address,
    end: End,
    /// The claim's elements.
    claim: Option<Vec<Goldilocks>>,
}

#[derive(Clone, Debug)]
struct StorageSlot {
    account: usize,
    slot: Word,
    /// None where the account is absent.
    end: Option<End>,
    /// The elements of a claim with a value.
    value: Vec<Goldilocks>,
}

/// Nodes, claims and what each slot of a circuit is filled with.
#[derive(Clone, Debug)]
pub struct Witness {
    root: Hash,
    digest: Digest,
    stream: Vec<u8>,
    goes_on: Vec<bool>,
    branches: Vec<Node>,
    paths: Vec<Node>,
    accounts: Vec<AccountSlot>,
    slots: Vec<StorageSlot>,
    merges: Vec<[Digest; 2]>,
}

/// Nodes by their hashes, found so far.
struct Walks<'a> {
    nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>,
    stream: Vec<u8>,
    goes_on: Vec<bool>,
    messages: HashMap<Hash, (usize, usize)>,
    branches: Vec<Node>,
    paths: Vec<Node>,
    /// Slots by the edge that they hang at.
    known: HashMap<(Number, u8), Number>,
}

impl Witness {
    /// The nodes on the ways of claims about the state with this root.
    ///
    /// # Errors
    /// When a node is missing or invalid, or a claim is false.
    pub fn new<'a>(
        root: &Hash,
        nodes: &'a dyn Fn(&Hash) -> Option<&'a [u8]>,
        claims: &[Claim],
    ) -> Result<Self, PieceError> {
        let order = sorted(claims)?;
        let mut walks = Walks {
            nodes,
            stream: Vec::new(),
            goes_on: Vec::new(),
            messages: HashMap::new(),
            branches: Vec::new(),
            paths: Vec::new(),
            known: HashMap::new(),
        };
        // Accounts by the hashes of their addresses.
        let mut addresses: BTreeMap<Hash, Address> = BTreeMap::new();
        for (place, claim) in claims.iter().enumerate() {
            match claim {
                Claim::Account { address, .. } | Claim::AbsentAccount { address } | Claim::Slot { address, .. } => {
                    addresses.insert(keccak_256(address), *address);
                }
                Claim::Entry { .. } | Claim::AbsentEntry { .. } => return Err(PieceError::Entry(place)),
            }
        }
        let mut roots: HashMap<Hash, (usize, Option<Hash>)> = HashMap::new();
        let (mut accounts, mut values) = (Vec::new(), Vec::new());
        let state = Edge::root(Number::Root, Number::Root, *root);
        for (i, (key, address)) in addresses.iter().enumerate() {
            let end = walks.walk(state.clone(), key)?;
            let value = walks.value(&end).map(<[u8]>::to_vec);
            let account = value.as_deref().map(Account::from_rlp).transpose().map_err(|e| invalid(root, e))?;
            roots.insert(*key, (i, account.map(|account| account.storage_root)));
            values.push(value);
            accounts.push(AccountSlot { address: *address, end, claim: None });
        }
        let (mut slots, mut leaves) = (Vec::new(), Vec::new());
        for (key, place) in &order {
            let claim = &claims[*place];
            let wrong = || PieceError::False { place: *place, claim: Box::new(claim.clone()) };
            leaves.push((key.bytes().to_vec(), claim.leaf_digest()));
            let (_, elements) = claim.elements();
            match claim {
                Claim::Account { address, account } => {
                    let (i, _) = roots[&keccak_256(address)];
                    if values[i] != Some(account.rlp()) {
                        return Err(wrong());
                    }
                    accounts[i].claim = Some(elements);
                }
                Claim::AbsentAccount { address } => {
                    let (i, _) = roots[&keccak_256(address)];
                    if values[i].is_some() {
                        return Err(wrong());
                    }
                    accounts[i].claim = Some(elements);
                }
                Claim::Slot { address, slot, value } => {
                    let (account, storage) = roots[&keccak_256(address)];
                    let end = storage
                        .map(|root| {
                            let number = Number::Account(account);
                            walks.walk(Edge::root(number, number, root), &keccak_256(slot))
                        })
                        .transpose()?;
                    let found = end.as_ref().and_then(|end| walks.value(end));
                    let zero = *value == [0; 32];
                    let mut expected = Vec::new();
                    rlp::write_string(&mut expected, rlp::trimmed(value));
                    if found != (!zero).then_some(&expected[..]) {
                        return Err(wrong());
                    }
                    let value = if zero { Vec::new() } else { elements };
                    slots.push(StorageSlot { account, slot: *slot, end, value });
                }
                Claim::Entry { .. } | Claim::AbsentEntry { .. } => unreachable!("refused above"),
            }
        }
        let mut merges = Vec::new();
        let digest = merge(&leaves, &mut merges);
        let Walks { stream, goes_on, branches, paths, .. } = walks;
        Ok(Self { root: *root, digest, stream, goes_on, branches, paths, accounts, slots, merges })
    }
    /// The state root.
    pub fn root(&self) -> Hash {
        self.root
    }
    /// d.
    pub fn digest(&self) -> Digest {
        self.digest
    }
    /// The room that it takes; one block at least.
    pub fn size(&self) -> Size {
        Size {
            blocks: self.goes_on.len().max(1),
            branches: self.branches.len(),
            paths: self.paths.len(),
            accounts: self.accounts.len(),
            slots: self.slots.len(),
        }
    }
    /// What a proof of it says: the state root in two words of halves, and d.
    pub fn said(&self) -> Vec<[Goldilocks; WORD]> {
        said(&self.root, self.digest)
    }
    /// The free data of [`piece`](super::piece) of this size, for this key.
    ///
    /// # Errors
    /// When it has no room for all.
    pub fn data(&self, size: Size, key: [Goldilocks; WORD]) -> Result<Vec<Goldilocks>, PieceError> {
        let needed = self.size();
        for (what, needed, room) in [
            ("blocks of Keccak", needed.blocks, size.blocks),
            ("branches", needed.branches, size.branches),
            ("leaves and extensions", needed.paths, size.paths),
            ("accounts", needed.accounts, size.accounts),
            ("slots", needed.slots, size.slots),
        ] {
            if needed > room {
                return Err(PieceError::Room { what, needed, room });
            }
        }
        let mut data = Data { size, free: Vec::new() };
        data.words(translation::halves(&self.root));
        data.words([self.digest.0, key]);
        // Rows of sixteen bytes, and the bits of blocks.
        let mut stream = self.stream.clone();
        stream.resize((size.blocks * RATE_BYTES).next_multiple_of(16) + 16, 0);
        data.free.extend(halves(&stream));
        data.bits((1..size.blocks).map(|i| self.goes_on.get(i).copied().unwrap_or(false)));
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
        for i in 1..size.accounts + size.slots {
            let pair = self.merges.get(i - 1);
            data.words(pair.map_or([[ZERO; WORD]; 2], |pair| pair.map(|digest| digest.0)));
            data.bits([pair.is_some()]);
        }
        Ok(data.free)
    }
}

/// The words that a proof about a root and d says.
pub(super) fn said(root: &Hash, digest: Digest) -> Vec<[Goldilocks; WORD]> {
    let [low, high] = translation::halves(root);
    vec![low, high, digest.0]
}

/// d of leaves by their keys, and the pairs that it is hashed from.
fn merge(leaves: &[(Vec<u8>, Digest)], merges: &mut Vec<[Digest; 2]>) -> Digest {
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

fn nibbles_of(key: &Hash) -> Vec<u8> {
    key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()
}

/// The lanes of nibbles.
fn lanes(nibbles: &[u8]) -> [Goldilocks; LANES] {
    let mut lanes = [ZERO; LANES];
    for (depth, &nibble) in nibbles.iter().enumerate() {
        let (own, weight) = lane(depth as u64);
        lanes[own] += Goldilocks::new(weight) * Goldilocks::new(nibble.into());
    }
    lanes
}

/// Bytes as numbers of four bytes, the first the least significant.
fn halves(bytes: &[u8]) -> impl Iterator<Item = Goldilocks> {
    bytes.chunks(4).map(|bytes| Goldilocks::new(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))))
}

impl Edge {
    fn root(from: Number, trie: Number, root: Hash) -> Self {
        let child = Child::Hash(root);
        Self { from, nibble: 0, depth: -1, trie, prefix: Vec::new(), child, extension: false }
    }
    /// The nibbles of the child's place.
    fn place(&self) -> Vec<u8> {
        let mut nibbles = self.prefix.clone();
        if self.depth == nibbles.len() as i64 {
            nibbles.push(self.nibble);
        }
        nibbles
    }
}

/// What a node says, with addresses.
enum Parsed {
    Branch(Box<[Child; 16]>),
    Path { leaf: bool, nibbles: Vec<u8>, behind: usize, value: usize, length: usize, child: Child },
}

impl Walks<'_> {
    fn bytes(&self, from: usize, length: usize) -> &[u8] {
        &self.stream[from..from + length]
    }
    /// The value that a way ends at.
    fn value(&self, end: &End) -> Option<&[u8]> {
        match end {
            End::Present { value, length, .. } => Some(self.bytes(*value, *length)),
            _ => None,
        }
    }
    /// The address of the message with this hash, and one behind its last block.
    fn message(&mut self, hash: &Hash) -> Result<(usize, usize, usize), PieceError> {
        let bytes = (self.nodes)(hash).ok_or_else(|| PieceError::Missing(Box::new(*hash)))?;
        if let Some(&(start, end)) = self.messages.get(hash) {
            return Ok((start, end, bytes.len()));
        }
        if keccak_256(bytes) != *hash {
            return Err(PieceError::Node(Box::new(*hash), "it has another hash".into()));
        }
        let start = self.stream.len();
        self.stream.extend_from_slice(bytes);
        self.stream.push(1);
        self.stream.resize(self.stream.len().next_multiple_of(RATE_BYTES), 0);
        *self.stream.last_mut().expect("a block") |= 0x80;
        let end = self.stream.len() / RATE_BYTES;
        self.goes_on.extend((start / RATE_BYTES..end).map(|block| block > start / RATE_BYTES));
        self.messages.insert(*hash, (start, end));
        Ok((start, end, bytes.len()))
    }
    fn parse(&self, start: usize, length: usize) -> Result<Parsed, RlpError> {
        let node = self.bytes(start, length);
        let at = |rest: &[u8]| start + length - rest.len();
        let mut items = Reader::new(node).list()?;
        let mut count = items;
        let mut all = 0;
        while !count.is_empty() {
            count.item()?;
            all += 1;
        }
        let child = |items: &mut Reader<'_>| {
            let begin = items.rest();
            Ok(match items.item()? {
                Item::String([]) => Child::Empty,
                Item::String(hash) => Child::Hash(
                    hash.try_into()
                        .map_err(|_| items.error(RlpFault::Length { least: 32, most: 32, found: hash.len() }))?,
                ),
                Item::List(_) => Child::Embedded(at(begin), begin.len() - items.rest().len()),
            })
        };
        if all == 17 {
            let mut children = Box::new([Child::Empty; 16]);
            for own in children.iter_mut() {
                *own = child(&mut items)?;
            }
            return Ok(Parsed::Branch(children));
        }
        let path = items.string(1, 33)?;
        let (leaf, odd) = (path[0] >> 4 & 2 != 0, path[0] >> 4 & 1 != 0);
        let mut nibbles: Vec<u8> = path.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
        nibbles.drain(..if odd { 1 } else { 2 });
        let behind = at(items.rest());
        let (child, value, length) = if leaf {
            let value = items.string(1, usize::MAX)?;
            (Child::Empty, at(items.rest()) - value.len(), value.len())
        } else {
            (child(&mut items)?, behind, 0)
        };
        Ok(Parsed::Path { leaf, nibbles, behind, value, length, child })
    }

    /// Goes down from an edge.
    fn walk(&mut self, mut edge: Edge, key: &Hash) -> Result<End, PieceError> {
        let key = nibbles_of(key);
        let mut hash = [0; 32];
        loop {
            let (start, end, length) = match edge.child {
                Child::Empty => return Ok(End::Nothing(edge)),
                Child::Hash(EMPTY_ROOT) => return Ok(End::Nothing(edge)),
                Child::Hash(own) => {
                    hash = own;
                    self.message(&own)?
                }
                Child::Embedded(start, length) => (start, 0, length),
            };
            let place = edge.place();
            let depth = place.len();
            let node = |leaf| Node { edge: edge.clone(), start, end, leaf };
            let slot = (edge.from, edge.nibble);
            let known = self.known.get(&slot).copied();
            match self.parse(start, length).map_err(|e| invalid(&hash, e))? {
                Parsed::Branch(children) => {
                    let number = known.unwrap_or(Number::Branch(self.branches.len()));
                    if known.is_none() {
                        self.branches.push(node(false));
                    }
                    self.known.insert(slot, number);
                    let nibble = *key.get(depth).ok_or_else(|| short(&hash))?;
                    edge = Edge {
                        from: number,
                        nibble,
                        depth: depth as i64,
                        trie: edge.trie,
                        prefix: place,
                        child: children[usize::from(nibble)],
                        extension: false,
                    };
                }
                Parsed::Path { leaf, nibbles, behind, value, length, child } => {
                    let number = known.unwrap_or(Number::Path(self.paths.len()));
                    if known.is_none() {
                        self.paths.push(node(leaf));
                    }
                    self.known.insert(slot, number);
                    let Number::Path(path) = number else { return Err(short(&hash)) };
                    let end = [&place[..], &nibbles].concat();
                    if end.len() as u64 > NIBBLES || !leaf && nibbles.is_empty() {
                        return Err(short(&hash));
                    }
                    if key[..end.len()] != end[..] {
                        let own = Own { depth, trie: edge.trie, prefix: place, end, behind };
                        return Ok(End::Other { path, own });
                    }
                    if leaf {
                        return Ok(End::Present { path, item: behind, value, length });
                    }
                    edge = Edge {
                        from: number,
                        nibble: 0,
                        depth: end.len() as i64 - 1,
                        trie: edge.trie,
                        prefix: end,
                        child,
                        extension: true,
                    };
                }
            }
        }
    }
}

fn short(hash: &Hash) -> PieceError {
    PieceError::Node(Box::new(*hash), "its path does not fit keys of 64 nibbles".into())
}

/// Free data in the order of rows.
struct Data {
    size: Size,
    free: Vec<Goldilocks>,
}

impl Data {
    fn words<const N: usize>(&mut self, words: [[Goldilocks; WORD]; N]) {
        self.free.extend(words.as_flattened());
    }
    fn bits(&mut self, bits: impl IntoIterator<Item = bool>) {
        self.free.extend(bits.into_iter().map(number));
    }
    fn numbers(&mut self, numbers: impl IntoIterator<Item = usize>) {
        self.free.extend(numbers.into_iter().map(|x| Goldilocks::new(x as u64)));
    }
    fn nothing(&mut self, count: usize) {
        self.free.extend((0..count).map(|_| ZERO));
    }
    fn place(&mut self, depth: i64, trie: Number, nibbles: &[u8]) {
        self.free.push(if depth < 0 { -ONE } else { Goldilocks::new(depth as u64) });
        self.free.push(trie.element(self.size));
        self.free.extend(lanes(nibbles));
    }
    fn edge(&mut self, edge: &Edge) {
        self.free.push(edge.from.element(self.size));
        self.numbers([edge.nibble.into()]);
        self.place(edge.depth, edge.trie, &edge.prefix);
    }
    fn message(&mut self, node: &Node) {
        self.numbers([node.start, node.end]);
        let hash = if let Child::Hash(hash) = node.edge.child { translation::halves(&hash) } else { [[ZERO; WORD]; 2] };
        self.words(hash);
    }
    fn branch(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return self.nothing(21) };
        self.bits([true]);
        self.edge(&node.edge);
        self.bits([node.edge.extension]);
        self.message(node);
    }
    fn path(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return self.nothing(22) };
        self.bits([true, node.leaf, matches!(node.edge.child, Child::Embedded(..))]);
        self.edge(&node.edge);
        self.message(node);
    }
    /// Free data of `present` and `absent`.
    fn end(&mut self, end: Option<&End>, key: &Hash) {
        match end {
            None => self.nothing(2 + 18),
            Some(End::Present { path, item, .. }) => {
                self.free.push(Number::Path(*path).element(self.size));
                self.numbers([*item]);
                self.nothing(18);
            }
            Some(End::Nothing(edge)) => {
                self.nothing(2);
                self.bits([false, matches!(edge.child, Child::Hash(_))]);
                self.edge(edge);
                self.nothing(7);
            }
            Some(End::Other { path, own }) => {
                self.nothing(2);
                self.bits([true, false]);
                self.free.push(Number::Path(*path).element(self.size));
                self.numbers([0]);
                self.place(own.depth as i64, own.trie, &own.prefix);
                self.numbers([own.end.len(), own.behind]);
                let at = nibbles_of(key).iter().zip(&own.end).position(|(a, b)| a != b).expect("another path");
                let back = own.end.len() - 1 - at;
                self.numbers([back / 2, back % 2, at / 2, at % 2, key[at / 2].into()]);
            }
        }
    }
    fn account(&mut self, slot: Option<&AccountSlot>) {
        let present = slot.is_some_and(|slot| matches!(slot.end, End::Present { .. }));
        let claim = slot.and_then(|slot| slot.claim.as_ref());
        self.bits([slot.is_some(), present, claim.is_some()]);
        let address = slot.map_or([0; 20], |slot| slot.address);
        let mut words: Vec<Goldilocks> = halves(&address).collect();
        let last = words[4];
        words.resize(2 * WORD, ZERO);
        self.free.extend(words);
        self.free.extend([last, ONE, ZERO, ZERO]);
        self.nothing(WORD);
        self.end(slot.map(|slot| &slot.end), &keccak_256(&address));
        match claim.filter(|_| present) {
            Some(elements) => self.free.extend(elements),
            None => self.nothing(32),
        }
    }
    fn slot(&mut self, slot: Option<&StorageSlot>, accounts: &[AccountSlot]) {
        let present = slot.is_some_and(|slot| matches!(slot.end, Some(End::Present { .. })));
        self.bits([slot.is_some(), present]);
        let account = slot.map(|slot| &accounts[slot.account]);
        let (address, number) = (account.map_or([0; 20], |account| account.address), slot.map_or([0; 32], |s| s.slot));
        let zero = Claim::Slot { address, slot: number, value: [0; 32] };
        self.free.extend(zero.elements().1);
        self.free.push(slot.map_or(ZERO, |slot| Number::Account(slot.account).element(self.size)));
        self.bits([account.is_some_and(|account| matches!(account.end, End::Present { .. }))]);
        self.words(translation::halves(&number));
        self.end(slot.and_then(|slot| slot.end.as_ref()), &keccak_256(&number));
        match slot.filter(|_| present) {
            Some(slot) => self.free.extend(&slot.value),
            None => self.nothing(24),
        }
    }
}

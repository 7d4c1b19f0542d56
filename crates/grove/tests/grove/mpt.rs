//! Claims about Ethereum's state as circuits: true claims over tries of every form, and attacks that set values
//! directly.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use evergrove_ethereum::{Keys, Nodes, Trie, Tries};
use evergrove_grove::mpt::{
    self, Edge, Kind, PieceError, Size, StateProof, StateProofError, StateProver, StateVerifier, Statement, Witness,
};
use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Account, Address, Claim, Hash, Roots, Tag, Word, canonical_digest, rlp};
use evergrove_verifier::tables::{Tables, bits, query};

use crate::common::{Judge, cases, in_parallel};

/// A key; the circuit does not constrain it.
pub(crate) const KEY: [Goldilocks; 4] = [Goldilocks::ONE; 4];

/// A state: its accounts with their slots, and all nodes.
pub(crate) struct World {
    pub(crate) root: Hash,
    pub(crate) nodes: HashMap<Hash, Vec<u8>>,
    accounts: HashMap<Address, (Account, Vec<(Word, Word)>)>,
}

pub(crate) fn address(i: u64) -> Address {
    let mut address = [7; 20];
    address[12..].copy_from_slice(&i.to_be_bytes());
    address
}

pub(crate) fn word(x: u64) -> Word {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&x.to_be_bytes());
    word
}

impl World {
    /// A state with accounts that have this many slots each.
    fn new(slots: &[u64]) -> Self {
        Self::with(slots, None)
    }
    /// A state; the balance of account `richer` is larger by 1.
    pub(crate) fn with(slots: &[u64], richer: Option<usize>) -> Self {
        let mut state = Trie::empty(Keys::Hashed);
        let (mut nodes, mut accounts) = (HashMap::new(), HashMap::new());
        let mut keep = |trie: &mut Trie, key: &[u8]| {
            for node in trie.proof(key).unwrap() {
                nodes.insert(keccak_256(node), node.to_vec());
            }
        };
        for (i, &count) in slots.iter().enumerate() {
            let mut storage = Trie::empty(Keys::Hashed);
            let values: Vec<(Word, Word)> = (0..count)
                .map(|slot| {
                    // Values of every length.
                    let mut value = [0xab; 32];
                    value[..31 - (slot as usize * 5) % 32].fill(0);
                    value[31] = [1, 0x7f, 0x80, 0xff][slot as usize % 4];
                    (word(slot), value)
                })
                .collect();
            for (slot, value) in &values {
                let mut item = Vec::new();
                rlp::write_string(&mut item, rlp::trimmed(value));
                storage.put(&keccak_256(slot), Some(&item)).unwrap();
            }
            let storage_root = storage.root();
            let nonce = [0, 1, 0x7f, 0x80, u64::MAX][i % 5];
            let mut balance = [0; 32];
            balance[31 - (i * 7) % 32..].fill(0x91);
            if i % 3 == 0 {
                balance = word([0, 5, 128][i / 3 % 3]);
            }
            balance[31] += u8::from(richer == Some(i));
            let account = Account { nonce, balance, storage_root, code_hash: keccak_256(&[i as u8]) };
            let address = address(i as u64);
            state.put(&keccak_256(&address), Some(&account.rlp())).unwrap();
            for slot in 0..count + 40 {
                keep(&mut storage, &keccak_256(&word(slot)));
            }
            accounts.insert(address, (account, values));
        }
        let root = state.root();
        for i in 0..slots.len() as u64 + 60 {
            keep(&mut state, &keccak_256(&address(i)));
        }
        Self { root, nodes, accounts }
    }
    /// The true claim about an account.
    pub(crate) fn account(&self, i: u64) -> Claim {
        let address = address(i);
        match self.accounts.get(&address) {
            Some((account, _)) => Claim::Account { address, account: *account },
            None => Claim::AbsentAccount { address },
        }
    }
    /// The true claim about a slot.
    pub(crate) fn slot(&self, i: u64, slot: u64) -> Claim {
        let (address, slot) = (address(i), word(slot));
        let values = self.accounts.get(&address).map(|(_, values)| values);
        let value = values.and_then(|values| values.iter().find(|(own, _)| *own == slot)).map_or([0; 32], |own| own.1);
        Claim::Slot { address, slot, value }
    }
    pub(crate) fn witness(&self, claims: &[Claim]) -> Result<Witness, PieceError> {
        Witness::new(&Roots::of_state(self.root), &|hash| self.nodes.get(hash).map(Vec::as_slice), claims)
    }
    /// Claims of every kind.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let accounts = self.accounts.len() as u64;
        let mut claims: Vec<Claim> = (0..accounts + 8).step_by(2).map(|i| self.account(i)).collect();
        for i in 0..accounts + 1 {
            claims.extend((0..12).step_by(3).map(|slot| self.slot(i, slot)));
        }
        claims
    }
}

fn tables() -> Tables<Quadratic> {
    let modes = mpt::modes();
    Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros))
}

pub(crate) fn circuit(size: Size) -> Circuit<Quadratic> {
    let mut b = Builder::new(tables());
    mpt::piece(&mut b, size);
    b.finish()
}

pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| World::new(&[0, 1, 30, 2, 5, 0, 1]));

fn holds(world: &World, claims: &[Claim], more: usize) {
    let witness = world.witness(claims).unwrap();
    let edge = Edge::of_root(Tag::State, world.root, canonical_digest(claims).unwrap());
    assert_eq!(witness.lists(), [edge.list(), Digest::ZERO]);
    let Size { blocks, branches, paths, accounts, slots, roots, .. } = witness.size();
    let size = Size {
        blocks: blocks + more,
        branches: branches + more,
        paths: paths + more,
        accounts: accounts + more,
        slots: slots + more,
        roots: roots + more,
        opens: more,
        ..Size::NONE
    };
    let circuit = circuit(size);
    let columns = circuit.witness(&witness.data(size, KEY).unwrap()).unwrap();
    let faults = columns.faults(&circuit);
    assert_eq!(faults.len(), 0, "{size:?}: {:?}", &faults[..faults.len().min(8)]);
}

#[test]
fn true_claims_hold() {
    let world = &*WORLD;
    holds(world, &world.claims(), 0);
}

#[test]
fn slots_that_are_not_used_hold() {
    let world = &*WORLD;
    holds(world, &[world.account(2), world.slot(2, 3), world.slot(2, 35), world.account(50)], 2);
    holds(world, &[world.account(50)], 1);
    holds(world, &[world.slot(0, 1)], 0);
    holds(world, &[world.slot(50, 1)], 0);
}

/// With one account the root is a leaf; with two it is a branch or an extension.
#[test]
fn small_states() {
    for (slots, claims) in [(&[1][..], [0, 1]), (&[0, 0], [1, 3]), (&[0; 5], [4, 9])] {
        let world = World::new(slots);
        let claims: Vec<Claim> = claims.into_iter().flat_map(|i| [world.account(i), world.slot(i, 0)]).collect();
        holds(&world, &claims, 0);
    }
    // Without accounts the root is that of the empty trie.
    let world = World { root: keccak_256(&[0x80]), nodes: HashMap::new(), accounts: HashMap::new() };
    holds(&world, &[world.account(0), world.slot(1, 1)], 1);
}

/// Keys that share their first nibbles, found by search, give embedded leaves and extensions.
#[test]
fn embedded_leaves_and_extensions() {
    // Two slots whose hashes share eight nibbles, with values of one byte: their leaves have 31 bytes.
    let mut found: HashMap<[u8; 4], u64> = HashMap::new();
    let (mut pair, mut slot) = (None, 0);
    while pair.is_none() {
        let prefix = *keccak_256(&word(slot)).first_chunk().unwrap();
        pair = found.insert(prefix, slot).map(|other| (other, slot));
        slot += 1;
    }
    let (first, second) = pair.unwrap();
    let mut storage = Trie::empty(Keys::Hashed);
    for slot in [first, second, 1, 2, 3] {
        storage.put(&keccak_256(&word(slot)), Some(&[5])).unwrap();
    }
    let storage_root = storage.root();
    let account = Account { nonce: 1, balance: word(9), storage_root, code_hash: [1; 32] };
    let mut state = Trie::empty(Keys::Hashed);
    state.put(&keccak_256(&address(0)), Some(&account.rlp())).unwrap();
    let root = state.root();
    let mut nodes = HashMap::new();
    let mut keep = |proof: Vec<&[u8]>| nodes.extend(proof.into_iter().map(|node| (keccak_256(node), node.to_vec())));
    keep(state.proof(&keccak_256(&address(0))).unwrap());
    for slot in [first, second, 1, 4, 5] {
        let proof = storage.proof(&keccak_256(&word(slot))).unwrap();
        if slot == first {
            // The last hashed node is a branch.
            let mut items = rlp::Reader::new(proof[proof.len() - 1]).list().unwrap();
            assert_eq!((0..17).filter(|_| items.item().is_ok()).count(), 17);
        }
        keep(proof);
    }
    let values = [first, second, 1, 2, 3].map(|slot| (word(slot), word(5))).to_vec();
    let world = World { root, nodes, accounts: [(address(0), (account, values))].into() };
    let claims: Vec<Claim> = [first, second, 1, 4, 5].map(|slot| world.slot(0, slot)).to_vec();
    holds(&world, &claims, 0);
}

#[test]
fn false_claims_and_missing_nodes_are_named() {
    let world = &*WORLD;
    let Claim::Account { address: of, mut account } = world.account(2) else { unreachable!() };
    account.nonce += 1;
    let text = |claims: &[Claim]| world.witness(claims).unwrap_err().to_string();
    assert!(text(&[Claim::Account { address: of, account }]).starts_with("claim 0 is false: account 0x0707"));
    assert!(text(&[world.account(1), Claim::AbsentAccount { address: of }]).starts_with("claim 1 is false"));
    for value in [word(3), [0; 32]] {
        assert!(text(&[Claim::Slot { address: of, slot: word(3), value }]).starts_with("claim 0 is false: slot"));
    }
    assert!(
        text(&[Claim::Slot { address: address(90), slot: word(3), value: word(1) }]).starts_with("claim 0 is false")
    );
    let entry = Claim::AbsentEntry { trie: Tag::Receipts, index: 3 };
    assert_eq!(
        text(&[world.account(2), entry]),
        "claim 1 is about receipts, whose root is not known: take the header of the block, or name the root"
    );
    assert_eq!(text(&[]), canonical_digest(&[]).unwrap_err().to_string());
    let none = Witness::new(&Roots::of_state(world.root), &|_| None, &[world.account(2)]).unwrap_err().to_string();
    assert!(none.starts_with("the node with hash 0x") && none.ends_with("on the way of"), "{none}");
    let witness = world.witness(&[world.account(2)]).unwrap();
    let small = Size { branches: 0, ..witness.size() };
    let few = witness.data(small, KEY).unwrap_err().to_string();
    assert_eq!(few, "1 branches are more than the 0 of the circuit: prove fewer claims at once");
}

/// A circuit with the free data of true claims, and the offsets of its slots.
struct Attack {
    judge: Judge,
    free: Vec<Goldilocks>,
    size: Size,
    /// Only one change in this many is tried.
    every: usize,
    seen: AtomicUsize,
}

impl Attack {
    const ROOT: usize = 26;
    const BRANCH: usize = 22;
    const PATH: usize = 23;
    const ACCOUNT: usize = 74;
    const SLOT: usize = 75;

    fn new(world: &World, claims: &[Claim]) -> Self {
        let witness = world.witness(claims).unwrap();
        let size = witness.size();
        let free = witness.data(size, KEY).unwrap();
        let this = Self { judge: Judge::new(circuit(size), &free), free, size, every: 1, seen: AtomicUsize::new(0) };
        assert_eq!(this.end(), this.free.len());
        this
    }
    fn stream(&self) -> usize {
        16
    }
    fn bits(&self) -> usize {
        self.stream() + 4 * ((self.size.blocks * 136).div_ceil(16) + 1)
    }
    fn root(&self) -> usize {
        self.bits() + self.size.blocks - 1
    }
    fn branch(&self, i: usize) -> usize {
        self.root() + Self::ROOT + Self::BRANCH * i
    }
    fn path(&self, i: usize) -> usize {
        self.branch(self.size.branches) + Self::PATH * i
    }
    fn account(&self, i: usize) -> usize {
        self.path(self.size.paths) + Self::ACCOUNT * i
    }
    fn slot(&self, i: usize) -> usize {
        self.account(self.size.accounts) + Self::SLOT * i
    }
    fn end(&self) -> usize {
        self.slot(self.size.slots) + 10 * (self.size.accounts + self.size.slots - 1)
    }
    fn holds(&self, free: &[Goldilocks]) -> bool {
        self.judge.holds(free)
    }
    /// True if the next change is to be tried.
    fn turn(&self) -> bool {
        (self.seen.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every)
    }
    /// Changes elements, and demands that the circuit refuses them.
    fn refused(&self, what: &str, changes: &[(usize, u64)]) {
        if !self.turn() {
            return;
        }
        let mut free = self.free.clone();
        for &(at, value) in changes {
            assert_ne!(free[at], Goldilocks::reduce(value), "{what}: no change");
            free[at] = Goldilocks::reduce(value);
        }
        assert!(!self.holds(&free), "{what}");
    }
    /// Adds 1 to an element, and demands that the circuit refuses it.
    fn counts(&self, what: &str, at: usize) {
        self.refused(what, &[(at, (self.free[at] + Goldilocks::ONE).as_u64())]);
    }
}

/// Offsets in the free data of `present` and `absent`, from the first element of `present` on.
mod end {
    pub(super) const FROM: usize = 0;
    pub(super) const VALUE: usize = 1;
    pub(super) const ROOT: usize = 2;
    pub(super) const OTHER: usize = 3;
    pub(super) const WITHOUT: usize = 4;
    pub(super) const PARENT: usize = 5;
    pub(super) const NIBBLE: usize = 6;
    pub(super) const DEPTH: usize = 7;
    pub(super) const TRIE: usize = 8;
    pub(super) const OF_WAY: usize = 9;
    pub(super) const LANES: usize = 10;
    pub(super) const END: usize = 15;
    pub(super) const LEN: usize = 22;
}

/// Claims of each kind. Absences end at an empty child, at another path, and in an empty trie.
fn attacked(every: usize) -> (Attack, Vec<Claim>) {
    let world = &*WORLD;
    let claims = vec![
        world.account(2),
        world.account(50),
        world.account(51),
        world.slot(2, 3),
        world.slot(2, 7),
        world.slot(2, 40),
        world.slot(2, 41),
        world.slot(0, 1),
        world.slot(50, 1),
    ];
    let attack = Attack::new(world, &claims);
    (Attack { every, ..attack }, claims)
}

#[test]
fn the_statement_counts() {
    let (attack, _) = attacked(3);
    for at in 0..8 {
        attack.counts("a list", at);
    }
    for at in 0..24 {
        attack.counts("the root's edge", attack.root() + at);
    }
    // The prover may choose the key: the verifier decides which key it accepts.
    let mut free = attack.free.clone();
    free[8] += Goldilocks::ONE;
    assert!(attack.holds(&free));
}

fn messages_are_whole(every: usize) {
    let (attack, _) = attacked(every);
    for i in (0..attack.bits() - attack.stream() - 8).step_by(41) {
        let at = attack.stream() + i;
        attack.refused("a byte of a node", &[(at, attack.free[at].as_u64() ^ 1 << (i % 32))]);
    }
    for i in 0..attack.size.blocks - 1 {
        let at = attack.bits() + i;
        attack.refused("a bit of a block", &[(at, 1 - attack.free[at].as_u64())]);
    }
}

fn nodes_are_where_they_are(every: usize) {
    let (attack, _) = attacked(every);
    for i in 0..attack.size.branches {
        for (offset, what) in [
            (1, "parent"),
            (2, "nibble"),
            (3, "depth"),
            (4, "trie"),
            (5, "root"),
            (6, "lane"),
            (10, "last lane"),
            (11, "below an extension"),
            (12, "start"),
            (13, "end"),
            (14, "hash"),
            (21, "hash"),
        ] {
            attack.counts(what, attack.branch(i) + offset);
        }
        attack.refused("a branch less", &[(attack.branch(i), 0)]);
    }
    for i in 0..attack.size.paths {
        for (offset, what) in [
            (3, "parent"),
            (4, "nibble"),
            (5, "depth"),
            (6, "trie"),
            (7, "root"),
            (8, "lane"),
            (12, "last lane"),
            (13, "start"),
            (14, "end"),
            (15, "hash"),
            (22, "hash"),
        ] {
            attack.counts(what, attack.path(i) + offset);
        }
        attack.refused("a path less", &[(attack.path(i), 0), (attack.path(i) + 1, 0)]);
        attack.refused("an embedded leaf", &[(attack.path(i) + 2, 1)]);
        let leaf = attack.path(i) + 1;
        attack.refused("a leaf for an extension", &[(leaf, 1 - attack.free[leaf].as_u64())]);
    }
}

fn claims_are_what_is_there(every: usize) {
    let (attack, claims) = attacked(every);
    let flags = |at: usize| attack.free[at].as_u64();
    let mut seen = [0; 5];
    for i in 0..attack.size.accounts {
        let at = attack.account(i);
        let present = flags(at + 1) == 1;
        seen[usize::from(present)] += 1;
        attack.refused("an account less", &[(at, 0)]);
        attack.refused("present or absent", &[(at + 1, 1 - flags(at + 1))]);
        attack.refused("claimed or not", &[(at + 2, 1 - flags(at + 2))]);
        attack.refused("foreign or not", &[(at + 3, 1 - flags(at + 3))]);
        attack.refused("foreign, not present or absent", &[(at + 3, 1), (at + 1, u64::from(!present))]);
        for limb in 0..5 {
            attack.counts("address", at + 4 + limb);
        }
        attack.counts("address in the message", at + 12);
        attack.counts("padding", at + 13);
        if present && flags(at + 2) == 1 {
            for field in 0..32 {
                attack.counts("field", at + 42 + field);
            }
        }
    }
    for i in 0..attack.size.slots {
        let at = attack.slot(i);
        attack.refused("a slot less", &[(at, 0)]);
        attack.refused("present or absent", &[(at + 1, 1 - flags(at + 1))]);
        for (offset, what) in [
            (2, "address"),
            (6, "address"),
            (7, "slot"),
            (14, "slot"),
            (15, "behind the slot"),
            (18, "account"),
            (19, "root of the account"),
            (21, "message"),
        ] {
            attack.counts(what, at + offset);
        }
        attack.refused("account there or not", &[(at + 20, 1 - flags(at + 20))]);
        if flags(at + 1) == 1 {
            for field in 0..24 {
                attack.counts("value", at + 51 + field);
            }
        }
    }
    // The ends of the claims' paths.
    let ends = (0..attack.size.accounts).map(|i| (attack.account(i) + 20, attack.account(i) + 1));
    let ends = ends.chain((0..attack.size.slots).map(|i| (attack.slot(i) + 29, attack.slot(i) + 1)));
    for (at, present) in ends {
        if flags(present) == 1 {
            attack.counts("leaf", at + end::FROM);
            attack.counts("value", at + end::VALUE);
            attack.counts("root", at + end::ROOT);
            continue;
        }
        let way = attack.free[at + end::OTHER..at + end::LEN].iter().any(|x| *x != Goldilocks::ZERO);
        if !way {
            seen[4] += 1;
            continue;
        }
        let (other, without) = (flags(at + end::OTHER) == 1, flags(at + end::WITHOUT) == 1);
        seen[if other { 2 } else { 3 }] += 1;
        for (offset, what) in [
            (end::PARENT, "node"),
            (end::DEPTH, "depth"),
            (end::TRIE, "trie"),
            (end::OF_WAY, "root"),
            (end::LANES, "lane"),
        ] {
            attack.counts(what, at + offset);
        }
        if !other {
            attack.counts("nibble", at + end::NIBBLE);
        }
        attack.refused("another path or nothing", &[(at + end::OTHER, 1 - u64::from(other))]);
        attack.refused("an empty trie", &[(at + end::WITHOUT, 1 - u64::from(without))]);
        if other {
            for offset in end::END..end::LEN {
                attack.counts("where the paths differ", at + offset);
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}: {claims:?}");
}

/// True evidence for one key, in the slot of another key.
fn evidence_is_of_its_key(every: usize) {
    let (attack, _) = attacked(every);
    let copy = |what: &str, from: usize, to: usize, len: usize| {
        if !attack.turn() {
            return;
        }
        let mut free = attack.free.clone();
        let part = free[from..from + len].to_vec();
        free[to..to + len].copy_from_slice(&part);
        assert!(!attack.holds(&free), "{what}");
    };
    for i in 0..attack.size.slots {
        for j in (0..attack.size.slots).filter(|j| *j != i) {
            // A zero slot of an absent account needs no evidence of its own.
            if attack.free[attack.slot(i) + 20] == Goldilocks::ONE {
                copy("evidence of another slot", attack.slot(j) + 29, attack.slot(i) + 29, end::LEN);
            }
            copy("another slot twice", attack.slot(j), attack.slot(i), Attack::SLOT);
        }
    }
    for i in 0..attack.size.accounts {
        for j in (0..attack.size.accounts).filter(|j| *j != i) {
            copy("evidence of another account", attack.account(j) + 20, attack.account(i) + 20, end::LEN);
            copy("another account twice", attack.account(j), attack.account(i), Attack::ACCOUNT);
        }
    }
    for i in 0..attack.size.branches {
        for j in (0..attack.size.branches).filter(|j| *j != i) {
            copy("a branch twice", attack.branch(j), attack.branch(i), Attack::BRANCH);
        }
    }
}

#[test]
fn one_change_of_nine() {
    messages_are_whole(9);
    nodes_are_where_they_are(9);
    claims_are_what_is_there(9);
    evidence_is_of_its_key(9);
}

#[test]
#[ignore = "slow: minutes"]
fn every_change() {
    messages_are_whole(1);
    nodes_are_where_they_are(1);
    claims_are_what_is_there(1);
    evidence_is_of_its_key(1);
}

/// Roots of every form, changed in one or two places: the circuit accepts exactly the claims that the native walk
/// accepts.
fn mutated_roots(cases: u64) {
    // A leaf, a branch, and an extension above a branch.
    let extension = (0..).map(|i| {
        let key = |j: u64| keccak_256(&address(j))[0] >> 4;
        (i, key(i) == key(i + 1))
    });
    let same = extension.into_iter().find(|(_, same)| *same).unwrap().0;
    let worlds: Vec<(World, Vec<Claim>)> = [vec![0], vec![0; 2 + same as usize], vec![0; 4]]
        .into_iter()
        .map(|slots| World::new(&slots))
        .flat_map(|world| {
            let claims: Vec<Vec<Claim>> = [0, 1, 3, 40].map(|i| vec![world.account(i)]).to_vec();
            claims.into_iter().map(move |claims| {
                (World { nodes: world.nodes.clone(), accounts: world.accounts.clone(), ..world }, claims)
            })
        })
        .collect();
    let attacks: Vec<Attack> = worlds.iter().map(|(world, claims)| Attack::new(world, claims)).collect();
    in_parallel(cases, |case, next| {
        let which = next(worlds.len() as u64) as usize;
        let (world, claims) = &worlds[which];
        let attack = &attacks[which];
        let mut node = world.nodes[&world.root].clone();
        let blocks = node.len() / 136 + 1;
        for _ in 0..1 + next(2) {
            // Change headers more often than hashes.
            let at = if next(2) == 0 { next(node.len().min(6) as u64) } else { next(node.len() as u64) } as usize;
            match next(8) {
                0 => node[at] = node[at].wrapping_add(1),
                1 => node[at] = node[at].wrapping_sub(1),
                2 => node[at] ^= 1 << next(8),
                3 => node[at] = [0, 0x7f, 0x80, 0x81, 0xa0, 0xb8, 0xc0, 0xf8][next(8) as usize],
                4 => {
                    node.remove(at);
                }
                5 => node.insert(at, next(256) as u8),
                6 => node[0] = node[0].wrapping_add(node.len() as u8),
                _ => {}
            }
        }
        if node.len() / 136 + 1 != blocks {
            return None;
        }
        let root = keccak_256(&node);
        let others = world.nodes.iter().filter(|(hash, _)| **hash != world.root).map(|(_, node)| node.clone());
        let nodes = Nodes::new(others.chain([node.clone()])).unwrap();
        let tries = Tries::new(&Roots::new(vec![(Tag::State, root)]).unwrap(), nodes);
        let expected = tries.check(&claims[0]).is_ok();
        if expected {
            let known =
                |hash: &Hash| if *hash == root { Some(&node[..]) } else { world.nodes.get(hash).map(Vec::as_slice) };
            let witness = Witness::new(&Roots::of_state(root), &known, claims).unwrap();
            let free = (witness.size() == attack.size).then(|| witness.data(attack.size, KEY).unwrap());
            let free = free.unwrap_or_else(|| panic!("case {case}: another size for {node:02x?}"));
            assert!(attack.holds(&free), "case {case}: {claims:?} is true in {node:02x?}");
            return Some(true);
        }
        // The same places with their new bytes, and the hash of these.
        let mut free = attack.free.clone();
        node.push(1);
        node.resize(136 * blocks, 0);
        node[136 * blocks - 1] |= 0x80;
        let half = |bytes: &[u8]| Goldilocks::new(u32::from_le_bytes(bytes.try_into().unwrap()).into());
        for (element, bytes) in free[16..].iter_mut().zip(node.chunks(4)) {
            *element = half(bytes);
        }
        let at_root = |slot: usize, depth: usize| attack.free[slot + depth] == -Goldilocks::ONE;
        let own = if attack.size.branches > 0 && at_root(attack.branch(0), 3) {
            attack.branch(0) + 14
        } else {
            assert!(at_root(attack.path(0), 5));
            attack.path(0) + 15
        };
        let digest = canonical_digest(claims).unwrap();
        free[..4].copy_from_slice(&Edge::of_root(Tag::State, root, digest).list().0);
        for from in [attack.root() + 12, own] {
            for (element, bytes) in free[from..].iter_mut().zip(root.chunks(4)) {
                *element = half(bytes);
            }
        }
        assert!(!attack.holds(&free), "case {case}: {claims:?} in {node:02x?}");
        Some(false)
    });
}

#[test]
fn a_mutated_root_is_read_as_natively() {
    mutated_roots(60);
}

#[test]
#[ignore = "slow: minutes"]
fn many_mutated_roots_are_read_as_natively() {
    mutated_roots(cases(5_000));
}

/// A prover may state that a child is both a hash and an embedded node. The child does not count twice.
#[test]
fn a_branch_has_two_children() {
    let absent = (0..).map(|i| address(90 + i)).find(|address| keccak_256(address)[0] >> 4 != 3).unwrap();
    let claims = [Claim::AbsentAccount { address: absent }];
    // A root with one child, whose hash has no known node.
    let mut node = vec![0xf1];
    for nibble in 0..17 {
        if nibble == 3 {
            node.push(0xa0);
            node.extend([7; 32]);
        } else {
            node.push(0x80);
        }
    }
    let root = keccak_256(&node);
    let witness = Witness::new(&Roots::of_state(root), &|hash| (*hash == root).then_some(&node[..]), &claims).unwrap();
    let circuit = circuit(witness.size());
    let free = witness.data(witness.size(), KEY).unwrap();
    assert!(!circuit.witness(&free).unwrap().faults(&circuit).is_empty());
    // The two bits of a child are consecutive choices, and its length comes next.
    let rows: Vec<u32> = circuit.choices().collect();
    let triples = rows.windows(3).filter(|rows| rows[1] == rows[0] + 1 && rows[2] == rows[0] + 2);
    let mut tried = 0;
    for rows in triples.take(40) {
        let chosen = [rows[0], rows[1]].map(|row| (row, Goldilocks::ONE)).into();
        assert!(!circuit.witness_with(&free, &chosen).unwrap().faults(&circuit).is_empty(), "{rows:?}");
        tried += 1;
    }
    assert_eq!(tried, 40);
    assert!(
        Tries::new(&Roots::new(vec![(Tag::State, root)]).unwrap(), Nodes::new([node]).unwrap())
            .check(&claims[0])
            .is_err()
    );
}

/// Bytes that name a circuit whose key would be too large, or that name no circuit.
#[test]
fn sizes_of_files_are_bounded() {
    let of = |size: Size| StateProof {
        size,
        kind: Kind::Piece,
        statement: Statement::Roots(vec![(Tag::State, [7; 32], Digest::ZERO)]),
        proof: Vec::new(),
    };
    let size = Size { blocks: 1, paths: 700, accounts: 1, roots: 1, ..Size::NONE };
    for size in [size, Size { branches: 1600, paths: 0, ..size }] {
        let proof = StateProof::from_bytes(&of(size).to_bytes()).unwrap();
        assert_eq!(proof, of(size));
        let error = proof.verify(&Roots::of_state([7; 32]), None).unwrap_err();
        assert_eq!(error, StateProofError::Format("no circuit has this size"));
    }
    for size in [
        Size { accounts: 0, ..size },
        Size { roots: 0, ..size },
        Size { blocks: 0, ..size },
        Size { slots: 1 << 20, ..size },
    ] {
        let error = StateProof::from_bytes(&of(size).to_bytes()).unwrap_err();
        assert_eq!(error, StateProofError::Format("no circuit has this size"));
        assert!(StateVerifier::<Quadratic>::new(&UNIQUE_100, size, true).is_none());
        assert!(StateProver::<Quadratic>::new(&UNIQUE_100, size, false).is_none());
    }
    let most = usize::MAX;
    let size = Size { blocks: most, accounts: most, slots: most, entries: most, ..size };
    assert!(StateVerifier::<Quadratic>::new(&UNIQUE_100, size, false).is_none());
    assert_eq!((size.keccak_blocks(), size.elements()), (most, u64::MAX));
}

/// Proofs and batches in files name the size of a circuit, and are verified with the key that is built for this size.
/// The digests of the first two are those of keys from before proofs could name a block.
#[test]
fn keys_of_sizes_do_not_change() {
    let of = |[blocks, branches, paths, accounts, slots, roots, opens, entries, steps]: [usize; 9], header: bool| {
        Size { blocks, branches, paths, accounts, slots, roots, opens, entries, steps, header }
    };
    let of_batch = [102, 33, 8, 4, 3, 8, 10, 0, 0];
    let keys =
        [(of([53, 15, 3, 1, 2, 1, 0, 0, 0], false), false), (of(of_batch, false), true), (of(of_batch, true), false)];
    let keys = keys.map(|(size, joined)| {
        StateVerifier::<Quadratic>::new(&UNIQUE_100, size, joined).expect("a circuit").key().to_string()
    });
    assert_eq!(
        keys,
        [
            "234befb149356b2ca7c8968b8e13fb6985f76980bfaf6dfc783483f95440acf9",
            "c124995d401e613a480b37baafdc356c9f51bfa47e111145b1823889ef2fcf90",
            "1cc52520e15b23b3b9d17484169ec361432161589c1b2bd85a88126bf0e89cc7",
        ]
    );
}

#[test]
fn a_proof_is_accepted_and_no_other() {
    let world = &*WORLD;
    let claims = [world.account(2), world.slot(2, 3), world.account(50)];
    let witness = world.witness(&claims).unwrap();
    let prover = StateProver::<Quadratic>::new(&UNIQUE_100, witness.size(), false).unwrap();
    let proof = prover.piece(&witness).unwrap().bytes;
    let verifier = StateVerifier::<Quadratic>::new(&UNIQUE_100, witness.size(), false).unwrap();
    assert_eq!(verifier.key(), prover.verifier().key());
    assert!(verifier.bits().unique_decoding >= 100.0);
    let digest = canonical_digest(&claims).unwrap();
    verifier.verify(Kind::Piece, &proof, &[(Tag::State, world.root, digest)]).unwrap();
    let mut other = digest;
    other.0[3] += Goldilocks::ONE;
    assert!(verifier.verify(Kind::Piece, &proof, &[(Tag::State, world.root, other)]).is_err());
    assert!(verifier.verify(Kind::Piece, &proof, &[(Tag::State, [7; 32], digest)]).is_err());
    for at in [0, 8, 700, proof.len() / 2, proof.len() - 8] {
        let mut changed = proof.clone();
        changed[at] ^= 1;
        assert!(verifier.verify(Kind::Piece, &changed, &[(Tag::State, world.root, digest)]).is_err(), "{at}");
    }
    assert!(verifier.verify(Kind::Piece, &proof[..proof.len() - 1], &[(Tag::State, world.root, digest)]).is_err());
    assert!(verifier.verify(Kind::Piece, &[], &[(Tag::State, world.root, digest)]).is_err());
    let more = world.witness(&[world.account(1), world.account(2), world.account(3)]).unwrap();
    assert!(prover.piece(&more).unwrap_err().to_string().contains("prove fewer claims at once"));
}

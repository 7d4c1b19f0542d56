//! Entries of transactions, receipts and withdrawals as circuits: values of every length, several roots, attacks that
//! set values directly.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use evergrove_ethereum::{Nodes, Trie, Tries};
use evergrove_grove::mpt::{Edge, Kind, PieceError, Size, StateProof, StateProofError, Statement, Witness};
use evergrove_multilinear::circuit::Circuit;
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Claim, EMPTY_ROOT, Hash, Roots, Tag, canonical_digest, rlp};

use crate::common::{Judge, cases, in_parallel};
use crate::mpt::{KEY, WORLD, circuit};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// A trie of values, keyed by their index, and all nodes.
pub(crate) struct List {
    pub(crate) tag: Tag,
    pub(crate) root: Hash,
    pub(crate) nodes: HashMap<Hash, Vec<u8>>,
    values: Vec<Vec<u8>>,
}

impl List {
    pub(crate) fn new(tag: Tag, values: Vec<Vec<u8>>) -> Self {
        let mut trie = Trie::indexed(&values).unwrap();
        let root = trie.root();
        let mut nodes = HashMap::new();
        for index in (0..values.len() as u64 + 300).chain([5000, 65_535]) {
            nodes.extend(
                trie.proof(&rlp::integer(index)).unwrap().into_iter().map(|node| (keccak_256(node), node.to_vec())),
            );
        }
        Self { tag, root, nodes, values }
    }
    /// The true claim about an index.
    pub(crate) fn claim(&self, index: u64) -> Claim {
        match self.values.get(index as usize) {
            Some(value) => Claim::Entry { trie: self.tag, index, value: value.clone() },
            None => Claim::AbsentEntry { trie: self.tag, index },
        }
    }
    fn claims(&self, indices: impl IntoIterator<Item = u64>) -> Vec<Claim> {
        indices.into_iter().map(|index| self.claim(index)).collect()
    }
    fn roots(&self) -> Roots {
        Roots::new(vec![(self.tag, self.root)]).unwrap()
    }
    fn witness(&self, claims: &[Claim]) -> Result<Witness, PieceError> {
        Witness::new(&self.roots(), &|hash| self.nodes.get(hash).map(Vec::as_slice), claims)
    }
}

/// Values of these lengths, with first bytes of every form.
pub(crate) fn values(lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let value = |(i, length): (usize, usize)| {
        let mut value: Vec<u8> = (0..length).map(|at| (i * 31 + at * 7 + 1) as u8).collect();
        value[0] = [0, 1, 0x7f, 0x80, 0xb8, 0xc0, 0xff][i % 7];
        value
    };
    lengths.into_iter().enumerate().map(value).collect()
}

fn holds(circuit: &Circuit<Quadratic>, free: &[Goldilocks]) -> bool {
    circuit.witness(free).unwrap().faults(circuit).is_empty()
}

pub(crate) fn larger(size: Size, more: usize) -> Size {
    let Size { blocks, branches, paths, accounts, slots, roots, opens, entries, steps, header } = size;
    let [blocks, branches, paths, accounts, slots] = [blocks, branches, paths, accounts, slots].map(|x| x + more);
    let [roots, opens, entries, steps] = [roots, opens, entries, steps].map(|x| x + more);
    Size { blocks, branches, paths, accounts, slots, roots, opens, entries, steps, header }
}

fn all_hold(list: &List, indices: impl IntoIterator<Item = u64>, more: usize) {
    let claims = list.claims(indices);
    let witness = list.witness(&claims).unwrap();
    let edge = Edge::of_root(list.tag, list.root, canonical_digest(&claims).unwrap());
    assert_eq!(witness.lists(), [edge.list(), Digest::ZERO]);
    let size = larger(witness.size(), more);
    let circuit = circuit(size);
    let columns = circuit.witness(&witness.data(size, KEY).unwrap()).unwrap();
    let faults = columns.faults(&circuit);
    assert_eq!(faults.len(), 0, "{size:?}: {:?}", &faults[..faults.len().min(8)]);
}

#[test]
fn values_of_every_length_hold() {
    let list = List::new(Tag::Receipts, values((1..80).chain([200, 255, 256, 257, 300, 1000, 4510])));
    all_hold(&list, 0..list.values.len() as u64, 0);
    all_hold(&list, [0, 3, 40, 85, 86, 200, 65_535], 2);
}

/// Keys of one, two and three bytes, and absent keys next to them.
#[test]
fn indices_of_every_length_hold() {
    let list = List::new(Tag::Transactions, values((0..300).map(|i| 30 + i % 9)));
    all_hold(&list, [0, 1, 2, 15, 16, 126, 127, 128, 129, 254, 255, 256, 257, 299, 300, 511, 5000, 65_535], 0);
    // A trie of one value is a leaf, a trie of two values is a branch, and a trie without values has no node.
    for count in 0..4 {
        let list = List::new(Tag::Transactions, values((0..count).map(|i| 30 + i)));
        all_hold(&list, [0, 1, 2, 5, 127, 128, 256, 300], 1);
    }
    // Values so short that their leaves are not hashed.
    let list = List::new(Tag::Withdrawals, values((0..40).map(|i| 1 + i % 30)));
    all_hold(&list, (0..45).chain([128, 256]), 0);
}

#[test]
fn claims_that_are_false_are_named() {
    let list = List::new(Tag::Receipts, values((0..20).map(|i| 30 + i)));
    let text = |claims: &[Claim]| list.witness(claims).unwrap_err().to_string();
    let Claim::Entry { trie, index, mut value } = list.claim(3) else { unreachable!() };
    value.pop();
    assert!(text(&[Claim::Entry { trie, index, value }]).starts_with("claim 0 is false: receipts 3: 32 bytes"));
    assert_eq!(text(&[Claim::AbsentEntry { trie, index }]), "claim 0 is false: receipts 3: absent");
    assert_eq!(
        text(&[Claim::AbsentEntry { trie, index: 1 << 16 }]),
        "claim 0 is about index 65536: circuits have indices below 65536"
    );
    assert_eq!(
        text(&[list.claim(3), Claim::AbsentEntry { trie: Tag::Withdrawals, index: 3 }]),
        "claim 1 is about withdrawals, whose root is not known: take the header of the block, or name the root"
    );
    let roots = Roots::new(vec![(Tag::State, EMPTY_ROOT), (Tag::Receipts, list.root)]).unwrap();
    let find = |hash: &Hash| list.nodes.get(hash).map(Vec::as_slice);
    assert_eq!(
        Witness::new(&roots, &find, &[list.claim(3)]).unwrap_err().to_string(),
        "no claim is about the state root: leave it out"
    );
}

/// Claims about the state and two lists of one block, in one proof.
#[test]
fn one_proof_is_about_several_roots() {
    let receipts = List::new(Tag::Receipts, values((0..140).map(|i| 60 + i)));
    let withdrawals = List::new(Tag::Withdrawals, values((0..16).map(|_| 36)));
    let world = &*WORLD;
    let roots = Roots::new(vec![
        (Tag::State, world.root),
        (Tag::Receipts, receipts.root),
        (Tag::Withdrawals, withdrawals.root),
    ])
    .unwrap();
    let find = |hash: &Hash| {
        let nodes = [&world.nodes, &receipts.nodes, &withdrawals.nodes];
        nodes.into_iter().find_map(|nodes| nodes.get(hash)).map(Vec::as_slice)
    };
    let mut claims = receipts.claims([5, 131, 140]);
    claims.extend([world.slot(2, 3), world.slot(50, 1)]);
    claims.extend(withdrawals.claims([0, 16]));
    let witness = Witness::new(&roots, &find, &claims).unwrap();
    let proof = StateProof::new(&witness).unwrap();
    let digest = canonical_digest(&claims).unwrap();
    assert_eq!(proof.digest(), digest);
    assert!(proof.verify(&roots, Some(digest)).unwrap().unique_decoding >= 100.0);
    assert_eq!(StateProof::from_bytes(&proof.to_bytes()).unwrap(), proof);
    // A root that the verifier does not have; another root; the d of two roots exchanged.
    assert_eq!(proof.verify(&Roots::of_state(world.root), None), Err(StateProofError::Unknown(Tag::Receipts)));
    let mut others: Vec<_> = roots.iter().copied().collect();
    others[1].1 = withdrawals.root;
    assert_eq!(proof.verify(&Roots::new(others).unwrap(), None), Err(StateProofError::Root(Tag::Receipts)));
    let Statement::Roots(stated) = &proof.statement else { unreachable!() };
    let with = |stated: Vec<_>| StateProof { statement: Statement::Roots(stated), ..proof.clone() };
    let mut swapped = stated.clone();
    (swapped[0].2, swapped[1].2) = (stated[1].2, stated[0].2);
    assert!(with(swapped).verify(&roots, None).is_err());
    // A proof about fewer roots, and a proof about a root with another tag.
    assert!(with(stated[..stated.len() - 1].to_vec()).verify(&roots, None).is_err());
    let mut other = stated.clone();
    other[1].0 = Tag::Transactions;
    let tags: Vec<_> = other.iter().map(|&(tag, root, _)| (tag, root)).collect();
    assert!(matches!(with(other).verify(&Roots::new(tags).unwrap(), None), Err(StateProofError::Refused(_))));
    let none = StateProof { kind: Kind::Piece, ..with(Vec::new()) };
    assert!(none.verify(&roots, None).is_err());
    assert!(StateProof::from_bytes(&none.to_bytes()).is_err());
}

/// A circuit with the free data of true claims, and the offsets of its steps and entries.
struct Attack {
    judge: Judge,
    free: Vec<Goldilocks>,
    size: Size,
    /// Only one change in this many is tried.
    every: usize,
    seen: AtomicUsize,
}

impl Attack {
    const STEP: usize = 19;
    const ENTRY: usize = 50;
    /// Offsets in the data of an entry: of `present` and `absent`, and of the elements behind them.
    const END: usize = 10;
    const ADDRESS: usize = 32;
    const HEAD: usize = 34;
    const DIGEST: usize = 38;
    const TAIL: usize = 42;

    fn new(list: &List, claims: &[Claim]) -> Self {
        let witness = list.witness(claims).unwrap();
        let size = witness.size();
        let free = witness.data(size, KEY).unwrap();
        let this = Self { judge: Judge::new(circuit(size), &free), free, size, every: 1, seen: AtomicUsize::new(0) };
        assert_eq!(this.entry(size.entries) + 10 * (size.entries - 1), this.free.len());
        this
    }
    fn root(&self) -> usize {
        16 + 4 * ((self.size.blocks * 136).div_ceil(16) + 1) + self.size.blocks - 1
    }
    /// The offset of the bit that says whether a step is the last one of a value.
    fn step(&self, i: usize) -> usize {
        let first = self.root() + 26 + 22 * self.size.branches + 23 * self.size.paths;
        if i == 0 { first } else { first + 10 + Self::STEP * (i - 1) }
    }
    fn entry(&self, i: usize) -> usize {
        self.step(self.size.steps) + Self::ENTRY * i
    }
    /// True if the next change is to be tried.
    fn turn(&self) -> bool {
        (self.seen.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every)
    }
    fn refused(&self, what: &str, changes: &[(usize, Goldilocks)]) {
        if !self.turn() {
            return;
        }
        let mut free = self.free.clone();
        changes.iter().for_each(|&(at, value)| free[at] = value);
        assert_ne!(free, self.free, "{what}: no change");
        assert!(!self.judge.holds(&free), "{what}");
    }
    fn counts(&self, what: &str, at: usize) {
        self.refused(what, &[(at, self.free[at] + ONE)]);
    }
}

/// Two values of several steps, one of one step; absences at an empty child and at another path.
fn attacked(every: usize) -> Attack {
    let list = List::new(Tag::Receipts, values([70, 12, 100, 16, 17].into_iter().chain((5..20).map(|i| 40 + i))));
    Attack { every, ..Attack::new(&list, &list.claims([0, 1, 2, 4, 20, 300])) }
}

fn elements_of_entries_count(every: usize) {
    let attack = attacked(every);
    let mut seen = [0; 3];
    for i in 0..attack.size.entries {
        let at = attack.entry(i);
        let present = attack.free[at + 1] == ONE;
        attack.refused("an entry less", &[(at, ZERO)]);
        attack.refused("present or absent", &[(at + 1, ONE - attack.free[at + 1])]);
        for element in 2..10 {
            attack.counts("trie, index, or what fills the hash", at + element);
        }
        attack.refused("another trie", &[(at + 2, Goldilocks::new(4))]);
        let end = at + Attack::END;
        if present {
            seen[0] += 1;
            for (element, what) in [(0, "leaf"), (1, "address of the value"), (2, "root")] {
                attack.counts(what, end + element);
            }
            // If a value has only one step, the value's header takes the place of the first word of the last step.
            let only = attack.free[at + Attack::HEAD + 3].as_u64() <= 16;
            let unused = if only { Attack::TAIL..Attack::TAIL + 4 } else { 0..0 };
            for element in (Attack::ADDRESS..Attack::ENTRY).filter(|element| !unused.contains(element)) {
                attack.counts("value", at + element);
            }
            // The last step at another address.
            for distance in [-32_i64, -16, -1, 16, 32] {
                let address = (attack.free[at + Attack::ADDRESS].as_u64() as i64 + distance).cast_unsigned();
                attack.refused("address of the last step", &[(at + Attack::ADDRESS, Goldilocks::reduce(address))]);
            }
        } else {
            let other = attack.free[end + 3] == ONE;
            seen[if other { 1 } else { 2 }] += 1;
            for element in [5, 7, 8, 9, 10] {
                attack.counts("where it is absent", end + element);
            }
            attack.refused("another path or nothing", &[(end + 3, ONE - attack.free[end + 3])]);
            attack.refused("an empty trie", &[(end + 4, ONE)]);
        }
    }
    assert_eq!(seen[0], 4);
    assert!(seen[1] > 0 && seen[2] > 0, "{seen:?}");
    for i in 0..attack.size.steps {
        let at = attack.step(i);
        attack.refused("the last step of a value", &[(at, ONE - attack.free[at])]);
        let words = if i == 0 { 2 } else { 11 };
        if i > 0 {
            attack.refused("the first step of a value", &[(at + 2, ONE - attack.free[at + 2])]);
            for element in 3..7 {
                attack.counts("the state that is hashed on", at + element);
            }
        }
        for element in words..words + 8 {
            attack.counts("bytes of a value", at + element);
        }
    }
}

/// True evidence for one index, in the slot of another index.
fn evidence_is_of_its_index(every: usize) {
    let attack = attacked(every);
    let copy = |what: &str, from: usize, to: usize, len: usize| {
        if !attack.turn() {
            return;
        }
        let mut free = attack.free.clone();
        free.copy_within(from..from + len, to);
        assert!(!attack.judge.holds(&free), "{what}");
    };
    for i in 0..attack.size.entries {
        for j in (0..attack.size.entries).filter(|j| *j != i) {
            let [from, to] = [j, i].map(|i| attack.entry(i));
            copy("another entry twice", from, to, Attack::ENTRY);
            copy("the way of another entry", from + Attack::END, to + Attack::END, 22);
            if attack.free[to + 1] == ONE {
                copy("the value of another entry", from + Attack::ADDRESS, to + Attack::ADDRESS, 18);
            }
            copy("all but the index", from + Attack::END, to + Attack::END, 40);
        }
    }
}

#[test]
fn one_change_of_seven() {
    elements_of_entries_count(7);
    evidence_is_of_its_index(7);
}

#[test]
#[ignore = "slow: minutes"]
fn every_change() {
    elements_of_entries_count(1);
    evidence_is_of_its_index(1);
}

/// Digests over bytes behind the value, or over fewer bytes than it has, with all hashes that follow.
#[test]
fn a_leaf_digest_is_over_the_value_alone() {
    let list = List::new(Tag::Receipts, values((0..20).map(|i| 60 + i)));
    let attack = Attack::new(&list, &list.claims([3]));
    let Claim::Entry { trie, index, value } = list.claim(3) else { unreachable!() };
    let root = attack.root();
    let tail = |bytes: &[u8]| {
        let mut elements = Claim::Entry { trie, index, value: bytes.to_vec() }.elements().1;
        elements.split_off(elements.len() - 8)
    };
    let own = tail(&value);
    let at = attack.entry(0);
    assert_eq!(attack.free[at + Attack::TAIL..at + Attack::ENTRY], own[..]);
    let mut tried = 0;
    let mut longer = value.clone();
    // The byte behind the value is Keccak's padding.
    longer.push(1);
    let mut changed = value.clone();
    *changed.last_mut().unwrap() ^= 1;
    for (said, length) in [(&longer, value.len()), (&longer, value.len() + 1), (&changed, value.len())] {
        let mut elements = Claim::Entry { trie, index, value: said.clone() }.elements().1;
        elements[3] = Goldilocks::new(length as u64);
        let mut state = [Goldilocks::new(u32::from_be_bytes(*b"ETHE").into()), ZERO, ZERO, ZERO];
        let mut free = attack.free.clone();
        for (i, step) in elements.chunks(8).enumerate() {
            let at = attack.step(i);
            if i > 0 {
                free[at + 3..at + 7].copy_from_slice(&state);
            }
            let words = if i == 0 { at + 2 } else { at + 11 };
            free[words..words + 8].copy_from_slice(step);
            let mut full = [ZERO; 12];
            full[..8].copy_from_slice(step);
            full[8..].copy_from_slice(&state);
            evergrove_primitives::hash::poseidon::permute(&mut full);
            state.copy_from_slice(&full[..4]);
        }
        free[at + Attack::HEAD..at + Attack::DIGEST].copy_from_slice(&elements[..4]);
        free[at + Attack::DIGEST..at + Attack::TAIL].copy_from_slice(&state);
        free[at + Attack::TAIL..at + Attack::ENTRY].copy_from_slice(&tail(said));
        free[root + 20..root + 24].copy_from_slice(&state);
        let edge = Edge::of_root(trie, list.root, Digest(state));
        free[..4].copy_from_slice(&edge.list().0);
        assert!(!attack.judge.holds(&free), "{} bytes, {length}", said.len());
        tried += 1;
    }
    assert_eq!(tried, 3);
}

/// Leaves and branches, changed in one or two places: the circuit accepts exactly the claims that the native walk
/// accepts.
fn mutated_nodes(cases: u64) {
    // A leaf alone with values of every form, and a branch.
    let lists: Vec<(List, Claim)> = [1, 2, 20, 55, 56, 57, 120, 255, 256, 300]
        .into_iter()
        .map(|length| List::new(Tag::Receipts, values([length])))
        .chain([List::new(Tag::Receipts, values([40, 41, 42]))])
        .flat_map(|list| {
            [0, 1, 300].map(|index| {
                let claim = list.claim(index);
                (List { values: list.values.clone(), nodes: list.nodes.clone(), ..list }, claim)
            })
        })
        .collect();
    let attacks: Vec<Attack> =
        lists.iter().map(|(list, claim)| Attack::new(list, std::slice::from_ref(claim))).collect();
    in_parallel(cases, |case, next| {
        let which = next(lists.len() as u64) as usize;
        let ((list, claim), attack) = (&lists[which], &attacks[which]);
        let mut node = list.nodes[&list.root].clone();
        let blocks = node.len() / 136 + 1;
        for _ in 0..1 + next(2) {
            let at = if next(3) > 0 { next(node.len().min(9) as u64) } else { next(node.len() as u64) } as usize;
            match next(8) {
                0 => node[at] = node[at].wrapping_add(1),
                1 => node[at] = node[at].wrapping_sub(1),
                2 => node[at] ^= 1 << next(8),
                3 => node[at] = [0, 0x7f, 0x80, 0x81, 0xb7, 0xb8, 0xb9, 0xf9][next(8) as usize],
                4 => {
                    node.remove(at);
                }
                5 => node.insert(at, next(256) as u8),
                6 => node[0] = node[0].wrapping_add(node.len() as u8),
                _ => {}
            }
        }
        if node.is_empty() || node.len() / 136 + 1 != blocks {
            return None;
        }
        let root = keccak_256(&node);
        let others = list.nodes.iter().filter(|(hash, _)| **hash != list.root).map(|(_, node)| node.clone());
        let roots = Roots::new(vec![(Tag::Receipts, root)]).unwrap();
        let tries = Tries::new(&roots, Nodes::new(others.chain([node.clone()])).unwrap());
        if tries.check(claim).is_ok() {
            let known =
                |hash: &Hash| if *hash == root { Some(&node[..]) } else { list.nodes.get(hash).map(Vec::as_slice) };
            let witness = Witness::new(&roots, &known, std::slice::from_ref(claim)).unwrap();
            let size = witness.size();
            let free = witness.data(size, KEY).unwrap();
            // A changed value may have another length, and take other steps.
            let fits = if size == attack.size { attack.judge.holds(&free) } else { holds(&circuit(size), &free) };
            assert!(fits, "case {case}: {claim} in {node:02x?}");
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
        let first = attack.root() + 26;
        let own = first + if attack.size.branches > 0 { 14 } else { 15 };
        let digest = canonical_digest(std::slice::from_ref(claim)).unwrap();
        free[..4].copy_from_slice(&Edge::of_root(Tag::Receipts, root, digest).list().0);
        for from in [attack.root() + 12, own] {
            for (element, bytes) in free[from..].iter_mut().zip(root.chunks(4)) {
                *element = half(bytes);
            }
        }
        assert!(!attack.judge.holds(&free), "case {case}: {claim} in {node:02x?}");
        Some(false)
    });
}

#[test]
fn a_mutated_node_is_read_as_natively() {
    mutated_nodes(150);
}

#[test]
#[ignore = "slow: minutes"]
fn many_mutated_nodes_are_read_as_natively() {
    mutated_nodes(cases(10_000));
}

/// No circuit reads a branch within a branch, and the error says so.
#[test]
fn embedded_branches_are_refused() {
    // Indices 1 and 2 are below one nibble, and their values have one byte.
    let list = List::new(Tag::Withdrawals, values([1, 1, 1]));
    let error = list.witness(&list.claims([1])).unwrap_err().to_string();
    assert!(error.ends_with("is invalid: it contains a branch or an extension, which no circuit reads"), "{error}");
    all_hold(&list, [0, 128, 300], 0);
}

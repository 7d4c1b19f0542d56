//! Tests of updates without proving: whatever changes in the state, and whatever a file contains, the constraints of
//! all planned pieces and joins hold.

use std::collections::BTreeMap;

use evergrove_ethereum::{Keys, Trie};
use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Address, Word, canonical_digest, rlp};
use evergrove_verifier::tables::{Tables, bits, query};

use super::super::header::block_list;
use super::super::list::Sublist;
use super::super::{LIST_TAG, Lists, lists, modes, piece};
use super::*;

const KEY: [Goldilocks; 4] = [Goldilocks::ONE; 4];

/// The balance and the slots of each account.
type State = BTreeMap<u64, (u64, BTreeMap<u64, u64>)>;

struct World {
    root: Hash,
    nodes: HashMap<Hash, Vec<u8>>,
    claims: Vec<Claim>,
}

fn address(i: u64) -> Address {
    let mut address = [7; 20];
    address[12..].copy_from_slice(&i.to_be_bytes());
    address
}

fn word(x: u64) -> Word {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&x.to_be_bytes());
    word
}

/// A state, and true claims about some accounts and about some of their slots.
fn world(state: &State, asked: &[(u64, Option<u64>)]) -> World {
    let mut nodes = HashMap::new();
    let mut keep = |trie: &mut Trie, key: &[u8]| {
        for node in trie.proof(key).unwrap() {
            nodes.insert(keccak_256(node), node.to_vec());
        }
    };
    let mut trie = Trie::empty(Keys::Hashed);
    let mut accounts = HashMap::new();
    for (&i, (balance, slots)) in state {
        let mut storage = Trie::empty(Keys::Hashed);
        for (slot, value) in slots {
            let mut item = Vec::new();
            rlp::write_string(&mut item, rlp::trimmed(&word(*value)));
            storage.put(&keccak_256(&word(*slot)), Some(&item)).unwrap();
        }
        let account =
            Account { nonce: 1, balance: word(*balance), storage_root: storage.root(), code_hash: [i as u8; 32] };
        trie.put(&keccak_256(&address(i)), Some(&account.rlp())).unwrap();
        for (_, slot) in asked.iter().filter(|(own, _)| *own == i) {
            slot.iter().for_each(|slot| keep(&mut storage, &keccak_256(&word(*slot))));
        }
        accounts.insert(i, account);
    }
    let root = trie.root();
    let mut claims = Vec::new();
    for &(i, slot) in asked {
        keep(&mut trie, &keccak_256(&address(i)));
        let address = address(i);
        claims.push(match (slot, accounts.get(&i)) {
            (None, Some(&account)) => Claim::Account { address, account },
            (None, None) => Claim::AbsentAccount { address },
            (Some(slot), _) => {
                let value = state.get(&i).and_then(|(_, slots)| slots.get(&slot)).copied().unwrap_or(0);
                Claim::Slot { address, slot: word(slot), value: word(value) }
            }
        });
    }
    World { root, nodes, claims }
}

/// A header with this state root.
fn header(root: Hash) -> Header {
    let mut items = Vec::new();
    let mut put = |bytes: &[u8]| rlp::write_string(&mut items, bytes);
    [&[1; 32][..], &[2; 32], &[3; 20], &root, &[4; 32], &[5; 32], &[6; 256]].into_iter().for_each(&mut put);
    let later = [&[][..], &[7], &[8; 4], &[9; 4], &[10; 4], &[11; 20], &[12; 32], &[13; 8], &[14]];
    later.into_iter().for_each(&mut put);
    Header::parse(&rlp::list(&items)).unwrap()
}

struct Circuits {
    size: Size,
    piece: Circuit<Quadratic>,
    /// The joins without parts of lists, and with parts.
    joins: [Circuit<Quadratic>; 2],
}

fn circuit(rows: impl FnOnce(&mut Builder<Quadratic>)) -> Circuit<Quadratic> {
    let modes = modes();
    let tables =
        Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros));
    let mut b = Builder::new(tables);
    rows(&mut b);
    b.finish()
}

fn holds(circuit: &Circuit<Quadratic>, free: &[Goldilocks]) -> bool {
    circuit.witness(free).unwrap().faults(circuit).is_empty()
}

impl Circuits {
    fn none() -> Self {
        let none = || circuit(|_| ());
        let size = Size { blocks: 1, accounts: 1, roots: 1, ..Size::NONE };
        Self { size, piece: none(), joins: [none(), none()] }
    }
    fn new(size: Size) -> Self {
        let joins = [false, true].map(|parts| {
            circuit(|b| {
                let Lists { proofs, own } = lists(b, parts);
                let tag = b.tag(LIST_TAG);
                let hash = b.hash(tag, own);
                let hash = proofs.into_iter().fold(hash, |hash, proof| b.hash(hash, proof));
                b.publish(hash);
            })
        });
        let piece = circuit(|b| {
            piece(b, size);
        });
        Self { size, piece, joins }
    }
    fn join(&self, kind: Kind, join: Join<'_>, of: [[Digest; 2]; 2], own: [Digest; 2]) {
        let words = [of[0][0], of[1][0], of[0][1], of[1][1], own[0], own[1]];
        let mut free: Vec<Goldilocks> = words.iter().flat_map(|word| word.0).collect();
        let part = if let Join::Sublist(part) = join { Some(part) } else { None };
        let bits = [part.is_some() || join == Join::Below, join == Join::Alone, part.is_some()];
        let bits = bits.map(|bit| Goldilocks::new(bit.into()));
        let parts = kind == Kind::Joins;
        free.extend(&bits[..if parts { 3 } else { 2 }]);
        if parts {
            free.extend(part.unwrap_or(&Sublist::default()).data());
        }
        assert!(holds(&self.joins[usize::from(parts)], &free), "{kind:?} {join:?}");
    }
    /// Checks that every planned step holds and that the last one shows the state's edge. Returns the batch, with empty
    /// proofs.
    fn all_hold(&self, prepared: &Prepared<'_>, world: &World, check: bool) -> Batch {
        let nodes = |hash: &Hash| world.nodes.get(hash).map(Vec::as_slice);
        let new = prepared.new_steps(|_| true);
        for (i, (step, kind, own)) in prepared.steps.iter().enumerate() {
            let lists_of = |of: [usize; 2]| {
                let kinds = of.map(|step| prepared.steps[step].1);
                assert_eq!(Kind::of(kinds), Some(*kind));
                assert!(
                    of.into_iter()
                        .all(|step| step < i
                            && (!new[i] || new[step] || prepared.known(&prepared.steps[step]).is_some()))
                );
                of.map(|step| prepared.steps[step].2)
            };
            match *step {
                Step::Piece(piece) if new[i] && check => {
                    let witness = prepared.plan.witness(piece, &nodes).unwrap();
                    assert_eq!(witness.lists(), *own);
                    assert!(holds(&self.piece, &witness.data(self.size, KEY).unwrap()), "piece {piece}");
                }
                Step::Piece(_) => {}
                Step::Base => assert!(prepared.known(&prepared.steps[i]).is_some()),
                Step::Join { join, of } if new[i] && check => self.join(*kind, join, lists_of(of), *own),
                Step::Join { .. } => {}
                Step::Sublist(of) => {
                    let part = &prepared.plan.base.as_ref().unwrap().part;
                    let join = if part.is_all() { Join::Below } else { Join::Sublist(part) };
                    if check {
                        self.join(*kind, join, lists_of(of), *own);
                    }
                }
            }
        }
        let digest = canonical_digest(&world.claims).unwrap();
        let shown = match &prepared.header {
            Some(header) => block_list(&header.hash, &[(Tag::State, digest)]).0,
            None => Edge::of_root(Tag::State, world.root, digest).list(),
        };
        assert_eq!(prepared.steps.last().unwrap().2, [shown, Digest::ZERO]);
        let steps = prepared.steps.iter().zip(&new).filter(|((step, ..), _)| !matches!(step, Step::Base));
        let made = steps.filter(|(step, new)| **new || prepared.known(step).is_some());
        let made = made.map(|((_, kind, lists), _)| NodeProof { kind: *kind, lists: *lists, bytes: Vec::new() });
        let Prepared { kept, shown_below, cut, roots, header, claims, nodes, .. } = prepared;
        Batch {
            size: self.size,
            cut: *cut,
            roots: roots.clone(),
            header: header.clone(),
            claims: claims.clone(),
            nodes: nodes.clone(),
            shown_below: shown_below.clone(),
            proofs: kept.iter().map(|&kept| kept.clone()).chain(made).collect(),
        }
    }
    fn prepare<'a>(
        &self,
        world: &World,
        cut: Option<u8>,
        earlier: Option<&'a Batch>,
    ) -> Result<Prepared<'a>, PieceError> {
        let nodes = |hash: &Hash| world.nodes.get(hash).map(Vec::as_slice);
        let (roots, header) = (Roots::of_state(world.root), self.size.header.then(|| header(world.root)));
        let block = Block { roots: &roots, header: header.as_ref() };
        Prepared::new(block, &nodes, &world.claims, (self.size, cut), earlier)
    }
}

fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut seed = seed.wrapping_mul(2) + 1;
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
}

/// Updates of all kinds above earlier proofs: changed balances, added and removed slots, added and removed accounts.
fn updates(
    circuits: &Circuits,
    seed: u64,
    accounts: u64,
    slots: u64,
    cut: Option<u8>,
    steps: usize,
    checks: usize,
) -> [usize; 3] {
    let mut next = random(seed);
    let mut state = State::new();
    let mut asked = Vec::new();
    for i in 0..accounts {
        let own = if i % 3 == 0 { next(slots) } else { next(3) };
        if i % 5 != 4 {
            state.insert(i, (next(300), (0..own).map(|slot| (slot, 1 + next(1000))).collect()));
        }
        if i % 4 != 1 {
            asked.push((i, None));
        }
        asked.extend((0..own + 1).filter(|slot| slot % 7 != 3).map(|slot| (i, Some(slot))));
    }
    let (mut above, mut storage, mut refused) = (0, 0, 0);
    let mut batch: Option<Batch> = None;
    for _ in 0..steps {
        let world = world(&state, &asked);
        let prepared = match circuits.prepare(&world, cut, batch.as_ref()) {
            Ok(prepared) => prepared,
            Err(e) => {
                // A plan that is refused with an earlier batch is refused without it, too.
                let alone = circuits.prepare(&world, cut, None).map(|_| ());
                assert_eq!(alone.unwrap_err(), e, "seed {seed}");
                refused += 1;
                batch = None;
                continue;
            }
        };
        let mut storage_edges = false;
        if prepared.plan.base.is_some() {
            above += 1;
            let open = prepared.plan.pieces[0].open.as_ref().unwrap();
            storage_edges = open.edges().iter().any(|edge| edge.trie.account().is_some());
            storage += usize::from(storage_edges);
        }
        let check = prepared.plan.base.is_some() && (storage_edges || above <= 2) && above <= checks;
        let made = circuits.all_hold(&prepared, &world, check);
        assert_eq!(Batch::from_bytes(&made.to_bytes()).unwrap(), made);
        batch = Some(made);
        for _ in 0..1 + next(2) {
            let i = next(accounts);
            match (next(6), state.get_mut(&i)) {
                (0, Some(_)) => drop(state.remove(&i)),
                (0..3, None) => drop(state.insert(i, (next(300), BTreeMap::from([(0, 5)])))),
                (0..3, Some((balance, _))) => *balance += 1,
                (3, Some((_, slots))) => drop(slots.pop_first()),
                (4, Some((_, slots))) => slots.clear(),
                (_, Some((_, own))) => drop(own.insert(next(slots), 1 + next(1000))),
                _ => {}
            }
        }
    }
    [above, storage, refused]
}

#[test]
fn updates_of_the_state_hold() {
    let size =
        Size { blocks: 40, branches: 12, paths: 18, accounts: 14, slots: 30, roots: 16, opens: 24, ..Size::NONE };
    let circuits = Circuits::new(size);
    let mut all = [0; 3];
    for seed in 0..4 {
        let shape = [(30, 12, Some(1)), (40, 3, Some(1))];
        let (accounts, slots, cut) = shape[seed as usize % shape.len()];
        let counts = updates(&circuits, seed, accounts, slots, cut, 4, 9);
        all = core::array::from_fn(|i| all[i] + counts[i]);
    }
    assert!(all[0] > 0, "{all:?}");
}

#[test]
fn updates_of_storage_hold() {
    let size = Size { blocks: 24, branches: 8, paths: 14, accounts: 5, slots: 16, roots: 8, opens: 20, ..Size::NONE };
    let circuits = Circuits::new(size);
    let mut all = [0; 3];
    // The seeds below 100 whose updates are above edges of storage.
    for seed in [42, 46, 91] {
        let shape = [(1, 90), (2, 90), (4, 90)];
        let (accounts, slots) = shape[seed as usize % shape.len()];
        let counts = updates(&circuits, seed, accounts, slots, None, 6, 9);
        all = core::array::from_fn(|i| all[i] + counts[i]);
    }
    assert!(all[1] > 2, "{all:?}");
}

/// The same with the header of the block in the topmost piece: updates above earlier proofs, files, and the proofs of
/// another kind of statement, which are not reused.
#[test]
fn blocks_above_earlier_proofs_hold() {
    let size = Size {
        blocks: 40,
        branches: 12,
        paths: 18,
        accounts: 14,
        slots: 30,
        roots: 16,
        opens: 24,
        header: true,
        ..Size::NONE
    };
    let circuits = Circuits::new(size);
    let counts = updates(&circuits, 0, 30, 12, Some(1), 3, 1);
    assert!(counts[0] > 0, "{counts:?}");
    let (batch, after) = changed(&circuits);
    assert_eq!(Batch::from_bytes(&batch.to_bytes()).unwrap(), batch);
    let bytes = batch.to_bytes();
    let at = 43 + 34;
    let length = batch.header.as_ref().unwrap().bytes.len();
    assert_eq!(bytes[at..at + 4], (length as u32).to_le_bytes());
    for change in [at, at + 1, at + 3, at + 4, at + 4 + 91, at - 1] {
        let mut other = bytes.clone();
        other[change] ^= 1;
        assert!(Batch::from_bytes(&other).is_err(), "byte {change}");
    }
    for end in [at, at + 3, at + 200] {
        assert!(Batch::from_bytes(&bytes[..end]).is_err(), "{end} bytes");
    }
    let nodes = |hash: &Hash| after.nodes.get(hash).map(Vec::as_slice);
    let roots = Roots::of_state(after.root);
    let of_roots = Prepared::new(&roots, &nodes, &after.claims, (size, Some(1)), Some(&batch)).unwrap();
    assert_eq!((of_roots.size().header, of_roots.new_proofs()), (false, of_roots.all_proofs()));
}

/// Plans without circuits, of small sizes with little room for edges.
#[test]
fn plans_of_updates_are_made() {
    let mut all = [0; 3];
    for seed in 0..150 {
        let mut next = random(1000 + seed);
        let opens = 4 + next(16) as usize;
        let size = Size {
            blocks: 12 + next(20) as usize,
            branches: 4 + next(8) as usize,
            paths: 6 + next(8) as usize,
            accounts: 4 + next(6) as usize,
            slots: 6 + next(8) as usize,
            roots: 3 + next(8) as usize,
            opens,
            entries: 0,
            steps: 0,
            header: false,
        };
        let circuits = Circuits { size, ..Circuits::none() };
        let cut = [None, Some(0), Some(1), Some(1), Some(2)][next(5) as usize];
        let accounts = 1 + next(40);
        let counts = updates(&circuits, seed, accounts, 4 + next(60) / accounts, cut, 5, 0);
        all = core::array::from_fn(|i| all[i] + counts[i]);
    }
    assert!(all[0] > 20, "{all:?}");
}

/// A batch with edges below the topmost piece, and a state in which one account has changed.
fn changed(circuits: &Circuits) -> (Batch, World) {
    let state = |more: u64| -> State {
        let slots = |i: u64| (0..i % 4).map(|slot| (slot, slot + 1)).collect();
        (0..40).map(|i| (i, (if i == 3 { more } else { i }, slots(i)))).collect()
    };
    let asked: Vec<_> = (0..40).flat_map(|i| [(i, None), (i, Some(1))]).collect();
    let before = world(&state(1), &asked);
    let batch = circuits.all_hold(&circuits.prepare(&before, Some(1), None).unwrap(), &before, false);
    assert!(batch.base().is_some());
    (batch, world(&state(2), &asked))
}

const SIZE: Size =
    Size { blocks: 40, branches: 12, paths: 18, accounts: 14, slots: 30, roots: 16, opens: 24, ..Size::NONE };

/// Changes the edges that a file lists as shown below, and adds a proof with that list: a plan on top of them holds, or
/// the batch is planned without them.
fn with_shown_below(circuits: &Circuits, changes: &[fn(&mut Vec<Vec<Edge>>)]) {
    let (batch, after) = changed(circuits);
    for change in changes {
        let mut other = batch.clone();
        change(&mut other.shown_below);
        let mut other = Batch::from_bytes(&other.to_bytes()).unwrap();
        let prepared = circuits.prepare(&after, Some(1), Some(&other)).unwrap();
        circuits.all_hold(&prepared, &after, prepared.plan.base.is_some());
        if !other.shown_below.is_empty() {
            let lists: Vec<List> = other.shown_below.iter().map(|roots| List::of_edges(roots)).collect();
            let lists = [List::of_lists(&lists).digest, Digest::ZERO];
            other.proofs.insert(0, NodeProof { kind: Kind::Joins, lists, bytes: Vec::new() });
            let prepared = circuits.prepare(&after, Some(1), Some(&other)).unwrap();
            circuits.all_hold(&prepared, &after, prepared.plan.base.is_some());
        }
    }
}

#[test]
fn shown_below_may_say_anything() {
    let circuits = Circuits::new(SIZE);
    let (batch, after) = changed(&circuits);
    let honest = circuits.prepare(&after, Some(1), Some(&batch)).unwrap();
    assert!(honest.plan.base.is_some());
    circuits.all_hold(&honest, &after, true);
    with_shown_below(
        &circuits,
        &[
            |shown| shown.clear(),
            |shown| drop(shown.pop()),
            |shown| shown.truncate(1),
            |shown| shown.swap(0, 1),
            |shown| shown[0][0].digest.0[0] += Goldilocks::ONE,
            |shown| shown[0][0].prefix = vec![255; 64],
            |shown| shown[0][0].prefix.clear(),
            |shown| shown[0][0].trie = super::super::Trie::Storage([0; 20]),
        ],
    );
}

/// A true proof may be joined beside itself, and then shows its edges twice.
#[test]
fn edges_may_be_shown_twice() {
    let circuits = Circuits::new(SIZE);
    with_shown_below(
        &circuits,
        &[
            |shown| shown.push(shown[0].clone()),
            |shown| shown.extend(shown.clone()),
            |shown| {
                let edge = shown[0][0].clone();
                shown[1].push(edge);
            },
        ],
    );
}

#[test]
fn bytes_of_a_batch_may_be_anything() {
    let circuits = Circuits { size: SIZE, ..Circuits::none() };
    let (batch, after) = changed(&circuits);
    let bytes = batch.to_bytes();
    let proofs: usize = batch.proofs.iter().map(|proof| 1 + 64 + 4 + proof.bytes.len()).sum();
    let edges: usize = batch.shown_below.iter().flatten().map(|edge| 86 + edge.prefix.len()).sum();
    let behind = bytes.len() - proofs - 4 - edges - 4 * batch.shown_below.len() - 4;
    assert_eq!(bytes[behind..][..4], (batch.shown_below.len() as u32).to_le_bytes());
    let mut next = random(9);
    let mut read = 0;
    for i in 0..3000 {
        let mut bytes = bytes.clone();
        // Change the edges and proofs, or anything.
        let from = if i % 4 > 0 { behind } else { 0 };
        for _ in 0..1 + next(3) {
            let at = from + next((bytes.len() - from) as u64) as usize;
            bytes[at] = [0, 1, 255, next(256) as u8][next(4) as usize];
        }
        if i % 7 == 0 {
            bytes.truncate(from + next((bytes.len() - from) as u64) as usize);
        }
        let Ok(other) = Batch::from_bytes(&bytes) else { continue };
        assert!(Batch::from_bytes(&other.to_bytes()).unwrap() == other);
        read += 1;
        if i % 10 == 0 {
            let prepared = circuits.prepare(&after, Some(1), Some(&other)).unwrap();
            circuits.all_hold(&prepared, &after, false);
        }
    }
    assert!(read > 100, "{read}");
}

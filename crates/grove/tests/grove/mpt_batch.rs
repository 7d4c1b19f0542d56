//! Claims about Ethereum's state in several pieces: plans, open edges, joins, and proofs that a new state leaves
//! unchanged.

use std::collections::HashSet;

use evergrove_grove::mpt::{
    Batch, Edge, Join, Kind, Plan, Planned, Prepared, Progress, Size, StateProof, StateVerifier, Witness,
};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Claim, Roots, Tag, canonical_digest};

use crate::common::Judge;
use crate::mpt::{KEY, WORLD, World, circuit};

const SMALL: Size =
    Size { blocks: 16, branches: 4, paths: 7, accounts: 6, slots: 10, roots: 6, opens: 6, ..Size::NONE };

const TINY: Size = Size { blocks: 6, branches: 2, paths: 4, accounts: 2, slots: 4, roots: 4, opens: 6, ..Size::NONE };

/// Slots of one account, more than a tiny piece has room for.
fn storage() -> Vec<Claim> {
    [0, 1, 2, 3, 8, 11, 17, 29, 33].map(|slot| WORLD.slot(2, slot)).to_vec()
}

fn plan(world: &World, claims: &[Claim], size: Size, cut: Option<u8>) -> Plan {
    Plan::new(&world.witness(claims).unwrap(), claims, size, cut).unwrap()
}

fn witness(world: &World, plan: &Plan, piece: usize) -> Witness {
    plan.witness(piece, &|hash| world.nodes.get(hash).map(Vec::as_slice)).unwrap()
}

/// Checks that every piece of a plan holds. Returns the number of edges in the state's trie and in storage.
fn pieces_hold(world: &World, claims: &[Claim], size: Size, cut: Option<u8>) -> [usize; 2] {
    let plan = plan(world, claims, size, cut);
    let circuit = circuit(size);
    let mut seen = HashSet::new();
    let mut edges = [0; 2];
    for (i, Planned { roots, claims: own, below, .. }) in plan.pieces.iter().enumerate() {
        let witness = witness(world, &plan, i);
        let columns = circuit.witness(&witness.data(size, KEY).unwrap()).unwrap();
        let faults = columns.faults(&circuit);
        assert_eq!(faults.len(), 0, "piece {i}: {roots:?}: {:?}", &faults[..faults.len().min(8)]);
        assert_eq!(witness.lists()[1] == Digest::ZERO, below.is_empty());
        assert!(below.iter().all(|&below| below < i), "those below come before");
        roots.iter().for_each(|edge| edges[usize::from(edge.trie.account().is_some())] += 1);
        own.iter().for_each(|(place, claim)| assert!(*claim == claims[*place] && seen.insert(*place)));
    }
    assert_eq!(seen.len(), claims.len());
    let whole = Edge::of_root(Tag::State, world.root, canonical_digest(claims).unwrap());
    assert_eq!(plan.pieces.last().unwrap().roots, [whole]);
    edges
}

#[test]
fn pieces_of_every_kind_hold() {
    let world = &*WORLD;
    let claims = world.claims();
    assert_eq!(
        pieces_hold(
            world,
            &claims,
            Size { blocks: 90, slots: 60, paths: 60, accounts: 30, branches: 20, ..SMALL },
            None
        ),
        [1, 0]
    );
    let [state, _] = pieces_hold(world, &claims, SMALL, None);
    assert!(state > 1, "{state}");
    let [state, _] = pieces_hold(world, &claims, SMALL, Some(1));
    assert!(state > 3, "{state}");
    pieces_hold(world, &claims[..3], SMALL, Some(2));
    // Accounts that are only there because of their slots.
    let [_, storage] = pieces_hold(world, &storage(), TINY, None);
    assert!(storage > 1);
    let crowd: Vec<Claim> = (0..9).map(|slot| world.slot(0, slot)).collect();
    let error = Plan::new(&world.witness(&crowd).unwrap(), &crowd, TINY, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "nodes that stay together, with 10 claims that end there, are more than a piece has room for: prove the claims in several batches"
    );
}

/// The free data of a piece that leaves edges of the state and of storage open.
struct Open {
    judge: Judge,
    free: Vec<Goldilocks>,
    opens: Vec<usize>,
    roots: usize,
}

impl Open {
    const OPEN: usize = 1 + 10 + 24 + 1 + 1 + 12;

    fn new(claims: &[Claim], size: Size, cut: Option<u8>, piece: impl Fn(&Planned) -> bool) -> Self {
        let world = &*WORLD;
        let plan = plan(world, claims, size, cut);
        let own = plan.pieces.iter().position(piece).expect("such a piece");
        let witness = witness(world, &plan, own);
        let free = witness.data(size, KEY).unwrap();
        let behind = 10 * (size.accounts + size.slots + size.opens - 1) + 9 * (size.roots + size.opens - 2);
        let first = free.len() - behind - Self::OPEN * size.opens;
        let opens = (0..witness.size().opens).map(|i| first + Self::OPEN * i).collect();
        let roots = 16 + 4 * ((size.blocks * 136).div_ceil(16) + 1) + size.blocks - 1;
        Self { judge: Judge::new(circuit(size), &free), free, opens, roots }
    }
    fn holds(&self, free: &[Goldilocks]) -> bool {
        self.judge.holds(free)
    }
    fn refused(&self, what: &str, changes: &[(usize, Goldilocks)]) {
        let mut free = self.free.clone();
        changes.iter().for_each(|&(at, value)| free[at] = value);
        assert_ne!(free, self.free, "{what}: no change");
        assert!(!self.holds(&free), "{what}");
    }
    fn counts(&self, what: &str, at: usize) {
        self.refused(what, &[(at, self.free[at] + Goldilocks::ONE)]);
    }
}

/// Changing any element of open edges and roots is refused. One change in `every` is tried.
fn open_edges_and_roots_count(every: usize) {
    let mut seen = 0;
    let mut turn = || {
        seen += 1;
        seen % every == 0
    };
    let of_state = Open::new(&WORLD.claims(), SMALL, Some(1), |piece| piece.below.len() > 1);
    let of_storage = Open::new(&storage(), TINY, None, |piece| piece.roots[0].trie.account().is_some());
    for (attack, storage) in [(&of_state, false), (&of_storage, true)] {
        for at in 0..8 {
            if turn() {
                attack.counts("a list", at);
            }
        }
        for at in 0..25 {
            // An edge of the state's trie has no account, so this element is unused.
            if (at < 24 || storage) && turn() {
                attack.counts("a root", attack.roots + at);
            }
        }
    }
    let attack = &of_state;
    assert!(attack.opens.len() > 1);
    for &open in &attack.opens {
        for at in (1..35).chain(36..49).filter(|_| turn()) {
            attack.counts("an open edge", open + at);
        }
        attack.refused("an open edge less", &[(open, Goldilocks::ZERO)]);
        // A copy of another open edge: claims below that edge would count twice.
        for &other in attack.opens.iter().filter(|&&other| other != open) {
            let copied: Vec<_> = (0..Open::OPEN).map(|at| (open + at, attack.free[other + at])).collect();
            attack.refused("an open edge twice", &copied);
        }
    }
}

#[test]
fn one_element_of_fifteen_counts() {
    open_edges_and_roots_count(15);
}

#[test]
#[ignore = "slow: minutes"]
fn every_element_counts() {
    open_edges_and_roots_count(1);
}

/// A claim of a piece that is also below an edge that the piece leaves open. Everything holds except the order.
#[test]
fn no_claim_counts_twice() {
    let (world, claims) = (&*WORLD, WORLD.claims());
    let plan = plan(world, &claims, SMALL, Some(1));
    let circuit = circuit(SMALL);
    let top = plan.pieces.len() - 1;
    let nodes = |hash: &[u8; 32]| world.nodes.get(hash).map(Vec::as_slice);
    let mut tried = 0;
    for &below in &plan.pieces[top].below {
        let lower = &plan.pieces[below];
        // A slot after its account, so that it is not the first claim of an edge: the key of the first claim decides
        // the edge's place in the tree.
        let first = |of| {
            lower.claims.iter().any(|(_, claim)| matches!(claim, Claim::Account { address, .. } if *address == of))
        };
        let slot = |claim: &&(usize, Claim)| matches!(claim.1, Claim::Slot { address, .. } if first(address));
        let Some(claim) = lower.claims.iter().find(slot) else { continue };
        let mut doubled = plan.clone();
        doubled.pieces[top].claims.push(claim.clone());
        doubled.pieces[top].roots[0].digest = doubled.witness(top, &nodes).unwrap().digests()[0];
        let witness = doubled.witness(top, &nodes).unwrap();
        let size = witness.size();
        assert!(size.accounts <= SMALL.accounts && size.blocks <= SMALL.blocks, "{size:?}");
        assert!(!circuit.witness(&witness.data(SMALL, KEY).unwrap()).unwrap().faults(&circuit).is_empty());
        tried += 1;
    }
    assert!(tried > 0);
}

/// Real proofs: pieces, joins, and a state in which one account has changed.
#[test]
fn a_batch_is_updated() {
    let world = &*WORLD;
    let claims = world.claims();
    let nodes = |hash: &[u8; 32]| world.nodes.get(hash).map(Vec::as_slice);
    let options = (SMALL, Some(1));
    let prepared = Prepared::new(&Roots::of_state(world.root), &nodes, &claims, options, None).unwrap();
    let [pieces, joins] = prepared.all_proofs();
    assert!(pieces > 2 && (pieces - 1..=pieces + 1).contains(&joins) && prepared.new_proofs() == [pieces, joins]);
    let prover = prepared.prover().unwrap();
    let mut seen = Vec::new();
    let batch = prepared.prove(&prover, &nodes, &mut |progress| seen.push(progress)).unwrap();
    assert_eq!(seen.len(), pieces + joins + 1);
    assert_eq!(seen[pieces], Progress { made: pieces, all: pieces + joins });
    let read = Batch::from_bytes(&batch.to_bytes()).unwrap();
    assert_eq!(read, batch);
    for end in [0, 5, 30, 80, 500, batch.to_bytes().len() - 1] {
        assert!(Batch::from_bytes(&batch.to_bytes()[..end]).is_err());
    }

    let proof = batch.proof().unwrap();
    let verifier = StateVerifier::<Quadratic>::new(&UNIQUE_100, SMALL, true).unwrap();
    assert_eq!(verifier.key(), prover.verifier().key());
    assert!(verifier.bits().unique_decoding >= 100.0);
    let digest = canonical_digest(&claims).unwrap();
    verifier.verify(proof.kind, &proof.proof, &[(Tag::State, world.root, digest)]).unwrap();
    assert_eq!(StateProof::from_bytes(&proof.to_bytes()).unwrap(), proof);
    let mut other = digest;
    other.0[1] += Goldilocks::ONE;
    assert!(verifier.verify(proof.kind, &proof.proof, &[(Tag::State, world.root, other)]).is_err());
    for kind in [Kind::Piece, Kind::Pieces, Kind::Joins].into_iter().filter(|kind| *kind != proof.kind) {
        assert!(verifier.verify(kind, &proof.proof, &[(Tag::State, world.root, digest)]).is_err());
    }
    // A proof of a part is not a proof of the whole, and the topmost piece alone leaves edges open.
    for part in &batch.proofs[..batch.proofs.len() - 1] {
        verifier.check(part).unwrap();
        assert!(verifier.verify(part.kind, &part.bytes, &[(Tag::State, world.root, digest)]).is_err());
    }
    // Joins of proofs that do not fit together.
    let of = |kind: Kind| batch.proofs.iter().filter(move |proof| proof.kind == kind);
    let open = of(Kind::Piece).find(|proof| proof.lists[1] != Digest::ZERO).unwrap();
    let closed = of(Kind::Piece).find(|proof| proof.lists[1] == Digest::ZERO && proof.lists[0] != open.lists[1]);
    let [closed, join] = [closed.unwrap(), of(Kind::Pieces).next().unwrap()];
    for (of, as_join) in [([open, closed], Join::Below), ([open, closed], Join::Beside), ([closed, open], Join::Beside)]
    {
        assert!(prover.join(of, as_join).is_err());
    }
    assert!(prover.join([open, join], Join::Alone).unwrap_err().to_string().contains("a join of a piece with a join"));
    // A claim about other fixed columns of pieces; everything else is unchanged.
    for at in [0, 8, proof.proof.len() / 2] {
        let mut bytes = proof.proof.clone();
        bytes[at] ^= 1;
        assert!(verifier.verify(proof.kind, &bytes, &[(Tag::State, world.root, digest)]).is_err(), "{at}");
    }

    // The same state again: nothing has to be proven.
    let again = Prepared::new(&Roots::of_state(world.root), &nodes, &claims, options, Some(&batch)).unwrap();
    assert_eq!(again.new_proofs(), [0, 0]);
    assert_eq!(again.prove(&prover, &nodes, &mut |_| ()).unwrap(), batch);
    // One account has another balance: its leaf's piece, the topmost piece, and the joins above them are new.
    let changed = World::with(&[0, 1, 30, 2, 5, 0, 1], Some(4));
    let nodes = |hash: &[u8; 32]| changed.nodes.get(hash).map(Vec::as_slice);
    let claims = changed.claims();
    let next = Prepared::new(&Roots::of_state(changed.root), &nodes, &claims, options, Some(&batch)).unwrap();
    let [new, _] = next.new_proofs();
    assert!((2..=3).contains(&new), "{new} of {:?}", next.all_proofs());
    let updated = next.prove(&prover, &nodes, &mut |_| ()).unwrap();
    let proof = updated.proof().unwrap();
    let digest = canonical_digest(&claims).unwrap();
    verifier.verify(proof.kind, &proof.proof, &[(Tag::State, changed.root, digest)]).unwrap();
    // A plan without earlier proofs has the same statements.
    let from_nothing = Prepared::new(&Roots::of_state(changed.root), &nodes, &claims, options, None).unwrap();
    assert_eq!(from_nothing.all_proofs().iter().sum::<usize>(), updated.proofs.len());
    assert!(verifier.verify(proof.kind, &proof.proof, &[(Tag::State, world.root, digest)]).is_err());
}

/// A state with few changes: one piece above what the earlier proof shows, and two joins. The next state is proven
/// above the same earlier proof.
#[test]
fn a_batch_is_updated_above_an_earlier_proof() {
    const ACCOUNTS: [u64; 16] = [0, 1, 9, 2, 5, 0, 1, 3, 0, 0, 2, 1, 0, 4, 0, 0];
    let size = Size { blocks: 30, branches: 8, paths: 14, accounts: 10, slots: 24, roots: 8, opens: 20, ..Size::NONE };
    let options = (size, Some(1));
    let mut earlier: Option<Batch> = None;
    let mut prover = None;
    for (step, changed) in [None, Some(4), Some(6)].into_iter().enumerate() {
        let world = World::with(&ACCOUNTS, changed);
        let nodes = |hash: &[u8; 32]| world.nodes.get(hash).map(Vec::as_slice);
        let claims = world.claims();
        let prepared = Prepared::new(&Roots::of_state(world.root), &nodes, &claims, options, earlier.as_ref()).unwrap();
        let all = prepared.all_proofs();
        assert!(all[0] > 3 && all[1] > 3, "{all:?}");
        assert_eq!(prepared.new_proofs(), if step == 0 { all } else { [1, 2] });
        let prover = prover.get_or_insert_with(|| prepared.prover().unwrap());
        let batch = prepared.prove(prover, &nodes, &mut |_| ()).unwrap();
        let proof = batch.proof().unwrap();
        let digest = canonical_digest(&claims).unwrap();
        prover.verifier().verify(proof.kind, &proof.proof, &[(Tag::State, world.root, digest)]).unwrap();
        assert_eq!(Batch::from_bytes(&batch.to_bytes()).unwrap(), batch);
        assert_eq!(batch.proofs.len(), all.iter().sum::<usize>());
        earlier = Some(batch);
    }
    // Edges in the file that no proof shows, and a proof that does not hold: everything is proven again.
    let world = World::with(&ACCOUNTS, Some(2));
    let nodes = |hash: &[u8; 32]| world.nodes.get(hash).map(Vec::as_slice);
    let claims = world.claims();
    let mut other = earlier.clone().unwrap();
    other.shown_below[0][0].digest.0[0] += Goldilocks::ONE;
    let prepared = Prepared::new(&Roots::of_state(world.root), &nodes, &claims, options, Some(&other)).unwrap();
    assert!(prepared.new_proofs()[0] > 1);
    let mut damaged = earlier.unwrap();
    damaged.proofs.iter_mut().for_each(|proof| proof.bytes = vec![1, 2, 3]);
    let prepared = Prepared::new(&Roots::of_state(world.root), &nodes, &claims, options, Some(&damaged)).unwrap();
    assert_eq!(prepared.new_proofs(), [1, 2]);
    let prover = prover.unwrap();
    let proof = prepared.prove(&prover, &nodes, &mut |_| ()).unwrap().proof().unwrap();
    prover
        .verifier()
        .verify(proof.kind, &proof.proof, &[(Tag::State, world.root, canonical_digest(&claims).unwrap())])
        .unwrap();
}

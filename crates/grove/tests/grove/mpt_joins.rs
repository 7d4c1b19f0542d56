//! Joins of proofs about tries: hostile bytes, sizes at the limits, and earlier proofs that are invalid.

use std::time::Instant;

use evergrove_grove::mpt::{Batch, Join, Kind, NodeProof, Prepared, Size, StateVerifier};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::ethereum::{Roots, Tag, canonical_digest};

use crate::mpt::World;

const SLOTS: [u64; 7] = [0, 1, 30, 2, 5, 0, 1];
const SIZE: Size =
    Size { blocks: 40, branches: 12, paths: 14, accounts: 12, slots: 16, roots: 16, opens: 24, ..Size::NONE };

/// For every possible size the circuits of pieces and joins are built, or refused.
#[test]
#[ignore = "slow: minutes"]
fn sizes_at_the_limits_have_a_key_or_none() {
    let least = Size { blocks: 1, accounts: 1, roots: 1, ..Size::NONE };
    let mut sizes = vec![least];
    let most = |set: &dyn Fn(&mut Size, usize)| {
        let mut size = least;
        let mut low = 0;
        let mut high = 1 << 20;
        while low + 1 < high {
            let middle = (low + high) / 2;
            let mut next = least;
            set(&mut next, middle);
            if next.is_possible() || middle < 2 { (low, size) = (middle, next) } else { high = middle }
        }
        size
    };
    sizes.push(most(&|size, n| size.opens = n));
    sizes.push(most(&|size, n| size.roots = n));
    sizes.push(most(&|size, n| size.slots = n));
    sizes.push(most(&|size, n| size.accounts = n));
    sizes.push(most(&|size, n| size.branches = n));
    sizes.push(most(&|size, n| size.paths = n));
    sizes.push(most(&|size, n| size.blocks = n));
    sizes.push(most(&|size, n| (size.header, size.blocks) = (true, n)));
    for size in sizes {
        assert!(size.is_possible(), "{size:?}");
        let start = Instant::now();
        let verifier = StateVerifier::<Quadratic>::new(&UNIQUE_100, size, true);
        println!("{size:?}: {:?} in {:?}", verifier.as_ref().map(StateVerifier::variables), start.elapsed());
        let Some(verifier) = verifier else { continue };
        for kind in [Kind::Piece, Kind::Pieces, Kind::Joins] {
            for bytes in [0, 8, 1000, 200_000, 1 << 21] {
                assert!(verifier.verify(kind, &vec![0; bytes], &[(Tag::State, [0; 32], Digest::ZERO)]).is_err());
            }
        }
    }
}

/// Proofs of joins with other bytes, other claims and other kinds; an update above a proof that is refused.
#[test]
#[ignore = "slow: minutes"]
fn joins_with_other_bytes_are_refused() {
    let (world, size) = (World::with(&SLOTS, None), SIZE);
    let nodes = |hash: &[u8; 32]| world.nodes.get(hash).map(Vec::as_slice);
    let claims = world.claims();
    let prepared = Prepared::new(&Roots::of_state(world.root), &nodes, &claims, (size, Some(1)), None).unwrap();
    let prover = prepared.prover().unwrap();
    let batch = prepared.prove(&prover, &nodes, &mut |_| ()).unwrap();
    let verifier = prover.verifier();
    let of = |kind| batch.proofs.iter().filter(move |proof: &&NodeProof| proof.kind == kind);
    let (pieces, joins): (Vec<_>, Vec<_>) = (of(Kind::Pieces).collect(), of(Kind::Joins).collect());
    // The claim about pieces of another proof; no bytes; other kinds.
    let all: Vec<_> = pieces.iter().chain(&joins).copied().collect();
    let length = |proof: &NodeProof| {
        // Sixteen bytes for each coordinate of the point, and for the value.
        let claim = (0..64).map(|m| 16 * (m + 1)).find(|&claim| {
            let mut cut = proof.clone();
            cut.bytes.truncate(claim);
            verifier.check(&cut).is_err_and(|e| !e.to_string().contains(&format!("of {claim} bytes")))
        });
        claim.unwrap_or(16 * 24)
    };
    for proof in &all {
        verifier.check(proof).unwrap();
        let claim = length(proof);
        for other in &all {
            if proof.bytes[..claim] != other.bytes[..claim] {
                let mut changed = NodeProof::clone(proof);
                changed.bytes[..claim].copy_from_slice(&other.bytes[..claim]);
                assert!(verifier.check(&changed).is_err());
            }
            if proof.lists != other.lists {
                let changed = NodeProof { lists: other.lists, ..NodeProof::clone(proof) };
                assert!(verifier.check(&changed).is_err());
            }
        }
        for kind in [Kind::Piece, Kind::Pieces, Kind::Joins].into_iter().filter(|kind| *kind != proof.kind) {
            assert!(verifier.check(&NodeProof { kind, ..NodeProof::clone(proof) }).is_err());
        }
        for length in (0..2000).step_by(37).chain([proof.bytes.len() - 8, proof.bytes.len() - 1]) {
            let mut cut = NodeProof::clone(proof);
            cut.bytes.truncate(length);
            assert!(verifier.check(&cut).is_err());
        }
        for more in [1, 8, 16] {
            let mut longer = NodeProof::clone(proof);
            longer.bytes.extend(vec![0; more]);
            assert!(verifier.check(&longer).is_err());
        }
        let mut large = NodeProof::clone(proof);
        large.bytes[..8].fill(255);
        assert!(verifier.check(&large).is_err());
        for at in (0..proof.bytes.len()).step_by(proof.bytes.len() / 40) {
            let mut changed = NodeProof::clone(proof);
            changed.bytes[at] ^= 1;
            assert!(verifier.check(&changed).is_err(), "{at}");
        }
    }

    // The earlier proof in the file is damaged, so everything is proven again.
    let changed = World::with(&SLOTS, Some(4));
    let nodes = |hash: &[u8; 32]| changed.nodes.get(hash).map(Vec::as_slice);
    let claims = changed.claims();
    let digest = canonical_digest(&claims).unwrap();
    let honest = Prepared::new(&Roots::of_state(changed.root), &nodes, &claims, (size, Some(1)), Some(&batch)).unwrap();
    assert_eq!(honest.new_proofs(), [1, 2]);
    let mut spoilt = batch.clone();
    for proof in &mut spoilt.proofs {
        if proof.kind != Kind::Piece {
            let middle = proof.bytes.len() / 2;
            proof.bytes[middle] ^= 1;
        }
    }
    let prepared =
        Prepared::new(&Roots::of_state(changed.root), &nodes, &claims, (size, Some(1)), Some(&spoilt)).unwrap();
    let made = prepared.prove(&prover, &nodes, &mut |_| ()).unwrap();
    let proof = made.proof().unwrap();
    verifier.verify(proof.kind, &proof.proof, &[(Tag::State, changed.root, digest)]).unwrap();
    assert_eq!(Batch::from_bytes(&made.to_bytes()).unwrap(), made);
    let mut other = digest;
    other.0[0] += Goldilocks::ONE;
    assert!(verifier.verify(proof.kind, &proof.proof, &[(Tag::State, changed.root, other)]).is_err());
}

/// A true proof of the same edges twice, and a file that says so: the update above it is proven.
#[test]
#[ignore = "slow: minutes"]
fn a_file_may_show_edges_twice() {
    let (world, size) = (World::with(&SLOTS, None), SIZE);
    let nodes = |hash: &[u8; 32]| world.nodes.get(hash).map(Vec::as_slice);
    let prepared = Prepared::new(&Roots::of_state(world.root), &nodes, &world.claims(), (size, Some(1)), None).unwrap();
    let prover = prepared.prover().unwrap();
    let mut batch = prepared.prove(&prover, &nodes, &mut |_| ()).unwrap();
    let (_, rest) = batch.proofs.split_last().unwrap();
    let closed = |proof: &&NodeProof| proof.kind != Kind::Piece && proof.lists[1] == Digest::ZERO;
    let base = rest.iter().rfind(closed).unwrap();
    let twice = prover.join([base, base], Join::Beside).unwrap();
    prover.verifier().check(&twice).unwrap();
    assert_eq!(batch.shown_below.len(), 2);
    batch.shown_below.extend(batch.shown_below.clone());
    batch.proofs.insert(0, twice);
    let batch = Batch::from_bytes(&batch.to_bytes()).unwrap();

    let changed = World::with(&SLOTS, Some(4));
    let nodes = |hash: &[u8; 32]| changed.nodes.get(hash).map(Vec::as_slice);
    let claims = changed.claims();
    let prepared =
        Prepared::new(&Roots::of_state(changed.root), &nodes, &claims, (size, Some(1)), Some(&batch)).unwrap();
    let proof = prepared.prove(&prover, &nodes, &mut |_| ()).unwrap().proof().unwrap();
    let digest = canonical_digest(&claims).unwrap();
    prover.verifier().verify(proof.kind, &proof.proof, &[(Tag::State, changed.root, digest)]).unwrap();
}

//! Decoding and verification never panic, and no mutated proof verifies.

pub(crate) mod streaming;

use std::sync::LazyLock;

use evergrove_commit::{NodeProof, vc};
use evergrove_grove::{GroveBackend, GroveVerifier};
use evergrove_primitives::Goldilocks;
use evergrove_testkit::commit::vector;
use evergrove_verifier::{HeightClass, NodeKind, Profile};
use proptest::prelude::*;

/// One proof per profile with its verifier: a merge of two buckets, and a bucket.
pub(crate) static PROOFS: LazyLock<[(NodeProof, GroveVerifier); 2]> = LazyLock::new(|| {
    [(Profile::Grove100, 674), (Profile::Grove128, 3)].map(|(profile, members)| {
        let backend = GroveBackend::new(profile, HeightClass::H27).unwrap();
        let members: Vec<u64> = (0..members).collect();
        let vector = vector(10, members.iter().copied());
        let (_, data) = vc::agg(&vc::setup(10, &backend).unwrap(), &members, &vector).unwrap();
        let root = data.proofs.values().max_by_key(|p| p.statement.height).unwrap();
        let kind = if members.len() > 3 { NodeKind::Merge } else { NodeKind::Bucket };
        assert_eq!(root.kind, kind);
        (root.as_ref().clone(), GroveVerifier::new(profile, HeightClass::H27).unwrap())
    })
});

fn accepted(which: usize, proof: &NodeProof) -> bool {
    PROOFS[which].1.verify(proof).is_ok()
}

/// [`accepted`]. Checks that the verifier that reads a key file agrees.
fn accepted_by_both(which: usize, proof: &NodeProof) -> bool {
    let accepted = accepted(which, proof);
    let streamed = crate::verifier::streamed(which, proof);
    assert_eq!(accepted, streamed.is_ok(), "{streamed:?}");
    accepted
}

#[test]
fn every_part_counts() {
    for (which, (proof, _)) in PROOFS.iter().enumerate() {
        assert!(accepted(which, proof));
        // These offsets hit the claim, each message, leaf, path and cap.
        for at in (0..proof.bytes.len()).step_by(8 * 211).chain([proof.bytes.len() - 8]) {
            let mut damaged = proof.clone();
            damaged.bytes[at] ^= 1;
            assert!(!accepted(which, &damaged), "byte {at} of a {} proof", proof.kind);
        }
    }
}

#[test]
fn another_statement_is_refused() {
    for (which, (proof, _)) in PROOFS.iter().enumerate() {
        let edits: [fn(&mut NodeProof); 5] = [
            |p| p.statement.root.0[3] += Goldilocks::ONE,
            |p| p.statement.canonical.0[0] += Goldilocks::ONE,
            |p| p.statement.height ^= 1,
            |p| p.statement.base += 1,
            |p| p.kind = if p.kind == NodeKind::Merge { NodeKind::Bucket } else { NodeKind::Merge },
        ];
        for edit in edits {
            let mut other = proof.clone();
            edit(&mut other);
            assert!(!accepted_by_both(which, &other));
        }
        assert!(!accepted(1 - which, proof), "a proof by the verifier of another profile");
    }
}

proptest! {
    // Each case verifies a proof, which takes some milliseconds.
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000), kind in 0..3usize, which in 0..2usize) {
        let statement = PROOFS[0].0.statement;
        let proof = NodeProof { kind: NodeKind::ALL[kind], statement, output: vec![], bytes };
        prop_assert!(!accepted_by_both(which, &proof));
    }
}

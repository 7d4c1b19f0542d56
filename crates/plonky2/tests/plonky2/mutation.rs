//! No bytes make decoding and verification panic, no mutation of a proof verifies, and our verifier's verdict is plonky2's.

use std::sync::LazyLock;

use evergrove_commit::{NodeProof, RecursionBackend, vc};
use evergrove_plonky2::keys::KeySet;
use evergrove_plonky2::{Plonky2Verifier, VerifierKind};
use evergrove_primitives::lanes::{Isa, available};
use evergrove_testkit::commit::vector;
use evergrove_verifier::{HeightClass, NodeKind, Profile};
use proptest::prelude::*;

use crate::common::PAPER;

/// Two buckets, the merge above them and its wrap.
static PROOFS: LazyLock<Vec<NodeProof>> = LazyLock::new(|| {
    let backend = &*PAPER;
    let members: Vec<u64> = (0..=backend.spec().capacity as u64).collect();
    let vector = vector(9, members.iter().copied());
    let (_, data) = vc::agg(&vc::setup(9, backend).unwrap(), &members, &vector).unwrap();
    assert_eq!(data.proofs.len(), 4);
    data.proofs.values().map(|p| p.as_ref().clone()).collect()
});

static KEYS: LazyLock<KeySet> = LazyLock::new(|| KeySet::pinned(Profile::Paper, HeightClass::H27).unwrap());
static OURS: LazyLock<Plonky2Verifier> = LazyLock::new(|| Plonky2Verifier::new(&KEYS));
static PLONKY2: LazyLock<Plonky2Verifier> =
    LazyLock::new(|| Plonky2Verifier::by(VerifierKind::Plonky2, Isa::detect(), &KEYS));

/// The verdict, the same by both verifiers.
#[track_caller]
fn accepted(proof: &NodeProof) -> bool {
    let [ours, theirs] = [&OURS, &PLONKY2].map(|verifier| verifier.verify(proof).is_ok());
    assert_eq!(ours, theirs, "a verdict differs from plonky2's");
    ours
}

#[test]
fn proofs_verify_on_every_instruction_set() {
    for isa in available() {
        let verifier = Plonky2Verifier::by(VerifierKind::Evergrove, isa, &KEYS);
        for proof in PROOFS.iter() {
            verifier.verify(proof).unwrap_or_else(|e| panic!("{isa}: {e}"));
        }
    }
    assert!(PROOFS.iter().all(accepted));
}

#[test]
fn every_field_counts() {
    // Elements of 8 bytes, query indices apart: a step that meets each opened group, each tree's leaves, siblings and cap.
    for proof in PROOFS.iter() {
        for at in (0..proof.bytes.len()).step_by(8 * 67) {
            let mut damaged = proof.clone();
            damaged.bytes[at] ^= 1;
            assert!(!accepted(&damaged), "byte {at} of a {} proof", proof.kind);
        }
    }
}

#[test]
fn another_statement_is_refused() {
    for proof in PROOFS.iter() {
        let edits: [fn(&mut NodeProof); 4] = [
            |p| p.statement.root.0[3] += evergrove_primitives::Goldilocks::ONE,
            |p| p.statement.canonical.0[0] += evergrove_primitives::Goldilocks::ONE,
            |p| p.statement.height ^= 1,
            |p| p.statement.base += 1,
        ];
        for edit in edits {
            let mut other = proof.clone();
            edit(&mut other);
            assert!(!accepted(&other));
        }
        let other = NodeProof {
            kind: if proof.kind == NodeKind::Merge { NodeKind::Bucket } else { NodeKind::Merge },
            ..proof.clone()
        };
        assert!(!accepted(&other), "a {} proof as one of another circuit", proof.kind);
    }
}

proptest! {
    // A case verifies a proof: some milliseconds.
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_proofs_are_refused(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..4),
    ) {
        let mut proof = PROOFS[which.index(PROOFS.len())].clone();
        let original = proof.bytes.clone();
        for (at, byte, how) in edits {
            let at = at.index(proof.bytes.len().max(1));
            match how {
                _ if proof.bytes.is_empty() => {}
                0 => proof.bytes[at] = byte,
                1 => proof.bytes[at] ^= 1 << (byte % 8),
                2 => proof.bytes.truncate(at),
                _ => proof.bytes.insert(at, byte),
            }
        }
        prop_assert_eq!(accepted(&proof), proof.bytes == original);
    }

    #[test]
    fn whole_elements_replaced_are_refused(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), x in any::<u32>()) {
        // Eight bytes at a time keep the encoding canonical far more often, so that plonky2's verifier is reached.
        let mut proof = PROOFS[which.index(PROOFS.len())].clone();
        let original = proof.bytes.clone();
        let at = at.index(proof.bytes.len() - 8);
        proof.bytes[at..at + 8].copy_from_slice(&u64::from(x).to_le_bytes());
        prop_assert_eq!(accepted(&proof), proof.bytes == original);
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000), kind in 0..3usize) {
        let proof = NodeProof { kind: NodeKind::ALL[kind], statement: PROOFS[0].statement, output: vec![], bytes };
        prop_assert!(!accepted(&proof));
    }
}

//! A verifier's policy: what is refused by default, and that every field counts.

mod common;

use common::batch_proof;
use evergrove_primitives::Digest;
use evergrove_proof::{BackendId, BatchProof, Commitment, HeightClass, NodeKind, Policy, PolicyError, Profile};

fn commitment() -> Commitment {
    Commitment { height: 27, root: batch_proof().statement.root }
}

fn refused(policy: &Policy, change: impl Fn(&mut BatchProof)) -> PolicyError {
    let mut proof = batch_proof();
    change(&mut proof);
    policy.check(&proof, &commitment()).unwrap_err()
}

#[test]
fn the_default_accepts_proven_buckets_and_merges_of_the_production_backend() {
    let policy = Policy::default();
    for kind in [NodeKind::Bucket, NodeKind::Merge] {
        assert_eq!(policy.check(&BatchProof { kind, ..batch_proof() }, &commitment()), Ok(()));
    }
    assert_eq!(policy.profiles(), [Profile::Proven]);
    assert_eq!(policy.backends(), [BackendId::new("plonky2", 1)]);
    assert_eq!(policy.schemes(), ["evergrove1"]);
}

#[test]
fn every_field_of_the_claim_counts() {
    let p = Policy::default();
    assert!(matches!(refused(&p, |x| x.scheme = "reckle".into()), PolicyError::Scheme { .. }));
    for backend in [BackendId::new("native", 1), BackendId::new("plonky2", 2)] {
        assert!(matches!(refused(&p, |x| x.backend = backend.clone()), PolicyError::Backend { .. }));
    }
    for (profile, bits) in [(Profile::Johnson, 64), (Profile::Paper, 35)] {
        let error = refused(&p, |x| x.profile = profile);
        assert!(
            matches!(error, PolicyError::Profile { found, bits: b, .. } if (found, b) == (profile, bits)),
            "{error}"
        );
    }
    assert!(matches!(refused(&p, |x| x.class = HeightClass::H40), PolicyError::Class { height: 27, .. }));
    assert!(matches!(refused(&p, |x| x.kind = NodeKind::Wrap), PolicyError::Kind { .. }));
    assert!(matches!(refused(&p, |x| x.statement.height = 26), PolicyError::Height { expected: 27, found: 26 }));
    assert!(matches!(refused(&p, |x| x.statement.base = 1 << 27), PolicyError::Base(_)));
    assert!(matches!(refused(&p, |x| x.statement.root = Digest::ZERO), PolicyError::Root { .. }));
    assert!(matches!(refused(&p, |x| x.statement.canonical = Digest::ZERO), PolicyError::Empty));
    let other = Commitment { height: 41, ..commitment() };
    assert_eq!(p.check(&batch_proof(), &other), Err(PolicyError::NoSuchHeight(41)));
}

#[test]
fn more_is_accepted_only_by_name() {
    let paper = Policy::default().allow_profile(Profile::Paper).allow_profile(Profile::Paper);
    assert_eq!(paper.profiles().len(), 2);
    let wrap = BatchProof { profile: Profile::Paper, kind: NodeKind::Wrap, ..batch_proof() };
    assert_eq!(paper.check(&wrap, &commitment()), Ok(()));
    for kind in [NodeKind::Bucket, NodeKind::Merge] {
        let bare = BatchProof { kind, ..wrap.clone() };
        assert!(matches!(paper.check(&bare, &commitment()), Err(PolicyError::Kind { expected: "wrap", .. })));
    }
    let native = BackendId::new("native", 1);
    let policy = Policy::default().allow_backend(native.clone());
    assert_eq!(policy.check(&BatchProof { backend: native, ..batch_proof() }, &commitment()), Ok(()));
    let policy = Policy::default().allow_scheme("reckle");
    assert_eq!(policy.check(&BatchProof { scheme: "reckle".into(), ..batch_proof() }, &commitment()), Ok(()));
}

#[test]
fn the_same_root_at_another_height_is_another_vector() {
    let policy = Policy::default();
    let higher = Commitment { height: 28, ..commitment() };
    assert!(matches!(policy.check(&batch_proof(), &higher), Err(PolicyError::Height { expected: 28, found: 27 })));
}

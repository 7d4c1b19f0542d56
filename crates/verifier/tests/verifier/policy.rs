//! A verifier's policy: the refusals of the default, and the effect of every field.

use crate::common::{app_proof, batch_proof};
use evergrove_primitives::Digest;
use evergrove_verifier::{
    AppId, BackendId, BatchProof, Commitment, HeightClass, NodeKind, Policy, PolicyError, Profile, Scheme,
};

fn commitment() -> Commitment {
    Commitment { height: 27, root: batch_proof().statement.root }
}

fn refused(policy: &Policy, change: impl Fn(&mut BatchProof)) -> PolicyError {
    let mut proof = batch_proof();
    change(&mut proof);
    policy.check(&proof, &commitment()).unwrap_err()
}

#[test]
fn the_default_accepts_buckets_and_merges_of_a_hundred_bits() {
    let policy = Policy::default();
    for kind in [NodeKind::Bucket, NodeKind::Merge] {
        assert_eq!(policy.check(&BatchProof { kind, ..batch_proof() }, &commitment()), Ok(()));
        let grove =
            BatchProof { backend: BackendId::new("grove", 1), profile: Profile::Grove100, kind, ..batch_proof() };
        assert_eq!(policy.check(&grove, &commitment()), Ok(()));
    }
    assert_eq!(policy.profiles(), [Profile::Grove100, Profile::Proven]);
    assert_eq!(policy.backends(), [BackendId::new("grove", 1), BackendId::new("plonky2", 1)]);
    assert_eq!(policy.schemes(), ["evergrove1"]);
}

#[test]
fn every_field_of_the_claim_counts() {
    let p = Policy::default();
    assert!(matches!(refused(&p, |x| x.scheme = "reckle".into()), PolicyError::Scheme { .. }));
    for backend in [BackendId::new("native", 1), BackendId::new("plonky2", 2), BackendId::new("grove", 2)] {
        assert!(matches!(refused(&p, |x| x.backend = backend.clone()), PolicyError::Backend { .. }));
    }
    for (profile, bits) in [(Profile::Johnson, 64), (Profile::Paper, 35), (Profile::Grove128, 48)] {
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
    assert_eq!(paper.profiles().len(), 3);
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
fn a_profile_belongs_to_its_backend() {
    let grove = BackendId::new("grove", 1);
    for profile in Profile::GROVE {
        let proof = BatchProof { backend: grove.clone(), profile, ..batch_proof() };
        let check = |policy: &Policy| policy.check(&proof, &commitment());
        let refused = matches!(check(&Policy::default()), Err(PolicyError::Profile { .. }));
        assert_eq!(refused, profile == Profile::Grove128);
        let whole = Policy::default().allow_profile(profile);
        assert_eq!(check(&whole), Ok(()));
        let wrap = BatchProof { kind: NodeKind::Wrap, ..proof.clone() };
        assert!(matches!(whole.check(&wrap, &commitment()), Err(PolicyError::Kind { .. })));
        // Each is accepted, but not in combination with the other.
        for (backend, profile) in [(BackendId::new("plonky2", 1), profile), (grove.clone(), Profile::Proven)] {
            let crossed = BatchProof { backend, profile, ..batch_proof() };
            assert!(matches!(whole.check(&crossed, &commitment()), Err(PolicyError::Foreign { .. })));
        }
        let native = BackendId::new("native", 1);
        let whole = whole.allow_backend(native.clone());
        assert_eq!(whole.check(&BatchProof { backend: native, ..proof }, &commitment()), Ok(()));
    }
}

#[test]
fn every_profile_is_of_one_backend_and_has_a_name_and_a_number() {
    let listed: Vec<_> = Profile::PLONKY2.into_iter().chain(Profile::GROVE).collect();
    assert_eq!(listed, Profile::ALL);
    for (code, profile) in (0..).zip(Profile::ALL) {
        assert_eq!((profile.code(), Profile::from_code(code)), (code, Some(profile)));
        assert_eq!(profile.name().parse(), Ok(profile));
        let of_plonky2 = Profile::PLONKY2.contains(&profile);
        assert_eq!(profile.backend(), if of_plonky2 { "plonky2" } else { "grove" });
        assert_eq!(profile.recursion().is_some(), of_plonky2);
    }
    assert_eq!(Profile::from_code(5), None);
    let refused = "grove".parse::<Profile>().unwrap_err().to_string();
    assert!(Profile::ALL.iter().all(|p| refused.contains(p.name())), "{refused}");
}

#[test]
fn the_same_root_at_another_height_is_another_vector() {
    let policy = Policy::default();
    let higher = Commitment { height: 28, ..commitment() };
    assert!(matches!(policy.check(&batch_proof(), &higher), Err(PolicyError::Height { expected: 28, found: 27 })));
}

#[test]
fn applications_are_named_with_their_scheme() {
    let (tally, proof) = (AppId::new("tally", &[20]), app_proof());
    let check = |policy: &Policy, proof: &BatchProof| policy.check(proof, &commitment());
    assert!(matches!(check(&Policy::default(), &proof), Err(PolicyError::Scheme { .. })));
    // The scheme alone accepts no application.
    let scheme_alone = Policy::default().allow_scheme(Scheme::Selected.name());
    assert!(matches!(check(&scheme_alone, &proof), Err(PolicyError::App { .. })));
    let selected = Policy::default().allow_app(tally.clone(), Scheme::Selected);
    assert_eq!((check(&selected, &proof), selected.apps().len()), (Ok(()), 1));
    assert_eq!(check(&selected, &batch_proof()), Ok(()), "a proof without application stays accepted");
    for other in [AppId::new("tally", &[21]), AppId::new("tall", &[20])] {
        let policy = Policy::default().allow_app(other, Scheme::Selected);
        assert!(matches!(check(&policy, &proof), Err(PolicyError::App { found, .. }) if found == tally));
    }
    // Two applications, each in its own scheme, are not accepted in each other's.
    let other = AppId::new("tally", &[21]);
    let crossed = Policy::default().allow_app(tally.clone(), Scheme::Complete).allow_app(other, Scheme::Selected);
    assert!(matches!(check(&crossed, &proof), Err(PolicyError::App { .. })));
    let outputless = BatchProof { app: None, ..app_proof() };
    assert!(matches!(check(&selected, &outputless), Err(PolicyError::Output { .. })));
    let misplaced = BatchProof { scheme: batch_proof().scheme, ..app_proof() };
    assert!(matches!(check(&selected, &misplaced), Err(PolicyError::Output { .. })));
    // A statement over all rows differs from one over some rows.
    let complete = BatchProof { scheme: Scheme::Complete.name().into(), ..app_proof() };
    assert!(matches!(check(&selected, &complete), Err(PolicyError::Scheme { .. })));
    let of_all = Policy::default().allow_app(tally, Scheme::Complete);
    assert!(matches!(check(&of_all, &proof), Err(PolicyError::Scheme { .. })));
    assert!(matches!(check(&of_all, &complete), Err(PolicyError::Canonical(_))));
    let mut nameless = complete.clone();
    nameless.statement.canonical = Digest::ZERO;
    assert_eq!(check(&of_all, &nameless), Ok(()));
    // Both schemes over all rows are alike, and each is accepted by its own name.
    let tree = BatchProof { scheme: Scheme::Tree.name().into(), ..nameless.clone() };
    assert!(matches!(check(&of_all, &tree), Err(PolicyError::Scheme { .. })));
    let of_trees = Policy::default().allow_app(AppId::new("tally", &[20]), Scheme::Tree);
    assert_eq!(check(&of_trees, &tree), Ok(()));
    assert!(matches!(check(&of_trees, &complete), Err(PolicyError::Scheme { .. })));
    let named = BatchProof { scheme: Scheme::Tree.name().into(), ..complete };
    assert!(matches!(check(&of_trees, &named), Err(PolicyError::Canonical(_))));
    let mut empty = proof;
    empty.statement.canonical = Digest::ZERO;
    assert!(matches!(check(&selected, &empty), Err(PolicyError::Empty)));
}

#[test]
fn a_complete_proof_may_be_about_the_grown_vector() {
    let mut proof = BatchProof { scheme: Scheme::Complete.name().into(), ..app_proof() };
    proof.statement.canonical = Digest::ZERO;
    let small = Commitment { height: 3, root: proof.statement.root };
    let policy = Policy::default().allow_app(AppId::new("tally", &[20]), Scheme::Complete);
    proof.statement.height = 11;
    assert!(matches!(policy.check(&proof, &small), Err(PolicyError::Root { .. })));
    proof.statement.root = small.grown(11).root;
    assert_eq!(policy.check(&proof, &small), Ok(()));
    assert!(matches!(policy.check(&proof, &Commitment { height: 12, ..small }), Err(PolicyError::Height { .. })));
    let nulls = evergrove_verifier::tree::null_digests(11);
    let by_hand = nulls[3..].iter().take(8).fold(small.root, |r, n| evergrove_verifier::tree::node_digest(&r, n));
    assert_eq!(small.grown(11), Commitment { height: 11, root: by_hand });
    assert_eq!((small.grown(3), small.grown(0)), (small, small));
}

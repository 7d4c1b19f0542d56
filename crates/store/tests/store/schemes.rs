//! The paper's scheme and ours in one store, with the native backends.

use std::sync::Arc;

use crate::common::{choice, create, lenient, native, row, set, with_prover};
use evergrove_commit::BackendChoice;
use evergrove_commit::NativeBackend;
use evergrove_store::{Backends, Changes, Store, VerifyError, verify};
use evergrove_verifier::{HeightClass, PolicyError, Profile, Scheme};

/// The parameter q of the paper's scheme.
const Q: u8 = 2;

fn both(capacity: usize) -> Backends {
    let mut backends = native(capacity);
    for class in HeightClass::ALL {
        backends.add(Arc::new(NativeBackend::of_paper(Profile::Paper, class, Q)));
    }
    backends
}

fn paper() -> BackendChoice {
    choice(Profile::Paper).with_scheme(Scheme::RecklePaper)
}

fn check(store: &Store, backends: &Backends, name: &str) {
    let view = store.view().expect("reads");
    let leaves = view.leaves(&store.members(name).expect("a batch")).expect("reads");
    let (proof, commitment) = (store.export(name).expect("fresh"), view.commitment());
    let refused = verify(&proof, &commitment, Some(&leaves), &lenient(), backends).expect_err("not allowed");
    assert!(matches!(refused, VerifyError::Policy(PolicyError::Scheme { .. })), "{refused}");
    let policy = lenient().allow_scheme(Scheme::RecklePaper.name());
    let verified = verify(&proof, &commitment, Some(&leaves), &policy, backends).expect("allowed");
    assert_eq!((verified.scheme, verified.leaves), (Scheme::RecklePaper, Some(leaves.len())));
}

#[test]
fn a_batch_of_the_papers_scheme_lives_beside_ours() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = both(4);
    let mut store = create(dir.path(), None, 0..200);
    let members: Vec<u64> = (0..200).step_by(50).collect();
    with_prover(&store, &backends, |prover| {
        prover.define("ours", &members, &choice(Profile::Paper)).expect("a new batch");
        prover.define("theirs", &members, &paper()).expect("a new batch");
        let costs = |_: &evergrove_commit::BackendSpec| evergrove_store::NodeCosts::default();
        let estimate = prover.estimate_prove("theirs", None, &costs).expect("a batch");
        let (ours, theirs) = (prover.prove("ours").expect("proves"), prover.prove("theirs").expect("proves"));
        assert_eq!((ours.made, theirs.made), (2, estimate.to_make()));
        assert_eq!(ours.canonical, theirs.canonical);
        // Blocks 0, 12, 25 and 37 of height 2, the nodes above them up to height 8, and the wrap.
        assert_eq!((theirs.buckets, theirs.merges), (4, 4 + 4 + 4 + 3 + 2 + 1));
        check(&store, &backends, "theirs");

        // In a block with a member, the whole path. Elsewhere, only the nodes of the path that have members below them.
        for (slot, of_theirs) in [(50, 8), (53, 7), (255, 3)] {
            let changed = prover.update(&set(&[(slot, 1000 + slot)])).expect("updates");
            let made: Vec<_> = changed.batches.iter().map(|b| (b.name.as_str(), b.made)).collect();
            assert_eq!(made, [("ours", 2), ("theirs", of_theirs)], "slot {slot}");
            check(&store, &backends, "theirs");
        }
        let changes = Changes {
            set: vec![(400, row(7))],
            clear: vec![50],
            add: vec![("theirs".into(), vec![400])],
            remove: vec![("theirs".into(), vec![50]), ("ours".into(), vec![50])],
            grow: true,
            ..Changes::default()
        };
        prover.update(&changes).expect("updates");
        check(&store, &backends, "theirs");
    });
    let report = store.doctor(&backends).expect("reads");
    assert!(report.findings.is_empty() && report.unverified == 0, "{report:?}");

    // The store keeps the scheme with the batch.
    drop(store);
    let store = Store::open(dir.path()).expect("a store");
    let schemes: Vec<_> = store
        .batches()
        .expect("reads")
        .into_iter()
        .map(|b| (b.name, b.backend.choice.scheme, b.backend.capacity))
        .collect();
    assert_eq!(schemes, [("ours".into(), Scheme::Evergrove, 4), ("theirs".into(), Scheme::RecklePaper, 1 << Q)]);
    with_prover(&store, &backends, |prover| {
        assert_eq!(prover.prove("theirs").expect("is fresh").made, 0);
        // A batch changes its scheme only on request.
        let members = store.members("theirs").expect("a batch");
        prover.define("theirs", &members, &choice(Profile::Paper)).expect("the same members");
        assert!(prover.prove("theirs").expect("proves").made > 0);
        crate::common::verify_batch(&store, &backends, "theirs").expect("the default scheme");
    });
}

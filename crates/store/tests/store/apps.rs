//! Batches of applications in a store: defined, proven, updated, exported and verified like other batches. Their
//! backends re-execute the digests and count rows.

use crate::common::counting::{app, backends, choice};
use crate::common::{create, row, set, with_prover};
use evergrove_commit::BackendChoice;
use evergrove_commit::batch::Structure;
use evergrove_primitives::Goldilocks;
use evergrove_store::{Changes, Error, Store, Verified, VerifyError, verify};
use evergrove_testkit::commit::value;
use evergrove_verifier::{AppSpec, BackendId as Id, NodeKind, Policy, PolicyError, Profile, Scheme};

fn policy(scheme: Scheme) -> Policy {
    let policy = Policy::default().allow_backend(Id::new("counting", 1)).allow_profile(Profile::Paper);
    policy.allow_app(app().id(), scheme)
}

/// The output of the application for these slots.
fn expected(store: &Store, indices: &[u64]) -> Vec<Goldilocks> {
    let leaves = store.view().expect("reads").leaves(indices).expect("filled");
    let sum = leaves.iter().fold(Goldilocks::ZERO, |sum, (_, value)| sum + value[0]);
    vec![Goldilocks::new(leaves.len() as u64), sum]
}

fn check(store: &Store, name: &str, scheme: Scheme) -> Verified {
    let members = store.members(name).expect("a batch");
    let view = store.view().expect("reads");
    let leaves = (scheme == Scheme::Selected).then(|| view.leaves(&members).expect("filled"));
    let (proof, commitment) = (store.export(name).expect("fresh"), view.commitment());
    let verified = verify(&proof, &commitment, leaves.as_deref(), &policy(scheme), &backends()).expect("verifies");
    let out = verified.app.as_ref().expect("an application");
    assert_eq!((&out.app, &out.output), (&app().id(), &expected(store, &members)), "{name}");
    verified
}

#[test]
fn applications_live_beside_batches_through_updates() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = backends();
    let mut store = create(dir.path(), None, 0..40);
    let members = [1, 5, 9, 13, 17, 33];
    with_prover(&store, &backends, |prover| {
        prover.define("some", &members, &choice(Scheme::Selected)).expect("a new batch");
        prover.define("all", &[], &choice(Scheme::Complete)).expect("a new batch");
        prover.define("tree", &[], &choice(Scheme::Tree)).expect("a new batch");
        prover.define("plain", &members, &crate::common::choice(Profile::Paper)).expect("a new batch");
        let costs = |_: &evergrove_commit::BackendSpec| evergrove_store::NodeCosts::default();
        let estimate = prover.estimate_prove("all", None, &costs).expect("a batch");
        let all = prover.prove("all").expect("proves");
        assert_eq!((all.members, all.made, all.buckets), (40, estimate.to_make(), 5));
        assert_eq!(all.output, expected(&store, &(0..40).collect::<Vec<_>>()));
        let some = prover.prove("some").expect("proves");
        assert_eq!((some.members, some.output.clone()), (6, expected(&store, &members)));
        // The plain batch has the same statements, but its own proofs.
        assert_eq!(prover.prove("plain").expect("proves").made, some.made);
        // 5 blocks of 8 for the first 40 slots, and every node above them up to the vector's root.
        let tree = prover.prove("tree").expect("proves");
        let height = store.commitment().expect("reads").height;
        assert_eq!((tree.buckets, tree.merges), (5, 3 + 2 + 1 + usize::from(height - 6)));
        for (name, scheme) in [("some", Scheme::Selected), ("all", Scheme::Complete), ("tree", Scheme::Tree)] {
            check(&store, name, scheme);
            assert_eq!(prover.prove(name).expect("is fresh").made, 0);
        }

        // A row outside the batch, a member's row, new and deleted rows, new and removed members, growth.
        let steps = [
            set(&[(2, 777)]),
            set(&[(9, 778), (39, 779)]),
            Changes { clear: vec![0, 2, 3], ..set(&[(50, 5), (51, 6)]) },
            Changes {
                add: vec![("some".into(), vec![50])],
                remove: vec![("some".into(), vec![1]), ("plain".into(), vec![1])],
                clear: vec![1],
                ..Changes::default()
            },
            Changes { grow: true, ..set(&[(700, 70)]) },
            Changes { clear: vec![700], ..Changes::default() },
        ];
        for changes in steps {
            let report = prover.update(&changes).expect("updates");
            assert!(report.batches.iter().any(|b| b.name == "all"));
            for b in &report.batches {
                assert!(b.made <= b.total, "{}: {} of {}", b.name, b.made, b.total);
            }
            check(&store, "some", Scheme::Selected);
            check(&store, "all", Scheme::Complete);
            check(&store, "tree", Scheme::Tree);
        }
    });
    let report = store.doctor(&backends).expect("reads");
    assert!(report.findings.is_empty() && report.unverified == 0, "{report:?}");
    store.prune(1, false).expect("prunes");
    let report = store.doctor(&crate::common::native(4)).expect("reads");
    assert!(report.findings.is_empty() && report.unverified > 0, "unknown applications are left alone: {report:?}");

    // The store keeps scheme and application with the batch.
    drop(store);
    let store = Store::open(dir.path()).expect("a store");
    let batches = store.batches().expect("reads");
    let kept: Vec<_> = batches
        .iter()
        .map(|b| (b.name.as_str(), b.backend.choice.scheme, b.backend.choice.app.clone(), b.len))
        .collect();
    let filled = store.epoch().expect("reads").filled;
    assert_eq!(
        kept,
        [
            ("all", Scheme::Complete, Some(app()), filled),
            ("plain", Scheme::Evergrove, None, 5),
            ("some", Scheme::Selected, Some(app()), 6),
            ("tree", Scheme::Tree, Some(app()), filled)
        ]
    );
    check(&store, "all", Scheme::Complete);
}

#[test]
fn a_table_lower_than_a_block() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = backends();
    let store = create(dir.path(), None, 0..3);
    with_prover(&store, &backends, |prover| {
        for (name, scheme) in [("all", Scheme::Complete), ("tree", Scheme::Tree)] {
            prover.define(name, &[], &choice(scheme)).expect("a new batch");
            prover.prove(name).expect("proves");
            let block_height = Structure::of(scheme, 8).capacity().ilog2() as u8;
            assert_eq!(check(&store, name, scheme).statement.height, block_height);
        }
        prover.update(&set(&[(0, 9)])).expect("updates");
        check(&store, "all", Scheme::Complete);
        check(&store, "tree", Scheme::Tree);
    });
}

#[test]
fn what_an_application_can_not_be_asked_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = backends();
    let store = create(dir.path(), None, 0..20);
    with_prover(&store, &backends, |prover| {
        let all = choice(Scheme::Complete);
        assert!(matches!(prover.define("all", &[1], &all), Err(Error::AllRows(name)) if name == "all"));
        assert!(matches!(prover.define("some", &[], &choice(Scheme::Selected)), Err(Error::EmptyBatch(_))));
        let other = AppSpec { parameters: vec![], ..app() };
        let unknown = BackendChoice::new("counting", Profile::Paper).with_app(Scheme::Selected, other);
        assert!(matches!(prover.define("some", &[1], &unknown), Err(Error::UnknownApp { .. })));
        prover.define("all", &[], &all).expect("a new batch");
        for (add, remove) in [(vec![("all".into(), vec![1])], vec![]), (vec![], vec![("all".into(), vec![1])])] {
            let refused = prover.update(&Changes { add, remove, ..Changes::default() }).expect_err("membership");
            assert!(matches!(refused, Error::AllRows(_)), "{refused}");
        }
        prover.define("tree", &[], &choice(Scheme::Tree)).expect("a new batch");
        let clear = Changes { clear: (0..20).collect(), ..Changes::default() };
        prover.update(&clear).expect("an empty table has a proof too");
        for (name, scheme) in [("all", Scheme::Complete), ("tree", Scheme::Tree)] {
            assert_eq!(check(&store, name, scheme).app.expect("an output").output, [Goldilocks::ZERO; 2]);
        }
        store.apply(&set(&[(3, 3)])).expect("filled again");
        prover.define("some", &[3], &choice(Scheme::Selected)).expect("a new batch");
        prover.refresh().expect("proves");

        let (commitment, leaves) = (store.commitment().expect("reads"), [(3, value(3))]);
        let [some, all] = ["some", "all"].map(|name| store.export(name).expect("fresh"));
        let judge = |proof: &[u8], leaves, policy: &Policy| verify(proof, &commitment, leaves, policy, &backends);
        assert!(judge(&some, Some(&leaves[..]), &policy(Scheme::Selected)).is_ok());
        assert!(matches!(judge(&all, Some(&leaves), &policy(Scheme::Complete)), Err(VerifyError::AllRows)));
        for (proof, scheme) in [(&some, Scheme::Complete), (&all, Scheme::Selected)] {
            let refused = judge(proof, None, &policy(scheme)).expect_err("another scheme");
            assert!(matches!(refused, VerifyError::Policy(PolicyError::Scheme { .. })), "{refused}");
        }
        let lenient =
            crate::common::lenient().allow_backend(Id::new("counting", 1)).allow_scheme(Scheme::Complete.name());
        let refused = judge(&all, None, &lenient).expect_err("no application is allowed");
        assert!(matches!(refused, VerifyError::Policy(PolicyError::App { .. })), "{refused}");

        // A proof with another output.
        let mut file = evergrove_verifier::BatchProof::decode(&all).expect("a proof file");
        assert_eq!(file.kind, NodeKind::Wrap);
        file.app.as_mut().expect("an application").output[1] += Goldilocks::ONE;
        let refused = judge(&file.encode(), None, &policy(Scheme::Complete)).expect_err("another output");
        assert!(matches!(refused, VerifyError::Proof(_)), "{refused}");
    });
    assert_eq!(row(3), store.view().expect("reads").row(3).expect("reads").expect("filled"));
}

//! A table from creation through changes and proofs to pruning, with the native backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{choice, create, lenient, native, row, set, verify_batch, with_prover};
use evergrove_commit::schema::Schema;
use evergrove_commit::{Batch, MemoryStore, NativeBackend, RecursionBackend, Vector};
use evergrove_store::{Backends, Changes, Error, ErrorClass, Outcome, Request, Store, VerifyError, verify};
use evergrove_testkit::commit::value;
use evergrove_verifier::{HeightClass, Profile};

#[test]
fn commits_proves_updates_and_verifies() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), None, 0..200);
    assert_eq!((store.epoch().expect("reads").number, store.commitment().expect("reads").height), (1, 8));
    let members: Vec<u64> = (0..200).step_by(5).collect();

    with_prover(&store, &backends, |prover| {
        prover.define("night", &members, &choice(Profile::Paper)).expect("a new batch");
        let first = prover.prove("night").expect("proves");
        assert_eq!((first.made, first.damaged, first.members), (first.total, 0, 40));
        assert_eq!(prover.prove("night").expect("is fresh").made, 0);
        prover.define("night", &members, &choice(Profile::Paper)).expect("is the same batch");
        verify_batch(&store, &backends, "night").expect("verifies");

        // A change inside the batch: one bucket, the merges above it, and the wrap.
        let old = (store.export("night").expect("is fresh"), store.commitment().expect("reads"));
        let inside = prover.update(&set(&[(5, 1000)])).expect("updates");
        let report = &inside.batches[0];
        assert_eq!((report.epoch, inside.epoch.after.number, inside.epoch.set), (2, 2, 1));
        assert!(report.made < report.total / 2, "{} of {}", report.made, report.total);
        verify_batch(&store, &backends, "night").expect("verifies");

        // The old proof is still valid for the old commitment, and for no other.
        let now = store.commitment().expect("reads");
        verify(&old.0, &old.1, None, &lenient(), &backends).expect("the old commitment is the old proof's");
        let stale = verify(&old.0, &now, None, &lenient(), &backends).expect_err("is stale");
        assert!(matches!(stale, VerifyError::Policy(_)) && stale.class() == ErrorClass::Refused, "{stale}");

        // A change outside the batch: its digest stays, and its commitment changes.
        let outside = prover.update(&set(&[(1, 1001), (201, 1002)])).expect("updates");
        assert_eq!(outside.batches[0].canonical, report.canonical);
        assert_eq!(outside.epoch.after.filled, 201);
        verify_batch(&store, &backends, "night").expect("verifies");

        // A slot that is filled in this epoch joins, and a slot that is emptied in this epoch leaves.
        let changes = Changes {
            set: vec![(230, row(7))],
            clear: vec![10],
            add: vec![("night".into(), vec![230])],
            remove: vec![("night".into(), vec![10])],
            ..Changes::default()
        };
        let moved = prover.update(&changes).expect("updates");
        assert_eq!((moved.batches[0].members, moved.epoch.cleared), (40, 1));
        verify_batch(&store, &backends, "night").expect("verifies");

        // This growth stays in the height class: only the top merge and the wrap are new.
        let grow = Changes { grow: true, ..set(&[(300, 300)]) };
        let grown = prover.update(&grow).expect("grows");
        assert_eq!(grown.epoch.after.commitment.height, 9);
        verify_batch(&store, &backends, "night").expect("verifies");
        assert!(prover.update(&Changes::default()).expect("nothing to do").batches.is_empty());
    });
    assert_eq!(store.epoch().expect("reads").number, 5);
    let status = store.status().expect("reads");
    assert_eq!((status.batches.len(), status.oldest, status.epoch.filled), (1, 1, 202));
    assert!(status.batches[0].fresh && status.objects > 0 && status.database_bytes > 0);
}

#[test]
fn two_batches_share_what_they_have_in_common_and_refresh_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), Some(10), 0..64);
    let all: Vec<u64> = (0..64).collect();
    with_prover(&store, &backends, |prover| {
        prover.define("all", &all, &choice(Profile::Proven)).expect("a new batch");
        prover.define("low", &all[..32], &choice(Profile::Proven)).expect("a new batch");
        assert_eq!(prover.prove("all").expect("proves").made, 31);
        // Only the climb of the top merge differs.
        assert_eq!(prover.prove("low").expect("proves").made, 1);
        let update = prover.update(&set(&[(3, 9)])).expect("updates");
        let made: Vec<_> = update.batches.iter().map(|b| (b.name.as_str(), b.made)).collect();
        assert_eq!(made, [("all", 5), ("low", 1)]);
    });
    for name in ["all", "low"] {
        verify_batch(&store, &backends, name).expect("verifies");
    }
}

#[test]
fn estimates_are_what_proving_makes() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), None, 0..100);
    let members: Vec<u64> = (0..100).step_by(3).collect();
    let costs = |_: &evergrove_commit::BackendSpec| evergrove_store::NodeCosts {
        setup_seconds: 10.0,
        bucket_seconds: 1.0,
        merge_seconds: 2.0,
        wrap_seconds: 4.0,
        task_seconds: 0.25,
        memory_bytes: 1 << 20,
        proof_bytes: 1000,
        concurrent_bytes: 1 << 10,
    };
    with_prover(&store, &backends, |prover| {
        let choice = choice(Profile::Paper);
        let new = prover.estimate_prove("b", Some((&members, &choice)), &costs).expect("estimates");
        assert_eq!(new.to_make(), new.total);
        let seconds = 10.0 + new.buckets as f64 + 2.0 * new.merges as f64 + 4.0 + 0.25 * new.total as f64;
        assert_eq!((new.seconds, new.memory_bytes), (seconds, 1 << 20));
        assert_eq!(new.disk_bytes, 1000 * new.to_make() as u64);
        // The longest chain: a bucket, merges and the wrap.
        let merges = (new.depth - 2) as f64;
        assert_eq!(new.parallel_seconds, 10.0 + 1.0 + 2.0 * merges + 4.0 + 0.25 * new.depth as f64);
        assert!(store.batches().expect("reads").is_empty(), "nothing is written");
        prover.define("b", &members, &choice).expect("a new batch");
        assert_eq!(prover.prove("b").expect("proves").made, new.to_make());
        assert_eq!(prover.estimate_prove("b", None, &costs).expect("estimates").seconds, 0.0);

        let changes = Changes { add: vec![("b".into(), vec![1, 2, 4])], ..set(&[(0, 5)]) };
        let before = store.commitment().expect("reads");
        let estimate = prover.estimate_update(&changes, &costs).expect("estimates");
        assert_eq!(store.commitment().expect("reads"), before, "nothing is written");
        let update = prover.update(&changes).expect("updates");
        assert_eq!(estimate.epoch, update.epoch);
        assert_eq!(estimate.batches[0].to_make(), update.batches[0].made);
    });
}

#[test]
fn an_estimate_counts_what_batches_share_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), None, 0..200);
    let backends = native(4);
    let members: Vec<u64> = (0..100).step_by(3).collect();
    with_prover(&store, &backends, |prover| {
        for (name, more) in [("a", None), ("b", None), ("c", Some(199))] {
            let members: Vec<u64> = members.iter().copied().chain(more).collect();
            prover.define(name, &members, &choice(Profile::Paper)).expect("a new batch");
        }
        prover.refresh().expect("proves");
        let changes = set(&[(0, 5), (3, 6), (60, 7)]);
        let estimate = prover.estimate_update(&changes, &|_| evergrove_store::NodeCosts::default()).expect("estimates");
        let update = prover.update(&changes).expect("updates");
        let estimated: Vec<_> = estimate.batches.iter().map(|b| (b.name.clone(), b.to_make())).collect();
        let made: Vec<_> = update.batches.iter().map(|b| (b.name.clone(), b.made)).collect();
        assert_eq!(estimated, made);
        assert!(made[0].1 > 3 && made[1].1 == 0 && made[2].1 > 0, "{made:?}");
    });
}

#[test]
fn rows_of_a_schema_come_back_and_open() {
    let dir = tempfile::tempdir().expect("a directory");
    let schema = Schema::from_toml(
        "[[column]]\nname = \"id\"\ntype = \"unsigned\"\n[[column]]\nname = \"text\"\ntype = \"bytes\"\nnullable = true\n",
    )
    .expect("a schema");
    let parse = |id: u64, text: &str| schema.parse_row(&[id.to_string().as_str(), text]).expect("a row");
    let rows: Vec<_> = (0..50).map(|i| Ok::<_, Error>((i * 3, parse(i, &format!("row {i}"))))).collect();
    let store = Store::create(dir.path(), &schema, Some(30), rows).expect("a store");
    store.apply(&Changes { set: vec![(6, parse(6, "new"))], ..Changes::default() }).expect("changes");
    drop(store);
    let store = Store::open(dir.path()).expect("opens");
    assert_eq!(store.schema(), &schema);
    let (now, then) = (store.view().expect("reads"), store.view_at(1).expect("reads"));
    assert_eq!(now.row(6).expect("reads"), Some(parse(6, "new")));
    assert_eq!(then.row(6).expect("reads"), Some(parse(2, "row 2")));
    assert_eq!(now.row(7).expect("reads"), None);
    for view in [&now, &then] {
        for index in [6, 7, 1 << 29] {
            let opening = view.opening(index).expect("opens");
            opening.verify(&view.commitment()).expect("verifies");
            assert_eq!(opening.value, view.row(index).expect("reads").map(|r| schema.value(&r).expect("fits")));
        }
    }
    let mut seen = Vec::new();
    then.for_each_row(|index, _| {
        seen.push(index);
        Ok(())
    })
    .expect("reads");
    assert_eq!(seen, (0..50).map(|i| i * 3).collect::<Vec<_>>());
}

#[test]
fn a_class_that_is_outgrown_makes_every_proof_anew() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), Some(27), 0..20);
    with_prover(&store, &backends, |prover| {
        prover.define("b", &(0..20).collect::<Vec<_>>(), &choice(Profile::Proven)).expect("a new batch");
        prover.prove("b").expect("proves");
        let update = prover.update(&Changes { grow: true, ..set(&[(1 << 27, 1)]) }).expect("grows");
        assert_eq!(update.batches[0].made, update.batches[0].total);
        assert_eq!(update.batches[0].backend.class.height_max(), 40);
    });
    verify_batch(&store, &backends, "b").expect("verifies");
}

#[test]
fn an_empty_table_is_the_null_tree_and_can_be_filled() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), None, []);
    assert_eq!(store.commitment().expect("reads").root, evergrove_verifier::tree::null_digest(1));
    let report = store.apply(&Changes { grow: true, ..set(&[(9, 9)]) }).expect("changes");
    let mut vector = Vector::new(4, MemoryStore::new()).expect("a height");
    assert_eq!(report.after.commitment, vector.apply(&[(9, Some(value(9)))]).expect("applies"));
    let batch = Batch::build(&store.view().expect("reads").vector().expect("reads"), &[9], 4).expect("a batch");
    assert_eq!(batch, Batch::build(&vector, &[9], 4).expect("a batch"));
}

/// The native backend of one profile, and a counter of how often it is made.
fn counted(profile: Profile) -> (Backends, Arc<AtomicUsize>) {
    let backend = NativeBackend::new(profile, HeightClass::H27).with_capacity(4);
    let made = Arc::new(AtomicUsize::new(0));
    let (spec, count) = (backend.spec().clone(), made.clone());
    let mut backends = Backends::new();
    backends.register(spec, move || {
        count.fetch_add(1, Ordering::Relaxed);
        let backend: Arc<dyn RecursionBackend> =
            Arc::new(NativeBackend::new(profile, HeightClass::H27).with_capacity(4));
        Ok(backend)
    });
    (backends, made)
}

#[test]
fn a_backend_is_made_when_a_proof_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), Some(10), 0..64);
    let run = |work: &dyn Fn(&evergrove_store::Prover<'_>)| {
        let (backends, made) = counted(Profile::Paper);
        with_prover(&store, &backends, work);
        made.load(Ordering::Relaxed)
    };
    let prove = |made: usize| {
        run(&|prover| {
            let report = prover.prove("b").expect("proves");
            assert_eq!((report.made, report.damaged > 0), (made, made == 1));
            assert_eq!((report.total, report.buckets, report.merges, report.members), (4, 2, 1, 8));
            assert_eq!(report.epoch, store.epoch().expect("reads").number);
        })
    };
    assert_eq!(
        run(&|prover| prover.define("b", &(0..8).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("new")),
        0
    );
    assert_eq!(prove(4), 1);
    assert_eq!(prove(0), 0);
    assert_eq!(run(&|prover| assert!(prover.refresh().expect("is fresh").is_empty())), 0);

    // A final proof that differs from the record is checked and made again.
    let key = store.batch("b").expect("is there").proven.expect("is proven").key;
    let path = dir.path().join("objects/proofs").join(key.to_string());
    let mut bytes = std::fs::read(&path).expect("reads");
    *bytes.last_mut().expect("is not empty") ^= 1;
    std::fs::write(&path, bytes).expect("writes");
    assert_eq!(prove(1), 1);
    assert_eq!(prove(0), 0);
}

#[test]
fn what_became_of_a_request_is_kept_with_its_epoch() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), None, 0..20);
    assert_eq!(store.request("k").expect("reads"), None);
    let request = |key: &str| Request { key: key.into(), digest: [3; 32], changes: 1 };
    let with =
        |keys: &[&str], changes: Changes| Changes { requests: keys.iter().map(|k| request(k)).collect(), ..changes };
    let report = store.apply(&with(&["k", "l"], set(&[(5, 1)]))).expect("commits");
    drop(store);
    let store = Store::open(dir.path()).expect("opens");
    for key in ["k", "l"] {
        let outcome = store.request(key).expect("reads").expect("is kept");
        assert_eq!(outcome, Outcome { epoch: report.after, digest: [3; 32], changes: 1 });
    }
    // Nothing of a refused epoch is kept.
    let refused = store.apply(&with(&["m", "k"], set(&[(6, 1)]))).expect_err("was made");
    assert!(
        matches!(&refused, Error::Repeated(key) if key == "k") && refused.class() == ErrorClass::Usage,
        "{refused}"
    );
    assert_eq!((store.epoch().expect("reads"), store.request("m").expect("reads")), (report.after, None));
    for key in ["", " ", "a b", "\u{e9}", &"x".repeat(129)] {
        assert!(matches!(store.apply(&with(&[key], set(&[(6, 1)]))), Err(Error::RequestKey(_))), "{key:?}");
    }
    store.apply(&with(&[&"x".repeat(128)], set(&[(6, 1)]))).expect("commits");
}

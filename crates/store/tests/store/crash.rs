//! Failures at every point of every operation. The store opens, is whole, and finishes the operation.

use std::path::Path;
use std::sync::Mutex;

use crate::common::{choice, native, on, row, set, verify_batch, with_prover};
use evergrove_commit::schema::Schema;
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::{Cancel, Event, RunError};
use evergrove_store::{Backends, Changes, Error, ErrorClass, Options, Store};
use evergrove_testkit::faults::{BLOCK, Disk, FaultyObjects};
use evergrove_verifier::Profile;

fn create(dir: &Path, options: &Options) -> Result<Store, Error> {
    Store::create_with(dir, options, &Schema::raw(), None, (0..150).map(|i| Ok::<_, Error>((i, row(i)))))
}

/// A store with a proven batch of 30 members, on a disk, with its objects.
fn proven(dir: &Path, backends: &Backends) -> (Disk, FaultyObjects) {
    let (disk, objects) = (Disk::new(), FaultyObjects::new());
    let store = create(dir, &on(&disk, &objects)).expect("a new store");
    with_prover(&store, backends, |prover| {
        prover.define("b", &(0..150).step_by(5).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    drop(store);
    (disk, objects)
}

fn changes() -> Changes {
    let to_b = |i: u64| vec![("b".to_string(), vec![i])];
    Changes { add: to_b(7), remove: to_b(10), grow: true, clear: vec![10], ..set(&[(5, 500), (6, 600), (300, 1)]) }
}

#[test]
fn an_epoch_is_there_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let (disk, objects) = proven(dir.path(), &backends);
    let work = |store: &Store| with_prover(store, &backends, |p| p.update(&changes()));
    // The number of writes for the whole operation, and its result.
    let (all, after) = {
        let disk = disk.fork();
        let store = Store::open_with(dir.path(), &on(&disk, &objects)).expect("opens");
        let opened = disk.operations();
        let report = work(&store).expect("updates");
        (disk.operations() - opened, report.epoch.after)
    };
    assert!(all > 10, "{all} writes and syncs");
    let mut ends = [0, 0];
    for fail_at in 0..=all {
        let (disk, objects) = (disk.fork(), FaultyObjects::new());
        let options = on(&disk, &objects);
        let store = Store::open_with(dir.path(), &options).expect("opens");
        let before = store.epoch().expect("reads");
        disk.fail_after(fail_at);
        let outcome = work(&store);
        if let Err(e) = &outcome {
            assert_eq!(e.class(), ErrorClass::Io, "{e:?}");
        }
        drop(store);
        disk.crash(fail_at as u64);
        let mut store = Store::open_with(dir.path(), &options).expect("opens after a crash");
        let now = store.epoch().expect("reads");
        assert!(now == before || now == after, "epoch {} is neither the old nor the new one", now.number);
        assert!(outcome.is_err() || now == after, "what was committed stays");
        ends[usize::from(now == after)] += 1;
        let report = store.doctor(&backends).expect("looks");
        let bookkeeping =
            |f: &evergrove_store::Finding| f.what.contains("bookkeeping") || f.what.contains("is missing");
        assert!(report.findings.iter().all(bookkeeping), "{:?}", report.findings);
        // A batch that claims to be proven is proven.
        if store.batch("b").expect("reads").fresh && now == after {
            verify_batch(&store, &backends, "b").expect("verifies");
        }
        let rest = if now == before { changes() } else { Changes::default() };
        with_prover(&store, &backends, |p| p.update(&rest)).expect("finishes");
        assert_eq!(store.epoch().expect("reads"), after);
        with_prover(&store, &backends, |p| p.prove("b")).expect("proves");
        verify_batch(&store, &backends, "b").expect("verifies");
    }
    assert!(ends.iter().all(|n| *n > 0), "crashes before and after the commit: {ends:?}");
}

#[test]
fn opening_after_a_crash_does_not_read_the_whole_database() {
    let (dir, disk) = (tempfile::tempdir().expect("a directory"), Disk::new());
    let options = on(&disk, &FaultyObjects::new());
    let rows = (0..20_000).map(|i| Ok::<_, Error>((i, row(i))));
    let store = Store::create_with(dir.path(), &options, &Schema::raw(), None, rows).expect("a new store");
    for round in 0..3 {
        store.apply(&set(&[(round, 1), (10_000 + round, 2)])).expect("changes");
    }
    let epoch = store.epoch().expect("reads");
    // A killed process does not close the database.
    disk.crash(1);
    drop(store);
    let before = disk.bytes_read();
    let store = Store::open_with(dir.path(), &options).expect("opens");
    assert_eq!(store.epoch().expect("reads"), epoch);
    let (read, all) = (disk.bytes_read() - before, (disk.blocks() * BLOCK) as u64);
    assert!(all > 2 << 20 && read < all / 8, "{read} of {all} bytes");
}

#[test]
fn a_creation_that_crashes_leaves_no_store() {
    let backends = native(4);
    let all = {
        let dir = tempfile::tempdir().expect("a directory");
        let (disk, _) = proven(dir.path(), &backends);
        disk.operations()
    };
    for fail_at in (0..all).step_by(3) {
        let dir = tempfile::tempdir().expect("a directory");
        let (disk, objects) = (Disk::new(), FaultyObjects::new());
        disk.fail_after(fail_at);
        let made = create(dir.path(), &on(&disk, &objects));
        let Err(error) = made else { break };
        assert_eq!(error.class(), ErrorClass::Io, "{error:?}");
        match Store::open_with(dir.path(), &on(&Disk::new(), &objects)) {
            Err(Error::NotAStore(_)) => {}
            // The database was complete and in its place. Only its first opening failed.
            other => drop(other.expect_err("an empty disk is no store")),
        }
    }
}

#[test]
fn a_proof_that_can_not_be_stored_stops_the_run_and_the_next_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let (disk, objects) = (Disk::new(), FaultyObjects::new());
    let store = create(dir.path(), &on(&disk, &objects)).expect("a new store");
    with_prover(&store, &backends, |prover| {
        prover.define("b", &(0..100).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("a new batch");
        let mut made = 0;
        for room in [0, 5, 1, 30] {
            objects.fail_after(room);
            let error = prover.prove("b").expect_err("the disk is full");
            assert_eq!(error.class(), ErrorClass::Io, "{error:?}");
            let text = error.to_string();
            assert!(text.contains("no space left"), "{text}");
            made += room;
            assert_eq!(store.status().expect("reads").objects, made);
            assert!(matches!(store.export("b"), Err(Error::Stale { .. })));
        }
        objects.heal();
        let report = prover.prove("b").expect("proves");
        assert_eq!(report.made + made, report.total);
        // Each run offers a refused proof only once: a full disk is not tried again.
        assert!(objects.refused().values().all(|n| *n <= 4));

        // Between commit and refresh, the new epoch is committed and the old proof does not count as new.
        objects.fail_after(1);
        prover.update(&set(&[(50, 5)])).expect_err("the disk is full");
        assert_eq!(store.epoch().expect("reads").number, 2);
        assert!(matches!(store.export("b"), Err(Error::Stale { proven: Some(1), .. })));
        objects.heal();
        let update = prover.update(&Changes::default()).expect("finishes");
        assert_eq!(update.epoch.after.number, 2);
        assert!(update.batches[0].made < 10);
    });
    verify_batch(&store, &backends, "b").expect("verifies");
}

#[test]
fn a_cancelled_run_goes_on_later() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = crate::common::create(dir.path(), None, 0..100);
    let (engine, cancel) = (LocalEngine::new(1), Cancel::new());
    let seen = Mutex::new(Vec::new());
    let progress = |batch: &str, event: &Event<'_>| {
        if let Event::Finished { done, .. } = event {
            seen.lock().expect("not poisoned").push(batch.to_string());
            if *done == 7 {
                cancel.cancel();
            }
        }
    };
    let prover = evergrove_store::Prover::new(&store, &backends, &engine).with_progress(&progress);
    prover.define("b", &(0..100).collect::<Vec<_>>(), &choice(Profile::Proven)).expect("a new batch");
    let error = prover.clone().with_cancel(cancel.clone()).prove("b").expect_err("is cancelled");
    assert!(matches!(&error, Error::Proving { source, .. } if matches!(**source, RunError::Cancelled { .. })));
    assert!(error.to_string().contains("cancelled after 7 of 49 tasks"), "{error}");
    assert_eq!(prover.prove("b").expect("proves").made, 49 - 7);
    assert_eq!(*seen.lock().expect("not poisoned"), vec!["b"; 49]);
}

//! Pruning keeps what is needed, and doctor finds damage.

use std::fs;

use crate::common::{choice, create, native, on, row, set, verify_batch, with_prover};
use evergrove_commit::schema::Schema;
use evergrove_store::{Changes, Error, Store};
use evergrove_testkit::faults::{Disk, FaultyObjects};
use evergrove_verifier::Profile;
use redb::ReadableTable;

#[test]
fn prune_keeps_what_is_needed() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let mut store = create(dir.path(), None, 0..500);
    let members: Vec<u64> = (0..500).step_by(9).collect();
    with_prover(&store, &backends, |prover| {
        for profile in [Profile::Proven, Profile::Paper] {
            prover.define(profile.name(), &members, &choice(profile)).expect("a new batch");
        }
        prover.refresh().expect("proves");
        for round in 0..5 {
            prover.update(&set(&[(9 * round, 1000 + round), (1 + round, 2000)])).expect("updates");
        }
        // One batch becomes stale. Its old proof is kept, and so are the proofs that its next refresh can use.
        prover.update(&Changes { clear: vec![499], ..Changes::default() }).expect("updates");
        store.apply(&set(&[(2, 3000)])).expect("changes");
        prover.prove("paper").expect("proves");
    });
    let before = store.status().expect("reads");
    assert_eq!((before.oldest, before.epoch.number), (1, 8));
    let views: Vec<Vec<_>> = [7, 8].map(|e| rows(&store, e)).into();

    let dry = store.prune(2, true).expect("looks");
    let after = store.status().expect("reads");
    assert_eq!((after.oldest, after.objects), (1, before.objects), "nothing is taken away");
    let report = store.prune(2, false).expect("prunes");
    assert_eq!(dry, report);
    assert_eq!((report.oldest, report.epochs), (7, 6));
    assert!(report.pages > 0 && report.slots > 0 && report.objects > 0);
    let after = store.status().expect("reads");
    assert_eq!((after.oldest, after.objects), (7, before.objects - report.objects));
    assert_eq!(after.object_bytes, before.object_bytes - report.object_bytes);
    assert_eq!(views, [7, 8].map(|e| rows(&store, e)));
    assert!(matches!(store.view_at(6), Err(Error::UnknownEpoch { oldest: 7, .. })));
    assert!(matches!(store.prune(0, false), Err(Error::KeepNothing)));

    // The fresh batch is still fresh. The stale batch makes as few proofs as without pruning.
    verify_batch(&store, &backends, "paper").expect("verifies");
    let old = store.batch("proven").expect("reads").proven.expect("was proven");
    assert_eq!(old.epoch, 7);
    with_prover(&store, &backends, |prover| {
        let report = prover.prove("proven").expect("proves");
        assert_eq!((report.made, report.total), (5, 31), "one bucket and the merges above it");
    });
    let again = store.prune(2, false).expect("prunes");
    assert_eq!((again.epochs, again.pages, again.slots), (0, 0, 0));
    assert!(store.doctor(&backends).expect("looks").healthy());
}

fn rows(store: &Store, epoch: u64) -> Vec<(u64, evergrove_commit::schema::Row)> {
    let mut out = Vec::new();
    let view = store.view_at(epoch).expect("is kept");
    let visit = |index, row| {
        out.push((index, row));
        Ok(())
    };
    view.for_each_row(visit).expect("reads");
    out
}

#[test]
fn doctor_finds_nothing_in_a_sound_store() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let mut store = create(dir.path(), Some(20), (0..3000).map(|i| i * 17));
    with_prover(&store, &backends, |prover| {
        prover.define("b", &[0, 17, 34, 51, 68, 85], &choice(Profile::Paper)).expect("a new batch");
        prover.prove("b").expect("proves");
        let all: Vec<u64> = (0..1000).map(|i| i * 17).filter(|i| *i > 85).collect();
        prover.update(&Changes { clear: all, ..set(&[(17, 3)]) }).expect("updates");
    });
    let report = store.doctor(&backends).expect("looks");
    assert!(report.healthy(), "{:?}", report.findings);
    assert_eq!((report.epochs, report.slots, report.batches), (2, 2006, 1));
    assert_eq!((report.proofs, report.unverified, report.orphans.len()), (8, 0, 4));
    let blind = store.doctor(&evergrove_store::Backends::new()).expect("looks");
    assert_eq!((blind.proofs, blind.unverified), (0, 8));
}

#[test]
fn doctor_finds_damaged_proofs_and_prove_makes_them_anew() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let mut store = create(dir.path(), None, 0..60);
    with_prover(&store, &backends, |prover| {
        prover.define("b", &(0..40).collect::<Vec<_>>(), &choice(Profile::Proven)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    let proofs = dir.path().join("objects/proofs");
    let key = store.batch("b").expect("reads").proven.expect("is proven").key;
    let file = proofs.join(key.to_string());
    let mut bytes = fs::read(&file).expect("reads");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&file, bytes).expect("writes");
    let staged = proofs.join(format!("{key}#1"));
    fs::write(&staged, b"half").expect("writes");

    let report = store.doctor(&backends).expect("looks");
    assert_eq!(report.findings.len(), 2, "{:?}", report.findings);
    assert!(report.findings[0].what.contains("is not what was stored"));
    assert_eq!(report.leftovers, [staged.display().to_string()]);
    assert!(file.exists(), "doctor repairs nothing");
    let exported = store.export("b").expect_err("is damaged");
    assert!(matches!(exported, Error::LostProof { .. }), "{exported}");
    with_prover(&store, &backends, |prover| {
        let report = prover.prove("b").expect("proves");
        assert_eq!((report.made, report.damaged), (1, 1));
    });
    verify_batch(&store, &backends, "b").expect("verifies");
    // A store that is open for reading keeps everything.
    drop(store);
    let mut read = Store::open_to_read(dir.path()).expect("opens");
    assert!(matches!(read.prune(9, false), Err(Error::ReadOnly(_))) && staged.exists());
    drop(read);
    let mut store = Store::open(dir.path()).expect("opens");
    assert_eq!(store.prune(9, false).expect("prunes").leftovers, 1);
    assert!(!staged.exists() && store.doctor(&backends).expect("looks").healthy());
}

#[test]
fn prune_sweeps_up_after_a_creation_that_was_killed_at_its_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = create(dir.path(), None, 0..10);
    let site = dir.path().join(".evergrove-new-7");
    fs::create_dir(&site).expect("creates");
    fs::hard_link(dir.path().join("evergrove.redb"), site.join("evergrove.redb")).expect("links");
    assert_eq!(store.prune(1, false).expect("prunes").leftovers, 1);
    assert!(!site.exists());
    drop(store);
    assert!(Store::open(dir.path()).expect("opens").doctor(&native(4)).expect("looks").healthy());
}

#[test]
fn doctor_finds_damage_in_the_tree() {
    let pages: redb::TableDefinition<'_, (u8, u64, u64), &[u8]> = redb::TableDefinition::new("pages");
    let slots: redb::TableDefinition<'_, (u64, u64), &[u8]> = redb::TableDefinition::new("slots");
    type Damage<'a> = (&'a str, &'a dyn Fn(&redb::WriteTransaction));
    let damages: [Damage<'_>; 5] = [
        ("value is not that of its leaf", &|w| {
            let mut table = w.open_table(slots).expect("opens");
            table.insert((9, 1), [7u8; 32].as_slice()).expect("inserts");
        }),
        ("299 slots are filled, the tree has 300 leaves", &|w| {
            w.open_table(slots).expect("opens").remove((9, 1)).expect("removes");
        }),
        ("no value", &|w| {
            w.open_table(slots).expect("opens").insert((9, 1), [7u8; 5].as_slice()).expect("inserts");
        }),
        ("is missing", &|w| {
            w.open_table(pages).expect("opens").remove((0, 1, 1)).expect("removes");
        }),
        ("is not the hash of its children", &|w| {
            let mut table = w.open_table(pages).expect("opens");
            let mut bytes = table.get((0, 0, 1)).expect("reads").expect("is there").value().to_vec();
            // An element of the second digest: after the bitmap and the first digest, its lowest byte.
            bytes[64] ^= 1;
            table.insert((0, 0, 1), bytes.as_slice()).expect("inserts");
        }),
    ];
    for (text, damage) in damages {
        let dir = tempfile::tempdir().expect("a directory");
        drop(create(dir.path(), None, 0..300));
        let database = redb::Database::open(dir.path().join("evergrove.redb")).expect("opens");
        let write = database.begin_write().expect("begins");
        damage(&write);
        write.commit().expect("commits");
        drop(database);
        let mut store = Store::open(dir.path()).expect("opens");
        let report = store.doctor(&native(4)).expect("looks");
        let found = report.findings.iter().any(|f| f.what.contains(text));
        assert!(found, "{text:?} is not among {:?}", report.findings);
    }
}

#[test]
fn a_proof_of_any_length_heals() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let mut store = create(dir.path(), None, 0..100);
    with_prover(&store, &backends, |prover| {
        prover.define("b", &(0..100).step_by(5).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    let place = dir.path().join("objects/proofs");
    let files: Vec<_> =
        fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    for length in [0, 1 << 20, (64 << 20) + 1, 1 << 33] {
        for file in &files {
            // A sparse file, which uses no space.
            fs::File::options().write(true).open(file).and_then(|file| file.set_len(length)).expect("another length");
        }
        let found = store.doctor(&backends).expect("looks").findings.len();
        assert!(found >= files.len(), "{length} bytes: {found} of {} are found", files.len());
        assert!(matches!(store.export("b"), Err(Error::LostProof { found: true, .. })));
        let made = with_prover(&store, &backends, |prover| prover.prove("b")).expect("proves").made;
        assert_eq!(made, files.len(), "{length} bytes");
        verify_batch(&store, &backends, "b").expect("verifies");
    }
}

/// Pruning in use takes several transactions. After a failure at any write of them, every epoch that can be read is whole,
/// and the next call finishes.
#[test]
fn pruning_in_use_may_end_anywhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let (disk, objects, backends) = (Disk::new(), FaultyObjects::new(), native(4));
    let rows = (0..150).map(|i| Ok::<_, Error>((i, row(i))));
    let store = Store::create_with(dir.path(), &on(&disk, &objects), &Schema::raw(), None, rows).expect("a new store");
    let slots = |round: u64| (0..150).map(|i| (i, 1000 * round + i)).collect::<Vec<_>>();
    (1..16).for_each(|round| drop(store.apply(&set(&slots(round))).expect("changes")));
    let known = store.epochs().expect("reads");
    assert_eq!(known.len(), 16);
    drop(store);
    let (all, versions) = {
        let disk = disk.fork();
        let store = Store::open_with(dir.path(), &on(&disk, &objects)).expect("opens");
        let opened = disk.operations();
        let report = store.prune_in_use(2).expect("prunes");
        (disk.operations() - opened, report.pages + report.slots + report.epochs)
    };
    assert!(versions > 2048 && all > 6, "{versions} versions in {all} writes and syncs: more than one transaction");
    let mut kept = std::collections::BTreeSet::new();
    for fail_at in 0..all {
        let disk = disk.fork();
        let options = on(&disk, &objects);
        let store = Store::open_with(dir.path(), &options).expect("opens");
        disk.fail_after(fail_at);
        store.prune_in_use(2).expect_err("a write fails");
        drop(store);
        disk.crash(fail_at as u64);
        let mut store = Store::open_with(dir.path(), &options).expect("opens after a crash");
        let epochs = store.epochs().expect("reads");
        kept.insert(epochs.len());
        assert!(known.ends_with(&epochs), "{epochs:?}");
        for epoch in &epochs {
            let view = store.view_at(epoch.number).expect("is kept");
            assert_eq!((view.positions().expect("reads").len(), view.commitment()), (150, epoch.commitment));
            assert!((0..150).all(|i| view.row(i).expect("reads").is_some()), "epoch {}", epoch.number);
        }
        let report = store.doctor(&backends).expect("looks");
        assert!(report.findings.iter().all(|f| f.what.contains("bookkeeping")), "{:?}", report.findings);
        store.prune_in_use(2).expect("prunes");
        assert_eq!(store.epochs().expect("reads").len(), 2);
    }
    assert_eq!(kept, [2, 16].into(), "failures before and after the first transaction");
}

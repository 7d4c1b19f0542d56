//! A full disk. Nothing is lost, reads still work, and the same process writes again once there is space.

use crate::common::{choice, native, on, row, set, verify_batch, with_prover};
use evergrove_commit::schema::Schema;
use evergrove_store::{Error, ErrorClass, Store};
use evergrove_testkit::faults::{BLOCK, Disk, FaultyObjects};
use evergrove_verifier::Profile;

const ROWS: u64 = 600;

/// A store on a disk, with a proven batch and `epochs` further epochs.
fn store(dir: &std::path::Path, disk: &Disk, epochs: u64) -> Store {
    let rows = (0..ROWS).map(|i| Ok::<_, Error>((i, row(i))));
    let store =
        Store::create_with(dir, &on(disk, &FaultyObjects::new()), &Schema::raw(), None, rows).expect("a new store");
    with_prover(&store, &native(4), |prover| {
        prover.define("b", &(0..ROWS).step_by(50).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    change(&store, epochs).expect("there is room");
    store
}

/// Makes epochs, each with changes all over the table.
fn change(store: &Store, epochs: u64) -> Result<(), Error> {
    let slots = |round| (0..ROWS).step_by(3).map(|i| (i, round)).collect::<Vec<_>>();
    (0..epochs).try_for_each(|round| store.apply(&set(&slots(round))).map(drop))
}

/// Makes epochs until the disk is full.
fn fill(store: &Store) -> Error {
    change(store, 1000).expect_err("the disk is full")
}

#[test]
fn a_full_disk_refuses_changes_until_there_is_room() {
    let (dir, disk) = (tempfile::tempdir().expect("a directory"), Disk::new());
    let mut store = store(dir.path(), &disk, 2);
    let room = disk.blocks();
    disk.limit(move || room);
    let error = fill(&store);
    assert!(error.is_full(), "{error:?}");
    assert_eq!(error.class(), ErrorClass::Io);
    assert!(store.has_failed());
    // Later callers get the same error.
    assert!(store.apply(&set(&[(1, 1)])).expect_err("refused").is_full());

    for _ in 0..3 {
        store.recover().expect("opens again");
        let before = store.epoch().expect("reads");
        assert_eq!(store.view().expect("reads").commitment(), before.commitment);
        assert!(fill(&store).is_full());
        store.recover().expect("opens again");
        assert_eq!(store.epoch().expect("reads").number, before.number, "what was refused is not there");
    }
    disk.limit(|| usize::MAX);
    change(&store, 1).expect("there is room");
    with_prover(&store, &native(4), |prover| prover.prove("b")).expect("proves");
    verify_batch(&store, &native(4), "b").expect("verifies");
    assert!(store.doctor(&native(4)).expect("looks").healthy());
}

#[test]
fn prune_works_on_a_full_disk() {
    let (dir, disk) = (tempfile::tempdir().expect("a directory"), Disk::new());
    let mut store = store(dir.path(), &disk, 30);
    let reserve = dir.path().join("reserve");
    let held = std::fs::metadata(&reserve).expect("a reserve").len() as usize / BLOCK;
    assert_eq!(held, 1024);
    let (room, file) = (disk.blocks(), reserve.clone());
    disk.limit(move || room + if file.exists() { 0 } else { held });
    assert!(fill(&store).is_full());
    drop(store);

    // As in a command that starts on a full disk.
    let options = on(&disk, &FaultyObjects::new());
    store = Store::open_with(dir.path(), &options).expect("opens");
    let epoch = store.epoch().expect("reads");
    let dry = store.prune(1, true).expect("looks");
    let report = store.prune(1, false).expect("prunes");
    assert_eq!(report, dry);
    assert!(report.epochs >= 30 && report.slots > 1000, "{report:?}");
    assert_eq!((store.epochs().expect("reads").len(), store.epoch().expect("reads")), (1, epoch));
    assert!(reserve.exists(), "the reserve is there for the next time");
    change(&store, 3).expect("there is room again");
    assert!(store.doctor(&native(4)).expect("looks").findings.iter().all(|f| f.what.contains("proof")));
}

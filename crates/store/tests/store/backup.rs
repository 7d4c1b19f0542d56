//! Backups: of one epoch whatever is written meanwhile, whole or refused, and restored whole or not at all.

use std::io::{self, Read};
use std::path::Path;
use std::thread;

use crate::common::{choice, create, lenient, native, on, row, set, verify_batch, with_prover};
use evergrove_commit::schema::Schema;
use evergrove_store::{BackupError, BackupReader, Changes, Error, ErrorClass, Request, Store};
use evergrove_testkit::faults::{Disk, FaultyObjects};
use evergrove_verifier::Profile;

const ROWS: u64 = 600;

/// A batch of every 20th row, proven.
fn prove(store: &Store) -> usize {
    with_prover(store, &native(4), |prover| {
        prover.define("b", &(0..ROWS).step_by(20).collect::<Vec<_>>(), &choice(Profile::Paper)).expect("a batch");
        prover.prove("b").expect("proves").made
    })
}

/// A change with the key of a request.
fn keyed(x: u64) -> Changes {
    let request = Request { key: format!("request-{x}"), digest: [7; 32], changes: 1 };
    Changes { requests: vec![request], ..set(&[(x % ROWS, 1000 + x)]) }
}

/// The backup of a store.
fn bytes(store: &Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    let backup = store.backup().expect("begins");
    assert_eq!(backup.write_to(&mut bytes).expect("reads"), bytes.len() as u64);
    bytes
}

fn restore(backup: &[u8], dir: &Path) -> Result<Store, Error> {
    Store::restore(BackupReader::new(backup)?, dir, true, &mut |_| ())
}

/// Every epoch, the rows of each, the batches and their proofs are the same.
fn assert_same(store: &Store, other: &Store, epoch: u64) {
    let epochs = store.epochs().expect("reads");
    let until: Vec<_> = epochs.into_iter().filter(|e| e.number <= epoch).collect();
    assert_eq!(other.epochs().expect("reads"), until);
    for e in [until[0].number, epoch] {
        let [a, b] = [store, other].map(|s| s.view_at(e).expect("reads"));
        assert_eq!(a.commitment(), b.commitment());
        for index in 0..ROWS {
            assert_eq!(a.row(index).expect("reads"), b.row(index).expect("reads"));
        }
    }
    assert_eq!(store.schema(), other.schema());
}

#[test]
fn a_backup_is_of_one_epoch_whatever_is_committed_meanwhile() {
    let (dir, disk) = (tempfile::tempdir().expect("a directory"), Disk::new());
    let rows = (0..ROWS).map(|i| Ok::<_, Error>((i, row(i))));
    let options = on(&disk, &FaultyObjects::new());
    let mut store =
        Store::create_with(&dir.path().join("s"), &options, &Schema::raw(), None, rows).expect("a new store");
    prove(&store);
    (0..5).for_each(|x| drop(store.apply(&keyed(x)).expect("commits")));
    with_prover(&store, &native(4), |prover| prover.prove("b")).expect("proves");
    let before = (store.epoch().expect("reads"), store.batch("b").expect("reads"), store.export("b").expect("fresh"));

    // Some changes come while the backup is copied, the others while it waits for its reader.
    let mut backup = store.backup().expect("begins");
    assert_eq!(backup.head().epoch, before.0);
    let mut copy = backup.next().expect("a block").expect("reads");
    thread::scope(|scope| {
        let writer = scope.spawn(|| (5..505).for_each(|x| drop(store.apply(&keyed(x)).expect("commits"))));
        copy.extend(backup.by_ref().take(1).flatten().flatten());
        writer.join().expect("commits");
    });
    (505..1005).for_each(|x| drop(store.apply(&keyed(x)).expect("commits")));
    with_prover(&store, &native(4), |prover| prover.prove("b")).expect("proves");
    backup.for_each(|block| copy.extend(block.expect("reads")));
    assert_eq!(store.epoch().expect("reads").number, before.0.number + 1000);

    let mut restored = restore(&copy, &dir.path().join("r")).expect("restores");
    assert_eq!(restored.epoch().expect("reads"), before.0);
    assert_same(&store, &restored, before.0.number);
    assert_eq!((restored.batch("b").expect("reads"), restored.export("b").expect("fresh")), (before.1, before.2));
    verify_batch(&restored, &native(4), "b").expect("verifies");
    assert_eq!(restored.request("request-4").expect("reads"), store.request("request-4").expect("reads"));
    assert!(restored.request("request-4").expect("reads").is_some());
    assert_eq!(restored.request("request-5").expect("reads"), None);
    assert!(restored.doctor(&native(4)).expect("looks").healthy());

    // Nothing is stale, and what gets stale takes a few proofs.
    let made = |store: &Store| with_prover(store, &native(4), |prover| prover.prove("b").expect("proves"));
    assert_eq!(made(&restored).made, 0);
    restored.apply(&set(&[(20, 7)])).expect("commits");
    let report = made(&restored);
    assert!((1..report.total / 2).contains(&report.made), "{} of {}", report.made, report.total);
    verify_batch(&restored, &native(4), "b").expect("verifies");
    // The pages of the backup's epoch are free again: the source prunes as ever.
    store.prune(1, false).expect("prunes");
}

#[test]
fn a_backup_that_is_not_what_was_written_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(&dir.path().join("s"), None, 0..40);
    store.apply(&keyed(3)).expect("commits");
    with_prover(&store, &native(4), |prover| {
        prover.define("b", &[1, 2, 30], &choice(Profile::Paper)).expect("a batch");
        prover.prove("b").expect("proves");
    });
    let whole = bytes(&store);
    assert_eq!(whole, bytes(&store), "the same state has the same backup");
    let target = dir.path().join("r");
    let refused = |backup: &[u8]| {
        let error = restore(backup, &target).expect_err("refused");
        assert_eq!(error.class(), ErrorClass::Usage, "{error:?}");
        assert!(!target.exists());
        match error {
            Error::Backup(e) => e,
            e => panic!("{e:?}"),
        }
    };
    let reading = |backup: &[u8]| BackupReader::new(backup).and_then(|b| b.verify(&mut |_| ()));
    for at in (0..whole.len()).step_by(97).chain(0..200).chain(whole.len() - 60..whole.len()) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(reading(&flipped).is_err(), "byte {at}");
    }
    for at in [0, 5, 9, 50, whole.len() / 2, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 16;
        let e = refused(&flipped);
        match at {
            0 => assert!(matches!(e, BackupError::Foreign)),
            5 => assert!(matches!(e, BackupError::Version { .. })),
            _ => assert!(matches!(e, BackupError::Damaged(_)), "byte {at}: {e:?}"),
        }
    }
    for len in (0..whole.len()).step_by(131).chain([3, 6, 10, 41, 42, 60, whole.len() - 1]) {
        let foreign = len == 0;
        let matches = match reading(&whole[..len]) {
            Err(BackupError::Foreign) => foreign,
            Err(BackupError::CutOff(at)) => at == len as u64,
            _ => false,
        };
        assert!(matches, "{len} bytes: {:?}", reading(&whole[..len]));
    }
    assert!(matches!(refused(&whole[..whole.len() / 2]), BackupError::CutOff(_)));
    assert!(matches!(refused(&[&whole[..], b"x"].concat()), BackupError::Trailing(_)));
    assert!(matches!(refused(b"SQLite format 3\0"), BackupError::Foreign));
    assert_eq!(reading(&whole).expect("whole"), whole.len() as u64);
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("reads").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left, ["s"], "nothing is left beside the store");
    restore(&whole, &target).expect("restores");
}

/// A reader that fails after some bytes.
struct Fails<'a>(&'a [u8]);

impl Read for Fails<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            n => Ok(n),
        }
    }
}

#[test]
fn a_store_is_restored_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(&dir.path().join("s"), None, 0..ROWS);
    prove(&store);
    // More than one block.
    let object = dir.path().join("s/objects/proofs").join("ab".repeat(32));
    std::fs::write(object, vec![7; 3 << 20]).expect("writes");
    let whole = bytes(&store);
    let target = dir.path().join("a/b/r");
    let broken = Fails(&whole[..whole.len() - 1]);
    let e = Store::restore(BackupReader::new(broken).expect("begins"), &target, false, &mut |_| ()).expect_err("fails");
    assert!(matches!(&e, Error::Backup(BackupError::Read(_))) && e.class() == ErrorClass::Io, "{e:?}");
    assert!(!dir.path().join("a").exists(), "what was made for it is gone");

    // What a killed process has left is swept up.
    let left = dir.path().join("a/b/.evergrove-new-1-r");
    std::fs::create_dir_all(&left).expect("a directory");
    std::fs::copy(dir.path().join("s/evergrove.redb"), left.join("evergrove.redb")).expect("copies");
    std::fs::create_dir(&target).expect("a directory");
    let mut seen = 0;
    let restored = Store::restore(BackupReader::new(&whole[..]).expect("begins"), &target, true, &mut |n| seen = n);
    let restored = restored.expect("an empty directory is taken");
    assert!(!left.exists());
    assert_eq!(seen, whole.len() as u64);
    assert_same(&store, &restored, 1);
    verify_batch(&restored, &native(4), "b").expect("verifies");
    let mut found: Vec<_> =
        std::fs::read_dir(&target).expect("reads").map(|e| e.expect("an entry").file_name()).collect();
    found.sort();
    assert_eq!(found, ["evergrove.redb", "objects", "reserve"]);

    drop(restored);
    assert!(matches!(restore(&whole, &target), Err(Error::Exists(_))));
    std::fs::remove_file(target.join("evergrove.redb")).expect("removes");
    assert!(matches!(restore(&whole, &target), Err(Error::NotEmpty(_))));
    assert!(matches!(restore(&whole, &target.join("reserve")), Err(Error::Io { .. })));
}

#[test]
fn a_proof_that_is_pruned_meanwhile_is_proven_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = create(&dir.path().join("s"), None, 0..ROWS);
    prove(&store);
    let backup = store.backup().expect("begins");
    store.drop_batch("b").expect("drops");
    assert!(store.prune(1, false).expect("prunes").objects > 0);
    let mut copy = Vec::new();
    backup.write_to(&mut copy).expect("reads");
    let restored = restore(&copy, &dir.path().join("r")).expect("restores");
    assert!(restored.batch("b").expect("is there").fresh);
    assert!(matches!(restored.export("b"), Err(Error::LostProof { .. })));
    assert!(prove(&restored) > 0);
    verify_batch(&restored, &native(4), "b").expect("verifies");
    let proof = restored.proof_at("b", None).expect("reads");
    evergrove_store::verify(&proof.bytes, &proof.commitment, None, &lenient(), &native(4)).expect("verifies");
}

#[test]
fn a_store_with_another_commitment_than_its_backup_names_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(&dir.path().join("s"), None, 0..40);
    let whole = bytes(&store);
    // Another commitment in the head alone, and a checksum that fits it.
    let mut head = whole.clone();
    head[60] ^= 1;
    let mut hasher = blake3_of_first_block();
    let len = u32::from_le_bytes(head[6..10].try_into().expect("4 bytes")) as usize;
    hasher.update(&head[42..42 + len]);
    head[10..42].copy_from_slice(hasher.finalize().as_bytes());
    let e = restore(&head, &dir.path().join("r")).expect_err("refused");
    assert!(matches!(e, Error::Backup(BackupError::Commitment { .. })), "{e:?}");
    assert!(!dir.path().join("r").exists());
}

/// What the checksum of a first block begins with.
fn blake3_of_first_block() -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_derive_key("evergrove 2026-11 block of a backup v1");
    hasher.update(&[0; 32]);
    hasher
}

//! Backups are of one epoch whatever is written meanwhile. Each is restored as a whole, or refused.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use crate::common::{choice, create, lenient, native, on, row, set, verify_batch, with_prover};
use evergrove_commit::schema::Schema;
use evergrove_jobs::Key;
use evergrove_jobs::objects::Objects;
use evergrove_store::{Backup, BackupError, BackupReader, Changes, Error, ErrorClass, Repair, Request, Store};
use evergrove_testkit::faults::{Disk, FaultyObjects};
use evergrove_verifier::Profile;
use redb::{Database, TableDefinition, WriteTransaction};

const ROWS: u64 = 600;

/// Proves a batch of every 20th row. Returns the number of proofs made.
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

/// All blocks of a backup.
fn whole(backup: Backup) -> Vec<u8> {
    backup.map(|block| block.expect("reads")).collect::<Vec<_>>().concat()
}

/// The backup of a store.
fn bytes(store: &Store) -> Vec<u8> {
    whole(store.backup().expect("begins"))
}

fn restore(backup: &[u8], dir: &Path) -> Result<Store, Error> {
    Store::restore(BackupReader::new(backup)?, dir, true, &mut |_| ())
}

/// Checks that the stores have the same epochs up to `epoch`, and the same rows in the first and the last of these.
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
    let objects = FaultyObjects::new();
    // Some MiB of proofs come before the tables, so the tables are read after all commits.
    let proofs = Objects::new(Arc::new(objects.clone()), "objects").expect("a runtime");
    proofs.put(&Key([1; 32]), &vec![7; 5 << 20]).expect("writes");
    let options = on(&disk, &objects);
    let mut store =
        Store::create_with(&dir.path().join("s"), &options, &Schema::raw(), None, rows).expect("a new store");
    prove(&store);
    (0..5).for_each(|x| drop(store.apply(&keyed(x)).expect("commits")));
    with_prover(&store, &native(4), |prover| prover.prove("b")).expect("proves");
    let before = (store.epoch().expect("reads"), store.batch("b").expect("reads"), store.export("b").expect("fresh"));

    // Some changes are committed while the backup is copied, the others while it waits for its reader.
    let mut backup = store.backup().expect("begins");
    assert_eq!(backup.head().epoch, before.0);
    let mut copy = backup.next().expect("a block").expect("reads");
    let (begun, begins) = channel();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for x in 5..105 {
                store.apply(&keyed(x)).expect("commits");
                let _ = begun.send(());
            }
        });
        begins.recv().expect("a commit");
        copy.extend(backup.next().expect("blocks remain").expect("reads"));
        writer.join().expect("commits");
    });
    (105..205).for_each(|x| drop(store.apply(&keyed(x)).expect("commits")));
    with_prover(&store, &native(4), |prover| prover.prove("b")).expect("proves");
    let rest: Vec<_> = backup.map(|block| block.expect("reads")).collect();
    assert!(rest.len() >= 4, "{} blocks remain after the last commit", rest.len());
    copy.extend(rest.concat());
    assert_eq!(store.epoch().expect("reads").number, before.0.number + 200);

    let mut restored = restore(&copy, &dir.path().join("r")).expect("restores");
    assert_eq!(restored.epoch().expect("reads"), before.0);
    assert_same(&store, &restored, before.0.number);
    assert_eq!((restored.batch("b").expect("reads"), restored.export("b").expect("fresh")), (before.1, before.2));
    verify_batch(&restored, &native(4), "b").expect("verifies");
    assert_eq!(restored.request("request-4").expect("reads"), store.request("request-4").expect("reads"));
    assert!(restored.request("request-4").expect("reads").is_some());
    assert_eq!(restored.request("request-5").expect("reads"), None);
    // The object beside the proofs is not a proof.
    std::fs::remove_file(dir.path().join("r/objects/proofs").join("01".repeat(32))).expect("was restored");
    assert!(restored.doctor(&native(4)).expect("looks").healthy());

    // No batch is stale, and a refresh after a change makes only a few proofs.
    let made = |store: &Store| with_prover(store, &native(4), |prover| prover.prove("b").expect("proves"));
    assert_eq!(made(&restored).made, 0);
    restored.apply(&set(&[(20, 7)])).expect("commits");
    let report = made(&restored);
    assert!((1..report.total / 2).contains(&report.made), "{} of {}", report.made, report.total);
    verify_batch(&restored, &native(4), "b").expect("verifies");
    // The pages of the backup's epoch are free again, so the source can be pruned.
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
    let (head, len) = reading(&whole).expect("whole");
    assert_eq!((head, len), (*store.backup().expect("begins").head(), whole.len() as u64));
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("reads").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left, ["s"], "nothing is left beside the store");
    restore(&whole, &target).expect("restores");
}

/// A reader that fails at the end of its bytes.
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
    // The backup has more than one block.
    let object = dir.path().join("s/objects/proofs").join("ab".repeat(32));
    std::fs::write(object, vec![7; 3 << 20]).expect("writes");
    let whole = bytes(&store);
    let target = dir.path().join("a/b/r");
    let broken = Fails(&whole[..whole.len() - 1]);
    let e = Store::restore(BackupReader::new(broken).expect("begins"), &target, false, &mut |_| ()).expect_err("fails");
    assert!(matches!(&e, Error::Backup(BackupError::Read(_))) && e.class() == ErrorClass::Io, "{e:?}");
    assert!(!dir.path().join("a").exists(), "what was made for it is gone");

    // A restore removes what a killed process left.
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
    let copy = whole(backup);
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
    // Changes the commitment in the head, and makes the checksum match.
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

#[test]
fn a_restored_store_is_locked_until_it_is_in_its_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(&dir.path().join("s"), None, 0..ROWS);
    prove(&store);
    let whole = bytes(&store);
    let site = || {
        let entries = std::fs::read_dir(dir.path()).expect("reads").flatten().map(|e| e.path());
        let mut sites = entries.filter(|path| path.to_string_lossy().contains(".evergrove-new-"));
        sites.next().map(|site| site.join("evergrove.redb"))
    };
    let (ended, unlocked) = (&AtomicBool::new(false), &AtomicBool::new(false));
    thread::scope(|scope| {
        let mut watched = false;
        let mut watch = |_: u64| {
            // At this point the database is locked.
            let Some(file) = site().filter(|_| !watched) else { return };
            watched = true;
            scope.spawn(move || {
                while !ended.load(Ordering::SeqCst) {
                    let opened = std::fs::File::open(&file);
                    if opened.is_ok_and(|opened| opened.try_lock().is_ok() && file.exists()) {
                        unlocked.store(true, Ordering::SeqCst);
                    }
                }
            });
        };
        let restored =
            Store::restore(BackupReader::new(&whole[..]).expect("begins"), &dir.path().join("r"), true, &mut watch);
        ended.store(true, Ordering::SeqCst);
        assert!(watched);
        // The watch may take the lock at the wrong moment. The store is in its place nevertheless.
        assert!(matches!(&restored, Ok(_) | Err(Error::Restored { .. })), "{restored:?}");
    });
    assert!(!unlocked.load(Ordering::SeqCst), "a sweep would have removed it");
    assert_same(&store, &Store::open(&dir.path().join("r")).expect("opens"), 1);
}

#[cfg(unix)]
#[test]
fn a_restored_store_lets_in_nobody_who_was_not_let_in() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let dir = tempfile::tempdir().expect("a directory");
    let backup = bytes(&create(&dir.path().join("s"), None, 0..9));
    for wanted in [None, Some(0o700), Some(0o750), Some(0o2770), Some(0o755)] {
        let place = dir.path().join(format!("r{}", wanted.unwrap_or(0)));
        let before = wanted.map(|mode| {
            std::fs::create_dir(&place).expect("a directory");
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode)).expect("rights");
            // Root can restore into the directory of a service.
            let _ = std::os::unix::fs::chown(&place, Some(12345), Some(54321));
            std::fs::metadata(&place).expect("is there")
        });
        // Nor while it is made.
        let parent = dir.path();
        let mut looked = 0;
        let mut look = |_: u64| {
            let sites = std::fs::read_dir(parent).expect("reads").map(|entry| entry.expect("an entry"));
            for site in sites.filter(|entry| entry.file_name().to_string_lossy().starts_with(".evergrove-new-")) {
                assert_eq!(site.metadata().expect("is there").mode() & 0o777, 0o700);
                looked += 1;
            }
        };
        let reader = BackupReader::new(&backup[..]).expect("begins");
        drop(Store::restore(reader, &place, true, &mut look).expect("restores"));
        assert!(looked > 0);
        let after = std::fs::metadata(&place).expect("is there");
        assert_eq!(after.mode() & 0o7777, wanted.unwrap_or(0o700), "{wanted:?}");
        if let Some(before) = before {
            assert_ne!(after.ino(), before.ino(), "it was replaced");
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
            let mut files = vec![place.clone()];
            while let Some(path) = files.pop() {
                let about = std::fs::metadata(&path).expect("is there");
                assert_eq!((about.uid(), about.gid()), (before.uid(), before.gid()), "{}", path.display());
                if about.is_dir() {
                    files.extend(std::fs::read_dir(&path).expect("reads").map(|entry| entry.expect("an entry").path()));
                }
            }
        }
    }
}

#[test]
fn a_link_to_an_empty_directory_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = bytes(&create(&dir.path().join("s"), None, 0..40));
    let place = dir.path().join("place");
    std::fs::create_dir(&place).expect("a directory");
    std::os::unix::fs::symlink(&place, dir.path().join("link")).expect("a link");
    let restored = restore(&whole, &dir.path().join("link")).expect("restores");
    assert!(place.join("evergrove.redb").exists());
    assert_eq!(restored.dir(), place.canonicalize().expect("a path"));
    restored.apply(&keyed(1)).expect("commits");
}

#[test]
fn a_store_with_entries_that_cannot_be_read_is_not_restored() {
    /// What is found, and what spoils the entry.
    type Spoil<'a> = (&'a str, &'a dyn Fn(&WriteTransaction));
    let text = TableDefinition::<&str, &[u8]>::new;
    let spoils: [Spoil<'_>; 4] = [
        ("table \"requests\": the outcome of request \"request-1\": ", &|write| {
            write.open_table(text("requests")).expect("a table").insert("request-1", &b"x"[..]).expect("writes");
        }),
        ("table \"request-keys\": the keys of the requests of epoch 2 are not a list", &|write| {
            let table = TableDefinition::<u64, &[u8]>::new("request-keys");
            write.open_table(table).expect("a table").insert(2, &b"x"[..]).expect("writes");
        }),
        ("the members of batch \"b\" are not a list of indices", &|write| {
            write.open_table(text("members")).expect("a table").insert("b", &b"x"[..]).expect("writes");
        }),
        ("table \"members\": there is no batch \"other\"", &|write| {
            write.open_table(text("members")).expect("a table").insert("other", &b"x"[..]).expect("writes");
        }),
    ];
    for (n, (says, spoil)) in spoils.into_iter().enumerate() {
        let dir = tempfile::tempdir().expect("a directory");
        let (place, target) = (dir.path().join("s"), dir.path().join("r"));
        let store = create(&place, None, 0..ROWS);
        prove(&store);
        store.apply(&keyed(1)).expect("commits");
        drop(store);
        let database = Database::open(place.join("evergrove.redb")).expect("opens");
        let write = database.begin_write().expect("begins");
        spoil(&write);
        write.commit().expect("commits");
        drop(database);

        let mut store = Store::open(&place).expect("opens");
        let backup = bytes(&store);
        let error = restore(&backup, &target).expect_err(says);
        assert!(matches!(&error, Error::Corrupt { what, .. } if what.contains(says)), "{says}: {error}");
        assert!(!target.exists());
        let reader = BackupReader::new(&backup[..]).expect("begins");
        drop(Store::restore(reader, &target, false, &mut |_| ()).expect("restores as it was"));
        let report = store.doctor(&native(4)).expect("looks");
        let found = report.findings.iter().any(|f| f.what.contains(says) && f.repair == Repair::Restore);
        assert!(found, "{says}: {:?}", report.findings);
        // Requests with other keys are made.
        if n < 2 {
            assert_eq!(
                store.request("request-1").map_err(|e| e.to_string().contains(says)).err(),
                [Some(true), None][n]
            );
            store.apply(&keyed(2)).expect("commits");
            assert!(store.request("request-2").expect("reads").is_some());
        }
    }
}

/// The content of a backup, without its blocks.
fn content(backup: &[u8]) -> Vec<u8> {
    let (mut rest, mut content) = (&backup[6..], Vec::new());
    while let Some((len, after)) = rest.split_first_chunk() {
        let (block, next) = after[32..].split_at(u32::from_le_bytes(*len) as usize);
        content.extend(block);
        rest = next;
    }
    content
}

/// A backup of this content with correct checksums, in blocks of `size` bytes.
fn wrapped(content: &[u8], size: usize) -> Vec<u8> {
    let (mut out, mut last) = (b"EVGS\x01\0".to_vec(), [0; 32]);
    for block in content.chunks(size) {
        let mut hasher = blake3::Hasher::new_derive_key("evergrove 2026-11 block of a backup v1");
        hasher.update(&last);
        hasher.update(block);
        last = *hasher.finalize().as_bytes();
        out.extend((block.len() as u32).to_le_bytes());
        out.extend(last);
        out.extend(block);
    }
    out
}

/// Size of the head's record in bytes, with its kind.
const HEAD: usize = 1 + 4 + 8 + 1 + 32 + 8 + 4 * 8;

#[test]
fn hostile_contents_with_right_checksums_are_refused_in_a_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(&dir.path().join("s"), None, 0..40);
    store.apply(&keyed(3)).expect("commits");
    with_prover(&store, &native(4), |prover| {
        prover.define("b", &[1, 2, 30], &choice(Profile::Paper)).expect("a batch");
        prover.prove("b").expect("proves");
    });
    let whole = bytes(&store);
    let good = content(&whole);
    assert_eq!(wrapped(&good, 1 << 20), whole);
    let target = dir.path().join("r");
    let refused = |name: &str, content: &[u8], says: &str| {
        let backup = wrapped(content, 1 << 20);
        let read = BackupReader::new(&backup[..]).and_then(|b| b.verify(&mut |_| ()));
        let restored = restore(&backup, &target);
        let error = restored.expect_err(name).to_string();
        assert!(error.contains(says) && error.lines().count() == 1, "{name}: {error}");
        assert!(!target.exists());
        read
    };
    // The first table, and the end of its name.
    let tables = good.windows(6).position(|w| w == b"\x03\x04meta").expect("a table");
    let entries = tables + 6;
    let (end, proofs) = (good.len() - 17, &good[HEAD..tables]);
    let with = |at: usize, bytes: &[u8]| [&good[..at], bytes, &good[at + bytes.len()..]].concat();
    let put = |at: usize, bytes: &[u8]| [&good[..at], bytes, &good[at..]].concat();
    let proof_len = u32::from_le_bytes(proofs[33..37].try_into().expect("4 bytes")) as usize;
    let first_proof = &proofs[..37 + proof_len];
    let entry = |key: &[u8]| [&[4, key.len() as u8, 1, 0, 0, 0][..], key, b"v"].concat();
    let last_table = good.windows(14).rposition(|w| w == b"\x03\x0crequest-keys").expect("a table");
    for (name, content, says) in [
        ("an unknown kind", put(HEAD, &[9]), "a record of kind 9"),
        ("kind 0", put(tables, &[0]), "a record of kind 0"),
        ("another head", put(HEAD, &good[..HEAD]), "a record of kind 1"),
        ("no head", good[HEAD..].to_vec(), "does not begin with what it is of"),
        ("a head alone", good[..HEAD].to_vec(), "cut off"),
        ("a head of another format", with(1, &[7]), "format 7"),
        ("a height of 0", with(13, &[0]), "height"),
        ("an early end", [&good[..tables], &[5], &[0; 16]].concat(), "\"meta\" is missing"),
        ("records after the end", [&good[..], b"x"].concat(), "records follow"),
        ("no end", good[..end].to_vec(), "cut off"),
        ("half an end", good[..end + 5].to_vec(), "cut off"),
        ("a long proof", with(HEAD + 33, &(65u32 << 20).to_le_bytes()), "at most 67108864"),
        ("a cut proof", with(HEAD + 33, &(64u32 << 20).to_le_bytes()), "cut off"),
        ("a proof twice", put(HEAD, first_proof), "comes too late"),
        ("a late proof", put(end, first_proof), "comes too late"),
        ("an entry without a table", put(tables, &entry(b"k")), "before the first table"),
        ("a long entry", put(entries, &[4, 1, 1, 0, 0, 0xf0, 7, 7]), "at most 1073741824"),
        ("a key that is no text", put(entries, &entry(&[0xff])), "\"meta\": a key of 1 bytes"),
        ("a key of another width", put(end, &entry(&[1; 7])), "\"request-keys\": a key of 7 bytes"),
        ("keys that descend", put(entries, &entry(b"zzz")), "expected a later key"),
        ("one entry more", put(entries, &entry(b"a")), "more entries than"),
        ("another table", with(entries - 1, b"b"), "\"metb\" comes where \"meta\" belongs"),
        ("a table twice", put(last_table, b"\x03\x08requests"), "comes where"),
        ("a table that is no text", put(tables, &[3, 1, 0xff]), "not text"),
        ("other numbers at the end", with(end + 1, &[0xff]), "other numbers"),
        ("another number of proofs", with(end + 9, &[0xff]), "other numbers"),
    ] {
        assert!(refused(name, &content, says).is_err(), "{name}");
    }
    // Only a restore finds these errors.
    let oldest = HEAD - 32;
    refused("another oldest epoch", &with(oldest, &[9]), "names 9 as the oldest epoch, and holds 1")
        .expect("is in order");
    let format = good.windows(15).position(|w| w == b"evergrove-store").expect("a format");
    refused("another magic", &with(format, b"E"), "not those of a store").expect("is in order");
    refused("an unknown format", &with(format + 15, &[9]), "has format 9").expect("is in order");

    // Blocks that are not full.
    let e = BackupReader::new(&wrapped(&good, 1000)[..]).and_then(|b| b.verify(&mut |_| ())).expect_err("refused");
    assert!(e.to_string().contains("a block of 1000 bytes is not the last one"), "{e}");
    // No byte of the content causes a panic.
    for at in (0..good.len()).step_by(97).chain(0..200).chain(tables..tables + 200) {
        for byte in [0, 1, 4, 0x7f, 0xff] {
            let backup = wrapped(&with(at, &[byte]), 1 << 20);
            let _ = BackupReader::new(&backup[..]).and_then(|b| b.verify(&mut |_| ()));
        }
    }
}

/// The hasher of the first block's checksum, before the content.
fn blake3_of_first_block() -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_derive_key("evergrove 2026-11 block of a backup v1");
    hasher.update(&[0; 32]);
    hasher
}

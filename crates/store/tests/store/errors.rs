//! Bad input and broken stores. Each is a clear error with its class, and nothing is written.

use std::fs;
use std::path::Path;

use crate::common::{choice, create, lenient, native, row, set, verify_batch, with_prover};
use evergrove_commit::BackendChoice;
use evergrove_commit::schema::{Row, Schema};
use evergrove_store::{Changes, Error, ErrorClass, MAX_SUCCINCT_BYTES, Store, VerifyError, verify};
use evergrove_testkit::commit::value;
use evergrove_verifier::{Commitment, Policy, Profile};

const DATABASE: &str = "evergrove.redb";

/// Checks that a call fails with this class and this text.
fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>, class: ErrorClass, text: &str) {
    let error = outcome.expect_err(text);
    assert!(error.to_string().contains(text), "{error:?} is to say {text:?}: {error}");
    assert_eq!(error.class(), class, "{error:?}");
}

fn try_create(dir: &Path, height: Option<u8>, rows: Vec<(u64, Row)>) -> Result<Store, Error> {
    Store::create(dir, &Schema::raw(), height, rows.into_iter().map(Ok::<_, Error>))
}

#[test]
fn a_creation_that_fails_leaves_nothing() {
    let parent = tempfile::tempdir().expect("a directory");
    let dir = parent.path().join("a/b");
    let usage = ErrorClass::Usage;
    refused(try_create(&dir, Some(0), vec![]), usage, "invalid height 0: expected 1 to 40");
    refused(try_create(&dir, Some(41), vec![]), usage, "invalid height 41");
    refused(try_create(&dir, Some(3), vec![(8, row(0))]), usage, "index 8 is outside the vector of 2^3 slots");
    refused(try_create(&dir, None, vec![(1 << 40, row(0))]), usage, "beyond 2^40");
    refused(try_create(&dir, None, vec![(1, row(0)), (2, row(0)), (1, row(1))]), usage, "duplicate index 1");
    refused(try_create(&dir, None, vec![(1, Row::Cells(vec![]))]), usage, "row 1: ");
    let broken = [Ok((0, row(0))), Err("line 7: not a number".to_string())];
    refused(Store::create(&dir, &Schema::raw(), None, broken), usage, "line 7: not a number");
    assert!(!parent.path().join("a").exists(), "nothing is left");
    // A directory that existed before stays, with its content.
    fs::create_dir_all(dir.join("mine")).expect("makes directories");
    refused(try_create(&dir, Some(3), vec![(8, row(0))]), usage, "index 8 is outside the vector of 2^3 slots");
    assert_eq!(fs::read_dir(&dir).expect("exists").count(), 1, "nothing is left");
    fs::remove_dir(dir.join("mine")).expect("takes it away");
    refused(Store::open(&dir), ErrorClass::Store, "holds no store");
    refused(Store::open(&parent.path().join("c")), ErrorClass::Store, "does not exist");
    drop(try_create(&dir, None, vec![]).expect("creates"));
    refused(try_create(&dir, None, vec![]), ErrorClass::Store, "already holds a store");
}

#[test]
fn what_a_killed_creation_left_is_swept_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = dir.path().join(".evergrove-new-1");
    fs::create_dir(&left).expect("creates");
    fs::write(left.join(DATABASE), b"half").expect("writes");
    let [early, held] = ["2", "3"].map(|name| dir.path().join(format!(".evergrove-new-{name}")));
    fs::create_dir(&early).expect("creates");
    // Another process is about to build here.
    fs::create_dir(&held).expect("creates");
    let lock = fs::File::open(&held).expect("opens");
    lock.lock().expect("locks");
    drop(create(dir.path(), None, 0..4));
    assert!(!left.exists() && !early.exists() && held.exists());
}

#[test]
fn files_that_are_no_store_are_told_apart() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join(DATABASE);
    for bytes in [&b""[..], b"short", &[7; 1 << 16]] {
        fs::write(&file, bytes).expect("writes");
        let error = Store::open(dir.path()).expect_err("is no store");
        assert!(matches!(error, Error::NotAStore(_) | Error::Corrupt { .. }), "{error:?}");
        fs::remove_file(&file).expect("removes");
    }
    // A database of another program.
    let table: redb::TableDefinition<'_, u64, u64> = redb::TableDefinition::new("meta");
    let other = redb::Database::create(&file).expect("creates");
    let write = other.begin_write().expect("begins");
    write.open_table(table).expect("opens").insert(1, 2).expect("inserts");
    write.commit().expect("commits");
    drop(other);
    refused(Store::open(dir.path()), ErrorClass::Store, "holds no store");
}

#[test]
fn a_store_of_another_version_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(create(dir.path(), None, 0..4));
    let table: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("meta");
    let database = redb::Database::open(dir.path().join(DATABASE)).expect("opens");
    let write = database.begin_write().expect("begins");
    write.open_table(table).expect("opens").insert("format", &b"evergrove-store\x07\0\0\0"[..]).expect("inserts");
    write.commit().expect("commits");
    drop(database);
    refused(Store::open(dir.path()), ErrorClass::Store, "has format 7, expected 2");
}

#[test]
fn a_store_in_use_is_locked() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = create(dir.path(), None, 0..4);
    refused(Store::open(dir.path()), ErrorClass::Store, "in use by another process");
    drop(store);
    Store::open(dir.path()).expect("is free again");
}

#[test]
fn changes_that_are_refused_change_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), None, 0..200);
    with_prover(&store, &backends, |prover| {
        prover.define("b", &[1, 2, 3], &choice(Profile::Proven)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    let before = (store.epoch().expect("reads"), store.batches().expect("reads"));
    let to = |name: &str, indices: &[u64]| vec![(name.to_string(), indices.to_vec())];
    let none = Changes::default;
    let cases = [
        (set(&[(300, 1)]), "index 300 is outside the vector of 2^8 slots"),
        (Changes { grow: true, ..set(&[(1 << 40, 1)]) }, "beyond 2^40"),
        (set(&[(4, 1), (4, 2)]), "duplicate index 4"),
        (Changes { clear: vec![4], ..set(&[(4, 1)]) }, "duplicate index 4"),
        (Changes { clear: vec![2], ..none() }, "slot 2 cannot be emptied: it is in batch \"b\""),
        (Changes { clear: vec![210], ..none() }, "slot 210 is empty"),
        (Changes { clear: vec![256], ..none() }, "index 256 is outside"),
        (Changes { add: to("b", &[210]), ..none() }, "slot 210 is empty and cannot be in batch \"b\""),
        (Changes { add: to("b", &[300]), ..none() }, "index 300 is outside the vector of 2^8 slots"),
        (Changes { add: to("b", &[9]), clear: vec![9], ..none() }, "it is in batch"),
        (Changes { add: to("b", &[3]), ..none() }, "index 3 is already in batch \"b\""),
        (Changes { add: to("b", &[9, 9]), ..none() }, "duplicate index 9"),
        (Changes { remove: to("b", &[9]), ..none() }, "index 9 is not in batch \"b\""),
        (Changes { remove: to("b", &[1, 2, 3]), ..none() }, "would have no members"),
        (Changes { add: to("c", &[1]), ..none() }, "unknown batch \"c\": the store has b"),
        (Changes { set: vec![(9, Row::Cells(vec![]))], ..none() }, "row 9: "),
    ];
    for (changes, text) in cases {
        // A valid change beside the invalid one is not made either.
        let mut changes = changes;
        changes.set.push((100, row(7)));
        refused(store.apply(&changes), ErrorClass::Usage, text);
    }
    assert_eq!((store.epoch().expect("reads"), store.batches().expect("reads")), before);
    assert_eq!(store.view().expect("reads").row(100).expect("reads"), Some(row(100)));
    verify_batch(&store, &backends, "b").expect("is fresh");
}

#[test]
fn batches_that_are_refused_are_not_defined() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), None, [1, 2, 3, 5]);
    with_prover(&store, &backends, |prover| {
        let define = |name: &str, indices: &[u64]| prover.define(name, indices, &choice(Profile::Proven));
        for name in ["", "-a", ".", "a/b", "a:b", "a b", "ä", &"x".repeat(65)] {
            refused(define(name, &[1]), ErrorClass::Usage, "invalid batch name");
        }
        refused(define("b", &[]), ErrorClass::Usage, "would have no members");
        refused(define("b", &[3, 1, 3]), ErrorClass::Usage, "duplicate index 3");
        refused(define("b", &[8]), ErrorClass::Usage, "index 8 is outside the vector of 2^3 slots");
        refused(define("b", &[4]), ErrorClass::Usage, "slot 4 is empty and cannot be in batch \"b\"");
        let unknown = BackendChoice::new("other", Profile::Paper);
        refused(prover.define("b", &[1], &unknown), ErrorClass::Usage, "unknown backend \"other\"");
        refused(prover.prove("b"), ErrorClass::Usage, "unknown batch \"b\": the store has no batches");
        assert!(store.batches().expect("reads").is_empty());

        define("b", &[5, 1]).expect("a new batch");
        refused(define("b", &[1]), ErrorClass::Usage, "already exists: its 2 members are not the given ones");
        refused(store.export("b"), ErrorClass::Usage, "batch \"b\" has no proof of epoch 1");
        prover.prove("b").expect("proves");
        store.apply(&set(&[(2, 9)])).expect("changes");
        refused(store.export("b"), ErrorClass::Usage, "its last proof is of epoch 1");

        // Another profile has the same members, but no proof yet.
        prover.prove("b").expect("proves");
        prover.define("b", &[1, 5], &choice(Profile::Paper)).expect("another profile");
        assert_eq!(store.batch("b").expect("reads").proven, None);
        prover.prove("b").expect("proves");
        store.drop_batch("b").expect("drops");
        refused(store.members("b"), ErrorClass::Usage, "unknown batch");
        refused(store.drop_batch("b"), ErrorClass::Usage, "unknown batch");
    });
    refused(store.view_at(9), ErrorClass::Usage, "unknown epoch 9: the store has epochs 1 to 2");
    refused(store.view().expect("reads").opening(8), ErrorClass::Usage, "index 8 is outside");
    refused(store.view().expect("reads").leaves(&[4]), ErrorClass::Usage, "slot 4 is empty");
}

#[test]
fn proofs_that_show_something_else_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let backends = native(4);
    let store = create(dir.path(), None, 0..100);
    let members: Vec<u64> = (0..100).step_by(7).collect();
    with_prover(&store, &backends, |prover| {
        prover.define("b", &members, &choice(Profile::Proven)).expect("a new batch");
        prover.prove("b").expect("proves");
    });
    let view = store.view().expect("reads");
    let (proof, commitment) = (store.export("b").expect("is fresh"), view.commitment());
    let leaves = view.leaves(&members).expect("are filled");
    let judge = |proof: &[u8], c: &Commitment, leaves: Option<&[_]>| verify(proof, c, leaves, &lenient(), &backends);
    judge(&proof, &commitment, Some(&leaves)).expect("verifies");

    let mut tampered = leaves.clone();
    tampered[3].1 = value(12345);
    assert!(matches!(judge(&proof, &commitment, Some(&tampered)), Err(VerifyError::Canonical { count: 15, .. })));
    assert!(matches!(judge(&proof, &commitment, Some(&leaves[1..])), Err(VerifyError::Canonical { .. })));
    let unsorted = judge(&proof, &commitment, Some(&[leaves[1], leaves[0]])).expect_err("is unsorted");
    assert_eq!(unsorted.class(), ErrorClass::Usage);
    let other = Commitment { root: evergrove_verifier::tree::null_digest(7), ..commitment };
    assert!(matches!(judge(&proof, &other, None), Err(VerifyError::Policy(_))));
    let higher = Commitment { height: 8, ..commitment };
    assert!(matches!(judge(&proof, &higher, None), Err(VerifyError::Policy(_))));
    for cut in [0, 3, 40, proof.len() - 1] {
        let error = judge(&proof[..cut], &commitment, None).expect_err("is truncated");
        assert!(matches!(error, VerifyError::Decode(_)) && error.class() == ErrorClass::Refused, "{error}");
    }
    let mut flipped = proof.clone();
    *flipped.last_mut().expect("not empty") ^= 1;
    assert!(matches!(judge(&flipped, &commitment, None), Err(VerifyError::Proof(_))));
    let strict = verify(&proof, &commitment, None, &Policy::default(), &backends).expect_err("native is not accepted");
    assert!(matches!(strict, VerifyError::Policy(_)));
    // A file that is too long for the policy is refused without reading it.
    let long = vec![0; MAX_SUCCINCT_BYTES + 1];
    let refused = verify(&long, &commitment, None, &Policy::default(), &backends).expect_err("is too long");
    assert!(matches!(refused, VerifyError::TooLong { found } if found == long.len()));
    assert!(matches!(judge(&long, &commitment, None), Err(VerifyError::Decode(_))));
    let none = evergrove_store::Backends::new();
    assert!(matches!(verify(&proof, &commitment, None, &lenient(), &none), Err(VerifyError::Backend(_))));
}

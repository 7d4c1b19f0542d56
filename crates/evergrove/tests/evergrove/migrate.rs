//! Stores of version 0.1: a frozen one that its command line made, with a batch of every scheme (vectors/frozen/v1/store).
#![cfg(all(feature = "grove", feature = "plonky2"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use evergrove::prelude::*;
use evergrove::proof::{HeightClass, Policy, Scheme};
use evergrove::store::{self, Repair};
use evergrove::{Config, Error};

const COMMITMENT: &str = "evergrove1:6:022a7ecdedd1498bba090e87769294aff290498f86c0f94fc0a9f10901d734c1";
/// Its batches, with their backends and profiles.
const BATCHES: [(&str, &str, Profile, Scheme); 9] = [
    ("grove", "grove", Profile::Grove100, Scheme::Evergrove),
    ("grove-128", "grove", Profile::Grove128, Scheme::Evergrove),
    ("keccak", "plonky2", Profile::Paper, Scheme::Tree),
    ("max", "plonky2", Profile::Paper, Scheme::Selected),
    ("native", "native", Profile::Proven, Scheme::Evergrove),
    ("paper", "plonky2", Profile::Paper, Scheme::Evergrove),
    ("proven", "plonky2", Profile::Proven, Scheme::Evergrove),
    ("reckle-paper", "native", Profile::Paper, Scheme::RecklePaper),
    ("sum", "plonky2", Profile::Paper, Scheme::Complete),
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { assert!(fs::copy(entry.path(), to).is_ok()) }
    }
}

/// The content of every file below a directory.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    for path in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() {
            out.extend(content(&path))
        } else {
            drop(out.insert(path.clone(), fs::read(&path).unwrap()))
        }
    }
    out
}

/// A directory with a copy of the frozen store in `old`.
fn old() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frozen/v1/store"), &dir.path().join("old"));
    dir
}

fn chosen(store: &Store) -> Vec<(String, String, Profile, Scheme)> {
    let choice = |b: store::BatchStatus| {
        assert!(b.fresh, "{}", b.name);
        (b.name, b.backend.choice.name, b.backend.choice.profile, b.backend.choice.scheme)
    };
    store.batches().unwrap().into_iter().map(choice).collect()
}

#[test]
fn a_store_of_version_0_1_is_read() {
    let dir = old();
    let path = dir.path().join("old");
    let mut store = Store::open(&path).unwrap();
    let commitment = store.commitment().unwrap();
    assert_eq!(commitment.to_string(), COMMITMENT);
    assert_eq!((store.epoch().unwrap().number, store.epoch().unwrap().filled), (3, 37));
    assert_eq!(store.layer().epochs().unwrap().len(), 2);
    let known = BATCHES.map(|(name, backend, profile, scheme)| (name.into(), backend.into(), profile, scheme));
    assert_eq!(chosen(&store), known);
    let backends = Config::default().verifiers();
    for (name, backend, profile, scheme) in BATCHES {
        let proof = store.proof(name).unwrap();
        if scheme.has_app() {
            continue;
        }
        let policy = Policy::default().allow_profile(profile).allow_scheme(scheme.name());
        let policy = policy.allow_backend(backend.parse::<Backend>().unwrap().id());
        let leaves = store.layer().view().unwrap().leaves(&store.layer().members(name).unwrap()).unwrap();
        let verified = store::verify(proof.as_bytes(), &commitment, Some(&leaves), &policy, &backends).unwrap();
        assert_eq!(verified.leaves, Some(leaves.len()), "{name}");
    }
    store.opening(2).unwrap().verify(&commitment).unwrap();
    assert!(store.opening(39).unwrap().value.is_none(), "slot 39 was emptied");
    // The old store is read, not written.
    for error in [
        store.update(Changes::new().set(2, "stock", 9)).unwrap_err(),
        store.prove("new", &[1, 2]).unwrap_err(),
        store.prove("native", &[1, 2]).unwrap_err(),
    ] {
        assert!(matches!(&error, Error::Store(store::Error::OldFormat(dir)) if *dir == path), "{error}");
    }
    drop(store);
    let found = store::Store::open(&path).unwrap().doctor(&backends).unwrap();
    // Keys of applications are not pinned: two proofs each of three of them.
    assert_eq!((found.healthy(), found.unverified, found.proofs), (true, 6, 10));
    assert!(found.findings.iter().all(|f| f.repair != Repair::Restore));
}

#[test]
fn a_store_of_version_0_1_is_migrated() {
    let dir = old();
    let (from, to) = (dir.path().join("old"), dir.path().join("new"));
    let before = content(&from);
    let config = Config::default();
    let mut store = Store::migrate(&from, &to, &config).unwrap();
    assert!(content(&from) == before, "migration changed its source");
    let expected = BATCHES.map(|(name, backend, profile, scheme)| {
        let replaced = backend == "plonky2" && !scheme.has_app();
        let (backend, profile) = if replaced { ("grove", Profile::Grove100) } else { (backend, profile) };
        (name.into(), backend.into(), profile, scheme)
    });
    assert_eq!(chosen(&store), expected);
    assert_eq!(store.commitment().unwrap().to_string(), COMMITMENT);
    let source = store::Store::open_to_read(&from).unwrap();
    assert_eq!(source.epochs().unwrap(), store.layer().epochs().unwrap());
    for (name, _, _, scheme) in BATCHES {
        assert_eq!(source.members(name).unwrap(), store.layer().members(name).unwrap());
        if scheme.has_app() {
            assert_eq!(source.export(name).unwrap(), store.proof(name).unwrap().as_bytes(), "{name}");
        }
    }
    for epoch in 2..=3 {
        let rows = |store: &store::Store| {
            let mut rows = Vec::new();
            let view = store.view_at(epoch).unwrap();
            view.for_each_row(|index, row| {
                rows.push((index, row.clone()));
                Ok(())
            })
            .unwrap();
            rows
        };
        assert_eq!(rows(&source), rows(store.layer()));
    }
    for name in ["paper", "proven"] {
        let (proof, rows) = (store.proof(name).unwrap(), store.rows(name).unwrap());
        Verifier::default().verify(&proof, &store.commitment().unwrap(), &rows).unwrap();
    }
    // The copy is a store like any other.
    let class = HeightClass::of(store.commitment().unwrap().height);
    assert!(store.batches().unwrap().iter().all(|b| Some(b.backend.class) == class));
    let mut layer = store::Store::open(&to).map(drop).unwrap_err();
    assert!(matches!(layer, store::Error::Locked(_)));
    store.prove("new", &[1, 2]).unwrap();
    drop(store);
    layer = source.copy_to(&to, &|_| Ok(None)).map(drop).unwrap_err();
    assert!(matches!(layer, store::Error::Exists(_)), "{layer}");
    // A store opened for reading is not written.
    let mut copy = store::Store::open_to_read(&to).unwrap();
    assert!(matches!(copy.prune(1, false), Err(store::Error::ReadOnly(_))));
    assert!(matches!(copy.drop_batch("new"), Err(store::Error::ReadOnly(_))));
    assert!(matches!(store::Store::open(&to).map(drop), Err(store::Error::Locked(_))));
    drop((copy, source));
    assert!(content(&from) == before, "reading a store changed its files");
}

#[test]
fn a_damaged_source_leaves_nothing() {
    let dir = old();
    let (from, to) = (dir.path().join("old"), dir.path().join("new"));
    let database = from.join("evergrove.redb");
    let mut bytes = fs::read(&database).unwrap();
    // The text of a row, which contradicts the value beside it.
    let at = bytes.windows(6).position(|w| w == b"item 1").expect("a row");
    bytes[at] = b'I';
    fs::write(&database, &bytes).unwrap();
    let error = store::Store::open(&from).and_then(|s| s.copy_to(&to, &|_| Ok(None))).map(drop).unwrap_err();
    assert!(matches!(error, store::Error::Corrupt { .. }), "{error}");
    assert!(!to.join("evergrove.redb").exists());
    assert_eq!(fs::read_dir(&to).map_or(0, Iterator::count), 0);
}

//! A store with small buckets, and helpers for tests.
#![allow(dead_code, unreachable_pub)]

pub mod counting;

use std::io;
use std::path::Path;
use std::sync::Arc;

use evergrove_commit::BackendChoice;
use evergrove_commit::NativeBackend;
use evergrove_commit::schema::{Row, Schema};
use evergrove_jobs::local::LocalEngine;
use evergrove_store::{Backends, Changes, DatabaseFile, Error, Options, Prover, Store, VerifyError};
use evergrove_testkit::commit::value;
use evergrove_testkit::faults::{Disk, DiskFile, FaultyObjects};
use evergrove_verifier::{BackendId, HeightClass, Policy, Profile};

/// The file of a [`Disk`] as the file of a database.
#[derive(Debug)]
struct OnDisk(DiskFile);

impl DatabaseFile for OnDisk {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Options that keep the database on `disk`. Also creates a file in the database's place, as a real database does.
pub fn on(disk: &Disk, objects: &FaultyObjects) -> Options {
    let disk = disk.clone();
    let open = move |path: &Path| -> io::Result<Box<dyn DatabaseFile>> {
        std::fs::write(path, b"")?;
        Ok(Box::new(OnDisk(disk.open())))
    };
    Options::default().with_database(open).with_objects(Arc::new(objects.clone()))
}

/// Native backends of both classes and all profiles, with buckets of `capacity` leaves.
pub fn native(capacity: usize) -> Backends {
    let mut backends = Backends::new();
    for class in HeightClass::ALL {
        for profile in Profile::ALL {
            backends.add(Arc::new(NativeBackend::new(profile, class).with_capacity(capacity)));
        }
    }
    backends
}

/// The native backend with a profile.
pub fn choice(profile: Profile) -> BackendChoice {
    BackendChoice::new("native", profile)
}

/// A raw row that depends only on `x`.
pub fn row(x: u64) -> Row {
    Row::Raw(value(x))
}

/// A store of raw rows, with `row(i)` in slot i.
pub fn create(dir: &Path, height: Option<u8>, indices: impl IntoIterator<Item = u64>) -> Store {
    let rows = indices.into_iter().map(|i| Ok::<_, Error>((i, row(i))));
    Store::create(dir, &Schema::raw(), height, rows).expect("a new store")
}

/// A prover that runs two tasks at once.
pub fn with_prover<T>(store: &Store, backends: &Backends, work: impl FnOnce(&Prover<'_>) -> T) -> T {
    let engine = LocalEngine::new(2);
    work(&Prover::new(store, backends, &engine))
}

/// Changes that set slots to `row(x)`.
pub fn set(slots: &[(u64, u64)]) -> Changes {
    Changes { set: slots.iter().map(|(i, x)| (*i, row(*x))).collect(), ..Changes::default() }
}

/// A policy that accepts native proofs of every profile.
pub fn lenient() -> Policy {
    let policy = Policy::default().allow_backend(BackendId::new("native", 1));
    Profile::ALL.into_iter().fold(policy, Policy::allow_profile)
}

/// Verifies the current proof of a batch against the current commitment and leaves.
pub fn verify_batch(store: &Store, backends: &Backends, name: &str) -> Result<(), VerifyError> {
    let view = store.view()?;
    let leaves = view.leaves(&store.members(name)?)?;
    let proof = store.export(name)?;
    let verified = evergrove_store::verify(&proof, &view.commitment(), Some(&leaves), &lenient(), backends)?;
    assert_eq!(verified.leaves, Some(leaves.len()));
    Ok(())
}

//! Proofs as objects, under their content keys.

use std::path::PathBuf;
use std::sync::Arc;

use evergrove_jobs::{Key, Put};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use crate::Error;

/// The folder of proofs.
const PROOFS: &str = "proofs";

/// A proof object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) bytes: u64,
}

/// Proofs as objects `proofs/<key>`, each of them whole or not there.
///
/// Calls block; a store that needs a reactor finds one.
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    /// Where the objects are, for messages.
    place: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Objects {
    /// Objects in a local directory, which is created. A write goes to a temporary name, is synced and takes its place in
    /// one step.
    pub(crate) fn local(place: PathBuf) -> Result<Self, Error> {
        std::fs::create_dir_all(&place).map_err(Error::io(&place))?;
        let store = LocalFileSystem::new_with_prefix(&place).map_err(failed(&place))?.with_fsync(true);
        Self::new(Arc::new(store), place)
    }

    /// Objects wherever `store` keeps them.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, place: PathBuf) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::io(&place))?;
        Ok(Self { store, place, runtime })
    }

    /// Where an object is, for messages.
    pub(crate) fn place(&self, key: &Key) -> PathBuf {
        self.place.join(PROOFS).join(key.to_string())
    }

    pub(crate) fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        let path = path(key);
        let read = async { self.store.get(&path).await?.bytes().await };
        match self.runtime.block_on(read) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(failed(self.place(key))(e)),
        }
    }

    pub(crate) fn exists(&self, key: &Key) -> Result<bool, Error> {
        match self.runtime.block_on(self.store.head(&path(key))) {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(e) => Err(failed(self.place(key))(e)),
        }
    }

    pub(crate) fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, Error> {
        let payload = PutPayload::from(bytes.to_vec());
        let create = PutOptions::from(PutMode::Create);
        match self.runtime.block_on(self.store.put_opts(&path(key), payload, create)) {
            Ok(_) => Ok(Put::Stored),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(Put::AlreadyThere),
            Err(e) => Err(failed(self.place(key))(e)),
        }
    }

    pub(crate) fn delete(&self, key: &Key) -> Result<(), Error> {
        match self.runtime.block_on(self.store.delete(&path(key))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(failed(self.place(key))(e)),
        }
    }

    /// Files of writes to the local directory `place` that never ended.
    pub(crate) fn staged(&self, place: &std::path::Path) -> Vec<PathBuf> {
        if place != self.place {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir(place.join(PROOFS)) else { return Vec::new() };
        let staged = |p: &PathBuf| {
            let name = p.file_name().and_then(|n| n.to_str()).and_then(|n| n.split_once('#'));
            name.is_some_and(|(key, _)| parse_key(key).is_some())
        };
        entries.flatten().map(|e| e.path()).filter(staged).collect()
    }

    /// Every proof object, and the names of objects beside them that are none.
    pub(crate) fn list(&self) -> Result<(Vec<Object>, Vec<String>), Error> {
        let listed = self.runtime.block_on(self.store.list_with_delimiter(Some(&ObjectPath::from(PROOFS))));
        let (mut proofs, mut others) = (Vec::new(), Vec::new());
        for meta in listed.map_err(failed(&self.place))?.objects {
            match meta.location.filename().and_then(parse_key) {
                Some(key) => proofs.push(Object { key, bytes: meta.size }),
                None => others.push(meta.location.to_string()),
            }
        }
        proofs.sort_unstable_by_key(|o| o.key);
        others.sort_unstable();
        Ok((proofs, others))
    }
}

fn path(key: &Key) -> ObjectPath {
    ObjectPath::from(format!("{PROOFS}/{key}"))
}

fn parse_key(name: &str) -> Option<Key> {
    let mut bytes = [0; 32];
    let digits = name.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    let key = Key(bytes);
    (key.to_string() == name).then_some(key)
}

/// An error of the object store, with the I/O error at its root where there is one.
fn failed(place: impl Into<PathBuf>) -> impl FnOnce(object_store::Error) -> Error {
    let path = place.into();
    move |e| {
        let mut kind = std::io::ErrorKind::Other;
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&e);
        while let Some(cause) = next {
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                kind = io.kind();
            }
            next = cause.source();
        }
        Error::Io { path, source: std::io::Error::new(kind, e) }
    }
}

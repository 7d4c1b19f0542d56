//! Results and payloads as objects of an object store, named by their keys.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::StreamExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tokio::runtime::{Builder, Runtime};
use url::Url;

pub use object_store::ObjectStore;

use crate::{Key, Put};

/// The folder of results.
const PROOFS: &str = "proofs";
/// The folder of payloads.
const PAYLOADS: &str = "payloads";
/// Number of repetitions of a failed call: for files, and for other stores.
const RETRIES: [u32; 2] = [6, 9];
/// Pause before the first repetition. Each further pause is twice as long.
const BACK_OFF: Duration = Duration::from_millis(50);
/// Size in bytes of the largest object that is read. Payloads and proofs are much smaller.
const LARGEST: u64 = 64 << 20;
/// Accepted schemes of URLs.
const SCHEMES: [&str; 10] = ["file", "memory", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];
/// Prefixes of environment variables with credentials and settings of object stores.
const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// A call to an object store failed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", place.display())]
pub struct ObjectsError {
    /// The object or the store.
    pub place: PathBuf,
    /// The cause.
    #[source]
    pub source: std::io::Error,
}

/// A stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The key under which it is stored.
    pub key: Key,
    /// Size in bytes.
    pub bytes: u64,
}

/// Objects `proofs/<key>` or `payloads/<run>/<key>`. Each object is stored as a whole or not at all. Clones share one
/// store.
///
/// Calls block. Do not make them on a thread that drives an asynchronous runtime. If the store was opened by its URL,
/// calls with transient errors are repeated with growing pauses, for 3 s in all with files and 25 s with other stores.
#[derive(Clone)]
pub struct Objects {
    shared: Arc<Shared>,
    folder: String,
}

struct Shared {
    store: Arc<dyn ObjectStore>,
    /// Where the objects are, for messages.
    place: PathBuf,
    retries: u32,
    /// Drives the connections to a remote store. `None` if calls need no runtime, and while the value is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last clone may be dropped on a thread that must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("place", &self.shared.place).field("folder", &self.folder).finish()
    }
}

impl Objects {
    /// Results in a local directory, which is created. A write goes to a temporary file, which is synced and then
    /// renamed in one step.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn local(place: PathBuf) -> Result<Self, ObjectsError> {
        let store = directory(&place)?.with_fsync(true);
        Ok(Self::at_hand(Arc::new(store), place))
    }

    /// Results in `store`. Messages call the store `place`.
    ///
    /// # Errors
    /// If the system does not start a thread.
    pub fn new(store: Arc<dyn ObjectStore>, place: impl Into<PathBuf>) -> Result<Self, ObjectsError> {
        let place = place.into();
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("objects").enable_all().build();
        let runtime = Some(runtime.map_err(|source| ObjectsError { place: place.clone(), source })?);
        Ok(Self { shared: Arc::new(Shared { store, place, retries: 0, runtime }), folder: PROOFS.into() })
    }

    /// Results in files or in memory. Calls run on the calling thread, without a runtime.
    fn at_hand(store: Arc<dyn ObjectStore>, place: PathBuf) -> Self {
        Self { shared: Arc::new(Shared { store, place, retries: 0, runtime: None }), folder: PROOFS.into() }
    }

    /// Results at a URL: `file:///DIR`, `memory:///`, and with the feature `cloud` `s3://BUCKET/PREFIX`, `gs://..` and
    /// `az://..`. Pass the process's environment as `variables`: only names that begin with `AWS_`, `GOOGLE_` or
    /// `AZURE_` are used, for credentials and settings.
    ///
    /// Files are not synced. A reader must check the objects that it reads.
    ///
    /// # Errors
    /// If the URL has another scheme, or the store's settings are incomplete.
    pub fn open(url: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, ObjectsError> {
        // The rest of the URL may contain a secret and is not shown.
        let shown = if url.contains(['@', '?', '#']) {
            url.split(['/', '@', '?', '#']).next().unwrap_or_default()
        } else {
            url
        };
        let invalid = |e: Box<dyn std::error::Error + Send + Sync>| ObjectsError {
            place: shown.into(),
            source: std::io::Error::new(std::io::ErrorKind::InvalidInput, e),
        };
        let parsed = Url::parse(url)
            .map_err(|e| invalid(format!("{e}: give a URL such as file:///DIR or s3://BUCKET/PREFIX").into()))?;
        if !SCHEMES.contains(&parsed.scheme()) {
            return Err(invalid("its scheme is not file, memory, s3, gs or az".into()));
        }
        // URLs of Azure have the account in the place of the user.
        let user =
            !parsed.username().is_empty() && !matches!(parsed.scheme(), "az" | "azure" | "adl" | "abfs" | "abfss");
        if user || parsed.password().is_some() || parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(invalid("a URL may not hold credentials or settings: give them in the environment".into()));
        }
        match parsed.scheme() {
            "file" => {
                let place =
                    parsed.to_file_path().map_err(|()| invalid("this is not the path of a directory".into()))?;
                Ok(Self::at_hand(Arc::new(directory(&place)?), place).with_retries(RETRIES[0]))
            }
            "memory" => Ok(Self::at_hand(Arc::new(InMemory::new()), url.into())),
            _ => {
                let wanted = |(name, _): &(String, String)| VARIABLES.iter().any(|v| name.starts_with(v));
                let store = remote(&parsed, variables.into_iter().filter(wanted));
                let store = store.map_err(|e| invalid(Box::new(e)))?;
                Ok(Self::new(store, url)?.with_retries(RETRIES[1]))
            }
        }
    }

    /// Sets how often a failed call is repeated.
    ///
    /// # Panics
    /// If the store already has clones.
    pub fn with_retries(mut self, retries: u32) -> Self {
        Arc::get_mut(&mut self.shared).expect("set before the store is shared").retries = retries;
        self
    }

    /// The payloads of a run in the same store, many in one object. The key of an object is the BLAKE3 hash of its
    /// bytes.
    pub fn payloads(&self, run: &str) -> Self {
        Self { shared: self.shared.clone(), folder: format!("{PAYLOADS}/{run}") }
    }

    /// Where an object is, for messages.
    pub fn place(&self, key: &Key) -> PathBuf {
        self.shared.place.join(&self.folder).join(key.to_string())
    }

    /// The object under `key`, or `None` if it does not exist. An object above 64 MiB, which is larger than any proof
    /// or payload, is returned as empty bytes: callers check what they read, so they find it damaged and replace it.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, ObjectsError> {
        let path = self.path(key);
        let read = self.persist(async || match found(self.shared.store.get(&path).await)? {
            Some(object) if object.meta.size > LARGEST => Ok(Some(Vec::new())),
            Some(object) => Ok(Some(object.bytes().await?.into())),
            None => Ok(None),
        });
        read.map_err(failed(self.place(key)))
    }

    /// Bytes `offset` to `offset + length` of the object under `key`, or fewer if the object ends before. `None` if the
    /// object does not exist.
    ///
    /// # Errors
    /// If the store does not answer, or if `length` is above 64 MiB.
    pub fn get_part(&self, key: &Key, offset: u64, length: u64) -> Result<Option<Vec<u8>>, ObjectsError> {
        let path = self.path(key);
        let read = self.persist(async || {
            let end = offset.checked_add(length).filter(|_| length <= LARGEST).ok_or_else(|| {
                let what = format!("{length} bytes from {offset} are not part of an object");
                object_store::Error::NotSupported { source: what.into() }
            })?;
            if length == 0 {
                return Ok(Some(Vec::new()));
            }
            let part = found(self.shared.store.get_range(&path, offset..end).await)?;
            Ok(part.map(Into::into))
        });
        read.map_err(failed(self.place(key)))
    }

    /// True if there is an object under `key`.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn exists(&self, key: &Key) -> Result<bool, ObjectsError> {
        let path = self.path(key);
        let look = self.persist(async || found(self.shared.store.head(&path).await));
        look.map(|object| object.is_some()).map_err(failed(self.place(key)))
    }

    /// Stores `bytes` under `key`, unless the key already has an object.
    ///
    /// # Errors
    /// If the store does not accept the bytes, or if they are more than 64 MiB.
    pub fn put(&self, key: &Key, bytes: &[u8]) -> Result<Put, ObjectsError> {
        self.write(key, bytes, PutMode::Create)
    }

    /// Stores `bytes` under `key` and replaces an existing object. For keys that are hashes of their bytes.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn replace(&self, key: &Key, bytes: &[u8]) -> Result<(), ObjectsError> {
        self.write(key, bytes, PutMode::Overwrite).map(drop)
    }

    fn write(&self, key: &Key, bytes: &[u8], mode: PutMode) -> Result<Put, ObjectsError> {
        if bytes.len() as u64 > LARGEST {
            let what = format!("{} bytes, and {LARGEST} at most can be read again", bytes.len());
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
            return Err(ObjectsError { place: self.place(key), source });
        }
        let (path, payload) = (self.path(key), PutPayload::from(bytes.to_vec()));
        let write = self.persist(async || {
            match self.shared.store.put_opts(&path, payload.clone(), PutOptions::from(mode.clone())).await {
                Ok(_) => Ok(Put::Stored),
                Err(object_store::Error::AlreadyExists { .. }) => Ok(Put::AlreadyThere),
                Err(e) => Err(e),
            }
        });
        write.map_err(failed(self.place(key)))
    }

    /// Deletes every object of the folder. Keeps some thousand names in memory.
    ///
    /// # Errors
    /// If the store fails. Some objects may be deleted by then.
    pub fn clear(&self) -> Result<(), ObjectsError> {
        let folder = ObjectPath::from(self.folder.as_str());
        let clear = self.persist(async || {
            let names = self.shared.store.list(Some(&folder)).map(|found| found.map(|meta| meta.location)).boxed();
            let mut gone = self.shared.store.delete_stream(names);
            while let Some(outcome) = gone.next().await {
                found(outcome)?;
            }
            Ok(())
        });
        let place = self.shared.place.join(&self.folder);
        // Files leave an empty directory. Other stores have no directory to remove.
        let _ = std::fs::remove_dir(&place);
        clear.map_err(failed(place))
    }

    /// Deletes the object under `key`, if it exists.
    ///
    /// # Errors
    /// If the store does not delete it.
    pub fn delete(&self, key: &Key) -> Result<(), ObjectsError> {
        let path = self.path(key);
        let delete = self.persist(async || found(self.shared.store.delete(&path).await));
        delete.map(drop).map_err(failed(self.place(key)))
    }

    /// Files of unfinished writes, if `place` is the local directory of this store.
    pub fn staged(&self, place: &Path) -> Vec<PathBuf> {
        if place != self.shared.place {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir(place.join(&self.folder)) else { return Vec::new() };
        let staged = |p: &PathBuf| {
            let name = p.file_name().and_then(|n| n.to_str()).and_then(|n| n.split_once('#'));
            name.is_some_and(|(key, _)| Key::parse(key).is_some())
        };
        entries.flatten().map(|e| e.path()).filter(staged).collect()
    }

    /// Every object of the folder, and the names of objects whose name is not a key.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn list(&self) -> Result<(Vec<Object>, Vec<String>), ObjectsError> {
        let folder = ObjectPath::from(self.folder.as_str());
        let list = self.persist(async || self.shared.store.list_with_delimiter(Some(&folder)).await);
        let listed = list.map_err(failed(self.shared.place.clone()))?;
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for meta in listed.objects {
            match meta.location.filename().and_then(Key::parse) {
                Some(key) => found.push(Object { key, bytes: meta.size }),
                None => others.push(meta.location.to_string()),
            }
        }
        found.sort_unstable_by_key(|o| o.key);
        others.sort_unstable();
        Ok((found, others))
    }

    fn path(&self, key: &Key) -> ObjectPath {
        ObjectPath::from(format!("{}/{key}", self.folder))
    }

    /// Makes a call until it succeeds, fails with a final error, or has used all attempts.
    fn persist<T>(&self, mut call: impl AsyncFnMut() -> object_store::Result<T>) -> object_store::Result<T> {
        let mut make = || match &self.shared.runtime {
            Some(runtime) => runtime.block_on(call()),
            None => block_on(call()),
        };
        let mut pause = BACK_OFF;
        for _ in 0..self.shared.retries {
            match make() {
                Err(e) if may_pass(&e) => thread::sleep(pause),
                outcome => return outcome,
            }
            pause *= 2;
        }
        make()
    }
}

/// Wakes a thread that is parked in [`block_on`].
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a call that needs no runtime, on this thread.
fn block_on<T>(call: impl Future<Output = T>) -> T {
    let (mut call, waker) = (pin!(call), Waker::from(Arc::new(Unpark(thread::current()))));
    let mut context = Context::from_waker(&waker);
    loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => thread::park(),
        }
    }
}

/// The store at a URL of a cloud. The store itself makes each call once; [`Objects`] repeats calls.
#[cfg(feature = "cloud")]
fn remote(url: &Url, variables: impl Iterator<Item = (String, String)>) -> object_store::Result<Arc<dyn ObjectStore>> {
    use object_store::aws::AmazonS3Builder;
    use object_store::azure::MicrosoftAzureBuilder;
    use object_store::gcp::GoogleCloudStorageBuilder;
    use object_store::prefix::PrefixStore;
    use object_store::{ObjectStoreScheme, RetryConfig};
    /// Builds a store. Variables that the builder does not know belong to other stores, and are ignored.
    macro_rules! build {
        ($builder:ty) => {{
            let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
            let builder = <$builder>::new().with_url(url.as_str()).with_retry(retry);
            let set = |builder: $builder, (name, value): (String, String)| match name.to_ascii_lowercase().parse() {
                Ok(name) => builder.with_config(name, value),
                Err(_) => builder,
            };
            Arc::new(variables.fold(builder, set).build()?)
        }};
    }
    crate::tls::install();
    let (scheme, prefix) = ObjectStoreScheme::parse(url)?;
    let store: Arc<dyn ObjectStore> = match scheme {
        ObjectStoreScheme::AmazonS3 => build!(AmazonS3Builder),
        ObjectStoreScheme::GoogleCloudStorage => build!(GoogleCloudStorageBuilder),
        _ => build!(MicrosoftAzureBuilder),
    };
    Ok(Arc::new(PrefixStore::new(store, prefix)))
}

/// Without the feature `cloud`, opening a remote store is an error.
#[cfg(not(feature = "cloud"))]
fn remote(url: &Url, variables: impl Iterator<Item = (String, String)>) -> object_store::Result<Arc<dyn ObjectStore>> {
    object_store::parse_url_opts(url, variables).map(|(store, _)| Arc::from(store))
}

/// The files below `place`. Creates the directory.
fn directory(place: &Path) -> Result<LocalFileSystem, ObjectsError> {
    std::fs::create_dir_all(place).map_err(|source| ObjectsError { place: place.into(), source })?;
    LocalFileSystem::new_with_prefix(place).map_err(failed(place.into()))
}

/// The answer about an object, or `None` if the store has no such object.
fn found<T>(answer: object_store::Result<T>) -> object_store::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// True for errors that another attempt may avoid.
fn may_pass(e: &object_store::Error) -> bool {
    matches!(e, object_store::Error::Generic { .. } | object_store::Error::JoinError { .. })
}

/// An error of the object store. It takes over the kind of the I/O error that caused it, if there is one.
fn failed(place: PathBuf) -> impl FnOnce(object_store::Error) -> ObjectsError {
    move |e| {
        let causes = std::iter::successors(Some(&e as &(dyn std::error::Error + 'static)), |e| e.source());
        let io = causes.filter_map(|e| e.downcast_ref::<std::io::Error>()).last();
        let kind = io.map_or(std::io::ErrorKind::Other, |io| io.kind());
        ObjectsError { place, source: std::io::Error::new(kind, e) }
    }
}

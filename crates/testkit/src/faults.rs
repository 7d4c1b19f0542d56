//! Disks and object stores that fail on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::commit::Rng;

/// A disk with one file that behaves like a real disk in a crash: synced data survives, and any 512-byte pieces of
/// later writes may be lost.
///
/// Clones share the same disk.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The content that a reader sees now.
    current: Vec<u8>,
    /// The content at the last sync.
    durable: Vec<u8>,
    /// Offset and length of each write since the last sync.
    unsynced: Vec<(u64, usize)>,
    /// Number of writes, syncs and changes of length that still succeed; `None` for no limit.
    left: Option<usize>,
    /// Number of writes, syncs and changes of length so far.
    operations: usize,
    /// Number of bytes read.
    read: u64,
    /// Number of crashes. A file that was opened before the last crash is dead.
    generation: usize,
    /// Allocated blocks of [`BLOCK`] bytes. Like other files, the file has no blocks for parts that were never written.
    blocks: BTreeSet<u64>,
    /// The greatest number of blocks; `None` for no limit.
    room: Option<Arc<Room>>,
}

type Room = dyn Fn() -> usize + Send + Sync;

/// Bytes that the disk writes completely or not at all.
const SECTOR: usize = 512;

/// Bytes of a block, the unit of free space.
pub const BLOCK: usize = 4096;

impl Disk {
    /// An empty disk that does not fail.
    pub fn new() -> Self {
        Self::default()
    }

    /// An independent disk with the same content, which does not fail.
    pub fn fork(&self) -> Self {
        let state = self.lock();
        let (current, durable, unsynced) = (state.current.clone(), state.durable.clone(), state.unsynced.clone());
        let blocks = state.blocks.clone();
        Self(Arc::new(Mutex::new(State { current, durable, unsynced, blocks, ..State::default() })))
    }

    /// Lets `operations` more writes and syncs succeed. Then everything fails until [`Self::crash`].
    pub fn fail_after(&self, operations: usize) {
        self.lock().left = Some(operations);
    }

    /// Limits the file to `room()` blocks of [`BLOCK`] bytes. A write that needs more blocks fails; other operations
    /// still work.
    pub fn limit(&self, room: impl Fn() -> usize + Send + Sync + 'static) {
        self.lock().room = Some(Arc::new(room));
    }

    /// Number of allocated blocks.
    pub fn blocks(&self) -> usize {
        self.lock().blocks.len()
    }

    /// Number of writes, syncs and changes of length so far. Those that [`Self::fail_after`] made fail do not count.
    pub fn operations(&self) -> usize {
        self.lock().operations
    }

    /// Simulates a power failure: open files are dead, and for every sector written since the last sync, `seed` decides
    /// between the old and the new content. Then the disk works again.
    pub fn crash(&self, seed: u64) {
        let mut state = self.lock();
        let mut rng = Rng(seed);
        let state = &mut *state;
        let mut after = state.durable.clone();
        if rng.below(2) == 0 {
            after.resize(state.current.len().max(after.len()), 0);
        }
        for (offset, len) in state.unsynced.drain(..) {
            let (mut at, end) = (offset as usize, offset as usize + len);
            while at < end {
                let next = ((at / SECTOR + 1) * SECTOR).min(end);
                if next <= after.len() && next <= state.current.len() && rng.below(2) == 0 {
                    after[at..next].copy_from_slice(&state.current[at..next]);
                }
                at = next;
            }
        }
        (state.current, state.durable, state.left) = (after.clone(), after, None);
        state.generation += 1;
    }

    /// Opens the file.
    pub fn open(&self) -> DiskFile {
        DiskFile { disk: self.clone(), generation: self.lock().generation }
    }

    /// Number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.lock().read
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.lock().current.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file of a [`Disk`], open until the disk crashes.
pub struct DiskFile {
    disk: Disk,
    generation: usize,
}

impl DiskFile {
    fn read_state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.lock();
        if state.generation == self.generation && state.left != Some(0) {
            Ok(state)
        } else {
            Err(io::Error::new(io::ErrorKind::StorageFull, "the disk has failed"))
        }
    }

    fn write_state(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.read_state()?;
        state.left = state.left.map(|n| n - 1);
        state.operations += 1;
        Ok(state)
    }
}

impl fmt::Debug for DiskFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskFile").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl DiskFile {
    /// The length in bytes.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.read_state()?.current.len() as u64)
    }

    /// Fills `out` with the bytes from `offset`.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.read_state()?;
        state.read += out.len() as u64;
        let from = offset as usize;
        let bytes = state.current.get(from..from + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    /// Cuts the file to `len` bytes, or extends it with zeros.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.write_state()?;
        state.current.resize(len as usize, 0);
        state.blocks.split_off(&len.div_ceil(BLOCK as u64));
        Ok(())
    }

    /// Makes all writes so far survive a crash.
    pub fn sync_data(&self) -> io::Result<()> {
        let mut state = self.write_state()?;
        state.durable = state.current.clone();
        state.unsynced.clear();
        Ok(())
    }

    /// Writes `data` at `offset`. The write must not extend the file.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.write_state()?;
        let from = offset as usize;
        let needed = offset / BLOCK as u64..(offset + data.len() as u64).div_ceil(BLOCK as u64);
        let more = needed.clone().filter(|block| !state.blocks.contains(block)).count();
        if more > 0 && state.room.as_ref().is_some_and(|room| state.blocks.len() + more > room()) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        let place = state.current.get_mut(from..from + data.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        place.copy_from_slice(data);
        state.blocks.extend(needed);
        state.unsynced.push((offset, data.len()));
        Ok(())
    }
}

/// An object store that fails on demand and counts reads. Clones share the same store.
#[derive(Clone, Debug)]
pub struct FaultyObjects {
    inner: Arc<dyn ObjectStore>,
    left: Arc<AtomicUsize>,
    /// One of this many calls fails; 0 for none.
    every: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    lost: Arc<Mutex<BTreeMap<String, usize>>>,
    read: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl FaultyObjects {
    /// An in-memory store that does not fail.
    pub fn new() -> Self {
        Self {
            inner: Arc::new(object_store::memory::InMemory::new()),
            left: Arc::new(AtomicUsize::new(usize::MAX)),
            every: Arc::default(),
            calls: Arc::default(),
            lost: Arc::default(),
            read: Arc::default(),
        }
    }

    /// From now on, one of `calls` reads and writes fails with a transient error.
    pub fn fail_every(&self, calls: usize) {
        self.every.store(calls, Ordering::SeqCst);
    }

    fn hiccup(&self) -> Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let every = self.every.load(Ordering::SeqCst);
        if every == 0 || !call.is_multiple_of(every) {
            return Ok(());
        }
        let source = io::Error::new(io::ErrorKind::ConnectionReset, "the connection was reset");
        Err(Error::Generic { store: "faulty objects", source: Box::new(source) })
    }

    /// Accepts `puts` more objects. Later ones fail as on a full disk.
    pub fn fail_after(&self, puts: usize) {
        self.left.store(puts, Ordering::SeqCst);
    }

    /// Ends all failures.
    pub fn heal(&self) {
        self.every.store(0, Ordering::SeqCst);
        self.left.store(usize::MAX, Ordering::SeqCst);
    }

    /// How often each object was refused because the store was full.
    pub fn refused(&self) -> BTreeMap<String, usize> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often each object was requested, including missing ones. Checks for existence do not count.
    pub fn read(&self) -> BTreeMap<String, usize> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Default for FaultyObjects {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for FaultyObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty objects")
    }
}

#[async_trait]
impl ObjectStore for FaultyObjects {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.hiccup()?;
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_err() {
            *self.lost.lock().unwrap_or_else(PoisonError::into_inner).entry(location.to_string()).or_default() += 1;
            let source = io::Error::new(io::ErrorKind::StorageFull, "no space left on device");
            return Err(Error::Generic { store: "faulty objects", source: Box::new(source) });
        }
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.hiccup()?;
        if !options.head {
            *self.read.lock().unwrap_or_else(PoisonError::into_inner).entry(location.to_string()).or_default() += 1;
        }
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

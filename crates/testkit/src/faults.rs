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

/// A disk with one file, which survives crashes as disks do: what was synced stays, of what was written since the last
/// sync any part may be lost, in pieces of 512 bytes.
///
/// Clones are the same disk.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// What a reader sees now.
    current: Vec<u8>,
    /// What has been synced.
    durable: Vec<u8>,
    /// Offsets and lengths of the writes since the last sync.
    unsynced: Vec<(u64, usize)>,
    /// Writes and syncs that still succeed, `None` for all of them.
    left: Option<usize>,
    /// Writes and syncs so far.
    operations: usize,
    /// Bytes read so far.
    read: u64,
    /// Counts openings: a file that was opened before the last crash is dead.
    generation: usize,
    /// Blocks of [`BLOCK`] bytes that the file has: like other files, it has none where nothing was written.
    blocks: BTreeSet<u64>,
    /// How many blocks it may have at most, `None` for any number.
    room: Option<Arc<Room>>,
}

type Room = dyn Fn() -> usize + Send + Sync;

/// Bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

/// Bytes for which a disk has room or not.
pub const BLOCK: usize = 4096;

impl Disk {
    /// An empty disk that does not fail.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another disk with the same content, which does not fail.
    pub fn fork(&self) -> Self {
        let state = self.lock();
        let (current, durable, unsynced) = (state.current.clone(), state.durable.clone(), state.unsynced.clone());
        let blocks = state.blocks.clone();
        Self(Arc::new(Mutex::new(State { current, durable, unsynced, blocks, ..State::default() })))
    }

    /// Lets `operations` more writes and syncs succeed; then everything fails until [`Self::crash`].
    pub fn fail_after(&self, operations: usize) {
        self.lock().left = Some(operations);
    }

    /// Lets the file have `room()` blocks of [`BLOCK`] bytes: a write that needs more fails, and everything else still works.
    pub fn limit(&self, room: impl Fn() -> usize + Send + Sync + 'static) {
        self.lock().room = Some(Arc::new(room));
    }

    /// Blocks that the file has.
    pub fn blocks(&self) -> usize {
        self.lock().blocks.len()
    }

    /// Writes and syncs that have succeeded so far.
    pub fn operations(&self) -> usize {
        self.lock().operations
    }

    /// The power goes off and on again: open files are dead, and every sector written since the last sync is old or new as
    /// `seed` has it. The disk works again.
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

    /// The file, open.
    pub fn open(&self) -> DiskFile {
        DiskFile { disk: self.clone(), generation: self.lock().generation }
    }

    /// Bytes that have been read so far.
    pub fn bytes_read(&self) -> u64 {
        self.lock().read
    }

    /// True when nothing has been written.
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

    /// Cuts the file off, or fills it up with zeros.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.write_state()?;
        state.current.resize(len as usize, 0);
        state.blocks.split_off(&len.div_ceil(BLOCK as u64));
        Ok(())
    }

    /// Makes what has been written survive a crash.
    pub fn sync_data(&self) -> io::Result<()> {
        let mut state = self.write_state()?;
        state.durable = state.current.clone();
        state.unsynced.clear();
        Ok(())
    }

    /// Writes bytes from `offset`, inside the length.
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

/// An object store that fails on demand, and knows what was read. Clones are the same store.
#[derive(Clone, Debug)]
pub struct FaultyObjects {
    inner: Arc<dyn ObjectStore>,
    left: Arc<AtomicUsize>,
    /// Of so many calls one fails, 0 for none.
    every: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    lost: Arc<Mutex<BTreeMap<String, usize>>>,
    read: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl FaultyObjects {
    /// A store in memory that does not fail.
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

    /// Lets one of `calls` reads and writes fail from now on, each for no reason that lasts.
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

    /// Lets `puts` more objects in; later ones fail as on a full disk.
    pub fn fail_after(&self, puts: usize) {
        self.left.store(puts, Ordering::SeqCst);
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        self.every.store(0, Ordering::SeqCst);
        self.left.store(usize::MAX, Ordering::SeqCst);
    }

    /// How often each object was refused.
    pub fn refused(&self) -> BTreeMap<String, usize> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often each object was asked for, also where there is none. To look whether it is there is not to ask for it.
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

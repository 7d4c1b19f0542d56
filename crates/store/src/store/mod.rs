//! A store: one directory with the versions of one table, its batches and their proofs.

mod backup;
mod batches;
mod changes;
mod create;
mod database;
mod layout;
mod migrate;
mod prune;
mod requests;
mod reserve;
mod restore;
mod space;
mod v1;
mod view;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergrove_commit::schema::Schema;
use evergrove_jobs::objects::{ObjectStore, Objects};
use evergrove_verifier::{Commitment, SCHEME};

pub use backup::{BACKUP_MAGIC, Backup, BackupError, BackupHead};
pub use batches::{BatchStatus, ProvenAt, Status};
pub use changes::{Changes, EpochReport};
pub use database::{DatabaseFile, in_database};
pub use layout::Epoch;
pub use prune::PruneReport;
pub use requests::{MAX_REQUEST_KEY, MAX_REQUESTS, Outcome, REQUESTS_KEPT, Request};
pub use restore::BackupReader;
pub use space::Space;
pub use view::View;

pub(crate) use batches::members_of;
pub(crate) use changes::stage;
pub(crate) use layout::{BackendRecord, BatchRecord, DATABASE, FORMAT, ProvenRecord};
pub(crate) use view::split_slot;
pub(crate) use write::WriteView;

use database::{Database, OpenFile, Reading};
use layout::{EPOCHS, META, OBJECTS, RESERVE, meta};

use crate::Error;

/// How a store is kept. The default is files in the store's directory and a cache of 256 MiB.
#[derive(Clone)]
pub struct Options {
    cache_bytes: usize,
    objects: Option<Arc<dyn ObjectStore>>,
    database: Option<Arc<OpenFile>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 256 << 20, objects: None, database: None }
    }
}

impl Options {
    /// Sets the size of the database's cache in bytes.
    pub fn with_cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Keeps proofs in `objects` instead of the store's directory.
    pub fn with_objects(mut self, objects: Arc<dyn ObjectStore>) -> Self {
        self.objects = Some(objects);
        self
    }

    /// Keeps the database in the file that `open` returns for a path. `open` makes an empty file if none exists.
    pub fn with_database(
        mut self,
        open: impl Fn(&Path) -> std::io::Result<Box<dyn DatabaseFile>> + Send + Sync + 'static,
    ) -> Self {
        self.database = Some(Arc::new(open));
        self
    }

    fn open_database(&self, dir: &Path, file: &Path, create: bool) -> Result<Database, Error> {
        Database::open(dir, file, self.cache_bytes, create, self.database.as_deref())
    }
}

/// A table with its versions, batches and proofs in one directory.
///
/// ```text
///                 Store::create                                  Changes              Prover
///   no store ─────────────────────▶ epoch 1, no batches ─────▶ epoch e + 1 ───▶ every batch proven at e + 1
///                                                                  │   ▲             │
///                                                     crash, error │   │ update,     │ Changes
///                                                     or cancelled ▼   │ prove       ▼
///                                                            some batches stale   epoch e + 2 ..
/// ```
///
/// All changes of one epoch are one transaction of the database: an epoch exists as a whole or not at all, even if the
/// process is killed. Proofs follow. Each proof is stored under a key that names its statement, so a stale batch never
/// shows an old proof as new, and a refresh continues from the stored proofs.
///
/// While a process has a store open to write, no other process can open it. Its [`View`]s can be read on many threads
/// during a write. Calls block; do not make them on a thread that drives an asynchronous runtime.
pub struct Store {
    dir: PathBuf,
    database: Database,
    objects: Objects,
    schema: Arc<Schema>,
    /// 1 or 2.
    format: u32,
    options: Options,
}

impl Store {
    /// Opens the store in `dir`.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotAStore`], [`Error::Locked`], [`Error::Version`], [`Error::Corrupt`],
    /// [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::open_with(dir, &Options::default())
    }

    /// Opens the store in `dir` for reading. Its files stay as they are, and several processes can read it at a time.
    /// Methods that write return [`Error::ReadOnly`].
    ///
    /// A database that was not closed, because its process was killed, is repaired first, as by [`Self::open`].
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_to_read(dir: &Path) -> Result<Self, Error> {
        let open = |file: &Path| Database::open_to_read(dir, file, Options::default().cache_bytes);
        Self::of_database(dir, &Options::default(), open)
    }

    /// As [`Self::open`], with options.
    pub fn open_with(dir: &Path, options: &Options) -> Result<Self, Error> {
        let open = || Self::of_database(dir, options, |file| options.open_database(dir, file, false));
        let store = match open() {
            Err(e) if e.is_full() && reserve::give_up(dir) => open(),
            opened => opened,
        }?;
        if store.format == FORMAT {
            reserve::keep(dir);
        }
        Ok(store)
    }

    /// True if a read or write of the database's file has failed. Then all later ones fail, until [`Self::recover`].
    pub fn has_failed(&self) -> bool {
        self.database.has_failed()
    }

    /// Opens the database again after [`Self::has_failed`]. No [`View`] may exist. Committed changes are kept, others
    /// are lost. Takes milliseconds after transactions of this version, otherwise as long as reading the database.
    ///
    /// # Errors
    /// Those of [`Self::open`]. A later call tries again.
    pub fn recover(&mut self) -> Result<(), Error> {
        if !self.has_failed() {
            return Ok(());
        }
        self.database.close();
        let file = self.dir.join(DATABASE);
        let whole = matches!(self.database, Database::Whole(_));
        let open = || {
            if whole {
                self.options.open_database(&self.dir, &file, false)
            } else {
                Database::open_to_read(&self.dir, &file, self.options.cache_bytes)
            }
        };
        let mut given_up = false;
        let opened = match open() {
            // Opening writes to the file. File systems that copy on write need free space for that.
            Err(e) if whole && e.is_full() && reserve::give_up(&self.dir) => {
                given_up = true;
                open()
            }
            opened => opened,
        };
        self.database = opened?;
        if given_up {
            reserve::keep(&self.dir);
        }
        Ok(())
    }

    fn of_database(
        dir: &Path,
        options: &Options,
        open: impl FnOnce(&Path) -> Result<Database, Error>,
    ) -> Result<Self, Error> {
        let file = dir.join(DATABASE);
        if !dir.try_exists().map_err(Error::io(dir))? {
            return Err(Error::Missing(dir.into()));
        }
        if !file.try_exists().map_err(Error::io(&file))? {
            return Err(Error::NotAStore(dir.into()));
        }
        let database = open(&file)?;
        let objects = match &options.objects {
            None => Objects::local(dir.join(OBJECTS))?,
            Some(store) => Objects::new(store.clone(), store.to_string())?,
        };
        let read = database.begin_read()?;
        let format = check_format(dir, &read)?;
        let schema = read_meta(dir, &read, meta::SCHEMA)?;
        let schema = Arc::new(Schema::from_bytes(&schema).map_err(Error::schema(dir))?);
        let store = Self { dir: dir.into(), database, objects, schema, format, options: options.clone() };
        store.epoch()?;
        Ok(store)
    }

    /// Refuses to write to a store of format 1, which can only be read. [`Self::copy_to`] copies it to a new store.
    ///
    /// # Errors
    /// [`Error::OldFormat`].
    pub fn check_writable(&self) -> Result<(), Error> {
        if self.format == v1::FORMAT { Err(Error::OldFormat(self.dir.clone())) } else { Ok(()) }
    }

    /// The store's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The schema of the table.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The current epoch.
    pub fn epoch(&self) -> Result<Epoch, Error> {
        self.read_epochs(&self.begin_read()?, None)
    }

    /// The commitment to the current table.
    pub fn commitment(&self) -> Result<Commitment, Error> {
        Ok(self.epoch()?.commitment)
    }

    /// Every epoch that can be read, oldest first.
    pub fn epochs(&self) -> Result<Vec<Epoch>, Error> {
        let read = self.begin_read()?;
        let newest = self.read_epochs(&read, None)?.number;
        let oldest = self.read_number(&read, meta::OLDEST)?;
        (oldest..=newest).map(|e| self.read_epochs(&read, Some(e))).collect()
    }

    /// A view of the current epoch.
    pub fn view(&self) -> Result<View, Error> {
        self.view_in(&self.begin_read()?, None)
    }

    /// A view of an epoch.
    ///
    /// # Errors
    /// [`Error::UnknownEpoch`] if it has been pruned or does not exist yet.
    pub fn view_at(&self, epoch: u64) -> Result<View, Error> {
        self.view_in(&self.begin_read()?, Some(epoch))
    }

    /// A view of the current epoch, or of `epoch`, in a transaction.
    fn view_in(&self, read: &Reading, epoch: Option<u64>) -> Result<View, Error> {
        View::new(self.dir.clone(), self.read_epochs(read, epoch)?, self.schema.clone(), read)
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    pub(crate) fn begin_read(&self) -> Result<Reading, Error> {
        self.database.begin_read()
    }

    /// Checks the checksums of the whole database. False if its bookkeeping had to be repaired.
    pub(crate) fn check_integrity(&mut self) -> Result<bool, Error> {
        self.database.check_integrity()
    }

    /// Files of interrupted commands.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut out = create::sites(&self.dir);
        out.extend(self.objects.staged(&self.dir.join(OBJECTS)));
        out.sort_unstable();
        out.iter().map(|p| p.display().to_string()).collect()
    }

    /// Runs `work` in a transaction that writes epoch `current + ahead`, and commits it if `work` returns true. If
    /// `work` fails or returns false, nothing is written.
    pub(crate) fn write<T>(
        &self,
        ahead: u64,
        work: impl FnOnce(&mut WriteView<'_>, &Epoch) -> Result<(T, bool), Error>,
    ) -> Result<T, Error> {
        self.check_writable()?;
        let write = self.database.begin_write()?;
        let current = self.epoch()?;
        let outcome = {
            let mut view = WriteView::new(&self.dir, current.number + ahead, self.schema.clone(), &write)?;
            work(&mut view, &current)
        };
        match outcome {
            Ok((out, true)) => {
                write.commit()?;
                Ok(out)
            }
            Ok((out, false)) => {
                write.abort()?;
                Ok(out)
            }
            Err(e) => {
                // Nothing is written in either case. The first error is the one to report.
                let _ = write.abort();
                Err(e)
            }
        }
    }

    /// An epoch. `None` means the current one.
    fn read_epochs(&self, read: &Reading, epoch: Option<u64>) -> Result<Epoch, Error> {
        let newest = self.read_number(read, meta::EPOCH)?;
        let oldest = self.read_number(read, meta::OLDEST)?;
        let epoch = epoch.unwrap_or(newest);
        if !(oldest..=newest).contains(&epoch) {
            return Err(Error::UnknownEpoch { epoch, oldest, newest });
        }
        let decoded = if self.format == v1::FORMAT {
            read.open_table(v1::EPOCHS)?.get(epoch)?.and_then(|b| v1::epoch(epoch, &b))
        } else {
            read.open_table(EPOCHS)?.get(epoch)?.and_then(|b| Epoch::decode(epoch, &b).ok())
        };
        decoded.ok_or_else(|| Error::corrupt(&self.dir, format!("the record of epoch {epoch}")))
    }

    fn read_number(&self, read: &Reading, name: &str) -> Result<u64, Error> {
        let bytes = read_meta(&self.dir, read, name)?;
        let le = bytes.try_into().map_err(|_| Error::corrupt(&self.dir, format!("{name} is not a number")))?;
        Ok(u64::from_le_bytes(le))
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir).finish_non_exhaustive()
    }
}

fn read_meta(dir: &Path, read: &Reading, name: &str) -> Result<Vec<u8>, Error> {
    let bytes = read.open_table(META)?.get(name)?;
    bytes.ok_or_else(|| Error::corrupt(dir, format!("{name} is missing")))
}

/// The format of the store, if this program can read it.
fn check_format(dir: &Path, read: &Reading) -> Result<u32, Error> {
    let bytes = read_meta(dir, read, meta::FORMAT)?;
    let version = bytes.strip_prefix(meta::MAGIC).ok_or_else(|| Error::NotAStore(dir.into()))?;
    let found = version.try_into().map(u32::from_le_bytes).ok();
    let Some(format) = found.filter(|format| [v1::FORMAT, FORMAT].contains(format)) else {
        let found = found.map_or("of another kind".into(), |v| v.to_string());
        return Err(Error::Version { dir: dir.into(), found, known: FORMAT });
    };
    let scheme = read_meta(dir, read, meta::SCHEME)?;
    if scheme != SCHEME.as_bytes() {
        let found = format!("{format} with the scheme {}", String::from_utf8_lossy(&scheme));
        return Err(Error::Version { dir: dir.into(), found, known: FORMAT });
    }
    Ok(format)
}

//! The database of a store.
//!
//! Only this module names redb. redb panics on some damaged pages. Therefore each call, and each drop of one of its
//! values, goes through [`Guarded`], which turns a panic into [`Error::Corrupt`]. No code of this crate runs inside
//! these calls: values from redb are copied out first.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use redb::{MultimapTableHandle, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableHandle, Value};

use super::layout::{DATABASE, FORMAT};
use crate::Error;

pub(super) use redb::TableDefinition;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread is in a call of the database. A panic there is caught and becomes [`Error::Corrupt`], so a
/// panic hook can ignore it. This crate sets no hook.
pub fn in_database() -> bool {
    INSIDE.try_with(Cell::get).unwrap_or(false)
}

/// Why a call of redb failed.
enum Fault {
    Redb(redb::Error),
    Panic(String),
}

/// Where a database is, and how it has failed.
struct Place {
    dir: PathBuf,
    /// The message of redb's first panic. After a panic nothing is written: a writer that panicked may hold its lock
    /// for ever.
    broken: OnceLock<String>,
    /// The first error of a read or write of the file. After it, redb refuses every further read or write until
    /// the file is opened again.
    failed: OnceLock<io::ErrorKind>,
}

impl Place {
    fn of(dir: &Path) -> Arc<Self> {
        Arc::new(Self { dir: dir.into(), broken: OnceLock::new(), failed: OnceLock::new() })
    }

    fn guarded<R, E: Into<redb::Error>>(&self, call: impl FnOnce() -> Result<R, E>) -> Result<R, Fault> {
        let outer = INSIDE.replace(true);
        let outcome = catch_unwind(AssertUnwindSafe(call));
        INSIDE.set(outer);
        outcome.map_or_else(|panic| Err(self.broken_by(&*panic)), |done| done.map_err(|e| self.failed_by(e.into())))
    }

    fn failed_by(&self, error: redb::Error) -> Fault {
        let first = match &error {
            redb::Error::Io(e) => *self.failed.get_or_init(|| e.kind()),
            redb::Error::PreviousIo => *self.failed.get_or_init(|| io::ErrorKind::Other),
            _ => return Fault::Redb(error),
        };
        match error {
            // Later callers get the same kind of error, because the remedy is the same.
            redb::Error::PreviousIo => {
                let what = "an earlier read or write of this file failed";
                Fault::Redb(redb::Error::Io(io::Error::new(first, what)))
            }
            error => Fault::Redb(error),
        }
    }

    fn broken_by(&self, panic: &(dyn Any + Send)) -> Fault {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the database panicked");
        Fault::Panic(self.broken.get_or_init(|| text.into()).clone())
    }

    /// Refuses writes to a database that has panicked.
    fn check(&self) -> Result<(), Error> {
        self.broken.get().map_or(Ok(()), |text| Err(Error::corrupt(&self.dir, text.clone())))
    }
}

impl Fault {
    fn of(self, dir: &Path) -> Error {
        use redb::Error as E;
        match self {
            Self::Panic(text) => Error::corrupt(dir, text),
            Self::Redb(E::DatabaseAlreadyOpen) => Error::Locked(dir.into()),
            Self::Redb(E::Io(source)) => Error::Io { path: dir.join(DATABASE), source },
            Self::Redb(E::UpgradeRequired(found)) => {
                Error::Version { dir: dir.into(), found: format!("redb {found}"), known: FORMAT }
            }
            Self::Redb(e) => Error::corrupt(dir, e.to_string()),
        }
    }

    /// As [`Self::of`], but a file that another program wrote is not a store.
    fn of_opening(self, dir: &Path) -> Error {
        use io::ErrorKind::{InvalidData, UnexpectedEof};
        match self {
            Self::Redb(redb::Error::Io(e)) if matches!(e.kind(), InvalidData | UnexpectedEof) => {
                Error::NotAStore(dir.into())
            }
            fault => fault.of(dir),
        }
    }

    /// As [`Self::of`], but a database without our tables is not a store.
    fn of_table(self, dir: &Path) -> Error {
        use redb::Error as E;
        match self {
            Self::Redb(E::TableDoesNotExist(_) | E::TableTypeMismatch { .. }) => Error::NotAStore(dir.into()),
            fault => fault.of(dir),
        }
    }
}

/// A value of redb, which is only used and dropped through [`Place::guarded`].
pub(super) struct Guarded<T> {
    place: Arc<Place>,
    /// `None` after the value was given up or closed.
    value: Option<T>,
}

impl<T> Guarded<T> {
    fn new(place: &Arc<Place>, value: T) -> Self {
        Self { place: place.clone(), value: Some(value) }
    }

    fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// Holds the value that a call returns.
    fn hold<'a, U, E: Into<redb::Error>>(
        &'a self,
        call: impl FnOnce(&'a T) -> Result<U, E>,
    ) -> Result<Guarded<U>, Fault> {
        let made = self.place.guarded(|| self.value.as_ref().map(call).transpose())?;
        Ok(Guarded { place: self.place.clone(), value: made })
    }

    fn call<R, E: Into<redb::Error>>(&self, call: impl FnOnce(&T) -> Result<R, E>) -> Result<R, Error> {
        match &self.value {
            Some(v) => self.place.guarded(|| call(v)).map_err(|f| f.of(self.dir())),
            None => Err(self.closed()),
        }
    }

    fn call_mut<R, E: Into<redb::Error>>(&mut self, call: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, Error> {
        match &mut self.value {
            Some(v) => self.place.guarded(|| call(v)).map_err(|f| f.of(&self.place.dir)),
            None => Err(self.closed()),
        }
    }

    fn give_up<R, E: Into<redb::Error>>(mut self, call: impl FnOnce(T) -> Result<R, E>) -> Result<R, Error> {
        match self.value.take() {
            Some(v) => self.place.guarded(|| call(v)).map_err(|f| f.of(self.dir())),
            None => Err(self.closed()),
        }
    }

    fn closed(&self) -> Error {
        Error::corrupt(self.dir(), "the database is closed")
    }

    fn has_failed(&self) -> bool {
        self.value.is_none() || self.place.failed.get().is_some()
    }

    fn close(&mut self) {
        let value = self.value.take();
        // Nobody is left to report the error to. The next write reports the panic.
        let _ = self.place.guarded(|| {
            drop(value);
            Ok::<_, redb::Error>(())
        });
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The file of a database, for stores whose database is not a file on a local disk, and for tests.
pub trait DatabaseFile: Debug + Send + Sync + 'static {
    /// The length in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Fills `out` with the bytes from `offset`. An error if the file ends before.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// Truncates the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes all written bytes survive a crash.
    fn sync_data(&self) -> io::Result<()>;
    /// Writes bytes from `offset`, within the length of the file.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
}

/// Opens the file of the database at a path.
pub(super) type OpenFile = dyn Fn(&Path) -> io::Result<Box<dyn DatabaseFile>> + Send + Sync;

#[derive(Debug)]
struct Storage(Box<dyn DatabaseFile>);

impl redb::StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
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

/// The database of the store in a directory.
pub(crate) enum Database {
    /// Open for reading and writing.
    Whole(Guarded<redb::Database>),
    /// Open for reading: no byte of its file changes.
    ReadOnly(Guarded<redb::ReadOnlyDatabase>),
}

impl Database {
    /// Opens the database in `file`. With `create`, makes a new one.
    pub(super) fn open(
        dir: &Path,
        file: &Path,
        cache_bytes: usize,
        create: bool,
        open: Option<&OpenFile>,
    ) -> Result<Self, Error> {
        // The caller's code runs outside the guard.
        let storage = open.map(|open| open(file)).transpose().map_err(Error::io(file))?.map(Storage);
        let mut builder = redb::Database::builder();
        builder.set_cache_size(cache_bytes);
        let place = Place::of(dir);
        let opened = place.guarded(|| match storage {
            Some(storage) => builder.create_with_backend(storage),
            None if create => builder.create(file),
            None => builder.open(file),
        });
        Ok(Self::Whole(Guarded::new(&place, opened.map_err(|f| f.of_opening(dir))?)))
    }

    /// Opens the database in `file` for reading. A database that was not closed must be repaired first, and is opened
    /// as by [`Self::open`].
    pub(super) fn open_to_read(dir: &Path, file: &Path, cache_bytes: usize) -> Result<Self, Error> {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(cache_bytes);
        let place = Place::of(dir);
        match place.guarded(|| builder.open_read_only(file)) {
            Ok(database) => Ok(Self::ReadOnly(Guarded::new(&place, database))),
            Err(Fault::Redb(redb::Error::RepairAborted)) => Self::open(dir, file, cache_bytes, false, None),
            Err(fault) => Err(fault.of_opening(dir)),
        }
    }

    /// True if a read or write of the file has failed. Every further one then fails, until the database is opened
    /// again.
    pub(super) fn has_failed(&self) -> bool {
        match self {
            Self::Whole(held) => held.has_failed(),
            Self::ReadOnly(held) => held.has_failed(),
        }
    }

    /// Closes the file, so that it can be opened again. Later calls fail.
    pub(super) fn close(&mut self) {
        match self {
            Self::Whole(held) => held.close(),
            Self::ReadOnly(held) => held.close(),
        }
    }

    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::Corrupt`], if an earlier call of this database has panicked.
    pub(super) fn check_whole(&self) -> Result<(), Error> {
        self.whole().map(drop)
    }

    fn whole(&self) -> Result<&Guarded<redb::Database>, Error> {
        match self {
            Self::Whole(held) => held.place.check().map(|()| held),
            Self::ReadOnly(held) => Err(Error::ReadOnly(held.dir().into())),
        }
    }

    fn whole_mut(&mut self) -> Result<&mut Guarded<redb::Database>, Error> {
        self.whole()?;
        match self {
            Self::Whole(held) => Ok(held),
            Self::ReadOnly(held) => Err(Error::ReadOnly(held.dir().into())),
        }
    }

    /// True if another process has the database open.
    pub(super) fn is_open_elsewhere(file: &Path) -> bool {
        let opened = Place::of(file).guarded(|| redb::Database::open(file).map(drop));
        matches!(opened, Err(Fault::Redb(redb::Error::DatabaseAlreadyOpen)))
    }

    pub(super) fn begin_read(&self) -> Result<Reading, Error> {
        match self {
            Self::Whole(held) => held.hold(ReadableDatabase::begin_read).map(Reading).map_err(|f| f.of(held.dir())),
            Self::ReadOnly(held) => held.hold(ReadableDatabase::begin_read).map(Reading).map_err(|f| f.of(held.dir())),
        }
    }

    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::Corrupt`], also if an earlier call of this database has panicked.
    pub(super) fn begin_write(&self) -> Result<Writing, Error> {
        let held = self.whole()?;
        let begun = held.hold(|database| {
            let mut transaction = database.begin_write()?;
            // With this, opening the file after a crash takes milliseconds instead of a walk through the whole file.
            transaction.set_quick_repair(true);
            Ok::<_, redb::TransactionError>(transaction)
        });
        begun.map(Writing).map_err(|f| f.of(held.dir()))
    }

    /// Checks the checksums of the whole database. False if its bookkeeping had to be repaired.
    pub(super) fn check_integrity(&mut self) -> Result<bool, Error> {
        self.whole_mut()?.call_mut(redb::Database::check_integrity)
    }

    /// Moves pages together, so that the file shrinks. Does nothing while a view is open.
    pub(super) fn compact(&mut self) -> Result<(), Error> {
        self.whole_mut()?.call_mut(|d| match d.compact() {
            Err(redb::CompactionError::Storage(e)) => Err(e),
            _ => Ok(()),
        })
    }
}

/// A read transaction.
pub(crate) struct Reading(Guarded<redb::ReadTransaction>);

impl Reading {
    /// # Errors
    /// [`Error::NotAStore`] if the table does not exist.
    pub(super) fn open_table<K: Key, V: Value>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<ReadTable<K, V>, Error> {
        self.0.hold(|t| t.open_table(table)).map(Table::new).map_err(|f| f.of_table(self.0.dir()))
    }
}

impl Reading {
    /// `None` if the database does not have the table.
    pub(super) fn open_table_if_any<K: Key, V: Value>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<Option<ReadTable<K, V>>, Error> {
        match self.0.hold(|t| t.open_table(table)) {
            Ok(held) => Ok(Some(Table::new(held))),
            Err(Fault::Redb(redb::Error::TableDoesNotExist(_))) => Ok(None),
            Err(fault) => Err(fault.of_table(self.0.dir())),
        }
    }

    /// The names of all tables of the database, including those that this program does not know.
    pub(super) fn table_names(&self) -> Result<Vec<String>, Error> {
        self.0.call(|t| {
            let plain = t.list_tables()?.map(|table| table.name().to_owned());
            let multimaps = t.list_multimap_tables()?.map(|table| table.name().to_owned());
            Ok::<_, redb::StorageError>(plain.chain(multimaps).collect())
        })
    }
}

/// A write transaction. Dropping it writes nothing.
pub(crate) struct Writing(Guarded<redb::WriteTransaction>);

impl Writing {
    /// Creates the table if it does not exist.
    pub(super) fn open_table<K: Key, V: Value>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<WriteTable<'_, K, V>, Error> {
        self.0.hold(|t| t.open_table(table)).map(Table::new).map_err(|f| f.of_table(self.0.dir()))
    }

    pub(super) fn commit(self) -> Result<(), Error> {
        self.0.place.check()?;
        self.0.give_up(redb::WriteTransaction::commit)
    }

    pub(super) fn abort(self) -> Result<(), Error> {
        self.0.give_up(redb::WriteTransaction::abort)
    }
}

/// A key of a table, which can be copied out of the database.
pub(crate) trait Key: redb::Key + Send + 'static {
    type Owned;
    fn owned(key: Self::SelfType<'_>) -> Self::Owned;

    /// True if these are the bytes of a key.
    fn is_key(bytes: &[u8]) -> bool {
        Self::fixed_width() == Some(bytes.len())
    }
}

impl Key for &'static str {
    type Owned = String;
    fn owned(key: &str) -> String {
        key.into()
    }

    fn is_key(bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok()
    }
}

impl Key for u64 {
    type Owned = Self;
    fn owned(key: Self) -> Self {
        key
    }
}

impl Key for (u64, u64) {
    type Owned = Self;
    fn owned(key: Self) -> Self {
        key
    }
}

impl Key for (u8, u64, u64) {
    type Owned = Self;
    fn owned(key: Self) -> Self {
        key
    }
}

/// A table in a transaction.
pub(crate) struct Table<T, K, V>(Guarded<T>, PhantomData<fn() -> (K, V)>);

/// A table in a read transaction, which it keeps open.
pub(super) type ReadTable<K, V> = Table<redb::ReadOnlyTable<K, V>, K, V>;
/// A table in a write transaction.
pub(super) type WriteTable<'t, K, V> = Table<redb::Table<'t, K, V>, K, V>;

/// A table of either kind, in terms of redb.
pub(super) trait Readable<K: Key, V: Value + 'static>: ReadableTable<K, V> {}
impl<T: ReadableTable<K, V>, K: Key, V: Value + 'static> Readable<K, V> for T {}

/// A value as bytes.
pub(super) trait Bytes: for<'a> Value<SelfType<'a>: AsRef<[u8]>> + 'static {}
impl<V: for<'a> Value<SelfType<'a>: AsRef<[u8]>> + 'static> Bytes for V {}

impl<T, K, V> Table<T, K, V> {
    fn new(held: Guarded<T>) -> Self {
        Self(held, PhantomData)
    }
}

impl<T: Readable<K, V>, K: Key, V: Bytes> Table<T, K, V> {
    pub(super) fn get(&self, key: K::SelfType<'_>) -> Result<Option<Vec<u8>>, Error> {
        self.0.call(|t| Ok::<_, redb::StorageError>(t.get(key)?.map(|v| v.value().as_ref().to_vec())))
    }

    /// The value of the greatest key in a range.
    pub(super) fn last<'a>(&self, range: impl RangeBounds<K::SelfType<'a>> + 'a) -> Result<Option<Vec<u8>>, Error> {
        self.0.call(|t| {
            let last = t.range(range)?.next_back().transpose()?;
            Ok::<_, redb::StorageError>(last.map(|(_, v)| v.value().as_ref().to_vec()))
        })
    }

    /// All entries, in ascending order of their keys.
    pub(super) fn entries(&self) -> Result<Entries<'_, K, V>, Error> {
        self.0.hold(ReadableTable::iter).map(Entries).map_err(|f| f.of(self.0.dir()))
    }

    /// The entries of a range of keys, in ascending order.
    pub(super) fn range<'a>(&self, range: impl RangeBounds<K::SelfType<'a>> + 'a) -> Result<Entries<'_, K, V>, Error> {
        self.0.hold(|t| t.range(range)).map(Entries).map_err(|f| f.of(self.0.dir()))
    }
}

impl<K: Key, V: Value> WriteTable<'_, K, V> {
    pub(super) fn insert(&mut self, key: K::SelfType<'_>, value: V::SelfType<'_>) -> Result<(), Error> {
        self.0.call_mut(|t| t.insert(key, value).map(drop))
    }

    pub(super) fn remove(&mut self, key: K::SelfType<'_>) -> Result<(), Error> {
        self.0.call_mut(|t| t.remove(key).map(drop))
    }
}

/// Entries of a table, with copies of their values.
pub(super) struct Entries<'a, K: Key, V: Value + 'static>(Guarded<redb::Range<'a, K, V>>);

impl<K: Key, V: Bytes> Iterator for Entries<'_, K, V> {
    type Item = Result<(K::Owned, Vec<u8>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.0.call_mut(|range| {
            let entry = range.next().transpose()?;
            Ok::<_, redb::StorageError>(entry.map(|(k, v)| (K::owned(k.value()), v.value().as_ref().to_vec())))
        });
        next.transpose()
    }
}

/// The bytes of a key and of its value.
pub(super) type RawEntry = (Vec<u8>, Vec<u8>);
/// The entries of a table, in ascending order of the keys. They keep their transaction open.
pub(super) type RawEntries = Box<dyn Iterator<Item = Result<RawEntry, Error>> + Send>;

/// A table with any type of keys, by the bytes of its keys and values. Numbers are little-endian, several numbers
/// follow each other, and text is UTF-8.
pub(super) trait AnyTable {
    /// Its name.
    fn title(&self) -> &str;
    /// True if `key` is a key of this table, and comes after `last`, which must be a key too.
    fn is_next(&self, last: Option<&[u8]>, key: &[u8]) -> bool;
    /// Number of entries in a transaction, and all entries. `None` if the database does not have the table.
    fn read(&self, read: &Reading) -> Result<Option<(u64, RawEntries)>, Error>;
    /// The table in a write transaction. Creates the table if it does not exist.
    fn write<'t>(&self, write: &'t Writing) -> Result<Box<dyn AnyWriteTable + 't>, Error>;
}

/// A table in a write transaction, by the bytes of its keys and values.
pub(super) trait AnyWriteTable {
    /// Returns false if `key` is not a key of this table.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error>;
}

impl<K: Key> AnyTable for TableDefinition<'static, K, &'static [u8]> {
    fn title(&self) -> &str {
        self.name()
    }

    fn is_next(&self, last: Option<&[u8]>, key: &[u8]) -> bool {
        K::is_key(key) && last.is_none_or(|last| K::compare(last, key).is_lt())
    }

    fn read(&self, read: &Reading) -> Result<Option<(u64, RawEntries)>, Error> {
        let Some(table) = read.open_table_if_any(*self)? else { return Ok(None) };
        let len = table.0.call(ReadableTableMetadata::len)?;
        let range = table.0.hold(|t| t.range::<K::SelfType<'_>>(..)).map_err(|f| f.of(table.0.dir()))?;
        Ok(Some((len, Box::new(Raw(range)))))
    }

    fn write<'t>(&self, write: &'t Writing) -> Result<Box<dyn AnyWriteTable + 't>, Error> {
        Ok(Box::new(write.open_table(*self)?))
    }
}

impl<K: Key> AnyWriteTable for WriteTable<'_, K, &'static [u8]> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        if !K::is_key(key) {
            return Ok(false);
        }
        self.0.call_mut(|t| t.insert(K::from_bytes(key), value).map(drop))?;
        Ok(true)
    }
}

/// Entries of a table as bytes.
struct Raw<K: Key>(Guarded<redb::Range<'static, K, &'static [u8]>>);

impl<K: Key> Iterator for Raw<K> {
    type Item = Result<RawEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.0.call_mut(|range| {
            let entry = range.next().transpose()?;
            Ok::<_, redb::StorageError>(
                entry.map(|(k, v)| (K::as_bytes(&k.value()).as_ref().to_vec(), v.value().to_vec())),
            )
        });
        next.transpose()
    }
}

/// A database in memory.
#[cfg(test)]
pub(super) fn in_memory() -> Database {
    let made = redb::Database::builder().create_with_backend(redb::backends::InMemoryBackend::new());
    Database::Whole(Guarded::new(&Place::of(Path::new("memory")), made.expect("a database")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No source file below `dir` except this one names the database's crate.
    fn check(dir: &Path) {
        for entry in std::fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry").path()) {
            if entry.is_dir() {
                check(&entry);
            } else if !entry.ends_with("store/database.rs") {
                let text = std::fs::read_to_string(&entry).expect("text");
                assert!(!text.contains("redb::"), "{} calls the database past its guard", entry.display());
            }
        }
    }

    #[test]
    fn no_other_module_calls_the_database() {
        check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    }

    #[test]
    fn a_panic_is_an_error_and_ends_writing() {
        let database = in_memory();
        let error = database
            .whole()
            .expect("one to write")
            .call(|_| -> Result<(), redb::Error> { panic!("page {}", 7) })
            .expect_err("a panic");
        assert_eq!(error.to_string(), "the store in memory is damaged: page 7");
        assert!(!in_database());
        assert!(database.begin_read().is_ok());
        assert!(matches!(database.begin_write().err(), Some(Error::Corrupt { what, .. }) if what == "page 7"));
    }
}

//! Reading a backup, and making a store from it.

use std::io::{ErrorKind, Read};
use std::path::Path;

use evergrove_jobs::Key;
use evergrove_jobs::objects::Objects;
use evergrove_verifier::wire::Reader;

use super::backup::{BACKUP_MAGIC, BLOCK, BackupError, BackupHead, Chain, PROOF_MAX, VALUE_MAX, VERSION, kind};
use super::create::{Site, sync};
use super::database::{AnyTable, AnyWriteTable, Writing};
use super::layout::{OBJECTS, TABLES, meta};
use super::{Options, Store, reserve};
use crate::Error;

/// Reads a backup. Checks all bytes of the reader before it uses them.
pub struct BackupReader<R> {
    head: BackupHead,
    blocks: Blocks<R>,
}

/// A part of a backup.
enum Part {
    /// A proof under its key.
    Proof(Key, Vec<u8>),
    /// The table of the entries that follow.
    Table(String),
    /// Key and value of an entry.
    Entry(Vec<u8>, Vec<u8>),
    /// The end, with the numbers of entries and proofs.
    End(u64, u64),
}

impl<R: Read> BackupReader<R> {
    /// Reads the description of a backup, in its first block.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn new(from: R) -> Result<Self, BackupError> {
        let mut blocks = Blocks { from, chain: Chain::default(), block: Vec::new(), at: 0, offset: 0 };
        let start = blocks.read(6)?;
        if !start.starts_with(&BACKUP_MAGIC[..start.len().min(4)]) || start.is_empty() {
            return Err(BackupError::Foreign);
        }
        match start[..] {
            [_, _, _, _, low, high] if [low, high] == VERSION.to_le_bytes() => {}
            [_, _, _, _, low, high] => return Err(BackupError::Version { found: u16::from_le_bytes([low, high]) }),
            _ => return Err(BackupError::CutOff(blocks.offset)),
        }
        if blocks.byte()? != kind::HEAD {
            return Err(BackupError::Content("it does not begin with what it is of".into()));
        }
        let head = blocks.take(BackupHead::BYTES)?;
        Ok(Self { head: BackupHead::read(&mut Reader::new(&head))?, blocks })
    }

    /// The description of the backup.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }

    /// Reads the whole backup: checks the checksums, the order of the parts and their numbers, and keeps nothing. Calls
    /// `read` with the number of bytes read so far. Returns the description, with the number of proofs in the backup,
    /// and the length of the backup in bytes.
    ///
    /// Only [`Store::restore`] checks whether the rows are those of the commitment.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn verify(mut self, read: &mut dyn FnMut(u64)) -> Result<(BackupHead, u64), BackupError> {
        let proofs = self.each(read, &mut |_| Ok(())).map_err(|e| match e {
            Error::Backup(e) => e,
            // The closure never fails, so other errors do not occur.
            e => BackupError::Content(e.to_string()),
        })?;
        Ok((BackupHead { proofs, ..self.head }, self.blocks.offset))
    }

    /// Passes every part except the end to `take`, and checks that nothing follows the end. Returns the number of
    /// proofs.
    fn each(
        &mut self,
        read: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Part) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut order = Order { head: self.head, tables: &TABLES, table: None, last: None, entries: 0, proofs: 0 };
        let mut told = 0;
        loop {
            let part = self.part()?;
            order.check(&part)?;
            if let Part::End(..) = part {
                self.blocks.end()?;
                read(self.blocks.offset);
                return Ok(order.proofs);
            }
            take(part)?;
            if self.blocks.offset != told {
                told = self.blocks.offset;
                read(told);
            }
        }
    }

    fn part(&mut self) -> Result<Part, BackupError> {
        let blocks = &mut self.blocks;
        let kind = blocks.byte()?;
        Ok(match kind {
            kind::PROOF => {
                let key = Key(blocks.array()?);
                let len = bounded(u32::from_le_bytes(blocks.array()?), PROOF_MAX, "a proof")?;
                Part::Proof(key, blocks.take(len)?)
            }
            kind::TABLE => {
                let len = blocks.byte()?;
                let name = String::from_utf8(blocks.take(len.into())?);
                Part::Table(name.map_err(|_| BackupError::Content("the name of a table is not text".into()))?)
            }
            kind::ENTRY => {
                let key = blocks.byte()?;
                let len = bounded(u32::from_le_bytes(blocks.array()?), VALUE_MAX, "the value of an entry")?;
                Part::Entry(blocks.take(key.into())?, blocks.take(len)?)
            }
            kind::END => Part::End(u64::from_le_bytes(blocks.array()?), u64::from_le_bytes(blocks.array()?)),
            _ => return Err(BackupError::Content(format!("a record of kind {kind}"))),
        })
    }
}

/// A length of at most `max`.
fn bounded(len: u32, max: u32, what: &str) -> Result<usize, BackupError> {
    if len > max {
        return Err(BackupError::Content(format!("{what} has {len} bytes, at most {max} are read")));
    }
    Ok(len as usize)
}

/// The parts that may come next in a backup.
struct Order {
    head: BackupHead,
    /// Tables that have not come yet.
    tables: &'static [&'static dyn AnyTable],
    table: Option<&'static dyn AnyTable>,
    /// The last key of the table, or of the proofs before the first table.
    last: Option<Vec<u8>>,
    entries: u64,
    proofs: u64,
}

impl Order {
    /// Checks that a part may come here. Allows at most as many entries and proofs as the head names.
    fn check(&mut self, part: &Part) -> Result<(), BackupError> {
        let content = |what: String| Err(BackupError::Content(what));
        match part {
            Part::Proof(Key(key), _) => {
                let ascends = self.last.as_ref().is_none_or(|last| last[..] < key[..]);
                if self.table.is_some() || !ascends {
                    return content(format!("proof {} comes too late", Key(*key)));
                }
                self.proofs += 1;
                self.last = Some(key.to_vec());
                if self.proofs > self.head.proofs {
                    return content(format!("it has more proofs than the {} that it names", self.head.proofs));
                }
            }
            Part::Table(name) => match self.tables.split_first() {
                Some((next, rest)) if next.title() == name => {
                    (self.table, self.tables, self.last) = (Some(*next), rest, None);
                }
                Some((next, _)) => {
                    return content(format!("the table {name:?} comes where {:?} belongs", next.title()));
                }
                None => return content(format!("the table {name:?} comes after the last one")),
            },
            Part::Entry(key, _) => {
                let Some(table) = self.table else { return content("an entry comes before the first table".into()) };
                if !table.is_next(self.last.as_deref(), key) {
                    let what = format!("table {:?}: a key of {} bytes, expected a later key", table.title(), key.len());
                    return content(what);
                }
                self.entries += 1;
                self.last = Some(key.clone());
                if self.entries > self.head.entries {
                    return content(format!("it has more entries than the {} that it names", self.head.entries));
                }
            }
            Part::End(entries, proofs) => {
                if let Some(missing) = self.tables.first() {
                    return content(format!("the table {:?} is missing", missing.title()));
                }
                let found = (self.entries, self.proofs);
                if found != (*entries, *proofs) || self.entries != self.head.entries {
                    let (entries, proofs) = found;
                    return content(format!("{entries} entries and {proofs} proofs, and other numbers are noted"));
                }
            }
        }
        Ok(())
    }
}

/// The content of blocks with correct checksums.
struct Blocks<R> {
    from: R,
    chain: Chain,
    /// The content of the last block. Bytes before `at` are used.
    block: Vec<u8>,
    at: usize,
    /// Number of bytes read.
    offset: u64,
}

impl<R: Read> Blocks<R> {
    /// The next `n` bytes of the file, or fewer at its end. Allocates no more than the file has.
    fn read(&mut self, n: usize) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        (&mut self.from).take(n as u64).read_to_end(&mut bytes).map_err(|e| match e.kind() {
            // The connection was broken off.
            ErrorKind::UnexpectedEof => BackupError::CutOff(self.offset),
            _ => BackupError::Read(e),
        })?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    /// Reads the next block. False at the end of the file.
    fn next(&mut self) -> Result<bool, BackupError> {
        let start = self.offset;
        let head = self.read(36)?;
        if head.is_empty() {
            return Ok(false);
        }
        let Some((len, checksum)) = head.split_first_chunk().filter(|_| head.len() == 36) else {
            return Err(BackupError::CutOff(self.offset));
        };
        let len = u32::from_le_bytes(*len) as usize;
        if !(1..=BLOCK).contains(&len) {
            return Err(BackupError::Damaged(start));
        }
        if (1..BLOCK).contains(&self.block.len()) {
            return Err(BackupError::Content(format!("a block of {} bytes is not the last one", self.block.len())));
        }
        let content = self.read(len)?;
        if content.len() < len {
            return Err(BackupError::CutOff(self.offset));
        }
        if self.chain.next(&content) != checksum {
            return Err(BackupError::Damaged(start));
        }
        (self.block, self.at) = (content, 0);
        Ok(true)
    }

    /// The next `n` bytes of the content. Allocates no more than the file has.
    fn take(&mut self, n: usize) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        while bytes.len() < n {
            if self.at == self.block.len() && !self.next()? {
                return Err(BackupError::CutOff(self.offset));
            }
            let rest = &self.block[self.at..];
            let some = &rest[..rest.len().min(n - bytes.len())];
            bytes.extend_from_slice(some);
            self.at += some.len();
        }
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BackupError> {
        let mut out = [0; N];
        out.copy_from_slice(&self.take(N)?);
        Ok(out)
    }

    fn byte(&mut self) -> Result<u8, BackupError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Checks that nothing follows.
    fn end(&mut self) -> Result<(), BackupError> {
        if self.at < self.block.len() {
            return Err(BackupError::Content("records follow the last one".into()));
        }
        let end = self.offset;
        if self.read(1)?.is_empty() { Ok(()) } else { Err(BackupError::Trailing(end)) }
    }
}

impl Store {
    /// Makes a store from a backup in `dir`, which must not exist or must be empty. Calls `read` with the number of
    /// bytes of the backup read so far.
    ///
    /// The store is built beside `dir` and takes its place in one step. Before that, the whole backup is read, each
    /// checksum must be right, and the store must have the epoch and the commitment that the backup names. With
    /// `check`, batches, their members and requests are read too, and every epoch's root and every row, value and node
    /// of the current epoch are computed again, as by [`Store::copy_to`]: about 2 permutations per filled slot.
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Exists`], [`Error::NotEmpty`], [`Error::Io`]; [`Error::Corrupt`] if the store was
    /// damaged when it was backed up. After each of these errors `dir` is unchanged. [`Error::Restored`] if the store
    /// is in its place, but cannot be synced or opened there.
    pub fn restore<R: Read>(
        mut backup: BackupReader<R>,
        dir: &Path,
        check: bool,
        read: &mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        let (site, place) = Site::beside(dir)?;
        // The database comes first: its lock tells other processes that the site is in use.
        let database = Options::default().open_database(dir, &site.file(), true)?;
        let folder = site.dir().join(OBJECTS);
        let objects = Objects::local(folder.clone())?;
        let write = database.begin_write()?;
        {
            let mut table: Option<Box<dyn AnyWriteTable + '_>> = None;
            backup.each(read, &mut |part| {
                match part {
                    Part::Proof(key, bytes) => drop(objects.put(&key, &bytes)?),
                    Part::Table(name) => table = Some(open(&write, &name)?),
                    Part::Entry(key, value) => {
                        let known = table.as_mut().map(|table| table.insert(&key, &value)).transpose()?;
                        if known != Some(true) {
                            let what = format!("an entry with a key of {} bytes where none is", key.len());
                            return Err(BackupError::Content(what).into());
                        }
                    }
                    Part::End(..) => {}
                }
                Ok(())
            })?;
        }
        write.commit()?;
        // The lock is held until the store is in its place. Without it, other processes consider the site abandoned.
        let store = Self::of_database(site.dir(), &Options::default(), |_| Ok(database)).map_err(|e| match e {
            Error::NotAStore(_) => Error::Backup(BackupError::Content("its tables are not those of a store".into())),
            Error::Corrupt { what, .. } => Error::corrupt(dir, what),
            e => e,
        })?;
        let (named, found) = (backup.head.epoch, store.epoch()?);
        if named != found {
            let (named, found) = (Box::new(named), Box::new(found));
            return Err(BackupError::Commitment { named, found }.into());
        }
        let oldest = store.read_number(&store.begin_read()?, meta::OLDEST)?;
        if oldest != backup.head.oldest {
            let what = format!("it names {} as the oldest epoch, and holds {oldest}", backup.head.oldest);
            return Err(BackupError::Content(what).into());
        }
        if check {
            // Fails if a record names an unknown profile or class.
            store.batches()?;
            if let Some(what) = store.check_content()? {
                return Err(Error::corrupt(dir, what));
            }
        }
        for folder in [folder.join("proofs"), folder] {
            if folder.exists() {
                sync(&folder)?;
            }
        }
        // Opening the store would make it for this process's user.
        reserve::keep(site.dir());
        sync(site.dir())?;
        site.become_dir(&place)?;
        drop(store);
        // `dir` may be a link, or a name that still leads to the replaced directory.
        Self::open(&place).map_err(Error::restored(dir))
    }
}

/// Opens a table by its name, for writing.
fn open<'t>(write: &'t Writing, name: &str) -> Result<Box<dyn AnyWriteTable + 't>, Error> {
    let table = TABLES.iter().find(|table| table.title() == name);
    table.ok_or_else(|| BackupError::Content(format!("the table {name:?} is unknown")))?.write(write)
}

impl<R> std::fmt::Debug for BackupReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupReader").field("head", &self.head).finish_non_exhaustive()
    }
}

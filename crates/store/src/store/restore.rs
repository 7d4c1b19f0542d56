//! Reading a backup, and making a store of it.

use std::io::{ErrorKind, Read};
use std::path::Path;

use evergrove_jobs::Key;
use evergrove_jobs::objects::Objects;
use evergrove_verifier::wire::Reader;

use super::backup::{BACKUP_MAGIC, BLOCK, BackupError, BackupHead, Chain, PROOF_MAX, VALUE_MAX, VERSION, kind};
use super::create::{Site, sync};
use super::database::{AnyTable, AnyWriteTable, Writing};
use super::layout::{OBJECTS, TABLES, meta};
use super::{Options, Store};
use crate::Error;

/// Reads a backup. Each byte that it takes from the reader is checked before it is used.
pub struct BackupReader<R> {
    head: BackupHead,
    blocks: Blocks<R>,
}

/// A part of a backup.
enum Part {
    /// A proof under its key.
    Proof(Key, Vec<u8>),
    /// The entries that follow are those of this table.
    Table(String),
    /// Key and value.
    Entry(Vec<u8>, Vec<u8>),
    /// There are no more, and these are the numbers of entries and proofs.
    End(u64, u64),
}

impl<R: Read> BackupReader<R> {
    /// Reads what a backup says of itself, in its first block.
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

    /// What the backup says of itself.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }

    /// Reads all of it: checksums, the order of the parts and their numbers. Keeps nothing of it. `read` is told how many bytes have been read.
    /// Gives what the backup says of itself, with the number of proofs that are in it, and its length.
    ///
    /// Whether the rows are those of the commitment is found by [`Store::restore`] alone.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn verify(mut self, read: &mut dyn FnMut(u64)) -> Result<(BackupHead, u64), BackupError> {
        let proofs = self.each(read, &mut |_| Ok(())).map_err(|e| match e {
            Error::Backup(e) => e,
            // No part fails here.
            e => BackupError::Content(e.to_string()),
        })?;
        Ok((BackupHead { proofs, ..self.head }, self.blocks.offset))
    }

    /// Gives every part but the end to `take`, and finds that the backup ends with the last one. Gives the number of proofs.
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

/// A length that is not above the greatest one.
fn bounded(len: u32, max: u32, what: &str) -> Result<usize, BackupError> {
    if len > max {
        return Err(BackupError::Content(format!("{what} has {len} bytes, at most {max} are read")));
    }
    Ok(len as usize)
}

/// What may come next in a backup.
struct Order {
    head: BackupHead,
    /// Tables that are still to come.
    tables: &'static [&'static dyn AnyTable],
    table: Option<&'static dyn AnyTable>,
    /// The last key of the table, or of the proofs before the first table.
    last: Option<Vec<u8>>,
    entries: u64,
    proofs: u64,
}

impl Order {
    /// Finds that a part may come here. There are never more entries and proofs than the head names.
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

/// The content of blocks whose checksums are right.
struct Blocks<R> {
    from: R,
    chain: Chain,
    /// The content of the last block, used up to `at`.
    block: Vec<u8>,
    at: usize,
    /// Bytes that have been read.
    offset: u64,
}

impl<R: Read> Blocks<R> {
    /// The next `n` bytes of the file, fewer at its end. No more is allocated than is there.
    fn read(&mut self, n: usize) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        (&mut self.from).take(n as u64).read_to_end(&mut bytes).map_err(|e| match e.kind() {
            // Of a connection that was broken off.
            ErrorKind::UnexpectedEof => BackupError::CutOff(self.offset),
            _ => BackupError::Read(e),
        })?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    /// Reads the next block; false at the end of the file.
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

    /// The next `n` bytes of the content. No more is allocated than is there.
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

    /// Finds that nothing follows.
    fn end(&mut self) -> Result<(), BackupError> {
        if self.at < self.block.len() {
            return Err(BackupError::Content("records follow the last one".into()));
        }
        let end = self.offset;
        if self.read(1)?.is_empty() { Ok(()) } else { Err(BackupError::Trailing(end)) }
    }
}

impl Store {
    /// Makes a store of a backup in `dir`, which does not exist or is empty. `read` is told how many bytes of the backup have been read.
    ///
    /// The store is built beside `dir` and takes its place in one step, after the whole backup was read and each of its checksums was
    /// right, and after the store was found to be in the epoch that the backup names, with its commitment. With `check`, also the records of
    /// batches are read, and every epoch's root, and every row, value and node of the current epoch are computed again, as by
    /// [`Store::copy_to`]: about 2 permutations per filled slot.
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Exists`], [`Error::NotEmpty`], [`Error::Io`]; [`Error::Corrupt`] when the store was damaged that the backup is of.
    /// In each case `dir` is what it was. [`Error::Restored`] when the store got its place and cannot be synced or opened there.
    pub fn restore<R: Read>(
        mut backup: BackupReader<R>,
        dir: &Path,
        check: bool,
        read: &mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        let (site, place) = Site::beside(dir)?;
        // The database comes first: by its lock others see that somebody works here.
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
        // The lock is held until the store is in its place: others take the site for abandoned without it.
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
        sync(site.dir())?;
        site.become_dir(&place)?;
        drop(store);
        // `dir` may be a link, or a name that leads to what was there before.
        Self::open(&place).map_err(Error::restored(dir))
    }
}

/// A table by its name, to write.
fn open<'t>(write: &'t Writing, name: &str) -> Result<Box<dyn AnyWriteTable + 't>, Error> {
    let table = TABLES.iter().find(|table| table.title() == name);
    table.ok_or_else(|| BackupError::Content(format!("the table {name:?} is unknown")))?.write(write)
}

impl<R> std::fmt::Debug for BackupReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupReader").field("head", &self.head).finish_non_exhaustive()
    }
}

//! Reading a backup, and making a store of it.

use std::io::{ErrorKind, Read};
use std::path::Path;

use evergrove_jobs::Key;
use evergrove_jobs::objects::Objects;
use evergrove_verifier::wire::Reader;

use super::backup::{BACKUP_MAGIC, BLOCK, BackupError, BackupHead, Chain, VERSION, kind};
use super::create::{Site, sync};
use super::database::{AnyWriteTable, Writing};
use super::layout::{OBJECTS, TABLES};
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
    /// Gives the length of the backup.
    ///
    /// Whether the rows are those of the commitment is found by [`Store::restore`] alone.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn verify(mut self, read: &mut dyn FnMut(u64)) -> Result<u64, BackupError> {
        self.each(read, &mut |_| Ok(())).map_err(|e| match e {
            Error::Backup(e) => e,
            // No part fails here.
            e => BackupError::Content(e.to_string()),
        })
    }

    /// Gives every part but the end to `take`, and finds that the backup ends with the last one.
    fn each(
        &mut self,
        read: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Part) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let (mut entries, mut proofs, mut tables) = (0, 0, TABLES.iter());
        let mut told = 0;
        loop {
            let part = self.part()?;
            match &part {
                Part::Proof(..) => proofs += 1,
                Part::Entry(..) => entries += 1,
                Part::Table(name) => {
                    if !tables.by_ref().any(|table| table.title() == name) {
                        return Err(BackupError::Content(format!("the table {name:?} is unknown, or comes too late")))?;
                    }
                }
                Part::End(all_entries, all_proofs) => {
                    if (entries, proofs) != (*all_entries, *all_proofs) || entries != self.head.entries {
                        let what = format!("{entries} entries and {proofs} proofs, and other numbers are noted");
                        return Err(BackupError::Content(what))?;
                    }
                    self.blocks.end()?;
                    read(self.blocks.offset);
                    return Ok(self.blocks.offset);
                }
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
                let len = u32::from_le_bytes(blocks.array()?);
                Part::Proof(key, blocks.take(len as usize)?)
            }
            kind::TABLE => {
                let len = blocks.byte()?;
                let name = String::from_utf8(blocks.take(len.into())?);
                Part::Table(name.map_err(|_| BackupError::Content("the name of a table is not text".into()))?)
            }
            kind::ENTRY => {
                let key = blocks.byte()?;
                let len = u32::from_le_bytes(blocks.array()?);
                Part::Entry(blocks.take(key.into())?, blocks.take(len as usize)?)
            }
            kind::END => Part::End(u64::from_le_bytes(blocks.array()?), u64::from_le_bytes(blocks.array()?)),
            _ => return Err(BackupError::Content(format!("a record of kind {kind}"))),
        })
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
    /// right, and after the store was found to be in the epoch that the backup names, with its commitment. With `check`, also every
    /// epoch's root, and every row, value and node of the current epoch are computed again, as by [`Store::copy_to`]: about 2 permutations per filled slot.
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Exists`], [`Error::NotEmpty`], [`Error::Io`]; [`Error::Corrupt`] when the store was damaged that the backup is of.
    /// In each case `dir` is what it was.
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
                    Part::Table(name) => {
                        // One table of a name can be open at a time.
                        table = None;
                        table = Some(open(&write, &name)?);
                    }
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
        {
            let store = Self::of_database(site.dir(), &Options::default(), |_| Ok(database))?;
            let (named, found) = (backup.head.epoch, store.epoch()?);
            if named != found {
                let (named, found) = (Box::new(named), Box::new(found));
                return Err(BackupError::Commitment { named, found }.into());
            }
            if check && let Some(what) = store.check_content()? {
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
        Self::open(dir)
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

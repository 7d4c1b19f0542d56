//! A copy of a store at one epoch, as a stream of blocks. docs/formats.md specifies the bytes, and `restore.rs` reads
//! them.

use std::collections::VecDeque;
use std::io;
use std::vec;

use evergrove_jobs::Key;
use evergrove_jobs::objects::Objects;
use evergrove_verifier::wire::{DecodeError, Reader, Writer};

use super::Store;
use super::database::RawEntries;
use super::layout::{Epoch, FORMAT, TABLES, meta};
use crate::Error;

/// The first bytes of a backup.
pub const BACKUP_MAGIC: [u8; 4] = *b"EVGS";
/// The version of backups.
pub(super) const VERSION: u16 = 1;
/// Bytes of content in every block except the last.
pub(super) const BLOCK: usize = 1 << 20;
/// Size of the largest proof, in bytes. Stores read no larger ones.
pub(super) const PROOF_MAX: u32 = 64 << 20;
/// Size of the largest value of an entry, in bytes.
pub(super) const VALUE_MAX: u32 = 1 << 30;
/// Number of entries of a table that are read to estimate its size.
const SAMPLE: usize = 256;

/// Kinds of records.
pub(super) mod kind {
    pub(in super::super) const HEAD: u8 = 1;
    pub(in super::super) const PROOF: u8 = 2;
    pub(in super::super) const TABLE: u8 = 3;
    pub(in super::super) const ENTRY: u8 = 4;
    pub(in super::super) const END: u8 = 5;
}

/// Why a file is refused as a backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file begins with other bytes.
    #[error("not a backup of a store")]
    Foreign,
    /// It was written by another version of this program.
    #[error("the backup has version {found}, expected {VERSION}")]
    Version {
        /// Its version.
        found: u16,
    },
    /// The backup is of a store with another format.
    #[error("the backup is of a store of format {found}, expected {FORMAT}")]
    Format {
        /// The store's format.
        found: u32,
    },
    /// The backup ends too early.
    #[error("the backup is cut off after {0} bytes")]
    CutOff(u64),
    /// A block is damaged.
    #[error("the backup is damaged in the block at byte {0}")]
    Damaged(u64),
    /// Bytes follow the end of the backup.
    #[error("the backup ends after {0} bytes, and more follow")]
    Trailing(u64),
    /// The blocks are whole, but this program does not write such content.
    #[error("the backup is not one that this program writes: {0}")]
    Content(String),
    /// The restored store has another epoch or commitment than the backup names.
    #[error("the backup names epoch {} with the commitment {}, and holds epoch {} with {}", .named.number, .named.commitment, .found.number, .found.commitment)]
    Commitment {
        /// The epoch that the backup names.
        named: Box<Epoch>,
        /// The epoch of the restored store.
        found: Box<Epoch>,
    },
    /// Reading the backup failed.
    #[error("the backup cannot be read: {0}")]
    Read(#[source] io::Error),
}

/// The description at the start of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupHead {
    /// The epoch of the copy, with its commitment.
    pub epoch: Epoch,
    /// The oldest epoch that can be read.
    pub oldest: u64,
    /// Number of entries of all tables.
    pub entries: u64,
    /// Number of proofs. Fewer follow if some are pruned meanwhile.
    pub proofs: u64,
    /// Estimated size of the backup, in bytes.
    pub estimate: u64,
}

impl BackupHead {
    /// Bytes of the record.
    pub(super) const BYTES: usize = 4 + 8 + 1 + 32 + 8 + 4 * 8;

    fn write(&self, w: &mut Writer) {
        let Self { epoch, oldest, entries, proofs, estimate } = self;
        w.bytes(&FORMAT.to_le_bytes());
        w.bytes(&epoch.number.to_le_bytes());
        epoch.write(w);
        [oldest, entries, proofs, estimate].iter().for_each(|x| w.bytes(&x.to_le_bytes()));
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, BackupError> {
        let content = |e: DecodeError| BackupError::Content(e.to_string());
        let found = r.u32("format").map_err(content)?;
        if found != FORMAT {
            return Err(BackupError::Format { found });
        }
        let mut fields = || {
            let number = r.u64("epoch")?;
            let epoch = Epoch::read(number, r)?;
            let (oldest, entries) = (r.u64("oldest epoch")?, r.u64("entries")?);
            Ok(Self { epoch, oldest, entries, proofs: r.u64("proofs")?, estimate: r.u64("size")? })
        };
        fields().map_err(content)
    }
}

/// Links the checksums of blocks: each checksum covers a block and all blocks before it.
#[derive(Default)]
pub(super) struct Chain([u8; 32]);

impl Chain {
    /// The checksum of the next block.
    pub(super) fn next(&mut self, content: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("evergrove 2026-11 block of a backup v1");
        hasher.update(&self.0);
        hasher.update(content);
        self.0 = *hasher.finalize().as_bytes();
        self.0
    }
}

/// A copy of a store at one committed epoch, block by block: an iterator over the bytes of the backup.
///
/// It contains everything that a store keeps: the stored proofs, and every table of the database in one read
/// transaction. So epochs, rows, batches and keys of requests match, whatever is committed meanwhile. Nobody waits for
/// a backup. Until it ends or is dropped, the database keeps the pages of its epoch. Pages that later epochs replace
/// cannot be reused, so the database's file grows by the changes committed meanwhile, and [`Store::recover`] cannot
/// open the database again.
///
/// Memory: about 2 MiB, the largest value or proof, and 40 bytes for each proof. A proof that [`Store::prune`] deletes
/// meanwhile is left out, and its batch must be proven again.
pub struct Backup {
    head: BackupHead,
    objects: Objects,
    keys: vec::IntoIter<Key>,
    tables: VecDeque<(&'static str, RawEntries)>,
    /// The table being copied.
    table: Option<RawEntries>,
    entries: u64,
    proofs: u64,
    /// Records that are not in a block yet. They begin at `taken`.
    pending: Vec<u8>,
    taken: usize,
    chain: Chain,
    is_first: bool,
    is_done: bool,
}

impl Store {
    /// Begins a copy of the current state of the store. Reads the names of the proofs, and a few hundred entries of
    /// each table to estimate the size.
    ///
    /// # Errors
    /// [`Error::OldFormat`]; [`Error::Version`] if the database has a table that this program does not know, because a
    /// copy would lack it.
    pub fn backup(&self) -> Result<Backup, Error> {
        self.check_writable()?;
        let read = self.begin_read()?;
        let unknown = read.table_names()?.into_iter().find(|name| TABLES.iter().all(|table| table.title() != name));
        if let Some(name) = unknown {
            let found = format!("{FORMAT} with the unknown table {name:?}");
            return Err(Error::Version { dir: self.dir.clone(), found, known: FORMAT });
        }
        // The proofs that batches of this transaction name were stored before it, so the list has them. Later proofs do
        // no harm.
        let (objects, _) = self.objects().list()?;
        let mut estimate = objects.iter().map(|o| o.bytes + 37).sum::<u64>();
        let (mut entries, mut tables) = (0, VecDeque::new());
        for table in TABLES {
            let Some((len, sample)) = table.read(&read)? else {
                tables.push_back((table.title(), Box::new(std::iter::empty()) as RawEntries));
                continue;
            };
            let (mut sampled, mut bytes) = (0u64, 0);
            for entry in sample.take(SAMPLE) {
                let (key, value) = entry?;
                sampled += 1;
                bytes += (6 + key.len() + value.len()) as u64;
            }
            estimate += (u128::from(bytes) * u128::from(len) / u128::from(sampled.max(1))) as u64;
            entries += len;
            tables.extend(table.read(&read)?.map(|(_, all)| (table.title(), all)));
        }
        let head = BackupHead {
            epoch: self.read_epochs(&read, None)?,
            oldest: self.read_number(&read, meta::OLDEST)?,
            entries,
            proofs: objects.len() as u64,
            estimate: estimate + estimate / BLOCK as u64 * 36,
        };
        Ok(Backup {
            head,
            objects: self.objects().clone(),
            keys: objects.into_iter().map(|o| o.key).collect::<Vec<_>>().into_iter(),
            tables,
            table: None,
            entries: 0,
            proofs: 0,
            pending: Vec::new(),
            taken: 0,
            chain: Chain::default(),
            is_first: true,
            is_done: false,
        })
    }
}

impl Backup {
    /// The description of the backup.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }

    /// Adds the next record. False after the last one.
    fn more(&mut self) -> Result<bool, Error> {
        if self.is_done {
            return Ok(false);
        }
        let mut w = Writer(std::mem::take(&mut self.pending));
        let added = self.add(&mut w);
        self.pending = w.0;
        added.map(|()| true)
    }

    fn add(&mut self, w: &mut Writer) -> Result<(), Error> {
        if let Some(key) = self.keys.next() {
            if let Some(bytes) = self.objects.get(&key)? {
                w.bytes(&[kind::PROOF]);
                w.bytes(&key.0);
                w.bytes(&(bytes.len() as u32).to_le_bytes());
                w.bytes(&bytes);
                self.proofs += 1;
            }
            return Ok(());
        }
        if let Some(table) = &mut self.table {
            match table.next().transpose()? {
                None => self.table = None,
                Some((key, value)) => {
                    let len = u32::try_from(value.len()).ok().filter(|len| *len <= VALUE_MAX);
                    let (Ok(key_len), Some(len)) = (u8::try_from(key.len()), len) else {
                        let what = format!("an entry with a key of {} bytes and {} bytes", key.len(), value.len());
                        return Err(BackupError::Content(what).into());
                    };
                    w.bytes(&[kind::ENTRY, key_len]);
                    w.bytes(&len.to_le_bytes());
                    w.bytes(&key);
                    w.bytes(&value);
                    self.entries += 1;
                }
            }
            return Ok(());
        }
        match self.tables.pop_front() {
            Some((name, entries)) => {
                w.bytes(&[kind::TABLE]);
                w.name(name);
                self.table = Some(entries);
            }
            None => {
                w.bytes(&[kind::END]);
                [self.entries, self.proofs].iter().for_each(|x| w.bytes(&x.to_le_bytes()));
                self.is_done = true;
            }
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut out = Writer::default();
        if std::mem::take(&mut self.is_first) {
            out = Writer::header(BACKUP_MAGIC, VERSION);
            let mut w = Writer(vec![kind::HEAD]);
            self.head.write(&mut w);
            self.pending = w.0;
        }
        if self.pending.len() - self.taken < BLOCK {
            self.pending.drain(..std::mem::take(&mut self.taken));
            while self.pending.len() < BLOCK && self.more()? {}
        }
        let rest = &self.pending[self.taken..];
        let content = &rest[..rest.len().min(BLOCK)];
        if content.is_empty() {
            return Ok(None);
        }
        out.bytes(&(content.len() as u32).to_le_bytes());
        out.bytes(&self.chain.next(content));
        out.bytes(content);
        self.taken += content.len();
        Ok(Some(out.0))
    }
}

impl Iterator for Backup {
    type Item = Result<Vec<u8>, Error>;

    /// The next bytes of the backup, about 1 MiB. Ends after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.block();
        if next.is_err() {
            (self.is_done, self.is_first) = (true, false);
            (self.pending, self.taken) = (Vec::new(), 0);
        }
        next.transpose()
    }
}

impl std::fmt::Debug for Backup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backup").field("head", &self.head).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use evergrove_commit::schema::{Row, Schema};

    use super::*;

    #[test]
    fn every_table_is_part_of_a_backup() {
        let dir = tempfile::tempdir().expect("a directory");
        let value = evergrove_testkit::commit::value(1);
        let rows = [Ok::<_, Error>((0, Row::Raw(value)))];
        let store = Store::create(dir.path(), &Schema::raw(), None, rows).expect("a new store");
        let mut found = store.begin_read().expect("reads").table_names().expect("reads");
        let mut copied: Vec<_> = TABLES.iter().map(|table| table.title().to_owned()).collect();
        found.sort();
        copied.sort();
        assert_eq!(found, copied, "WriteView::new opens a table that TABLES lacks, or the other way round");
    }

    #[test]
    fn blocks_have_one_size_whatever_is_in_them() {
        let (dir, objects) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let objects = Objects::local(objects.path().into()).expect("a directory");
        let large: Vec<u8> = (0..3 * BLOCK + 5).map(|i| (i / 7) as u8).collect();
        objects.put(&Key([1; 32]), &large).expect("writes");
        let rows = [Ok::<_, Error>((0, Row::Raw(evergrove_testkit::commit::value(1))))];
        let mut store = Store::create(dir.path(), &Schema::raw(), None, rows).expect("a new store");
        store.objects = objects;
        let blocks: Vec<_> = store.backup().expect("begins").map(|block| block.expect("reads").len()).collect();
        let (last, full) = blocks.split_last().expect("blocks");
        assert_eq!(full, [6 + 36 + BLOCK, 36 + BLOCK, 36 + BLOCK]);
        let whole: Vec<u8> = store.backup().expect("begins").flat_map(|block| block.expect("reads")).collect();
        assert!(*last < BLOCK && whole.len() == blocks.iter().sum::<usize>());
        let estimate = store.backup().expect("begins").head().estimate as usize;
        assert!(whole.len().abs_diff(estimate) < whole.len() / 100, "{} bytes, {estimate} estimated", whole.len());
        let reader = crate::BackupReader::new(&whole[..]).expect("begins");
        let restored = Store::restore(reader, &dir.path().join("r"), true, &mut |_| ()).expect("restores");
        assert_eq!(restored.objects().get(&Key([1; 32])).expect("reads"), Some(large));
    }
}

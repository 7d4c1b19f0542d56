//! The batches of a store.

use evergrove_commit::BackendSpec;
use evergrove_commit::schema::Schema;
use evergrove_primitives::Digest;
use evergrove_verifier::{Commitment, NodeKind};

use super::changes::{first_empty, unknown};
use super::database::Reading;
use super::layout::{BATCHES, BackendRecord, BatchRecord, MEMBERS, ProvenRecord};
use super::view::View;
use super::write::{read_members, read_record};
use super::{Epoch, Store};
use crate::Error;

/// Length of the longest name of a batch, in bytes.
const NAME_BYTES: usize = 64;

/// A batch and the state of its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchStatus {
    /// Its name.
    pub name: String,
    /// Number of members. For a batch over all rows, the number of filled slots.
    pub len: u64,
    /// The first member. For a batch over all rows, the first slot.
    pub first: u64,
    /// The last member. For a batch over all rows, the last slot.
    pub last: u64,
    /// The backend that proves it.
    pub backend: BackendSpec,
    /// The epoch since which it has these members.
    pub since: u64,
    /// Its last finished proof.
    pub proven: Option<ProvenAt>,
    /// True if the last proof is for these members and the current commitment.
    pub fresh: bool,
}

/// A finished proof of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenAt {
    /// Number of the proven epoch.
    pub epoch: u64,
    /// Its commitment.
    pub commitment: Commitment,
    /// d, the canonical digest of the members' leaves.
    pub canonical: Digest,
    /// The circuit of the final proof.
    pub kind: NodeKind,
    /// Size of the final proof's file in bytes.
    pub bytes: u64,
    /// Proofs of the whole structure, including the wrap.
    pub total: u64,
    /// Number of bucket proofs in `total`.
    pub buckets: u64,
    /// Content key of the final proof, which is the name of its object.
    pub key: evergrove_jobs::Key,
}

/// The state of a store.
#[derive(Clone, Debug)]
pub struct Status {
    /// The current epoch with its commitment.
    pub epoch: Epoch,
    /// The oldest epoch that can be read.
    pub oldest: u64,
    /// The schema of the table.
    pub schema: Schema,
    /// Size of the database's file in bytes. 0 if it is not a file in the store's directory.
    pub database_bytes: u64,
    /// Number of stored proofs, final ones and those below them.
    pub objects: usize,
    /// Their size in bytes.
    pub object_bytes: u64,
    /// The batches, by name.
    pub batches: Vec<BatchStatus>,
}

impl Store {
    /// The state of the store. Reads no page and no proof.
    pub fn status(&self) -> Result<Status, Error> {
        let space = self.space();
        let (objects, object_bytes) = space.proofs()?;
        let epochs = self.epochs()?;
        let epoch = self.epoch()?;
        Ok(Status {
            epoch,
            oldest: epochs.first().map_or(epoch.number, |e| e.number),
            schema: self.schema().clone(),
            database_bytes: space.database_bytes(),
            objects,
            object_bytes,
            batches: self.batches()?,
        })
    }

    /// Every batch, by name.
    pub fn batches(&self) -> Result<Vec<BatchStatus>, Error> {
        let current = self.epoch()?;
        self.records()?.into_iter().map(|(name, record)| self.status_of(name, &record, &current)).collect()
    }

    /// One batch.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub fn batch(&self, name: &str) -> Result<BatchStatus, Error> {
        let (record, _) = self.record(name)?;
        self.status_of(name.into(), &record, &self.epoch()?)
    }

    /// The members of a batch, in ascending order. For a batch over all rows, the filled slots.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub fn members(&self, name: &str) -> Result<Vec<u64>, Error> {
        let (record, members) = self.record(name)?;
        if record.is_complete() {
            let view = self.view()?;
            return view.vector()?.occupied().collect::<Result<_, _>>().map_err(Error::store(self.dir()));
        }
        Ok(members)
    }

    /// Defines a batch with these members, or checks that it has them. An existing batch keeps its proof if `backend`
    /// made the proof. Proves nothing. If the backend's scheme covers all rows, so does the batch, and `indices` must
    /// be empty.
    ///
    /// # Errors
    /// [`Error::BatchName`], [`Error::EmptyBatch`], [`Error::Duplicate`], [`Error::OutOfRange`], [`Error::EmptySlot`];
    /// [`Error::BatchExists`] if it has other members; [`Error::AllRows`].
    pub fn define_batch(&self, name: &str, indices: &[u64], backend: &BackendSpec) -> Result<(), Error> {
        check_name(name)?;
        let members = members_of(name, indices, backend)?;
        self.write(0, |view, current| {
            let height = current.commitment.height;
            if let Some(index) = members.last().filter(|i| *i >> height != 0) {
                return Err(Error::OutOfRange { index: *index, height });
            }
            let record = match view.batch(name)? {
                None => {
                    if let Some(index) = first_empty(view, &members)? {
                        return Err(Error::EmptySlot { index, batch: Some(name.into()) });
                    }
                    view.put_members(name, &members)?;
                    BatchRecord {
                        backend: BackendRecord::new(backend),
                        len: members.len() as u64,
                        span: members.first().copied().zip(members.last().copied()).unwrap_or_default(),
                        since: current.number,
                        proven: None,
                    }
                }
                Some(old) if view.members(name)? != members || old.is_complete() != members.is_empty() => {
                    return Err(Error::BatchExists { name: name.into(), len: old.len });
                }
                Some(old) if old.backend == BackendRecord::new(backend) => return Ok(((), false)),
                Some(old) => BatchRecord { backend: BackendRecord::new(backend), proven: None, ..old },
            };
            view.put_batch(name, &record)?;
            Ok(((), true))
        })
    }

    /// Removes a batch. The next [`Self::prune`] deletes its proofs.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub fn drop_batch(&self, name: &str) -> Result<(), Error> {
        self.write(0, |view, _| {
            if view.batch(name)?.is_none() {
                return Err(unknown(name, view));
            }
            view.remove_batch(name)?;
            Ok(((), true))
        })
    }

    /// The record and the members of a batch, read in one transaction.
    pub(crate) fn record(&self, name: &str) -> Result<(BatchRecord, Vec<u64>), Error> {
        self.record_in(&self.begin_read()?, name)
    }

    /// The table in the current epoch or in `epoch`, with the current record and members of a batch: all from one
    /// transaction, so that changes that are committed meanwhile do not come between them.
    pub(crate) fn view_of(&self, name: &str, epoch: Option<u64>) -> Result<(View, BatchRecord, Vec<u64>), Error> {
        let read = self.begin_read()?;
        let (record, members) = self.record_in(&read, name)?;
        Ok((self.view_in(&read, epoch)?, record, members))
    }

    fn record_in(&self, read: &Reading, name: &str) -> Result<(BatchRecord, Vec<u64>), Error> {
        match read.open_table(BATCHES)?.get(name)?.zip(read.open_table(MEMBERS)?.get(name)?) {
            Some((record, members)) => {
                let members = read_members(self.dir(), self.format, name, &members)?;
                let record = read_record(self.dir(), self.format, name, &record)?;
                if members.is_empty() != record.is_complete() || members.len() as u64 != record.len {
                    return Err(Error::corrupt(
                        self.dir(),
                        format!("batch {name:?}: member list does not match its record"),
                    ));
                }
                Ok((record, members))
            }
            None => {
                let known = self.records()?.into_iter().map(|(name, _)| name).collect();
                Err(Error::UnknownBatch { name: name.into(), known })
            }
        }
    }

    /// The names in the table of members that have no record.
    pub(crate) fn members_without_record(&self) -> Result<Vec<String>, Error> {
        let read = self.begin_read()?;
        let batches = read.open_table(BATCHES)?;
        let mut without = Vec::new();
        for entry in read.open_table(MEMBERS)?.entries()? {
            let (name, _) = entry?;
            if batches.get(&name)?.is_none() {
                without.push(name);
            }
        }
        Ok(without)
    }

    /// The records of all batches, by name.
    pub(crate) fn records(&self) -> Result<Vec<(String, BatchRecord)>, Error> {
        let batches = self.begin_read()?.open_table(BATCHES)?;
        let record = |entry: Result<(String, Vec<u8>), Error>| {
            let (name, bytes) = entry?;
            let record = read_record(self.dir(), self.format, &name, &bytes)?;
            Ok((name, record))
        };
        batches.entries()?.map(record).collect()
    }

    /// Records a finished proof, unless the members of the batch have changed since the proof's epoch, or the batch has a
    /// proof of a later epoch.
    pub(crate) fn set_proven(
        &self,
        name: &str,
        members: &[u64],
        backend: &BackendRecord,
        proven: &ProvenRecord,
    ) -> Result<(), Error> {
        self.write(0, |view, _| match view.batch(name)? {
            Some(record)
                if record.since <= proven.epoch
                    && !record
                        .proven
                        .as_ref()
                        .is_some_and(|p| record.backend == *backend && p.epoch > proven.epoch)
                    && view.members(name)? == members =>
            {
                let record = BatchRecord { backend: backend.clone(), proven: Some(proven.clone()), ..record };
                view.put_batch(name, &record)?;
                Ok(((), true))
            }
            _ => Ok(((), false)),
        })
    }

    fn status_of(&self, name: String, record: &BatchRecord, current: &Epoch) -> Result<BatchStatus, Error> {
        let corrupt = || Error::corrupt(self.dir(), format!("record of batch {name:?}"));
        let spec = record.backend.spec().ok_or_else(corrupt)?;
        let proven = record.proven.as_ref().map(|p| {
            Some(ProvenAt {
                epoch: p.epoch,
                commitment: p.commitment()?,
                canonical: Digest::from_bytes(&p.canonical).ok()?,
                kind: p.kind()?,
                bytes: p.bytes,
                total: p.total,
                buckets: p.buckets,
                key: evergrove_jobs::Key(p.key),
            })
        });
        let proven = match proven {
            None => None,
            Some(p) => Some(p.ok_or_else(corrupt)?),
        };
        let (len, (first, last)) = if record.is_complete() {
            (current.filled, (0, (1 << current.commitment.height) - 1))
        } else {
            (record.len, record.span)
        };
        Ok(BatchStatus {
            len,
            first,
            last,
            backend: spec,
            since: record.since,
            fresh: proven.as_ref().is_some_and(|p| p.epoch >= record.since && p.commitment == current.commitment),
            proven,
            name,
        })
    }
}

/// The members of a batch of this backend: `indices` in ascending order, or none if the backend covers all rows.
pub(crate) fn members_of(name: &str, indices: &[u64], backend: &BackendSpec) -> Result<Vec<u64>, Error> {
    match (backend.choice.scheme.is_complete(), indices) {
        (true, []) => Ok(Vec::new()),
        (true, _) => Err(Error::AllRows(name.into())),
        _ => sorted(name, indices),
    }
}

/// Sorts members. Refuses an empty list and duplicates.
pub(crate) fn sorted(name: &str, indices: &[u64]) -> Result<Vec<u64>, Error> {
    if indices.is_empty() {
        return Err(Error::EmptyBatch(name.into()));
    }
    let mut members = indices.to_vec();
    members.sort_unstable();
    match members.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(Error::Duplicate(w[0])),
        None => Ok(members),
    }
}

/// Refuses an invalid name of a batch. Names are used in command lines and file names.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let fine = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    let head = name.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if head && name.len() <= NAME_BYTES && name.bytes().all(fine) { Ok(()) } else { Err(Error::BatchName(name.into())) }
}

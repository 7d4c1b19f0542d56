//! Writing one epoch. Everything goes into one transaction of the database, which its owner commits or drops.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evergrove_commit::page::Page;
use evergrove_commit::schema::{Row, Schema};
use evergrove_commit::{PageId, StoreError, StoreMut};
use evergrove_verifier::tree::Value;

use super::database::{Key, ReadTable, Reading, WriteTable, Writing};
use super::layout::{
    BATCHES, BatchRecord, EPOCHS, Epoch, FORMAT, MEMBERS, META, PAGES, REQUESTS, REQUESTS_OF, SLOTS, decode_members,
    encode_members, meta,
};
use super::requests::{corrupt_keys, decode_keys};
use super::v1;
use super::view::{
    PageKey, SlotKey, context, decode_page, join_slot, latest_page, latest_slot, read_value, split_slot,
};
use crate::Error;

/// A view of the epoch that is being written. Reads see earlier writes.
pub(crate) struct WriteView<'t> {
    pub(super) dir: PathBuf,
    /// The epoch being written.
    pub(super) epoch: u64,
    schema: Arc<Schema>,
    meta: WriteTable<'t, &'static str, &'static [u8]>,
    epochs: WriteTable<'t, u64, &'static [u8]>,
    pages: WriteTable<'t, PageKey, &'static [u8]>,
    slots: WriteTable<'t, SlotKey, &'static [u8]>,
    batches: WriteTable<'t, &'static str, &'static [u8]>,
    members: WriteTable<'t, &'static str, &'static [u8]>,
    requests: WriteTable<'t, &'static str, &'static [u8]>,
    requests_of: WriteTable<'t, u64, &'static [u8]>,
}

impl<'t> WriteView<'t> {
    /// Opens all tables. Creates those that do not exist.
    pub(crate) fn new(dir: &Path, epoch: u64, schema: Arc<Schema>, write: &'t Writing) -> Result<Self, Error> {
        Ok(Self {
            dir: dir.into(),
            epoch,
            schema,
            meta: write.open_table(META)?,
            epochs: write.open_table(EPOCHS)?,
            pages: write.open_table(PAGES)?,
            slots: write.open_table(SLOTS)?,
            batches: write.open_table(BATCHES)?,
            members: write.open_table(MEMBERS)?,
            requests: write.open_table(REQUESTS)?,
            requests_of: write.open_table(REQUESTS_OF)?,
        })
    }

    pub(crate) fn put_meta(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.meta.insert(name, bytes)
    }

    /// Makes `epoch` the current one.
    pub(crate) fn put_epoch(&mut self, epoch: &Epoch) -> Result<(), Error> {
        self.epochs.insert(epoch.number, &epoch.encode())?;
        self.put_meta(meta::EPOCH, &epoch.number.to_le_bytes())
    }

    /// True if the slot is filled.
    pub(crate) fn is_filled(&self, index: u64) -> Result<bool, Error> {
        latest_slot(&self.slots, index, self.epoch).map(|s| s.is_some())
    }

    /// Writes a row outside the tree. Returns its value, which must still be put into the tree.
    pub(crate) fn put_row(&mut self, index: u64, row: &Row) -> Result<Value, Error> {
        let refused = |source| Error::Row { index, source };
        let value = self.schema.value(row).map_err(refused)?;
        // In raw mode the value is the row.
        let bytes = if self.schema.is_raw() { Vec::new() } else { self.schema.encode_row(row).map_err(refused)? };
        self.slots.insert((index, self.epoch), &join_slot(&value, &bytes))?;
        Ok(value)
    }

    /// The record of a batch.
    pub(crate) fn batch(&self, name: &str) -> Result<Option<BatchRecord>, Error> {
        self.batches.get(name)?.map(|b| read_record(&self.dir, FORMAT, name, &b)).transpose()
    }

    /// The members of a batch. Empty if the batch does not exist.
    pub(crate) fn members(&self, name: &str) -> Result<Vec<u64>, Error> {
        self.members.get(name)?.map_or(Ok(Vec::new()), |b| read_members(&self.dir, FORMAT, name, &b))
    }

    /// Records the outcome of a request. False if its key already exists.
    pub(crate) fn put_request(&mut self, key: &str, outcome: &[u8]) -> Result<bool, Error> {
        if self.requests.get(key)?.is_some() {
            return Ok(false);
        }
        self.requests.insert(key, outcome)?;
        self.count_requests(|n| n + 1)?;
        Ok(true)
    }

    /// Records which requests are part of an epoch.
    pub(crate) fn put_requests_of(&mut self, epoch: u64, keys: &[u8]) -> Result<(), Error> {
        self.requests_of.insert(epoch, keys)
    }

    /// Forgets the requests of epochs before a time. If there are more than `most`, also forgets those of the oldest
    /// epochs. Keeps entries that cannot be read: they must not stop commits, and `doctor` finds them.
    pub(crate) fn forget_requests(&mut self, before: Duration, most: u64) -> Result<(), Error> {
        let mut count = self.count_requests(|n| n)?;
        let mut old = Vec::new();
        for entry in self.requests_of.entries()? {
            let (epoch, bytes) = entry?;
            let Some((time, keys)) = decode_keys(&bytes) else {
                tracing::error!("the store is damaged: {}", corrupt_keys(epoch));
                continue;
            };
            if time >= before && count <= most {
                break;
            }
            count = count.saturating_sub(keys.len() as u64);
            old.push((epoch, keys.into_iter().map(str::to_owned).collect::<Vec<_>>()));
        }
        for (epoch, keys) in &old {
            keys.iter().try_for_each(|key| self.requests.remove(key))?;
            self.requests_of.remove(*epoch)?;
        }
        if !old.is_empty() {
            self.count_requests(|_| count)?;
        }
        Ok(())
    }

    /// Changes the number of requests. Returns the new number.
    fn count_requests(&mut self, change: impl FnOnce(u64) -> u64) -> Result<u64, Error> {
        let bytes = self.meta.get(meta::REQUESTS)?;
        let before = bytes.and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
        let after = change(before);
        if after != before {
            self.put_meta(meta::REQUESTS, &after.to_le_bytes())?;
        }
        Ok(after)
    }

    pub(crate) fn batch_names(&self) -> Result<Vec<String>, Error> {
        self.batches.entries()?.map(|entry| Ok(entry?.0)).collect()
    }

    pub(crate) fn put_batch(&mut self, name: &str, record: &BatchRecord) -> Result<(), Error> {
        self.batches.insert(name, &record.encode())
    }

    pub(crate) fn put_members(&mut self, name: &str, indices: &[u64]) -> Result<(), Error> {
        self.members.insert(name, &encode_members(indices))
    }

    pub(crate) fn remove_batch(&mut self, name: &str) -> Result<(), Error> {
        self.batches.remove(name)?;
        self.members.remove(name)
    }

    /// Removes versions that no epoch from `oldest` on reads: those of [`Old::find`], or some of them.
    pub(crate) fn remove(&mut self, oldest: u64, old: &[Old]) -> Result<(), Error> {
        for one in old {
            match *one {
                Old::Page(key) => self.pages.remove(key)?,
                Old::Slot(key) => self.slots.remove(key)?,
                Old::Epoch(key) => self.epochs.remove(key)?,
            }
        }
        self.put_meta(meta::OLDEST, &oldest.to_le_bytes())
    }
}

/// An entry that no kept epoch reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Old {
    /// A version of a page.
    Page(PageKey),
    /// A version of a slot.
    Slot(SlotKey),
    /// The record of an epoch.
    Epoch(u64),
}

impl Old {
    /// Everything that no epoch from `oldest` on reads. Scans the tables once.
    pub(crate) fn find(read: &Reading, oldest: u64) -> Result<Vec<Self>, Error> {
        let (epochs, pages, slots) = (read.open_table(EPOCHS)?, read.open_table(PAGES)?, read.open_table(SLOTS)?);
        let mut old: Vec<Self> =
            epochs.range(..oldest)?.map(|e| Ok(Self::Epoch(e?.0))).collect::<Result<_, Error>>()?;
        old.extend(superseded(&pages, |(t, p, e)| ((t, p), e), oldest)?.into_iter().map(Self::Page));
        old.extend(superseded(&slots, |(i, e)| (i, e), oldest)?.into_iter().map(Self::Slot));
        Ok(old)
    }
}

/// Keys of the versions that no epoch from `oldest` on reads: versions with a later version that is at most `oldest`,
/// and empty versions that are at most `oldest`.
fn superseded<K: Key<Owned = K> + Copy, N: PartialEq>(
    table: &ReadTable<K, &'static [u8]>,
    split: impl Fn(K) -> (N, u64),
    oldest: u64,
) -> Result<Vec<K>, Error> {
    let mut out = Vec::new();
    let mut last: Option<K> = None;
    for entry in table.entries()? {
        let (key, bytes) = entry?;
        let (name, epoch) = split(key);
        let before = last.take().filter(|k| split(*k).0 == name);
        if epoch <= oldest {
            out.extend(before);
            if bytes.is_empty() {
                out.push(key);
            } else {
                last = Some(key);
            }
        }
    }
    Ok(out)
}

impl evergrove_commit::Store for WriteView<'_> {
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError> {
        let bytes = latest_page(&self.pages, id, self.epoch).map_err(context)?;
        let decode = |b: Vec<u8>| decode_page(id, &b).map_err(|what| context(Error::corrupt(&self.dir, what)));
        bytes.map(decode).transpose()
    }

    fn value(&self, index: u64) -> Result<Option<Value>, StoreError> {
        read_value(&self.slots, index, self.epoch, &self.dir).map_err(context)
    }
}

impl StoreMut for WriteView<'_> {
    fn put_page(&mut self, id: PageId, page: Option<Page>) -> Result<(), StoreError> {
        let bytes = page.map_or(Vec::new(), |p| p.encode());
        self.pages.insert((id.tier, id.position, self.epoch), &bytes).map_err(context)
    }

    /// Keeps a row that [`WriteView::put_row`] has written with this value.
    fn put_value(&mut self, index: u64, value: Option<Value>) -> Result<(), StoreError> {
        let bytes = match value {
            None => Vec::new(),
            Some(value) => {
                let written = self.slots.get((index, self.epoch)).map_err(context)?;
                if written.is_some_and(|s| split_slot(&s).is_some_and(|(v, _)| v == value)) {
                    return Ok(());
                }
                join_slot(&value, &[])
            }
        };
        self.slots.insert((index, self.epoch), &bytes).map_err(context)
    }
}

/// The record of a batch in a store of this format.
pub(crate) fn read_record(dir: &Path, format: u32, name: &str, bytes: &[u8]) -> Result<BatchRecord, Error> {
    let decoded = if format == v1::FORMAT { v1::batch(bytes) } else { BatchRecord::decode(bytes) };
    decoded.map_err(|e| Error::corrupt(dir, format!("record of batch {name:?}: {e}")))
}

/// The members of a batch in a store of this format.
pub(crate) fn read_members(dir: &Path, format: u32, name: &str, bytes: &[u8]) -> Result<Vec<u64>, Error> {
    let decoded = if format == v1::FORMAT { v1::members(bytes) } else { decode_members(bytes) };
    decoded.ok_or_else(|| Error::corrupt(dir, format!("the members of batch {name:?} are not a list of indices")))
}

#[cfg(test)]
mod tests {
    use super::super::database::{Database, in_memory};
    use super::super::requests::encode_keys;
    use super::*;

    /// A view of epoch 1 of an empty store. It is leaked, so it lives as long as the test.
    fn view() -> WriteView<'static> {
        let database: &'static Database = Box::leak(Box::new(in_memory()));
        let write: &'static Writing = Box::leak(Box::new(database.begin_write().expect("a transaction")));
        WriteView::new(Path::new("memory"), 1, Arc::new(Schema::raw()), write).expect("tables")
    }

    #[test]
    fn keeps_the_laws_of_stores() {
        evergrove_testkit::store::laws(view);
    }

    #[test]
    fn forgets_the_oldest_requests() {
        let mut view = view();
        for (epoch, keys) in [(2, vec!["a", "b"]), (3, vec!["c"]), (5, vec!["d", "e"])] {
            for key in &keys {
                assert!(view.put_request(key, &[7]).expect("writes"));
                assert!(!view.put_request(key, &[8]).expect("reads"), "{key} is there");
            }
            view.put_requests_of(epoch, &encode_keys(Duration::from_secs(100 * epoch), &keys)).expect("writes");
        }
        let left = |view: &WriteView<'_>| {
            view.requests.entries().expect("reads").map(|entry| entry.expect("an entry").0).collect::<String>()
        };
        view.forget_requests(Duration::from_secs(200), 5).expect("writes");
        assert_eq!(left(&view), "abcde");
        view.forget_requests(Duration::from_secs(201), 5).expect("writes");
        assert_eq!(left(&view), "cde");
        // A whole epoch is forgotten if one of its keys is too many.
        view.forget_requests(Duration::ZERO, 2).expect("writes");
        assert_eq!((left(&view).as_str(), view.count_requests(|n| n).expect("reads")), ("de", 2));
        view.forget_requests(Duration::from_secs(501), 2).expect("writes");
        assert_eq!((left(&view).as_str(), view.count_requests(|n| n).expect("reads")), ("", 0));
    }

    #[test]
    fn prunes_what_no_kept_epoch_reads_and_nothing_else() {
        // Epochs in which slot i is written: `true` fills the slot, `false` empties it.
        let history: [&[(u64, bool)]; 6] = [
            &[(1, true)],
            &[(1, true), (3, true), (5, true)],
            &[(2, true), (3, false)],
            &[(1, true), (4, false), (5, true)],
            &[(5, true)],
            &[(1, true), (2, false), (3, false)],
        ];
        let value = |i: usize, epoch: u64| evergrove_testkit::commit::value(100 * i as u64 + epoch);
        for oldest in 1..=5 {
            let database = in_memory();
            let write = database.begin_write().expect("a transaction");
            let mut seen = Vec::new();
            for (i, versions) in history.iter().enumerate() {
                for (epoch, filled) in *versions {
                    let mut view =
                        WriteView::new(Path::new("m"), *epoch, Arc::new(Schema::raw()), &write).expect("tables");
                    view.put_value(i as u64, filled.then(|| value(i, *epoch))).expect("writes");
                }
            }
            let read = |write: &Writing, epoch| -> Vec<_> {
                let view = WriteView::new(Path::new("m"), epoch, Arc::new(Schema::raw()), write).expect("tables");
                (0..6).map(|i| evergrove_commit::Store::value(&view, i).expect("reads")).collect()
            };
            for epoch in oldest..=5 {
                seen.push(read(&write, epoch));
            }
            write.commit().expect("commits");
            let old = Old::find(&database.begin_read().expect("a transaction"), oldest).expect("reads");
            let write = database.begin_write().expect("a transaction");
            let mut view = WriteView::new(Path::new("m"), 5, Arc::new(Schema::raw()), &write).expect("tables");
            view.remove(oldest, &old).expect("prunes");
            let left = view.slots.entries().expect("reads").count();
            drop(view);
            for epoch in oldest..=5 {
                assert_eq!(
                    read(&write, epoch),
                    seen[(epoch - oldest) as usize],
                    "epoch {epoch} after pruning to {oldest}"
                );
            }
            // These versions are left: later ones, and for each filled slot the one that `oldest` reads.
            let later = history.iter().flat_map(|v| v.iter()).filter(|(e, _)| *e > oldest).count();
            assert_eq!(left, later + seen[0].iter().flatten().count());
            write.abort().expect("aborts");
        }
    }
}

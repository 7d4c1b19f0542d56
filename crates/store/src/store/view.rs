//! Reading one epoch.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use evergrove_commit::page::Page;
use evergrove_commit::schema::{Row, Schema};
use evergrove_commit::{PageId, StoreError, Vector};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::tree::Value;
use evergrove_verifier::wire::Multiproof;
use evergrove_verifier::{Commitment, Opening};

use super::database::{ReadTable, Readable, Reading, Table};
use super::layout::{Epoch, PAGES, SLOTS};
use crate::Error;

/// Number of pages above the lowest tier that a view keeps decoded: at most 32 MiB.
const KEPT_PAGES: usize = 4096;
/// Size in bytes of the value at the start of a slot.
pub(crate) const VALUE_BYTES: usize = 32;

pub(crate) type PageKey = (u8, u64, u64);
pub(crate) type SlotKey = (u64, u64);

/// The table in one epoch, whatever is written meanwhile.
///
/// Implements [`evergrove_commit::Store`], so `evergrove-commit` can use it as the store of a vector.
pub struct View {
    dir: PathBuf,
    epoch: Epoch,
    schema: Arc<Schema>,
    pages: ReadTable<PageKey, &'static [u8]>,
    slots: ReadTable<SlotKey, &'static [u8]>,
    kept: Mutex<HashMap<PageId, Option<Arc<Page>>>>,
}

impl View {
    pub(crate) fn new(dir: PathBuf, epoch: Epoch, schema: Arc<Schema>, read: &Reading) -> Result<Self, Error> {
        let (pages, slots) = (read.open_table(PAGES)?, read.open_table(SLOTS)?);
        Ok(Self { dir, epoch, schema, pages, slots, kept: Mutex::default() })
    }

    /// The epoch: its number, commitment and number of filled slots.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// The commitment to the table of this epoch.
    pub fn commitment(&self) -> Commitment {
        self.epoch.commitment
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The vector on this view.
    pub fn vector(&self) -> Result<Vector<&Self>, Error> {
        Vector::new(self.epoch.commitment.height, self).map_err(Error::vector(&self.dir))
    }

    /// The positions of the filled slots, in ascending order.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn positions(&self) -> Result<Vec<u64>, Error> {
        self.vector()?.occupied().map(|index| index.map_err(Error::store(&self.dir))).collect()
    }

    /// The field elements of a row, which open the slot's value by the schema. One look-up.
    ///
    /// # Errors
    /// [`Error::EmptySlot`], and those of [`Self::row`].
    pub fn elements(&self, index: u64) -> Result<Vec<Goldilocks>, Error> {
        let row = self.row(index)?.ok_or(Error::EmptySlot { index, batch: None })?;
        self.schema.elements(&row).map_err(|source| Error::Row { index, source })
    }

    /// The row of a slot, or `None` if the slot is empty. One look-up.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; [`Error::Corrupt`] if the stored bytes are not a row of the schema.
    pub fn row(&self, index: u64) -> Result<Option<Row>, Error> {
        self.check(index)?;
        let slot = latest_slot(&self.slots, index, self.epoch.number)?;
        slot.map(|bytes| self.decode_row(index, &bytes)).transpose()
    }

    /// The value of a slot with its Merkle path. An empty slot opens to `None`. Reads at most ceil(H / 7) pages.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], and errors of a damaged store.
    pub fn opening(&self, index: u64) -> Result<Opening, Error> {
        self.check(index)?;
        let vector = self.vector()?;
        let height = vector.height();
        let siblings: Vec<Digest> = vector.siblings(index, 0, height).map_err(Error::vector(&self.dir))?;
        let value = vector.value(index).map_err(Error::vector(&self.dir))?;
        Ok(Opening { index, height, value, siblings })
    }

    /// The first `at_most` positions, in ascending order, whose slots differ from those of `before`, and whether there
    /// are more. Compares nodes from the root down: O(H) per position.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn changed(&self, before: &Self, at_most: usize) -> Result<(Vec<u64>, bool), Error> {
        let vectors = [self.vector()?, before.vector()?];
        let nulls = if vectors[0].height() > vectors[1].height() { vectors[0].nulls() } else { vectors[1].nulls() };
        // The node of the lower vector, as if it had grown to the height of the other one.
        let node = |vector: &Vector<&Self>, level: u8, position: u64| {
            let beyond = position >> vector.height().saturating_sub(level) != 0;
            if beyond { Ok(nulls[usize::from(level)]) } else { vector.grown_node(level, position) }
        };
        let height = vectors[0].height().max(vectors[1].height());
        let (mut open, mut changed) = (vec![(height, 0)], Vec::new());
        while let Some((level, position)) = open.pop() {
            let [now, then] = [&vectors[0], &vectors[1]].map(|vector| node(vector, level, position));
            if now.map_err(Error::store(&self.dir))? == then.map_err(Error::store(&self.dir))? {
                continue;
            }
            match level {
                0 if changed.len() == at_most => return Ok((changed, true)),
                0 => changed.push(position),
                _ => open.extend([(level - 1, 2 * position + 1), (level - 1, 2 * position)]),
            }
        }
        Ok((changed, false))
    }

    /// The Merkle paths of filled slots at ascending positions. Reads at most ceil(H / 7) pages per slot.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], and errors of a damaged store.
    pub fn multiproof(&self, indices: &[u64]) -> Result<Multiproof, Error> {
        indices.iter().try_for_each(|index| self.check(*index))?;
        let vector = self.vector()?;
        let node = |level, position| vector.node(level, position);
        Multiproof::new(vector.height(), indices, node).map_err(|e| Error::vector(&self.dir)(e.into()))
    }

    /// Index and value of filled slots, in the order of `indices`. A verifier needs them for the proof of a batch.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::EmptySlot`].
    pub fn leaves(&self, indices: &[u64]) -> Result<Vec<(u64, Value)>, Error> {
        let leaf = |index: &u64| {
            self.check(*index)?;
            let value = read_value(&self.slots, *index, self.epoch.number, &self.dir)?;
            Ok((*index, value.ok_or(Error::EmptySlot { index: *index, batch: None })?))
        };
        indices.iter().map(leaf).collect()
    }

    /// Calls `visit` with every filled slot in ascending order. Reads the table once. Takes constant memory.
    ///
    /// # Errors
    /// The first error of `visit`, and errors of a damaged store.
    pub fn for_each_row(&self, mut visit: impl FnMut(u64, Row) -> Result<(), Error>) -> Result<(), Error> {
        self.for_each_slot(|index, bytes| visit(index, self.decode_row(index, bytes)?))
    }

    /// As [`Self::for_each_row`], with the bytes of the slots.
    pub(crate) fn for_each_slot(&self, mut visit: impl FnMut(u64, &[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut newest: Option<(u64, Vec<u8>)> = None;
        let mut flush = |slot: Option<(u64, Vec<u8>)>| match slot {
            Some((index, bytes)) if !bytes.is_empty() => visit(index, &bytes),
            _ => Ok(()),
        };
        for entry in self.slots.entries()? {
            let ((index, epoch), bytes) = entry?;
            if epoch > self.epoch.number {
                continue;
            }
            if newest.as_ref().is_some_and(|(last, _)| *last != index) {
                flush(newest.take())?;
            }
            newest = Some((index, bytes));
        }
        flush(newest)
    }

    /// Every page that has a version, in ascending order of tier and position.
    pub(crate) fn page_ids(&self) -> Result<Vec<PageId>, Error> {
        let mut out = Vec::new();
        for entry in self.pages.entries()? {
            let ((tier, position, _), _) = entry?;
            out.push(PageId { tier, position });
        }
        out.dedup();
        Ok(out)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn read_page(&self, id: PageId) -> Result<Option<Arc<Page>>, Error> {
        latest_page(&self.pages, id, self.epoch.number)?
            .map(|bytes| decode_page(id, &bytes).map_err(|what| Error::corrupt(&self.dir, what)))
            .transpose()
    }

    fn decode_row(&self, index: u64, bytes: &[u8]) -> Result<Row, Error> {
        let corrupt = |what| Error::corrupt(&self.dir, format!("slot {index}: {what}"));
        let (value, row) = split_slot(bytes).ok_or_else(|| corrupt("is not a value".into()))?;
        if self.schema.is_raw() {
            return Ok(Row::Raw(value));
        }
        self.schema.decode_row(row).map_err(|e| corrupt(e.to_string()))
    }

    fn check(&self, index: u64) -> Result<(), Error> {
        let height = self.epoch.commitment.height;
        if index >> height == 0 { Ok(()) } else { Err(Error::OutOfRange { index, height }) }
    }
}

impl evergrove_commit::Store for View {
    fn page(&self, id: PageId) -> Result<Option<Arc<Page>>, StoreError> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if id.tier > 0
            && let Some(page) = lock().get(&id)
        {
            return Ok(page.clone());
        }
        let page = self.read_page(id).map_err(context)?;
        if id.tier > 0 {
            let mut kept = lock();
            if kept.len() < KEPT_PAGES {
                kept.insert(id, page.clone());
            }
        }
        Ok(page)
    }

    fn value(&self, index: u64) -> Result<Option<Value>, StoreError> {
        read_value(&self.slots, index, self.epoch.number, &self.dir).map_err(context)
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("dir", &self.dir).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// An error of this crate, in the form of a trait of `evergrove-commit`.
pub(crate) fn context(e: Error) -> StoreError {
    StoreError { context: "reading the store".into(), source: Box::new(e) }
}

/// The bytes of a page at an epoch, or `None` if the page is empty.
pub(super) fn latest_page<T: Readable<PageKey, &'static [u8]>>(
    table: &Table<T, PageKey, &'static [u8]>,
    id: PageId,
    epoch: u64,
) -> Result<Option<Vec<u8>>, Error> {
    let (tier, position) = (id.tier, id.position);
    Ok(table.last((tier, position, 0)..=(tier, position, epoch))?.filter(|b| !b.is_empty()))
}

/// The bytes of a slot at an epoch, or `None` if the slot is empty.
pub(super) fn latest_slot<T: Readable<SlotKey, &'static [u8]>>(
    table: &Table<T, SlotKey, &'static [u8]>,
    index: u64,
    epoch: u64,
) -> Result<Option<Vec<u8>>, Error> {
    Ok(table.last((index, 0)..=(index, epoch))?.filter(|b| !b.is_empty()))
}

pub(super) fn read_value<T: Readable<SlotKey, &'static [u8]>>(
    table: &Table<T, SlotKey, &'static [u8]>,
    index: u64,
    epoch: u64,
    dir: &Path,
) -> Result<Option<Value>, Error> {
    let slot = latest_slot(table, index, epoch)?;
    slot.map(|bytes| {
        let (value, _) =
            split_slot(&bytes).ok_or_else(|| Error::corrupt(dir, format!("slot {index} is not a value")))?;
        Ok(value)
    })
    .transpose()
}

pub(crate) fn decode_page(id: PageId, bytes: &[u8]) -> Result<Arc<Page>, String> {
    Page::decode(bytes).map(Arc::new).map_err(|e| format!("page {} of tier {}: {e}", id.position, id.tier))
}

/// Value and row in the bytes of a slot.
pub(crate) fn split_slot(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let (value, row) = bytes.split_first_chunk::<VALUE_BYTES>()?;
    Some((Digest::from_bytes(value).ok()?.0, row))
}

/// The bytes of a slot.
pub(crate) fn join_slot(value: &Value, row: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(VALUE_BYTES + row.len());
    out.extend_from_slice(&Digest(*value).to_bytes());
    out.extend_from_slice(row);
    out
}

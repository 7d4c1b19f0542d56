//! Copying a store of any readable format to a new store of the current format.

use std::path::Path;

use evergrove_commit::BackendSpec;
use evergrove_jobs::{Key, objects::Objects};

use super::create::Site;
use super::database::AnyTable;
use super::layout::{
    BATCHES, BackendRecord, BatchRecord, EPOCHS, FORMAT, MEMBERS, META, OBJECTS, PAGES, SLOTS, encode_members, meta,
};
use super::{BatchStatus, Options, Store};
use crate::Error;

impl Store {
    /// Copies every epoch and every batch that can be read to a new store in `dir`, which has the current format.
    ///
    /// If `backend` returns a backend for a batch, the batch gets that backend and is not proven in the new store. The
    /// proofs of other batches are copied. This store stays as it is. The new store appears as a whole or not at all.
    /// Before that, each of its epochs is checked to have the root of its commitment, and every row, value and node of
    /// the current epoch is hashed again.
    ///
    /// Takes about 2 permutations per filled slot, and the memory of the database's cache.
    ///
    /// # Errors
    /// [`Error::Exists`] if `dir` contains a store; [`Error::Corrupt`] if this store is damaged; [`Error::Io`].
    pub fn copy_to(
        &self,
        dir: &Path,
        backend: &dyn Fn(&BatchStatus) -> Result<Option<BackendSpec>, Error>,
    ) -> Result<Self, Error> {
        let site = Site::new(dir)?;
        let mut kept = Vec::new();
        let mut batches = Vec::new();
        for status in self.batches()? {
            let (record, members) = self.record(&status.name)?;
            let record = match backend(&status)? {
                Some(spec) => BatchRecord { backend: BackendRecord::new(&spec), proven: None, ..record },
                None => {
                    kept.extend(record.proven.as_ref().map(|p| Key(p.key)));
                    kept.extend(crate::prove::keys_of(self, &status.name)?);
                    record
                }
            };
            batches.push((status.name, record, members));
        }
        self.write_copy(&site, dir, &batches)?;
        // The copy stays open until it is in its place: see `Site`.
        let copy = check(&site, dir)?;
        let objects = Objects::local(dir.join(OBJECTS))?;
        for key in kept {
            if let Some(bytes) = self.objects().get(&key)? {
                objects.put(&key, &bytes)?;
            }
        }
        site.finish(dir)?;
        drop(copy);
        Self::open(dir)
    }

    fn write_copy(&self, site: &Site, dir: &Path, batches: &[(String, BatchRecord, Vec<u64>)]) -> Result<(), Error> {
        let read = self.begin_read()?;
        let database = Options::default().open_database(dir, &site.file(), true)?;
        let write = database.begin_write()?;
        {
            for table in [&META as &dyn AnyTable, &PAGES, &SLOTS] {
                let (_, entries) = table.read(&read)?.ok_or_else(|| Error::NotAStore(self.dir().into()))?;
                let mut to = table.write(&write)?;
                for entry in entries {
                    let (key, value) = entry?;
                    to.insert(&key, &value)?;
                }
            }
            let mut to = write.open_table(META)?;
            to.insert(meta::FORMAT, &[meta::MAGIC, &FORMAT.to_le_bytes()].concat())?;
            let mut to = write.open_table(EPOCHS)?;
            for epoch in self.epochs()? {
                to.insert(epoch.number, &epoch.encode())?;
            }
            let (mut records, mut members) = (write.open_table(BATCHES)?, write.open_table(MEMBERS)?);
            for (name, record, indices) in batches {
                records.insert(name, &record.encode())?;
                members.insert(name, &encode_members(indices))?;
            }
        }
        write.commit()
    }
}

/// Refuses a copy whose pages, rows or epochs do not match its commitments.
fn check(site: &Site, dir: &Path) -> Result<Store, Error> {
    let copy = Store::open(site.dir())?;
    let finding = copy.check_content()?;
    finding.map_or(Ok(copy), |what| Err(Error::corrupt(dir, what)))
}

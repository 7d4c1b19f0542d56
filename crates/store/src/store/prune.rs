//! Giving back space.

use std::collections::HashSet;

use evergrove_jobs::Key;

use super::Store;
use crate::Error;

/// What pruning takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// The oldest epoch that can be read afterwards.
    pub oldest: u64,
    /// Epochs that can no longer be read.
    pub epochs: u64,
    /// Versions of pages.
    pub pages: u64,
    /// Versions of slots.
    pub slots: u64,
    /// Proofs that no batch refers to.
    pub objects: usize,
    /// Their size in bytes.
    pub object_bytes: u64,
    /// Files that interrupted commands have left.
    pub leftovers: usize,
}

impl Store {
    /// Keeps the last `keep` epochs and the proofs that batches refer to: the final proof of each batch, and the proofs
    /// below it that its next refresh can use. With `dry_run`, only says what would be taken away.
    ///
    /// The current epoch and every batch stay as they are. Scans the tables once. The database's file gets smaller only
    /// as far as its last pages are free.
    ///
    /// # Errors
    /// [`Error::KeepNothing`].
    pub fn prune(&mut self, keep: u64, dry_run: bool) -> Result<PruneReport, Error> {
        if keep == 0 {
            return Err(Error::KeepNothing);
        }
        // Objects are looked up before anything is taken away, so that an error leaves all as it is.
        let wanted = self.referenced()?;
        let (objects, _) = self.objects().list()?;
        let orphans: Vec<_> = objects.into_iter().filter(|o| !wanted.contains(&o.key)).collect();
        let mut report = self.write(0, |view, current| {
            let before = self.epochs()?.first().map_or(current.number, |e| e.number);
            let oldest = before.max((current.number + 1).saturating_sub(keep));
            let (pages, slots, epochs) = view.prune(oldest)?;
            Ok((PruneReport { oldest, epochs, pages, slots, ..PruneReport::default() }, !dry_run))
        })?;
        for object in &orphans {
            if !dry_run {
                self.objects().delete(&object.key)?;
            }
            report.objects += 1;
            report.object_bytes += object.bytes;
        }
        for left in self.leftovers() {
            if !dry_run {
                remove(left.as_ref())?;
            }
            report.leftovers += 1;
        }
        if !dry_run && report.pages + report.slots > 0 {
            self.database.compact()?;
        }
        Ok(report)
    }

    /// The keys of every proof that a batch refers to.
    pub(crate) fn referenced(&self) -> Result<HashSet<Key>, Error> {
        let mut wanted = HashSet::new();
        for (name, record) in self.records()? {
            wanted.extend(record.proven.as_ref().map(|p| Key(p.key)));
            wanted.extend(crate::prove::keys_of(self, &name)?);
        }
        Ok(wanted)
    }
}

fn remove(path: &std::path::Path) -> Result<(), Error> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.map_err(Error::io(path))
}

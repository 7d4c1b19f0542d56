//! Freeing disk space.

use std::collections::HashSet;

use evergrove_jobs::Key;

use super::write::Old;
use super::{Store, reserve};
use crate::Error;

/// Number of versions that the first transaction on a full disk removes.
const FIRST_STEP: usize = 64;

/// What pruning removes.
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
    /// Files of interrupted commands.
    pub leftovers: usize,
}

impl Store {
    /// Keeps the last `keep` epochs and the proofs that batches refer to: the final proof of each batch, and the proofs
    /// below it that its next refresh can use. With `dry_run`, only returns what it would remove.
    ///
    /// The current epoch and every batch stay as they are. Scans the tables once. Compacts the database's file if it
    /// removes versions and no view is open.
    ///
    /// Works on a full disk: deletes proofs first, and then old versions in small steps, with disk space that the store
    /// reserves for this.
    ///
    /// # Errors
    /// [`Error::KeepNothing`].
    pub fn prune(&mut self, keep: u64, dry_run: bool) -> Result<PruneReport, Error> {
        if keep == 0 {
            return Err(Error::KeepNothing);
        }
        // Looks up the objects before removing anything, so an error leaves everything as it is.
        let wanted = self.referenced()?;
        let (objects, _) = self.objects().list()?;
        let orphans: Vec<_> = objects.into_iter().filter(|o| !wanted.contains(&o.key)).collect();
        self.check_writable()?;
        if !dry_run {
            self.database.check_whole()?;
        }
        let newest = self.epoch()?.number;
        let before = self.epochs()?.first().map_or(newest, |e| e.number);
        let oldest = before.max((newest + 1).saturating_sub(keep));
        let old = Old::find(&self.begin_read()?, oldest)?;
        let mut report = PruneReport { oldest, ..PruneReport::default() };
        for one in &old {
            *match one {
                Old::Page(_) => &mut report.pages,
                Old::Slot(_) => &mut report.slots,
                Old::Epoch(_) => &mut report.epochs,
            } += 1;
        }
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
        if !dry_run && !old.is_empty() {
            self.remove(oldest, &old)?;
            match self.database.compact() {
                // The removed versions have become free space in the file.
                Err(e) if e.is_full() => self.recover()?,
                done => done?,
            }
        }
        if !dry_run {
            reserve::keep(&self.dir);
        }
        Ok(report)
    }

    /// Removes old versions in one transaction. On a full disk it uses several transactions, small at first. Each can
    /// use the pages that the earlier ones have freed.
    fn remove(&mut self, oldest: u64, mut old: &[Old]) -> Result<(), Error> {
        match self.write(0, |view, _| Ok((view.remove(oldest, old)?, true))) {
            Err(e) if e.is_full() => {}
            done => return done,
        }
        reserve::give_up(&self.dir);
        let mut step = FIRST_STEP;
        while !old.is_empty() {
            self.recover()?;
            let (now, later) = old.split_at(step.min(old.len()));
            match self.write(0, |view, _| Ok((view.remove(oldest, now)?, true))) {
                Ok(()) => (old, step) = (later, 2 * step),
                Err(e) if e.is_full() && step > 1 => step = (step / 8).max(1),
                Err(e) => {
                    reserve::keep(&self.dir);
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// The keys of all proofs that batches refer to.
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

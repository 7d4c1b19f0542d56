//! Freeing disk space.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use evergrove_jobs::Key;

use super::write::Old;
use super::{Store, reserve};
use crate::Error;

/// Number of versions that the first transaction on a full disk removes.
const FIRST_STEP: usize = 64;
/// Number of versions that one transaction removes while others commit: some 10 ms.
const SHORT_STEP: usize = 1024;
/// Time between two such transactions.
const STEP_PAUSE: Duration = Duration::from_millis(2);

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

/// What pruning removes, before it does.
struct Pruning {
    report: PruneReport,
    /// Proofs that no batch refers to.
    orphans: Vec<Key>,
    /// Epochs come first: as soon as some are removed, nobody can read what they need.
    old: Vec<Old>,
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
        self.check_writable()?;
        if !dry_run {
            self.database.check_whole()?;
        }
        let Pruning { mut report, orphans, old } = self.find_old(keep)?;
        report.leftovers = self.leftovers().len();
        if dry_run {
            return Ok(report);
        }
        orphans.iter().try_for_each(|key| self.objects().delete(key))?;
        for left in self.leftovers() {
            remove(left.as_ref())?;
        }
        if !old.is_empty() {
            self.remove(report.oldest, &old)?;
            match self.database.compact() {
                // The removed versions have become free space in the file.
                Err(e) if e.is_full() => self.recover()?,
                done => done?,
            }
        }
        reserve::keep(&self.dir);
        Ok(report)
    }

    /// Like [`Self::prune`], while others read the store and commit epochs. Nobody may prove meanwhile. Commits wait for
    /// one of several short transactions. The file keeps its size, and later epochs use the room that becomes free.
    /// Keeps files of interrupted commands.
    ///
    /// # Errors
    /// [`Error::KeepNothing`]; an error if the disk is full.
    pub fn prune_in_use(&self, keep: u64) -> Result<PruneReport, Error> {
        self.check_writable()?;
        self.database.check_whole()?;
        let Pruning { report, orphans, old } = self.find_old(keep)?;
        orphans.iter().try_for_each(|key| self.objects().delete(key))?;
        for some in old.chunks(SHORT_STEP) {
            self.write(0, |view, _| Ok((view.remove(report.oldest, some)?, true)))?;
            // The database wakes a commit that waits, but would not keep the next step from coming first.
            thread::sleep(STEP_PAUSE);
        }
        Ok(report)
    }

    /// What pruning to `keep` epochs removes. Reads the tables once.
    fn find_old(&self, keep: u64) -> Result<Pruning, Error> {
        if keep == 0 {
            return Err(Error::KeepNothing);
        }
        let wanted = self.referenced()?;
        let (mut objects, _) = self.objects().list()?;
        objects.retain(|object| !wanted.contains(&object.key));
        let newest = self.epoch()?.number;
        let before = self.epochs()?.first().map_or(newest, |e| e.number);
        let oldest = before.max((newest + 1).saturating_sub(keep));
        let old = Old::find(&self.begin_read()?, oldest)?;
        let mut report = PruneReport { oldest, objects: objects.len(), ..PruneReport::default() };
        report.object_bytes = objects.iter().map(|object| object.bytes).sum();
        for one in &old {
            *match one {
                Old::Page(_) => &mut report.pages,
                Old::Slot(_) => &mut report.slots,
                Old::Epoch(_) => &mut report.epochs,
            } += 1;
        }
        Ok(Pruning { report, orphans: objects.into_iter().map(|object| object.key).collect(), old })
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

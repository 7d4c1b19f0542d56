//! The backup that is being made, if one is, and how those before it ended.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use evergrove::store::{Backup, BackupHead, Error, Store};
use prometheus_client::metrics::counter::Counter;

use crate::metrics::{Label, ServiceMetrics};

/// Backups of a service: one at a time, and nobody waits for it.
///
/// A backup holds a read transaction of the database, and no lock of the store between two of its blocks. The transaction has to end before the
/// database is opened again, so whoever does that calls [`Self::break_off`] first, with the store to himself: then none begins.
pub(crate) struct Backups {
    running: Mutex<Option<(u64, Backup)>>,
    state: Mutex<State>,
    finished: Counter,
    broken_off: Counter,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Counts backups that were begun.
    begun: u64,
    progress: Option<Progress>,
    last: Option<u64>,
}

/// How far a backup is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) head: BackupHead,
    pub(crate) bytes: u64,
}

/// What is said of backups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) progress: Option<Progress>,
    pub(crate) finished: u64,
    pub(crate) broken_off: u64,
    /// The epoch of the last one that was finished.
    pub(crate) last: Option<u64>,
}

impl Backups {
    pub(crate) fn new(metrics: &ServiceMetrics) -> Self {
        let of = |outcome: &str| -> Counter {
            let label: Label = [("outcome", outcome.into())];
            metrics.backups.get_or_create(&label).clone()
        };
        let (finished, broken_off) = (of("finished"), of("broken-off"));
        Self { running: Mutex::default(), state: Mutex::default(), finished, broken_off }
    }

    /// Begins a backup and gives its number; `None` while there is one, or one begins or ends. Blocks, but not for another.
    pub(crate) fn begin(&self, store: &Store) -> Result<Option<(u64, BackupHead)>, Error> {
        let mut running = match self.running.try_lock() {
            Ok(running) => running,
            Err(TryLockError::Poisoned(running)) => running.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        if running.is_some() {
            return Ok(None);
        }
        let backup = store.backup()?;
        let head = *backup.head();
        let mut state = lock(&self.state);
        state.begun += 1;
        state.progress = Some(Progress { head, bytes: 0 });
        *running = Some((state.begun, backup));
        Ok(Some((state.begun, head)))
    }

    /// The next block of a backup, `None` after the last one; an error says why it was broken off. Blocks.
    pub(crate) fn block(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
        let mut running = lock(&self.running);
        let Some((_, backup)) = running.as_mut().filter(|(running, _)| *running == number) else {
            return Err("the database had to be opened again".into());
        };
        match backup.next() {
            Some(Ok(block)) => {
                if let Some(progress) = &mut lock(&self.state).progress {
                    progress.bytes += block.len() as u64;
                }
                Ok(Some(block))
            }
            None => {
                *running = None;
                let mut state = lock(&self.state);
                state.last = state.progress.take().map(|progress| progress.head.epoch.number);
                self.finished.inc();
                Ok(None)
            }
            Some(Err(e)) => {
                self.drop_running(&mut running);
                Err(e.to_string())
            }
        }
    }

    /// Ends a backup whose caller is gone, unless it has ended. Blocks while a block of it is read.
    pub(crate) fn end(&self, number: u64) {
        let mut running = lock(&self.running);
        if running.as_ref().is_some_and(|(running, _)| *running == number) {
            self.drop_running(&mut running);
        }
    }

    /// Breaks off the backup that is being made, if one is.
    pub(crate) fn break_off(&self) {
        let mut running = lock(&self.running);
        if running.is_some() {
            tracing::warn!("a backup was broken off: its pages are needed, or the database is opened again");
            self.drop_running(&mut running);
        }
    }

    fn drop_running(&self, running: &mut Option<(u64, Backup)>) {
        *running = None;
        lock(&self.state).progress = None;
        self.broken_off.inc();
    }

    /// True while one is being made.
    pub(crate) fn is_running(&self) -> bool {
        lock(&self.state).progress.is_some()
    }

    pub(crate) fn report(&self) -> Report {
        let State { progress, last, .. } = *lock(&self.state);
        Report { progress, finished: self.finished.get(), broken_off: self.broken_off.get(), last }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holder leaves the value whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

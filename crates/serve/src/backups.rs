//! The current backup, and the results of earlier ones.

use std::sync::{Mutex, TryLockError};

use evergrove::store::{Backup, BackupHead, Error, Store};
use prometheus_client::metrics::counter::Counter;

use crate::lock;
use crate::metrics::{Label, ServiceMetrics};

/// The backups of a service. One runs at a time, and no caller waits for another's.
///
/// A backup holds a read transaction of the database, and no lock of the store between two of its blocks. The
/// transaction must end before the database is opened again. Code that opens it calls [`Self::break_off`] first, while
/// it has exclusive access to the store, so no new backup begins.
pub(crate) struct Backups {
    running: Mutex<Option<(u64, Backup)>>,
    state: Mutex<State>,
    pub(crate) finished: Counter,
    pub(crate) broken_off: Counter,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// Number of backups begun.
    begun: u64,
    pub(crate) progress: Option<Progress>,
    /// Epoch of the last finished backup.
    pub(crate) last: Option<u64>,
}

/// Progress of a backup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) head: BackupHead,
    pub(crate) bytes: u64,
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

    /// Begins a backup and returns its number. `None` while another one runs, begins or ends. Blocks, but does not wait
    /// for another backup.
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

    /// The next block of a backup, `None` after the last one. The error says why the backup was broken off. Blocks.
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

    /// Ends a backup whose caller has disconnected, unless it has ended. Blocks while one of its blocks is read.
    pub(crate) fn end(&self, number: u64) {
        let mut running = lock(&self.running);
        if running.as_ref().is_some_and(|(running, _)| *running == number) {
            self.drop_running(&mut running);
        }
    }

    /// Breaks off the current backup, if there is one.
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

    /// True while a backup runs, begins or ends.
    pub(crate) fn is_running(&self) -> bool {
        match self.running.try_lock() {
            Ok(running) => running.is_some(),
            Err(TryLockError::Poisoned(running)) => running.into_inner().is_some(),
            Err(TryLockError::WouldBlock) => true,
        }
    }

    pub(crate) fn state(&self) -> State {
        *lock(&self.state)
    }
}

//! The state that the handlers and threads of a service share: the store and what may be done with it at a time, the progress
//! of proofs, and what the service tells about itself.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use evergrove::commit::schema::Schema;
use evergrove::jobs::{Cancel, Engine};
use evergrove::store::{Backends, BatchStatus, Error, ProofTree, Store};
use serde::Serialize;
use tokio::sync::{Semaphore, broadcast, mpsc, watch};
use utoipa::ToSchema;

use super::{Shutdown, Stage, Summary};
use crate::backups::Backups;
use crate::epochs::{Asker, Done, Waiting};
use crate::health::NotReady;
use crate::http::epochs::Committing;
use crate::metrics::ServiceMetrics;
use crate::problem::Problem;
use crate::runs::Runs;
use crate::{Config, Event, http, lock};

/// Number of events that a slow listener may be behind before it misses some.
const EVENTS: usize = 256;
/// Greatest number of concurrent reads of the store; further ones wait. A proof of a past epoch takes the memory of its
/// batch.
pub(crate) const READERS: usize = 16;
/// How many of these reads callers without a token may have.
const PUBLIC_READERS: usize = 4;
/// How many times a failed read opens the store again and is repeated.
const RECOVERIES: usize = 5;
/// Time between two looks whether a thread opens the store again.
const RECOVERY_PAUSE: Duration = Duration::from_millis(1);
/// Greatest number of bodies of changes that are parsed at the same time.
const PARSERS: usize = 4;
/// Number of epochs whose times of commit and proof are remembered.
pub(crate) const RECENT: usize = 1024;

/// The batch that is being proven.
#[derive(Clone, Debug)]
pub(crate) struct Working {
    pub(crate) batch: String,
    pub(crate) epoch: u64,
    pub(crate) made: usize,
    pub(crate) to_make: usize,
}

/// A batch whose last refresh failed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Failing {
    pub(crate) batch: String,
    pub(crate) epoch: u64,
    pub(crate) cause: String,
}

/// An epoch that this process has committed.
#[derive(Clone, Copy, Debug)]
struct Recent {
    epoch: u64,
    at: Instant,
    set: usize,
    deleted: usize,
    proven_after: Option<Duration>,
}

/// Parts whose use may block.
struct ServiceParts {
    store: RwLock<Store>,
    backups: Backups,
    backends: Backends,
    engine: Box<dyn Engine>,
}

/// Dropping the parts may block too, so a thread of its own does it.
struct Blocking(Option<Box<ServiceParts>>);

impl Drop for Blocking {
    fn drop(&mut self) {
        let parts = self.0.take();
        if let Ok(thread) = thread::Builder::new().name("close".into()).spawn(move || drop(parts)) {
            // An error means a panic, which reports itself.
            let _ = thread.join();
        }
    }
}

/// A thread in [`Shared::recover`].
struct Recovering<'a>(&'a AtomicUsize);

impl<'a> Recovering<'a> {
    fn new(threads: &'a AtomicUsize) -> Self {
        threads.fetch_add(1, Ordering::SeqCst);
        Self(threads)
    }
}

impl Drop for Recovering<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// State that handlers and the threads of epochs and proofs share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) schema: Schema,
    pub(crate) metrics: ServiceMetrics,
    pub(crate) queue: mpsc::Sender<Waiting>,
    pub(crate) streams: Arc<Semaphore>,
    /// Places for streams without a token. Each also needs a place of `streams`.
    pub(crate) public_streams: Arc<Semaphore>,
    pub(crate) readers: Arc<Semaphore>,
    /// Turns of public callers. Each also needs a turn of `readers`.
    pub(crate) public_readers: Arc<Semaphore>,
    /// Turns to parse a body of changes.
    pub(crate) parsers: Arc<Semaphore>,
    parts: Blocking,
    events: broadcast::Sender<Event>,
    working: Mutex<Option<Working>>,
    runs: Mutex<Runs>,
    /// Changes whenever a run progresses.
    progressed: watch::Sender<()>,
    /// The last epochs, oldest first.
    recent: Mutex<VecDeque<Recent>>,
    /// The turn to build a tree of proofs.
    pub(crate) builder: Arc<Semaphore>,
    /// Trees of proofs by batch and its turns, newest first.
    pub(crate) trees: Mutex<Vec<(String, u64, Arc<ProofTree>)>>,
    failing: Mutex<Vec<Failing>>,
    /// The handle that stops the current refresh, and whether it has to make way for [`Self::recover`].
    refreshing: Mutex<(Option<Cancel>, bool)>,
    /// Number of threads in [`Self::recover`].
    recovering: AtomicUsize,
    /// Batches whose last proof is lost.
    lost: Mutex<BTreeSet<String>>,
    stalled: AtomicBool,
    /// Whether the last epoch and the last proof found no space on the disk.
    full: Mutex<(bool, bool)>,
    cycle_millis: AtomicU64,
    proofs: AtomicU64,
    pub(super) shutdown: Shutdown,
}

impl Shared {
    /// The state of a service that begins. `lost` are the batches whose last proof is lost.
    pub(super) fn new(
        store: Store,
        (backends, engine): (Backends, Box<dyn Engine>),
        lost: BTreeSet<String>,
        queue: mpsc::Sender<Waiting>,
        metrics: ServiceMetrics,
        config: Config,
        shutdown: Shutdown,
    ) -> Self {
        let backups = Backups::new(&metrics);
        Self {
            schema: store.schema().clone(),
            metrics,
            queue,
            streams: Arc::new(Semaphore::new(config.streams)),
            public_streams: Arc::new(Semaphore::new(http::public_streams(config.streams))),
            readers: Arc::new(Semaphore::new(READERS)),
            public_readers: Arc::new(Semaphore::new(PUBLIC_READERS)),
            parsers: Arc::new(Semaphore::new(PARSERS)),
            config,
            parts: Blocking(Some(Box::new(ServiceParts { store: RwLock::new(store), backups, backends, engine }))),
            events: broadcast::Sender::new(EVENTS),
            working: Mutex::default(),
            runs: Mutex::default(),
            progressed: watch::Sender::new(()),
            recent: Mutex::default(),
            builder: Arc::new(Semaphore::new(1)),
            trees: Mutex::default(),
            failing: Mutex::default(),
            refreshing: Mutex::default(),
            recovering: AtomicUsize::new(0),
            lost: Mutex::new(lost),
            stalled: AtomicBool::new(false),
            full: Mutex::default(),
            cycle_millis: AtomicU64::new(0),
            proofs: AtomicU64::new(0),
            shutdown,
        }
    }

    fn parts(&self) -> &ServiceParts {
        self.parts.0.as_ref().expect("only drop takes the parts")
    }

    pub(crate) fn backends(&self) -> &Backends {
        &self.parts().backends
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.parts().engine
    }

    pub(crate) fn backups(&self) -> &Backups {
        &self.parts().backups
    }

    /// Shared access to the store: others may read it or commit to it.
    pub(crate) fn store(&self) -> RwLockReadGuard<'_, Store> {
        // A panic leaves the store valid, because it changes in transactions.
        self.parts().store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the store. A write that fails in another thread makes every read fail until the store is opened again, and
    /// the next write may fail too: then this opens the store again and repeats the read.
    pub(crate) fn read<T>(&self, question: impl Fn(&Store) -> Result<T, Error>) -> Result<T, Error> {
        for _ in 0..RECOVERIES {
            let (answer, failed) = {
                // Both calls hold one guard: as soon as it is dropped, another thread may open the store again.
                let store = self.store();
                let answer = question(&store);
                let failed = answer.is_err() && store.has_failed();
                (answer, failed)
            };
            if !failed {
                return answer;
            }
            self.recover()?;
        }
        question(&self.store())
    }

    /// Exclusive access to the store.
    pub(crate) fn store_alone(&self) -> RwLockWriteGuard<'_, Store> {
        self.parts().store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the store again after a read or write of its file failed. A refresh is stopped, because it reads the store
    /// until it ends. It then begins again.
    pub(crate) fn recover(&self) -> Result<(), Error> {
        // Counted before anything else. Another thread may open the store first: the next refresh, which nobody would
        // stop, then waits for this one.
        let _recovering = Recovering::new(&self.recovering);
        if !self.store().has_failed() {
            return Ok(());
        }
        {
            let mut refreshing = lock(&self.refreshing);
            if let Some(cancel) = refreshing.0.take() {
                cancel.cancel();
                refreshing.1 = true;
            }
        }
        let mut store = self.store_alone();
        self.backups().break_off();
        store.recover()
    }

    /// True while a thread opens the store again, or is about to.
    pub(crate) fn is_recovering(&self) -> bool {
        self.recovering.load(Ordering::SeqCst) > 0
    }

    /// Waits until no thread is about to open the store again. A refresh begins only then.
    pub(crate) fn wait_for_recovery(&self) {
        while self.is_recovering() {
            thread::sleep(RECOVERY_PAUSE);
        }
    }

    /// Records the handle of the refresh that begins, or that the refresh has ended. Returns true if the one before was
    /// stopped to open the store again.
    pub(crate) fn set_refreshing(&self, cancel: Option<Cancel>) -> bool {
        std::mem::replace(&mut *lock(&self.refreshing), (cancel, false)).1
    }

    /// True after the current refresh was stopped to open the store again.
    pub(crate) fn is_interrupted(&self) -> bool {
        lock(&self.refreshing).1
    }

    /// True after a write found no space on the disk, until a write of the same kind succeeds.
    pub(crate) fn is_full(&self) -> bool {
        let full = lock(&self.full);
        full.0 || full.1
    }

    /// Records whether epochs find space on the disk.
    pub(crate) fn set_full_for_epochs(&self, is_full: bool) {
        self.set_full(|full| full.0 = is_full);
    }

    /// Records whether proofs find space on the disk. An epoch may fit into free pages of the database while a proof,
    /// which is a new file, does not.
    pub(crate) fn set_full_for_proofs(&self, is_full: bool) {
        self.set_full(|full| full.1 = is_full);
    }

    /// A full disk needs the pages that a backup holds, so a running backup is broken off.
    fn set_full(&self, change: impl FnOnce(&mut (bool, bool))) {
        let (before, now) = {
            let mut full = lock(&self.full);
            let before = *full;
            change(&mut full);
            self.metrics.disk_full.set((full.0 || full.1).into());
            (before, *full)
        };
        if (now.0 && !before.0) || (now.1 && !before.1) {
            self.backups().break_off();
        }
    }

    /// True while the service accepts changes.
    pub(crate) fn is_running(&self) -> bool {
        self.shutdown.now() < Stage::Draining
    }

    /// True after the service was told to leave.
    pub(crate) fn is_leaving(&self) -> bool {
        self.shutdown.now() > Stage::Running
    }

    /// The stage as `/v1/status` names it.
    pub(crate) fn state(&self) -> &'static str {
        match self.shutdown.now() {
            Stage::Running => "running",
            Stage::Leaving => "leaving",
            Stage::Draining | Stage::Aborting => "stopping",
        }
    }

    /// True when no more proofs may start.
    pub(crate) fn is_aborting(&self) -> bool {
        self.shutdown.now() == Stage::Aborting
    }

    /// Waits until no more proofs may start.
    pub(crate) async fn aborting(&self) {
        self.shutdown.reached(Stage::Aborting).await;
    }

    /// True after a refresh was given up because nobody worked on it, until the next sign of work.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Records whether proofs are stalled, and tells all listeners if this is new.
    pub(crate) fn set_stalled(&self, stalled: bool) {
        if self.stalled.swap(stalled, Ordering::Relaxed) != stalled {
            self.metrics.stalled.set(stalled.into());
            self.publish(if stalled { Event::Stalled { cause: self.stop_reason() } } else { Event::Resumed });
        }
    }

    /// The reason why a refresh was stopped.
    pub(crate) fn stop_reason(&self) -> String {
        if self.is_aborting() {
            return "the service stops".into();
        }
        let seconds = self.config.stall.unwrap_or_default().as_secs_f64();
        format!("no proof was begun or ended for {seconds} s: see whether there are workers for this queue")
    }

    /// Says whether the service accepts changes, or why not. Late proofs do not matter: epochs are committed without
    /// them.
    pub(super) fn ready(&self) -> Result<(), NotReady> {
        if self.is_leaving() { Err(NotReady::Stopping) } else { Ok(()) }
    }

    /// Waits until the service is told to stop.
    pub(crate) async fn draining(&self) {
        self.shutdown.reached(Stage::Draining).await;
    }

    /// Sends an event to all listeners.
    pub(crate) fn publish(&self, event: Event) {
        self.remember(&event);
        // An error means that nobody listens.
        let _ = self.events.send(event);
    }

    /// Records when an epoch was committed.
    fn remember(&self, event: &Event) {
        let mut recent = lock(&self.recent);
        if let Event::Epoch { epoch, set, deleted, .. } = event {
            if recent.len() == RECENT {
                recent.pop_front();
            }
            let (at, proven_after) = (Instant::now(), None);
            recent.push_back(Recent { epoch: *epoch, at, set: *set, deleted: *deleted, proven_after });
        }
    }

    /// Records that every batch has a proof of this epoch or of a later one. Such a proof also shows what the epochs
    /// before have changed.
    pub(crate) fn proven_to(&self, epoch: u64) {
        let mut recent = lock(&self.recent);
        for recent in recent.iter_mut().filter(|recent| recent.epoch <= epoch && recent.proven_after.is_none()) {
            recent.proven_after = Some(recent.at.elapsed());
        }
    }

    /// The record of a recent epoch.
    pub(crate) fn committed(&self, epoch: u64) -> Option<Committing> {
        let recent = lock(&self.recent);
        let found = recent.iter().rev().find(|recent| recent.epoch == epoch)?;
        Some(Committing {
            age: found.at.elapsed().as_secs_f64(),
            set: found.set,
            deleted: found.deleted,
            proven_after: found.proven_after.map(|time| time.as_secs_f64()),
        })
    }

    /// The maker of proofs: `workers` or `service`.
    pub(crate) fn prover(&self) -> &'static str {
        // A limit is set only for workers, because only they can be absent.
        if self.config.stall.is_some() { "workers" } else { "service" }
    }

    /// Progress of the last runs.
    pub(crate) fn runs(&self) -> MutexGuard<'_, Runs> {
        lock(&self.runs)
    }

    /// A receiver that changes whenever a run progresses.
    pub(crate) fn progressed(&self) -> watch::Receiver<()> {
        self.progressed.subscribe()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Answers a request from the queue.
    pub(crate) fn answer(&self, asker: Asker, with: Result<Done, Problem>) {
        self.metrics.waiting.dec();
        if let (Some(record), Ok(Done { epoch, changes, replayed })) = (&asker.record, &with) {
            // Recorded even if the caller has disconnected.
            record.committed(epoch.number, *changes, *replayed);
        }
        // An error means that the caller has disconnected.
        let _ = asker.answer.send(with);
    }

    pub(crate) fn progress(&self, batch: &str, epoch: u64, event: &evergrove::jobs::Event<'_>) {
        self.runs().event(batch, epoch, event);
        self.progressed.send_replace(());
        let mut working = lock(&self.working);
        match event {
            evergrove::jobs::Event::Planned { to_run, .. } => {
                *working = Some(Working { batch: batch.into(), epoch, made: 0, to_make: *to_run });
            }
            evergrove::jobs::Event::Finished { done, .. } => {
                if let Some(working) = &mut *working {
                    working.made = *done;
                }
            }
            _ => {}
        }
    }

    pub(crate) fn end_progress(&self, batch: &str) {
        *lock(&self.working) = None;
        self.runs().end(batch);
        self.progressed.send_replace(());
    }

    pub(crate) fn working(&self) -> Option<Working> {
        lock(&self.working).clone()
    }

    pub(crate) fn set_failing(&self, failing: Vec<Failing>) {
        *lock(&self.failing) = failing;
    }

    pub(crate) fn failing(&self) -> Vec<Failing> {
        lock(&self.failing).clone()
    }

    pub(crate) fn set_lost(&self, lost: BTreeSet<String>) {
        *lock(&self.lost) = lost;
    }

    /// Notes that the last proof of a batch is stored again.
    pub(crate) fn found(&self, batch: &str) {
        lock(&self.lost).remove(batch);
    }

    /// True if the last proof of a batch is of the current epoch and not lost.
    pub(crate) fn is_fresh(&self, batch: &BatchStatus) -> bool {
        batch.fresh && !lock(&self.lost).contains(&batch.name)
    }

    pub(crate) fn count_proof(&self) {
        self.proofs.fetch_add(1, Ordering::Relaxed);
    }

    /// Records how long the last epoch and its proofs took.
    pub(crate) fn cycle_took(&self, time: Duration) {
        self.cycle_millis.store(time.as_millis() as u64, Ordering::Relaxed);
    }

    /// Seconds after which the queue will probably have room.
    pub(crate) fn retry_after(&self) -> u64 {
        self.cycle_millis.load(Ordering::Relaxed).div_ceil(1000).clamp(1, 60)
    }

    pub(super) fn summary(&self) -> Summary {
        let batches = self.store().batches().unwrap_or_default();
        Summary {
            epochs: self.metrics.epochs.get(),
            proofs: self.proofs.load(Ordering::Relaxed),
            stale: batches.into_iter().filter(|b| !self.is_fresh(b)).map(|b| b.name).collect(),
        }
    }
}

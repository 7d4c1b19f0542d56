//! The life of a service, from start to end.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evergrove::commit::schema::Schema;
use evergrove::jobs::metrics::Metrics;
use evergrove::jobs::{Cancel, Engine};
use evergrove::store::{Backends, BatchStatus, Error, ProofTree, Store};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch};

use crate::backups::Backups;
use crate::epochs::{Asker, Done, Epochs, Waiting};
use crate::health::{Health, NotReady};
use crate::http::connections::{self, Bounds, Front};
use crate::http::epochs::Committing;
use crate::metrics::ServiceMetrics;
use crate::problem::Problem;
use crate::refresh::{Refresher, lost};
use crate::runs::Runs;
use crate::sizes::Sizes;
use crate::{Config, Event, health, http};

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
/// Stack of the threads that commit and prove, in bytes: as much as a main thread has on most systems.
const STACK_BYTES: usize = 8 << 20;
/// Number of epochs whose times of commit and proof are remembered.
pub(crate) const RECENT: usize = 1024;
/// Time for answers that are under way after everything else has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The parts of a service.
pub struct Parts {
    /// The store, which nobody else has opened.
    pub store: Store,
    /// The backends of its batches.
    pub backends: Backends,
    /// The engine that runs their tasks.
    pub engine: Box<dyn Engine>,
    /// The registry for the service's metrics. It already has those of `tasks`.
    pub registry: Registry,
    /// The metrics of the tasks, which the caller may update too.
    pub tasks: Metrics,
    /// A further address for `/healthz`, `/readyz` and `/metrics`. It answers even if callers exhaust the service.
    pub probes: Option<TcpListener>,
}

/// Stages of a service.
///
/// ```text
///            leave()            drain(), or after `drain`            abort(), or after `grace`
///   running ─────────▶ leaving ───────────────────────────▶ draining ───────────────────────────▶ aborting
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Leaving,
    Draining,
    Aborting,
}

/// A handle that stops a service. Clones stop the same service.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<Stage>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::Sender::new(Stage::Running))
    }
}

impl Shutdown {
    /// Lets the service leave: it continues to answer for [`Config::drain`], and then drains.
    pub fn leave(&self) {
        self.raise(Stage::Leaving);
    }

    /// Lets the service drain: it accepts no more changes, commits those that wait, and continues with their proofs for
    /// [`Config::grace`].
    pub fn drain(&self) {
        self.raise(Stage::Draining);
    }

    /// Enters the next stage: leaving, then draining, then aborting. Signals call this.
    pub fn advance(&self) {
        self.0.send_modify(|now| {
            *now = match *now {
                Stage::Running => Stage::Leaving,
                Stage::Leaving => Stage::Draining,
                Stage::Draining | Stage::Aborting => Stage::Aborting,
            };
        });
    }

    /// Starts no more proofs either. The epoch is kept: the next start makes the missing proofs.
    pub fn abort(&self) {
        self.raise(Stage::Aborting);
    }

    fn raise(&self, stage: Stage) {
        self.0.send_modify(|now| *now = stage.max(*now));
    }

    fn now(&self) -> Stage {
        *self.0.borrow()
    }

    async fn reached(&self, stage: Stage) {
        // `self` is a sender, so the channel is open.
        let _ = self.0.subscribe().wait_for(|now| *now >= stage).await;
    }
}

/// The work that a service has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Epochs committed.
    pub epochs: u64,
    /// Proofs of batches.
    pub proofs: u64,
    /// Batches without a proof of the last epoch.
    pub stale: Vec<String>,
}

/// Why a service ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store failed.
    #[error("{0}")]
    Store(#[from] Error),
    /// The listener failed, or the system could not start a thread.
    #[error("the service stopped: {0}")]
    Io(#[from] std::io::Error),
    /// A thread that commits or proves panicked.
    #[error("a thread that commits or proves epochs panicked; every answered request is committed")]
    Panicked,
}

/// The batch that is being proven.
#[derive(Clone, Debug)]
pub(crate) struct Working {
    pub(crate) batch: String,
    pub(crate) epoch: u64,
    pub(crate) made: usize,
    pub(crate) to_make: usize,
}

/// A batch whose last refresh failed.
#[derive(Clone, Debug)]
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
    epochs: AtomicU64,
    proofs: AtomicU64,
    shutdown: Shutdown,
}

impl Shared {
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
    fn ready(&self) -> Result<(), NotReady> {
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

    pub(crate) fn count_epoch(&self) {
        self.epochs.fetch_add(1, Ordering::Relaxed);
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

    fn summary(&self) -> Summary {
        let batches = self.store().batches().unwrap_or_default();
        Summary {
            epochs: self.epochs.load(Ordering::Relaxed),
            proofs: self.proofs.load(Ordering::Relaxed),
            stale: batches.into_iter().filter(|b| !self.is_fresh(b)).map(|b| b.name).collect(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every holder of the lock leaves the value valid, so poisoning is ignored.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves on `listener` until `shutdown` says to stop, then finishes the work under way. It first proves the batches
/// that an earlier process left stale. Needs a runtime with several threads.
///
/// # Errors
/// [`ServeError`]. Every answered request is committed.
pub async fn serve(
    listener: TcpListener,
    parts: Parts,
    config: Config,
    shutdown: &Shutdown,
) -> Result<Summary, ServeError> {
    let access = config.access.clone();
    let outcome = run(listener, parts, config, shutdown).await;
    if let Some(access) = access {
        access.finish().await;
    }
    outcome
}

async fn run(listener: TcpListener, parts: Parts, config: Config, shutdown: &Shutdown) -> Result<Summary, ServeError> {
    let Parts { store, backends, engine, mut registry, tasks, probes } = parts;
    // Callers may ask for the state as soon as the server starts.
    let looked = tokio::task::spawn_blocking(move || {
        store.check_writable()?;
        lost(&store).map(|lost| (store, lost))
    });
    let (store, lost) = looked.await.map_err(io::Error::other)??;
    let (queue, requests) = mpsc::channel(config.queue.max(1));
    let metrics = ServiceMetrics::new(&mut registry, tasks, &config);
    let backups = Backups::new(&metrics);
    let shared = Arc::new(Shared {
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
        epochs: AtomicU64::new(0),
        proofs: AtomicU64::new(0),
        shutdown: shutdown.clone(),
    });
    let sizes = tokio::spawn(Sizes::of(&shared.store(), &shared.metrics).watch());
    let ready = shared.clone();
    let health = Health::new(Arc::new(registry), move || ready.ready());
    let router = http::router(shared.clone(), health.clone());
    // Probes are answered until the end.
    let _probes = probes.map(|listener| Probes::start(listener, health)).transpose()?;
    let (end, mut ended) = oneshot::channel();
    let work = Work::start(shared.clone(), requests)?;
    let thread = thread::Builder::new().name("work".into()).spawn(move || {
        if let Some(outcome) = work.join() {
            // An error means that the service has ended already.
            let _ = end.send(outcome);
        }
    })?;

    let (close, closed) = oneshot::channel::<()>();
    let closed = async move {
        // A dropped sender means the same.
        let _ = closed.await;
    };
    let Config { connections, head_time: head, body_time: silence, .. } = shared.config;
    let bounds = Bounds { connections: connections.max(1), head, silence, last: LAST_ANSWERS };
    let tls = shared.config.tls.clone().map(|tls| (tls, http::plain(shared.clone())));
    let front = Front { router, bounds, tls, open: shared.metrics.connections.clone() };
    let mut server = tokio::spawn(connections::answer(listener, front, closed));

    let left = async {
        shutdown.reached(Stage::Leaving).await;
        tokio::select! {
            () = tokio::time::sleep(shared.config.drain) => shutdown.drain(),
            () = shared.draining() => {}
        }
        std::future::pending::<ServeError>().await
    };
    let stop = async {
        shared.draining().await;
        tokio::select! {
            () = tokio::time::sleep(shared.config.grace) => shutdown.abort(),
            () = shared.aborting() => {}
        }
        std::future::pending::<()>().await;
    };
    let outcome = tokio::select! {
        outcome = &mut ended => outcome.map_err(|_| ServeError::Panicked),
        gone = &mut server => Err(gone.err().map_or(ServeError::Panicked, |e| ServeError::Io(e.into()))),
        () = stop => Err(ServeError::Panicked),
        e = left => Err(e),
    };
    shutdown.drain();
    sizes.abort();
    shared.publish(Event::Stopping);
    let _ = close.send(());
    if !server.is_finished() {
        // An error means a panic, which ends the connections too.
        let _ = server.await;
    }
    let summary = tokio::task::spawn_blocking(move || {
        // `outcome` already has a panic of the thread.
        let _ = thread.join();
        shared.summary()
    });
    let summary = summary.await.map_err(std::io::Error::other)?;
    outcome??;
    Ok(summary)
}

/// The threads that commit and prove.
struct Work {
    epochs: JoinHandle<Result<(), Error>>,
    proofs: JoinHandle<Result<(), Error>>,
}

impl Work {
    fn start(shared: Arc<Shared>, requests: mpsc::Receiver<Waiting>) -> Result<Self, ServeError> {
        // The first refresh comes before the first turn of commits.
        let (turns, told) = watch::channel(1);
        let (refreshed, known) = watch::channel(0);
        let epoch = shared.store().epoch()?.number;
        shared.metrics.epoch.set(i64::try_from(epoch).unwrap_or(i64::MAX));
        let shutdown = shared.shutdown.clone();
        let runtime = Handle::current();
        let epochs = Epochs::new(shared.clone(), requests, runtime.clone(), turns, known);
        let proofs = Refresher::new(shared, runtime, epoch, told, refreshed);
        let spawn = |name: &str, work: Box<dyn FnOnce() -> Result<(), Error> + Send>| {
            thread::Builder::new().name(name.into()).stack_size(STACK_BYTES).spawn(work)
        };
        Ok(Self {
            epochs: spawn("epochs", {
                let stop = StopOnError { stage: Some(Stage::Aborting), shutdown: shutdown.clone() };
                Box::new(move || stop.after(epochs.run()))
            })?,
            proofs: spawn("proofs", {
                let stop = StopOnError { stage: Some(Stage::Draining), shutdown };
                Box::new(move || stop.after(proofs.run()))
            })?,
        })
    }

    /// Waits for both threads. `None` if one of them panicked.
    fn join(self) -> Option<Result<(), Error>> {
        let [epochs, proofs] = [self.epochs, self.proofs].map(|thread| thread.join().ok());
        Some(epochs?.and(proofs?))
    }
}

/// Enters a stage of the shutdown when a thread of a service fails, so that the other thread ends too.
struct StopOnError {
    /// `None` after success.
    stage: Option<Stage>,
    shutdown: Shutdown,
}

impl StopOnError {
    fn after<T, E>(mut self, outcome: Result<T, E>) -> Result<T, E> {
        if outcome.is_ok() {
            self.stage = None;
        }
        outcome
    }
}

impl Drop for StopOnError {
    fn drop(&mut self) {
        if let Some(stage) = self.stage {
            self.shutdown.raise(stage);
        }
    }
}

/// The thread that answers probes. It never waits for the threads of the service, whatever callers do. Dropping this
/// ends the thread.
struct Probes {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Probes {
    fn start(listener: TcpListener, health: Health) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = listener.into_std()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let answer = async move {
            let listener = match TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(e) => return tracing::error!(error = %e, "probes are not answered"),
            };
            tokio::select! {
                () = health::health(listener, health, std::future::pending()) => {}
                // A dropped sender means the same.
                _ = stopped => {}
            }
        };
        let thread = thread::Builder::new().name("probes".into()).spawn(move || runtime.block_on(answer))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means a panic, which reports itself.
            let _ = thread.join();
        }
    }
}

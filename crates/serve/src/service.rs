//! A service from its start to its end.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evergrove::commit::schema::Schema;
use evergrove::jobs::Engine;
use evergrove::jobs::metrics::Metrics;
use evergrove::store::{Backends, Error, ProofTree, Store};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch};

use crate::backups::Backups;
use crate::epochs::{Asker, Done, Epochs, Waiting};
use crate::health::Health;
use crate::http::connections::{self, Bounds, Front};
use crate::http::epochs::Committing;
use crate::metrics::ServiceMetrics;
use crate::problem::Problem;
use crate::runs::Runs;
use crate::sizes::Sizes;
use crate::{Config, Event, health, http};

/// Events that a slow listener may be behind before it misses some.
const EVENTS: usize = 256;
/// Questions to the store at once; further ones wait. A proof of a past epoch takes the memory of its batch.
pub(crate) const READERS: usize = 16;
/// Bodies of changes that are parsed at the same time.
const PARSERS: usize = 4;
/// Stack of the thread that commits and proves: what a main thread has on most systems.
const STACK_BYTES: usize = 8 << 20;
/// Epochs of which it is remembered when they were committed and proven.
const RECENT: usize = 1024;
/// How long answers that are under way may take when everything else has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// What a service works with.
pub struct Parts {
    /// The store. Nobody else has it open.
    pub store: Store,
    /// The backends of its batches.
    pub backends: Backends,
    /// What runs their tasks.
    pub engine: Box<dyn Engine>,
    /// Where the service's metrics go; those of `tasks` are there already.
    pub registry: Registry,
    /// What counts the tasks, also for the caller.
    pub tasks: Metrics,
    /// Where `/healthz`, `/readyz` and `/metrics` are answered too, whatever callers do to the service.
    pub probes: Option<TcpListener>,
}

/// Stages of a service.
///
/// ```text
///            told to leave              after the time of `drain`, or told to drain            after the time of `grace`, or told to
///   running ───────────────▶ leaving ──────────────────────────────────────────────▶ draining ─────────────────────────────────────▶ aborting
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Leaving,
    Draining,
    Aborting,
}

/// Tells a service to stop. Clones tell the same service.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<Stage>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::Sender::new(Stage::Running))
    }
}

impl Shutdown {
    /// Says that it leaves, goes on with everything for as long as the configuration says, and then drains.
    pub fn leave(&self) {
        self.raise(Stage::Leaving);
    }

    /// Takes no more changes, commits those that wait, and goes on with their proofs for as long as the configuration says.
    pub fn drain(&self) {
        self.raise(Stage::Draining);
    }

    /// The next stage: leaves, then drains, then aborts. What a signal tells.
    pub fn advance(&self) {
        self.0.send_modify(|now| {
            *now = match *now {
                Stage::Running => Stage::Leaving,
                Stage::Leaving => Stage::Draining,
                Stage::Draining | Stage::Aborting => Stage::Aborting,
            };
        });
    }

    /// Starts no more proofs either. The epoch is kept: the next start goes on with what is missing.
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
        // The sender is `self`, so that the channel is open.
        let _ = self.0.subscribe().wait_for(|now| *now >= stage).await;
    }
}

/// What a service has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Epochs committed.
    pub epochs: u64,
    /// Batches proven, once for each epoch.
    pub proofs: u64,
    /// Batches that are left without a proof of the last epoch.
    pub stale: Vec<String>,
}

/// Why a service ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store failed.
    #[error("{0}")]
    Store(#[from] Error),
    /// The listener failed, or the system gave no thread.
    #[error("the service stopped: {0}")]
    Io(#[from] std::io::Error),
    /// The thread that commits and proves is gone.
    #[error("the thread that commits epochs panicked; every answered request is committed")]
    Panicked,
}

/// A batch that is proven now.
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

/// What blocks when it is used.
struct Held {
    store: RwLock<Store>,
    backups: Backups,
    backends: Backends,
    engine: Box<dyn Engine>,
}

/// What must not be dropped on a thread that drives a runtime either: it is dropped on one of its own.
struct Blocking(Option<Box<Held>>);

impl Drop for Blocking {
    fn drop(&mut self) {
        let parts = self.0.take();
        if let Ok(thread) = thread::Builder::new().name("close".into()).spawn(move || drop(parts)) {
            // It can only have panicked, and says so itself.
            let _ = thread.join();
        }
    }
}

/// What handlers and the thread of epochs share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) schema: Schema,
    pub(crate) metrics: ServiceMetrics,
    pub(crate) queue: mpsc::Sender<Waiting>,
    pub(crate) streams: Arc<Semaphore>,
    /// Those of them that may be open without a token.
    pub(crate) public_streams: Arc<Semaphore>,
    pub(crate) readers: Arc<Semaphore>,
    /// Turns to parse a body of changes.
    pub(crate) parsers: Arc<Semaphore>,
    parts: Blocking,
    events: broadcast::Sender<Event>,
    working: Mutex<Option<Working>>,
    runs: Mutex<Runs>,
    /// Counts what happens in runs, for those who follow them.
    progressed: watch::Sender<()>,
    /// The last epochs, the oldest first.
    recent: Mutex<VecDeque<Recent>>,
    /// The turn to build a tree of proofs.
    pub(crate) builder: Arc<Semaphore>,
    /// Trees of proofs of the current epoch, by batch and its turns, the newest first.
    pub(crate) trees: Mutex<Vec<(String, u64, Arc<ProofTree>)>>,
    failing: Mutex<Vec<Failing>>,
    stalled: AtomicBool,
    full: AtomicBool,
    cycle_millis: AtomicU64,
    epochs: AtomicU64,
    proofs: AtomicU64,
    shutdown: Shutdown,
}

impl Shared {
    fn parts(&self) -> &Held {
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

    /// The store, beside others who read it or commit to it.
    pub(crate) fn store(&self) -> RwLockReadGuard<'_, Store> {
        // A store is whole after a panic: what it changes, it changes in transactions.
        self.parts().store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, with nobody else.
    pub(crate) fn store_alone(&self) -> RwLockWriteGuard<'_, Store> {
        self.parts().store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the store again after a read or write of its file has failed.
    pub(crate) fn recover(&self) -> Result<(), Error> {
        if !self.store().has_failed() {
            return Ok(());
        }
        let mut store = self.store_alone();
        self.backups().break_off();
        store.recover()
    }

    /// True since a write found no room on the disk, until one succeeds.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Notes it. A full disk needs the pages that a backup keeps, so that one ends.
    pub(crate) fn set_full(&self, full: bool) {
        if full {
            self.backups().break_off();
        }
        self.full.store(full, Ordering::Relaxed);
        self.metrics.disk_full.set(full.into());
    }

    /// True while the service takes changes.
    pub(crate) fn is_running(&self) -> bool {
        self.shutdown.now() < Stage::Draining
    }

    /// True since the service was told to leave.
    pub(crate) fn is_leaving(&self) -> bool {
        self.shutdown.now() > Stage::Running
    }

    /// What `/v1/status` calls the stage.
    pub(crate) fn state(&self) -> &'static str {
        match self.shutdown.now() {
            Stage::Running => "running",
            Stage::Leaving => "leaving",
            Stage::Draining | Stage::Aborting => "stopping",
        }
    }

    /// True when no more proofs are to be started.
    pub(crate) fn is_aborting(&self) -> bool {
        self.shutdown.now() == Stage::Aborting
    }

    /// Waits until no more proofs are to be started.
    pub(crate) async fn aborting(&self) {
        self.shutdown.reached(Stage::Aborting).await;
    }

    /// True since a refresh was given up because nobody worked on it, until there is a sign of work.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Notes it, and tells everyone who listens where it is new.
    pub(crate) fn set_stalled(&self, stalled: bool) {
        if self.stalled.swap(stalled, Ordering::Relaxed) != stalled {
            self.metrics.stalled.set(stalled.into());
            self.publish(if stalled { Event::Stalled { cause: self.stop_reason() } } else { Event::Resumed });
        }
    }

    /// Why a refresh was stopped.
    pub(crate) fn stop_reason(&self) -> String {
        if self.is_aborting() {
            return "the service stops".into();
        }
        let seconds = self.config.stall.unwrap_or_default().as_secs_f64();
        format!("no proof was begun or ended for {seconds} s: see whether there are workers for this queue")
    }

    /// Says whether the service takes changes, or why not. Proofs may be late: epochs are committed without them.
    fn ready(&self) -> Result<(), String> {
        if self.is_leaving() { Err("the service stops".into()) } else { Ok(()) }
    }

    /// Waits until the service is told to stop.
    pub(crate) async fn draining(&self) {
        self.shutdown.reached(Stage::Draining).await;
    }

    /// Tells everyone who listens.
    pub(crate) fn publish(&self, event: Event) {
        self.remember(&event);
        // An error means that nobody listens.
        let _ = self.events.send(event);
    }

    /// Notes when an epoch was committed and when it was proven.
    fn remember(&self, event: &Event) {
        let mut recent = lock(&self.recent);
        match event {
            Event::Epoch { epoch, set, deleted, .. } => {
                if recent.len() == RECENT {
                    recent.pop_front();
                }
                let (at, proven_after) = (Instant::now(), None);
                recent.push_back(Recent { epoch: *epoch, at, set: *set, deleted: *deleted, proven_after });
            }
            Event::Proof { epoch, .. } => {
                if let Some(recent) = recent.iter_mut().rev().find(|recent| recent.epoch == *epoch) {
                    recent.proven_after = Some(recent.at.elapsed());
                }
            }
            _ => {}
        }
    }

    /// What is remembered of an epoch.
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

    /// Who makes proofs.
    pub(crate) fn prover(&self) -> &'static str {
        // Only workers can be absent.
        if self.config.stall.is_some() { "workers" } else { "service" }
    }

    /// What is known of the last runs.
    pub(crate) fn runs(&self) -> MutexGuard<'_, Runs> {
        lock(&self.runs)
    }

    /// Changes whenever something happens in a run.
    pub(crate) fn progressed(&self) -> watch::Receiver<()> {
        self.progressed.subscribe()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Answers a request that was in the queue.
    pub(crate) fn answer(&self, asker: Asker, with: Result<Done, Problem>) {
        self.metrics.waiting.dec();
        if let (Some(record), Ok(Done { epoch, changes, replayed })) = (&asker.record, &with) {
            // Also where who asked has gone.
            record.committed(epoch.number, *changes, *replayed);
        }
        // Who asked may have gone.
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

    pub(crate) fn count_epoch(&self) {
        self.epochs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_proof(&self) {
        self.proofs.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes how long the last epoch took with its proofs.
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
            stale: batches.into_iter().filter(|b| !b.fresh).map(|b| b.name).collect(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holder leaves the value whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves on `listener` until `shutdown` is told, and then ends what is under way. Finishes first what an earlier process
/// has left. Needs a runtime with several threads.
///
/// # Errors
/// [`ServeError`]. Whatever was answered is committed.
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
        parsers: Arc::new(Semaphore::new(PARSERS)),
        config,
        parts: Blocking(Some(Box::new(Held { store: RwLock::new(store), backups, backends, engine }))),
        events: broadcast::Sender::new(EVENTS),
        working: Mutex::default(),
        runs: Mutex::default(),
        progressed: watch::Sender::new(()),
        recent: Mutex::default(),
        builder: Arc::new(Semaphore::new(1)),
        trees: Mutex::default(),
        failing: Mutex::default(),
        stalled: AtomicBool::new(false),
        full: AtomicBool::new(false),
        cycle_millis: AtomicU64::new(0),
        epochs: AtomicU64::new(0),
        proofs: AtomicU64::new(0),
        shutdown: shutdown.clone(),
    });
    let sizes = tokio::spawn(Sizes::of(&shared.store(), &shared.metrics).watch());
    let ready = shared.clone();
    let health = Health::new(Arc::new(registry), move || ready.ready());
    let router = http::router(shared.clone(), health.clone());
    // Probes are answered to the end.
    let _probes = probes.map(|listener| Probes::start(listener, health)).transpose()?;
    let (end, mut ended) = oneshot::channel();
    let epochs = Epochs::new(shared.clone(), requests, Handle::current());
    let thread = thread::Builder::new().name("epochs".into()).stack_size(STACK_BYTES).spawn(move || {
        // Without a receiver the service is gone already.
        let _ = end.send(epochs.run());
    })?;

    let (close, closed) = oneshot::channel::<()>();
    let closed = async move {
        // A dropped sender says the same.
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
        // A panic ends its connections too.
        let _ = server.await;
    }
    let summary = tokio::task::spawn_blocking(move || {
        // A panic of the thread is in `outcome` already.
        let _ = thread.join();
        shared.summary()
    });
    let summary = summary.await.map_err(std::io::Error::other)?;
    outcome??;
    Ok(summary)
}

/// The thread that answers probes: whatever callers have the threads of the service do, it does not wait for them. Dropped, it ends.
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
                // A dropped sender says the same.
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
            // It can only have panicked, and says so itself.
            let _ = thread.join();
        }
    }
}

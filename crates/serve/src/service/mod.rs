//! The life of a service, from start to end.

mod shared;

pub(crate) use shared::{Failing, RECENT, Shared};

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evergrove::jobs::Engine;
use evergrove::jobs::metrics::Metrics;
use evergrove::store::{Backends, Error, Store};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot, watch};

use crate::epochs::{Epochs, Waiting};
use crate::health::Health;
use crate::http::connections::{self, Bounds, Front};
use crate::metrics::ServiceMetrics;
use crate::refresh::{Refresher, lost};
use crate::sizes::Sizes;
use crate::{Config, Event, health, http};

/// Stack of the threads that commit and prove, in bytes: as much as a main thread has on most systems.
const STACK_BYTES: usize = 8 << 20;
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

    /// Enters the stage `next` when the stage `from` has taken its time. Never ends.
    async fn pass(&self, from: Stage, time: Duration, next: Stage) -> Infallible {
        self.reached(from).await;
        tokio::select! {
            () = tokio::time::sleep(time) => self.raise(next),
            () = self.reached(next) => {}
        }
        pending().await
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
    let shared = Arc::new(Shared::new(store, (backends, engine), lost, queue, metrics, config, shutdown.clone()));
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

    let outcome = tokio::select! {
        outcome = &mut ended => outcome.map_err(|_| ServeError::Panicked),
        gone = &mut server => Err(gone.err().map_or(ServeError::Panicked, |e| ServeError::Io(e.into()))),
        never = shutdown.pass(Stage::Leaving, shared.config.drain, Stage::Draining) => match never {},
        never = shutdown.pass(Stage::Draining, shared.config.grace, Stage::Aborting) => match never {},
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
        let spawn = |name: &str, stage, work: Box<dyn FnOnce() -> Result<(), Error> + Send>| {
            let stop = StopOnError { stage: Some(stage), shutdown: shutdown.clone() };
            let builder = thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
            builder.spawn(move || stop.after(work()))
        };
        Ok(Self {
            epochs: spawn("epochs", Stage::Aborting, Box::new(move || epochs.run()))?,
            proofs: spawn("proofs", Stage::Draining, Box::new(move || proofs.run()))?,
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
                () = health::health(listener, health, pending()) => {}
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

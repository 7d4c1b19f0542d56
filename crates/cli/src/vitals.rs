//! What a worker or a leader tells of itself while it works: health and metrics.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
#[cfg(feature = "queue")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};
#[cfg(feature = "queue")]
use evergrove::jobs::bullmq::{Config, WorkerEvent};
use evergrove::jobs::metrics::Metrics;
use evergrove_serve::{Health, health};
use tokio::runtime::Builder;

#[cfg(feature = "queue")]
use crate::queue;

/// A process's metrics, and whether it takes work.
#[derive(Clone)]
pub(crate) struct Vitals {
    metrics: Metrics,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    ready: AtomicBool,
    /// Whether the queue answers, where that is watched.
    #[cfg(feature = "queue")]
    queue: OnceLock<Arc<AtomicBool>>,
}

impl State {
    fn ready(&self) -> Result<(), String> {
        if !self.ready.load(Ordering::Relaxed) {
            return Err("it has not begun, or is ending".into());
        }
        #[cfg(feature = "queue")]
        if self.queue.get().is_some_and(|answers| !answers.load(Ordering::Relaxed)) {
            return Err("the queue does not answer".into());
        }
        Ok(())
    }
}

impl Vitals {
    /// Vitals at zero, which are told at `addr` from now on where there is one. Gives the address that was taken.
    pub(crate) fn new(
        addr: Option<SocketAddr>,
        #[cfg(feature = "queue")] queue: Option<&Config>,
    ) -> Result<(Self, Option<SocketAddr>)> {
        let state = Arc::new(State::default());
        let asked = state.clone();
        let (health, metrics) = Health::of_tasks(move || asked.ready());
        let taken = match addr {
            Some(addr) => {
                let taken = answer(addr, health)?;
                #[cfg(feature = "queue")]
                if let Some(queue) = queue {
                    // Nobody has set it before.
                    let _ = state.queue.set(queue::watch(queue.clone(), metrics.clone())?);
                }
                Some(taken)
            }
            None => None,
        };
        Ok((Self { metrics, state }, taken))
    }

    /// What counts.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The process takes work from now on, or no more.
    pub(crate) fn set_ready(&self, ready: bool) {
        self.state.ready.store(ready, Ordering::Relaxed);
    }

    /// Takes note of an event of a worker.
    #[cfg(feature = "queue")]
    pub(crate) fn note(&self, event: &WorkerEvent<'_>) {
        match event {
            WorkerEvent::Ready => self.set_ready(true),
            WorkerEvent::Draining { .. } => self.set_ready(false),
            WorkerEvent::Stalled { .. } => self.metrics.stalled(1),
            WorkerEvent::Started { kind, .. } => self.metrics.started(kind),
            WorkerEvent::Finished { kind, bytes, elapsed, .. } => self.metrics.done(kind, *elapsed, *bytes),
            WorkerEvent::Postponed { kind, .. } => self.metrics.dropped(kind),
            WorkerEvent::Failed { kind, retry: true, .. } => self.metrics.retried(kind),
            WorkerEvent::Failed { kind, retry: false, .. } => self.metrics.failed(kind),
            _ => {}
        }
    }
}

/// Answers `/healthz`, `/readyz` and `/metrics` at `addr`, on a thread that lives as long as the process. Gives the address.
fn answer(addr: SocketAddr, what: Health) -> Result<SocketAddr> {
    let failed = || format!("--health {addr}");
    let runtime = Builder::new_current_thread().enable_all().build().with_context(failed)?;
    let listener = TcpListener::bind(addr).with_context(failed)?;
    listener.set_nonblocking(true).with_context(failed)?;
    let taken = listener.local_addr().with_context(failed)?;
    let work = move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            health(listener, what, std::future::pending()).await;
            Ok::<_, std::io::Error>(())
        })
    };
    thread::Builder::new().name("health".into()).spawn(work).with_context(failed)?;
    Ok(taken)
}

//! Health and metrics of a worker or a leader while it works.

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
use evergrove_serve::{Health, NotReady, health};
use tokio::runtime::Builder;

#[cfg(feature = "queue")]
use crate::queue;

/// The metrics of a process, and whether it accepts work.
#[derive(Clone)]
pub(crate) struct Probes {
    /// The metrics that the process updates.
    pub(crate) metrics: Metrics,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    ready: AtomicBool,
    /// Whether the queue answers, if it is watched.
    #[cfg(feature = "queue")]
    queue: OnceLock<Arc<AtomicBool>>,
}

impl State {
    fn ready(&self) -> Result<(), NotReady> {
        if !self.ready.load(Ordering::Relaxed) {
            return Err(NotReady::Idle);
        }
        #[cfg(feature = "queue")]
        if self.queue.get().is_some_and(|answers| !answers.load(Ordering::Relaxed)) {
            return Err(NotReady::Queue);
        }
        Ok(())
    }
}

impl Probes {
    /// Probes that start at zero. If `addr` is given they are served there, and the address that was bound is returned.
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
                    // The cell is still empty, so this does not fail.
                    let _ = state.queue.set(queue::watch(queue.clone(), metrics.clone())?);
                }
                Some(taken)
            }
            None => None,
        };
        Ok((Self { metrics, state }, taken))
    }

    /// Sets whether the process accepts work.
    pub(crate) fn set_ready(&self, ready: bool) {
        self.state.ready.store(ready, Ordering::Relaxed);
    }

    /// Records an event of a worker.
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

/// Answers `/healthz`, `/readyz` and `/metrics` at `addr`, on a thread that lives as long as the process. Returns the
/// bound address.
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

//! What a worker tells of itself while it works: health, metrics, and a span of every job.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use evergrove_jobs::bullmq::admin::Admin;
use evergrove_jobs::bullmq::{Config, WorkerEvent};
use evergrove_jobs::metrics::Metrics;
use evergrove_serve::{Health, health};
use tokio::runtime::Builder;
use tracing::{Span, field, info_span};

/// Pause between two looks at the depth of the queue.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A worker's metrics and the spans of its jobs.
pub(crate) struct Vitals {
    metrics: Metrics,
    ready: Arc<AtomicBool>,
    jobs: RefCell<HashMap<String, Span>>,
}

impl Vitals {
    /// Vitals at zero, and what answers for them.
    pub(crate) fn new() -> (Self, Health) {
        let ready = Arc::new(AtomicBool::new(false));
        let asked = ready.clone();
        let (health, metrics) = Health::of_tasks(move || asked.load(Ordering::Relaxed));
        (Self { metrics, ready, jobs: RefCell::default() }, health)
    }

    /// Takes note of an event.
    pub(crate) fn note(&self, event: &WorkerEvent<'_>) {
        match event {
            WorkerEvent::Ready => self.ready.store(true, Ordering::Relaxed),
            WorkerEvent::Draining { .. } => self.ready.store(false, Ordering::Relaxed),
            WorkerEvent::Stalled { .. } => self.metrics.stalled(1),
            WorkerEvent::Started { job, kind, attempt } => {
                self.metrics.started(kind);
                let span = info_span!(
                    "task",
                    kind,
                    job,
                    attempt,
                    outcome = field::Empty,
                    bytes = field::Empty,
                    cause = field::Empty
                );
                self.jobs.borrow_mut().insert((*job).into(), span);
            }
            WorkerEvent::Finished { job, kind, bytes, elapsed, .. } => {
                self.metrics.done(kind, *elapsed, *bytes);
                self.end(job, "done").record("bytes", bytes);
            }
            WorkerEvent::Failed { job, kind, cause, retry, .. } => {
                let outcome = if *retry { "retried" } else { "failed" };
                if *retry {
                    self.metrics.retried(kind)
                } else {
                    self.metrics.failed(kind)
                }
                self.end(job, outcome).record("cause", cause);
            }
            _ => {}
        }
    }

    fn end(&self, job: &str, outcome: &str) -> Span {
        let span = self.jobs.borrow_mut().remove(job).unwrap_or_else(Span::none);
        span.record("outcome", outcome);
        span
    }

    /// Counts the tasks of the queue every few seconds, on a thread that lives as long as the process.
    pub(crate) fn watch_queue(&self, config: Config) -> Result<()> {
        let metrics = self.metrics.clone();
        let look = move || {
            let mut admin = None;
            loop {
                // A server that does not answer is the worker's to tell; the last counts stay.
                if admin.is_none() {
                    admin = Admin::connect(&config).ok();
                }
                let counts = admin.as_ref().and_then(|admin| admin.counts().ok());
                for (state, jobs) in counts.into_iter().flatten() {
                    metrics.queue(state.name(), usize::try_from(jobs).unwrap_or(usize::MAX));
                }
                thread::sleep(LOOK_EVERY);
            }
        };
        thread::Builder::new().name("queue".into()).spawn(look).context("the queue's depth")?;
        Ok(())
    }
}

/// Answers `/healthz`, `/readyz` and `/metrics` at `addr`, on a thread that lives as long as the process. Gives the address.
pub(crate) fn answer(addr: SocketAddr, what: Health) -> Result<SocketAddr> {
    let failed = || format!("--health {addr}");
    let runtime = Builder::new_current_thread().enable_all().build().with_context(failed)?;
    let listener = TcpListener::bind(addr).with_context(failed)?;
    listener.set_nonblocking(true).with_context(failed)?;
    let taken = listener.local_addr().with_context(failed)?;
    let work = move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            health(listener, what, std::future::pending()).await
        })
    };
    thread::Builder::new().name("health".into()).spawn(work).with_context(failed)?;
    Ok(taken)
}

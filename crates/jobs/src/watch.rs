//! An observer for long-running programs: metrics, and a span for every attempt.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Instant;

use tracing::{Span, field, info_span};

use crate::metrics::Metrics;
use crate::{Event, Observer, TaskId};

/// Reports the events of one run to metrics and `tracing`.
///
/// A span `task` lasts from the start of an attempt to its end, as reported by the engine. Its fields are `kind`,
/// `key`, `attempt`, `outcome` (`done`, `retried`, `postponed`, `failed`), `bytes` and `cause`. Its parent is the span
/// in which [`Watch::new`] was called.
#[derive(Debug)]
pub struct Watch {
    metrics: Metrics,
    run: Span,
    attempts: RefCell<HashMap<TaskId, Attempt>>,
}

#[derive(Debug)]
struct Attempt {
    kind: &'static str,
    started: Instant,
    span: Span,
}

impl Watch {
    /// Watches one run.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, run: Span::current(), attempts: RefCell::default() }
    }

    fn end(&self, id: TaskId, outcome: &str) -> Option<Attempt> {
        let attempt = self.attempts.borrow_mut().remove(&id)?;
        attempt.span.record("outcome", outcome);
        Some(attempt)
    }
}

impl Observer for Watch {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Planned { tasks, to_run } => self.metrics.skipped(tasks - to_run),
            Event::Started { id, task, attempt } => {
                self.metrics.started(task.kind);
                let span = info_span!(
                    parent: &self.run, "task", kind = task.kind, key = %task.key, attempt,
                    outcome = field::Empty, bytes = field::Empty, cause = field::Empty,
                );
                let attempt = Attempt { kind: task.kind, started: Instant::now(), span };
                self.attempts.borrow_mut().insert(*id, attempt);
            }
            Event::Finished { id, task, bytes, .. } => {
                if let Some(attempt) = self.end(*id, "done") {
                    attempt.span.record("bytes", bytes);
                    self.metrics.done(task.kind, attempt.started.elapsed(), *bytes);
                }
            }
            Event::Retrying { id, task, cause, .. } => {
                if let Some(attempt) = self.end(*id, "retried") {
                    attempt.span.record("cause", cause);
                    self.metrics.retried(task.kind);
                }
            }
            Event::Postponed { id, task } => {
                if self.end(*id, "postponed").is_some() {
                    self.metrics.dropped(task.kind);
                }
            }
            Event::Failed { id, task, cause } => {
                if let Some(attempt) = self.end(*id, "failed") {
                    attempt.span.record("cause", cause);
                    self.metrics.failed(task.kind);
                }
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for attempt in self.attempts.get_mut().values() {
            self.metrics.dropped(attempt.kind);
        }
    }
}

//! Takes jobs from the queue, in a worker and in a leader whose own threads do the tasks.

use std::sync::Arc;
use std::time::Duration;

use bullmq::worker::{CancellationToken, WorkerEvent};
use bullmq::{Job, JobProgress, WorkerOptions};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::PREFIX;
use super::queue::{self, Connection, QueueError};
use super::record::now_ms;

/// How often a job may be taken from workers that stopped responding. After one more time, the job itself is considered
/// the cause.
pub(super) const STALLS: u32 = 3;
/// Pause before a job with missing inputs is offered again.
pub(super) const LATER: Duration = Duration::from_millis(100);

/// A job that was taken from the queue and waits for its answer. Its lock is renewed until then.
pub(super) struct Handed {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) data: serde_json::Value,
    /// Counts from 1.
    pub(super) attempt: u32,
    /// Earlier attempts that were not counted: the job was postponed, or its worker stopped responding.
    pub(super) postponed: u32,
    answer: oneshot::Sender<Answer>,
}

impl Handed {
    /// Ends the attempt.
    pub(super) fn answer(self, answer: Answer) {
        // Without a receiver the connection is closed, and another worker gets the job.
        let _ = self.answer.send(answer);
    }
}

/// How an attempt at a job ends.
pub(super) enum Answer {
    /// The result is stored.
    Done(Outcome),
    /// A transient error. The job is tried again while it has attempts left.
    Retry(String),
    /// A permanent error.
    Failed(String),
    /// The job is offered again after this pause. No attempt is counted.
    Later(Duration),
}

/// The outcome of a done job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Size of the result.
    pub(super) bytes: usize,
    /// The result was stored before.
    pub(super) already: bool,
}

/// The return value of a job in the queue: its outcome and the name of its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Left {
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    #[serde(default)]
    pub(super) worker: Option<String>,
}

/// A failed attempt that will be followed by another. It is reported as the progress of its job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Retry {
    pub(super) attempt: u32,
    pub(super) cause: String,
}

/// BullMQ's worker in this process.
pub(super) struct Consumer {
    worker: Arc<bullmq::Worker>,
}

impl Consumer {
    /// Takes up to `concurrency` jobs at once and passes each to `hand`, which returns false if nobody will do it.
    /// Passes other events to `happened`.
    pub(super) fn start(
        connection: &Connection,
        name: &str,
        concurrency: usize,
        hand: impl Fn(Handed) -> bool + Send + Sync + 'static,
        happened: impl Fn(WorkerEvent) + Send + 'static,
    ) -> Result<Self, QueueError> {
        let config = &connection.config;
        let mut options = WorkerOptions::new()
            .connection(config.redis.options())
            .prefix(PREFIX)
            .name(name)
            .concurrency(concurrency)
            .lock_duration(config.lock)
            .lock_renew_time(config.lock / 3)
            .stalled_interval((config.lock / 2).max(Duration::from_millis(1)))
            .max_stalled_count(STALLS)
            .run_retry_delay(Duration::from_millis(500));
        // In seconds, at least one: how long the worker takes to notice that it must end.
        options.drain_delay = 1;
        let worker = name.to_owned();
        let process = move |mut job: Job, _: CancellationToken| {
            let (answer, answered) = oneshot::channel();
            let attempt = job.attempts_made() + 1;
            let postponed = job.attempts_started().saturating_sub(attempt);
            let (name, kind, data) = (job.id().to_owned(), job.name().to_owned(), job.data().clone());
            let worker = worker.clone();
            let taken = hand(Handed { name, kind, data, attempt, postponed, answer });
            async move {
                let stopped = || bullmq::Error::Unrecoverable("the run has been stopped".into());
                if !taken {
                    return Err(stopped());
                }
                match answered.await {
                    Ok(Answer::Done(outcome)) => Ok(serde_json::to_value(Left { outcome, worker: Some(worker) })?),
                    Ok(Answer::Retry(cause)) => {
                        if attempt < job.opts().attempts.unwrap_or(1) {
                            let retry = Retry { attempt, cause: cause.clone() };
                            // This is only a report. The queue counts the attempts.
                            let _ = job.update_progress(JobProgress::Object(serde_json::to_value(retry)?)).await;
                        }
                        Err(bullmq::Error::ProcessingError(cause))
                    }
                    Ok(Answer::Failed(cause)) => Err(bullmq::Error::Unrecoverable(cause)),
                    Ok(Answer::Later(pause)) => {
                        job.move_to_delayed(now_ms() + pause.as_millis() as u64).await?;
                        Err(bullmq::Error::Delayed)
                    }
                    Err(_) => Err(stopped()),
                }
            }
        };
        let (runtime, failed) = (connection.runtime(), queue::call(config, "starting a worker"));
        let worker = runtime.block_on(bullmq::Worker::with_options(&config.queue, process, options)).map_err(failed)?;
        let worker = Arc::new(worker);
        let events = worker.clone();
        runtime.spawn(async move {
            while let Some(event) = events.next_event().await {
                happened(event);
            }
        });
        Ok(Self { worker })
    }

    /// Takes no more jobs.
    pub(super) fn pause(&self) {
        self.worker.pause();
    }

    /// Takes no more jobs, and gives running jobs `patience` to end. Their answers still reach the queue.
    pub(super) fn close(&self, connection: &Connection, patience: Duration) -> tokio::task::JoinHandle<()> {
        let worker = self.worker.clone();
        let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        connection.runtime().spawn(async move {
            // `close` never fails.
            let _ = worker.close(patience).await;
        })
    }
}

//! Inspecting and changing a queue, for people and tools on any machine.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bullmq::RetryOptions;

use super::Config;
use super::queue::{Connection, QueueError};
use super::record::{self, RunRecord, RunState};
use crate::objects::Objects;

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// First in line, because it was taken from a worker that stopped responding.
    Waiting,
    /// Ready. Jobs start by priority.
    Prioritized,
    /// Waits for the jobs that it needs.
    WaitingChildren,
    /// Waits for another attempt.
    Delayed,
    /// A worker is doing it.
    Active,
    /// Done. In this state the queue keeps only the roots of flows, until their run ends.
    Completed,
    /// Failed for good.
    Failed,
}

impl State {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Prioritized,
        Self::WaitingChildren,
        Self::Delayed,
        Self::Active,
        Self::Completed,
        Self::Failed,
    ];

    /// Name of the state in the queue.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "wait",
            Self::Prioritized => "prioritized",
            Self::WaitingChildren => "waiting-children",
            Self::Delayed => "delayed",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text does not name a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown state {0:?}: expected wait, prioritized, waiting-children, delayed, active, completed or failed")]
pub struct UnknownState(pub String);

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::ALL.into_iter().find(|s| s.name() == text).ok_or_else(|| UnknownState(text.into()))
    }
}

/// A job of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name: run, generation and task, separated by hyphens.
    pub name: String,
    /// The task's kind.
    pub kind: String,
    /// Key of the result.
    pub key: Option<String>,
    /// Hash of the payload.
    pub payload: Option<String>,
    /// Keys of the inputs.
    pub inputs: Vec<String>,
    /// Its state, if known.
    pub state: Option<State>,
    /// Number of ended attempts.
    pub attempts: u32,
    /// Rank in its run, from 1. Lower ranks start earlier.
    pub priority: u32,
    /// Cause of the failure, or empty.
    pub failed_reason: String,
    /// Name of the worker that does or did the job.
    pub worker: Option<String>,
    /// Name of the job that needs its result.
    pub parent: Option<String>,
    /// When it was added, in milliseconds since 1970.
    pub added_ms: u64,
    /// When a worker took it, in milliseconds since 1970.
    pub taken_ms: Option<u64>,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
}

/// What [`Admin::clean`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Number of runs.
    pub runs: usize,
    /// Number of jobs.
    pub jobs: usize,
}

/// A queue, for callers that neither lead runs nor do jobs. Calls block.
pub struct Admin {
    connection: Connection,
    objects: Option<Objects>,
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("queue", &self.connection.config).finish()
    }
}

impl Admin {
    /// Connects to a queue.
    ///
    /// # Errors
    /// If the server does not answer or is refused.
    pub fn connect(config: &Config) -> Result<Self, QueueError> {
        Ok(Self { connection: Connection::open(config)?, objects: None })
    }

    /// Lets [`Self::clean`] delete the payloads of runs too.
    pub fn with_objects(mut self, objects: Objects) -> Self {
        self.objects = Some(objects);
        self
    }

    /// Number of jobs in each state.
    ///
    /// # Errors
    /// If the server does not answer. This applies to every call of `Admin`.
    pub fn counts(&self) -> Result<Vec<(State, u64)>, QueueError> {
        let counts = self.connection.call("counting jobs", async || self.connection.queue.get_job_counts().await)?;
        Ok(by_state(&counts))
    }

    /// Number of jobs in each state, and number of workers. Waits up to `patience` for a server that does not answer;
    /// other calls wait up to a minute.
    ///
    /// # Errors
    /// As [`Self::counts`].
    pub fn look(&self, patience: Duration) -> Result<(Vec<(State, u64)>, usize), QueueError> {
        let queue = &self.connection.queue;
        self.connection.try_once("counting jobs and workers", patience, async {
            Ok((by_state(&queue.get_job_counts().await?), queue.get_workers_count().await?))
        })
    }

    /// Number of workers of this queue, idle or not.
    ///
    /// # Errors
    /// As [`Self::counts`].
    pub fn workers(&self) -> Result<usize, QueueError> {
        self.connection.call("counting workers", async || self.connection.queue.get_workers_count().await)
    }

    /// All recorded runs, oldest first.
    ///
    /// # Errors
    /// As [`Self::counts`].
    pub fn runs(&self) -> Result<Vec<RunRecord>, QueueError> {
        record::read_all(&self.connection)
    }

    /// Up to `limit` jobs in a state, after the first `offset` jobs.
    ///
    /// # Errors
    /// As [`Self::counts`].
    pub fn list(&self, state: State, offset: usize, limit: usize) -> Result<Vec<JobInfo>, QueueError> {
        let Some(last) = limit.checked_sub(1) else { return Ok(Vec::new()) };
        let (start, end) = (offset as i64, offset.saturating_add(last) as i64);
        let queue = &self.connection.queue;
        let jobs =
            self.connection.call("listing jobs", async || queue.get_jobs(&[state.name()], start, end, true).await)?;
        Ok(jobs.iter().map(|job| info(job, Some(state))).collect())
    }

    /// One job.
    ///
    /// # Errors
    /// [`QueueError::Unknown`].
    pub fn show(&self, name: &str) -> Result<JobInfo, QueueError> {
        let queue = &self.connection.queue;
        let found = self.connection.call("reading a job", async || queue.get_job(name).await)?;
        let job = found.ok_or_else(|| self.unknown("job", name))?;
        let state = self.connection.call("asking for a job", async || queue.get_job_state(name).await)?;
        Ok(info(&job, state.as_str().parse().ok()))
    }

    /// Lets a failed job run again, with all its attempts. The next run of the graph finds its result. Returns whether
    /// the job had failed.
    ///
    /// # Errors
    /// [`QueueError::Unknown`].
    pub fn retry(&self, name: &str) -> Result<bool, QueueError> {
        if self.show(name)?.state != Some(State::Failed) {
            return Ok(false);
        }
        let queue = &self.connection.queue;
        self.connection.call("retrying a job", async || {
            let Some(mut job) = queue.get_job(name).await? else { return Ok(()) };
            job.retry("failed", Some(RetryOptions { reset_attempts_made: true, reset_attempts_started: true })).await
        })?;
        Ok(true)
    }

    /// Stops a run: its leader starts nothing more and ends. If the leader is gone, removes the waiting jobs of the
    /// run. Running jobs end by themselves, and their results stay.
    ///
    /// # Errors
    /// [`QueueError::Unknown`].
    pub fn cancel(&self, run: &str) -> Result<(), QueueError> {
        let mut record = self.record(run)?;
        if record.state != RunState::Running {
            return Ok(());
        }
        record::cancel(&self.connection, run)?;
        if record.is_abandoned() {
            record::remove_jobs(&self.connection, &HashSet::from([run]))?;
            record.state = RunState::Cancelled;
            record::write(&self.connection, &record)?;
        }
        Ok(())
    }

    /// Forgets runs that have ended or whose leader is gone, if their leader was last heard of at least `grace` ago.
    /// Removes their jobs that are not running, and with [`Self::with_objects`] their payloads. Results stay in the
    /// object store.
    ///
    /// # Errors
    /// As [`Self::counts`].
    pub fn clean(&self, grace: Duration) -> Result<Cleaned, QueueError> {
        let before = record::now_ms().saturating_sub(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        let ended = |r: &RunRecord| (r.state != RunState::Running || r.is_abandoned()) && r.seen_ms <= before;
        let records: Vec<_> = self.runs()?.into_iter().filter(ended).collect();
        if records.is_empty() {
            return Ok(Cleaned::default());
        }
        let jobs = record::remove_jobs(&self.connection, &records.iter().map(|r| r.run.as_str()).collect())?;
        for record in &records {
            if let Some(objects) = &self.objects {
                record::remove_payloads(objects, &record.run);
            }
            record::forget(&self.connection, &record.run)?;
        }
        Ok(Cleaned { runs: records.len(), jobs })
    }

    /// The record of a run.
    ///
    /// # Errors
    /// [`QueueError::Unknown`].
    pub fn record(&self, run: &str) -> Result<RunRecord, QueueError> {
        self.runs()?.into_iter().find(|r| r.run == run).ok_or_else(|| self.unknown("run", run))
    }

    fn unknown(&self, what: &'static str, id: &str) -> QueueError {
        QueueError::Unknown { what, id: id.into(), queue: self.connection.config.queue.clone() }
    }
}

fn by_state(counts: &bullmq::types::JobCounts) -> Vec<(State, u64)> {
    let count = |state| match state {
        State::Waiting => counts.waiting + counts.paused,
        State::Prioritized => counts.prioritized,
        State::WaitingChildren => counts.waiting_children,
        State::Delayed => counts.delayed,
        State::Active => counts.active,
        State::Completed => counts.completed,
        State::Failed => counts.failed,
    };
    State::ALL.map(|state| (state, count(state))).to_vec()
}

fn info(job: &bullmq::Job, state: Option<State>) -> JobInfo {
    let text = |name: &str| job.data().get(name).and_then(|v| v.as_str()).map(str::to_owned);
    let inputs = job.data().get("inputs").and_then(|v| v.as_array());
    JobInfo {
        name: job.id().into(),
        kind: job.name().into(),
        key: text("key"),
        payload: text("payload"),
        inputs: inputs.into_iter().flatten().filter_map(|v| v.as_str()).map(str::to_owned).collect(),
        state,
        attempts: job.attempts_made(),
        priority: job.priority(),
        failed_reason: job.failed_reason().into(),
        worker: job.processed_by().map(str::to_owned),
        parent: job.parent().map(|p| p.id.clone()),
        added_ms: job.timestamp(),
        taken_ms: job.processed_on(),
        ended_ms: job.finished_on(),
    }
}

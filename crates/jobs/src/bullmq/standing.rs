//! Where a run stands.

use std::collections::HashMap;

use bullmq::JobOptions;

use super::pieces::{Piece, Plan};
use super::queue::{Connection, QueueError};
use super::record::job_name;
use crate::{Cancel, Cause, Event, Observer, Put, Report, Results, RunError, Runner, TaskGraph, TaskId};

/// What a run has to do with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing.
    Skipped,
    /// It is to be done.
    Wanted,
    Done,
}

/// Attempts at a task that is not done.
#[derive(Clone, Copy, Debug, Default)]
struct Attempts {
    started: u32,
    running: bool,
}

/// What a run is about. Shared by its threads.
pub(super) struct Run<'e> {
    pub(super) graph: &'e TaskGraph,
    pub(super) runner: &'e dyn Runner,
    pub(super) results: &'e dyn Results,
    pub(super) connection: &'e Connection,
    /// The name that its jobs begin with.
    pub(super) name: String,
    /// How often a task is tried.
    pub(super) attempts: u32,
    /// Jobs of a flow.
    pub(super) piece: usize,
}

impl Run<'_> {
    /// Adds a flow to the queue, once, even if the answer of the server is lost.
    pub(super) fn add(
        &self,
        plan: &Plan,
        piece: &Piece,
        generation: u32,
        data: &dyn Fn(TaskId) -> serde_json::Value,
    ) -> Result<(), QueueError> {
        let config = &self.connection.config;
        let name = |id: TaskId| job_name(&self.name, generation, id);
        let options = |id: TaskId| {
            let mut options = JobOptions::new().job_id(name(id)).attempts(self.attempts);
            if !config.back_off.is_zero() {
                let pause = u64::try_from(config.back_off.as_millis()).unwrap_or(u64::MAX);
                options = options.backoff(bullmq::types::BackoffStrategy::Fixed(pause));
            }
            options
        };
        // Made for each attempt: it is several times as large as the plan of it.
        let flow = || plan.flow(piece, &config.queue, self.graph, &options, data);
        let (root, mut tried) = (name(piece.root()), false);
        self.connection.call("adding a flow", async || {
            // A flow is added whole or not at all, and its root stays: if that is there, only the answer was lost.
            if std::mem::replace(&mut tried, true) && self.connection.queue.get_job(&root).await?.is_some() {
                return Ok(());
            }
            let Some(flow) = flow() else { return Ok(()) };
            self.connection.flows.add(flow).await.map(drop)
        })
    }
}

/// Where a run stands. Belongs to the thread that called the engine, on which the observer is told.
pub(super) struct Standing<'e> {
    graph: &'e TaskGraph,
    observer: &'e dyn Observer,
    cancel: &'e Cancel,
    pub(super) report: Report,
    /// The tasks that have to run, ascending.
    todo: Vec<TaskId>,
    states: Vec<State>,
    attempts: HashMap<TaskId, Attempts>,
    failure: Option<(TaskId, u32, Cause)>,
    /// Somebody else cancelled the run.
    pub(super) cancelled: bool,
}

impl<'e> Standing<'e> {
    pub(super) fn new(
        graph: &'e TaskGraph,
        observer: &'e dyn Observer,
        cancel: &'e Cancel,
        report: Report,
        todo: Vec<TaskId>,
    ) -> Self {
        let mut states = vec![State::Skipped; graph.len()];
        todo.iter().for_each(|id| states[id.0] = State::Wanted);
        let attempts = HashMap::new();
        Self { graph, observer, cancel, report, todo, states, attempts, failure: None, cancelled: false }
    }

    /// The tasks that are not done, ascending.
    pub(super) fn left(&self) -> Vec<TaskId> {
        self.todo.iter().filter(|id| self.is_wanted(**id)).copied().collect()
    }

    /// True when the task has to run in this run and is done.
    pub(super) fn is_done(&self, id: TaskId) -> bool {
        self.state(id) == State::Done
    }

    /// True when the task has to run and is not done.
    pub(super) fn is_wanted(&self, id: TaskId) -> bool {
        self.state(id) == State::Wanted
    }

    /// The state of a task; ids come from the queue too.
    fn state(&self, id: TaskId) -> State {
        self.states.get(id.0).copied().unwrap_or(State::Skipped)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.report.done == self.todo.len()
    }

    /// True when nothing more may start.
    pub(super) fn is_stopping(&self) -> bool {
        self.failure.is_some() || self.cancelled || self.cancel.is_cancelled()
    }

    /// Notes that an attempt begins; `attempt` where it is known.
    pub(super) fn started(&mut self, id: TaskId, attempt: Option<u32>) {
        // Its worker has fallen silent, if it runs.
        self.postponed(id);
        let attempts = self.attempts.entry(id).or_default();
        *attempts = Attempts { started: attempt.unwrap_or(attempts.started + 1), running: true };
        let attempt = attempts.started;
        self.observer.event(&Event::Started { id, task: self.graph.task(id), attempt });
    }

    pub(super) fn retrying(&mut self, id: TaskId, attempt: u32, cause: &str) {
        self.attempts.entry(id).or_default().running = false;
        self.report.retries += 1;
        self.observer.event(&Event::Retrying { id, task: self.graph.task(id), attempt, cause });
    }

    /// Notes that an attempt which runs has ended and does not count.
    pub(super) fn postponed(&mut self, id: TaskId) {
        let Some(attempts) = self.attempts.get_mut(&id).filter(|a| a.running) else { return };
        *attempts = Attempts { started: attempts.started.saturating_sub(1), running: false };
        self.observer.event(&Event::Postponed { id, task: self.graph.task(id) });
    }

    pub(super) fn finished(&mut self, id: TaskId, bytes: usize, put: Put, by: Option<&str>) {
        if !self.is_wanted(id) {
            return;
        }
        self.states[id.0] = State::Done;
        self.attempts.remove(&id);
        self.report.done += 1;
        self.report.done_keys.push(self.graph.task(id).key);
        self.report.bytes += bytes as u64;
        self.report.duplicates += usize::from(put == Put::AlreadyThere);
        self.observer.event(&Event::Finished { id, task: self.graph.task(id), bytes, done: self.report.done, by });
    }

    /// Notes a failure; the first is the one that is reported.
    pub(super) fn failed(&mut self, id: TaskId, attempts: u32, cause: Cause) {
        self.failure.get_or_insert((id, attempts, cause));
    }

    /// The task that failed, if one has.
    pub(super) fn failed_task(&self) -> Option<TaskId> {
        self.failure.as_ref().map(|(id, ..)| *id)
    }

    /// Why the run failed, if it has.
    pub(super) fn cause(&self) -> Option<String> {
        self.failure.as_ref().map(|(id, _, cause)| {
            let task = self.graph.task(*id);
            format!("{} {}: {cause}", task.kind, task.key)
        })
    }

    /// The end of the run.
    pub(super) fn outcome(self) -> Result<Report, RunError> {
        match self.failure {
            Some((id, attempts, cause)) => {
                let task = self.graph.task(id);
                self.observer.event(&Event::Failed { id, task, cause: &cause.to_string() });
                let (key, kind) = (task.key, task.kind);
                Err(RunError::Failed { task: id, key, kind, attempts, cause, report: self.report.into() })
            }
            None if self.report.done < self.todo.len() => Err(RunError::Cancelled { report: self.report.into() }),
            None => Ok(self.report),
        }
    }
}

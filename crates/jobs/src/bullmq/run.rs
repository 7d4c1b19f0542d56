//! The progress of a run.

use std::collections::HashMap;

use bullmq::JobOptions;

use super::flow::{Piece, Plan};
use super::queue::{Connection, QueueError};
use super::record::job_name;
use crate::local::ATTEMPTS;
use crate::{Cancel, Cause, Event, Observer, Put, Report, Results, RunError, Runner, TaskGraph, TaskId};

/// What a run does with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing.
    Skipped,
    /// The task must run.
    Wanted,
    Done,
}

/// Attempts at a task that is not done.
#[derive(Clone, Copy, Debug, Default)]
struct Attempts {
    started: u32,
    running: bool,
}

/// What a run works on. Its threads share it.
pub(super) struct Run<'e> {
    pub(super) graph: &'e TaskGraph,
    pub(super) runner: &'e dyn Runner,
    pub(super) results: &'e dyn Results,
    pub(super) connection: &'e Connection,
    /// Prefix of the names of its jobs.
    pub(super) name: String,
    /// Number of jobs at which a flow is cut.
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
            let mut options = JobOptions::new().job_id(name(id)).attempts(ATTEMPTS);
            if !config.back_off.is_zero() {
                let pause = u64::try_from(config.back_off.as_millis()).unwrap_or(u64::MAX);
                options = options.backoff(bullmq::types::BackoffStrategy::Fixed(pause));
            }
            options
        };
        // Made again for each attempt: a flow is several times as large as its plan.
        let flow = || plan.flow(piece, &config.queue, self.graph, &options, data);
        let (root, mut tried) = (name(piece.root()), false);
        self.connection.call("adding a flow", async || {
            // A flow is added as a whole or not at all, and its root stays. If the root exists, only the answer was
            // lost.
            if std::mem::replace(&mut tried, true) && self.connection.queue.get_job(&root).await?.is_some() {
                return Ok(());
            }
            let Some(flow) = flow() else { return Ok(()) };
            self.connection.flows.add(flow).await.map(drop)
        })
    }
}

/// The progress of a run. Belongs to the thread that called the engine, which also calls the observer.
pub(super) struct RunProgress<'e> {
    graph: &'e TaskGraph,
    observer: &'e dyn Observer,
    cancel: &'e Cancel,
    pub(super) report: Report,
    /// The tasks that must run, in ascending order.
    todo: Vec<TaskId>,
    states: Vec<State>,
    attempts: HashMap<TaskId, Attempts>,
    failure: Option<(TaskId, u32, Cause)>,
    /// Another process cancelled the run.
    pub(super) cancelled: bool,
}

impl<'e> RunProgress<'e> {
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

    /// The tasks that must run and are not done, in ascending order.
    pub(super) fn left(&self) -> Vec<TaskId> {
        self.todo.iter().filter(|id| self.is_wanted(**id)).copied().collect()
    }

    /// True if the task had to run and is done.
    pub(super) fn is_done(&self, id: TaskId) -> bool {
        self.state(id) == State::Done
    }

    /// True if the task must run and is not done.
    pub(super) fn is_wanted(&self, id: TaskId) -> bool {
        self.state(id) == State::Wanted
    }

    /// The state of a task. Ids from the queue may be out of range: they count as skipped.
    fn state(&self, id: TaskId) -> State {
        self.states.get(id.0).copied().unwrap_or(State::Skipped)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.report.done == self.todo.len()
    }

    /// True if nothing more may start.
    pub(super) fn is_stopping(&self) -> bool {
        self.failure.is_some() || self.cancelled || self.cancel.is_cancelled()
    }

    /// Notes the start of an attempt. `attempt` is its number, if known.
    pub(super) fn started(&mut self, id: TaskId, attempt: Option<u32>) {
        // If an earlier attempt is running, its worker has stopped responding.
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

    /// Notes the end of a running attempt that is not counted.
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
        self.report.count(self.graph.task(id).key, bytes, put);
        self.observer.event(&Event::Finished { id, task: self.graph.task(id), bytes, done: self.report.done, by });
    }

    /// Notes a failure. Only the first failure is reported.
    pub(super) fn failed(&mut self, id: TaskId, attempts: u32, cause: Cause) {
        self.failure.get_or_insert((id, attempts, cause));
    }

    /// The task that failed, if any.
    pub(super) fn failed_task(&self) -> Option<TaskId> {
        self.failure.as_ref().map(|(id, ..)| *id)
    }

    /// The cause of the run's failure, if any.
    pub(super) fn cause(&self) -> Option<String> {
        self.failure.as_ref().map(|(id, _, cause)| {
            let task = self.graph.task(*id);
            format!("{} {}: {cause}", task.kind, task.key)
        })
    }

    /// The end of the run.
    pub(super) fn outcome(self) -> Result<Report, RunError> {
        self.report.outcome(self.graph, self.observer, self.failure)
    }
}

//! The trait of engines, and what a caller passes to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Cause, Key, Put, Results, RunError, Task, TaskGraph, TaskId};

/// Executes tasks.
pub trait Runner: Sync {
    /// The result of `task`, from the results of `task.deps` in the order of `task.deps`.
    ///
    /// Engines call this on any thread, for several tasks at once, and again for the same task after an error or a
    /// crash, possibly on two machines at the same time. The result must depend only on what the task's key names.
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure>;

    /// Canonical bytes with everything that a worker in another process needs for `task`, except the results of
    /// `task.deps`.
    ///
    /// # Errors
    /// The default implementation returns a permanent error: such work cannot leave its process.
    fn payload(&self, _id: TaskId, task: &Task) -> Result<Vec<u8>, TaskFailure> {
        Err(TaskFailure::permanent(format!("the work of {} {} cannot leave its process", task.kind, task.key)))
    }

    /// Accepts `bytes`, which another process made, as the result of `task`. The default implementation accepts all
    /// bytes.
    ///
    /// # Errors
    /// [`TaskFailure`] with the reason. The engine then deletes the bytes and makes the result again.
    fn check(&self, _id: TaskId, _task: &Task, _bytes: &[u8]) -> Result<(), TaskFailure> {
        Ok(())
    }
}

/// A runner's error.
#[derive(Debug)]
pub struct TaskFailure {
    /// The cause.
    pub error: Box<dyn std::error::Error + Send + Sync>,
    /// True if another attempt may succeed.
    pub retry: bool,
}

impl TaskFailure {
    /// An error that another attempt would repeat.
    pub fn permanent(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { error: error.into(), retry: false }
    }

    /// An error that another attempt may avoid.
    pub fn transient(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { error: error.into(), retry: true }
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The run begins. The engine has looked up which results exist.
    Planned {
        /// Tasks of the graph.
        tasks: usize,
        /// Tasks that will run; the others are skipped.
        to_run: usize,
    },
    /// An attempt at a task begins.
    Started {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
        /// Counts from 1.
        attempt: u32,
    },
    /// A task's result is stored.
    Finished {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
        /// Size of the result.
        bytes: usize,
        /// Tasks done so far, including this one.
        done: usize,
        /// Name of the worker that did the task. `None` if this process did it, or if the name is unknown.
        by: Option<&'a str>,
    },
    /// An attempt failed, and another one follows.
    Retrying {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
        /// The attempt that failed.
        attempt: u32,
        /// The cause.
        cause: &'a str,
    },
    /// An attempt ended and is not counted: its worker cannot do the task now, or stopped responding. Another attempt
    /// follows.
    Postponed {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
    },
    /// A task failed for good. The run starts no further task.
    Failed {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
        /// The cause.
        cause: &'a str,
    },
}

/// Receives the events of a run, on the thread that called [`Engine::run`].
pub trait Observer {
    /// Called for each event.
    fn event(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>)> Observer for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}

/// Asks a run to stop. Clones share one flag, which is never reset.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every run with this token to start no more tasks.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after [`Self::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tasks of the graph.
    pub tasks: usize,
    /// Tasks that had to run when the run began.
    pub planned: usize,
    /// Tasks that did not run because their results existed or were not needed.
    pub skipped: usize,
    /// Tasks done by this run.
    pub done: usize,
    /// Attempts beyond the first of each task.
    pub retries: usize,
    /// Tasks of this run whose result another process stored first.
    pub duplicates: usize,
    /// Largest number of results held in memory at one time.
    pub peak_live: usize,
    /// Total size of the results of this run.
    pub bytes: u64,
    /// Keys of the tasks done by this run, in the order in which they were done.
    pub done_keys: Vec<Key>,
}

impl Report {
    /// The counts when a run begins that must do `planned` tasks of `graph`.
    pub(crate) fn new(graph: &TaskGraph, planned: usize) -> Self {
        Self { tasks: graph.len(), planned, skipped: graph.len() - planned, ..Self::default() }
    }

    /// Counts a stored result of `bytes` bytes.
    pub(crate) fn count(&mut self, key: Key, bytes: usize, put: Put) {
        self.done += 1;
        self.done_keys.push(key);
        self.bytes += bytes as u64;
        self.duplicates += usize::from(put == Put::AlreadyThere);
    }

    /// The end of a run with these counts, and with the task that failed, its number of attempts and the cause.
    pub(crate) fn outcome(
        self,
        graph: &TaskGraph,
        observer: &dyn Observer,
        failure: Option<(TaskId, u32, Cause)>,
    ) -> Result<Self, RunError> {
        let Some((id, attempts, cause)) = failure else {
            let over = self.done >= self.planned;
            return if over { Ok(self) } else { Err(RunError::Cancelled { report: self.into() }) };
        };
        let task = graph.task(id);
        observer.event(&Event::Failed { id, task, cause: &cause.to_string() });
        let (key, kind) = (task.key, task.kind);
        Err(RunError::Failed { task: id, key, kind, attempts, cause, report: self.into() })
    }
}

/// Makes the result of a graph's root.
///
/// The laws, as functions in `evergrove_testkit::engine`:
/// - After `Ok`, the root's result is stored, and each task that had to run has exactly one stored result.
/// - A task does not run if its result exists, or if the results of all its dependents exist.
/// - A task starts after everything that it needs is stored. Of the ready tasks, the one with the highest priority
///   starts first.
/// - A failure is reported with its cause and keeps the finished results. A second run continues from them.
pub trait Engine: Send + Sync {
    /// Runs `graph`.
    ///
    /// # Errors
    /// [`RunError`]: a task failed, the run was cancelled, or the store of results did not say which results exist.
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError>;
}

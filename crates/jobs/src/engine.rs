//! What runs a graph, and what it runs with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Key, Results, RunError, Task, TaskGraph, TaskId};

/// Does the work of a task.
pub trait Runner: Sync {
    /// The result of `task`, given the results of `task.deps` in their order.
    ///
    /// May be called on any thread, for several tasks at once, and again for one task after an error, a crash, or on two
    /// machines at a time. Its result must depend on nothing but what the task's key names.
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure>;

    /// All that a worker elsewhere needs to do the work of `task`, beside the results of `task.deps`: canonical bytes.
    ///
    /// # Errors
    /// A permanent one, unless it is implemented: such work can not leave its process.
    fn payload(&self, _id: TaskId, task: &Task) -> Result<Vec<u8>, TaskFailure> {
        Err(TaskFailure::permanent(format!("the work of {} {} can not leave its process", task.kind, task.key)))
    }

    /// Accepts `bytes`, which another process has made, as the result of `task`. As given here, any bytes.
    ///
    /// # Errors
    /// [`TaskFailure`] that says why not: the bytes are taken away and made anew.
    fn check(&self, _id: TaskId, _task: &Task, _bytes: &[u8]) -> Result<(), TaskFailure> {
        Ok(())
    }
}

/// A runner's error.
#[derive(Debug)]
pub struct TaskFailure {
    /// The cause.
    pub error: Box<dyn std::error::Error + Send + Sync>,
    /// True when another attempt may succeed.
    pub retry: bool,
}

impl TaskFailure {
    /// An error that another attempt would meet again.
    pub fn permanent(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { error: error.into(), retry: false }
    }

    /// An error that may pass.
    pub fn transient(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { error: error.into(), retry: true }
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The run begins: what exists has been looked up.
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
        /// Tasks done so far, this one included.
        done: usize,
        /// The name of the worker that did it; `None` in this process, and where it is not known.
        by: Option<&'a str>,
    },
    /// An attempt failed and there will be another.
    Retrying {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
        /// The attempt that failed.
        attempt: u32,
        /// Why.
        cause: &'a str,
    },
    /// An attempt ended that does not count: its worker can not do it now, or has fallen silent. There will be another.
    Postponed {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
    },
    /// A task failed for good; no further task will start.
    Failed {
        /// The task.
        id: TaskId,
        /// The task.
        task: &'a Task,
        /// Why.
        cause: &'a str,
    },
}

/// Is told what happens in a run, from the thread that called [`Engine::run`].
pub trait Observer {
    /// Takes note of an event.
    fn event(&self, event: &Event<'_>);
}

/// The observer that takes no note.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

impl<F: Fn(&Event<'_>)> Observer for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}

/// Asks a run to stop. Clones share one flag, which is never taken back.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A token that nobody has used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every run with this token to start nothing more.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after [`Self::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tasks of the graph.
    pub tasks: usize,
    /// Tasks that had to run when the run began.
    pub planned: usize,
    /// Tasks that were not needed because results existed.
    pub skipped: usize,
    /// Tasks done by this run.
    pub done: usize,
    /// Attempts beyond the first of each task.
    pub retries: usize,
    /// Tasks of this run whose result another had stored in the meantime.
    pub duplicates: usize,
    /// The greatest number of results that were held in memory at one time.
    pub peak_live: usize,
    /// Total size of the results of this run.
    pub bytes: u64,
    /// Keys of the tasks done by this run, in the order in which they were done.
    pub done_keys: Vec<Key>,
}

/// Brings the result of a graph's root into being.
///
/// The laws, as functions in `evergrove_testkit::engine`: after `Ok` the root's result is stored; each task that had to
/// run has exactly one stored result; nothing runs whose result, or all of whose dependents' results, exist; a task starts
/// after everything that it needs is stored, and of the ready ones the highest priority starts first; a failure is
/// reported with its cause and leaves what was done; a second run goes on from there.
pub trait Engine: Send + Sync {
    /// Runs `graph`.
    ///
    /// # Errors
    /// [`RunError`]: a task that failed, cancellation, or a store of results that did not say what exists.
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError>;
}

//! What can go wrong with a graph and its run.

use crate::{Key, Report, ResultsError, TaskId};

/// A graph would not be acyclic with distinct keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A task needs one that has not been added before it.
    #[error("task {} needs task {}, which has not been added before", task.0, dep.0)]
    UnknownTask {
        /// The task that was offered.
        task: TaskId,
        /// What it needs.
        dep: TaskId,
    },
    /// Two tasks have one key.
    #[error("tasks {} and {} have the same key {key}", first.0, second.0)]
    DuplicateKey {
        /// The key.
        key: Key,
        /// The task that has it.
        first: TaskId,
        /// The task that was offered.
        second: TaskId,
    },
}

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The runner gave an error.
    #[error("{0}")]
    Error(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The runner panicked.
    #[error("the task panicked: {0}")]
    Panic(String),
    /// The engine could not store or load a result.
    #[error("{0}")]
    Results(#[source] ResultsError),
}

/// Why the root's result does not exist after a run. Results that were made stay stored, so that a later run of the same
/// graph starts where this one stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A task failed; the others were stopped.
    #[error("{kind} {key} failed after {attempts} attempt{}: {cause}", if *attempts == 1 { "" } else { "s" })]
    Failed {
        /// The task.
        task: TaskId,
        /// Its key.
        key: Key,
        /// Its kind.
        kind: &'static str,
        /// How often it was tried.
        attempts: u32,
        /// Why the last attempt failed.
        #[source]
        cause: Cause,
        /// What was done before.
        report: Box<Report>,
    },
    /// The run was cancelled.
    #[error("cancelled after {} of {} tasks", report.done, report.planned)]
    Cancelled {
        /// What was done before.
        report: Box<Report>,
    },
    /// The store of results did not answer which of them exist.
    #[error("{0}")]
    Results(#[from] ResultsError),
    /// The engine's server can not be used.
    #[error("{0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The graph has no task.
    #[error("the graph has no task")]
    Empty,
}

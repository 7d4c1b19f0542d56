//! Errors of a graph and of its run.

use crate::{Key, Report, ResultsError, TaskId};

/// A task would make the graph cyclic or its keys ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A task needs one that was not added before it.
    #[error("task {} needs task {}, which has not been added before", task.0, dep.0)]
    UnknownTask {
        /// The task that was being added.
        task: TaskId,
        /// The task that it needs.
        dep: TaskId,
    },
    /// Two tasks have the same key.
    #[error("tasks {} and {} have the same key {key}", first.0, second.0)]
    DuplicateKey {
        /// The key.
        key: Key,
        /// The task that already has the key.
        first: TaskId,
        /// The task that was being added.
        second: TaskId,
    },
}

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The runner returned an error.
    #[error("{0}")]
    Error(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The runner panicked.
    #[error("the task panicked: {0}")]
    Panic(String),
    /// The engine could not store or load a result.
    #[error("{0}")]
    Results(#[source] ResultsError),
}

/// The reason why a run did not make the root's result. The results made so far stay stored. A later run of the same
/// graph starts where this one stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A task failed. The run started no further task.
    #[error("{kind} {key} failed after {attempts} attempt{}: {cause}", if *attempts == 1 { "" } else { "s" })]
    Failed {
        /// The task.
        task: TaskId,
        /// Its key.
        key: Key,
        /// Its kind.
        kind: &'static str,
        /// Number of attempts.
        attempts: u32,
        /// Why the last attempt failed.
        #[source]
        cause: Cause,
        /// Counts of the run until the failure.
        report: Box<Report>,
    },
    /// The run was cancelled.
    #[error("cancelled after {} of {} tasks", report.done, report.planned)]
    Cancelled {
        /// Counts of the run until its end.
        report: Box<Report>,
    },
    /// The store of results did not say which results exist.
    #[error("{0}")]
    Results(#[from] ResultsError),
    /// The engine's server cannot be used.
    #[error("{0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The graph has no task.
    #[error("the graph has no task")]
    Empty,
}

//! Work that leaves the process of its graph.

use std::sync::Arc;

use crate::{Key, TaskFailure};

/// A task, as a worker in another process receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The key under which the result is stored.
    pub key: Key,
    /// The task's kind.
    pub kind: String,
    /// Bytes from [`Runner::payload`](crate::Runner::payload): everything that the result depends on, except the
    /// inputs.
    pub payload: Vec<u8>,
    /// Keys of the inputs, in the order of the task, as read from the queue. Anyone who can write to the queue can put
    /// other keys here, in any number. [`Work::admit`] compares them with the payload.
    pub inputs: Vec<Key>,
}

/// Does jobs in a worker.
///
/// Called on several threads at once. Trusts neither the payload nor stored objects.
pub trait Work: Send + Sync {
    /// Accepts `job` by its payload, before any other object that the job names is read. [`Job::inputs`] must be the
    /// inputs that the payload asks for. So the payload, not the queue, bounds what a worker loads.
    ///
    /// # Errors
    /// [`TaskFailure`] with the reason, and with `retry` if another worker may be able to do the job.
    fn admit(&self, job: &Job) -> Result<(), TaskFailure>;

    /// The result of a job that [`Self::admit`] accepts, from the results that its task needs, in the order of
    /// [`Job::inputs`].
    ///
    /// Checks each input before using it. The error of an invalid input is a [`BadInput`].
    ///
    /// # Errors
    /// [`TaskFailure`], with `retry` if another attempt may succeed, possibly by another worker.
    fn execute(&self, job: &Job, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure>;

    /// Accepts `bytes` if they are a result of `job`, which [`Self::admit`] accepts. The worker then does not make the
    /// result again.
    ///
    /// # Errors
    /// [`TaskFailure`] with the reason. It is a [`BadResult`] only if the bytes were judged and are invalid; the worker
    /// then deletes them.
    fn check(&self, job: &Job, bytes: &[u8]) -> Result<(), TaskFailure>;
}

/// A stored result is not a valid result of the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored result is not accepted: {reason}")]
pub struct BadResult {
    /// The cause.
    pub reason: String,
}

/// A worker cannot do a job, but another worker may: this one has another version, has other keys, or lacks something
/// that the job needs. As the error of a [`TaskFailure::transient`] it postpones the job for a limited time without
/// counting an attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unfit {
    /// The cause.
    pub reason: String,
}

/// An input is not the one that the job's task needs: it is damaged, or an untrusted party made it. The worker deletes
/// the input, and the leader has it made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("input {index} is not accepted: {reason}")]
pub struct BadInput {
    /// Its place among the job's inputs.
    pub index: usize,
    /// The cause.
    pub reason: String,
}

//! Work that leaves the process of its graph.

use std::sync::Arc;

use crate::{Key, TaskFailure};

/// A task as a worker elsewhere gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What the result is stored under.
    pub key: Key,
    /// The task's kind.
    pub kind: String,
    /// What [`Runner::payload`](crate::Runner::payload) gave: all that the result depends on beside the inputs.
    pub payload: Vec<u8>,
    /// What the results that it needs are stored under, in their order, as the queue has it. Whoever writes to the queue can put
    /// other keys here, and any number: [`Work::admit`] knows by the payload what they have to be.
    pub inputs: Vec<Key>,
}

/// Does the work of jobs, in a worker.
///
/// Called on several threads at once. Trusts neither the payload nor what is stored.
pub trait Work: Send + Sync {
    /// Accepts `job` by its payload alone, before anything else that it names is read: its [`Job::inputs`] have to be those that the
    /// payload asks for. So the payload bounds what a worker loads, and not whoever writes to the queue.
    ///
    /// # Errors
    /// [`TaskFailure`] that says why not, with `retry` where another worker may be fit for it.
    fn admit(&self, job: &Job) -> Result<(), TaskFailure>;

    /// The result of a job that [`Self::admit`] accepts, given the results of what its task needs in their order.
    ///
    /// Finds a bad input before it uses it, and says so by an error that is a [`BadInput`].
    ///
    /// # Errors
    /// [`TaskFailure`], with `retry` where another attempt, maybe by another worker, may succeed.
    fn execute(&self, job: &Job, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure>;

    /// Accepts `bytes` if they are a result of `job`, which [`Self::admit`] accepts: whether a stored result may be taken for done.
    ///
    /// # Errors
    /// [`TaskFailure`] that says why not: a [`BadResult`] where the bytes are judged and bad, and only then. After that they are
    /// taken away.
    fn check(&self, job: &Job, bytes: &[u8]) -> Result<(), TaskFailure>;
}

/// A stored result is not one of the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored result is not accepted: {reason}")]
pub struct BadResult {
    /// Why.
    pub reason: String,
}

/// A worker can not do the work that it was given, and another may: it has another version, other keys, or not what the job asks for. As
/// the error of a [`TaskFailure::transient`] it puts the job off, for a time, and costs no attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unfit {
    /// Why.
    pub reason: String,
}

/// An input is not what the job's task needs: it was damaged, or made by somebody who should not be trusted. Whoever keeps it
/// takes it away and has it made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("input {index} is not accepted: {reason}")]
pub struct BadInput {
    /// Its place among the job's inputs.
    pub index: usize,
    /// Why.
    pub reason: String,
}

//! Records of runs on the queue's server, for other processes.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::admin::State;
use super::queue::{Connection, QueueError};
use crate::objects::Objects;
use crate::{Key, Report, TaskId};

/// Number of runs whose records are kept.
const RUNS: usize = 1000;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its leader plans, or waits for results.
    Running,
    /// The root's result is stored.
    Done,
    /// A task failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

/// A run of a graph: one call of the leader's `Engine::run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its name, which is the prefix of its jobs' names.
    pub run: String,
    /// Its state.
    pub state: RunState,
    /// Key of the root.
    pub root: String,
    /// The root's kind.
    pub kind: String,
    /// Tasks of the graph.
    pub tasks: usize,
    /// Tasks that had to run.
    pub planned: usize,
    /// Tasks done.
    pub done: usize,
    /// Attempts beyond the first.
    pub retries: usize,
    /// How often the remaining tasks were planned again, because stored results were damaged or jobs were lost.
    pub replans: u32,
    /// Cause of the failure.
    pub cause: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When its leader last wrote the record, in milliseconds since 1970. A live leader writes every few seconds.
    pub seen_ms: u64,
}

impl RunRecord {
    pub(super) fn new(run: &str, root: &Key, kind: &str, report: &Report) -> Self {
        let now = now_ms();
        Self {
            run: run.into(),
            state: RunState::Running,
            root: root.to_string(),
            kind: kind.into(),
            tasks: report.tasks,
            planned: report.planned,
            done: 0,
            retries: 0,
            replans: 0,
            cause: None,
            began_ms: now,
            seen_ms: now,
        }
    }

    /// True if the run has not ended and its leader has not written the record for 30 s.
    pub fn is_abandoned(&self) -> bool {
        self.state == RunState::Running && now_ms().saturating_sub(self.seen_ms) > 30_000
    }
}

/// The time in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A new, unique name of a run.
pub(super) fn new_name(root: &Key) -> String {
    // Every `RandomState` has different random keys.
    let random = RandomState::new().build_hasher().finish();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&root.0).update(&random.to_le_bytes()).update(&now_ms().to_le_bytes());
    format!("r{}", &hasher.finalize().to_hex()[..12])
}

/// The name of a job: run, generation and task.
pub(super) fn job_name(run: &str, generation: u32, id: TaskId) -> String {
    format!("{run}-{generation}-{}", id.0)
}

/// The run, generation and task in the name of a job.
pub(super) fn parse_job(name: &str) -> Option<(&str, u32, TaskId)> {
    let mut parts = name.split('-');
    let (run, generation, id) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    // The name of a run is also the name of a folder of payloads.
    let plain = !run.is_empty() && run.bytes().all(|b| b.is_ascii_alphanumeric());
    (plain && parts.next().is_none()).then_some((run, generation, TaskId(id)))
}

fn runs_key(connection: &Connection) -> String {
    format!("evergrove:{}:runs", connection.config.queue)
}

fn cancelled_key(connection: &Connection) -> String {
    format!("evergrove:{}:cancelled", connection.config.queue)
}

/// Writes a record.
pub(super) fn write(connection: &Connection, record: &RunRecord) -> Result<(), QueueError> {
    let text = serde_json::to_string(record).unwrap_or_default();
    connection.command("noting a run", redis::cmd("HSET").arg(runs_key(connection)).arg(&record.run).arg(text))
}

/// Every record, oldest first. Records that cannot be parsed are left out.
pub(super) fn read_all(connection: &Connection) -> Result<Vec<RunRecord>, QueueError> {
    let texts: Vec<String> = connection.command("reading the runs", redis::cmd("HVALS").arg(runs_key(connection)))?;
    let mut records: Vec<RunRecord> = texts.iter().filter_map(|t| serde_json::from_str(t).ok()).collect();
    records.sort_by(|a, b| (a.began_ms, &a.run).cmp(&(b.began_ms, &b.run)));
    Ok(records)
}

/// Forgets a run.
pub(super) fn forget(connection: &Connection, run: &str) -> Result<(), QueueError> {
    connection.command::<()>("forgetting a run", redis::cmd("HDEL").arg(runs_key(connection)).arg(run))?;
    connection.command("forgetting a run", redis::cmd("SREM").arg(cancelled_key(connection)).arg(run))
}

/// Asks a run's leader to stop.
pub(super) fn cancel(connection: &Connection, run: &str) -> Result<(), QueueError> {
    connection.command("cancelling a run", redis::cmd("SADD").arg(cancelled_key(connection)).arg(run))
}

/// True if a cancellation of the run was requested.
pub(super) fn is_cancelled(connection: &Connection, run: &str) -> Result<bool, QueueError> {
    connection.command("asking for a run", redis::cmd("SISMEMBER").arg(cancelled_key(connection)).arg(run))
}

/// Removes those jobs of `runs` that are not active, parents before children. Returns the number of removed jobs.
pub(super) fn remove_jobs(connection: &Connection, runs: &HashSet<&str>) -> Result<usize, QueueError> {
    let states: Vec<_> = State::ALL.iter().filter(|s| **s != State::Active).map(|s| s.name()).collect();
    let queue = &connection.queue;
    let found = connection.call("listing jobs", async || queue.get_ranges(&states, 0, -1, true).await)?;
    let mut jobs: Vec<_> = found
        .iter()
        .filter_map(|name| parse_job(name).filter(|(run, ..)| runs.contains(run)).map(|(_, n, id)| (n, id, name)))
        .collect();
    jobs.sort_unstable_by(|a, b| b.cmp(a));
    let names: Vec<_> = jobs.into_iter().map(|(.., name)| name.clone()).collect();
    connection.remove(&names)?;
    Ok(names.len())
}

/// If there are more than 1,100 records, forgets the oldest runs that have ended, with their jobs and payloads.
pub(super) fn prune(connection: &Connection, objects: &Objects) -> Result<(), QueueError> {
    let count: usize = connection.command("counting runs", redis::cmd("HLEN").arg(runs_key(connection)))?;
    if count <= RUNS + RUNS / 10 {
        return Ok(());
    }
    let ended = read_all(connection)?.into_iter().filter(|r| r.state != RunState::Running || r.is_abandoned());
    let old: Vec<_> = ended.take(count - RUNS).collect();
    remove_jobs(connection, &old.iter().map(|r| r.run.as_str()).collect())?;
    for record in &old {
        remove_payloads(objects, &record.run);
        forget(connection, &record.run)?;
    }
    Ok(())
}

/// Deletes the payloads of a run. Errors are ignored: remaining payloads do no harm.
pub(super) fn remove_payloads(objects: &Objects, run: &str) {
    if parse_job(&format!("{run}-0-0")).is_some() {
        let _ = objects.payloads(run).clear();
    }
}

/// Takes over from other runs of the same root, whose leaders have died or do the same work: removes their waiting
/// jobs, which would otherwise be done twice. A leader that is alive plans its remaining tasks again.
pub(super) fn take_over(connection: &Connection, objects: &Objects, root: &str) -> Result<(), QueueError> {
    let records = read_all(connection)?;
    let mut others: Vec<_> = records.into_iter().filter(|r| r.state == RunState::Running && r.root == root).collect();
    if others.is_empty() {
        return Ok(());
    }
    remove_jobs(connection, &others.iter().map(|r| r.run.as_str()).collect())?;
    for record in others.iter_mut().filter(|r| r.is_abandoned()) {
        record.state = RunState::Cancelled;
        write(connection, record)?;
        remove_payloads(objects, &record.run);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_are_read_back() {
        let name = job_name("r0123", 2, TaskId(70_000));
        assert_eq!(parse_job(&name), Some(("r0123", 2, TaskId(70_000))));
        for other in ["", "r1", "r1-2", "r1-2-3-4", "r1-x-3", "r1-2-x", "1234", "a:b:c", "-1-2", "../x-1-2"] {
            assert_eq!(parse_job(other), None, "{other:?}");
        }
        let names: HashSet<_> = (0..100).map(|_| new_name(&Key([0; 32]))).collect();
        assert_eq!(names.len(), 100);
    }
}

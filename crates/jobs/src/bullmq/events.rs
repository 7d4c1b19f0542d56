//! The events of a run, read from the queue's stream.
//!
//! The queue reports every job several times, also when it is added. A leader needs the starts and ends of its own
//! jobs; the reader drops all other events. After an answer that is not full, the reader pauses, so that a server with
//! many short jobs answers once for many events.

use std::collections::HashMap;
use std::sync::mpsc;
use std::time::Duration;

use super::queue::{self, QueueError};
use super::record::parse_job;
use super::run::Run;
use crate::TaskId;

/// Number of events that the server keeps for slow leaders, of some 150 bytes each.
const KEPT: usize = 100_000;
/// Largest number of events in one answer.
const COUNT: usize = 1000;
/// How long the server waits for an event before it sends an empty answer.
const BLOCK: Duration = Duration::from_secs(5);
/// Silence after which the connection is considered dead.
const DEAD: Duration = Duration::from_secs(8);
/// Pause between answers, in which events accumulate.
const GATHER: Duration = Duration::from_millis(4);
/// Pause before another attempt to reach the server.
const PAUSE: Duration = Duration::from_millis(100);

/// An event of a job of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobEvent {
    pub(super) id: TaskId,
    /// The generation of the job.
    pub(super) generation: u32,
    pub(super) what: What,
}

/// What happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A worker took it.
    Active,
    /// It was postponed.
    Delayed,
    /// Its worker reported progress.
    Progress(String),
    /// It is done, with this return value.
    Completed(String),
    /// It failed for good, with this reason.
    Failed(String),
}

type Fields = HashMap<String, String>;
/// Streams, each with the ids and fields of its entries.
type Answer = Vec<(String, Vec<(String, Fields)>)>;

/// Sends the events of a run's jobs as messages, from now on.
pub(super) fn listen<M: Send + 'static>(
    run: &Run<'_>,
    tell: mpsc::Sender<M>,
    message: fn(Vec<JobEvent>) -> M,
) -> Result<(), QueueError> {
    let connection = run.connection;
    let keys = connection.queue.keys();
    let (stream, name) = (keys.events(), run.name.clone());
    connection
        .command::<()>("setting up events", redis::cmd("HSET").arg(keys.meta()).arg("opts.maxLenEvents").arg(KEPT))?;
    let newest: Vec<(String, Fields)> = connection
        .command("reading events", redis::cmd("XREVRANGE").arg(&stream).arg("+").arg("-").arg("COUNT").arg(1))?;
    let mut last = newest.into_iter().next().map_or_else(|| "0-0".into(), |(id, _)| id);
    let source = connection.queue.connection().clone();
    let own = connection.runtime().block_on(source.dedicated_any_connection());
    let mut own = own.map_err(queue::call(&connection.config, "listening to events"))?;
    connection.runtime().spawn(async move {
        loop {
            let mut read = redis::cmd("XREAD");
            read.arg("COUNT").arg(COUNT).arg("BLOCK").arg(BLOCK.as_millis() as u64);
            read.arg("STREAMS").arg(&stream).arg(&last);
            let answer = tokio::time::timeout(DEAD, read.query_async::<Option<Answer>>(&mut own)).await;
            let entries = match answer {
                Ok(Ok(answer)) => answer.into_iter().flatten().next().map_or_else(Vec::new, |(_, entries)| entries),
                // The connection reconnects by itself.
                Ok(Err(_)) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(_) => {
                    match source.dedicated_any_connection().await {
                        Ok(new) => own = new,
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                    continue;
                }
            };
            let Some((newest, _)) = entries.last() else { continue };
            last.clone_from(newest);
            let full = entries.len() == COUNT;
            let events: Vec<_> = entries.into_iter().filter_map(|(_, fields)| read_event(&name, fields)).collect();
            if !events.is_empty() && tell.send(message(events)).is_err() {
                return;
            }
            if !full {
                tokio::time::sleep(GATHER).await;
            }
        }
    });
    Ok(())
}

/// The event in an entry of the stream, if a leader needs it and its job belongs to the run.
fn read_event(run: &str, mut fields: Fields) -> Option<JobEvent> {
    let (name, generation, id) = parse_job(fields.get("jobId")?)?;
    if name != run {
        return None;
    }
    let mut field = |name: &str| fields.remove(name).unwrap_or_default();
    let what = match field("event").as_str() {
        "active" => What::Active,
        "delayed" => What::Delayed,
        "progress" => What::Progress(field("data")),
        "completed" => What::Completed(field("returnvalue")),
        "failed" => What::Failed(field("failedReason")),
        _ => return None,
    };
    Some(JobEvent { id, generation, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_is_told_of_its_own_jobs() {
        let read = |fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            read_event("r01", fields).map(|e| (e.id.0, e.generation, e.what))
        };
        let job = ("jobId", "r01-2-70");
        assert_eq!(read(&[("event", "active"), job, ("prev", "waiting")]), Some((70, 2, What::Active)));
        assert_eq!(read(&[("event", "delayed"), job, ("delay", "9")]), Some((70, 2, What::Delayed)));
        let completed = What::Completed("{}".into());
        assert_eq!(read(&[("event", "completed"), job, ("returnvalue", "{}")]), Some((70, 2, completed)));
        let failed = What::Failed("why".into());
        assert_eq!(read(&[("event", "failed"), job, ("failedReason", "why")]), Some((70, 2, failed)));
        assert_eq!(read(&[("event", "progress"), job]), Some((70, 2, What::Progress(String::new()))));
        for other in [
            &[("event", "added"), job][..],
            &[("event", "active"), ("jobId", "r02-2-70")],
            &[("event", "active"), ("jobId", "r01")],
            &[("event", "drained")],
            &[job],
        ] {
            assert_eq!(read(other), None, "{other:?}");
        }
    }
}

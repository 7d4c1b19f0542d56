//! The loop of a worker.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use tracing::{Span, field, info_span};

use super::Config;
use super::hands::{Answer, Handed, Hands, Outcome};
use super::queue::{Connection, QueueError};
use super::upload::JobData;
use crate::local::{AtEnd, STACK_BYTES, panic_text};
use crate::objects::{Objects, ObjectsError};
use crate::{BadInput, BadResult, Cancel, Job, Key, Put, TaskFailure, Work};

/// What the failure of a job begins with that found something stored damaged: the leader has it made anew.
pub(super) const DAMAGED: &str = "damaged: ";
/// How often a worker looks whether it is to end.
const TICK: Duration = Duration::from_millis(100);
/// How long a worker that drains waits for its jobs.
const DRAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// What a worker works with.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The queue.
    pub queue: Config,
    /// Where payloads and results are.
    pub objects: Objects,
    /// Jobs at once, at least one.
    pub concurrency: usize,
    /// A name for people who look at the queue.
    pub name: String,
}

/// Something that happened in a worker.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// The worker waits for jobs.
    Ready,
    /// An attempt at a job begins.
    Started {
        /// The job's name in the queue.
        job: &'a str,
        /// Its kind.
        kind: &'a str,
        /// Counts from 1.
        attempt: u32,
    },
    /// A job's result is stored.
    Finished {
        /// The job's name in the queue.
        job: &'a str,
        /// Its kind.
        kind: &'a str,
        /// Size of the result.
        bytes: usize,
        /// What the attempt took: reading, proving, storing.
        elapsed: Duration,
        /// The result was there already.
        already: bool,
    },
    /// An attempt failed.
    Failed {
        /// The job's name in the queue.
        job: &'a str,
        /// Its kind.
        kind: &'a str,
        /// Why.
        cause: &'a str,
        /// The queue may try again.
        retry: bool,
        /// What the attempt took.
        elapsed: Duration,
    },
    /// A job was taken from a worker that had fallen silent; any worker may have noticed.
    Stalled {
        /// The job's name in the queue.
        job: &'a str,
    },
    /// The queue's server does not answer; the worker goes on trying.
    Trouble {
        /// Why.
        cause: &'a str,
    },
    /// The worker takes no more jobs and ends after those that run.
    Draining {
        /// Jobs that run.
        running: usize,
    },
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Jobs done.
    pub done: usize,
    /// Of these, jobs whose result was there already.
    pub already: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Total size of the results.
    pub bytes: u64,
}

/// A worker.
///
/// ```text
///            a job is taken                        result stored
///   waiting ────────────────▶ working (lock is ──────────────────▶ waiting
///      │                      renewed by threads    error
///      │                      of its own)       ─────────────────▶ waiting; the queue tries again, or fails the job
///      │  drain                  │  drain
///      ▼                         ▼
///    ended ◀──────────────── draining: takes no more jobs, ends when those that run have ended
/// ```
///
/// A worker that dies leaves its jobs to others: their locks run out.
#[derive(Debug)]
pub struct Worker;

enum Message {
    Handed(Handed),
    /// The thread of a job ends.
    Ended(String),
    Happened(bullmq::worker::WorkerEvent),
}

struct Running<'scope> {
    span: Span,
    thread: ScopedJoinHandle<'scope, Result<Outcome, Failure>>,
    handed: Handed,
    begin: Instant,
}

/// Why a job has no result.
enum Failure {
    /// Another attempt may succeed.
    Retry(String),
    /// Another attempt would fail likewise.
    Final(String),
    /// Inputs are not there yet.
    Later,
}

impl Worker {
    /// Works until `drain` says so, and then until the jobs that run have ended. Tells `observe` what happens, from the
    /// calling thread.
    ///
    /// A job's result is looked up first, and taken if [`Work::check`] accepts it. Payloads are compared with their hashes.
    /// What is found damaged is taken away, and the leader has it made anew.
    ///
    /// # Errors
    /// [`QueueError`] when the server can not be reached or is refused at the start. Later a worker waits for its server.
    pub fn run(
        config: &WorkerConfig,
        work: &dyn Work,
        observe: &dyn Fn(&WorkerEvent<'_>),
        drain: &Cancel,
    ) -> Result<WorkerReport, QueueError> {
        let connection = Connection::open(&config.queue)?;
        thread::scope(|scope| Self::work(scope, config, work, observe, drain, &connection))
    }

    fn work<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        config: &'env WorkerConfig,
        work: &'env dyn Work,
        observe: &dyn Fn(&WorkerEvent<'_>),
        drain: &Cancel,
        connection: &Connection,
    ) -> Result<WorkerReport, QueueError> {
        let (tell, told) = mpsc::channel();
        let concurrency = config.concurrency.max(1);
        let happened = |event| Some(Message::Happened(event));
        let hands = Hands::start(connection, &config.name, concurrency, &tell, Message::Handed, happened)?;
        observe(&WorkerEvent::Ready);
        let mut report = WorkerReport::default();
        let mut running: HashMap<String, Running<'scope>> = HashMap::new();
        let mut closing = None;
        loop {
            if closing.is_none() && drain.is_cancelled() {
                observe(&WorkerEvent::Draining { running: running.len() });
                closing = Some(hands.close(connection, DRAIN));
            }
            if running.is_empty() && closing.as_ref().is_some_and(tokio::task::JoinHandle::is_finished) {
                return Ok(report);
            }
            match told.recv_timeout(TICK) {
                Ok(Message::Handed(handed)) => {
                    let tell = tell.clone();
                    begin(scope, config, work, observe, &mut running, handed, tell);
                }
                Ok(Message::Ended(name)) => end(observe, &mut running, &mut report, &name),
                Ok(Message::Happened(event)) => pass_on(observe, &event),
                Err(_) => {}
            }
        }
    }
}

fn pass_on(observe: &dyn Fn(&WorkerEvent<'_>), event: &bullmq::worker::WorkerEvent) {
    match event {
        bullmq::worker::WorkerEvent::Stalled { job_id } => observe(&WorkerEvent::Stalled { job: job_id }),
        bullmq::worker::WorkerEvent::Error(cause) => observe(&WorkerEvent::Trouble { cause }),
        _ => {}
    }
}

fn begin<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    config: &'env WorkerConfig,
    work: &'env dyn Work,
    observe: &dyn Fn(&WorkerEvent<'_>),
    running: &mut HashMap<String, Running<'scope>>,
    handed: Handed,
    tell: mpsc::Sender<Message>,
) {
    let name = handed.name.clone();
    if running.contains_key(&name) {
        // The lock was lost for a while, and the queue gives the job again, to the worker that still does it.
        return handed.answer(Answer::Later);
    }
    observe(&WorkerEvent::Started { job: &name, kind: &handed.kind, attempt: handed.attempt });
    let span = info_span!(
        "task",
        kind = handed.kind,
        job = name,
        attempt = handed.attempt,
        outcome = field::Empty,
        bytes = field::Empty,
        cause = field::Empty,
    );
    let within = span.clone();
    let (ending, kind, data) = (name.clone(), handed.kind.clone(), handed.data.clone());
    let work = move || {
        // The receiver outlives every thread that has a sender.
        let _end = AtEnd(move || {
            let _ = tell.send(Message::Ended(ending.clone()));
        });
        within.in_scope(|| perform(&config.objects, work, kind, data))
    };
    match thread::Builder::new().name("job".into()).stack_size(STACK_BYTES).spawn_scoped(scope, work) {
        Ok(thread) => drop(running.insert(name, Running { span, thread, handed, begin: Instant::now() })),
        Err(e) => handed.answer(Answer::Retry(format!("no thread could be started: {e}"))),
    }
}

fn end(
    observe: &dyn Fn(&WorkerEvent<'_>),
    running: &mut HashMap<String, Running<'_>>,
    report: &mut WorkerReport,
    name: &str,
) {
    let Some(Running { span, thread, handed, begin }) = running.remove(name) else { return };
    let (job, kind, elapsed) = (name, handed.kind.clone(), begin.elapsed());
    let ended = thread.join().unwrap_or_else(|panic| Err(Failure::Final(panic_text(&*panic))));
    let answer = match ended {
        Ok(outcome) => {
            let Outcome { bytes, already } = outcome;
            report.done += 1;
            report.already += usize::from(already);
            report.bytes += bytes as u64;
            span.record("outcome", "done").record("bytes", bytes);
            observe(&WorkerEvent::Finished { job, kind: &kind, bytes, elapsed, already });
            Answer::Done(outcome)
        }
        Err(Failure::Later) => Answer::Later,
        Err(Failure::Retry(cause)) => {
            report.failed += 1;
            span.record("outcome", "retried").record("cause", &cause);
            observe(&WorkerEvent::Failed { job, kind: &kind, cause: &cause, retry: true, elapsed });
            Answer::Retry(cause)
        }
        Err(Failure::Final(cause)) => {
            report.failed += 1;
            span.record("outcome", "failed").record("cause", &cause);
            observe(&WorkerEvent::Failed { job, kind: &kind, cause: &cause, retry: false, elapsed });
            Answer::Failed(cause)
        }
    };
    handed.answer(answer);
}

/// An object store that does not answer may do so later.
fn away(e: ObjectsError) -> Failure {
    Failure::Retry(format!("the object store: {e}"))
}

/// Does a job: looks for its result, reads what it needs, executes it, stores the result.
fn perform(objects: &Objects, work: &dyn Work, kind: String, data: serde_json::Value) -> Result<Outcome, Failure> {
    let unreadable = |what: &str| Failure::Final(format!("the job's data can not be read: {what}"));
    let data: JobData = serde_json::from_value(data).map_err(|e| unreadable(&e.to_string()))?;
    let key = |text: &str| Key::parse(text).ok_or_else(|| unreadable("a key is not 64 hexadecimal digits"));
    let (own, hash) = (key(&data.key)?, key(&data.payload)?);
    let inputs = data.inputs.iter().map(|k| key(k)).collect::<Result<Vec<_>, _>>()?;

    let payloads = objects.payloads();
    let damaged = |what: String| Failure::Final(format!("{DAMAGED}{what}"));
    let payload = payloads.get(&hash).map_err(away)?;
    let payload = payload.ok_or_else(|| damaged(format!("payload {hash} is not in the object store")))?;
    if *blake3::hash(&payload).as_bytes() != hash.0 {
        payloads.delete(&hash).map_err(away)?;
        return Err(damaged(format!("payload {hash} was not what its hash says")));
    }
    let job = Job { key: own, kind, payload, inputs };

    if let Some(bytes) = objects.get(&own).map_err(away)? {
        match guarded(|| work.check(&job, &bytes)) {
            Ok(()) => return Ok(Outcome { bytes: bytes.len(), already: true }),
            Err(TaskFailure { error, .. }) if error.is::<BadResult>() => objects.delete(&own).map_err(away)?,
            // Of a worker that can not judge it, another will.
            Err(TaskFailure { error, retry: true }) => return Err(Failure::Retry(error.to_string())),
            Err(TaskFailure { error, retry: false }) => return Err(Failure::Final(error.to_string())),
        }
    }
    let mut loaded: Vec<Arc<[u8]>> = Vec::with_capacity(job.inputs.len());
    for input in &job.inputs {
        match objects.get(input).map_err(away)? {
            Some(bytes) => loaded.push(bytes.into()),
            None if data.shared => return Err(Failure::Later),
            None => return Err(damaged(format!("input {input} is not in the object store"))),
        }
    }
    let made = match guarded(|| work.execute(&job, &loaded)) {
        Ok(made) => made,
        Err(TaskFailure { error, retry }) => {
            if let Some(bad) = error.downcast_ref::<BadInput>()
                && let Some(input) = job.inputs.get(bad.index)
            {
                objects.delete(input).map_err(away)?;
                return Err(damaged(format!("input {input} is taken away: {}", bad.reason)));
            }
            let cause = error.to_string();
            return Err(if retry { Failure::Retry(cause) } else { Failure::Final(cause) });
        }
    };
    drop(loaded);
    let put = objects.put(&own, &made).map_err(away)?;
    Ok(Outcome { bytes: made.len(), already: put == Put::AlreadyThere })
}

/// The outcome of work, a panic of which is its failure.
fn guarded<T>(work: impl FnOnce() -> Result<T, TaskFailure>) -> Result<T, TaskFailure> {
    let panicked = |panic: Box<dyn std::any::Any + Send>| {
        Err(TaskFailure::permanent(format!("the task panicked: {}", panic_text(&*panic))))
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked)
}

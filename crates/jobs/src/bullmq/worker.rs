//! The loop of a worker.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tracing::{Span, field, info_span};

use super::Config;
use super::consumer::{Answer, Consumer, Handed, LATER, Outcome};
use super::queue::{Connection, QueueError};
use super::record::parse_job;
use super::upload::JobData;
use crate::local::{AtEnd, STACK_BYTES, panic_text};
use crate::objects::{Objects, ObjectsError};
use crate::{BadInput, BadResult, Cancel, Job, Key, Put, TaskFailure, Unfit, Work};

/// Prefix of a job's failure if an object is damaged or missing. The leader has the object made again.
pub(super) const DAMAGED: &str = "damaged: ";
/// How often a worker checks whether it must end.
const TICK: Duration = Duration::from_millis(100);
/// How long a draining worker waits for its running jobs.
const DRAIN: Duration = Duration::from_secs(24 * 60 * 60);
/// How often workers that cannot do a job may postpone it, each time by [`Config::back_off`]: for a minute in all by
/// default. Further attempts are counted.
const UNFIT: u32 = 120;

/// Longest text of a failure, in bytes. The text may quote objects or queue data that anyone could have written.
const CAUSE: usize = 4096;

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The queue.
    pub queue: Config,
    /// The store of payloads and results.
    pub objects: Objects,
    /// Largest number of jobs at once. 0 means 1.
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
        /// Time of the attempt: reading, proving and storing.
        elapsed: Duration,
        /// The result existed before.
        already: bool,
    },
    /// An attempt failed.
    Failed {
        /// The job's name in the queue.
        job: &'a str,
        /// Its kind.
        kind: &'a str,
        /// The cause.
        cause: &'a str,
        /// The queue may try the job again.
        retry: bool,
        /// Time of the attempt.
        elapsed: Duration,
    },
    /// The job was postponed: this worker cannot do it, or an input is missing. No attempt is counted.
    Postponed {
        /// The job's name in the queue.
        job: &'a str,
        /// Its kind.
        kind: &'a str,
        /// The cause.
        cause: &'a str,
    },
    /// A job was taken from a worker that stopped responding. Any worker can report this.
    Stalled {
        /// The job's name in the queue.
        job: &'a str,
    },
    /// The queue's server does not answer. The worker keeps trying.
    Trouble {
        /// The cause.
        cause: &'a str,
    },
    /// The worker takes no more jobs, and ends when the running jobs have ended.
    Draining {
        /// Number of running jobs.
        running: usize,
    },
}

/// Counts of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Jobs done.
    pub done: usize,
    /// Number of done jobs whose result existed before.
    pub already: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Total size of the results.
    pub bytes: u64,
}

/// The loop that does jobs.
///
/// ```text
///            a job is taken                        result stored
///   waiting ────────────────▶ working (lock is ──────────────────▶ waiting
///      │                      renewed by threads    error
///      │                      of its own)       ─────────────────▶ waiting; the queue tries again, or fails the job
///      │  drain                  │  drain
///      ▼                         ▼
///    ended ◀──────────────── draining: takes no more jobs, ends when the running jobs have ended
/// ```
///
/// If a worker dies, its locks expire and other workers get its jobs.
///
/// Each running job has one of the worker's threads. The thread takes the job from the queue's connection, does it and
/// answers. No other thread needs to wake up between two jobs.
#[derive(Debug)]
pub struct Worker;

/// Messages to the worker's main thread, from the threads of jobs and from BullMQ's library.
enum Message {
    Begun { job: String, kind: String, attempt: u32 },
    Ended { job: String, kind: String, elapsed: Duration, end: Result<Outcome, Failure> },
    Stalled(String),
    Trouble(String),
}

/// Why a job has no result.
#[derive(Clone, Debug)]
enum Failure {
    /// Another attempt may succeed.
    Retry(String),
    /// Another attempt would fail too.
    Final(String),
    /// The job must wait: how long, and why.
    Later(Duration, String),
}

impl Failure {
    /// The same failure with at most [`CAUSE`] bytes of text.
    fn cut(mut self) -> Self {
        let (Self::Retry(cause) | Self::Final(cause) | Self::Later(_, cause)) = &mut self;
        if cause.len() > CAUSE {
            cause.truncate(cause.floor_char_boundary(CAUSE));
            cause.shrink_to_fit();
        }
        self
    }
}

impl Worker {
    /// Works until `drain` is cancelled, and then until the running jobs have ended. Calls `observe` on the calling
    /// thread; jobs do not wait for it.
    ///
    /// Compares payloads with their hashes. If [`Work::admit`] refuses a job, reads none of its other objects. Then
    /// looks for an existing result, and uses it if [`Work::check`] accepts it. Damaged results and inputs are deleted,
    /// and the leader has them made again.
    ///
    /// # Errors
    /// [`QueueError`] if the server cannot be reached or is refused at the start. Later the worker waits for its
    /// server.
    pub fn run(
        config: &WorkerConfig,
        work: &dyn Work,
        observe: &dyn Fn(&WorkerEvent<'_>),
        drain: &Cancel,
    ) -> Result<WorkerReport, QueueError> {
        let connection = Connection::open(&config.queue)?;
        let concurrency = config.concurrency.max(1);
        let ((hand, handed), (tell, told)) = (mpsc::channel(), mpsc::channel());
        let crew = Crew { config, work, handed: Mutex::new(handed), doing: Mutex::default(), span: Span::current() };
        thread::scope(|scope| {
            // The threads end even if `observe` panics.
            let end = hand.clone();
            let _end = AtEnd(|| (0..concurrency).for_each(|_| drop(end.send(None))));
            for _ in 0..concurrency {
                let (crew, tell) = (&crew, tell.clone());
                let builder = thread::Builder::new().name("job".into()).stack_size(STACK_BYTES);
                builder.spawn_scoped(scope, move || crew.work(&tell)).map_err(QueueError::Thread)?;
            }
            let hand = move |handed| hand.send(Some(handed)).is_ok();
            let happened = move |event| {
                // Without a receiver the worker has ended.
                let _ = match event {
                    bullmq::worker::WorkerEvent::Stalled { job_id } => tell.send(Message::Stalled(job_id)),
                    bullmq::worker::WorkerEvent::Error(cause) => tell.send(Message::Trouble(cause)),
                    _ => Ok(()),
                };
            };
            let consumer = Consumer::start(&connection, &config.name, concurrency, hand, happened)?;
            observe(&WorkerEvent::Ready);
            let (mut report, mut running, mut closing) = (WorkerReport::default(), 0, None);
            loop {
                if closing.is_none() && drain.is_cancelled() {
                    observe(&WorkerEvent::Draining { running });
                    closing = Some(consumer.close(&connection, DRAIN));
                }
                match told.recv_timeout(TICK) {
                    Ok(message) => note(observe, &mut report, &mut running, message),
                    // A job reports its end before it answers the queue.
                    Err(_) if running == 0 && closing.as_ref().is_some_and(|c| c.is_finished()) => return Ok(report),
                    Err(_) => {}
                }
            }
        })
    }
}

/// Passes a message to `observe`, and counts it.
fn note(observe: &dyn Fn(&WorkerEvent<'_>), report: &mut WorkerReport, running: &mut usize, message: Message) {
    match message {
        Message::Begun { job, kind, attempt } => {
            *running += 1;
            observe(&WorkerEvent::Started { job: &job, kind: &kind, attempt });
        }
        Message::Ended { job, kind, elapsed, end } => {
            let (job, kind) = (job.as_str(), kind.as_str());
            *running -= 1;
            match &end {
                Ok(Outcome { bytes, already }) => {
                    report.done += 1;
                    report.already += usize::from(*already);
                    report.bytes += *bytes as u64;
                    observe(&WorkerEvent::Finished { job, kind, bytes: *bytes, elapsed, already: *already });
                }
                Err(Failure::Later(_, cause)) => observe(&WorkerEvent::Postponed { job, kind, cause }),
                Err(failure @ (Failure::Retry(cause) | Failure::Final(cause))) => {
                    report.failed += 1;
                    let retry = matches!(failure, Failure::Retry(_));
                    observe(&WorkerEvent::Failed { job, kind, cause, retry, elapsed });
                }
            }
        }
        Message::Stalled(job) => observe(&WorkerEvent::Stalled { job: &job }),
        Message::Trouble(cause) => observe(&WorkerEvent::Trouble { cause: &cause }),
    }
}

/// State that the threads of jobs share.
struct Crew<'e> {
    config: &'e WorkerConfig,
    work: &'e dyn Work,
    /// Jobs from the queue. `None` ends a thread.
    handed: Mutex<mpsc::Receiver<Option<Handed>>>,
    /// Names of the jobs in progress.
    doing: Mutex<HashSet<String>>,
    /// Parent of the spans of jobs.
    span: Span,
}

impl Crew<'_> {
    /// Does jobs until it receives `None`.
    fn work(&self, tell: &mpsc::Sender<Message>) {
        loop {
            let next = self.handed.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Some(handed)) = next else { return };
            if self.doing().insert(handed.name.clone()) {
                self.job(handed, tell);
            } else {
                // The lock was lost for a while, and the queue gave the job again to the worker that is still doing it.
                handed.answer(Answer::Later(LATER));
            }
        }
    }

    fn doing(&self) -> MutexGuard<'_, HashSet<String>> {
        // A panic elsewhere does not damage the set: a name is in it or not.
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a job, reports it, and answers the queue.
    fn job(&self, handed: Handed, tell: &mpsc::Sender<Message>) {
        let (job, kind) = (handed.name.clone(), handed.kind.clone());
        let begun = Message::Begun { job: job.clone(), kind: kind.clone(), attempt: handed.attempt };
        // The receiver outlives the threads of jobs.
        let _ = tell.send(begun);
        let span = info_span!(
            parent: &self.span, "task", kind, job, attempt = handed.attempt,
            outcome = field::Empty, bytes = field::Empty, cause = field::Empty,
        );
        let begin = Instant::now();
        let work = || span.in_scope(|| perform(self.config, self.work, &handed));
        let done = catch_unwind(AssertUnwindSafe(work));
        let end = done.unwrap_or_else(|panic| Err(Failure::Final(panic_text(&*panic)))).map_err(Failure::cut);
        let (outcome, cause) = match &end {
            Ok(_) => ("done", None),
            Err(Failure::Retry(cause)) => ("retried", Some(cause)),
            Err(Failure::Final(cause)) => ("failed", Some(cause)),
            Err(Failure::Later(_, cause)) => ("postponed", Some(cause)),
        };
        span.record("outcome", outcome)
            .record("bytes", end.as_ref().ok().map(|done| done.bytes))
            .record("cause", cause);
        let answer = match end.clone() {
            Ok(outcome) => Answer::Done(outcome),
            Err(Failure::Retry(cause)) => Answer::Retry(cause),
            Err(Failure::Final(cause)) => Answer::Failed(cause),
            Err(Failure::Later(pause, _)) => Answer::Later(pause),
        };
        self.doing().remove(&handed.name);
        let _ = tell.send(Message::Ended { job, kind, elapsed: begin.elapsed(), end });
        handed.answer(answer);
    }
}

/// The object store does not answer, but may do so later.
fn away(e: ObjectsError) -> Failure {
    Failure::Retry(format!("the object store: {e}"))
}

/// Does a job: reads its payload, looks for its result, reads its inputs, executes it, and stores the result.
///
/// In memory are the payload and, one after the other, an existing result and the inputs that the payload asks for.
fn perform(config: &WorkerConfig, work: &dyn Work, handed: &Handed) -> Result<Outcome, Failure> {
    let objects = &config.objects;
    let unreadable = |what: &str| Failure::Final(format!("the job's data cannot be read: {what}"));
    let (run, ..) = parse_job(&handed.name).ok_or_else(|| unreadable("its name is not that of a run's job"))?;
    let data = JobData::deserialize(&handed.data).map_err(|e| unreadable(&e.to_string()))?;
    let key = |text: &str| Key::parse(text).ok_or_else(|| unreadable("a key is not 64 hexadecimal digits"));
    let (own, hash, pack) = (key(&data.key)?, key(&data.payload)?, key(&data.pack)?);
    let inputs = data.inputs.iter().map(|k| key(k)).collect::<Result<Vec<_>, _>>()?;

    let damaged = |what: String| Failure::Final(format!("{DAMAGED}{what}"));
    let payload = objects.payloads(run).get_part(&pack, data.offset, data.length).map_err(away)?;
    let payload = payload.ok_or_else(|| damaged(format!("payloads {pack} are not in the object store")))?;
    if *blake3::hash(&payload).as_bytes() != hash.0 {
        return Err(damaged(format!("payload {hash} was not what its hash says")));
    }
    let job = Job { key: own, kind: handed.kind.clone(), payload, inputs };
    let failure = |TaskFailure { error, retry }: TaskFailure| {
        let cause = error.to_string();
        match retry {
            // Another worker may be able to do the job. If no worker is, the job fails after its counted attempts.
            true if error.is::<Unfit>() && handed.postponed < UNFIT => Failure::Later(config.queue.back_off, cause),
            true => Failure::Retry(cause),
            false => Failure::Final(cause),
        }
    };
    guarded(|| work.admit(&job)).map_err(failure)?;

    if let Some(bytes) = objects.get(&own).map_err(away)? {
        match guarded(|| work.check(&job, &bytes)) {
            Ok(()) => return Ok(Outcome { bytes: bytes.len(), already: true }),
            Err(TaskFailure { error, .. }) if error.is::<BadResult>() => objects.delete(&own).map_err(away)?,
            // This worker cannot judge the result. Another worker may.
            Err(e) => return Err(failure(e)),
        }
    }
    let mut loaded: Vec<Arc<[u8]>> = Vec::with_capacity(job.inputs.len());
    for input in &job.inputs {
        match objects.get(input).map_err(away)? {
            Some(bytes) => loaded.push(bytes.into()),
            None if data.shared => return Err(Failure::Later(LATER, format!("input {input} is not there yet"))),
            None => return Err(damaged(format!("input {input} is not in the object store"))),
        }
    }
    let made = match guarded(|| work.execute(&job, &loaded)) {
        Ok(made) => made,
        Err(e) => {
            if let Some(bad) = e.error.downcast_ref::<BadInput>()
                && let Some(input) = job.inputs.get(bad.index)
            {
                objects.delete(input).map_err(away)?;
                return Err(damaged(format!("input {input} is taken away: {}", bad.reason)));
            }
            return Err(failure(e));
        }
    };
    drop(loaded);
    let put = objects.put(&own, &made).map_err(away)?;
    Ok(Outcome { bytes: made.len(), already: put == Put::AlreadyThere })
}

/// Runs `work`. A panic becomes a failure.
fn guarded<T>(work: impl FnOnce() -> Result<T, TaskFailure>) -> Result<T, TaskFailure> {
    let panicked = |panic: Box<dyn std::any::Any + Send>| {
        Err(TaskFailure::permanent(format!("the task panicked: {}", panic_text(&*panic))))
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked)
}

//! A run whose tasks are done by workers in other processes.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use bullmq::JobState;

use super::PREFIX;
use super::consumer::{Left, Retry, STALLS};
use super::events::{self, JobEvent, What};
use super::flow::{Piece, Plan};
use super::queue::QueueError;
use super::record::{self, RunRecord, RunState, job_name, parse_job};
use super::run::{Run, RunProgress};
use super::upload::{Prepared, not_stored, prepare_all};
use super::worker::DAMAGED;
use crate::local::ATTEMPTS;
use crate::objects::Objects;
use crate::{Cause, Key, Put, Report, RunError, TaskFailure, TaskId};

/// How often the leader writes its record, and checks for ends of flows whose events were lost.
const TICK: Duration = Duration::from_secs(1);
/// Number of results that are taken over concurrently: most of the time of each is waiting.
const TAKERS: usize = 8;
/// Number of flows that are prepared ahead of being added.
const PREPARED: usize = 2;
/// Number of failed jobs among which the first cause is searched.
const FAILED: i64 = 1000;

/// BullMQ's reason if a job was taken too often from workers that stopped responding.
const STALLED: &str = "job stalled more than allowable limit";

/// Messages to the leader.
enum Message {
    Events(Vec<JobEvent>),
    /// Number of the generation, index of the flow, and whether its payloads and inputs are stored.
    Prepared(u32, usize, Result<Prepared, (TaskId, Cause)>),
    /// A result was taken over, or not.
    Taken(TaskId, Result<usize, Untaken>),
}

/// Why a result was not taken over.
enum Untaken {
    /// The result is missing or not accepted, and must be made again.
    Again(String),
    /// The result could not be read or stored.
    Failed(Cause),
}

/// Why a generation of jobs ended.
enum End {
    /// Every task is done, or nothing more may start.
    Over,
    /// The remaining tasks must be planned again.
    Again(String),
}

/// One plan of the remaining tasks.
struct Generation<'g> {
    number: u32,
    plan: &'g Plan,
    /// Sends a message for each further flow that may be prepared.
    go_on: mpsc::Sender<()>,
    /// Added flows whose root has not ended, by their root.
    open: HashMap<TaskId, &'g Piece>,
}

impl Generation<'_> {
    /// Lets one more flow be prepared.
    fn go_on(&self) {
        // If the receiver is gone, every flow is prepared.
        let _ = self.go_on.send(());
    }
}

struct Leader<'e> {
    run: &'e Run<'e>,
    progress: RunProgress<'e>,
    objects: &'e Objects,
    told: mpsc::Receiver<Message>,
    tell: mpsc::Sender<Message>,
    take: mpsc::Sender<TaskId>,
    /// Results that are being taken over: whether the result was there before its job ran, and the worker's name.
    taking: HashMap<TaskId, (Put, Option<String>)>,
    record: RunRecord,
    ticked: Instant,
}

/// Runs the tasks on workers that share the queue and `objects`.
pub(super) fn work<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    run: &'env Run<'env>,
    progress: RunProgress<'env>,
    objects: &'env Objects,
) -> Result<Report, RunError> {
    let engine_error = |e: QueueError| RunError::Engine(Box::new(e));
    let (tell, told) = mpsc::channel();
    let (take, taken) = mpsc::channel();
    events::listen(run, tell.clone(), Message::Events).map_err(engine_error)?;
    let taken = Arc::new(Mutex::new(taken));
    for _ in 0..TAKERS {
        let (taken, tell) = (taken.clone(), tell.clone());
        scope.spawn(move || taker(run, objects, &taken, &tell));
    }
    let last = progress.left().last().copied().unwrap_or(TaskId(0));
    let root = run.graph.task(run.graph.root().unwrap_or(last));
    let record = RunRecord::new(&run.name, &root.key, root.kind, &progress.report);
    let (taking, ticked) = (HashMap::new(), Instant::now());
    let mut leader = Leader { run, progress, objects, told, tell, take, taking, record, ticked };
    let outcome = leader.work();
    // The takers end when the rest of `leader` is dropped, with the sender of their work. Only other processes use the
    // record, so a failed write of it does no harm.
    let _ = leader.end();
    let Leader { progress, .. } = leader;
    outcome.map_err(engine_error)?;
    progress.outcome()
}

impl Leader<'_> {
    /// Plans the remaining tasks and follows them, again for each damaged result.
    fn work(&mut self) -> Result<(), QueueError> {
        record::take_over(self.run.connection, self.objects, &self.record.root)?;
        record::write(self.run.connection, &self.record)?;
        let mut seen: HashMap<String, u32> = HashMap::new();
        for number in 0.. {
            let todo = self.progress.left();
            let plan = Plan::new(self.run.graph, &todo, self.run.piece);
            let roots: HashSet<_> = plan.pieces.iter().map(Piece::root).collect();
            let end = self.generation(number, &plan)?;
            // The queue has removed done jobs, except the roots of flows. The failed job stays in the queue for
            // inspection.
            let failed = self.progress.failed_task();
            let there = |id: &TaskId| (self.progress.is_wanted(*id) || roots.contains(id)) && Some(*id) != failed;
            self.remove(number, todo.into_iter().filter(there))?;
            match end {
                End::Over => return Ok(()),
                End::Again(cause) => {
                    // The limit is for each object. Any number of objects may be damaged.
                    let times = seen.entry(object_of(&cause)).or_default();
                    *times += 1;
                    if *times >= ATTEMPTS {
                        let id = self.progress.left().first().copied().unwrap_or(TaskId(0));
                        let cause = format!("{times} times: {cause}");
                        self.progress.failed(id, *times, Cause::Error(cause.into()));
                        return Ok(());
                    }
                    self.record.replans += 1;
                }
            }
        }
        Ok(())
    }

    /// Prepares the flows of a generation on a thread, adds them, and follows them until the generation ends.
    fn generation(&mut self, number: u32, plan: &Plan) -> Result<End, QueueError> {
        let (run, objects, tell) = (self.run, self.objects, self.tell.clone());
        let ((go_on, words), over) = (mpsc::channel(), AtomicBool::new(false));
        let over = &over;
        thread::scope(|scope| {
            scope.spawn(move || {
                prepare_all(run, plan, objects, &words, over, |n, prepared| {
                    // The receiver belongs to the leader, which waits for this thread.
                    let _ = tell.send(Message::Prepared(number, n, prepared));
                });
            });
            let mut generation = Generation { number, plan, go_on, open: HashMap::new() };
            (0..PREPARED).for_each(|_| generation.go_on());
            let end = self.follow(&mut generation);
            over.store(true, Ordering::Relaxed);
            end
        })
    }

    /// Handles messages until the generation ends.
    fn follow(&mut self, generation: &mut Generation<'_>) -> Result<End, QueueError> {
        while !self.progress.is_complete() && !self.progress.is_stopping() {
            if let Some(cause) = self.tick(generation)? {
                return Ok(End::Again(cause));
            }
            let Ok(message) = self.told.recv_timeout(TICK) else { continue };
            if let Some(cause) = self.handle(generation, message)? {
                self.settle(generation)?;
                return Ok(End::Again(cause));
            }
        }
        Ok(End::Over)
    }

    /// Adds a flow whose payloads and inputs are stored.
    fn add(&mut self, generation: &mut Generation<'_>, n: usize, prepared: &Prepared) -> Result<(), QueueError> {
        let (run, plan) = (self.run, generation.plan);
        let piece = &plan.pieces[n];
        run.add(plan, piece, generation.number, &|id| prepared.data(run, plan, id))?;
        generation.open.insert(piece.root(), piece);
        generation.go_on();
        Ok(())
    }

    /// Handles a message. Returns the reason to plan again, if there is one.
    fn handle(&mut self, generation: &mut Generation<'_>, message: Message) -> Result<Option<String>, QueueError> {
        match message {
            Message::Events(events) => {
                let mut reason = None;
                for event in events {
                    // The first reason is enough. The other events may be results.
                    reason = reason.or(self.event(generation, event)?);
                }
                return Ok(reason);
            }
            Message::Prepared(number, ..) if number != generation.number => {}
            Message::Prepared(_, n, Ok(prepared)) => self.add(generation, n, &prepared)?,
            Message::Prepared(_, _, Err((id, cause))) => self.progress.failed(id, 1, cause),
            Message::Taken(id, outcome) => {
                let (put, by) = self.taking.remove(&id).unwrap_or((Put::Stored, None));
                match outcome {
                    Ok(bytes) => self.progress.finished(id, bytes, put, by.as_deref()),
                    Err(Untaken::Again(cause)) => return Ok(Some(cause)),
                    Err(Untaken::Failed(cause)) => self.progress.failed(id, 1, cause),
                }
            }
        }
        Ok(None)
    }

    /// Handles an event. Returns the reason to plan again, if there is one.
    fn event(&mut self, generation: &mut Generation<'_>, event: JobEvent) -> Result<Option<String>, QueueError> {
        let JobEvent { id, generation: number, what } = event;
        if !self.progress.is_wanted(id) || self.progress.is_stopping() {
            return Ok(None);
        }
        match what {
            What::Active => self.progress.started(id, None),
            What::Delayed => self.progress.postponed(id),
            What::Progress(text) => {
                if let Ok(Retry { attempt, cause }) = serde_json::from_str(&text) {
                    self.progress.retrying(id, attempt, &cause);
                }
            }
            // Events of earlier generations count too: a late result is valid.
            What::Completed(left) => {
                let left = serde_json::from_str::<Left>(&left).ok();
                let already = left.as_ref().is_some_and(|left| left.outcome.already);
                let put = if already { Put::AlreadyThere } else { Put::Stored };
                self.take(id, put, left.and_then(|left| left.worker));
                if number == generation.number
                    && let Some(piece) = generation.open.remove(&id)
                {
                    // Events come in order. A task of this flow that is not done by now has lost its event.
                    piece.tasks.iter().for_each(|id| self.take(*id, Put::Stored, None));
                }
            }
            What::Failed(reason) if number == generation.number => return self.failed(id, number, reason),
            What::Failed(_) => {}
        }
        Ok(None)
    }

    /// Waits for the results that are being taken over, so that all damaged ones are planned again together.
    fn settle(&mut self, generation: &mut Generation<'_>) -> Result<(), QueueError> {
        while !self.taking.is_empty() && !self.progress.is_stopping() {
            let Ok(message) = self.told.recv_timeout(TICK) else { continue };
            // One reason is enough.
            let _ = self.handle(generation, message)?;
        }
        Ok(())
    }

    /// Starts to take over the result of a task, unless it is done or being taken over.
    fn take(&mut self, id: TaskId, put: Put, by: Option<String>) {
        if self.progress.is_wanted(id) && !self.taking.contains_key(&id) {
            self.taking.insert(id, (put, by));
            // The receivers outlive the leader's work.
            let _ = self.take.send(id);
        }
    }

    /// Handles the final failure of a job. Returns the reason to plan again, if there is one.
    fn failed(&mut self, id: TaskId, number: u32, reason: String) -> Result<Option<String>, QueueError> {
        if is_consequence(&reason) {
            return Ok(None);
        }
        if reason.starts_with(DAMAGED) {
            return Ok(Some(reason));
        }
        let reason = if reason == STALLED {
            format!(
                "taken {STALLS} times from workers that died or fell silent: it ends its worker, or what runs beside it does"
            )
        } else {
            reason
        };
        let name = job_name(&self.run.name, number, id);
        let queue = &self.run.connection.queue;
        let job = self.run.connection.call("reading a job", async || queue.get_job(&name).await)?;
        let attempts = job.map_or(1, |j| j.attempts_made().max(1));
        self.progress.failed(id, attempts, Cause::Error(reason.into()));
        Ok(None)
    }

    /// Once per [`TICK`]: writes the record, and checks for ends of flows whose events were lost. Returns the reason to
    /// plan again, if there is one.
    fn tick(&mut self, generation: &mut Generation<'_>) -> Result<Option<String>, QueueError> {
        if self.ticked.elapsed() < TICK {
            return Ok(None);
        }
        self.ticked = Instant::now();
        let connection = self.run.connection;
        self.write_record()?;
        self.progress.cancelled |= record::is_cancelled(connection, &self.run.name)?;
        let roots: Vec<_> = generation.open.keys().copied().collect();
        for root in roots {
            let name = job_name(&self.run.name, generation.number, root);
            let state = connection.call("asking for a job", async || connection.queue.get_job_state(&name).await)?;
            match state {
                JobState::Completed => {
                    if let Some(piece) = generation.open.remove(&root) {
                        piece.tasks.iter().for_each(|id| self.take(*id, Put::Stored, None));
                    }
                }
                JobState::Failed => return self.find_cause(generation.number, root),
                JobState::Unknown => return Ok(Some(format!("job {name} has vanished from the queue"))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Searches for the failure that made the root of a flow fail.
    fn find_cause(&mut self, number: u32, root: TaskId) -> Result<Option<String>, QueueError> {
        let connection = self.run.connection;
        let jobs = connection.call("reading failed jobs", async || connection.queue.get_failed(0, FAILED).await)?;
        let causes = jobs.iter().filter(|j| !is_consequence(j.failed_reason())).filter_map(|j| {
            let (name, generation, id) = parse_job(j.id())?;
            let ours = name == self.run.name && generation == number && self.progress.is_wanted(id);
            ours.then(|| (id, j.failed_reason().to_owned(), j.finished_on()))
        });
        let first = causes.min_by_key(|(.., finished)| *finished);
        let (id, reason, _) = first.unwrap_or_else(|| (root, "a job failed, and its cause is lost".into(), None));
        self.failed(id, number, reason)
    }

    /// Removes jobs from the root down. Running jobs stay, and end by themselves.
    fn remove(&self, number: u32, ids: impl DoubleEndedIterator<Item = TaskId>) -> Result<(), QueueError> {
        let names: Vec<_> = ids.rev().map(|id| job_name(&self.run.name, number, id)).collect();
        self.run.connection.remove(&names)
    }

    /// Writes the record with the counts and the time of now.
    fn write_record(&mut self) -> Result<(), QueueError> {
        let report = &self.progress.report;
        (self.record.done, self.record.retries) = (report.done, report.retries);
        self.record.seen_ms = record::now_ms();
        record::write(self.run.connection, &self.record)
    }

    /// Writes the end of the run to its record.
    fn end(&mut self) -> Result<(), QueueError> {
        self.record.cause = self.progress.cause();
        self.record.state = match &self.record.cause {
            Some(_) => RunState::Failed,
            None if self.progress.is_complete() => RunState::Done,
            None => RunState::Cancelled,
        };
        self.write_record()?;
        if self.record.state != RunState::Failed {
            // A failed job can be retried as long as its payload exists.
            record::remove_payloads(self.objects, &self.run.name);
        }
        record::prune(self.run.connection, self.objects)
    }
}

/// The key in a reason to plan again, or the reason itself if it has no key.
fn object_of(reason: &str) -> String {
    reason.split_whitespace().find(|word| Key::parse(word).is_some()).unwrap_or(reason).into()
}

/// True if a job with this reason failed only because a job that it needs failed.
fn is_consequence(reason: &str) -> bool {
    reason.starts_with(&format!("child {PREFIX}:")) && reason.ends_with(" failed")
}

/// Takes over results until the leader ends.
fn taker(run: &Run<'_>, objects: &Objects, work: &Mutex<mpsc::Receiver<TaskId>>, tell: &mpsc::Sender<Message>) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(id) = next else { return };
        if tell.send(Message::Taken(id, take_over(run, objects, id))).is_err() {
            return;
        }
    }
}

/// Checks the result of a task and stores it in the run's results. Deletes a result that is not accepted.
fn take_over(run: &Run<'_>, objects: &Objects, id: TaskId) -> Result<usize, Untaken> {
    let task = run.graph.task(id);
    let failed = |e| Untaken::Failed(not_stored(e));
    let Some(bytes) = objects.get(&task.key).map_err(failed)? else {
        return Err(Untaken::Again(format!("the result of {} {} is not in the object store", task.kind, task.key)));
    };
    let judged = catch_unwind(AssertUnwindSafe(|| run.runner.check(id, task, &bytes)));
    let judged = judged.unwrap_or_else(|_| Err(TaskFailure::permanent("the check panicked")));
    if let Err(TaskFailure { error, .. }) = judged {
        objects.delete(&task.key).map_err(failed)?;
        return Err(Untaken::Again(format!("the result of {} {} is not accepted: {error}", task.kind, task.key)));
    }
    let bytes: Arc<[u8]> = bytes.into();
    run.results.put(&task.key, &bytes).map_err(|e| Untaken::Failed(Cause::Results(e)))?;
    Ok(bytes.len())
}

//! A run whose tasks are done by workers elsewhere.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use bullmq::JobState;

use super::PREFIX;
use super::events::{self, JobEvent, What};
use super::hands::{Left, Retry, STALLS};
use super::pieces::{Piece, Plan};
use super::queue::QueueError;
use super::record::{self, RunRecord, RunState, job_name, parse_job};
use super::standing::{Run, Standing};
use super::upload::{Prepared, not_stored, prepare_all};
use super::worker::DAMAGED;
use crate::objects::Objects;
use crate::{Cause, Key, Put, Report, RunError, TaskFailure, TaskId};

/// How often the leader says that it is alive, and asks for what events may not have told.
const TICK: Duration = Duration::from_secs(1);
/// Results that are taken over at once: most of the time of each is waiting.
const TAKERS: usize = 8;
/// Flows that are prepared and not added.
const PREPARED: usize = 2;
/// Failed jobs among which the first cause is looked for.
const FAILED: i64 = 1000;

/// The reason that the queue gives when a job has been taken from silent workers too often.
const STALLED: &str = "job stalled more than allowable limit";

/// What the leader is told.
enum Message {
    Events(Vec<JobEvent>),
    /// What a flow of a generation needs is stored, or not.
    Prepared(u32, usize, Result<Prepared, (TaskId, Cause)>),
    /// A result has been taken over, or not.
    Taken(TaskId, Result<usize, Untaken>),
}

/// Why a result was not taken over.
enum Untaken {
    /// It is not there, or not accepted: it has to be made again.
    Again(String),
    /// It can not be read or stored.
    Failed(Cause),
}

/// Why a generation of jobs came to an end.
enum End {
    /// Everything is done, or nothing more may start.
    Over,
    /// What is left has to be planned anew.
    Again(String),
}

/// One planning of what is left.
struct Generation<'g> {
    number: u32,
    plan: &'g Plan,
    /// A word for each flow that may be prepared.
    go_on: mpsc::Sender<()>,
    /// Flows whose root has not ended, by their root.
    open: HashMap<TaskId, &'g Piece>,
}

impl Generation<'_> {
    /// Lets one more flow be prepared.
    fn go_on(&self) {
        // Without a receiver everything is prepared.
        let _ = self.go_on.send(());
    }
}

struct Leader<'e> {
    run: &'e Run<'e>,
    standing: Standing<'e>,
    objects: &'e Objects,
    told: mpsc::Receiver<Message>,
    tell: mpsc::Sender<Message>,
    take: mpsc::Sender<TaskId>,
    /// Results that are being taken over, and whether another than the run's worker had made them.
    taking: HashMap<TaskId, (Put, Option<String>)>,
    record: RunRecord,
    ticked: Instant,
}

/// Runs the tasks by workers that share the queue and `objects`.
pub(super) fn work<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    run: &'env Run<'env>,
    standing: Standing<'env>,
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
    let last = standing.left().last().copied().unwrap_or(TaskId(0));
    let root = run.graph.task(run.graph.root().unwrap_or(last));
    let record = RunRecord::new(&run.name, &root.key, root.kind, &standing.report);
    let (taking, ticked) = (HashMap::new(), Instant::now());
    let mut leader = Leader { run, standing, objects, told, tell, take, taking, record, ticked };
    let outcome = leader.work();
    // Takers end with the sender of their work; the record is for others, and a lost one harms nobody.
    let _ = leader.end();
    let Leader { standing, .. } = leader;
    outcome.map_err(engine_error)?;
    standing.outcome()
}

impl Leader<'_> {
    /// Plans and waits, as often as results turn out to be damaged.
    fn work(&mut self) -> Result<(), QueueError> {
        record::take_over(self.run.connection, self.objects, &self.record.root)?;
        record::write(self.run.connection, &self.record)?;
        let mut seen: HashMap<String, u32> = HashMap::new();
        for number in 0.. {
            let todo = self.standing.left();
            let plan = Plan::new(self.run.graph, &todo, self.run.piece);
            let roots: HashSet<_> = plan.pieces.iter().map(Piece::root).collect();
            let end = self.generation(number, &plan)?;
            // Done jobs vanish, but for the roots of flows. The job that failed stays, to be looked at.
            let failed = self.standing.failed_task();
            let there = |id: &TaskId| (self.standing.is_wanted(*id) || roots.contains(id)) && Some(*id) != failed;
            self.remove(number, todo.into_iter().filter(there))?;
            match end {
                End::Over => return Ok(()),
                End::Again(cause) => {
                    // One object may be bad as often as a task is tried; many may be bad.
                    let times = seen.entry(object_of(&cause)).or_default();
                    *times += 1;
                    if *times >= self.run.attempts {
                        let id = self.standing.left().first().copied().unwrap_or(TaskId(0));
                        let cause = format!("{times} times: {cause}");
                        self.standing.failed(id, *times, Cause::Error(cause.into()));
                        return Ok(());
                    }
                    self.record.replans += 1;
                }
            }
        }
        Ok(())
    }

    /// Has the flows of a generation prepared, adds them, and follows them to their end.
    fn generation(&mut self, number: u32, plan: &Plan) -> Result<End, QueueError> {
        let (run, objects, tell) = (self.run, self.objects, self.tell.clone());
        let ((go_on, words), over) = (mpsc::channel(), AtomicBool::new(false));
        let over = &over;
        thread::scope(|scope| {
            scope.spawn(move || {
                prepare_all(run, plan, objects, &words, over, |n, prepared| {
                    // The receiver is the leader's, which waits for this thread.
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

    /// Follows a generation to its end, which ends its preparation too.
    fn follow(&mut self, generation: &mut Generation<'_>) -> Result<End, QueueError> {
        loop {
            if self.standing.is_complete() || self.standing.is_stopping() {
                return Ok(End::Over);
            }
            let mut next = self.told.recv_timeout(TICK).ok();
            while let Some(message) = next {
                if let Some(cause) = self.handle(generation, message)? {
                    self.settle(generation)?;
                    return Ok(End::Again(cause));
                }
                if self.standing.is_complete() || self.standing.is_stopping() {
                    return Ok(End::Over);
                }
                if let Some(cause) = self.tick(generation)? {
                    return Ok(End::Again(cause));
                }
                next = self.told.try_recv().ok();
            }
            if let Some(cause) = self.tick(generation)? {
                return Ok(End::Again(cause));
            }
        }
    }

    /// Adds a flow, what it needs being stored.
    fn add(&mut self, generation: &mut Generation<'_>, n: usize, prepared: &Prepared) -> Result<(), QueueError> {
        let (run, plan) = (self.run, generation.plan);
        let piece = &plan.pieces[n];
        run.add(plan, piece, generation.number, &|id| prepared.data(run, plan, id))?;
        generation.open.insert(piece.root(), piece);
        generation.go_on();
        Ok(())
    }

    /// Takes note of a message. Gives the reason to plan anew, if there is one.
    fn handle(&mut self, generation: &mut Generation<'_>, message: Message) -> Result<Option<String>, QueueError> {
        match message {
            Message::Events(events) => {
                let mut reason = None;
                for event in events {
                    // The first reason is enough, and the other events may be results.
                    reason = reason.or(self.event(generation, event)?);
                }
                return Ok(reason);
            }
            Message::Prepared(number, ..) if number != generation.number => {}
            Message::Prepared(_, n, Ok(prepared)) => self.add(generation, n, &prepared)?,
            Message::Prepared(_, _, Err((id, cause))) => self.standing.failed(id, 1, cause),
            Message::Taken(id, outcome) => {
                let (put, by) = self.taking.remove(&id).unwrap_or((Put::Stored, None));
                match outcome {
                    Ok(bytes) => {
                        self.standing.finished(id, bytes, put, by.as_deref());
                    }
                    Err(Untaken::Again(cause)) => return Ok(Some(cause)),
                    Err(Untaken::Failed(cause)) => self.standing.failed(id, 1, cause),
                }
            }
        }
        Ok(None)
    }

    /// Takes note of an event. Gives the reason to plan anew, if there is one.
    fn event(&mut self, generation: &mut Generation<'_>, event: JobEvent) -> Result<Option<String>, QueueError> {
        let JobEvent { id, generation: number, what } = event;
        if !self.standing.is_wanted(id) || self.standing.is_stopping() {
            return Ok(None);
        }
        match what {
            What::Active => self.standing.started(id, None),
            What::Delayed => self.standing.postponed(id),
            What::Progress(text) => {
                if let Ok(Retry { attempt, cause }) = serde_json::from_str(&text) {
                    self.standing.retrying(id, attempt, &cause);
                }
            }
            // Of an earlier planning too: a late result is a result.
            What::Completed(left) => {
                let left = serde_json::from_str::<Left>(&left).ok();
                let already = left.as_ref().is_some_and(|left| left.outcome.already);
                let put = if already { Put::AlreadyThere } else { Put::Stored };
                self.take(id, put, left.and_then(|left| left.worker));
                if number == generation.number
                    && let Some(piece) = generation.open.remove(&id)
                {
                    // Events come in order: what is not known to be done by now has lost its event.
                    piece.tasks.iter().for_each(|id| self.take(*id, Put::Stored, None));
                }
            }
            What::Failed(reason) if number == generation.number => return self.failed(id, number, reason),
            What::Failed(_) => {}
        }
        Ok(None)
    }

    /// Waits for the results that are being taken over, so that those that are bad are planned anew together.
    fn settle(&mut self, generation: &mut Generation<'_>) -> Result<(), QueueError> {
        while !self.taking.is_empty() && !self.standing.is_stopping() {
            let Ok(message) = self.told.recv_timeout(TICK) else { continue };
            // One reason is enough.
            let _ = self.handle(generation, message)?;
        }
        Ok(())
    }

    /// Has the result of a task taken over, unless it is.
    fn take(&mut self, id: TaskId, put: Put, by: Option<String>) {
        if self.standing.is_wanted(id) && !self.taking.contains_key(&id) {
            self.taking.insert(id, (put, by));
            // The receivers outlive the leader's work.
            let _ = self.take.send(id);
        }
    }

    /// Takes note of a job that failed for good. Gives the reason to plan anew, if there is one.
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
        self.standing.failed(id, attempts, Cause::Error(reason.into()));
        Ok(None)
    }

    /// Says that the leader is alive, and looks for ends of flows that no event has told of: when it is time.
    fn tick(&mut self, generation: &mut Generation<'_>) -> Result<Option<String>, QueueError> {
        if self.ticked.elapsed() < TICK {
            return Ok(None);
        }
        self.ticked = Instant::now();
        let connection = self.run.connection;
        let report = &self.standing.report;
        (self.record.done, self.record.retries) = (report.done, report.retries);
        self.record.seen_ms = record::now_ms();
        record::write(connection, &self.record)?;
        self.standing.cancelled |= record::is_cancelled(connection, &self.run.name)?;
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

    /// Looks for the failure that made the root of a flow fail.
    fn find_cause(&mut self, number: u32, root: TaskId) -> Result<Option<String>, QueueError> {
        let connection = self.run.connection;
        let jobs = connection.call("reading failed jobs", async || connection.queue.get_failed(0, FAILED).await)?;
        let causes = jobs.iter().filter(|j| !is_consequence(j.failed_reason())).filter_map(|j| {
            let (name, generation, id) = parse_job(j.id())?;
            let ours = name == self.run.name && generation == number && self.standing.is_wanted(id);
            ours.then(|| (id, j.failed_reason().to_owned(), j.finished_on()))
        });
        let first = causes.min_by_key(|(.., finished)| *finished);
        let (id, reason, _) = first.unwrap_or_else(|| (root, "a job failed, and its cause is lost".into(), None));
        self.failed(id, number, reason)
    }

    /// Removes jobs, from the root down, so that none is released by the removal of another. Those that run stay and end by
    /// themselves.
    fn remove(&self, number: u32, ids: impl DoubleEndedIterator<Item = TaskId>) -> Result<(), QueueError> {
        let names: Vec<_> = ids.rev().map(|id| job_name(&self.run.name, number, id)).collect();
        self.run.connection.remove(&names)
    }

    /// Notes the end of the run for others.
    fn end(&mut self) -> Result<(), QueueError> {
        let report = &self.standing.report;
        (self.record.done, self.record.retries) = (report.done, report.retries);
        self.record.cause = self.standing.cause();
        self.record.seen_ms = record::now_ms();
        self.record.state = match &self.record.cause {
            Some(_) => RunState::Failed,
            None if self.standing.is_complete() => RunState::Done,
            None => RunState::Cancelled,
        };
        record::write(self.run.connection, &self.record)?;
        if self.record.state != RunState::Failed {
            // A job that failed can be tried again as long as its payload is there.
            record::remove_payloads(self.objects, &self.run.name);
        }
        record::prune(self.run.connection, self.objects)
    }
}

/// The key in a reason to plan anew, or the reason where there is none.
fn object_of(reason: &str) -> String {
    reason.split_whitespace().find(|word| Key::parse(word).is_some()).unwrap_or(reason).into()
}

/// True of the reason that a job fails with because one that it needs has failed.
fn is_consequence(reason: &str) -> bool {
    reason.starts_with(&format!("child {PREFIX}:")) && reason.ends_with(" failed")
}

/// Takes over results until there is no leader.
fn taker(run: &Run<'_>, objects: &Objects, work: &Mutex<mpsc::Receiver<TaskId>>, tell: &mpsc::Sender<Message>) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(id) = next else { return };
        if tell.send(Message::Taken(id, take_over(run, objects, id))).is_err() {
            return;
        }
    }
}

/// Judges the result of a task and stores it with the others of the run.
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

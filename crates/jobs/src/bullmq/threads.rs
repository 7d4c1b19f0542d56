//! A run whose tasks are done by threads of the leader's process.

use std::collections::HashMap;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::consumer::{Answer, Consumer, Handed, LATER, Outcome};
use super::flow::Plan;
use super::queue::QueueError;
use super::record::parse_job;
use super::run::{Run, RunProgress};
use crate::local::{ATTEMPTS, AtEnd, Input, Outcome as Attempted, STACK_BYTES, attempt_task, panic_text};
use crate::{Cause, Put, Report, RunError, TaskId};

/// Silence after which the leader checks whether the queue still has jobs.
const SILENCE: Duration = Duration::from_secs(2);

/// Messages to the leader.
enum Message {
    /// A task may begin.
    Handed(Handed),
    /// A task's thread ends.
    Ended(TaskId),
}

struct Running<'scope> {
    thread: ScopedJoinHandle<'scope, Attempted>,
    handed: Handed,
    inputs: usize,
}

/// Runs the tasks on up to `concurrency` threads at once.
pub(super) fn work<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    run: &'env Run<'env>,
    mut progress: RunProgress<'_>,
    concurrency: usize,
) -> Result<Report, RunError> {
    let (tell, told) = mpsc::channel();
    let plan = Plan::new(run.graph, &progress.left(), run.piece);
    let engine_error = |e: QueueError| RunError::Engine(Box::new(e));
    let ask = tell.clone();
    let hand = move |handed| ask.send(Message::Handed(handed)).is_ok();
    let consumer = Consumer::start(run.connection, &run.name, concurrency, hand, drop).map_err(engine_error)?;
    let mut pieces = plan.pieces.iter();
    let mut running: HashMap<TaskId, Running<'scope>> = HashMap::new();
    let outcome = loop {
        if progress.is_stopping() {
            consumer.pause();
        }
        if running.is_empty() && (progress.is_complete() || progress.is_stopping()) {
            break Ok(());
        }
        let next = if progress.is_stopping() { None } else { pieces.next() };
        let message = match next {
            Some(piece) => {
                if let Err(e) = run.add(&plan, piece, 0, &|_| serde_json::Value::Null) {
                    break Err(engine_error(e));
                }
                told.try_recv().ok()
            }
            None => told.recv_timeout(SILENCE).ok(),
        };
        match message {
            Some(Message::Handed(handed)) => begin(scope, run, &plan, &mut progress, &mut running, handed, &tell),
            Some(Message::Ended(id)) => end(&mut progress, &mut running, id),
            None if next.is_none() && running.is_empty() => match is_idle(run) {
                Ok(true) => {
                    progress.failed(left(&progress), 1, Cause::Error("the queue has lost its jobs: run again".into()))
                }
                Ok(false) => {}
                Err(e) => break Err(engine_error(e)),
            },
            None => {}
        }
    };
    for (_, Running { thread, .. }) in running {
        // The thread has stored its result if it made one. The run already ends for another reason.
        let _ = thread.join();
    }
    // This gives answers time to arrive. Lost answers do no harm, because the queue is removed.
    let closed = consumer.close(run.connection, Duration::from_millis(150));
    let _ = run.connection.runtime().block_on(closed);
    let _ = run.connection.call("removing the queue", async || run.connection.queue.obliterate(true, 1000).await);
    outcome.and_then(|()| progress.outcome())
}

/// The first task that is not done.
fn left(progress: &RunProgress<'_>) -> TaskId {
    progress.left().first().copied().unwrap_or(TaskId(0))
}

/// True if the queue has no job that can still run.
fn is_idle(run: &Run<'_>) -> Result<bool, QueueError> {
    let counts = run.connection.call("counting jobs", async || run.connection.queue.get_job_counts().await)?;
    Ok(counts.waiting + counts.active + counts.delayed + counts.prioritized == 0)
}

/// Starts a thread for the task, if the task may start.
fn begin<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    run: &'env Run<'env>,
    plan: &Plan,
    progress: &mut RunProgress<'_>,
    running: &mut HashMap<TaskId, Running<'scope>>,
    handed: Handed,
    tell: &mpsc::Sender<Message>,
) {
    let Some((_, _, id)) = parse_job(&handed.name).filter(|(_, _, id)| id.0 < run.graph.len()) else {
        return handed.answer(Answer::Failed("this is not a job of the run".into()));
    };
    if progress.is_stopping() {
        return handed.answer(Answer::Failed("the run has been stopped".into()));
    }
    let task = run.graph.task(id);
    if progress.is_done(id) || running.contains_key(&id) {
        // The lock was lost for a while, and the queue hands out the job again although it is done or running.
        let done = progress.is_done(id).then_some(Answer::Done(Outcome { bytes: 0, already: true }));
        return handed.answer(done.unwrap_or(Answer::Later(LATER)));
    }
    if plan.is_shared(id) && task.deps.iter().any(|d| progress.is_wanted(*d)) {
        return handed.answer(Answer::Later(LATER));
    }
    progress.started(id, Some(handed.attempt));
    let tell = tell.clone();
    // The receiver outlives every thread that has a sender.
    let end = AtEnd(move || {
        let _ = tell.send(Message::Ended(id));
    });
    let inputs: Vec<_> = task.deps.iter().map(|d| Input::Stored(run.graph.task(*d).key)).collect();
    let count = inputs.len();
    let work = move || {
        let _end = end;
        attempt_task(id, task, inputs, run.runner, run.results)
    };
    let builder = thread::Builder::new().name(format!("{}-{}", task.kind, id.0)).stack_size(STACK_BYTES);
    match builder.spawn_scoped(scope, work) {
        Ok(thread) => {
            running.insert(id, Running { thread, handed, inputs: count });
            let live = running.values().map(|r| r.inputs).sum();
            progress.report.peak_live = progress.report.peak_live.max(live);
        }
        Err(e) => {
            progress.failed(id, handed.attempt, Cause::Error(Box::new(e)));
            handed.answer(Answer::Failed("no thread could be started".into()));
        }
    }
}

/// Handles the end of a task's thread, and answers the queue.
fn end(progress: &mut RunProgress<'_>, running: &mut HashMap<TaskId, Running<'_>>, id: TaskId) {
    let Some(Running { thread, handed, .. }) = running.remove(&id) else { return };
    let outcome = thread.join().unwrap_or_else(|panic| Err((Cause::Panic(panic_text(&*panic)), false)));
    match outcome {
        Ok((bytes, put)) => {
            progress.finished(id, bytes.len(), put, None);
            let already = put == Put::AlreadyThere;
            handed.answer(Answer::Done(Outcome { bytes: bytes.len(), already }));
        }
        Err((cause, true)) if handed.attempt < ATTEMPTS && !progress.is_stopping() => {
            let text = cause.to_string();
            progress.retrying(id, handed.attempt, &text);
            handed.answer(Answer::Retry(text));
        }
        Err((cause, _)) => {
            let text = cause.to_string();
            progress.failed(id, handed.attempt, cause);
            handed.answer(Answer::Failed(text));
        }
    }
}

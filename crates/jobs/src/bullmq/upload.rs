//! What workers elsewhere need: jobs' data, payloads, and results that only the leader has.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use serde::{Deserialize, Serialize};

use super::pieces::{Piece, Plan};
use super::standing::Run;
use crate::local::panic_text;
use crate::objects::{Objects, ObjectsError};
use crate::{Cause, Key, ResultsError, TaskFailure, TaskId};

/// Uploads at once: most of the time of each is waiting.
const UPLOADS: usize = 8;

/// The data of a job: ids alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobData {
    /// What the result is stored under.
    pub(super) key: String,
    /// Hash of the payload, under which it is stored.
    pub(super) payload: String,
    /// Keys of the inputs.
    pub(super) inputs: Vec<String>,
    /// The job may start before its inputs are there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) shared: bool,
}

/// The data of a piece's jobs, after what they need has been stored: the data of a task of the piece, or of a root of a piece
/// below it, whose data are in the queue already.
pub(super) struct Prepared {
    payloads: Vec<(TaskId, Key)>,
}

impl Prepared {
    pub(super) fn data(&self, run: &Run<'_>, plan: &Plan, id: TaskId) -> serde_json::Value {
        let task = run.graph.task(id);
        let place = self.payloads.binary_search_by_key(&id, |(id, _)| *id);
        let payload = place.map_or(String::new(), |n| self.payloads[n].1.to_string());
        let inputs = task.deps.iter().map(|d| run.graph.task(*d).key.to_string()).collect();
        let data = JobData { key: task.key.to_string(), payload, inputs, shared: plan.is_shared(id) };
        serde_json::to_value(data).unwrap_or_default()
    }
}

/// Prepares the pieces of a plan one after the other, each when there is a word for it, and tells of each; until there are no more
/// words, or all is over.
pub(super) fn prepare_all(
    run: &Run<'_>,
    plan: &Plan,
    objects: &Objects,
    words: &mpsc::Receiver<()>,
    over: &AtomicBool,
    tell: impl Fn(usize, Result<Prepared, (TaskId, Cause)>),
) {
    let payloads = objects.payloads(&run.name);
    for (n, piece) in plan.pieces.iter().enumerate() {
        if words.recv().is_err() {
            return;
        }
        tell(n, prepare(run, plan, [objects, &payloads], piece, over));
    }
}

/// Stores the payloads of a piece, and those inputs that no job of the plan makes. Several at a time; memory is that of as
/// many payloads.
///
/// # Errors
/// The first task whose payload or input can not be stored, and why.
fn prepare(
    run: &Run<'_>,
    plan: &Plan,
    places: [&Objects; 2],
    piece: &Piece,
    over: &AtomicBool,
) -> Result<Prepared, (TaskId, Cause)> {
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new((Vec::with_capacity(piece.tasks.len()), None)));
    let work = || {
        while !over.load(Ordering::Relaxed)
            && let Some(id) = piece.tasks.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let stored = catch_unwind(AssertUnwindSafe(|| store(run, plan, places, *id)));
            let stored = stored.unwrap_or_else(|panic| Err(Cause::Panic(panic_text(&*panic))));
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            match stored {
                Ok(payload) => outcome.0.push((*id, payload)),
                Err(cause) => {
                    outcome.1.get_or_insert((*id, cause));
                    next.store(piece.tasks.len(), Ordering::Relaxed);
                }
            }
        }
    };
    thread::scope(|scope| (0..UPLOADS.min(piece.tasks.len())).for_each(|_| drop(scope.spawn(work))));
    let (mut payloads, failure) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = failure {
        return Err(failure);
    }
    payloads.sort_unstable_by_key(|(id, _)| *id);
    Ok(Prepared { payloads })
}

/// Stores what a task needs, results and payloads in their places. Gives the payload's hash.
fn store(run: &Run<'_>, plan: &Plan, [objects, payloads]: [&Objects; 2], id: TaskId) -> Result<Key, Cause> {
    for input in run.graph.task(id).deps.iter().filter(|d| !plan.contains(**d)) {
        let key = run.graph.task(*input).key;
        if objects.exists(&key).map_err(not_stored)? {
            continue;
        }
        let bytes = run.results.get(&key).map_err(Cause::Results)?.ok_or_else(|| {
            let context = format!("result {key} has vanished from the store");
            Cause::Results(ResultsError { context, source: "removed while the graph was running: run it again".into() })
        })?;
        objects.put(&key, &bytes).map_err(not_stored)?;
    }
    let payload =
        run.runner.payload(id, run.graph.task(id)).map_err(|TaskFailure { error, .. }| Cause::Error(error))?;
    let hash = Key(*blake3::hash(&payload).as_bytes());
    payloads.replace(&hash, &payload).map_err(not_stored)?;
    Ok(hash)
}

/// An error of the object store as that of a store of results.
pub(super) fn not_stored(e: ObjectsError) -> Cause {
    let context = e.place.display().to_string();
    Cause::Results(ResultsError { context, source: Box::new(e.source) })
}

//! Data, payloads and inputs for workers in other processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use serde::{Deserialize, Serialize};

use super::flow::{Piece, Plan};
use super::run::Run;
use crate::local::panic_text;
use crate::objects::{Objects, ObjectsError};
use crate::{Cause, Key, ResultsError, TaskFailure, TaskId};

/// Number of concurrent uploads: most of the time of each is waiting.
const UPLOADS: usize = 8;
/// Size in bytes at which a pack is stored.
const PACK: usize = 1 << 20;

/// The data of a job: ids only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobData {
    /// Key of the result.
    pub(super) key: String,
    /// Hash of the payload.
    pub(super) payload: String,
    /// Hash of the pack, the object that contains the payload. The pack is stored under this hash. `offset` and
    /// `length`, in bytes, are the payload's place in it.
    pub(super) pack: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Keys of the inputs.
    pub(super) inputs: Vec<String>,
    /// The job may start before its inputs exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) shared: bool,
}

/// Where a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    id: TaskId,
    hash: Key,
    pack: Key,
    offset: u64,
    length: u64,
}

/// The places of a piece's payloads, from which the data of its jobs are made. Payloads and inputs are stored.
pub(super) struct Prepared {
    /// In ascending order of tasks.
    payloads: Vec<Packed>,
}

impl Prepared {
    pub(super) fn data(&self, run: &Run<'_>, plan: &Plan, id: TaskId) -> serde_json::Value {
        let task = run.graph.task(id);
        let Ok(place) = self.payloads.binary_search_by_key(&id, |p| p.id) else { return serde_json::Value::Null };
        let Packed { hash, pack, offset, length, .. } = self.payloads[place];
        let data = JobData {
            key: task.key.to_string(),
            payload: hash.to_string(),
            pack: pack.to_string(),
            offset,
            length,
            inputs: task.deps.iter().map(|d| run.graph.task(*d).key.to_string()).collect(),
            shared: plan.is_shared(id),
        };
        serde_json::to_value(data).unwrap_or_default()
    }
}

/// Prepares the pieces of a plan in order. Waits for a message in `words` before each piece, and passes the outcome to
/// `tell`. Ends when the sender of `words` is dropped. `over` ends the preparation of a piece early.
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

/// Stores the payloads of a piece, many in one object, and the inputs that no job of the plan makes. Uses up to
/// [`UPLOADS`] threads, each with one pack in memory.
///
/// # Errors
/// The first task whose payload or input could not be stored, and the cause.
fn prepare(
    run: &Run<'_>,
    plan: &Plan,
    [objects, payloads]: [&Objects; 2],
    piece: &Piece,
    over: &AtomicBool,
) -> Result<Prepared, (TaskId, Cause)> {
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new((Vec::with_capacity(piece.tasks.len()), None)));
    let note = |result: Result<Vec<Packed>, (TaskId, Cause)>| {
        let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(packed) => outcome.0.extend(packed),
            Err(failure) => {
                outcome.1.get_or_insert(failure);
                next.store(piece.tasks.len(), Ordering::Relaxed);
            }
        }
    };
    let work = || {
        let mut pack = Pack::default();
        while !over.load(Ordering::Relaxed)
            && let Some(id) = piece.tasks.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let made = catch_unwind(AssertUnwindSafe(|| make(run, plan, objects, *id)));
            match made.unwrap_or_else(|panic| Err(Cause::Panic(panic_text(&*panic)))) {
                Ok(payload) => pack.add(*id, &payload),
                Err(cause) => return note(Err((*id, cause))),
            }
            if pack.bytes.len() >= PACK {
                note(std::mem::take(&mut pack).store(payloads));
            }
        }
        note(pack.store(payloads));
    };
    thread::scope(|scope| (0..UPLOADS.min(piece.tasks.len())).for_each(|_| drop(scope.spawn(work))));
    let (mut payloads, failure) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = failure {
        return Err(failure);
    }
    payloads.sort_unstable_by_key(|p| p.id);
    Ok(Prepared { payloads })
}

/// Payloads that are stored as one object.
#[derive(Default)]
struct Pack {
    bytes: Vec<u8>,
    payloads: Vec<(TaskId, Key, u64, u64)>,
}

impl Pack {
    fn add(&mut self, id: TaskId, payload: &[u8]) {
        let hash = Key(*blake3::hash(payload).as_bytes());
        self.payloads.push((id, hash, self.bytes.len() as u64, payload.len() as u64));
        self.bytes.extend_from_slice(payload);
    }

    /// Stores the object. Returns the places of its payloads.
    fn store(self, objects: &Objects) -> Result<Vec<Packed>, (TaskId, Cause)> {
        let Some((first, ..)) = self.payloads.first() else { return Ok(Vec::new()) };
        let pack = Key(*blake3::hash(&self.bytes).as_bytes());
        objects.replace(&pack, &self.bytes).map_err(|e| (*first, not_stored(e)))?;
        let packed = |(id, hash, offset, length)| Packed { id, hash, pack, offset, length };
        Ok(self.payloads.into_iter().map(packed).collect())
    }
}

/// The payload of a task. Stores those of the task's inputs that no job of the plan makes.
fn make(run: &Run<'_>, plan: &Plan, objects: &Objects, id: TaskId) -> Result<Vec<u8>, Cause> {
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
    run.runner.payload(id, run.graph.task(id)).map_err(|TaskFailure { error, .. }| Cause::Error(error))
}

/// An error of the object store, as an error of a store of results.
pub(super) fn not_stored(e: ObjectsError) -> Cause {
    let context = e.place.display().to_string();
    Cause::Results(ResultsError { context, source: Box::new(e.source) })
}

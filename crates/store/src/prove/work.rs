//! The tasks of a plan, the runner that proves them, and the store of their results.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use evergrove_commit::batch::{Input, Plan, Step};
use evergrove_commit::{BackendError, BackendSpec, NodeProof, RecursionBackend, Vector, Witness};
use evergrove_jobs::objects::{Objects, ObjectsError};
use evergrove_jobs::{GraphError, Key, Put, Results, ResultsError, Runner, Task, TaskFailure, TaskGraph, TaskId};
use evergrove_verifier::{AppOutput, BatchProof, NodeKind};
use tracing::{Span, info_span};

use super::proof_key;
use crate::Error;
use crate::cluster::{Payload, Stated};
use crate::store::View;

/// Number of parts of a tree that are proven side by side.
const STRIPES: usize = 16;

/// The tasks of a plan that reuses no proofs. Task n proves step n.
///
/// Divides the buckets into `STRIPES` runs of neighbours. The first bucket of each run starts before the second of any.
/// In a run, joins start before buckets, so few results wait. Joins of several runs start after all buckets. If the
/// buckets started from one end to the other, the work would end with a chain of joins, one per level, for one worker.
/// With one task at a time, at most 16 H + 16 results of a tree of height H wait.
pub fn graph(plan: &Plan, backend: &BackendSpec) -> Result<TaskGraph, GraphError> {
    let mut graph = TaskGraph::new();
    let buckets = plan.steps.iter().filter(|s| s.kind == NodeKind::Bucket).count();
    let run = buckets.div_ceil(STRIPES).max(1);
    // The buckets below each step, as a half-open range: first and end.
    let mut below: Vec<(usize, usize)> = Vec::with_capacity(plan.steps.len());
    let mut next = 0;
    for step in &plan.steps {
        let deps: Vec<TaskId> =
            step.inputs.iter().filter_map(|i| if let Input::Step(n) = i { Some(TaskId(*n)) } else { None }).collect();
        let own = next;
        next += usize::from(step.kind == NodeKind::Bucket);
        let (first, end) = deps.iter().map(|d| below[d.0]).fold((own, next), |(a, b), (c, d)| (a.min(c), b.max(d)));
        below.push((first, end));
        let place = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        graph.add(Task {
            key: proof_key(backend, step.kind, &step.statement),
            kind: step.kind.name(),
            priority: match step.kind {
                NodeKind::Bucket => -place(first % run),
                NodeKind::Merge if end - first > run => -place(run + end - first),
                NodeKind::Merge => 1,
                NodeKind::Wrap => 2,
            },
            deps,
        })?;
    }
    Ok(graph)
}

/// Proves the steps of a plan. Reads the witness of a step when it starts, from the view of the plan's epoch.
pub(crate) struct Proving<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) view: &'a View,
    pub(crate) vector: &'a Vector<&'a View>,
    pub(crate) backend: &'a dyn RecursionBackend,
    pub(crate) spec: &'a BackendSpec,
    /// Parent of the spans of tasks, on any thread.
    pub(crate) span: &'a Span,
}

impl Proving<'_> {
    fn witness(&self, step: &Step) -> Result<Witness, TaskFailure> {
        let _span = info_span!("witness").entered();
        let mut witness = step.witness(self.vector).map_err(TaskFailure::permanent)?;
        if self.spec.choice.app.is_some() {
            witness.open(|index| self.view.elements(index)).map_err(TaskFailure::permanent)?;
        }
        Ok(witness)
    }

    fn input(&self, input: &Input) -> Stated {
        match input {
            Input::Step(n) => stated(&self.steps[*n]),
            Input::Existing { statement, kind } => Stated { kind: *kind, statement: *statement },
        }
    }
}

fn stated(step: &Step) -> Stated {
    Stated { kind: step.kind, statement: step.statement }
}

impl Runner for Proving<'_> {
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let _span = info_span!(parent: self.span, "execute", kind = task.kind, key = %task.key).entered();
        let step = &self.steps[id.0];
        let children = inputs
            .iter()
            .map(|bytes| decode(self.spec, bytes).map(|(_, proof)| proof))
            .collect::<Result<Vec<_>, _>>()
            .map_err(TaskFailure::permanent)?;
        let bytes = prove(self.backend, self.spec, &stated(step), &self.witness(step)?, &children)?;
        debug_assert_eq!(decode(self.spec, &bytes).ok().map(|(key, _)| key), Some(task.key));
        Ok(bytes)
    }

    fn payload(&self, id: TaskId, _: &Task) -> Result<Vec<u8>, TaskFailure> {
        let step = &self.steps[id.0];
        let payload = Payload {
            backend: self.spec.clone(),
            keys: self.backend.key_digest(),
            stated: stated(step),
            children: step.inputs.iter().map(|i| self.input(i)).collect(),
            witness: self.witness(step)?,
        };
        Ok(payload.encode())
    }

    fn check(&self, id: TaskId, _: &Task, bytes: &[u8]) -> Result<(), TaskFailure> {
        let judged = judge(self.backend, self.spec, &stated(&self.steps[id.0]), bytes);
        judged.map(|_| ()).map_err(TaskFailure::permanent)
    }
}

/// Makes a proof from its witness and the proofs below, in its stored form. Backends verify what they return.
pub(crate) fn prove(
    backend: &dyn RecursionBackend,
    spec: &BackendSpec,
    stated: &Stated,
    witness: &Witness,
    children: &[NodeProof],
) -> Result<Vec<u8>, TaskFailure> {
    let made = backend.prove(witness, &children.iter().collect::<Vec<_>>()).map_err(failure)?;
    if (made.kind, made.statement) != (stated.kind, stated.statement) {
        let what = format!("asked for a {} and got a {}, or another statement", stated.kind, made.kind);
        return Err(failure(BackendError::Internal(what)));
    }
    Ok(encode(spec, made))
}

/// The proof in a file, if it has this circuit and statement and verifies.
pub(crate) fn judge(
    backend: &dyn RecursionBackend,
    spec: &BackendSpec,
    stated: &Stated,
    bytes: &[u8],
) -> Result<NodeProof, String> {
    let (_, proof) = decode(spec, bytes)?;
    if (proof.kind, proof.statement) != (stated.kind, stated.statement) {
        return Err(format!("it is a {} of another statement", proof.kind));
    }
    backend.verify(&proof).map_err(|e| e.to_string())?;
    Ok(proof)
}

fn failure(e: BackendError) -> TaskFailure {
    match e {
        BackendError::Internal(_) => TaskFailure::transient(e),
        e => TaskFailure::permanent(e),
    }
}

/// A proof in its stored form, which is the file that users get.
fn encode(backend: &BackendSpec, proof: NodeProof) -> Vec<u8> {
    let file = BatchProof {
        scheme: backend.choice.scheme.name().into(),
        backend: backend.id(),
        profile: backend.choice.profile,
        class: backend.class,
        kind: proof.kind,
        statement: proof.statement,
        app: backend.app_id().map(|app| AppOutput { app, output: proof.output }),
        body: proof.bytes,
    };
    file.encode()
}

/// The proof in a file, in the form for its backend.
pub(crate) fn node_proof(file: BatchProof) -> NodeProof {
    let output = file.app.map_or(Vec::new(), |a| a.output);
    NodeProof { kind: file.kind, statement: file.statement, output, bytes: file.body }
}

/// The proof in a file of this backend, with its key.
pub(crate) fn decode(backend: &BackendSpec, bytes: &[u8]) -> Result<(Key, NodeProof), String> {
    let file = BatchProof::decode(bytes).map_err(|e| e.to_string())?;
    if file.scheme != backend.choice.scheme.name() {
        return Err(format!("it is a proof of the scheme {}", file.scheme));
    }
    if (&file.backend, file.profile, file.class) != (&backend.id(), backend.choice.profile, backend.class) {
        return Err(format!("it was made by {} with profile {}", file.backend, file.profile));
    }
    if file.app.as_ref().map(|a| &a.app) != backend.app_id().as_ref() {
        return Err("it is a proof of another application".into());
    }
    let proof = node_proof(file);
    Ok((proof_key(backend, proof.kind, &proof.statement), proof))
}

/// The proofs in the store's objects, for an engine. A proof exists only if it verifies.
pub(crate) struct Proofs<'a> {
    objects: &'a Objects,
    backend: &'a dyn RecursionBackend,
    spec: &'a BackendSpec,
    damaged: AtomicUsize,
    failed: Mutex<Option<Error>>,
}

impl<'a> Proofs<'a> {
    pub(crate) fn new(objects: &'a Objects, backend: &'a dyn RecursionBackend, spec: &'a BackendSpec) -> Self {
        Self { objects, backend, spec, damaged: AtomicUsize::new(0), failed: Mutex::new(None) }
    }

    /// Number of stored proofs that were deleted because they do not verify.
    pub(crate) fn damaged(&self) -> usize {
        self.damaged.load(Ordering::Relaxed)
    }

    /// The first error of the objects, if any.
    pub(crate) fn take_error(&self) -> Option<Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn failed(&self, key: &Key) -> impl FnOnce(ObjectsError) -> ResultsError + '_ {
        let context = format!("proof {key}");
        move |e| {
            let e = Error::from(e);
            let text = e.to_string();
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            ResultsError { context, source: text.into() }
        }
    }
}

impl Results for Proofs<'_> {
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>, ResultsError> {
        Ok(self.objects.get(key).map_err(self.failed(key))?.map(Into::into))
    }

    fn put(&self, key: &Key, bytes: &Arc<[u8]>) -> Result<Put, ResultsError> {
        self.objects.put(key, bytes).map_err(self.failed(key))
    }

    fn contains(&self, key: &Key) -> Result<bool, ResultsError> {
        let Some(bytes) = self.objects.get(key).map_err(self.failed(key))? else { return Ok(false) };
        let judged = decode(self.spec, &bytes);
        if judged.is_ok_and(|(found, proof)| found == *key && self.backend.verify(&proof).is_ok()) {
            return Ok(true);
        }
        self.objects.delete(key).map_err(self.failed(key))?;
        self.damaged.fetch_add(1, Ordering::Relaxed);
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::HashSet;

    use evergrove_commit::batch::Batch;
    use evergrove_commit::{MemoryStore, NativeBackend};
    use evergrove_primitives::Goldilocks;
    use evergrove_verifier::{HeightClass, Profile};

    use super::*;

    #[test]
    fn a_run_does_not_end_with_a_chain_of_joins() {
        let mut vector = Vector::new(8, MemoryStore::new()).unwrap();
        let filled: Vec<_> = (0..200).map(|i| (i, Some([Goldilocks::new(i); 4]))).collect();
        vector.apply(&filled).unwrap();
        let spec = NativeBackend::new(Profile::Proven, HeightClass::H27).with_capacity(2).spec().clone();
        for members in [2, 3, 17, 64, 200] {
            let indices: Vec<u64> = (0..members).collect();
            let batch = Batch::build_as(&vector, &indices, spec.structure()).unwrap();
            let graph = graph(&batch.plan(true, |_, _| false), &spec).unwrap();
            assert!(graph.iter().all(|(_, task)| (task.kind == "bucket") == task.deps.is_empty()));
            // The last join and the wrap run alone. Incomplete trees lose at most two more tasks.
            let (mut done, mut rounds) = (HashSet::new(), 0);
            while done.len() < graph.len() {
                // Two workers take the ready tasks with the highest priorities.
                let is_ready =
                    |(id, task): &(TaskId, &Task)| !done.contains(id) && task.deps.iter().all(|d| done.contains(d));
                let mut ready: Vec<_> = graph.iter().filter(is_ready).collect();
                ready.sort_by_key(|(id, task)| (Reverse(task.priority), *id));
                done.extend(ready.into_iter().take(2).map(|(id, _)| id));
                rounds += 1;
            }
            let lost = 2 * rounds - graph.len();
            assert!(lost <= 4, "{members} members, {} tasks: {lost} rounds of one worker", graph.len());
        }
    }
}

//! Batches from definition to proof: plans become tasks, tasks become objects, and a finished proof is noted.

mod estimate;
mod history;
mod keys;
mod tree;
mod work;

use evergrove_commit::batch::{Batch, BatchError};
use evergrove_commit::{BackendChoice, BackendSpec};
use evergrove_jobs::{Cancel, Engine, Event, Key, RunError};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::{Commitment, HeightClass, NodeKind};
use tracing::{field, info_span};

pub use estimate::{BatchEstimate, NodeCosts, UpdateEstimate};
pub use history::ProofFile;
pub use keys::proof_key;
pub use tree::{ProofTree, TreeNode};
pub use work::graph;
pub(crate) use work::{judge, node_proof, prove};

use work::{Proofs, Proving};

use crate::store::{BackendRecord, BatchRecord, Changes, EpochReport, ProvenRecord, Store};
use crate::{Backends, Error};

/// What proving a batch took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchReport {
    /// The batch.
    pub name: String,
    /// The epoch that is proven.
    pub epoch: u64,
    /// Its commitment.
    pub commitment: Commitment,
    /// d, the canonical digest of the members' leaves.
    pub canonical: Digest,
    /// Number of members.
    pub members: usize,
    /// The backend.
    pub backend: BackendSpec,
    /// Number of proofs made by this call.
    pub made: usize,
    /// Proofs of the whole structure, the wrap included: what proving from scratch would take.
    pub total: usize,
    /// Bucket proofs of the whole structure.
    pub buckets: usize,
    /// Merge proofs of the whole structure.
    pub merges: usize,
    /// Number of stored proofs that did not verify and were made again.
    pub damaged: usize,
    /// The circuit of the final proof.
    pub kind: NodeKind,
    /// Size of the final proof as a file.
    pub bytes: usize,
    /// Content key of the final proof.
    pub key: Key,
    /// Output of the batch's application; empty if the batch has none.
    pub output: Vec<Goldilocks>,
}

/// What an update did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateReport {
    /// The epoch that was committed.
    pub epoch: EpochReport,
    /// The batches that were refreshed, by name.
    pub batches: Vec<BatchReport>,
}

/// Takes note of what happens while a batch is proven: its name, and the engine's event.
pub type Progress<'a> = &'a dyn Fn(&str, &Event<'_>);

/// Proves the batches of a store.
///
/// A batch's proof, as its record and the objects show it:
///
/// ```text
///              define                  all proofs of its plan stored and verified
///   (no batch) ──────▶ not proven ────────────────────────────────────────────────▶ fresh
///                        │    ▲                                                     │  │
///                        └────┘ some proofs stored: the next run goes on from them  │  │ epoch with another
///                                                                                   │  │ commitment or members
///                                                   prove, update: log-many proofs  ▲  ▼
///                                                                                   stale
/// ```
///
/// Only the step to *fresh* writes the record, after the final proof is stored; a crash at any point leaves the batch
/// where it was, with more of its proofs stored.
///
/// For `tracing` a call of [`Self::prove`] is a span `prove` with the fields `batch`, `epoch` and `members`. Within it are `plan` and, of
/// tasks that run in this process, a span `execute` each with `kind` and `key`, whose first part is `witness`.
#[derive(Clone)]
pub struct Prover<'a> {
    store: &'a Store,
    backends: &'a Backends,
    engine: &'a dyn Engine,
    progress: Progress<'a>,
    cancel: Cancel,
}

impl<'a> Prover<'a> {
    /// A prover of the batches of `store`.
    pub fn new(store: &'a Store, backends: &'a Backends, engine: &'a dyn Engine) -> Self {
        Self { store, backends, engine, progress: &|_, _| {}, cancel: Cancel::new() }
    }

    /// Tells `progress` what happens.
    pub fn with_progress(mut self, progress: Progress<'a>) -> Self {
        self.progress = progress;
        self
    }

    /// Stops when `cancel` says so. What was proven by then is kept.
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Defines a batch with these members, or finds that there is one with them; see [`Store::define_batch`].
    ///
    /// # Errors
    /// Those of [`Store::define_batch`], and [`Error::UnknownBackend`].
    pub fn define(&self, name: &str, indices: &[u64], choice: &BackendChoice) -> Result<(), Error> {
        let spec = self.backends.spec(choice, class_of(self.store.epoch()?.commitment))?;
        self.store.define_batch(name, indices, spec)
    }

    /// Brings the proof of a batch to the current epoch. Makes the proofs that are not stored: all of them at first, after
    /// an update those on the paths from changed slots and members (`evergrove_commit::batch::worst_case`), none when the
    /// batch is fresh. Verifies each proof before it stores it, and each stored one before it builds on it. Of a fresh batch
    /// it compares the final proof with the checksum that was noted when it was verified, and makes no backend.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::UnknownBackend`], [`Error::Backend`]; [`Error::Proving`] when a proof can not be
    /// made or the run is cancelled; [`Error::Io`]. What was proven is kept, and the next call goes on from there.
    pub fn prove(&self, name: &str) -> Result<BatchReport, Error> {
        let span = info_span!("prove", batch = name, epoch = field::Empty, members = field::Empty).entered();
        let planning = info_span!("plan", tasks = field::Empty).entered();
        let view = self.store.view()?;
        let (record, members) = self.store.record(name)?;
        span.record("epoch", view.epoch().number).record("members", members.len());
        let spec = self.spec_of(&record, name, view.commitment())?;
        let vector = view.vector()?;
        let batch = Batch::build_as(&vector, &members, spec.structure()).map_err(self.batch_error(name))?;
        let plan = batch.plan(spec.wraps, |_, _| false);
        let proving = |source| Error::Proving { name: name.into(), source: Box::new(source) };
        let graph = work::graph(&plan, &spec).map_err(|e| Error::corrupt(self.store.dir(), e.to_string()))?;
        planning.record("tasks", graph.len());
        drop(planning);
        let Some(root) = graph.root().map(|id| graph.task(id).key) else { return Err(proving(RunError::Empty)) };

        let cost = batch.cost(spec.wraps);
        let (statement, epoch) = (*batch.statement(), *view.epoch());
        let kind = if spec.wraps { NodeKind::Wrap } else { batch.root().kind() };
        let record_of = |bytes: &[u8]| ProvenRecord {
            epoch: epoch.number,
            // Of all rows, the statement may be about the vector as grown to a block.
            height: epoch.commitment.height,
            root: epoch.commitment.root.to_bytes(),
            canonical: statement.canonical.to_bytes(),
            key: root.0,
            kind: kind.code(),
            bytes: bytes.len() as u64,
            total: plan.total as u64,
            buckets: cost.buckets as u64,
            checksum: *blake3::hash(bytes).as_bytes(),
        };
        let backend_record = BackendRecord::new(&spec);
        let is_noted = |bytes: &Vec<u8>| {
            let noted = record.proven.as_ref().filter(|_| record.backend == backend_record);
            noted.is_some_and(|p| *p == ProvenRecord { epoch: p.epoch, ..record_of(bytes) })
        };

        let observer = |event: &Event<'_>| (self.progress)(name, event);
        let (bytes, made, damaged) = match self.store.objects().get(&root)?.filter(is_noted) {
            Some(bytes) => {
                observer(&Event::Planned { tasks: graph.len(), to_run: 0 });
                (bytes, 0, 0)
            }
            None => {
                self.store.check_writable()?;
                let backend = self.backends.get(&spec.choice, spec.class)?;
                let proofs = Proofs::new(self.store.objects(), backend.as_ref(), &spec);
                let runner = Proving {
                    steps: &plan.steps,
                    view: &view,
                    vector: &vector,
                    backend: backend.as_ref(),
                    spec: &spec,
                    span: &span,
                };
                let run = self.engine.run(&graph, &runner, &proofs, &observer, &self.cancel);
                let report = run.map_err(|e| proofs.take_error().unwrap_or_else(|| proving(e)))?;
                let missing = || Error::corrupt(self.store.dir(), format!("proof {root} has vanished"));
                let bytes = self.store.objects().get(&root)?.ok_or_else(missing)?;
                (bytes, report.done - report.duplicates, proofs.damaged())
            }
        };
        let proven = record_of(&bytes);
        if record.proven.as_ref() != Some(&proven) || record.backend != backend_record {
            self.store.set_proven(name, &members, &backend_record, &proven)?;
        }
        Ok(BatchReport {
            name: name.into(),
            epoch: epoch.number,
            commitment: epoch.commitment,
            canonical: statement.canonical,
            members: batch.count(),
            made,
            total: plan.total,
            buckets: cost.buckets,
            merges: cost.merges,
            damaged,
            backend: spec.clone(),
            kind,
            bytes: bytes.len(),
            key: root,
            output: work::decode(&spec, &bytes).map_or(Vec::new(), |(_, proof)| proof.output),
        })
    }

    /// Brings every batch that is not fresh to the current epoch, in the order of their names.
    ///
    /// # Errors
    /// Those of [`Self::prove`], for the first batch that meets one.
    pub fn refresh(&self) -> Result<Vec<BatchReport>, Error> {
        let stale = self.store.batches()?.into_iter().filter(|b| !b.fresh);
        stale.map(|b| self.prove(&b.name)).collect()
    }

    /// Commits changes as the next epoch and refreshes the batches; with empty changes, only finishes what an earlier
    /// update has left. [`Store::apply`] and then [`Self::refresh`].
    ///
    /// # Errors
    /// Those of both. An error of the second leaves the new epoch committed and some batches stale.
    pub fn update(&self, changes: &Changes) -> Result<UpdateReport, Error> {
        let epoch = self.store.apply(changes)?;
        Ok(UpdateReport { epoch, batches: self.refresh()? })
    }

    /// The final proof of a batch as a file, of the current commitment.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::Stale`] when the batch has no proof of the current commitment; [`Error::Corrupt`]
    /// when the proof's object is not what was stored.
    pub fn export(&self, name: &str) -> Result<Vec<u8>, Error> {
        self.store.export(name)
    }

    /// The backend of a batch for the current height. Of a batch whose vector has outgrown its height class, the backend of
    /// the next class.
    fn spec_of(&self, record: &BatchRecord, name: &str, commitment: Commitment) -> Result<BackendSpec, Error> {
        let known = record.backend.spec();
        let known = known.ok_or_else(|| Error::corrupt(self.store.dir(), format!("record of batch {name:?}")))?;
        self.backends.spec(&known.choice, class_of(commitment)).cloned()
    }

    fn batch_error<'s>(&'s self, name: &'s str) -> impl Fn(BatchError) -> Error + 's {
        batch_error(self.store.dir(), name)
    }
}

impl Store {
    /// The final proof of a batch as a file, of the current commitment: see [`Prover::export`].
    ///
    /// # Errors
    /// Those of [`Prover::export`].
    pub fn export(&self, name: &str) -> Result<Vec<u8>, Error> {
        let current = self.epoch()?;
        let (record, _) = self.record(name)?;
        let stale = |proven| Error::Stale { name: name.into(), epoch: current.number, proven };
        let Some(proven) = &record.proven else { return Err(stale(None)) };
        if proven.epoch < record.since || proven.commitment() != Some(current.commitment) {
            return Err(stale(Some(proven.epoch)));
        }
        self.stored_proof(name, proven)
    }

    /// The file of the last proof of a batch, of whatever commitment.
    fn stored_proof(&self, name: &str, proven: &ProvenRecord) -> Result<Vec<u8>, Error> {
        let key = Key(proven.key);
        match self.objects().get(&key)? {
            Some(bytes) if *blake3::hash(&bytes).as_bytes() == proven.checksum => Ok(bytes),
            found => {
                let place = self.objects().place(&key);
                Err(Error::LostProof { name: name.into(), place, found: found.is_some() })
            }
        }
    }
}

/// The class of a vector. Heights in a store are from 1 to 40.
fn class_of(commitment: Commitment) -> HeightClass {
    HeightClass::of(commitment.height).unwrap_or(HeightClass::H40)
}

fn batch_error<'s>(dir: &'s std::path::Path, name: &'s str) -> impl Fn(BatchError) -> Error + 's {
    move |e| match e {
        BatchError::Empty => Error::EmptyBatch(name.into()),
        BatchError::Duplicate(index) => Error::Duplicate(index),
        BatchError::OutOfRange { index, height } => Error::OutOfRange { index, height },
        BatchError::EmptySlot(index) => Error::EmptySlot { index, batch: Some(name.into()) },
        BatchError::Store(e) => Error::store(dir)(e),
        e => Error::corrupt(dir, format!("batch {name:?}: {e}")),
    }
}

/// The keys of the proofs of a batch at the current epoch; none when its vector has outgrown the backend's class.
pub(crate) fn keys_of(store: &Store, name: &str) -> Result<Vec<Key>, Error> {
    let view = store.view()?;
    let (record, members) = store.record(name)?;
    let Some(spec) = record.backend.spec().filter(|s| s.class == class_of(view.commitment())) else {
        return Ok(Vec::new());
    };
    let batch = Batch::build_as(&view.vector()?, &members, spec.structure()).map_err(batch_error(store.dir(), name))?;
    Ok(keys::keys(&spec, &batch))
}

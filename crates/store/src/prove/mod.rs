//! Proves batches: plans become tasks, tasks become objects, and records name the finished proofs.

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

/// The outcome of proving a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchReport {
    /// The batch.
    pub name: String,
    /// The proven epoch.
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
    /// Proofs of the whole structure, including the wrap: the number when proving from scratch.
    pub total: usize,
    /// Bucket proofs of the whole structure.
    pub buckets: usize,
    /// Merge proofs of the whole structure.
    pub merges: usize,
    /// Number of stored proofs that did not verify and were made again.
    pub damaged: usize,
    /// The circuit of the final proof.
    pub kind: NodeKind,
    /// Size of the final proof's file in bytes.
    pub bytes: usize,
    /// Content key of the final proof.
    pub key: Key,
    /// Output of the batch's application; empty if the batch has none.
    pub output: Vec<Goldilocks>,
}

/// The outcome of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateReport {
    /// The committed epoch.
    pub epoch: EpochReport,
    /// The refreshed batches, by name.
    pub batches: Vec<BatchReport>,
}

/// Receives the events of proving: the batch's name, and the engine's event.
pub type Progress<'a> = &'a dyn Fn(&str, &Event<'_>);

/// Proves the batches of a store.
///
/// The states of a batch's proof, as its record and the objects show them:
///
/// ```text
///              define                  all proofs of its plan stored and verified
///   (no batch) ──────▶ not proven ────────────────────────────────────────────────▶ fresh
///                        │    ▲                                                     │  │
///                        └────┘ some proofs stored: the next run starts from them   │  │ epoch with another
///                                                                                   │  │ commitment or members
///                                                   prove, update: log-many proofs  ▲  ▼
///                                                                                   stale
/// ```
///
/// Only the step to *fresh* writes the record, after the final proof is stored. A crash at any point leaves the batch
/// in its state, with more of its proofs stored.
///
/// For `tracing`, a call of [`Self::prove`] is a span `prove` with the fields `batch`, `epoch` and `members`. It
/// contains a span `plan`, and a span `execute` with `kind` and `key` for each task that runs in this process. A span
/// `execute` begins with a span `witness`.
#[derive(Clone)]
pub struct Prover<'a> {
    store: &'a Store,
    backends: &'a Backends,
    engine: &'a dyn Engine,
    progress: Progress<'a>,
    cancel: Cancel,
}

impl<'a> Prover<'a> {
    /// A prover for the batches of `store`.
    pub fn new(store: &'a Store, backends: &'a Backends, engine: &'a dyn Engine) -> Self {
        Self { store, backends, engine, progress: &|_, _| {}, cancel: Cancel::new() }
    }

    /// Reports events to `progress`.
    pub fn with_progress(mut self, progress: Progress<'a>) -> Self {
        self.progress = progress;
        self
    }

    /// Stops when `cancel` is cancelled. Keeps the proofs made by then.
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Defines a batch with these members, or checks that it has them. See [`Store::define_batch`].
    ///
    /// # Errors
    /// Those of [`Store::define_batch`], and [`Error::UnknownBackend`].
    pub fn define(&self, name: &str, indices: &[u64], choice: &BackendChoice) -> Result<(), Error> {
        let spec = self.backends.spec(choice, class_of(self.store.epoch()?.commitment))?;
        self.store.define_batch(name, indices, spec)
    }

    /// Brings the proof of a batch to the current epoch. Makes the proofs that are not stored: all of them at first,
    /// after an update those on the paths from changed slots and members (`evergrove_commit::batch::worst_case`), none
    /// if the batch is fresh. Verifies each new proof before storing it, and each stored proof before building on it.
    /// For a fresh batch, compares the final proof with the checksum in the record, and makes no backend.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::UnknownBackend`], [`Error::Backend`]; [`Error::Proving`] if a proof cannot be
    /// made or the run is cancelled; [`Error::Io`]. Finished proofs are kept, and the next call continues from them.
    pub fn prove(&self, name: &str) -> Result<BatchReport, Error> {
        self.prove_epoch(name, None)
    }

    /// Like [`Self::prove`], but for an epoch that is still kept, with the current members. Others may commit epochs
    /// meanwhile. The batch keeps its last proof if that is of a later epoch, or if its members have changed since
    /// `epoch`.
    ///
    /// # Errors
    /// Those of [`Self::prove`]; [`Error::UnknownEpoch`]; [`Error::EmptySlot`] if a member had no row in `epoch`.
    pub fn prove_at(&self, name: &str, epoch: u64) -> Result<BatchReport, Error> {
        self.prove_epoch(name, Some(epoch))
    }

    fn prove_epoch(&self, name: &str, epoch: Option<u64>) -> Result<BatchReport, Error> {
        let span = info_span!("prove", batch = name, epoch = field::Empty, members = field::Empty).entered();
        let planning = info_span!("plan", tasks = field::Empty).entered();
        let (view, record, members) = self.store.view_of(name, epoch)?;
        span.record("epoch", view.epoch().number).record("members", members.len());
        let spec = self.spec_of(&record, name, view.commitment())?;
        let vector = view.vector()?;
        let batch =
            Batch::build_as(&vector, &members, spec.structure()).map_err(batch_error(self.store.dir(), name))?;
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
            // The statement of a batch over all rows may be about the vector grown to a block, so its root may differ.
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
    /// Those of [`Self::prove`], for the first batch that fails.
    pub fn refresh(&self) -> Result<Vec<BatchReport>, Error> {
        let stale = self.store.batches()?.into_iter().filter(|b| !b.fresh);
        stale.map(|b| self.prove(&b.name)).collect()
    }

    /// Commits changes as the next epoch and refreshes the batches: [`Store::apply`], then [`Self::refresh`]. Empty
    /// changes only finish an earlier update.
    ///
    /// # Errors
    /// Those of both. An error of the refresh leaves the new epoch committed and some batches stale.
    pub fn update(&self, changes: &Changes) -> Result<UpdateReport, Error> {
        let epoch = self.store.apply(changes)?;
        Ok(UpdateReport { epoch, batches: self.refresh()? })
    }

    /// The backend of a batch for the current height. If the vector has outgrown its height class, this is the backend
    /// of the next class.
    fn spec_of(&self, record: &BatchRecord, name: &str, commitment: Commitment) -> Result<BackendSpec, Error> {
        let known = record.backend.spec();
        let known = known.ok_or_else(|| Error::corrupt(self.store.dir(), format!("record of batch {name:?}")))?;
        self.backends.spec(&known.choice, class_of(commitment)).cloned()
    }
}

impl Store {
    /// The file of a batch's final proof, for the current commitment.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::Stale`] if the batch has no proof of the current commitment;
    /// [`Error::LostProof`] if the proof's object is missing or damaged.
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

    /// The file of a batch's last proof, for any commitment.
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

/// The height class of a vector. Heights in a store are from 1 to 40.
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

/// The keys of the proofs of a batch at the current epoch. Empty if the vector has outgrown the backend's class.
pub(crate) fn keys_of(store: &Store, name: &str) -> Result<Vec<Key>, Error> {
    let (view, record, members) = store.view_of(name, None)?;
    let Some(spec) = record.backend.spec().filter(|s| s.class == class_of(view.commitment())) else {
        return Ok(Vec::new());
    };
    let batch = Batch::build_as(&view.vector()?, &members, spec.structure()).map_err(batch_error(store.dir(), name))?;
    Ok(keys::keys(&spec, &batch))
}

//! Estimates the cost of proving.

use std::collections::HashSet;

use evergrove_commit::batch::{Batch, Input};
use evergrove_commit::{BackendChoice, BackendSpec, Vector};
use evergrove_jobs::Key;
use evergrove_verifier::NodeKind;

use super::{Prover, batch_error, class_of, proof_key};
use crate::Error;
use crate::store::{Changes, EpochReport, members_of, stage};

/// Measured costs of the proofs of one backend on one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeCosts {
    /// Seconds to build circuits or load keys, once per run.
    pub setup_seconds: f64,
    /// Seconds of a bucket proof.
    pub bucket_seconds: f64,
    /// Seconds of a merge proof.
    pub merge_seconds: f64,
    /// Seconds of a wrap proof.
    pub wrap_seconds: f64,
    /// Seconds of every proof apart from proving: engine, objects and queue.
    pub task_seconds: f64,
    /// Peak memory in bytes, with keys and one proof in progress.
    pub memory_bytes: u64,
    /// Bytes of memory for every further proof at the same time.
    pub concurrent_bytes: u64,
    /// Bytes of a stored proof.
    pub proof_bytes: u64,
}

impl NodeCosts {
    /// Seconds of one proof, including `task_seconds`.
    pub fn node_seconds(&self, kind: NodeKind) -> f64 {
        self.task_seconds
            + match kind {
                NodeKind::Bucket => self.bucket_seconds,
                NodeKind::Merge => self.merge_seconds,
                NodeKind::Wrap => self.wrap_seconds,
            }
    }

    /// Number of proofs that fit into `bytes` bytes of memory at the same time. 0 if a single proof needs more.
    pub fn at_once(&self, bytes: u64) -> u64 {
        match bytes.checked_sub(self.memory_bytes) {
            Some(rest) => 1 + rest / self.concurrent_bytes.max(1),
            None => 0,
        }
    }
}

/// The estimated cost of proving a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchEstimate {
    /// The batch.
    pub name: String,
    /// Its backend.
    pub backend: BackendSpec,
    /// Number of members.
    pub members: usize,
    /// Bucket proofs to make.
    pub buckets: usize,
    /// Merge proofs to make.
    pub merges: usize,
    /// Wraps to make, 0 or 1.
    pub wraps: usize,
    /// Proofs of the whole structure: the number when proving from scratch.
    pub total: usize,
    /// Proofs on the longest chain: the number of rounds with unlimited workers.
    pub depth: usize,
    /// Seconds with one proof at a time. Includes the setup, unless there is nothing to make.
    pub seconds: f64,
    /// Seconds with a worker for every proof that can start.
    pub parallel_seconds: f64,
    /// Peak memory in bytes.
    pub memory_bytes: u64,
    /// Bytes of the proofs to make, in the store.
    pub disk_bytes: u64,
}

impl BatchEstimate {
    /// Number of proofs to make.
    pub fn to_make(&self) -> usize {
        self.buckets + self.merges + self.wraps
    }
}

/// The estimated outcome of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateEstimate {
    /// The epoch that would be committed.
    pub epoch: EpochReport,
    /// Estimates for the batches that are not fresh afterwards, by name.
    pub batches: Vec<BatchEstimate>,
}

impl Prover<'_> {
    /// Estimates [`Prover::prove`] for the batch `name`. With `indices`, estimates a new batch of this name with these
    /// members and this backend. Writes nothing, and builds no circuit.
    ///
    /// # Errors
    /// The errors of [`Prover::define`] and [`Prover::prove`] that can be foreseen.
    pub fn estimate_prove(
        &self,
        name: &str,
        indices: Option<(&[u64], &BackendChoice)>,
        costs: &dyn Fn(&BackendSpec) -> NodeCosts,
    ) -> Result<BatchEstimate, Error> {
        let view = self.store.view()?;
        let (members, spec) = match indices {
            Some((indices, choice)) => {
                let spec = self.backends.spec(choice, class_of(view.commitment()))?.clone();
                (members_of(name, indices, &spec)?, spec)
            }
            None => {
                let (record, members) = self.store.record(name)?;
                (members, self.spec_of(&record, name, view.commitment())?)
            }
        };
        self.estimate(name, &view.vector()?, &members, spec, costs, &mut HashSet::new())
    }

    /// Estimates [`Prover::update`]. Writes nothing and builds no circuit, but checks the changes completely. A proof
    /// that several batches need is counted for the first of them.
    ///
    /// # Errors
    /// Those of [`crate::Store::apply`], and [`Error::UnknownBackend`].
    pub fn estimate_update(
        &self,
        changes: &Changes,
        costs: &dyn Fn(&BackendSpec) -> NodeCosts,
    ) -> Result<UpdateEstimate, Error> {
        self.store.write(1, |view, current| {
            let epoch = stage(view, current, changes)?;
            let commitment = epoch.after.commitment;
            let (mut batches, mut planned) = (Vec::new(), HashSet::new());
            for name in view.batch_names()? {
                let Some(record) = view.batch(&name)? else { continue };
                let proven = record.proven.as_ref();
                if proven.is_some_and(|p| p.epoch >= record.since && p.commitment() == Some(commitment)) {
                    continue;
                }
                let spec = self.spec_of(&record, &name, commitment)?;
                let members = view.members(&name)?;
                let vector = Vector::new(commitment.height, &*view).map_err(Error::vector(self.store.dir()))?;
                batches.push(self.estimate(&name, &vector, &members, spec, costs, &mut planned)?);
            }
            Ok((UpdateEstimate { epoch, batches }, false))
        })
    }

    /// Estimates one batch. Proofs in `planned` count as stored. Adds the proofs of this batch to `planned`.
    fn estimate<S: evergrove_commit::Store>(
        &self,
        name: &str,
        vector: &Vector<S>,
        members: &[u64],
        backend: BackendSpec,
        costs: &dyn Fn(&BackendSpec) -> NodeCosts,
        planned: &mut HashSet<Key>,
    ) -> Result<BatchEstimate, Error> {
        let batch =
            Batch::build_as(vector, members, backend.structure()).map_err(batch_error(self.store.dir(), name))?;
        let mut failed = None;
        let plan = batch.plan(backend.wraps, |statement, kind| {
            let key = proof_key(&backend, kind, statement);
            planned.contains(&key) || self.store.objects().exists(&key).unwrap_or_else(|e| failed.replace(e).is_some())
        });
        if let Some(e) = failed {
            return Err(e.into());
        }
        planned.extend(plan.steps.iter().map(|step| proof_key(&backend, step.kind, &step.statement)));
        let count = |kind| plan.steps.iter().filter(|s| s.kind == kind).count();
        let (buckets, merges, wraps) = (count(NodeKind::Bucket), count(NodeKind::Merge), count(NodeKind::Wrap));
        let cost = costs(&backend);
        let proving: f64 = plan.steps.iter().map(|s| cost.node_seconds(s.kind)).sum();
        // The longest chain of proofs: for each step, its seconds and those of its slowest input's chain.
        let mut chains: Vec<f64> = Vec::with_capacity(plan.len());
        for step in &plan.steps {
            let below = step.inputs.iter().map(|i| if let Input::Step(n) = i { chains[*n] } else { 0.0 });
            chains.push(below.fold(0.0, f64::max) + cost.node_seconds(step.kind));
        }
        let parallel = chains.into_iter().fold(0.0, f64::max);
        let setup = if plan.is_empty() { 0.0 } else { cost.setup_seconds };
        Ok(BatchEstimate {
            name: name.into(),
            members: batch.count(),
            buckets,
            merges,
            wraps,
            total: plan.total,
            depth: plan.depth(),
            seconds: setup + proving,
            parallel_seconds: setup + parallel,
            memory_bytes: if plan.is_empty() { 0 } else { cost.memory_bytes },
            disk_bytes: plan.len() as u64 * cost.proof_bytes,
            backend,
        })
    }
}

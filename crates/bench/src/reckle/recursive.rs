//! The two schemes that keep a tree of proofs: ours and the paper's.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, ensure};
use evergrove_commit::batch::{Batch, Input, Plan};
use evergrove_commit::vc;
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector, batch_digest};
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::{Cancel, Engine, Key, Runner, Task, TaskFailure, TaskGraph, TaskId};
use evergrove_testkit::engine::{MemoryResults, Silent};
use evergrove_verifier::Statement;
use evergrove_verifier::tree::Value;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::scheme::{Facts, Scheme, Timing, check_time, timed};
use super::world::{World, leaves, random_value};
use crate::turns::median;

type Proofs = HashMap<(Statement, NodeKind), Arc<NodeProof>>;

/// A batch with all its proofs.
struct Proven {
    batch: Batch,
    proofs: Proofs,
    last: Arc<NodeProof>,
    /// The costs of its proofs from scratch.
    anew: Timing,
    /// Seconds and number of proofs of each update.
    updates: Vec<(f64, usize)>,
}

/// A scheme of `evergrove_commit::batch` with its backend.
pub(crate) struct Recursive<B> {
    name: &'static str,
    pub(crate) backend: B,
    pub(crate) vector: Vector<MemoryStore>,
    rng: ChaCha8Rng,
    facts: Facts,
    /// The largest batch that is really proven; for larger batches the proofs are counted.
    largest: usize,
    /// Updates to measure on a smaller batch in place of one that is too large.
    repeat: usize,
    engine: LocalEngine,
    proven: Option<Proven>,
    /// The structure of the batch last aggregated, if that batch was too large to prove.
    asked: Option<Batch>,
    /// Seconds of the proofs made so far, by circuit and height.
    rates: BTreeMap<(u8, u8), Vec<f64>>,
}

impl<B: RecursionBackend> Recursive<B> {
    pub(crate) fn new(
        name: &'static str,
        backend: B,
        world: &World,
        facts: Facts,
        largest: usize,
        repeat: usize,
    ) -> Self {
        Self {
            name,
            backend,
            vector: world.vector.clone(),
            rng: world.rng.clone(),
            facts,
            largest,
            repeat,
            engine: LocalEngine::default(),
            proven: None,
            asked: None,
            rates: BTreeMap::new(),
        }
    }

    /// Makes proofs with this engine's schedule. The default makes them one after the other on all threads.
    pub(crate) fn with_engine(mut self, engine: LocalEngine) -> Self {
        self.engine = engine;
        self
    }

    /// The final proof of the batch last proven.
    pub(crate) fn proof(&self) -> anyhow::Result<&NodeProof> {
        Ok(&self.proven.as_ref().context("no batch has been proven")?.last)
    }

    /// The leaves of the requested batch.
    pub(crate) fn claimed(&self) -> anyhow::Result<Vec<(u64, Value)>> {
        let proven = self.proven.as_ref().context("no batch has been proven")?;
        leaves(&self.vector, &self.asked.as_ref().unwrap_or(&proven.batch).indices())
    }

    /// Median seconds of a circuit's proofs at a height, or at the nearest height with proofs.
    pub(crate) fn rate(&self, kind: NodeKind, height: u8) -> anyhow::Result<f64> {
        let of_kind = self.rates.iter().filter(|((k, _), _)| *k == kind.code());
        let nearest = of_kind.min_by_key(|((_, h), _)| h.abs_diff(height));
        let (_, times) = nearest.with_context(|| format!("no {kind} has been proven"))?;
        Ok(median(times.iter().copied()))
    }

    /// Makes the proofs of `batch` that are missing from `proofs`, and then keeps only those of `batch` in it. Returns
    /// the last proof and the number of proofs made.
    fn prove(&mut self, batch: &Batch, proofs: &mut Proofs) -> anyhow::Result<(Arc<NodeProof>, usize)> {
        let plan = batch.plan(self.backend.spec().wraps, |s, kind| proofs.contains_key(&(*s, kind)));
        let proving = Proving {
            plan: &plan,
            vector: &self.vector,
            backend: &self.backend,
            known: proofs,
            made: plan.steps.iter().map(|_| OnceLock::new()).collect(),
        };
        if !plan.is_empty() {
            self.engine.run(&proving.graph()?, &proving, &MemoryResults::new(), &Silent, &Cancel::new())?;
        }
        let last = proving.find(&plan.result)?;
        let mut made = Vec::with_capacity(plan.len());
        for (step, proof) in plan.steps.iter().zip(proving.made) {
            let (proof, seconds) = proof.into_inner().context("every step has run")?;
            self.rates.entry((step.kind.code(), step.statement.height)).or_default().push(seconds);
            made.push(proof);
        }
        proofs.extend(made.into_iter().map(|p| ((p.statement, p.kind), p)));
        let wrap = self.backend.spec().wraps.then_some((*batch.statement(), NodeKind::Wrap));
        let nodes = batch.nodes().into_iter().map(|n| (n.statement, n.kind())).chain(wrap);
        *proofs = nodes.filter_map(|key| Some((key, proofs.get(&key)?.clone()))).collect();
        Ok((last, plan.len()))
    }

    fn prove_anew(&mut self, batch: Batch) -> anyhow::Result<Timing> {
        // An already proven batch is not proven again, and only one batch is kept in memory.
        if let Some(proven) = self.proven.take_if(|p| p.batch != batch) {
            drop(proven);
        }
        if let Some(proven) = &self.proven {
            return Ok(proven.anew);
        }
        let mut proofs = Proofs::new();
        let ((last, made), seconds) = timed(|| self.prove(&batch, &mut proofs))?;
        let anew = Timing { seconds, proofs: made, extrapolated: false, measured_batch: batch.count() };
        let claimed = leaves(&self.vector, &batch.indices())?;
        vc::ver(&self.vector.commitment()?, &claimed, &last, &self.backend)?;
        self.proven = Some(Proven { batch, proofs, last, anew, updates: vec![] });
        Ok(anew)
    }

    /// Refreshes the proven batch after a change of the value at `index`, inside or outside the batch.
    pub(crate) fn update_at(&mut self, index: u64) -> anyhow::Result<Timing> {
        let value = random_value(&mut self.rng);
        let mut proven = self.proven.take().context("no batch has been proven")?;
        let (made, seconds) = timed(|| {
            vc::upd_all_proofs(&mut self.vector, &[(index, Some(value))])?;
            proven.batch = proven.batch.update(&self.vector, &[], &[], &[index])?;
            let (last, made) = self.prove(&proven.batch, &mut proven.proofs)?;
            proven.last = last;
            Ok(made)
        })?;
        proven.updates.push((seconds, made));
        let members = proven.batch.count();
        self.proven = Some(proven);
        let timing = Timing { seconds, proofs: made, extrapolated: false, measured_batch: members };
        let Some(asked) = self.asked.as_ref().filter(|a| a.count() > members) else { return Ok(timing) };
        // The requested batch needs the same number of proofs for this change, so the measured seconds hold for it as
        // well.
        let next = asked.update(&self.vector, &[], &[], &[index])?;
        let old: std::collections::HashSet<_> = asked.nodes().into_iter().map(|n| (n.statement, n.kind())).collect();
        let count = next.plan(self.backend.spec().wraps, |s, kind| old.contains(&(*s, kind))).len();
        ensure!(
            count == made,
            "an update takes {made} proofs in a batch of {members}, {count} in one of {}",
            next.count()
        );
        self.asked = Some(next);
        Ok(timing)
    }
}

impl<B: RecursionBackend> Scheme for Recursive<B> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aggregate(&mut self, members: &[u64]) -> anyhow::Result<Timing> {
        let structure = self.backend.spec().structure();
        let asked = Batch::build_as(&self.vector, members, structure)?;
        if members.len() <= self.largest {
            self.asked = None;
            return self.prove_anew(asked);
        }
        if self.proven.is_none() {
            self.prove_anew(Batch::build_as(&self.vector, &members[..self.largest], structure)?)?;
        }
        let mut seconds = 0.0;
        for node in asked.nodes() {
            seconds += self.rate(node.kind(), node.statement.height)?;
        }
        if self.backend.spec().wraps {
            seconds += self.rate(NodeKind::Wrap, asked.height())?;
        }
        let proofs = asked.cost(self.backend.spec().wraps).total();
        self.asked = Some(asked);
        Ok(Timing { seconds, proofs, extrapolated: true, measured_batch: self.largest })
    }

    fn update(&mut self) -> anyhow::Result<Timing> {
        let Proven { batch, updates, .. } = self.proven.as_ref().context("no batch has been proven")?;
        if self.asked.is_some() && updates.len() >= self.repeat {
            let seconds = median(updates.iter().map(|u| u.0));
            let proofs = updates.iter().map(|u| u.1).max().unwrap_or(0);
            return Ok(Timing { seconds, proofs, extrapolated: false, measured_batch: batch.count() });
        }
        let index = *batch.indices().choose(&mut self.rng).context("a batch has a member")?;
        self.update_at(index)
    }

    fn verify(&self) -> anyhow::Result<(Timing, f64)> {
        let proof = self.proof()?;
        let proven = self.proven.as_ref().context("no batch has been proven")?;
        let claimed = self.claimed()?;
        let commitment = self.vector.commitment()?;
        let snark = check_time(|| Ok(self.backend.verify(proof)?))?;
        let seconds = match &self.asked {
            None => check_time(|| Ok(vc::ver(&commitment, &claimed, proof, &self.backend)?))?,
            Some(_) => snark + check_time(|| Ok(_ = batch_digest(commitment.height, &claimed)?))?,
        };
        let (extrapolated, measured_batch) = (self.asked.is_some(), proven.batch.count());
        Ok((Timing { seconds, proofs: 0, extrapolated, measured_batch }, snark))
    }

    fn facts(&self) -> anyhow::Result<Facts> {
        Ok(Facts { proof_bytes: self.proof()?.bytes.len(), ..self.facts })
    }
}

/// Proves the steps of a plan: task n is step n. Proofs remain in memory.
struct Proving<'a, B> {
    plan: &'a Plan,
    vector: &'a Vector<MemoryStore>,
    backend: &'a B,
    /// Proofs that the plan reuses.
    known: &'a Proofs,
    /// Proofs made, with their seconds.
    made: Vec<OnceLock<(Arc<NodeProof>, f64)>>,
}

impl<B: RecursionBackend> Proving<'_, B> {
    /// The tasks. Joins have priority over leaves.
    fn graph(&self) -> anyhow::Result<TaskGraph> {
        let mut graph = TaskGraph::new();
        for (n, step) in self.plan.steps.iter().enumerate() {
            let deps = step.inputs.iter().filter_map(|i| if let Input::Step(n) = i { Some(TaskId(*n)) } else { None });
            let mut key = [0; 32];
            key[..8].copy_from_slice(&(n as u64).to_le_bytes());
            let priority = i32::from(step.kind != NodeKind::Bucket);
            graph.add(Task { key: Key(key), kind: step.kind.name(), priority, deps: deps.collect() })?;
        }
        Ok(graph)
    }

    fn find(&self, input: &Input) -> anyhow::Result<Arc<NodeProof>> {
        match input {
            Input::Step(n) => Ok(self.made[*n].get().context("inputs are made first")?.0.clone()),
            Input::Existing { statement, kind } => Ok(self.known[&(*statement, *kind)].clone()),
        }
    }
}

impl<B: RecursionBackend> Runner for Proving<'_, B> {
    fn run(&self, id: TaskId, _: &Task, _: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let step = &self.plan.steps[id.0];
        let prove = || {
            let inputs = step.inputs.iter().map(|i| self.find(i)).collect::<anyhow::Result<Vec<_>>>()?;
            let inputs: Vec<&NodeProof> = inputs.iter().map(Arc::as_ref).collect();
            Ok(self.backend.prove(&step.witness(self.vector)?, &inputs)?)
        };
        let (proof, seconds) = timed(prove).map_err(TaskFailure::permanent)?;
        let _ = self.made[id.0].set((Arc::new(proof), seconds));
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use evergrove_commit::NativeBackend;
    use evergrove_verifier::Profile;

    use super::*;

    const FREE: Facts = Facts { setup_s: 0.0, proving_key_bytes: 0, verification_key_bytes: 0, proof_bytes: 0 };

    fn check(backend: NativeBackend, largest: usize) {
        let world = World::build(Profile::Paper, 12, 8, 6).unwrap();
        let mut scheme = Recursive::new("test", backend.clone(), &world, FREE, largest, 2);
        let whole = Batch::build_as(&world.vector, &world.members, backend.spec().structure()).unwrap();
        let aggregate = scheme.aggregate(&world.members).unwrap();
        assert_eq!(aggregate.proofs, whole.cost(backend.spec().wraps).total());
        assert_eq!(aggregate.extrapolated, largest < 64);
        assert_eq!(aggregate.measured_batch, largest.min(64));
        let again = scheme.aggregate(&world.members).unwrap();
        assert!(aggregate.extrapolated || again == aggregate, "a batch is proven once");
        for _ in 0..3 {
            let update = scheme.update().unwrap();
            assert!(!update.extrapolated && update.measured_batch == largest.min(64));
            // A block or bucket, the levels above it, and a wrap.
            let path = if largest < 64 { 12 - 5 + 2 } else { update.proofs };
            assert!(update.proofs >= 2 && update.proofs == path, "{} proofs", update.proofs);
        }
        let (verify, snark_s) = scheme.verify().unwrap();
        assert!(verify.seconds > 0.0 && snark_s > 0.0);
        assert_eq!(verify.extrapolated, largest < 64);
        assert!(scheme.facts().unwrap().proof_bytes > 0);
    }

    #[test]
    fn our_batch_is_proven_and_refreshed() {
        let world = World::build(Profile::Paper, 12, 8, 6).unwrap();
        check(NativeBackend::new(Profile::Paper, world.class).with_capacity(5), usize::MAX);
    }

    #[test]
    fn a_batch_that_is_too_large_is_counted_by_the_planner() {
        let world = World::build(Profile::Paper, 12, 8, 6).unwrap();
        check(NativeBackend::of_paper(Profile::Paper, world.class, 5), 4);
    }

    #[test]
    fn without_a_proof_there_is_nothing_to_measure() {
        let world = World::build(Profile::Paper, 4, 3, 1).unwrap();
        let backend = NativeBackend::new(Profile::Paper, world.class);
        let mut scheme = Recursive::new("test", backend, &world, FREE, 2, 1);
        assert!(scheme.update().is_err() && scheme.verify().is_err() && scheme.facts().is_err());
        assert!(scheme.rate(NodeKind::Bucket, 4).is_err());
        assert!(World::build(Profile::Paper, 4, 5, 1).is_err() && World::build(Profile::Paper, 41, 5, 1).is_err());
    }
}

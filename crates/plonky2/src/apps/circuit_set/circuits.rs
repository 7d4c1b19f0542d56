//! The circuits of an application, with their prover and verifier: the shared part of its backends.

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, NodeKind, NodeProof};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::Statement;

use super::{AppKeys, AppVerifier, CircuitSetId, Size};
use crate::circuit::{Child, PlonkyProof, WrapTargets, circuit_config};
use crate::keys::{CommonData, KeySet, VerifierKey};
use crate::prover::CircuitProver;
use crate::setup::{Circuit, CircuitPair, PairSpec, SetupError, build_wrap};
use crate::{ProverKind, cache, witness_error};

/// Bucket, merge, and the wrap if the profile has one.
pub(crate) struct Circuits<S: PairSpec> {
    /// The parameters that fix them.
    pub(crate) spec: S,
    /// Their size.
    pub(crate) size: Size,
    pub(crate) pair: CircuitPair<S>,
    pub(crate) wrap: Option<Circuit<WrapTargets>>,
    pub(crate) verifier: AppVerifier,
}

impl<S: PairSpec> Circuits<S> {
    /// The circuits of outputs of `output_len` elements, from `dir` if they are there, otherwise built and left there.
    /// `search` finds their size and common data if `dir` has no keys.
    ///
    /// # Errors
    /// The errors of `search`, and when the circuits do not settle on one shape.
    pub(crate) fn load(
        id: &CircuitSetId,
        output_len: usize,
        dir: Option<&Path>,
        make: impl Fn(Size) -> S,
        search: impl FnOnce() -> Result<(Size, CommonData), BackendError>,
    ) -> Result<Self, BackendError> {
        let wrap = id.profile.wrap().map(|p| circuit_config(&p));
        let kept = dir.and_then(|d| Some((d, AppKeys::kept(d, id)?)));
        if let Some((dir, keys)) = &kept {
            let spec = make(keys.size);
            if let Some((pair, wrap)) = cache::load(&id.circuits_file(dir), &spec, wrap.as_ref(), &keys.set) {
                return Ok(Self::new(spec, keys.size, pair, wrap, output_len));
            }
        }
        let (size, common) = match kept {
            Some((_, keys)) => (keys.size, keys.set.node_common),
            None => search()?,
        };
        let spec = make(size);
        let internal = |e: SetupError| BackendError::Internal(e.to_string());
        let pair = CircuitPair::build(&spec, Some(&common)).map_err(internal)?;
        let wrap = wrap.map(|config| build_wrap(&KeySet::of(&pair, None), &config));
        let circuits = (pair, wrap);
        if let Some(dir) = dir {
            // If the cache is not writable or a gate has no serialization, the next start builds the circuits again.
            let _ = cache::store(&id.circuits_file(dir), &spec, &circuits);
            AppKeys { size, set: KeySet::of(&circuits.0, circuits.1.as_ref()) }.keep(dir, id);
        }
        let (pair, wrap) = circuits;
        Ok(Self::new(spec, size, pair, wrap, output_len))
    }

    fn new(spec: S, size: Size, pair: CircuitPair<S>, wrap: Option<Circuit<WrapTargets>>, output_len: usize) -> Self {
        let verifier = AppVerifier::new(&KeySet::of(&pair, wrap.as_ref()), output_len);
        Self { spec, size, pair, wrap, verifier }
    }

    /// The keys.
    pub(crate) fn keys(&self) -> AppKeys {
        AppKeys { size: self.size, set: KeySet::of(&self.pair, self.wrap.as_ref()) }
    }

    fn provers(&mut self) -> impl Iterator<Item = (NodeKind, &mut CircuitProver)> {
        let wrap = self.wrap.as_mut().map(|wrap| (NodeKind::Wrap, &mut wrap.prover));
        let pair = [(NodeKind::Bucket, &mut self.pair.bucket.prover), (NodeKind::Merge, &mut self.pair.merge.prover)];
        pair.into_iter().chain(wrap)
    }

    /// Proves with another prover than the default. Proofs, keys and verifiers stay the same.
    pub(crate) fn set_prover(&mut self, kind: ProverKind) {
        self.provers().for_each(|(_, prover)| *prover = CircuitProver::new(kind));
    }

    /// Tells `observer` of proofs, under the names of their circuits: `bucket`, `merge`, `wrap`.
    pub(crate) fn observe(&mut self, observer: &Arc<dyn Observer>) {
        self.provers().for_each(|(kind, prover)| prover.observe(kind.name(), observer));
    }

    /// The key of a bucket's circuit or a merge's.
    fn key(&self, is_bucket: bool) -> &VerifierKey {
        let [bucket, merge] = [&self.pair.bucket.data, &self.pair.merge.data].map(|d| &d.verifier_only);
        if is_bucket { bucket } else { merge }
    }

    /// Verifies a proof that a circuit will verify.
    ///
    /// # Errors
    /// For a wrapped proof, and the errors of [`AppVerifier::verified`].
    pub(crate) fn child(&self, child: &NodeProof) -> Result<PlonkyProof, BackendError> {
        if child.kind == NodeKind::Wrap {
            return Err(BackendError::Witness("a wrapped proof cannot be a child".into()));
        }
        self.verifier.verified(child)
    }

    /// A proof of [`Self::child`], with its key.
    pub(crate) fn keyed<'a>(&'a self, proof: &'a PlonkyProof, kind: NodeKind) -> Child<'a> {
        let is_bucket = kind == NodeKind::Bucket;
        Child { proof, is_bucket, key: self.key(is_bucket) }
    }

    /// A proof in its published form.
    ///
    /// # Errors
    /// When proving failed, or the proof does not verify.
    pub(crate) fn finish(
        &self,
        kind: NodeKind,
        statement: Statement,
        output: Vec<Goldilocks>,
        proof: anyhow::Result<PlonkyProof>,
    ) -> Result<NodeProof, BackendError> {
        let proof = proof.map_err(|e| BackendError::Witness(format!("{kind} proof: {e}")))?;
        let bytes = self.verifier.encode(kind, &proof)?;
        let proof = NodeProof { kind, statement, output, bytes };
        // Costs milliseconds; detects a circuit whose output differs from the code's, and a fault of the machine.
        self.verifier.verify(&proof).map_err(|e| BackendError::Internal(format!("a fresh proof: {e}")))?;
        Ok(proof)
    }

    /// Wraps a proof. The caller has checked that it is of a whole vector.
    ///
    /// # Errors
    /// If the profile has no wrap, and the errors of [`Self::child`] and [`Self::finish`].
    pub(crate) fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        let wrap = self.wrap.as_ref().ok_or_else(|| BackendError::Witness("the profile has no wrap".into()))?;
        let proof = self.child(child)?;
        let Child { is_bucket, key, .. } = self.keyed(&proof, child.kind);
        let wires = wrap.targets.assign(&proof, is_bucket, key).map_err(witness_error)?;
        self.finish(NodeKind::Wrap, child.statement, child.output.clone(), wrap.prove(wires))
    }
}

//! Bucket, merge and wrap, with their provers and verifier: the shared part of the backends.

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, MergeWitness, NativeBackend, NodeKind, NodeProof, check_statement};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::Statement;
use plonky2::iop::witness::PartialWitness;

use super::{AppKeys, CircuitSetId, Size};
use crate::circuit::{Child, F, MergeTargets, PlonkyProof, WrapTargets, circuit_config};
use crate::keys::{CommonData, KeySet, VerifierKey};
use crate::prover::CircuitProver;
use crate::setup::{Circuit, CircuitPair, PairSpec, SetupError, build_wrap};
use crate::{Plonky2Verifier, ProverKind, cache, witness_error};

/// Bucket, merge, and the wrap if the profile has one.
pub(crate) struct Circuits<S: PairSpec> {
    /// The parameters that fix them.
    pub(crate) spec: S,
    pub(crate) pair: CircuitPair<S>,
    pub(crate) wrap: Option<Circuit<WrapTargets>>,
    pub(crate) verifier: Plonky2Verifier,
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
                return Ok(Self::new(spec, pair, wrap, output_len));
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
        Ok(Self::new(spec, pair, wrap, output_len))
    }

    /// Circuits that are built, of outputs of `output_len` elements.
    pub(crate) fn new(spec: S, pair: CircuitPair<S>, wrap: Option<Circuit<WrapTargets>>, output_len: usize) -> Self {
        let verifier = Plonky2Verifier::of_app(&KeySet::of(&pair, wrap.as_ref()), output_len);
        Self { spec, pair, wrap, verifier }
    }

    /// Leaves of a bucket, or slots of a block, and rows.
    pub(crate) fn size(&self) -> Size {
        let spec = self.spec.spec();
        Size { capacity: spec.capacity, degree_bits: spec.degree_bits }
    }

    /// The keys.
    pub(crate) fn keys(&self) -> AppKeys {
        AppKeys { size: self.size(), set: KeySet::of(&self.pair, self.wrap.as_ref()) }
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
    pub(crate) fn observe(&mut self, observer: Option<&Arc<dyn Observer>>) {
        if let Some(observer) = observer {
            self.provers().for_each(|(kind, prover)| prover.observe(kind.name(), observer));
        }
    }

    /// The key of a bucket's circuit or a merge's.
    fn key(&self, is_bucket: bool) -> &VerifierKey {
        let [bucket, merge] = [&self.pair.bucket.data, &self.pair.merge.data].map(|d| &d.verifier_only);
        if is_bucket { bucket } else { merge }
    }

    /// Verifies a proof that a circuit will verify: a merge of an invalid proof would fail late and without a reason.
    ///
    /// # Errors
    /// For a wrapped proof, and the errors of [`Plonky2Verifier::verified`].
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
        // Plonky2's witness generation refuses a witness that contradicts the circuit.
        let proof = proof.map_err(|e| BackendError::Witness(format!("{kind} proof: {e}")))?;
        let bytes = self.verifier.encode(kind, &proof)?;
        let proof = NodeProof { kind, statement, output, bytes };
        // Costs milliseconds; detects a circuit whose output differs from the code's, and a fault of the machine.
        self.verifier.verify(&proof).map_err(|e| BackendError::Internal(format!("a fresh proof: {e}")))?;
        Ok(proof)
    }

    /// The witness of the merge circuit with these wires; `rules` are its constraints as code.
    ///
    /// # Errors
    /// When a child does not verify, or the witness contradicts the rules.
    pub(crate) fn merge_inputs(
        &self,
        targets: &MergeTargets,
        rules: &NativeBackend,
        [left, right]: [&NodeProof; 2],
        witness: &MergeWitness,
    ) -> Result<PartialWitness<F>, BackendError> {
        let proofs = [self.child(left)?, self.child(right)?];
        let proven = rules.merge_statement(&left.statement, &right.statement, &witness.siblings);
        check_statement(proven, &witness.statement)?;
        let children = [(&proofs[0], left.kind == NodeKind::Bucket), (&proofs[1], right.kind == NodeKind::Bucket)];
        let keys = [true, false].map(|is_bucket| self.key(is_bucket));
        targets.assign(witness, children, left.statement.height, keys[0], keys[1]).map_err(witness_error)
    }

    /// The wrap, and the witness of its circuit; `rules` are its constraints as code.
    ///
    /// # Errors
    /// When the profile has no wrap, or the child does not verify or is not a whole vector's.
    pub(crate) fn wrap_inputs(
        &self,
        rules: &NativeBackend,
        child: &NodeProof,
    ) -> Result<(&Circuit<WrapTargets>, PartialWitness<F>), BackendError> {
        check_statement(rules.wrap_statement(&child.statement), &child.statement)?;
        let wrap = self.wrap.as_ref().ok_or_else(|| BackendError::Witness("the profile has no wrap".into()))?;
        let proof = self.child(child)?;
        let Child { is_bucket, key, .. } = self.keyed(&proof, child.kind);
        Ok((wrap, wrap.targets.assign(&proof, is_bucket, key).map_err(witness_error)?))
    }

    /// Wraps a proof.
    ///
    /// # Errors
    /// The errors of [`Self::wrap_inputs`] and [`Self::finish`].
    pub(crate) fn prove_wrap(&self, rules: &NativeBackend, child: &NodeProof) -> Result<NodeProof, BackendError> {
        let (wrap, wires) = self.wrap_inputs(rules, child)?;
        self.finish(NodeKind::Wrap, child.statement, child.output.clone(), wrap.prove(wires))
    }
}

//! Proves the nodes of an application's batches.

use std::path::Path;
use std::sync::Arc;

use evergrove_apps::MapReduceError;
use evergrove_commit::watch::Observer;
use evergrove_commit::{
    BackendChoice, BackendError, BackendSpec, BucketWitness, LeafWitness, MergeWitness, NativeBackend, NodeKind,
    NodeProof, RecursionBackend, Witness, check_statement,
};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::{AppSpec, HeightClass, Profile, Scheme};
use plonky2::iop::witness::PartialWitness;

use super::circuits::Circuits;
use super::size::known;
use super::{AppKeys, CircuitSetId, CircuitSetSpec, Size};
use crate::apps::Plonky2Circuits;
use crate::circuit::{F, WrapTargets};
use crate::setup::{Circuit, CircuitPair};
use crate::{BACKEND_NAME, Plonky2Verifier, ProverKind, backend_spec, witness_error};

/// Proves an application's output with Plonky2, for one scheme, profile and height class. One proof at a time uses all
/// threads of the current rayon pool.
pub struct AppBackend {
    spec: BackendSpec,
    circuits: Circuits<CircuitSetSpec>,
    /// The constraints on digests as code.
    rules: NativeBackend,
}

impl AppBackend {
    /// The circuits of an application, from `cache_dir` if they are there, otherwise built (seconds) and left there.
    /// The directory is trusted like that of [`crate::Plonky2Backend::load`], here also for the keys.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme, or the profile is of another backend.
    pub fn load(
        app: Arc<dyn Plonky2Circuits>,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        cache_dir: Option<&Path>,
    ) -> Result<Self, BackendError> {
        known(profile).map_err(|e| BackendError::Internal(e.to_string()))?;
        let id = CircuitSetId { app: app.id(), scheme, profile, class };
        let make = |size| CircuitSetSpec::new(app.clone(), scheme, profile, class, size);
        let search = || Size::of(&app, scheme, profile, class).map_err(|e| BackendError::Internal(e.to_string()));
        let circuits = Circuits::load(&id, app.output_len(), cache_dir, make, search)?;
        let capacity = circuits.size().capacity;
        let rules = match scheme {
            Scheme::Complete => NativeBackend::complete(profile, class, capacity.ilog2() as u8),
            _ => NativeBackend::new(profile, class).with_capacity(capacity),
        };
        let app = AppSpec { name: app.name().into(), parameters: app.parameters() };
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_app(scheme, app);
        Ok(Self { spec: backend_spec(choice, class, capacity), rules, circuits })
    }

    /// The backend with another prover than the default. Proofs, keys and verifiers stay the same.
    #[must_use]
    pub fn with_prover(mut self, kind: ProverKind) -> Self {
        self.circuits.set_prover(kind);
        self
    }

    /// The backend that tells `observer`, if there is one, of its proofs, under the names of its circuits: `bucket`, `merge`, `wrap`.
    #[must_use]
    pub fn with_observer(mut self, observer: Option<&Arc<dyn Observer>>) -> Self {
        self.circuits.observe(observer);
        self
    }

    /// The specification of the circuits.
    pub fn circuit_set(&self) -> &CircuitSetSpec {
        &self.circuits.spec
    }

    /// The keys of the circuits.
    pub fn keys(&self) -> AppKeys {
        self.circuits.keys()
    }

    /// The bits of its proofs: the least over layers and error terms.
    pub fn bits(&self) -> SoundnessBits {
        self.keys().bits(self.circuit_set().scheme(), self.circuit_set().profile())
    }

    /// The bucket and merge circuits.
    pub fn circuits(&self) -> &CircuitPair<CircuitSetSpec> {
        &self.circuits.pair
    }

    /// The wrap circuit, if the profile has one.
    pub fn wrap_circuit(&self) -> Option<&Circuit<WrapTargets>> {
        self.circuits.wrap.as_ref()
    }

    /// The output over leaves in ascending order, by the application's code.
    ///
    /// # Errors
    /// The application's, for the first leaf that it does not map or the first reduction that fails.
    pub fn output(&self, leaves: &[LeafWitness]) -> Result<Vec<Goldilocks>, MapReduceError> {
        evergrove_apps::output(self.circuit_set().app().as_ref(), leaves)
    }

    /// The verifier of the circuits.
    pub fn verifier(&self) -> &Plonky2Verifier {
        &self.circuits.verifier
    }

    /// The witness of the bucket circuit, and the output.
    ///
    /// # Errors
    /// When the witness contradicts the circuit's rules, or the application does not map a leaf.
    pub fn bucket_inputs(&self, witness: &BucketWitness) -> Result<(PartialWitness<F>, Vec<Goldilocks>), BackendError> {
        let statement = witness.statement;
        let proven = match self.circuit_set().scheme() {
            Scheme::Complete => self.rules.filled_statement(statement.height, &witness.leaves),
            _ => self.rules.bucket_statement(&witness.leaves),
        };
        check_statement(proven, &statement)?;
        let output = self.output(&witness.leaves).map_err(witness_error)?;
        let CircuitPair { bucket, merge } = &self.circuits.pair;
        let merge_key = merge.data.verifier_only.circuit_digest;
        let wires = bucket.targets.assign(witness, merge_key).map_err(witness_error)?;
        Ok((wires, output))
    }

    /// The witness of the merge circuit, and the output.
    ///
    /// # Errors
    /// When a child does not verify, or the witness contradicts the circuit's rules.
    pub fn merge_inputs(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<(PartialWitness<F>, Vec<Goldilocks>), BackendError> {
        let targets = &self.circuits.pair.merge.targets.node;
        let wires = self.circuits.merge_inputs(targets, &self.rules, [left, right], witness)?;
        let output = self.circuit_set().app().reduce(&left.output, &right.output).map_err(witness_error)?;
        Ok((wires, output))
    }
}

impl RecursionBackend for AppBackend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn key_digest(&self) -> Digest {
        self.keys().set.digest()
    }

    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        match (witness, children) {
            (Witness::Bucket(witness), []) => {
                let (wires, output) = self.bucket_inputs(witness)?;
                let proof = self.circuits.pair.bucket.prove(wires);
                self.circuits.finish(NodeKind::Bucket, witness.statement, output, proof)
            }
            (Witness::Merge(witness), [left, right]) => {
                let (wires, output) = self.merge_inputs(left, right, witness)?;
                let proof = self.circuits.pair.merge.prove(wires);
                self.circuits.finish(NodeKind::Merge, witness.statement, output, proof)
            }
            (Witness::Wrap, [child]) => self.circuits.prove_wrap(&self.rules, child),
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.circuits.verifier.verify(proof)
    }
}

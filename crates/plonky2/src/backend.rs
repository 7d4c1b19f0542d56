//! The Plonky2 backend: proves the nodes of a batch structure.

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::watch::Observer;
use evergrove_commit::{
    BackendChoice, BackendError, BackendId, BackendSpec, BucketWitness, MergeWitness, NativeBackend, NodeKind,
    NodeProof, RecursionBackend, Witness, check_statement,
};
use evergrove_primitives::Digest;
use evergrove_verifier::{HeightClass, Profile};
use plonky2::iop::witness::PartialWitness;

use crate::apps::circuit_set::Circuits;
use crate::cache;
use crate::circuit::{CircuitSpec, F, WrapTargets, circuit_config};
use crate::keys::KeySet;
use crate::prover::ProverKind;
use crate::setup::{Circuit, CircuitPair, build_wrap};
use crate::verifier::Plonky2Verifier;

/// Name of the backend in proofs.
pub const BACKEND_NAME: &str = "plonky2";
/// Version of circuits and proof encoding in proofs.
pub const BACKEND_VERSION: u32 = 1;

/// Name and version of the backend.
pub fn backend_id() -> BackendId {
    BackendId::new(BACKEND_NAME, BACKEND_VERSION)
}

/// A backend of this name, before its circuits are built. It wraps if the profile has a wrap.
pub fn backend_spec(choice: BackendChoice, class: HeightClass, capacity: usize) -> BackendSpec {
    let wraps = choice.profile.wrap().is_some();
    BackendSpec { choice, version: BACKEND_VERSION, class, capacity, wraps }
}

/// Proves with Plonky2, for one profile and height class. One proof at a time uses all threads of the current rayon pool.
pub struct Plonky2Backend {
    spec: BackendSpec,
    circuits: Circuits<CircuitSpec>,
    /// The circuits' constraints as code.
    rules: NativeBackend,
}

impl Plonky2Backend {
    /// The proving circuits of a profile and height class, from `cache_dir` if they are there and match the pinned
    /// keys, otherwise built (seconds) and left there.
    ///
    /// # Errors
    /// For a profile of another backend. When the built circuits do not match the pinned keys: another version of a
    /// dependency or a miscompilation. A damaged, outdated or unwritable cache is not an error: the circuits are built
    /// again.
    pub fn load(profile: Profile, class: HeightClass, cache_dir: Option<&Path>) -> Result<Self, BackendError> {
        let pinned = KeySet::pinned(profile, class)?;
        let (pair, wrap) = cache::load_or_build(profile, class, &pinned, cache_dir)?;
        if KeySet::of(&pair, wrap.as_ref()) != pinned {
            return Err(BackendError::Internal(format!(
                "the {profile} circuits of height {} differ from the pinned keys",
                class.height_max()
            )));
        }
        Self::assemble(profile, class, pair, wrap)
    }

    /// Builds the circuits without comparing pinned keys, to produce the keys that will be pinned.
    ///
    /// # Errors
    /// For a profile of another backend, and when the circuits do not fit their rows.
    pub fn build_unpinned(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let (pair, wrap) = build(profile, class, None)?;
        Self::assemble(profile, class, pair, wrap)
    }

    fn assemble(
        profile: Profile,
        class: HeightClass,
        pair: CircuitPair,
        wrap: Option<Circuit<WrapTargets>>,
    ) -> Result<Self, BackendError> {
        let circuits = Circuits::new(CircuitSpec::of(profile, class)?, pair, wrap, 0);
        let capacity = circuits.size().capacity;
        let spec = backend_spec(BackendChoice::new(BACKEND_NAME, profile), class, capacity);
        let rules = NativeBackend::new(profile, class).with_capacity(capacity);
        Ok(Self { spec, circuits, rules })
    }

    /// The backend with another prover than the default. Proofs, keys and verifiers stay the same.
    pub fn with_prover(mut self, kind: ProverKind) -> Self {
        self.circuits.set_prover(kind);
        self
    }

    /// The backend that tells `observer`, if there is one, of its proofs, under the names of its circuits: `bucket`, `merge`, `wrap`.
    pub fn with_observer(mut self, observer: Option<&Arc<dyn Observer>>) -> Self {
        self.circuits.observe(observer);
        self
    }

    /// The keys of the circuits.
    pub fn keys(&self) -> KeySet {
        self.circuits.keys().set
    }

    /// Size of the serialized proving circuits, in bytes: plonky2's prover data of bucket, merge and wrap.
    pub fn proving_key_bytes(&self) -> Result<usize, BackendError> {
        let Circuits { pair, wrap, .. } = &self.circuits;
        let circuits = [&pair.bucket.data, &pair.merge.data].into_iter().chain(wrap.iter().map(|w| &w.data));
        circuits.map(cache::circuit_size).sum()
    }

    /// The verifier of the circuits.
    pub fn verifier(&self) -> &Plonky2Verifier {
        &self.circuits.verifier
    }

    /// The bucket and merge circuits.
    pub fn circuits(&self) -> &CircuitPair {
        &self.circuits.pair
    }

    /// The wrap circuit, if the profile has one.
    pub fn wrap_circuit(&self) -> Option<&Circuit<WrapTargets>> {
        self.circuits.wrap.as_ref()
    }

    /// The witness of the bucket circuit.
    ///
    /// # Errors
    /// When the witness contradicts the circuit's rules.
    pub fn bucket_inputs(&self, witness: &BucketWitness) -> Result<PartialWitness<F>, BackendError> {
        check_statement(self.rules.bucket_statement(&witness.leaves), &witness.statement)?;
        let CircuitPair { bucket, merge } = &self.circuits.pair;
        let merge_key = merge.data.verifier_only.circuit_digest;
        bucket.targets.assign(witness, merge_key).map_err(witness_error)
    }

    /// The witness of the merge circuit.
    ///
    /// # Errors
    /// When a child does not verify, or the witness contradicts the circuit's rules.
    pub fn merge_inputs(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<PartialWitness<F>, BackendError> {
        let targets = &self.circuits.pair.merge.targets;
        self.circuits.merge_inputs(targets, &self.rules, [left, right], witness)
    }

    /// The witness of the wrap circuit.
    ///
    /// # Errors
    /// When the profile has no wrap, or the child does not verify or is not a whole batch's.
    pub fn wrap_inputs(&self, child: &NodeProof) -> Result<PartialWitness<F>, BackendError> {
        Ok(self.circuits.wrap_inputs(&self.rules, child)?.1)
    }
}

/// Builds the circuits; `hint` is the pinned common data, if known.
pub(crate) fn build(
    profile: Profile,
    class: HeightClass,
    hint: Option<&KeySet>,
) -> Result<(CircuitPair, Option<Circuit<WrapTargets>>), BackendError> {
    let spec = CircuitSpec::of(profile, class)?;
    let pair =
        CircuitPair::build(&spec, hint.map(|k| &k.node_common)).map_err(|e| BackendError::Internal(e.to_string()))?;
    let wrap = profile.wrap().map(|params| build_wrap(&KeySet::of(&pair, None), &circuit_config(&params)));
    Ok((pair, wrap))
}

/// An error of a witness, in its own words.
pub fn witness_error(e: impl core::fmt::Display) -> BackendError {
    BackendError::Witness(e.to_string())
}

impl RecursionBackend for Plonky2Backend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn key_digest(&self) -> Digest {
        self.keys().digest()
    }

    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        match (witness, children) {
            (Witness::Bucket(witness), []) => {
                let wires = self.bucket_inputs(witness)?;
                self.circuits.finish(
                    NodeKind::Bucket,
                    witness.statement,
                    Vec::new(),
                    self.circuits.pair.bucket.prove(wires),
                )
            }
            (Witness::Merge(witness), [left, right]) => {
                let wires = self.merge_inputs(left, right, witness)?;
                self.circuits.finish(
                    NodeKind::Merge,
                    witness.statement,
                    Vec::new(),
                    self.circuits.pair.merge.prove(wires),
                )
            }
            (Witness::Wrap, [child]) => self.circuits.prove_wrap(&self.rules, child),
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.circuits.verifier.verify(proof)
    }
}

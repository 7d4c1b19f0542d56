//! Proves the nodes of an application's batches.

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::{
    BackendError, BackendId, BucketWitness, LeafWitness, MergeWitness, NativeBackend, NodeKind, NodeProof,
    RecursionBackend,
};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_proof::{AppSpec, HeightClass, Profile, Scheme, Statement};
use evergrove_recursion::circuit::{F, PlonkyProof, WrapTargets, circuit_config};
use evergrove_recursion::keys::KeySet;
use evergrove_recursion::prover::{CircuitProver, Observer};
use evergrove_recursion::setup::{Circuit, CircuitPair};
use evergrove_recursion::{ProverKind, agree, backend_id, cache, witness_error};

use plonky2::iop::witness::PartialWitness;

use super::keys::{build, file};
use super::{AppKeys, AppVerifier, FamilySpec, Size};
use crate::{Leaf, MapReduce, MapReduceError};

/// Bucket, merge, and the wrap where the profile has one.
pub(super) type Circuits = (CircuitPair<FamilySpec>, Option<Circuit<WrapTargets>>);

/// Proves an application's output with Plonky2, for one scheme, profile and height class. One proof at a time uses all
/// threads of the current rayon pool.
pub struct AppBackend {
    spec: FamilySpec,
    pair: CircuitPair<FamilySpec>,
    wrap: Option<Circuit<WrapTargets>>,
    verifier: AppVerifier,
    /// The constraints on digests as code.
    rules: NativeBackend,
}

impl AppBackend {
    /// The circuits of an application, from `cache_dir` where they lie there, else built (seconds) and left there. The
    /// directory is trusted like that of [`evergrove_recursion::Plonky2Backend::load`], and here for the keys too.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme.
    pub fn load(
        app: Arc<dyn MapReduce>,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        cache_dir: Option<&Path>,
    ) -> Result<Self, BackendError> {
        let place = |d: &Path| file(d, &app.id(), scheme, profile, class).with_extension("circuits");
        let path = cache_dir.map(place);
        if let (Some(dir), Some(path)) = (cache_dir, &path)
            && let Some(keys) = AppKeys::kept(dir, &app.id(), scheme, profile, class)
        {
            let spec = FamilySpec::new(app.clone(), scheme, profile, class, keys.size);
            let wrap = profile.wrap().map(|p| circuit_config(&p));
            if let Some(circuits) = cache::load(path, &spec, wrap.as_ref(), &keys.set) {
                return Ok(Self::assemble(spec, circuits));
            }
        }
        let sized = Size::of(&app, scheme, profile, class);
        let (size, common) = sized.map_err(|e| BackendError::Internal(e.to_string()))?;
        let spec = FamilySpec::new(app, scheme, profile, class, size);
        let circuits = build(&spec, &common)?;
        if let Some(path) = path {
            // A cache that can not be written, and a generator without serialization, cost the next start its building.
            let _ = cache::store(&path, &circuits);
        }
        let backend = Self::assemble(spec, circuits);
        if let Some(dir) = cache_dir {
            backend.keys().keep(dir, &backend.spec);
        }
        Ok(backend)
    }

    fn assemble(spec: FamilySpec, (pair, wrap): Circuits) -> Self {
        let (profile, class, capacity) = (spec.profile(), spec.class(), spec.size().capacity);
        let rules = match spec.scheme() {
            Scheme::Complete => NativeBackend::complete(profile, class, capacity.ilog2() as u8),
            _ => NativeBackend::new(profile, class).with_capacity(capacity),
        };
        let verifier = AppVerifier::new(&KeySet::of(&pair, wrap.as_ref()), spec.app().output_len());
        Self { rules: rules.with_wrap(wrap.is_some()), spec, pair, wrap, verifier }
    }

    /// The backend with another prover than the default. Proofs, keys and verifiers stay the same.
    #[must_use]
    pub fn with_prover(mut self, kind: ProverKind) -> Self {
        self.pair.bucket.prover = CircuitProver::new(kind);
        self.pair.merge.prover = CircuitProver::new(kind);
        if let Some(wrap) = &mut self.wrap {
            wrap.prover = CircuitProver::new(kind);
        }
        self
    }

    /// The backend that tells `observer` of its proofs, under the names of its circuits: `bucket`, `merge`, `wrap`.
    #[must_use]
    pub fn with_observer(mut self, observer: &Arc<dyn Observer>) -> Self {
        self.pair.bucket.prover.observe(NodeKind::Bucket.name(), observer);
        self.pair.merge.prover.observe(NodeKind::Merge.name(), observer);
        if let Some(wrap) = &mut self.wrap {
            wrap.prover.observe(NodeKind::Wrap.name(), observer);
        }
        self
    }

    /// What the circuits are of.
    pub fn spec(&self) -> &FamilySpec {
        &self.spec
    }

    /// The keys of the circuits.
    pub fn keys(&self) -> AppKeys {
        AppKeys { size: self.spec.size(), set: KeySet::of(&self.pair, self.wrap.as_ref()) }
    }

    /// The bucket and merge circuits.
    pub fn circuits(&self) -> &CircuitPair<FamilySpec> {
        &self.pair
    }

    /// The wrap circuit, where the profile has one.
    pub fn wrap_circuit(&self) -> Option<&Circuit<WrapTargets>> {
        self.wrap.as_ref()
    }

    /// The output over leaves in ascending order, by the application's code.
    ///
    /// # Errors
    /// The application's, for the first leaf that it does not map or the first reduction that fails.
    pub fn output(&self, leaves: &[LeafWitness]) -> Result<Vec<Goldilocks>, MapReduceError> {
        let app = self.spec.app();
        let mut outputs = leaves.iter().map(|leaf| {
            let (expected, found) = (app.opening_len(), leaf.opening.len());
            if expected > 0 && found != expected {
                return Err(MapReduceError::OpeningLength { index: leaf.index, expected, found });
            }
            let opening = if expected == 0 { &[] } else { leaf.opening.as_slice() };
            app.map(&Leaf { index: leaf.index, value: leaf.value, opening })
        });
        let first = outputs.next().unwrap_or_else(|| Ok(app.identity()))?;
        outputs.try_fold(first, |before, next| app.reduce(&before, &next?))
    }

    /// The verifier of the circuits.
    pub fn verifier(&self) -> &AppVerifier {
        &self.verifier
    }

    /// What the bucket circuit is proven from, and the output.
    ///
    /// # Errors
    /// When the witness contradicts the circuit's rules, or the application does not map a leaf.
    pub fn bucket_inputs(&self, witness: &BucketWitness) -> Result<(PartialWitness<F>, Vec<Goldilocks>), BackendError> {
        let statement = witness.statement;
        let proven = match self.spec.scheme() {
            Scheme::Complete => self.rules.filled_statement(statement.height, &witness.leaves),
            _ => self.rules.bucket_statement(&witness.leaves),
        };
        agree(proven, &statement)?;
        let output = self.output(&witness.leaves).map_err(witness_error)?;
        let merge_key = self.pair.merge.data.verifier_only.circuit_digest;
        let wires = self.pair.bucket.targets.assign(witness, merge_key).map_err(witness_error)?;
        Ok((wires, output))
    }

    /// What the merge circuit is proven from, and the output.
    ///
    /// # Errors
    /// When a child does not verify, or the witness contradicts the circuit's rules.
    pub fn merge_inputs(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<(PartialWitness<F>, Vec<Goldilocks>), BackendError> {
        let proofs = [self.child(left)?, self.child(right)?];
        agree(self.rules.merge_statement(&left.statement, &right.statement, &witness.siblings), &witness.statement)?;
        let output = self.spec.app().reduce(&left.output, &right.output).map_err(witness_error)?;
        let [bucket_key, merge_key] = [&self.pair.bucket.data.verifier_only, &self.pair.merge.data.verifier_only];
        let children = [(&proofs[0], left.kind == NodeKind::Bucket), (&proofs[1], right.kind == NodeKind::Bucket)];
        let targets = &self.pair.merge.targets.node;
        let wires = targets.assign(witness, children, left.statement.height, bucket_key, merge_key);
        Ok((wires.map_err(witness_error)?, output))
    }

    fn child(&self, child: &NodeProof) -> Result<PlonkyProof, BackendError> {
        if child.kind == NodeKind::Wrap {
            return Err(BackendError::Witness("a wrapped proof can not be a child".into()));
        }
        self.verifier.verified(child)
    }

    fn finish(
        &self,
        kind: NodeKind,
        statement: Statement,
        output: Vec<Goldilocks>,
        proof: anyhow::Result<PlonkyProof>,
    ) -> Result<NodeProof, BackendError> {
        let proof = proof.map_err(|e| BackendError::Witness(format!("{kind} proof: {e}")))?;
        let bytes = self.verifier.encode(kind, &proof)?;
        let proof = NodeProof { kind, statement, output, bytes };
        // Milliseconds, against a circuit that computes another output than the code, and a fault of the machine.
        self.verifier.verify(&proof).map_err(|e| BackendError::Internal(format!("a fresh proof: {e}")))?;
        Ok(proof)
    }
}

impl RecursionBackend for AppBackend {
    fn id(&self) -> BackendId {
        backend_id()
    }

    fn profile(&self) -> Profile {
        self.spec.profile()
    }

    fn class(&self) -> HeightClass {
        self.spec.class()
    }

    fn capacity(&self) -> usize {
        self.spec.size().capacity
    }

    fn scheme(&self) -> Scheme {
        self.spec.scheme()
    }

    fn app(&self) -> Option<AppSpec> {
        let app = self.spec.app();
        Some(AppSpec { name: app.name().into(), parameters: app.parameters() })
    }

    fn wraps(&self) -> bool {
        self.wrap.is_some()
    }

    fn key_digest(&self) -> Digest {
        self.keys().set.digest()
    }

    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        let (wires, output) = self.bucket_inputs(witness)?;
        self.finish(NodeKind::Bucket, witness.statement, output, self.pair.bucket.prove(wires))
    }

    fn prove_merge(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<NodeProof, BackendError> {
        let (wires, output) = self.merge_inputs(left, right, witness)?;
        self.finish(NodeKind::Merge, witness.statement, output, self.pair.merge.prove(wires))
    }

    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        agree(self.rules.wrap_statement(&child.statement), &child.statement)?;
        let Some(circuit) = &self.wrap else {
            return Err(BackendError::Witness(format!("profile {} has no wrap", self.spec.profile())));
        };
        let proof = self.child(child)?;
        let is_bucket = child.kind == NodeKind::Bucket;
        let key = if is_bucket { &self.pair.bucket.data.verifier_only } else { &self.pair.merge.data.verifier_only };
        let wires = circuit.targets.assign(&proof, is_bucket, key).map_err(witness_error)?;
        self.finish(NodeKind::Wrap, child.statement, child.output.clone(), circuit.prove(wires))
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.verifier.verify(proof)
    }
}

//! Proves the nodes of a translation.

use std::path::Path;
use std::sync::Arc;

use evergrove_apps::digest_translation::tree::{self, KeccakDigest};
use evergrove_apps::digest_translation::{DigestTranslation, Format};
use evergrove_commit::watch::Observer;
use evergrove_commit::{
    BackendChoice, BackendError, BackendSpec, BucketWitness, LevelWitness, NativeBackend, NodeKind, NodeProof,
    RecursionBackend, Witness, check_statement,
};
use evergrove_primitives::Digest;
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use super::bucket::BucketInput;
use super::circuits::Shape;
use super::soundness;
use crate::apps::circuit_set::{AppKeys, CircuitSetId, Circuits};
use crate::setup::CircuitPair;
use crate::stark::StarkProver;
use crate::stark::keccak::{KeccakAir, Permutations};
use crate::{BACKEND_NAME, Plonky2Verifier, ProverKind, backend_spec, witness_error};

/// Proves the Keccak digest of all slots with Plonky2, for one profile and height class, in the scheme [`Scheme::Tree`]. One proof
/// at a time uses all threads of the current rayon pool.
pub struct TranslationBackend {
    app: DigestTranslation,
    spec: BackendSpec,
    circuits: Circuits<Shape>,
    table: StarkProver<KeccakAir>,
    /// The constraints on Poseidon digests as code.
    rules: NativeBackend,
}

impl TranslationBackend {
    /// The circuits, from `cache_dir` if they are there, otherwise built (seconds) and left there. The directory is
    /// trusted as in [`crate::apps::circuit_set::AppBackend::load`].
    ///
    /// # Errors
    /// When the profile belongs to another backend, the tree is OpenZeppelin's, or the circuits do not fit the rows
    /// that this version gives them.
    pub fn load(
        app: DigestTranslation,
        profile: Profile,
        class: HeightClass,
        cache_dir: Option<&Path>,
    ) -> Result<Self, BackendError> {
        let internal = |e: &dyn ToString| BackendError::Internal(format!("digest translation: {}", e.to_string()));
        if *app.format() != Format::Keccak {
            return Err(internal(&format!(
                "{} has no circuits of Plonky2: choose grove-100 or grove-128",
                app.format()
            )));
        }
        let shape = Shape::of(profile, class, app.bucket_height()).map_err(|e| internal(&e))?;
        let search = || {
            let common = CircuitPair::search(&shape, None).map_err(|e| internal(&e))?;
            Ok((shape.size(), common))
        };
        let table = StarkProver::new(&shape.stark, shape.log_rows() as u32).map_err(|e| internal(&e))?;
        let id = CircuitSetId { app: app.spec().id(), scheme: Scheme::Tree, profile, class };
        let circuits = Circuits::load(&id, DigestTranslation::OUTPUT_LEN, cache_dir, |_| shape.clone(), search)?;
        let rules = NativeBackend::tree(profile, class, app.bucket_height());
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_app(Scheme::Tree, app.spec());
        let spec = backend_spec(choice, class, circuits.size().capacity);
        Ok(Self { app, spec, circuits, table, rules })
    }

    /// The backend with another prover of circuits than the default. Proofs, keys and verifiers stay the same.
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

    /// The parameters of the circuits.
    pub fn shape(&self) -> &Shape {
        &self.circuits.spec
    }

    /// The keys of the circuits.
    pub fn keys(&self) -> AppKeys {
        self.circuits.keys()
    }

    /// The bucket and merge circuits.
    pub fn circuits(&self) -> &CircuitPair<Shape> {
        &self.circuits.pair
    }

    /// The verifier of the circuits.
    pub fn verifier(&self) -> &Plonky2Verifier {
        &self.circuits.verifier
    }

    /// The bits of its proofs: see [`soundness::bits`].
    pub fn bits(&self) -> SoundnessBits {
        soundness::bits(&self.keys(), self.spec.choice.profile, &self.app)
    }

    /// The slots of a bucket's witness.
    fn slots(&self, witness: &BucketWitness) -> Result<Vec<Option<Value>>, BackendError> {
        let (height, base) = (witness.statement.height, witness.statement.base);
        check_statement(self.rules.filled_statement(height, &witness.leaves), &witness.statement)?;
        let mut slots = vec![None; 1 << self.app.bucket_height()];
        for leaf in &witness.leaves {
            slots[(leaf.index - base) as usize] = Some(leaf.value);
        }
        Ok(slots)
    }
}

impl TranslationBackend {
    /// Proves a block: the table first, then its verification in the bucket.
    fn prove_block(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        let input = BucketInput::new(witness.statement.base, self.slots(witness)?);
        let CircuitPair { bucket, merge } = &self.circuits.pair;
        let merge_key = merge.data.verifier_only.circuit_digest;
        let prove = || {
            let mut wires = bucket.targets.assign(&input, merge_key)?;
            let blocks = input.blocks();
            let count = blocks.len();
            let rows = Permutations::new(blocks, self.shape().log_rows() as u32)
                .ok_or_else(|| anyhow::anyhow!("a table of {count} blocks"))?;
            let table = self.table.prove_bound(&rows, &[], input.binding())?;
            bucket.targets.table.assign(&mut wires, &table)?;
            bucket.prove(wires)
        };
        let output = tree::to_elements(&input.keccak());
        self.circuits.finish(NodeKind::Bucket, witness.statement, output.to_vec(), prove())
    }

    fn prove_level(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
    ) -> Result<NodeProof, BackendError> {
        let statements = children.map(|c| c.map(|c| &c.statement));
        check_statement(self.rules.level_statement(statements, witness), &witness.statement)?;
        let proofs = children.map(|c| c.map(|c| self.circuits.child(c)).transpose());
        let [left, right] = proofs;
        let proofs = [left?, right?];
        let nulls: Vec<KeccakDigest> = tree::null_digests(witness.statement.height).collect();
        let null = nulls[usize::from(witness.statement.height) - 1];
        let [left, right] = children.map(|c| c.map_or(Some(null), |c| tree::from_elements(&c.output)));
        let not_halves = || BackendError::Witness("a child's output is not a digest".into());
        let keccak = tree::node_digest(&left.ok_or_else(not_halves)?, &right.ok_or_else(not_halves)?);
        let keyed = core::array::from_fn(|k| {
            let proof = proofs[k].as_ref()?;
            Some(self.circuits.keyed(proof, children[k]?.kind))
        });
        let merge = &self.circuits.pair.merge;
        let wires = merge.targets.assign(&witness.statement, keyed, &merge.data.verifier_only);
        let proof = merge.prove(wires.map_err(witness_error)?);
        self.circuits.finish(NodeKind::Merge, witness.statement, tree::to_elements(&keccak).to_vec(), proof)
    }
}

impl RecursionBackend for TranslationBackend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn key_digest(&self) -> Digest {
        self.keys().set.digest()
    }

    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        match (witness, children) {
            (Witness::Bucket(witness), []) => self.prove_block(witness),
            (Witness::Level(witness), _) => self.prove_level(witness.children(children)?, witness),
            (Witness::Wrap, [child]) => self.circuits.prove_wrap(&self.rules, child),
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.circuits.verifier.verify(proof)
    }
}

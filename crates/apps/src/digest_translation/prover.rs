//! Proofs of both digests: made, refreshed and checked.

use std::fmt;

use evergrove_proof::tree::Value;
use evergrove_proof::{NodeKind, Profile};
use evergrove_recursion::CircuitVerifier;
use evergrove_recursion::circuit::{F, PlonkyProof, WrapTargets, circuit_config, to_hash};
use evergrove_recursion::keys::KeySet;
use evergrove_recursion::setup::{Circuit, CircuitPair, SetupError, build_wrap};
use evergrove_recursion::stark::StarkProver;
use evergrove_recursion::stark::keccak::{KeccakAir, Permutations};
use plonky2::field::types::Field;

use super::bucket::{BucketInput, halves};
use super::circuits::{HEIGHT_MAX, Shape, Statement, merge_witness};
use super::tree;

/// No proof came out, or one is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslationError {
    /// The circuits do not come out: another version of a dependency.
    #[error("circuits of digest translation: {0}")]
    Setup(#[from] SetupError),
    /// A number of slots that is no tree of whole buckets.
    #[error("{found} slots: 2^{bucket_height} to 2^{HEIGHT_MAX}, a power of two, are a tree; fill up with empty slots")]
    Slots {
        /// Slots that were given.
        found: usize,
        /// k.
        bucket_height: u8,
    },
    /// A position beyond the tree.
    #[error("position {index} of a tree of {slots} slots")]
    Position {
        /// The position.
        index: u64,
        /// 2^H.
        slots: u64,
    },
    /// A proof could not be made.
    #[error("{0}")]
    Proving(String),
    /// A proof is not accepted.
    #[error("the proof is not accepted: {0}")]
    Rejected(String),
}

/// A node with its proof.
#[derive(Clone)]
pub struct Node {
    /// What is proven.
    pub statement: Statement,
    /// Bucket or merge.
    pub kind: NodeKind,
    proof: PlonkyProof,
}

/// A proof of the whole tree, in the encoding of all proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslationProof {
    /// The circuit that made it: the wrap where the profile has one.
    pub kind: NodeKind,
    /// Both digests.
    pub statement: Statement,
    /// The SNARK.
    pub bytes: Vec<u8>,
}

/// The circuits of a profile, with what proves and what verifies them.
pub struct Translator {
    profile: Profile,
    shape: Shape,
    pair: CircuitPair<Shape>,
    wrap: Option<Circuit<WrapTargets>>,
    table: StarkProver<KeccakAir>,
    verifier: TranslationVerifier,
}

/// The keys of a [`Translator`]: all that verification needs.
pub struct TranslationVerifier {
    bucket: CircuitVerifier,
    merge: CircuitVerifier,
    wrap: Option<CircuitVerifier>,
}

impl fmt::Debug for Translator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Translator({}, buckets of height {})", self.profile, self.shape.bucket_height)
    }
}

impl Translator {
    /// Builds the circuits: some seconds, and the memory of a proof.
    ///
    /// # Errors
    /// When they do not fit the rows that this version gives them.
    pub fn new(profile: Profile, bucket_height: u8) -> Result<Self, TranslationError> {
        let shape = Shape::of(profile, bucket_height);
        let pair = CircuitPair::build(&shape, None)?;
        let keys = KeySet::of(&pair, None);
        let wrap = profile.wrap().map(|params| build_wrap(&keys, &circuit_config(&params)));
        let keys = KeySet::of(&pair, wrap.as_ref());
        let table = StarkProver::new(&shape.stark, shape.log_rows() as u32)
            .map_err(|e| TranslationError::Proving(e.to_string()))?;
        Ok(Self { profile, shape, pair, wrap, table, verifier: TranslationVerifier::new(&keys) })
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The parameters.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The circuits.
    pub fn circuits(&self) -> &CircuitPair<Shape> {
        &self.pair
    }

    /// The verifier.
    pub fn verifier(&self) -> &TranslationVerifier {
        &self.verifier
    }

    /// Proves the slots from position `base` on: the table first, then its verification in the bucket.
    ///
    /// # Errors
    /// For another number of slots than a bucket has, or a base that is no multiple of it.
    pub fn prove_bucket(&self, base: u64, slots: Vec<Option<Value>>) -> Result<Node, TranslationError> {
        let size = 1u64 << self.shape.bucket_height;
        if slots.len() as u64 != size || !base.is_multiple_of(size) || base >= 1 << HEIGHT_MAX {
            return Err(TranslationError::Proving(format!("{} slots at {base} are no bucket of {size}", slots.len())));
        }
        let input = BucketInput::new(base, slots);
        let merge_key = self.pair.merge.data.verifier_only.circuit_digest;
        let prove = || {
            let mut pw = self.pair.bucket.targets.assign(&input, merge_key)?;
            let rows = Permutations::new(input.blocks(), self.shape.log_rows() as u32);
            let rows = rows.ok_or_else(|| anyhow::anyhow!("a table of {} blocks", input.blocks().len()))?;
            let table = self.table.prove_bound(&rows, &[], input.binding())?;
            self.pair.bucket.targets.table.assign(&mut pw, &table)?;
            self.pair.bucket.prove(pw)
        };
        let proof = prove().map_err(|e: anyhow::Error| TranslationError::Proving(e.to_string()))?;
        Ok(Node { statement: input.statement(), kind: NodeKind::Bucket, proof })
    }

    /// Proves the node above two siblings.
    ///
    /// # Errors
    /// When they are none.
    pub fn prove_merge(&self, left: &Node, right: &Node) -> Result<Node, TranslationError> {
        let [l, r] = [left.statement, right.statement];
        if l.height != r.height || l.height >= HEIGHT_MAX || l.base + (1 << l.height) != r.base {
            return Err(TranslationError::Proving(format!("{l:?} and {r:?} are no siblings")));
        }
        let statement = Statement {
            poseidon: evergrove_proof::tree::node_digest(&l.poseidon, &r.poseidon),
            keccak: tree::node_digest(&l.keccak, &r.keccak),
            height: l.height + 1,
            base: l.base,
        };
        let children = [left, right].map(|n| (&n.proof, n.kind == NodeKind::Bucket));
        let [bucket_key, merge_key] = [&self.pair.bucket.data.verifier_only, &self.pair.merge.data.verifier_only];
        let targets = &self.pair.merge.targets.merge;
        let proof = targets
            .assign(&merge_witness(&statement), children, l.height, bucket_key, merge_key)
            .and_then(|pw| self.pair.merge.prove(pw))
            .map_err(|e| TranslationError::Proving(e.to_string()))?;
        Ok(Node { statement, kind: NodeKind::Merge, proof })
    }

    /// The proof of a whole tree, wrapped where the profile has a wrap, and checked.
    ///
    /// # Errors
    /// When the node is none of position 0.
    pub fn finish(&self, node: &Node) -> Result<TranslationProof, TranslationError> {
        let proving = |e: String| TranslationError::Proving(e);
        let (kind, proof) = match &self.wrap {
            Some(wrap) => {
                let is_bucket = node.kind == NodeKind::Bucket;
                let key = match is_bucket {
                    true => &self.pair.bucket.data.verifier_only,
                    false => &self.pair.merge.data.verifier_only,
                };
                let inputs = wrap.targets.assign(&node.proof, is_bucket, key).map_err(|e| proving(e.to_string()))?;
                (NodeKind::Wrap, wrap.prove(inputs).map_err(|e| proving(e.to_string()))?)
            }
            None => (node.kind, node.proof.clone()),
        };
        let circuit = self.verifier.circuit(kind)?;
        let bytes = circuit.encode(kind, &proof).map_err(|e| proving(e.to_string()))?;
        let proof = TranslationProof { kind, statement: node.statement, bytes };
        self.verifier.verify(&proof)?;
        Ok(proof)
    }
}

impl TranslationVerifier {
    /// A verifier for these keys.
    pub fn new(keys: &KeySet) -> Self {
        Self {
            bucket: CircuitVerifier::new(&keys.node_common, &keys.bucket),
            merge: CircuitVerifier::new(&keys.node_common, &keys.merge),
            wrap: keys.wrap.as_ref().map(|(common, key)| CircuitVerifier::new(common, key)),
        }
    }

    fn circuit(&self, kind: NodeKind) -> Result<&CircuitVerifier, TranslationError> {
        match kind {
            NodeKind::Bucket => Ok(&self.bucket),
            NodeKind::Merge => Ok(&self.merge),
            NodeKind::Wrap => {
                self.wrap.as_ref().ok_or_else(|| TranslationError::Rejected("this profile has no wrap".into()))
            }
        }
    }

    /// Accepts exactly the proofs of `proof.statement` for a whole tree: the caller compares both digests and the height with
    /// what it trusts. Where the profile has a wrap, nothing else is accepted. Never panics on any bytes.
    ///
    /// # Errors
    /// [`TranslationError::Rejected`] with the reason.
    pub fn verify(&self, proof: &TranslationProof) -> Result<(), TranslationError> {
        let rejected = |e: String| Err(TranslationError::Rejected(e));
        let s = &proof.statement;
        if self.wrap.is_some() != (proof.kind == NodeKind::Wrap) {
            return rejected(format!(
                "a {} proof, where the profile has {} wrap",
                proof.kind,
                if self.wrap.is_some() { "a" } else { "no" }
            ));
        }
        if s.base != 0 || s.height > HEIGHT_MAX {
            return rejected(format!("height {} at {} is no whole tree", s.height, s.base));
        }
        let mut inputs = to_hash(&s.poseidon).elements.to_vec();
        inputs.extend([F::ZERO; 4]);
        inputs.extend([F::from_canonical_u8(s.height), F::ZERO]);
        if proof.kind != NodeKind::Wrap {
            inputs.extend(self.merge.key().circuit_digest.elements);
        }
        inputs.extend(halves(&s.keccak));
        match self.circuit(proof.kind)?.verified(proof.kind, &proof.bytes, inputs) {
            Ok(_) => Ok(()),
            Err(e) => rejected(e.to_string()),
        }
    }
}

/// The proofs of all nodes of a tree, so that a change makes few anew.
pub struct Translation<'a> {
    translator: &'a Translator,
    slots: Vec<Option<Value>>,
    /// Buckets, then merges level by level.
    levels: Vec<Vec<Node>>,
}

impl<'a> Translation<'a> {
    /// Proves the whole tree: a table and a bucket for 2^k slots, and merges.
    ///
    /// `slots` are those of the tree, empty ones included. Every bucket is proven, empty ones too.
    ///
    /// # Errors
    /// For a number of slots that is no tree.
    pub fn new(translator: &'a Translator, slots: Vec<Option<Value>>) -> Result<Self, TranslationError> {
        let bucket_height = translator.shape.bucket_height;
        let size = 1 << bucket_height;
        if !slots.len().is_power_of_two() || slots.len() < size || slots.len().ilog2() > HEIGHT_MAX.into() {
            return Err(TranslationError::Slots { found: slots.len(), bucket_height });
        }
        let buckets = slots.chunks(size).zip((0u64..).step_by(size));
        let buckets = buckets.map(|(slots, base)| translator.prove_bucket(base, slots.to_vec()));
        let mut levels = vec![buckets.collect::<Result<Vec<_>, _>>()?];
        while let Some(below) = levels.last().filter(|l| l.len() > 1) {
            let nodes = below.as_chunks::<2>().0.iter().map(|[left, right]| translator.prove_merge(left, right));
            let level = nodes.collect::<Result<Vec<_>, _>>()?;
            levels.push(level);
        }
        Ok(Self { translator, slots, levels })
    }

    /// The whole tree's node.
    pub fn root(&self) -> &Node {
        &self.levels[self.levels.len() - 1][0]
    }

    /// Changes slots, and proves anew the buckets that have them and the merges above.
    ///
    /// Returns the number of proofs, tables aside.
    ///
    /// # Errors
    /// For a position beyond the tree; nothing is changed then.
    pub fn update(&mut self, changes: &[(u64, Option<Value>)]) -> Result<usize, TranslationError> {
        let slots = self.slots.len() as u64;
        if let Some((index, _)) = changes.iter().find(|(index, _)| *index >= slots) {
            return Err(TranslationError::Position { index: *index, slots });
        }
        let size = 1usize << self.translator.shape.bucket_height;
        let mut changed = self.slots.clone();
        for (index, value) in changes {
            changed[*index as usize] = *value;
        }
        let mut touched: Vec<usize> = changes.iter().map(|(index, _)| *index as usize / size).collect();
        touched.sort_unstable();
        touched.dedup();
        let mut levels = self.levels.clone();
        let mut proofs = 0;
        for level in 0..levels.len() {
            for node in &touched {
                levels[level][*node] = match level {
                    0 => self.translator.prove_bucket((node * size) as u64, changed[node * size..][..size].to_vec())?,
                    _ => {
                        let [left, right] = [0, 1].map(|i| &levels[level - 1][2 * node + i]);
                        self.translator.prove_merge(left, right)?
                    }
                };
                proofs += 1;
            }
            touched.iter_mut().for_each(|node| *node /= 2);
            touched.dedup();
        }
        (self.slots, self.levels) = (changed, levels);
        Ok(proofs)
    }
}

//! The seam between the vector commitment and the backends that prove its nodes.

use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::tree::Value;
use evergrove_verifier::{AppId, AppSpec, HeightClass, Profile, Scheme, Statement};
pub use evergrove_verifier::{BackendId, NodeKind};

use crate::batch::Structure;

/// The backend of a batch, independent of the height of its vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendChoice {
    /// The backend's name, for example `plonky2`.
    pub name: String,
    /// The scheme of its proofs.
    pub scheme: Scheme,
    /// The profile of its proofs.
    pub profile: Profile,
    /// The application, in the schemes that have one.
    pub app: Option<AppSpec>,
}

impl BackendChoice {
    /// The backend of this name and profile, for our scheme.
    pub fn new(name: impl Into<String>, profile: Profile) -> Self {
        Self { name: name.into(), scheme: Scheme::default(), profile, app: None }
    }

    /// The same backend for another scheme.
    pub fn with_scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// The same backend for an application, in one of its schemes.
    pub fn with_app(self, scheme: Scheme, app: AppSpec) -> Self {
        Self { scheme, app: Some(app), ..self }
    }
}

/// A backend as known before its circuits are built: everything that batch structures, content keys and proof files
/// depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendSpec {
    /// The choice that leads to it.
    pub choice: BackendChoice,
    /// Version of its circuits and of its encoding of proofs.
    pub version: u32,
    /// The height class of its circuits.
    pub class: HeightClass,
    /// m, the greatest number of leaves in a bucket; the number of slots where buckets are blocks.
    pub capacity: usize,
    /// True when the proof of a whole batch is wrapped.
    pub wraps: bool,
}

impl BackendSpec {
    /// Name and version, as every proof records them.
    pub fn id(&self) -> BackendId {
        BackendId { name: self.choice.name.clone(), version: self.version }
    }

    /// The application, by name and digest of its parameters.
    pub fn app_id(&self) -> Option<AppId> {
        self.choice.app.as_ref().map(AppSpec::id)
    }

    /// The proofs that a batch consists of.
    pub fn structure(&self) -> Structure {
        Structure::of(self.choice.scheme, self.capacity)
    }

    /// The refusal of a step that batches of this scheme do not have, or that has the wrong number of children.
    pub fn foreign_step(&self, witness: &Witness, children: usize) -> BackendError {
        let scheme = self.choice.scheme;
        BackendError::Witness(format!("the batches of {scheme} have no {} over {children} proofs", witness.name()))
    }
}

/// A proof of one node of a batch structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// The circuit.
    pub kind: NodeKind,
    /// The proven statement.
    pub statement: Statement,
    /// The output of an application over the leaves of the statement; otherwise empty.
    pub output: Vec<Goldilocks>,
    /// The proof in the backend's own encoding.
    pub bytes: Vec<u8>,
}

/// A member of a bucket with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafWitness {
    /// Position in the vector.
    pub index: u64,
    /// The slot's value.
    pub value: Value,
    /// Siblings on the path from the leaf to the bucket's root, bottom up: `statement.height` siblings, or none where
    /// the bucket has the whole block ([`Structure::is_complete`]).
    pub siblings: Vec<Digest>,
    /// The opening of the value for an application; otherwise empty.
    pub opening: Vec<Goldilocks>,
}

/// The inputs of a bucket proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketWitness {
    /// The statement to prove.
    pub statement: Statement,
    /// 1 to `capacity()` members with strictly increasing indices.
    pub leaves: Vec<LeafWitness>,
}

/// The inputs of a merge proof besides its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeWitness {
    /// The statement to prove: the node to which the merge climbs.
    pub statement: Statement,
    /// Siblings of the climb, bottom up: for children of height h_c, the siblings of the nodes at levels
    /// h_c + 1 .. statement.height, so `statement.height - h_c - 1` of them.
    pub siblings: Vec<Digest>,
}

/// The inputs of the proof of a block of [`Structure::Levels`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockWitness {
    /// The statement to prove.
    pub statement: Statement,
    /// The leaf digests of all 2^`statement.height` slots.
    pub leaves: Vec<Digest>,
    /// Flags of the slots that are members.
    pub members: Vec<bool>,
}

/// The inputs of the proof of a level of [`Structure::Levels`] or [`Structure::Tree`] besides its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelWitness {
    /// The statement to prove.
    pub statement: Statement,
    /// C of the left and the right child, each of height `statement.height - 1`.
    pub roots: [Digest; 2],
    /// d of the children, 0 over all rows; `None` where a child has no member, and hence no proof.
    pub canonicals: [Option<Digest>; 2],
}

impl LevelWitness {
    /// The proofs of the children, left and right, from the proofs of those children that have members.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when their number is wrong.
    pub fn children<'a>(&self, proofs: &[&'a NodeProof]) -> Result<[Option<&'a NodeProof>; 2], BackendError> {
        let expected = self.canonicals.iter().flatten().count();
        if proofs.len() != expected {
            let what = format!("{} proofs for {expected} children with members", proofs.len());
            return Err(BackendError::Witness(what));
        }
        let mut rest = proofs.iter().copied();
        Ok(self.canonicals.map(|c| c.and_then(|_| rest.next())))
    }
}

/// The inputs of the proof of a node besides the proofs below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// For a bucket, or for a block of all its leaves. No children. Not in the paper's scheme.
    Bucket(BucketWitness),
    /// For a merge: two children, each a bucket or a merge. Not where there are levels.
    Merge(MergeWitness),
    /// For a block of the paper's scheme. No children.
    Block(BlockWitness),
    /// For a level of the paper's scheme or of [`Scheme::Tree`]: one or two children, those that have members.
    Level(LevelWitness),
    /// For a wrap, which needs only its one child: the proof of a whole vector (`base == 0`, height of the vector).
    Wrap,
}

impl From<BucketWitness> for Witness {
    fn from(witness: BucketWitness) -> Self {
        Self::Bucket(witness)
    }
}

impl From<MergeWitness> for Witness {
    fn from(witness: MergeWitness) -> Self {
        Self::Merge(witness)
    }
}

impl From<BlockWitness> for Witness {
    fn from(witness: BlockWitness) -> Self {
        Self::Block(witness)
    }
}

impl From<LevelWitness> for Witness {
    fn from(witness: LevelWitness) -> Self {
        Self::Level(witness)
    }
}

impl Witness {
    /// The kind of node, in one word.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bucket(_) => "bucket",
            Self::Merge(_) => "merge",
            Self::Block(_) => "block",
            Self::Level(_) => "level",
            Self::Wrap => "wrap",
        }
    }

    /// Adds the openings of the values of a bucket's leaves, by their positions.
    pub fn open<E>(&mut self, mut opening: impl FnMut(u64) -> Result<Vec<Goldilocks>, E>) -> Result<(), E> {
        if let Self::Bucket(witness) = self {
            for leaf in &mut witness.leaves {
                leaf.opening = opening(leaf.index)?;
            }
        }
        Ok(())
    }
}

/// A backend could not make a proof or does not accept one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The witness does not satisfy the statement.
    #[error("the witness does not satisfy the statement: {0}")]
    Witness(String),
    /// The proof is not accepted.
    #[error("the proof is not accepted: {0}")]
    Rejected(String),
    /// The backend itself failed (keys that do not load, an internal error).
    #[error("backend failure: {0}")]
    Internal(String),
}

/// A recursive proof system for the nodes of batch structures, for one scheme, profile and height class.
pub trait RecursionBackend: Send + Sync {
    /// The specification of this backend.
    fn spec(&self) -> &BackendSpec;
    /// A digest of the verifier's keys, [`Digest::ZERO`] if there are none: backends with equal digests and equal
    /// [`Self::spec`] accept each other's proofs. Detects misconfiguration; it is not a security check.
    fn key_digest(&self) -> Digest {
        Digest::ZERO
    }
    /// Proves a node from its witness and the proofs below it. Implementations verify the proof before they return it.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when the witness or a child does not give the statement, or the scheme has no such
    /// step.
    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError>;
    /// Accepts exactly the proofs of `proof.statement` made by the circuit `proof.kind`. Never panics on any bytes.
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError>;
}

impl<B: RecursionBackend + ?Sized> RecursionBackend for &B {
    fn spec(&self) -> &BackendSpec {
        (**self).spec()
    }
    fn key_digest(&self) -> Digest {
        (**self).key_digest()
    }
    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        (**self).prove(witness, children)
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        (**self).verify(proof)
    }
}

//! The seam between the vector commitment and whatever proves its nodes.

use evergrove_primitives::{Digest, Goldilocks};
use evergrove_proof::tree::Value;
use evergrove_proof::{AppSpec, HeightClass, Profile, Scheme, Statement};
pub use evergrove_proof::{BackendId, NodeKind};

use crate::batch::Structure;

/// A proof of one node of a batch structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// The circuit.
    pub kind: NodeKind,
    /// What is proven.
    pub statement: Statement,
    /// Of an application, the output over the leaves of the statement; else empty.
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
    /// Siblings on the path from the leaf to the bucket's root, bottom up: `statement.height` of them, and none where the
    /// bucket has the whole block ([`Structure::is_complete`]).
    pub siblings: Vec<Digest>,
    /// What opens the value for an application; else empty.
    pub opening: Vec<Goldilocks>,
}

/// All that a bucket proof needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketWitness {
    /// The statement to prove.
    pub statement: Statement,
    /// 1 to `capacity()` members with strictly increasing indices.
    pub leaves: Vec<LeafWitness>,
}

/// All that a merge proof needs beside its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeWitness {
    /// The statement to prove: the node to which the merge climbs.
    pub statement: Statement,
    /// Siblings of the climb, bottom up: for children of height h_c, the siblings of the nodes at levels
    /// h_c + 1 .. statement.height, so `statement.height - h_c - 1` of them.
    pub siblings: Vec<Digest>,
}

/// All that the proof of a block of [`Structure::Levels`] needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockWitness {
    /// The statement to prove.
    pub statement: Statement,
    /// The leaf digests of all 2^`statement.height` slots.
    pub leaves: Vec<Digest>,
    /// Which of the slots are members.
    pub members: Vec<bool>,
}

/// All that the proof of a level of [`Structure::Levels`] or [`Structure::Tree`] needs beside its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelWitness {
    /// The statement to prove.
    pub statement: Statement,
    /// C of the left and the right child, each of height `statement.height - 1`.
    pub roots: [Digest; 2],
    /// d of the children, 0 over all rows; `None` where a child has no member, and hence no proof.
    pub canonicals: [Option<Digest>; 2],
}

/// A backend could not prove or does not accept a proof.
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

/// A recursive proof system for the nodes of batch structures, for one profile and height class.
///
/// A proof that one of the `prove` functions returns verifies: an implementation checks before it hands out.
pub trait RecursionBackend: Send + Sync {
    /// Name and version, recorded in every proof.
    fn id(&self) -> BackendId;
    /// The profile whose parameters the proofs have.
    fn profile(&self) -> Profile;
    /// The height class of the circuits.
    fn class(&self) -> HeightClass;
    /// m, the greatest number of leaves in a bucket; where buckets are blocks the number of their slots.
    fn capacity(&self) -> usize;
    /// The scheme whose statements it proves.
    fn scheme(&self) -> Scheme {
        Scheme::Evergrove
    }
    /// The application whose output its proofs state; `None` in the schemes without.
    fn app(&self) -> Option<AppSpec> {
        None
    }
    /// Which proofs a batch consists of.
    fn structure(&self) -> Structure {
        Structure::of(self.scheme(), self.capacity())
    }
    /// True when the proof of a whole batch is wrapped once more.
    fn wraps(&self) -> bool;
    /// A digest of the verifier's keys, [`Digest::ZERO`] where there are none: backends that agree in it, and in what is above,
    /// accept each other's proofs. It tells mistakes of set-up apart, and stands for nothing before an adversary.
    fn key_digest(&self) -> Digest {
        Digest::ZERO
    }
    /// Proves a bucket, or a block of all its leaves. Not of the paper's scheme.
    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError>;
    /// Proves the node above two children, each a bucket or a merge. Not where [`Self::prove_level`] does.
    fn prove_merge(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<NodeProof, BackendError>;
    /// Proves a block. Only of the paper's scheme.
    fn prove_block(&self, _: &BlockWitness) -> Result<NodeProof, BackendError> {
        Err(BackendError::foreign_node(self.scheme(), "block"))
    }
    /// Proves a node above one or two children, each a block or a level; `None` where a child has no member. Only of the
    /// paper's scheme and of [`Scheme::Tree`].
    fn prove_level(&self, _: [Option<&NodeProof>; 2], _: &LevelWitness) -> Result<NodeProof, BackendError> {
        Err(BackendError::foreign_node(self.scheme(), "level"))
    }
    /// Wraps the proof of a whole vector (`base == 0`, height of the vector). Only where [`Self::wraps`].
    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError>;
    /// Accepts exactly the proofs of `proof.statement` made by the circuit `proof.kind`. Never panics on any bytes.
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError>;
}

impl BackendError {
    /// The refusal of a node that the batches of a scheme have not.
    pub fn foreign_node(scheme: Scheme, node: &str) -> Self {
        Self::Witness(format!("the batches of {scheme} have no {node}"))
    }
}

impl<B: RecursionBackend + ?Sized> RecursionBackend for &B {
    fn id(&self) -> BackendId {
        (**self).id()
    }
    fn profile(&self) -> Profile {
        (**self).profile()
    }
    fn class(&self) -> HeightClass {
        (**self).class()
    }
    fn capacity(&self) -> usize {
        (**self).capacity()
    }
    fn scheme(&self) -> Scheme {
        (**self).scheme()
    }
    fn app(&self) -> Option<AppSpec> {
        (**self).app()
    }
    fn structure(&self) -> Structure {
        (**self).structure()
    }
    fn wraps(&self) -> bool {
        (**self).wraps()
    }
    fn key_digest(&self) -> Digest {
        (**self).key_digest()
    }
    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        (**self).prove_bucket(witness)
    }
    fn prove_merge(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<NodeProof, BackendError> {
        (**self).prove_merge(left, right, witness)
    }
    fn prove_block(&self, witness: &BlockWitness) -> Result<NodeProof, BackendError> {
        (**self).prove_block(witness)
    }
    fn prove_level(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
    ) -> Result<NodeProof, BackendError> {
        (**self).prove_level(children, witness)
    }
    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        (**self).prove_wrap(child)
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        (**self).verify(proof)
    }
}

//! The seam between the vector commitment and whatever proves its nodes.

use evergrove_primitives::Digest;
use evergrove_proof::tree::Value;
pub use evergrove_proof::{BackendId, NodeKind};
use evergrove_proof::{HeightClass, Profile, Statement};

/// A proof of one node of a batch structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// The circuit.
    pub kind: NodeKind,
    /// What is proven.
    pub statement: Statement,
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
    /// Siblings on the path from the leaf to the bucket's root, bottom up: `statement.height` of them.
    pub siblings: Vec<Digest>,
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
    /// m, the greatest number of leaves in a bucket.
    fn capacity(&self) -> usize;
    /// True when the proof of a whole batch is wrapped once more.
    fn wraps(&self) -> bool;
    /// Proves a bucket.
    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError>;
    /// Proves the node above two children, each a bucket or a merge.
    fn prove_merge(
        &self,
        left: &NodeProof,
        right: &NodeProof,
        witness: &MergeWitness,
    ) -> Result<NodeProof, BackendError>;
    /// Wraps the proof of a whole vector (`base == 0`, height of the vector). Only where [`Self::wraps`].
    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError>;
    /// Accepts exactly the proofs of `proof.statement` made by the circuit `proof.kind`. Never panics on any bytes.
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError>;
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
    fn wraps(&self) -> bool {
        (**self).wraps()
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
    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        (**self).prove_wrap(child)
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        (**self).verify(proof)
    }
}

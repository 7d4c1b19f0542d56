//! What the proof of a node needs, read from a vector.

use evergrove_proof::NodeKind;

use super::{BatchError, Node, NodeShape, Step};
use crate::{BackendError, BucketWitness, LeafWitness, MergeWitness, NodeProof, RecursionBackend, Store, Vector};

/// All that one step needs beside its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// Of a bucket.
    Bucket(BucketWitness),
    /// Of a merge.
    Merge(MergeWitness),
    /// A wrap needs its input alone.
    Wrap,
}

impl Node {
    /// The witness of this node's proof. Reads the paths of a bucket's members, or the path above a merge's children.
    ///
    /// # Errors
    /// [`BatchError::Stale`] when `vector` is not of the node's epoch, [`BatchError::EmptySlot`] when the store lacks the
    /// value of a member, and the store's.
    pub fn witness<S: Store>(&self, vector: &Vector<S>) -> Result<Witness, BatchError> {
        let statement = self.statement;
        let (height, base) = (statement.height, statement.base);
        let mut reader = vector.reader();
        let found = reader.node(height, base >> height)?;
        if found != statement.root {
            return Err(BatchError::Stale { height, base, expected: statement.root, found });
        }
        Ok(match &self.shape {
            NodeShape::Bucket(indices) => {
                let leaf = |index: &u64| {
                    let value = vector.store().value(*index)?.ok_or(BatchError::EmptySlot(*index))?;
                    Ok(LeafWitness { index: *index, value, siblings: reader.siblings(*index, 0, height)? })
                };
                let leaves = indices.iter().map(leaf).collect::<Result<_, BatchError>>()?;
                Witness::Bucket(BucketWitness { statement, leaves })
            }
            NodeShape::Merge { left, .. } => {
                let below = left.statement;
                let siblings = reader.siblings(below.base, below.height + 1, height)?;
                Witness::Merge(MergeWitness { statement, siblings })
            }
        })
    }
}

impl Step {
    /// The witness of this step: see [`Node::witness`].
    pub fn witness<S: Store>(&self, vector: &Vector<S>) -> Result<Witness, BatchError> {
        match self.kind {
            NodeKind::Wrap => Ok(Witness::Wrap),
            NodeKind::Bucket | NodeKind::Merge => self.node.witness(vector),
        }
    }
}

impl Witness {
    /// Proves a step from its witness and its inputs' proofs.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when the number of inputs is not the step's, and the backend's.
    pub fn prove<B: RecursionBackend + ?Sized>(
        &self,
        backend: &B,
        inputs: &[&NodeProof],
    ) -> Result<NodeProof, BackendError> {
        match (self, inputs) {
            (Self::Bucket(witness), []) => backend.prove_bucket(witness),
            (Self::Merge(witness), [left, right]) => backend.prove_merge(left, right, witness),
            (Self::Wrap, [child]) => backend.prove_wrap(child),
            _ => Err(BackendError::Witness(format!("a step with {} input proofs", inputs.len()))),
        }
    }
}

//! What the proof of a node needs, read from a vector.

use evergrove_primitives::Goldilocks;
use evergrove_proof::NodeKind;

use super::{BatchError, Node, NodeShape, Step};
use crate::{
    BackendError, BlockWitness, BucketWitness, LeafWitness, LevelWitness, MergeWitness, NodeProof, RecursionBackend,
    Store, Vector,
};

/// All that one step needs beside its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// Of a bucket.
    Bucket(BucketWitness),
    /// Of a merge.
    Merge(MergeWitness),
    /// Of a block of the paper's scheme.
    Block(BlockWitness),
    /// Of a level of the paper's scheme.
    Level(LevelWitness),
    /// A wrap needs its input alone.
    Wrap,
}

impl Node {
    /// The witness of this node's proof. Reads the paths of a bucket's members, the path above a merge's children, all slots
    /// of a block, or the two children of a level.
    ///
    /// # Errors
    /// [`BatchError::Stale`] when `vector` is not of the node's epoch, [`BatchError::EmptySlot`] when the store lacks the
    /// value of a member, and the store's.
    pub fn witness<S: Store>(&self, vector: &Vector<S>) -> Result<Witness, BatchError> {
        let statement = self.statement;
        let (height, base) = (statement.height, statement.base);
        let found = vector.grown_node(height, base >> height)?;
        let mut reader = vector.reader();
        if found != statement.root {
            return Err(BatchError::Stale { height, base, expected: statement.root, found });
        }
        Ok(match &self.shape {
            NodeShape::Bucket(indices) => {
                let leaf = |index: &u64| {
                    let value = vector.store().value(*index)?.ok_or(BatchError::EmptySlot(*index))?;
                    let siblings = reader.siblings(*index, 0, height)?;
                    Ok(LeafWitness { index: *index, value, siblings, opening: Vec::new() })
                };
                let leaves = indices.iter().map(leaf).collect::<Result<_, BatchError>>()?;
                Witness::Bucket(BucketWitness { statement, leaves })
            }
            NodeShape::Filled(indices) => {
                let leaf = |index: &u64| {
                    let value = vector.store().value(*index)?.ok_or(BatchError::EmptySlot(*index))?;
                    Ok(LeafWitness { index: *index, value, siblings: Vec::new(), opening: Vec::new() })
                };
                let leaves = indices.iter().map(leaf).collect::<Result<_, BatchError>>()?;
                Witness::Bucket(BucketWitness { statement, leaves })
            }
            NodeShape::Merge { left, .. } => {
                let below = left.statement;
                let siblings = reader.siblings(below.base, below.height + 1, height)?;
                Witness::Merge(MergeWitness { statement, siblings })
            }
            NodeShape::Block(indices) => {
                let slots = base..base + (1 << height);
                let leaves = slots.clone().map(|i| reader.node(0, i)).collect::<Result<_, _>>()?;
                let members = slots.map(|i| indices.binary_search(&i).is_ok()).collect();
                Witness::Block(BlockWitness { statement, leaves, members })
            }
            NodeShape::Level(children) => {
                let left = base >> (height - 1);
                let roots = [reader.node(height - 1, left)?, reader.node(height - 1, left | 1)?];
                let canonicals = children.each_ref().map(|c| c.as_ref().map(|c| c.statement.canonical));
                Witness::Level(LevelWitness { statement, roots, canonicals })
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
    /// Adds what opens the values of a bucket's leaves, by their positions.
    pub fn open<E>(&mut self, mut opening: impl FnMut(u64) -> Result<Vec<Goldilocks>, E>) -> Result<(), E> {
        if let Self::Bucket(witness) = self {
            for leaf in &mut witness.leaves {
                leaf.opening = opening(leaf.index)?;
            }
        }
        Ok(())
    }

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
            (Self::Block(witness), []) => backend.prove_block(witness),
            (Self::Level(witness), inputs) => {
                let mut rest = inputs.iter().copied();
                let children = witness.canonicals.map(|c| c.and_then(|_| rest.next()));
                let expected = witness.canonicals.iter().flatten().count();
                if inputs.len() != expected {
                    let what = format!("{} proofs for {expected} children with members", inputs.len());
                    return Err(BackendError::Witness(what));
                }
                backend.prove_level(children, witness)
            }
            (Self::Wrap, [child]) => backend.prove_wrap(child),
            _ => Err(BackendError::Witness(format!("a step with {} input proofs", inputs.len()))),
        }
    }
}

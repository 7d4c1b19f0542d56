//! The inputs of the proof of a node, read from a vector.

use evergrove_verifier::NodeKind;

use super::{BatchError, Node, NodeShape, Step};
use crate::{BlockWitness, BucketWitness, LeafWitness, LevelWitness, MergeWitness, Store, Vector, Witness};

impl Node {
    /// The witness of this node's proof. Reads the paths of a bucket's members, the path above a merge's children, all slots
    /// of a block, or the two children of a level.
    ///
    /// # Errors
    /// [`BatchError::Stale`] when `vector` is not of the node's epoch, [`BatchError::EmptySlot`] when the store lacks
    /// the value of a member, and the errors of the store.
    pub fn witness<S: Store>(&self, vector: &Vector<S>) -> Result<Witness, BatchError> {
        let statement = self.statement;
        let (height, base) = (statement.height, statement.base);
        let found = vector.grown_node(height, base >> height)?;
        let mut reader = vector.reader();
        if found != statement.root {
            return Err(BatchError::Stale { height, base, expected: statement.root, found });
        }
        Ok(match &self.shape {
            NodeShape::Bucket(indices) | NodeShape::Filled(indices) => {
                let levels = if matches!(self.shape, NodeShape::Filled(_)) { 0 } else { height };
                let leaf = |index: &u64| {
                    let value = vector.store().value(*index)?.ok_or(BatchError::EmptySlot(*index))?;
                    let siblings = reader.siblings(*index, 0, levels)?;
                    Ok(LeafWitness { index: *index, value, siblings, opening: Vec::new() })
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

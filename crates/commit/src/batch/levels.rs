//! The paper's structure: a proof for every node with members, from blocks of 2^q slots up to the root. The members may
//! be all filled slots.

use std::sync::Arc;

use evergrove_primitives::Digest;
use evergrove_verifier::Statement;
use evergrove_verifier::tree::node_digest;

use super::update::{Delta, remaining};
use super::{BatchError, Node, NodeShape, complete, statement_of};
use crate::{Store, Vector};

/// Makes nodes over a vector.
pub(super) struct Builder<'a, S> {
    vector: &'a Vector<S>,
    /// q, or the height of a vector that is lower.
    block_height: u8,
    /// The members are the filled slots.
    all: bool,
}

impl<'a, S: Store> Builder<'a, S> {
    pub(super) fn new(vector: &'a Vector<S>, block_height: u8) -> Self {
        assert!(block_height <= evergrove_verifier::HEIGHT_MAX, "blocks of 2^{block_height} slots");
        Self { vector, block_height: block_height.min(vector.height()), all: false }
    }

    /// True for [`super::Structure::Tree`], whose vector counts as grown to a block.
    pub(super) fn of_all(vector: &'a Vector<S>, block_height: u8) -> Self {
        assert!(block_height <= evergrove_verifier::HEIGHT_MAX, "blocks of 2^{block_height} slots");
        Self { vector, block_height, all: true }
    }

    /// The structure of `indices`, ascending, at (`top`, `base`). For no indices it is that of the first block.
    pub(super) fn build(&self, indices: &[u64], top: u8, base: u64) -> Result<Arc<Node>, BatchError> {
        if top == self.block_height {
            return self.block(indices.to_vec(), base);
        }
        let middle = base | 1 << (top - 1);
        let (left, right) = indices.split_at(indices.partition_point(|i| *i < middle));
        let side = |there: bool, indices: &[u64], base| there.then(|| self.build(indices, top - 1, base)).transpose();
        let (left, right) = rayon::join(
            || side(!left.is_empty() || right.is_empty(), left, base),
            || side(!right.is_empty(), right, middle),
        );
        self.level([left?, right?], top, base)
    }

    /// The root's structure after an update; `height` is the vector's, which may have grown. At least one member
    /// remains.
    pub(super) fn revise_whole(&self, old: &Arc<Node>, height: u8, delta: Delta<'_>) -> Result<Arc<Node>, BatchError> {
        if old.statement.height < self.block_height {
            // A vector smaller than a block has grown, and its block with it.
            return self.build(&remaining(Some(old), delta), height, 0);
        }
        let root = self.revise(Some(old), height, 0, delta)?;
        root.ok_or(BatchError::Empty)
    }

    /// The node at (`top`, `base`), `None` if no member is left there. Invariants: `old` is the old node there, or the
    /// old root if the vector has grown beyond it; `delta` is the part below (`top`, `base`).
    fn revise(
        &self,
        old: Option<&Arc<Node>>,
        top: u8,
        base: u64,
        delta: Delta<'_>,
    ) -> Result<Option<Arc<Node>>, BatchError> {
        let grown = old.filter(|n| n.statement.height < top);
        if delta.is_empty() && grown.is_none() {
            return Ok(old.cloned());
        }
        if top == self.block_height {
            let members = remaining(old, delta);
            return (!members.is_empty()).then(|| self.block(members, base)).transpose();
        }
        let [left, right] = match (grown, old.map(|n| &n.shape)) {
            (Some(root), _) => [Some(root), None],
            (None, Some(NodeShape::Level(children))) => children.each_ref().map(Option::as_ref),
            (None, _) => [None, None],
        };
        let middle = base | 1 << (top - 1);
        let (left, right) = rayon::join(
            || self.revise(left, top - 1, base, delta.within(top - 1, base)),
            || self.revise(right, top - 1, middle, delta.within(top - 1, middle)),
        );
        match [left?, right?] {
            [None, None] => Ok(None),
            children => self.level(children, top, base).map(Some),
        }
    }

    fn block(&self, indices: Vec<u64>, base: u64) -> Result<Arc<Node>, BatchError> {
        if self.all {
            let statement = complete(self.vector, self.block_height, base)?;
            return Ok(Arc::new(Node { statement, count: indices.len(), shape: NodeShape::Filled(indices) }));
        }
        let statement = statement_of(self.vector, &indices, self.block_height, base)?;
        Ok(Arc::new(Node { statement, count: indices.len(), shape: NodeShape::Block(indices) }))
    }

    fn level(&self, children: [Option<Arc<Node>>; 2], top: u8, base: u64) -> Result<Arc<Node>, BatchError> {
        let root = self.vector.node(top, base >> top)?;
        let canonical = match children.each_ref().map(|c| c.as_ref().map(|c| c.statement.canonical)) {
            [Some(left), Some(right)] if !self.all => node_digest(&left, &right),
            [Some(d), _] | [None, Some(d)] => d,
            [None, None] => Digest::ZERO,
        };
        let count = children.iter().flatten().map(|c| c.count).sum();
        let statement = Statement { root, canonical, height: top, base };
        Ok(Arc::new(Node { statement, count, shape: NodeShape::Level(children) }))
    }
}

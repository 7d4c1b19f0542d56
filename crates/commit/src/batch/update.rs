//! The structure after an update, which shares the unchanged nodes.

use std::sync::Arc;

use evergrove_verifier::NodeKind;

use super::{Batch, BatchError, Builder, Node, NodeShape, Structure, in_range, levels, sorted, split_node};
use crate::{Store, Vector};

/// The changes below one subtree. All slices ascend.
#[derive(Clone, Copy)]
pub(super) struct Delta<'a> {
    pub(super) joins: &'a [u64],
    pub(super) leaves: &'a [u64],
    pub(super) touched: &'a [u64],
}

impl<'a> Delta<'a> {
    /// The part below the node of height `top` at `base`.
    pub(super) fn within(self, top: u8, base: u64) -> Self {
        let cut = |s: &'a [u64]| {
            let s = &s[s.partition_point(|i| *i < base)..];
            &s[..s.partition_point(|i| i >> top == base >> top)]
        };
        Self { joins: cut(self.joins), leaves: cut(self.leaves), touched: cut(self.touched) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.joins.is_empty() && self.leaves.is_empty() && self.touched.is_empty()
    }
}

impl Batch {
    /// The structure over `vector`, a later epoch of the batch's vector, after the slots `joins` have joined the batch
    /// and the members `leaves` have left it. `touched` are the positions whose slots differ between the two epochs,
    /// members or not. All three may be in any order, and the vector may have grown.
    ///
    /// The result equals [`Batch::build`] of the new set, and shares every node whose subtree no change touches.
    /// Rebuilds at most one bucket for each change apart from splits, and O(H - log m) merges, which the changes share.
    /// Structures over all rows are built again: their nodes take no hashing.
    ///
    /// # Errors
    /// [`BatchError::AlreadyMember`], [`BatchError::NotMember`], [`BatchError::Duplicate`] within `joins` or `leaves`;
    /// [`BatchError::Empty`] when all members leave; [`BatchError::EmptySlot`] when a member's slot has been emptied
    /// and the member does not leave; [`BatchError::OutOfRange`]; and the errors of the store.
    pub fn update<S: Store>(
        &self,
        vector: &Vector<S>,
        joins: &[u64],
        leaves: &[u64],
        touched: &[u64],
    ) -> Result<Self, BatchError> {
        let (joins, leaves) = (sorted(joins)?, sorted(leaves)?);
        let mut touched = touched.to_vec();
        touched.sort_unstable();
        if let Some(i) = joins.iter().find(|i| self.contains(**i)) {
            return Err(BatchError::AlreadyMember(*i));
        }
        if let Some(i) = leaves.iter().find(|i| !self.contains(**i)) {
            return Err(BatchError::NotMember(*i));
        }
        if self.count() + joins.len() == leaves.len() && !self.structure.is_complete() {
            return Err(BatchError::Empty);
        }
        let height = vector.height();
        let last = edge(&self.root, &[], Side::Last).max(joins.last().copied());
        last.map_or(Ok(()), |i| in_range(i, height))?;
        let delta = Delta { joins: &joins, leaves: &leaves, touched: &touched };
        let root = match self.structure {
            Structure::Compressed { .. } => {
                Builder::new(vector, self.structure).revise(Some(&self.root), height, 0, delta)?
            }
            // The vector determines the filled slots.
            Structure::Complete { .. } | Structure::Tree { .. } => return Self::build_as(vector, &[], self.structure),
            Structure::Levels { block_height } => {
                levels::Builder::new(vector, block_height).revise_whole(&self.root, height, delta)?
            }
        };
        Ok(Self { root, height, structure: self.structure })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Last,
}

/// The first or last member below `node` that does not leave. O(depth log |leaves| + m).
fn edge(node: &Node, leaves: &[u64], side: Side) -> Option<u64> {
    match &node.shape {
        NodeShape::Bucket(indices) | NodeShape::Block(indices) | NodeShape::Filled(indices) => {
            let stays = |i: &&u64| leaves.binary_search(i).is_err();
            match side {
                Side::First => indices.iter().find(stays).copied(),
                Side::Last => indices.iter().rfind(stays).copied(),
            }
        }
        NodeShape::Merge { left, right } => {
            let (l, r) = leaves.split_at(leaves.partition_point(|i| *i < right.statement.base));
            let in_left = if side == Side::First { left.count > l.len() } else { right.count == r.len() };
            if in_left { edge(left, l, side) } else { edge(right, r, side) }
        }
        NodeShape::Level(children) => {
            let middle = node.statement.base | 1 << (node.statement.height - 1);
            let (l, r) = leaves.split_at(leaves.partition_point(|i| *i < middle));
            let mut sides = [(&children[0], l), (&children[1], r)];
            if side == Side::Last {
                sides.reverse();
            }
            sides.into_iter().find_map(|(child, leaves)| edge(child.as_ref()?, leaves, side))
        }
    }
}

/// The members below `node` that do not leave, together with those that join, ascending.
pub(super) fn remaining(node: Option<&Arc<Node>>, delta: Delta<'_>) -> Vec<u64> {
    let mut all = Vec::new();
    if let Some(node) = node {
        node.members(&mut all);
        all.retain(|i| delta.leaves.binary_search(i).is_err());
    }
    all.extend_from_slice(delta.joins);
    all.sort_unstable();
    all
}

impl<S: Store> Builder<'_, S> {
    /// The node at (`top`, `base`). Invariants: `old` has exactly the old members there, `delta` is the part below
    /// (`top`, `base`), and at least one member remains.
    fn revise(
        &self,
        mut old: Option<&Arc<Node>>,
        top: u8,
        base: u64,
        delta: Delta<'_>,
    ) -> Result<Arc<Node>, BatchError> {
        let same = |n: &&Arc<Node>| (n.statement.height, n.statement.base) == (top, base) && delta.is_empty();
        if let Some(node) = old.filter(same) {
            return Ok(node.clone());
        }
        // Descends to the node at which the remaining members part, so that its children have the new structure's
        // ranges.
        let mut leaves = delta.leaves;
        while let Some(node) = old {
            if node.count == leaves.len() {
                old = None;
                leaves = &[];
                break;
            }
            let NodeShape::Merge { left, right } = &node.shape else { break };
            let (l, r) = leaves.split_at(leaves.partition_point(|i| *i < right.statement.base));
            (old, leaves) = if l.len() == left.count {
                (Some(right), r)
            } else if r.len() == right.count {
                (Some(left), l)
            } else {
                break;
            };
        }
        let delta = Delta { leaves, ..delta };
        let count = old.map_or(0, |n| n.count) + delta.joins.len() - leaves.len();
        // A bucket that stays whole may end up beside a new merge; one that loses a member is built again.
        let Some(node) = old.filter(|n| count > self.capacity && (leaves.is_empty() || n.kind() == NodeKind::Merge))
        else {
            return self.build(&remaining(old, delta), top, base);
        };

        let (own, joins) = ([Side::First, Side::Last].map(|s| edge(node, leaves, s)), delta.joins);
        let first = own[0].into_iter().chain(joins.first().copied()).min().unwrap_or(base);
        let last = own[1].into_iter().chain(joins.last().copied()).max().unwrap_or(base);
        let (bit, left_base, right_base) = split_node(first, last);
        let (old_left, old_right) = match (own[0] < Some(right_base), own[1] < Some(right_base), &node.shape) {
            (true, true, _) => (old, None),
            (false, _, _) => (None, old),
            // Its members part at the same node as the new ones, and its children have the ranges of the new ones.
            (true, false, NodeShape::Merge { left, right }) => (Some(left), Some(right)),
            (true, false, _) => return self.build(&remaining(old, delta), top, base),
        };
        let (left, right) = rayon::join(
            || self.revise(old_left, bit, left_base, delta.within(bit, left_base)),
            || self.revise(old_right, bit, right_base, delta.within(bit, right_base)),
        );
        self.merge(left?, right?, top, base)
    }
}

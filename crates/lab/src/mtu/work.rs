//! The nodes of a machine: none for timing only, or the operands and results of a real tree.

use evergrove_kernels::tree::ops::{Combine, Expand};
use evergrove_kernels::tree::schedule::level_above_leaves;

/// The nodes of an inverted tree.
pub trait Reduce {
    /// A node.
    type Node: Clone;
    /// Returns a leaf.
    fn leaf(&mut self, index: u64) -> Self::Node;
    /// Computes the node of level `level` >= 1 from its children.
    fn combine(&mut self, level: u32, left: &Self::Node, right: &Self::Node) -> Self::Node;
    /// Receives a node above the leaves.
    fn result(&mut self, level: u32, index: u64, node: &Self::Node);
}

/// The nodes of a forward tree.
pub trait Grow {
    /// A node.
    type Node: Clone;
    /// Returns the root.
    fn root(&mut self) -> Self::Node;
    /// Computes the children of a node of level `level` >= 1.
    fn expand(&mut self, level: u32, node: &Self::Node) -> [Self::Node; 2];
    /// Receives a leaf.
    fn leaf(&mut self, index: u64, node: Self::Node);
}

/// Nodes without data, for timing only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing;

impl Reduce for Timing {
    type Node = ();
    #[inline(always)]
    fn leaf(&mut self, _: u64) {}
    #[inline(always)]
    fn combine(&mut self, _: u32, (): &(), (): &()) {}
    #[inline(always)]
    fn result(&mut self, _: u32, _: u64, (): &()) {}
}

impl Grow for Timing {
    type Node = ();
    #[inline(always)]
    fn root(&mut self) {}
    #[inline(always)]
    fn expand(&mut self, _: u32, (): &()) -> [(); 2] {
        [(), ()]
    }
    #[inline(always)]
    fn leaf(&mut self, _: u64, (): ()) {}
}

/// An operation of the kernels on leaves. After a run, `nodes` has all nodes above the leaves, in the order of
/// [`level_above_leaves`].
#[derive(Clone, Debug)]
pub struct Reducing<'a, O: Combine> {
    op: &'a O,
    height: u32,
    leaves: &'a [O::Node],
    /// All nodes above the leaves, `None` before the run.
    pub nodes: Vec<Option<O::Node>>,
}

impl<'a, O: Combine> Reducing<'a, O> {
    /// The number of leaves must be a power of two.
    pub fn new(op: &'a O, leaves: &'a [O::Node]) -> Self {
        Self { op, height: leaves.len().ilog2(), leaves, nodes: vec![None; leaves.len() - 1] }
    }
    /// The root, after a run.
    pub fn root(&self) -> Option<O::Node> {
        self.nodes.last().copied().flatten()
    }
}

impl<O: Combine> Reduce for Reducing<'_, O> {
    type Node = O::Node;
    fn leaf(&mut self, index: u64) -> O::Node {
        self.leaves[index as usize]
    }
    fn combine(&mut self, level: u32, left: &O::Node, right: &O::Node) -> O::Node {
        self.op.node(level, left, right)
    }
    fn result(&mut self, level: u32, index: u64, node: &O::Node) {
        let slot = level_above_leaves(self.height, level).start + index as usize;
        assert!(self.nodes[slot].replace(*node).is_none(), "node {index} of level {level} is computed twice");
    }
}

/// An operation of the kernels from its root. After a run, `leaves` has the results.
#[derive(Clone, Debug)]
pub struct Expanding<'a, O: Expand> {
    op: &'a O,
    /// The leaves, `None` before the run.
    pub leaves: Vec<Option<O::Node>>,
}

impl<'a, O: Expand> Expanding<'a, O> {
    /// For a tree of 2^`height` leaves.
    pub fn new(op: &'a O, height: u32) -> Self {
        Self { op, leaves: vec![None; 1 << height] }
    }
}

impl<O: Expand> Grow for Expanding<'_, O> {
    type Node = O::Node;
    fn root(&mut self) -> O::Node {
        self.op.root()
    }
    fn expand(&mut self, level: u32, node: &O::Node) -> [O::Node; 2] {
        self.op.children(level, node)
    }
    fn leaf(&mut self, index: u64, node: O::Node) {
        let slot = &mut self.leaves[index as usize];
        assert!(slot.replace(node).is_none(), "leaf {index} is computed twice");
    }
}

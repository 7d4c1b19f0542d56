//! Operations on the nodes of a tree, executed by any schedule on vectors and threads.
//!
//! A [`NodeOp`] defines a node and how eight nodes are stored in lanes; [`Combine`] makes a node from its children,
//! [`Expand`] the children from a node. [`reduce`], [`reduce_levels`] and [`expand`] execute a
//! [`Plan`](super::schedule::Plan) with it:
//!
//! | operation | type | trait |
//! |---|---|---|
//! | Build MLE: eq(x, r) for all x | [`BuildMle`] | [`Expand`] |
//! | MLE evaluation | [`EvaluateMle`] | [`Combine`] |
//! | multiplication tree, product MLE | [`Product`] | [`Combine`] |
//! | Merkle tree | [`Merkle`] | [`Combine`] |
//!
//! **Lanes.** The tasks of a band have one shape, so eight adjacent ones run in lockstep, one in each lane: every step
//! of the schedule is one vector operation for each of its nodes, and no operation crosses lanes. A band with fewer
//! tasks is computed node by node.
//!
//! **Results** are those of the operation on single nodes: the same words for every schedule, instruction set and number of
//! threads, since nodes are exact and no operation is reordered within a node.

mod engine;
mod error;
mod execute;
mod merkle;
mod mle;
mod product;

use core::fmt::Debug;
use core::ops::RangeInclusive;

use evergrove_primitives::lanes::{Isa, LANES, Lanes};

use super::count::Arithmetic;

pub use engine::{expand, expand_on, reduce, reduce_levels, reduce_levels_on, reduce_on};
pub use error::TreeError;
pub use merkle::Merkle;
pub use mle::{BuildMle, Coordinates, EvaluateMle};
pub use product::Product;

/// The nodes of a tree, one at a time in memory and eight at a time in lanes.
pub trait NodeOp: Sync {
    /// A node in memory.
    type Node: Copy + Debug + PartialEq + Send + Sync;
    /// Eight nodes in registers.
    type Vector<L: Lanes>: Copy;
    /// The operation's constants that a task needs, on an instruction set.
    type Prepared<L: Lanes>;

    /// The constants for nodes of these levels.
    fn prepare<L: Lanes>(&self, lanes: L, levels: RangeInclusive<u32>) -> Self::Prepared<L>;
    /// Eight nodes, one in each lane. Implementations of this and the next are `#[inline(always)]`.
    fn load<L: Lanes>(&self, lanes: L, nodes: [&Self::Node; LANES]) -> Self::Vector<L>;
    /// The nodes in memory form.
    fn store<L: Lanes>(&self, lanes: L, nodes: Self::Vector<L>, to: [&mut Self::Node; LANES]);
    /// The arithmetic of a node of level `level` >= 1 in a tree of height `height`.
    fn arithmetic(&self, level: u32, height: u32) -> Arithmetic;
    /// The instruction set of the operation: see [`Field::isa`](evergrove_primitives::field::Field::isa).
    fn isa(&self) -> Isa {
        Isa::detect()
    }
    /// The height of the operation's trees, if it is not defined for all levels.
    fn height(&self) -> Option<u32> {
        None
    }
}

/// A node from its children: reductions.
pub trait Combine: NodeOp {
    /// The nodes of level `level` >= 1 over eight pairs. Implementations are `#[inline(always)]`.
    fn combine<L: Lanes>(
        &self,
        lanes: L,
        prepared: &Self::Prepared<L>,
        level: u32,
        left: Self::Vector<L>,
        right: Self::Vector<L>,
    ) -> Self::Vector<L>;
    /// The node over one pair, by the simplest code: the reference for [`Combine::combine`].
    fn node(&self, level: u32, left: &Self::Node, right: &Self::Node) -> Self::Node;
}

/// Children from their node: expansions.
pub trait Expand: NodeOp {
    /// The left and the right children of eight nodes of level `level` >= 1. Implementations are `#[inline(always)]`.
    fn expand<L: Lanes>(
        &self,
        lanes: L,
        prepared: &Self::Prepared<L>,
        level: u32,
        nodes: Self::Vector<L>,
    ) -> [Self::Vector<L>; 2];
    /// The root of the tree.
    fn root(&self) -> Self::Node;
    /// The children of one node, by the simplest code: the reference for [`Expand::expand`].
    fn children(&self, level: u32, node: &Self::Node) -> [Self::Node; 2];
}

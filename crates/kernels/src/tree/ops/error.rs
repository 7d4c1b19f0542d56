//! Errors of trees.

use crate::tree::schedule::Tree;

/// Sizes that do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The length of a buffer of nodes does not match the plan.
    #[error("a buffer of {found} nodes was given for the {buffer}: {expected} are needed")]
    Length {
        /// The purpose of the buffer.
        buffer: &'static str,
        /// Nodes that it holds.
        found: usize,
        /// Nodes that the plan requires.
        expected: usize,
    },
    /// The operation is for trees of another height, which is the number of coordinates of a point.
    #[error("the operation is for trees of height {operation}, but the plan is for height {plan}")]
    Height {
        /// The height of the operation's trees.
        operation: u32,
        /// The height of the plan.
        plan: u32,
    },
    /// The plan is for the other direction, or for other results.
    #[error("the plan is for a tree {found:?}, but {expected:?} was asked for")]
    Direction {
        /// The tree of the plan.
        found: Tree,
        /// The tree of the function.
        expected: Tree,
    },
}

//! Errors of trees.

use crate::tree::schedule::Tree;

/// Sizes that don't fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A buffer of nodes has another length than the plan says.
    #[error("a buffer of {found} nodes was given for the {buffer}: {expected} are needed")]
    Length {
        /// What the buffer is for.
        buffer: &'static str,
        /// Nodes that it holds.
        found: usize,
        /// Nodes that the plan asks for.
        expected: usize,
    },
    /// The operation is made for trees of another height, as a point with so many coordinates is.
    #[error("the operation is for trees of height {operation}, but the plan is for height {plan}")]
    Height {
        /// The height that the operation is made for.
        operation: u32,
        /// The height of the plan.
        plan: u32,
    },
    /// The plan is for the other direction, or for other results.
    #[error("the plan is for a tree {found:?}, but {expected:?} was asked for")]
    Direction {
        /// What the plan is for.
        found: Tree,
        /// What the function computes.
        expected: Tree,
    },
}

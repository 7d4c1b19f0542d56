//! The constraints that a witness may break.

use evergrove_primitives::Digest;
use evergrove_verifier::Statement;

use crate::BackendError;

/// The constraint of a circuit that a witness breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A bucket has no leaf.
    #[error("a bucket without a leaf")]
    NoLeaf,
    /// A bucket has more leaves than its circuit.
    #[error("{found} leaves in a bucket of {capacity}")]
    Capacity {
        /// The number of leaves.
        found: usize,
        /// The greatest number.
        capacity: usize,
    },
    /// Two leaves that follow each other are not in ascending order.
    #[error("index {index} is followed by {next}: indices must increase")]
    Order {
        /// Position of the first leaf.
        index: u64,
        /// Position of the next leaf.
        next: u64,
    },
    /// A position is outside the vector.
    #[error("index {index} is not below 2^{height}")]
    Index {
        /// The position.
        index: u64,
        /// Height of the tree.
        height: u8,
    },
    /// A node is higher than the tree.
    #[error("height {height} is above {max}")]
    Height {
        /// Height of the node.
        height: usize,
        /// Height of the tree.
        max: u8,
    },
    /// A leaf's path does not have the height of its bucket.
    #[error("a path of {levels} levels in a bucket of height {height}")]
    Path {
        /// Siblings on the path.
        levels: usize,
        /// Height of the bucket's node.
        height: u8,
    },
    /// A leaf is not below the node of its bucket.
    #[error("index {index} is not below the node of height {height} at {base}")]
    Outside {
        /// Position of the leaf.
        index: u64,
        /// Height of the node.
        height: u8,
        /// First position below the node.
        base: u64,
    },
    /// A leaf's path does not lead to the root of the other leaves of its bucket.
    #[error("the path of index {index} leads to another root")]
    Root {
        /// Position of the leaf.
        index: u64,
    },
    /// Two children have different heights.
    #[error("children of heights {left} and {right}")]
    Heights {
        /// Height of the left child.
        left: u8,
        /// Height of the right child.
        right: u8,
    },
    /// Two children are as high as the tree.
    #[error("children of height {height} leave no height for a merge")]
    TooHigh {
        /// Height of the children.
        height: u8,
    },
    /// Two children are not the children of one node.
    #[error("the nodes of height {height} at {left} and {right} are not siblings")]
    Siblings {
        /// Height of the children.
        height: u8,
        /// First position below the left child.
        left: u64,
        /// First position below the right child.
        right: u64,
    },
    /// A climb passes over a subtree with leaves.
    #[error("the climb passes over a subtree of height {height} that is not empty")]
    Occupied {
        /// Height of the subtree.
        height: u8,
    },
    /// The circuits have no wrap.
    #[error("this backend does not wrap")]
    NoWrap,
    /// The child of a wrap does not state a whole vector.
    #[error("a proof of the node of height {height} at {base} is not of a whole vector")]
    Part {
        /// Height of the child's node.
        height: u8,
        /// First position below the node.
        base: u64,
    },
    /// A node is lower than a block.
    #[error("a node of height {height} is below a block of height {block}")]
    BelowBlock {
        /// Height of the node.
        height: u8,
        /// Height of a block.
        block: u8,
    },
    /// A block climbs in a scheme whose blocks do not climb.
    #[error("a block of height {block} does not climb to height {height}")]
    Climb {
        /// Height of a block.
        block: u8,
        /// Height of the node.
        height: u8,
    },
    /// A leaf belongs to another block.
    #[error("index {index} is not in block {number} of 2^{block} slots")]
    OtherBlock {
        /// Position of the leaf.
        index: u64,
        /// Number of the first leaf's block.
        number: u64,
        /// Height of a block.
        block: u8,
    },
    /// A block does not have as many flags as leaves, or their number is not a power of two of at most the capacity.
    #[error("{leaves} leaves and {flags} flags in a block of {capacity}")]
    Slots {
        /// The number of leaves.
        leaves: usize,
        /// The number of flags.
        flags: usize,
        /// Slots of the largest block.
        capacity: usize,
    },
    /// No leaf of a block is a member.
    #[error("a block without a member")]
    NoMember,
    /// A level has no child.
    #[error("a level without a child")]
    NoChild,
    /// A level is as low as a block, or higher than the tree.
    #[error("a level of height {height}, not of {low} to {high}")]
    Level {
        /// Height of the level.
        height: u8,
        /// Height of the lowest level.
        low: u32,
        /// Height of the tree.
        high: u8,
    },
    /// A child does not state what the witness of its level says.
    #[error("child {child} states {stated:?}, not ({root}, {canonical:?})")]
    Stated {
        /// 0 for the left child, 1 for the right one.
        child: usize,
        /// What the child states; `None` for a child without a proof.
        stated: Option<Box<Statement>>,
        /// The child's root in the witness.
        root: Digest,
        /// The child's canonical digest in the witness.
        canonical: Option<Digest>,
    },
    /// A child without a proof has leaves.
    #[error("child {child} of height {height} is not empty")]
    NotEmpty {
        /// 0 for the left child, 1 for the right one.
        child: usize,
        /// The child's height.
        height: u8,
    },
    /// A node is not this child of the level's node.
    #[error("the node of height {height} at {base} is not child {child}")]
    OtherChild {
        /// Height of the node.
        height: u8,
        /// First position below the node.
        base: u64,
        /// 0 for the left child, 1 for the right one.
        child: usize,
    },
}

/// Compares the statement that the constraints give with the one to prove. A prover would panic, or make a proof that
/// does not verify.
///
/// # Errors
/// [`BackendError::Witness`].
pub fn check_statement(proven: Result<Statement, Violation>, stated: &Statement) -> Result<(), BackendError> {
    let proven = proven?;
    if proven == *stated {
        return Ok(());
    }
    Err(BackendError::Witness(format!("it proves {proven:?}, not {stated:?}")))
}

impl From<Violation> for BackendError {
    fn from(violation: Violation) -> Self {
        Self::Witness(violation.to_string())
    }
}

//! Reasons for refusals, with the numbers.

/// Sizes that do not make a tree, or a buffer that does not fit a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MerkleError {
    /// The number of leaves of a complete tree is not a power of its arity.
    #[error("a Merkle tree of arity {arity} over {rows} rows: their number must be a power of {arity}; pad the matrix")]
    RowCount {
        /// Requested rows.
        rows: usize,
        /// Children of a node.
        arity: usize,
    },
    /// A tree without leaves has no root.
    #[error("a Merkle tree without rows: there must be at least 1")]
    NoRows,
    /// A row without elements commits to nothing.
    #[error("a Merkle tree over rows without elements: the width must be at least 1")]
    NoColumns,
    /// The cap would be wider than the leaves.
    #[error("a cap {cap_height} levels below the root, but the tree over {rows} rows has {height}: lower the cap")]
    CapTooHigh {
        /// Levels between the cap and the root.
        cap_height: u32,
        /// Levels between the leaves and the root.
        height: u32,
        /// Rows of the matrix.
        rows: usize,
    },
    /// The sizes of the tree do not fit the address space.
    #[error("{rows} rows of {width} elements do not fit into memory")]
    TooLarge {
        /// Rows of the matrix.
        rows: usize,
        /// Elements of a row.
        width: usize,
    },
    /// The matrix is not `rows` times `width`.
    #[error("{found} elements were given for {rows} rows of {width}: {expected} are needed")]
    Elements {
        /// Elements that were given.
        found: usize,
        /// Elements that the shape requires.
        expected: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Elements of a row.
        width: usize,
    },
    /// The length of a buffer of digests does not match the shape.
    #[error("a buffer of {found} digests was given for the {buffer}: {expected} are needed")]
    Digests {
        /// The purpose of the buffer.
        buffer: &'static str,
        /// Digests that it holds.
        found: usize,
        /// Digests that the shape requires.
        expected: usize,
    },
    /// The leaf does not exist.
    #[error("leaf {index} of a Merkle tree of {rows} rows: indices are below {rows}")]
    LeafIndex {
        /// The requested leaf.
        index: usize,
        /// Rows of the matrix.
        rows: usize,
    },
    /// The leaves of an update are not in ascending order, or one is repeated.
    #[error("leaf {next} follows leaf {index}: name each leaf once, in ascending order")]
    Order {
        /// A leaf.
        index: usize,
        /// The one named after it.
        next: usize,
    },
    /// A stream was given a part of a row.
    #[error("{elements} elements were given to a stream of rows of {width}: give whole rows")]
    PartialRow {
        /// Elements that were given.
        elements: usize,
        /// Elements of a row.
        width: usize,
    },
    /// A stream was given more rows than its shape has, or ended before all rows were given.
    #[error("{found} rows were given to a stream of {expected}")]
    Rows {
        /// Rows that were given.
        found: usize,
        /// Rows of the shape.
        expected: usize,
    },
}

//! Why a commitment may be refused.

use thiserror::Error;

use crate::merkle::MerkleError;
use crate::ntt::NttError;

/// Sizes without a commitment, or columns that do not have these sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OracleError {
    /// The length is not one that a transform supports.
    #[error(transparent)]
    Ntt(#[from] NttError),
    /// The shape is not one of a tree: it has no columns, or the cap has more digests than there are rows.
    #[error(transparent)]
    Merkle(#[from] MerkleError),
    /// Another number of columns.
    #[error("{found} columns were given: the commitment is to {expected}")]
    Columns {
        /// Columns that were given.
        found: usize,
        /// Columns that the buffers are for.
        expected: usize,
    },
    /// A column of another length.
    #[error("column {column} has {found} elements: {expected} are needed")]
    Rows {
        /// Which column.
        column: usize,
        /// Its elements.
        found: usize,
        /// Elements that it needs.
        expected: usize,
    },
    /// The extension has no such row.
    #[error("leaf {leaf} of an extension of {rows} rows: indices are below {rows}")]
    Leaf {
        /// The requested row.
        leaf: usize,
        /// Rows of the extension.
        rows: usize,
    },
}

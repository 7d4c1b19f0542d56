//! What a commitment may be refused for.

use thiserror::Error;

use crate::ntt::NttError;
use crate::tree::merkle::MerkleError;

/// Sizes for which there is no commitment, or columns that do not have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OracleError {
    /// There is no transform of that length.
    #[error(transparent)]
    Ntt(#[from] NttError),
    /// There is no tree of that shape: no columns, or more digests in the cap than rows.
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
    /// There is no such row of the extension.
    #[error("leaf {leaf} of an extension of {rows} rows: indices are below {rows}")]
    Leaf {
        /// The row that was asked for.
        leaf: usize,
        /// Rows of the extension.
        rows: usize,
    },
}

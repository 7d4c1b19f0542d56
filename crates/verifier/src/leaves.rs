//! The verifier's side of a batch: its leaves, and their canonical digest.

use core::fmt;

use alloc::vec::Vec;

use evergrove_primitives::Digest;

use crate::HEIGHT_MAX;
use crate::tree::{Value, canonical_digest, leaf_digest};

/// Leaves are not a batch of a vector of this height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeavesError {
    /// No leaves: an empty batch has no proof.
    Empty,
    /// An index is outside the vector.
    Index {
        /// Place in the list, from 0.
        place: usize,
        /// The index.
        index: u64,
        /// Height of the vector.
        height: u8,
    },
    /// The indices do not strictly increase.
    Order {
        /// Place in the list, from 0.
        place: usize,
        /// The index before it.
        before: u64,
        /// The index.
        index: u64,
    },
}

impl fmt::Display for LeavesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a batch needs at least one leaf"),
            Self::Index { place, index, height } => write!(f, "index {index} at place {place} is not below 2^{height}"),
            Self::Order { place, before, index } => {
                write!(f, "index {index} at place {place} does not come after {before}")
            }
        }
    }
}

impl core::error::Error for LeavesError {}

/// Whether these leaves (index, value) are a batch of a vector of height `height`.
///
/// # Errors
/// When there are no leaves, an index is out of range, or the indices do not strictly increase.
pub fn check_batch(height: u8, leaves: &[(u64, Value)]) -> Result<(), LeavesError> {
    let bits = u32::from(height.min(HEIGHT_MAX));
    let mut before = None;
    for (place, (index, _)) in leaves.iter().enumerate() {
        let index = *index;
        if index >> bits != 0 {
            return Err(LeavesError::Index { place, index, height });
        }
        if let Some(before) = before.filter(|b| *b >= index) {
            return Err(LeavesError::Order { place, before, index });
        }
        before = Some(index);
    }
    if leaves.is_empty() { Err(LeavesError::Empty) } else { Ok(()) }
}

/// The canonical digest d of a batch of leaves (index, value) of a vector of height `height`.
///
/// A verifier that recomputes d from the leaves it was given knows, once the proof of d is accepted, that each of them
/// is in the vector. A d taken from the proof itself is only the root of some hash tree over a non-empty set of leaves
/// of the vector. It need not be canonical for them, and does not tell which leaves they are. Costs
/// `2 leaves.len() - 1` permutations, one after the other; `evergrove_commit::batch_digest` makes eight at a time.
///
/// # Errors
/// The errors of [`check_batch`].
pub fn batch_digest(height: u8, leaves: &[(u64, Value)]) -> Result<Digest, LeavesError> {
    check_batch(height, leaves)?;
    let hashed: Vec<(u64, Digest)> = leaves.iter().map(|(index, value)| (*index, leaf_digest(*index, value))).collect();
    Ok(canonical_digest(&hashed))
}

//! The Merkle paths of many slots at once.

use core::fmt;

use alloc::vec::Vec;

use evergrove_primitives::Digest;
use evergrove_primitives::hash::tree::climb;

use super::{DecodeError, Reader, Records, Writer};
use crate::tree::{Value, leaf_digest, node_digest};
use crate::{Commitment, HEIGHT_MAX};

/// The first bytes of a multiproof.
pub const MULTIPROOF_MAGIC: [u8; 4] = *b"EVGM";

const VERSION: u16 = 1;

/// The kinds of records.
const HEIGHT: u8 = 1;
const SIBLINGS: u8 = 2;

/// The siblings that lead from some slots of a vector to its root: those on their paths that are on none of these paths
/// themselves. Levels are ordered from the leaves up, and each level from left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiproof {
    /// Height of the vector.
    pub height: u8,
    /// The siblings.
    pub siblings: Vec<Digest>,
}

/// A multiproof does not show that leaves are at their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiproofError {
    /// It is for a vector of another height.
    Height {
        /// Height in the commitment.
        expected: u8,
        /// Height in the multiproof.
        found: u8,
    },
    /// The positions do not ascend, or one is outside the vector.
    Position {
        /// The position.
        index: u64,
    },
    /// There are more or fewer siblings than the positions need.
    Siblings {
        /// The needed number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// The paths lead to another root.
    Root {
        /// Root in the commitment.
        expected: Digest,
        /// Root of the paths.
        found: Digest,
    },
}

impl fmt::Display for MultiproofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Height { expected, found } => {
                write!(f, "the paths are of a vector of height {found}, the commitment's is {expected}")
            }
            Self::Position { index } => {
                write!(f, "position {index} is not above the one before, or not one of the table's")
            }
            Self::Siblings { expected, found } => {
                write!(f, "the paths have {found} siblings, these positions need {expected}")
            }
            Self::Root { expected, found } => {
                write!(f, "these rows lead to root {found}, the commitment's is {expected}")
            }
        }
    }
}

impl core::error::Error for MultiproofError {}

impl Multiproof {
    /// The multiproof of filled slots, whose positions ascend, in a vector. `node` returns the digest at a level and a
    /// position.
    ///
    /// # Errors
    /// The errors of `node`.
    pub fn new<E>(height: u8, indices: &[u64], mut node: impl FnMut(u8, u64) -> Result<Digest, E>) -> Result<Self, E> {
        let mut siblings = Vec::new();
        let paths = indices.iter().map(|index| (*index, ())).collect();
        let sibling = |level, position| {
            siblings.push(node(level, position)?);
            Ok(())
        };
        climb(height, 1, paths, sibling, |_| ())?;
        Ok(Self { height, siblings })
    }

    /// Accepts exactly when these leaves, whose positions ascend, are at their positions in the vector of the
    /// commitment. Without leaves nothing is shown. Costs at most `height + 1` permutations for each leaf.
    ///
    /// # Errors
    /// [`MultiproofError`].
    pub fn verify(&self, commitment: &Commitment, leaves: &[(u64, Value)]) -> Result<(), MultiproofError> {
        let (expected, found) = (commitment.height, self.height);
        if found != expected || found > HEIGHT_MAX {
            return Err(MultiproofError::Height { expected, found });
        }
        let mut least = 0;
        for (index, _) in leaves {
            if *index < least || index >> found != 0 {
                return Err(MultiproofError::Position { index: *index });
            }
            least = index + 1;
        }
        let digests = leaves.iter().map(|(index, value)| (*index, leaf_digest(*index, value))).collect();
        let mut used = 0;
        let sibling = |_, _| {
            used += 1;
            // Too few siblings are an error below, for every root.
            Ok::<_, core::convert::Infallible>(self.siblings.get(used - 1).copied().unwrap_or(Digest::ZERO))
        };
        let Ok(top) = climb(found, 1, digests, sibling, |pair| node_digest(&pair[0], &pair[1]));
        if used != self.siblings.len() {
            return Err(MultiproofError::Siblings { expected: used, found: self.siblings.len() });
        }
        match top.first() {
            Some(&(_, found)) if found != commitment.root => {
                Err(MultiproofError::Root { expected: commitment.root, found })
            }
            _ => Ok(()),
        }
    }

    /// The file's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::header(MULTIPROOF_MAGIC, VERSION);
        w.record(HEIGHT, |w| w.bytes(&[self.height]));
        w.record(SIBLINGS, |w| w.digests(&self.siblings));
        w.0
    }

    /// The multiproof in a file.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        r.header(MULTIPROOF_MAGIC, "file of Merkle paths", &[VERSION])?;
        let mut records = Records::new(r);
        let mut first = records.next(HEIGHT, "height")?;
        let height = first.u8("height")?;
        first.finish()?;
        if !(1..=HEIGHT_MAX).contains(&height) {
            return Err(DecodeError::Range { what: "height", found: height.into(), max: HEIGHT_MAX.into() });
        }
        let mut second = records.next(SIBLINGS, "siblings")?;
        let siblings = second.digests(second.left() / 32, "sibling")?;
        second.finish()?;
        records.finish()?;
        Ok(Self { height, siblings })
    }
}

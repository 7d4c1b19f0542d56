//! The opening of one slot.

use core::fmt;

use alloc::vec::Vec;

use evergrove_primitives::Digest;

use super::{DecodeError, FORMAT_VERSION, Reader, Records, Writer};
use crate::tree::{Value, leaf_digest, null_digest, root_of_path};
use crate::{Commitment, HEIGHT_MAX};

/// The first bytes of an opening file.
pub const OPENING_MAGIC: [u8; 4] = *b"EVGO";

/// The kinds of records.
const SLOT: u8 = 1;
const PATH: u8 = 2;

/// The value of one slot with its Merkle path, `height` digests.
///
/// An empty slot opens to `None`: its leaf is null_0, which no value has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The slot.
    pub index: u64,
    /// Height of the vector.
    pub height: u8,
    /// The value, `None` when the slot is empty.
    pub value: Option<Value>,
    /// Siblings on the path, bottom up, `height` in number.
    pub siblings: Vec<Digest>,
}

/// An opening does not show what it claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningError {
    /// The opening is for a vector of another height.
    Height {
        /// Height in the commitment.
        expected: u8,
        /// Height in the opening.
        found: u8,
    },
    /// The index is outside the vector.
    Index {
        /// The index.
        index: u64,
        /// Height of the vector.
        height: u8,
    },
    /// The length of the path differs from the height.
    PathLength {
        /// Height of the vector.
        expected: u8,
        /// Digests in the path.
        found: usize,
    },
    /// The path leads to another root.
    Root {
        /// The index.
        index: u64,
        /// Root in the commitment.
        expected: Digest,
        /// Root of the path.
        found: Digest,
    },
}

impl fmt::Display for OpeningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Height { expected, found } => {
                write!(f, "the opening is of a vector of height {found}, the commitment's is {expected}")
            }
            Self::Index { index, height } => write!(f, "index {index} is not below 2^{height}"),
            Self::PathLength { expected, found } => {
                write!(f, "the path has {found} digests, a vector of height {expected} needs {expected}")
            }
            Self::Root { index, expected, found } => {
                write!(f, "slot {index} with this value leads to root {found}, the commitment's is {expected}")
            }
        }
    }
}

impl core::error::Error for OpeningError {}

impl Opening {
    /// Accepts exactly when the path leads from the slot to the commitment's root, where the index determines the
    /// turns. Costs `height + 1` permutations.
    pub fn verify(&self, commitment: &Commitment) -> Result<(), OpeningError> {
        let Self { index, height, .. } = *self;
        if height != commitment.height {
            return Err(OpeningError::Height { expected: commitment.height, found: height });
        }
        if self.siblings.len() != height as usize {
            return Err(OpeningError::PathLength { expected: height, found: self.siblings.len() });
        }
        if height > HEIGHT_MAX || index >> height != 0 {
            return Err(OpeningError::Index { index, height });
        }
        let leaf = match &self.value {
            Some(value) => leaf_digest(index, value),
            None => null_digest(0),
        };
        let found = root_of_path(leaf, index, &self.siblings);
        if found != commitment.root {
            return Err(OpeningError::Root { index, expected: commitment.root, found });
        }
        Ok(())
    }

    /// The file's bytes.
    ///
    /// # Panics
    /// If the number of siblings is not `height`.
    pub fn encode(&self) -> Vec<u8> {
        assert_eq!(self.siblings.len(), self.height as usize, "a path has one sibling per level");
        let mut w = Writer::header(OPENING_MAGIC, FORMAT_VERSION);
        w.record(SLOT, |w| {
            w.bytes(&[self.height]);
            w.bytes(&self.index.to_le_bytes());
            match &self.value {
                None => w.bytes(&[0]),
                Some(value) => {
                    w.bytes(&[1]);
                    w.elements(value);
                }
            }
        });
        w.record(PATH, |w| w.digests(&self.siblings));
        w.0
    }

    /// The opening in a file of version 1 or 2.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if r.header(OPENING_MAGIC, "opening file", &[1, FORMAT_VERSION])? == 1 {
            let (height, index, value) = Self::read_slot(&mut r)?;
            let siblings = r.digests(height as usize, "path")?;
            r.finish()?;
            return Ok(Self { index, height, value, siblings });
        }
        let mut records = Records::new(r);
        let mut slot = records.next(SLOT, "slot")?;
        let (height, index, value) = Self::read_slot(&mut slot)?;
        slot.finish()?;
        let mut path = records.next(PATH, "path")?;
        let siblings = path.digests(height as usize, "path")?;
        path.finish()?;
        records.finish()?;
        Ok(Self { index, height, value, siblings })
    }

    fn read_slot(r: &mut Reader<'_>) -> Result<(u8, u64, Option<Value>), DecodeError> {
        let height = r.u8("height")?;
        if !(1..=HEIGHT_MAX).contains(&height) {
            return Err(DecodeError::Range { what: "height", found: height.into(), max: HEIGHT_MAX.into() });
        }
        let index = r.u64("index")?;
        let max = (1 << height) - 1;
        if index > max {
            return Err(DecodeError::Range { what: "index", found: index, max });
        }
        let value = match r.u8("slot tag")? {
            0 => None,
            1 => Some(r.digest("value")?.0),
            found => return Err(DecodeError::Code { what: "slot tag", found }),
        };
        Ok((height, index, value))
    }
}

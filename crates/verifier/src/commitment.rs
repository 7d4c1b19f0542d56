//! The public commitment to a vector.

use alloc::string::String;
use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use evergrove_primitives::Digest;
use evergrove_primitives::hash::ParseDigestError;

use crate::tree::{node_digest, null_digests};

/// The name of Evergrove's own scheme in commitments and proofs.
pub const SCHEME: &str = "evergrove1";
/// The greatest height of a vector: 2^40 slots.
pub const HEIGHT_MAX: u8 = 40;

/// The public commitment to a vector: scheme, height H and Merkle root C.
///
/// It includes the height: the same root opened at two heights would name two vectors. The only text form is
/// `evergrove1:27:<64 hexadecimal characters>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Commitment {
    /// Height of the tree: the vector has 2^height slots.
    pub height: u8,
    /// C, the Merkle root.
    pub root: Digest,
}

impl Commitment {
    /// The commitment to the same slots in a vector of this height, whose further slots are empty: C' = H2(C, null_H)
    /// for each new level. A commitment of at least this height is returned as it is. At most 2 permutations per level
    /// up to `height`.
    pub fn grown(&self, height: u8) -> Self {
        let nulls = null_digests(height);
        let above = nulls.get(usize::from(self.height)..usize::from(height)).unwrap_or_default();
        let root = above.iter().fold(self.root, |root, null| node_digest(&root, null));
        Self { height: self.height.max(height), root }
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}:{}:{}", self.height, self.root)
    }
}

/// The text is not a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseCommitmentError {
    /// Not of the form `scheme:height:root`.
    Form,
    /// The scheme is not [`SCHEME`].
    Scheme(String),
    /// The height is not a number from 1 to [`HEIGHT_MAX`] without leading zeros.
    Height(String),
    /// The root is not a digest.
    Root(ParseDigestError),
}

impl fmt::Display for ParseCommitmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => write!(f, "a commitment reads {SCHEME}:HEIGHT:ROOT"),
            Self::Scheme(s) => write!(f, "unknown scheme {s:?}: this program knows {SCHEME}"),
            Self::Height(h) => write!(f, "height {h:?} is not a number from 1 to {HEIGHT_MAX}"),
            Self::Root(e) => write!(f, "root: {e}"),
        }
    }
}

impl core::error::Error for ParseCommitmentError {}

impl FromStr for Commitment {
    type Err = ParseCommitmentError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let mut parts = s.split(':');
        let (Some(scheme), Some(height), Some(root), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(ParseCommitmentError::Form);
        };
        if scheme != SCHEME {
            return Err(ParseCommitmentError::Scheme(scheme.into()));
        }
        let bad_height = || ParseCommitmentError::Height(height.into());
        let h: u8 = height.parse().map_err(|_| bad_height())?;
        if !(1..=HEIGHT_MAX).contains(&h) || h.to_string() != height {
            return Err(bad_height());
        }
        let root = root.parse().map_err(ParseCommitmentError::Root)?;
        Ok(Self { height: h, root })
    }
}

//! Digests: four field elements, 32 bytes, 64 hexadecimal characters.

use core::fmt;
use core::str::FromStr;

use crate::field::{Goldilocks, NonCanonical};

/// The output of a hash: four field elements.
///
/// As bytes: 4 x 8 bytes, each element little-endian and canonical. As text: those 32 bytes in lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Digest(pub [Goldilocks; 4]);

impl Digest {
    /// Four zeros. As a canonical digest it means "no member" (section 3.1 of the Reckle paper).
    pub const ZERO: Self = Self([Goldilocks::ZERO; 4]);

    /// The 32 bytes of the digest.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut out = [0; 32];
        for (chunk, x) in out.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&x.as_u64().to_le_bytes());
        }
        out
    }

    /// The digest of these bytes, or an error when an element is not canonical.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, NonCanonical> {
        let mut out = Self::ZERO;
        for (x, chunk) in out.0.iter_mut().zip(bytes.chunks_exact(8)) {
            let mut le = [0; 8];
            le.copy_from_slice(chunk);
            *x = Goldilocks::from_canonical(u64::from_le_bytes(le))?;
        }
        Ok(out)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_bytes().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A text is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseDigestError {
    /// The text is not 64 hexadecimal characters in lower case.
    NotHex,
    /// One of the four elements is not below p.
    NonCanonical(NonCanonical),
}

impl fmt::Display for ParseDigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHex => f.write_str("a digest is 64 hexadecimal characters in lower case"),
            Self::NonCanonical(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for ParseDigestError {}

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let text = s.as_bytes();
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(ParseDigestError::NotHex);
        }
        let nibble = |c: u8| match c {
            b'0'..=b'9' => Ok(c - b'0'),
            b'a'..=b'f' => Ok(c - b'a' + 10),
            _ => Err(ParseDigestError::NotHex),
        };
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Self::from_bytes(&bytes).map_err(ParseDigestError::NonCanonical)
    }
}

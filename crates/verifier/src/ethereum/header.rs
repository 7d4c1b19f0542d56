//! The header of a block: its hash, its roots and the frame that fixes their places.

use core::fmt;

use alloc::vec::Vec;

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};

use super::rlp::{Reader, RlpError};
use super::{Hash, Hex, Roots, Tag};

/// Longest header in bytes: 8 blocks of Keccak.
pub const HEADER_MAX: usize = 8 * RATE_BYTES - 1;
/// Shortest header in bytes: 4 blocks of Keccak. Headers of mainnet have 4 or 5 so far.
const HEADER_MIN: usize = 3 * RATE_BYTES;
/// Numbers of fields, from Frontier's on.
const FIELDS: core::ops::RangeInclusive<usize> = 15..=24;
/// The bytes of the header's frame, with their places: the headers of the strings before the fields of fixed length.
///
/// A message with this frame has its state root at byte 91, its transactions root at 124 and its receipts root at 157.
pub const HEADER_FRAME: [(usize, u8); 10] = [
    (0, 0xf9),
    (3, 0xa0),
    (36, 0xa0),
    (69, 0x94),
    (90, 0xa0),
    (123, 0xa0),
    (156, 0xa0),
    (189, 0xb9),
    (190, 0x01),
    (191, 0x00),
];

/// The contents of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Keccak-256 of the header's bytes: the hash of the block.
    pub hash: Hash,
    /// The hash of the block before it.
    pub parent: Hash,
    /// The roots of the block's tries after the block: state, transactions, receipts, and since Shanghai withdrawals.
    pub roots: Roots,
    /// The number of the block.
    pub number: u64,
    /// Seconds since 1970.
    pub time: u64,
    /// Blocks of Keccak: 4 to 8.
    pub blocks: usize,
    /// The header's bytes.
    pub bytes: Vec<u8>,
}

/// Bytes that are not a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// Too short or too long.
    Length {
        /// The number of bytes found.
        found: usize,
    },
    /// A byte differs from that of all headers.
    Frame {
        /// Its place.
        at: usize,
        /// The byte that headers have.
        expected: u8,
        /// The byte found.
        found: u8,
    },
    /// There are fewer fields than the first fork has, or more than a later one may have.
    Fields {
        /// The number found.
        found: usize,
    },
    /// A field that cannot be read.
    Rlp(RlpError),
    /// The hash is not the expected one.
    Hash {
        /// The expected hash.
        expected: Hash,
        /// The hash of the bytes.
        found: Hash,
    },
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { found } => write!(f, "a header has {HEADER_MIN} to {HEADER_MAX} bytes, got {found}"),
            Self::Frame { at, expected, found } => {
                write!(f, "not a block header: expected {expected:#04x} at byte {at}, got {found:#04x}")
            }
            Self::Fields { found } => {
                write!(f, "a header has {} to {} fields, got {found}", FIELDS.start(), FIELDS.end())
            }
            Self::Rlp(e) => write!(f, "invalid header: {e}"),
            Self::Hash { expected, found } => {
                write!(f, "header has hash {}, expected {}: it is another block's", Hex(found), Hex(expected))
            }
        }
    }
}

impl core::error::Error for HeaderError {}

impl From<RlpError> for HeaderError {
    fn from(error: RlpError) -> Self {
        Self::Rlp(error)
    }
}

impl Header {
    /// Reads a header of any fork of mainnet; fields after the withdrawals root are strings that are not read.
    ///
    /// The hash is that of the bytes. A header does not show whether its block is in the chain: since the Merge a
    /// header carries no work, so anybody can make one with any state root.
    ///
    /// # Errors
    /// When the bytes are not a header.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        if !(HEADER_MIN..=HEADER_MAX).contains(&bytes.len()) {
            return Err(HeaderError::Length { found: bytes.len() });
        }
        for (at, expected) in HEADER_FRAME {
            if bytes[at] != expected {
                return Err(HeaderError::Frame { at, expected, found: bytes[at] });
            }
        }
        let mut outer = Reader::new(bytes);
        let mut fields = outer.list()?;
        outer.end()?;
        let mut count = {
            let (mut rest, mut count) = (fields, 0);
            while !rest.is_empty() {
                rest.string(0, HEADER_MAX)?;
                count += 1;
            }
            count
        };
        if !FIELDS.contains(&count) {
            return Err(HeaderError::Fields { found: count });
        }
        let parent = fields.bytes()?;
        let _ommers: Hash = fields.bytes()?;
        let _miner: [u8; 20] = fields.bytes()?;
        let mut roots: Vec<(Tag, Hash)> = Vec::with_capacity(4);
        for tag in [Tag::State, Tag::Transactions, Tag::Receipts] {
            roots.push((tag, fields.bytes()?));
        }
        let _bloom: [u8; 256] = fields.bytes()?;
        let _difficulty: [u8; 32] = fields.integer()?;
        let number = u64::from_be_bytes(fields.integer()?);
        let _limit: [u8; 8] = fields.integer()?;
        let _used: [u8; 8] = fields.integer()?;
        let time = u64::from_be_bytes(fields.integer()?);
        let _extra = fields.string(0, HEADER_MAX)?;
        let _mix: Hash = fields.bytes()?;
        let _nonce: [u8; 8] = fields.bytes()?;
        count -= 15;
        if count > 0 {
            let _base_fee: [u8; 32] = fields.integer()?;
            count -= 1;
        }
        if count > 0 {
            roots.push((Tag::Withdrawals, fields.bytes()?));
        }
        let blocks = bytes.len() / RATE_BYTES + 1;
        Ok(Self { hash: keccak_256(bytes), parent, roots: Roots(roots), number, time, blocks, bytes: bytes.to_vec() })
    }

    /// [`Header::parse`] of the block with a known hash.
    ///
    /// # Errors
    /// As for [`Header::parse`], and when the hash differs.
    pub fn with_hash(bytes: &[u8], expected: &Hash) -> Result<Self, HeaderError> {
        let header = Self::parse(bytes)?;
        if header.hash == *expected {
            Ok(header)
        } else {
            Err(HeaderError::Hash { expected: *expected, found: header.hash })
        }
    }
}

//! Wire formats, version 1: bytes in, typed data out, and back.
//!
//! Every decoder here accepts exactly the bytes that the matching encoder writes, checks every length before it allocates,
//! refuses trailing bytes and elements that are not canonical, and never panics. The bytes are specified in
//! `docs/formats.md`.

mod artifact;
mod codec;
mod error;
mod opening;
mod paths;
mod reader;
mod shape;
mod snark;

pub use artifact::{BatchProof, PROOF_MAGIC};
pub use codec::{decode, encode, encoded_len, open};
pub use error::DecodeError;
pub use opening::{OPENING_MAGIC, Opening, OpeningError};
pub use paths::{ScalarHasher, TreeHasher};
pub use reader::{Reader, Writer};
pub use shape::{FriStep, SnarkParams, SnarkShape};
pub use snark::{Ext, OpenedLeaf, OpenedSnark, Openings, Query, Snark};

/// Version of every encoding in this module, written into each file after its magic.
pub const FORMAT_VERSION: u16 = 1;

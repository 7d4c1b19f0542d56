//! Wire formats: from bytes to typed data and back.
//!
//! Files are written in version 2, a sequence of [`Records`]; proofs and openings of version 1 are read too. A decoder
//! accepts one encoding of each value in each version, checks every length before it allocates, refuses trailing bytes,
//! unknown records and elements that are not canonical, and never panics. `docs/formats.md` specifies the bytes.

mod artifact;
mod bundle;
mod codec;
mod error;
mod multiproof;
mod opening;
mod paths;
mod reader;
mod records;
mod shape;
mod snark;

pub use artifact::{BatchProof, PROOF_MAGIC};
pub use bundle::{Bundle, BundleError, RowsForm};
pub use codec::{decode, encode, encoded_len, open};
pub use error::DecodeError;
pub use multiproof::{MULTIPROOF_MAGIC, Multiproof, MultiproofError};
pub use opening::{OPENING_MAGIC, Opening, OpeningError};
pub use reader::{Reader, Writer};
pub use records::Records;
pub use shape::{FriStep, SnarkParams, SnarkShape};
pub use snark::{Ext, OpenedLeaf, OpenedSnark, Openings, Query, Snark};

/// Version of the written files; it follows their magic. Key files have version 1.
pub const FORMAT_VERSION: u16 = 2;

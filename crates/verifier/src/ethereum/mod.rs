//! Statements about Ethereum's state: claims, their canonical digest, the roots under which they are true, and the
//! meaning of an accepted proof.
//!
//! A proof of the scheme [`SCHEME`] has a list of [`Roots`] and a digest d. It states: *there is a non-empty set of
//! claims with distinct keys, a binary hash tree with root d whose leaves are exactly their digests, and each claim is
//! true in every trie whose root is the listed one of its tag.* A verifier with the claims recomputes d by
//! [`canonical_digest`]. [`Shown`] prints what this shows, and what it does not.
//!
//! `docs/math/ethereum.md` has the definitions and the theorem. Nothing here needs a proof system; tries are in `evergrove-ethereum`.

mod claim;
mod digest;
mod header;
pub mod rlp;
mod shown;
mod slot;

use core::fmt;

use alloc::vec::Vec;

pub use claim::{Account, Claim, Key, NODE_MAX, VALUE_MAX};
pub use digest::{Arity, CLAIMS_MAX, ClaimsError, canonical_digest, canonical_digest_of, sorted};
pub use header::{HEADER_FRAME, HEADER_MAX, Header, HeaderError};
pub use shown::{Anchor, Shown};
pub use slot::{SlotRule, Step};

/// The name of the scheme.
pub const SCHEME: &str = "evergrove1-mpt";
/// The root of a trie without keys: Keccak-256 of the byte 0x80.
pub const EMPTY_ROOT: Hash = [
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e, 0x5b, 0x48, 0xe0,
    0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
];
/// The code hash of an account without code: Keccak-256 of no bytes.
pub const EMPTY_CODE: Hash = [
    0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0, 0xe5, 0x00, 0xb6,
    0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
];

/// A Keccak-256 digest, its bytes in the order of the hash.
pub type Hash = [u8; 32];
/// The address of an account.
pub type Address = [u8; 20];
/// A number of 256 bits, most significant byte first.
pub type Word = [u8; 32];

/// Bytes as text: `0x` and two hexadecimal digits a byte.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// The trie of a block that a root belongs to. The tag alone decides what keys and values are: under a root of
/// transactions, the senders choose the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tag {
    /// Accounts by keccak(address), with a trie of slots by keccak(slot) below each.
    State = 1,
    /// Transactions by rlp(index).
    Transactions = 2,
    /// Receipts by rlp(index).
    Receipts = 3,
    /// Withdrawals by rlp(index).
    Withdrawals = 4,
}

impl Tag {
    /// All tags, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::State, Self::Transactions, Self::Receipts, Self::Withdrawals];

    /// The tag's name: `state`, `transactions`, `receipts` or `withdrawals`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Transactions => "transactions",
            Self::Receipts => "receipts",
            Self::Withdrawals => "withdrawals",
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The roots that a proof is about: one to four, in the order of their tags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roots(Vec<(Tag, Hash)>);

impl Roots {
    /// A list of roots; `None` if it is empty or its tags do not strictly increase.
    pub fn new(roots: Vec<(Tag, Hash)>) -> Option<Self> {
        let increasing = roots.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (increasing && !roots.is_empty()).then_some(Self(roots))
    }

    /// The root of the state alone.
    pub fn of_state(root: Hash) -> Self {
        Self(Vec::from([(Tag::State, root)]))
    }

    /// The roots that claims are about; `None` if one of them is not listed, or there are no claims.
    pub fn of_claims(&self, claims: &[Claim]) -> Option<Self> {
        let about = |tag: Tag| claims.iter().any(|claim| claim.tag() == tag);
        let roots = Tag::ALL.into_iter().filter(|tag| about(*tag)).map(|tag| Some((tag, *self.get(tag)?)));
        Self::new(roots.collect::<Option<_>>()?)
    }

    /// The root of a tag, if it is listed.
    pub fn get(&self, tag: Tag) -> Option<&Hash> {
        self.0.iter().find(|(t, _)| *t == tag).map(|(_, root)| root)
    }

    /// The list.
    pub fn iter(&self) -> impl Iterator<Item = &(Tag, Hash)> {
        self.0.iter()
    }
}

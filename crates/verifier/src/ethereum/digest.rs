//! The canonical digest of a set of claims.

use core::fmt;

use alloc::boxed::Box;
use alloc::vec::Vec;

use evergrove_primitives::Digest;
use evergrove_primitives::hash::poseidon::{domain_tag, hash_tagged};

use super::claim::{Key, VALUE_MAX};
use super::{Claim, Tag};
use crate::tree::node_digest;

/// The greatest number of claims of one batch.
pub const CLAIMS_MAX: usize = 1 << 20;

/// Claims that have no canonical digest. Places are numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimsError {
    /// No claims: an empty batch has no proof.
    Empty,
    /// There are more than [`CLAIMS_MAX`].
    TooMany {
        /// Their number.
        found: usize,
    },
    /// Two claims about the same account (present or absent), the same slot or the same entry.
    Duplicate {
        /// Place of the first.
        first: usize,
        /// Place of the second.
        second: usize,
        /// The second claim.
        claim: Box<Claim>,
    },
    /// An entry of the state trie.
    Trie {
        /// Its place.
        place: usize,
    },
    /// An entry without bytes, or with more than [`VALUE_MAX`].
    Length {
        /// Its place.
        place: usize,
        /// Its length.
        found: usize,
    },
}

impl fmt::Display for ClaimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a batch needs at least one claim"),
            Self::TooMany { found } => write!(f, "{found} claims: a batch has at most {CLAIMS_MAX}"),
            Self::Duplicate { first, second, claim } => {
                write!(f, "claims {first} and {second} are about the same thing; keep one ({claim})")
            }
            Self::Trie { place } => {
                write!(f, "claim {place} is an entry of the state trie: name transactions, receipts or withdrawals")
            }
            Self::Length { place, found } => {
                write!(f, "claim {place} has a value of {found} bytes: expected 1 to {VALUE_MAX}")
            }
        }
    }
}

impl core::error::Error for ClaimsError {}

/// The claims' keys in increasing order, each with the claim's place in `claims`.
///
/// # Errors
/// When there are no claims or too many, two have one key, or an entry is impossible.
pub fn sorted(claims: &[Claim]) -> Result<Vec<(Key, usize)>, ClaimsError> {
    if claims.is_empty() {
        return Err(ClaimsError::Empty);
    }
    if claims.len() > CLAIMS_MAX {
        return Err(ClaimsError::TooMany { found: claims.len() });
    }
    for (place, claim) in claims.iter().enumerate() {
        match claim {
            Claim::Entry { trie: Tag::State, .. } | Claim::AbsentEntry { trie: Tag::State, .. } => {
                return Err(ClaimsError::Trie { place });
            }
            Claim::Entry { value, .. } if !(1..=VALUE_MAX).contains(&value.len()) => {
                return Err(ClaimsError::Length { place, found: value.len() });
            }
            _ => {}
        }
    }
    let mut keys: Vec<(Key, usize)> = claims.iter().map(Claim::key).zip(0..).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(keys),
        Some(pair) => {
            let (first, second) = (pair[0].1, pair[1].1);
            Err(ClaimsError::Duplicate { first, second, claim: Box::new(claims[second].clone()) })
        }
    }
}

/// The canonical digest d of claims in any order: [`canonical_digest_of`] their leaf digests at their keys, with q = 2.
///
/// Costs one permutation of Poseidon for each claim and those of the leaves, and one or two permutations of Keccak for
/// each claim.
///
/// # Errors
/// The errors of [`sorted`].
pub fn canonical_digest(claims: &[Claim]) -> Result<Digest, ClaimsError> {
    let leaves: Vec<(Key, Digest)> =
        sorted(claims)?.into_iter().map(|(key, place)| (key, claims[place].leaf_digest())).collect();
    let leaves: Vec<(&[u8], Digest)> = leaves.iter().map(|(key, leaf)| (key.bytes(), *leaf)).collect();
    Ok(canonical_digest_of(Arity::Binary, &leaves))
}

/// Children of a node of the tree that a canonical digest follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// A node for each bit of a key.
    Binary,
    /// A node for each nibble of a key, as in a Merkle Patricia trie.
    Sixteen,
}

impl Arity {
    /// Digit i of a key.
    fn digit(self, key: &[u8], i: usize) -> u8 {
        match self {
            Self::Binary => key[i / 8] >> (7 - i % 8) & 1,
            Self::Sixteen => key[i / 2] >> (4 * (1 - i % 2)) & 15,
        }
    }

    /// The first digit in which two keys differ, neither of which is the beginning of the other.
    fn first_difference(self, a: &[u8], b: &[u8]) -> usize {
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let bit = 8 * same + (a[same] ^ b[same]).leading_zeros() as usize;
        match self {
            Self::Binary => bit,
            Self::Sixteen => bit / 4,
        }
    }
}

/// The canonical digest of a q-ary tree (section 3.8 of the paper) with these leaves at their keys. The digest of a
/// node is the hash of the list of its children's canonical digests; children without a leaf of the batch are left out,
/// and a single child's digest is passed through. The digest of no leaves is 0.
///
/// Two digests are hashed as in a binary tree. k > 2 digests are hashed by a sponge whose tag is `NODE` and k.
///
/// Keys must strictly increase, and no key may be the beginning of another. At most one permutation for each leaf if
/// q = 2. The depth of the recursion is at most the number of digits of a key.
///
/// # Panics
/// If a key is the beginning of the one after it.
pub fn canonical_digest_of(arity: Arity, leaves: &[(&[u8], Digest)]) -> Digest {
    match leaves {
        [] => Digest::ZERO,
        [(_, leaf)] => *leaf,
        [(first, _), .., (last, _)] => {
            let at = arity.first_difference(first, last);
            let groups = leaves.chunk_by(|a, b| arity.digit(a.0, at) == arity.digit(b.0, at));
            let children: Vec<Digest> = groups.map(|group| canonical_digest_of(arity, group)).collect();
            match &children[..] {
                [left, right] => node_digest(left, right),
                more => {
                    let elements: Vec<_> = more.iter().flat_map(|d| d.0).collect();
                    hash_tagged(&elements, domain_tag(u32::from_be_bytes(*b"NODE"), more.len()))
                }
            }
        }
    }
}

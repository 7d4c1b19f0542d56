//! Claims: their statement about a chain's state, their key, and their leaf digest.

use core::fmt;

use alloc::vec::Vec;

use evergrove_primitives::hash::keccak::{RATE_BYTES, keccak_256};
use evergrove_primitives::{Digest, Goldilocks};

use super::rlp::{self, Reader, RlpError};
use super::{Address, Hash, Hex, Tag, Word};
use crate::poseidon::{OUTPUTS, digest, join};

/// Elements that a step of a chain absorbs.
const STEP: usize = 2 * OUTPUTS;
/// Longest node of a trie in bytes: 290 blocks of Keccak, the most that one proof of a piece of a trie may hash.
pub const NODE_MAX: usize = 290 * RATE_BYTES - 1;
/// Longest value of an entry: the room that a leaf of [`NODE_MAX`] bytes has beside the longest key.
pub const VALUE_MAX: usize = NODE_MAX - 17;

/// The four fields of an account.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Account {
    /// Number of transactions sent, or of contracts created.
    pub nonce: u64,
    /// Balance in wei, most significant byte first.
    pub balance: Word,
    /// Root of the storage trie.
    pub storage_root: Hash,
    /// Keccak-256 of the code.
    pub code_hash: Hash,
}

impl Account {
    /// The RLP of the four fields: the state's value at the hash of an address.
    pub fn rlp(&self) -> Vec<u8> {
        let mut fields = Vec::with_capacity(110);
        rlp::write_string(&mut fields, rlp::trimmed(&self.nonce.to_be_bytes()));
        rlp::write_string(&mut fields, rlp::trimmed(&self.balance));
        rlp::write_string(&mut fields, &self.storage_root);
        rlp::write_string(&mut fields, &self.code_hash);
        rlp::list(&fields)
    }
    /// The account with this RLP.
    ///
    /// # Errors
    /// When it is not the RLP of an account.
    pub fn from_rlp(bytes: &[u8]) -> Result<Self, RlpError> {
        let mut outer = Reader::new(bytes);
        let mut fields = outer.list()?;
        outer.end()?;
        let nonce = u64::from_be_bytes(fields.integer()?);
        let account =
            Self { nonce, balance: fields.integer()?, storage_root: fields.bytes()?, code_hash: fields.bytes()? };
        fields.end()?;
        Ok(account)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nonce, balance, storage_root, code_hash } = self;
        let [balance, storage_root, code_hash] = [balance, storage_root, code_hash].map(|b| Hex(b));
        write!(f, "nonce {nonce}, balance {balance}, storage root {storage_root}, code hash {code_hash}")
    }
}

/// A sentence about the tries of a block. The theorem of `docs/math/ethereum.md` says when each is true.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// The account with this address has these fields.
    Account {
        /// The address.
        address: Address,
        /// The fields.
        account: Account,
    },
    /// No account has this address.
    AbsentAccount {
        /// The address.
        address: Address,
    },
    /// The slot of the account has this value. 0 says that the slot is not in the trie, or that the account is absent: a *zero slot*.
    Slot {
        /// The address of the account.
        address: Address,
        /// The number of the slot.
        slot: Word,
        /// The value.
        value: Word,
    },
    /// The trie of transactions, receipts or withdrawals has this value at an index.
    Entry {
        /// The trie.
        trie: Tag,
        /// The index.
        index: u64,
        /// The value's bytes, with the type byte of typed transactions and receipts.
        value: Vec<u8>,
    },
    /// The trie of transactions, receipts or withdrawals has nothing at an index.
    AbsentEntry {
        /// The trie.
        trie: Tag,
        /// The index.
        index: u64,
    },
}

/// The key K of a claim: the place of the claim in the canonical tree. No key is the beginning of another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<u8>);

impl Key {
    /// The bytes: 34 for accounts, 66 for slots, 2 to 10 for entries.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl Claim {
    /// The trie that the claim is about.
    pub fn tag(&self) -> Tag {
        match self {
            Self::Account { .. } | Self::AbsentAccount { .. } | Self::Slot { .. } => Tag::State,
            Self::Entry { trie, .. } | Self::AbsentEntry { trie, .. } => *trie,
        }
    }

    /// K, at the cost of one or two permutations of Keccak:
    ///
    /// | claim | K |
    /// |---|---|
    /// | account, absent account | 01, keccak(address), 00 |
    /// | slot, zero slot | 01, keccak(address), 01, keccak(slot) |
    /// | entry, absent entry | tag, rlp(index) |
    pub fn key(&self) -> Key {
        let mut key = Vec::with_capacity(66);
        key.push(self.tag() as u8);
        match self {
            Self::Account { address, .. } | Self::AbsentAccount { address } => {
                key.extend_from_slice(&keccak_256(address));
                key.push(0);
            }
            Self::Slot { address, slot, .. } => {
                key.extend_from_slice(&keccak_256(address));
                key.push(1);
                key.extend_from_slice(&keccak_256(slot));
            }
            Self::Entry { index, .. } | Self::AbsentEntry { index, .. } => key.extend(rlp::integer(*index)),
        }
        Key(key)
    }

    /// L: a chain of Poseidon from the tag of the claim's kind over its fields, eight elements a step, the last step filled with zeros.
    ///
    /// Each element is 32 bits. Addresses, hashes and values of entries are cut into groups of four bytes; the first
    /// byte of a group is the least significant, as in Keccak's lanes. Numbers are cut from their least significant
    /// end. The kind fixes the number of elements; for an entry the length does, which comes before its value.
    pub fn leaf_digest(&self) -> Digest {
        let (tag, elements) = self.elements();
        let mut state = [Goldilocks::ZERO; OUTPUTS];
        state[0] = Goldilocks::new(u32::from_be_bytes(tag).into());
        let steps = elements.as_chunks::<OUTPUTS>().0.as_chunks::<2>().0;
        Digest(steps.iter().fold(state, |state, step| digest(join(*step, state))))
    }

    /// The input of the chain L: the tag of the claim's kind, four letters, and the elements, filled up to whole steps.
    pub fn elements(&self) -> ([u8; 4], Vec<Goldilocks>) {
        let mut elements = Elements(Vec::with_capacity(32));
        let tag = match self {
            Self::Account { address, account } => {
                elements.bytes(address);
                elements.number(&account.nonce.to_be_bytes());
                elements.number(&account.balance);
                elements.bytes(&account.storage_root);
                elements.bytes(&account.code_hash);
                b"ETHA"
            }
            Self::AbsentAccount { address } => {
                elements.bytes(address);
                b"ETHN"
            }
            Self::Slot { address, slot, value } => {
                elements.bytes(address);
                elements.number(slot);
                if *value == [0; 32] {
                    b"ETHZ"
                } else {
                    elements.number(value);
                    b"ETHS"
                }
            }
            Self::Entry { trie, index, value } => {
                elements.entry(*trie, *index);
                elements.number(&(value.len() as u32).to_be_bytes());
                elements.bytes(value);
                b"ETHE"
            }
            Self::AbsentEntry { trie, index } => {
                elements.entry(*trie, *index);
                b"ETHM"
            }
        };
        let Elements(mut elements) = elements;
        elements.resize(elements.len().next_multiple_of(STEP), Goldilocks::ZERO);
        (*tag, elements)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account { address, account } => write!(f, "account {}: {account:?}", Hex(address)),
            Self::AbsentAccount { address } => write!(f, "account {}: absent", Hex(address)),
            Self::Slot { address, slot, value } => {
                write!(f, "slot {} of {} = {}", Hex(slot), Hex(address), Hex(value))
            }
            Self::Entry { trie, index, value } => {
                write!(f, "{trie} {index}: {} bytes with keccak {}", value.len(), Hex(&keccak_256(value)))
            }
            Self::AbsentEntry { trie, index } => write!(f, "{trie} {index}: absent"),
        }
    }
}

struct Elements(Vec<Goldilocks>);

impl Elements {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.chunks(4).map(|group| {
            let mut word = [0; 4];
            word[..group.len()].copy_from_slice(group);
            Goldilocks::new(u32::from_le_bytes(word).into())
        }));
    }

    /// A number of whole words, most significant byte first.
    fn number(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.as_chunks().0.iter().rev().map(|word| Goldilocks::new(u32::from_be_bytes(*word).into())));
    }

    fn entry(&mut self, trie: Tag, index: u64) {
        self.number(&(trie as u32).to_be_bytes());
        self.number(&index.to_be_bytes());
    }
}

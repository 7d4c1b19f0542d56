//! The contents of a piece's slots: nodes, the ends of keys' paths, accounts, storage, entries and open edges.

use std::ops::Range;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::RATE_BYTES;
use evergrove_verifier::ethereum::{Address, Claim, Hash, Tag, Word};

use super::super::entries::steps_of;
use super::super::{Edge, Size, Trie};

/// The number of a slot of the circuit, before the circuit's size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::mpt) enum Number {
    Root(usize),
    Branch(usize),
    Path(usize),
    Account(usize),
}

impl Number {
    pub(super) fn element(self, size: Size) -> Goldilocks {
        Goldilocks::new(match self {
            Self::Root(i) => i,
            Self::Branch(i) => size.roots + i,
            Self::Path(i) => size.first_path() + i,
            Self::Account(i) => size.first_account() + i,
        } as u64)
    }
}

/// The position of a child: the slot that offers it, the nibble there, and the place that is offered.
#[derive(Clone, Debug)]
pub(in crate::mpt) struct Link {
    pub(in crate::mpt) from: Number,
    pub(super) nibble: u8,
    /// The depth of the place that the parent offers. Above a root and below an extension it is one less than the
    /// number of nibbles.
    pub(super) depth: i64,
    /// The trie, with the number of the account.
    pub(in crate::mpt) trie: Trie<usize>,
    /// The number of the root that the child is below.
    pub(super) root: usize,
    /// The nibbles of the offered place.
    pub(super) prefix: Vec<u8>,
    pub(in crate::mpt) child: Child,
    /// True if the parent is an extension.
    pub(in crate::mpt) extension: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpt) enum Child {
    Empty,
    Hash(Hash),
    /// The address and the length of an embedded node.
    Embedded(usize, usize),
}

/// A node with a slot.
#[derive(Clone, Debug)]
pub(in crate::mpt) struct Node {
    pub(in crate::mpt) link: Link,
    /// The address of the first byte, and the number of the block behind the last one.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) leaf: bool,
}

impl Node {
    /// The number of blocks of its message.
    pub(in crate::mpt) fn blocks(&self) -> usize {
        self.end.saturating_sub(self.start / RATE_BYTES)
    }
}

/// The end of a key's path.
#[derive(Clone, Debug)]
pub(in crate::mpt) enum End {
    /// A leaf: the address of its value's item, and the address and the length of the value itself.
    Present { path: usize, item: usize, value: usize, length: usize },
    /// An empty child, or an empty trie.
    Nothing(Link),
    /// A node with another path.
    Other { path: usize, own: Own },
    /// The place of a node that the path does not enter.
    There(Link),
}

impl End {
    /// The slot of the node that shows this end.
    pub(in crate::mpt) fn at(&self) -> Number {
        match self {
            Self::Present { path, .. } | Self::Other { path, .. } => Number::Path(*path),
            Self::Nothing(link) | Self::There(link) => link.from,
        }
    }
}

/// A node with a path, as it is offered to show absences.
#[derive(Clone, Debug)]
pub(in crate::mpt) struct Own {
    pub(super) depth: usize,
    pub(super) trie: Trie<usize>,
    pub(super) root: usize,
    pub(super) prefix: Vec<u8>,
    /// The nibbles up to the end of its path, and the address behind the path.
    pub(super) end: Vec<u8>,
    pub(super) behind: usize,
}

#[derive(Clone, Debug)]
pub(in crate::mpt) struct AccountSlot {
    pub(in crate::mpt) address: Address,
    /// `None` for a foreign account.
    pub(in crate::mpt) end: Option<End>,
    /// The number of the root that the account is below.
    pub(super) root: usize,
    /// The elements of the claim.
    pub(super) claim: Option<Vec<Goldilocks>>,
}

impl AccountSlot {
    pub(super) fn is_present(&self) -> bool {
        matches!(self.end, Some(End::Present { .. }))
    }
    /// True if the account is present or foreign.
    pub(super) fn is_known(&self) -> bool {
        self.end.is_none() || self.is_present()
    }
}

#[derive(Clone, Debug)]
pub(in crate::mpt) struct StorageSlot {
    pub(in crate::mpt) account: usize,
    pub(super) slot: Word,
    /// The number of the root that the slot is below.
    pub(super) root: usize,
    /// `None` if the account is absent.
    pub(in crate::mpt) end: Option<End>,
    /// The elements of a claim with a value.
    pub(super) value: Vec<Goldilocks>,
}

#[derive(Clone, Debug)]
pub(in crate::mpt) struct EntrySlot {
    pub(in crate::mpt) trie: Tag,
    pub(super) index: u64,
    /// The number of the root that the entry is below.
    pub(super) root: usize,
    pub(in crate::mpt) end: End,
}

impl EntrySlot {
    /// Steps of its leaf digest; 0 if it is absent.
    pub(in crate::mpt) fn steps(&self) -> usize {
        self.value().map_or(0, |value| steps_of(value.len()))
    }
    /// The addresses of its value's bytes.
    pub(super) fn value(&self) -> Option<Range<usize>> {
        if let End::Present { value, length, .. } = self.end { Some(value..value + length) } else { None }
    }
    /// The elements that its leaf digest is a chain over.
    pub(super) fn elements(&self, value: &[u8]) -> Vec<Goldilocks> {
        Claim::Entry { trie: self.trie, index: self.index, value: value.to_vec() }.elements().1
    }
}

/// A slot for an open edge.
#[derive(Clone, Debug)]
pub(super) struct OpenSlot {
    pub(super) link: Link,
    pub(super) edge: Edge,
}

impl Link {
    /// The link above a root.
    pub(super) fn root(root: usize, trie: Trie<usize>, edge: &Edge) -> Self {
        Self {
            from: Number::Root(root),
            nibble: 0,
            depth: edge.prefix.len() as i64 - 1,
            trie,
            root,
            prefix: edge.prefix.clone(),
            child: Child::Hash(edge.hash),
            extension: false,
        }
    }
    /// The link above the root of an account's storage.
    pub(super) fn storage(account: usize, root: usize, hash: Hash) -> Self {
        Self {
            from: Number::Account(account),
            nibble: 0,
            depth: -1,
            trie: Trie::Storage(account),
            root,
            prefix: Vec::new(),
            child: Child::Hash(hash),
            extension: false,
        }
    }
    /// True if the edge may be between pieces.
    pub(in crate::mpt) fn may_be_open(&self) -> bool {
        let free = !self.extension && !matches!(self.from, Number::Root(_)) && self.place().len() < 64;
        free && matches!(self.child, Child::Hash(_))
    }
    /// The nibbles of the child's place.
    pub(in crate::mpt) fn place(&self) -> Vec<u8> {
        let mut nibbles = self.prefix.clone();
        if self.depth == nibbles.len() as i64 {
            nibbles.push(self.nibble);
        }
        nibbles
    }
}

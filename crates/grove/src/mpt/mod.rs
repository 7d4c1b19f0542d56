//! Claims about Ethereum's state, over the nodes that show them: one proof with all nodes, no child proofs.
//!
//! `docs/math/ethereum.md` has the statement, and what each slot of the circuit demands.

mod claims;
mod gadgets;
mod node;
mod proof;
mod witness;

use evergrove_multilinear::circuit::Builder;
use evergrove_multilinear::circuit::wires::Word;
use evergrove_multilinear::recursion::Modes;
use evergrove_primitives::field::extension::Extension;

use gadgets::{Gadgets, code};

use crate::circuit::{NODE_TAG, free};

pub use proof::{PieceProver, PieceVerifier, StateProof, StateProofError};
pub use witness::{PieceError, Witness};

/// How much a circuit has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Blocks of Keccak of the nodes.
    pub blocks: usize,
    /// Branches.
    pub branches: usize,
    /// Leaves and extensions.
    pub paths: usize,
    /// Accounts, claimed or with claimed slots.
    pub accounts: usize,
    /// Slots of storage.
    pub slots: usize,
}

impl Size {
    /// The number of the first account's slot, after those of nodes.
    fn first_account(&self) -> usize {
        1 + self.branches + self.paths
    }
    /// The number of the first storage slot's.
    fn first_slot(&self) -> usize {
        self.first_account() + self.accounts
    }
}

/// What rows of bits are for.
pub fn modes() -> Modes {
    Modes { widths: Vec::new(), zeros: vec![claims::LANE_ZEROS] }
}

/// The rows of a piece, and what it says: the key, then the state root in two words of halves, and d. A circuit has one.
///
/// # Panics
/// Unless the builder's tables have rows of bits for [`modes`], and there is an account.
pub fn piece<K: Extension>(b: &mut Builder<K>, size: Size) -> (Word, Vec<Word>) {
    assert!(size.accounts > 0, "claims are about accounts");
    let root = free(b);
    let [digest, key] = free(b);
    let set = b.set();
    let mut g = Gadgets::new(b);
    g.messages(size.blocks);
    // Slot 0 is the root of the state's trie, and its name.
    let (zero, hash) = (g.zero, g.constant(code::HASH));
    g.root(zero, zero, hash, root);
    for i in 0..size.branches {
        g.branch(1 + i as u64);
    }
    for i in 0..size.paths {
        g.path((1 + size.branches + i) as u64);
    }
    let mut before = None;
    for i in 0..size.accounts {
        before = Some(g.account((size.first_account() + i) as u64, before.as_ref(), set));
    }
    let mut before = None;
    for i in 0..size.slots {
        before = Some(g.slot((size.first_slot() + i) as u64, before.as_ref(), set));
    }
    let yes = g.yes;
    let tag = b.tag(NODE_TAG);
    for _ in 1..size.accounts + size.slots {
        let (hash, [left, right]) = b.hash_free(tag);
        let active = b.take(set, left, None);
        b.take(set, right, Some(active));
        b.give(set, hash.digest(), Some(active));
    }
    b.take(set, digest, Some(yes));
    (key, vec![root[0], root[1], digest])
}

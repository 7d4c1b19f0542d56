//! Ethereum's state, natively: partially known tries, and claims about them.
//!
//! **What.** [`Trie`] is a Merkle Patricia trie over a set of [`Nodes`]: parts outside the set are known only by their
//! hashes. [`Tries`] are the tries of a block, which tell whether a [`Claim`](evergrove_verifier::ethereum::Claim) is
//! true and take the changes of the next block. [`input`] reads the answers of Ethereum's clients.
//!
//! **When.** Before anything is proven: to make claims from answers, to check them, and to bring a batch to the next
//! block. All bytes from outside give an answer or an error: decoding is strict, walks have at most 64 steps, and sizes
//! are bounded before anything is built.
//!
//! **Neighbours.** Statements, RLP and headers are in `evergrove_verifier::ethereum`.

#![forbid(unsafe_code)]

pub mod input;
mod node;
mod nodes;
mod trie;
mod tries;

pub use node::{Keys, NodeFault};
pub use nodes::{BYTES_MAX, LimitError, NODES_MAX, Nodes};
pub use trie::{Absence, Lookup, Trie, TrieError};
pub use tries::{Change, Fault, Post, Tries, TriesError};

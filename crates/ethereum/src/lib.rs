//! Ethereum's state, natively: tries of which a part is known, and claims about them.
//!
//! **What.** [`Trie`] is a Merkle Patricia trie over a set of [`Nodes`]: what is not in the set is known by its hash alone. [`Tries`] are the tries of a
//! block, which answer whether a [`Claim`](evergrove_verifier::ethereum::Claim) is true and take the changes of the next block. [`input`] reads what
//! Ethereum's clients answer.
//!
//! **When.** Before anything is proven: to make claims from answers, to check them, and to bring a batch to the next block. Bytes from outside give
//! an answer or an error, whatever they are: decoding is strict, walks have at most 64 steps, and sizes are bounded before anything is built.
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

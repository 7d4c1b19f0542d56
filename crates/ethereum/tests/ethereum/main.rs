//! Tries, real data, and what is refused.

mod common;
mod data;
mod input;
mod mutation;
mod trie;

//! Tries, real data, and what is refused.

mod answers;
mod common;
mod data;
mod input;
mod mutation;
mod objects;
mod refused;
mod trie;

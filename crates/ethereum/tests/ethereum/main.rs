//! Tries, real data, and refusals.

mod answers;
mod common;
mod data;
mod input;
mod mutation;
mod objects;
mod refused;
mod trie;

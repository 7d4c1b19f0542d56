//! Balanced binary trees.

pub mod merkle;
pub mod sha3;

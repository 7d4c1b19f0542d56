//! Balanced binary trees.

pub mod merkle;

//! Balanced trees.

pub mod count;
pub mod merkle;
pub mod ops;
pub mod schedule;

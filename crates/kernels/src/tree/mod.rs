//! Balanced trees.

pub mod count;
pub mod ops;
pub mod schedule;

//! An example of an application: the score of a row is a weighted sum of some columns. The proof states the number of
//! rows, the total of their scores, and the greatest score.
//!
//! [`Score`] is the application, as code and as circuits. [`Scores`] makes it from stored parameters or from text.
//! `tests/laws.rs` checks the laws that connect the circuits to the code.

#![forbid(unsafe_code)]

mod circuits;
mod score;

pub use score::{Score, Scores};

//! An application of one's own: a score of every row, which is a weighted sum of some columns; proven are the number of rows, the total
//! of their scores, and the greatest.
//!
//! [`Score`] is the application, as code and as circuits; [`Scores`] makes it from stored parameters and from what people write. The
//! laws that tie the circuits to the code are checked in `tests/laws.rs`.

#![forbid(unsafe_code)]

mod circuits;
mod score;

pub use score::{Score, Scores};

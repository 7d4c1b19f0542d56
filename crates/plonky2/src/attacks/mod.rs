//! Attacks on the constraints, by assignments that a dishonest prover sets as it likes.

mod bucket;
mod merge;
mod wrap;

use crate::assignment::{Assignment, assert_refused, assert_refused_at_a_child};

//! Constant words: each row is one word, and commits to nothing.
//!
//! | fixed column | |
//! |---|---|
//! | 0 to 3 | the word |
//! | 4 | uses |

use alloc::vec::Vec;

use super::{Port, Row, WORD, defined};
use crate::algebra::Algebra;

/// Fixed columns.
pub const FIXED: usize = WORD + 1;
/// The fixed column with the number of uses.
pub const USES: usize = WORD;

pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let word = core::array::from_fn(|i| row.fixed[i]);
    out.push(defined(f, row, 0, row.fixed[USES], word));
}

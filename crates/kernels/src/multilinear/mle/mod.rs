//! Multilinear extensions (MLE): tables of 2^mu values on the hypercube.
//!
//! Index i of a table belongs to the point whose coordinate k is bit k of i: coordinate 0 is the lowest bit, as in
//! arkworks and HyperPlonk. The caller supplies the buffers; elements are those of any
//! [`Field`](evergrove_primitives::field::Field).
//!
//! | function | computes | multiplications |
//! |---|---|---|
//! | [`evaluate`] | the value at a point | 2^mu, 2^mu - 2^(mu-9) of them not reduced |
//! | [`eq_table`] | eq(x, r) for all x | 2^mu - 2 |
//! | [`product`] | the product of all values | 2^mu - 1 |
//! | [`product_table`] | HyperPlonk's product MLE: every level of the product's tree | 2^mu - 1 |
//!
//! [`crate::tree::ops`] has the same computations under any schedule.

mod build;
mod evaluate;
mod product;
pub mod reference;

pub use build::{eq_table, eq_table_on, eq_table_vec};
pub use evaluate::{evaluate, evaluate_on, evaluate_scratch};
pub use product::{product, product_on, product_table, product_table_on};

/// Lengths that do not fit a multilinear extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MleError {
    /// The length of a table does not match the point or the other table.
    #[error("{found} elements were given for the {buffer}: {expected} are needed")]
    Length {
        /// The contents of the buffer.
        buffer: &'static str,
        /// Elements that were given.
        found: usize,
        /// Elements that are needed.
        expected: usize,
    },
    /// The number of values is not a power of two.
    #[error("a multilinear extension of {found} values: their number must be a power of two")]
    NotAPower {
        /// Values that were given.
        found: usize,
    },
    /// The table for this many coordinates does not fit the address space.
    #[error("a point of {coordinates} coordinates: the {buffer} would have 2^{coordinates} elements")]
    TooLarge {
        /// The purpose of the table.
        buffer: &'static str,
        /// Coordinates of the point.
        coordinates: usize,
    },
}

/// 2^coordinates, if a slice can have this many elements.
fn table_len(buffer: &'static str, coordinates: usize) -> Result<usize, MleError> {
    let fits = coordinates <= crate::tree::schedule::MAX_HEIGHT as usize;
    if fits { Ok(1 << coordinates) } else { Err(MleError::TooLarge { buffer, coordinates }) }
}

fn check_table(buffer: &'static str, found: usize, coordinates: usize) -> Result<(), MleError> {
    let expected = table_len(buffer, coordinates)?;
    if found == expected { Ok(()) } else { Err(MleError::Length { buffer, found, expected }) }
}

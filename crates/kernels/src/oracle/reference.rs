//! The commitment as its definition reads: the reference for [`super::Workspace`].

use evergrove_primitives::{Digest, Goldilocks};

use super::{Domain, OracleError};
use crate::merkle::reference::levels;
use crate::merkle::{Poseidon, Shape};
use crate::ntt::reference::{extend, interpolate};

/// A commitment to columns of values: coefficients, leaves and levels of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitment {
    /// The coefficients of every column.
    pub coefficients: Vec<Vec<Goldilocks>>,
    /// The rows of the extension, in the order of the leaves.
    pub leaves: Vec<Vec<Goldilocks>>,
    /// The levels of the tree, the leaves' digests first and the cap last.
    pub levels: Vec<Vec<Digest>>,
}

/// Column by column, row by row, hash by hash.
///
/// # Panics
/// If a column does not have as many elements as the domain.
pub fn commit(domain: &Domain, columns: &[Vec<Goldilocks>], cap_height: u32) -> Result<Commitment, OracleError> {
    assert!(columns.iter().all(|c| c.len() == domain.lde().size()), "columns of {} elements", domain.lde().size());
    let rows = domain.lde().extended_size();
    let shape = Shape::new(rows, columns.len(), cap_height)?;
    let coefficients: Vec<_> = columns.iter().map(|values| interpolate(values, Goldilocks::ONE)).collect();
    let extend = |c: &Vec<Goldilocks>| extend(c, domain.lde().rate_bits(), Goldilocks::GENERATOR);
    let values: Vec<_> = coefficients.iter().map(extend).collect();
    let mut leaves = vec![Vec::new(); rows];
    for index in 0..rows {
        leaves[domain.leaf(index)] = values.iter().map(|column| column[index]).collect();
    }
    let levels = levels(Poseidon, &shape, &leaves.concat())?;
    Ok(Commitment { coefficients, leaves, levels })
}

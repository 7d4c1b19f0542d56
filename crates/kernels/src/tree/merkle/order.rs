//! Trees over matrices whose rows do not lie one behind the other in the order of the leaves.

use rayon::prelude::*;

use super::build::levels_above;
use super::shape::check_digests;
use super::{BLOCK, MerkleError, Shape, TreeHash};

/// Rows that are brought together at a time: a cache line holds eight words of a column.
const TILE: usize = 64;

/// Where the elements of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row i at `i * width`, one behind the other.
    RowMajor,
    /// Column j at `j * rows`, one behind the other: the values of polynomials.
    ColumnMajor,
}

/// Which row is leaf i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row i.
    Natural,
    /// The row whose number has the bits of i in reverse: what a commitment to a low-degree extension takes.
    BitReversed,
}

/// [`build`](super::build) over rows that lie in columns or are taken in bit-reversed order.
///
/// Rows are hashed in the order in which they lie, and the digests are moved. Elements in columns are copied once, `TILE`
/// rows at a time.
///
/// Errors as [`build`](super::build) does, and if the rows in bit-reversed order are no power of two.
pub fn build_ordered<H: TreeHash>(
    hash: H,
    shape: &Shape,
    layout: Layout,
    order: Order,
    elements: &[H::Element],
    nodes: &mut [H::Digest],
) -> Result<(), MerkleError> {
    shape.check_elements(elements)?;
    check_digests("nodes", nodes, shape.nodes())?;
    let (rows, width) = (shape.rows(), shape.width());
    if order == Order::BitReversed && !rows.is_power_of_two() {
        return Err(MerkleError::BitReversal { rows });
    }
    let leaves = &mut nodes[..rows];
    match layout {
        Layout::RowMajor => leaves
            .par_chunks_mut(BLOCK)
            .zip(elements.par_chunks(BLOCK * width))
            .for_each(|(digests, rows)| hash.leaves(rows, width, digests)),
        Layout::ColumnMajor => leaves.par_chunks_mut(TILE).enumerate().for_each_init(
            || vec![H::Element::default(); TILE * width],
            |tile, (i, digests)| {
                let tile = &mut tile[..digests.len() * width];
                for (j, column) in elements.chunks(rows).enumerate() {
                    let column = &column[i * TILE..][..digests.len()];
                    for (row, x) in tile.chunks_mut(width).zip(column) {
                        row[j] = *x;
                    }
                }
                hash.leaves(tile, width, digests);
            },
        ),
    }
    if order == Order::BitReversed && rows > 1 {
        let bits = rows.ilog2();
        for i in 0..rows {
            let j = i.reverse_bits() >> (usize::BITS - bits);
            if i < j {
                leaves.swap(i, j);
            }
        }
    }
    levels_above(hash, shape, 0, nodes);
    Ok(())
}

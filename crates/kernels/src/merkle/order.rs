//! Trees over matrices whose rows are not stored one after the other in the order of the leaves.

use rayon::prelude::*;

use super::build::{combine, levels_above};
use super::shape::check_digests;
use super::{BLOCK, MerkleError, Shape, TreeHash};

/// Rows that are collected at a time: a cache line holds eight words of a column.
const TILE: usize = 64;

/// The layout of the elements of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row i at `i * width`, one after the other.
    RowMajor,
    /// Column j at `j * rows`, one after the other: the values of polynomials.
    ColumnMajor,
}

/// The row of leaf i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row i.
    Natural,
    /// The row whose number has the bits of i in reverse, as in a commitment to a low-degree extension.
    BitReversed,
}

impl Order {
    /// Errors for rows that cannot be used in this order.
    pub(super) fn check(self, rows: usize) -> Result<(), MerkleError> {
        match self {
            Self::BitReversed if !rows.is_power_of_two() => Err(MerkleError::BitReversal { rows }),
            _ => Ok(()),
        }
    }
}

/// [`build`](super::build) over rows that are stored in columns or used in bit-reversed order.
///
/// Rows are hashed in the order of storage, and the digests are moved. Elements in columns are copied once, `TILE` rows
/// at a time.
///
/// Errors as [`build`](super::build), and if the number of rows in bit-reversed order is not a power of two.
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
    order.check(shape.rows())?;
    leaves(hash, shape, layout, elements, &mut nodes[..shape.rows()]);
    if order == Order::BitReversed {
        reverse(&mut nodes[..shape.rows()]);
    }
    levels_above(hash, shape, 0, nodes);
    Ok(())
}

/// [`cap`](super::cap) over rows that are stored in columns or used in bit-reversed order.
///
/// Makes the hashes of [`build_ordered`], and holds its nodes up to the level above the leaves: `scratch` has
/// [`Shape::ordered_scratch`] digests. For rows that are stored in the order of the leaves it calls
/// [`cap`](super::cap).
///
/// Errors as [`build_ordered`].
pub fn cap_ordered<H: TreeHash>(
    hash: H,
    shape: &Shape,
    layout: Layout,
    order: Order,
    elements: &[H::Element],
    scratch: &mut [H::Digest],
    cap: &mut [H::Digest],
) -> Result<(), MerkleError> {
    shape.check_elements(elements)?;
    check_digests("scratch", scratch, shape.ordered_scratch())?;
    check_digests("cap", cap, shape.cap_len())?;
    order.check(shape.rows())?;
    if (layout, order) == (Layout::RowMajor, Order::Natural) {
        return super::cap(hash, shape, elements, &mut scratch[..shape.scratch()], cap);
    }
    let (scratch, spare) = scratch.split_at_mut(shape.rows());
    leaves(hash, shape, layout, elements, scratch);
    if order == Order::BitReversed {
        reverse(scratch);
    }
    for level in 1..shape.levels() {
        let (below, len) = (shape.len(level - 1), shape.len(level));
        combine(hash, shape.arity().get(), &scratch[..below], &mut spare[..len]);
        scratch[..len].copy_from_slice(&spare[..len]);
    }
    cap.copy_from_slice(&scratch[..cap.len()]);
    Ok(())
}

/// The digests of all rows, in the order of the row numbers.
fn leaves<H: TreeHash>(hash: H, shape: &Shape, layout: Layout, elements: &[H::Element], leaves: &mut [H::Digest]) {
    let (rows, width) = (shape.rows(), shape.width());
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
}

/// Moves entry i to the place with the bits of i in reverse, for a power of two of entries.
pub(super) fn reverse<D>(digests: &mut [D]) {
    let bits = digests.len().ilog2();
    for i in 0..digests.len() {
        let j = crate::ntt::reverse(i, bits);
        if i < j {
            digests.swap(i, j);
        }
    }
}

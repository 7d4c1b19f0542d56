//! Trees with changed leaves.

use rayon::prelude::*;

use super::shape::{check_digests, check_rows};
use super::{BLOCK, MerkleError, Shape, TreeHash};

/// Buffers of [`update`], for reuse.
#[derive(Clone, Debug, Default)]
pub struct Workspace<D> {
    /// Positions of the nodes of a level that change.
    positions: Vec<usize>,
    children: Vec<D>,
    digests: Vec<D>,
}

/// Changes the rows `indices`, strictly ascending, to `rows`, one after the other, and hashes the nodes above them.
///
/// `nodes` is the result of [`build`](super::build) for the same shape, and afterwards equals its result for the new
/// rows. A node above several changed leaves is hashed once; a node above no changed leaf is not touched. Returns the
/// number of nodes hashed: at most k times the number of levels, for k leaves.
///
/// Errors, and changes nothing, if the sizes do not match, an index is not below the number of rows, or they do not ascend.
pub fn update<H: TreeHash>(
    hash: H,
    shape: &Shape,
    nodes: &mut [H::Digest],
    indices: &[usize],
    rows: &[H::Element],
    work: &mut Workspace<H::Digest>,
) -> Result<usize, MerkleError> {
    check_digests("nodes", nodes, shape.nodes())?;
    check_rows(rows, indices.len(), shape.width())?;
    check_ascending(shape, indices)?;
    let Workspace { positions, children, digests } = work;
    let arity = shape.arity().get();
    positions.clear();
    positions.extend_from_slice(indices);
    digests.resize(indices.len(), H::Digest::default());
    digests
        .par_chunks_mut(BLOCK)
        .zip(rows.par_chunks(BLOCK * shape.width()))
        .for_each(|(digests, rows)| hash.leaves(rows, shape.width(), digests));
    let mut hashed = positions.len();
    scatter(positions, digests, nodes);
    let mut below = 0;
    for level in 1..shape.levels() {
        let start = below + shape.len(level - 1);
        positions.iter_mut().for_each(|p| *p >>= shape.arity().log());
        positions.dedup();
        children.clear();
        for position in positions.iter() {
            // The last group of a padded tree may be short.
            let group = &nodes[below..start][position * arity..];
            let group = &group[..arity.min(group.len())];
            children.extend_from_slice(group);
            children.extend(core::iter::repeat_n(H::Digest::default(), arity - group.len()));
        }
        digests.resize(positions.len(), H::Digest::default());
        digests
            .par_chunks_mut(BLOCK)
            .zip(children.par_chunks(BLOCK * arity))
            .for_each(|(digests, children)| hash.nodes(children, arity, digests));
        hashed += positions.len();
        scatter(positions, digests, &mut nodes[start..]);
        below = start;
    }
    Ok(hashed)
}

fn scatter<D: Copy>(positions: &[usize], digests: &[D], level: &mut [D]) {
    for (position, digest) in positions.iter().zip(digests) {
        level[*position] = *digest;
    }
}

/// Indices of rows, each once and in ascending order.
fn check_ascending(shape: &Shape, indices: &[usize]) -> Result<(), MerkleError> {
    if let Some(pair) = indices.array_windows().find(|[index, next]| index >= next) {
        return Err(MerkleError::Order { index: pair[0], next: pair[1] });
    }
    match indices.last().copied().filter(|index| *index >= shape.rows()) {
        Some(index) => Err(MerkleError::LeafIndex { index, rows: shape.rows() }),
        None => Ok(()),
    }
}

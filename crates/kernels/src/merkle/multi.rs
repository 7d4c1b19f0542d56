//! Openings of many leaves of one tree, in which every sibling occurs once.

use core::convert::Infallible;

use evergrove_primitives::hash::tree;

use super::shape::check_digests;
use super::{MerkleError, Shape, TreeHash};

/// The siblings that lead from the leaves `indices`, strictly ascending, to the cap: level by level from the leaves,
/// and from left to right, the nodes that are beside a node on a path and on no path themselves. The missing siblings
/// of a padded tree are default digests.
///
/// At most arity - 1 for each leaf and level, without duplicates. `nodes` is the result of [`build`](super::build) for
/// the same shape.
///
/// Errors if the nodes are not those of the shape, an index is not below the number of rows, or they do not ascend.
pub fn multi_path<D: Copy + Default>(shape: &Shape, nodes: &[D], indices: &[usize]) -> Result<Vec<D>, MerkleError> {
    check_digests("nodes", nodes, shape.nodes())?;
    check_ascending(shape, indices)?;
    let mut out = Vec::new();
    let sibling = |level: u8, position: u64| {
        out.push(nodes[shape.level(level.into())].get(position as usize).copied().unwrap_or_default());
        Ok::<_, Infallible>(())
    };
    let Ok(_) = climb(shape, indices.iter().map(|index| (*index as u64, ())).collect(), sibling, |_| ());
    Ok(out)
}

/// The nodes of the cap, with their positions, that the leaves' digests and the siblings of their [`multi_path`] lead to.
///
/// One hash for each node on a path, by the scalar code; does not panic on any siblings.
///
/// Errors if an index is not below the number of rows, they do not ascend, or the siblings are too few or too many.
pub fn fold_multi_path<H: TreeHash>(
    hash: H,
    shape: &Shape,
    leaves: &[(usize, H::Digest)],
    siblings: &[H::Digest],
) -> Result<Vec<(usize, H::Digest)>, MerkleError> {
    check_ascending(shape, &leaves.iter().map(|leaf| leaf.0).collect::<Vec<_>>())?;
    let mut used = 0;
    let sibling = |_, _| {
        used += 1;
        // Too few siblings are an error below.
        Ok::<_, Infallible>(siblings.get(used - 1).copied().unwrap_or_default())
    };
    let nodes = leaves.iter().map(|(index, digest)| (*index as u64, *digest)).collect();
    let Ok(top) = climb(shape, nodes, sibling, |children| hash.node(children));
    check_digests("siblings", siblings, used)?;
    Ok(top.into_iter().map(|(position, digest)| (position as usize, digest)).collect())
}

/// [`tree::climb`] up to the cap.
fn climb<T, E>(
    shape: &Shape,
    nodes: Vec<(u64, T)>,
    sibling: impl FnMut(u8, u64) -> Result<T, E>,
    join: impl FnMut(&[T]) -> T,
) -> Result<Vec<(u64, T)>, E> {
    tree::climb(shape.levels() as u8 - 1, shape.arity().log(), nodes, sibling, join)
}

/// Accepts exactly if the rows `indices`, one after the other in `rows`, are those of the tree with this cap.
///
/// Scalar, like [`fold_multi_path`]; does not panic on any input.
///
/// Errors as [`fold_multi_path`], if sizes do not match, and with [`MerkleError::Opening`] where a path leads
/// elsewhere.
pub fn verify_rows<H: TreeHash>(
    hash: H,
    shape: &Shape,
    cap: &[H::Digest],
    indices: &[usize],
    rows: &[H::Element],
    siblings: &[H::Digest],
) -> Result<(), MerkleError> {
    check_digests("cap", cap, shape.cap_len())?;
    super::shape::check_rows(rows, indices.len(), shape.width())?;
    let digests = rows.chunks_exact(shape.width()).map(|row| hash.leaf(row));
    let leaves: Vec<(usize, H::Digest)> = indices.iter().copied().zip(digests).collect();
    for (position, digest) in fold_multi_path(hash, shape, &leaves, siblings)? {
        if cap.get(position) != Some(&digest) {
            return Err(MerkleError::Opening { position });
        }
    }
    Ok(())
}

/// Indices of rows, each once and in ascending order.
pub(super) fn check_ascending(shape: &Shape, indices: &[usize]) -> Result<(), MerkleError> {
    if let Some(pair) = indices.array_windows().find(|[index, next]| index >= next) {
        return Err(MerkleError::Order { index: pair[0], next: pair[1] });
    }
    match indices.last().copied().filter(|index| *index >= shape.rows()) {
        Some(index) => Err(MerkleError::LeafIndex { index, rows: shape.rows() }),
        None => Ok(()),
    }
}

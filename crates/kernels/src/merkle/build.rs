//! Trees over rows that are all available, one after the other.

use rayon::prelude::*;

use super::shape::check_digests;
use super::{BLOCK, MerkleError, Shape, TreeHash};

/// Every level of the tree over `rows`, into a buffer of [`Shape::nodes`] digests laid out as [`Shape::level`] says.
///
/// One hash per node; reads each row once.
pub fn build<H: TreeHash>(
    hash: H,
    shape: &Shape,
    rows: &[H::Element],
    nodes: &mut [H::Digest],
) -> Result<(), MerkleError> {
    shape.check_elements(rows)?;
    check_digests("nodes", nodes, shape.nodes())?;
    let top = shape.block_level();
    // The levels of the blocks, cut into one piece per block: task i owns piece i of every level.
    let (mut levels, mut rest) = (Vec::with_capacity(top + 1), &mut *nodes);
    for level in 0..=top {
        let (this, above) = rest.split_at_mut(shape.len(level));
        levels.push(this.chunks_mut(shape.block() >> shape.shift(level)));
        rest = above;
    }
    let tasks: Vec<Vec<&mut [H::Digest]>> = (0..shape.blocks())
        .map(|_| levels.iter_mut().map(|pieces| pieces.next().expect("a piece per block")).collect())
        .collect();
    drop(levels);
    let arity = shape.arity().get();
    tasks.into_par_iter().zip(rows.par_chunks(shape.block() * shape.width())).for_each(|(mut pieces, rows)| {
        hash.leaves(rows, shape.width(), pieces[0]);
        for k in 1..pieces.len() {
            let (below, above) = pieces.split_at_mut(k);
            parents(hash, arity, below[k - 1], above[0]);
        }
    });
    levels_above(hash, shape, top, nodes);
    Ok(())
}

/// Computes the levels above level `first`, which must be complete.
pub(crate) fn levels_above<H: TreeHash>(hash: H, shape: &Shape, first: usize, nodes: &mut [H::Digest]) {
    for level in first + 1..shape.levels() {
        let (below, above) = nodes.split_at_mut(shape.level(level).start);
        let below = &below[shape.level(level - 1)];
        combine(hash, shape.arity().get(), below, &mut above[..shape.len(level)]);
    }
}

/// The cap of the tree over `rows`, into a buffer of [`Shape::cap_len`] digests, with one of [`Shape::scratch`] as
/// scratch memory.
///
/// The hashes of [`build`], but only one digest per block of rows goes through memory.
pub fn cap<H: TreeHash>(
    hash: H,
    shape: &Shape,
    rows: &[H::Element],
    scratch: &mut [H::Digest],
    cap: &mut [H::Digest],
) -> Result<(), MerkleError> {
    shape.check_elements(rows)?;
    check_digests("scratch", scratch, shape.scratch())?;
    check_digests("cap", cap, shape.cap_len())?;
    let (scratch, spare) = scratch.split_at_mut(shape.blocks());
    block_tops(hash, shape, rows, scratch);
    for level in shape.block_level() + 1..shape.levels() {
        let (below, len) = (shape.len(level - 1), shape.len(level));
        combine(hash, shape.arity().get(), &scratch[..below], &mut spare[..len]);
        scratch[..len].copy_from_slice(&spare[..len]);
    }
    cap.copy_from_slice(&scratch[..cap.len()]);
    Ok(())
}

/// The root of every block of rows; the last block may have fewer leaves.
pub(super) fn block_tops<H: TreeHash>(hash: H, shape: &Shape, rows: &[H::Element], tops: &mut [H::Digest]) {
    let arity = shape.arity().get();
    tops.par_iter_mut().zip(rows.par_chunks(shape.block() * shape.width())).for_each(|(top, rows)| {
        let mut below = [H::Digest::default(); BLOCK];
        let mut above = [H::Digest::default(); BLOCK / 2];
        let mut len = rows.len() / shape.width();
        hash.leaves(rows, shape.width(), &mut below[..len]);
        for _ in 0..shape.block_level() {
            let parent_len = len.div_ceil(arity);
            parents(hash, arity, &below[..len], &mut above[..parent_len]);
            len = parent_len;
            below[..len].copy_from_slice(&above[..len]);
        }
        *top = below[0];
    });
}

/// A level from the one below, [`BLOCK`] nodes a task.
fn combine<H: TreeHash>(hash: H, arity: usize, below: &[H::Digest], above: &mut [H::Digest]) {
    above
        .par_chunks_mut(BLOCK)
        .zip(below.par_chunks(BLOCK * arity))
        .for_each(|(above, below)| parents(hash, arity, below, above));
}

/// A level from the one below, on this thread. A group that is not full ends in default digests.
pub(super) fn parents<H: TreeHash>(hash: H, arity: usize, below: &[H::Digest], above: &mut [H::Digest]) {
    let full = below.len() / arity;
    let (groups, rest) = below.split_at(full * arity);
    hash.nodes(groups, arity, &mut above[..full]);
    if !rest.is_empty() {
        let mut group = [H::Digest::default(); 8];
        group[..rest.len()].copy_from_slice(rest);
        hash.nodes(&group[..arity], arity, &mut above[full..]);
    }
}

/// All nodes in a new buffer.
pub fn build_vec<H: TreeHash>(hash: H, shape: &Shape, rows: &[H::Element]) -> Result<Vec<H::Digest>, MerkleError> {
    shape.check_elements(rows)?;
    let mut nodes = vec![H::Digest::default(); shape.nodes()];
    build(hash, shape, rows, &mut nodes)?;
    Ok(nodes)
}

/// The cap in a new buffer.
pub fn cap_vec<H: TreeHash>(hash: H, shape: &Shape, rows: &[H::Element]) -> Result<Vec<H::Digest>, MerkleError> {
    shape.check_elements(rows)?;
    let mut out = vec![H::Digest::default(); shape.cap_len()];
    cap(hash, shape, rows, &mut vec![H::Digest::default(); shape.scratch()], &mut out)?;
    Ok(out)
}

/// The root of the complete binary tree over all rows.
pub fn root<H: TreeHash>(hash: H, rows: &[H::Element], width: usize) -> Result<H::Digest, MerkleError> {
    let n = rows.len().checked_div(width).ok_or(MerkleError::NoColumns)?;
    Ok(cap_vec(hash, &Shape::new(n, width, 0)?, rows)?[0])
}

//! Merkle trees over the rows of a row-major matrix.
//!
//! A tree has 2^h leaves, one per row. Level 0 holds their digests, level k the 2^(h-k) digests of pairs of level k - 1. The
//! *cap* of height c is the level with 2^c digests; c = 0 is the root. [`build`] keeps every level below and with the cap,
//! [`cap`] the cap alone.
//!
//! **Schedule.** Subtrees of [`BLOCK`] leaves are built one per task, level by level while their digests are in the cache;
//! the levels above them are short and built breadth first. Each task calls the hash on slices, which dispatches once.
//!
//! With [`Poseidon`], caps and paths are those of Plonky2's `MerkleTree::<_, PoseidonHash>`: a row of at most four elements is
//! its own digest, a longer one goes through the overwriting sponge, and an inner node is `two_to_one`.

pub mod reference;

use core::fmt;
use core::ops::Range;

use evergrove_primitives::hash::poseidon;
use evergrove_primitives::{Digest, Goldilocks};
use rayon::prelude::*;

/// Leaves of a subtree that one task builds.
pub const BLOCK: usize = 512;

/// A hash of rows and of pairs of digests.
pub trait TreeHash: Copy + Sync {
    /// An element of a row.
    type Element: Sync;
    /// A node of the tree.
    type Digest: Copy + Default + Send + Sync + fmt::Debug + PartialEq;

    /// Digest i is that of row i of `digests.len()` rows of `width` elements each.
    fn leaves(&self, rows: &[Self::Element], width: usize, digests: &mut [Self::Digest]);
    /// Digest i is that of pair i, for as many digests as pairs.
    fn nodes(&self, pairs: &[[Self::Digest; 2]], digests: &mut [Self::Digest]);
    /// The digest of one row, by the plainest code there is: what [`TreeHash::leaves`] is held to.
    fn leaf(&self, row: &[Self::Element]) -> Self::Digest;
    /// The digest of two digests, likewise.
    fn node(&self, left: &Self::Digest, right: &Self::Digest) -> Self::Digest;
}

/// Plonky2's Poseidon: `hash_or_noop` for rows, `two_to_one` for pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poseidon;

impl TreeHash for Poseidon {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaves(&self, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        poseidon::lanes::hash_or_noop_many(rows, width, digests);
    }
    fn nodes(&self, pairs: &[[Digest; 2]], digests: &mut [Digest]) {
        poseidon::lanes::two_to_one_many(pairs, digests);
    }
    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        poseidon::hash_or_noop(row)
    }
    fn node(&self, left: &Digest, right: &Digest) -> Digest {
        poseidon::two_to_one(left, right)
    }
}

/// Sizes that do not make a tree, or a buffer that does not fit one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MerkleError {
    /// The leaves of a binary tree are a power of two.
    #[error("a Merkle tree of {rows} rows: their number must be a power of two; pad the matrix")]
    RowCount {
        /// Rows that were asked for.
        rows: usize,
    },
    /// A row without elements commits to nothing.
    #[error("a Merkle tree over rows without elements: the width must be at least 1")]
    NoColumns,
    /// The cap would be wider than the leaves.
    #[error("a cap of height {cap_height} has 2^{cap_height} digests, but there are {rows} rows: lower the cap")]
    CapTooHigh {
        /// log2 of the digests of the cap.
        cap_height: u32,
        /// Rows of the matrix.
        rows: usize,
    },
    /// The sizes of the tree do not fit the address space.
    #[error("{rows} rows of {width} elements do not fit into memory")]
    TooLarge {
        /// Rows of the matrix.
        rows: usize,
        /// Elements of a row.
        width: usize,
    },
    /// The matrix is not `rows` times `width`.
    #[error("{found} elements were given for {rows} rows of {width}: {expected} are needed")]
    Elements {
        /// Elements that were given.
        found: usize,
        /// Elements that the shape asks for.
        expected: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Elements of a row.
        width: usize,
    },
    /// A buffer of digests has another length than the shape says.
    #[error("a buffer of {found} digests was given for the {buffer}: {expected} are needed")]
    Digests {
        /// What the buffer is for.
        buffer: &'static str,
        /// Digests that it holds.
        found: usize,
        /// Digests that the shape asks for.
        expected: usize,
    },
    /// There is no such leaf.
    #[error("leaf {index} of a Merkle tree of {rows} rows: indices are below {rows}")]
    LeafIndex {
        /// The leaf that was asked for.
        index: usize,
        /// Rows of the matrix.
        rows: usize,
    },
}

/// The sizes of a tree: rows, elements of a row, height of the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    rows: usize,
    width: usize,
    cap_height: u32,
}

impl Shape {
    /// A tree of `rows` leaves of `width` elements, up to the level of 2^`cap_height` digests.
    pub fn new(rows: usize, width: usize, cap_height: u32) -> Result<Self, MerkleError> {
        if !rows.is_power_of_two() {
            return Err(MerkleError::RowCount { rows });
        }
        if width == 0 {
            return Err(MerkleError::NoColumns);
        }
        if cap_height > rows.ilog2() {
            return Err(MerkleError::CapTooHigh { cap_height, rows });
        }
        if rows.checked_mul(width).is_none() || rows.checked_mul(2).is_none() {
            return Err(MerkleError::TooLarge { rows, width });
        }
        Ok(Self { rows, width, cap_height })
    }

    /// Leaves.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Elements of a row.
    pub fn width(&self) -> usize {
        self.width
    }
    /// log2 of the digests of the cap.
    pub fn cap_height(&self) -> u32 {
        self.cap_height
    }
    /// Digests of the cap.
    pub fn cap_len(&self) -> usize {
        1 << self.cap_height
    }
    /// Levels, that of the leaves and that of the cap included.
    pub fn levels(&self) -> usize {
        (self.rows.ilog2() - self.cap_height) as usize + 1
    }
    /// Digests of all levels together: 2 rows - 2^cap_height.
    pub fn nodes(&self) -> usize {
        2 * self.rows - self.cap_len()
    }
    /// Where a level lies in the buffer of all nodes: the leaves come first, the cap last, each level from left to right.
    ///
    /// # Panics
    /// If there is no such level: see [`Shape::levels`].
    pub fn level(&self, level: usize) -> Range<usize> {
        assert!(level < self.levels(), "level {level} of a tree of {} levels", self.levels());
        let start = 2 * self.rows - ((2 * self.rows) >> level);
        start..start + (self.rows >> level)
    }
    /// Digests that [`cap`] needs to work in: three for every two blocks of [`BLOCK`] leaves, or of fewer under a high cap.
    pub fn scratch(&self) -> usize {
        let blocks = self.blocks();
        blocks + blocks / 2
    }

    /// Leaves of a subtree for one task: no subtree reaches above the cap.
    fn block(&self) -> usize {
        BLOCK.min(self.rows >> self.cap_height)
    }
    /// Such subtrees.
    fn blocks(&self) -> usize {
        self.rows / self.block()
    }

    fn check_elements<E>(&self, elements: &[E]) -> Result<(), MerkleError> {
        let (found, expected) = (elements.len(), self.rows * self.width);
        if found != expected {
            return Err(MerkleError::Elements { found, expected, rows: self.rows, width: self.width });
        }
        Ok(())
    }
}

fn check_digests<D>(buffer: &'static str, digests: &[D], expected: usize) -> Result<(), MerkleError> {
    if digests.len() != expected {
        return Err(MerkleError::Digests { buffer, found: digests.len(), expected });
    }
    Ok(())
}

/// Every level of the tree over `rows`, into a buffer of [`Shape::nodes`] digests laid out as [`Shape::level`] says.
///
/// rows leaf hashes and rows - 2^cap_height inner ones; reads each row once.
pub fn build<H: TreeHash>(
    hash: H,
    shape: &Shape,
    rows: &[H::Element],
    nodes: &mut [H::Digest],
) -> Result<(), MerkleError> {
    shape.check_elements(rows)?;
    check_digests("nodes", nodes, shape.nodes())?;
    let block = shape.block();
    let top = block.ilog2() as usize;
    // The levels of the blocks, cut into one piece per block: task i owns piece i of every level.
    let (mut levels, mut rest) = (Vec::with_capacity(top + 1), &mut *nodes);
    for level in 0..=top {
        let (this, above) = rest.split_at_mut(shape.rows >> level);
        levels.push(this.chunks_mut(block >> level));
        rest = above;
    }
    let tasks: Vec<Vec<&mut [H::Digest]>> = (0..shape.blocks())
        .map(|_| levels.iter_mut().map(|pieces| pieces.next().expect("a piece per block")).collect())
        .collect();
    drop(levels);
    tasks.into_par_iter().zip(rows.par_chunks(block * shape.width)).for_each(|(mut pieces, rows)| {
        hash.leaves(rows, shape.width, pieces[0]);
        for k in 1..pieces.len() {
            let (below, above) = pieces.split_at_mut(k);
            hash.nodes(below[k - 1].as_chunks().0, above[0]);
        }
    });
    for level in top + 1..shape.levels() {
        let (below, above) = nodes.split_at_mut(shape.level(level).start);
        let below = &below[shape.level(level - 1)];
        combine(hash, below, &mut above[..shape.rows >> level]);
    }
    Ok(())
}

/// The cap of the tree over `rows`, into a buffer of [`Shape::cap_len`] digests, with one of [`Shape::scratch`] to work in.
///
/// The hashes of [`build`], but only one digest per [`BLOCK`] rows goes through memory.
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
    let block = shape.block();
    let (scratch, spare) = scratch.split_at_mut(shape.blocks());
    scratch.par_iter_mut().zip(rows.par_chunks(block * shape.width)).for_each(|(top, rows)| {
        let mut below = [H::Digest::default(); BLOCK];
        let mut above = [H::Digest::default(); BLOCK / 2];
        hash.leaves(rows, shape.width, &mut below[..block]);
        let mut len = block;
        while len > 1 {
            hash.nodes(below[..len].as_chunks().0, &mut above[..len / 2]);
            len /= 2;
            below[..len].copy_from_slice(&above[..len]);
        }
        *top = below[0];
    });
    let mut len = scratch.len();
    while len > cap.len() {
        combine(hash, &scratch[..len], &mut spare[..len / 2]);
        len /= 2;
        scratch[..len].copy_from_slice(&spare[..len]);
    }
    cap.copy_from_slice(&scratch[..len]);
    Ok(())
}

/// A level from the one below, [`BLOCK`] nodes a task.
fn combine<H: TreeHash>(hash: H, below: &[H::Digest], above: &mut [H::Digest]) {
    let pairs: &[[H::Digest; 2]] = below.as_chunks().0;
    above.par_chunks_mut(BLOCK).zip(pairs.par_chunks(BLOCK)).for_each(|(above, pairs)| hash.nodes(pairs, above));
}

/// The siblings on the way from a leaf to the cap, the leaf's own first: Plonky2's `MerkleTree::prove`.
///
/// `nodes` is what [`build`] made for the same shape.
pub fn path<'a, D: Copy>(
    shape: &Shape,
    nodes: &'a [D],
    index: usize,
) -> Result<impl ExactSizeIterator<Item = D> + use<'a, D>, MerkleError> {
    check_digests("nodes", nodes, shape.nodes())?;
    if index >= shape.rows {
        return Err(MerkleError::LeafIndex { index, rows: shape.rows });
    }
    let shape = *shape;
    Ok((0..shape.levels() - 1).map(move |level| nodes[shape.level(level)][(index >> level) ^ 1]))
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

/// The root of the tree over all rows.
pub fn root<H: TreeHash>(hash: H, rows: &[H::Element], width: usize) -> Result<H::Digest, MerkleError> {
    let n = rows.len().checked_div(width).ok_or(MerkleError::NoColumns)?;
    Ok(cap_vec(hash, &Shape::new(n, width, 0)?, rows)?[0])
}

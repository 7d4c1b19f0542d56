//! Trees over rows that arrive a few at a time.

use core::mem;

use rayon::prelude::*;

use super::build::{block_tops, combine, parents};
use super::order::reverse;
use super::{BLOCK, MerkleError, Order, Shape, TreeHash};

/// Blocks that are hashed in parallel, at most.
const BLOCKS_AT_ONCE: usize = 1024;

/// The cap of a tree, from its rows in order, in any number of pieces.
///
/// Holds fewer rows than one block of [`BLOCK`](super::BLOCK) and, for each level above the blocks, fewer digests than
/// a node has children: they count the blocks in the base of the arity, and a carry is a hash. It makes the same hashes
/// as [`cap`](super::cap). The blocks of one piece are hashed in parallel, so large pieces are faster.
#[derive(Clone, Debug)]
pub struct Stream<H: TreeHash> {
    hash: H,
    shape: Shape,
    /// Rows taken so far.
    rows: usize,
    /// The rows of an incomplete block.
    pending: Vec<H::Element>,
    /// Digests of level `shape.block_level() + i` that wait for their siblings, at i.
    waiting: Vec<Vec<H::Digest>>,
    cap: Vec<H::Digest>,
    /// The roots of the blocks that were hashed last.
    tops: Vec<H::Digest>,
}

impl<H: TreeHash> Stream<H> {
    /// A stream of the rows of `shape`, without any rows yet.
    pub fn new(hash: H, shape: &Shape) -> Self {
        Self {
            hash,
            shape: *shape,
            rows: 0,
            pending: Vec::new(),
            waiting: vec![Vec::new(); shape.levels() - shape.block_level()],
            cap: Vec::with_capacity(shape.cap_len()),
            tops: Vec::new(),
        }
    }

    /// Rows taken so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the next rows, any number of them.
    ///
    /// Errors, and takes no rows, if the elements are not whole rows or exceed the rows of the shape.
    pub fn push(&mut self, elements: &[H::Element]) -> Result<(), MerkleError> {
        let width = self.shape.width();
        let found = rows_after(&self.shape, self.rows, elements.len())?;
        self.rows = found;
        let block = self.shape.block() * width;
        let mut rest = elements;
        if !self.pending.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(block - self.pending.len()));
            self.pending.extend_from_slice(head);
            rest = tail;
            if self.pending.len() == block {
                let pending = mem::take(&mut self.pending);
                self.take_blocks(&pending);
                self.pending = pending;
                self.pending.clear();
            }
        }
        let (blocks, tail) = rest.split_at(rest.len() / block * block);
        for blocks in blocks.chunks(block * BLOCKS_AT_ONCE) {
            self.take_blocks(blocks);
        }
        self.pending.extend_from_slice(tail);
        Ok(())
    }

    /// The cap, once all rows have been given.
    ///
    /// Errors if rows are missing.
    pub fn finish(mut self) -> Result<Vec<H::Digest>, MerkleError> {
        if self.rows != self.shape.rows() {
            return Err(MerkleError::Rows { found: self.rows, expected: self.shape.rows() });
        }
        // Only a padded tree has incomplete blocks and groups.
        if !self.pending.is_empty() {
            let pending = mem::take(&mut self.pending);
            self.take_blocks(&pending);
        }
        for i in 0..self.waiting.len() - 1 {
            if !self.waiting[i].is_empty() {
                self.carry(i);
            }
        }
        Ok(self.cap)
    }

    /// Hashes blocks of rows; the last may be short.
    fn take_blocks(&mut self, rows: &[H::Element]) {
        let mut tops = mem::take(&mut self.tops);
        tops.resize(rows.len().div_ceil(self.shape.block() * self.shape.width()), H::Digest::default());
        block_tops(self.hash, &self.shape, rows, &mut tops);
        for top in &tops {
            self.add(0, *top);
        }
        self.tops = tops;
    }

    /// Adds the next node of a level above the blocks.
    fn add(&mut self, i: usize, digest: H::Digest) {
        if i == self.waiting.len() - 1 {
            return self.cap.push(digest);
        }
        self.waiting[i].push(digest);
        if self.waiting[i].len() == self.shape.arity().get() {
            self.carry(i);
        }
    }

    /// Makes the parent of the waiting digests.
    fn carry(&mut self, i: usize) {
        let mut parent = [H::Digest::default()];
        parents(self.hash, self.shape.arity().get(), &self.waiting[i], &mut parent);
        self.waiting[i].clear();
        self.add(i + 1, parent[0]);
    }
}

/// The cap of a tree whose leaves are rows in bit-reversed order, from the rows in their natural order, in any number of
/// pieces.
///
/// The siblings of a leaf are rows n / a, 2 n / a, .. later, for n rows and arity a: a group is complete when its last
/// row arrives, and its node replaces its first row. So this holds at most (1 - 1 / a) n digests, and no rows.
#[derive(Clone, Debug)]
pub struct ReversedStream<H: TreeHash> {
    hash: H,
    shape: Shape,
    /// Rows taken so far.
    rows: usize,
    /// The digests of the first rows; the first few have been replaced by nodes of level 1.
    digests: Vec<H::Digest>,
    /// The digests of the rows that were hashed last, and the groups that they complete.
    fresh: Vec<H::Digest>,
    groups: Vec<H::Digest>,
}

impl<H: TreeHash> ReversedStream<H> {
    /// A stream of the rows of `shape`, without any rows yet.
    ///
    /// Errors if the number of rows is not a power of two.
    pub fn new(hash: H, shape: &Shape) -> Result<Self, MerkleError> {
        Order::BitReversed.check(shape.rows())?;
        let (digests, fresh, groups) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { hash, shape: *shape, rows: 0, digests, fresh, groups })
    }

    /// Rows taken so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the next rows, any number of them. They are hashed in parallel, so large pieces are faster.
    ///
    /// Errors, and takes no rows, if the elements are not whole rows or exceed the rows of the shape.
    pub fn push(&mut self, elements: &[H::Element]) -> Result<(), MerkleError> {
        let width = self.shape.width();
        let found = rows_after(&self.shape, self.rows, elements.len())?;
        let mut fresh = mem::take(&mut self.fresh);
        fresh.resize(elements.len() / width, H::Digest::default());
        fresh
            .par_chunks_mut(BLOCK)
            .zip(elements.par_chunks(BLOCK * width))
            .for_each(|(digests, rows)| self.hash.leaves(rows, width, digests));
        // Rows from `first` on complete groups, unless the leaves are the cap.
        let first = self.shape.rows() - if self.shape.levels() > 1 { self.shape.len(1) } else { 0 };
        let (waiting, last) = fresh.split_at(first.saturating_sub(self.rows).min(fresh.len()));
        self.digests.extend_from_slice(waiting);
        if !last.is_empty() {
            let from = (self.rows + waiting.len()) - first;
            self.nodes(1, from, from + last.len(), Some(last));
        }
        self.fresh = fresh;
        self.rows = found;
        Ok(())
    }

    /// The cap, once all rows have been given.
    ///
    /// Errors if rows are missing.
    pub fn finish(mut self) -> Result<Vec<H::Digest>, MerkleError> {
        if self.rows != self.shape.rows() {
            return Err(MerkleError::Rows { found: self.rows, expected: self.shape.rows() });
        }
        // Level 1 is complete, in the natural order of its own rows, and so is each further level.
        for level in 2..self.shape.levels() {
            self.nodes(level, 0, self.shape.len(level), None);
        }
        self.digests.truncate(self.shape.cap_len());
        reverse(&mut self.digests);
        Ok(self.digests)
    }

    /// Replaces the digests `from..to` by the nodes of `level` above the groups that begin there; `last` are the last members of
    /// the groups, where they are not among the digests.
    fn nodes(&mut self, level: usize, from: usize, to: usize, last: Option<&[H::Digest]>) {
        let (arity, below, stride) = (self.shape.arity().get(), self.shape.len(level - 1), self.shape.len(level));
        // There may be fewer below the root of a padded tree.
        let members = below.min(arity);
        self.groups.clear();
        for i in from..to {
            for child in 0..members {
                let member = crate::ntt::reverse(child, members.ilog2());
                self.groups.push(match last {
                    Some(last) if member + 1 == members => last[i - from],
                    _ => self.digests[member * stride + i],
                });
            }
            self.groups.extend((members..arity).map(|_| H::Digest::default()));
        }
        combine(self.hash, arity, &self.groups, &mut self.digests[from..to]);
    }
}

/// The number of rows after `elements` more elements, which must be whole rows, and no more than those of the shape.
fn rows_after(shape: &Shape, taken: usize, elements: usize) -> Result<usize, MerkleError> {
    let width = shape.width();
    if !elements.is_multiple_of(width) {
        return Err(MerkleError::PartialRow { elements, width });
    }
    let found = taken + elements / width;
    if found > shape.rows() {
        return Err(MerkleError::Rows { found, expected: shape.rows() });
    }
    Ok(found)
}

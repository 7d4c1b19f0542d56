//! Trees over rows that arrive a few at a time.

use core::mem;

use super::build::{block_tops, parents};
use super::{MerkleError, Shape, TreeHash};

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
        if !elements.len().is_multiple_of(width) {
            return Err(MerkleError::PartialRow { elements: elements.len(), width });
        }
        let found = self.rows + elements.len() / width;
        if found > self.shape.rows() {
            return Err(MerkleError::Rows { found, expected: self.shape.rows() });
        }
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

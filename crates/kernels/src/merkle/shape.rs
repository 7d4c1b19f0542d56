//! The sizes of a tree.

use core::ops::Range;

use super::MerkleError;

/// Leaves of a subtree that one task builds, at most.
pub const BLOCK: usize = 512;

/// Children of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arity {
    /// A binary tree.
    Two,
    /// Four children.
    Four,
    /// Eight children.
    Eight,
}

impl Arity {
    /// Children of a node, as a number.
    pub const fn get(self) -> usize {
        1 << self.log()
    }

    pub(super) const fn log(self) -> u32 {
        match self {
            Self::Two => 1,
            Self::Four => 2,
            Self::Eight => 3,
        }
    }
}

/// The sizes of a tree: rows, elements of a row, arity, height of the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    rows: usize,
    width: usize,
    arity: Arity,
    cap_height: u32,
    height: u32,
}

impl Shape {
    /// A complete binary tree of `rows` leaves of `width` elements, a power of two, up to the level of 2^`cap_height` digests.
    pub fn new(rows: usize, width: usize, cap_height: u32) -> Result<Self, MerkleError> {
        Self::complete(rows, width, Arity::Two, cap_height)
    }

    /// A complete tree: `rows` is a power of the arity, and the cap has arity^`cap_height` digests.
    pub fn complete(rows: usize, width: usize, arity: Arity, cap_height: u32) -> Result<Self, MerkleError> {
        let log = rows.checked_ilog2().filter(|log| rows.is_power_of_two() && log % arity.log() == 0);
        if log.is_none() {
            return Err(MerkleError::RowCount { rows, arity: arity.get() });
        }
        Self::checked(rows, width, arity, cap_height)
    }

    /// A tree of any number of rows: default digests fill up a level to a multiple of the arity. They are not stored.
    /// The cap is the level `cap_height` levels below the root.
    ///
    /// For digests of field elements the default is four zeros, as in Polygon zkEVM's tree. A root does not tell how
    /// many of the last rows have the digest zero: it is a commitment only together with the number of rows.
    pub fn padded(rows: usize, width: usize, arity: Arity, cap_height: u32) -> Result<Self, MerkleError> {
        if rows == 0 {
            return Err(MerkleError::NoRows);
        }
        Self::checked(rows, width, arity, cap_height)
    }

    fn checked(rows: usize, width: usize, arity: Arity, cap_height: u32) -> Result<Self, MerkleError> {
        if width == 0 {
            return Err(MerkleError::NoColumns);
        }
        let bits = usize::BITS - (rows - 1).leading_zeros();
        let height = bits.div_ceil(arity.log());
        if cap_height > height {
            return Err(MerkleError::CapTooHigh { cap_height, height, rows });
        }
        // Levels of a padded tree may be a digest longer than those of a complete one.
        let nodes = rows.checked_mul(2).and_then(|n| n.checked_add(usize::BITS as usize));
        if rows.checked_mul(width).is_none() || nodes.is_none() {
            return Err(MerkleError::TooLarge { rows, width });
        }
        Ok(Self { rows, width, arity, cap_height, height })
    }

    /// Leaves.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Elements of a row.
    pub fn width(&self) -> usize {
        self.width
    }
    /// Children of a node.
    pub fn arity(&self) -> Arity {
        self.arity
    }
    /// Levels between the cap and the root.
    pub fn cap_height(&self) -> u32 {
        self.cap_height
    }
    /// Digests of the cap.
    pub fn cap_len(&self) -> usize {
        self.len(self.levels() - 1)
    }
    /// Levels, that of the leaves and that of the cap included.
    pub fn levels(&self) -> usize {
        (self.height - self.cap_height) as usize + 1
    }
    /// Digests of all levels together: 2 rows - 2^cap_height in a complete binary tree.
    pub fn nodes(&self) -> usize {
        (0..self.levels()).map(|level| self.len(level)).sum()
    }
    /// The place of a level in the buffer of all nodes: the leaves come first, the cap last, each level from left to
    /// right.
    ///
    /// # Panics
    /// If the level does not exist: see [`Shape::levels`].
    pub fn level(&self, level: usize) -> Range<usize> {
        assert!(level < self.levels(), "level {level} of a tree of {} levels", self.levels());
        let start: usize = (0..level).map(|below| self.len(below)).sum();
        start..start + self.len(level)
    }
    /// Digests of scratch memory for [`cap`](super::cap): one for every block of [`BLOCK`] leaves (fewer under a high
    /// cap), and one for as many of those as a node has children.
    pub fn scratch(&self) -> usize {
        let blocks = self.blocks();
        blocks + blocks.div_ceil(self.arity.get())
    }

    /// Digests of a level.
    pub(super) fn len(&self, level: usize) -> usize {
        ((self.rows - 1) >> self.shift(level)) + 1
    }
    /// log2 of the leaves below a node of a level, unless it is the last.
    pub(super) fn shift(&self, level: usize) -> u32 {
        // A level with more leaves below it than words have bits would be far above the root.
        (level as u32 * self.arity.log()).min(usize::BITS - 1)
    }
    /// The level at which the subtrees of the tasks end, at most that of the cap.
    pub(super) fn block_level(&self) -> usize {
        ((BLOCK.ilog2() / self.arity.log()) as usize).min(self.levels() - 1)
    }
    /// Leaves of such a subtree, unless it is the last.
    pub(super) fn block(&self) -> usize {
        1 << self.shift(self.block_level())
    }
    /// Such subtrees.
    pub(super) fn blocks(&self) -> usize {
        self.len(self.block_level())
    }

    pub(super) fn check_elements<E>(&self, elements: &[E]) -> Result<(), MerkleError> {
        check_rows(elements, self.rows, self.width)
    }
}

pub(super) fn check_rows<E>(elements: &[E], rows: usize, width: usize) -> Result<(), MerkleError> {
    let (found, expected) = (elements.len(), rows.saturating_mul(width));
    if found != expected {
        return Err(MerkleError::Elements { found, expected, rows, width });
    }
    Ok(())
}

pub(super) fn check_digests<D>(buffer: &'static str, digests: &[D], expected: usize) -> Result<(), MerkleError> {
    if digests.len() != expected {
        return Err(MerkleError::Digests { buffer, found: digests.len(), expected });
    }
    Ok(())
}

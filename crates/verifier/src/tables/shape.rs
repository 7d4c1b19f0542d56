//! The number of rows of a table.

use core::fmt;

/// log2 of the rows of a block.
pub const BLOCK_LOG: usize = 9;
/// Rows of a block.
pub const BLOCK: usize = 1 << BLOCK_LOG;
/// The highest degree of a constraint in the columns.
pub const DEGREE: usize = 7;
/// The greatest number of blocks of a table.
pub const MAX_BLOCKS: usize = 1 << 20;

/// The number of rows of a table: whole blocks, not padded to a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    blocks: usize,
}

/// An invalid number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// The rows.
    pub rows: usize,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows;
        write!(
            f,
            "a table of {rows} rows: a multiple of {BLOCK} is needed, at least one block and at most {MAX_BLOCKS}"
        )
    }
}

impl core::error::Error for ShapeError {}

impl Shape {
    /// For a table of `rows` rows, a multiple of [`BLOCK`].
    pub fn new(rows: usize) -> Result<Self, ShapeError> {
        let blocks = rows / BLOCK;
        if rows.is_multiple_of(BLOCK) && (1..=MAX_BLOCKS).contains(&blocks) {
            Ok(Self { blocks })
        } else {
            Err(ShapeError { rows })
        }
    }
    /// Rows.
    pub fn rows(self) -> usize {
        self.blocks * BLOCK
    }
    /// Blocks.
    pub fn blocks(self) -> usize {
        self.blocks
    }
    /// Variables of the block's number.
    pub fn block_variables(self) -> usize {
        self.blocks.next_power_of_two().ilog2() as usize
    }
    /// Variables of the row's number.
    pub fn variables(self) -> usize {
        BLOCK_LOG + self.block_variables()
    }
}

//! A set of positions that grows while a file is read.

use std::collections::HashMap;

/// Logarithm of the number of positions per block.
const BLOCK_BITS: u32 = 12;

/// A set of positions as blocks of bits: one bit per row of a dense table, at most 520 bytes per row of a sparse table.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    blocks: HashMap<u64, Box<[u64; 1 << (BLOCK_BITS - 6)]>>,
}

impl Seen {
    /// Adds a position. False if the set already has it.
    pub(crate) fn insert(&mut self, index: u64) -> bool {
        let block = self.blocks.entry(index >> BLOCK_BITS).or_insert_with(|| Box::new([0; 1 << (BLOCK_BITS - 6)]));
        let low = index & ((1 << BLOCK_BITS) - 1);
        let word = &mut block[(low >> 6) as usize];
        let bit = 1 << (low & 63);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}

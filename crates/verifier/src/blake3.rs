//! BLAKE3 of a stream of bytes, as its specification has it (section 2 of the paper): what keys are named by.
//!
//! One block after the other and without vectors, for keys of some ten megabytes. Digests of 32 bytes, no key.

use alloc::vec::Vec;

/// Bytes of a block.
const BLOCK: usize = 64;
/// Bytes of a chunk, which is a leaf of the tree.
const CHUNK: usize = 1024;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
/// Where a word of a block is in the next round.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

/// A hash in the making.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    /// The chaining value of the chunk that is not complete.
    value: [u32; 8],
    block: [u8; BLOCK],
    /// Bytes in `block`, and in the chunk before it.
    filled: usize,
    before: usize,
    /// Chunks that are complete.
    chunks: u64,
    /// Of each complete subtree to the left the chaining value, large ones first.
    stack: Vec<[u32; 8]>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { value: IV, block: [0; BLOCK], filled: 0, before: 0, chunks: 0, stack: Vec::new() }
    }
}

impl Hasher {
    /// Takes the next bytes in.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == BLOCK {
                self.next_block();
            }
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.block[self.filled..][..now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = rest;
        }
    }

    /// The digest of all bytes.
    pub(crate) fn finish(&self) -> [u8; 32] {
        let (mut value, mut block, mut filled) = (self.value, words(&self.block, self.filled), self.filled as u32);
        let mut flags = self.chunk_flags() | CHUNK_END;
        let mut counter = self.chunks;
        // Each subtree to the left is the left child of one more parent.
        for left in self.stack.iter().rev() {
            let right = compress(&value, &block, counter, filled, flags);
            (value, filled, flags, counter) = (IV, BLOCK as u32, PARENT, 0);
            block[..8].copy_from_slice(left);
            block[8..].copy_from_slice(&right);
        }
        let root = compress(&value, &block, 0, filled, flags | ROOT);
        let mut digest = [0; 32];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(root) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }

    fn chunk_flags(&self) -> u32 {
        if self.before == 0 { CHUNK_START } else { 0 }
    }

    /// A full block behind which there is more.
    fn next_block(&mut self) {
        let block = words(&self.block, BLOCK);
        self.filled = 0;
        if self.before + BLOCK < CHUNK {
            self.value = compress(&self.value, &block, self.chunks, BLOCK as u32, self.chunk_flags());
            self.before += BLOCK;
            return;
        }
        let mut value = compress(&self.value, &block, self.chunks, BLOCK as u32, self.chunk_flags() | CHUNK_END);
        self.chunks += 1;
        // As many subtrees are complete as the number of chunks has zeros at its end.
        for _ in 0..self.chunks.trailing_zeros() {
            let left = self.stack.pop().unwrap_or(IV);
            let mut parent = [0; 16];
            parent[..8].copy_from_slice(&left);
            parent[8..].copy_from_slice(&value);
            value = compress(&IV, &parent, 0, BLOCK as u32, PARENT);
        }
        self.stack.push(value);
        (self.value, self.before) = (IV, 0);
    }
}

/// The words of a block whose first `filled` bytes are given: zeros follow.
fn words(block: &[u8; BLOCK], filled: usize) -> [u32; 16] {
    let mut bytes = [0; BLOCK];
    bytes[..filled].copy_from_slice(&block[..filled]);
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// The first half of the compression function's result.
fn compress(value: &[u32; 8], block: &[u32; 16], counter: u64, length: u32, flags: u32) -> [u32; 8] {
    let mut v = [0; 16];
    v[..8].copy_from_slice(value);
    v[8..12].copy_from_slice(&IV[..4]);
    v[12..].copy_from_slice(&[counter as u32, (counter >> 32) as u32, length, flags]);
    let mut m = *block;
    for round in 0..7 {
        if round > 0 {
            m = PERMUTATION.map(|i| m[i]);
        }
        for (i, [a, b, c, d]) in QUARTERS.into_iter().enumerate() {
            mix(&mut v, [a, b, c, d], m[2 * i], m[2 * i + 1]);
        }
    }
    core::array::from_fn(|i| v[i] ^ v[i + 8])
}

/// Columns, then diagonals.
const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// The quarter round G.
#[inline(always)]
fn mix(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    for (m, [first, second]) in [(x, [16, 12]), (y, [8, 7])] {
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(m);
        v[d] = (v[d] ^ v[a]).rotate_right(first);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(second);
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Hasher};

    #[test]
    fn digests_are_those_of_the_crate_in_whatever_pieces() {
        let bytes: Vec<u8> = (0..40 * CHUNK as u32).map(|i| (((i * i) >> 3) ^ i) as u8).collect();
        // Around blocks, chunks, and subtrees of up to 32 chunks.
        let around =
            [0, 64, 128, 1024, 2048, 3072, 4096, 5 * 1024, 8 * 1024, 16 * 1024, 31 * 1024, 32 * 1024, 40 * 1024];
        for length in around.into_iter().flat_map(|n: usize| n.saturating_sub(2)..=(n + 2).min(bytes.len())) {
            let expected = *blake3::hash(&bytes[..length]).as_bytes();
            for piece in [1, 3, 63, 64, 65, 1000, 1024, 5000, bytes.len()] {
                let mut hasher = Hasher::default();
                bytes[..length].chunks(piece).for_each(|piece| hasher.update(piece));
                assert_eq!(hasher.finish(), expected, "{length} bytes in pieces of {piece}");
            }
        }
    }
}

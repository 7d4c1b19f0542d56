//! BLAKE3 of a stream of bytes, as in its specification (section 2 of the paper): it names keys.
//!
//! Chunks are hashed side by side, eight at a time, if enough are given at once. Digests have 32 bytes; there is
//! no key.

use alloc::vec::Vec;

use crate::lanes::{Isa, Kernel, Lanes, dispatch_on};

/// Bytes of a block.
const BLOCK: usize = 64;
/// Bytes of a chunk, which is a leaf of the tree.
const CHUNK: usize = 1024;
/// Chunks that are hashed side by side: one word of each is a vector, or several, of the instruction set.
const ABREAST: usize = 8;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
/// The place of a word of a block in the next round.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

/// An unfinished hash, of some 200 bytes and 32 bytes of heap for each level of the tree.
#[derive(Clone, Debug)]
pub struct Hasher {
    isa: Isa,
    /// The chaining value of the incomplete chunk.
    value: [u32; 8],
    block: [u8; BLOCK],
    /// Bytes in `block`, and in the chunk before it.
    filled: usize,
    before: usize,
    /// Complete chunks.
    chunks: u64,
    /// The chaining value of each complete subtree, large subtrees first. The last subtrees are joined only when more
    /// bytes follow, since the root of the whole tree is computed differently.
    stack: Vec<[u32; 8]>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self::on(Isa::detect())
    }
}

impl Hasher {
    /// The hash of no bytes, on an instruction set: [`update`](Self::update) panics if this CPU lacks it.
    pub const fn on(isa: Isa) -> Self {
        Self { isa, value: IV, block: [0; BLOCK], filled: 0, before: 0, chunks: 0, stack: Vec::new() }
    }

    /// Absorbs the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == BLOCK {
                self.next_block();
            }
            if self.filled == 0 && self.before == 0 {
                self.join();
                if let Some((now, rest)) = bytes.split_at_checked(ABREAST * CHUNK) {
                    let values = dispatch_on(self.isa, Abreast { chunks: now, first: self.chunks });
                    values.into_iter().for_each(|value| self.complete(value));
                    bytes = rest;
                    continue;
                }
            }
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.block[self.filled..][..now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = rest;
        }
    }

    /// The digest of all bytes.
    pub fn finish(&self) -> [u8; 32] {
        let (mut last, lefts) = match (self.filled, &self.stack[..]) {
            // The last complete chunk is the end of the bytes, and there are others.
            (0, [lefts @ .., left, right]) => (Node::parent(left, right), lefts),
            (_, lefts) => {
                let last = Node {
                    value: self.value,
                    block: words(&self.block, self.filled),
                    counter: self.chunks,
                    length: self.filled as u32,
                    flags: self.chunk_flags() | CHUNK_END,
                };
                (last, lefts)
            }
        };
        // Each subtree to the left is the left child of one more parent.
        for left in lefts.iter().rev() {
            last = Node::parent(left, &last.compress());
        }
        let root = Node { counter: 0, flags: last.flags | ROOT, ..last }.compress();
        let mut digest = [0; 32];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(root) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }

    fn chunk_flags(&self) -> u32 {
        if self.before == 0 { CHUNK_START } else { 0 }
    }

    /// A full block that is followed by more bytes.
    fn next_block(&mut self) {
        let block = words(&self.block, BLOCK);
        let end = if self.before + BLOCK < CHUNK { 0 } else { CHUNK_END };
        self.value = compress(&self.value, &block, self.chunks, BLOCK as u32, self.chunk_flags() | end);
        self.filled = 0;
        self.before += BLOCK;
        if end != 0 {
            self.complete(self.value);
            (self.value, self.before) = (IV, 0);
        }
    }

    /// The chaining value of the next chunk.
    fn complete(&mut self, value: [u32; 8]) {
        self.join();
        self.stack.push(value);
        self.chunks += 1;
    }

    /// Joins complete subtrees of equal size: each 1 bit of the number of chunks is a subtree.
    fn join(&mut self) {
        while self.stack.len() > self.chunks.count_ones() as usize
            && let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop())
        {
            self.stack.push(Node::parent(&left, &right).compress());
        }
    }
}

/// The input of one compression.
struct Node {
    value: [u32; 8],
    block: [u32; 16],
    counter: u64,
    length: u32,
    flags: u32,
}

impl Node {
    fn parent(left: &[u32; 8], right: &[u32; 8]) -> Self {
        let mut block = [0; 16];
        block[..8].copy_from_slice(left);
        block[8..].copy_from_slice(right);
        Self { value: IV, block, counter: 0, length: BLOCK as u32, flags: PARENT }
    }

    fn compress(&self) -> [u32; 8] {
        compress(&self.value, &self.block, self.counter, self.length, self.flags)
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
    let abreast = compress_abreast(&value.map(|x| [x]), &block.map(|x| [x]), [counter], length, flags);
    abreast.map(|[x]| x)
}

/// Compressions side by side: word `i` of compression `k` is `[i][k]`.
#[inline(always)]
fn compress_abreast<const N: usize>(
    value: &[[u32; N]; 8],
    block: &[[u32; N]; 16],
    counters: [u64; N],
    length: u32,
    flags: u32,
) -> [[u32; N]; 8] {
    let mut v = [[0; N]; 16];
    v[..8].copy_from_slice(value);
    v[8..12].copy_from_slice(&[IV[0], IV[1], IV[2], IV[3]].map(|x| [x; N]));
    v[12..].copy_from_slice(&[counters.map(|x| x as u32), counters.map(|x| (x >> 32) as u32), [length; N], [flags; N]]);
    let mut m = *block;
    for round in 0..7 {
        if round > 0 {
            m = PERMUTATION.map(|i| m[i]);
        }
        for (i, [a, b, c, d]) in QUARTERS.into_iter().enumerate() {
            mix(&mut v, [a, b, c, d], &m[2 * i], &m[2 * i + 1]);
        }
    }
    core::array::from_fn(|i| xor(&v[i], &v[i + 8]))
}

/// The chaining values of [`ABREAST`] whole chunks; the first chunk has the number `first`.
struct Abreast<'a> {
    chunks: &'a [u8],
    first: u64,
}

impl Kernel for Abreast<'_> {
    type Output = [[u32; 8]; ABREAST];

    /// The instruction set is that of the witness: the compiler makes vectors of the arrays.
    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> Self::Output {
        let counters = core::array::from_fn(|k| self.first + k as u64);
        let mut value = IV.map(|x| [x; ABREAST]);
        for at in (0..CHUNK).step_by(BLOCK) {
            let mut block = [[0; ABREAST]; 16];
            for (k, chunk) in self.chunks.chunks_exact(CHUNK).take(ABREAST).enumerate() {
                for (words, bytes) in block.iter_mut().zip(chunk[at..at + BLOCK].as_chunks::<4>().0) {
                    words[k] = u32::from_le_bytes(*bytes);
                }
            }
            let start = if at == 0 { CHUNK_START } else { 0 };
            let end = if at + BLOCK == CHUNK { CHUNK_END } else { 0 };
            value = compress_abreast(&value, &block, counters, BLOCK as u32, start | end);
        }
        core::array::from_fn(|k| value.map(|words| words[k]))
    }
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
fn mix<const N: usize>(v: &mut [[u32; N]; 16], [a, b, c, d]: [usize; 4], x: &[u32; N], y: &[u32; N]) {
    for (m, [first, second]) in [(x, [16, 12]), (y, [8, 7])] {
        v[a] = add(&add(&v[a], &v[b]), m);
        v[d] = xor(&v[d], &v[a]).map(|x| x.rotate_right(first));
        v[c] = add(&v[c], &v[d]);
        v[b] = xor(&v[b], &v[c]).map(|x| x.rotate_right(second));
    }
}

#[inline(always)]
fn add<const N: usize>(x: &[u32; N], y: &[u32; N]) -> [u32; N] {
    core::array::from_fn(|k| x[k].wrapping_add(y[k]))
}

#[inline(always)]
fn xor<const N: usize>(x: &[u32; N], y: &[u32; N]) -> [u32; N] {
    core::array::from_fn(|k| x[k] ^ y[k])
}

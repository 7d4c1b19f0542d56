//! The rows of the table.

use evergrove_kernels::ntt::{Row, ZERO_ROW};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::STATE_WORDS;
use evergrove_primitives::lanes::LANES;

use super::{
    C, DIGEST, DIGEST_HALVES, EMIT, MESSAGE, MESSAGE_HALVES, ROTATIONS, ROUND, ROUND_CONSTANTS, ROUNDS, source,
};
use crate::stark::TraceRows;

/// A message of at most 64 bytes, padded for Keccak-256, as the table has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Block(pub [u32; MESSAGE_HALVES]);

impl Block {
    /// The block of a message; `None` beyond 64 bytes.
    pub fn of(message: &[u8]) -> Option<Self> {
        if message.len() > 64 {
            return None;
        }
        let mut bytes = [0; 4 * MESSAGE_HALVES];
        bytes[..message.len()].copy_from_slice(message);
        bytes[message.len()] = 1;
        let mut halves = [0; MESSAGE_HALVES];
        for (half, bytes) in halves.iter_mut().zip(bytes.as_chunks().0) {
            *half = u32::from_le_bytes(*bytes);
        }
        Some(Self(halves))
    }

    fn state(&self) -> [u64; STATE_WORDS] {
        let mut state = [0; STATE_WORDS];
        for (i, half) in self.0.iter().enumerate() {
            state[i / 2] |= u64::from(*half) << (32 * (i % 2));
        }
        state[16] |= 1 << 63;
        state
    }

    /// The digest of the message.
    pub fn digest(&self) -> [u32; DIGEST_HALVES] {
        let mut state = self.state();
        evergrove_primitives::hash::keccak::permute(&mut state);
        core::array::from_fn(|i| (state[i / 2] >> (32 * (i % 2))) as u32)
    }
}

/// A round's row: T, C.
#[derive(Clone, Copy)]
struct Round {
    t: [u64; STATE_WORDS],
    parities: [u64; 5],
}

/// A table of permutations, each of which exposes a record.
pub struct Permutations {
    rows: usize,
    blocks: Vec<Block>,
    digests: Vec<[u32; DIGEST_HALVES]>,
    rounds: Vec<Round>,
}

impl Permutations {
    /// The table of 2^`log_rows` rows for `blocks`; `None` if they need more than that.
    pub fn new(blocks: Vec<Block>, log_rows: u32) -> Option<Self> {
        let rows = 1 << log_rows;
        if blocks.len() * ROUNDS > rows {
            return None;
        }
        let mut rounds = Vec::with_capacity(blocks.len() * ROUNDS);
        let mut digests = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let mut state = block.state();
            for constant in ROUND_CONSTANTS {
                let parities: [u64; 5] = core::array::from_fn(|x| (0..5).fold(0, |c, y| c ^ state[x + 5 * y]));
                let t: [u64; STATE_WORDS] =
                    core::array::from_fn(|i| state[i] ^ parities[(i + 4) % 5] ^ parities[(i + 1) % 5].rotate_left(1));
                rounds.push(Round { t, parities });
                let moved = |x: usize, y: usize| {
                    let word = source(x % 5, y);
                    t[word].rotate_left(ROTATIONS[word] as u32)
                };
                state = core::array::from_fn(|i| {
                    let (x, y) = (i % 5, i / 5);
                    moved(x, y) ^ (!moved(x + 1, y) & moved(x + 2, y))
                });
                state[0] ^= constant;
            }
            digests.push(core::array::from_fn(|i| (state[i / 2] >> (32 * (i % 2))) as u32));
        }
        Some(Self { rows, blocks, digests, rounds })
    }

    /// The records: halves of message and digest.
    pub fn records(&self) -> Vec<Vec<Goldilocks>> {
        let halves = |(b, d): (&Block, &[u32; DIGEST_HALVES])| b.0.iter().chain(d).map(|x| number(*x)).collect();
        self.blocks.iter().zip(&self.digests).map(halves).collect()
    }

    /// Column `column` of row `row`, for columns from [`MESSAGE`] on.
    fn other(&self, row: usize, column: usize) -> Goldilocks {
        let (k, round) = (row / ROUNDS, row % ROUNDS);
        let last = round == ROUNDS - 1;
        match column {
            MESSAGE..DIGEST => number(self.blocks[k].0[column - MESSAGE]),
            DIGEST..EMIT => number(if last { self.digests[k][column - DIGEST] } else { 0 }),
            EMIT => number(last.into()),
            _ => number((column - ROUND == round).into()),
        }
    }
}

fn number(x: u32) -> Goldilocks {
    Goldilocks::reduce(x.into())
}

impl TraceRows for Permutations {
    fn rows(&self) -> usize {
        self.rows
    }

    fn group(&self, row: usize, group: usize) -> Row {
        let Some(round) = self.rounds.get(row) else {
            return ZERO_ROW;
        };
        let first = group * LANES;
        let word = match first {
            0..C => round.t[first / 64],
            C..MESSAGE => round.parities[(first - C) / 64],
            _ => {
                return core::array::from_fn(|i| match first + i {
                    column if column < ROUND + ROUNDS => self.other(row, column),
                    _ => Goldilocks::ZERO,
                });
            }
        };
        let byte = word >> (first % 64);
        core::array::from_fn(|i| number((byte >> i & 1) as u32))
    }
}

#[cfg(test)]
mod tests {
    use evergrove_primitives::hash::keccak::{self, Function, keccak_256};

    use super::*;

    #[test]
    fn digests_are_keccak_256() {
        let bytes = |halves: [u32; DIGEST_HALVES]| halves.map(u32::to_le_bytes).as_flattened().to_vec();
        for length in 0..=64 {
            let message: Vec<u8> = (0..length).map(|i| (i * 37 + length) as u8).collect();
            let block = Block::of(&message).unwrap();
            assert_eq!(bytes(block.digest()), keccak_256(&message), "{length} bytes");
            assert_eq!(keccak_256(&message), keccak::reference::hash(Function::Keccak256, &message));
            let table = Permutations::new(vec![block], 5).unwrap();
            assert_eq!(table.digests[0], block.digest());
        }
        assert_eq!(Block::of(&[0; 65]), None);
    }

    #[test]
    fn a_table_has_room_for_so_many() {
        assert!(Permutations::new(vec![Block::default(); 2], 5).is_none());
        assert!(Permutations::new(vec![Block::default(); 21], 9).is_some());
        assert!(Permutations::new(vec![Block::default(); 22], 9).is_none());
        assert!(Permutations::new(vec![], 5).unwrap().records().is_empty());
    }
}

//! Poseidon of width 12, rate 8, capacity 4, 8 full and 22 partial rounds, S-box x^7, over Goldilocks.
//!
//! The round constants and the MDS matrix are those of Plonky2 1.1.0 (checked against it in `evergrove-plonky2`) and of
//! Polygon zkEVM. The two have one permutation and one hash of pairs ([`two_to_one`]), but two sponges for longer inputs:
//!
//! | | a block that is not the first | a block of fewer than 8 words |
//! |---|---|---|
//! | Plonky2: [`hash_no_pad`], [`hash_or_noop`] | overwrites words of the rate, the capacity stays | leaves the rest of the rate |
//! | Polygon zkEVM: [`linear_hash`] | the first 4 words of the state become the capacity | is filled up with zeros |
//!
//! They agree on up to 8 words. The number of words must be fixed by the context in both, since neither pads injectively.

mod constants;
mod derive;
mod full;
pub mod lanes;
mod partial;
pub mod reference;

use alloc::vec::Vec;

use super::Digest;
use crate::field::Goldilocks;

/// Width of the permutation, in field elements.
pub const WIDTH: usize = 12;
/// Elements absorbed per permutation.
pub const RATE: usize = 8;
/// Bytes per field element: 7 always fit below p.
const PACKED_BYTES: usize = 7;
/// Full rounds before the partial ones, and as many after them.
pub const HALF_FULL_ROUNDS: usize = 4;
/// Rounds with an S-box on word 0 alone.
pub const PARTIAL_ROUNDS: usize = 22;

/// Rounds of the permutation.
pub const ROUNDS: usize = 2 * HALF_FULL_ROUNDS + PARTIAL_ROUNDS;

/// Whether every word has an S-box in a round, from 0 to [`ROUNDS`] - 1; otherwise only word 0 has one.
pub const fn is_full(round: usize) -> bool {
    round < HALF_FULL_ROUNDS || round >= HALF_FULL_ROUNDS + PARTIAL_ROUNDS
}

/// The constants that are added to the words before the S-boxes of each round.
pub const fn round_constants() -> &'static [[u64; WIDTH]; ROUNDS] {
    &constants::ROUND_CONSTANTS
}

/// The MDS matrix, by rows: word r of a round's result is the product of row r with the outputs of the S-boxes.
pub const fn matrix() -> [[u64; WIDTH]; WIDTH] {
    let mut rows = [[0; WIDTH]; WIDTH];
    let mut i = 0;
    while i < WIDTH * WIDTH {
        let (r, c) = (i / WIDTH, i % WIDTH);
        rows[r][c] = constants::MDS_CIRCULANT[(c + WIDTH - r) % WIDTH];
        i += 1;
    }
    rows[0][0] += constants::MDS_DIAGONAL_0;
    rows
}

/// The permutation.
///
/// Equal to [`reference::permute`] on every state, by other sums: the full rounds multiply by the MDS matrix as a
/// cyclic convolution of length 12, and the partial rounds run as one linear recurrence (both in private modules of
/// this one). It makes some 1300 products of words; the definition makes 4800.
pub fn permute(state: &mut [Goldilocks; WIDTH]) {
    let mut s = full::enter(state);
    full::rounds(&mut s, &full::FIRST);
    partial::rounds(&mut s);
    full::rounds(&mut s, &full::LAST);
    for (i, x) in state.iter_mut().enumerate() {
        *x = Goldilocks::reduce(s[i % 3][i % 4]);
    }
}

fn truncate(s: &[Goldilocks; WIDTH]) -> Digest {
    Digest([s[0], s[1], s[2], s[3]])
}

/// One permutation of (`left`, `right`, 0): Plonky2's `two_to_one`, the inner node of a Merkle tree.
pub fn two_to_one(left: &Digest, right: &Digest) -> Digest {
    compress(left, right, Goldilocks::ZERO)
}

/// One permutation of (`left`, `right`, `tag`, 0, 0, 0): a compression with a domain tag in the first capacity element.
pub fn compress(left: &Digest, right: &Digest, tag: Goldilocks) -> Digest {
    let mut s = [Goldilocks::ZERO; WIDTH];
    s[..4].copy_from_slice(&left.0);
    s[4..8].copy_from_slice(&right.0);
    s[8] = tag;
    permute(&mut s);
    truncate(&s)
}

/// Plonky2's sponge without padding: each block of at most 8 elements *overwrites* the first words of the rate.
///
/// The number of elements must be fixed by the context, since nothing pads.
pub fn hash_no_pad(input: &[Goldilocks]) -> Digest {
    hash_tagged(input, Goldilocks::ZERO)
}

/// [`hash_no_pad`] with a domain tag in the first capacity element of the initial state.
pub fn hash_tagged(input: &[Goldilocks], tag: Goldilocks) -> Digest {
    let mut s = [Goldilocks::ZERO; WIDTH];
    s[RATE] = tag;
    for block in input.chunks(RATE) {
        s[..block.len()].copy_from_slice(block);
        permute(&mut s);
    }
    truncate(&s)
}

/// A domain tag for [`hash_tagged`]: the domain, four ASCII letters, in the upper half, a length in the lower one.
///
/// # Panics
/// If the length is 2^32 or more.
pub const fn domain_tag(domain: u32, length: usize) -> Goldilocks {
    assert!((length as u64) >> 32 == 0, "a length below 2^32");
    Goldilocks::reduce((domain as u64) << 32 | length as u64)
}

/// Sponge over bytes: little-endian groups of 7, the last one padded with zeros, at least one element. The tag carries
/// the length, so the padded string names no other string. One permutation per 56 bytes.
///
/// # Panics
/// If there are 2^32 bytes or more.
pub fn hash_bytes(domain: u32, bytes: &[u8]) -> Digest {
    let mut elements: Vec<Goldilocks> = bytes
        .chunks(PACKED_BYTES)
        .map(|chunk| {
            let mut le = [0; 8];
            le[..chunk.len()].copy_from_slice(chunk);
            Goldilocks::reduce(u64::from_le_bytes(le))
        })
        .collect();
    if elements.is_empty() {
        elements.push(Goldilocks::ZERO);
    }
    hash_tagged(&elements, domain_tag(domain, bytes.len()))
}

/// Plonky2's leaf hash: up to four elements are the digest themselves (padded with zeros), more go through [`hash_no_pad`].
pub fn hash_or_noop(input: &[Goldilocks]) -> Digest {
    if input.len() <= 4 {
        let mut d = Digest::ZERO;
        d.0[..input.len()].copy_from_slice(input);
        d
    } else {
        hash_no_pad(input)
    }
}

/// Polygon zkEVM's `linear_hash`: up to four elements are the digest themselves (padded with zeros). More elements go
/// through a sponge whose capacity is the digest of the blocks before, in blocks of 8 elements filled up with zeros.
///
/// The number of elements must be fixed by the context. ceil(n / 8) permutations for n > 4.
pub fn linear_hash(input: &[Goldilocks]) -> Digest {
    let mut digest = Digest::ZERO;
    if input.len() <= 4 {
        digest.0[..input.len()].copy_from_slice(input);
        return digest;
    }
    for block in input.chunks(RATE) {
        let mut s = [Goldilocks::ZERO; WIDTH];
        s[..block.len()].copy_from_slice(block);
        s[RATE..].copy_from_slice(&digest.0);
        permute(&mut s);
        digest = truncate(&s);
    }
    digest
}

//! Plonky2's Poseidon: width 12, rate 8, capacity 4, 8 full and 22 partial rounds, S-box x^7, over Goldilocks.
//!
//! The round constants and the MDS matrix are those of Plonky2 1.1.0 (checked against it in `evergrove-recursion`).

mod constants;

use self::constants::{MDS_CIRCULANT, MDS_DIAGONAL_0, ROUND_CONSTANTS};
use super::Digest;
use crate::field::Goldilocks;
use crate::field::partial_reduce;

/// Width of the permutation, in field elements.
pub const WIDTH: usize = 12;
/// Elements absorbed per permutation.
pub const RATE: usize = 8;
const HALF_FULL_ROUNDS: usize = 4;
const PARTIAL_ROUNDS: usize = 22;

/// The permutation.
pub fn permute(state: &mut [Goldilocks; WIDTH]) {
    let mut s = state.map(Goldilocks::as_u64);
    let mut rounds = ROUND_CONSTANTS.iter();
    for (kind, count) in [(true, HALF_FULL_ROUNDS), (false, PARTIAL_ROUNDS), (true, HALF_FULL_ROUNDS)] {
        for rc in rounds.by_ref().take(count) {
            for (x, c) in s.iter_mut().zip(rc) {
                *x = partial_reduce(*x as u128 + *c as u128);
            }
            if kind {
                s = s.map(sbox);
            } else {
                s[0] = sbox(s[0]);
            }
            mds(&mut s);
        }
    }
    *state = s.map(Goldilocks::reduce);
}

#[inline(always)]
fn mul(a: u64, b: u64) -> u64 {
    partial_reduce(a as u128 * b as u128)
}

#[inline(always)]
fn sbox(x: u64) -> u64 {
    let x2 = mul(x, x);
    let x3 = mul(x2, x);
    mul(mul(x2, x2), x3)
}

/// Multiplication by the MDS matrix: entries are at most 41 and a row sums to 264, so that halves of 32 bits never overflow.
#[inline(always)]
fn mds(s: &mut [u64; WIDTH]) {
    let lo = s.map(|x| x & 0xffff_ffff);
    let hi = s.map(|x| x >> 32);
    let mut out = [0; WIDTH];
    for (r, o) in out.iter_mut().enumerate() {
        let (mut a, mut b) = (0u64, 0u64);
        for (i, m) in MDS_CIRCULANT.iter().enumerate() {
            a += lo[(i + r) % WIDTH] * m;
            b += hi[(i + r) % WIDTH] * m;
        }
        if r == 0 {
            a += lo[0] * MDS_DIAGONAL_0;
            b += hi[0] * MDS_DIAGONAL_0;
        }
        *o = partial_reduce(a as u128 + ((b as u128) << 32));
    }
    *s = out;
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

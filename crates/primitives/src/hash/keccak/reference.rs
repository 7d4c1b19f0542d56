//! Keccak as FIPS 202 defines it: the reference for the rest of [`super`].
//!
//! The round constants come from the LFSR of algorithm 5, the rotations from the walk of algorithm 2, and the sponge pads
//! byte by byte. Some ten times slower than its twin; for tests.

use super::{DIGEST_BYTES, Function, RATE_BYTES, STATE_WORDS};

/// Keccak-f\[1600\] on the words A\[x, y\] = `state[x + 5 * y]` (FIPS 202, section 3.3).
pub fn permute(state: &mut [u64; STATE_WORDS]) {
    let mut bits = Lfsr(1);
    for _ in 0..24 {
        theta(state);
        *state = rho_pi(state);
        *state = chi(state);
        state[0] ^= bits.round_constant();
    }
}

fn theta(a: &mut [u64; STATE_WORDS]) {
    let column: [u64; 5] = core::array::from_fn(|x| (0..5).fold(0, |c, y| c ^ a[x + 5 * y]));
    for (i, word) in a.iter_mut().enumerate() {
        *word ^= column[(i + 4) % 5] ^ column[(i + 1) % 5].rotate_left(1);
    }
}

/// Rotates A\[x, y\] by (t + 1)(t + 2) / 2 along the walk (x, y) -> (y, 2x + 3y), and moves it one step on that walk.
fn rho_pi(a: &[u64; STATE_WORDS]) -> [u64; STATE_WORDS] {
    let mut out = [0; STATE_WORDS];
    out[0] = a[0];
    let (mut x, mut y) = (1, 0);
    for t in 0..24 {
        let (nx, ny) = (y, (2 * x + 3 * y) % 5);
        out[nx + 5 * ny] = a[x + 5 * y].rotate_left((t + 1) * (t + 2) / 2 % 64);
        (x, y) = (nx, ny);
    }
    out
}

fn chi(a: &[u64; STATE_WORDS]) -> [u64; STATE_WORDS] {
    core::array::from_fn(|i| {
        let (x, row) = (i % 5, i / 5 * 5);
        a[i] ^ (!a[row + (x + 1) % 5] & a[row + (x + 2) % 5])
    })
}

/// The register of algorithm 5, x^8 + x^6 + x^5 + x^4 + 1.
struct Lfsr(u8);

impl Lfsr {
    fn bit(&mut self) -> bool {
        let out = self.0 & 1 == 1;
        let carry = self.0 >> 7 == 1;
        self.0 = self.0 << 1 ^ if carry { 0x71 } else { 0 };
        out
    }

    /// Bit 2^j - 1 of the constant is the register's next output, for j from 0 to 6.
    fn round_constant(&mut self) -> u64 {
        (0..7).fold(0, |rc, j| rc | u64::from(self.bit()) << ((1 << j) - 1))
    }
}

/// The sponge of `function` over `message`.
pub fn hash(function: Function, message: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut padded = message.to_vec();
    padded.push(function.domain());
    padded.resize(padded.len().next_multiple_of(RATE_BYTES), 0);
    *padded.last_mut().expect("one block at least") |= 0x80;

    let mut state = [0; STATE_WORDS];
    for block in padded.chunks_exact(RATE_BYTES) {
        for (i, byte) in block.iter().enumerate() {
            state[i / 8] ^= u64::from(*byte) << (8 * (i % 8));
        }
        permute(&mut state);
    }
    core::array::from_fn(|i| (state[i / 8] >> (8 * (i % 8))) as u8)
}

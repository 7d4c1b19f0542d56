//! The columns of the last step of Keccak, on a plane.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tables::keccak_plane::{BITS, CONSTANT, CONSTANT_BITS};

/// The committed columns of a row, from its lanes.
pub(crate) fn fill(columns: &mut [Goldilocks], lanes: [u64; 5]) {
    let bit = |lane: u64, z: usize| Goldilocks::new(lane >> z & 1);
    for (i, column) in columns[..CONSTANT].iter_mut().enumerate() {
        *column = bit(lanes[i / BITS], i % BITS);
    }
    let result = lanes[0] ^ (!lanes[1] & lanes[2]);
    for (i, z) in CONSTANT_BITS.into_iter().enumerate() {
        columns[CONSTANT + i] = bit(result, z);
    }
}

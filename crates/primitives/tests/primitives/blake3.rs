//! BLAKE3 compared with the crate `blake3`, on every length around blocks, chunks and subtrees, in pieces of all sizes.

use evergrove_primitives::hash::blake3::Hasher;
use evergrove_primitives::lanes::available;

const CHUNK: usize = 1024;

#[test]
fn digests_are_those_of_the_crate_in_whatever_pieces() {
    let bytes: Vec<u8> = (0..40 * CHUNK as u32).map(|i| (((i * i) >> 3) ^ i) as u8).collect();
    // Around blocks, chunks, and subtrees of up to 32 chunks.
    let around = [0, 64, 128, 1024, 2048, 3072, 4096, 5 * 1024, 8 * 1024, 16 * 1024, 31 * 1024, 32 * 1024, 40 * 1024];
    for length in around.into_iter().flat_map(|n: usize| n.saturating_sub(2)..=(n + 2).min(bytes.len())) {
        let expected = *blake3::hash(&bytes[..length]).as_bytes();
        let pieces = [1, 3, 63, 64, 65, 1000, 1024, 5000, 8 * CHUNK, 9000, bytes.len()];
        for (isa, piece) in available().flat_map(|isa| pieces.map(|piece| (isa, piece))) {
            let mut hasher = Hasher::on(isa);
            bytes[..length].chunks(piece).for_each(|piece| hasher.update(piece));
            assert_eq!(hasher.finish(), expected, "{length} bytes in pieces of {piece} on {isa}");
        }
    }
}

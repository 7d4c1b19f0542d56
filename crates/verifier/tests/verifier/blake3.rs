//! BLAKE3 of the crate `blake3`, on every length around blocks, chunks and subtrees, in pieces of all sizes.

//! The inner loops over whole trees, on vectors and threads.
//!
//! **What.** [`tree::merkle`]: Merkle trees over the rows of a matrix, with all levels or with the cap alone.
//!
//! **When.** For commitments to many rows at once. Buffers are the caller's; work is split over the rayon pool that the call
//! runs in, and each piece picks the best instruction set of the CPU for itself. Results do not depend on either.
//!
//! **Key types.** [`tree::merkle::Shape`] checks the sizes once, [`tree::merkle::TreeHash`] is the hash.
//!
//! **Neighbours.** `evergrove-primitives` holds the hashes themselves.

#![forbid(unsafe_code)]

pub mod ntt;
pub mod tree;

//! The inner loops over whole trees, on vectors and threads.
//!
//! **What.** [`merkle`]: Merkle trees over the rows of a matrix. [`multilinear`]: extensions with their tables of eq,
//! values and products, and SumCheck, ZeroCheck and ProductCheck. [`tree::schedule`] and [`tree::ops`]: any operation on
//! the nodes of a tree by any traversal, with exact counts in [`tree::count`]. [`ntt`]: transforms and low-degree
//! extensions of eight columns at a time; [`oracle`]: commitments to polynomials that use them.
//!
//! **When.** For commitments to many rows, and for the provers of SumCheck. The caller supplies the buffers. Work is
//! split over the rayon pool of the caller, and each piece picks the best instruction set of the CPU for itself.
//! Results depend on neither.
//!
//! **Key types.** [`merkle::Shape`] checks the sizes of a Merkle tree once; [`tree::schedule::Plan`] is a traversal;
//! [`oracle::Domain`] has the tables of transforms, [`oracle::Workspace`] the buffers of a commitment.
//!
//! **Neighbours.** `evergrove-primitives` holds the hashes and fields themselves, `evergrove-curves` the sums over
//! elliptic curves. Without the feature `ark` there is no transcript for prime fields.

#![forbid(unsafe_code)]

pub mod merkle;
pub mod multilinear;
pub mod ntt;
pub mod oracle;
pub mod tree;

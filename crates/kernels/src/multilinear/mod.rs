//! Multilinear polynomials: their extensions ([`mle`]), and proofs about sums, zeros and products over the hypercube
//! ([`sumcheck`]).

pub mod mle;
pub mod sumcheck;

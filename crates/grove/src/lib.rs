//! Proofs of batches by the multilinear engine: the backend `grove`.
//!
//! [`GroveBackend`] proves the buckets and merges of a batch
//! ([`RecursionBackend`](evergrove_commit::RecursionBackend)); [`GroveVerifier`] verifies the proofs. The statements
//! are those of the Plonky2 backend. Module [`circuit`] has the circuits, [`witness`] their free data. [`translation`]
//! and [`openzeppelin`] have the circuits and the free data of digest translation to the Keccak tree and to
//! OpenZeppelin's tree.
//!
//! **Keys.** A verifier needs the fixed columns of both circuits, which take ten million bytes. The key of batches
//! needs no file: building the circuits takes less time than reading and hashing a file would, and the digest of the
//! result is compared with the pinned one. The key of an application may be read from a file whose digest the verifier
//! trusts ([`GroveVerifier::read`]); then no circuit is built.

#![forbid(unsafe_code)]

pub mod application;
mod backend;
mod block;
pub mod circuit;
mod circuit_set;
#[cfg(test)]
mod demands;
mod engine;
#[cfg(test)]
mod gates;
pub mod mpt;
pub mod openzeppelin;
pub mod reshape;
pub mod translation;
pub mod witness;

pub use backend::{BACKEND_NAME, BACKEND_VERSION, GroveBackend, GroveVerifier, KeyError, backend_spec, shape};
pub use circuit_set::{AppCircuitSet, CircuitSetError};
pub use engine::Shape;

//! Proofs of batches by the multilinear engine: the backend `grove`.
//!
//! [`GroveBackend`] proves the buckets and merges of a batch ([`RecursionBackend`](evergrove_commit::RecursionBackend)), [`GroveVerifier`] verifies
//! them. What they prove is what the Plonky2 backend proves: the circuits are in `circuit`, their free data in `witness`; [`translation`] has those of the
//! Keccak tree, with theirs, and [`openzeppelin`] those of OpenZeppelin's.
//!
//! **Keys.** A verifier needs the fixed columns of both circuits, ten million bytes. Nobody has to keep those of batches: the circuits are built in less
//! time than a file takes to be read and hashed, and their digest is compared with the pinned one. The key of an application may come from a file
//! whose digest the verifier trusts ([`GroveVerifier::read`]): nothing is built then.

#![forbid(unsafe_code)]

pub mod application;
mod backend;
mod block;
pub mod circuit;
mod engine;
mod family;
pub mod mpt;
pub mod openzeppelin;
pub mod reshape;
pub mod translation;
pub mod witness;

pub use backend::{BACKEND_NAME, BACKEND_VERSION, GroveBackend, GroveVerifier, KeyError, backend_spec, shape};
pub use engine::Shape;
pub use family::{AppFamily, FamilyError};

//! Recursive proofs of batch structures on Plonky2.
//!
//! **What.** [`Plonky2Backend`] proves the buckets, merges and wraps of a batch; [`Plonky2Verifier`] checks its proofs,
//! with pinned keys and without building a circuit. The circuits are in [`circuit`], their construction in [`setup`].
//! [`apps`] has the applications of `evergrove-apps` as circuits.
//!
//! **When.** A prover loads a backend (seconds, or less from its cache); a verifier loads only keys (milliseconds).
//!
//! **Neighbours.** Implements `evergrove_commit::RecursionBackend`; statements, encodings, profiles and pinned keys
//! come from `evergrove-verifier`. `evergrove-baselines` has other schemes on this prover, the paper's among them.

#![forbid(unsafe_code)]

pub mod apps;
pub mod assignment;
#[cfg(test)]
mod attacks;
mod backend;
pub mod cache;
pub mod circuit;
mod convert;
pub mod gates;
pub mod keys;
pub mod prover;
pub mod setup;
pub mod stark;
mod verifier;

pub use backend::{BACKEND_NAME, BACKEND_VERSION, Plonky2Backend, backend_id, backend_spec, witness_error};
pub use convert::shape_of;
pub use prover::ProverKind;
pub use verifier::{CircuitVerifier, OtherParams, Plonky2Verifier, VerifierKind, check_params};

//! What a verifier needs, and nothing else.
//!
//! **What.** [`Commitment`] to a vector, [`Statement`] of a proof about it, and the hashing rules that tie the two to the
//! table ([`tree`]).
//!
//! **When.** Whenever something that came from outside is decoded or judged. Scalar, single-threaded, no plonky2, builds on
//! plain stable Rust; nothing here panics on any bytes.
//!
//! **Neighbours.** Depends on `evergrove-primitives` alone. `evergrove-recursion` holds the check of the SNARK itself.

#![forbid(unsafe_code)]

mod backend;
mod commitment;
mod profile;
mod statement;
pub mod tree;
pub mod wire;

pub use backend::{BackendId, NodeKind};
pub use commitment::{Commitment, HEIGHT_MAX, ParseCommitmentError, SCHEME};
pub use profile::{FriParams, HeightClass, Profile, UnknownProfile};
pub use statement::Statement;
pub use wire::{BatchProof, DecodeError, Opening};

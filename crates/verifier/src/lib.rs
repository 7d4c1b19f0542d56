//! What a verifier needs, and nothing else.
//!
//! **What.** [`Commitment`] to a vector, [`BatchProof`] about some of its leaves, and the [`Policy`] by which a verifier accepts
//! one. Around them: the [`Statement`] that a proof proves and the hashing rules that tie it to the table ([`tree`],
//! [`batch_digest`]), [`Opening`]s of single slots, the encodings ([`wire`]), pinned verifier keys ([`keys`]) and the number of
//! bits that each profile is worth ([`soundness`]).
//!
//! **When.** Whenever something that came from outside is decoded or judged. Scalar, single-threaded, no plonky2, builds on
//! plain stable Rust; nothing here panics on any bytes.
//!
//! **Neighbours.** Depends on `evergrove-primitives` alone of our crates. `evergrove-recursion` holds the check of the SNARK itself.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod algebra;
mod app;
pub mod argument;
mod backend;
mod blake3;
mod commitment;
pub mod keccak_tree;
pub mod key;
pub mod keys;
mod leaves;
pub mod policy;
pub mod poseidon;
mod profile;
#[cfg(feature = "schema")]
pub mod schema;
mod scheme;
pub mod soundness;
mod statement;
pub mod tables;
pub mod tree;
pub mod verify;
pub mod wire;

pub use app::{AppId, AppOutput, AppSpec, INPUTS_TAG, inputs_digest};
pub use backend::{BackendId, NodeKind};
pub use commitment::{Commitment, HEIGHT_MAX, ParseCommitmentError, SCHEME};
pub use leaves::{LeavesError, batch_digest, check_batch};
pub use policy::{Policy, PolicyError};
pub use profile::{FriParams, HeightClass, Profile, UnknownProfile};
pub use scheme::{Scheme, UnknownScheme};
pub use statement::{Said, Statement, information};
pub use wire::{BatchProof, DecodeError, Opening};

//! Everything that a verifier needs, and nothing else.
//!
//! **What.** [`verify::Request`] turns the bytes of a proof file or opening, a [`Commitment`] and a [`Policy`] into a
//! verdict. Its parts:
//!
//! | question | module |
//! |---|---|
//! | what does a proof state, and how are rows tied to it? | [`Statement`], [`tree`], [`batch_digest`], [`keccak_tree`]; `schema` with the feature of that name |
//! | what do bytes mean? | [`wire`], [`Opening`], [`BatchProof`] |
//! | how does a contract hash rows? | [`abi`], [`openzeppelin`] |
//! | what is claimed of Ethereum's state? | [`ethereum`] |
//! | does the SNARK hold? | [`argument`], over [`tables`], both written in [`algebra`]; [`key`] has the fixed columns, and the only ways to a verified statement |
//! | which keys are right? | [`keys`], pinned |
//! | how many bits is that worth? | [`soundness`], [`argument::soundness`] |
//!
//! **When.** Whenever data from outside is decoded or judged. Scalar, single-threaded, on plain stable Rust with `core`
//! and `alloc`. No bytes make this crate panic, and it allocates nothing before the bytes that require the memory have
//! arrived.
//!
//! **Neighbours.** Depends only on `evergrove-primitives`. Provers and circuits (`evergrove-multilinear`) use the
//! constraints of this crate; `evergrove-ffi` is this crate for C and WebAssembly. `evergrove-plonky2` checks the
//! proofs of Plonky2.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod abi;
pub mod algebra;
mod app;
pub mod argument;
mod backend;
mod commitment;
pub mod ethereum;
pub mod keccak_tree;
pub mod key;
pub mod keys;
mod leaves;
pub mod openzeppelin;
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

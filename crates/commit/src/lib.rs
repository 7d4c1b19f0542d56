//! The vector commitment: it turns a table into commitments, batches and plans of proofs.
//!
//! **What.** A [`Vector`] of 2^H slots with its Merkle tree; a [`Batch`], the structure of proofs for a set of its
//! slots; and the plan of an update ([`Batch::plan`]): the proofs to make, their inputs and their order. [`schema`]
//! defines how a table's rows become values. [`watch`] has what backends report about their proofs.
//!
//! **When.** To commit to a table and keep proofs about parts of it fresh. [`vc`] has all algorithms under the paper's
//! names and shows in a few lines each how the pieces fit. This crate does not touch files, clocks or sockets.
//!
//! **Neighbours.** Generic over [`RecursionBackend`] (implemented by `evergrove-plonky2`, and here by the re-executing
//! [`NativeBackend`]) and over [`Store`] (implemented by the `evergrove` crate on redb, and here in memory). Statements and
//! hashing rules are `evergrove-verifier`'s.

#![forbid(unsafe_code)]

mod backend;
pub mod batch;
mod hashing;
mod memory;
mod native;
pub mod page;
mod store;
pub mod vc;
mod vector;
pub mod watch;

pub use backend::{
    BackendChoice, BackendError, BackendId, BackendSpec, BlockWitness, BucketWitness, LeafWitness, LevelWitness,
    MergeWitness, NodeKind, NodeProof, RecursionBackend, Witness,
};
pub use batch::{Batch, BatchError};
pub use evergrove_verifier::schema;
pub use hashing::batch_digest;
pub use memory::MemoryStore;
pub use native::{NativeBackend, Violation, check_statement};
pub use store::{PageId, Store, StoreError, StoreMut};
pub use vector::{Occupied, Vector, VectorError};

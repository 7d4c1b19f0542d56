//! The vector commitment: a table in, commitments, batches and plans of proofs out.
//!
//! **Neighbours.** Generic over [`RecursionBackend`] (implemented by `evergrove-recursion`, and here by the re-executing
//! native backend) and over [`Store`] (implemented by the `evergrove` crate on redb, and here in memory).

#![forbid(unsafe_code)]

mod backend;
pub mod batch;
mod memory;
mod native;
pub mod page;
pub mod schema;
mod store;
pub mod vc;
mod vector;

pub use backend::{
    BackendError, BackendId, BucketWitness, LeafWitness, MergeWitness, NodeKind, NodeProof, RecursionBackend,
};
pub use batch::{Batch, BatchError};
pub use memory::MemoryStore;
pub use native::NativeBackend;
pub use store::{PageId, Store, StoreError, StoreMut};
pub use vector::{Occupied, Vector, VectorError};

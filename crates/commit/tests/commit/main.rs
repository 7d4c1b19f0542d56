//! Vectors, batches and their plans, with the native backend.

mod batch;
mod complete;
mod laws;
mod mutation;
mod vc;
mod vector;

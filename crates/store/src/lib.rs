//! Succinct proofs about a large, changing, Merkle-committed table, kept fresh.
//!
//! **What.** A [`Store`] keeps a table in one directory: its versions, its commitment, and named batches of its rows. A
//! [`Prover`] brings the proofs of the batches to the current version through an `evergrove_jobs::Engine`, and makes
//! only a few proofs per change. [`Backends`] are the proof systems of a program.
//!
//! **When.** For programs that do what the command line does. A program that only checks proofs needs a backend and
//! `evergrove-verifier`.
//!
//! **Key types.** [`Store`], [`Prover`], [`Changes`]. [`cluster`] is for workers on other machines.
//!
//! **Neighbours.** Commitments, batch structures and plans come from `evergrove-commit`, formats and policies from
//! `evergrove-verifier`. The caller passes in the backends, for example those of `evergrove-grove`: this crate does not
//! know their circuits.

#![forbid(unsafe_code)]

mod backends;
pub mod cluster;
mod doctor;
mod error;
pub mod input;
mod prove;
mod store;
mod verify;

pub use backends::Backends;
pub use doctor::{DoctorReport, Finding, Repair};
pub use error::{Error, ErrorClass};
pub use prove::{
    BatchEstimate, BatchReport, NodeCosts, Progress, ProofFile, ProofTree, Prover, TreeNode, UpdateEstimate,
    UpdateReport, proof_key,
};
pub use store::{
    BACKUP_MAGIC, Backup, BackupError, BackupHead, BackupReader, BatchStatus, Changes, DatabaseFile, Epoch,
    EpochReport, MAX_REQUEST_KEY, MAX_REQUESTS, Options, Outcome, ProvenAt, PruneReport, REQUESTS_KEPT, Request, Space,
    Status, Store, View, in_database,
};
pub use verify::{MAX_SUCCINCT_BYTES, Verified, VerifyError, check_length, verify};

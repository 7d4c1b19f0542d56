//! Succinct proofs about a large, changing, Merkle-committed table, kept fresh.
//!
//! **What.** A [`Store`] holds a table in one directory: its versions, its commitment, and named batches of its rows. A
//! [`Prover`] brings the proofs of the batches up to the current version, with a few proofs per change instead of all of
//! them, through a `evergrove_jobs::Engine`. [`Backends`] says which proof systems there are.
//!
//! **When.** Whenever a program wants what the command line does. Whoever only checks proofs needs a backend and
//! `evergrove-verifier`.
//!
//! **Key types.** [`Store`], [`Prover`], [`Changes`]. [`cluster`] is for workers that prove elsewhere.
//!
//! **Neighbours.** Commitments, batch structures and plans come from `evergrove-commit`, formats and policies from
//! `evergrove-verifier`, circuits from `evergrove-recursion` (which this crate does not know: it is handed its backends).

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

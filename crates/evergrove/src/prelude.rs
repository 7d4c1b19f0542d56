//! What most programs need: `use evergrove::prelude::*`.
//!
//! Read the types in this order.
//!
//! 1. [`Table`]: rows from a csv file, or from memory. [`Table::rows_where`] finds positions of rows by their cells.
//! 2. [`Store`]: a committed table in a directory. [`Store::prove`] proves that rows are in it, [`Store::update`] takes
//!    [`Changes`] and refreshes the proofs, [`Store::proof`] gives a [`Proof`] out.
//! 3. [`Verifier`]: judges a proof against a [`Commitment`] and [`Rows`].
//! 4. [`Config`]: [`Backend`], [`Profile`], memory, threads, and where keys are kept.
//!
//! Every fallible function gives [`Error`].

pub use evergrove_commit::schema::{Column, ColumnType, Schema};
pub use evergrove_proof::{Commitment, Policy, Profile};
pub use evergrove_store::{BatchReport, Epoch, UpdateReport, Verified};

pub use crate::{Backend, Changes, Config, Error, NamedRow, Proof, Rows, Store, Table, Value, Verifier};

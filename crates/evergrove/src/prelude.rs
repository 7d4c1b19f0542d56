//! The types that most programs need: `use evergrove::prelude::*`.
//!
//! Read the types in this order.
//!
//! 1. [`Table`]: rows from a csv file, or from memory. [`Table::rows_where`] finds positions of rows by their cells.
//! 2. [`Store`]: a committed table in a directory. [`Store::prove`] proves that rows are in it, [`Store::update`] takes
//!    [`Changes`] and refreshes the proofs, [`Store::proof`] returns a [`Proof`].
//! 3. [`Verifier`]: judges a proof against a [`Commitment`] and [`Rows`].
//! 4. [`Config`]: [`Backend`], [`Profile`], memory, threads, and the directory of keys.
//!
//! The functions of these types return [`Error`]. Those of the layers below (`Schema`, `Opening`, `Policy`, and `parse`
//! of `Commitment`, `Profile` and `Backend`) return errors of their own, most of which `?` converts into [`Error`].
//!
//! # Terms
//!
//! - *Slot*, *position*: a table is committed as 2^H slots, each empty or with a row. Its position is its number, from
//!   0, and never changes. H is the *height* of the [`Commitment`].
//! - *Epoch*: a committed state of the table. Every update that changes something makes the next one.
//! - *Batch*: rows under a name, with one proof. It is *stale* while that proof is about an earlier commitment or other
//!   rows.
//! - *Bucket*, *merge*, *wrap*: the recursive proofs behind that proof. A bucket proves up to some hundred rows, a
//!   merge joins two proofs, a wrap makes the last one smaller (only in [`Profile::Paper`]).
//!
//! `docs/glossary.md` in the repository has more.

#[cfg(feature = "apps")]
pub use evergrove_apps::aggregate::Answer;
pub use evergrove_commit::schema::{Column, ColumnType, Schema};
pub use evergrove_store::input::Format;
pub use evergrove_store::{BatchReport, BatchStatus, Epoch, ErrorClass, UpdateReport, Verified};
pub use evergrove_verifier::{Commitment, Opening, Policy, Profile};

#[cfg(feature = "apps")]
pub use crate::Groups;
pub use crate::{Backend, Changes, Config, Error, NamedRow, Proof, Rows, Store, Table, Value, Verifier};

//! Succinct proofs about a large, changing table, kept fresh.
//!
//! Evergrove commits to the rows of a table with a Merkle tree. One short proof then shows that a batch of rows is in
//! the table. When rows change, Evergrove proves again only the few parts of the proof that the change touches. Anyone
//! with the commitment checks the proof in milliseconds, without the table.
//!
#![cfg_attr(feature = "grove", doc = "```standalone_crate")]
#![cfg_attr(not(feature = "grove"), doc = "```no_run")]
//! use evergrove::prelude::*;
//!
//! fn main() -> Result<(), Error> {
//! #   let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/birdstrikes.csv");
//! #   let dir = tempfile::tempdir().expect("a directory");
//! #   std::fs::copy(shipped, dir.path().join("strikes.csv")).expect("the shipped table");
//! #   std::env::set_current_dir(&dir).expect("a directory");
//!     let table = Table::from_csv("strikes.csv")?;
//!     let mut store = Store::create("db", &table)?;
//!     let dawn = table.rows_where(|r| r["time_of_day"] == "Dawn")?;
//!     store.prove("dawn", &dawn)?;
//!     store.update(Changes::new().set(17, "cost_repair", 2_500))?;
//!     let proof = store.proof("dawn")?;
//!     // A verifier has the commitment and the rows from elsewhere.
//!     Verifier::default().verify(&proof, &store.commitment()?, &store.rows("dawn")?)?;
//!     Ok(())
//! }
//! ```
//!
//! **What.** [`prelude`] has what most programs need: a [`Store`] holds a [`Table`] and proves batches of its rows, and
//! a [`Verifier`] judges proofs. [`Config`] has their settings. The layers below are modules of this crate, so a
//! program depends on this crate alone: [`store`], [`commit`], [`proof`], [`jobs`], [`ethereum`], with `grove` or
//! `plonky2` also `apps`, with `grove` `mpt` and `reshape`, and with the feature `plonky2`
//! the module of that name.
//!
//! **When.** Whenever a program proves or verifies. The command line, the service and the examples use this crate.
//!
//! **Features.** `grove` (default): our own SNARK, for batches, queries and other applications. `plonky2`: the SNARK on
//! Plonky2, for the profiles of version 0.1; a project that depends on this crate then needs
//! `RUSTC_BOOTSTRAP = "plonky2_field"` in the `[env]` of its own `.cargo/config.toml`. Without `grove`, choose another backend by name:
//! `Config { backend: Backend::Native, ..Config::default() }` to prove, and
//! `Verifier::default().allow_backend(Backend::Native)` to verify. `parquet`: tables in Parquet files. `queue`: proofs
//! by workers. `cloud`: objects in buckets.

#![forbid(unsafe_code)]

#[cfg(feature = "apps")]
mod applications;
mod backends;
mod changes;
mod config;
mod costs;
mod engine;
mod error;
#[cfg(feature = "apps")]
mod groups;
#[cfg(feature = "grove")]
mod grove;
mod handle;
#[cfg(feature = "apps")]
pub mod listing;
mod machine;
mod migrate;
#[cfg(feature = "plonky2")]
mod on_plonky2;
pub mod openzeppelin;
pub mod prelude;
mod table;
mod value;
mod verifier;

#[cfg(feature = "apps")]
pub use applications::{AppCircuits, AppKey};
#[cfg(feature = "apps")]
pub use evergrove_apps as apps;
pub use evergrove_commit as commit;
pub use evergrove_ethereum as ethereum;
#[cfg(feature = "grove")]
pub use evergrove_grove::{mpt, reshape};
pub use evergrove_jobs as jobs;
#[cfg(feature = "plonky2")]
pub use evergrove_plonky2 as plonky2;
pub use evergrove_primitives as primitives;
pub use evergrove_store as store;
pub use evergrove_verifier as proof;

pub use backends::{Backend, UnknownBackend};
pub use changes::Changes;
#[cfg(feature = "queue")]
pub use config::Workers;
pub use config::{Config, Environment};
pub use error::Error;
#[cfg(feature = "apps")]
pub use groups::Groups;
pub use handle::Store;
pub use machine::Machine;
pub use table::{NamedRow, Rows, Table};
pub use value::Value;
pub use verifier::{Proof, Verifier};

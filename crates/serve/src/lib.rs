//! The HTTP service of a store: a stream of changes in, fresh proofs out.
//!
//! **What.** [`serve`] answers on a listener until it is told to stop. Changes arrive as JSON lines and wait in a
//! bounded queue. One thread commits many requests together as the next epoch. Another thread refreshes every batch.
//! Events tell listeners about both.
//!
//! **When.** For tables that a program changes all the time. A program that changes rows now and then calls
//! `evergrove::store::Prover::update`, which does the same once.
//!
//! **Key types.** [`serve`], [`Config`], [`Shutdown`].
//!
//! **Neighbours.** `evergrove` has the store and the prover, `evergrove-jobs` the engine. The caller passes both in,
//! and also the listener, tokens, certificates and the signal to stop. This crate handles no signals, and uses neither
//! the environment nor a terminal.

#![forbid(unsafe_code)]

mod access;
mod backups;
mod change;
mod config;
mod epochs;
mod event;
mod health;
mod http;
mod metrics;
mod problem;
mod refresh;
mod runs;
mod service;
mod sizes;
mod stall;
mod tls;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use access::AccessLog;
pub use config::{Config, KeyFiles, Right, Token, TokenError, Tokens, TokensError};
pub use event::Event;
pub use health::{Health, NotReady, health};
pub use http::openapi;
pub use problem::Problem;
pub use runs::{Progress, ProofState};
pub use service::{Parts, ServeError, Shutdown, Summary, serve};
pub use tls::{Tls, TlsError};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every holder of the lock leaves the value valid, so poisoning is ignored.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[global_allocator]
static HEAP: evergrove_testkit::heap::Counting = evergrove_testkit::heap::Counting;

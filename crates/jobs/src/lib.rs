//! Task graphs with content-addressed results, and the engines that run them.
//!
//! **What.** A [`TaskGraph`] says which results depend on which others. An [`Engine`] makes each result once, with a
//! [`Runner`], and keeps it in a [`Results`] store under its content key.
//!
//! **When.** For work that takes seconds per step and must survive a crash. A key names everything that its result
//! depends on. Anything stored under the key is therefore the result, whoever made it and whenever.
//!
//! **Key types.** [`TaskGraph`], [`Engine`], [`Results`]. [`local::LocalEngine`] needs no server.
//! `bullmq::BullmqEngine` (feature `bullmq`) gives the work to other processes, which do it as a [`Work`].
//! [`objects::Objects`] stores objects as files, or in a bucket of S3, Google or Azure (feature `cloud`).
//!
//! **Neighbours.** This crate contains no mathematics and uses no other crate of Evergrove. `evergrove-store` turns
//! plans of proofs into graphs. The laws in `evergrove_testkit::engine` hold for every engine.

#![forbid(unsafe_code)]

#[cfg(feature = "bullmq")]
pub mod bullmq;
mod cores;
mod engine;
mod error;
mod graph;
pub mod local;
pub mod metrics;
pub mod objects;
mod results;
#[cfg(any(feature = "bullmq", feature = "cloud"))]
mod tls;
pub mod watch;
mod work;

pub use cores::{Cores, CoresError};
pub use engine::{Cancel, Engine, Event, Observer, Report, Runner, TaskFailure};
pub use error::{Cause, GraphError, RunError};
pub use graph::{Key, Task, TaskGraph, TaskId};
pub use results::{Put, Results, ResultsError};
pub use work::{BadInput, BadResult, Job, Unfit, Work};

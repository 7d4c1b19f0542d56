//! Task graphs with content-addressed results, and the engines that run them.
//!
//! **What.** A [`TaskGraph`] says which result needs which others; an [`Engine`] brings its results into being with a
//! [`Runner`], once each, and keeps them in a [`Results`] store under their content keys.
//!
//! **When.** Whenever work takes seconds per step and must survive a crash: since a key names everything that its result
//! depends on, whatever is stored under it already is the result, whoever made it and when.
//!
//! **Key types.** [`TaskGraph`], [`Engine`], [`Results`]. [`local::LocalEngine`] is the engine that needs no server;
//! `bullmq::BullmqEngine`, with the feature `bullmq`, gives the work to other processes, which do it as a [`Work`].
//! [`objects::Objects`] are files or a bucket of S3, Google or Azure (feature `cloud`).
//!
//! **Neighbours.** Knows no mathematics and none of Evergrove's other crates. `evergrove` maps plans of proofs to graphs.
//! Every engine is held to the laws in `evergrove_testkit::engine`.

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
pub use engine::{Cancel, Engine, Event, Observer, Report, Runner, Silent, TaskFailure};
pub use error::{Cause, GraphError, RunError};
pub use graph::{Key, Task, TaskGraph, TaskId};
pub use results::{MemoryResults, Put, Results, ResultsError};
pub use work::{BadInput, BadResult, Job, Unfit, Work};

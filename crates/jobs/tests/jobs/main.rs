//! Engines, objects and queues: laws, failures, and jobs that no leader wrote.

#[cfg(feature = "bullmq")]
mod bullmq;
#[cfg(feature = "bullmq")]
mod faults;
#[cfg(feature = "bullmq")]
mod forged;
mod local;
mod objects;

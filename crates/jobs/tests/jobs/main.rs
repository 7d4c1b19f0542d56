//! Engines, objects and queues: the laws, failures, and jobs that no leader has written.

#[cfg(feature = "bullmq")]
mod bullmq;
#[cfg(feature = "bullmq")]
mod faults;
#[cfg(feature = "bullmq")]
mod forged;
mod local;
mod objects;

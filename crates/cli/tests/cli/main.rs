//! The command as its users see it: real processes, real files, and the backend that executes everything again.

mod app;
mod backup;
mod bls;
mod bundle;
mod errors;
mod eth;
mod eth_table;
mod formats;
mod help;
mod inspect;
mod jobs;
mod lab;
mod life;
mod migrate;
mod openzeppelin;
#[cfg(feature = "otlp")]
mod otlp;
mod own;
mod query;
mod refusals;
mod serve;
mod store_trouble;
mod tls;
mod worker;
mod world;

//! Tests of applications: laws, circuits, queries, attacks, and untrusted bytes.

mod aggregate;
mod bls;
mod catalog;
mod demands;
mod digest_translation;
mod mutation;
mod on_tables;
mod samples;
mod sync_committees;
mod world;

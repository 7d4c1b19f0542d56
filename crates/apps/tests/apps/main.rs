//! Applications: the laws, the circuits, the queries, attacks, and bytes from outside.

mod aggregate;
mod bls;
mod catalog;
mod digest_translation;
mod mutation;
mod on_tables;
mod samples;
mod sync_committees;
mod world;

//! Applications: the laws, the circuits, the queries, attacks, and bytes from outside.

mod aggregate;
mod bls;
mod bls_attacks;
mod catalog;
mod digest_translation;
mod family;
mod foreign;
mod laws;
mod mutation;
mod on_tables;
mod sync_committees;

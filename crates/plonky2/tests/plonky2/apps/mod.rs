//! Applications on Plonky2: the laws, real proofs, attacks. The tests of `evergrove-apps` cover the parts that do not
//! depend on the proof system; some of them are included here.

mod aggregate;
mod bls;
mod bls_attacks;
mod catalog;
mod circuit_set;
mod digest_translation;
mod foreign;
mod samples;
mod sync_committees;
#[path = "../../../../apps/tests/apps/world.rs"]
mod world;

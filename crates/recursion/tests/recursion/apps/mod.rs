//! Applications on Plonky2: the laws, real proofs, attacks. What does not depend on the proof system is in the tests of `evergrove-apps`, and some
//! of it is included here.

mod aggregate;
mod bls;
mod bls_attacks;
mod catalog;
mod digest_translation;
mod family;
mod foreign;
mod samples;
mod sync_committees;
#[path = "../../../../apps/tests/apps/world.rs"]
mod world;

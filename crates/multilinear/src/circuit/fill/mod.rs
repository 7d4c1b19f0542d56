//! The prover's values for the columns of tables. [`evergrove_verifier::tables`] defines the columns.

pub(super) mod addition;
mod congruence;
pub(super) mod keccak;
pub(super) mod keccak_plane;
pub(super) mod point;
pub(super) mod query;
pub(super) mod stack;

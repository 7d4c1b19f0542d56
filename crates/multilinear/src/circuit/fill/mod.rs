//! What a prover puts into the columns of tables. What the columns are is in [`evergrove_verifier::tables`].

pub(super) mod addition;
mod congruence;
pub(super) mod keccak;
pub(super) mod keccak_plane;
pub(super) mod point;
pub(super) mod query;
pub(super) mod stack;

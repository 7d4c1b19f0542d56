//! STARKs in `starky`'s format.
//!
//! **What.** An [`Air`] is a table's constraints, written once over an [`Algebra`]; [`AirStark`] is the same table as
//! one of `starky`'s, whose verifiers, native and recursive, accept the proofs. [`StarkProver`] proves it on our
//! kernels. [`keccak`] has the table of the permutation Keccak-f\[1600\].
//!
//! **Binding.** A table may *expose* records: its rows with a flag show some columns to a verifier of the proof. Prover
//! and verifier draw a challenge after the trace's commitment *and* a digest of the data that the records are compared
//! with, and the table proves the sum of 1 / (gamma + record(beta)). That is `starky`'s argument for lookups between
//! tables; here the other table is the verifier. [`sum_of_records`] is the sum that the verifier expects.
//!
//! **When.** For computation that is regular and costly in a Plonky2 circuit: Keccak's permutation takes thousands of
//! rows there, and 24 rows of a table.

mod air;
mod circuit;
pub mod keccak;
mod records;

use evergrove_verifier::FriParams;
use starky::config::StarkConfig;

use crate::circuit::circuit_config;

pub use crate::prover::stark::{StarkProver, TraceRows};
pub use air::{Air, AirStark, Algebra, Exposed, Frame};
pub use circuit::{RecordTargets, TableTargets};
pub use records::{RecordedProof, starky_proof, sum_of_records, verify};

/// The configuration of tables that the circuits of a profile verify: its rate, queries, grinding and challenges.
pub fn stark_config(params: &FriParams) -> StarkConfig {
    let FriParams {
        challenges,
        // `D` is derived from it.
        extension_degree: _,
        // The number of rows is an argument of prover and verifier.
        degree_bits: _,
        // FRI is that of the circuits.
        rate_bits: _,
        queries: _,
        pow_bits: _,
        cap_height: _,
        arity_bits: _,
        final_poly_bits: _,
    } = *params;
    StarkConfig::new(1, challenges.into(), circuit_config(params).fri_config)
}

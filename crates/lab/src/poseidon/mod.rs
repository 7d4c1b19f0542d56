//! The Poseidon Merkle engine: a leaf hasher (LHE) and a branch hasher (BHE), each with one pipelined permutation. Source:
//! "Poseidon Merkle Trees in Hardware" (Irreducible, 2023).
//!
//! ```text
//!  host --link--> [transposer, HBM] --8 words/c--> [ LHE permutation ] --digests, last pass--> [ BHE: a queue a level,   ]
//!                                       states in HBM <--+   ^                                 [ deepest first, 1 core ] --> cap
//!                                                        +---+
//! ```
//!
//! Columns come in groups of eight, the rate. The LHE absorbs a group for one row after the other, round robin, so that a row's
//! state is back from the pipeline long before its next group; states wait in HBM. In the last pass digests leave one a cycle,
//! and the BHE ([`Accumulator`](crate::accumulator::Accumulator)) hashes pairs as they become ready. [`run`] is timing only,
//! [`run_on`] the same on a matrix, with the digests of `evergrove-kernels`.

mod engine;
pub mod formula;
mod params;
pub mod resources;
mod work;

pub use engine::{Outcome, Report};
pub use params::{Params, Pipelines};
pub use work::{Convention, Matrix, Rows, Timing};

use crate::LabError;

/// Runs the engine, timing only.
///
/// # Errors
/// If a parameter is out of its range.
pub fn run(params: &Params) -> Result<Report, LabError> {
    Ok(engine::run(params, &mut Timing)?.report)
}

/// Runs the engine on rows.
///
/// # Errors
/// If a parameter is out of its range.
pub fn run_on<W: Rows>(params: &Params, rows: &mut W) -> Result<Outcome<W::Digest>, LabError> {
    engine::run(params, rows)
}

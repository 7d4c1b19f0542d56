//! The Poseidon Merkle engine: a leaf hasher (LHE) and a branch hasher (BHE), each with one pipelined permutation. Source:
//! "Poseidon Merkle Trees in Hardware" (Irreducible, 2023).
//!
//! ```text
//!  host --link--> [transposer, HBM] --8 words/c--> [ LHE permutation ] --digests, last pass--> [ BHE: a queue a level,   ]
//!                                       states in HBM <--+   ^                                 [ deepest first, 1 core ] --> cap
//!                                                        +---+
//! ```
//!
//! Columns come in groups of the rate, which is eight. The LHE absorbs one group of one row after another, round robin,
//! so a row's state has left the pipeline long before its next group; states wait in HBM. In the last pass one digest
//! leaves per cycle, and the BHE ([`Accumulator`](crate::accumulator::Accumulator)) hashes digests as soon as a node
//! has all its children. [`run`] is timing only; [`run_on`] runs the same machine on a matrix, with the digests of
//! `evergrove-kernels`.
//!
//! The model also has: a board in front that extends a trace (how the article integrates its transform), an input wider
//! than one core, trees of arity 4 and 8, trees in sequence, and several boards for leaves and for branches.

mod boards;
mod engine;
pub mod formula;
mod latency;
mod params;
pub mod resources;
mod source;
pub mod transform;
mod work;

pub use engine::{Outcome, Report};
pub use latency::Latency;
pub use params::{Outputs, Params, Pipelines};
pub use work::{Convention, Matrix, Rows, Timing};

use crate::LabError;
use crate::engine::trace::Trace;

/// Runs the engine, timing only.
///
/// # Errors
/// If a parameter is out of range.
pub fn run(params: &Params) -> Result<Report, LabError> {
    Ok(run_on(params, &mut Timing)?.report)
}

/// Runs the engine, timing only, and records its first `events` operations: absorptions as `row.pass`, nodes as
/// `level_number`.
///
/// # Errors
/// If a parameter is out of range, or there are several boards.
pub fn trace(params: &Params, events: usize) -> Result<(Report, Trace), LabError> {
    params.check()?;
    if params.leaf_boards > 1 {
        return Err(crate::error::field("leaf_boards", params.leaf_boards, "1 for a trace"));
    }
    let (outcome, trace) = engine::run(params, &mut Timing, Some(events))?;
    Ok((outcome.report, trace))
}

/// Runs the engine on the rows of the extended matrix.
///
/// # Errors
/// If a parameter is out of range, or the rows do not have groups of `rate` words.
pub fn run_on<W: Rows>(params: &Params, rows: &mut W) -> Result<Outcome<W::Digest>, LabError> {
    params.check()?;
    rows.check(params.rate)?;
    boards::run(params, rows)
}

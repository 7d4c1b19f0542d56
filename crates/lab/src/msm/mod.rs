//! A multi-scalar multiplier of chiplets: processing elements (PEs) with a pipelined point adder and bucket memory. Source:
//! "Chiplet-Based Techniques for Scalable and Memory-Aware Multi-Scalar Multiplication".
//!
//! ```text
//!  memory --(P, s)/c--> | PE 0: digit -> bucket -> PADD -> bucket | -> | PE 1 ... | -> chiplet link -> ...
//! ```
//!
//! Pippenger's method: scalars are cut into signed windows. In a *pass* each PE adds every point to the bucket that the
//! digit of its window names. Then the buckets of a window are summed with their weights (*bucket aggregation*), and
//! the windows with theirs (*result aggregation*). `parallel_windows` PEs take the windows of one point together
//! (horizontal unrolling); `parallel_points` points are taken at a time (vertical unrolling); full unrolling does both.
//!
//! The *faithful* mode counts what the paper counts: one point per cycle and pass. The *honest* mode adds the rest of a
//! machine: the latency of the adder, conflicts with a bucket that is still in the adder, aggregation, bandwidth, and
//! hops between PEs and chiplets.

mod aggregation;
pub mod cost;
mod digits;
pub mod formula;
mod group;
mod machine;
mod params;

pub(crate) use digits::random_words;
pub use digits::{Scalar, recode};
pub use group::{Group, Timing};
pub use machine::{Outcome, Report};
pub use params::{Aggregation, Hazards, Params};

use crate::LabError;
use crate::engine::trace::Trace;
use crate::synth::stages;

/// The scalars of [`run`]: 2^`log_points` fixed pseudorandom scalars of `scalar_bits` bits.
pub fn scalars(params: &Params) -> Vec<Scalar> {
    (0..1 << params.log_points).map(|i| digits::random(i, params.scalar_bits)).collect()
}

/// Cycles of a point in the adder of `rtl/`, for [`Params::padd_latency`]: one to read its bucket, and the stages of
/// `padd_377`.
pub fn padd_cycles() -> u64 {
    1 + stages("padd_377")
}

/// Runs the machine on these scalars, timing only.
///
/// # Errors
/// If a parameter is out of range.
pub fn run(params: &Params) -> Result<Report, LabError> {
    Ok(trace(params, 0)?.0)
}

/// Runs like [`run`], and records the first `events` operations: the additions of each PE with their window and bucket.
///
/// # Errors
/// If a parameter is out of range.
pub fn trace(params: &Params, events: usize) -> Result<(Report, Trace), LabError> {
    params.check()?;
    let scalar = |i| digits::random(i, params.scalar_bits);
    // Each scalar is computed when it enters, and points of type `()` take no memory.
    let (outcome, trace) = machine::run(params, &Timing, scalar, &vec![(); 1 << params.log_points], events);
    Ok((outcome.report, trace))
}

/// Runs the machine on scalars and points. Returns the sum of all products.
///
/// # Errors
/// If a parameter is out of range, or the number of scalars or points is not 2^`log_points`.
pub fn run_on<G: Group>(
    params: &Params,
    group: &G,
    scalars: &[Scalar],
    points: &[G::Point],
) -> Result<Outcome<G::Point>, LabError> {
    params.check()?;
    for (name, len) in [("scalars", scalars.len()), ("points", points.len())] {
        if len as u64 != params.points() {
            return Err(crate::error::field(name, len, format_args!("2^log_points = {}", params.points())));
        }
    }
    if let Some(s) = scalars.iter().find(|s| digits::bits(s) > params.scalar_bits) {
        let range = format_args!("scalars of at most {} bits", params.scalar_bits).to_string();
        return Err(crate::error::field("scalars", format_args!("one of {} bits", digits::bits(s)), range));
    }
    Ok(machine::run(params, group, |i| scalars[i], points, 0).0)
}

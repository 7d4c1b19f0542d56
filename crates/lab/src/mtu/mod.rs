//! The Multifunction Tree Unit: a tree of processing elements (PEs) that is fed as many nodes a cycle as it has PEs, and one
//! more PE for all the levels above. Source: "MTU: The Multifunction Tree Unit in zkSpeed", sections 4 to 6.
//!
//! ```text
//!                       +-- front tree: N - 1 PEs, log2 N levels --+
//!  memory --N nodes/c-->| PE PE PE PE -> PE PE -> PE               |--1 node/c--> accumulator (1 PE) --> root
//!                       +------------------------------------------+
//!  memory <--N nodes/c--  the same, other way round (Build MLE)    <--1 node/c--  accumulator <-- root
//! ```
//!
//! [`run`] is a machine that a [`Params`] describes, timing only; [`reduce`] and [`grow`] run the same machine on nodes, in
//! the same cycles, with results that are those of `evergrove-kernels`. [`formula`] has the closed forms.

pub mod cost;
pub mod formula;
mod forward;
mod hybrid;
mod levels;
mod params;
mod report;
mod subtrees;
pub mod tables;
mod work;

pub use params::{Latencies, Params, Traversal, Workload};
pub use report::Report;
pub use work::{Expanding, Grow, Reduce, Reducing, Timing};

use crate::LabError;

/// Cycles after which a run is given up.
const LIMIT: u64 = 1 << 40;

/// Runs a machine, timing only.
///
/// # Errors
/// If a parameter is out of its range.
pub fn run(params: &Params) -> Result<Report, LabError> {
    if params.workload.is_forward() { grow(params, &mut Timing) } else { reduce(params, &mut Timing) }
}

/// Runs a hybrid machine, timing only, and records its first `events` operations.
///
/// # Errors
/// If a parameter is out of its range, or the machine is another.
pub fn trace(params: &Params, events: usize) -> Result<(Report, crate::engine::trace::Trace), LabError> {
    params.check()?;
    if params.traversal != Traversal::Hybrid {
        return Err(crate::error::field("traversal", params.traversal.name(), "hybrid for a trace"));
    }
    if params.workload.is_forward() {
        return forward::run(params, &mut Timing, events);
    }
    hybrid::run(params, &mut Timing, events)
}

/// Runs an inverted tree on nodes. Returns the root beside the report.
///
/// # Errors
/// If a parameter is out of its range, or the workload is a forward tree.
pub fn reduce<W: Reduce>(params: &Params, work: &mut W) -> Result<Report, LabError> {
    params.check()?;
    if params.workload.is_forward() {
        return Err(crate::error::field("workload", params.workload.name(), "an inverted tree for this function"));
    }
    match params.traversal {
        Traversal::Hybrid => Ok(hybrid::run(params, work, 0)?.0),
        Traversal::BreadthFirst => levels::reduce(params, work),
        Traversal::DepthFirst => subtrees::reduce(params, work),
        Traversal::SubtreeBreadthFirst => levels::reduce_in_subtrees(params, work),
    }
}

/// Runs a forward tree on nodes.
///
/// # Errors
/// If a parameter is out of its range, or the workload is an inverted tree.
pub fn grow<W: Grow>(params: &Params, work: &mut W) -> Result<Report, LabError> {
    params.check()?;
    if !params.workload.is_forward() {
        return Err(crate::error::field("workload", params.workload.name(), "a forward tree for this function"));
    }
    match params.traversal {
        Traversal::Hybrid => Ok(forward::run(params, work, 0)?.0),
        Traversal::BreadthFirst => levels::grow(params, work),
        Traversal::DepthFirst => subtrees::grow(params, work),
        Traversal::SubtreeBreadthFirst => {
            Err(crate::error::field("traversal", params.traversal.name(), "bfs, dfs or hybrid for a forward tree"))
        }
    }
}

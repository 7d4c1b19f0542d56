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
use crate::engine::trace::Trace;

/// Cycles after which a run is given up.
const LIMIT: u64 = 1 << 40;

/// Runs a machine, timing only.
///
/// # Errors
/// If a parameter is out of its range.
pub fn run(params: &Params) -> Result<Report, LabError> {
    Ok(trace(params, 0)?.0)
}

/// The same, and records its first `events` operations, each in the cycle in which it enters its PE.
///
/// An operation has the name of its operand in the paper's tables, the left one of two: node i of level l is `L{l}_{i}`, and
/// the leaves are level 1. The front tree takes `group {g}` of N leaves. Depth first, each PE fetches `pair {i}` of its leaves,
/// or stores `leaf {i}` of its own, in the same cycle.
///
/// # Errors
/// If a parameter is out of its range.
pub fn trace(params: &Params, events: usize) -> Result<(Report, Trace), LabError> {
    if params.workload.is_forward() { grown(params, &mut Timing, events) } else { reduced(params, &mut Timing, events) }
}

/// The name of an operation by its operand, the left one of two: its level above the leaves and its number.
fn name(level: u32, index: u64) -> String {
    format!("L{}_{index}", level + 1)
}

/// Runs an inverted tree on nodes. Returns the root beside the report.
///
/// # Errors
/// If a parameter is out of its range, or the workload is a forward tree.
pub fn reduce<W: Reduce>(params: &Params, work: &mut W) -> Result<Report, LabError> {
    Ok(reduced(params, work, 0)?.0)
}

fn reduced<W: Reduce>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    params.check()?;
    if params.workload.is_forward() {
        return Err(crate::error::field("workload", params.workload.name(), "an inverted tree for this function"));
    }
    match params.traversal {
        Traversal::Hybrid => hybrid::run(params, work, events),
        Traversal::BreadthFirst => levels::reduce(params, work, events),
        Traversal::DepthFirst => subtrees::reduce(params, work, events),
        Traversal::SubtreeBreadthFirst => levels::reduce_in_subtrees(params, work, events),
    }
}

/// Runs a forward tree on nodes.
///
/// # Errors
/// If a parameter is out of its range, or the workload is an inverted tree.
pub fn grow<W: Grow>(params: &Params, work: &mut W) -> Result<Report, LabError> {
    Ok(grown(params, work, 0)?.0)
}

fn grown<W: Grow>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    params.check()?;
    if !params.workload.is_forward() {
        return Err(crate::error::field("workload", params.workload.name(), "a forward tree for this function"));
    }
    match params.traversal {
        Traversal::Hybrid => forward::run(params, work, events),
        Traversal::BreadthFirst => levels::grow(params, work, events),
        Traversal::DepthFirst => subtrees::grow(params, work, events),
        Traversal::SubtreeBreadthFirst => {
            Err(crate::error::field("traversal", params.traversal.name(), "bfs, dfs or hybrid for a forward tree"))
        }
    }
}

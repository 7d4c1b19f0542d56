//! The Multifunction Tree Unit: a tree of processing elements (PEs) that takes as many nodes per cycle as it has PEs,
//! and one more PE that computes all levels above. Source: "MTU: The Multifunction Tree Unit in zkSpeed", sections 4 to
//! 6.
//!
//! ```text
//!                       +-- front tree: N - 1 PEs, log2 N levels --+
//!  memory --N nodes/c-->| PE PE PE PE -> PE PE -> PE               |--1 node/c--> accumulator (1 PE) --> root
//!                       +------------------------------------------+
//!  memory <--N nodes/c--  the same, other way round (Build MLE)    <--1 node/c--  accumulator <-- root
//! ```
//!
//! [`run`] runs the machine that a [`Params`] describes, timing only. [`reduce`] and [`grow`] run the same machine on
//! nodes, in the same number of cycles, with the results of `evergrove-kernels`. [`formula`] has the closed forms.

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

/// Limit of a run, in cycles.
const LIMIT: u64 = 1 << 40;

/// Runs a machine, timing only.
///
/// # Errors
/// If a parameter is out of range.
pub fn run(params: &Params) -> Result<Report, LabError> {
    Ok(trace(params, 0)?.0)
}

/// Runs like [`run`], and records the first `events` operations, each in the cycle in which it enters its PE.
///
/// The name of an operation is that of its operand in the paper's tables: node i of level l is `L{l}_{i}`, where the
/// leaves are level 1; of two operands it is the left one. The front tree takes `group {g}` of N leaves. Depth first,
/// each PE fetches `pair {i}` of its leaves, or stores its `leaf {i}`, in the same cycle.
///
/// # Errors
/// If a parameter is out of range.
pub fn trace(params: &Params, events: usize) -> Result<(Report, Trace), LabError> {
    if params.workload.is_forward() { grown(params, &mut Timing, events) } else { reduced(params, &mut Timing, events) }
}

/// The name of an operation, by the level above the leaves and the number of its operand, of two the left one.
fn name(level: u32, index: u64) -> String {
    format!("L{}_{index}", level + 1)
}

/// Runs an inverted tree on nodes. `work` receives them.
///
/// # Errors
/// If a parameter is out of range, or the workload is a forward tree.
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

/// Runs a forward tree on nodes. `work` receives the leaves.
///
/// # Errors
/// If a parameter is out of range, or the workload is an inverted tree.
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

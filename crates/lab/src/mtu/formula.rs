//! Closed forms of the tree unit's time, memory traffic and multiplications.
//!
//! n = 2^h leaves, N PEs, pipelines of L stages, B bytes per cycle, w bytes per node. Tests compare the forms with the
//! models.

use super::{Params, Traversal, Workload};
use crate::accumulator::Policy;

/// Cycles of the machine, as [`super::run`] counts them.
pub fn cycles(params: &Params) -> f64 {
    match (params.traversal, params.workload.is_forward()) {
        (Traversal::Hybrid, false) if params.policy == Policy::Ruler => hybrid_ruler(params),
        (Traversal::Hybrid, false) => hybrid(params),
        (Traversal::Hybrid, true) => forward(params),
        (Traversal::BreadthFirst, _) => breadth_first(params),
        (Traversal::DepthFirst, _) => depth_first(params),
        (Traversal::SubtreeBreadthFirst, _) => subtrees(params),
    }
}

/// Cycles between two groups of N nodes: 1, or the time that the memory takes for them and, with `all_levels`, for
/// their results.
fn interval(p: &Params) -> f64 {
    let n = f64::from(p.pes);
    let words = if p.workload.all_levels() { 2.0 * n } else { n };
    (words * p.node_bytes as f64 / p.bytes_per_cycle()).max(1.0)
}

/// The stream, the front tree, and for each level above it one pipeline and one register.
fn hybrid(p: &Params) -> f64 {
    let (latency, above) = (p.latency() as f64, f64::from(p.log_size - p.log_pes()));
    let groups = (p.leaves() >> p.log_pes()) as f64;
    groups * interval(p) + latency * f64::from(p.log_pes()) + above * (latency + 1.0)
}

/// The fixed ruler, if a group arrives every cycle. Level l owns the cycles 2^l mod 2^(l+1), and issues its first pair
/// in the first of them after the pair is ready. So the top level issues its only pair long after the end of the
/// stream.
fn hybrid_ruler(p: &Params) -> f64 {
    let latency = p.latency();
    let (mut available, mut issue) = (1, 0);
    for level in 0..p.log_size - p.log_pes() {
        let (first, period) = (1_u64 << level, 2_u64 << level);
        issue = first + available.max(first).saturating_sub(first).div_ceil(period) * period;
        available = issue + period + latency + 1;
    }
    let root = issue + latency + 1 + latency * u64::from(p.log_pes());
    (root as f64).max(hybrid(p))
}

/// The way down to the first group, then the stream.
fn forward(p: &Params) -> f64 {
    let latency = p.latency() as f64;
    let groups = (p.leaves() >> p.log_pes()) as f64;
    groups * interval(p) + f64::from(p.log_size) * (latency + 1.0)
}

/// Each level takes the longer of its operations and its bytes, and one pipeline.
fn breadth_first(p: &Params) -> f64 {
    let (pes, latency) = (f64::from(p.pes), p.latency() as f64);
    let on_chip = |nodes: f64| nodes <= p.sram_nodes as f64;
    let mut sum = 0.0;
    for level in 1..=p.log_size {
        let ops = 2_f64.powi((p.log_size - level) as i32);
        let (reads, writes) = if p.workload.is_forward() {
            (if on_chip(ops) || ops < 2.0 { 0.0 } else { 1.0 }, if level > 1 && on_chip(2.0 * ops) { 0.0 } else { 2.0 })
        } else {
            let reads = if level > 1 && on_chip(2.0 * ops) { 0.0 } else { 2.0 };
            (reads, if p.workload.all_levels() || !on_chip(ops) { 1.0 } else { 0.0 })
        };
        let bytes = ops * (reads + writes) * p.node_bytes as f64;
        sum += (ops / pes).ceil().max(bytes / p.bytes_per_cycle()) + latency + 1.0;
    }
    sum
}

/// Rounds of a SumCheck: together `operations` of PEs and `bytes`, both halved from round to round, so the longer of the
/// two is the longer one in each of them. A round needs a challenge from the message of the round before: its pipeline
/// drains, and the challenge takes `turn` cycles. With the operations and bytes of a tree, a round for each level and
/// no turn, this is the tree breadth first.
pub fn rounds(p: &Params, operations: f64, bytes: f64, rounds: f64, turn: f64) -> f64 {
    let busy = (operations / f64::from(p.pes)).max(bytes / p.bytes_per_cycle());
    busy + rounds * (p.latency() as f64 + 1.0 + turn)
}

/// The operations of a subtree in sequence, or its bytes if they take longer; then the merge.
fn depth_first(p: &Params) -> f64 {
    let latency = p.latency() as f64;
    let leaves = (p.leaves() >> p.log_pes()) as f64;
    let words = if p.workload.all_levels() { 2.0 } else { 1.0 };
    let bytes = words * leaves * p.node_bytes as f64 * f64::from(p.pes);
    let above = f64::from(p.log_size - p.log_pes());
    // The first of the log2 N merge levels takes one cycle per pair.
    let merge = f64::from(p.log_pes()) * (latency + 1.0) + f64::from(p.pes) / 2.0;
    leaves.max(bytes / p.bytes_per_cycle()) + above * (latency + 1.0) + merge
}

/// Each level of each subtree takes its operations and one pipeline. Meanwhile the next leaves are loaded; if that
/// takes longer, the unit waits.
fn subtrees(p: &Params) -> f64 {
    let (pes, latency, mut below, mut sum) = (f64::from(p.pes), p.latency() as f64, p.log_size, 0.0);
    while below > 0 {
        let height = p.log_subtree.min(below);
        let count = 2_f64.powi((below - height) as i32);
        let compute: f64 = (0..height).map(|l| (2_f64.powi(l as i32) / pes).ceil() + latency).sum();
        let nodes = 2_f64.powi(height as i32);
        let written = if p.workload.all_levels() { nodes - 1.0 } else { 1.0 };
        let load = (nodes + written) * p.node_bytes as f64 / p.bytes_per_cycle();
        // If memory is the bottleneck, the upper levels of the last subtree come after its last leaves.
        let first_level = (nodes / 2.0 / pes).ceil();
        sum += count * compute.max(load) + if load > compute { compute - first_level } else { 0.0 };
        below -= height;
    }
    sum
}

/// Bytes that pass through memory.
pub fn bytes(p: &Params) -> u64 {
    let n = p.leaves();
    let nodes = match (p.traversal, p.workload) {
        (Traversal::BreadthFirst, _) if p.sram_nodes == 0 => 3 * n - 3 - u64::from(p.workload.is_forward()),
        (_, Workload::ProductMle) => 2 * n - 1,
        _ => n,
    };
    nodes * p.node_bytes
}

/// Number of multiplications: section 3.1 of the paper, equations (4) and (6).
pub fn multiplications(workload: Workload, log_size: u32) -> u64 {
    let n = 1_u64 << log_size;
    match workload {
        Workload::BuildMle => n - 2,
        Workload::MleEvaluation | Workload::MultiplicationTree | Workload::ProductMle => n - 1,
        Workload::MerkleTree => 0,
    }
}

//! Closed forms of the engine's time, and the article's own estimates.

use super::params::{Params, RATE};

/// Cycles from the first word to the root, as [`super::run`] counts them.
///
/// R rows, P passes: the leaf hasher takes P R absorptions, each a cycle, or what its S-boxes, the link or HBM take; by columns
/// a pass waits for all of its R groups. The branch hasher then needs log2 R pipelines, or R - 1 hashes of its own pace from the first
/// leaf on.
pub fn cycles(p: &Params) -> f64 {
    let (rows, passes) = (p.rows() as f64, p.passes() as f64);
    let latency = p.pipelines.permutation() as f64;
    let cycle = p.frequency_mhz as f64 * 1e6;
    let arrival = (RATE as f64 * 64.0 / (p.link_gbit_s * 1e9 / cycle)).max(1.0);
    let core = Params::interval(p.lhe_sboxes) as f64;
    let state = f64::from(p.state_words) * 8.0;
    let hbm = p.hbm_gb_s as f64 * 1e9 * p.hbm_efficiency / cycle;
    // One state moves in the first and in the last pass, two in the others.
    let pass = |states: f64| -> f64 {
        let memory = if p.hbm_gb_s == 0 { 0.0 } else { states * state / hbm };
        // A row's next group waits until its state is back.
        (rows * core.max(memory)).max(if passes > 1.0 { latency } else { 0.0 })
    };
    let count = passes as u64;
    let states = |k: u64| f64::from(u8::from(k > 0)) + f64::from(u8::from(k + 1 < count));
    // A pass ends when its groups have arrived and been absorbed after those of the pass before.
    let leaves = (0..count).fold(0.0_f64, |end, k| {
        let arrived = (k + 1) as f64 * rows * arrival;
        let own = pass(states(k));
        if p.by_columns { end.max(arrived) + own } else { (end + own).max(arrived) }
    }) + latency;
    let last_pass = pass(states(count - 1));
    let branch = Params::interval(p.bhe_sboxes) as f64;
    let (levels, nodes) = (f64::from(p.log_rows - p.cap_height), rows - 2_f64.powi(p.cap_height as i32));
    let first_leaf = leaves - if p.by_columns { last_pass } else { last_pass.max(rows * arrival) };
    let tail = levels * (latency + 1.0);
    // A core that is behind hashes the last leaves while the pipeline's worth of nodes above them is still to come.
    let behind = nodes * branch - latency;
    if p.overlapped { (leaves + tail).max(first_leaf + behind + tail) } else { leaves + rows.max(behind) + tail }
}

/// The article's bound of the leaf hasher: a group a cycle.
pub fn lhe_bound_seconds(p: &Params) -> f64 {
    p.passes() as f64 * p.rows() as f64 / (p.frequency_mhz as f64 * 1e6)
}

/// What fits the article's "best theoretical latency" of 1.27 s: the passes, one more to fetch the first group column by
/// column, and one for branches that begin after the last leaf. The text does not say so.
pub fn best_theoretical_seconds(p: &Params) -> f64 {
    (p.passes() + 2) as f64 * p.rows() as f64 / (p.frequency_mhz as f64 * 1e6)
}

/// The article's estimate for several boards: `gigabytes` of 10^9 bytes by one link for each leaf board, then a branch hash a
/// cycle for every row.
pub fn boards_seconds(p: &Params, gigabytes: f64, leaf_boards: u32) -> f64 {
    gigabytes * 8.0 / (f64::from(leaf_boards) * p.link_gbit_s) + p.rows() as f64 / (p.frequency_mhz as f64 * 1e6)
}

/// Leaf and branch hashes of the whole tree.
pub fn hashes(p: &Params) -> u64 {
    p.passes() * p.rows() + p.rows() - (1 << p.cap_height)
}

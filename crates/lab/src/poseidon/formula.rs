//! Closed forms of the engine's time, and the article's own estimates.

use super::params::{Outputs, Params};

/// Cycles from the first word to the root, as [`super::run`] counts them.
///
/// For R rows, P passes and T trees, the leaf hasher makes T P R absorptions. Each takes a cycle, or the time of its
/// S-boxes, the link, the extension or HBM if that is longer. By columns, a pass starts when all of its R groups have
/// arrived. Then the branch hasher needs a pipeline per level; if it is slower, it hashes the nodes of each tree at its
/// own pace from the tree's first leaf. The last leaves of a tree start when the digest queue has a place. Several
/// boards take the time of one part, and of the levels above.
pub fn cycles(p: &Params) -> f64 {
    if p.leaf_boards > 1 {
        return cycles(&p.part()) + p.cycles_above() as f64;
    }
    let rows = p.rows() as f64;
    let latency = p.pipelines.permutation() as f64;
    let arrival = Arrival::new(p);
    let core = Params::interval(p.lhe_sboxes) as f64 / f64::from(p.lhe_cores);
    let count = p.passes() * p.trees;
    let pass = |k: u64| -> f64 {
        // The first and the last pass of a tree move one state each, the others two.
        let place = k % p.passes();
        let states = f64::from(u8::from(place > 0)) + f64::from(u8::from(place + 1 < p.passes()));
        let bytes = p.transposed_bytes() as f64 + states * f64::from(p.state_words) * 8.0;
        let memory = p.hbm_bytes_per_cycle().map_or(0.0, |rate| bytes / rate);
        // The next group of a row waits until the row's state is back.
        (rows * core.max(memory)).max(if count > 1 { latency } else { 0.0 })
    };
    let (permutations, interval) = (p.permutations_of_a_node() as f64, Params::interval(p.bhe_sboxes) as f64);
    let to_branches = latency + p.network_latency as f64;
    // Operations of the branch hasher: nodes, or groups of a front tree.
    let groups = (rows / 2_f64.powi(p.log_front() as i32)).max(1.0);
    let hashing = if p.front_tree { groups } else { nodes(p) as f64 } * permutations * interval;
    // Cycles that the network needs for the digests of a tree.
    let sending = p.digest_network().map_or(0.0, |rate| rows * 32.0 * p.frequency_mhz as f64 * 1e6 / rate as f64);
    let waiting = p.digest_places().map_or(0.0, |places| (places as f64 / rows).min(1.0));
    // `end` is the cycle in which a pass has absorbed its groups, after their arrival and the pass before. `first` is
    // the cycle in which the branch hasher has the first digest of a tree; `hashed` is the cycle in which it has hashed
    // the tree.
    let (mut end, mut before, mut arrived) = (0.0_f64, 0.0, 0.0_f64);
    let (mut hashed, mut sent, mut first, mut of_first_tree) = (0.0_f64, 0.0_f64, 0.0, 0.0);
    for k in 0..count {
        let own = pass(k);
        // By columns, HBM holds two passes, and time that the link has waited for places is lost. Otherwise the link runs
        // ahead of the leaf hasher by the places of the input queue.
        arrived = if p.by_columns {
            let all = arrival.of_groups(k + 1);
            let after = if k == 0 { 0.0 } else { arrived + all - arrival.of_groups(k) };
            all.max(after).max(before)
        } else {
            let ahead = (p.input_places() as f64).min(rows);
            (arrived + rows * arrival.interval).max(end + (rows - ahead) * arrival.interval)
        };
        before = end;
        end = if p.by_columns { end.max(arrived) + own } else { (end + own).max(arrived) };
        if (k + 1) % p.passes() == 0 {
            let last_pass = if p.by_columns { own } else { own.max(rows * arrival.interval) };
            first = end - last_pass + to_branches;
            if k + 1 == p.passes() {
                of_first_tree = first;
            }
            sent = first.max(sent) + sending;
            if p.overlapped {
                hashed = first.max(hashed) + hashing;
                let place = (hashed - waiting * hashing).max(sent - waiting * sending);
                end = end.max(place);
            }
        }
    }
    let leaves = (end + to_branches).max(sent);
    let tail = f64::from(p.levels()) * (permutations * latency + 1.0) + f64::from(p.log_front()) * latency;
    // A front tree passes its groups on at its own pace. A core that lags hashes the last leaves while nodes above them
    // are still to come. Counted from 0, level l has the share (1 - 1/a) / a^l of the nodes, l latencies after level 0:
    // a latency divided by a - 1 in all.
    let ahead = if p.front_tree { 0.0 } else { permutations * latency / f64::from(p.arity - 1) };
    let back = output_cycles(p);
    if !p.overlapped {
        return (leaves + rows.max(hashing - ahead) + tail).max(first + back);
    }
    // Digests go back to the host from the first one on.
    (leaves + tail).max(hashed - ahead + tail).max(first + back).max(of_first_tree + p.trees as f64 * back)
}

/// The arrival of groups of columns at the leaf hasher.
struct Arrival {
    /// Cycles per chunk at the leaf hasher.
    interval: f64,
    /// With an extension: cycles per chunk on the link, chunks of a column, chunks of its extension, and the cycles in
    /// between.
    extension: Option<(f64, f64, f64, f64)>,
    rows: f64,
    rate: f64,
}

impl Arrival {
    fn new(p: &Params) -> Self {
        let (cycle, chunk) = (p.frequency_mhz as f64 * 1e6, p.group_bytes() as f64 * 8.0);
        let interval = |gbit_s: f64| (chunk / (gbit_s * 1e9 / cycle)).max(1.0 / f64::from(p.lhe_cores));
        let (link, rows) = (interval(p.link_gbit_s), p.rows() as f64);
        if p.log_blowup == 0 {
            return Self { interval: link, extension: None, rows, rate: f64::from(p.rate) };
        }
        let rate = f64::from(p.rate);
        let (unit, column) = (rate / f64::from(p.lde_words), rows / rate);
        let between = (p.transform_latency() + p.network_latency) as f64;
        let trace = column / 2_f64.powi(p.log_blowup as i32);
        let extension = Some((link, trace, column, between));
        Self { interval: interval(p.network_gbit_s).max(unit), extension, rows, rate }
    }
    /// If the link is the bottleneck, only the extension of the last column comes after it. If the extension is, it
    /// starts after the first column has arrived.
    fn of_groups(&self, groups: u64) -> f64 {
        let Some((link, trace, column, between)) = self.extension else {
            return groups as f64 * self.rows * self.interval;
        };
        let columns = groups as f64 * self.rate;
        let (come, leave) = (link * trace, self.interval * column);
        (columns * come + leave).max(come + columns * leave) + between
    }
}

/// The longest interval of a branch hasher's permutations with which it keeps up with a leaf hasher at full rate, tree
/// after tree. The digests of a tree arrive in one of P passes. The article counts two input words per output word and
/// gets 2 P.
pub fn branch_interval(p: &Params) -> f64 {
    let pass = p.rows() as f64 * Params::interval(p.lhe_sboxes) as f64 / f64::from(p.lhe_cores);
    p.passes() as f64 * pass / (nodes(p) as f64 * p.permutations_of_a_node() as f64)
}

/// Cycles that the digests of a tree take back to the host.
fn output_cycles(p: &Params) -> f64 {
    match p.outputs {
        Outputs::Cap => 0.0,
        Outputs::Digests => (p.rows() + nodes(p)) as f64 * 256.0 * p.frequency_mhz as f64 / (p.link_gbit_s * 1e3),
    }
}

/// Number of nodes of a tree above its leaves.
fn nodes(p: &Params) -> u64 {
    (p.rows() - (1 << p.cap_height)) / u64::from(p.arity - 1)
}

/// The article's bound of the leaf hasher, in seconds: one group per cycle and core.
pub fn lhe_bound_seconds(p: &Params) -> f64 {
    p.passes() as f64 * p.rows() as f64 / f64::from(p.lhe_cores) / (p.frequency_mhz as f64 * 1e6)
}

/// A reading that fits the article's "best theoretical latency" of 1.27 s: the passes, one more to fetch the first
/// group column by column, and one for branches that begin after the last leaf. The article does not state it.
pub fn best_theoretical_seconds(p: &Params) -> f64 {
    (p.passes() + 2) as f64 * p.rows() as f64 / (p.frequency_mhz as f64 * 1e6)
}

/// The article's estimate for several boards, in seconds: `gigabytes` (10^9 bytes) over one link per leaf board, then
/// one branch hash per cycle for every row.
pub fn boards_seconds(p: &Params, gigabytes: f64, leaf_boards: u32) -> f64 {
    gigabytes * 8.0 / (f64::from(leaf_boards) * p.link_gbit_s) + p.rows() as f64 / (p.frequency_mhz as f64 * 1e6)
}

/// Permutations of leaves and branches of all trees.
pub fn hashes(p: &Params) -> u64 {
    p.trees * (p.passes() * p.rows() + nodes(p) * p.permutations_of_a_node())
}

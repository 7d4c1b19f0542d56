//! Closed forms of the engine's time, and the article's own estimates.

use super::params::{Outputs, Params};

/// Cycles from the first word to the root, as [`super::run`] counts them.
///
/// R rows, P passes, T trees: the leaf hasher takes T P R absorptions, each a cycle, or what its S-boxes, the link, the
/// extension or HBM take; by columns a pass waits for all of its R groups. The branch hasher then needs a pipeline a level, or
/// the nodes' hashes at its own pace from the first leaf of each tree on; the last leaves of a tree begin when there is a place
/// before it. Several boards: one part, and the levels above.
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
        // One state moves in the first and in the last pass of a tree, two in the others.
        let place = k % p.passes();
        let states = f64::from(u8::from(place > 0)) + f64::from(u8::from(place + 1 < p.passes()));
        let bytes = p.transposed_bytes() as f64 + states * f64::from(p.state_words) * 8.0;
        let memory = p.hbm_bytes_per_cycle().map_or(0.0, |rate| bytes / rate);
        // A row's next group waits until its state is back.
        (rows * core.max(memory)).max(if count > 1 { latency } else { 0.0 })
    };
    let (permutations, interval) = (p.permutations_of_a_node() as f64, Params::interval(p.bhe_sboxes) as f64);
    let to_branches = latency + p.network_latency as f64;
    // The branch hasher's slots: nodes, or groups of a front tree.
    let groups = (rows / 2_f64.powi(p.log_front() as i32)).max(1.0);
    let hashing = if p.front_tree { groups } else { nodes(p) as f64 } * permutations * interval;
    // The network brings so many cycles' digests of a tree.
    let sending = p.digest_network().map_or(0.0, |rate| rows * 32.0 * p.frequency_mhz as f64 * 1e6 / rate as f64);
    let waiting = p.digest_places().map_or(0.0, |places| (places as f64 / rows).min(1.0));
    // A pass ends when its groups have arrived and been absorbed after those of the pass before. Of the branch hasher: when it
    // has a tree's first digest, and when it has hashed the tree.
    let (mut end, mut before, mut arrived) = (0.0_f64, 0.0, 0.0_f64);
    let (mut hashed, mut sent, mut first, mut of_first_tree) = (0.0_f64, 0.0_f64, 0.0, 0.0);
    for k in 0..count {
        let own = pass(k);
        // By columns HBM has two passes. Else the link is ahead of the leaf hasher by as many groups as have places.
        arrived = if p.by_columns {
            arrival.of_groups(k + 1).max(before)
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
    // A front tree passes its groups on at its pace. A core that is behind hashes the last leaves while nodes above them are still to come: of level l the (1 - 1/a) / a^l
    // shares of l latencies, a latency by a - 1 in all.
    let ahead = if p.front_tree { 0.0 } else { permutations * latency / f64::from(p.arity - 1) };
    let back = output_cycles(p);
    if !p.overlapped {
        return (leaves + rows.max(hashing - ahead) + tail).max(first + back);
    }
    // Digests go back from the first on.
    (leaves + tail).max(hashed - ahead + tail).max(first + back).max(of_first_tree + p.trees as f64 * back)
}

/// When groups of columns are there.
struct Arrival {
    /// Cycles of a chunk at the leaf hasher.
    interval: f64,
    /// Cycles of a chunk by the link, chunks of a column and of its extension, and what passes in between.
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
    /// The link is behind, and the last column leaves alone; or the extension is, after the first column has come.
    fn of_groups(&self, groups: u64) -> f64 {
        let Some((link, trace, column, between)) = self.extension else {
            return groups as f64 * self.rows * self.interval;
        };
        let columns = groups as f64 * self.rate;
        let (come, leave) = (link * trace, self.interval * column);
        (columns * come + leave).max(come + columns * leave) + between
    }
}

/// The longest interval of a branch hasher's permutations with which it keeps up with a leaf hasher at full rate, tree after
/// tree: the digests of a tree come in one of P passes. The article counts two words of input for one of output and has 2 P.
pub fn branch_interval(p: &Params) -> f64 {
    let pass = p.rows() as f64 * Params::interval(p.lhe_sboxes) as f64 / f64::from(p.lhe_cores);
    p.passes() as f64 * pass / (nodes(p) as f64 * p.permutations_of_a_node() as f64)
}

/// Cycles that the digests of a tree take back.
fn output_cycles(p: &Params) -> f64 {
    match p.outputs {
        Outputs::Cap => 0.0,
        Outputs::Digests => (p.rows() + nodes(p)) as f64 * 256.0 * p.frequency_mhz as f64 / (p.link_gbit_s * 1e3),
    }
}

/// Nodes of a tree above its leaves.
fn nodes(p: &Params) -> u64 {
    (p.rows() - (1 << p.cap_height)) / u64::from(p.arity - 1)
}

/// The article's bound of the leaf hasher: a group a cycle and core.
pub fn lhe_bound_seconds(p: &Params) -> f64 {
    p.passes() as f64 * p.rows() as f64 / f64::from(p.lhe_cores) / (p.frequency_mhz as f64 * 1e6)
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

/// Leaf and branch permutations of all trees.
pub fn hashes(p: &Params) -> u64 {
    p.trees * (p.passes() * p.rows() + nodes(p) * p.permutations_of_a_node())
}

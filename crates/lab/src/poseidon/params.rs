//! What an engine is, and the matrix that it hashes.

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::engine::MemoryKind;
use crate::error::{field, power_of_two, within, within_f64};

/// Rounds of the permutation.
pub(super) const ROUNDS: u64 = 30;

/// Stages of a round's parts. The article does not print them; these are those of `rtl/` (a multiplier of six stages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipelines {
    /// The addition of round constants.
    pub constants: u64,
    /// A multiplier; an S-box is three of them deep.
    pub multiplier: u64,
    /// The multiplication by the MDS matrix: shifts, a tree of additions, a reduction.
    pub mds: u64,
}

impl Default for Pipelines {
    fn default() -> Self {
        Self { constants: 1, multiplier: 6, mds: 6 }
    }
}

impl Pipelines {
    /// Cycles of a permutation.
    pub fn permutation(&self) -> u64 {
        ROUNDS * (self.constants + 3 * self.multiplier + self.mds)
    }
}

/// What leaves the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outputs {
    /// The cap, which takes no time.
    Cap,
    /// Every digest, of leaves and of nodes, by the other direction of the link: who answers queries needs them.
    Digests,
}

/// An engine with its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// log2 of the rows of the extended matrix, the article's b r.
    pub log_rows: u32,
    /// Columns, the article's c.
    pub columns: u32,
    /// Words that a permutation absorbs, the article's N. A matrix that is hashed, and not only timed, has 8.
    pub rate: u32,
    /// log2 of the nodes of the cap that leaves the engine; 0 for the root.
    pub cap_height: u32,
    /// Children of a node: 2, 4 or 8. Four take two permutations, eight take four.
    pub arity: u32,
    /// Trees, one after the other without a pause.
    pub trees: u64,
    /// What goes back by the link.
    pub outputs: Outputs,
    /// Gbit/s (10^9) of the link that the matrix, or the trace, comes by, to each leaf board.
    pub link_gbit_s: f64,
    /// Clock in MHz.
    pub frequency_mhz: u64,
    /// Leaf boards, each with a link and a part of the rows; a power of two.
    pub leaf_boards: u32,
    /// Branch boards, a power of two, at most as many: each makes a subtree over the rows of its leaf boards, which take turns,
    /// and one of them the levels above.
    pub branch_boards: u32,
    /// Gbit/s of the network between boards.
    pub network_gbit_s: f64,
    /// Cycles of a hop between boards; 0: leaf hasher and branch hasher are on one.
    pub network_latency: u64,
    /// log2 of the blowup of a low-degree extension on a board between link and leaf hasher; 0: the matrix comes extended.
    pub log_blowup: u32,
    /// Words that the extension emits in a cycle.
    pub lde_words: u32,
    /// Cores of a leaf hasher: its input takes a group a cycle for each.
    pub lhe_cores: u32,
    /// Groups that may wait before the leaf hasher of a board: the link, or the network, waits for a place. By columns they wait
    /// in HBM, which has places for two passes.
    pub input_queue: u64,
    /// Digests of each core of the leaf hasher that the branch hasher has not taken, from the start of their last absorption
    /// on: that start waits for a place. Where the hashers don't overlap, digests wait in HBM, which has places for all.
    pub digest_queue: u64,
    /// S-boxes of a core of the leaf hasher: 118 take a permutation a cycle, 59 one in two, and so on.
    pub lhe_sboxes: u32,
    /// S-boxes of a core of the branch hasher.
    pub bhe_sboxes: u32,
    /// Whether the branch hasher is a tree unit: as many cores as the leaf hasher has, all but one of them in a front tree that
    /// takes all their digests at once, and an accumulator above.
    pub front_tree: bool,
    /// Stages.
    pub pipelines: Pipelines,
    /// The memory of the states: bandwidth alone, or banks and channels.
    pub hbm: MemoryKind,
    /// Stacks side by side, a power of two, where it has banks.
    pub hbm_stacks: u32,
    /// GB/s of a memory that is bandwidth alone; 0: not limited.
    pub hbm_gb_s: u64,
    /// The share of that which is usable, refresh and row changes taken off.
    pub hbm_efficiency: f64,
    /// Words of a row's state that are stored between passes: 12, or 4 where every group has 8 columns and overwrites the rest.
    pub state_words: u32,
    /// Whether columns come one after the other, so that the first row of a group can be hashed when its last column is
    /// there, after a transposition in HBM; else tiles of eight columns come row by row.
    pub by_columns: bool,
    /// Whether the branch hasher works while leaves are hashed, or after the last.
    pub overlapped: bool,
}

impl Default for Params {
    /// The article's engine at the rate of its link, on 136 columns and 2^24 rows.
    fn default() -> Self {
        Self {
            log_rows: 24,
            columns: 136,
            rate: 8,
            cap_height: 0,
            arity: 2,
            trees: 1,
            outputs: Outputs::Cap,
            link_gbit_s: 128.0,
            frequency_mhz: 250,
            leaf_boards: 1,
            branch_boards: 1,
            network_gbit_s: 128.0,
            network_latency: 0,
            log_blowup: 0,
            lde_words: 8,
            lhe_cores: 1,
            input_queue: 512,
            digest_queue: 1024,
            lhe_sboxes: SBOXES,
            bhe_sboxes: SBOXES,
            front_tree: false,
            pipelines: Pipelines::default(),
            hbm: MemoryKind::Bandwidth,
            hbm_stacks: 1,
            hbm_gb_s: 460,
            hbm_efficiency: 0.9,
            state_words: 12,
            by_columns: false,
            overlapped: true,
        }
    }
}

/// S-boxes of a permutation: 12 in each of 8 full rounds, one in each of 22 partial ones.
pub(super) const SBOXES: u32 = 8 * 12 + 22;

impl Params {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), LabError> {
        within("log_rows", u64::from(self.log_rows), 1..=32)?;
        within("columns", u64::from(self.columns), 5..=1 << 20)?;
        power_of_two("rate", u64::from(self.rate), 1..=64)?;
        within("cap_height", u64::from(self.cap_height), 0..=u64::from(self.log_rows))?;
        if !matches!(self.arity, 2 | 4 | 8) {
            return Err(field("arity", self.arity, "2, 4 or 8"));
        }
        if !(self.log_rows - self.cap_height).is_multiple_of(self.arity.ilog2()) {
            let range = format!("one of which 2^{} is a power, or 2", self.log_rows - self.cap_height);
            return Err(field("arity", self.arity, range));
        }
        within("trees", self.trees, 1..=1 << 20)?;
        if !self.overlapped && self.trees > 1 {
            return Err(field("trees", self.trees, "1 where hashers don't overlap"));
        }
        within_f64("link_gbit_s", self.link_gbit_s, 0.001..=1e6)?;
        within("frequency_mhz", self.frequency_mhz, 1..=10_000)?;
        self.check_boards()?;
        within("lhe_cores", u64::from(self.lhe_cores), 1..=64)?;
        within("input_queue", self.input_queue, u64::from(self.lhe_cores)..=1 << 32)?;
        // A node, or a group of a front tree, must fit.
        within("digest_queue", self.digest_queue, 8..=1 << 32)?;
        within("lhe_sboxes", u64::from(self.lhe_sboxes), 1..=u64::from(SBOXES))?;
        within("bhe_sboxes", u64::from(self.bhe_sboxes), 1..=u64::from(SBOXES))?;
        let Pipelines { constants, multiplier, mds } = self.pipelines;
        for stages in [constants, multiplier, mds] {
            within("pipelines", stages, 0..=100_000)?;
        }
        within("pipelines", self.pipelines.permutation(), 1..=100_000)?;
        power_of_two("hbm_stacks", u64::from(self.hbm_stacks), 1..=64)?;
        within("hbm_gb_s", self.hbm_gb_s, 0..=1_000_000)?;
        within_f64("hbm_efficiency", self.hbm_efficiency, 0.01..=1.0)?;
        within("state_words", u64::from(self.state_words), 4..=128)?;
        // A part multiplies what is in range by now.
        if self.front_tree { self.check_front() } else { Ok(()) }
    }
    fn check_front(&self) -> Result<(), LabError> {
        let part = self.part();
        let levels = part.log_rows - part.cap_height;
        power_of_two("lhe_cores", u64::from(part.lhe_cores), 2..=1 << levels.min(6))?;
        if self.arity > 2 {
            return Err(field("front_tree", true, "false with arity above 2"));
        }
        Ok(())
    }
    fn check_boards(&self) -> Result<(), LabError> {
        power_of_two("leaf_boards", u64::from(self.leaf_boards), 1..=1 << (self.log_rows - 1).min(8))?;
        power_of_two("branch_boards", u64::from(self.branch_boards), 1..=u64::from(self.leaf_boards))?;
        if !self.log_above().is_multiple_of(self.arity.ilog2()) {
            let range = format!("a power of {} times the nodes of the cap, or no more of them", self.arity);
            return Err(field("branch_boards", self.branch_boards, range));
        }
        within_f64("network_gbit_s", self.network_gbit_s, 0.001..=1e6)?;
        within("network_latency", self.network_latency, 0..=1_000_000)?;
        if self.log_blowup == 0 {
            return Ok(());
        }
        // A column of the trace has a chunk at least.
        let most = self.log_rows.saturating_sub(self.rate.ilog2());
        within("log_blowup", u64::from(self.log_blowup), 0..=u64::from(most))?;
        within("lde_words", u64::from(self.lde_words), 1..=1 << 10)?;
        if !self.by_columns {
            return Err(field("by_columns", false, "true with log_blowup: the extension works on columns"));
        }
        if self.leaf_boards > 1 {
            return Err(field("leaf_boards", self.leaf_boards, "1 with log_blowup"));
        }
        Ok(())
    }
    /// log2 of the digests that a front tree takes at once; 0 without one.
    pub fn log_front(&self) -> u32 {
        if self.front_tree { self.lhe_cores.ilog2() } else { 0 }
    }
    /// Levels of the branch hasher above a front tree, if it has one.
    pub fn levels(&self) -> u32 {
        (self.log_rows - self.cap_height) / self.arity.ilog2() - self.log_front()
    }
    /// Cycles from the last word of a column of the trace to the first of its extension: the delay lines of the transform fill,
    /// and its words pass the butterflies of both directions and the factors between.
    pub fn transform_latency(&self) -> u64 {
        let (butterflies, multiplier) = (u64::from(2 * self.log_rows - self.log_blowup), self.pipelines.multiplier);
        let lines = (self.rows() - 1).div_ceil(u64::from(self.lde_words));
        lines + butterflies * (multiplier + self.pipelines.constants) + multiplier
    }
    /// Groups that may be before the leaf hasher, on their way included.
    pub(super) fn input_places(&self) -> u64 {
        if self.by_columns { 2 * self.rows() } else { self.input_queue }
    }
    /// Bytes a second of the network between leaf hasher and branch hasher; `None` if they are on one board, or if the network is
    /// between the transform and the leaf hasher.
    pub(super) fn digest_network(&self) -> Option<u64> {
        let sends = self.network_latency > 0 && self.log_blowup == 0;
        sends.then(|| (self.network_gbit_s * 1e9 / 8.0).round() as u64)
    }
    /// Digests that may be before the branch hasher; `None`: all.
    pub(super) fn digest_places(&self) -> Option<u64> {
        let hashes = self.overlapped && self.levels() + self.log_front() > 0;
        hashes.then(|| self.digest_queue * u64::from(self.lhe_cores))
    }
    /// Permutations of a node: its children are four words each.
    pub fn permutations_of_a_node(&self) -> u64 {
        u64::from((4 * self.arity).div_ceil(self.rate))
    }
    /// Bytes of a group of a row.
    pub fn group_bytes(&self) -> u64 {
        u64::from(self.rate) * 8
    }
    /// Bytes that the transposer moves for a group: in by columns, out by rows.
    pub fn transposed_bytes(&self) -> u64 {
        if self.by_columns { 2 * self.group_bytes() } else { 0 }
    }
    /// One branch board with its leaf boards: they deal out its rows in turn, so that together they are a leaf hasher of more
    /// cores behind a faster link and more memory.
    pub(super) fn part(&self) -> Self {
        let share = self.leaf_boards / self.branch_boards;
        Self {
            log_rows: self.log_rows - self.branch_boards.ilog2(),
            cap_height: self.cap_height.saturating_sub(self.branch_boards.ilog2()),
            link_gbit_s: self.link_gbit_s * f64::from(share),
            lhe_cores: self.lhe_cores * share,
            input_queue: self.input_queue * u64::from(share),
            network_gbit_s: self.network_gbit_s * f64::from(share),
            hbm_gb_s: self.hbm_gb_s * u64::from(share),
            hbm_stacks: self.hbm_stacks * share,
            leaf_boards: 1,
            branch_boards: 1,
            ..self.clone()
        }
    }
    /// log2 of the nodes of branch boards under one that leaves: what one of the boards hashes above them.
    pub(super) fn log_above(&self) -> u32 {
        self.branch_boards.ilog2().saturating_sub(self.cap_height)
    }
    /// Cycles of the levels above the boards' subtrees, by the closed form: a hop, for each level the pipeline, and for each other node of it
    /// the core's pace. Those of earlier trees are hashed while later ones come.
    pub(super) fn cycles_above(&self) -> u64 {
        let permutations = self.permutations_of_a_node();
        let (latency, pace) = (self.pipelines.permutation(), Self::interval(self.bhe_sboxes));
        let (mut nodes, mut cycles) = (u64::from(self.branch_boards), 0);
        for _ in 0..self.log_above() / self.arity.ilog2() {
            nodes /= u64::from(self.arity);
            cycles += permutations * (latency + (nodes - 1) * pace) + 1;
        }
        if cycles > 0 { cycles + self.network_latency } else { 0 }
    }
    /// Rows.
    pub fn rows(&self) -> u64 {
        1 << self.log_rows
    }
    /// Passes over the rows: groups of `rate` columns.
    pub fn passes(&self) -> u64 {
        u64::from(self.columns.div_ceil(self.rate))
    }
    /// Bytes a cycle of the memory of the states; `None`: not limited.
    pub fn hbm_bytes_per_cycle(&self) -> Option<f64> {
        let bandwidth = match self.hbm.timing(self.hbm_stacks) {
            Some(timing) => timing.stream_bandwidth(),
            None => self.hbm_gb_s as f64 * 1e9 * self.hbm_efficiency,
        };
        (bandwidth > 0.0).then(|| bandwidth / (self.frequency_mhz as f64 * 1e6))
    }
    /// Cycles between two permutations of a core with so many S-boxes.
    pub fn interval(sboxes: u32) -> u64 {
        u64::from(SBOXES.div_ceil(sboxes))
    }
    /// Bytes of the extended matrix, columns filled up to whole groups as they come by the link.
    pub fn bytes(&self) -> u64 {
        self.passes() * self.group_bytes() * self.rows()
    }
    /// Seconds of so many cycles.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.frequency_mhz as f64 * 1e6)
    }
}

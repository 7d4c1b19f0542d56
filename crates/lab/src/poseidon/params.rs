//! Parameters of an engine, and the matrix that it hashes.

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::engine::MemoryKind;
use crate::error::{field, power_of_two, within, within_f64};
use crate::synth::stages;

/// Rounds of the permutation.
pub(super) const ROUNDS: u64 = 30;

/// Pipeline stages of the parts of a round. The article does not print them; the defaults are those of `rtl/`
/// (`poseidon_round.sv`, with multipliers of six stages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipelines {
    /// The addition of round constants.
    pub constants: u64,
    /// A multiplier. An S-box is three multipliers deep.
    pub multiplier: u64,
    /// The multiplication by the MDS matrix: shifts, a tree of additions, a reduction; and the register between rounds.
    pub mds: u64,
}

impl Default for Pipelines {
    fn default() -> Self {
        let (constants, multiplier) = (1, 6);
        Self { constants, multiplier, mds: stages("poseidon_pipe") / ROUNDS - constants - 3 * multiplier }
    }
}

impl Pipelines {
    /// Cycles of a permutation.
    pub fn permutation(&self) -> u64 {
        ROUNDS * (self.constants + 3 * self.multiplier + self.mds)
    }
}

/// The data that leaves the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outputs {
    /// The cap. Its transfer takes no time.
    Cap,
    /// Every digest of leaves and nodes, over the link back to the host. A host that answers queries needs them.
    Digests,
}

/// An engine and its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// log2 of the rows of the extended matrix (b r in the article).
    pub log_rows: u32,
    /// Number of columns (c in the article).
    pub columns: u32,
    /// Words that a permutation absorbs (N in the article). Must be 8 to hash a matrix; other values are for timing
    /// only.
    pub rate: u32,
    /// log2 of the nodes of the cap; 0 for the root.
    pub cap_height: u32,
    /// Children per node: 2, 4 or 8. At rate 8, these take one, two and four permutations.
    pub arity: u32,
    /// Number of trees, one after another without a pause.
    pub trees: u64,
    /// The data that goes back over the link.
    pub outputs: Outputs,
    /// Gbit/s (10^9) of the link to each leaf board. It brings the matrix, or the trace.
    pub link_gbit_s: f64,
    /// Clock in MHz.
    pub frequency_mhz: u64,
    /// Number of leaf boards, a power of two. Each has a link and a part of the rows.
    pub leaf_boards: u32,
    /// Number of branch boards, a power of two, at most the number of leaf boards. Each computes a subtree over the
    /// rows of its leaf boards, which take turns; one of them also computes the levels above.
    pub branch_boards: u32,
    /// Gbit/s of the network between boards.
    pub network_gbit_s: f64,
    /// Cycles of a hop between boards; 0 if leaf hasher and branch hasher are on the same board.
    pub network_latency: u64,
    /// log2 of the blowup of a low-degree extension on a board between link and leaf hasher; 0 if the matrix arrives
    /// extended.
    pub log_blowup: u32,
    /// Words that the extension emits per cycle.
    pub lde_words: u32,
    /// Cores of a leaf hasher. Its input takes one group per core and cycle.
    pub lhe_cores: u32,
    /// Groups that may wait in front of the leaf hasher of a board. The link or the network waits for a place. By
    /// columns, groups wait in HBM, which has places for two passes.
    pub input_queue: u64,
    /// Places for digests, per core of the leaf hasher. A digest occupies its place from the start of its last
    /// absorption, which waits for the place, until the branch hasher takes it. If the hashers do not overlap, digests
    /// wait in HBM, which has room for all.
    pub digest_queue: u64,
    /// S-boxes per core of the leaf hasher: 118 take a permutation every cycle, 59 every other cycle, and so on.
    pub lhe_sboxes: u32,
    /// S-boxes per core of the branch hasher.
    pub bhe_sboxes: u32,
    /// Whether the branch hasher is a tree unit with as many cores as the leaf hasher: one is the accumulator, and the
    /// others form a front tree that takes all digests of a cycle at once.
    pub front_tree: bool,
    /// Pipeline stages.
    pub pipelines: Pipelines,
    /// The memory of the states: bandwidth only, or banks and channels.
    pub hbm: MemoryKind,
    /// Stacks side by side, a power of two, for a memory with banks.
    pub hbm_stacks: u32,
    /// GB/s of a memory described by bandwidth only; 0 means no limit.
    pub hbm_gb_s: u64,
    /// The usable share of `hbm_gb_s`, after refresh and row changes.
    pub hbm_efficiency: f64,
    /// Words of a row's state that are stored between passes: 12, or 4 if every group has 8 columns and so overwrites
    /// the other 8 words.
    pub state_words: u32,
    /// Whether columns arrive one after another. The first row of a group then waits for the group's last column and a
    /// transposition in HBM. Otherwise tiles of eight columns arrive row by row.
    pub by_columns: bool,
    /// Whether the branch hasher runs while leaves are hashed, or only after the last leaf.
    pub overlapped: bool,
}

impl Default for Params {
    /// The article's engine at the rate of its link, for 136 columns and 2^24 rows.
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

/// S-boxes of a permutation: 12 in each of 8 full rounds, and one in each of 22 partial rounds.
pub(super) const SBOXES: u32 = 8 * 12 + 22;

impl Params {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of range.
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
        // The ranges above keep the products in `part` from overflowing.
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
        // A column of the trace has at least one chunk.
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
    /// log2 of the digests that the front tree takes at a time; 0 without a front tree.
    pub fn log_front(&self) -> u32 {
        if self.front_tree { self.lhe_cores.ilog2() } else { 0 }
    }
    /// Levels of the branch hasher, not counting those of a front tree.
    pub fn levels(&self) -> u32 {
        (self.log_rows - self.cap_height) / self.arity.ilog2() - self.log_front()
    }
    /// Cycles from the last word of a column of the trace to the first word of its extension. The delay lines of the
    /// transform fill, and a word passes the butterflies of both directions and the multiplier between them.
    pub fn transform_latency(&self) -> u64 {
        let (butterflies, multiplier) = (u64::from(2 * self.log_rows - self.log_blowup), self.pipelines.multiplier);
        let lines = (self.rows() - 1).div_ceil(u64::from(self.lde_words));
        lines + butterflies * (multiplier + self.pipelines.constants) + multiplier
    }
    /// Groups that may be in front of the leaf hasher, including those in flight.
    pub(super) fn input_places(&self) -> u64 {
        if self.by_columns { 2 * self.rows() } else { self.input_queue }
    }
    /// Bytes a second of the network between leaf hasher and branch hasher; `None` if both are on one board, or if the
    /// network is between the transform and the leaf hasher.
    pub(super) fn digest_network(&self) -> Option<u64> {
        let sends = self.network_latency > 0 && self.log_blowup == 0;
        sends.then(|| (self.network_gbit_s * 1e9 / 8.0).round() as u64)
    }
    /// Digests that may be in front of the branch hasher; `None` if there is no limit.
    pub(super) fn digest_places(&self) -> Option<u64> {
        let hashes = self.overlapped && self.levels() + self.log_front() > 0;
        hashes.then(|| self.digest_queue * u64::from(self.lhe_cores))
    }
    /// Permutations per node. Each child has four words.
    pub fn permutations_of_a_node(&self) -> u64 {
        u64::from((4 * self.arity).div_ceil(self.rate))
    }
    /// Bytes of one row's words of a group.
    pub fn group_bytes(&self) -> u64 {
        u64::from(self.rate) * 8
    }
    /// Bytes that the transposer moves per group: once in by columns, and once out by rows.
    pub fn transposed_bytes(&self) -> u64 {
        if self.by_columns { 2 * self.group_bytes() } else { 0 }
    }
    /// One branch board with its leaf boards. The leaf boards take rows in turn, so together they act as one leaf
    /// hasher with more cores, a faster link and more memory.
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
    /// log2 of the branch boards under each node of the cap: the levels that one of the boards computes above the
    /// boards' subtrees.
    pub(super) fn log_above(&self) -> u32 {
        self.branch_boards.ilog2().saturating_sub(self.cap_height)
    }
    /// Cycles of the levels above the boards' subtrees, by a closed form: a hop, and for each level a pipeline and the
    /// core's interval for every node but the first. The levels of earlier trees overlap with later trees.
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
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        1 << self.log_rows
    }
    /// Passes over the rows: groups of `rate` columns.
    pub fn passes(&self) -> u64 {
        u64::from(self.columns.div_ceil(self.rate))
    }
    /// Bytes per cycle of the memory of the states; `None` if it has no limit.
    pub fn hbm_bytes_per_cycle(&self) -> Option<f64> {
        let bandwidth = match self.hbm.timing(self.hbm_stacks) {
            Some(timing) => timing.stream_bandwidth(),
            None => self.hbm_gb_s as f64 * 1e9 * self.hbm_efficiency,
        };
        (bandwidth > 0.0).then(|| bandwidth / (self.frequency_mhz as f64 * 1e6))
    }
    /// Cycles between two permutations of a core with `sboxes` S-boxes.
    pub fn interval(sboxes: u32) -> u64 {
        u64::from(SBOXES.div_ceil(sboxes))
    }
    /// Bytes of the extended matrix, with columns padded to whole groups.
    pub fn bytes(&self) -> u64 {
        self.passes() * self.group_bytes() * self.rows()
    }
    /// Seconds of `cycles` cycles.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.frequency_mhz as f64 * 1e6)
    }
}

//! Parameters of a tree unit, and its workload.

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::accumulator::Policy;
use crate::engine::MemoryKind;
use crate::error::{power_of_two, within, within_f64};
use crate::synth::stages;

/// The workload: section 3.1 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// The table of eq: a forward tree.
    BuildMle,
    /// The value of a multilinear extension at a point.
    MleEvaluation,
    /// The product of all values.
    MultiplicationTree,
    /// The product of all values; every level above the leaves is a result.
    ProductMle,
    /// SHA3 of pairs of digests.
    MerkleTree,
}

impl Workload {
    /// The four workloads of the paper's figures.
    pub const FIGURES: [Self; 4] = [Self::BuildMle, Self::MleEvaluation, Self::ProductMle, Self::MerkleTree];
    /// All workloads.
    pub const ALL: [Self; 5] =
        [Self::BuildMle, Self::MleEvaluation, Self::MultiplicationTree, Self::ProductMle, Self::MerkleTree];

    /// The name that configurations and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::BuildMle => "build-mle",
            Self::MleEvaluation => "mle-evaluation",
            Self::MultiplicationTree => "multiplication-tree",
            Self::ProductMle => "product-mle",
            Self::MerkleTree => "merkle-tree",
        }
    }
    /// Whether the tree runs from the root to the leaves.
    pub fn is_forward(self) -> bool {
        self == Self::BuildMle
    }
    /// Whether every level above the leaves goes to memory.
    pub fn all_levels(self) -> bool {
        self == Self::ProductMle
    }
}

/// The order in which nodes are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Traversal {
    /// Front tree and accumulator.
    #[serde(rename = "hybrid")]
    Hybrid,
    /// Level by level; the PEs share the nodes of a level, and every level goes through memory.
    #[serde(rename = "bfs")]
    BreadthFirst,
    /// One fixed subtree per PE, then one PE over their roots.
    #[serde(rename = "dfs")]
    DepthFirst,
    /// One subtree after another, each level by level in SRAM: UniZK's schedule.
    #[serde(rename = "subtree-bfs")]
    SubtreeBreadthFirst,
}

impl Traversal {
    /// The paper's three traversals.
    pub const PAPER: [Self; 3] = [Self::BreadthFirst, Self::DepthFirst, Self::Hybrid];
    /// The name that configurations and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::BreadthFirst => "bfs",
            Self::DepthFirst => "dfs",
            Self::SubtreeBreadthFirst => "subtree-bfs",
        }
    }
}

/// Pipeline stages of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latencies {
    /// One cycle for every operation, as in Tables 2 and 3.
    Unit,
    /// The pipelines of `rtl/`: ten cycles for a product of 64 bits, one for an addition, 24 for SHA3 (one per round).
    Real,
}

impl Latencies {
    /// Cycles from a node's operands to the node.
    pub fn of(self, workload: Workload) -> u64 {
        match (self, workload) {
            (Self::Unit, _) => 1,
            // r n, then n - r n.
            (Self::Real, Workload::BuildMle) => stages("mle_node"),
            // f1 - f0, times r, plus f0.
            (Self::Real, Workload::MleEvaluation) => 1 + stages("goldilocks_mul") + 1,
            (Self::Real, Workload::MultiplicationTree | Workload::ProductMle) => stages("goldilocks_mul"),
            (Self::Real, Workload::MerkleTree) => stages("keccak_f"),
        }
    }
}

/// A tree unit with its memory, and its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The workload.
    pub workload: Workload,
    /// log2 of the number of leaves.
    pub log_size: u32,
    /// Number of processing elements, a power of two from 2 to 256.
    pub pes: u32,
    /// The memory: bandwidth only, or banks and channels.
    pub memory: MemoryKind,
    /// Modules side by side, a power of two, for a memory with banks.
    pub memory_modules: u32,
    /// GB/s (10^9 bytes a second) of a memory described by bandwidth only.
    pub bandwidth_gb_s: u64,
    /// The usable share of `bandwidth_gb_s`.
    pub efficiency: f64,
    /// Clock in MHz.
    pub frequency_mhz: u64,
    /// The order in which nodes are computed.
    pub traversal: Traversal,
    /// How the accumulator chooses among levels; depth first, how each PE does.
    pub policy: Policy,
    /// Pipeline stages of a PE.
    pub latencies: Latencies,
    /// Bytes per node.
    pub node_bytes: u64,
    /// log2 of the leaves of an on-chip subtree (`subtree-bfs`).
    pub log_subtree: u32,
    /// Nodes that on-chip memory holds (`bfs`): a level that fits does not go through memory.
    pub sram_nodes: u64,
}

impl Default for Params {
    /// The paper's figures at 8 PEs and 1024 GB/s, with the better schedule.
    fn default() -> Self {
        Self {
            workload: Workload::MleEvaluation,
            log_size: 20,
            pes: 8,
            memory: MemoryKind::Bandwidth,
            memory_modules: 1,
            bandwidth_gb_s: 1024,
            efficiency: 1.0,
            frequency_mhz: 1000,
            traversal: Traversal::Hybrid,
            policy: Policy::RulerSteal,
            latencies: Latencies::Real,
            node_bytes: 32,
            log_subtree: 10,
            sram_nodes: 0,
        }
    }
}

impl Params {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), LabError> {
        power_of_two("pes", u64::from(self.pes), 2..=256)?;
        within("log_size", u64::from(self.log_size), u64::from(self.log_pes()) + 1..=32)?;
        power_of_two("memory_modules", u64::from(self.memory_modules), 1..=64)?;
        within("bandwidth_gb_s", self.bandwidth_gb_s, 1..=1_000_000)?;
        within_f64("efficiency", self.efficiency, 0.01..=1.0)?;
        within("frequency_mhz", self.frequency_mhz, 1..=10_000)?;
        within("node_bytes", self.node_bytes, 1..=4096)?;
        if self.traversal == Traversal::SubtreeBreadthFirst {
            within("log_subtree", u64::from(self.log_subtree), 1..=u64::from(self.log_size))?;
        }
        Ok(())
    }
    /// log2 of the number of PEs.
    pub fn log_pes(&self) -> u32 {
        self.pes.trailing_zeros()
    }
    /// Number of leaves.
    pub fn leaves(&self) -> u64 {
        1 << self.log_size
    }
    /// Cycles of a PE from operands to result.
    pub fn latency(&self) -> u64 {
        self.latencies.of(self.workload)
    }
    /// Bytes that the memory moves per cycle.
    pub fn bytes_per_cycle(&self) -> f64 {
        let bandwidth = match self.memory.timing(self.memory_modules) {
            Some(timing) => timing.stream_bandwidth(),
            None => self.bandwidth_gb_s as f64 * 1e9 * self.efficiency,
        };
        bandwidth / (self.frequency_mhz as f64 * 1e6)
    }
    /// Seconds of `cycles` cycles.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.frequency_mhz as f64 * 1e6)
    }
}

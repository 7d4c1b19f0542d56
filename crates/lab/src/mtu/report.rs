//! Measurements of a run.

use serde::Serialize;

use super::Params;
use crate::engine::Activity;

/// Cycles, bytes and stalls of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Cycles until the last result is in memory, or until the root is computed.
    pub cycles: u64,
    /// Seconds of these cycles.
    pub seconds: f64,
    /// Bytes read from memory.
    pub read_bytes: u64,
    /// Bytes written to memory.
    pub written_bytes: u64,
    /// The inputs (for a forward tree: the outputs): groups of N nodes, or pairs if depth first.
    pub inputs: Inputs,
    /// The most nodes that waited in one level of an accumulator.
    pub level_peak: usize,
    /// The most nodes on chip: with queues, the sum of their peaks; breadth first (inverted tree), the largest level
    /// that SRAM holds; with on-chip subtrees, three times the leaves of one.
    pub buffered_nodes: usize,
    /// Nodes that go through memory between levels, or between the subtrees and the merge.
    pub spilled_nodes: u64,
    /// Whether inputs (or outputs) are in the order of their numbers.
    pub continuous: bool,
    /// Busy and stalled cycles of each component.
    pub activities: Vec<(String, Activity)>,
}

/// The cycles of the inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inputs {
    /// Cycle of the first input.
    pub first: u64,
    /// Cycle of the last input.
    pub last: u64,
    /// Number of inputs.
    pub count: u64,
}

impl Inputs {
    pub(super) fn add(&mut self, cycle: u64) {
        if self.count == 0 {
            self.first = cycle;
        }
        self.last = cycle;
        self.count += 1;
    }
    /// Mean cycles between two inputs; 1 for fewer than two.
    pub fn interval(&self) -> f64 {
        if self.count < 2 { 1.0 } else { (self.last - self.first) as f64 / (self.count - 1) as f64 }
    }
}

impl Report {
    pub(super) fn new(params: &Params, cycles: u64) -> Self {
        Self {
            cycles,
            seconds: params.seconds(cycles),
            read_bytes: 0,
            written_bytes: 0,
            inputs: Inputs::default(),
            level_peak: 0,
            buffered_nodes: 0,
            spilled_nodes: 0,
            continuous: true,
            activities: Vec::new(),
        }
    }
    pub(super) fn peaks(&mut self, peaks: &[usize]) {
        self.level_peak = self.level_peak.max(peaks.iter().copied().max().unwrap_or(0));
        self.buffered_nodes += peaks.iter().sum::<usize>();
    }
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }
}

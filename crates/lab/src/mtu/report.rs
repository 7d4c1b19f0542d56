//! What a run has measured.

use serde::Serialize;

use super::Params;
use crate::engine::Activity;

/// Cycles, bytes and stalls of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Until the last result is in memory, or the root is there.
    pub cycles: u64,
    /// The same in seconds.
    pub seconds: f64,
    /// Bytes from memory.
    pub read_bytes: u64,
    /// Bytes to memory.
    pub written_bytes: u64,
    /// Cycle of the first and the last input, and how many there were: groups of N nodes, or pairs with depth first.
    pub inputs: Inputs,
    /// The most nodes that waited in one level of an accumulator.
    pub level_peak: usize,
    /// The most nodes that waited on chip, the sum of the peaks of all levels.
    pub buffered_nodes: usize,
    /// Nodes that go through memory between levels, or between subtrees and what merges them.
    pub spilled_nodes: u64,
    /// Whether inputs (or outputs) come in the order of their numbers.
    pub continuous: bool,
    /// Each component's cycles.
    pub activities: Vec<(String, Activity)>,
}

/// When inputs entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inputs {
    /// Cycle of the first.
    pub first: u64,
    /// Cycle of the last.
    pub last: u64,
    /// How many.
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
    /// Mean cycles between inputs.
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
    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }
}

//! Exact counts for a traversal: nodes computed, words through memory, local storage.
//!
//! Counts come from the steps of the plan themselves, not from formulas; a test compares the two. Figures show them as
//! the cost of a schedule. A word is one node: 32 bytes for a field element of 255 bits or a digest.

use super::schedule::{Plan, Step, Tree};

/// The counts of a plan, for any operation of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Nodes that come from memory.
    pub loads: u64,
    /// Nodes that go to memory as operands of a later band.
    pub spills: u64,
    /// Nodes that go to memory as results.
    pub results: u64,
    /// Nodes with children that are computed (reduction) or replaced by their children (expansion), by level: entry k is for
    /// level k + 1.
    pub nodes: Vec<u64>,
    /// The most nodes that a task keeps at a time.
    pub local_peak: u64,
    /// Tasks of each band, in order.
    pub tasks: Vec<u64>,
}

impl Traffic {
    /// Counts the steps of a plan: O(steps), at most about five for each leaf.
    pub fn of(plan: &Plan) -> Self {
        let mut out = Self {
            loads: 0,
            spills: 0,
            results: 0,
            nodes: vec![0; plan.height() as usize],
            local_peak: 0,
            tasks: Vec::with_capacity(plan.bands().len()),
        };
        let last = match plan.tree() {
            Tree::Expand => 0,
            _ => plan.height(),
        };
        for band in plan.bands() {
            out.tasks.push(band.tasks() as u64);
            for task in 0..band.tasks() {
                let mut local = 0;
                for step in band.steps(task) {
                    let run = step.run();
                    let len = run.len as u64;
                    match step {
                        Step::Load(_) => {
                            out.loads += len;
                            local += len;
                        }
                        Step::Combine(_) => {
                            out.nodes[run.level as usize - 1] += len;
                            local -= len;
                        }
                        Step::Expand(_) => {
                            out.nodes[run.level as usize - 1] += len;
                            local += len;
                        }
                        Step::Emit(_) => out.results += len,
                        Step::Spill(_) => {
                            let result = run.level == last || plan.tree() == Tree::ReduceLevels;
                            *(if result { &mut out.results } else { &mut out.spills }) += len;
                            // A level that a level-by-level traversal stores as a result is also the operand of its
                            // next band.
                            local -= len;
                        }
                    }
                    out.local_peak = out.local_peak.max(local);
                }
            }
        }
        out
    }

    /// Words through memory, both ways.
    pub fn words(&self) -> u64 {
        self.loads + self.spills + self.results
    }
}

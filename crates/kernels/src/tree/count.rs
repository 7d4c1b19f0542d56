//! Exact counts for a traversal: nodes computed, words through memory, local storage, arithmetic.
//!
//! Counts come from the steps of the plan themselves, not from formulas; a test compares the two. Hardware models use
//! them as their workload, reports as the cost of a schedule. A word is one node: 32 bytes for a field element of 255
//! bits or a digest.

use core::ops::{Add, AddAssign, Mul};

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

    /// The arithmetic of all nodes, for an operation that takes `node(level)` for a node of that level.
    pub fn arithmetic(&self, node: impl Fn(u32) -> Arithmetic) -> Arithmetic {
        let mut sum = Arithmetic::default();
        for (level, count) in (1..).zip(&self.nodes) {
            sum += node(level) * *count;
        }
        sum
    }
}

/// Operations on the elements of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    /// Multiplications of field elements.
    pub multiplications: u64,
    /// Additions and subtractions of field elements.
    pub additions: u64,
    /// Two-to-one hashes.
    pub hashes: u64,
}

impl Arithmetic {
    /// This many multiplications, additions and subtractions.
    pub const fn field(multiplications: u64, additions: u64) -> Self {
        Self { multiplications, additions, hashes: 0 }
    }
    /// One hash.
    pub const HASH: Self = Self { multiplications: 0, additions: 0, hashes: 1 };
}

impl Add for Arithmetic {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self {
            multiplications: self.multiplications + o.multiplications,
            additions: self.additions + o.additions,
            hashes: self.hashes + o.hashes,
        }
    }
}

impl AddAssign for Arithmetic {
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl Mul<u64> for Arithmetic {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self {
            multiplications: self.multiplications * times,
            additions: self.additions * times,
            hashes: self.hashes * times,
        }
    }
}

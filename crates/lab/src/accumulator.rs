//! One processing element (PE) that computes all levels of a tree above a stream of nodes: the MTU's DFS accumulator
//! and the Poseidon engine's branch hasher.
//!
//! ```text
//!  stream ---> [level 0] --+
//!              [level 1] --+--> policy --> pipeline --+
//!              ...         |                          |
//!              [level h] --+      <-------------------+ a result, usable the cycle after it leaves
//! ```
//!
//! Each level has a queue of waiting nodes. In each cycle the policy picks a level whose queue has at least as many
//! nodes as a node has children, and these nodes enter the pipeline. A node of the stream is usable in the cycle in
//! which it arrives; a result is usable in the cycle after it leaves. This is the timing of the MTU paper's Table 2,
//! which [`Policy::Ruler`] reproduces.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::engine::{Activity, Pipeline, Stall};

/// The choice among levels that are ready in the same cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Cycle c belongs to level ctz(c), even if that level is not ready: the schedule of the MTU paper's Tables 2 and
    /// 3.
    Ruler,
    /// Like the ruler, but a cycle whose owner is not ready goes to the ready level nearest the root. The default: the
    /// PE never idles while a level is ready, and no level holds more than four nodes.
    #[serde(rename = "ruler+steal")]
    RulerSteal,
    /// The stream first, then the level nearest the root: section 4.1 of the MTU paper, for a stream that never waits.
    StreamFirst,
    /// The level nearest the root; the stream comes last. The Poseidon engine's priority encoder.
    Deepest,
    /// The level nearest the leaves, which is the stream if it is ready.
    Shallowest,
    /// Strict depth first: the PE waits for the next operation in postorder until that one is ready. It models a PE
    /// that is fed in postorder (Table 1 of the MTU paper: an initiation interval above 1).
    InOrder,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 6] =
        [Self::Ruler, Self::RulerSteal, Self::StreamFirst, Self::Deepest, Self::Shallowest, Self::InOrder];
    /// The name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ruler => "ruler",
            Self::RulerSteal => "ruler+steal",
            Self::StreamFirst => "stream-first",
            Self::Deepest => "deepest",
            Self::Shallowest => "shallowest",
            Self::InOrder => "in-order",
        }
    }
    /// Picks a level from `ready`, a mask with bit l for level l. The cycle belongs to level `owner`; `next` is the
    /// level of the next operation in postorder.
    #[inline(always)]
    fn pick(self, ready: u64, owner: u32, next: u32) -> Option<u32> {
        if ready == 0 {
            return None;
        }
        let (deepest, shallowest) = (63 - ready.leading_zeros(), ready.trailing_zeros());
        let owns = owner < 64 && ready >> owner & 1 == 1;
        match self {
            Self::Ruler => owns.then_some(owner),
            Self::RulerSteal => Some(if owns { owner } else { deepest }),
            Self::StreamFirst => Some(if ready & 1 == 1 { 0 } else { deepest }),
            Self::Deepest => Some(deepest),
            Self::Shallowest => Some(shallowest),
            Self::InOrder => (ready >> next & 1 == 1).then_some(next),
        }
    }
}

/// Level above the stream, and number in that level: of a node that left, or of the first node of a group that was
/// issued.
pub type Place = (u32, u64);

/// The events of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<T> {
    /// The first node of the group that entered the pipeline.
    pub issued: Option<Place>,
    /// The node that left the pipeline.
    pub output: Option<(Place, T)>,
}

/// The accumulator. `T` is the type of a node: `()` for timing only. A node has `ARITY` children.
#[derive(Clone, Debug)]
pub struct Accumulator<T, const ARITY: usize = 2> {
    policy: Policy,
    height: u32,
    /// The first cycle of the ruler: its cycle c belongs to level ctz(c - `phase`).
    phase: u64,
    levels: Vec<VecDeque<T>>,
    /// Bit l: level l has a group.
    ready: u64,
    issued: Vec<u64>,
    peaks: Vec<usize>,
    pipe: Pipeline<(Place, T)>,
    /// The result of this cycle, usable in the next one, with its level.
    late: Option<(u32, T)>,
    /// For [`Policy::InOrder`]: the level of the next operation.
    next: u32,
    /// Busy and stalled cycles.
    pub activity: Activity,
}

impl<T: Clone, const ARITY: usize> Accumulator<T, ARITY> {
    /// An accumulator for ARITY^`height` nodes of the stream. Its pipeline has `latency` stages and the initiation
    /// interval `interval`; the ruler starts at cycle `phase`.
    pub fn new(policy: Policy, height: u32, latency: u64, interval: u64, phase: u64) -> Self {
        let levels = height as usize + 1;
        Self {
            policy,
            height,
            phase,
            levels: vec![VecDeque::new(); levels],
            ready: 0,
            issued: vec![0; levels],
            peaks: vec![0; levels],
            pipe: Pipeline::new(latency, interval),
            late: None,
            next: 0,
            activity: Activity::default(),
        }
    }
    /// Adds a node of the stream. Call it before [`Accumulator::step`] of the same cycle.
    #[inline(always)]
    pub fn arrive(&mut self, node: T) {
        self.enter(0, node);
    }
    #[inline(always)]
    fn enter(&mut self, level: u32, node: T) {
        let queue = &mut self.levels[level as usize];
        queue.push_back(node);
        let len = queue.len();
        if len >= ARITY && level < self.height {
            self.ready |= 1 << level;
        }
        let peak = &mut self.peaks[level as usize];
        *peak = (*peak).max(len);
    }
    /// Nodes of the stream that wait.
    pub fn waiting(&self) -> usize {
        self.levels[0].len()
    }
    /// Runs one cycle. `combine(level, children)` computes the node of level `level` + 1 from its children.
    #[inline(always)]
    pub fn step(&mut self, cycle: u64, combine: impl FnOnce(u32, &[T; ARITY]) -> T) -> Step<T> {
        let output = self.pipe.pop(cycle);
        let free = self.pipe.ready(cycle);
        let owner = cycle.wrapping_sub(self.phase).trailing_zeros();
        let pick = if free { self.policy.pick(self.ready, owner, self.next) } else { None };
        let mut issued = None;
        if let Some(level) = pick {
            let queue = &mut self.levels[level as usize];
            let group: [T; ARITY] = std::array::from_fn(|_| queue.pop_front().expect("a ready level has a group"));
            if queue.len() < ARITY {
                self.ready &= !(1 << level);
            }
            let (index, width) = (self.issued[level as usize], ARITY as u64);
            self.issued[level as usize] = index + width;
            self.pipe.push(cycle, ((level + 1, index / width), combine(level, &group)));
            issued = Some((level, index));
            self.next = if index / width % width == width - 1 { level + 1 } else { 0 };
            self.activity.work(1);
        } else {
            self.activity.stall(self.reason(), 1);
        }
        if let Some(((level, _), node)) = &output {
            self.late = Some((*level, node.clone()));
        }
        Step { issued, output }
    }
    /// The reason why nothing is issued in this cycle.
    fn reason(&self) -> Stall {
        if self.policy == Policy::InOrder && self.next > 0 {
            Stall::Hazard
        } else if self.ready != 0 {
            Stall::Slot
        } else if !self.pipe.is_empty() {
            Stall::Hazard
        } else {
            Stall::Input
        }
    }
    /// Ends a cycle: its result becomes usable.
    #[inline(always)]
    pub fn commit(&mut self) {
        if let Some((level, node)) = self.late.take() {
            self.enter(level, node);
        }
    }
    /// The first cycle after `cycle` in which something happens if no node arrives.
    #[inline]
    pub fn next_event(&self, cycle: u64) -> Option<u64> {
        let issue = self.pipe.free_at().max(cycle + 1);
        if self.ready != 0 && issue == cycle + 1 {
            return Some(issue);
        }
        let exit = self.pipe.next_exit().map(|c| c.max(cycle + 1));
        if self.ready == 0 {
            return exit;
        }
        Some(exit.map_or(issue, |c| c.min(issue)))
    }
    /// Counts `cycles` skipped cycles as stalls.
    pub fn skip(&mut self, cycles: u64) {
        self.activity.stall(self.reason(), cycles);
    }
    /// The root, if it is finished.
    pub fn root(&self) -> Option<&T> {
        self.levels[self.height as usize].front()
    }
    /// Nodes that have reached the top level: at most one, or the size of a cap.
    pub fn finished(&self) -> usize {
        self.levels[self.height as usize].len()
    }
    /// The nodes that have reached the top, in order.
    pub fn top(&self) -> impl Iterator<Item = &T> {
        self.levels[self.height as usize].iter()
    }
    /// The most nodes that waited in each level, from the stream up to the top level.
    pub fn peaks(&self) -> &[usize] {
        &self.peaks
    }
}

//! One processing element for all the levels of a tree above a stream: the MTU's DFS accumulator and the Poseidon engine's
//! branch hasher.
//!
//! ```text
//!  stream ---> [level 0] --+
//!              [level 1] --+--> policy --> pipeline --+
//!              ...         |                          |
//!              [level h] --+      <-------------------+ a result, usable the cycle after it leaves
//! ```
//!
//! Nodes wait in a queue for each level. In each cycle the policy picks a level whose queue has two nodes, or as many as a
//! node has children, and they enter the pipeline. A node of the stream is usable in the cycle in which it arrives, a result in
//! the cycle after it has left: the timing of the MTU paper's Table 2, which [`Policy::Ruler`] reproduces.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::engine::{Activity, Pipeline, Stall};

/// Which level's pair is computed when several are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Cycle c belongs to level ctz(c), whether or not its pair is ready: what the MTU paper's Tables 2 and 3 show.
    Ruler,
    /// As the ruler; a cycle whose owner is not ready goes to the deepest level that is. The default: it never idles while a
    /// pair is ready, and levels keep at most four nodes.
    #[serde(rename = "ruler+steal")]
    RulerSteal,
    /// The stream first, then the level nearest the root: how section 4.1 of the MTU paper has it, with a stream that never
    /// waits.
    StreamFirst,
    /// The level nearest the root, before the stream: the Poseidon engine's priority encoder.
    Deepest,
    /// The level nearest the leaves.
    Shallowest,
    /// Strict depth first: the one operation that postorder has next, whether or not it is ready. What a processing element
    /// does that is fed in that order (Table 1 of the MTU paper: an initiation interval above 1).
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
    /// The level to serve, of those in `ready` (bit l: level l), in a slot that belongs to level `owner`; in order, level
    /// `next` is.
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

/// The first node of a group that was issued, or a node that left: its level above the stream's and its number.
pub type Place = (u32, u64);

/// What happened in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<T> {
    /// The first node of the group that entered the pipeline.
    pub issued: Option<Place>,
    /// The node that left it.
    pub output: Option<(Place, T)>,
}

/// The accumulator. `T` is a node: `()` when only time counts. A node has `ARITY` children.
#[derive(Clone, Debug)]
pub struct Accumulator<T, const ARITY: usize = 2> {
    policy: Policy,
    height: u32,
    /// Subtracted from the cycle before the slot's owner is found.
    phase: u64,
    levels: Vec<VecDeque<T>>,
    /// Bit l: level l has a group.
    ready: u64,
    issued: Vec<u64>,
    peaks: Vec<usize>,
    pipe: Pipeline<(Place, T)>,
    /// A result of this cycle, usable in the next.
    late: Option<(u32, T)>,
    /// In order: the level of the next operation.
    next: u32,
    /// Statistics.
    pub activity: Activity,
}

impl<T: Clone, const ARITY: usize> Accumulator<T, ARITY> {
    /// For ARITY^`height` nodes of the stream, with a pipeline of so many stages and an initiation interval; the ruler starts at
    /// cycle `phase`.
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
    /// A node of the stream, before [`Accumulator::step`] of the same cycle.
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
    /// One cycle. `combine(level, children)` is the node of level `level` + 1 over nodes of level `level`.
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
    /// Why nothing is issued now.
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
    /// The end of a cycle: a result becomes usable.
    #[inline(always)]
    pub fn commit(&mut self) {
        if let Some((level, node)) = self.late.take() {
            self.enter(level, node);
        }
    }
    /// The first cycle after `cycle` in which something happens here, without new nodes.
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
    /// Counts cycles that were skipped.
    pub fn skip(&mut self, cycles: u64) {
        self.activity.stall(self.reason(), cycles);
    }
    /// The root, once it is there.
    pub fn root(&self) -> Option<&T> {
        self.levels[self.height as usize].front()
    }
    /// Nodes that have reached the top: one, or those of a cap.
    pub fn finished(&self) -> usize {
        self.levels[self.height as usize].len()
    }
    /// The nodes that have reached the top, in order.
    pub fn top(&self) -> impl Iterator<Item = &T> {
        self.levels[self.height as usize].iter()
    }
    /// The most nodes that waited in a level, for each level; the root's own last.
    pub fn peaks(&self) -> &[usize] {
        &self.peaks
    }
}

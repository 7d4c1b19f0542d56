//! One processing element that computes all levels of a forward tree above a stream of outputs: the MTU's DFS
//! accumulator in the direction of Build MLE (Table 3 of its paper).
//!
//! Each level has a queue of waiting nodes. A node enters the pipeline and leaves as its two children, which are usable
//! in the next cycle. The children of level 0 go to the output queue. Queues are bounded: a level is served if the
//! queue below has room for two nodes, counting the children in the pipeline.

use std::collections::VecDeque;

use crate::accumulator::{Place, Policy};
use crate::engine::{Activity, Link, Pipeline, Stall};

/// Places of a queue beyond those for the children that the pipeline holds at the level's rate.
const ROOM: usize = 4;

/// The events of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node that entered the pipeline.
    pub issued: Option<Place>,
    /// The left one of the two children that left the pipeline, with its parent's level.
    pub output: Option<Place>,
}

/// The expander. `T` is the type of a node.
#[derive(Clone, Debug)]
pub struct Expander<T> {
    policy: Policy,
    phase: u64,
    levels: Vec<VecDeque<T>>,
    /// Bit l: level l has a node that waits.
    waits: u64,
    /// Bit l: the queue below level l has room for two nodes.
    room: u64,
    /// Nodes of each level that wait or are in the pipeline.
    held: Vec<usize>,
    issued: Vec<u64>,
    peaks: Vec<usize>,
    pipe: Pipeline<(Place, [T; 2])>,
    late: Option<(u32, [T; 2])>,
    latency: usize,
    next: u32,
    out: Link<T>,
    out_held: usize,
    /// Busy and stalled cycles.
    pub activity: Activity,
}

impl<T> Expander<T> {
    /// An expander with `top` levels above level 0; `roots` are the nodes of the top level. With the ruler, cycle c
    /// belongs to level ctz(c + `phase`).
    pub fn new(policy: Policy, top: u32, roots: Vec<T>, latency: u64, phase: u64) -> Self {
        let levels = top as usize + 1;
        let mut out = Self {
            policy,
            phase,
            levels: (0..levels).map(|_| VecDeque::new()).collect(),
            waits: u64::from(!roots.is_empty()) << top,
            room: 0,
            held: vec![0; levels],
            issued: vec![0; levels],
            peaks: vec![0; levels],
            pipe: Pipeline::new(latency, 1),
            late: None,
            latency: latency as usize,
            next: top,
            out: Link::new(ROOM + 2 * latency as usize),
            out_held: 0,
            activity: Activity::default(),
        };
        out.held[top as usize] = roots.len();
        out.peaks[top as usize] = roots.len();
        out.levels[top as usize] = roots.into();
        (0..levels).for_each(|level| out.measure(level));
        out
    }
    /// Updates whether the queue below `level` has room.
    #[inline(always)]
    fn measure(&mut self, level: usize) {
        // One output leaves per cycle; level l emits one node in 2^(l+1) cycles.
        let (held, under_way) = match level.checked_sub(1) {
            None => (self.out_held, 2 * self.latency),
            Some(below) => (self.held[below], self.latency >> below),
        };
        let bit = 1 << level;
        self.room = if held + 2 <= ROOM + under_way { self.room | bit } else { self.room & !bit };
    }
    #[inline(always)]
    fn pick(&self, cycle: u64) -> Option<usize> {
        let served = self.waits & self.room;
        if served == 0 {
            return None;
        }
        let owner = cycle.wrapping_add(self.phase).trailing_zeros();
        let owns = owner < 64 && served >> owner & 1 == 1;
        let (lowest, highest) = (served.trailing_zeros(), 63 - served.leading_zeros());
        let level = match self.policy {
            Policy::Ruler => owns.then_some(owner),
            Policy::RulerSteal => Some(if owns { owner } else { lowest }),
            Policy::StreamFirst | Policy::Deepest => Some(lowest),
            Policy::Shallowest => Some(highest),
            Policy::InOrder => (served >> self.next & 1 == 1).then_some(self.next),
        };
        level.map(|level| level as usize)
    }
    /// Runs one cycle. `expand(level, node)` computes the children of a node of this level.
    #[inline]
    pub fn step(&mut self, cycle: u64, expand: impl FnOnce(u32, &T) -> [T; 2]) -> Step {
        let leaving = self.pipe.pop(cycle);
        let mut issued = None;
        let pick = self.pick(cycle);
        if let Some((level, node)) = pick.and_then(|l| self.levels[l].pop_front().map(|node| (l, node))) {
            let index = self.issued[level];
            self.issued[level] = index + 1;
            self.held[level] -= 1;
            *(if level == 0 { &mut self.out_held } else { &mut self.held[level - 1] }) += 2;
            self.measure(level);
            if level + 1 < self.levels.len() {
                self.measure(level + 1);
            }
            if self.levels[level].is_empty() {
                self.waits &= !(1 << level);
            }
            self.pipe.push(cycle, ((level as u32, 2 * index), expand(level as u32, &node)));
            self.next = if level > 0 { level as u32 - 1 } else { (index + 1).trailing_zeros() };
            issued = Some((level as u32, index));
            self.activity.work(1);
        } else {
            self.activity.stall(self.reason(), 1);
        }
        let output = leaving.map(|((level, index), children)| {
            self.late = Some((level, children));
            (level, index)
        });
        Step { issued, output }
    }
    fn reason(&self) -> Stall {
        let (waiting, full) = (self.waits != 0, self.waits & !self.room != 0);
        if self.policy == Policy::InOrder && waiting && !full {
            Stall::Hazard
        } else if full {
            Stall::Output
        } else if waiting {
            Stall::Slot
        } else if !self.pipe.is_empty() {
            Stall::Hazard
        } else {
            Stall::Drained
        }
    }
    /// Ends a cycle: the children that left the pipeline become usable.
    #[inline]
    pub fn commit(&mut self) {
        if let Some((level, children)) = self.late.take() {
            if level == 0 {
                for child in children {
                    self.out.push(child);
                }
            } else {
                let queue = &mut self.levels[level as usize - 1];
                queue.extend(children);
                self.waits |= 1 << (level - 1);
                let peak = &mut self.peaks[level as usize - 1];
                *peak = (*peak).max(queue.len());
            }
        }
        self.out.commit();
    }
    /// Takes the next output.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let node = self.out.pop()?;
        self.out_held -= 1;
        self.measure(0);
        Some(node)
    }
    /// Outputs that wait.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.out.len()
    }
    /// The first cycle after `cycle` in which something happens if no output is taken.
    #[inline]
    pub fn next_event(&self, cycle: u64) -> Option<u64> {
        if self.waits & self.room != 0 {
            return Some(cycle + 1);
        }
        self.pipe.next_exit().map(|c| c.max(cycle + 1))
    }
    /// Counts `cycles` skipped cycles as stalls.
    pub fn skip(&mut self, cycles: u64) {
        self.activity.stall(self.reason(), cycles);
    }
    /// The most nodes that waited in each level.
    pub fn peaks(&self) -> &[usize] {
        &self.peaks
    }
}

//! The steps of tasks on eight lanes at once, or on single nodes.

use evergrove_primitives::lanes::{LANES, Lanes};

use super::{Combine, Expand, NodeOp};
use crate::tree::schedule::{Band, Run, Step};

/// Executes steps. Runs are those of a band's first task; operands and results are on top of a stack.
pub(super) trait Machine {
    fn load(&mut self, run: Run);
    fn spill(&mut self, run: Run);
}

/// A machine for reductions.
pub(super) trait Reducer: Machine {
    /// Loads the children of `run` and combines them.
    fn load_and_combine(&mut self, run: Run);
    fn combine(&mut self, run: Run);
    fn emit(&mut self, run: Run);
}

/// A machine for expansions.
pub(super) trait Expander: Machine {
    fn expand(&mut self, run: Run);
    /// Expands `run`, of the lowest level with children, and stores the children.
    fn expand_and_spill(&mut self, run: Run);
}

/// The first task of a band of a reduction. The leaves of a block are not put on the stack first.
#[inline(always)]
pub(super) fn reduce_band(band: &Band, machine: &mut impl Reducer) {
    let fused = band.in_block(band.bottom() + 1);
    let mut steps = band.steps(0);
    while let Some(step) = steps.next() {
        match step {
            Step::Load(_) if fused => {
                let Some(Step::Combine(run)) = steps.next() else { unreachable!("a block is loaded to be combined") };
                machine.load_and_combine(run);
            }
            Step::Load(run) => machine.load(run),
            Step::Combine(run) => machine.combine(run),
            Step::Emit(run) => machine.emit(run),
            Step::Spill(run) => machine.spill(run),
            Step::Expand(_) => unreachable!("a reduction expands nothing"),
        }
    }
}

/// The first task of a band of an expansion. The leaves of a block are not put on the stack first.
#[inline(always)]
pub(super) fn expand_band(band: &Band, machine: &mut impl Expander) {
    let fused = band.in_block(band.bottom() + 1);
    let mut steps = band.steps(0);
    while let Some(step) = steps.next() {
        match step {
            Step::Load(run) => machine.load(run),
            Step::Expand(run) if fused && run.level == band.bottom() + 1 => {
                machine.expand_and_spill(run);
                steps.next();
            }
            Step::Expand(run) => machine.expand(run),
            Step::Spill(run) => machine.spill(run),
            Step::Combine(_) | Step::Emit(_) => unreachable!("an expansion combines nothing"),
        }
    }
}

/// Eight adjacent tasks in lockstep: a local node is a vector, lane j is task j.
pub(super) struct Lockstep<'a, 'b, O: NodeOp, L: Lanes> {
    pub(super) op: &'a O,
    pub(super) lanes: L,
    pub(super) prepared: &'a O::Prepared<L>,
    pub(super) band: &'a Band,
    /// The first of the tasks.
    pub(super) task: usize,
    /// The nodes that tasks load, one task after the other.
    pub(super) from: &'a [O::Node],
    /// The places of results, for each level that is stored; the last entry is for spilled nodes.
    pub(super) to: &'a mut [&'b mut [O::Node]],
    pub(super) local: &'a mut Vec<O::Vector<L>>,
}

/// The same run of eight tasks.
#[inline(always)]
fn lanes_of<T>(nodes: &[T], task: usize, width: usize, run: Run) -> [&[T]; LANES] {
    let mut out = [&nodes[..0]; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = &nodes[(task + lane) * width + run.start..][..run.len];
    }
    out
}

/// Entry i of each lane.
#[inline(always)]
fn each<'a, T>(lanes: &[&'a [T]; LANES], i: usize) -> [&'a T; LANES] {
    let [a, b, c, d, e, f, g, h] = *lanes;
    [&a[i], &b[i], &c[i], &d[i], &e[i], &f[i], &g[i], &h[i]]
}

/// The run of the first task of `rest`, to be written; the other tasks remain.
#[inline(always)]
fn take<'a, T>(rest: &mut &'a mut [T], width: usize, run: Run) -> &'a mut [T] {
    let (lane, others) = core::mem::take(rest).split_at_mut(width);
    *rest = others;
    &mut lane[run.start..][..run.len]
}

/// The same run of eight tasks, to be written.
#[inline(always)]
fn lanes_of_mut<T>(nodes: &mut [T], task: usize, width: usize, run: Run) -> [&mut [T]; LANES] {
    let rest = &mut &mut nodes[task * width..][..LANES * width];
    [
        take(rest, width, run),
        take(rest, width, run),
        take(rest, width, run),
        take(rest, width, run),
        take(rest, width, run),
        take(rest, width, run),
        take(rest, width, run),
        take(rest, width, run),
    ]
}

/// Entry i of each lane, to be written.
#[inline(always)]
fn each_mut<'a, T>(lanes: &'a mut [&mut [T]; LANES], i: usize) -> [&'a mut T; LANES] {
    let [a, b, c, d, e, f, g, h] = lanes;
    [&mut a[i], &mut b[i], &mut c[i], &mut d[i], &mut e[i], &mut f[i], &mut g[i], &mut h[i]]
}

impl<O: NodeOp, L: Lanes> Lockstep<'_, '_, O, L> {
    #[inline(always)]
    fn width(&self, run: Run) -> usize {
        self.band.width(run.level - self.band.bottom())
    }

    /// Stores vectors as the nodes of a run.
    #[inline(always)]
    fn store(&mut self, slot: usize, run: Run, from: usize) {
        let width = self.width(run);
        let mut out = lanes_of_mut(self.to[slot], self.task, width, run);
        for (i, v) in self.local[from..][..run.len].iter().enumerate() {
            self.op.store(self.lanes, *v, each_mut(&mut out, i));
        }
    }
}

impl<O: NodeOp, L: Lanes> Machine for Lockstep<'_, '_, O, L> {
    #[inline(always)]
    fn load(&mut self, run: Run) {
        let from = lanes_of(self.from, self.task, self.width(run), run);
        for i in 0..run.len {
            self.local.push(self.op.load(self.lanes, each(&from, i)));
        }
    }
    #[inline(always)]
    fn spill(&mut self, run: Run) {
        let rest = self.local.len() - run.len;
        self.store(self.to.len() - 1, run, rest);
        self.local.truncate(rest);
    }
}

impl<O: Combine, L: Lanes> Reducer for Lockstep<'_, '_, O, L> {
    #[inline(always)]
    fn load_and_combine(&mut self, run: Run) {
        let children = Run { level: run.level - 1, start: 2 * run.start, len: 2 * run.len };
        let from = lanes_of(self.from, self.task, self.width(children), children);
        for i in 0..run.len {
            let left = self.op.load(self.lanes, each(&from, 2 * i));
            let right = self.op.load(self.lanes, each(&from, 2 * i + 1));
            self.local.push(self.op.combine(self.lanes, self.prepared, run.level, left, right));
        }
    }
    #[inline(always)]
    fn combine(&mut self, run: Run) {
        let rest = self.local.len() - 2 * run.len;
        let nodes = &mut self.local[rest..];
        for i in 0..run.len {
            nodes[i] = self.op.combine(self.lanes, self.prepared, run.level, nodes[2 * i], nodes[2 * i + 1]);
        }
        self.local.truncate(rest + run.len);
    }
    #[inline(always)]
    fn emit(&mut self, run: Run) {
        let slot = (run.level - self.band.bottom() - 1) as usize;
        self.store(slot, run, self.local.len() - run.len);
    }
}

impl<O: Expand, L: Lanes> Expander for Lockstep<'_, '_, O, L> {
    #[inline(always)]
    fn expand(&mut self, run: Run) {
        let first = self.local.len() - run.len;
        let Some(last) = self.local.last().copied() else { unreachable!("a node is there to be expanded") };
        self.local.resize(first + 2 * run.len, last);
        let nodes = &mut self.local[first..];
        for i in (0..run.len).rev() {
            let [left, right] = self.op.expand(self.lanes, self.prepared, run.level, nodes[i]);
            (nodes[2 * i], nodes[2 * i + 1]) = (left, right);
        }
        if !self.band.in_block(run.level) {
            nodes.reverse();
        }
    }
    #[inline(always)]
    fn expand_and_spill(&mut self, run: Run) {
        let first = self.local.len() - run.len;
        let children = Run { level: run.level - 1, start: 2 * run.start, len: 2 * run.len };
        let width = self.width(children);
        let mut out = lanes_of_mut(self.to[0], self.task, width, children);
        for (i, v) in self.local[first..].iter().enumerate() {
            let [left, right] = self.op.expand(self.lanes, self.prepared, run.level, *v);
            self.op.store(self.lanes, left, each_mut(&mut out, 2 * i));
            self.op.store(self.lanes, right, each_mut(&mut out, 2 * i + 1));
        }
        self.local.truncate(first);
    }
}

/// One task, node by node.
pub(super) struct Single<'a, 'b, O: NodeOp> {
    pub(super) op: &'a O,
    pub(super) band: &'a Band,
    pub(super) from: &'a [O::Node],
    pub(super) to: &'a mut [&'b mut [O::Node]],
    pub(super) local: &'a mut Vec<O::Node>,
}

impl<O: NodeOp> Machine for Single<'_, '_, O> {
    fn load(&mut self, run: Run) {
        self.local.extend_from_slice(&self.from[run.nodes()]);
    }
    fn spill(&mut self, run: Run) {
        let rest = self.local.len() - run.len;
        let slot = self.to.len() - 1;
        self.to[slot][run.nodes()].copy_from_slice(&self.local[rest..]);
        self.local.truncate(rest);
    }
}

impl<O: Combine> Reducer for Single<'_, '_, O> {
    fn load_and_combine(&mut self, run: Run) {
        for [left, right] in &self.from.as_chunks().0[run.nodes()] {
            self.local.push(self.op.node(run.level, left, right));
        }
    }
    fn combine(&mut self, run: Run) {
        let rest = self.local.len() - 2 * run.len;
        for i in 0..run.len {
            let (left, right) = (self.local[rest + 2 * i], self.local[rest + 2 * i + 1]);
            self.local[rest + i] = self.op.node(run.level, &left, &right);
        }
        self.local.truncate(rest + run.len);
    }
    fn emit(&mut self, run: Run) {
        let first = self.local.len() - run.len;
        let slot = (run.level - self.band.bottom() - 1) as usize;
        self.to[slot][run.nodes()].copy_from_slice(&self.local[first..]);
    }
}

impl<O: Expand> Expander for Single<'_, '_, O> {
    fn expand(&mut self, run: Run) {
        let first = self.local.len() - run.len;
        let parents = self.local.split_off(first);
        let children = parents.iter().flat_map(|node| self.op.children(run.level, node));
        self.local.extend(children);
        if !self.band.in_block(run.level) {
            self.local[first..].reverse();
        }
    }
    fn expand_and_spill(&mut self, run: Run) {
        let first = self.local.len() - run.len;
        let out = &mut self.to[0].as_chunks_mut::<2>().0[run.nodes()];
        for (out, node) in out.iter_mut().zip(&self.local[first..]) {
            *out = self.op.children(run.level, node);
        }
        self.local.truncate(first);
    }
}

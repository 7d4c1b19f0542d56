//! Depth first: one fixed subtree per PE, then one PE over their roots.
//!
//! The PEs do the same in the same cycles and share the memory evenly. So for timing only, the model runs one PE with
//! its share of the bandwidth. On nodes, it runs each PE.

use super::hybrid::port;
use super::report::Inputs;
use super::work::{Grow, Reduce};
use super::{LIMIT, Params, Report, name};
use crate::LabError;
use crate::accumulator::{Accumulator, Policy};
use crate::engine::trace::Trace;
use crate::engine::{Activity, Clocked, Port, Stall, run as drive};
use crate::expander::Expander;

/// Leaves that a PE may hold before it consumes them.
const PREFETCH: usize = 4;

/// A trace with rows for the memory, for each PE with its subtree, and for the PE above them.
fn trace(params: &Params, memory: &str, above: &str, events: usize) -> Trace {
    let pes = (0..params.pes).map(|pe| format!("PE {pe}"));
    Trace::new(std::iter::once(memory.to_owned()).chain(pes).chain([above.to_owned()]), events)
}

/// The part of a trace that records one machine.
struct Recorder<'a> {
    trace: &'a mut Trace,
    /// The first cycle of the machine.
    start: u64,
    /// The row of the first PE.
    track: usize,
    /// The number of the first PE's subtree, and the number of PEs that do the same, each in its own subtree.
    subtree: u64,
    alike: u64,
}

impl<'a> Recorder<'a> {
    /// The recorder of the PE with `subtree`, and of the `alike` - 1 PEs after it.
    fn subtree(trace: &'a mut Trace, start: u64, subtree: u64, alike: u64) -> Self {
        Self { trace, start, track: 1 + subtree as usize, subtree, alike }
    }
    /// The recorder of the PE above the subtrees.
    fn above(trace: &'a mut Trace, start: u64) -> Self {
        let track = trace.tracks().len() - 1;
        Self { trace, start, track, subtree: 0, alike: 1 }
    }
    /// Whether the trace has room. Without a trace, this check is the only cost.
    #[inline(always)]
    fn records(&self) -> bool {
        self.trace.has_room()
    }
    /// Records an operation of each PE on operand `index` of the `among` operands that a subtree has in this level.
    #[cold]
    fn operation(&mut self, cycle: u64, level: u32, index: u64, among: u64) {
        for (track, subtree) in (self.track..).zip(self.subtree..self.subtree + self.alike) {
            self.trace.add(track, self.start + cycle, 1, || name(level, subtree * among + index));
        }
    }
    /// Records a fetch or store of each PE.
    #[cold]
    fn memory(&mut self, cycle: u64, name: String) {
        self.trace.add(0, self.start + cycle, 1, || name);
    }
}

/// PEs that are simulated: one for timing only, otherwise all.
fn elements<N>(params: &Params) -> u64 {
    if size_of::<N>() == 0 { 1 } else { u64::from(params.pes) }
}

/// A PE with its subtree, or the last PE with the roots of the subtrees.
struct Element<'a, W: Reduce> {
    work: &'a mut W,
    recorder: Recorder<'a>,
    port: Port,
    accumulator: Accumulator<W::Node>,
    /// The number of the subtree, and the level of its leaves.
    subtree: u64,
    bottom: u32,
    height: u32,
    /// Leaves that come from memory: none for the last PE.
    leaves: u64,
    fetched: u64,
    all_levels: bool,
    inputs: Inputs,
    feed: Activity,
}

impl<'a, W: Reduce> Element<'a, W> {
    fn new(params: &Params, work: &'a mut W, recorder: Recorder<'a>, bottom: u32, height: u32) -> Self {
        let share = if bottom == 0 { u64::from(params.pes) } else { 1 };
        Self {
            work,
            subtree: recorder.subtree,
            recorder,
            port: port(params, share, 8),
            accumulator: Accumulator::new(params.policy, height, params.latency(), 1, 0),
            bottom,
            height,
            leaves: if bottom == 0 { 1 << height } else { 0 },
            fetched: 0,
            all_levels: params.workload.all_levels(),
            inputs: Inputs::default(),
            feed: Activity::default(),
        }
    }
    fn wants(&self) -> bool {
        self.fetched < self.leaves && self.accumulator.waiting() + 2 <= PREFETCH
    }
    /// Results written to memory for the next pair: its own, and one of a level above except for the last pair.
    fn writes(&self) -> u64 {
        if self.all_levels { 2 - u64::from(self.fetched + 2 == self.leaves) } else { 0 }
    }
    fn reason(&self) -> Stall {
        if self.fetched == self.leaves {
            Stall::Drained
        } else if self.wants() {
            Stall::Memory
        } else {
            Stall::Hazard
        }
    }
}

impl<W: Reduce> Clocked for Element<'_, W> {
    #[inline(always)]
    fn eval(&mut self, cycle: u64) {
        if self.wants() && self.port.book(cycle, 2, self.writes()) {
            let first = (self.subtree << self.height) + self.fetched;
            for i in 0..2 {
                let leaf = self.work.leaf(first + i);
                self.accumulator.arrive(leaf);
            }
            if self.recorder.records() {
                self.recorder.memory(cycle, format!("pair {}", self.fetched / 2));
            }
            self.fetched += 2;
            self.inputs.add(cycle);
            self.feed.work(1);
        } else {
            self.feed.stall(self.reason(), 1);
        }
        let (work, base) = (&mut *self.work, self.bottom);
        let step = self.accumulator.step(cycle, |level, [left, right]| work.combine(base + level + 1, left, right));
        if let Some((level, index)) = step.issued
            && self.recorder.records()
        {
            self.recorder.operation(cycle, base + level, index, 1 << (self.height - level));
        }
        if let Some(((level, index), node)) = step.output {
            let first = self.subtree << (self.height - level);
            self.work.result(base + level, first + index, &node);
            if self.all_levels && self.leaves == 0 {
                self.port.count(0, 1);
            }
        }
    }
    #[inline(always)]
    fn commit(&mut self, _: u64) {
        self.accumulator.commit();
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let accumulator = self.accumulator.next_event(cycle);
        if accumulator == Some(cycle + 1) {
            return accumulator;
        }
        let memory = if self.wants() { self.port.ready_at(cycle, 2 + self.writes()) } else { None };
        [accumulator, memory].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.accumulator.skip(cycles);
        self.feed.stall(self.reason(), cycles);
    }
    fn is_done(&self) -> bool {
        self.accumulator.root().is_some()
    }
}

pub(super) fn reduce<W: Reduce>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    let height = params.log_size - params.log_pes();
    let elements = elements::<W::Node>(params);
    let alike = u64::from(params.pes) / elements;
    let mut trace = trace(params, "fetch", "last PE", events);
    let mut roots = Vec::new();
    let mut report = Report::new(params, 0);
    for subtree in 0..elements {
        let recorder = Recorder::subtree(&mut trace, 0, subtree, alike);
        let mut element = Element::new(params, work, recorder, 0, height);
        let cycles = drive(&mut element, LIMIT)?;
        roots.extend(element.accumulator.root().cloned());
        let (read, written) = element.port.bytes();
        let all = u64::from(params.pes);
        (report.read_bytes, report.written_bytes) = (read * all, written * all);
        (report.cycles, report.inputs, report.buffered_nodes, report.level_peak) = (cycles, element.inputs, 0, 0);
        report.peaks(element.accumulator.peaks());
        report.buffered_nodes *= params.pes as usize;
        report.activities = vec![("fetch".into(), element.feed), ("PE".into(), element.accumulator.activity)];
    }
    // The roots of all subtrees are present at once. A policy with a fixed order would only add waiting.
    let last = Params { policy: Policy::RulerSteal, ..params.clone() };
    let recorder = Recorder::above(&mut trace, report.cycles);
    let mut merge = Element::new(&last, work, recorder, height, params.log_pes());
    for i in 0..params.pes as usize {
        merge.accumulator.arrive(roots[i % roots.len()].clone());
    }
    let cycles = drive(&mut merge, LIMIT)?;
    report.written_bytes += merge.port.bytes().1;
    report.cycles += cycles;
    report.seconds = params.seconds(report.cycles);
    report.activities.push(("last PE".into(), merge.accumulator.activity));
    report.continuous = false;
    Ok((report, trace))
}

/// A PE that expands a node into a subtree.
struct Grower<'a, W: Grow> {
    work: &'a mut W,
    recorder: Recorder<'a>,
    port: Port,
    expander: Expander<W::Node>,
    bottom: u32,
    height: u32,
    first: u64,
    made: u64,
    leaves: u64,
    /// The outputs, if they are not leaves.
    roots: Vec<W::Node>,
}

impl<'a, W: Grow> Grower<'a, W> {
    fn new(params: &Params, work: &'a mut W, recorder: Recorder<'a>, root: W::Node, bottom: u32, height: u32) -> Self {
        // The PE that makes the roots of the subtrees has the memory for itself, and always the same policy.
        let (share, policy) =
            if bottom == 0 { (u64::from(params.pes), params.policy) } else { (1, Policy::RulerSteal) };
        Self {
            work,
            port: port(params, share, 8),
            expander: Expander::new(policy, height - 1, vec![root], params.latency(), 1 << (height - 1)),
            bottom,
            height,
            first: recorder.subtree << height,
            recorder,
            made: 0,
            leaves: 1 << height,
            roots: Vec::new(),
        }
    }
}

impl<W: Grow> Clocked for Grower<'_, W> {
    fn eval(&mut self, cycle: u64) {
        // A PE makes at most one output per cycle, and N of them store as many nodes per cycle as the hybrid unit.
        let leaves = self.bottom == 0;
        if self.expander.waiting() > 0
            && (!leaves || self.port.book(cycle, 0, 1))
            && let Some(node) = self.expander.take()
        {
            if leaves {
                self.work.leaf(self.first + self.made, node);
                if self.recorder.records() {
                    self.recorder.memory(cycle, format!("leaf {}", self.made));
                }
            } else {
                self.roots.push(node);
            }
            self.made += 1;
        }
        let (work, base) = (&mut *self.work, self.bottom);
        let step = self.expander.step(cycle, |level, node| work.expand(base + level + 1, node));
        if let Some((level, index)) = step.issued
            && self.recorder.records()
        {
            self.recorder.operation(cycle, base + level + 1, index, 1 << (self.height - level - 1));
        }
    }
    fn commit(&mut self, _: u64) {
        self.expander.commit();
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let waits = self.expander.waiting() > 0;
        let memory = if waits && self.bottom == 0 { self.port.ready_at(cycle, 1) } else { None };
        let out = if waits && self.bottom > 0 { Some(cycle + 1) } else { memory };
        [self.expander.next_event(cycle), out].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.expander.skip(cycles);
    }
    fn is_done(&self) -> bool {
        self.made == self.leaves
    }
}

pub(super) fn grow<W: Grow>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    let height = params.log_size - params.log_pes();
    let mut trace = trace(params, "store", "first PE", events);
    // One PE computes the roots of the subtrees.
    let root = work.root();
    let mut top = Grower::new(params, &mut *work, Recorder::above(&mut trace, 0), root, height, params.log_pes());
    let before = drive(&mut top, LIMIT)?;
    let roots = top.roots;
    let elements = elements::<W::Node>(params);
    let alike = u64::from(params.pes) / elements;
    let mut report = Report::new(params, 0);
    for (subtree, root) in (0..elements).zip(roots) {
        let recorder = Recorder::subtree(&mut trace, before, subtree, alike);
        let mut element = Grower::new(params, &mut *work, recorder, root, 0, height);
        report.cycles = before + drive(&mut element, LIMIT)?;
        report.written_bytes = element.port.bytes().1 * u64::from(params.pes);
        (report.buffered_nodes, report.level_peak) = (0, 0);
        report.peaks(element.expander.peaks());
        report.buffered_nodes *= params.pes as usize;
        report.activities = vec![("PE".into(), element.expander.activity)];
    }
    report.seconds = params.seconds(report.cycles);
    report.continuous = false;
    Ok((report, trace))
}

//! The hybrid traversal of a forward tree: the accumulator expands the upper levels, the front tree the lowest log2 N
//! levels.

use super::hybrid::port;
use super::report::Inputs;
use super::work::Grow;
use super::{LIMIT, Params, Report, name};
use crate::LabError;
use crate::engine::trace::Trace;
use crate::engine::{Activity, Clocked, Pipeline, Port, Stall, run as drive};
use crate::expander::Expander;

/// The accumulator, the front tree and the memory.
struct Forward<'a, W: Grow> {
    work: &'a mut W,
    port: Port,
    expander: Expander<W::Node>,
    /// Groups of N leaves in the front tree.
    front: Pipeline<()>,
    log_pes: u32,
    groups: u64,
    sent: u64,
    left: u64,
    outputs: Inputs,
    feed: Activity,
    trace: Trace,
}

impl<'a, W: Grow> Forward<'a, W> {
    fn new(params: &Params, work: &'a mut W, events: usize) -> Self {
        // Level 0 of the expander produces the nodes that the front tree expands: level log_pes of the tree.
        let top = params.log_size - params.log_pes() - 1;
        let root = work.root();
        Self {
            port: port(params, 1, 4 * u64::from(params.pes)),
            expander: Expander::new(params.policy, top, vec![root], params.latency(), 1 << top),
            front: Pipeline::new(params.latency() * u64::from(params.log_pes()), 1),
            log_pes: params.log_pes(),
            groups: params.leaves() >> params.log_pes(),
            sent: 0,
            left: 0,
            outputs: Inputs::default(),
            feed: Activity::default(),
            trace: Trace::new(["front tree", "accumulator"], events),
            work,
        }
    }

    /// Computes the leaves below a node, in order.
    fn leaves(&mut self, node: W::Node) {
        let first = self.sent << self.log_pes;
        let mut nodes = vec![node];
        for level in (1..=self.log_pes).rev() {
            nodes = nodes.iter().flat_map(|node| self.work.expand(level, node)).collect();
        }
        for (i, leaf) in (first..).zip(nodes) {
            self.work.leaf(i, leaf);
        }
    }

    fn feed_stall(&self) -> Stall {
        if self.sent == self.groups {
            Stall::Drained
        } else if self.expander.waiting() == 0 {
            Stall::Input
        } else {
            Stall::Memory
        }
    }
}

impl<W: Grow> Clocked for Forward<'_, W> {
    #[inline(always)]
    fn eval(&mut self, cycle: u64) {
        if self.front.pop(cycle).is_some() {
            self.outputs.add(cycle);
            self.left += 1;
        }
        let writes = self.expander.waiting() > 0 && self.port.book(cycle, 0, 1 << self.log_pes);
        let node = if writes { self.expander.take() } else { None };
        if let Some(node) = node {
            let group = self.sent;
            self.trace.add(0, cycle, 1, || format!("group {group}"));
            self.leaves(node);
            self.front.push(cycle, ());
            self.sent += 1;
            self.feed.work(1);
        } else {
            self.feed.stall(self.feed_stall(), 1);
        }
        let (work, base) = (&mut *self.work, self.log_pes);
        let step = self.expander.step(cycle, |level, node| work.expand(base + level + 1, node));
        if let Some((level, index)) = step.issued {
            self.trace.add(1, cycle, 1, || name(base + level + 1, index));
        }
    }
    #[inline(always)]
    fn commit(&mut self, _: u64) {
        self.expander.commit();
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let waits = self.expander.waiting() > 0;
        let memory = if waits { self.port.ready_at(cycle, 1 << self.log_pes) } else { None };
        let front = self.front.next_exit().map(|c| c.max(cycle + 1));
        [self.expander.next_event(cycle), front, memory].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.expander.skip(cycles);
        self.feed.stall(self.feed_stall(), cycles);
    }
    fn is_done(&self) -> bool {
        self.left == self.groups
    }
}

/// Runs the machine and records its first `events` operations.
pub(super) fn run<W: Grow>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    let mut machine = Forward::new(params, work, events);
    let cycles = drive(&mut machine, LIMIT)?;
    let mut report = Report::new(params, cycles);
    (report.read_bytes, report.written_bytes) = machine.port.bytes();
    report.inputs = machine.outputs;
    report.peaks(machine.expander.peaks());
    report.activities = vec![("front tree".into(), machine.feed), ("accumulator".into(), machine.expander.activity)];
    Ok((report, machine.trace))
}

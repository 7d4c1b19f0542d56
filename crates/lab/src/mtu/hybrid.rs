//! The hybrid traversal of an inverted tree, with front tree and accumulator.

use super::work::Reduce;
use super::{LIMIT, Params, Report, name};
use crate::LabError;
use crate::accumulator::Accumulator;
use crate::engine::trace::Trace;
use crate::engine::{Activity, Clocked, Memory, Pipeline, Port, Stall, Stream, TokenBucket, run as drive};
use crate::mtu::report::Inputs;

/// The memory, the front tree and the accumulator.
pub(super) struct Hybrid<'a, W: Reduce> {
    work: &'a mut W,
    port: Port,
    /// The roots of groups of N leaves, in the front tree.
    front: Pipeline<W::Node>,
    accumulator: Accumulator<W::Node>,
    log_pes: u32,
    groups: u64,
    sent: u64,
    all_levels: bool,
    inputs: Inputs,
    feed: Activity,
    trace: Trace,
}

/// A memory port of an MTU machine. `share` machines share the memory, each with its own part of the leaves; the port
/// prefetches or saves up to `burst` nodes.
pub(super) fn port(params: &Params, share: u64, burst: u64) -> Port {
    let (ahead, stride) = (burst * params.node_bytes, params.leaves() / share * params.node_bytes);
    let memory = match params.memory.timing(params.memory_modules) {
        Some(timing) => Memory::Banks(Box::new(Stream::new(timing, params.frequency_mhz, share, stride, ahead))),
        None => {
            let (frequency, bandwidth) =
                (params.frequency_mhz * 1_000_000 * share, params.bandwidth_gb_s * 1_000_000_000);
            Memory::Bucket(TokenBucket::new(bandwidth, params.efficiency, frequency, ahead))
        }
    };
    Port::new(memory, params.node_bytes)
}

impl<'a, W: Reduce> Hybrid<'a, W> {
    pub(super) fn new(params: &Params, work: &'a mut W, events: usize) -> Self {
        let pes = u64::from(params.pes);
        let depth = params.latency() * u64::from(params.log_pes());
        // If the memory is fast enough, the first group enters in cycle 0. The ruler starts when that group leaves the
        // front tree.
        let height = params.log_size - params.log_pes();
        Self {
            work,
            port: port(params, 1, 4 * pes),
            front: Pipeline::new(depth, 1),
            accumulator: Accumulator::new(params.policy, height, params.latency(), 1, depth),
            log_pes: params.log_pes(),
            groups: params.leaves() / pes,
            sent: 0,
            all_levels: params.workload.all_levels(),
            inputs: Inputs::default(),
            feed: Activity::default(),
            trace: Trace::new(["front tree", "accumulator"], events),
        }
    }

    fn pes(&self) -> u64 {
        1 << self.log_pes
    }

    /// Computes the root of the next N leaves, as the front tree does.
    #[inline(always)]
    fn group(&mut self) -> W::Node {
        let first = self.sent << self.log_pes;
        if size_of::<W::Node>() == 0 {
            // Timing only: a node has no data.
            return self.work.leaf(first);
        }
        // Partial results, stacked like the carries of a binary counter.
        let mut stack: Vec<W::Node> = Vec::new();
        for i in 0..self.pes() {
            let mut node = self.work.leaf(first + i);
            let mut level = 0;
            while (i + 1).trailing_zeros() > level
                && let Some(left) = stack.pop()
            {
                level += 1;
                node = self.work.combine(level, &left, &node);
                self.work.result(level, (first + i) >> level, &node);
            }
            stack.push(node);
        }
        stack.swap_remove(0)
    }

    /// Results written to memory for the next group: N - 1 of the front tree and one of the accumulator, except for the
    /// last group.
    #[inline(always)]
    fn writes(&self) -> u64 {
        if self.all_levels { self.pes() - u64::from(self.sent + 1 == self.groups) } else { 0 }
    }

    fn feed_stall(&self) -> Stall {
        if self.sent == self.groups { Stall::Drained } else { Stall::Memory }
    }
}

impl<W: Reduce> Clocked for Hybrid<'_, W> {
    #[inline(always)]
    fn eval(&mut self, cycle: u64) {
        if let Some(node) = self.front.pop(cycle) {
            self.accumulator.arrive(node);
        }
        if self.sent < self.groups && self.port.book(cycle, self.pes(), self.writes()) {
            let node = self.group();
            self.front.push(cycle, node);
            self.inputs.add(cycle);
            let group = self.sent;
            self.trace.add(0, cycle, 1, || format!("group {group}"));
            self.sent += 1;
            self.feed.work(1);
        } else {
            self.feed.stall(self.feed_stall(), 1);
        }
        let (work, base) = (&mut *self.work, self.log_pes);
        let step = self.accumulator.step(cycle, |level, [left, right]| work.combine(base + level + 1, left, right));
        if let Some((level, index)) = step.issued {
            self.trace.add(1, cycle, 1, || name(base + level, index));
        }
        if let Some(((level, index), node)) = step.output {
            self.work.result(base + level, index, &node);
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
        let left = self.sent < self.groups;
        let memory = if left { self.port.ready_at(cycle, self.pes() + self.writes()) } else { None };
        let front = self.front.next_exit().map(|c| c.max(cycle + 1));
        [accumulator, front, memory].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.accumulator.skip(cycles);
        self.feed.stall(self.feed_stall(), cycles);
    }
    fn is_done(&self) -> bool {
        self.accumulator.root().is_some()
    }
}

/// Runs the machine and records its first `events` operations.
pub(super) fn run<W: Reduce>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    let mut machine = Hybrid::new(params, work, events);
    let cycles = drive(&mut machine, LIMIT)?;
    Ok((report(params, &machine, cycles), machine.trace))
}

fn report<W: Reduce>(params: &Params, machine: &Hybrid<'_, W>, cycles: u64) -> Report {
    let mut report = Report::new(params, cycles);
    (report.read_bytes, report.written_bytes) = machine.port.bytes();
    report.inputs = machine.inputs;
    report.peaks(machine.accumulator.peaks());
    report.activities = vec![("front tree".into(), machine.feed), ("accumulator".into(), machine.accumulator.activity)];
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accumulator::Policy;
    use crate::engine::run_every_cycle;
    use crate::mtu::{Timing, Workload};

    #[test]
    fn skipping_changes_nothing() {
        for (workload, bandwidth, pes, policy) in [
            (Workload::MleEvaluation, 37, 4, Policy::RulerSteal),
            (Workload::ProductMle, 64, 8, Policy::Ruler),
            (Workload::MerkleTree, 5, 2, Policy::Deepest),
            (Workload::ProductMle, 1024, 16, Policy::StreamFirst),
        ] {
            let params = Params { workload, bandwidth_gb_s: bandwidth, pes, policy, log_size: 12, ..Params::default() };
            let (mut a, mut b) = (Timing, Timing);
            let (mut skipping, mut stepping) = (Hybrid::new(&params, &mut a, 0), Hybrid::new(&params, &mut b, 0));
            let cycles = drive(&mut skipping, LIMIT).expect("the machine finishes");
            assert_eq!(run_every_cycle(&mut stepping, LIMIT), Ok(cycles));
            let found = report(&params, &skipping, cycles);
            assert_eq!(found, report(&params, &stepping, cycles));
            for (name, activity) in &found.activities {
                assert_eq!(activity.total(), cycles, "the cycles of the {name} add up");
            }
        }
    }
}

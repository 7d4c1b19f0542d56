//! Level by level: breadth first through memory, and UniZK's subtrees in SRAM.

use super::hybrid::port;
use super::report::Inputs;
use super::work::{Grow, Reduce};
use super::{LIMIT, Params, Report, name};
use crate::LabError;
use crate::engine::trace::Trace;
use crate::engine::{Activity, Clocked, Pipeline, Port, Stall, run as drive};

/// Operations that do not depend on each other.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    /// Number of operations.
    ops: u64,
    /// Nodes that each operation reads from memory.
    reads: u64,
    /// Nodes that each operation writes to memory.
    writes: u64,
    /// The level of the operands above the leaves, and the number of the first operand.
    operands: (u32, u64),
}

/// PEs that share the operations of one sweep after another, with a barrier between sweeps.
struct Sweeper<S, F> {
    sweeps: S,
    compute: F,
    now: Option<(usize, Sweep)>,
    issued: u64,
    finished: u64,
    port: Port,
    pipe: Pipeline<u64>,
    pes: u64,
    /// Operands per operation.
    arity: u64,
    inputs: Inputs,
    activity: Activity,
    trace: Trace,
}

impl<S: Iterator<Item = Sweep>, F: FnMut(usize, u64)> Sweeper<S, F> {
    fn new(params: &Params, burst: u64, mut sweeps: S, events: usize, compute: F) -> Self {
        let now = sweeps.next().map(|sweep| (0, sweep));
        let tracks = (0..params.pes).map(|pe| format!("PE {pe}"));
        Self {
            sweeps,
            compute,
            now,
            issued: 0,
            finished: 0,
            port: port(params, 1, burst),
            pipe: Pipeline::new(params.latency(), 1),
            pes: u64::from(params.pes),
            arity: if params.workload.is_forward() { 1 } else { 2 },
            inputs: Inputs::default(),
            activity: Activity::default(),
            trace: Trace::new(tracks, events),
        }
    }
    /// Books the operations that can start in `cycle`, and returns their number.
    fn start(&mut self, cycle: u64, sweep: Sweep) -> u64 {
        let want = self.pes.min(sweep.ops - self.issued);
        let words = sweep.reads + sweep.writes;
        if want == 0 || words == 0 || self.port.book(cycle, want * sweep.reads, want * sweep.writes) {
            return want;
        }
        let part = self.port.available(cycle) / words;
        if part > 0 && self.port.book(cycle, part * sweep.reads, part * sweep.writes) { part } else { 0 }
    }
    /// Records `ops` operations from the next one on, one per PE in order.
    fn record(&mut self, cycle: u64, sweep: Sweep, ops: u64) {
        let (level, first) = sweep.operands;
        for (pe, op) in (self.issued..self.issued + ops).enumerate() {
            self.trace.add(pe, cycle, 1, || name(level, first + self.arity * op));
        }
    }
    fn reason(&self) -> Stall {
        match self.now {
            None => Stall::Drained,
            Some((_, sweep)) if self.issued == sweep.ops => Stall::Hazard,
            Some(_) => Stall::Memory,
        }
    }
}

impl<S: Iterator<Item = Sweep>, F: FnMut(usize, u64)> Clocked for Sweeper<S, F> {
    fn eval(&mut self, cycle: u64) {
        let Some((number, sweep)) = self.now else {
            self.activity.stall(Stall::Drained, 1);
            return;
        };
        if let Some(ops) = self.pipe.pop(cycle) {
            self.finished += ops;
        }
        let ops = self.start(cycle, sweep);
        if ops > 0 {
            for op in self.issued..self.issued + ops {
                (self.compute)(number, op);
            }
            if number == 0 {
                self.inputs.add(cycle);
            }
            if self.trace.has_room() {
                self.record(cycle, sweep, ops);
            }
            self.issued += ops;
            self.pipe.push(cycle, ops);
            self.activity.work(1);
        } else {
            self.activity.stall(self.reason(), 1);
        }
    }
    fn commit(&mut self, _: u64) {
        // The next level begins when the last node of this one is finished.
        if let Some((number, sweep)) = self.now
            && self.finished == sweep.ops
        {
            (self.issued, self.finished) = (0, 0);
            self.now = self.sweeps.next().map(|next| (number + 1, next));
        }
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let (_, sweep) = self.now?;
        let exit = self.pipe.next_exit().map(|c| c.max(cycle + 1));
        let words = sweep.reads + sweep.writes;
        let start = match self.issued == sweep.ops {
            true => None,
            false if words == 0 => Some(cycle + 1),
            false => self.port.ready_at(cycle, words),
        };
        [exit, start].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.activity.stall(self.reason(), cycles);
    }
    fn is_done(&self) -> bool {
        self.now.is_none()
    }
}

fn execute<S: Iterator<Item = Sweep>, F: FnMut(usize, u64)>(
    params: &Params,
    burst: u64,
    sweeps: S,
    events: usize,
    compute: F,
) -> Result<(Report, Trace), LabError> {
    let mut machine = Sweeper::new(params, burst, sweeps, events, compute);
    let cycles = drive(&mut machine, LIMIT)?;
    let mut report = Report::new(params, cycles);
    (report.read_bytes, report.written_bytes) = machine.port.bytes();
    report.inputs = machine.inputs;
    report.activities = vec![("PEs".into(), machine.activity)];
    Ok((report, machine.trace))
}

/// The nodes of the level that is read, and of the level that is computed from it.
struct Levels<N> {
    number: usize,
    from: Vec<N>,
    to: Vec<N>,
}

impl<N> Levels<N> {
    /// The nodes that sweep `number` reads.
    fn of(&mut self, number: usize) -> &[N] {
        if number != self.number {
            self.from = std::mem::take(&mut self.to);
            self.number = number;
        }
        &self.from
    }
}

pub(super) fn reduce<W: Reduce>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    let p = params.clone();
    let kept = move |nodes: u64| nodes <= p.sram_nodes;
    let height = params.log_size;
    let (all, kept_below) = (params.workload.all_levels(), kept);
    let sweeps = (1..=height).map(move |level| {
        let nodes = 1_u64 << (height - level);
        Sweep {
            ops: nodes,
            reads: if level > 1 && kept_below(2 * nodes) { 0 } else { 2 },
            writes: u64::from(all || !kept_below(nodes)),
            operands: (level - 1, 0),
        }
    });
    let leaves = (0..params.leaves()).map(|i| work.leaf(i)).collect();
    let mut levels = Levels { number: 0, from: leaves, to: Vec::new() };
    let (mut report, trace) = execute(params, 4 * u64::from(params.pes), sweeps, events, |number, op| {
        let from = levels.of(number);
        let (level, i) = (number as u32 + 1, op as usize);
        let node = work.combine(level, &from[2 * i], &from[2 * i + 1]);
        work.result(level, op, &node);
        levels.to.push(node);
    })?;
    // Nodes of the levels between leaves and root. The root is a result, so it does not count.
    report.spilled_nodes = (1..height).map(|l| 1_u64 << (height - l)).filter(|n| !kept(*n)).sum();
    report.buffered_nodes = (1..height).map(|l| 1_usize << (height - l)).find(|n| kept(*n as u64)).unwrap_or(0);
    Ok((report, trace))
}

pub(super) fn grow<W: Grow>(params: &Params, work: &mut W, events: usize) -> Result<(Report, Trace), LabError> {
    let (height, sram) = (params.log_size, params.sram_nodes);
    let kept = move |nodes: u64| nodes <= sram;
    let sweeps = (0..height).map(move |depth| {
        let parents = 1_u64 << depth;
        let reads = u64::from(!kept(parents) && depth > 0);
        let writes = if depth + 1 < height && kept(2 * parents) { 0 } else { 2 };
        Sweep { ops: parents, reads, writes, operands: (height - depth, 0) }
    });
    let root = work.root();
    let mut levels = Levels { number: 0, from: vec![root], to: Vec::new() };
    let (mut report, trace) = execute(params, 4 * u64::from(params.pes), sweeps, events, |number, op| {
        let level = height - number as u32;
        let children = work.expand(level, &levels.of(number)[op as usize]);
        if level == 1 {
            for (i, child) in (2 * op..).zip(children) {
                work.leaf(i, child);
            }
        } else {
            levels.to.extend(children);
        }
    })?;
    report.spilled_nodes = (1..height).map(|d| 1_u64 << d).filter(|n| !kept(*n)).sum();
    Ok((report, trace))
}

/// Subtrees of 2^`log_subtree` leaves, each computed level by level without memory traffic, then likewise the tree over
/// their roots. Meanwhile a second buffer receives the leaves of the next subtree.
pub(super) fn reduce_in_subtrees<W: Reduce>(
    params: &Params,
    work: &mut W,
    events: usize,
) -> Result<(Report, Trace), LabError> {
    let all = params.workload.all_levels();
    let (mut bands, mut below) = (Vec::new(), params.log_size);
    while below > 0 {
        let height = params.log_subtree.min(below);
        bands.push((params.log_size - below, height));
        below -= height;
    }
    let total = params.log_size;
    // Band, subtree and level of each sweep. The sweeps and their computation both iterate, so no list of all sweeps is
    // stored.
    let places = bands.iter().flat_map(move |&(bottom, height)| {
        let subtrees = 1_u64 << (total - bottom - height);
        (0..subtrees).flat_map(move |s| (1..=height).map(move |up| (bottom, height, s, up)))
    });
    let sweeps = places.clone().map(|(bottom, height, subtree, up)| Sweep {
        ops: 1 << (height - up),
        reads: if up == 1 { 2 } else { 0 },
        writes: u64::from(all || up == height),
        operands: (bottom + up - 1, subtree << (height - up + 1)),
    });
    let leaves: Vec<W::Node> = (0..params.leaves()).map(|i| work.leaf(i)).collect();
    let (mut from, mut to, mut band) = (leaves, Vec::new(), 0);
    let mut levels = Levels { number: usize::MAX, from: Vec::new(), to: Vec::new() };
    let (mut places, mut now) = (places, (usize::MAX, (0, 0, 0, 0)));
    let (mut report, trace) = execute(params, 2 << params.log_subtree, sweeps, events, |number, op| {
        if number != now.0 {
            now = (number, places.next().expect("a sweep has a place"));
        }
        let (bottom, height, subtree, up) = now.1;
        if bottom != band {
            (from, band) = (std::mem::take(&mut to), bottom);
        }
        let i = op as usize;
        let start = (subtree as usize) << height;
        let node = if up == 1 {
            levels.number = number;
            if i == 0 {
                levels.to.clear();
            }
            work.combine(bottom + 1, &from[start + 2 * i], &from[start + 2 * i + 1])
        } else {
            let below = levels.of(number);
            work.combine(bottom + up, &below[2 * i], &below[2 * i + 1])
        };
        work.result(bottom + up, (subtree << (height - up)) + op, &node);
        if up == height {
            to.push(node.clone());
        }
        levels.to.push(node);
    })?;
    report.spilled_nodes = bands.iter().skip(1).map(|(bottom, _)| 1_u64 << (total - bottom)).sum();
    report.buffered_nodes = 3 << params.log_subtree;
    Ok((report, trace))
}

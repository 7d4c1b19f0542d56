//! The machine: one leaf board or several, and one branch board.

use std::collections::VecDeque;

use serde::Serialize;

use super::latency::{Latency, Samples};
use super::params::{Outputs, Params};
use super::source::Source;
use super::work::Rows;
use crate::LabError;
use crate::accumulator::{Accumulator, Policy};
use crate::engine::trace::Trace;
use crate::engine::{Activity, Clocked, Memory, Pipeline, Stall, Stream, TokenBucket, run as drive};

/// Limit of a run, in cycles.
pub(super) const LIMIT: u64 = 1 << 44;

/// Measurements of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Cycles from the first word on the link to the last node of the cap.
    pub cycles: u64,
    /// Seconds of these cycles.
    pub seconds: f64,
    /// The cycle in which the last leaf's digest left the leaf hasher.
    pub leaves_at: u64,
    /// Bytes sent to the engine over the link.
    pub link_bytes: u64,
    /// Bytes sent back over the link.
    pub out_bytes: u64,
    /// Bytes to and from HBM: states, and the matrix if columns are transposed.
    pub hbm_bytes: u64,
    /// Permutations of leaves and branches.
    pub hashes: u64,
    /// The most digests that waited in each level of the branch hasher, from level 0: the depth that its queues need.
    pub queues: Vec<usize>,
    /// Busy and stalled cycles of the leaf hasher (LHE) and the branch hasher (BHE).
    pub activities: Vec<(String, Activity)>,
    /// Cycles from the one in which a row's last group could enter a core to the one in which its digest left the core.
    /// They include waits for a free core, for memory and for a place in the digest queue.
    pub leaf_latency: Latency,
}

/// A report with the cap.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<D> {
    /// The measurements.
    pub report: Report,
    /// The nodes of the cap, in order.
    pub cap: Vec<D>,
}

/// A tree of cores below the accumulator, with one core for each pair of digests that it takes at a time.
struct Front<D> {
    width: usize,
    /// Digests of the next group, and groups that wait until the cores can start.
    group: Vec<D>,
    waiting: VecDeque<D>,
    pipe: Pipeline<D>,
    groups: u64,
    /// Groups that have entered the cores.
    taken: u64,
}

impl<D: Clone> Front<D> {
    fn new(p: &Params) -> Self {
        let (levels, interval) = (u64::from(p.log_front()), Params::interval(p.bhe_sboxes));
        Self {
            width: 1 << levels,
            group: Vec::new(),
            waiting: VecDeque::new(),
            pipe: Pipeline::new(levels * p.pipelines.permutation(), interval),
            groups: 0,
            taken: 0,
        }
    }
    /// Adds a digest. `node` hashes a pair.
    fn arrive(&mut self, digest: D, mut node: impl FnMut(&[D]) -> D) {
        self.group.push(digest);
        if self.group.len() < self.width {
            return;
        }
        while self.group.len() > 1 {
            self.group = self.group.chunks_exact(2).map(&mut node).collect();
        }
        self.waiting.extend(self.group.pop());
        self.groups += 1;
    }
    /// Runs one cycle, after the arrivals of that cycle. Returns the node of the group that leaves.
    fn step(&mut self, cycle: u64) -> Option<D> {
        if self.pipe.ready(cycle)
            && let Some(node) = self.waiting.pop_front()
        {
            self.pipe.push(cycle, node);
            self.taken += 1;
        }
        self.pipe.pop(cycle)
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let start = self.waiting.front().map(|_| self.pipe.free_at().max(cycle + 1));
        let exit = self.pipe.next_exit().map(|c| c.max(cycle + 1));
        [start, exit].into_iter().flatten().min()
    }
}

/// Bytes of a digest.
pub(super) const DIGEST: u64 = 32;

/// The link's direction to the host, and the digests that wait for it.
struct Back {
    link: TokenBucket,
    waiting: u64,
}

/// The leaf hasher and the branch hasher. A node has `ARITY` children.
struct Engine<'a, W: Rows, const ARITY: usize> {
    work: &'a mut W,
    source: Source,
    hbm: Option<Memory>,
    /// The cores of the leaf hasher. They start rows in order, and all have the same latency.
    cores: Vec<Pipeline<W::State>>,
    /// States of rows between passes, oldest first. A row has no state before its first pass.
    states: VecDeque<W::State>,
    /// The network to the branch hasher's board, and the digests that wait for it.
    network: Option<TokenBucket>,
    sending: VecDeque<W::Digest>,
    /// Digests on their way to the branch hasher, with their arrival cycles.
    wire: VecDeque<(u64, W::Digest)>,
    front: Option<Front<W::Digest>>,
    bhe: Accumulator<W::Digest, ARITY>,
    /// Digests that wait for the last leaf, if the hashers do not overlap.
    held: VecDeque<W::Digest>,
    back: Option<Back>,
    trace: Option<Trace>,
    log_rows: u32,
    log_front: u32,
    passes: u64,
    total: u64,
    state_bytes: u64,
    /// Bytes that the transposer moves per group.
    transposed: u64,
    by_columns: bool,
    overlapped: bool,
    hop: u64,
    /// Number of nodes that leave the branch hasher.
    cap: usize,
    /// Absorptions that have started, and that have ended.
    started: u64,
    ended: u64,
    /// The passes of the next absorption that starts, and of the next one that ends.
    start_pass: u64,
    end_pass: u64,
    leaves_at: u64,
    /// Places for digests, digests whose last absorption has started, and digests that the branch hasher has taken.
    places: u64,
    digests: u64,
    taken: u64,
    /// Arrival cycles of the last groups of rows, with their numbers; groups noted so far; the first of the current
    /// tree's last groups; and the latencies measured from the arrivals.
    came: VecDeque<(u64, u64)>,
    noted: u64,
    last_groups: u64,
    latencies: Samples,
    lhe: Activity,
}

impl<'a, W: Rows, const ARITY: usize> Engine<'a, W, ARITY> {
    fn new(p: &Params, work: &'a mut W) -> Self {
        let frequency = p.frequency_mhz * 1_000_000;
        let bandwidth = || TokenBucket::new(p.hbm_gb_s * 1_000_000_000, p.hbm_efficiency, frequency, 1 << 16);
        let hbm = match p.hbm.timing(p.hbm_stacks) {
            Some(timing) => Some(Memory::Banks(Box::new(Stream::new(timing, p.frequency_mhz, 1, 0, 0)))),
            None => (p.hbm_gb_s > 0).then(|| Memory::Bucket(bandwidth())),
        };
        let latency = p.pipelines.permutation();
        let core = || Pipeline::new(latency, Params::interval(p.lhe_sboxes));
        let (permutations, interval) = (p.permutations_of_a_node(), Params::interval(p.bhe_sboxes));
        Self {
            work,
            source: Source::new(p),
            hbm,
            cores: (0..p.lhe_cores).map(|_| core()).collect(),
            states: VecDeque::new(),
            network: p.digest_network().map(|rate| {
                let burst = 4 * u64::from(p.lhe_cores) * DIGEST;
                TokenBucket::new(rate, 1.0, frequency, burst)
            }),
            sending: VecDeque::new(),
            wire: VecDeque::new(),
            front: p.front_tree.then(|| Front::new(p)),
            bhe: Accumulator::new(Policy::Deepest, p.levels(), permutations * latency, permutations * interval, 0),
            held: VecDeque::new(),
            back: (p.outputs == Outputs::Digests).then(|| {
                let rate = (p.link_gbit_s * 1e9 / 8.0).round() as u64;
                Back { link: TokenBucket::new(rate, 1.0, frequency, 64 * DIGEST), waiting: 0 }
            }),
            trace: None,
            log_rows: p.log_rows,
            log_front: p.log_front(),
            passes: p.passes(),
            total: p.rows() * p.passes() * p.trees,
            state_bytes: u64::from(p.state_words) * 8,
            transposed: p.transposed_bytes(),
            by_columns: p.by_columns,
            overlapped: p.overlapped,
            hop: p.network_latency,
            cap: (p.trees << p.cap_height) as usize,
            started: 0,
            ended: 0,
            start_pass: 0,
            end_pass: 0,
            leaves_at: 0,
            places: p.digest_places().unwrap_or(u64::MAX),
            digests: 0,
            taken: 0,
            came: VecDeque::new(),
            noted: 0,
            last_groups: (p.passes() - 1) * p.rows(),
            latencies: Samples::default(),
            lhe: Activity::default(),
        }
    }
    /// The pass of the absorption after `count` of them, if the one before is in `pass`.
    #[inline(always)]
    fn next_pass(&self, count: u64, pass: u64) -> u64 {
        if count & ((1 << self.log_rows) - 1) > 0 {
            pass
        } else if pass + 1 < self.passes {
            pass + 1
        } else {
            0
        }
    }
    /// Whether the next group of the next row has arrived.
    #[inline(always)]
    fn present(&self) -> bool {
        let arrived = self.source.arrived;
        // By columns, no row of a group can start until the whole group has arrived.
        if self.by_columns { arrived >> self.log_rows > self.started >> self.log_rows } else { arrived > self.started }
    }
    /// Whether there is a next row and its state has left the cores.
    #[inline(always)]
    fn row_free(&self) -> bool {
        self.started < self.ended + (1 << self.log_rows) && self.started < self.total
    }
    /// Whether the digest queue has a place for the next absorption. Only absorptions of the last pass need one.
    #[inline(always)]
    fn has_place(&self) -> bool {
        self.digests - self.taken < self.places || self.start_pass + 1 < self.passes
    }
    /// Notes the arrival of the last groups of rows. By columns, they are all usable only when the last of them has
    /// arrived.
    #[inline(always)]
    fn note(&mut self, cycle: u64) {
        let (arrived, rows) = (self.source.arrived, 1 << self.log_rows);
        while arrived > self.last_groups.max(self.noted) {
            let (from, end) = (self.last_groups.max(self.noted), self.last_groups + rows);
            if self.by_columns && arrived < end {
                return;
            }
            self.noted = end.min(arrived);
            self.came.push_back((cycle + 1, self.noted - from));
            if self.noted == end {
                self.last_groups += self.passes * rows;
            }
        }
    }
    /// Bytes that the next absorption moves through HBM. It reads a state except in the first pass, and writes one
    /// except in the last.
    #[inline(always)]
    fn moves(&self) -> u64 {
        let pass = self.start_pass;
        self.transposed + self.state_bytes * (u64::from(pass > 0) + u64::from(pass + 1 < self.passes))
    }
    fn reason(&self) -> Stall {
        if self.started == self.total {
            Stall::Drained
        } else if !self.present() {
            Stall::Input
        } else if !self.row_free() {
            Stall::Hazard
        } else if !self.has_place() {
            Stall::Output
        } else {
            // A busy core, or the memory of the states.
            Stall::Memory
        }
    }
    /// Takes the states and digests that leave the leaf hasher's cores.
    #[inline(always)]
    fn finish(&mut self, cycle: u64) {
        for core in 0..self.cores.len() {
            let Some(state) = self.cores[core].pop(cycle) else { continue };
            let last = self.end_pass + 1 == self.passes;
            self.ended += 1;
            self.end_pass = self.next_pass(self.ended, self.end_pass);
            if last {
                let digest = self.work.digest(state);
                self.leaves_at = cycle;
                if let Some((came, rows)) = self.came.front_mut() {
                    self.latencies.add(cycle - *came);
                    *rows -= 1;
                    if *rows == 0 {
                        self.came.pop_front();
                    }
                }
                self.emit(1);
                if self.network.is_some() {
                    self.sending.push_back(digest);
                } else {
                    self.wire.push_back((cycle + self.hop, digest));
                }
            } else {
                self.states.push_back(state);
            }
        }
        if let Some(network) = &mut self.network {
            while !self.sending.is_empty() && network.take(cycle, DIGEST) {
                self.wire.extend(self.sending.pop_front().map(|digest| (cycle + self.hop, digest)));
            }
        }
    }
    /// Queues digests for the way back to the host.
    #[inline(always)]
    fn emit(&mut self, digests: u64) {
        if let Some(back) = &mut self.back {
            back.waiting += digests;
        }
    }
    /// Passes the digests that arrive to the branch hasher.
    #[inline(always)]
    fn deliver(&mut self, cycle: u64) {
        while self.wire.front().is_some_and(|(when, _)| *when <= cycle)
            && let Some((_, digest)) = self.wire.pop_front()
        {
            if self.overlapped {
                self.branch(digest);
            } else {
                self.held.push_back(digest);
            }
        }
        if self.ended == self.total
            && self.sending.is_empty()
            && let Some(digest) = self.held.pop_front()
        {
            self.branch(digest);
        }
        if let Some(front) = &mut self.front {
            if let Some(node) = front.step(cycle) {
                self.bhe.arrive(node);
            }
            self.taken = front.taken << self.log_front;
        }
    }
    #[inline(always)]
    fn branch(&mut self, digest: W::Digest) {
        if self.front.as_ref().is_some_and(|front| front.group.len() + 1 == front.width) {
            self.emit((1 << self.log_front) - 1);
        }
        match &mut self.front {
            Some(front) => front.arrive(digest, |pair| self.work.node(pair)),
            None => self.bhe.arrive(digest),
        }
    }
    /// Starts a row on each free core.
    #[inline(always)]
    fn begin(&mut self, cycle: u64) {
        let before = self.started;
        for core in 0..self.cores.len() {
            if !self.present() || !self.row_free() || !self.cores[core].ready(cycle) || !self.has_place() {
                continue;
            }
            let moves = self.moves();
            if moves > 0 && !self.hbm.as_mut().is_none_or(|hbm| hbm.take(cycle, moves)) {
                break;
            }
            let (leaf, pass) = (self.started & ((1 << self.log_rows) - 1), self.start_pass);
            let state = if pass > 0 { self.states.pop_front() } else { None };
            let next = self.work.absorb(leaf, pass, state);
            self.cores[core].push(cycle, next);
            if let Some(trace) = &mut self.trace {
                trace.add(0, cycle, 1, || format!("{leaf}.{pass}"));
            }
            self.started += 1;
            self.start_pass = self.next_pass(self.started, pass);
            self.digests += u64::from(pass + 1 == self.passes);
        }
        if self.started > before {
            self.lhe.work(1);
        } else {
            self.lhe.stall(self.reason(), 1);
        }
    }
}

impl<W: Rows, const ARITY: usize> Clocked for Engine<'_, W, ARITY> {
    #[inline(always)]
    fn eval(&mut self, cycle: u64) {
        self.finish(cycle);
        self.deliver(cycle);
        self.begin(cycle);
        self.source.step(cycle, self.started);
        self.note(cycle);
        let work = &mut *self.work;
        let step = self.bhe.step(cycle, |_, children| work.node(children));
        if let (Some(trace), Some((level, first))) = (&mut self.trace, step.issued) {
            trace.add(1, cycle, 1, || format!("{}_{}", level + 1, first / ARITY as u64));
        }
        if self.front.is_none() && matches!(step.issued, Some((0, _))) {
            self.taken += ARITY as u64;
        }
        if step.output.is_some() {
            self.emit(1);
        }
        if let Some(back) = &mut self.back {
            while back.waiting > 0 && back.link.take(cycle, DIGEST) {
                back.waiting -= 1;
            }
        }
    }
    #[inline(always)]
    fn commit(&mut self, _: u64) {
        self.bhe.commit();
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        if !self.held.is_empty() && self.ended == self.total && self.sending.is_empty() {
            return Some(cycle + 1);
        }
        let exit = self.cores.iter().filter_map(Pipeline::next_exit).min().map(|c| c.max(cycle + 1));
        // No other event is before the next cycle, in which a row mostly leaves a core.
        if exit == Some(cycle + 1) {
            return exit;
        }
        let wire = self.wire.front().map(|(when, _)| (*when).max(cycle + 1));
        let network = self.network.as_ref().filter(|_| !self.sending.is_empty());
        let send = network.and_then(|network| network.ready_at(cycle, DIGEST));
        let start = if self.present() && self.row_free() && self.has_place() {
            let states = self.hbm.as_ref().and_then(|hbm| hbm.ready_at(cycle, self.moves()));
            let free = self.cores.iter().map(Pipeline::free_at).min().unwrap_or(0);
            Some(free.max(states.unwrap_or(cycle + 1)).max(cycle + 1))
        } else {
            None
        };
        let front = self.front.as_ref().and_then(|front| front.next_event(cycle));
        let back =
            self.back.as_ref().filter(|back| back.waiting > 0).and_then(|back| back.link.ready_at(cycle, DIGEST));
        [exit, send, wire, back, self.source.next_event(cycle, self.started), start, front, self.bhe.next_event(cycle)]
            .into_iter()
            .flatten()
            .min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.lhe.stall(self.reason(), cycles);
        self.bhe.skip(cycles);
    }
    fn is_done(&self) -> bool {
        self.bhe.finished() == self.cap && self.back.as_ref().is_none_or(|back| back.waiting == 0)
    }
}

/// The outcome of a run, and its trace.
type Traced<D> = (Outcome<D>, Trace);

/// Runs one branch board with its leaf boards. Records the first `events` operations, if given.
pub(super) fn run<W: Rows>(
    params: &Params,
    work: &mut W,
    events: Option<usize>,
) -> Result<Traced<W::Digest>, LabError> {
    match params.arity {
        2 => run_with::<W, 2>(params, work, events),
        4 => run_with::<W, 4>(params, work, events),
        _ => run_with::<W, 8>(params, work, events),
    }
}

fn run_with<W: Rows, const ARITY: usize>(
    params: &Params,
    work: &mut W,
    events: Option<usize>,
) -> Result<Traced<W::Digest>, LabError> {
    let mut engine = Engine::<W, ARITY>::new(params, work);
    let empty = || Trace::new(["leaf hasher", "branch hasher"], events.unwrap_or(0));
    engine.trace = events.map(|_| empty());
    let cycles = drive(&mut engine, LIMIT)?;
    let report = report(params, &engine, cycles);
    let cap = engine.bhe.top().cloned().collect();
    Ok((Outcome { report, cap }, engine.trace.unwrap_or_else(empty)))
}

fn report<W: Rows, const ARITY: usize>(params: &Params, engine: &Engine<'_, W, ARITY>, cycles: u64) -> Report {
    let fronts = engine.front.as_ref().map_or(0, |front| front.groups * (front.width as u64 - 1));
    Report {
        cycles,
        seconds: params.seconds(cycles),
        leaves_at: engine.leaves_at,
        link_bytes: engine.source.link_bytes(),
        out_bytes: engine.back.as_ref().map_or(engine.cap as u64 * DIGEST, |back| back.link.taken()),
        hbm_bytes: engine.hbm.as_ref().map_or(0, Memory::taken),
        hashes: engine.started + fronts + engine.bhe.activity.busy * params.permutations_of_a_node(),
        queues: engine.bhe.peaks().to_vec(),
        activities: vec![("LHE".into(), engine.lhe), ("BHE".into(), engine.bhe.activity)],
        leaf_latency: engine.latencies.latency(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{MemoryKind, run_every_cycle};
    use crate::poseidon::Timing;

    fn check<const ARITY: usize>(params: &Params) {
        params.check().expect("an engine");
        let (mut a, mut b) = (Timing, Timing);
        let mut skipping = Engine::<_, ARITY>::new(params, &mut a);
        let mut stepping = Engine::<_, ARITY>::new(params, &mut b);
        let cycles = drive(&mut skipping, LIMIT).expect("the machine finishes");
        assert_eq!(run_every_cycle(&mut stepping, LIMIT), Ok(cycles), "{params:?}");
        let found = report(params, &skipping, cycles);
        assert_eq!(found, report(params, &stepping, cycles), "{params:?}");
        for (name, activity) in &found.activities {
            assert_eq!(activity.total(), cycles, "the cycles of the {name} add up");
        }
    }

    #[test]
    fn skipping_changes_nothing() {
        let base = Params { log_rows: 11, columns: 20, ..Params::default() };
        check::<2>(&Params { link_gbit_s: 24.5, ..base.clone() });
        check::<2>(&Params { by_columns: true, overlapped: false, hbm_gb_s: 0, ..base.clone() });
        check::<2>(&Params { hbm_gb_s: 30, bhe_sboxes: 10, ..base.clone() });
        check::<2>(&Params { link_gbit_s: 3.0, by_columns: true, trees: 3, network_latency: 9, ..base.clone() });
        check::<2>(&Params { link_gbit_s: 500.0, lhe_cores: 4, lhe_sboxes: 59, ..base.clone() });
        check::<2>(&Params { network_latency: 30, network_gbit_s: 20.0, digest_queue: 900, trees: 2, ..base.clone() });
        check::<2>(&Params { network_latency: 30, network_gbit_s: 20.0, overlapped: false, ..base.clone() });
        check::<2>(&Params { bhe_sboxes: 20, digest_queue: 64, trees: 2, input_queue: 3, ..base.clone() });
        check::<2>(&Params { link_gbit_s: 500.0, hbm_gb_s: 40, lhe_sboxes: 40, input_queue: 9, ..base.clone() });
        check::<2>(&Params { hbm: MemoryKind::Hbm2, hbm_stacks: 2, ..base.clone() });
        let extended = Params { log_blowup: 3, by_columns: true, network_latency: 50, ..base.clone() };
        check::<2>(&Params { link_gbit_s: 9.0, lde_words: 5, ..extended.clone() });
        check::<2>(&Params { network_gbit_s: 40.0, ..extended });
        let wide = Params { link_gbit_s: 600.0, lhe_cores: 4, front_tree: true, ..base.clone() };
        check::<2>(&Params { bhe_sboxes: 40, trees: 2, ..wide.clone() });
        check::<2>(&Params { overlapped: false, cap_height: 2, ..wide.clone() });
        check::<2>(&Params { link_gbit_s: 20.0, outputs: Outputs::Digests, trees: 2, ..wide });
        check::<2>(&Params { link_gbit_s: 90.0, outputs: Outputs::Digests, rate: 4, ..base.clone() });
        check::<4>(&Params { log_rows: 12, arity: 4, bhe_sboxes: 40, ..base.clone() });
        check::<8>(&Params { log_rows: 12, arity: 8, cap_height: 3, ..base });
    }
}

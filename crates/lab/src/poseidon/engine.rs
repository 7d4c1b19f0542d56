//! The machine.

use std::collections::VecDeque;

use serde::Serialize;

use super::params::{Params, RATE};
use super::work::Rows;
use crate::LabError;
use crate::accumulator::{Accumulator, Policy};
use crate::engine::{Activity, Clocked, Pipeline, Stall, TokenBucket, run as drive};

/// Cycles after which a run is given up.
const LIMIT: u64 = 1 << 44;

/// What a run has measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// From the first word by the link to the last node of the cap.
    pub cycles: u64,
    /// The same in seconds.
    pub seconds: f64,
    /// When the last leaf's digest left the leaf hasher.
    pub leaves_at: u64,
    /// Bytes by the link.
    pub link_bytes: u64,
    /// Bytes of states to and from HBM.
    pub state_bytes: u64,
    /// Leaf and branch permutations.
    pub hashes: u64,
    /// The most digests that waited in one level of the branch hasher: the depth its queues need. Level 0 first.
    pub queues: Vec<usize>,
    /// Cycles of the leaf hasher and the branch hasher.
    pub activities: Vec<(String, Activity)>,
    /// Cycles from a row's last group to its digest: least, mean, most and median.
    pub leaf_latency: Latency,
}

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Least.
    pub min: u64,
    /// Mean.
    pub mean: f64,
    /// Most.
    pub max: u64,
    /// Median.
    pub median: u64,
}

/// A report, and the cap.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<D> {
    /// What was measured.
    pub report: Report,
    /// The nodes of the cap, in order.
    pub cap: Vec<D>,
}

struct Engine<'a, W: Rows> {
    work: &'a mut W,
    link: TokenBucket,
    hbm: Option<TokenBucket>,
    core: Pipeline<W::State>,
    /// States of the rows, oldest pass first; those of the first pass are not there.
    states: VecDeque<W::State>,
    bhe: Accumulator<W::Digest>,
    /// Digests that wait for the last leaf, where the hashers don't overlap.
    held: VecDeque<W::Digest>,
    rows: u64,
    passes: u64,
    state_bytes: u64,
    by_columns: bool,
    overlapped: bool,
    cap: usize,
    /// Groups that came by the link, absorptions that began and that ended.
    arrived: u64,
    started: u64,
    ended: u64,
    leaves_at: u64,
    lhe: Activity,
}

/// Bytes of a group of a row.
const GROUP: u64 = RATE * 8;

impl<'a, W: Rows> Engine<'a, W> {
    fn new(p: &Params, work: &'a mut W) -> Self {
        let frequency = p.frequency_mhz * 1_000_000;
        let link = (p.link_gbit_s * 1e9 / 8.0).round() as u64;
        let hbm = TokenBucket::new(p.hbm_gb_s * 1_000_000_000, p.hbm_efficiency, frequency, 1 << 16);
        let latency = p.pipelines.permutation();
        let height = p.log_rows - p.cap_height;
        Self {
            work,
            link: TokenBucket::new(link, 1.0, frequency, 4 * GROUP),
            hbm: (p.hbm_gb_s > 0).then_some(hbm),
            core: Pipeline::new(latency, Params::interval(p.lhe_sboxes)),
            states: VecDeque::new(),
            bhe: Accumulator::new(Policy::Deepest, height, latency, Params::interval(p.bhe_sboxes), 0),
            held: VecDeque::new(),
            rows: p.rows(),
            passes: p.passes(),
            state_bytes: u64::from(p.state_words) * 8,
            by_columns: p.by_columns,
            overlapped: p.overlapped,
            cap: 1 << p.cap_height,
            arrived: 0,
            started: 0,
            ended: 0,
            leaves_at: 0,
            lhe: Activity::default(),
        }
    }
    fn total(&self) -> u64 {
        self.rows * self.passes
    }
    /// Whether the next group of the next row is there.
    #[inline(always)]
    fn present(&self) -> bool {
        // By columns, a group of eight is there when all of it is.
        if self.by_columns { self.arrived / self.rows > self.started / self.rows } else { self.arrived > self.started }
    }
    /// Bytes of states that the next absorption moves: one read but in the first pass, one write but in the last.
    #[inline(always)]
    fn moves(&self) -> u64 {
        let first = self.started < self.rows;
        let last = self.started >= self.total() - self.rows;
        self.state_bytes * (u64::from(!first) + u64::from(!last))
    }
    fn reason(&self) -> Stall {
        if self.started == self.total() {
            Stall::Drained
        } else if !self.present() {
            Stall::Input
        } else if self.started >= self.ended + self.rows {
            Stall::Hazard
        } else {
            // The core's interval, or states.
            Stall::Memory
        }
    }
}

impl<W: Rows> Clocked for Engine<'_, W> {
    #[inline(always)]
    fn eval(&mut self, cycle: u64) {
        if let Some(state) = self.core.pop(cycle) {
            self.ended += 1;
            if self.ended + self.rows > self.total() {
                let digest = self.work.digest(state);
                self.leaves_at = cycle;
                if self.overlapped {
                    self.bhe.arrive(digest);
                } else {
                    self.held.push_back(digest);
                }
            } else {
                self.states.push_back(state);
            }
        }
        if self.ended == self.total()
            && let Some(digest) = self.held.pop_front()
        {
            self.bhe.arrive(digest);
        }
        let present = self.present();
        let row_free = self.started < self.ended + self.rows;
        let can = present && row_free && self.started < self.total() && self.core.ready(cycle);
        let moves = self.moves();
        if can && (moves == 0 || self.hbm.as_mut().is_none_or(|hbm| hbm.take(cycle, moves))) {
            let (leaf, pass) = (self.started & (self.rows - 1), self.started / self.rows);
            let state = if pass > 0 { self.states.pop_front() } else { None };
            let next = self.work.absorb(leaf, pass, state);
            self.core.push(cycle, next);
            self.started += 1;
            self.lhe.work(1);
        } else {
            self.lhe.stall(self.reason(), 1);
        }
        if self.arrived < self.total() && self.link.take(cycle, GROUP) {
            self.arrived += 1;
        }
        let work = &mut *self.work;
        self.bhe.step(cycle, |_, left, right| work.node(left, right));
    }
    #[inline(always)]
    fn commit(&mut self, _: u64) {
        self.bhe.commit();
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        if !self.held.is_empty() && self.ended == self.total() {
            return Some(cycle + 1);
        }
        let exit = self.core.next_exit().map(|c| c.max(cycle + 1));
        let link = if self.arrived < self.total() { self.link.ready_at(cycle, GROUP) } else { None };
        let can = self.present() && self.started < self.ended + self.rows && self.started < self.total();
        let start = if can {
            let states = self.hbm.as_ref().and_then(|hbm| hbm.ready_at(cycle, self.moves()));
            Some(self.core.free_at().max(states.unwrap_or(cycle + 1)).max(cycle + 1))
        } else {
            None
        };
        [exit, link, start, self.bhe.next_event(cycle)].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.lhe.stall(self.reason(), cycles);
        self.bhe.skip(cycles);
    }
    fn is_done(&self) -> bool {
        self.bhe.finished() == self.cap
    }
}

pub(super) fn run<W: Rows>(params: &Params, work: &mut W) -> Result<Outcome<W::Digest>, LabError> {
    params.check()?;
    let mut engine = Engine::new(params, work);
    let cycles = drive(&mut engine, LIMIT)?;
    let report = report(params, &engine, cycles);
    let cap = engine.bhe.top().cloned().collect();
    Ok(Outcome { report, cap })
}

fn report<W: Rows>(params: &Params, engine: &Engine<'_, W>, cycles: u64) -> Report {
    // The pipeline has no stall inside: every row takes its stages.
    let latency = params.pipelines.permutation();
    Report {
        cycles,
        seconds: params.seconds(cycles),
        leaves_at: engine.leaves_at,
        link_bytes: engine.link.taken(),
        state_bytes: engine.hbm.as_ref().map_or(0, TokenBucket::taken),
        hashes: engine.lhe.busy + engine.bhe.activity.busy,
        queues: engine.bhe.peaks().to_vec(),
        activities: vec![("LHE".into(), engine.lhe), ("BHE".into(), engine.bhe.activity)],
        leaf_latency: Latency { min: latency, mean: latency as f64, max: latency, median: latency },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run_every_cycle;
    use crate::poseidon::Timing;

    #[test]
    fn skipping_changes_nothing() {
        for (link_gbit_s, by_columns, overlapped, hbm_gb_s, bhe_sboxes) in [
            (24.5, false, true, 460, 118),
            (128.0, true, false, 0, 118),
            (128.0, false, true, 30, 10),
            (3.0, true, true, 460, 118),
        ] {
            let params = Params {
                log_rows: 11,
                columns: 20,
                link_gbit_s,
                by_columns,
                overlapped,
                hbm_gb_s,
                bhe_sboxes,
                ..Params::default()
            };
            let (mut a, mut b) = (Timing, Timing);
            let (mut skipping, mut stepping) = (Engine::new(&params, &mut a), Engine::new(&params, &mut b));
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

//! Several boards: each branch board computes a subtree over the rows of its leaf boards, and one branch board computes
//! the levels above.
//!
//! ```text
//!  link --> [leaf board] --network--+
//!  link --> [leaf board] --network--+--> [branch board] --root, network--+
//!                                                                        +--> [one of them] --> root
//!  link --> [leaf board] --network--+--> [branch board] --root-----------+
//!  link --> [leaf board] --network--+
//! ```
//!
//! The rows of a branch board go to its leaf boards in turn, so the digests of one cycle are neighbours. All branch
//! boards do the same in the same cycles. For timing only, the model runs one of them; on rows, it runs each.

use std::collections::VecDeque;

use super::engine::{self, DIGEST, LIMIT, Outcome};
use super::params::Params;
use super::work::{Part, Rows};
use crate::LabError;
use crate::accumulator::{Accumulator, Policy};
use crate::engine::{Clocked, TokenBucket, run as drive};

/// The levels above the boards' subtrees, from the cycle in which the boards have their roots. The other boards send
/// their roots to one of them, over its network.
struct Above<const ARITY: usize> {
    network: TokenBucket,
    hop: u64,
    /// Roots that other boards still have to send, and arrival cycles of the roots on the network.
    left: u64,
    flying: VecDeque<u64>,
    hasher: Accumulator<(), ARITY>,
    cap: usize,
}

impl<const ARITY: usize> Above<ARITY> {
    fn new(p: &Params) -> Self {
        let (permutations, interval) = (p.permutations_of_a_node(), Params::interval(p.bhe_sboxes));
        let (latency, frequency) = (p.pipelines.permutation(), p.frequency_mhz * 1_000_000);
        let height = p.log_above() / p.arity.ilog2();
        let mut hasher = Accumulator::new(Policy::Deepest, height, permutations * latency, permutations * interval, 0);
        hasher.arrive(());
        let rate = (p.network_gbit_s * 1e9 / 8.0).round() as u64;
        Self {
            network: TokenBucket::new(rate, 1.0, frequency, DIGEST),
            hop: p.network_latency,
            left: u64::from(p.branch_boards) - 1,
            flying: VecDeque::new(),
            hasher,
            cap: 1 << (p.branch_boards.ilog2() - p.log_above()),
        }
    }
}

impl<const ARITY: usize> Clocked for Above<ARITY> {
    fn eval(&mut self, cycle: u64) {
        while self.left > 0 && self.network.take(cycle, DIGEST) {
            self.left -= 1;
            self.flying.push_back(cycle + self.hop);
        }
        while self.flying.front().is_some_and(|when| *when <= cycle) {
            self.flying.pop_front();
            self.hasher.arrive(());
        }
        self.hasher.step(cycle, |_, _| ());
    }
    fn commit(&mut self, _: u64) {
        self.hasher.commit();
    }
    fn next_event(&self, cycle: u64) -> Option<u64> {
        let send = if self.left > 0 { self.network.ready_at(cycle, DIGEST) } else { None };
        let land = self.flying.front().map(|when| (*when).max(cycle + 1));
        [send, land, self.hasher.next_event(cycle)].into_iter().flatten().min()
    }
    fn skip(&mut self, _: u64, cycles: u64) {
        self.hasher.skip(cycles);
    }
    fn is_done(&self) -> bool {
        self.hasher.finished() == self.cap
    }
}

/// Cycles of the levels above the boards' subtrees.
fn above(p: &Params) -> Result<u64, LabError> {
    if p.log_above() == 0 {
        return Ok(0);
    }
    Ok(match p.arity {
        2 => drive(&mut Above::<2>::new(p), LIMIT)?,
        4 => drive(&mut Above::<4>::new(p), LIMIT)?,
        _ => drive(&mut Above::<8>::new(p), LIMIT)?,
    })
}

pub(super) fn run<W: Rows>(params: &Params, work: &mut W) -> Result<Outcome<W::Digest>, LabError> {
    let (part, boards) = (params.part(), u64::from(params.branch_boards));
    let mut outcome = engine::run(&part, &mut Part { work: &mut *work, first: 0 }, None)?.0;
    if boards == 1 {
        return Ok(outcome);
    }
    let report = &mut outcome.report;
    report.cycles += above(params)?;
    report.seconds = params.seconds(report.cycles);
    report.link_bytes *= boards;
    report.out_bytes *= boards;
    report.hbm_bytes *= boards;
    let nodes_above = (boards - (boards >> params.log_above())) / u64::from(params.arity - 1);
    report.hashes = report.hashes * boards + params.trees * nodes_above * params.permutations_of_a_node();
    if size_of::<W::Digest>() == 0 {
        return Ok(outcome);
    }
    let mut caps = vec![outcome.cap];
    for board in 1..boards {
        let first = board << part.log_rows;
        caps.push(engine::run(&part, &mut Part { work: &mut *work, first }, None)?.0.cap);
    }
    // For each tree, the nodes of all boards.
    let (width, arity) = (1_usize << part.cap_height, params.arity as usize);
    outcome.cap = (0..params.trees as usize)
        .flat_map(|tree| {
            let of_tree = tree * width..(tree + 1) * width;
            let mut nodes: Vec<W::Digest> = caps.iter().flat_map(|cap| cap[of_tree.clone()].iter().cloned()).collect();
            for _ in 0..params.log_above() / params.arity.ilog2() {
                nodes = nodes.chunks(arity).map(|children| work.node(children)).collect();
            }
            nodes
        })
        .collect();
    Ok(outcome)
}

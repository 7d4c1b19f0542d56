//! Several boards: each branch board makes a subtree over the rows of its leaf boards, one of them the levels above.
//!
//! ```text
//!  link --> [leaf board] --network--+
//!  link --> [leaf board] --network--+--> [branch board] --root, network--+
//!                                                                        +--> [one of them] --> root
//!  link --> [leaf board] --network--+--> [branch board] --root-----------+
//!  link --> [leaf board] --network--+
//! ```
//!
//! The leaf boards of a branch board deal out its rows in turn, so that what they bring in a cycle are neighbours. All branch
//! boards do the same in the same cycles: one of them tells the time of all. On rows, each is run.

use super::engine::{self, Outcome};
use super::params::Params;
use super::work::{Part, Rows};
use crate::LabError;

pub(super) fn run<W: Rows>(params: &Params, work: &mut W) -> Result<Outcome<W::Digest>, LabError> {
    let (part, boards) = (params.part(), u64::from(params.branch_boards));
    let mut outcome = engine::run(&part, &mut Part { work: &mut *work, first: 0 }, None)?.0;
    if boards == 1 {
        return Ok(outcome);
    }
    let mut roots = outcome.cap;
    if size_of::<W::Digest>() > 0 {
        for board in 1..boards {
            let first = board << part.log_rows;
            roots.extend(engine::run(&part, &mut Part { work: &mut *work, first }, None)?.0.cap);
        }
    }
    // The roots come at once, by one hop; a level takes a pipeline, and a cycle of the core's pace for each other pair.
    let latency = params.pipelines.permutation();
    let mut cycles = params.network_latency;
    let mut pairs = boards / 2;
    while pairs > 0 {
        cycles += latency + 1 + (pairs - 1) * Params::interval(params.bhe_sboxes);
        roots = roots.chunks(2).map(|pair| work.node(pair)).collect();
        pairs /= 2;
    }
    let report = &mut outcome.report;
    report.cycles += cycles;
    report.seconds = params.seconds(report.cycles);
    report.link_bytes *= boards;
    report.out_bytes *= boards;
    report.hbm_bytes *= boards;
    report.hashes = report.hashes * boards + boards - 1;
    outcome.cap = roots;
    Ok(outcome)
}

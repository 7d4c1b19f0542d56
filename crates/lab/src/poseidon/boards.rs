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
    let report = &mut outcome.report;
    report.cycles += params.cycles_above();
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
    // Tree by tree, the nodes of all boards.
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

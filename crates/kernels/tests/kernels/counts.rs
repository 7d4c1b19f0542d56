//! Exact counts of every schedule at the MTU paper's size, as a snapshot.

use std::fmt::Write;

use evergrove_kernels::tree::count::Traffic;
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree};

#[test]
fn at_two_to_the_twentieth() {
    let mut text = String::new();
    for (tree, name) in [
        (Tree::Expand, "Build MLE"),
        (Tree::Reduce, "MLE evaluation, multiplication tree, Merkle root"),
        (Tree::ReduceLevels, "product MLE, Merkle levels"),
    ] {
        writeln!(text, "{name}").unwrap();
        for (label, schedule) in [
            ("bfs", Schedule::BreadthFirst { chunk: 5 }),
            ("dfs, 1 subtree", Schedule::DepthFirst { subtree: 20 }),
            ("dfs, 2^3 subtrees", Schedule::DepthFirst { subtree: 17 }),
            ("dfs, kernels'", Schedule::DepthFirst { subtree: 9 }),
            ("hybrid, 8 PEs", Schedule::Hybrid { subtree: 20, block: 3 }),
            ("hybrid, 32 PEs", Schedule::Hybrid { subtree: 20, block: 5 }),
            ("hybrid, kernels'", Schedule::HYBRID),
        ] {
            let plan = Plan::new(tree, 20, schedule).unwrap();
            let counts = Traffic::of(&plan);
            writeln!(
                text,
                "  {label:18} nodes {} loads {} spills {} results {} \
                 local {} tasks {:?} scratch {}",
                counts.nodes.iter().sum::<u64>(),
                counts.loads,
                counts.spills,
                counts.results,
                counts.local_peak,
                counts.tasks,
                plan.scratch(),
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

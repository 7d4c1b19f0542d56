//! Exact counts of every operation by every schedule at the MTU paper's size, as a snapshot.

#![cfg(feature = "ark")]

use std::fmt::Write;

use ark_bls12_381::Fr;
use ark_ff::AdditiveGroup;
use evergrove_kernels::merkle::Poseidon;
use evergrove_kernels::tree::count::{Arithmetic, Traffic};
use evergrove_kernels::tree::ops::{BuildMle, EvaluateMle, Merkle, NodeOp, Product};
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree};

fn arithmetic<O: NodeOp>(op: &O, counts: &Traffic, height: u32) -> Arithmetic {
    counts.arithmetic(|level| op.arithmetic(level, height))
}

#[test]
fn formulas() {
    for mu in 1..=10_u32 {
        let n = 1_u64 << mu;
        let point = vec![Fr::ZERO; mu as usize];
        for schedule in [Schedule::BREADTH_FIRST, Schedule::DEPTH_FIRST, Schedule::HYBRID] {
            let counts = |tree| Traffic::of(&Plan::new(tree, mu, schedule).unwrap());
            let expansion = counts(Tree::Expand);
            let build = arithmetic(&BuildMle::new(&point), &expansion, mu);
            assert_eq!(build, Arithmetic::field(n - 2, n - 1), "{schedule:?}");
            let scaled = arithmetic(&BuildMle::scaled(&point, Fr::ZERO), &expansion, mu);
            assert_eq!(scaled, Arithmetic::field(n - 1, n - 1), "{schedule:?}");
            let reduction = counts(Tree::Reduce);
            let evaluate = arithmetic(&EvaluateMle::new(&point), &reduction, mu);
            assert_eq!(evaluate, Arithmetic::field(n - 1, 2 * (n - 1)), "{schedule:?}");
            let product = arithmetic(&Product::<Fr>::new(), &counts(Tree::ReduceLevels), mu);
            assert_eq!(product, Arithmetic::field(n - 1, 0), "{schedule:?}");
            let merkle = arithmetic(&Merkle(Poseidon), &reduction, mu);
            assert_eq!(merkle, Arithmetic { hashes: n - 1, ..Arithmetic::default() }, "{schedule:?}");
        }
    }
}

#[test]
fn at_two_to_the_twentieth() {
    let point = vec![Fr::ZERO; 20];
    let mut text = String::new();
    for (tree, name) in [
        (Tree::Expand, "Build MLE"),
        (Tree::Reduce, "MLE evaluation, multiplication tree, Merkle root"),
        (Tree::ReduceLevels, "product MLE, Merkle levels"),
    ] {
        writeln!(text, "{name}").unwrap();
        for (label, schedule) in [
            ("bfs", Schedule::BREADTH_FIRST),
            ("dfs, 1 subtree", Schedule::DepthFirst { subtree: 20 }),
            ("dfs, 2^3 subtrees", Schedule::DepthFirst { subtree: 17 }),
            ("dfs, kernels'", Schedule::DEPTH_FIRST),
            ("hybrid, 8 PEs", Schedule::Hybrid { subtree: 20, block: 3 }),
            ("hybrid, 32 PEs", Schedule::Hybrid { subtree: 20, block: 5 }),
            ("hybrid, kernels'", Schedule::HYBRID),
        ] {
            let plan = Plan::new(tree, 20, schedule).unwrap();
            let counts = Traffic::of(&plan);
            let Arithmetic { multiplications, additions, .. } = match tree {
                Tree::Expand => arithmetic(&BuildMle::new(&point), &counts, 20),
                _ => arithmetic(&EvaluateMle::new(&point), &counts, 20),
            };
            writeln!(
                text,
                "  {label:18} nodes {} multiplications {multiplications} additions {additions} loads {} spills {} results {} \
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

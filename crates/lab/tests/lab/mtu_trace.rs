//! Traces of the tree unit. Replaying a trace on nodes gives the results of the kernels, in the cycles of the report.

use std::collections::{HashMap, HashSet};

use ark_bls12_381::Fr;
use ark_ff::UniformRand;
use evergrove_kernels::merkle::Keccak;
use evergrove_kernels::tree::ops::{BuildMle, Combine, EvaluateMle, Expand, Merkle, Product, expand, reduce_levels};
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree, level_above_leaves};
use evergrove_lab::accumulator::Policy;
use evergrove_lab::engine::trace::{Event, Trace};
use evergrove_lab::mtu::{self, Latencies, Params, Report, Traversal, Workload, formula};
use evergrove_primitives::hash::keccak::Function;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The meaning of an event. Levels count from the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// An operation on the node with this level and number, or on that node and the next.
    Operation(u32, u64),
    /// The front tree's operations on one group of N leaves.
    Group(u64),
    /// The arrival of a pair of leaves at each PE.
    Pair(u64),
    /// The departure of a leaf from each PE.
    Leaf(u64),
}

fn parse(event: &Event) -> Does {
    let number = |text: &str| text.parse().unwrap_or_else(|e| panic!("{event:?}: {e}"));
    let name = event.name.as_str();
    if let Some((level, index)) = name.strip_prefix('L').and_then(|rest| rest.split_once('_')) {
        Does::Operation(number(level) as u32 - 1, number(index))
    } else if let Some(leaf) = name.strip_prefix("leaf ") {
        Does::Leaf(number(leaf))
    } else if let Some(group) = name.strip_prefix("group ") {
        Does::Group(number(group))
    } else {
        Does::Pair(number(name.strip_prefix("pair ").expect("no other event")))
    }
}

/// Existing nodes by level and number, each with the first cycle in which an operation may use it.
struct Nodes<N>(HashMap<(u32, u64), (u64, N)>);

impl<N> Nodes<N> {
    /// Adds a node, which must not exist.
    fn put(&mut self, level: u32, index: u64, cycle: u64, node: N) {
        assert!(self.0.insert((level, index), (cycle, node)).is_none(), "node {index} of level {level} twice");
    }
    /// Removes a node, which must be usable in `cycle`.
    fn take(&mut self, level: u32, index: u64, cycle: u64) -> N {
        let (there, node) =
            self.0.remove(&(level, index)).unwrap_or_else(|| panic!("no node {index} of level {level}"));
        assert!(there <= cycle, "node {index} of level {level} is there in cycle {there} and used in {cycle}");
        node
    }
}

/// The first cycle after all effects of an event.
fn end(params: &Params, event: &Event) -> u64 {
    event.start
        + match parse(event) {
            Does::Operation(..) => params.latency() + 1,
            Does::Group(_) => params.latency() * u64::from(params.log_pes()) + 1,
            Does::Pair(_) | Does::Leaf(_) => 1,
        }
}

/// Records a whole trace and checks it: events are in order, no row has two events in a cycle, each level and each PE
/// has as many operations as the closed forms count, and the last event ends with the run.
fn recorded(params: &Params) -> (Report, Trace) {
    let (report, trace) = mtu::trace(params, usize::MAX).expect("a valid machine");
    assert_eq!(mtu::run(params).as_ref(), Ok(&report), "{params:?}");
    let events = trace.events();
    assert!(events.is_sorted_by_key(|e| e.start), "{params:?}");
    assert!(events.iter().all(|e| e.cycles == 1 && e.track < trace.tracks().len()));
    assert_eq!(events.iter().map(|e| (e.track, e.start)).collect::<HashSet<_>>().len(), events.len(), "{params:?}");
    assert_eq!(events.iter().map(|e| end(params, e)).max(), Some(report.cycles), "{params:?}");
    let few = mtu::trace(params, 10).expect("a valid machine");
    assert_eq!((few.0, few.1.events()), (report.clone(), &events[..10.min(events.len())]));

    let (n, pes) = (params.leaves(), u64::from(params.pes));
    let count = |kind: &dyn Fn(&Event) -> bool| events.iter().filter(|e| kind(e)).count() as u64;
    let groups = count(&|e| matches!(parse(e), Does::Group(_)));
    let forward = u32::from(params.workload.is_forward());
    // The front tree computes log2 N levels.
    let above = if params.traversal == Traversal::Hybrid { params.log_pes() } else { 0 };
    for level in 0..=params.log_size {
        let operands = above + forward..params.log_size + forward;
        let expected = if operands.contains(&level) { n >> (level + 1 - forward) } else { 0 };
        assert_eq!(
            count(&|e| matches!(parse(e), Does::Operation(l, _) if l == level)),
            expected,
            "{level}: {params:?}"
        );
    }
    let operations = count(&|e| matches!(parse(e), Does::Operation(..))) + groups * (pes - 1);
    assert_eq!(operations, n - 1);
    if params.workload != Workload::MerkleTree {
        // The first expansion multiplies by a constant, so the formula does not count it.
        assert_eq!(operations - u64::from(forward), formula::multiplications(params.workload, params.log_size));
    }
    match params.traversal {
        Traversal::Hybrid => assert_eq!((groups, trace.tracks().len()), (n / pes, 2)),
        Traversal::DepthFirst => {
            for event in events.iter().filter(|e| (1..=params.pes as usize).contains(&e.track)) {
                let Does::Operation(level, index) = parse(event) else { panic!("{event:?}") };
                assert_eq!(index >> (params.log_size - params.log_pes() - level), event.track as u64 - 1, "{event:?}");
            }
            for pe in 1..=params.pes as usize {
                assert_eq!(count(&|e| e.track == pe), n / pes - 1);
            }
            assert_eq!(count(&|e| e.track == params.pes as usize + 1), pes - 1);
            let moved: u64 = events
                .iter()
                .map(|e| match parse(e) {
                    Does::Pair(_) => 2 * pes,
                    Does::Leaf(_) => pes,
                    _ => 0,
                })
                .sum();
            assert_eq!(moved, n);
            let bytes = if forward == 1 { report.written_bytes } else { report.read_bytes };
            assert_eq!(moved * params.node_bytes, bytes);
        }
        Traversal::BreadthFirst | Traversal::SubtreeBreadthFirst => {
            assert_eq!((groups, trace.tracks().len()), (0, params.pes as usize));
        }
    }
    (report, trace)
}

fn check_reduce<O: Combine>(op: &O, leaves: &[O::Node], params: &Params) {
    let plan = Plan::new(Tree::ReduceLevels, params.log_size, Schedule::HYBRID).expect("a tree");
    let mut expected = vec![leaves[0]; leaves.len() - 1];
    reduce_levels(op, &plan, leaves, &mut expected).expect("lengths agree");
    let (_, trace) = recorded(params);

    let (height, log_pes, latency) = (params.log_size, params.log_pes(), params.latency());
    let mut nodes = Nodes(HashMap::new());
    if matches!(params.traversal, Traversal::BreadthFirst | Traversal::SubtreeBreadthFirst) {
        (0..).zip(leaves).for_each(|(i, leaf)| nodes.put(0, i, 0, *leaf));
    }
    for event in trace.events() {
        let cycle = event.start;
        match parse(event) {
            Does::Operation(level, i) => {
                let (left, right) = (nodes.take(level, i, cycle), nodes.take(level, i + 1, cycle));
                let node = op.node(level + 1, &left, &right);
                let slot = level_above_leaves(height, level + 1).start + i as usize / 2;
                assert_eq!((i % 2, node), (0, expected[slot]), "{event:?} of {params:?}");
                nodes.put(level + 1, i / 2, cycle + latency + 1, node);
            }
            Does::Group(g) => {
                let mut group = leaves[(g << log_pes) as usize..][..1 << log_pes].to_vec();
                for level in 1..=log_pes {
                    group = group.chunks(2).map(|pair| op.node(level, &pair[0], &pair[1])).collect();
                }
                nodes.put(log_pes, g, cycle + latency * u64::from(log_pes), group[0]);
            }
            Does::Pair(pair) => {
                for i in
                    (0..u64::from(params.pes)).flat_map(|pe| [0, 1].map(|i| (pe << (height - log_pes)) + 2 * pair + i))
                {
                    nodes.put(0, i, cycle, leaves[i as usize]);
                }
            }
            Does::Leaf(_) => panic!("{event:?}"),
        }
    }
    assert_eq!(nodes.take(height, 0, u64::MAX), expected[expected.len() - 1]);
    assert!(nodes.0.is_empty());
}

fn check_grow<O: Expand>(op: &O, params: &Params) {
    let plan = Plan::new(Tree::Expand, params.log_size, Schedule::HYBRID).expect("a tree");
    let mut scratch = vec![op.root(); plan.scratch()];
    let mut expected = vec![op.root(); plan.leaves()];
    expand(op, &plan, &mut scratch, &mut expected).expect("lengths agree");
    let (_, trace) = recorded(params);

    let (height, log_pes, latency) = (params.log_size, params.log_pes(), params.latency());
    let mut nodes = Nodes(HashMap::from([((height, 0), (0, op.root()))]));
    let mut stored = vec![None; expected.len()];
    let mut store = |i: u64, node| assert!(stored[i as usize].replace(node).is_none(), "leaf {i} twice");
    for event in trace.events() {
        let cycle = event.start;
        match parse(event) {
            Does::Operation(level, i) => {
                let children = op.children(level, &nodes.take(level, i, cycle));
                for (child, node) in (2 * i..).zip(children) {
                    if level == 1 && params.traversal == Traversal::BreadthFirst {
                        store(child, node);
                    } else {
                        nodes.put(level - 1, child, cycle + latency + 1, node);
                    }
                }
            }
            Does::Group(g) => {
                let mut group = vec![nodes.take(log_pes, g, cycle)];
                for level in (1..=log_pes).rev() {
                    group = group.iter().flat_map(|node| op.children(level, node)).collect();
                }
                (g << log_pes..).zip(group).for_each(|(i, leaf)| store(i, leaf));
            }
            Does::Leaf(leaf) => {
                for i in (0..u64::from(params.pes)).map(|pe| (pe << (height - log_pes)) + leaf) {
                    store(i, nodes.take(0, i, cycle));
                }
            }
            Does::Pair(_) => panic!("{event:?}"),
        }
    }
    assert!(nodes.0.is_empty());
    assert_eq!(stored.into_iter().collect::<Option<Vec<_>>>(), Some(expected), "{params:?}");
}

#[test]
fn a_trace_on_nodes_is_what_the_kernels_compute() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for (log_size, pes) in [(2, 2), (3, 4), (6, 32), (8, 4)] {
        let n = 1_usize << log_size;
        let point: Vec<Fr> = (0..log_size).map(|_| Fr::rand(&mut rng)).collect();
        let values: Vec<Fr> = (0..n).map(|_| Fr::rand(&mut rng)).collect();
        let digests: Vec<[u8; 32]> = (0..n).map(|_| rng.r#gen()).collect();
        for traversal in
            [Traversal::Hybrid, Traversal::BreadthFirst, Traversal::DepthFirst, Traversal::SubtreeBreadthFirst]
        {
            for (policy, latencies, bandwidth_gb_s, sram_nodes) in [
                (Policy::RulerSteal, Latencies::Real, 3, 0),
                (Policy::RulerSteal, Latencies::Real, 1024, 8),
                (Policy::Ruler, Latencies::Unit, 1024, 0),
                (Policy::Deepest, Latencies::Unit, 64, 0),
                (Policy::InOrder, Latencies::Real, 100_000, 1 << 10),
            ] {
                let params = |workload| Params {
                    workload,
                    log_size,
                    pes,
                    traversal,
                    policy,
                    latencies,
                    bandwidth_gb_s,
                    sram_nodes,
                    log_subtree: 2,
                    ..Params::default()
                };
                check_reduce(&EvaluateMle::new(&point), &values, &params(Workload::MleEvaluation));
                check_reduce(&Product::<Fr>::new(), &values, &params(Workload::MultiplicationTree));
                check_reduce(&Product::<Fr>::new(), &values, &params(Workload::ProductMle));
                check_reduce(&Merkle(Keccak(Function::Sha3_256)), &digests, &params(Workload::MerkleTree));
                if traversal != Traversal::SubtreeBreadthFirst {
                    check_grow(&BuildMle::new(&point), &params(Workload::BuildMle));
                }
            }
        }
    }
}

#[test]
fn rows_are_the_parts_of_the_machine() {
    let rows = |traversal, workload| {
        let params = Params { traversal, workload, log_size: 4, pes: 2, log_subtree: 2, ..Params::default() };
        mtu::trace(&params, 0).expect("a valid machine").1.tracks().to_vec()
    };
    for traversal in [Traversal::BreadthFirst, Traversal::SubtreeBreadthFirst] {
        assert_eq!(rows(traversal, Workload::MerkleTree), ["PE 0", "PE 1"]);
    }
    assert_eq!(rows(Traversal::BreadthFirst, Workload::BuildMle), ["PE 0", "PE 1"]);
    assert_eq!(rows(Traversal::DepthFirst, Workload::MerkleTree), ["fetch", "PE 0", "PE 1", "last PE"]);
    assert_eq!(rows(Traversal::DepthFirst, Workload::BuildMle), ["store", "PE 0", "PE 1", "first PE"]);
    assert_eq!(rows(Traversal::Hybrid, Workload::BuildMle), ["front tree", "accumulator"]);
}

#[test]
fn the_pes_share_a_level_in_order() {
    // 8, 4, 2 and 1 operations on 4 PEs, with a memory that never stalls.
    let params = Params {
        traversal: Traversal::BreadthFirst,
        latencies: Latencies::Unit,
        bandwidth_gb_s: 100_000,
        log_size: 4,
        pes: 4,
        ..Params::default()
    };
    let (report, trace) = mtu::trace(&params, usize::MAX).expect("a valid machine");
    let rows: Vec<Vec<(u64, &str)>> = (0..4)
        .map(|pe| trace.events().iter().filter(|e| e.track == pe).map(|e| (e.start, e.name.as_str())).collect())
        .collect();
    assert_eq!(rows[0], [(0, "L1_0"), (1, "L1_8"), (3, "L2_0"), (5, "L3_0"), (7, "L4_0")]);
    assert_eq!(rows[1], [(0, "L1_2"), (1, "L1_10"), (3, "L2_2"), (5, "L3_2")]);
    assert_eq!(rows[2], [(0, "L1_4"), (1, "L1_12"), (3, "L2_4")]);
    assert_eq!(rows[3], [(0, "L1_6"), (1, "L1_14"), (3, "L2_6")]);
    assert_eq!(report.cycles, 9);
}

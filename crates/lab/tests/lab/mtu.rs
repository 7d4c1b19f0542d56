//! The tree unit computes what the kernels compute, in the cycles of its closed form and as published.

use ark_bls12_381::Fr;
use ark_ff::UniformRand;
use evergrove_kernels::merkle::{Keccak, Poseidon};
use evergrove_kernels::tree::ops::{BuildMle, Combine, EvaluateMle, Expand, Merkle, Product, expand, reduce_levels};
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree};
use evergrove_lab::LabError;
use evergrove_lab::accumulator::Policy;
use evergrove_lab::engine::MemoryKind;
use evergrove_lab::mtu::{self, Expanding, Latencies, Params, Reducing, Report, Traversal, Workload, formula};
use evergrove_primitives::hash::keccak::Function;
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::designs;

const TRAVERSALS: [Traversal; 4] =
    [Traversal::Hybrid, Traversal::BreadthFirst, Traversal::DepthFirst, Traversal::SubtreeBreadthFirst];

/// Runs a machine on leaves. All nodes must equal the kernels', in the cycles of the timing mode.
fn check_reduce<O: Combine>(op: &O, leaves: &[O::Node], params: &Params) {
    let plan = Plan::new(Tree::ReduceLevels, leaves.len().ilog2(), Schedule::HYBRID).expect("a tree");
    let mut expected = vec![leaves[0]; leaves.len() - 1];
    reduce_levels(op, &plan, leaves, &mut expected).expect("lengths agree");
    let mut work = Reducing::new(op, leaves);
    let report = mtu::reduce(params, &mut work).expect("a valid machine");
    let found: Vec<O::Node> = work.nodes.iter().map(|n| n.expect("every node is computed")).collect();
    assert_eq!(found, expected, "{params:?}");
    assert_eq!(work.root(), expected.last().copied());
    assert_eq!(mtu::run(params), Ok(report), "{params:?}");
}

fn check_grow<O: Expand>(op: &O, params: &Params) {
    let plan = Plan::new(Tree::Expand, params.log_size, Schedule::HYBRID).expect("a tree");
    let mut scratch = vec![op.root(); plan.scratch()];
    let mut expected = vec![op.root(); plan.leaves()];
    expand(op, &plan, &mut scratch, &mut expected).expect("lengths agree");
    let mut work = Expanding::new(op, params.log_size);
    let report = mtu::grow(params, &mut work).expect("a valid machine");
    let found: Vec<O::Node> = work.leaves.iter().map(|n| n.expect("every leaf is computed")).collect();
    assert_eq!(found, expected, "{params:?}");
    assert_eq!(mtu::run(params), Ok(report), "{params:?}");
}

#[test]
fn machines_compute_what_the_kernels_compute() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (log_size, pes) in [(2, 2), (3, 4), (5, 4), (6, 32), (9, 8)] {
        let n = 1_usize << log_size;
        let point: Vec<Fr> = (0..log_size).map(|_| Fr::rand(&mut rng)).collect();
        let values: Vec<Fr> = (0..n).map(|_| Fr::rand(&mut rng)).collect();
        let digests: Vec<Digest> =
            (0..n).map(|_| Digest([0; 4].map(|_| Goldilocks::new(rng.r#gen::<u64>() >> 1)))).collect();
        let bytes: Vec<[u8; 32]> = (0..n).map(|_| rng.r#gen()).collect();
        for traversal in TRAVERSALS {
            for policy in Policy::ALL {
                let bandwidth_gb_s = [3, 64, 1024][rng.gen_range(0..3)];
                let base =
                    Params { log_size, pes, traversal, policy, bandwidth_gb_s, log_subtree: 2, ..Params::default() };
                let params = |workload| Params { workload, ..base.clone() };
                check_reduce(&EvaluateMle::new(&point), &values, &params(Workload::MleEvaluation));
                check_reduce(&Product::<Fr>::new(), &values, &params(Workload::MultiplicationTree));
                check_reduce(&Product::<Fr>::new(), &values, &params(Workload::ProductMle));
                check_reduce(&Merkle(Poseidon), &digests, &params(Workload::MerkleTree));
                check_reduce(&Merkle(Keccak(Function::Sha3_256)), &bytes, &params(Workload::MerkleTree));
                if traversal != Traversal::SubtreeBreadthFirst {
                    check_grow(&BuildMle::new(&point), &params(Workload::BuildMle));
                }
            }
        }
    }
}

fn run(params: &Params) -> Report {
    mtu::run(params).unwrap_or_else(|e| panic!("{params:?}: {e}"))
}

/// The greatest deviation of the formula in percent of the time, and in pipelines beside. The merges of many subtrees
/// wait for each other.
const OF_OTHERS: f64 = 1.0;
const OF_SUBTREES: f64 = 10.0;
const PIPELINES: f64 = 4.0;

#[test]
fn the_page_states_the_bounds() {
    assert_eq!((OF_OTHERS, PIPELINES), (1.0, 4.0), "these numbers are words in the page");
    let page = include_str!("../../../../docs/models/mtu.md");
    crate::states(page, "each is within a percent of the formula");
    crate::states(page, &format!("subtrees within {OF_SUBTREES} %"));
    crate::states(page, "To this add four pipelines and, with banks, the prefetcher's lead and a refresh");
}

fn check_formulas(cases: u32) {
    proptest!(designs(cases), |(
        workload in prop::sample::select(Workload::ALL.to_vec()),
        traversal in prop::sample::select(TRAVERSALS.to_vec()),
        log_pes in 1_u32..=5,
        log_size in 15_u32..=17,
        bandwidth_gb_s in 16_u64..=2048,
        ruler in any::<bool>(),
        log_subtree in 8_u32..=12,
        sram in prop::sample::select(vec![0_u64, 1 << 10]),
        memory in prop::sample::select(MemoryKind::ALL.to_vec()),
    )| {
        prop_assume!(!(workload.is_forward() && traversal == Traversal::SubtreeBreadthFirst));
        // No closed form: the writes of every level compete with the prefetch of the next subtree.
        prop_assume!(!(workload.all_levels() && traversal == Traversal::SubtreeBreadthFirst));
        let pes = 1 << log_pes;
        // No closed form for banks: fixed subtrees are a power of two apart and meet in the same banks.
        let memory = if traversal == Traversal::DepthFirst { MemoryKind::Bandwidth } else { memory };
        // The closed form of the ruler assumes an inverted tree and a stream without gaps.
        let fast = memory == MemoryKind::Bandwidth && bandwidth_gb_s >= 64 * u64::from(pes);
        let gapless = fast && traversal == Traversal::Hybrid && !workload.is_forward();
        let policy = if ruler && gapless { Policy::Ruler } else { Policy::RulerSteal };
        let sram_nodes = if traversal == Traversal::BreadthFirst { sram } else { 0 };
        let params = Params {
            workload, traversal, pes, log_size, bandwidth_gb_s, policy, log_subtree, sram_nodes, memory, memory_modules: 2,
            ..Params::default()
        };
        let report = run(&params);
        let expected = formula::cycles(&params);
        // Beside a share of the time, a constant for pipelines that fill and drain, also in the merge of subtrees, for
        // the 128 bursts of the prefetcher, and for a refresh more or less.
        let ahead = memory.timing(1).map_or(0.0, |timing| (128 * timing.burst_ps + timing.t_rfc_ps) as f64 / 1e3);
        let share = if traversal == Traversal::SubtreeBreadthFirst { OF_SUBTREES } else { OF_OTHERS };
        let slack = share / 100.0 * expected + PIPELINES * params.latency() as f64 + ahead;
        prop_assert!((report.cycles as f64 - expected).abs() <= slack, "{params:?}: {} against {expected}", report.cycles);
        if sram_nodes == 0 && traversal != Traversal::SubtreeBreadthFirst {
            prop_assert_eq!(report.bytes().abs_diff(formula::bytes(&params)) <= 2 * params.node_bytes, true,
                "{:?}: {} against {}", params, report.bytes(), formula::bytes(&params));
        }
    });
}

#[test]
fn models_agree_with_their_formulas() {
    check_formulas(96);
}

#[test]
#[ignore = "slow: minutes, 10,000 designs"]
fn models_agree_with_their_formulas_for_10000_designs() {
    check_formulas(10_000);
}

/// Twice the bandwidth or clock, for random designs. With the fixed ruler a faster clock may cost time: see below.
fn check_monotone(cases: u32) {
    let policies: Vec<Policy> = Policy::ALL.into_iter().filter(|policy| *policy != Policy::Ruler).collect();
    proptest!(designs(cases), |(
        workload in prop::sample::select(Workload::ALL.to_vec()),
        traversal in prop::sample::select(TRAVERSALS.to_vec()),
        policy in prop::sample::select(policies),
        latencies in prop::sample::select(vec![Latencies::Unit, Latencies::Real]),
        log_pes in 1_u32..=5,
        log_size in 8_u32..=13,
        bandwidth_gb_s in 3_u64..=2048,
        frequency_mhz in 100_u64..=3000,
        log_subtree in 3_u32..=8,
        node_bytes in prop::sample::select(vec![8_u64, 16, 32, 48]),
    )| {
        prop_assume!(!(workload.is_forward() && traversal == Traversal::SubtreeBreadthFirst));
        let base = Params {
            workload, traversal, policy, latencies, pes: 1 << log_pes, log_size, bandwidth_gb_s, frequency_mhz, log_subtree,
            node_bytes, ..Params::default()
        };
        for (name, off) in [
            ("bandwidth", worst(&base, &[bandwidth_gb_s, 2 * bandwidth_gb_s], |p, step| p.bandwidth_gb_s = step)),
            ("clock", worst(&base, &[frequency_mhz, 2 * frequency_mhz], |p, step| p.frequency_mhz = step)),
        ] {
            prop_assert!(off <= 0.0, "{}: {:+.4} for {:?}", name, off, base);
        }
    });
}

#[test]
fn random_designs_are_not_slower_with_more_bandwidth_or_clock() {
    check_monotone(96);
}

#[test]
#[ignore = "slow: minutes, 10,000 designs"]
fn more_of_something_is_not_slower_for_10000_designs() {
    check_monotone(10_000);
}

/// The rounds of a SumCheck are the levels of a tree, breadth first.
#[test]
fn rounds_are_levels() {
    for (pes, bandwidth_gb_s, node_bytes) in
        [(2, 1024, 16), (8, 1024, 16), (32, 512, 16), (32, 64, 32), (256, 2048, 16)]
    {
        let params = Params {
            workload: Workload::MleEvaluation,
            traversal: Traversal::BreadthFirst,
            pes,
            bandwidth_gb_s,
            node_bytes,
            log_size: 17,
            ..Params::default()
        };
        let (operations, bytes) = ((params.leaves() - 1) as f64, formula::bytes(&params) as f64);
        let expected = formula::rounds(&params, operations, bytes, f64::from(params.log_size), 0.0);
        let cycles = run(&params).cycles as f64;
        assert!((cycles - expected).abs() <= 0.01 * expected + 4.0 * params.latency() as f64, "{cycles} {expected}");
        let turns = formula::rounds(&params, operations, bytes, 17.0, 100.0);
        assert_eq!(turns - expected, 1700.0);
    }
}

#[test]
fn static_subtrees_meet_in_banks_where_one_stream_does_not() {
    let time = |traversal, memory| {
        let p = Params { traversal, memory, memory_modules: 4, bandwidth_gb_s: 1024, pes: 32, ..Params::default() };
        run(&p).seconds
    };
    for (memory, least, most) in
        [(MemoryKind::Bandwidth, 0.9, 1.1), (MemoryKind::Ddr4, 2.0, 40.0), (MemoryKind::Hbm2, 2.0, 40.0)]
    {
        let ratio = time(Traversal::DepthFirst, memory) / time(Traversal::Hybrid, memory);
        assert!(ratio > least && ratio < most, "{memory:?}: {ratio}");
    }
}

#[test]
fn derived_times_of_the_paper() {
    let micro = |traversal, workload, pes, bandwidth_gb_s| {
        run(&Params { traversal, workload, pes, bandwidth_gb_s, ..Params::default() }).seconds * 1e6
    };
    let close = |found: f64, published: f64| assert!((found / published - 1.0).abs() < 0.01, "{found} / {published}");
    close(micro(Traversal::Hybrid, Workload::MleEvaluation, 2, 64), 524.3);
    close(micro(Traversal::Hybrid, Workload::MleEvaluation, 32, 1024), 32.8);
    close(micro(Traversal::BreadthFirst, Workload::MleEvaluation, 32, 1024), 98.3);
    close(micro(Traversal::Hybrid, Workload::ProductMle, 32, 1024), 65.5);
}

#[test]
fn the_published_ruler_is_slower_and_stealing_costs_no_memory() {
    // 2^17 nodes of level 4, as in published.md: the root's time by that of the stream, for latencies 1 and 10.
    let ratio = |policy, latencies| {
        let workload = Workload::MultiplicationTree;
        let report = run(&Params { policy, latencies, workload, log_size: 20, pes: 8, ..Params::default() });
        (report.cycles as f64 / f64::from(1 << 17), report.level_peak)
    };
    let near = |(found, peak): (f64, usize), expected: f64, most: usize| {
        assert!((found - expected).abs() < 0.01 && peak <= most, "{found} {peak}");
    };
    near(ratio(Policy::Ruler, Latencies::Unit), 1.5, 4);
    near(ratio(Policy::Ruler, Latencies::Real), 2.5, 4);
    for latencies in [Latencies::Unit, Latencies::Real] {
        near(ratio(Policy::RulerSteal, latencies), 1.0, 4);
        near(ratio(Policy::StreamFirst, latencies), 1.0, 16);
        near(ratio(Policy::Shallowest, latencies), 1.0, 4);
    }
}

#[test]
fn a_trace_shows_table_2() {
    let params = Params {
        policy: Policy::Ruler,
        latencies: Latencies::Unit,
        workload: Workload::MultiplicationTree,
        log_size: 8,
        ..Params::default()
    };
    let (report, trace) = mtu::trace(&params, 1000).expect("a valid machine");
    assert_eq!(report, run(&params));
    let accumulator: Vec<&str> = trace.events().iter().filter(|e| e.track == 1).map(|e| e.name.as_str()).collect();
    // The operands of Table 2, in order.
    assert_eq!(accumulator[..8], ["L4_0", "L4_2", "L4_4", "L5_0", "L4_6", "L4_8", "L5_2", "L4_10"]);
    assert_eq!(accumulator.len(), 31);
    // The operands of Table 3, after the first node has come down.
    let forward = Params { workload: Workload::BuildMle, ..params };
    let (report, trace) = mtu::trace(&forward, 1000).expect("a valid machine");
    assert_eq!(report, run(&forward));
    let accumulator: Vec<&str> = trace.events().iter().filter(|e| e.track == 1).map(|e| e.name.as_str()).collect();
    assert_eq!(accumulator[..5], ["L9_0", "L8_0", "L7_0", "L6_0", "L5_0"]);
    assert_eq!(accumulator.len(), 31);
}

/// The greatest relative increase of the run time when one resource of the machine is raised step by step.
fn worst(base: &Params, steps: &[u64], raise: impl Fn(&mut Params, u64)) -> f64 {
    let times = steps.iter().map(|step| {
        let mut params = base.clone();
        raise(&mut params, *step);
        (run(&params).seconds, params.seconds(1))
    });
    let times: Vec<_> = times.collect();
    // A run ends with a whole cycle, so one cycle is subtracted.
    times.windows(2).map(|pair| (pair[1].0 - pair[1].1) / pair[0].0 - 1.0).fold(f64::MIN, f64::max)
}

#[test]
fn more_bandwidth_or_clock_is_not_slower() {
    let (bandwidths, clocks) =
        ([3, 7, 16, 20, 32, 40, 64, 90, 128, 200, 256, 400, 512, 1024, 2048], [200, 300, 500, 800, 1000, 1700, 3000]);
    let mut ruler = 0.0_f64;
    for workload in Workload::ALL {
        for traversal in TRAVERSALS {
            if workload.is_forward() && traversal == Traversal::SubtreeBreadthFirst {
                continue;
            }
            for (policy, latencies) in
                Policy::ALL.into_iter().flat_map(|policy| [(policy, Latencies::Unit), (policy, Latencies::Real)])
            {
                for (log_size, pes) in [(8, 8), (11, 2), (12, 8)] {
                    let base = Params {
                        workload,
                        traversal,
                        policy,
                        latencies,
                        log_size,
                        pes,
                        bandwidth_gb_s: 64,
                        log_subtree: 6,
                        ..Params::default()
                    };
                    let by_bandwidth = worst(&base, &bandwidths, |p, step| p.bandwidth_gb_s = step);
                    assert!(by_bandwidth <= 0.0, "bandwidth: {by_bandwidth:+.4} for {base:?}");
                    let by_clock = worst(&base, &clocks, |p, step| p.frequency_mhz = step);
                    // With the fixed ruler, a level whose pair misses its cycle waits 2^(level + 1) cycles for the next
                    // one.
                    if policy == Policy::Ruler && matches!(traversal, Traversal::Hybrid | Traversal::DepthFirst) {
                        ruler = ruler.max(by_clock);
                    } else {
                        assert!(by_clock <= 0.0, "clock: {by_clock:+.4} for {base:?}");
                    }
                }
            }
        }
    }
    assert!(ruler > 0.05 && ruler < 0.2, "{ruler}");
}

#[test]
fn the_properties_of_table_1() {
    let base = Params { bandwidth_gb_s: 100_000, ..Params::default() };
    let with = |traversal, policy| run(&Params { traversal, policy, ..base.clone() });
    let hybrid = with(Traversal::Hybrid, Policy::RulerSteal);
    assert_eq!((hybrid.inputs.interval(), hybrid.continuous), (1.0, true));
    let naive = with(Traversal::DepthFirst, Policy::InOrder);
    assert!(naive.inputs.interval() > 2.0 && !naive.continuous, "{}", naive.inputs.interval());
    let breadth = with(Traversal::BreadthFirst, Policy::RulerSteal);
    assert_eq!(breadth.spilled_nodes, (1 << 20) - 2);
    assert!(hybrid.spilled_nodes == 0 && hybrid.buffered_nodes < 64);
}

#[test]
fn configurations_that_no_machine_has_are_refused_by_name() {
    let name = |params: Params| match mtu::run(&params) {
        Err(LabError::Field { field, .. }) => field,
        other => panic!("{params:?}: {other:?}"),
    };
    let base = Params::default();
    assert_eq!(name(Params { pes: 0, ..base.clone() }), "pes");
    assert_eq!(name(Params { pes: 12, ..base.clone() }), "pes");
    assert_eq!(name(Params { pes: 1, ..base.clone() }), "pes");
    assert_eq!(name(Params { bandwidth_gb_s: 0, ..base.clone() }), "bandwidth_gb_s");
    assert_eq!(name(Params { memory_modules: 3, ..base.clone() }), "memory_modules");
    assert_eq!(name(Params { log_size: 3, ..base.clone() }), "log_size");
    assert_eq!(name(Params { log_size: 60, ..base.clone() }), "log_size");
    assert_eq!(name(Params { efficiency: f64::NAN, ..base.clone() }), "efficiency");
    assert_eq!(name(Params { frequency_mhz: 0, ..base.clone() }), "frequency_mhz");
    let workload = Workload::BuildMle;
    assert_eq!(name(Params { traversal: Traversal::SubtreeBreadthFirst, workload, ..base.clone() }), "traversal");
    assert_eq!(name(Params { traversal: Traversal::SubtreeBreadthFirst, log_subtree: 0, ..base }), "log_subtree");
}

//! The multiplier: sums of the curve, in the time of its closed form and as published.

use ark_bls12_377::{Fr, G1Projective};
use ark_ec::CurveGroup;
use ark_ff::{AdditiveGroup, BigInteger, PrimeField, UniformRand, Zero};
use evergrove_kernels::msm::{CheckedPoints, msm as kernel, msm_with};
use evergrove_lab::LabError;
use evergrove_lab::cost::Costs;
use evergrove_lab::engine::{MemoryKind, Stall};
use evergrove_lab::msm::{self, Aggregation, Group, Hazards, Params, Timing, cost, formula};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

struct Curve;

impl Group for Curve {
    type Point = G1Projective;
    fn identity(&self) -> G1Projective {
        G1Projective::zero()
    }
    fn add(&self, a: &G1Projective, b: &G1Projective) -> G1Projective {
        if a == b { a.double() } else { *a + b }
    }
    fn negate(&self, a: &G1Projective) -> G1Projective {
        -*a
    }
}

#[test]
fn sums_are_those_of_the_curve() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let base = Params { windows: vec![8; 32], parallel_windows: 4, chiplets: 1, padd_latency: 5, ..Params::default() };
    let mut cases = Vec::new();
    for aggregation in [Aggregation::Serial, Aggregation::Segmented, Aggregation::Overlapped] {
        for hazards in [Hazards::Stall, Hazards::Queue] {
            cases.push(Params { aggregation, hazards, log_points: 6, ..base.clone() });
        }
    }
    cases.push(Params { parallel_points: 4, parallel_windows: 5, log_points: 5, chiplets: 2, ..base.clone() });
    cases.push(Params {
        windows: [vec![12; 6], vec![13; 14]].concat(),
        parallel_windows: 20,
        log_points: 3,
        ..base.clone()
    });
    cases.push(Params { independent: true, log_points: 4, mixed_padd: true, bandwidth_gb_s: 20, ..base.clone() });
    cases.push(Params { log_points: 0, segments: 1, ..base });
    for params in cases {
        let n = 1_usize << params.log_points;
        let mut points: Vec<G1Projective> = (0..n).map(|_| G1Projective::rand(&mut rng)).collect();
        let mut scalars: Vec<Fr> = (0..n).map(|_| Fr::rand(&mut rng)).collect();
        // Equal points and scalars meet in a bucket, inverse ones cancel, and there is nothing in it.
        if n >= 8 {
            (points[1], scalars[1]) = (points[0], scalars[0]);
            (points[2], scalars[2]) = (-points[0], scalars[0]);
            (points[3], scalars[4], scalars[5]) = (G1Projective::zero(), Fr::ZERO, -Fr::from(1_u64));
        }
        let words: Vec<[u64; 4]> = scalars.iter().map(|s| s.into_bigint().0).collect();
        assert!(scalars.iter().all(|s| s.into_bigint().num_bits() <= params.scalar_bits));
        let affine = G1Projective::normalize_batch(&points);
        let expected = kernel(CheckedPoints::trusted(&affine), &scalars).expect("as many scalars as points");
        let planned =
            msm_with(&params.plan(), CheckedPoints::trusted(&affine), &scalars).expect("windows for all bits");
        assert_eq!(planned, expected, "the same windows on this CPU: {params:?}");
        let outcome = msm::run_on(&params, &Curve, &words, &points).expect("a valid multiplier");
        assert_eq!(outcome.sum, expected, "{params:?}");
        let timing = msm::run_on(&params, &Timing, &words, &vec![(); n]).expect("a valid multiplier");
        assert_eq!(timing.report, outcome.report, "timing alone: {params:?}");
        let stream = outcome.report.stream_activity;
        assert_eq!(stream.busy, outcome.report.stream);
        assert_eq!(stream.total(), outcome.report.classification, "the cycles of the stream add up");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(9), failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_model_agrees_with_its_formula(
        log_points in 15_u32..=16,
        width in prop::sample::select(vec![5_u32, 10, 20]),
        points in prop::sample::select(vec![1_u32, 4]),
        bandwidth_gb_s in prop::sample::select(vec![0_u64, 20, 64, 460]),
        segmented in any::<bool>(),
        mixed_padd in any::<bool>(),
        memory in prop::sample::select(MemoryKind::ALL.to_vec()),
        scalar_link_gb_s in prop::sample::select(vec![0_u64, 8, 63]),
        link_gb_s in prop::sample::select(vec![0_u64, 16, 48]),
    ) {
        let aggregation = if segmented { Aggregation::Segmented } else { Aggregation::Serial };
        let params = Params {
            log_points, parallel_windows: width, parallel_points: points, bandwidth_gb_s, aggregation, mixed_padd, memory,
            memory_modules: 4, scalar_link_gb_s, link_gb_s,
            ..Params::default()
        };
        let report = msm::run(&params).expect("a valid multiplier");
        let (found, expected) = (report.cycles as f64, formula::cycles(&params));
        prop_assert!((found / expected - 1.0).abs() < 0.01, "{params:?}: {found} against {expected}");
    }
}

#[test]
fn the_machine_makes_the_additions_of_the_kernels_plan() {
    for windows in [[vec![12; 6], vec![13; 14]].concat(), vec![5; 51], vec![15; 17]] {
        let base = Params { windows, log_points: 14, parallel_windows: 4, chiplets: 1, ..Params::default() };
        let params = Params { aggregation: Aggregation::Serial, ..base };
        let found = msm::run(&params).expect("a valid multiplier").additions as f64;
        // The kernels put the first point into a bucket without an addition, and skip empty ones; hardware does neither.
        let plan = params.plan();
        let buckets = |w: &u32| 2_f64.powi(*w as i32 - 1);
        let filled = |w: &u32| buckets(w) * (1.0 - (-(params.points() as f64) / buckets(w)).exp());
        let first: f64 = params.windows.iter().map(filled).sum();
        let weighted: f64 = params.windows.iter().map(|w| 2.0 * (buckets(w) - 1.0)).sum();
        let expected = plan.expected(95);
        let all = expected.additions + first + weighted + expected.doublings + params.windows.len() as f64 - 1.0;
        assert!((found / all - 1.0).abs() < 0.002, "{:?}: {found} against {all}", params.windows);
    }
}

#[test]
fn a_trace_has_every_addition_in_a_cycle_of_its_own() {
    let base = Params { windows: vec![4; 4], scalar_bits: 15, log_points: 6, chiplets: 1, ..Params::default() };
    for aggregation in [Aggregation::Segmented, Aggregation::Overlapped] {
        let params = Params { aggregation, parallel_windows: 2, parallel_points: 2, segments: 4, ..base.clone() };
        let (report, trace) = msm::trace(&params, usize::MAX).expect("a valid multiplier");
        assert_eq!(report, msm::run(&params).expect("a valid multiplier"));
        let mut busy: std::collections::BTreeMap<usize, u64> = std::collections::BTreeMap::new();
        let mut events: Vec<_> = trace.events().iter().collect();
        events.sort_by_key(|e| e.start);
        for event in &events {
            let free = busy.entry(event.track).or_default();
            assert!(event.start >= *free, "{aggregation:?}: {event:?} while another is under way");
            *free = event.start + event.cycles;
            assert!(*free <= report.cycles, "{event:?}");
        }
        // Points in both groups and passes, and as many additions as digits that are not 0.
        let count = |name: &str| events.iter().filter(|e| e.name.starts_with(name)).count() as u64;
        assert_eq!(count("point "), 2 * params.points());
        let (classified, overlapped) = (count("window "), count("buckets of the pass before"));
        assert!(classified > 4 * params.points() * 9 / 10 && classified <= 4 * params.points(), "{classified}");
        assert_eq!(overlapped > 0, aggregation == Aggregation::Overlapped);
        assert!(trace.chrome()["traceEvents"].as_array().is_some_and(|all| all.len() == events.len() + 6));
    }
}

#[test]
fn the_faithful_mode_counts_what_the_paper_counts() {
    for (pes, passes) in [(1, 20), (5, 4), (10, 2), (20, 1)] {
        let params = Params::faithful(12, pes);
        let report = msm::run(&params).expect("a valid multiplier");
        assert_eq!((report.cycles, params.passes()), (passes << 12, passes));
        assert_eq!(report.cycles as f64, formula::stream_cycles(&params));
    }
}

#[test]
fn conflicts_are_as_many_as_chance_has_them_and_a_queue_hides_them() {
    let base = Params { log_points: 15, parallel_windows: 1, chiplets: 1, ..Params::default() };
    let queue = msm::run(&base).expect("a valid multiplier");
    let found = queue.conflicts as f64 / (20.0 * f64::from(1 << 15));
    let expected = base.windows.iter().map(|w| formula::conflict_share(&base, *w)).sum::<f64>() / 20.0;
    assert!((found / expected - 1.0).abs() < 0.1, "{found} {expected}");
    assert_eq!(queue.stream_activity.stalled(Stall::Hazard), 0);
    let stall = msm::run(&Params { hazards: Hazards::Stall, ..base }).expect("a valid multiplier");
    // Half the latency each, on average.
    let lost = stall.stream_activity.stalled(Stall::Hazard) as f64 / stall.stream as f64;
    assert!(lost > 0.5 * expected * 41.0 && lost < 1.5 * expected * 41.0, "{lost}");
}

#[test]
fn overlapping_aggregation_finds_few_free_cycles() {
    let base = Params { log_points: 16, parallel_windows: 1, chiplets: 1, ..Params::default() };
    let time = |aggregation| msm::run(&Params { aggregation, ..base.clone() }).expect("a valid multiplier").cycles;
    let (segmented, overlapped) = (time(Aggregation::Segmented), time(Aggregation::Overlapped));
    let stream = 20 << 16;
    // At a point a cycle the adder is busy: most additions of the aggregation wait for the end of the pass.
    assert!(overlapped < segmented && overlapped > stream + 20 * 6000, "{overlapped} {segmented}");
}

#[test]
fn sixteen_banks_take_turns_and_linear_scalars_bound_them() {
    let base = Params {
        log_points: 14,
        parallel_windows: 1,
        parallel_points: 16,
        chiplets: 1,
        memory: MemoryKind::Hbm2,
        ..Params::default()
    };
    let run = |p: &Params| msm::run(p).expect("a valid multiplier");
    // A pseudo-channel of 16 GB/s brings a point and its scalar of 127 bytes in 8 cycles.
    let beside = run(&base);
    assert!((beside.stream_activity.total() as f64 / beside.stream as f64 - 127.0 / 14.9).abs() < 0.4);
    assert!(beside.stream_activity.stalled(Stall::Memory) > 0 && beside.stream_activity.stalled(Stall::Input) == 0);
    // Scalars by PCIe relieve the memory, until 16 of them have to come with each point of a stream.
    let fast = run(&Params { scalar_link_gb_s: 512, ..base.clone() });
    assert!(fast.cycles < beside.cycles && fast.bytes < beside.bytes);
    let slow = run(&Params { scalar_link_gb_s: 32, ..base.clone() });
    assert!(slow.cycles > beside.cycles && slow.stream_activity.stalled(Stall::Input) > slow.stream * 14);
    let few = Params { memory: MemoryKind::Ddr4, ..base };
    assert!(msm::run(&few).is_err_and(|e| e.to_string().contains("memory_modules")));
}

#[test]
fn a_slow_link_between_chiplets_bounds_the_stream() {
    let base = Params { log_points: 13, ..Params::default() };
    let run = |p: &Params| msm::run(p).expect("a valid multiplier");
    // A point of 95 bytes a cycle needs 95 GB/s; at 32 GB/s it takes three cycles.
    let slow = run(&Params { link_gb_s: 32, ..base.clone() });
    let share = slow.stream_activity.stalled(Stall::Output) as f64 / slow.stream as f64;
    assert!((share - (95.0 / 32.0 - 1.0)).abs() < 0.01, "{share}");
    let fast = run(&base);
    assert_eq!(run(&Params { link_gb_s: 100, ..base.clone() }), fast);
    // One chiplet has none.
    assert_eq!(run(&Params { link_gb_s: 1, chiplets: 1, link_latency: 0, ..base }).stream, fast.stream);
}

#[test]
fn table_1() {
    let costs = Costs::published();
    let published =
        [(8, 32, 154.0), (9, 29, 141.0), (10, 26, 129.0), (11, 24, 124.0), (12, 22, 121.0), (13, 20, 125.0)];
    for (window, pes, area) in published.into_iter().chain([(14, 19, 149.0), (15, 18, 195.0), (16, 16, 269.0)]) {
        assert_eq!(cost::pes(window), pes);
        let found = f64::from(pes) * cost::element(&costs, window).expect("entries").area_mm2();
        assert!((found - area).abs() <= 1.1, "{window}: {found}");
    }
}

#[test]
fn small_dice_yield_more_and_cost_less() {
    let costs = Costs::published();
    let (small, large) = (cost::yield_of(&costs, 71.09).expect("y"), cost::yield_of(&costs, 269.0).expect("y"));
    assert!(small > large && small < 1.0);
    assert!(cost::good_die(&costs, 269.0).expect("c") > 269.0 / 71.09 * cost::good_die(&costs, 71.09).expect("c"));
    assert!(cost::good_die(&costs, 80_000.0).is_err());
}

#[test]
fn configurations_that_no_multiplier_has_are_refused_by_name() {
    let name = |params: Params| match msm::run(&params) {
        Err(LabError::Field { field, .. }) => field,
        other => panic!("{params:?}: {other:?}"),
    };
    let base = Params::default();
    assert_eq!(name(Params { windows: vec![13; 19], parallel_windows: 19, ..base.clone() }), "windows");
    assert_eq!(name(Params { windows: Vec::new(), ..base.clone() }), "windows");
    assert_eq!(name(Params { windows: vec![0; 300], ..base.clone() }), "windows");
    assert_eq!(name(Params { parallel_windows: 0, ..base.clone() }), "parallel_windows");
    assert_eq!(name(Params { parallel_windows: 21, ..base.clone() }), "parallel_windows");
    assert_eq!(name(Params { parallel_points: 3, ..base.clone() }), "parallel_points");
    assert_eq!(name(Params { chiplets: 0, ..base.clone() }), "chiplets");
    assert_eq!(name(Params { padd_latency: 0, ..base.clone() }), "padd_latency");
    assert_eq!(name(Params { segments: 3, ..base.clone() }), "segments");
    assert_eq!(name(Params { conflict_queue: 0, ..base.clone() }), "conflict_queue");
    let points = vec![G1Projective::zero(); 4];
    assert!(msm::run_on(&base, &Curve, &[[0; 4]; 4], &points).is_err());
    let small = Params { log_points: 2, ..base };
    assert!(msm::run_on(&small, &Curve, &[[u64::MAX; 4]; 4], &points).is_err());
}

//! The multiplier: sums of the curve, in the time of its closed form and as published.

use ark_bls12_377::{Fr, G1Projective};
use ark_ec::CurveGroup;
use ark_ff::{AdditiveGroup, BigInteger, PrimeField, UniformRand, Zero};
use evergrove_kernels::msm::{CheckedPoints, msm as kernel};
use evergrove_lab::LabError;
use evergrove_lab::cost::Costs;
use evergrove_lab::engine::{MemoryKind, Stall};
use evergrove_lab::msm::{self, Aggregation, Group, Hazards, Params, cost, formula};
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
        let outcome = msm::run_on(&params, &Curve, &words, &points).expect("a valid multiplier");
        assert_eq!(outcome.sum, expected, "{params:?}");
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
    ) {
        let aggregation = if segmented { Aggregation::Segmented } else { Aggregation::Serial };
        let params = Params {
            log_points, parallel_windows: width, parallel_points: points, bandwidth_gb_s, aggregation, mixed_padd, memory,
            memory_modules: 4, scalar_link_gb_s,
            ..Params::default()
        };
        let report = msm::run(&params).expect("a valid multiplier");
        let (found, expected) = (report.cycles as f64, formula::cycles(&params));
        prop_assert!((found / expected - 1.0).abs() < 0.01, "{params:?}: {found} against {expected}");
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

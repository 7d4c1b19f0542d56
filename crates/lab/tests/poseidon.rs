//! The Poseidon engine: digests of the kernels, in the time of its closed form and as published.

use evergrove_kernels::tree::merkle::{Arity, Polygon, Poseidon, Shape, build_vec, cap_vec};
use evergrove_lab::LabError;
use evergrove_lab::poseidon::{self, Convention, Matrix, Params, Pipelines, formula};
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn words(count: usize, seed: u64) -> Vec<Goldilocks> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| Goldilocks::new(rng.r#gen::<u64>() >> 1)).collect()
}

#[test]
fn caps_are_those_of_the_kernels() {
    for (log_rows, columns, cap_height) in [(1, 5, 0), (3, 8, 1), (4, 9, 4), (5, 16, 0), (6, 20, 2), (7, 33, 0)] {
        let rows = 1_usize << log_rows;
        let words = words(rows * columns, columns as u64);
        let params = Params { log_rows, columns: columns as u32, cap_height, ..Params::default() };
        let run = |matrix: Matrix<'_>| {
            let mut matrix = matrix;
            let outcome = poseidon::run_on(&params, &mut matrix).expect("a valid engine");
            assert_eq!(poseidon::run(&params), Ok(outcome.report), "timing is that of data");
            outcome.cap
        };
        let shape = Shape::new(rows, columns, cap_height).expect("a shape");
        assert_eq!(
            run(Matrix::new(&words, columns, Convention::Plonky2)),
            cap_vec(Poseidon, &shape, &words).expect("a tree")
        );
        let padded = Shape::padded(rows, columns, Arity::Two, cap_height).expect("a shape");
        assert_eq!(
            run(Matrix::new(&words, columns, Convention::Polygon)),
            cap_vec(Polygon, &padded, &words).expect("a tree")
        );
        let reversed: Vec<Goldilocks> = (0..rows)
            .flat_map(|i| {
                let row = i.reverse_bits() >> (usize::BITS - log_rows);
                words[row * columns..(row + 1) * columns].to_vec()
            })
            .collect();
        let nodes: Vec<Digest> = build_vec(Poseidon, &shape, &reversed).expect("a tree");
        assert_eq!(
            run(Matrix::new(&words, columns, Convention::Plonky2).bit_reversed()),
            nodes[shape.level(shape.levels() - 1)]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(9), failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_model_agrees_with_its_formula(
        log_rows in 13_u32..=15,
        columns in 5_u32..=80,
        link_gbit_s in 4.0_f64..=256.0,
        lhe in prop::sample::select(vec![118_u32, 59, 40, 12]),
        bhe in prop::sample::select(vec![118_u32, 59, 30]),
        hbm_gb_s in prop::sample::select(vec![0_u64, 20, 60, 460]),
        by_columns in any::<bool>(),
        overlapped in any::<bool>(),
        multiplier in 1_u64..=6,
    ) {
        let pipelines = Pipelines { multiplier, ..Pipelines::default() };
        let params = Params {
            log_rows, columns, link_gbit_s, lhe_sboxes: lhe, bhe_sboxes: bhe, hbm_gb_s, by_columns, overlapped, pipelines,
            ..Params::default()
        };
        let found = poseidon::run(&params).expect("a valid engine").cycles as f64;
        let expected = formula::cycles(&params);
        prop_assert!((found / expected - 1.0).abs() < 0.01, "{params:?}: {found} against {expected}");
    }
}

#[test]
fn the_branch_hasher_ends_a_pipeline_a_level_after_the_last_leaf() {
    // published.md: the tail is log2(n) L + 0..6 cycles, the deepest queue 10 to 13.
    for (log_rows, multiplier) in [(12, 1), (12, 6), (14, 6)] {
        let pipelines = Pipelines { multiplier, ..Pipelines::default() };
        let params = Params { log_rows, columns: 8, pipelines, ..Params::default() };
        let report = poseidon::run(&params).expect("a valid engine");
        // A result is usable the cycle after it leaves.
        let tail = report.cycles - 1 - report.leaves_at;
        let pipes = u64::from(log_rows) * (pipelines.permutation() + 1);
        assert!((pipes - 1..=pipes + 8).contains(&tail), "{tail} {pipes}");
        let deepest = report.queues.iter().max().copied().unwrap_or(0);
        assert!((2..=14).contains(&deepest), "{:?}", report.queues);
    }
}

#[test]
fn a_serialised_branch_hasher_keeps_up_and_a_slower_one_does_not() {
    let time = |bhe_sboxes| {
        let params = Params { log_rows: 14, columns: 136, bhe_sboxes, ..Params::default() };
        let report = poseidon::run(&params).expect("a valid engine");
        (report.cycles, report.leaves_at)
    };
    // The digests of one tree are hashed while the next tree's leaves are: an interval of 17 passes is enough.
    let (fast, leaves) = time(118);
    let (slow, same) = time(7);
    assert_eq!(leaves, same);
    assert!(slow > fast && slow - leaves < 17 * (1 << 14) + 30_000, "{slow} {fast} {leaves}");
}

#[test]
fn published_counts_and_times() {
    let params = Params::default();
    assert_eq!(formula::hashes(&params), 301_989_887);
    assert_eq!(params.bytes(), 18_253_611_008);
    assert_eq!(params.bytes(), 17 << 30);
    assert!((formula::lhe_bound_seconds(&params) - 1.1409).abs() < 1e-4);
    assert!((formula::best_theoretical_seconds(&params) - 1.2751).abs() < 1e-4);
    assert!((formula::boards_seconds(&params, 17.0, 4) - 0.3327).abs() < 1e-4);
}

#[test]
fn configurations_that_no_engine_has_are_refused_by_name() {
    let name = |params: Params| match poseidon::run(&params) {
        Err(LabError::Field { field, .. }) => field,
        other => panic!("{params:?}: {other:?}"),
    };
    let base = Params::default();
    assert_eq!(name(Params { log_rows: 0, ..base.clone() }), "log_rows");
    assert_eq!(name(Params { columns: 4, ..base.clone() }), "columns");
    assert_eq!(name(Params { cap_height: 25, ..base.clone() }), "cap_height");
    assert_eq!(name(Params { link_gbit_s: 0.0, ..base.clone() }), "link_gbit_s");
    assert_eq!(name(Params { lhe_sboxes: 0, ..base.clone() }), "lhe_sboxes");
    assert_eq!(name(Params { bhe_sboxes: 119, ..base.clone() }), "bhe_sboxes");
    assert_eq!(name(Params { state_words: 0, ..base }), "state_words");
}

/// Run by hand: `cargo test --release -p evergrove-lab --test poseidon -- --ignored --nocapture`.
#[test]
#[ignore = "285 million cycles: a minute at most, a few seconds on a quiet machine"]
fn the_articles_tree_cycle_by_cycle() {
    let start = std::time::Instant::now();
    let report = poseidon::run(&Params::default()).expect("a valid engine");
    let seconds = start.elapsed().as_secs_f64();
    println!("{} cycles in {seconds:.1} s; {:?}", report.cycles, report.activities);
    assert!(seconds < 60.0);
    assert!((report.cycles as f64 / formula::cycles(&Params::default()) - 1.0).abs() < 0.001);
}

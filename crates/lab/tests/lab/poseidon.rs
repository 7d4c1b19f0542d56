//! The Poseidon engine computes the kernels' digests, in the cycles of its closed form and as published.

use std::sync::Arc;

use evergrove_kernels::merkle::{Arity, Polygon, Poseidon, Shape, build_vec, cap_vec};
use evergrove_kernels::oracle::{Domain, Keep, Workspace};
use evergrove_lab::LabError;
use evergrove_lab::engine::{MemoryKind, Stall};
use evergrove_lab::poseidon::{self, Convention, Latency, Matrix, Outputs, Params, Pipelines, formula, transform};
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::designs;

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

#[test]
fn wider_trees_inputs_and_boards_have_the_caps_of_the_kernels() {
    for (log_rows, arity, height, name) in
        [(4, 4, 1, Arity::Four), (6, 8, 0, Arity::Eight), (6, 4, 0, Arity::Four), (3, 8, 1, Arity::Eight)]
    {
        let rows = 1_usize << log_rows;
        let words = words(rows * 20, u64::from(log_rows));
        let cap_height = height * name.get().ilog2();
        let params =
            Params { log_rows, columns: 20, cap_height, arity, lhe_cores: 3, link_gbit_s: 400.0, ..Params::default() };
        let shape = Shape::complete(rows, 20, name, height).expect("a shape");
        for (convention, expected) in [
            (Convention::Plonky2, cap_vec(Poseidon, &shape, &words).expect("a tree")),
            (Convention::Polygon, cap_vec(Polygon, &shape, &words).expect("a tree")),
        ] {
            let mut matrix = Matrix::new(&words, 20, convention);
            let outcome = poseidon::run_on(&params, &mut matrix).expect("a valid engine");
            assert_eq!(outcome.cap, expected, "{params:?}");
            assert_eq!(poseidon::run(&params), Ok(outcome.report));
        }
    }
    for (lhe_cores, cap_height) in [(2, 0), (4, 2), (8, 3)] {
        let (words, shape) = (words(64 * 9, 4), Shape::new(64, 9, cap_height).expect("a shape"));
        let params = Params {
            log_rows: 6,
            columns: 9,
            lhe_cores,
            cap_height,
            front_tree: true,
            link_gbit_s: 1e3,
            ..Params::default()
        };
        let mut matrix = Matrix::new(&words, 9, Convention::Plonky2);
        let outcome = poseidon::run_on(&params, &mut matrix).expect("a valid engine");
        assert_eq!(outcome.cap, cap_vec(Poseidon, &shape, &words).expect("a tree"), "{lhe_cores} cores");
        assert_eq!(outcome.report.hashes, formula::hashes(&params));
        assert_eq!(poseidon::run(&params), Ok(outcome.report));
    }
    let words = words(64 * 9, 3);
    for (leaf_boards, branch_boards, arity, height, trees) in [
        (2, 1, Arity::Two, 0, 1),
        (2, 2, Arity::Two, 0, 1),
        (8, 4, Arity::Two, 0, 3),
        (4, 4, Arity::Two, 1, 2),
        (4, 2, Arity::Two, 3, 1),
        (4, 4, Arity::Four, 0, 1),
        (8, 2, Arity::Four, 1, 2),
        (8, 8, Arity::Eight, 0, 2),
    ] {
        let cap_height = height * arity.get().ilog2();
        let params = Params {
            log_rows: 6,
            columns: 9,
            leaf_boards,
            branch_boards,
            arity: arity.get() as u32,
            cap_height,
            trees,
            network_latency: 70,
            ..Params::default()
        };
        let shape = Shape::complete(64, 9, arity, height).expect("a shape");
        let cap = cap_vec(Poseidon, &shape, &words).expect("a tree");
        let mut matrix = Matrix::new(&words, 9, Convention::Plonky2);
        let outcome = poseidon::run_on(&params, &mut matrix).expect("valid boards");
        assert_eq!(outcome.cap, cap.repeat(trees as usize), "{params:?}");
        assert_eq!(outcome.report.hashes, formula::hashes(&params));
        assert_eq!(poseidon::run(&params), Ok(outcome.report));
    }
}

#[test]
fn an_engine_behind_a_transform_commits_as_the_kernels_do() {
    for (log_size, log_blowup, columns) in [(3, 1, 5), (4, 3, 11), (5, 2, 24)] {
        let trace: Vec<Vec<Goldilocks>> = (0..columns).map(|c| words(1 << log_size, c)).collect();
        let matrix = transform::extend(&trace, log_blowup);
        let params = Params {
            log_rows: log_size + log_blowup,
            columns: columns as u32,
            log_blowup,
            by_columns: true,
            ..Params::default()
        };
        let mut rows = Matrix::new(&matrix, columns as usize, Convention::Plonky2).bit_reversed();
        let outcome = poseidon::run_on(&params, &mut rows).expect("a valid engine");
        let domain = Arc::new(Domain::on(Isa::detect(), log_size, log_blowup).expect("a domain"));
        let workspace = Workspace::new(domain, columns as usize, 0, Keep::Coefficients).expect("a workspace");
        assert_eq!(outcome.cap, workspace.commit_values(&trace).expect("a commitment").cap());
        assert_eq!(outcome.report.link_bytes, params.bytes() >> log_blowup);
        assert_eq!(poseidon::run(&params), Ok(outcome.report));
    }
}

#[test]
fn an_extension_leaves_when_the_delay_lines_are_full() {
    // One pass: the leaves wait for the last of eight columns.
    let base = Params {
        log_rows: 10,
        columns: 8,
        log_blowup: 1,
        by_columns: true,
        link_gbit_s: 1e6,
        network_gbit_s: 1e6,
        ..Params::default()
    };
    let leaves_at = |lde_words| {
        let p = Params { lde_words, ..base.clone() };
        (poseidon::run(&p).expect("a valid engine").leaves_at, p.transform_latency())
    };
    let ((slow, lines), (fast, few)) = (leaves_at(8), leaves_at(64));
    // 1,023 words fill the lines. Then come 19 butterflies of seven stages, and a multiplier.
    assert_eq!((lines, few), (128 + 19 * 7 + 6, 16 + 19 * 7 + 6));
    // The columns leave one after another at eight words per cycle, or as fast as the leaf hasher takes them.
    assert!((slow - fast).abs_diff(lines - few) < 8, "{slow} {fast}");
}

#[test]
fn full_queues_hold_up_what_is_before_them() {
    let base = Params { log_rows: 12, columns: 24, hbm_gb_s: 0, ..Params::default() };
    let run = |p: &Params| poseidon::run(p).expect("a valid engine");
    let stalls = |p: &Params| {
        let activity = run(p).activities[0].1;
        (activity.stalled(Stall::Input), activity.stalled(Stall::Output))
    };
    // Nothing waits: a row takes the stages of its permutation.
    let latency = run(&base).leaf_latency;
    assert_eq!(latency, Latency { min: 720, mean: 720.0, max: 720, median: 720 });
    // A core that takes a group every other cycle: the input queue fills up.
    for input_queue in [16, 256] {
        let p = Params { lhe_sboxes: 59, input_queue, ..base.clone() };
        let latency = run(&p).leaf_latency;
        let full = 720 + 2 * input_queue;
        assert!(latency.max.abs_diff(full) < 4 && latency.median.abs_diff(full) < 4, "{latency:?}");
        assert_eq!(run(&p).leaves_at, run(&Params { input_queue: 1 << 20, ..p.clone() }).leaves_at);
    }
    // A branch hasher with an interval of four: in the last pass the leaf hasher waits for places.
    let slow = Params { bhe_sboxes: 30, ..base.clone() };
    let all = Params { digest_queue: 1 << 12, ..slow.clone() };
    assert_eq!(stalls(&all).1, 0);
    for digest_queue in [1024, 2048] {
        let p = Params { digest_queue, ..slow.clone() };
        let (waited, expected) = (stalls(&p).1, 4 * (4096 - digest_queue) + 720 - 4096);
        assert!(waited.abs_diff(expected) < 800, "{waited} {expected}");
        assert!(run(&p).leaves_at > run(&all).leaves_at + waited - 8);
        // A single tree ends when its branches are hashed, but later trees wait.
        assert!(run(&p).cycles.abs_diff(run(&all).cycles) < 8);
        let trees = |p: &Params| run(&Params { trees: 3, ..p.clone() }).cycles;
        assert!(trees(&p) > trees(&all), "{} {}", trees(&p), trees(&all));
    }
    // Levels above the leaves need few places, because the level nearest the root is served first.
    for bhe_sboxes in [118, 59, 7] {
        let queues = run(&Params { bhe_sboxes, trees: 2, ..base.clone() }).queues;
        assert!(queues[1..12].iter().all(|most| *most <= 4), "{queues:?}");
    }
}

/// The greatest deviation of the formula in percent, beside a permutation and 64 KiB of an idle memory's bandwidth, and
/// that with wider designs.
const OFF: f64 = 1.0;
const OFF_WIDER: f64 = 2.0;

#[test]
fn the_page_states_the_bounds() {
    assert_eq!(OFF, 1.0, "this number is a word in the page");
    let page = include_str!("../../../../docs/models/poseidon.md");
    crate::states(page, "within a percent of this formula, a permutation, and the time of the 64 KiB");
    crate::states(page, &format!("transforms, wider trees, boards and banks are within {OFF_WIDER} %"));
    crate::states(page, &format!("never make a run slower by more than {} %", 100.0 * NOISE));
}

fn check_formula(cases: u32) {
    proptest!(designs(cases), |(
        log_rows in 13_u32..=15,
        columns in 5_u32..=80,
        link_gbit_s in 4.0_f64..=256.0,
        lhe in prop::sample::select(vec![118_u32, 59, 40, 12]),
        bhe in prop::sample::select(vec![118_u32, 59, 30]),
        hbm_gb_s in prop::sample::select(vec![0_u64, 20, 60, 460]),
        by_columns in any::<bool>(),
        overlapped in any::<bool>(),
        multiplier in 1_u64..=6,
        lhe_cores in 1_u32..=4,
        front in any::<bool>(),
        outputs in prop::sample::select(vec![Outputs::Cap, Outputs::Digests]),
        trees in 1_u64..=2,
        network_latency in 0_u64..=200,
    )| {
        // No closed form: without overlap, digests wait for the branches before they go back.
        prop_assume!(overlapped || outputs == Outputs::Cap);
        let pipelines = Pipelines { multiplier, ..Pipelines::default() };
        let trees = if overlapped { trees } else { 1 };
        let digest_queue = [1024, 4096, 1 << 20][multiplier as usize % 3];
        let params = Params {
            log_rows, columns, link_gbit_s, lhe_sboxes: lhe, bhe_sboxes: bhe, hbm_gb_s, by_columns, overlapped, pipelines,
            lhe_cores, trees, outputs, network_latency, digest_queue, front_tree: front && matches!(lhe_cores, 2 | 4), ..Params::default()
        };
        let found = poseidon::run(&params).expect("a valid engine").cycles as f64;
        let expected = formula::cycles(&params);
        // An idle memory saves up to 64 KiB of bandwidth.
        let saved = params.hbm_bytes_per_cycle().map_or(0.0, |rate| 65_536.0 / rate);
        // A branch hasher that is slower than the leaves come has more or less to do after the last leaf.
        let drain = params.pipelines.permutation() as f64;
        prop_assert!((found - expected).abs() < OFF / 100.0 * expected + saved + drain, "{params:?}: {found} against {expected}");
    });
}

/// The same with transforms, wider trees, boards and banks.
fn check_wider_formula(cases: u32) {
    proptest!(designs(cases), |(
        log_rows in 13_u32..=14,
        columns in 5_u32..=40,
        link_gbit_s in 4.0_f64..=256.0,
        network_gbit_s in 16.0_f64..=256.0,
        log_blowup in 0_u32..=4,
        lde_words in 4_u32..=16,
        rate in prop::sample::select(vec![4_u32, 8, 16]),
        arity in prop::sample::select(vec![2_u32, 4, 8]),
        boards in prop::sample::select(vec![(1_u32, 1_u32), (2, 1), (2, 2), (4, 2)]),
        hbm in prop::sample::select(MemoryKind::ALL.to_vec()),
        bhe in prop::sample::select(vec![118_u32, 59, 30]),
    )| {
        let extends = log_blowup > 0;
        let (leaf_boards, branch_boards) = match arity {
            _ if extends => (1, 1),
            2 => boards,
            arity => if boards.1 > 1 { (arity, arity) } else { boards },
        };
        // Trees of another arity need powers of it.
        let log_rows = if arity == 2 { log_rows } else { 12 };
        let params = Params {
            log_rows, columns, rate, link_gbit_s, network_gbit_s, log_blowup, lde_words, arity, leaf_boards, branch_boards, hbm,
            bhe_sboxes: bhe, by_columns: extends, network_latency: 60, hbm_stacks: 2,
            // Few stages, so fill and drain are short compared with 2^12 rows.
            pipelines: Pipelines { constants: 1, multiplier: 1, mds: 1 },
            ..Params::default()
        };
        let found = poseidon::run(&params).expect("a valid engine").cycles as f64;
        let expected = formula::cycles(&params);
        prop_assert!((found / expected - 1.0).abs() < OFF_WIDER / 100.0, "{params:?}: {found} against {expected}");
    });
}

#[test]
fn the_model_agrees_with_its_formula() {
    check_formula(64);
}

#[test]
fn so_do_transforms_wider_trees_boards_and_banks() {
    check_wider_formula(64);
}

#[test]
#[ignore = "slow: minutes, 10,000 designs"]
fn the_model_agrees_with_its_formula_for_10000_designs() {
    check_formula(5_000);
    check_wider_formula(5_000);
}

/// Twice the link, memory, clock or places of a queue, or one core more, for random designs.
fn check_monotone(cases: u32) {
    proptest!(designs(cases), |(
        log_rows in 8_u32..=12,
        columns in 5_u32..=60,
        link_gbit_s in 4.0_f64..=256.0,
        lhe in prop::sample::select(vec![118_u32, 59, 12]),
        bhe in prop::sample::select(vec![118_u32, 59, 30]),
        hbm_gb_s in prop::sample::select(vec![20_u64, 60, 460]),
        by_columns in any::<bool>(),
        overlapped in any::<bool>(),
        lhe_cores in 1_u32..=4,
        outputs in prop::sample::select(vec![Outputs::Cap, Outputs::Digests]),
        trees in 1_u64..=2,
        digest_queue in prop::sample::select(vec![64_u64, 1024]),
    )| {
        let trees = if overlapped { trees } else { 1 };
        let base = Params {
            log_rows, columns, link_gbit_s, lhe_sboxes: lhe, bhe_sboxes: bhe, hbm_gb_s, by_columns, overlapped, lhe_cores,
            trees, outputs, digest_queue, ..Params::default()
        };
        let run = |p: &Params| poseidon::run(p).expect("a valid engine").seconds;
        let least = run(&base);
        for more in [
            Params { link_gbit_s: 2.0 * link_gbit_s, ..base.clone() },
            Params { hbm_gb_s: 2 * hbm_gb_s, ..base.clone() },
            Params { frequency_mhz: 2 * base.frequency_mhz, ..base.clone() },
            Params { digest_queue: 2 * digest_queue, ..base.clone() },
            Params { input_queue: 2 * base.input_queue, ..base.clone() },
            Params { lhe_cores: lhe_cores + 1, ..base.clone() },
        ] {
            let off = run(&more) / least - 1.0;
            prop_assert!(off < NOISE, "{:?} takes {:+.4} of the time of {:?}", more, off, base);
        }
    });
}

/// How much slower a run may become with more of a resource, because rows then come in other cycles.
const NOISE: f64 = 0.005;

#[test]
fn more_of_something_is_not_slower() {
    check_monotone(48);
}

#[test]
#[ignore = "slow: minutes, 10,000 designs"]
fn more_of_something_is_not_slower_for_10000_designs() {
    check_monotone(10_000);
}

#[test]
fn the_branch_hasher_ends_a_pipeline_a_level_after_the_last_leaf() {
    // published.md: the tail is log2(n) L + 0..6 cycles, and the deepest queue is 10 to 13.
    for (log_rows, multiplier) in [(12, 1), (12, 6), (14, 6)] {
        let pipelines = Pipelines { multiplier, ..Pipelines::default() };
        let params = Params { log_rows, columns: 8, pipelines, ..Params::default() };
        let report = poseidon::run(&params).expect("a valid engine");
        // A result is usable in the cycle after it leaves.
        let tail = report.cycles - 1 - report.leaves_at;
        let pipes = u64::from(log_rows) * (pipelines.permutation() + 1);
        assert!((pipes - 1..=pipes + 8).contains(&tail), "{tail} {pipes}");
        let deepest = report.queues.iter().max().copied().unwrap_or(0);
        assert!((2..=14).contains(&deepest), "{:?}", report.queues);
    }
}

#[test]
fn a_serialised_branch_hasher_keeps_up_tree_after_tree() {
    let time = |bhe_sboxes, trees| {
        let params =
            Params { log_rows: 12, columns: 136, bhe_sboxes, trees, digest_queue: 1 << 14, ..Params::default() };
        let report = poseidon::run(&params).expect("a valid engine");
        (report.cycles, report.leaves_at, report.queues[0])
    };
    // A tree has 17 passes: a hasher with an interval of 17 keeps up, one of 20 falls behind with each tree.
    assert_eq!((Params::interval(7), Params::interval(6)), (17, 20));
    assert!((formula::branch_interval(&Params { log_rows: 12, ..Params::default() }) - 17.0).abs() < 0.01);
    let tail = |bhe_sboxes, trees| {
        let (cycles, leaves_at, _) = time(bhe_sboxes, trees);
        cycles - leaves_at
    };
    assert_eq!(time(118, 5).1, time(6, 5).1, "the leaf hasher waits for nobody");
    assert!(tail(7, 2).abs_diff(tail(7, 5)) < 1000);
    // Each hash takes three cycles more than the passes cover.
    let lost = tail(6, 5) - tail(6, 2);
    assert!(lost.abs_diff(3 * 3 * 4095) < 100, "{lost}");
    // A serialised core does not save memory: its queue of leaves holds most of a tree's digests.
    assert!(time(7, 5).2 > 3000 && time(118, 5).2 < 20);
}

#[test]
fn every_digest_can_go_back_and_a_trace_shows_them_made() {
    let params = Params { log_rows: 5, columns: 16, outputs: Outputs::Digests, link_gbit_s: 4.0, ..Params::default() };
    let report = poseidon::run(&params).expect("a valid engine");
    assert_eq!(report.out_bytes, 63 * 32);
    // Two bytes per cycle: the last digest leaves after the root.
    let cap = poseidon::run(&Params { outputs: Outputs::Cap, ..params.clone() }).expect("a valid engine");
    assert_eq!((cap.out_bytes, cap.leaves_at), (32, report.leaves_at));
    let (traced, trace) = poseidon::trace(&params, 1000).expect("a trace");
    assert_eq!(traced, report);
    let names = |track: usize| trace.events().iter().filter(move |e| e.track == track).map(|e| e.name.clone());
    let rows: Vec<String> = (0..2).flat_map(|pass| (0..32).map(move |row| format!("{row}.{pass}"))).collect();
    assert!(names(0).eq(rows));
    assert_eq!(names(1).count(), 31);
    assert_eq!((names(1).next(), names(1).next_back()), (Some("1_0".into()), Some("5_0".into())));
    assert!(poseidon::trace(&Params { leaf_boards: 2, ..params }, 1).is_err());
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
    assert_eq!(name(Params { state_words: 0, ..base.clone() }), "state_words");
    assert_eq!(name(Params { rate: 6, ..base.clone() }), "rate");
    let mut four = Matrix::new(&[Goldilocks::ONE; 10], 5, Convention::Plonky2);
    let other = Params { log_rows: 1, columns: 5, rate: 4, ..base.clone() };
    assert!(poseidon::run_on(&other, &mut four).is_err_and(|e| e.to_string().contains("rate = 4")));
    assert_eq!(name(Params { arity: 3, ..base.clone() }), "arity");
    assert_eq!(name(Params { arity: 8, log_rows: 10, ..base.clone() }), "arity");
    assert_eq!(name(Params { trees: 0, ..base.clone() }), "trees");
    assert_eq!(name(Params { trees: 2, overlapped: false, ..base.clone() }), "trees");
    assert_eq!(name(Params { lhe_cores: 0, ..base.clone() }), "lhe_cores");
    assert_eq!(name(Params { lhe_cores: 4, input_queue: 3, ..base.clone() }), "input_queue");
    assert_eq!(name(Params { digest_queue: 7, ..base.clone() }), "digest_queue");
    assert_eq!(name(Params { front_tree: true, ..base.clone() }), "lhe_cores");
    assert_eq!(name(Params { front_tree: true, lhe_cores: 4, arity: 4, ..base.clone() }), "front_tree");
    assert_eq!(name(Params { leaf_boards: 3, ..base.clone() }), "leaf_boards");
    assert_eq!(name(Params { branch_boards: 2, ..base.clone() }), "branch_boards");
    assert_eq!(name(Params { leaf_boards: 2, branch_boards: 2, arity: 4, ..base.clone() }), "branch_boards");
    let front = Params { front_tree: true, leaf_boards: 4, branch_boards: 4, lhe_cores: 4, ..base.clone() };
    assert_eq!(name(Params { log_rows: 3, ..front }), "lhe_cores");
    assert_eq!(name(Params { log_blowup: 1, ..base.clone() }), "by_columns");
    assert_eq!(name(Params { log_blowup: 22, by_columns: true, ..base.clone() }), "log_blowup");
    assert_eq!(name(Params { log_blowup: 1, by_columns: true, leaf_boards: 2, ..base.clone() }), "leaf_boards");
    assert_eq!(name(Params { log_blowup: 1, by_columns: true, lde_words: 0, ..base.clone() }), "lde_words");
    assert_eq!(name(Params { network_gbit_s: 0.0, ..base.clone() }), "network_gbit_s");
    assert_eq!(name(Params { hbm_stacks: 3, ..base }), "hbm_stacks");
}

/// Run it with `cargo test --release -p evergrove-lab --test lab poseidon:: -- --ignored --nocapture`.
#[test]
#[ignore = "slow: 285 million cycles"]
fn the_articles_tree_cycle_by_cycle() {
    let report = poseidon::run(&Params::default()).expect("a valid engine");
    println!("{} cycles; {:?}", report.cycles, report.activities);
    assert!((report.cycles as f64 / formula::cycles(&Params::default()) - 1.0).abs() < 0.001);
}

//! The designs in the repository, and the reproduction of all items.

use std::fs;
use std::path::Path;

use evergrove_lab::config::File;
use evergrove_lab::cost::Costs;
use evergrove_lab::cpu::{Baseline, Code, Measured};
use evergrove_lab::mtu::{self, Workload};
use evergrove_lab::reproduce::{CLOSE, Item, Origin, Tally, Verdict, reproduce};
use evergrove_lab::whatif::{Proofs, Tree, answers};
use evergrove_plot::Origin as PointOrigin;

#[test]
fn every_design_that_ships_is_valid_and_listed() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let readme = fs::read_to_string(dir.join("README.md")).expect("a list");
    let mut seen = 0;
    for entry in fs::read_dir(&dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".toml") {
            let text = fs::read_to_string(&path).expect("a file");
            let file = File::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let designs = file.designs().unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!designs.is_empty() && !file.source.is_empty());
            assert!(readme.contains(&format!("`{stem}.toml`")), "configs/README.md does not list {name}");
            seen += 1;
        }
    }
    assert!(seen >= 10);
}

#[test]
fn the_trace_that_ships_tells_its_trees_and_what_would_shorten_its_proofs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/birdstrikes-trace.json");
    let proofs = Proofs::parse(&fs::read_to_string(path).expect("a trace")).expect("a trace");
    assert_eq!(proofs.count, 4);
    // Two buckets and a merge have 2^13 rows at rate 8, a wrap has 2^12 at rate 16. Each commits to 135 wires.
    for (log_blowup, count) in [(3, 3), (4, 1)] {
        assert_eq!(proofs.trees.get(&Tree { log_rows: 16, columns: 135, log_blowup }), Some(&count));
    }
    let trees: u64 = proofs.trees.values().sum();
    assert!(trees >= 12, "wires, products and quotients of four proofs: {trees}");
    let answers = answers(&proofs).expect("machines");
    for answer in &answers {
        assert!(answer.speedup >= 1.0 && answer.speedup <= answer.limit, "{answer:?}");
        let sum = proofs.seconds - answer.before_s + answer.after_s;
        assert!((sum - answer.proofs_s).abs() < 1e-9, "{answer:?}");
    }
    // A faster link helps until the core is the bottleneck.
    assert!(answers[0].after_s > answers[1].after_s && answers[1].after_s > answers[2].after_s);
}

/// A baseline with fixed times, which needs no clock.
fn baseline() -> Baseline {
    let codes = [(Code::Kernels, 0.005), (Code::Textbook, 0.1)];
    let rows = Workload::FIGURES.into_iter().flat_map(|workload| {
        codes.map(|(code, one)| Measured { workload, code, seconds: vec![(1, one), (2, 0.6 * one)] })
    });
    Baseline { log_size: 20, conditions: "made up".into(), rows: rows.collect() }
}

#[test]
fn printed_cells_are_reproduced_but_for_the_misprints() {
    let (costs, cpu) = (Costs::published(), baseline());
    let mut found = Vec::new();
    let mut tally = Tally::default();
    for item in Item::ALL.into_iter().filter(|i| *i != Item::MtuFig6) {
        let section = reproduce(item, &costs, Some(&cpu)).unwrap_or_else(|e| panic!("{}: {e}", item.name()));
        assert!(!section.lines.is_empty() && section.lines.iter().all(|l| l.ours.is_finite()), "{}", item.name());
        for line in &section.lines {
            // Close values deviate by at most three percent, for every item.
            let off = line.deviation.unwrap_or(0.0).abs();
            assert!(line.verdict != Verdict::Close || off <= CLOSE, "{}: {}", section.item, line.quantity);
            // Only printed references count as cells, and a run must produce a reproduced cell.
            assert!(line.reproduced <= line.cells && (line.cells == 0) == (line.origin != Some(Origin::Printed)));
            if line.verdict == Verdict::Differs && line.origin == Some(Origin::Printed) {
                found.push((section.item, line.quantity.clone()));
            }
        }
        tally.add(&section);
        assert_eq!(Item::named(item.name()), Some(item));
    }
    let found: Vec<(&str, &str)> = found.iter().map(|(item, quantity)| (*item, quantity.as_str())).collect();
    // Misprints of the papers, and values that the papers print only in prose.
    let expected = [
        ("poseidon-throughput", "by 24.5 Gbit/s"),
        ("msm-table2", "1 PEs, 2^24"),
        ("msm-table2", "area of a PE of 13 bits"),
        ("msm-table2", "power of a PE of 13 bits"),
    ];
    assert_eq!(found, expected);
    // Tables 2 and 3, three properties of Table 1, 12 latencies of Table II, and "nearly 3x".
    assert_eq!(tally.printed().0, 168 + 3 + 12 + 1);
    let text = tally.to_string();
    assert!(
        text.starts_with(&format!("printed cells reproduced by simulation: 184 of {}\n", tally.printed().1)),
        "{text}"
    );
    assert!(
        text.contains("not simulated: 4") && text.contains("not as printed: msm-table2, 1 PEs, 2^24 (-0.0 %)"),
        "{text}"
    );
    assert!(reproduce(Item::MtuFig6, &costs, None).is_err());
    let section = reproduce(Item::MtuFig6, &costs, Some(&cpu)).expect("a baseline");
    assert!(section.lines.iter().all(|l| l.ours.is_finite()));
    tally.add(&section);
    let (by_runs, all) = tally.printed();
    let page = include_str!("../../../../docs/models/README.md");
    crate::states(page, &format!("Runs give {by_runs} of {all} printed cells"));
    // One and two threads are measured, and more are computed.
    let figure = |name: &str| &section.figures.iter().find(|(found, _)| found == name).expect("a figure").1;
    let points: Vec<_> = figure("mtu-fig6-1024-textbook").series.iter().flat_map(|series| &series.points).collect();
    assert!(
        points
            .iter()
            .all(|p| p.origin == PointOrigin::Published || (p.origin == PointOrigin::Modelled) == (p.x <= 2.0))
    );
    // What the kernels take on both cores, by what 32 elements take.
    let line =
        section.lines.iter().find(|l| l.quantity == "product-mle, 32 PEs, 1024 GB/s, over our kernels on all 2 cores");
    let time =
        mtu::run(&mtu::Params { workload: Workload::ProductMle, pes: 32, ..mtu::Params::default() }).expect("a run");
    let expected = 0.6 * 0.005 / time.seconds;
    assert!(line.is_some_and(|line| (line.ours / expected - 1.0).abs() < 1e-9), "{line:?} {expected}");
}

#[test]
fn the_page_compares_the_papers_with_the_hardware() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/rtl.md");
    let page = fs::read_to_string(page).expect("the page");
    let table = page.split("## Beside the papers").nth(1).expect("the section");
    let mut ratios: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let section = reproduce(Item::Hardware, &Costs::published(), None).expect("an item");
    let compared: Vec<_> = section.lines.iter().filter(|line| line.published.is_some()).collect();
    assert_eq!(ratios.len(), compared.len(), "{compared:?}");
    for line in compared {
        let ratio = format!("| {:.2} |", line.ours / line.published.unwrap_or(f64::NAN));
        let place = ratios.iter().position(|row| row.ends_with(&ratio) && row.contains(line.unit));
        ratios.swap_remove(place.unwrap_or_else(|| panic!("no row of {} with {ratio}", line.quantity)));
    }
}

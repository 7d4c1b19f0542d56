//! The MTU paper.

use rayon::prelude::*;

use super::{Closeness, Item, Section};
use crate::LabError;
use crate::accumulator::Policy;
use crate::cost::Costs;
use crate::cpu::{Baseline, Code};
use crate::mtu::{self, Latencies, Params, Traversal, Workload, cost, tables};

/// PEs and bandwidths of the paper's figures.
const PES: [u32; 5] = [2, 4, 8, 16, 32];
const BANDWIDTHS: [u64; 5] = [64, 128, 256, 512, 1024];

pub(super) fn table1() -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuTable1, "Table 1: properties of traversals, measured on 2^20 leaves");
    // More bandwidth than any of them can use, so that it shows what each asks for.
    let base = Params { bandwidth_gb_s: 100_000, ..Params::default() };
    let run = |traversal, policy| mtu::run(&Params { traversal, policy, ..base.clone() });
    let bfs = run(Traversal::BreadthFirst, Policy::RulerSteal)?;
    let naive = run(Traversal::DepthFirst, Policy::InOrder)?;
    let ready = run(Traversal::DepthFirst, Policy::RulerSteal)?;
    let hybrid = run(Traversal::Hybrid, Policy::RulerSteal)?;
    let subtree = run(Traversal::SubtreeBreadthFirst, Policy::RulerSteal)?;
    let c = Closeness::Within(0.01);
    out.compare("initiation interval, BFS", "cycles", 1.0, bfs.inputs.interval(), c);
    // A pair every other cycle is what one PE with its own n/2 - 1 upper nodes can take.
    out.ours("initiation interval, DFS in strict order (published: above 1)", "cycles", naive.inputs.interval());
    out.ours("initiation interval, DFS that takes what is ready", "cycles", ready.inputs.interval());
    out.compare("initiation interval, hybrid", "cycles", 1.0, hybrid.inputs.interval(), c);
    out.compare("inputs in order, DFS (0: no)", "", 0.0, f64::from(u8::from(ready.continuous)), Closeness::Exact);
    out.compare("inputs in order, hybrid (1: yes)", "", 1.0, f64::from(u8::from(hybrid.continuous)), Closeness::Exact);
    for (name, report) in [("BFS", &bfs), ("DFS", &ready), ("hybrid", &hybrid), ("UniZK's subtrees", &subtree)] {
        out.ours(format!("nodes between levels, off chip, {name}"), "nodes", report.spilled_nodes as f64);
        out.ours(format!("nodes buffered on chip, {name}"), "nodes", report.buffered_nodes as f64);
        out.ours(format!("traffic, {name}"), "bytes/leaf", report.bytes() as f64 / f64::from(1 << 20));
        out.ours(
            format!("bandwidth for 8 PEs at full rate, {name}"),
            "GB/s",
            report.bytes() as f64 / report.seconds / 1e9,
        );
    }
    out.note("The bandwidth of DFS and hybrid is called fixed: their traffic is (n words instead of 3 n), while the rate at full speed grows with the PEs in all of them.");
    out.note(format!(
        "Strict order leaves each PE idle for {:.1} of its cycles' multiples; taking what is ready makes DFS as fast as the hybrid, but its inputs stay out of order.",
        naive.cycles as f64 / ready.cycles as f64
    ));
    Ok(out)
}

pub(super) fn schedule(item: Item, table: u32) -> Section {
    let title = if table == 2 {
        "Table 2: the accumulator's first 28 cycles, inverted tree"
    } else {
        "Table 3: the accumulator's first 28 cycles, forward tree"
    };
    let mut out = Section::new(item, title);
    for policy in Policy::ALL {
        let (equal, all) = tables::agreement(table, policy);
        let name = format!("cells as printed, {}", policy.name());
        if policy == Policy::Ruler {
            out.compare(name, "of 84", all as f64, equal as f64, Closeness::Exact);
        } else {
            out.ours(name, "of 84", equal as f64);
        }
    }
    out.note("The text has the deepest ready level first; the table is a fixed ruler (cycle c belongs to level base + ctz(c)), ready or not.");
    if table == 2 {
        for latencies in [Latencies::Unit, Latencies::Real] {
            let workload = Workload::MultiplicationTree;
            let time = |policy| {
                let p = Params { policy, latencies, workload, ..Params::default() };
                mtu::run(&p).map_or(f64::NAN, |r| r.cycles as f64 / f64::from(1 << 17))
            };
            let stages = latencies.of(workload);
            out.ours(format!("root time by stream time, ruler, {stages} stages"), "", time(Policy::Ruler));
            out.ours(format!("root time by stream time, ruler+steal, {stages} stages"), "", time(Policy::RulerSteal));
        }
        out.note("For one tree the published schedule is up to 2.5 times slower than one that gives idle slots to the deepest ready level.");
    }
    out
}

pub(super) fn table4(costs: &Costs) -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuTable4, "Table 4: area and power of 32 PEs at 7 nm");
    let unit = cost::unit(costs, 32)?;
    for part in &unit.parts {
        out.ours(format!("{}, taken from the table", part.name), "mm2", part.area_mm2);
        out.ours(format!("{}, taken from the table", part.name), "W", part.power_w);
    }
    out.compare("total", "mm2", 5.101, unit.area_mm2(), Closeness::Within(0.001));
    out.compare("total", "W", 7.857, unit.power_w(), Closeness::Within(0.001));
    for pes in PES {
        let unit = cost::unit(costs, pes)?;
        out.ours(format!("{pes} PEs"), "mm2", unit.area_mm2());
        out.ours(format!("{pes} PEs"), "W", unit.power_w());
        out.ours(format!("{pes} PEs at 22 nm"), "mm2", cost::at_22_nm(costs, &unit)?.area_mm2());
    }
    out.ours("32 PEs and an HBM2 PHY of their own", "mm2", cost::with_phy(costs, 32, 1)?.area_mm2());
    out.ours("32 PEs and a quarter of a shared HBM2 PHY", "mm2", cost::with_phy(costs, 32, 4)?.area_mm2());
    out.note("The parts sum up to 5.102 mm2 and 7.858 W; the printed totals end in 1 and 7.");
    Ok(out)
}

pub(super) fn fig4(cpu: &Baseline) -> Section {
    let mut out = Section::new(Item::MtuFig4, "Fig. 4: the workloads on a CPU");
    for workload in Workload::FIGURES {
        for code in [Code::Kernels, Code::Textbook] {
            for threads in [1, 2, 4, 8, 16, 32] {
                if let Some(seconds) = cpu.seconds(workload, code, threads) {
                    let how = if threads > 2 { "by Amdahl's law" } else { "measured" };
                    let name = format!("{}, {}, {threads} threads, {how}", workload.name(), code.name());
                    out.ours(name, "ms", seconds * 1e3);
                }
            }
        }
    }
    out.note(cpu.conditions.clone());
    out.note("The figure's values are in an image; its text says that SHA3 scales \"by SHA extensions\", which serve SHA-1 and SHA-256 only.");
    out
}

/// Runs of all combinations.
fn runs(workloads: &[Workload], traversals: &[Traversal]) -> Result<Vec<(Params, f64)>, LabError> {
    let mut all = Vec::new();
    for &workload in workloads {
        for &traversal in traversals {
            for pes in PES {
                for bandwidth_gb_s in BANDWIDTHS {
                    all.push(Params { workload, traversal, pes, bandwidth_gb_s, ..Params::default() });
                }
            }
        }
    }
    all.into_par_iter().map(|p| mtu::run(&p).map(|r| (p, r.seconds * 1e6))).collect()
}

fn find(runs: &[(Params, f64)], workload: Workload, traversal: Traversal, pes: u32, bandwidth: u64) -> f64 {
    let wanted =
        |p: &Params| (p.workload, p.traversal, p.pes, p.bandwidth_gb_s) == (workload, traversal, pes, bandwidth);
    runs.iter().find(|(p, _)| wanted(p)).map_or(f64::NAN, |(_, t)| *t)
}

pub(super) fn fig5() -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuFig5, "Fig. 5: run time of the unit, 2^20 leaves");
    let runs = runs(&Workload::FIGURES, &Traversal::PAPER)?;
    let at = |w, t, pes, bandwidth| find(&runs, w, t, pes, bandwidth);
    let (eval, product) = (Workload::MleEvaluation, Workload::ProductMle);
    let c = Closeness::Within(0.01);
    out.compare("hybrid, 2 PEs, 64 GB/s (derived)", "us", 524.3, at(eval, Traversal::Hybrid, 2, 64), c);
    out.compare("hybrid, 32 PEs, 1024 GB/s (derived)", "us", 32.8, at(eval, Traversal::Hybrid, 32, 1024), c);
    out.compare("BFS at 1024 GB/s, floor (derived)", "us", 98.3, at(eval, Traversal::BreadthFirst, 32, 1024), c);
    out.compare("product MLE at 1024 GB/s, floor (derived)", "us", 65.5, at(product, Traversal::Hybrid, 32, 1024), c);
    let gain = at(eval, Traversal::BreadthFirst, 32, 1024) / at(eval, Traversal::Hybrid, 32, 1024);
    out.compare("hybrid over BFS, 32 PEs, 1024 GB/s (\"nearly 3x\")", "times", 3.0, gain, Closeness::Within(0.02));
    for (p, micros) in &runs {
        let name = format!("{}, {}, {} PEs, {} GB/s", p.workload.name(), p.traversal.name(), p.pes, p.bandwidth_gb_s);
        out.ours(name, "us", *micros);
    }
    out.note("The figure's values are in an image; derived: n words of 32 bytes at the bandwidth, 3 n for BFS, 2 n for every level.");
    out.note("Accumulator by ruler+steal, latencies 10 for a product, 1 for a sum, 24 for SHA3.");
    Ok(out)
}

pub(super) fn fig6(cpu: &Baseline) -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuFig6, "Fig. 6: speed-up over the CPU at as many threads as PEs");
    let runs = runs(&Workload::FIGURES, &[Traversal::Hybrid])?;
    for code in [Code::Textbook, Code::Kernels] {
        for (bandwidth, claim) in [(64, 1478.0), (1024, 9440.0)] {
            let mut ratios = Vec::new();
            for workload in Workload::FIGURES {
                for pes in PES {
                    let Some(seconds) = cpu.seconds(workload, code, pes) else { continue };
                    let scale = 2_f64.powi(20 - cpu.log_size as i32);
                    let ratio = seconds * scale * 1e6 / find(&runs, workload, Traversal::Hybrid, pes, bandwidth);
                    out.ours(
                        format!("{}, {pes} PEs, {bandwidth} GB/s, over {}", workload.name(), code.name()),
                        "times",
                        ratio,
                    );
                    ratios.push(ratio);
                }
            }
            let n = ratios.len() as f64;
            let means = [
                ("arithmetic", ratios.iter().sum::<f64>() / n),
                ("geometric", (ratios.iter().map(|r| r.ln()).sum::<f64>() / n).exp()),
                ("harmonic", n / ratios.iter().map(|r| r.recip()).sum::<f64>()),
            ];
            for (name, mean) in means {
                let text = format!("{name} mean at {bandwidth} GB/s, over {}", code.name());
                if code == Code::Textbook {
                    out.compare(text, "times", claim, mean, Closeness::Within(0.1));
                } else {
                    out.ours(text, "times", mean);
                }
            }
        }
    }
    out.note(cpu.conditions.clone());
    out.note("The paper does not say which mean \"average\" is, and calls 1478 an average in its text and \"up to\" in its abstract. Its means imply a CPU time of about 0.78 s, on another CPU (Xeon Gold 5218).");
    out.note("More than two threads are computed by Amdahl's law through one and two.");
    Ok(out)
}

pub(super) fn fig7(costs: &Costs) -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuFig7, "Fig. 7: run time by area, Merkle tree, hybrid");
    let runs = runs(&[Workload::MerkleTree], &[Traversal::Hybrid])?;
    let at = |pes, bandwidth| find(&runs, Workload::MerkleTree, Traversal::Hybrid, pes, bandwidth);
    for (p, micros) in &runs {
        let area = cost::unit(costs, p.pes)?.area_mm2();
        let better = |(q, t): &(Params, f64)| q.bandwidth_gb_s == p.bandwidth_gb_s && q.pes < p.pes && *t <= *micros;
        let front = if runs.iter().any(better) { "" } else { ", on its front" };
        out.ours(format!("{area:.2} mm2 ({} PEs), {} GB/s{front}", p.pes, p.bandwidth_gb_s), "us", *micros);
    }
    let area = cost::unit(costs, 8)?.area_mm2();
    let c = Closeness::Within(0.02);
    out.compare(
        format!("time at 256 by time at 1024 GB/s, {area:.2} mm2 (\"alike\")"),
        "times",
        1.0,
        at(8, 256) / at(8, 1024),
        c,
    );
    out.ours("the same at 5.10 mm2", "times", at(32, 256) / at(32, 1024));
    Ok(out)
}

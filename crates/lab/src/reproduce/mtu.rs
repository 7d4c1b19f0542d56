//! Reproduces the MTU paper.

use rayon::prelude::*;

use super::figures::{axis, figure, series};
use super::origin::{Derived, Ours, Printed};
use super::{Closeness, Item, Section};
use crate::LabError;
use crate::accumulator::Policy;
use crate::cost::Costs;
use crate::cpu::{Baseline, Code};
use crate::mtu::{self, Latencies, Params, Traversal, Workload, cost, formula, tables};
use evergrove_plot::{Axis, Origin, Scale};

/// PEs and bandwidths (GB/s) of the paper's figures.
const PES: [u32; 5] = [2, 4, 8, 16, 32];
const BANDWIDTHS: [u64; 5] = [64, 128, 256, 512, 1024];
/// Threads of the paper's figures.
const THREADS: [u32; 6] = [1, 2, 4, 8, 16, 32];

pub(super) fn table1() -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuTable1, "Table 1: properties of traversals, measured on 2^20 leaves");
    // More bandwidth than any traversal can use, so the traffic shows the demand of each.
    let base = Params { bandwidth_gb_s: 100_000, ..Params::default() };
    let run = |traversal, policy| mtu::run(&Params { traversal, policy, ..base.clone() });
    let bfs = run(Traversal::BreadthFirst, Policy::RulerSteal)?;
    let naive = run(Traversal::DepthFirst, Policy::InOrder)?;
    let ready = run(Traversal::DepthFirst, Policy::RulerSteal)?;
    let hybrid = run(Traversal::Hybrid, Policy::RulerSteal)?;
    let subtree = run(Traversal::SubtreeBreadthFirst, Policy::RulerSteal)?;
    let c = Closeness::Close;
    let interval = |report: &mtu::Report| Ours::of(report, |r| r.inputs.interval());
    out.compare("initiation interval, BFS (\"= 1\")", "cycles", Printed(1.0), interval(&bfs), c);
    // One PE also computes the n/2 - 1 nodes above n/2 pairs, so it can take a pair only every other cycle.
    let above = Ours::of(&naive, |r| f64::from(u8::from(r.inputs.interval() > 1.0)));
    out.compare("initiation interval above 1, DFS in strict order (1: yes)", "", Printed(1.0), above, Closeness::Exact);
    out.ours("initiation interval, DFS in strict order", "cycles", interval(&naive));
    out.ours("initiation interval, DFS that takes what is ready", "cycles", interval(&ready));
    out.compare("initiation interval, hybrid (\"= 1\")", "cycles", Printed(1.0), interval(&hybrid), c);
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
    let mib = |log_nodes: u32| f64::from((32_u32 << log_nodes) >> 20);
    // A tree of 2^23 leaves has 2^22 nodes in the level before them.
    out.compare("Build MLE of 2^23, BFS: memory (\"128 MB\")", "MiB", Printed(128.0), mib(22), Closeness::Exact);
    out.ours("the same with the level that is its result", "MiB", mib(23));
    out.note("Which inputs are in order follows from the traversal, not from a run: it is not a line.");
    out.note("128 MB are the largest level between root and result, in MiB; the result itself has twice as much.");
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
        let agreement = tables::agreement(table, policy);
        let name = format!("cells as printed, {}", policy.name());
        let equal = Ours::of(&agreement, |a| a.equal as f64);
        if policy == Policy::Ruler {
            out.cells(name, "of 84", agreement.all as u32, equal);
        } else {
            out.ours(name, "of 84", equal);
        }
    }
    if table == 3 {
        out.note("Cycle c belongs to level base + ctz(c), ready or not: this table alone shows that the published schedule leaves the cycle idle.");
    }
    if table == 2 {
        out.note("The text has the deepest ready level first; the table serves level base + ctz(c) in cycle c. In these 28 cycles the level is always ready: a schedule that gives idle slots away makes the same table. Only Table 3 tells them apart.");
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
        for policy in [Policy::Ruler, Policy::RulerSteal, Policy::StreamFirst, Policy::Deepest, Policy::Shallowest] {
            let p = Params {
                policy,
                latencies: Latencies::Unit,
                workload: Workload::MultiplicationTree,
                ..Params::default()
            };
            let peak = mtu::run(&p).map_or(f64::NAN, |r| r.level_peak as f64);
            out.ours(format!("most nodes that wait in a level, {}, 2^17 nodes", policy.name()), "nodes", peak);
        }
        out.note("For one tree the schedule of Table 3 is up to 2.5 times slower than one that gives idle slots to the deepest ready level.");
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
    out.compare("total", "mm2", Printed(5.101), unit.area_mm2(), Closeness::Close);
    out.compare("total", "W", Printed(7.857), unit.power_w(), Closeness::Close);
    for pes in PES {
        let unit = cost::unit(costs, pes)?;
        out.ours(format!("{pes} PEs"), "mm2", unit.area_mm2());
        out.ours(format!("{pes} PEs"), "W", unit.power_w());
        out.ours(format!("{pes} PEs at 22 nm"), "mm2", cost::at_22_nm(costs, &unit)?.area_mm2());
    }
    out.ours("clock at 22 nm for 1 GHz at 7 nm", "MHz", 1000.0 / costs.get("scale.22to7.delay")?);
    out.ours("32 PEs and an HBM2 PHY of their own", "mm2", cost::with_phy(costs, 32, 1)?.area_mm2());
    out.ours("32 PEs and a quarter of a shared HBM2 PHY", "mm2", cost::with_phy(costs, 32, 4)?.area_mm2());
    let printed = costs.get("mtu.sha3.area")?;
    for interval in [1, 12, 24] {
        let area = cost::sha3_cores(costs, 32, interval)?;
        out.assumed(format!("SHA3 cores of 32 PEs, a node in {interval} cycles"), "mm2", area);
        out.assumed(format!("the same by the printed {printed} mm2, {interval} cycles"), "times", area / printed);
    }
    out.note("Fig. 5 takes a hash a cycle in each PE. The printed area of SHA3 has room for a few rounds a PE, not for the 24 that a hash a cycle needs: by the gates that are assumed for a round, a PE takes a node in several cycles.");
    out.note("The parts sum up to 5.102 mm2 and 7.858 W; the printed totals end in 1 and 7.");
    Ok(out)
}

pub(super) fn fig4(cpu: &Baseline) -> Section {
    let mut out = Section::new(Item::MtuFig4, "Fig. 4: the workloads on a CPU");
    for workload in Workload::FIGURES {
        for code in [Code::Kernels, Code::Textbook] {
            for threads in THREADS {
                if let Some(seconds) = cpu.seconds(workload, code, threads) {
                    let how = if cpu.is_measured(threads) { "measured" } else { "by Amdahl's law" };
                    let name = format!("{}, {}, {threads} threads, {how}", workload.name(), code.name());
                    out.ours(name, "ms", seconds * 1e3);
                }
            }
        }
    }
    for code in [Code::Kernels, Code::Textbook] {
        let of = |workload: Workload| {
            let time = |threads| Some((f64::from(threads), cpu.seconds(workload, code, threads)? * 1e3));
            let mut points = series(workload.name(), Origin::Measured, THREADS.into_iter().filter_map(time));
            for point in points.points.iter_mut().filter(|point| !cpu.is_measured(point.x as u32)) {
                point.origin = Origin::Extrapolated;
            }
            points
        };
        let title = format!("Trees of 2^{} leaves on this CPU, {}", cpu.log_size, code.name());
        let x = axis("threads, more than the cores by Amdahl's law", "threads", Scale::Log2);
        let all = Workload::FIGURES.map(of).into_iter().filter(|s| !s.points.is_empty()).collect();
        out.draw(
            if code == Code::Kernels { "mtu-fig4-kernels" } else { "mtu-fig4-textbook" },
            figure(title, x, axis("time (ms)", "time_ms", Scale::Log10), all),
        );
    }
    out.note(cpu.conditions.clone());
    out.note("BFS, DFS and hybrid on the CPU, the figure's bars, are measured by evergrove-bench figures mtu.");
    out.note("The figure's values are in an image; its text says that SHA3 scales \"by SHA extensions\", which serve SHA-1 and SHA-256 only.");
    out
}

/// Runs all combinations of workload, traversal, PEs and bandwidth.
fn runs(workloads: &[Workload], traversals: &[Traversal]) -> Result<Vec<(Params, Ours)>, LabError> {
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
    all.into_par_iter().map(|p| mtu::run(&p).map(|r| (p, Ours::of(&r, |r| r.seconds * 1e6)))).collect()
}

fn run_of(runs: &[(Params, Ours)], workload: Workload, traversal: Traversal, pes: u32, bandwidth: u64) -> Ours {
    let wanted =
        |p: &Params| (p.workload, p.traversal, p.pes, p.bandwidth_gb_s) == (workload, traversal, pes, bandwidth);
    runs.iter().find(|(p, _)| wanted(p)).map_or(Ours::from(f64::NAN), |(_, t)| *t)
}

fn find(runs: &[(Params, Ours)], workload: Workload, traversal: Traversal, pes: u32, bandwidth: u64) -> f64 {
    run_of(runs, workload, traversal, pes, bandwidth).value()
}

fn pes_axis() -> Axis {
    axis("processing elements", "pes", Scale::Log2)
}

/// Run time of the traversals by PEs at the least and the greatest bandwidth, with the points that follow from the
/// text.
fn by_pes(workload: Workload, runs: &[(Params, Ours)]) -> evergrove_plot::Figure {
    let mut all = Vec::new();
    for bandwidth in [64, 1024] {
        for traversal in Traversal::PAPER {
            let points = PES.map(|pes| (f64::from(pes), find(runs, workload, traversal, pes, bandwidth)));
            all.push(series(format!("{}, {bandwidth} GB/s", traversal.name()), Origin::Modelled, points));
        }
    }
    let derived: &[(f64, f64)] = match workload {
        Workload::MleEvaluation => &[(2.0, 524.3), (32.0, 32.8), (32.0, 98.3)],
        Workload::ProductMle => &[(32.0, 65.5)],
        _ => &[],
    };
    if !derived.is_empty() {
        all.push(series("derived from the paper's text", Origin::Derived, derived.iter().copied()));
    }
    let title = format!("Tree unit: {} of 2^20 leaves", workload.name());
    figure(title, pes_axis(), axis("time (µs)", "time_us", Scale::Log10), all)
}

pub(super) fn fig5() -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuFig5, "Fig. 5: run time of the unit, 2^20 leaves");
    let runs = runs(&Workload::FIGURES, &Traversal::PAPER)?;
    let at = |w, t, pes, bandwidth| run_of(&runs, w, t, pes, bandwidth);
    let (eval, product) = (Workload::MleEvaluation, Workload::ProductMle);
    let c = Closeness::Close;
    out.compare("hybrid, 2 PEs, 64 GB/s", "us", Derived(524.3), at(eval, Traversal::Hybrid, 2, 64), c);
    out.compare("hybrid, 32 PEs, 1024 GB/s", "us", Derived(32.8), at(eval, Traversal::Hybrid, 32, 1024), c);
    out.compare("BFS at 1024 GB/s, floor", "us", Derived(98.3), at(eval, Traversal::BreadthFirst, 32, 1024), c);
    out.compare("product MLE at 1024 GB/s, floor", "us", Derived(65.5), at(product, Traversal::Hybrid, 32, 1024), c);
    let gain = at(eval, Traversal::BreadthFirst, 32, 1024).by(at(eval, Traversal::Hybrid, 32, 1024));
    out.compare("hybrid over BFS, 32 PEs, 1024 GB/s (\"nearly 3x\")", "times", Printed(3.0), gain, c);
    // The number of PEs at which the time for two PEs, scaled by the number of PEs, reaches the limit of the memory.
    let saturation = |w, t| 2.0 * at(w, t, 2, 1024).by(at(w, t, 32, 1024)).value();
    let (bfs, all_levels) = (saturation(eval, Traversal::BreadthFirst), saturation(product, Traversal::Hybrid));
    out.compare("BFS meets the memory's floor at 1024 GB/s", "PEs", Derived(32.0 / 3.0), bfs, c);
    out.compare("product MLE meets it", "PEs", Derived(16.0), all_levels, c);
    let spread = Traversal::PAPER.map(|t| at(eval, t, 2, 1024).value());
    let spread = spread.into_iter().fold(0.0, f64::max) / spread.into_iter().fold(f64::INFINITY, f64::min);
    let text = "slowest by fastest traversal, 2 PEs, 1024 GB/s (\"little difference\")";
    out.compare(text, "times", Derived(1.0), spread, c);
    let more = at(eval, Traversal::Hybrid, 2, 64).by(at(eval, Traversal::Hybrid, 32, 64));
    out.compare("32 PEs over 2 PEs at 64 GB/s (\"little benefit\")", "times", Derived(1.0), more, c);
    let more = at(eval, Traversal::Hybrid, 32, 64).by(at(eval, Traversal::Hybrid, 32, 1024));
    out.compare("1024 over 64 GB/s, 32 PEs (\"near-linear\")", "times", Derived(16.0), more, c);
    let multiplications = |w| formula::multiplications(w, 20) as f64;
    let both = 2.0 * multiplications(Workload::BuildMle);
    let text = "multiplications of Build MLE, 2^(mu + 1) - 4 for mu = 20";
    out.compare(text, "", Printed(2_097_148.0), both, Closeness::Exact);
    for workload in Workload::FIGURES {
        out.draw(format!("mtu-fig5-{}", workload.name()), by_pes(workload, &runs));
    }
    for (p, micros) in &runs {
        let name = format!("{}, {}, {} PEs, {} GB/s", p.workload.name(), p.traversal.name(), p.pes, p.bandwidth_gb_s);
        out.ours(name, "us", *micros);
    }
    out.note("The paper prints none of these times. The figure's values are in an image; derived: n words of 32 bytes at the bandwidth, 3 n for BFS, 2 n for every level.");
    out.note("Accumulator by ruler+steal, latencies 10 for a product, 1 for a sum, 24 for SHA3.");
    Ok(out)
}

pub(super) fn fig6(cpu: &Baseline) -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuFig6, "Fig. 6: speed-up over the CPU at as many threads as PEs");
    let runs = runs(&Workload::FIGURES, &[Traversal::Hybrid])?;
    for code in [Code::Textbook, Code::Kernels] {
        for (bandwidth, claim) in [(64, 1478.0), (1024, 9440.0)] {
            let mut ratios = Vec::new();
            let mut all = Vec::new();
            for workload in Workload::FIGURES {
                let mut points = Vec::new();
                for pes in PES {
                    let Some(seconds) = cpu.seconds(workload, code, pes) else { continue };
                    let scale = 2_f64.powi(20 - cpu.log_size as i32);
                    let ratio = seconds * scale * 1e6 / find(&runs, workload, Traversal::Hybrid, pes, bandwidth);
                    out.ours(
                        format!("{}, {pes} PEs, {bandwidth} GB/s, over {}", workload.name(), code.name()),
                        "times",
                        ratio,
                    );
                    ratios.push((pes, ratio));
                    points.push((f64::from(pes), ratio));
                }
                let mut ratios = series(workload.name(), Origin::Modelled, points);
                for point in ratios.points.iter_mut().filter(|point| !cpu.is_measured(point.x as u32)) {
                    point.origin = Origin::Extrapolated;
                }
                all.push(ratios);
            }
            let name = format!("published average, {claim}");
            all.push(series(name, Origin::Published, PES.map(|pes| (f64::from(pes), claim))));
            all.retain(|s| !s.points.is_empty());
            let title = format!("Tree unit at {bandwidth} GB/s over {} of this CPU, a thread for each PE", code.name());
            let which = if code == Code::Kernels { "kernels" } else { "textbook" };
            let y = axis("speed-up (times)", "speed_up", Scale::Log10);
            out.draw(format!("mtu-fig6-{bandwidth}-{which}"), figure(title, pes_axis(), y, all));
            let ratios_at = |pes: u32| ratios.iter().filter(move |(p, _)| *p == pes).map(|(_, r)| *r);
            for pes in PES {
                let count = ratios_at(pes).count() as f64;
                let mean = ratios_at(pes).sum::<f64>() / count;
                let text = format!("arithmetic mean at {pes} PEs, {bandwidth} GB/s, over {}", code.name());
                out.ours(text, "times", mean);
            }
            let n = ratios.len() as f64;
            let ratios: Vec<f64> = ratios.iter().map(|(_, r)| *r).collect();
            let means = [
                ("arithmetic", ratios.iter().sum::<f64>() / n),
                ("geometric", (ratios.iter().map(|r| r.ln()).sum::<f64>() / n).exp()),
                ("harmonic", n / ratios.iter().map(|r| r.recip()).sum::<f64>()),
            ];
            let greatest = ratios.iter().copied().fold(0.0, f64::max);
            out.ours(format!("greatest at {bandwidth} GB/s, over {}", code.name()), "times", greatest);
            for (name, mean) in means {
                let text = format!("{name} mean at {bandwidth} GB/s, over {}", code.name());
                if code == Code::Textbook {
                    out.compare(text, "times", Printed(claim), mean, Closeness::Close);
                } else {
                    out.ours(text, "times", mean);
                }
            }
        }
    }
    // The CPU time that the published means imply, if it were the same for all workloads and threads.
    for (bandwidth, claim) in [(64, 1478.0), (1024, 9440.0)] {
        let times = |w| PES.map(|pes| find(&runs, w, Traversal::Hybrid, pes, bandwidth));
        let times: Vec<f64> = Workload::FIGURES.into_iter().flat_map(times).collect();
        let reciprocal = times.iter().map(|t| t.recip()).sum::<f64>() / times.len() as f64;
        out.ours(format!("mean CPU time that {claim} at {bandwidth} GB/s implies"), "s", claim / reciprocal / 1e6);
    }
    for code in [Code::Textbook, Code::Kernels] {
        let times = Workload::FIGURES.into_iter().flat_map(|w| PES.map(|threads| cpu.seconds(w, code, threads)));
        let times: Vec<f64> = times.flatten().collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64 * 2_f64.powi(20 - cpu.log_size as i32);
        out.ours(format!("mean time of this CPU at 2 to 32 threads, {}", code.name()), "s", mean);
    }
    out.note(cpu.conditions.clone());
    out.note("The paper does not say which mean \"average\" is, and calls 1478 an average in its text and \"up to\" in its abstract. Its means imply a CPU time of 0.78 s where the unit takes 2^19 cycles, and what is listed over all cells, on another CPU (Xeon Gold 5218).");
    for workload in Workload::FIGURES {
        let Some(seconds) = cpu.seconds(workload, Code::Kernels, cpu.cores()) else { continue };
        let micros = seconds * 2_f64.powi(20 - cpu.log_size as i32) * 1e6;
        for (pes, bandwidth) in [(8, 256), (32, 1024)] {
            let name = workload.name();
            let text = format!("{name}, {pes} PEs, {bandwidth} GB/s, over our kernels on all {} cores", cpu.cores());
            out.ours(text, "times", micros / find(&runs, workload, Traversal::Hybrid, pes, bandwidth));
        }
    }
    out.note("More threads than cores are computed by Amdahl's law through one thread and all cores; their points are hatched. The textbook takes SHA3 from the library sha3 and runs every level on all threads.");
    Ok(out)
}

pub(super) fn fig7(costs: &Costs) -> Result<Section, LabError> {
    let mut out = Section::new(Item::MtuFig7, "Fig. 7: run time by area, Merkle tree, hybrid");
    let runs = runs(&[Workload::MerkleTree], &[Traversal::Hybrid])?;
    let at = |pes, bandwidth| find(&runs, Workload::MerkleTree, Traversal::Hybrid, pes, bandwidth);
    for (p, micros) in &runs {
        let area = cost::unit(costs, p.pes)?.area_mm2();
        let better = |(q, t): &(Params, Ours)| {
            q.bandwidth_gb_s == p.bandwidth_gb_s && q.pes < p.pes && t.value() <= 1.01 * micros.value()
        };
        let front = if runs.iter().any(better) { "" } else { ", on its front" };
        out.ours(format!("{area:.2} mm2 ({} PEs), {} GB/s{front}", p.pes, p.bandwidth_gb_s), "us", *micros);
    }
    let areas: Result<Vec<f64>, LabError> = PES.iter().map(|pes| Ok(cost::unit(costs, *pes)?.area_mm2())).collect();
    let areas = areas?;
    let front = |bandwidth| {
        let points = areas.iter().zip(PES).map(|(area, pes)| (*area, at(pes, bandwidth)));
        series(format!("{bandwidth} GB/s"), Origin::Modelled, points)
    };
    let x = axis("area at 7 nm (mm²)", "area_mm2", Scale::Linear);
    let y = axis("time (µs)", "time_us", Scale::Log10);
    let title = "Tree unit: Merkle tree of 2^20 leaves, hybrid, 2 to 32 PEs";
    out.draw("mtu-fig7", figure(title, x, y, BANDWIDTHS.map(front).into()));
    let area = cost::unit(costs, 8)?.area_mm2();
    let c = Closeness::Close;
    out.compare(
        format!("time at 256 by time at 1024 GB/s, {area:.2} mm2 (\"alike\")"),
        "times",
        Derived(1.0),
        at(8, 256) / at(8, 1024),
        c,
    );
    let below = cost::unit(costs, 16)?.area_mm2();
    let overlap = at(16, 512) / at(16, 1024);
    out.compare(
        format!("512 by 1024 GB/s, {below:.2} mm2 (\"below 3 mm2 the fronts overlap\")"),
        "times",
        Derived(1.0),
        overlap,
        c,
    );
    out.ours("256 by 1024 GB/s there", "times", at(16, 256) / at(16, 1024));
    out.ours("256 by 1024 GB/s at 5.10 mm2", "times", at(32, 256) / at(32, 1024));
    Ok(out)
}

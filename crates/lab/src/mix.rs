//! Which mix of the three machines shortens one update most, under a budget of area.
//!
//! A trace of an update says for each kind of step how long this CPU took and what work it did. A chip has a Merkle
//! engine with a transform in front, a tree unit, a multiplier, or several of them, and stacks of HBM2. Each machine
//! takes over the kinds of steps that are all its own work; the CPU keeps the others. The update takes the sum: nothing
//! overlaps, since each step needs the result of the one before.
//!
//! - The Merkle engine runs every tree of the trace, cycle by cycle. A proof of work takes it a cycle for each number.
//! - The tree unit does products of 64 bits: a PE for nodes of 16 bytes has four multipliers. SumChecks take the closed
//!   form of the traversal breadth first, since a round is a level.
//! - The multiplier has the sums of points of the trace.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use crate::LabError;
use crate::cost::{Breakdown, Costs};
use crate::msm;
use crate::mtu::{self, Traversal, Workload};
use crate::poseidon::{self, resources};
use crate::whatif::{Proofs, RUN, Tree, sums};
use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};

/// Clock of all machines in MHz.
const CLOCK: u64 = 1000;
/// Bytes of a node of the tree unit, and its products of 64-bit words in a cycle.
const NODE: u64 = 16;
const PRODUCTS: f64 = ((NODE / 8) * (NODE / 8)) as f64;
/// Usable share of the bandwidth of HBM2.
const EFFICIENCY: f64 = 0.9;
/// A gain of less than this share is not worth area.
pub const TOLERANCE: f64 = 0.01;

/// Kinds of steps that are all work of the Merkle engine, of the tree unit, and of the multiplier.
const ENGINE: [&str; 3] = ["lde", "hashing", "grinding"];
const UNIT: [&str; 5] = ["quotient", "bus", "rows", "openings", "fri"];
const MULTIPLIER: [&str; 1] = ["msm"];

/// The machines on a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Mix {
    /// Cores of the leaf hasher; 0 for no Merkle engine.
    pub cores: u32,
    /// Elements of the tree unit; 0 for none.
    pub pes: u32,
    /// Elements of the multiplier; 0 for none.
    pub multiplier: u32,
    /// Stacks of HBM2.
    pub stacks: u32,
}

/// One kind of step of the update.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// The kind.
    pub kind: String,
    /// The machine that does these steps.
    pub machine: &'static str,
    /// Seconds on the CPU of the trace.
    pub before_s: f64,
    /// Seconds with the mix. The steps of the engine's trees count as one phase, `hashing`.
    pub after_s: f64,
}

/// The update with a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The mix.
    pub mix: Mix,
    /// Area at 7 nm (the multiplier's at 12 nm).
    pub area: Breakdown,
    /// All kinds of steps.
    pub phases: Vec<Phase>,
    /// Seconds in which the columns cross the link, where no machine takes them in as they come.
    pub link_s: f64,
    /// Seconds of the proofs of the update.
    pub seconds: f64,
    /// Seconds on the CPU alone by these.
    pub speedup: f64,
}

/// The best mixes under a budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Budget {
    /// mm2 at 7 nm.
    pub area_mm2: f64,
    /// Of all mixes, with a Merkle engine alone, and with a tree unit alone; `None` if nothing fits.
    pub best: Option<Outcome>,
    /// With a Merkle engine alone.
    pub engine: Option<Outcome>,
    /// With a tree unit alone.
    pub unit: Option<Outcome>,
}

/// All mixes of one update.
#[derive(Clone, Debug)]
pub struct Mixes {
    outcomes: Vec<Outcome>,
    limit: f64,
}

/// The engine for a tree. Its matrix comes by columns over the link, and is extended in front of the leaf hasher.
fn engine(costs: &Costs, tree: &Tree, mix: Mix) -> Result<poseidon::Params, LabError> {
    let words = 8 * mix.cores;
    let base = poseidon::Params {
        log_rows: tree.log_rows,
        // A leaf of up to four words is not hashed, but passes through the engine.
        columns: tree.columns.max(5),
        lhe_cores: mix.cores,
        input_queue: 512 * u64::from(mix.cores),
        link_gbit_s: 8.0 * costs.get("link.bandwidth")?,
        frequency_mhz: CLOCK,
        hbm_gb_s: (f64::from(mix.stacks) * costs.get("hbm2.phy.bandwidth")?) as u64,
        hbm_efficiency: EFFICIENCY,
        // Full groups overwrite the rest of the state.
        state_words: if tree.columns.is_multiple_of(8) { 4 } else { 12 },
        ..poseidon::Params::default()
    };
    Ok(if tree.log_blowup == 0 {
        base
    } else {
        let network_gbit_s = f64::from(64 * words) * CLOCK as f64 / 1e3;
        poseidon::Params { by_columns: true, log_blowup: tree.log_blowup, lde_words: words, network_gbit_s, ..base }
    })
}

/// Seconds of the engine on all trees, one after the other.
fn trees(costs: &Costs, proofs: &Proofs, mix: Mix) -> Result<f64, LabError> {
    let mut all = 0.0;
    for (tree, count) in &proofs.trees {
        let p = engine(costs, tree, mix)?;
        p.check()?;
        let cycles =
            if p.passes() * p.rows() <= RUN { poseidon::run(&p)?.cycles as f64 } else { poseidon::formula::cycles(&p) };
        all += *count as f64 * cycles / (CLOCK as f64 * 1e6);
    }
    Ok(all)
}

/// The tree unit. Its traversal is breadth first, as SumChecks ask for.
fn unit(costs: &Costs, mix: Mix) -> Result<mtu::Params, LabError> {
    Ok(mtu::Params {
        workload: Workload::MleEvaluation,
        traversal: Traversal::BreadthFirst,
        pes: mix.pes,
        node_bytes: NODE,
        frequency_mhz: CLOCK,
        bandwidth_gb_s: (f64::from(mix.stacks) * costs.get("hbm2.phy.bandwidth")?) as u64,
        efficiency: EFFICIENCY,
        ..mtu::Params::default()
    })
}

fn area(costs: &Costs, proofs: &Proofs, mix: Mix) -> Result<Breakdown, LabError> {
    let mut out = Breakdown::default();
    if mix.cores > 0 {
        // The transform of the largest tree serves the others.
        if let Some(tree) = proofs.trees.keys().max_by_key(|tree| (tree.log_rows, tree.columns)) {
            for part in resources::area(costs, &engine(costs, tree, mix)?)?.parts {
                out.add(&part.name, part.area_mm2, 0.0);
            }
        }
    }
    if mix.pes > 0 {
        // The stacks are those of the whole chip.
        let parts = mtu::cost::design(costs, &unit(costs, mix)?)?.parts;
        let area = parts.iter().filter(|part| part.name != "HBM2 PHY").map(|part| part.area_mm2).sum();
        out.add("tree unit", area, 0.0);
    }
    if mix.multiplier > 0 {
        let area = msm::cost::elements(costs, &msm::Params::default())?.area_mm2();
        out.add("multiplier", area * costs.get("scale.28to12.area")?, 0.0);
    }
    out.add("HBM2 PHY", f64::from(mix.stacks) * costs.get("hbm2.phy.area")?, 0.0);
    Ok(out)
}

/// The update with a mix, whose engine takes `trees_s` for all trees.
fn outcome(costs: &Costs, proofs: &Proofs, mix: Mix, trees_s: f64) -> Result<Outcome, LabError> {
    let cycle = 1e-6 / CLOCK as f64;
    let permutation = poseidon::Pipelines::default().permutation() as f64;
    // The engine's branch hasher permutes the transcript, or the host does.
    let turn = if mix.cores > 0 { permutation } else { costs.get("link.turn")? * CLOCK as f64 };
    let mut phases = Vec::new();
    for (kind, work) in &proofs.kinds {
        let (machine, after_s) = match kind.as_str() {
            "lde" if mix.cores > 0 => ("Merkle engine", 0.0),
            "hashing" if mix.cores > 0 => ("Merkle engine", trees_s),
            "grinding" if mix.cores > 0 => {
                ("Merkle engine", (work.hashes / f64::from(mix.cores) + permutation) * cycle)
            }
            kind if mix.pes > 0 && UNIT.contains(&kind) => {
                let operations = work.multiplications / PRODUCTS;
                let unit = unit(costs, mix)?;
                ("tree unit", mtu::formula::rounds(&unit, operations, work.bytes, work.rounds, turn) * cycle)
            }
            "msm" if mix.multiplier > 0 => {
                ("multiplier", sums(proofs, &msm::Params::default())?.all_s.unwrap_or(work.seconds))
            }
            _ => ("CPU", work.seconds),
        };
        phases.push(Phase { kind: kind.clone(), machine, before_s: work.seconds, after_s });
    }
    // The engine takes columns in as they come. A tree unit without it gets them first.
    let columns = |(tree, count): (&Tree, &u64)| {
        *count as f64 * f64::from(8 * tree.columns) * 2_f64.powi((tree.log_rows - tree.log_blowup) as i32)
    };
    let bytes: f64 = proofs.trees.iter().map(columns).sum();
    let link_s = if mix.pes > 0 && mix.cores == 0 { bytes / (costs.get("link.bandwidth")? * 1e9) } else { 0.0 };
    let saved: f64 = phases.iter().map(|phase| phase.before_s - phase.after_s).sum();
    let seconds = proofs.seconds - saved + link_s;
    let area = area(costs, proofs, mix)?;
    Ok(Outcome { mix, area, phases, link_s, seconds, speedup: proofs.seconds / seconds })
}

impl Mixes {
    /// Runs all mixes: engines of 1 to 16 cores, tree units of 2 to 256 PEs, one to four stacks of HBM2, and a
    /// multiplier if the trace has sums of points.
    ///
    /// # Errors
    /// If a machine refuses the shape of a tree, or the cost table lacks an entry.
    pub fn new(costs: &Costs, proofs: &Proofs) -> Result<Self, LabError> {
        let cores = if proofs.trees.is_empty() { vec![0] } else { vec![0, 1, 2, 4, 8, 16] };
        let multipliers = if proofs.products.is_empty() { vec![0] } else { vec![0, msm::Params::default().pes()] };
        let mut mixes = Vec::new();
        for (&cores, &multiplier) in cores.iter().flat_map(|c| multipliers.iter().map(move |m| (c, m))) {
            for pes in [0, 2, 4, 8, 16, 32, 64, 128, 256] {
                for stacks in [1, 2, 4] {
                    mixes.push(Mix { cores, pes, multiplier, stacks });
                }
            }
        }
        mixes.retain(|mix| mix.cores + mix.pes + mix.multiplier > 0);
        let engines: BTreeMap<(u32, u32), f64> = mixes
            .par_iter()
            .filter(|mix| mix.cores > 0 && mix.pes == 0 && mix.multiplier == 0)
            .map(|mix| Ok(((mix.cores, mix.stacks), trees(costs, proofs, *mix)?)))
            .collect::<Result<_, LabError>>()?;
        let time = |mix: &Mix| engines.get(&(mix.cores, mix.stacks)).copied().unwrap_or(0.0);
        let outcomes = mixes.iter().map(|mix| outcome(costs, proofs, *mix, time(mix))).collect::<Result<_, _>>()?;
        let taken = [&ENGINE[..], &UNIT, &MULTIPLIER].concat();
        let limit = proofs.seconds / (proofs.seconds - proofs.of(&taken).seconds).max(f64::MIN_POSITIVE);
        Ok(Self { outcomes, limit })
    }
    /// The speed-up if the machines took no time: Amdahl's bound.
    pub fn limit(&self) -> f64 {
        self.limit
    }
    /// The smallest mix within [`TOLERANCE`] of the fastest one that `fits`.
    fn best(&self, fits: impl Fn(&Outcome) -> bool) -> Option<Outcome> {
        let fitting: Vec<&Outcome> = self.outcomes.iter().filter(|outcome| fits(outcome)).collect();
        let least = fitting.iter().map(|outcome| outcome.seconds).fold(f64::INFINITY, f64::min);
        let near = fitting.into_iter().filter(|outcome| outcome.seconds <= (1.0 + TOLERANCE) * least);
        near.min_by(|a, b| a.area.area_mm2().total_cmp(&b.area.area_mm2())).cloned()
    }
    /// The best mixes within an area.
    pub fn within(&self, area_mm2: f64) -> Budget {
        let fits = |outcome: &Outcome| outcome.area.area_mm2() <= area_mm2;
        let only = |outcome: &Outcome, one: u32, others: u32| fits(outcome) && one > 0 && others == 0;
        Budget {
            area_mm2,
            best: self.best(fits),
            engine: self.best(|o| only(o, o.mix.cores, o.mix.pes + o.mix.multiplier)),
            unit: self.best(|o| only(o, o.mix.pes, o.mix.cores + o.mix.multiplier)),
        }
    }
    /// The speed-ups by area.
    pub fn figure(&self, title: &str, budgets: &[Budget]) -> Figure {
        let axis = |label: &str, column| Axis { label: label.to_owned(), column, scale: Scale::Linear };
        // Amdahl's law on measured times: no point is the result of a run alone.
        let series = |name: &str, of: &dyn Fn(&Budget) -> Option<f64>| {
            let point =
                |budget: &Budget| Some(Point { x: budget.area_mm2, y: of(budget)?, origin: Origin::Extrapolated });
            Series { name: name.to_owned(), points: budgets.iter().filter_map(point).collect() }
        };
        let speedup = |outcome: &Option<Outcome>| outcome.as_ref().map(|outcome| outcome.speedup);
        let mut all = vec![
            series("best mix", &|budget| speedup(&budget.best)),
            series("Merkle engine alone", &|budget| speedup(&budget.engine)),
            series("tree unit alone", &|budget| speedup(&budget.unit)),
            series("machines that take no time", &|_| Some(self.limit)),
        ];
        all.retain(|series| !series.points.is_empty());
        let (x, y) = (axis("area at 7 nm (mm²)", "area_mm2"), axis("speed-up of the update (times)", "speedup"));
        Figure { title: title.to_owned(), x, y, series: all }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An update of one proof of a second: a tree of 2^10 leaves, a bus, a rest that no machine does.
    fn trace(points: u64) -> Proofs {
        let mut at = 0.0;
        let mut span = |name: &str, cat: &str, dur: f64, args: serde_json::Value| {
            at += dur;
            json!({ "ph": "X", "name": name, "cat": cat, "pid": 1, "tid": 0, "ts": at - dur, "dur": dur, "args": args })
        };
        let matrix =
            |rows: u64, columns: u64| json!({ "rows": rows, "columns": columns, "hashes": rows, "bytes": 8 * rows });
        let mut events = Vec::new();
        for _ in 0..2 {
            events.push(span("stack.extension", "commitment", 50_000.0, matrix(512, 16)));
            events.push(span("stack.hashing", "commitment", 150_000.0, matrix(512, 16)));
        }
        events.push(span("stack.hashing", "commitment", 100_000.0, matrix(1024, 4)));
        let bus = json!({ "multiplications": 4_000_000, "bytes": 16_000_000, "rounds": 100 });
        events.push(span("bus", "bus", 200_000.0, bus));
        events.push(span("grinding", "grinding", 100_000.0, json!({ "hashes": 30_000 })));
        if points > 0 {
            events.push(span("commit", "msm", 100_000.0, json!({ "points": points })));
        }
        events.push(
            json!({ "ph": "X", "name": "merge", "cat": "proof", "pid": 1, "tid": 0, "ts": 0, "dur": 1e6, "args": {} }),
        );
        let other = json!({ "format": "evergrove-trace", "version": 1 });
        Proofs::parse(&json!({ "otherData": other, "traceEvents": events }).to_string()).expect("a trace")
    }

    #[test]
    fn machines_take_over_their_steps() {
        let (costs, proofs) = (Costs::published(), trace(0));
        let tree = Tree { log_rows: 10, columns: 16, log_blowup: 1 };
        assert_eq!(proofs.trees, [(tree, 1)].into());
        let mixes = Mixes::new(&costs, &proofs).expect("mixes");
        let mix = Mix { cores: 2, pes: 8, multiplier: 0, stacks: 1 };
        let of = |mix: Mix| mixes.outcomes.iter().find(|outcome| outcome.mix == mix).expect("an outcome");
        let both = of(mix);
        let phase = |outcome: &Outcome, kind: &str| {
            outcome.phases.iter().find(|phase| phase.kind == kind).expect("a phase").clone()
        };
        let run = poseidon::run(&engine(&costs, &tree, mix).expect("an engine")).expect("a run");
        assert_eq!(phase(both, "hashing").after_s, run.cycles as f64 / 1e9);
        assert_eq!((phase(both, "lde").machine, phase(both, "lde").after_s), ("Merkle engine", 0.0));
        // A million products of four words on eight elements, and a challenge by a permutation of 720 cycles a round.
        let bus = phase(both, "bus").after_s * 1e9;
        assert!((bus - (125_000.0 + 100.0 * (12.0 + 1.0 + 720.0))).abs() < 1.0, "{bus}");
        assert!((phase(both, "grinding").after_s * 1e9 - 15_720.0).abs() < 1.0);
        // The rest takes 200 ms.
        let machines: f64 = both.phases.iter().map(|phase| phase.after_s).sum();
        assert!((both.seconds - 0.2 - machines).abs() < 1e-9 && (mixes.limit() - 1.0 / 0.2).abs() < 1e-9);
        // A tree unit alone gets the columns first, and challenges from the host.
        let alone = of(Mix { cores: 0, ..mix });
        assert!((alone.link_s - 512.0 * 16.0 * 8.0 / 32e9).abs() < 1e-12);
        assert!((phase(alone, "bus").after_s * 1e9 - (125_000.0 + 100.0 * 2_013.0)).abs() < 1.0);
        assert_eq!(phase(alone, "hashing").machine, "CPU");
    }

    #[test]
    fn more_area_is_not_slower_and_no_mix_beats_the_limit() {
        let mixes = Mixes::new(&Costs::published(), &trace(0)).expect("mixes");
        let budgets: Vec<Budget> = [10.0, 18.0, 25.0, 50.0, 200.0].map(|area| mixes.within(area)).into();
        assert!(budgets[0].best.is_none(), "one PHY alone has 14.9 mm2");
        let best: Vec<&Outcome> = budgets.iter().filter_map(|budget| budget.best.as_ref()).collect();
        assert!(best.len() >= 3 && best.iter().all(|outcome| outcome.speedup <= mixes.limit()));
        assert!(best.is_sorted_by(|a, b| b.seconds <= (1.0 + TOLERANCE) * a.seconds));
        for Budget { area_mm2, best, engine, unit } in &budgets[1..] {
            let best = best.as_ref().expect("a mix");
            for one in [engine, unit].into_iter().flatten() {
                assert!(best.seconds <= (1.0 + TOLERANCE) * one.seconds && one.area.area_mm2() <= *area_mm2);
            }
            assert_eq!(best.mix.multiplier, 0);
        }
    }

    #[test]
    fn sums_of_points_ask_for_a_multiplier() {
        let mixes = Mixes::new(&Costs::published(), &trace(60_000)).expect("mixes");
        let best = mixes.within(1e3).best.expect("a mix");
        assert_eq!(best.mix.multiplier, msm::Params::default().pes());
        assert!(best.area.parts.iter().any(|part| part.name == "multiplier" && part.area_mm2 > 10.0));
    }
}

//! What the papers say of parts that `rtl/` has, beside the stages and the gates of `rtl/`.

use super::origin::{Derived, Fitted, Ours};
use super::{Closeness, Item, Section};
use crate::LabError;
use crate::cost::Costs;
use crate::engine::Stall;
use crate::msm::{self, Params, formula};
use crate::poseidon::resources;
use crate::synth::Synthesis;

/// PEs of the MTU paper's Table 4.
const PES: f64 = 32.0;

/// The multiplier with the point adder of `rtl/`, beside the one with fitted stages.
fn adder(out: &mut Section, costs: &Costs) -> Result<(), LabError> {
    let published = Synthesis::published();
    let fitted = Params::default();
    let ours = Params { padd_latency: msm::padd_cycles(), ..Params::default() };
    out.compare(
        "cycles of a point in the adder, with the read of its bucket: padd_377",
        "cycles",
        Fitted(fitted.padd_latency as f64),
        ours.padd_latency as f64,
        Closeness::Close,
    );
    let throughput =
        formula::table3_throughput(&Params { padd_latency: ours.padd_latency, ..Params::faithful(16, 20) });
    out.rtl("products of 2^16 points a second on 20 PEs, as Table III counts, with padd_377", "1/s", throughput);
    for (name, p) in [("fitted stages", fitted), ("padd_377", ours)] {
        let report = msm::run(&p)?;
        let lost = report.stream_activity.stalled(Stall::Hazard) as f64 / report.stream as f64;
        let quantity = [format!("honest: 20 PEs, 2^16, {name}"), format!("honest: cycles lost to buckets, {name}")];
        out.rtl(&quantity[0], "ms", Ours::of(&report, |r| r.seconds * 1e3));
        out.rtl(&quantity[1], "of the stream", Ours::of(&report, |_| lost));
    }
    if let Some(core) = published.costs("padd_377") {
        let area = costs.area(core, "gate.area.28")?;
        out.compare("point adder at 28 nm: padd_377", "mm2", Fitted(costs.get("msm.pe.area")?), area, Closeness::Close);
    }
    Ok(())
}

pub(super) fn hardware(costs: &Costs) -> Result<Section, LabError> {
    let mut out = Section::new(Item::Hardware, "The papers' parts beside the modules of rtl/");
    let published = Synthesis::published();
    for (name, module) in [
        ("a product of 64 bits", "goldilocks_mul"),
        ("a node of the table of eq, 64 bits", "mle_node"),
        ("a product of 255 bits", "mont_mul"),
        ("a product of 377 bits", "mont_mul_377"),
        ("a sum of points of BLS12-377", "padd_377"),
        ("Keccak-f[1600]", "keccak_f"),
        ("a Poseidon permutation", "poseidon_pipe"),
    ] {
        let cycles = published.cycles(module)?;
        out.rtl(format!("stages of {name} ({module})"), "cycles", cycles.latency as f64);
    }
    adder(&mut out, costs)?;
    if let Some(mul) = published.costs("goldilocks_mul") {
        let dense = resources::dense();
        out.compare(
            "DSP slices of a Poseidon permutation: 472 of goldilocks_mul",
            "",
            Derived(dense.dsps as f64),
            (dense.multipliers * mul.dsps) as f64,
            Closeness::Close,
        );
    }
    let shrink = costs.get("scale.22to7.area")?;
    if let Some(core) = published.costs("keccak_f_24") {
        let printed = costs.get("mtu.sha3.area")? / PES;
        let ours = costs.area(core, "gate.area.22")? / shrink;
        out.compare("SHA3 core of a PE at 7 nm: keccak_f_24", "mm2", Derived(printed), ours, Closeness::Close);
    }
    if let Some(core) = published.costs("mont_mul") {
        let printed = costs.get("mtu.modulus.area")? / PES;
        let ours = costs.area(core, "gate.area.22")? / shrink;
        out.compare("modulus unit of a PE at 7 nm: mont_mul", "mm2", Derived(printed), ours, Closeness::Close);
    }
    out.note("Stages of rtl/ are checked in a simulator. The tree unit and the Poseidon engine are modelled with them; the multiplier's tables use the fitted 82 stages, and the lines above name padd_377 where they use its own.");
    out.note("Areas of rtl/ are gates of Yosys by assumed gate equivalents and areas of one (data/costs.toml), before placement, without memories.");
    Ok(out)
}

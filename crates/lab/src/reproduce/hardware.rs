//! What the papers say of parts that `rtl/` has, beside the stages and the gates of `rtl/`.

use super::origin::{Derived, Fitted};
use super::{Closeness, Item, Section};
use crate::LabError;
use crate::cost::Costs;
use crate::msm;
use crate::poseidon::resources;
use crate::synth::Synthesis;

/// PEs of the MTU paper's Table 4.
const PES: f64 = 32.0;
/// Products of a point adder, and how many of them follow each other (add-2008-hwcd-3: T1 k, its product by T2, and the
/// products of the sums).
const PADD: (f64, f64) = (9.0, 3.0);

pub(super) fn hardware(costs: &Costs) -> Result<Section, LabError> {
    let mut out = Section::new(Item::Hardware, "The papers' parts beside the modules of rtl/");
    let published = Synthesis::published();
    for (name, module) in [
        ("a product of 64 bits", "goldilocks_mul"),
        ("a node of the table of eq, 64 bits", "mle_node"),
        ("a product of 255 bits", "mont_mul"),
        ("a product of 377 bits", "mont_mul_377"),
        ("Keccak-f[1600]", "keccak_f"),
        ("a Poseidon permutation", "poseidon_pipe"),
    ] {
        let cycles = published.cycles(module)?;
        out.rtl(format!("stages of {name} ({module})"), "cycles", cycles.latency as f64);
    }
    let product = published.cycles("mont_mul_377")?.latency as f64;
    out.compare(
        "stages of a point adder: three products of mont_mul_377 in a row",
        "cycles",
        Fitted(msm::Params::default().padd_latency as f64),
        PADD.1 * product,
        Closeness::Close,
    );
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
    if let Some(core) = published.costs("mont_mul_377") {
        let ours = PADD.0 * costs.area(core, "gate.area.28")?;
        out.compare(
            "point adder at 28 nm: nine of mont_mul_377",
            "mm2",
            Fitted(costs.get("msm.pe.area")?),
            ours,
            Closeness::Close,
        );
    }
    out.note("Stages of rtl/ are checked in a simulator. The tree unit and the Poseidon engine are modelled with them; the multiplier is modelled with the fitted 82 stages, since rtl/ has products and no point adder.");
    out.note("Areas of rtl/ are gates of Yosys by assumed gate equivalents and areas of one (data/costs.toml), before placement, without memories.");
    Ok(out)
}

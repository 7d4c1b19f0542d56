//! Area and power of a tree unit: Table 4 of the MTU paper, scaled to other numbers of PEs.

use super::Params;
use crate::LabError;
use crate::cost::{Breakdown, Costs};
use crate::engine::MemoryKind;

/// PEs of the design in Table 4, and bytes of its nodes.
const TABLE_PES: f64 = 32.0;
const TABLE_BYTES: f64 = 32.0;
/// Rounds of Keccak in SHA3.
const KECCAK_ROUNDS: u64 = 24;

/// A unit of `pes` PEs at 7 nm and 1 GHz, without a memory interface.
///
/// Modulus units, SHA3 and "misc" scale with the PEs. The accumulator's memory does not, since the height of the tree
/// determines its size.
///
/// # Errors
/// If the table lacks an entry.
pub fn unit(costs: &Costs, pes: u32) -> Result<Breakdown, LabError> {
    let share = f64::from(pes) / TABLE_PES;
    let mut out = Breakdown::default();
    out.add("modulus", share * costs.get("mtu.modulus.area")?, share * costs.get("mtu.modulus.power")?);
    out.add("sha3", share * costs.get("mtu.sha3.area")?, share * costs.get("mtu.sha3.power")?);
    out.add("misc", share * costs.get("mtu.misc.area")?, share * costs.get("mtu.misc.power")?);
    out.add("memory", costs.get("mtu.memory.area")?, costs.get("mtu.memory.power")?);
    Ok(out)
}

/// A design at 7 nm and its own clock, with every PE busy. Includes the PHYs of an HBM2 memory or of a memory described
/// by bandwidth only.
///
/// The modulus units scale with the square of a node's bits, relative to the table's 256; the accumulator's memory
/// scales with the bits.
///
/// # Errors
/// If the table lacks an entry.
pub fn design(costs: &Costs, p: &Params) -> Result<Breakdown, LabError> {
    let (words, clock) = (p.node_bytes as f64 / TABLE_BYTES, p.frequency_mhz as f64 / 1e3);
    let mut out = Breakdown::default();
    for part in unit(costs, p.pes)?.parts {
        let scale = match part.name.as_str() {
            "modulus" => words * words,
            "memory" => words,
            _ => 1.0,
        };
        out.add(&part.name, scale * part.area_mm2, scale * clock * part.power_w);
    }
    if matches!(p.memory, MemoryKind::Bandwidth | MemoryKind::Hbm2) {
        let peak = p.memory.timing(p.memory_modules).map_or(p.bandwidth_gb_s as f64, |t| t.peak_bandwidth() / 1e9);
        let phys = peak / costs.get("hbm2.phy.bandwidth")?;
        out.add("HBM2 PHY", phys * costs.get("hbm2.phy.area")?, phys * costs.get("hbm2.phy.power")?);
    }
    Ok(out)
}

/// Area at 7 nm of the SHA3 cores of `pes` PEs that each take a node every `interval` cycles. A core has as many rounds
/// of Keccak as it needs to compute 24 in that time, each with registers for the state.
///
/// # Errors
/// If the table lacks an entry.
pub fn sha3_cores(costs: &Costs, pes: u32, interval: u64) -> Result<f64, LabError> {
    let rounds = KECCAK_ROUNDS.div_ceil(interval.max(1)) as f64;
    let gates = rounds * costs.get("keccak.round.gates")?;
    Ok(f64::from(pes) * gates * costs.get("gate.area.22")? / 1e6 / costs.get("scale.22to7.area")?)
}

/// A unit and its share of an HBM2 PHY that `sharers` units use together.
///
/// # Errors
/// If the table lacks an entry.
pub fn with_phy(costs: &Costs, pes: u32, sharers: u32) -> Result<Breakdown, LabError> {
    let mut out = unit(costs, pes)?;
    let share = f64::from(sharers.max(1)).recip();
    out.add("HBM2 PHY", share * costs.get("hbm2.phy.area")?, share * costs.get("hbm2.phy.power")?);
    Ok(out)
}

/// The same unit at 22 nm, where the paper synthesised it, by the paper's factors for area and power.
///
/// # Errors
/// If the table lacks an entry.
pub fn at_22_nm(costs: &Costs, unit: &Breakdown) -> Result<Breakdown, LabError> {
    let (area, power) = (costs.get("scale.22to7.area")?, costs.get("scale.22to7.power")?);
    let mut out = Breakdown::default();
    for part in &unit.parts {
        out.add(&part.name, area * part.area_mm2, power * part.power_w);
    }
    Ok(out)
}

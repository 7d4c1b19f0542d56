//! Area, power, yield and cost of chiplets and of one large die.

use super::{Aggregation, Hazards, Params};
use crate::LabError;
use crate::cost::{Breakdown, Costs};

/// Bits of the scalar in the paper's Table I.
pub const TABLE1_BITS: u32 = 256;

/// PEs for windows of `window` bits that cover a scalar, as in Table I.
pub fn pes(window: u32) -> u32 {
    TABLE1_BITS.div_ceil(window)
}

/// Area of one PE at 28 nm, its adder and its bucket memory of 2^`window` points, and the power of the adder.
///
/// # Errors
/// If the table lacks an entry.
pub fn element(costs: &Costs, window: u32) -> Result<Breakdown, LabError> {
    let mut out = Breakdown::default();
    out.add("point adder", costs.get("msm.pe.area")?, costs.get("msm.pe.power")?);
    out.add("buckets", costs.get("msm.bucket.area")? * 2_f64.powi(window as i32), 0.0);
    Ok(out)
}

/// All PEs of a design at its clock, with every adder busy.
///
/// Each PE has the bucket memory of the widest window that it serves ([`Params::bucket_windows`]), and a second one if
/// the aggregation of a pass overlaps the next pass. With [`Hazards::Queue`] it also has the memory of its conflict
/// queue. The area and power of a mixed adder, with seven multipliers instead of nine, are scaled by `msm.mixed.share`.
///
/// # Errors
/// If the table lacks an entry.
pub fn elements(costs: &Costs, p: &Params) -> Result<Breakdown, LabError> {
    let mut out = Breakdown::default();
    let points = f64::from(p.parallel_points);
    let adder = if p.mixed_padd { costs.get("msm.mixed.share")? } else { 1.0 };
    let clock = p.frequency_mhz as f64 / 1e3;
    let memories = if p.aggregation == Aggregation::Overlapped && p.passes() > 1 { 2.0 } else { 1.0 };
    // The table counts 2^w buckets, while signed digits need half as many: one bucket has the area of two entries.
    let place = 2.0 * costs.get("msm.bucket.area")?;
    for window in p.bucket_windows() {
        let (area, power) = (costs.get("msm.pe.area")?, costs.get("msm.pe.power")?);
        out.add("point adder", points * adder * area, points * adder * power * clock);
        out.add("buckets", points * memories * place * 2_f64.powi(window as i32 - 1), 0.0);
        if p.hazards == Hazards::Queue {
            out.add("queue", points * place * f64::from(p.conflict_queue), 0.0);
        }
    }
    Ok(out)
}

/// The share of good dice, by the negative binomial model: (1 + A D / alpha)^-alpha.
///
/// # Errors
/// If the table lacks an entry.
pub fn yield_of(costs: &Costs, area_mm2: f64) -> Result<f64, LabError> {
    let (defects, alpha) = (costs.get("yield.defects")?, costs.get("yield.alpha")?);
    Ok((1.0 + area_mm2 / 100.0 * defects / alpha).powf(-alpha))
}

/// Dice per wafer: the area of the wafer by that of the die, less the dice cut by the edge.
///
/// # Errors
/// If the table lacks an entry.
pub fn dice(costs: &Costs, area_mm2: f64) -> Result<f64, LabError> {
    let d = costs.get("wafer.diameter")?;
    let pi = std::f64::consts::PI;
    Ok((pi * d * d / (4.0 * area_mm2) - pi * d / (2.0 * area_mm2).sqrt()).max(0.0))
}

/// Cost of one good die.
///
/// # Errors
/// If the table lacks an entry, or the die is larger than the wafer.
pub fn good_die(costs: &Costs, area_mm2: f64) -> Result<f64, LabError> {
    let good = dice(costs, area_mm2)? * yield_of(costs, area_mm2)?;
    if good <= 0.0 {
        return Err(crate::error::field("area_mm2", area_mm2, "a die that fits the wafer"));
    }
    Ok(costs.get("wafer.cost")? / good)
}

/// Cost of a system of `chiplets` equal dice. With several chiplets each die also has the area of a link, and assembly
/// multiplies the cost.
///
/// # Errors
/// If the table lacks an entry.
pub fn system(costs: &Costs, chiplets: u32, die_mm2: f64) -> Result<f64, LabError> {
    let link = if chiplets > 1 { costs.get("chiplet.link.area")? } else { 0.0 };
    let die = good_die(costs, die_mm2 + link)?;
    let assembly = if chiplets > 1 { costs.get("chiplet.assembly")? } else { 1.0 };
    Ok(f64::from(chiplets) * die * assembly)
}

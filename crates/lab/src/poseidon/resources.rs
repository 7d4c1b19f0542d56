//! Adders, multipliers and DSP slices of a permutation, and the article's claim about partial rounds.

use serde::Serialize;

use super::params::{Params, ROUNDS, SBOXES};
use crate::LabError;
use crate::cost::{Breakdown, Costs};
use crate::synth::Synthesis;

/// Plonky2's MDS matrix: a circulant with this first row, plus `DIAGONAL` at the first place of the diagonal.
const CIRCULANT: [u64; 12] = [17, 15, 41, 16, 2, 28, 13, 13, 39, 18, 34, 20];
const DIAGONAL: u64 = 8;
const PARTIAL_ROUNDS: u64 = 22;
const WIDTH: u64 = 12;
const DIGEST_BYTES: u64 = 32;
/// DSP48E2 slices for the product of two 64-bit words, with unsigned limbs of 26 by 17 bits.
const DSP_PER_PRODUCT: u64 = 64_u64.div_ceil(26) * 64_u64.div_ceil(17);

/// Nonzero digits of the non-adjacent form: the shifted words that a multiplication by the constant adds up.
pub fn naf_weight(constant: u128) -> u32 {
    // The form has a nonzero digit where 3c and c differ.
    ((3 * constant) ^ constant).count_ones()
}

/// Adders, multipliers and DSP slices of a permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Modular adders of round constants.
    pub constant_adders: u64,
    /// S-boxes.
    pub sboxes: u64,
    /// Modular multipliers of words.
    pub multipliers: u64,
    /// Adders of shifted words in the linear layers.
    pub linear_adders: u64,
    /// DSP slices.
    pub dsps: u64,
}

/// The article's design: a permutation with all S-boxes, and the linear layer of every round by shifts and additions.
pub fn dense() -> Resources {
    Resources {
        constant_adders: ROUNDS * WIDTH,
        sboxes: u64::from(SBOXES),
        multipliers: 4 * u64::from(SBOXES),
        linear_adders: ROUNDS * mds_adders(),
        dsps: 4 * u64::from(SBOXES) * DSP_PER_PRODUCT,
    }
}

/// The same with the sparse matrices of the Poseidon paper in partial rounds: 2 * 12 - 1 products by 64-bit constants
/// per round, on multipliers.
pub fn sparse() -> Resources {
    let products = PARTIAL_ROUNDS * (2 * WIDTH - 1);
    let dense = dense();
    Resources {
        multipliers: dense.multipliers + products,
        linear_adders: (ROUNDS - PARTIAL_ROUNDS) * mds_adders() + PARTIAL_ROUNDS * (2 * WIDTH - 2),
        dsps: dense.dsps + products * DSP_PER_PRODUCT,
        // One constant per partial round.
        constant_adders: (ROUNDS - PARTIAL_ROUNDS) * WIDTH + PARTIAL_ROUNDS,
        ..dense
    }
}

/// The sparse matrices by shifts and additions, with nonzero digits at a third of the 64 places of a constant.
pub fn sparse_by_shifts() -> Resources {
    let products = PARTIAL_ROUNDS * (2 * WIDTH - 1);
    let sparse = sparse();
    Resources {
        multipliers: sparse.multipliers - products,
        linear_adders: sparse.linear_adders + products * (64 / 3),
        dsps: sparse.dsps - products * DSP_PER_PRODUCT,
        ..sparse
    }
}

/// S-boxes of all leaf hashers, and S-boxes of all branch hashers.
fn sboxes(p: &Params) -> (u64, u64) {
    let part = p.part();
    let (boards, leaf_cores) = (u64::from(p.branch_boards), u64::from(part.lhe_cores));
    // A tree unit that takes n digests at a time has n cores: n - 1 in the front tree, and the accumulator.
    let branch_cores = if p.front_tree { leaf_cores } else { 1 };
    (boards * leaf_cores * u64::from(p.lhe_sboxes), boards * branch_cores * u64::from(p.bhe_sboxes))
}

/// DSP slices of all cores of an engine.
pub fn dsps(p: &Params) -> u64 {
    let (leaf, branch) = sboxes(p);
    4 * (leaf + branch) * DSP_PER_PRODUCT
}

/// The article's clock in MHz, at which its power was measured.
const CLOCK: f64 = 250.0;

/// Power of an engine's cores, including their boards, in proportion to the S-boxes and to the clock. The article gives
/// no area.
///
/// # Errors
/// If the table lacks an entry.
pub fn power(costs: &Costs, p: &Params) -> Result<Breakdown, LabError> {
    let (leaf, branch) = sboxes(p);
    let one = costs.get("poseidon.sboxes.power")? / f64::from(SBOXES) * p.frequency_mhz as f64 / CLOCK;
    let mut out = Breakdown::default();
    out.add("leaf hashers", 0.0, one * leaf as f64);
    out.add("branch hashers", 0.0, one * branch as f64);
    Ok(out)
}

/// Area at 7 nm of an engine's products, by the gates of `rtl/`, of its queues and of the delay lines of its transform.
/// The article gives no area. Linear layers and the registers between rounds are left out, so this is less than an
/// engine has. What waits in HBM has no area here.
///
/// # Errors
/// If the table of costs, or that of modules, lacks an entry.
pub fn area(costs: &Costs, p: &Params) -> Result<Breakdown, LabError> {
    let product = Synthesis::published().costs("goldilocks_mul").ok_or_else(|| {
        crate::error::field("module", "goldilocks_mul", "a module that data/synth.json has the costs of")
    })?;
    let product = costs.area(product, "gate.area.22")? / costs.get("scale.22to7.area")?;
    let (leaf, branch) = sboxes(p);
    let mut out = Breakdown::default();
    out.add("leaf hashers", 4.0 * leaf as f64 * product, 0.0);
    out.add("branch hashers", 4.0 * branch as f64 * product, 0.0);
    let bit = costs.get("sram.area.7")? / 1e6;
    let part = p.part();
    let groups = if part.by_columns { 0 } else { part.input_places() * part.group_bytes() };
    let digests = part.digest_places().unwrap_or(0) * DIGEST_BYTES;
    out.add("queues", f64::from(p.branch_boards) * (8 * (groups + digests)) as f64 * bit, 0.0);
    if p.log_blowup > 0 {
        let products = u64::from(p.lde_words) * (u64::from(2 * p.log_rows - p.log_blowup) + 1);
        let words = p.rows() + (p.rows() >> p.log_blowup) - 2;
        out.add("transform", products as f64 * product + words as f64 * 64.0 * bit, 0.0);
    }
    Ok(out)
}

/// Area and power of an engine: see [`area`] and [`power`].
///
/// # Errors
/// As these.
pub fn design(costs: &Costs, p: &Params) -> Result<Breakdown, LabError> {
    let mut out = area(costs, p)?;
    for part in power(costs, p)?.parts {
        out.add(&part.name, 0.0, part.power_w);
    }
    Ok(out)
}

/// Adders of shifted words for one product by the MDS matrix.
pub fn mds_adders() -> u64 {
    let row: u32 = CIRCULANT.iter().map(|c| naf_weight(u128::from(*c))).sum();
    let rows = WIDTH * (u64::from(row) - 1);
    // The first entry of the diagonal is the sum of two constants.
    let first = u128::from(CIRCULANT[0]);
    rows + u64::from(naf_weight(first + u128::from(DIAGONAL))) - u64::from(naf_weight(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_article() {
        let dense = dense();
        assert_eq!((dense.constant_adders, dense.sboxes, dense.multipliers), (360, 118, 472));
        for constant in 0..5000_u128 {
            // The weight by definition of the form.
            let (mut rest, mut weight) = (constant as i64, 0);
            while rest != 0 {
                if rest & 1 == 1 {
                    let digit = 2 - (rest & 3);
                    rest -= digit;
                    weight += 1;
                }
                rest >>= 1;
            }
            assert_eq!(naf_weight(constant), weight, "{constant}");
        }
        assert!((naf_weight(15), naf_weight(7)) == (2, 2));
    }

    #[test]
    fn the_articles_two_boards() {
        let (p, costs) = (Params::default(), Costs::published());
        assert_eq!(dsps(&p), 2 * dense().dsps);
        assert!((power(&costs, &p).expect("an entry").power_w() - 138.0).abs() < 1e-9);
        let boards = Params { leaf_boards: 4, branch_boards: 2, lhe_cores: 2, bhe_sboxes: 59, ..p };
        assert_eq!(sboxes(&boards), (8 * 118, 2 * 59));
        assert_eq!(sboxes(&Params { front_tree: true, ..boards }), (8 * 118, 2 * 4 * 59));
    }

    #[test]
    fn costs_follow_the_design() {
        let (base, costs) = (Params::default(), Costs::published());
        let of = |p: &Params| design(&costs, p).expect("entries");
        let part =
            |p: &Params, name: &str| of(p).parts.into_iter().find(|part| part.name == name).expect("a part").area_mm2;
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        close(of(&Params { frequency_mhz: 500, ..base.clone() }).power_w(), 2.0 * of(&base).power_w());
        let four = Params { lhe_cores: 4, ..base.clone() };
        close(part(&four, "leaf hashers"), 4.0 * part(&base, "leaf hashers"));
        close(part(&base, "branch hashers"), part(&base, "leaf hashers"));
        // 512 groups of 64 bytes, and 1,024 digests.
        close(part(&base, "queues"), (512 * 512 + 1024 * 256) as f64 * 0.05e-6);
        let deep = Params { digest_queue: 4096, ..base.clone() };
        close(part(&deep, "queues") - part(&base, "queues"), (3072 * 256) as f64 * 0.05e-6);
        let boards = Params { leaf_boards: 4, branch_boards: 2, ..base.clone() };
        close(part(&boards, "queues"), 4.0 * part(&base, "queues"));
        let transform = Params { log_rows: 16, by_columns: true, log_blowup: 1, ..base };
        assert!(part(&transform, "transform") > 0.1 && of(&transform).parts.len() == 4);
    }

    #[test]
    fn dense_rounds_cost_fewer_slices_and_sparse_by_shifts_more_adders() {
        assert!(sparse().dsps > 2 * dense().dsps * 9 / 10);
        assert!(sparse_by_shifts().linear_adders > dense().linear_adders);
        assert_eq!(sparse_by_shifts().dsps, dense().dsps);
    }
}

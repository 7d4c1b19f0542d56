//! The formulas, in the order in which the protocol draws its challenges.
//!
//! Notation: p the order of the base field, K the extension field, k rows, N = k / rho points of the evaluation domain, c
//! challenges, L the list size of the regime.

use super::{LOG2_P, Layer, Regime, Terms};
use crate::FriParams;

/// The bits of every error term of `layer` under `regime`.
pub fn terms(layer: &Layer, regime: Regime) -> Terms {
    let FriParams {
        rate_bits,
        queries,
        pow_bits,
        challenges,
        extension_degree,
        // Caps are parts of the trees: no error depends on where a path ends.
        cap_height: _,
        // How these fold the layer is in its own `arity_bits`.
        arity_bits: _,
        final_poly_bits: _,
        degree_bits,
    } = layer.fri;
    let log2_k = f64::from(extension_degree) * LOG2_P;
    let code = Code::new(degree_bits, rate_bits, log2_k, regime);
    let shape = layer.shape;
    let c = u32::from(challenges);
    let list = code.list_size.log2();
    let rows = code.rows;

    // c independent pairs (beta, gamma) in the base field; the factor 2 is for denominators that vanish.
    let copies = 2.0 * f64::from(shape.routed_wires) * rows;
    let permutation = f64::from(c) * (LOG2_P - copies.log2()) - list;
    let constraints = f64::from(shape.constraints(c) - 1);
    let alphas = f64::from(c) * (LOG2_P - constraints.log2()) - list;
    // zeta is drawn from K without the k rows themselves: k / |K| is far below the precision of these numbers.
    let zeta = log2_k - (f64::from(shape.quotient_degree_factor + 1) * rows).log2() - list;
    let batching = -(f64::from(shape.openings(c) - 1).log2() + code.line_error(code.points));
    let mut points = code.points;
    let mut folds = f64::INFINITY;
    for &arity_bits in &layer.arity_bits {
        let arity = 2f64.powi(arity_bits as i32);
        points /= arity;
        folds = folds.min(-((arity - 1.0).log2() + code.line_error(points)));
    }
    let queries = -f64::from(queries) * code.agreement.log2() + f64::from(pow_bits);
    // Degree 3 in beta and 2m - 1 factors: total degree 3 (2m - 1) over K.
    let multiset = layer.bucket_capacity.map(|m| log2_k - (3.0 * (2.0 * m as f64 - 1.0)).log2());
    Terms { permutation, alphas, zeta, batching, folds, queries, multiset, hash: 128.0 }
}

/// The Reed-Solomon code of a layer under a regime.
struct Code {
    rows: f64,
    points: f64,
    rate: f64,
    /// log2 of the order of K.
    log2_k: f64,
    regime: Regime,
    /// Greatest number of codewords close to one word.
    list_size: f64,
    /// 1 - delta: the most agreement that a word outside the proximity parameter has.
    agreement: f64,
}

impl Code {
    fn new(degree_bits: u8, rate_bits: u8, log2_k: f64, regime: Regime) -> Self {
        let rows = 2f64.powi(degree_bits.into());
        let rate = 2f64.powi(-i32::from(rate_bits));
        let points = rows / rate;
        let (list_size, agreement) = match regime {
            // The opened quotients have degree k + 1 at most: two points.
            Regime::UniqueDecoding => (1.0, (1.0 + (rows + 2.0) / points) / 2.0),
            Regime::Johnson { multiplicity } => {
                let m = f64::from(multiplicity);
                ((m + 0.5) / rate.sqrt(), rate.sqrt() * (1.0 + 0.5 / m))
            }
            Regime::RandomWords => (1.0, rate + (core::f64::consts::E / rate).log2() * rate / log2_k),
        };
        Self { rows, points, rate, log2_k, regime, list_size, agreement }
    }

    /// log2 of the fraction of exceptional combinations of two words over a domain of `points` points.
    fn line_error(&self, points: f64) -> f64 {
        let rho = self.rate;
        let exceptional = match self.regime {
            Regime::UniqueDecoding | Regime::RandomWords => (1.0 - rho) / 2.0 * points + 1.0,
            Regime::Johnson { multiplicity } => {
                let m = f64::from(multiplicity);
                let (x, gamma) = (m + 0.5, 1.0 - rho.sqrt() * (1.0 + 0.5 / m));
                (2.0 * x.powi(5) + 3.0 * x * gamma * rho) * points / (3.0 * rho.powf(1.5)) + x / rho.sqrt()
            }
        };
        exceptional.log2() - self.log2_k
    }
}

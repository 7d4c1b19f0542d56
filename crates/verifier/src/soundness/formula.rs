//! The formulas, in the order in which the protocol draws its challenges.
//!
//! Notation: p is the order of the base field, K the extension field, k the number of rows, N = k / rho the points of
//! the evaluation domain, c the number of challenges, L the list size of the regime.

#[allow(unused_imports, reason = "where any crate uses `std`, its methods are found first")]
use evergrove_primitives::float::Float;
use evergrove_primitives::reed_solomon::Code;

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
        // Caps are parts of the trees: the level at which a path ends affects no error.
        cap_height: _,
        // How these fold the layer is in its own `arity_bits`.
        arity_bits: _,
        final_poly_bits: _,
        degree_bits,
    } = layer.fri;
    let log2_k = f64::from(extension_degree) * LOG2_P;
    let rows = 2f64.powi(degree_bits.into());
    let rate = 2f64.powi(-i32::from(rate_bits));
    let code = code(log2_k, rate, rows, regime);
    let shape = layer.shape;
    let c = u32::from(challenges);
    let list = code.list_size.log2();

    // c independent pairs (beta, gamma) in the base field; the factor 2 is for denominators that vanish.
    let copies = 2.0 * f64::from(shape.routed_wires) * rows;
    let permutation = f64::from(c) * (LOG2_P - copies.log2()) - list;
    let constraints = f64::from(shape.constraints(c) - 1);
    let alphas = f64::from(c) * (LOG2_P - constraints.log2()) - list;
    // zeta is drawn from K without the k rows themselves: k / |K| is far below the precision of these numbers.
    let zeta = code.each(f64::from(shape.quotient_degree_factor + 1) * rows);
    let mut points = rows / rate;
    let batching = code.curve(points, f64::from(shape.openings(c) - 1));
    let mut folds = f64::INFINITY;
    for &arity_bits in &layer.arity_bits {
        let arity = 2f64.powi(arity_bits as i32);
        points /= arity;
        folds = folds.min(code.curve(points, arity - 1.0));
    }
    let queries = code.queries(queries.into(), pow_bits.into());
    // Degree 3 in beta and 2m - 1 factors: total degree 3 (2m - 1) over K.
    let multiset = layer.bucket_capacity.map(|m| log2_k - (3.0 * (2.0 * m as f64 - 1.0)).log2());
    Terms { permutation, alphas, zeta, batching, folds, queries, multiset, hash: 128.0 }
}

/// The code of a layer's words under a regime.
fn code(field_bits: f64, rate: f64, rows: f64, regime: Regime) -> Code {
    match regime {
        // The degree of the opened quotients is at most k + 1: two points.
        Regime::UniqueDecoding => {
            let agreement = (1.0 + (rows + 2.0) * rate / rows) / 2.0;
            Code { agreement, ..Code::unique_decoding(field_bits, rate) }
        }
        Regime::Johnson { multiplicity } => Code::johnson(field_bits, rate, multiplicity.into()),
        Regime::RandomWords => Code::random_words(field_bits, rate),
    }
}

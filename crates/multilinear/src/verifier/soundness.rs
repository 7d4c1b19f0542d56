//! How many bits a proof has: the error of each step of the transcript, for one query to the hash.
//!
//! Unique decoding: a word has at most one codeword within (1 - rho) / 2, so that what is committed to is one table, and errors are those of
//! polynomials and of queries alone. The bounds of folds rest on correlated agreement within that radius (BCHKS25, ePrint 2025/2055, corollary 1.4,
//! as ethereum/soundcalc states it; mutual by lemma 4.10 of the WHIR paper).

use evergrove_primitives::field::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::Parameters;
use crate::algebra::Point;
use crate::tables::{DEGREE, Row, TUPLE, Table};

/// The error of a step, as -log2.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// What errs.
    pub name: String,
    /// -log2 of the probability.
    pub bits: f64,
}

/// The terms in unique decoding. The least is what the proof has, up to the hash: a collision has 128 bits. Rounds over the table that is sent, and
/// those of [`reduce`](super::reduce), have 2 / |K| each and are left out.
///
/// Where one answer of the hash is used twice, the errors are added: the coordinates of the bus point are the zerocheck's, too.
pub fn unique_decoding<K: Extension>(parameters: &Parameters<K>) -> Vec<Term> {
    let field = K::DEGREE as f64 * (Goldilocks::ORDER as f64).log2();
    let mut terms = Vec::new();
    // A polynomial of this degree, or so many errors, over |K|.
    let mut over = |name: String, count: f64| terms.push(Term { name, bits: field - count.log2() });

    let layout = parameters.layout();
    let fractions = 2f64.powi(layout.bus_variables() as i32) + 1.0;
    // The numerator of the sum, cleared of denominators, in alpha and beta.
    over("bus".into(), (TUPLE - 1) as f64 * fractions);
    // A round of degree 2, or lambda; a coordinate serves the zerocheck as well.
    over("layer of the bus".into(), 3.0);
    let constraints: usize = layout.heights().map(|(table, _)| count(parameters, table)).sum();
    over("lambda".into(), (constraints + 2) as f64);
    over("round over rows".into(), (DEGREE + 1) as f64);
    let columns =
        |committed: bool| parameters.stack(committed).pieces().iter().map(|piece| 1usize << piece.width).sum::<usize>();
    over("eta".into(), (columns(true) + columns(false)) as f64);
    over("claims".into(), 4.0);
    let schedule = parameters.schedule();
    let tables = schedule.tables();
    for (i, round) in schedule.rounds.iter().enumerate() {
        let rho = 2f64.powi(-(round.rate as i32));
        let points = 2f64.powi((tables[i] - 1 + round.rate) as i32);
        over(format!("folds {i}"), (1.0 - rho) / 2.0 * points + 1.0 + 3.0);
        over(format!("joining {i}"), (round.queries + 1) as f64);
    }
    for (i, round) in schedule.rounds.iter().enumerate() {
        let rho = 2f64.powi(-(round.rate as i32));
        let bits = round.queries as f64 * (1.0 - (1.0 + rho).log2()) + round.grinding as f64;
        terms.push(Term { name: format!("queries {i}"), bits });
    }
    terms
}

/// Constraints of a table.
fn count<K: Extension>(parameters: &Parameters<K>, table: Table) -> usize {
    let tables = parameters.tables();
    let (columns, fixed) = (vec![K::ZERO; tables.columns(table)], vec![K::ZERO; tables.fixed(table)]);
    let row = Row { columns: &columns, fixed: &fixed, number: K::ZERO, places: &[] };
    let mut out = Vec::new();
    tables.constraints(table, &mut Point { activity: K::ONE }, &row, &mut out);
    out.len()
}

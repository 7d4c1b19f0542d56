//! How many bits a proof has: the error of each step of the transcript, for one query to the hash.
//!
//! **Unique decoding.** A word has at most one codeword within (1 - rho) / 2, so that what is committed to is one table, and errors are those of
//! polynomials and of queries alone. The bounds of folds rest on correlated agreement within that radius (BCHKS25, ePrint 2025/2055, corollary 1.4,
//! as ethereum/soundcalc states it; mutual by lemma 4.10 of the WHIR paper).
//!
//! **Up to the Johnson bound.** A word may be close to several tables, within 1 - sqrt(rho) (1 + 1 / (2 mu)): at most (mu + 1/2) / sqrt(rho) of them, for a
//! multiplicity mu that is chosen for each oracle. A sample outside the domain leaves one of them (ePrint 2024/1586, lemma 4.25); all steps about
//! a table are counted for each of them all the same. The bounds of folds are BCHKS25's theorem 4.2 with an explicit mu, as in soundcalc.

use core::ops::RangeInclusive;

use evergrove_primitives::field::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::{Parameters, Round, Schedule};
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
    one_table(parameters, |rho| (1.0 + rho) / 2.0)
}

/// The terms up to the radius at which random words begin to have close codewords: a conjecture (ePrint 2025/2010, section 1.5).
pub fn random_words<K: Extension>(parameters: &Parameters<K>) -> Vec<Term> {
    one_table(parameters, |rho| rho + (core::f64::consts::E / rho).log2() * rho / field::<K>())
}

/// The terms where a word stands for one table; a query misses what is wrong with the probability `missed` at a rate.
fn one_table<K: Extension>(parameters: &Parameters<K>, missed: impl Fn(f64) -> f64) -> Vec<Term> {
    let mut terms: Vec<Term> =
        polynomials(parameters).into_iter().map(|(name, count)| over::<K>(name, count)).collect();
    let schedule = parameters.schedule();
    for (i, round) in schedule.rounds.iter().enumerate() {
        let rho = rho(round);
        terms.push(over::<K>(format!("folds {i}"), (1.0 - rho) / 2.0 * points(schedule, i) + 1.0 + 3.0));
        terms.push(over::<K>(format!("joining {i}"), (round.queries + 1) as f64));
    }
    for (i, round) in schedule.rounds.iter().enumerate() {
        terms.push(queries(i, round, missed(rho(round))));
    }
    terms
}

/// The terms up to the Johnson bound, each oracle with the multiplicity that is best for its least term.
pub fn johnson<K: Extension>(parameters: &Parameters<K>) -> Vec<Term> {
    let rounds = &parameters.schedule().rounds;
    let least = |terms: &[Term]| terms.iter().map(|term| term.bits).fold(f64::INFINITY, f64::min);
    let mut all = Vec::new();
    // From the last oracle, whose next table is sent: it is one.
    let mut next = 1.0;
    for (i, round) in rounds.iter().enumerate().rev() {
        let mut best: Option<(f64, Vec<Term>)> = None;
        for mu in MULTIPLICITIES {
            let tables = (f64::from(mu) + 0.5) / rho(round).sqrt();
            let terms = oracle(parameters, i, mu.into(), tables, next);
            if best.as_ref().is_none_or(|(_, best)| least(&terms) > least(best)) {
                best = Some((tables, terms));
            }
        }
        let (tables, terms) = best.expect("multiplicities");
        all.splice(0..0, terms);
        next = if round.samples > 0 { 1.0 } else { tables };
    }
    let sent = rounds.iter().enumerate().next_back();
    all.extend(sent.map(|(i, round)| over::<K>(format!("joining {i}"), (round.queries + 1) as f64)));
    all
}

/// Multiplicities that are tried: three is the least that soundcalc takes.
const MULTIPLICITIES: RangeInclusive<u32> = 3..=1000;

/// The terms that are about oracle i, within the radius of multiplicity mu: the tables that it may stand for, and those that the next one may.
fn oracle<K: Extension>(parameters: &Parameters<K>, i: usize, mu: f64, tables: f64, next: f64) -> Vec<Term> {
    let schedule = parameters.schedule();
    let round = &schedule.rounds[i];
    let (rho, root) = (rho(round), rho(round).sqrt());
    let mut terms = Vec::new();
    if i == 0 {
        terms.extend(polynomials(parameters).into_iter().map(|(name, count)| over::<K>(name, tables * count)));
        terms.push(over::<K>("joining samples".into(), tables * (round.samples + 1) as f64));
    } else {
        let before = &schedule.rounds[i - 1];
        let joined = before.queries + round.samples;
        terms.push(over::<K>(format!("joining {}", i - 1), tables * (joined + 1) as f64));
    }
    if round.samples > 0 {
        // Two of the tables agree at all samples.
        let agree = schedule.tables()[i] as f64 - field::<K>();
        let bits = 1.0 - 2.0 * tables.log2() - round.samples as f64 * agree;
        terms.push(Term { name: format!("samples {i}"), bits });
    }
    let distance = 1.0 - root * (1.0 + 1.0 / (2.0 * mu));
    let half = mu + 0.5;
    let line =
        (2.0 * half.powi(5) + 3.0 * half * distance * rho) * points(schedule, i) / (3.0 * rho * root) + half / root;
    terms.push(over::<K>(format!("folds {i}"), line + 3.0 * tables));
    let missed = queries(i, round, 1.0 - distance);
    terms.push(Term { bits: missed.bits - next.log2(), ..missed });
    terms
}

/// log2 |K|.
fn field<K: Extension>() -> f64 {
    K::DEGREE as f64 * (Goldilocks::ORDER as f64).log2()
}
/// A polynomial of this degree, or so many errors, over |K|.
fn over<K: Extension>(name: String, count: f64) -> Term {
    Term { name, bits: field::<K>() - count.log2() }
}
/// The rate.
fn rho(round: &Round) -> f64 {
    2f64.powi(-(round.rate as i32))
}
/// Points of the word that the first fold of oracle i is about.
fn points(schedule: &Schedule, i: usize) -> f64 {
    2f64.powi((schedule.tables()[i] - 1 + schedule.rounds[i].rate) as i32)
}
/// All queries miss what a word has wrong, each with this probability.
fn queries(i: usize, round: &Round, missed: f64) -> Term {
    Term { name: format!("queries {i}"), bits: round.grinding as f64 - round.queries as f64 * missed.log2() }
}

/// The steps that are about the tables of the circuit: degrees, or numbers of errors.
fn polynomials<K: Extension>(parameters: &Parameters<K>) -> Vec<(String, f64)> {
    let layout = parameters.layout();
    let fractions = 2f64.powi(layout.bus_variables() as i32) + 1.0;
    let constraints: usize = layout.heights().map(|(table, _)| count(parameters, table)).sum();
    let columns =
        |committed: bool| parameters.stack(committed).pieces().iter().map(|piece| 1usize << piece.width).sum::<usize>();
    [
        // The numerator of the sum, cleared of denominators, in alpha and beta.
        ("bus", (TUPLE - 1) as f64 * fractions),
        // A round of degree 2, or lambda; a coordinate serves the zerocheck as well, and the last one may be drawn with lambda of the rows.
        ("layer of the bus", 3.0),
        ("lambda", (constraints + 4) as f64),
        ("round over rows", (DEGREE + 1) as f64),
        ("eta", (columns(true) + columns(false)) as f64),
        // Of two children.
        ("claims", 4.0),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .to_vec()
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

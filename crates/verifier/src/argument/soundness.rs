//! The bits of a proof: the error of each step of the transcript, for one query to the hash.
//!
//! **Unique decoding.** A word has at most one codeword within (1 - rho) / 2, so a commitment fixes one table, and the
//! only errors are those of polynomials and of queries. The bounds of folds are ethereum/soundcalc's. A better bound,
//! by leaves and from ePrint 2020/654, is proven (`docs/math/soundness.md`).
//!
//! **Up to the Johnson bound.** A word may be close to several tables, within 1 - sqrt(rho) (1 + 1 / (2 mu)): at most
//! (mu + 1/2) / sqrt(rho) tables, for a multiplicity mu that is chosen for each oracle. A sample outside the domain
//! leaves one table (ePrint 2024/1586, lemma 4.25); nevertheless all steps about a table are counted for each of them.
//! The bounds of folds are BCHKS25's theorem 4.2 with an explicit mu, as in soundcalc.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use evergrove_primitives::field::Goldilocks;
use evergrove_primitives::field::extension::Extension;
#[allow(unused_imports, reason = "where any crate uses `std`, its methods are found first")]
use evergrove_primitives::float::Float;
use evergrove_primitives::reed_solomon::Code;

use super::machine::At;
use super::{Parameters, Reader, Round, Schedule};
use crate::soundness::SoundnessBits;
use crate::tables::{DEGREE, Row, TUPLE, Table};

/// Errors of a round of the opening's SumCheck for each table, in addition to those of its fold: d of WHIR's theorem
/// 5.2, which is at least 3.
pub const SUMCHECK: f64 = 3.0;

/// The error of a step, as -log2.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The step.
    pub name: String,
    /// -log2 of the probability.
    pub bits: f64,
}

/// The terms in unique decoding. The least term gives the bits of the proof, up to the hash: a collision has 128 bits.
/// Rounds over the table that is sent, and those of [`reduce`](super::reduce), have 2 / |K| each and are omitted.
///
/// If one answer of the hash is used twice, the errors are added: the coordinates of the bus point also serve the
/// zerocheck.
pub fn unique_decoding<K: Extension>(parameters: &Parameters<K>) -> Vec<Term> {
    one_table(parameters, Code::unique_decoding)
}

/// The terms up to the radius at which random words begin to have close codewords: a conjecture (ePrint 2025/2010, section 1.5).
pub fn random_words<K: Extension>(parameters: &Parameters<K>) -> Vec<Term> {
    one_table(parameters, Code::random_words)
}

/// The terms where a word determines one table, and `radius` makes the code for a field and a rate.
fn one_table<K: Extension>(parameters: &Parameters<K>, radius: impl Fn(f64, f64) -> Code) -> Vec<Term> {
    let schedule = parameters.schedule();
    let codes: Vec<Code> = schedule.rounds.iter().map(|round| radius(field::<K>(), rho(round))).collect();
    let mut terms = polynomials(parameters, combined(parameters), &codes[0]);
    for (i, (round, code)) in schedule.rounds.iter().zip(&codes).enumerate() {
        terms.push(folds(schedule, i, code));
        terms.push(joining(i, round.queries, code));
    }
    for (i, (round, code)) in schedule.rounds.iter().zip(&codes).enumerate() {
        terms.push(queries(i, round, code));
    }
    terms
}

/// The terms up to the Johnson bound. Each oracle has the multiplicity with the best least term.
pub fn johnson<K: Extension>(parameters: &Parameters<K>) -> Vec<Term> {
    let oracles = best(parameters);
    let last = oracles.last().zip(parameters.schedule().rounds.iter().enumerate().next_back());
    let sent = last.map(|((code, _), (i, round))| joining(i, round.queries, &Code { list_size: 1.0, ..*code }));
    oracles.into_iter().flat_map(|(_, terms)| terms).chain(sent).collect()
}

/// The code of each oracle in [`johnson`].
pub fn johnson_codes<K: Extension>(parameters: &Parameters<K>) -> Vec<Code> {
    best(parameters).into_iter().map(|(code, _)| code).collect()
}

/// The multiplicities to try: three is the least that soundcalc allows.
const MULTIPLICITIES: RangeInclusive<u32> = 3..=1000;

/// Codes and terms of each oracle.
fn best<K: Extension>(parameters: &Parameters<K>) -> Vec<(Code, Vec<Term>)> {
    let rounds = &parameters.schedule().rounds;
    let least = |terms: &[Term]| terms.iter().map(|term| term.bits).fold(f64::INFINITY, f64::min);
    let count = combined(parameters);
    let mut all = Vec::new();
    // From the last oracle on; its next table is sent, so there is one.
    let mut next = 1.0;
    for (i, round) in rounds.iter().enumerate().rev() {
        let mut best: Option<(Code, Vec<Term>)> = None;
        for mu in MULTIPLICITIES {
            let code = Code::johnson(field::<K>(), rho(round), mu.into());
            let terms = oracle(parameters, count, i, &code, next);
            if best.as_ref().is_none_or(|(_, best)| least(&terms) > least(best)) {
                best = Some((code, terms));
            }
        }
        let best = best.expect("multiplicities");
        next = if round.samples > 0 { 1.0 } else { best.0.list_size };
        all.push(best);
    }
    all.reverse();
    all
}

/// The terms about oracle i: the tables that it may commit to are the list of its code, and `next` is the number of
/// tables of the next oracle.
fn oracle<K: Extension>(parameters: &Parameters<K>, combined: usize, i: usize, code: &Code, next: f64) -> Vec<Term> {
    let schedule = parameters.schedule();
    let round = &schedule.rounds[i];
    let mut terms = Vec::new();
    if i == 0 {
        terms.extend(polynomials(parameters, combined, code));
        if round.samples > 0 {
            terms.push(Term { name: "joining samples".into(), bits: code.each((round.samples + 1) as f64) });
        }
    } else {
        terms.push(joining(i - 1, schedule.rounds[i - 1].queries + round.samples, code));
    }
    if round.samples > 0 {
        // Two of the tables agree at all samples.
        let bits = code.samples(schedule.tables()[i] as f64, round.samples as f64);
        terms.push(Term { name: format!("samples {i}"), bits });
    }
    terms.push(folds(schedule, i, code));
    let missed = queries(i, round, code);
    terms.push(Term { bits: missed.bits - next.log2(), ..missed });
    terms
}

/// log2 |K|.
fn field<K: Extension>() -> f64 {
    K::DEGREE as f64 * (Goldilocks::ORDER as f64).log2()
}
/// The rate.
fn rho(round: &Round) -> f64 {
    2f64.powi(-(round.rate as i32))
}
/// The folds of oracle i, each with its round of the SumCheck. The first is the worst, and is about words of half the points.
fn folds(schedule: &Schedule, i: usize, code: &Code) -> Term {
    let points = 2f64.powi((schedule.tables()[i] - 1 + schedule.rounds[i].rate) as i32);
    Term { name: format!("folds {i}"), bits: code.fold(points, SUMCHECK) }
}
/// This many values of the table after oracle i are joined to its sum by powers of a challenge.
fn joining(i: usize, values: usize, code: &Code) -> Term {
    Term { name: format!("joining {i}"), bits: code.each((values + 1) as f64) }
}
/// All queries miss the errors of a word.
fn queries(i: usize, round: &Round, code: &Code) -> Term {
    Term { name: format!("queries {i}"), bits: code.queries(round.queries as f64, round.grinding as f64) }
}

/// The steps about the tables of the circuit: degrees, or numbers of errors, for each table that the first oracle may
/// commit to.
fn polynomials<K: Extension>(parameters: &Parameters<K>, combined: usize, code: &Code) -> Vec<Term> {
    let layout = parameters.layout();
    let fractions = 2f64.powi(layout.bus_variables() as i32) + 1.0;
    let columns =
        |committed: bool| parameters.stack(committed).pieces().iter().map(|piece| 1usize << piece.width).sum::<usize>();
    [
        // The numerator of the sum, cleared of denominators, in alpha and beta.
        ("bus", (TUPLE - 1) as f64 * fractions),
        // A round of degree 2, or lambda. A coordinate also serves the zerocheck, and the last one may be drawn with
        // lambda of the rows.
        ("layer of the bus", 3.0),
        ("lambda", combined as f64),
        ("round over rows", (DEGREE + 1) as f64),
        ("eta", (columns(true) + columns(false)) as f64),
        // Claims of two children.
        ("claims", 4.0),
    ]
    .map(|(name, count)| Term { name: name.to_owned(), bits: code.each(count) })
    .to_vec()
}

/// The terms that powers of lambda combine: the constraints of all tables, and four claims of the bus.
pub fn combined<K: Extension>(parameters: &Parameters<K>) -> usize {
    parameters.layout().heights().map(|(table, _)| count(parameters, table)).sum::<usize>() + 4
}

/// Constraints of a table.
fn count<K: Extension>(parameters: &Parameters<K>, table: Table) -> usize {
    let tables = parameters.tables();
    let (columns, fixed) = (vec![K::ZERO; tables.columns(table)], vec![K::ZERO; tables.fixed(table)]);
    let row = Row { columns: &columns, fixed: &fixed, number: K::ZERO, places: &[] };
    let mut out = Vec::new();
    // Uses the machine that verifies, so no other machine is compiled for this.
    let mut machine = Reader::<K>::new(&[]);
    tables.equations(table, &mut At { machine: &mut machine, activity: K::ONE }, &row, &mut out);
    out.len()
}

/// The least bits in each reading, up to those of the hash, rounded down to a tenth.
pub fn bits<K: Extension>(parameters: &Parameters<K>) -> SoundnessBits {
    let least = |terms: Vec<Term>| {
        let least = terms.into_iter().map(|term| term.bits).fold(128.0, f64::min);
        // Bits are below 2^10.
        (least * 10.0) as u32 as f64 / 10.0
    };
    SoundnessBits {
        unique_decoding: least(unique_decoding(parameters)),
        johnson: least(johnson(parameters)),
        conjectured: least(random_words(parameters)),
    }
}

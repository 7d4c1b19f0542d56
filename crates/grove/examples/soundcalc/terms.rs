//! The error of every step of a proof, as the rows of a table.

use std::collections::BTreeMap;

use evergrove_verifier::argument::soundness::{Term, johnson, unique_decoding};

use super::export;

/// The bits of a collision of digests.
const HASH: f64 = 128.0;

/// One row per step, for both profiles in the regime of each profile, and for `grove-100` in the other regime as well.
pub(crate) fn table() -> Vec<String> {
    let columns = [unique_decoding(&export::unique()), johnson(&export::unique()), johnson(&export::listed())];
    let by_name = columns.each_ref().map(|terms| terms.iter().map(|t| (&t.name, t.bits)).collect::<BTreeMap<_, _>>());
    let mut names: Vec<&String> = Vec::new();
    for name in columns.iter().flatten().map(|term| &term.name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // The numbers of oracles are at the end of their names.
    names.sort_by_key(|name| name.rsplit_once(' ').and_then(|(_, number)| number.parse::<usize>().ok()));
    // Rounded down: bits are lower bounds.
    let cell = |bits: Option<f64>| bits.map_or("-".into(), |bits| format!("{:.1}", (bits * 10.0).floor() / 10.0));
    let row = |name: &String| {
        let cells = by_name.each_ref().map(|terms| cell(terms.get(name).copied()));
        format!("| {name} | {} |", cells.join(" | "))
    };
    let all = |name: &str, bits: [f64; 3]| format!("| {name} | {} |", bits.map(|bits| cell(Some(bits))).join(" | "));
    let end = [all("hash", [HASH; 3]), all("least", columns.each_ref().map(|terms| least(terms)))];
    names.into_iter().map(row).chain(end).collect()
}

fn least(terms: &[Term]) -> f64 {
    terms.iter().map(|term| term.bits).fold(HASH, f64::min)
}

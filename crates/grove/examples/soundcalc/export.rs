//! Exports our parameters in the format of ethereum/soundcalc, from the structs that the prover and the verifier use.

use std::fmt::Write as _;

use evergrove_grove::circuit::{CircuitSet, Size};
use evergrove_grove::shape;
use evergrove_multilinear::recursion;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::reed_solomon::Code;
use evergrove_verifier::argument::soundness::{SUMCHECK, combined, johnson_codes};
use evergrove_verifier::argument::{JOHNSON_128, Parameters, Round, UNIQUE_100};
use evergrove_verifier::soundness::{Layer, layers};
use evergrove_verifier::tables::DEGREE;
use evergrove_verifier::{HeightClass, NodeKind, Profile};

/// The height class that is exported. The classes differ little, and their minima are equal.
pub(crate) const CLASS: HeightClass = HeightClass::H27;

/// The names of the configurations, one file each, and their contents.
pub(crate) fn all() -> [(&'static str, String); 3] {
    [("plonky2", plonky2()), ("grove-100", grove(&unique())), ("grove-128", grove(&listed()))]
}

/// The layers of Plonky2's profiles, with the names of their circuits. Buckets are left out: their parameters are those
/// of merges.
pub(crate) fn plonky2_layers() -> Vec<(String, Layer)> {
    let named = |profile: Profile| layers(profile, CLASS).into_iter().map(move |layer| (profile, layer));
    let all = Profile::PLONKY2.into_iter().flat_map(named);
    let differ = all.filter(|(_, layer)| layer.kind != NodeKind::Bucket);
    differ.map(|(profile, layer)| (format!("{profile} {}", layer.kind), layer)).collect()
}
/// The parameters of `grove-100`.
pub(crate) fn unique() -> Parameters<Quadratic> {
    parameters(&UNIQUE_100, Profile::Grove100)
}
/// The parameters of `grove-128`.
pub(crate) fn listed() -> Parameters<Cubic> {
    parameters(&JOHNSON_128, Profile::Grove128)
}

fn parameters<K: Extension>(rounds: &[Round], profile: Profile) -> Parameters<K> {
    let size = Size { height_max: CLASS.height_max(), capacity: profile.bucket_capacity(CLASS) };
    let shape = shape(profile, CLASS).expect("a profile of grove");
    recursion::parameters(rounds, &CircuitSet::of_batches(size).modes(), shape.blocks, shape.variables)
}

fn head(name: &str, family: &str, degree: usize) -> String {
    format!(
        "# Printed by `cargo run -p evergrove-grove --example soundcalc -- toml {name}`.\n\n[zkevm]\nname = \"Evergrove {name}\"\n\
         protocol_family = \"{family}\"\nfield = \"Goldilocks^{degree}\"\nhash_size_bits = 256\n"
    )
}

/// The gap to the Johnson bound. It is rounded up, so that the least multiplicity that reaches it is the code's.
fn gap(code: &Code) -> f64 {
    ((code.agreement - code.rate.sqrt()) * 1e9).ceil() / 1e9
}

fn plonky2() -> String {
    let mut out = head("plonky2", "FRI_STARK", 2);
    for (name, layer) in plonky2_layers() {
        let (fri, shape) = (layer.fri, layer.shape);
        assert_eq!(fri.extension_degree, 2);
        let challenges = fri.challenges.into();
        let code = Code::johnson(0.0, 2f64.powi(-i32::from(fri.rate_bits)), layer.terms().multiplicity.into());
        let factors: Vec<u32> = layer.arity_bits.iter().map(|bits| 1 << bits).collect();
        let last = u32::from(fri.degree_bits + fri.rate_bits) - layer.arity_bits.iter().sum::<u32>();
        write!(
            out,
            "
[[circuits]]
name = \"{name}\"
rho = {}
trace_length = {}
# Constraints have a degree of at most that many times the rows.
air_max_degree = {}
num_constraints = {}
opening_points = 2
# Each polynomial once for each point.
batch_size = {}
power_batching = true
num_queries = {}
fri_folding_factors = {factors:?}
fri_early_stop_degree = {}
grinding_query_phase = {}
# The multiplicity {} of our figures.
gap_to_radius = {}
",
            code.rate,
            1u64 << fri.degree_bits,
            shape.quotient_degree_factor + 1,
            shape.constraints(challenges),
            shape.openings(challenges),
            fri.queries,
            1u64 << last,
            fri.pow_bits,
            layer.terms().multiplicity,
            gap(&code),
        )
        .expect("a string");
    }
    out
}

/// One circuit per oracle, because our rates do not fall as soundcalc assumes. In addition one circuit per pair of
/// oracles whose rates do fall in this way and whose second oracle has samples: soundcalc cannot express the opening of
/// two oracles without samples.
fn grove<K: Extension>(parameters: &Parameters<K>) -> String {
    let rounds = &parameters.schedule().rounds;
    let name = if K::DEGREE == 2 { "grove-100" } else { "grove-128" };
    let mut out = head(name, "WHIR", K::DEGREE);
    let codes = johnson_codes(parameters);
    for i in 0..rounds.len() {
        circuit(&mut out, parameters, i, &rounds[i..=i], &codes[i]);
    }
    for (i, pair) in rounds.windows(2).enumerate() {
        if pair[1].rate == pair[0].rate + pair[0].fold - 1 && pair[1].samples > 0 {
            circuit(&mut out, parameters, i, pair, &codes[i + 1]);
        }
    }
    out
}

/// A circuit for the oracles from number `first` on.
fn circuit<K: Extension>(out: &mut String, parameters: &Parameters<K>, first: usize, rounds: &[Round], last: &Code) {
    let column = |value: fn(&Round) -> usize| rounds.iter().map(value).collect::<Vec<_>>();
    let name = match rounds.len() {
        1 => format!("oracle {first}"),
        _ => format!("oracles {first} and {}", first + 1),
    };
    let folds: Vec<Vec<usize>> = rounds.iter().map(|round| vec![0; round.fold]).collect();
    write!(
        out,
        "
[[circuits]]
name = \"{name}\"
log_inv_rate = {}
num_iterations = {}
folding_factors = {:?}
log_degree = {}
# The columns are stacked: one polynomial.
batch_size = 1
power_batching = true
constraint_degree = {SUMCHECK:.0}
# What powers of lambda combine.
num_constraints = {}
air_max_degree = {DEGREE}
opening_points = 1
num_queries = {:?}
num_ood_samples = {:?}
grinding_batching_phase = 0
grinding_bits_folding = {folds:?}
grinding_bits_queries = {:?}
grinding_bits_ood = {:?}
# The multiplicity {} of our figures{}.
gap_to_radius = {}
",
        rounds[0].rate,
        rounds.len(),
        column(|round| round.fold),
        parameters.schedule().tables()[first],
        combined(parameters),
        column(|round| round.queries),
        &column(|round| round.samples)[1..],
        column(|round| round.grinding),
        &column(|_| 0)[1..],
        last.multiplicity.expect("a multiplicity"),
        if rounds.len() > 1 { " for the second oracle; soundcalc has one for both" } else { "" },
        gap(last),
    )
    .expect("a string");
}

//! Checks against ethereum/soundcalc: our formulas reproduce the published figures of other systems, and soundcalc's
//! figures for our parameters agree with ours.

use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::reed_solomon::Code;
use evergrove_verifier::Profile;
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::argument::soundness::{Term, johnson, johnson_codes, unique_decoding};
use evergrove_verifier::soundness::{self, SoundnessBits};
use serde_json::Value;

#[path = "../../examples/soundcalc/export.rs"]
mod export;
#[path = "../../examples/soundcalc/systems.rs"]
mod systems;
#[path = "../../examples/soundcalc/terms.rs"]
mod terms;

const SYSTEMS: &str = include_str!("../../../../vectors/soundcalc/systems.json");
const OURS: &str = include_str!("../../../../vectors/soundcalc/evergrove.json");
const CONFIGURATIONS: [&str; 3] = [
    include_str!("../../../../vectors/soundcalc/plonky2.toml"),
    include_str!("../../../../vectors/soundcalc/grove-100.toml"),
    include_str!("../../../../vectors/soundcalc/grove-128.toml"),
];
const PAGE: &str = include_str!("../../../../docs/security.md");
/// Tolerance of figures, in bits.
const CLOSE: f64 = 0.01;

/// Checks every figure of every circuit, its printed value, and the row of the security page.
fn checked(system: &Value) {
    let figures = systems::figures(system);
    for systems::Figure { circuit, regime, term, printed, bits, ours } in &figures {
        assert!((ours - bits).abs() < CLOSE, "{circuit}, {regime}, {term}: {ours}, expected {bits}");
        let rounded = (printed - CLOSE..printed + 1.0 + CLOSE).contains(ours);
        assert!(rounded, "{circuit}, {regime}, {term}: {ours}, printed {printed}");
    }
    let [name, family] = ["name", "family"].map(|key| system[key].as_str().unwrap());
    let circuits = system["circuits"].as_array().unwrap().len();
    // Recorded figures have four decimals.
    let worst = systems::worst(&figures).max(0.0001);
    let row = format!("| {name} | {family} | {circuits} | {} | {worst:.4} |", figures.len());
    assert!(PAGE.contains(&row), "{row}");
}

#[test]
fn our_formulas_give_the_published_figures_of_other_systems() {
    let systems = systems::read(SYSTEMS);
    let names: Vec<&str> = systems.iter().map(|system| system["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ZisK", "SP1", "OpenVM", "Pico", "Airbender", "zkDTVM", "DummyWHIR"]);
    systems.iter().for_each(checked);
}

/// The files are the output of the example: `cargo run -p evergrove-grove --example soundcalc -- toml grove-128`.
#[test]
fn our_parameters_are_exported() {
    for ((name, text), file) in export::all().into_iter().zip(CONFIGURATIONS) {
        assert_eq!(text, file, "{name}");
    }
}

/// `evergrove.json` is about these files.
#[test]
fn the_figures_of_soundcalc_are_for_these_parameters() {
    let systems = systems::read(OURS);
    assert_eq!(systems.len(), CONFIGURATIONS.len());
    for (system, file) in systems.iter().zip(CONFIGURATIONS) {
        let file: Value = toml::from_str(file).unwrap();
        assert_eq!(system["name"], file["zkevm"]["name"]);
        assert_eq!(system["family"], file["zkevm"]["protocol_family"]);
        let circuits = system["circuits"].as_array().unwrap();
        assert_eq!(circuits.len(), file["circuits"].as_array().unwrap().len());
        for (circuit, expected) in circuits.iter().zip(file["circuits"].as_array().unwrap()) {
            let mut parameters = circuit.as_object().unwrap().clone();
            parameters.remove("figures");
            assert_eq!(Value::Object(parameters), *expected);
        }
        checked(system);
    }
}

/// A figure of soundcalc for our parameters.
fn soundcalc(systems: &[Value], system: &str, circuit: &str, regime: &str, term: &str) -> f64 {
    let named = |list: &Value, name: &str| {
        list.as_array().unwrap().iter().find(|value| value["name"] == *name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    let system = named(&systems.iter().cloned().collect(), &format!("Evergrove {system}"));
    let bits = &named(&system["circuits"], circuit)["figures"][regime][term][1];
    bits.as_f64().unwrap_or_else(|| panic!("{circuit}, {regime}, {term}"))
}

/// The bits by which soundcalc's figure is lower if the list size is a factor of the term: soundcalc uses the list of
/// the Johnson bound, we use that of the interpolation.
fn longer(code: &Code) -> f64 {
    let gap = code.agreement - code.rate.sqrt();
    (Code::below_johnson(code.field_bits, code.rate, gap).list_size / code.list_size).log2()
}

fn same(ours: f64, theirs: f64, what: &str) {
    assert!((ours - theirs).abs() < CLOSE, "{what}: {ours}, soundcalc with what it counts otherwise {theirs}");
}

/// The terms that soundcalc has, with corrections where it counts differently.
#[test]
fn the_figures_of_plonky2s_profiles_are_those_of_soundcalc() {
    let systems = systems::read(OURS);
    for (name, layer) in export::plonky2_layers() {
        let terms = layer.terms();
        let rate = 2f64.powi(-i32::from(layer.fri.rate_bits));
        let list = longer(&Code::johnson(128.0, rate, terms.multiplicity.into()));
        // soundcalc adds the rows to the constraints' degree, which gives (D + 2) k; Z_H times the quotient has degree
        // (D + 1) k.
        let constraints = f64::from(layer.shape.quotient_degree_factor + 1);
        let rows = ((constraints + 1.0) / constraints).log2();
        for (regime, ours, list) in [("UDR", terms.unique_decoding, 0.0), ("JBR", terms.johnson, list)] {
            let theirs = |term| soundcalc(&systems, "plonky2", &name, regime, term);
            same(ours.batching, theirs("batching"), &name);
            same(ours.folds, theirs("commit round 1"), &name);
            same(ours.queries, theirs("query phase"), &name);
            same(ours.zeta, theirs("DEEP") + rows + list, &name);
        }
    }
}

fn bits(terms: &[Term], name: &str) -> f64 {
    terms.iter().find(|term| term.name == name).unwrap_or_else(|| panic!("{name}")).bits
}

/// Checks the figures of one profile. Returns the number of pairs of oracles.
fn grove<K: Extension>(parameters: &Parameters<K>, name: &str) -> usize {
    let systems = systems::read(OURS);
    let theirs = |circuit: &str, regime, term| soundcalc(&systems, name, circuit, regime, term);
    let [unique, listed] = [unique_decoding(parameters), johnson(parameters)];
    let codes = johnson_codes(parameters);
    let rounds = &parameters.schedule().rounds;
    let mut pairs = 0;
    for i in 0..rounds.len() {
        let (circuit, fold, queries) = (format!("oracle {i}"), format!("folds {i}"), format!("queries {i}"));
        for (regime, terms) in [("UDR", &unique), ("JBR", &listed)] {
            // Without samples, the error of the queries counts for each table that the next oracle may encode.
            let next = match rounds.get(i + 1) {
                Some(round) if round.samples == 0 && regime == "JBR" => codes[i + 1].list_size.log2(),
                _ => 0.0,
            };
            same(bits(terms, &fold), theirs(&circuit, regime, "fold(i=0,s=1)"), &fold);
            same(bits(terms, &queries), theirs(&circuit, regime, "fin") - next, &queries);
        }
        if i > 0 && rounds[i].rate == rounds[i - 1].rate + rounds[i - 1].fold - 1 && rounds[i].samples > 0 {
            let circuit = format!("oracles {} and {i}", i - 1);
            let samples = theirs(&circuit, "JBR", "OOD(i=1)") + 2.0 * longer(&codes[i]);
            same(bits(&listed, &format!("samples {i}")), samples, &circuit);
            // The combination adds no visible error.
            let before = format!("queries {}", i - 1);
            same(bits(&unique, &before), theirs(&circuit, "UDR", "Shift(i=1)"), &circuit);
            pairs += 1;
        }
    }
    same(bits(&unique, "lambda"), theirs("oracle 0", "UDR", "ALI"), "lambda");
    same(bits(&listed, "lambda"), theirs("oracle 0", "JBR", "ALI") + longer(&codes[0]), "lambda");
    pairs
}

#[test]
fn the_figures_of_grove_are_those_of_soundcalc() {
    assert_eq!(grove(&export::unique(), "grove-100"), 0);
    assert_eq!(grove(&export::listed(), "grove-128"), 1);
}

/// Our bits, and the minimum of soundcalc's totals for the circuits of a profile. soundcalc gives a pair of oracles one
/// gap, which is not our gap for the first oracle.
#[test]
fn the_security_page_has_both() {
    let systems = systems::read(OURS);
    let totals = |profile: Profile, regime: &str| {
        let plonky2 = Profile::PLONKY2.contains(&profile);
        let system = systems.iter().filter(move |system| {
            system["name"] == if plonky2 { "Evergrove plonky2".to_owned() } else { format!("Evergrove {profile}") }
        });
        let prefix = if plonky2 { format!("{profile} ") } else { "oracle ".into() };
        let circuits = system.flat_map(|system| system["circuits"].as_array().unwrap());
        let own = circuits.filter(|circuit| circuit["name"].as_str().unwrap().starts_with(&prefix));
        own.map(|circuit| circuit["figures"][regime]["total"][1].as_f64().unwrap()).fold(f64::INFINITY, f64::min)
    };
    for profile in Profile::ALL {
        let SoundnessBits { unique_decoding, johnson, .. } = soundness::bits(profile, export::CLASS);
        let (unique, listed) = (totals(profile, "UDR"), totals(profile, "JBR"));
        let row = format!("| `{profile}` | {unique_decoding:.1} | {unique:.1} | {johnson:.1} | {listed:.1} |");
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn the_security_page_has_the_error_of_each_step() {
    let rows = terms::table();
    assert!(rows.len() > 15);
    assert!(PAGE.contains(&rows.join("\n")), "{}", rows.join("\n"));
}

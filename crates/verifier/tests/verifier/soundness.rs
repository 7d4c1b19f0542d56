//! The formulas compared with values of an independent program (vectors/soundness.json), and the numbers of the
//! profiles.

use evergrove_verifier::soundness::{CircuitShape, Layer, LayerTerms, Terms, bits, layers};
use evergrove_verifier::{HeightClass, NodeKind, Profile};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../../../../vectors/soundness.json")).unwrap()
}

fn same(terms: &Terms, expected: &Value, what: &str) {
    for (name, value) in terms.named().filter(|(name, _)| *name != "multiset") {
        let want = expected[name].as_f64().unwrap();
        assert!((value - want).abs() < 2e-5, "{what}, {name}: {value}, expected {want}");
    }
}

#[test]
fn every_term_agrees_with_the_reference() {
    let reference = reference();
    let count = |row: &Value, name: &str| row[name].as_u64().unwrap() as u32;
    let shape = |row: &Value| CircuitShape {
        routed_wires: count(&reference["shape"], "routed_wires"),
        wires: count(&reference["shape"], "wires"),
        constants: count(row, "constants"),
        gate_constraints: count(&reference["shape"], "gate_constraints"),
        quotient_degree_factor: count(&reference["shape"], "quotient_degree_factor"),
    };
    let all: Vec<(&str, Layer)> = vec![
        ("proven", layers(Profile::Proven, HeightClass::H27).swap_remove(1)),
        ("johnson", layers(Profile::Johnson, HeightClass::H27).swap_remove(1)),
        ("paper", layers(Profile::Paper, HeightClass::H27).swap_remove(1)),
        ("paper-wrap", layers(Profile::Paper, HeightClass::H27).swap_remove(2)),
    ];
    for ((name, layer), row) in all.iter().zip(reference["layers"].as_array().unwrap()) {
        assert_eq!(row["layer"], *name);
        assert_eq!(layer.shape, shape(row));
        let fri = layer.fri;
        for (key, value) in [
            ("rate_bits", u64::from(fri.rate_bits)),
            ("queries", fri.queries.into()),
            ("pow_bits", fri.pow_bits.into()),
            ("challenges", fri.challenges.into()),
            ("degree_bits", fri.degree_bits.into()),
        ] {
            assert_eq!(row[key].as_u64(), Some(value), "{name}, {key}");
        }
        let LayerTerms { unique_decoding, johnson, multiplicity, conjectured, .. } = layer.terms();
        same(&unique_decoding, &row["unique_decoding"], name);
        same(&johnson, &row["johnson"], name);
        same(&conjectured, &row["conjectured"], name);
        assert_eq!(row["johnson"]["m"], multiplicity);
    }
}

fn rounded(profile: Profile, class: HeightClass) -> [f64; 3] {
    let b = bits(profile, class);
    [b.unique_decoding, b.johnson, b.conjectured].map(|x| (x * 10.0).round() / 10.0)
}

#[test]
fn the_profiles_have_the_bits_that_are_printed() {
    for class in HeightClass::ALL {
        assert_eq!(rounded(Profile::Proven, class), [100.7, 88.9, 103.1]);
        assert_eq!(rounded(Profile::Johnson, class), [64.5, 89.5, 104.1]);
        assert_eq!(rounded(Profile::Paper, class), [35.2, 57.9, 87.4]);
        assert_eq!(rounded(Profile::Grove100, class), [100.3, 91.1, 106.4]);
        assert_eq!(rounded(Profile::Grove128, class), [48.6, 128.0, 128.0]);
    }
    let merge = layers(Profile::Paper, HeightClass::H27)[1].terms().bits();
    assert_eq!((merge.unique_decoding * 10.0).round(), 392.0);
}

/// The rows of the two tables in docs/security.md.
#[test]
fn the_security_page_prints_these_numbers() {
    let page = include_str!("../../../../docs/security.md");
    let class = HeightClass::H27;
    for profile in Profile::ALL {
        let [unique, johnson, conjectured] = rounded(profile, class);
        let row = format!("| `{profile}` | {unique:.1} | {johnson:.1} | {conjectured:.1} |");
        assert!(page.contains(&row), "{row}");
        if Profile::GROVE.contains(&profile) {
            assert!(layers(profile, class).is_empty(), "{profile}");
            continue;
        }
        for layer in layers(profile, class).iter().filter(|l| l.kind != NodeKind::Merge) {
            let t = layer.terms();
            let johnson = format!("Johnson, u = {}", t.multiplicity);
            for (regime, terms) in [("unique decoding", t.unique_decoding), (&johnson, t.johnson)] {
                let Terms { permutation, alphas, zeta, batching, folds, queries, multiset, .. } = terms;
                let multiset = multiset.map_or("-".into(), |x| format!("{x:.1}"));
                let row = format!(
                    "| `{profile}` {} | {regime} | {permutation:.1} | {alphas:.1} | {zeta:.1} | {batching:.1} | {folds:.1} \
                     | {queries:.1} | {multiset} | {:.1} |",
                    layer.kind,
                    terms.bits()
                );
                assert!(page.contains(&row), "{row}");
            }
        }
        let merge = layers(profile, class)[1].terms();
        let bucket = layers(profile, class)[0].terms();
        assert_eq!(merge.bits(), bucket.bits(), "the page says that a merge has the terms of a bucket");
    }
    for (profile, regime) in
        [(Profile::Grove100, "unique decoding"), (Profile::Proven, "unique decoding"), (Profile::Grove128, "Johnson")]
    {
        let cells = [1, 15, 28, 41].map(|proofs| {
            let bits = bits(profile, class).union(proofs);
            format!("{:.1}", if regime == "Johnson" { bits.johnson } else { bits.unique_decoding })
        });
        let row = format!("| `{profile}`, {regime} | {} |", cells.join(" | "));
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn a_whole_proof_that_the_default_policy_accepts_keeps_96_bits() {
    for profile in [Profile::default(), Profile::Proven] {
        let whole = bits(profile, HeightClass::H27).union(15);
        assert!(whole.unique_decoding >= 96.0, "{profile}: {whole:?}");
        assert_eq!(whole.union(1), whole);
    }
}

#[test]
fn the_multiset_argument_is_counted_for_buckets_alone() {
    for profile in Profile::PLONKY2 {
        for class in HeightClass::ALL {
            for layer in layers(profile, class) {
                let t = layer.terms();
                let bits = [t.unique_decoding, t.johnson, t.conjectured].map(|x| x.multiset);
                match layer.kind {
                    NodeKind::Bucket => assert!(bits.iter().all(|b| b.is_some_and(|b| (115.0..119.0).contains(&b)))),
                    NodeKind::Merge | NodeKind::Wrap => assert_eq!(bits, [None; 3]),
                }
            }
        }
    }
}

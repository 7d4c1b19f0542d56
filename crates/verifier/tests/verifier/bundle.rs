//! Bundles: from other programs, damaged, and the bytes of our own. The page's reader gives the same messages, from the
//! same file.

use evergrove_verifier::wire::{Bundle, BundleError, RowsForm};
use serde_json::Value as Json;

fn vectors() -> Json {
    serde_json::from_str(include_str!("../../../../vectors/bundle/mutants.json")).unwrap()
}

const PYTHON: &[u8] = include_bytes!("../../../../vectors/bundle/python.tar");
const GNU: &[u8] = include_bytes!("../../../../vectors/bundle/gnu.tar");

fn hex(json: &Json) -> Vec<u8> {
    let digits = json.as_str().unwrap().as_bytes();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
    pairs.collect()
}

#[test]
fn other_programs_write_bundles() {
    let files = &vectors()["files"];
    let [proof, rows, schema, key] =
        ["evergrove.proof", "rows.csv", "schema.toml", "circuits.key"].map(|name| hex(&files[name]));
    let expected = Bundle {
        proof: &proof,
        rows: Some((RowsForm::Csv, &rows)),
        schema: Some(&schema),
        key: Some(&key),
        ..Bundle::default()
    };
    for archive in [PYTHON, GNU] {
        assert!(Bundle::is_bundle(archive));
        assert_eq!(Bundle::decode(archive), Ok(expected));
    }
    // Python fills whole records with zeros.
    let ours = expected.encode().unwrap();
    assert_eq!(ours, PYTHON[..ours.len()]);
    assert!(PYTHON[ours.len()..].iter().all(|byte| *byte == 0));
}

#[test]
fn damaged_bundles_have_one_sentence_each() {
    let vectors = vectors();
    let mutants = vectors["mutants"].as_array().unwrap();
    assert!(mutants.len() > 40);
    for mutant in mutants {
        let mut bytes = PYTHON.to_vec();
        for edit in mutant["edits"].as_array().unwrap() {
            let [at, removed] = [0, 1].map(|i| edit[i].as_u64().unwrap() as usize);
            bytes.splice(at..at + removed, hex(&edit[2]));
        }
        let found = Bundle::decode(&bytes).err().map(|e| e.to_string());
        assert_eq!(found.as_deref(), mutant["error"].as_str(), "{}", mutant["what"]);
    }
}

#[test]
fn files_come_back() {
    let long = vec![7; 513];
    for rows in [None, Some((RowsForm::Csv, &b""[..])), Some((RowsForm::Jsonl, &long))] {
        for schema in [None, Some(&b"x"[..])] {
            for key in [None, Some(&long[..512])] {
                let bundle = Bundle { proof: &long, rows, schema, key, ..Bundle::default() };
                let bytes = bundle.encode().unwrap();
                assert_eq!(bytes.len() % 512, 0);
                assert!(bytes.len() <= Bundle::MAX_BYTES);
                assert_eq!(Bundle::decode(&bytes), Ok(bundle));
            }
        }
    }
}

#[test]
fn files_beyond_the_limits_are_not_written() {
    let long = vec![0; (1 << 24) + 1];
    let proof = Bundle { proof: &long, ..Bundle::default() };
    let error = BundleError::TooLong { name: "evergrove.proof", len: (1 << 24) + 1, limit: 1 << 24 };
    assert_eq!(proof.encode(), Err(error));
    let rows = Bundle { rows: Some((RowsForm::Csv, &long)), key: Some(&long), ..Bundle::default() };
    assert_eq!(rows.encode().map(|bytes| bytes.len()), Ok(512 + 2 * (512 + (1 << 24) + 512) + 1024));
}

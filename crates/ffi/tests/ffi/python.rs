//! `vectors/grove/rows.py` reads csv texts by the same rules as this crate.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use evergrove_verifier::tree::leaf_digest;
use evergrove_verify::{Format, leaves};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::mutation::text;
use crate::rows::{SCHEMAS, schema};

/// A program that reads pairs of a schema and a hexadecimal text. Prints the leaves, or null for a text that it
/// refuses.
const PROGRAM: &str = r#"
import json, sys, tomllib
from grove.refusal import Refusal
from grove.rows import RAW, read_rows, read_schema
def read(schema, text):
    columns = RAW if schema.startswith("raw") else read_schema(schema)
    try:
        rows = read_rows(bytes.fromhex(text).decode(errors="surrogateescape"), columns)
    except Refusal:
        return None
    return [[index, b"".join(x.to_bytes(8, "little") for x in leaf).hex()] for index, leaf in rows]
print(json.dumps([read(*case) for case in json.load(sys.stdin)]))
"#;

const TEXTS: usize = 900;

#[test]
fn texts_are_read_as_in_python() {
    let quotes =
        ["index,a\n1,\"2\n", "index,a\n1,\"2\"3\n", "index,a\n1,\"2\" \n", "index,\"a\"\r1,\"true\"\r\r2,false"];
    let mut cases: Vec<(usize, Vec<u8>)> = quotes.iter().map(|text| (1, text.as_bytes().to_vec())).collect();
    cases.push((2, b"index,b,a\n0,5\" pipe,true\n1,\"a \"\"b\"\"\n\",-3\n".to_vec()));
    let mut runner = TestRunner::deterministic();
    for n in 0..TEXTS {
        let which = n % SCHEMAS.len();
        cases.push((which, text(which, 0).new_tree(&mut runner).expect("a text").current()));
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let told: Vec<_> = cases.iter().map(|(which, text)| json!([SCHEMAS[*which], hex(text)])).collect();
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let mut python = Command::new("python3")
        .args(["-c", PROGRAM])
        .env("PYTHONPATH", vectors)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    python.stdin.take().expect("stdin").write_all(Value::from(told).to_string().as_bytes()).expect("the cases");
    let out = python.wait_with_output().expect("an end");
    assert!(out.status.success());
    let found: Vec<Value> = serde_json::from_slice(&out.stdout).expect("a list");
    assert_eq!(found.len(), cases.len());
    let mut accepted = 0;
    for ((which, text), found) in cases.iter().zip(found) {
        let expected = leaves(&schema(*which), Format::Csv, text).ok().map(|leaves| {
            let leaf = |(index, value): &(u64, _)| json!([index, hex(&leaf_digest(*index, value).to_bytes())]);
            leaves.iter().map(leaf).collect::<Vec<_>>()
        });
        accepted += usize::from(expected.is_some());
        assert_eq!(found, json!(expected), "schema {which}: {:?}", String::from_utf8_lossy(text));
    }
    assert!((50..cases.len() - 50).contains(&accepted), "{accepted}");
}

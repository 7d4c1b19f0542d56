//! The leaves of a text of rows are those that the store reads from a file with the same text.

use std::fs;

use evergrove_store::input::{self, IndexSource, Source, Table};
use evergrove_verifier::schema::Schema;
use evergrove_verifier::tree::Value;
use evergrove_verify::{Format, leaves};

/// Schemas, as TOML. The columns are those of the texts below.
pub(crate) const SCHEMAS: [&str; 5] = [
    "raw = true",
    "[[column]]\nname = \"a\"\ntype = \"unsigned\"\n",
    "[[column]]\nname = \"a\"\ntype = \"signed\"\nnullable = true\n[[column]]\nname = \"b\"\ntype = \"bytes\"\n",
    "[[column]]\nname = \"index\"\ntype = \"fixed:3\"\n[[column]]\nname = \"b\"\ntype = \"bytes\"\nnullable = true\n[[column]]\nname = \"a\"\ntype = \"signed\"\n",
    "[[column]]\nname = \"a\"\ntype = \"address\"\n[[column]]\nname = \"b\"\ntype = \"int128\"\n[[column]]\nname = \"c\"\ntype = \"bool\"\n",
];

pub(crate) fn schema(which: usize) -> Schema {
    Schema::from_toml(SCHEMAS[which]).expect("a schema")
}

/// The line of an error, if the store names one, and the error.
type Bad = (Option<u64>, String);

/// The leaves that the store reads.
pub(crate) fn stored(schema: &Schema, format: Format, text: &[u8]) -> Result<Vec<(u64, Value)>, Bad> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("rows");
    fs::write(&path, text).expect("a file");
    let format = if format == Format::Csv { input::Format::Csv } else { input::Format::Jsonl };
    let failed = |e: input::InputError| (e.place.number, e.problem.to_string());
    // This crate always separates cells by commas. Without this setting the store would guess from the header.
    let source = Source::file(&path).with_separator(b',');
    let table = Table::of(source, format, IndexSource::Column(schema.index_name()), schema.clone());
    let mut leaves = Vec::new();
    for row in table.rows().map_err(failed)? {
        match row {
            Ok((index, row)) => leaves.push((index, schema.value(&row).expect("a row of the schema"))),
            // The store refuses a list without rows; this crate does not.
            Err(e) if matches!(*e.problem, input::Problem::NoRows) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    leaves.sort_unstable_by_key(|(index, _)| *index);
    Ok(leaves)
}

/// Both sides read the same leaves, or refuse the same line.
pub(crate) fn same(which: usize, format: Format, text: &[u8]) -> Result<Vec<(u64, Value)>, String> {
    let schema = schema(which);
    let shown = || String::from_utf8_lossy(text).into_owned();
    match (leaves(&schema, format, text), stored(&schema, format, text)) {
        (Ok(here), Ok(there)) => {
            assert_eq!(here, there, "{:?}", shown());
            Ok(here)
        }
        (Err(here), Err((line, problem))) => {
            // The store stops at the first duplicate position. This crate looks for duplicates last.
            if let Some(line) = line.filter(|_| !problem.starts_with("duplicate position")) {
                assert_eq!(here.line, line, "{here}, {problem} in the store: {:?}", shown());
            }
            let sentence = here.to_string();
            assert!(sentence.starts_with(&format!("line {}: ", here.line)), "{sentence}");
            // Up to 80 characters of an ABI word, each of which may be escaped.
            assert!(!sentence.contains(['\n', '\r']) && sentence.len() < 700, "{sentence}");
            Err(sentence)
        }
        (here, there) => panic!("{here:?} here, {there:?} in the store: {:?}", shown()),
    }
}

fn count(which: usize, format: Format, text: &str) -> usize {
    same(which, format, text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text:?}")).len()
}

fn refused(which: usize, format: Format, text: &str) -> String {
    same(which, format, text.as_bytes()).expect_err(text)
}

#[test]
fn good_csv() {
    let csv = |which, text| count(which, Format::Csv, text);
    assert_eq!(csv(0, "index,e0,e1,e2,e3\n0,1,2,3,4\n7,0,0,0,18446744069414584320\n"), 2);
    assert_eq!(csv(0, "e3,index,e0,e2,e1\n1,2,3,4,5"), 1);
    assert_eq!(csv(1, "index,a\n3,9223372036854775807\n1,0\n2,7\n"), 3);
    assert_eq!(csv(1, "index,a\r\n3,5\r\n1,6\r\n"), 2);
    assert_eq!(csv(1, "\u{feff}index,a\n3,5\n"), 1);
    assert_eq!(csv(1, "\u{feff}\"index\",a\n3,5\n"), 1);
    assert_eq!(csv(1, "\n\nindex,a\n\n\n3,5\n\n"), 1);
    assert_eq!(csv(1, "\"index\",\"a\"\n\"3\",\"5\"\n"), 1);
    assert_eq!(csv(1, "index,a\n00003,0005\n"), 1);
    assert_eq!(csv(1, "index,a\n1099511627775,5\n"), 1);
    assert_eq!(csv(1, "index,a\n"), 0);
    assert_eq!(csv(1, "index,a"), 0);
    assert_eq!(csv(2, "index,a,b\n0,-4,x\n1,,\n2,5,\"a \"\"quoted\"\", cell\r\nof two lines\"\n3,,\u{e9}\n"), 4);
    assert_eq!(csv(2, "index,a,b\n0,1,\"\"\n"), 1);
    assert_eq!(csv(2, "index,a,b\n0,true,5\" pipe\r1,false, \"x\" \n"), 2);
    // If the schema has a column `index`, the column of positions has another name.
    assert_eq!(csv(3, "index_,index,b,a\n5,1.250,,-3\n6,-0.001,x,4\n"), 2);
    assert_eq!(same(2, Format::Csv, b"index,a,b\n0,1,\xff\xfe\0\n").unwrap().len(), 1);
    assert_eq!(
        csv(
            4,
            "index,a,b,c\n0,0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed,-7,true\n1,0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed,0,false\n"
        ),
        2
    );
}

#[test]
fn good_jsonl() {
    let jsonl = |which, text| count(which, Format::Jsonl, text);
    assert_eq!(jsonl(0, "{\"index\":0,\"e0\":1,\"e1\":2,\"e2\":3,\"e3\":18446744069414584320}\n"), 1);
    assert_eq!(jsonl(1, "\u{feff}{\"index\":1,\"a\":\"true\"}\n"), 1);
    assert_eq!(jsonl(0, "{\"e0\":\"1\",\"e1\":\"2\",\"e2\":\"3\",\"e3\":\"4\",\"index\":\"12\"}"), 1);
    assert_eq!(
        jsonl(1, "\n  {\"index\": 3, \"a\": 5}\r\n\n{\"index\": 1, \"a\": true}\n{\"a\": \"7\", \"index\": 2}\n"),
        3
    );
    assert_eq!(jsonl(1, "{\"index\":3,\"a\":1e3}\n{\"index\":4,\"a\":1.5e1}\n{\"index\":5,\"a\":1200E-2}\n"), 3);
    assert_eq!(jsonl(1, ""), 0);
    assert_eq!(jsonl(2, "{\"index\":0,\"a\":null,\"b\":{\"hex\":\"ff00\"}}\n{\"index\":1,\"a\":-5,\"b\":\"\"}\n"), 2);
    assert_eq!(
        jsonl(
            2,
            "{\"index\":0,\"a\":\"\",\"b\":\"\\u00e9\\n\\ud83d\\ude00\"}\n{\"index\":1,\"a\":\"4\",\"b\":12.50}\n"
        ),
        2
    );
    let address = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
    let words = format!(
        "{{\"index\":0,\"a\":\"{address}\",\"b\":-1.5e1,\"c\":true}}\n{{\"index\":1,\"a\":\"{address}\",\"b\":\"-15\",\"c\":\"true\"}}"
    );
    assert_eq!(jsonl(4, &words), 2);
    assert_eq!(jsonl(2, "{\"\\u0069ndex\":0,\"\\u0061\":1,\"b\":false}\n"), 1);
    assert_eq!(
        jsonl(
            3,
            "{\"index_\":0,\"index\":12.5e-2,\"b\":null,\"a\":0}\n{\"index_\":1,\"index\":-0.0,\"b\":\"\",\"a\":-0}\n"
        ),
        2
    );
}

#[test]
fn bad_csv() {
    let texts = [
        (1, ""),
        (1, "\n"),
        (1, "a\n5\n"),
        (1, "index\n5\n"),
        (1, "index,a,b\n1,2,3\n"),
        (1, "index,a,a\n1,2,2\n"),
        (1, "index,index,a\n1,1,2\n"),
        (1, "index,a\n1,2\n3\n"),
        (1, "index,a\n1,2\n3,4,5\n"),
        (1, "index,a\n1,2\n\n\n3,x\n"),
        (1, "index,a\n1,2\nx,3\n"),
        (1, "index,a\n1,2\n,3\n"),
        (1, "index,a\n1,2\n-1,3\n"),
        (1, "index,a\n1,2\n+1,3\n"),
        (1, "index,a\n1,2\n1.0,3\n"),
        (1, "index,a\n1,2\n1099511627776,3\n"),
        (1, "index,a\n1,2\n99999999999999999999999,3\n"),
        (1, "index,a\n1,2\n2,\n"),
        (1, "index,a\n1,2\n2,-1\n"),
        (1, "index,a\n1,2\n2,1e3\n"),
        (1, "index,a\n1,2\n2,9223372036854775808\n"),
        (1, "index,a\n1,2\n2,3\n1,4\n"),
        (1, "Index,a\n1,2\n"),
        (1, "index, a\n1,2\n"),
        (2, "index,a,b\n0,1,\"x\ny\nz\"\n1,oops,\"x\ny\"\n"),
        (3, "index,b,a\n1,x,2\n"),
        (3, "index_,index,b,a\n5,1.2505,,-3\n"),
        (0, "index,e0,e1,e2\n0,1,2,3\n"),
        (0, "index,e0,e1,e2,e3\n0,1,2,3,18446744069414584321\n"),
        (0, "index,e0,e1,e2,e3\n0,1,2,,4\n"),
        (0, "index,e0,e1,e2,e3\n0,\"1\n2\",2,3,4\n"),
        (4, "index,a,b,c\n0,0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed,1,true\n"),
        (4, "index,a,b,c\n0,0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed,170141183460469231731687303715884105728,true\n"),
        (4, "index,a,b,c\n0,0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed,1,\n"),
        (2, "index,a,b\n0,1,\"x\n1,2,y\n"),
        (2, "index,a,b\n0,1,\"x\ny\"z\n"),
        (2, "index,a,b\r\n0,1,\"x\r\ny\"\r\n1,2,\"x\"\"y\" \r\n"),
        (1, "index,\"a\n0,1\n"),
        (1, "index,a\r0,true\r1,yes\r"),
    ];
    let sentences: Vec<String> = texts.iter().map(|(which, text)| refused(*which, Format::Csv, text)).collect();
    let found = sentences.join("\n");
    assert_eq!(found, include_str!("bad_csv.txt").trim_end(), "{found}");
}

#[test]
fn bad_jsonl() {
    let texts = [
        (1, "{"),
        (1, "{\"index\":1,\"a\":2}\n\n[1]\n"),
        (1, "{\"index\":1,\"a\":2} x\n"),
        (1, "{\"index\":1,\"a\":2}{\"index\":2,\"a\":2}\n"),
        (1, "{\"index\":1}\n"),
        (1, "{\"a\":1}\n"),
        (1, "{\"index\":1,\"a\":2,\"b\":3}\n"),
        (1, "{\"index\":1,\"a\":2,\"a\":2}\n"),
        (1, "{\"index\":1,\"index\":1,\"a\":2}\n"),
        (1, "{\"index\":null,\"a\":2}\n"),
        (1, "{\"index\":1e3,\"a\":2}\n"),
        (1, "{\"index\":-1,\"a\":2}\n"),
        (1, "{\"index\":1,\"a\":[2]}\n"),
        (1, "{\"index\":1,\"a\":{\"b\":2}}\n"),
        (1, "{\"index\":1,\"a\":null}\n"),
        (1, "{\"index\":1,\"a\":1.5}\n"),
        (1, "{\"index\":1,\"a\":1e300}\n"),
        (1, "{\"index\":1,\"a\":01}\n"),
        (1, "{\"index\":1,\"a\":2}\n{\"index\":2,\"a\":2}\n\n{\"index\":1,\"a\":3}\n{\"index\":1,\"a\":4}\n"),
        (2, "{\"index\":1,\"a\":1,\"b\":{\"hex\":\"f\"}}\n"),
        (2, "{\"index\":1,\"a\":1,\"b\":{\"hex\":\"0g\"}}\n"),
        (2, "{\"index\":1,\"a\":1,\"b\":{\"hex\":\"00\",\"x\":\"\"}}\n"),
        (2, "{\"index\":1,\"a\":1,\"b\":\"\\ud800\"}\n"),
        (2, "{\"index\":1,\"a\":1,\"b\":null}\n"),
        (0, "{\"index\":0,\"e0\":1,\"e1\":2,\"e2\":3,\"e3\":1e2}\n"),
        (0, "{\"index\":0,\"e0\":1,\"e1\":2,\"e2\":3}\n"),
        (1, "{\"index\":1,\"a\":2}\n\u{feff}{\"index\":2,\"a\":2}\n"),
        (4, "{\"index\":1,\"a\":5,\"b\":1,\"c\":true}\n"),
        (4, "{\"index\":1,\"b\":1,\"c\":1}\n"),
        (4, "{\"index\":1,\"b\":null}\n"),
    ];
    let sentences: Vec<String> = texts.iter().map(|(which, text)| refused(*which, Format::Jsonl, text)).collect();
    let found = sentences.join("\n");
    assert_eq!(found, include_str!("bad_jsonl.txt").trim_end(), "{found}");
}

#[test]
fn a_long_name_is_shortened() {
    let long = "x".repeat(100_000);
    refused(1, Format::Csv, &format!("index,a,{long}\n1,2,3\n"));
    refused(1, Format::Csv, &format!("index,a\n{long},3\n"));
    refused(1, Format::Csv, &format!("index,a\n1,{long}\n"));
    let sentence = refused(2, Format::Csv, "index,a,b\n01,-4,x\n1,,\"a \"quoted\"\"\ncell\"\n");
    assert_eq!(sentence, "line 3: text behind the closing quote of a cell: write a quote within quotes twice");
    refused(1, Format::Jsonl, &format!("{{\"index\":1,\"a\":2,\"{long}\":3}}\n"));
}

#[test]
fn a_long_text_is_not_quoted() {
    let long = "x".repeat(600);
    assert_eq!(refused(1, Format::Jsonl, &format!("\"{long}\"\n")), "line 1: invalid type: string, expected an object");
    let beginning = format!("line 1: column \"{}...\"", "x".repeat(40));
    for cell in ["[2]", "{\"b\":2}", "{\"hex\":\"f\"}"] {
        let said = refused(1, Format::Jsonl, &format!("{{\"index\":1,\"{long}\":{cell}}}\n"));
        assert!(said.starts_with(&beginning), "{said}");
    }
}

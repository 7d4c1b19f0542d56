//! Arbitrary texts of rows and schemas: no panic, one sentence per error, the same leaves as in the store, and memory
//! in proportion to the text.
//!
//! `PROPTEST_CASES` sets the number of cases.

use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::heap;
use evergrove_verifier::policy::GROVE_BACKEND;
use evergrove_verifier::schema::Schema;
use evergrove_verifier::verify::Code;
use evergrove_verifier::{BackendId, BatchProof, HeightClass, NodeKind, Profile, SCHEME, Statement};
use evergrove_verify::request::Next;
use evergrove_verify::{Format, Request, leaves};
use proptest::prelude::*;

use crate::rows::{SCHEMAS, same, schema};

/// Valid texts of each schema, in both formats.
const GOOD: [[&str; 2]; 5] = [
    [
        "index,e0,e1,e2,e3\n0,1,2,3,4\n7,0,\"0\",0,18446744069414584320\n",
        "{\"index\":0,\"e0\":1,\"e1\":2,\"e2\":3,\"e3\":\"4\"}\n",
    ],
    ["index,a\r\n3,9223372036854775807\r\n\r\n1,0\r\n", "{\"index\":3,\"a\":1.5e1}\n{\"a\":true,\"index\":1}"],
    [
        "index,a,b\n0,-4,x\n1,,\"a \"\"quoted\"\"\ncell\"\n",
        "{\"index\":0,\"a\":null,\"b\":{\"hex\":\"ff00\"}}\n\n{\"index\":1,\"a\":-5,\"b\":\"\\u00e9\"}\n",
    ],
    ["\u{feff}index_,index,b,a\n5,1.250,,-3\n6,-0.001,x,4\n", "{\"index_\":0,\"index\":12.5e-2,\"b\":null,\"a\":0}\n"],
    [
        "index,a,b,c\n0,0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed,-7,true\n",
        "{\"index\":0,\"a\":\"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\",\"b\":-15,\"c\":true}\n",
    ],
];

const WORDS: &[&str] = &[
    "index",
    "index_",
    "a",
    "b",
    "e0",
    "e1",
    "e2",
    "e3",
    ",",
    ",",
    ",",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\"",
    "\"\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    "null",
    "true",
    "1",
    "-1",
    "0",
    "1e9",
    "1E-400",
    "1e99999999999",
    "0.5",
    "-",
    ".",
    " ",
    "\t",
    "\u{feff}",
    "{\"hex\":\"",
    "\\u0000",
    "\\ud800",
    "9223372036854775808",
    "18446744073709551616",
    "1099511627776",
];

/// Pieces that form a text or are inserted into one.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (any::<u8>(), 1usize..600).prop_map(|(byte, count)| vec![byte; count]),
    ]
}

/// A valid text with some pieces inserted, replaced or removed; or pieces only.
pub(crate) fn text(which: usize, format: usize) -> impl Strategy<Value = Vec<u8>> {
    let good = GOOD[which][format].as_bytes();
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0usize..8, piece()), 0..4);
    let edited = edits.prop_map(move |edits| {
        let mut text = good.to_vec();
        for (at, removed, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece);
        }
        text
    });
    prop_oneof![3 => edited, 1 => prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())]
}

/// A bound on the heap for a text of rows: a leaf has 40 bytes, a row at least four, and a growing vector exists twice.
fn bound(text: &[u8]) -> usize {
    32 * text.len() + (1 << 20)
}

proptest! {
    // Each case writes a file.
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 16).max(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn leaves_are_those_of_the_store(
        ((which, format), text) in (0usize..5, 0usize..2).prop_flat_map(|case| (Just(case), text(case.0, case.1))),
    ) {
        let form = [Format::Csv, Format::Jsonl][format];
        let _ = same(which, form, &text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused_in_bounded_memory(
        ((which, format), text) in (0usize..5, 0usize..2).prop_flat_map(|case| (Just(case), text(case.0, case.1))),
    ) {
        let form = [Format::Csv, Format::Jsonl][format];
        let schema = schema(which);
        let (read, held) = heap::peak(|| leaves(&schema, form, &text));
        if let Ok(leaves) = read {
            prop_assert!(leaves.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
        prop_assert!(held <= bound(&text), "{held} bytes of heap for {} of text", text.len());
    }

    #[test]
    fn arbitrary_schemas(
        which in 0usize..5,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..9, ".{0,6}"), 0..4),
        format in 0usize..2,
    ) {
        let mut schema = SCHEMAS[which].to_string();
        for (at, removed, piece) in edits {
            let place = |at: usize| (0..=at).rev().find(|at| schema.is_char_boundary(*at)).unwrap_or(0);
            let at = place(at.index(schema.len() + 1));
            let end = place((at + removed).min(schema.len())).max(at);
            schema.replace_range(at..end, &piece);
        }
        let text = GOOD[which][format].as_bytes();
        let commitment = format!("evergrove1:3:{}", "0".repeat(64));
        let mut request = Request::new(vec![], commitment.as_bytes());
        request.rows([Format::Csv, Format::Jsonl][format], text, Some(schema.as_bytes()));
        let verdict = request.finish();
        prop_assert!(!verdict.sentence().contains('\n') && verdict.sentence().len() < 2000, "{:?}", verdict.sentence());
        if let Ok(schema) = Schema::from_toml(&schema) {
            let _ = leaves(&schema, Format::Csv, text);
        }
    }
}

#[test]
fn memory_grows_with_the_text() {
    let rows: String = (0..100_000).map(|i| format!("{i},1\n")).collect();
    let text = format!("index,a\n{rows}");
    let schema = schema(1);
    let (leaves, held) = heap::peak(|| leaves(&schema, Format::Csv, text.as_bytes()));
    assert_eq!(leaves.unwrap().len(), 100_000);
    assert!(held <= bound(text.as_bytes()), "{held} bytes of heap for {} of text", text.len());
    // A single record as long as the text.
    let text = format!("index,a\n1,\"{}\"", "9".repeat(4 << 20));
    let (result, held) = heap::peak(|| crate::mutation::leaves(&schema, Format::Csv, text.as_bytes()));
    assert!(result.is_err());
    assert!(held <= 3 * text.len() + (1 << 20), "{held} bytes of heap for {} of text", text.len());
}

/// A file of a batch. Its body is field elements, but not a real proof.
fn batch(body: usize) -> (Vec<u8>, String) {
    let root = Digest([1, 2, 3, 4].map(Goldilocks::new));
    let statement = Statement { root, canonical: root, height: 3, base: 0 };
    let file = BatchProof {
        scheme: SCHEME.into(),
        backend: BackendId::new(GROVE_BACKEND.0, GROVE_BACKEND.1),
        profile: Profile::Grove100,
        class: HeightClass::H27,
        kind: NodeKind::Bucket,
        statement,
        app: None,
        body: vec![1; body],
    };
    (file.encode(), format!("evergrove1:3:{root}"))
}

/// The heap holds the bytes of the file, the body and its elements.
#[test]
fn a_request_holds_a_file_three_times_at_most() {
    for body in [8, 1 << 10, 1 << 18, 1 << 20] {
        let (file, commitment) = batch(body);
        let ((), held) = heap::peak(|| {
            let mut request = Request::new(file.clone(), commitment.as_bytes());
            assert_eq!(request.check(), Next::Key);
            assert_eq!(request.finish().code(), Code::KeyMissing);
        });
        assert!(held <= 3 * file.len() + (1 << 20), "{held} bytes of heap for a file of {}", file.len());
    }
}

//! Clients' answers in other forms, and refusals, each with its error line.

use evergrove_ethereum::input::{
    AccountProof, InputError, TEXT_MAX, check_proofs, claim_value, read_changes, read_claims, read_header, read_proofs,
    read_witness,
};
use evergrove_ethereum::{Keys, Nodes, Post, Trie, Tries};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{
    Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Header, Hex, Roots, Tag, canonical_digest, rlp,
};
use serde_json::{Value, json};

use crate::common::{bytes, file, hash, text, word};

const A: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn hex(bytes: &[u8]) -> Value {
    Hex(bytes).to_string().into()
}

fn proof(trie: &mut Trie, key: &[u8]) -> Value {
    let nodes = trie.proof(&keccak_256(key)).expect("all is known");
    nodes.into_iter().map(hex).collect::<Vec<_>>().into()
}

/// A state of one account with two slots, and an answer about it, its slots 1 and 9, and an absent account.
pub(crate) fn state() -> (Hash, Value) {
    let mut storage = Trie::empty(Keys::Hashed);
    for slot in [1u8, 2] {
        storage.put(&keccak_256(&word(&json!(format!("{slot:#x}")))), Some(&[slot + 4])).expect("a key");
    }
    let mut fields = vec![7, 9];
    rlp::write_string(&mut fields, &storage.root());
    rlp::write_string(&mut fields, &EMPTY_CODE);
    let mut accounts = Trie::empty(Keys::Hashed);
    accounts.put(&keccak_256(&bytes(&json!(A))), Some(&rlp::list(&fields))).expect("a key");
    let slot = |trie: &mut Trie, key: &str, value: &str| {
        let nodes = proof(trie, &word(&json!(key)));
        json!({"key": key, "value": value, "proof": nodes})
    };
    let answers = json!([
        {
            "address": A, "nonce": "0x7", "balance": "0x9", "storageHash": hex(&storage.root()), "codeHash": hex(&EMPTY_CODE),
            "accountProof": proof(&mut accounts, &bytes(&json!(A))),
            "storageProof": [slot(&mut storage, "0x1", "0x5"), slot(&mut storage, "0x9", "0x0")],
        },
        {
            "address": B, "nonce": "0x0", "balance": "0x0", "storageHash": hex(&EMPTY_ROOT), "codeHash": hex(&EMPTY_CODE),
            "accountProof": proof(&mut accounts, &bytes(&json!(B))), "storageProof": [{"key": "0x1", "value": "0x0", "proof": []}],
        },
    ]);
    (accounts.root(), answers)
}

fn read(answers: &Value) -> Result<Vec<AccountProof>, InputError> {
    read_proofs(&text(answers))
}

/// The claims of answers that were changed, or the error.
fn checked(change: impl FnOnce(&mut Value)) -> Result<Vec<Claim>, String> {
    let (root, mut answers) = state();
    change(&mut answers);
    let checked = read(&answers).and_then(|proofs| check_proofs(&root, proofs));
    checked.map(|c| c.claims).map_err(|e| e.to_string())
}

#[test]
fn clients_say_one_thing_in_many_ways() {
    let plain = checked(|_| {}).expect("good");
    assert_eq!(plain.len(), 5);
    assert!(canonical_digest(&plain).is_ok());
    let zero = hex(&[0; 32]);
    type Change = fn(&mut Value, Value);
    let same: [Change; 14] = [
        |a, zero| a[1]["codeHash"] = zero,
        |a, zero| a[1]["storageHash"] = zero,
        |a, _| a[1]["storageProof"][0]["proof"] = json!(["0x80"]),
        |a, _| a[1]["storageProof"][0]["proof"] = Value::Null,
        |a, _| a[0]["storageProof"][0]["key"] = json!(format!("0x{:064x}", 1)),
        |a, _| a[0]["storageProof"][0]["key"] = json!("0x01"),
        |a, _| a[0]["storageProof"][0]["value"] = json!(format!("0x{:064x}", 5)),
        |a, _| a[0]["address"] = json!(A.to_uppercase().replace("0X", "0x")),
        |a, _| a[0]["address"] = json!("0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa"),
        |a, _| a[0]["accountProof"] = a[0]["accountProof"].as_array().expect("a list").iter().rev().cloned().collect(),
        |a, _| drop(a[0].as_object_mut().expect("an object").remove("balance")),
        |a, _| a[0] = json!({"jsonrpc": "2.0", "id": 1, "result": a[0]}),
        |a, _| *a = json!({"jsonrpc": "2.0", "id": 1, "result": a}),
        |a, _| {
            let again = a[0].clone();
            a.as_array_mut().expect("a list").push(again);
        },
    ];
    for (i, change) in same.into_iter().enumerate() {
        assert_eq!(checked(|a| change(a, zero.clone())), Ok(plain.clone()), "change {i}");
    }
    let (root, mut answers) = state();
    let stray = answers[0]["storageProof"][0]["proof"][0].clone();
    answers[1]["accountProof"].as_array_mut().expect("a list").extend([stray, json!("0xc0")]);
    let checked = check_proofs(&root, read(&answers).expect("answers")).expect("good");
    assert_eq!((checked.claims, checked.strays), (plain, 1));
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    let refused = |change: fn(&mut Value)| checked(change).expect_err("refused");
    let starts = |change: fn(&mut Value), start: &str| {
        let error = refused(change);
        assert!(error.starts_with(start), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    // Answers of two blocks, and reports that differ from the proof.
    let error = starts(
        |a| a[0]["accountProof"] = json!(["0xc22001"]),
        "account 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: the proof begins with 0x",
    );
    assert!(error.ends_with("ask for all by one block hash (EIP-1898)"), "{error}");
    starts(|a| a[0]["accountProof"] = json!([]), "account 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: no proof, but");
    let storage = "slot 0x0000000000000000000000000000000000000000000000000000000000000001 of 0xaaaa";
    starts(|a| a[0]["storageProof"][0]["proof"] = a[0]["accountProof"].clone(), storage);
    starts(|a| a[0]["storageProof"][0]["proof"] = json!([]), storage);
    for (field, value, shown) in [
        ("nonce", "0x8", "reported nonce 8 differs from the proof's 7"),
        (
            "balance",
            "0xa",
            "reported balance 0x000000000000000000000000000000000000000000000000000000000000000a differs",
        ),
        ("storageHash", &format!("0x{}", "00".repeat(32)), "reported storageHash 0x00"),
        ("codeHash", &format!("0x{}", "11".repeat(32)), "reported codeHash 0x11"),
    ] {
        let error = checked(|a| a[0][field] = json!(value)).expect_err("another value");
        assert!(error.contains(shown), "{error}");
    }
    for (field, value) in [("nonce", "0x1"), ("balance", "0x1"), ("codeHash", &format!("0x{}", "11".repeat(32)))] {
        let error = checked(|a| a[1][field] = json!(value)).expect_err("of an absent account");
        assert!(error.contains(&format!("reported {field} ")), "{error}");
    }
    assert!(refused(|a| a[0]["storageProof"][0]["value"] = json!("0x6")).contains("reported value 0x"));
    assert!(refused(|a| a[0]["storageProof"][1]["value"] = json!("0x6")).contains("reported value 0x"));
    // The last node is missing; a byte of a node is another.
    let error = refused(|a| drop(a[0]["storageProof"][0]["proof"].as_array_mut().expect("a list").pop()));
    assert!(error.contains("missing node 0x") || error.contains("no proof"), "{error}");
    let error = refused(|a| {
        let node = a[0]["accountProof"][0].as_str().expect("a node").replace("0709", "0809");
        a[0]["accountProof"][0] = json!(node);
    });
    assert!(error.contains("the proof begins with 0x"), "{error}");
}

#[test]
fn texts_that_are_no_answer_are_refused() {
    let refused = |change: fn(&mut Value)| checked(change).expect_err("refused");
    type Case<'a> = (fn(&mut Value), &'a str);
    let cases: [Case<'_>; 16] = [
        (|a| *a = json!([1]), "expected an object, got 1"),
        (|a| a[1] = Value::Null, "answer 1: expected an object, got null"),
        (|a| drop(a[0].as_object_mut().expect("an object").remove("address")), "answer 0: missing field `address`"),
        (|a| a[0]["accountProof"] = Value::Null, "answer 0: missing field `accountProof`"),
        (|a| a[0]["accountProof"] = json!("0x"), "answer 0: accountProof: expected a list, got \"0x\""),
        (
            |a| a[0]["accountProof"][0] = json!("0xabc"),
            "answer 0: accountProof 0: expected 0x and an even number of hexadecimal digits, got \"0xabc\"",
        ),
        (
            |a| a[0]["accountProof"][0] = json!("ab"),
            "answer 0: accountProof 0: expected 0x and an even number of hexadecimal digits, got \"ab\"",
        ),
        (
            |a| a[0]["accountProof"][0] = json!("0xzz"),
            "answer 0: accountProof 0: expected 0x and an even number of hexadecimal digits, got \"0xzz\"",
        ),
        (|a| a[0]["nonce"] = json!(7), "answer 0: nonce: expected a string of hexadecimal digits in quotes, got 7"),
        (|a| a[0]["nonce"] = json!("0x10000000000000000"), "answer 0: nonce: expected 8 bytes, got 9"),
        (
            |a| a[0]["balance"] = json!("0x"),
            "answer 0: balance: expected 0x and an even number of hexadecimal digits, got \"0x\"",
        ),
        (|a| a[0]["address"] = json!("0xaa"), "answer 0: address: expected 20 bytes, got 1"),
        (
            |a| a[0]["address"] = json!("0xAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            "answer 0: address: address 0xAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa has a wrong checksum (EIP-55): check it, or write it in lower case",
        ),
        (
            |a| a[0]["storageProof"][1]["key"] = json!(format!("0x1{:064x}", 0)),
            "answer 0: storageProof 1: key: expected 32 bytes, got 33",
        ),
        (
            |a| *a = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "missing trie node"}}),
            "the client answered with an error: \"missing trie node\"; many clients have the state of recent blocks only (128 by default): ask for a newer block, or ask an archive node",
        ),
        (|a| *a = json!({"jsonrpc": "2.0", "id": 1}), "missing field `result`"),
    ];
    for (change, error) in cases {
        assert_eq!(refused(change), error);
    }
    let error = |text: &[u8]| read_proofs(text).map(drop).expect_err("refused").to_string();
    assert_eq!(error(&[b'['; 17]), "nested deeper than 16 levels: not an answer of a client");
    assert!(error(b"[[\"[[[[[[[[[[[[[[[[[[[\\\"[\"").starts_with("not JSON: "));
    let values = "more than 4194304 values, of which an object counts as 8: split the file";
    let repeated = |item: &str, n: usize| format!("[{}{item}]", format!("{item},").repeat(n));
    assert_eq!(error(repeated("0", 1 << 22).as_bytes()), values);
    assert_eq!(error(repeated("{}", 530_000).as_bytes()), values);
    // Text in a string is text in every build, whatever the field's name.
    let inside = serde_json::to_string(&repeated("0", 1 << 22)).expect("a string");
    let raw = format!("[{{\"$serde_json::private::RawValue\": {inside}}}]");
    assert_eq!(error(raw.as_bytes()), "missing field `address`");
    assert_eq!(error(b"{\"address\": 1, \"address\": 2}"), "`address` is there twice");
    assert_eq!(
        error(b"{\"address\": \"0x\\n\\u001b[31m\"}"),
        "address: expected 0x and an even number of hexadecimal digits, got \"0x\\n\\u{1b}[31m\""
    );
    assert_eq!(error(&vec![b' '; TEXT_MAX + 1]), "67108865 bytes of JSON: split the file into parts of at most 64 MiB");
    assert!(error(b"").starts_with("not JSON: EOF"));
}

/// The header of a block of the repository, as `eth_getBlockByHash` answers.
fn block() -> (Header, Vec<u8>, Value) {
    let file = file("mainnet-19840104.json").expect("in the repository");
    let raw = bytes(&file["header"]);
    let names = [
        "parentHash",
        "sha3Uncles",
        "miner",
        "stateRoot",
        "transactionsRoot",
        "receiptsRoot",
        "logsBloom",
        "difficulty",
        "number",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "extraData",
        "mixHash",
        "nonce",
        "baseFeePerGas",
        "withdrawalsRoot",
        "blobGasUsed",
        "excessBlobGas",
        "parentBeaconBlockRoot",
    ];
    let numbers =
        ["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"];
    let mut fields = rlp::Reader::new(&raw).list().expect("a list");
    let mut block = json!({"hash": file["hash"], "size": "0x1", "transactions": []});
    for name in names {
        let field = hex(fields.string(0, 256).expect("a field"));
        let text = field.as_str().expect("text");
        let quantity = format!("0x{}", text[2..].trim_start_matches('0'));
        let number = if quantity == "0x" { "0x0".into() } else { quantity };
        block[name] = if numbers.contains(&name) { number.into() } else { field };
    }
    fields.end().expect("twenty fields");
    (Header::parse(&raw).expect("a header"), raw, block)
}

#[test]
fn headers_are_read_in_every_form() {
    let (header, raw, block) = block();
    let digits = Hex(&raw).to_string();
    assert_eq!(read_header(digits.as_bytes(), None), Ok(header.clone()));
    assert_eq!(read_header(format!(" \"{digits}\"\n").as_bytes(), Some(&header.hash)), Ok(header.clone()));
    assert_eq!(read_header(&text(&block), Some(&header.hash)), Ok(header.clone()));
    let envelope = json!({"jsonrpc": "2.0", "id": 1, "result": block});
    assert_eq!(read_header(&text(&envelope), None), Ok(header.clone()));
    let error = |text: &[u8], hash: Option<&Hash>| read_header(text, hash).expect_err("refused").to_string();
    assert!(error(digits.as_bytes(), Some(&[1; 32])).ends_with("it is another block's"));
    let mut other = block.clone();
    other["timestamp"] = json!("0x1");
    assert!(error(&text(&other), None).ends_with("it is another block's"));
    other.as_object_mut().expect("an object").remove("gasUsed");
    assert_eq!(error(&text(&other), None), "missing field `gasUsed`");
    other = block;
    other["stateRoot"] = json!("0x1234");
    assert!(error(&text(&other), None).starts_with("not a block header: expected 0xa0 at byte 90, got 0x82"));
    assert_eq!(error(b"0xf90000", None), "a header has 408 to 1087 bytes, got 3");
    assert!(error(b"0xf9", None).starts_with("a header has"));
    assert_eq!(error(b"null", None), "expected a string of hexadecimal digits in quotes, got null");
}

#[test]
fn witnesses_are_lists_or_maps() {
    let file = file("mainnet-19840104.json").expect("in the repository");
    let (header, _, block) = block();
    let nodes = file["preNodes"].clone();
    let named: serde_json::Map<String, Value> = nodes
        .as_array()
        .expect("a list")
        .iter()
        .map(|n| (Hex(&keccak_256(&bytes(n))).to_string(), n.clone()))
        .collect();
    let before = hash(&file["preStateRoot"]);
    let count = named.len();
    let claim = Claim::AbsentAccount { address: [0xee; 20] };
    for witness in [
        nodes.clone(),
        json!({"state": nodes, "codes": ["0x6000"], "keys": [A]}),
        json!({"state": named, "codes": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"state": nodes.as_array().expect("a list").iter().rev().chain([&json!("0x80")]).collect::<Vec<_>>()}}),
    ] {
        let read = read_witness(&text(&witness)).expect("a witness");
        assert!(read.nodes.len() >= count);
        assert!(read.headers.is_empty());
        let tries = Tries::new(&Roots::of_state(before), Nodes::new(read.nodes).expect("few"));
        assert!(
            tries
                .account(&bytes(&file["accounts"][0]["address"]).try_into().expect("20 bytes"))
                .expect("known")
                .is_some()
        );
        assert!(tries.check(&claim).expect_err("not known").to_string().contains("missing node"));
    }
    // The header of the block before, here of an invented block that follows the real one.
    let mut next = block.clone();
    next["parentHash"] = hex(&header.hash);
    next["number"] = json!(format!("{:#x}", header.number + 1));
    next.as_object_mut().expect("an object").remove("hash");
    let read = read_witness(&text(&json!({"state": [], "headers": [next, block]}))).expect("a witness");
    assert_eq!(read.headers[0], header);
    let mut far = block.clone();
    far["number"] = json!(format!("{:#x}", header.number + 2));
    far.as_object_mut().expect("an object").remove("hash");
    let error = read_witness(&text(&json!({"state": [], "headers": [block, far]}))).map(drop).expect_err("no link");
    assert!(error.to_string().starts_with("header 19840106 does not follow the header before it"), "{error}");
    let error = |value: Value| read_witness(&text(&value)).map(drop).expect_err("refused").to_string();
    assert_eq!(error(json!({"nodes": []})), "missing field `state`");
    assert_eq!(error(json!({"state": "0x"})), "state: expected a list, got \"0x\"");
    assert!(error(json!({"state": {"0x1": "0x1"}})).starts_with("state 0x1: expected 0x and an even number"));
    assert!(error(json!({"state": [], "headers": ["0x00"]})).starts_with("headers 0: a header has"));
}

#[test]
fn changes_that_are_none_are_refused() {
    let error = |value: Value| read_changes(&text(&value)).map(drop).expect_err("refused").to_string();
    assert_eq!(error(json!([{"slots": []}])), "change 0: missing field `address`");
    assert_eq!(error(json!([{"address": A}, {"address": A, "post": 5}])), "change 1: expected an object, got 5");
    assert_eq!(error(json!([{"address": A, "slots": [{"slot": "0x1"}]}])), "change 0: slots 0: missing field `post`");
    assert_eq!(error(json!({"pre": {}})), "change 0: missing field `post`");
    assert_eq!(
        error(json!({"pre": {}, "post": {"0x1": {}}})),
        format!("change 0: post: 0x1: expected 0x and an even number of hexadecimal digits, got \"0x1\"")
    );
    assert_eq!(
        error(json!([{"txHash": "0x", "result": {"pre": {}, "post": {A: {"balance": 1}}}}])),
        format!("change 0: {A}: balance: expected a string of hexadecimal digits in quotes, got 1")
    );
    // One account or slot by two spellings, and a trace that failed.
    let upper = A.to_uppercase().replace("0X", "0x");
    let twice = error(json!({"pre": {}, "post": {A: {}, &upper: {}}}));
    assert!(twice.starts_with("change 0: post: `0x") && twice.ends_with("` is there twice"), "{twice}");
    assert_eq!(
        error(json!({"pre": {}, "post": {A: {"storage": {"0x1": "0x1", "0x01": "0x2"}}}})),
        format!("change 0: {A}: `0x1` is there twice")
    );
    assert!(
        error(json!([{"txHash": "0x", "error": "execution timeout"}]))
            .contains("answered with an error: \"execution timeout\"")
    );
    let cleared = json!({"pre": {A: {"code": "0xef0100"}}, "post": {A: {"codeHash": hex(&[0; 32])}}});
    let change = read_changes(&text(&cleared)).expect("a change").remove(0);
    assert!(matches!(change.post, Post::Fields { code_hash: Some(EMPTY_CODE), .. }), "{change:?}");
    assert!(
        error(json!([{"result": {"jsonrpc": "2.0", "error": "x"}}]))
            .contains("the client answered with an error: \"x\"")
    );
}

#[test]
fn claims_are_read() {
    let account = json!({"address": A, "nonce": "0x7", "balance": "0x9", "storageHash": hex(&EMPTY_ROOT), "codeHash": hex(&EMPTY_CODE)});
    let all = json!([
        account,
        {"address": B, "absent": true},
        {"address": A, "slot": "0x1", "value": "0x5"},
        {"trie": "receipts", "index": 3, "value": "0x01"},
        {"trie": "withdrawals", "index": "0x10", "absent": true},
    ]);
    let claims = read_claims(&text(&all)).expect("claims");
    assert!(
        matches!(&claims[0], Claim::Account { account, .. } if account.nonce == 7 && account.balance == word(&json!("0x9")))
    );
    assert!(matches!(claims[1], Claim::AbsentAccount { address: [0xbb, ..] }));
    assert!(matches!(&claims[2], Claim::Slot { value, .. } if *value == word(&json!("0x5"))));
    assert!(matches!(&claims[3], Claim::Entry { trie: Tag::Receipts, index: 3, value } if *value == [1]));
    assert!(matches!(claims[4], Claim::AbsentEntry { trie: Tag::Withdrawals, index: 16 }));
    let written = Value::Array(claims.iter().map(claim_value).collect());
    assert_eq!(read_claims(&text(&written)), Ok(claims));
    let error = |value: Value| read_claims(&text(&value)).map(drop).expect_err("refused").to_string();
    for stray in [
        json!({"address": A, "slot": "0x1", "value": "0x5", "absent": true}),
        json!({"trie": "receipts", "index": 3, "value": "0x01", "absent": true}),
        json!({"address": A, "absent": true, "nonce": "0x1"}),
        json!({"address": A, "slot": "0x1", "value": "0x5", "trie": "receipts", "index": 3}),
    ] {
        let said = error(json!([stray]));
        assert!(said.contains("does not belong here: expected"), "{said}");
    }
    assert_eq!(error(json!([{"address": A}])), "claim 0: missing field `nonce`");
    assert_eq!(error(json!([{"address": A, "absent": 1}])), "claim 0: expected true or false for `absent`, got 1");
    assert_eq!(error(json!([{"address": A, "slot": "0x1"}])), "claim 0: missing field `value`");
    assert_eq!(
        error(json!([{"trie": "state", "index": 1, "absent": true}])),
        "claim 0: trie: expected \"transactions\", \"receipts\" or \"withdrawals\", got \"state\""
    );
}

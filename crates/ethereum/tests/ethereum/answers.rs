//! Recorded answers of clients: a question has answers in different forms, and each has one reading or one refusal.

use std::path::Path;

use evergrove_ethereum::input::{
    InputFault, check_proofs, check_transaction, read_claims, read_header, read_proofs, read_witness,
};
use evergrove_ethereum::{Nodes, Trie, Tries};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Hex, Roots, Tag, rlp};
use serde_json::{Value, json};

use crate::common::{all, bytes, hash, text};

/// The root of the small state that most answers are about.
pub(crate) const STATE: &str = "0xca4a1410004da4cb88cfc0b2ac20deb69a09da38090f48fd01143c9443f96b94";
/// The state roots of mainnet blocks 19,807,079, 19,807,080 and 21,925,176.
const BEFORE: &str = "0xbbd66174555d27c88e285ff4797de401470d8d2486d15513ab36e491e864bca2";
const AFTER: &str = "0xc258b8b986b5003f4a051c625c427e7d93fbdf653669468727bbcc25b1fd1919";
const LATER: &str = "0x7b3d5a01f69b7d2ea7479fd7ae35f4bac2700ab6d6d7b4807a7fedf53ced710e";

pub(crate) const CONTRACT: &str = "0x1111111111111111111111111111111111111111";
pub(crate) const PLAIN: &str = "0x2222222222222222222222222222222222222222";
const HOLLOW: &str = "0x3333333333333333333333333333333333333333";
const GONE: &str = "0x4444444444444444444444444444444444444444";
const DELEGATED: &str = "0x5555555555555555555555555555555555555555";

pub(crate) fn answer(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers").join(name);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}

/// The claims that follow from an answer under a state root, or the error.
pub(crate) fn read(answer: &Value, root: &str) -> Result<Vec<Claim>, String> {
    let proofs = read_proofs(&text(answer)).map_err(|e| e.to_string())?;
    let checked = check_proofs(&hash(&json!(root)), proofs).map_err(|e| e.to_string())?;
    checked.claims.iter().for_each(|claim| checked.tries.check(claim).expect("true"));
    assert_eq!(checked.strays, 0);
    Ok(checked.claims)
}

/// Claims of a file of claims, in the order of their keys.
fn claims(values: Value) -> Vec<Claim> {
    let mut claims = read_claims(&text(&values)).expect("claims");
    claims.sort_by_key(Claim::key);
    claims
}

fn account(address: &str, nonce: &str, balance: &str, storage: &Hash, code: &Hash) -> Value {
    let [storage, code] = [storage, code].map(|h| Hex(h).to_string());
    json!({"address": address, "nonce": nonce, "balance": balance, "storageHash": storage, "codeHash": code})
}

fn plain() -> Value {
    account(PLAIN, "0x7", "0xde0b6b3a7640000", &EMPTY_ROOT, &EMPTY_CODE)
}

fn contract() -> Value {
    let code = keccak_256(&bytes(&json!("0x600160005500")));
    let storage = hash(&json!("0xe083a4b0b334296ad2921cdaa9307d0f8440ad2cc1f43659902cebdcd4e644bd"));
    account(CONTRACT, "0x1", "0x0", &storage, &code)
}

fn slot(address: &str, slot: &str, value: &str) -> Value {
    json!({"address": address, "slot": slot, "value": value})
}

fn absent(address: &str) -> Value {
    json!({"address": address, "absent": true})
}

/// Clients report zeros and the hashes of empty data for an absent account; its absence follows from the nodes.
#[test]
fn an_absent_account_is_reported_with_zeros_or_the_hashes_of_nothing() {
    let real = "0xeeeeeeeeeeeeeeeeeeeeeeee00000000000b6db7";
    for (name, address, root) in
        [("absent-account-zero-hashes.json", real, BEFORE), ("absent-account-empty-hashes.json", GONE, STATE)]
    {
        let expected = claims(json!([absent(address), slot(address, "0x0", "0x0")]));
        let answer = answer(name);
        assert_eq!(read(&answer, root), Ok(expected.clone()), "{name}");
        let zero = Hex(&[0; 32]).to_string();
        for [storage, code] in
            [[&zero, &Hex(&EMPTY_CODE).to_string()], [&Hex(&EMPTY_ROOT).to_string(), &zero], [&zero, &zero]]
        {
            let mut answer = answer.clone();
            answer["result"]["storageHash"] = json!(storage);
            answer["result"]["codeHash"] = json!(code);
            assert_eq!(read(&answer, root), Ok(expected.clone()), "{name}");
        }
        let mut other = answer.clone();
        other["result"]["balance"] = json!("0x1");
        let [one, none] = [1, 0].map(|n| format!("{n:064x}"));
        assert_eq!(
            read(&other, root),
            Err(format!(
                "account {address}: reported balance 0x{one} differs from the proof's 0x{none}: ask for all by one block hash (EIP-1898)"
            ))
        );
    }
    // For a present account, zeros are wrong.
    let mut there = answer("empty-storage.json")[0].clone();
    there["result"]["codeHash"] = json!(Hex(&[0; 32]).to_string());
    assert_eq!(
        read(&there, STATE),
        Err(format!(
            "account {PLAIN}: reported codeHash {} differs from the proof's {}: ask for all by one block hash (EIP-1898)",
            Hex(&[0; 32]),
            Hex(&EMPTY_CODE)
        ))
    );
}

#[test]
fn the_proof_in_an_empty_storage_trie_is_no_list_or_no_nodes_or_the_empty_node() {
    let expected = claims(json!([plain(), slot(PLAIN, "0x0", "0x0")]));
    let answers = answer("empty-storage.json");
    assert_eq!(read(&answers, STATE), Ok(expected.clone()));
    for one in answers.as_array().expect("a batch") {
        assert_eq!(read(one, STATE), Ok(expected.clone()));
        // No such answer is a proof in a trie that has slots.
        let mut other = answer("keys-and-values.json")[1].clone();
        other["result"]["storageProof"][1]["proof"] = one["result"]["storageProof"][0]["proof"].clone();
        assert_eq!(
            read(&other, STATE),
            Err(format!(
                "slot {} of {CONTRACT}: no proof, but the trie with root {} is not empty",
                Hex(&[0; 32]),
                contract()["storageHash"].as_str().expect("a hash")
            ))
        );
    }
}

#[test]
fn keys_and_values_are_numbers_in_any_width() {
    let expected = claims(json!([contract(), slot(CONTRACT, "0x9", "0x1234"), slot(CONTRACT, "0x0", "0x0")]));
    let answers = answer("keys-and-values.json");
    for one in answers.as_array().expect("a batch") {
        assert_eq!(read(one, STATE), Ok(expected.clone()));
    }
    // One slot in three spellings is one claim.
    assert_eq!(read(&answers, STATE), Ok(expected));
    let mut other = answers[2].clone();
    other["result"]["storageProof"][0]["value"] = json!("0x1235");
    assert_eq!(
        read(&other, STATE),
        Err(format!(
            "slot 0x{:064x} of {CONTRACT}: reported value 0x{:064x} differs from the proof's 0x{:064x}: ask for all by one block hash (EIP-1898)",
            9, 0x1235, 0x1234
        ))
    );
}

#[test]
fn answers_of_two_blocks_name_both_roots() {
    let storage = answer("account-and-storage-of-two-blocks.json");
    assert_eq!(
        read(&storage, BEFORE),
        Err("slot 0xfb1d4442566123dd7c0fe5cd59628ac4451e1b9577fd6e20474cca2443e1b531 of 0x8b683c400457ef31f3c27c90acb6ab69304d1b77: \
            the proof begins with 0xe8d83fe485db990a210775a45f9674584406adb0c2596b776956129a5d6e3e4b, \
            expected root 0x5667305d9ebfae31aaa24a0a77978a440941d4ddd3de8a48a8579d5db0982ab5: \
            the answers are of different blocks; ask for all by one block hash (EIP-1898)".into())
    );
    // Two calls with a block between.
    let calls = answer("calls-of-two-blocks.json");
    for (expected, found) in [(BEFORE, AFTER), (AFTER, BEFORE)] {
        assert_eq!(
            read(&calls, expected),
            Err(format!(
                "account 0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5: the proof begins with {found}, expected root {expected}: the answers are of different blocks; ask for all by one block hash (EIP-1898)"
            ))
        );
    }
    for (call, root) in [(0, BEFORE), (1, AFTER)] {
        assert_eq!(read(&calls[call], root).map(|claims| claims.len()), Ok(1));
    }
}

#[test]
fn clients_that_lack_an_old_state_say_so() {
    let node = "251e62db614a22ec8c5f80bef521117086a8403c2814f84afbeb2b5f1007be93";
    let remedy = "many clients have the state of recent blocks only (128 by default): ask for a newer block, or ask an archive node";
    for (name, message) in [
        (
            "history-hash-scheme.json",
            format!("missing trie node {node} (path ) state 0x{node} is not available, not found"),
        ),
        ("history-path-scheme.json", format!("historical state {node} is not available")),
        (
            "history-window.json",
            "requested block is too old, block must be within 100000 blocks of the head block number (currently 19940181)".into(),
        ),
    ] {
        let (error, shown) = (answer(name), format!("the client answered with an error: \"{message}\"; {remedy}"));
        assert_eq!(read(&error, STATE), Err(shown.clone()), "{name}");
        assert_eq!(read_witness(&text(&error)).map(drop).map_err(|e| e.to_string()), Err(shown.clone()));
        assert_eq!(read_header(&text(&error), None).map(drop).map_err(|e| e.to_string()), Err(shown.clone()));
        // In a batch the place is named.
        let batch = json!([answer("empty-storage.json")[0], error]);
        assert_eq!(read(&batch, STATE), Err(format!("answer 1: {shown}")));
    }
}

/// The claims that the small state makes true, and with them the nodes that are needed.
fn known(tries: &Tries) {
    let all = claims(json!([
        contract(),
        plain(),
        absent(GONE),
        slot(CONTRACT, "0x9", "0x1234"),
        slot(CONTRACT, "0x1", "0x5"),
        slot(CONTRACT, "0x7", "0x0"),
    ]));
    all.iter().for_each(|claim| tries.check(claim).expect("true"));
}

#[test]
fn witnesses_are_read_in_every_form() {
    let roots = Roots::of_state(hash(&json!(STATE)));
    for (name, nodes, headers) in [
        ("witness-list.json", 9, 0),
        // Nodes, codes and preimages by their hashes, as older clients answer.
        ("witness-map.json", 9, 0),
        // The empty node and a node that is not used; keys of 20, 32 and 52 bytes; headers as RLP.
        ("witness-rlp-headers.json", 11, 2),
        // Headers as objects, and no keys.
        ("witness-json-headers.json", 9, 2),
    ] {
        let witness = read_witness(&text(&answer(name))).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((witness.nodes.len(), witness.headers.len()), (nodes, headers), "{name}");
        if headers > 0 {
            assert_eq!(witness.headers.iter().map(|h| h.number).collect::<Vec<_>>(), [1000, 1001], "{name}");
        }
        known(&Tries::new(&roots, Nodes::new(witness.nodes).expect("few")));
    }
}

#[test]
fn headers_of_a_witness_must_follow_each_other() {
    let error = |witness: &Value| read_witness(&text(witness)).map(drop).expect_err("refused");
    let mut objects = answer("witness-json-headers.json");
    let given = objects["result"]["headers"][0]["hash"].clone();
    objects["result"]["headers"][0]["gasUsed"] = json!("0x1");
    let found = error(&objects);
    let InputFault::Header(fault) = &*found.fault else { panic!("{found}") };
    assert_eq!(found.place, "headers 0: ");
    assert!(
        fault.to_string().ends_with(&format!(", expected {}: it is another block's", given.as_str().expect("a hash"))),
        "{fault}"
    );
    // Without its hash the other header is one that does not follow.
    objects["result"]["headers"][0].as_object_mut().expect("an object").remove("hash");
    objects["result"]["headers"][0]["parentHash"] = json!(Hex(&[9; 32]).to_string());
    assert_eq!(
        error(&objects).to_string(),
        format!("header 1001 does not follow the header before it: its parent is {}", Hex(&[9; 32]))
    );
    let mut encoded = answer("witness-rlp-headers.json");
    let cut = encoded["result"]["headers"][1].as_str().expect("digits")[..900].to_owned();
    encoded["result"]["headers"][1] = json!(cut);
    assert_eq!(error(&encoded).to_string(), "headers 1: invalid header: invalid RLP at byte 0: the item is truncated");
}

#[test]
fn addresses_in_mixed_case_have_the_checksum_of_eip_55() {
    let mut answer = answer("mixed-case-address.json");
    let claims = read(&answer, LATER).expect("good");
    let lower = "0x00000000219ab540356cbb839cbe05303d7705fa";
    let slot_1 = slot(lower, "0x1", "0x2394e3bc4086a9625ae88307145a40ff4a4bf2c9a6755435bff86b22d6175d5f");
    assert_eq!(claims[1..], self::claims(json!([slot_1])));
    for same in [lower.into(), lower.to_uppercase().replace("0X", "0x")] {
        answer["result"]["address"] = json!(same);
        assert_eq!(read(&answer, LATER).as_ref(), Ok(&claims));
    }
    answer["result"]["address"] = json!("0x00000000219ab540356cBB839Cbe05303d7705fa");
    assert_eq!(
        read(&answer, LATER),
        Err("address: address 0x00000000219ab540356cBB839Cbe05303d7705fa has a wrong checksum (EIP-55): check it, or write it in lower case".into())
    );
}

/// Every value is the entry at its index, and the file of claims about it is read.
fn entries(tag: Tag, values: &[Vec<u8>]) {
    let mut trie = Trie::indexed(values).expect("values");
    let mut nodes = Vec::new();
    for index in 0..values.len() as u64 {
        nodes.extend(trie.proof(&rlp::integer(index)).expect("known").into_iter().map(<[u8]>::to_vec));
    }
    let roots = Roots::new(vec![(tag, trie.root())]).expect("one");
    let tries = Tries::new(&roots, Nodes::new(nodes).expect("few"));
    for (index, value) in values.iter().enumerate() {
        let claim = json!([{"trie": tag.name(), "index": index, "value": Hex(value).to_string()}]);
        tries.check(&claims(claim)[0]).expect("true");
    }
}

#[test]
fn typed_transactions_are_a_type_and_a_list() {
    let answers = answer("raw-transactions.json");
    let raw: Vec<Vec<u8>> =
        answers.as_array().expect("a batch").iter().map(|answer| bytes(&answer["result"])).collect();
    assert_eq!(raw.iter().map(|t| t[0]).collect::<Vec<_>>(), [raw[0][0], 1, 2, 3, 4]);
    assert!(raw[0][0] >= 0xc0);
    raw.iter().for_each(|transaction| check_transaction(transaction).expect("as in the trie"));
    entries(Tag::Transactions, &raw);
    // The blob transaction as it travels, with a blob, a commitment and a proof.
    let mut items = raw[3][1..].to_vec();
    for sidecar in [&[0; 131_072][..], &[0xc0; 48], &[0xc0; 48]] {
        let mut list = Vec::new();
        rlp::write_string(&mut list, sidecar);
        items.extend(rlp::list(&list));
    }
    let network = [&[3][..], &rlp::list(&items)].concat();
    let blobs =
        "a blob transaction with its blobs: the trie has it without blobs, as eth_getRawTransactionByHash answers";
    assert_eq!(check_transaction(&network).map_err(|e| e.to_string()), Err(format!("transaction: {blobs}")));
    let claim = json!([{"trie": "transactions", "index": 0, "value": Hex(&network).to_string()}]);
    let error = read_claims(&text(&claim)).map(drop).map_err(|e| e.to_string());
    assert_eq!(error, Err(format!("claim 0: value: {blobs}")));
    // In another trie these bytes are an ordinary value.
    let claim = json!([{"trie": "receipts", "index": 0, "value": Hex(&network).to_string()}]);
    assert!(read_claims(&text(&claim)).is_ok());
}

/// Types 1 to 4; and one from before Byzantium, with a state root instead of its status.
#[test]
fn receipts_of_every_fork_are_entries() {
    let receipts = all(&answer("raw-receipts.json")["result"]);
    assert_eq!(receipts.iter().filter(|r| r[0] >= 0xc0).count(), 2);
    assert_eq!(receipts.iter().filter_map(|r| (r[0] < 0x80).then_some(r[0])).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let root: Hash = rlp::Reader::new(&receipts[0]).list().and_then(|mut fields| fields.bytes()).expect("a state root");
    assert_eq!(root, keccak_256(b"state"));
    entries(Tag::Receipts, &receipts);
}

/// Presence is in the trie: an empty account may be present, and an account whose code delegates is an ordinary one.
#[test]
fn accounts_that_are_present_are_not_absent() {
    let delegation = keccak_256(&[&[0xef, 0x01, 0x00][..], &[0x11; 20]].concat());
    let expected = claims(json!([
        account(HOLLOW, "0x0", "0x0", &EMPTY_ROOT, &EMPTY_CODE),
        account(DELEGATED, "0x3", "0x5", &EMPTY_ROOT, &delegation),
    ]));
    let answers = answer("present-and-empty.json");
    assert_eq!(read(&answers, STATE), Ok(expected));
    let proofs = read_proofs(&text(&answers)).expect("answers");
    let tries = check_proofs(&hash(&json!(STATE)), proofs).expect("good").tries;
    let error = tries.check(&claims(json!([absent(HOLLOW)]))[0]).expect_err("it is there").to_string();
    assert!(
        error.starts_with(&format!("account {HOLLOW}: the claim is false: the trie has nonce 0, balance 0x00")),
        "{error}"
    );
}

//! Bad inputs, each with its whole error line: proofs, headers, nodes, integers, JSON, changes, sizes.

use evergrove_ethereum::input::{
    TEXT_MAX, check_proofs, read_changes, read_claims, read_header, read_proofs, read_witness,
};
use evergrove_ethereum::{BYTES_MAX, Keys, NODES_MAX, Nodes, Trie, Tries};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::rlp::{list, write_string};
use evergrove_verifier::ethereum::{
    Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Hex, NODE_MAX, Roots, Tag, VALUE_MAX, canonical_digest,
};
use serde_json::{Value, json};

use crate::answers::{CONTRACT, PLAIN, STATE, answer, read};
use crate::common::{all, bytes, hash, state_root, text};

fn strings(items: &[&[u8]]) -> Vec<u8> {
    let mut payload = Vec::new();
    items.iter().for_each(|item| write_string(&mut payload, item));
    list(&payload)
}

/// A branch with these references at these nibbles, each as it is in the bytes.
fn branch(children: &[(u8, &[u8])], value: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for i in 0..16 {
        let child = children.iter().find(|(at, _)| *at == i);
        payload.extend_from_slice(child.map_or(&[0x80], |(_, reference)| reference));
    }
    write_string(&mut payload, value);
    list(&payload)
}

fn reference(node: &[u8]) -> Vec<u8> {
    [&[0xa0], &keccak_256(node)[..]].concat()
}

/// The key of the contract in the state.
fn key() -> Hash {
    keccak_256(&[0x11; 20])
}

fn nibbles(count: usize) -> String {
    Hex(&key()).to_string()[2..2 + count].into()
}

fn one_line(error: String) -> String {
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.len() < 512, "{error}");
    error
}

/// The refusal of an answer about the contract with these nodes, the first of which is the root.
fn refusal(nodes: &[&[u8]]) -> String {
    let digits: Vec<_> = nodes.iter().map(|node| Hex(node).to_string()).collect();
    let answer = json!({"address": CONTRACT, "accountProof": digits});
    one_line(read(&answer, &Hex(&keccak_256(nodes[0])).to_string()).expect_err("refused"))
}

/// The refusal of a node that is not valid.
fn invalid(nodes: &[&[u8]], prefix: &str, fault: &str) {
    let node = nodes[nodes.len() - 1];
    let subject = format!("account {CONTRACT}: invalid node {} below prefix 0x{prefix}", Hex(&keccak_256(node)));
    assert_eq!(refusal(nodes), format!("{subject}: {fault}"));
}

fn claim_of(value: Value) -> Claim {
    read_claims(&text(&json!([value]))).expect("a claim").remove(0)
}

#[test]
fn proofs_with_other_nodes_or_fewer() {
    let good = answer("keys-and-values.json")[1]["result"].clone();
    let nodes = all(&good["accountProof"]);
    let [root, leaf] = &nodes[..] else { panic!("a branch and a leaf") };
    let missing = format!(
        "account {CONTRACT}: missing node {} below prefix 0x{}: add the proof of a key with this prefix",
        Hex(&keccak_256(leaf)),
        nibbles(1)
    );
    let with = |nodes: Value| {
        let mut answer = good.clone();
        answer["accountProof"] = nodes;
        read(&answer, STATE)
    };
    let digits = |node: &[u8]| Hex(node).to_string();
    let mut changed = leaf.clone();
    changed[20] ^= 1;
    // A node with another hash than the reference to it; none; those of another key.
    assert_eq!(with(json!([digits(root), digits(&changed)])), Err(missing.clone()));
    assert_eq!(with(json!([digits(root)])), Err(missing.clone()));
    assert_eq!(with(answer("empty-storage.json")[0]["result"]["accountProof"].clone()), Err(missing));
    assert_eq!(with(json!([digits(leaf), digits(root)])), read(&good, STATE));
    let mut more = good.clone();
    more["accountProof"] = json!([digits(root), digits(leaf), digits(&changed)]);
    let checked = check_proofs(&hash(&json!(STATE)), read_proofs(&text(&more)).expect("an answer")).expect("good");
    assert_eq!(checked.strays, 1);
    let none = format!("account {CONTRACT}: no proof, but the trie with root {STATE} is not empty");
    assert_eq!(with(json!([])), Err(none));
    // Storage of another account.
    let mut other = good.clone();
    other["storageProof"] = json!([{"key": "0x9", "proof": [digits(root)]}]);
    let storage = good["storageHash"].as_str().expect("a hash");
    assert_eq!(
        read(&other, STATE),
        Err(format!(
            "slot 0x{:064x} of {CONTRACT}: the proof begins with {STATE}, expected root {storage}: the answers are of different blocks; ask for all by one block hash (EIP-1898)",
            9
        ))
    );
}

/// The first block of mainnet, as `eth_getBlockByNumber` answers: a header of 15 fields.
fn genesis() -> Value {
    let zero = Hex(&[0; 32]).to_string();
    json!({
        "difficulty": "0x400000000",
        "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
        "gasLimit": "0x1388",
        "gasUsed": "0x0",
        "hash": "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
        "logsBloom": Hex(&[0; 256]).to_string(),
        "miner": Hex(&[0; 20]).to_string(),
        "mixHash": zero,
        "nonce": "0x0000000000000042",
        "number": "0x0",
        "parentHash": zero,
        "receiptsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
        "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
        "size": "0x21c",
        "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
        "timestamp": "0x0",
        "transactions": [],
        "transactionsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
        "uncles": [],
    })
}

fn header_refusal(block: &Value) -> String {
    one_line(read_header(&text(block), None).map(drop).expect_err("refused").to_string())
}

#[test]
fn headers_of_other_blocks_and_forks() {
    let header = read_header(&text(&genesis()), None).expect("of the first fork");
    assert_eq!((header.number, header.roots.get(Tag::Withdrawals)), (0, None));
    assert_eq!(header.roots.get(Tag::State), Some(&hash(&genesis()["stateRoot"])));
    let given = genesis()["hash"].as_str().expect("a hash").to_owned();
    let with = |name: &str, value: Value| {
        let mut block = genesis();
        block[name] = value;
        block
    };
    let mut unnamed = with("number", json!("0x1"));
    unnamed.as_object_mut().expect("an object").remove("hash");
    let found = Hex(&read_header(&text(&unnamed), None).expect("a header").hash).to_string();
    assert_eq!(
        header_refusal(&with("number", json!("0x1"))),
        format!("header has hash {found}, expected {given}: it is another block's")
    );
    assert_eq!(
        header_refusal(&with("stateRoot", json!(Hex(&[1; 31]).to_string()))),
        "not a block header: expected 0xa0 at byte 90, got 0x9f"
    );
    assert_eq!(
        header_refusal(&with("extraData", json!(Hex(&[1; 700]).to_string()))),
        "a header has 408 to 1087 bytes, got 1205"
    );
    // Fields beside the header, as some clients list, matter only where the hash differs.
    let mut later = genesis();
    later["author"] = json!(Hex(&[0; 20]).to_string());
    later["zebra"] = json!("0x1");
    assert_eq!(read_header(&text(&later), None), Ok(header.clone()));
    later["hash"] = json!(Hex(&[7; 32]).to_string());
    let unknown = |expected: &Hash| {
        format!(
            "header has fields that this version does not know, the first is `author`: without them its hash is {given}, expected {}; give the header as RLP (debug_getRawHeader)",
            Hex(expected)
        )
    };
    assert_eq!(header_refusal(&later), unknown(&[7; 32]));
    later.as_object_mut().expect("an object").remove("hash");
    let error = read_header(&text(&later), Some(&[8; 32])).expect_err("another hash");
    assert_eq!((one_line(error.to_string()), error.is_refusal()), (unknown(&[8; 32]), true));
    // In a witness, by a name that is not one line.
    let mut named = with("hash", json!(Hex(&[7; 32]).to_string()));
    named["a\nb"] = json!(1);
    let error = read_witness(&text(&json!({"state": [], "headers": [named]}))).map(drop).expect_err("unknown");
    assert_eq!(one_line(error.to_string()), format!("headers 0: {}", unknown(&[7; 32]).replace("author", "a\\nb")));
    // Text of any length.
    let long = [b"0x", &vec![b'0'; 1 << 20][..], b"\n"].concat();
    assert_eq!(
        one_line(read_header(&long, None).map(drop).expect_err("long").to_string()),
        "1048578 bytes of text for a header: expected at most 16384, the hexadecimal digits of one header"
    );
    let longest = [b"0x", &vec![b'0'; (16 << 10) - 2][..]].concat();
    assert_eq!(
        read_header(&longest, None).map_err(|e| e.to_string()),
        Err("a header has 408 to 1087 bytes, got 8191".into())
    );
}

#[test]
fn states_without_the_root() {
    let witness = read_witness(&text(&answer("witness-list.json"))).expect("a witness");
    let tries = Tries::new(&Roots::of_state([9; 32]), Nodes::new(witness.nodes).expect("few"));
    assert_eq!(
        one_line(tries.account(&[0x11; 20]).expect_err("another root").to_string()),
        format!(
            "account {CONTRACT}: no node has the root hash {}: the nodes are of another block, or of another trie",
            Hex(&[9; 32])
        )
    );
}

#[test]
fn nodes_that_are_not_rlp() {
    let leaf = strings(&[&[&[0x20][..], &key()].concat(), &[1; 20]]);
    let rlp = |node: &[u8], at: usize, fault: &str| invalid(&[node], "", &format!("invalid RLP at byte {at}: {fault}"));
    rlp(&[&[0xf8, 55][..], &[0; 55]].concat(), 0, "long form of a length below 56");
    rlp(&list(&[&[0x20, 0xb8, 3][..], &[1; 3]].concat()), 2, "long form of a length below 56");
    rlp(&[&[0xf9, 0, 64][..], &[0; 64]].concat(), 0, "length with a leading zero");
    rlp(&leaf[..leaf.len() - 1], 0, "the item is truncated");
    rlp(&[0xff; 9], 0, "the item is truncated");
    rlp(&list(&[0x20, 0x85, 1]), 2, "the item is truncated");
    rlp(&[], 0, "the item is truncated");
    rlp(&[&leaf[..], &[0]].concat(), leaf.len(), "trailing bytes after the last item");
    rlp(&list(&[0x20, 0x81, 0x7f]), 2, "a byte below 0x80 has no header");
    rlp(&list(&[0xc1, 0x20, 0x01]), 1, "expected a string, got a list");
    rlp(&list(&[0x20, 0xc1, 0x01]), 2, "expected a string, got a list");
    rlp(&[0x83, 1, 2, 3], 0, "expected a list, got a string");
    for items in [0, 1, 3, 16, 18] {
        invalid(&[&strings(&vec![&[1][..]; items])], "", &format!("a node has 2 or 17 items, got {items}"));
    }
}

#[test]
fn paths_that_are_none() {
    let path = |byte: &str| {
        format!("a path begins with a nibble of 0 to 3 and, where that is even, a nibble of 0: got byte {byte}")
    };
    for (byte, text) in [(0x40, "0x40"), (0xf0, "0xf0"), (0x21, "0x21"), (0x0f, "0x0f")] {
        invalid(&[&strings(&[&[byte], &[1; 32]])], "", &path(text));
    }
    let empty = "invalid RLP at byte 1: expected 1 to 39439 bytes, got 0";
    invalid(&[&strings(&[&[], &[1; 32]])], "", empty);
    invalid(&[&strings(&[&[0], &[1; 32]])], "", "an extension needs at least one nibble");
    invalid(&[&strings(&[&[0x20; 34], &[1]])], "", "a path has at most 64 nibbles, got 66");
    invalid(&[&strings(&[&[0x30; 33], &[1]])], "", "a path has at most 64 nibbles, got 65");
    // A leaf above the end of the key.
    assert_eq!(
        refusal(&[&strings(&[&[&[0x20][..], &key()[..31]].concat(), &[1]])]),
        format!(
            "account {CONTRACT}: a key of another length below prefix 0x: one of two keys is the beginning of the other"
        )
    );
}

#[test]
fn branches_and_extensions_that_are_none() {
    let first = key()[0] >> 4;
    let other = (first + 1) % 16;
    let hashed = [&[0xa0][..], &[9; 32]].concat();
    let short = list(&[0x20, 0x01]);
    let root = |node: &[u8], fault: &str| invalid(&[node], "", fault);
    root(&branch(&[], &[]), "a branch needs two children, got 0");
    root(&branch(&[(3, &hashed)], &[]), "a branch needs two children, got 1");
    root(&branch(&[(3, &hashed), (4, &hashed)], &[7; 3]), "a branch of this trie has no value, got 3 bytes");
    let long = list(&[&[0x20, 0x80 + 29][..], &[0x80; 29]].concat());
    let length = "a reference has 0 or 32 bytes or is a node of at most 31, got";
    root(&branch(&[(3, &long), (4, &hashed)], &[]), &format!("{length} 32 bytes"));
    root(&branch(&[(3, &[0x82, 1, 2]), (4, &hashed)], &[]), &format!("{length} 2 bytes"));
    root(&strings(&[&[0x11], &[1; 31]]), &format!("{length} 31 bytes"));
    root(&strings(&[&[0x11], &[]]), &format!("{length} 0 bytes"));
    let nested = branch(&[(0, &short), (1, &short)], &[]);
    let embedded =
        |n: usize| format!("embedded node of {n} bytes: in a trie of hashed keys only leaves are that short");
    root(&branch(&[(3, &nested), (4, &hashed)], &[]), &embedded(nested.len()));
    root(&list(&[&[0x11][..], &nested].concat()), &embedded(nested.len()));
    let extension = list(&[&[0x11][..], &nested].concat());
    root(&branch(&[(3, &extension), (4, &hashed)], &[]), &embedded(nested.len()));
    root(&list(&[&[0x11][..], &short].concat()), "an extension leads to a branch only");
    root(&strings(&[&[0x20], &[]]), "a leaf needs a value");
    // Below a branch: a node that would be in it, and the empty node.
    let parent = |node: &[u8]| branch(&[(first, &reference(node)), (other, &hashed)], &[]);
    let hidden = "a node of 3 bytes is part of its parent and has no hash there";
    invalid(&[&parent(&short), &short], &nibbles(1), hidden);
    invalid(&[&parent(&[0x80]), &[0x80]], &nibbles(1), "invalid RLP at byte 0: expected a list, got a string");
    // Below an extension: a leaf, an extension.
    for node in [strings(&[&[0x20; 32], &[1; 20]]), strings(&[&[0x11], &[9; 32]])] {
        let above = strings(&[&[0x10 | first], &keccak_256(&node)]);
        invalid(&[&above, &node], &nibbles(1), "an extension leads to a branch only");
    }
    // A branch below the end of the key.
    let mut nodes = vec![branch(&[(0, &hashed), (1, &hashed)], &[])];
    for at in (0..64).rev() {
        let nibble = u8::from_str_radix(&nibbles(at + 1)[at..], 16).expect("a nibble");
        let child = reference(&nodes[nodes.len() - 1]);
        nodes.push(branch(&[(nibble, &child), ((nibble + 1) % 16, &hashed)], &[]));
    }
    nodes.reverse();
    let nodes: Vec<&[u8]> = nodes.iter().map(Vec::as_slice).collect();
    assert_eq!(
        refusal(&nodes),
        format!(
            "account {CONTRACT}: a key of another length below prefix 0x{}: one of two keys is the beginning of the other",
            nibbles(64)
        )
    );
}

#[test]
fn leaves_that_are_no_account_and_no_value() {
    let leaf = |key: &[u8], value: &[u8]| strings(&[&[&[0x20][..], key].concat(), value]);
    let account = |fields: &[&[u8]], fault: &str| {
        let expected = format!("account {CONTRACT}: invalid leaf: {fault}");
        assert_eq!(refusal(&[&leaf(&key(), &strings(fields))]), expected);
    };
    let good: [&[u8]; 4] = [&[1], &[2], &EMPTY_ROOT, &EMPTY_CODE];
    let [nonce, balance, root, code] = good;
    account(&good[..3], "invalid RLP at byte 36: the item is truncated");
    account(&[nonce, balance, root, code, &[1]], "invalid RLP at byte 70: trailing bytes after the last item");
    account(&[&[0, 1], balance, root, code], "invalid RLP at byte 2: integer with a leading zero");
    account(&[&[1; 9], balance, root, code], "invalid RLP at byte 2: expected 0 to 8 bytes, got 9");
    account(&[nonce, &[0], root, code], "invalid RLP at byte 3: integer with a leading zero");
    account(&[nonce, &[1; 33], root, code], "invalid RLP at byte 3: expected 0 to 32 bytes, got 33");
    account(&[nonce, balance, &root[1..], code], "invalid RLP at byte 4: expected 32 bytes, got 31");
    account(&[nonce, balance, root, &[]], "invalid RLP at byte 36: expected 32 bytes, got 0");
    let slot = |value: &[u8], fault: &str| {
        let below = leaf(&keccak_256(&[0; 32]), value);
        let above = leaf(&key(), &strings(&[nonce, balance, &keccak_256(&below), code]));
        let [below, above] = [below, above].map(|node| Hex(&node).to_string());
        let answer = json!({
            "address": CONTRACT, "accountProof": [above], "storageProof": [{"key": "0x0", "proof": [below]}],
        });
        let root = Hex(&keccak_256(&bytes(&json!(above)))).to_string();
        let expected = format!("slot {} of {CONTRACT}: invalid leaf: {fault}", Hex(&[0; 32]));
        assert_eq!(one_line(read(&answer, &root).expect_err("refused")), expected);
    };
    slot(&[0x80], "a slot with value 0 has no leaf");
    slot(&[0x82, 0, 1], "invalid RLP at byte 0: integer with a leading zero");
    slot(&[&[0xa1][..], &[1; 33]].concat(), "invalid RLP at byte 0: expected 0 to 32 bytes, got 33");
    slot(&[0x81, 5], "invalid RLP at byte 0: a byte below 0x80 has no header");
    slot(&[5, 5], "invalid RLP at byte 1: trailing bytes after the last item");
}

#[test]
fn claims_about_one_thing() {
    let digest = |claims: Value| {
        let claims = read_claims(&text(&claims)).expect("claims");
        one_line(canonical_digest(&claims).expect_err("refused").to_string())
    };
    let slot = |value: &str, spelling: &str| json!({"address": CONTRACT, "slot": spelling, "value": value});
    let absent = json!({"address": CONTRACT, "absent": true});
    let account =
        json!({"address": CONTRACT, "nonce": "0x1", "balance": "0x0", "storageHash": STATE, "codeHash": STATE});
    let twice = "claims 0 and 1 are about the same thing; keep one";
    // The same, the same by another spelling, another value, a zero slot, present and absent.
    for pair in [
        [slot("0x5", "0x1"), slot("0x5", "0x1")],
        [slot("0x5", "0x1"), slot("0x5", "0x01")],
        [slot("0x5", "0x1"), slot("0x6", "0x1")],
        [slot("0x5", "0x1"), slot("0x0", "0x1")],
        [absent.clone(), absent.clone()],
        [account, absent],
    ] {
        let second = claim_of(pair[1].clone());
        assert_eq!(digest(pair.into_iter().collect()), format!("{twice} ({second})"));
    }
    assert_eq!(digest(json!([])), "a batch needs at least one claim");
    let error = read_proofs(&text(&json!({"address": Hex(&[1; 19]).to_string()}))).map(drop);
    assert_eq!(error.map_err(|e| e.to_string()), Err("address: expected 20 bytes, got 19".into()));
}

#[test]
fn changes_that_nodes_cannot_follow() {
    // The state with the known nodes on the way to the contract and its slot 9.
    let answer = answer("keys-and-values.json")[1]["result"].clone();
    let known = || {
        let proofs = read_proofs(&text(&answer)).expect("an answer");
        check_proofs(&hash(&json!(STATE)), proofs).expect("good").tries
    };
    let changes = |changes: Value| read_changes(&text(&changes)).expect("changes");
    // A claim whose nodes are missing.
    let plain = claim_of(json!({"address": PLAIN, "absent": true}));
    let error = one_line(known().check(&plain).expect_err("not known").to_string());
    assert!(error.starts_with(&format!("account {PLAIN}: missing node 0x")), "{error}");
    assert!(error.ends_with(": add the proof of a key with this prefix"), "{error}");
    // Deletions that leave one child, whose node is missing.
    let addresses = [[0xaa; 20], [0xbb; 20]];
    let paths = addresses.map(|address| Hex(&keccak_256(&address)).to_string()[2..].to_owned());
    let depth = paths[0].bytes().zip(paths[1].bytes()).take_while(|(a, b)| a == b).count();
    let mut whole = Tries::new(&state_root(EMPTY_ROOT), Nodes::default());
    let made = addresses.map(|address| json!({"address": Hex(&address).to_string(), "post": {"nonce": "0x1"}}));
    whole.apply(&changes(made.into_iter().collect())).expect("known");
    let root = whole.root(Tag::State).expect("known");
    let claims = addresses
        .map(|address| Claim::Account { address, account: whole.account(&address).expect("known").expect("there") });
    let nodes = whole.nodes_of(&claims[..1]).expect("true").into_iter().map(<[u8]>::to_vec);
    let mut part = Tries::new(&state_root(root), Nodes::new(nodes).expect("few"));
    let sibling = whole.nodes_of(&claims[1..]).expect("true").last().map(|node| keccak_256(node)).expect("a leaf");
    let deleted = changes(json!([{"address": Hex(&addresses[0]).to_string(), "post": null}]));
    assert_eq!(
        one_line(part.apply(&deleted).expect_err("a sibling").to_string()),
        format!(
            "account {}: deleting a key leaves one child {} at prefix 0x{}, and its node is missing: add the proof of a key with this prefix, or use debug_executionWitness",
            Hex(&addresses[0]),
            Hex(&sibling),
            &paths[1][..=depth]
        )
    );
    // The root after the changes differs.
    let mut tries = known();
    tries.apply(&changes(json!([{"address": CONTRACT, "slots": [{"slot": "0x9", "post": "0x1"}]}]))).expect("known");
    let found = tries.root(Tag::State).expect("known");
    assert_eq!(
        one_line(tries.expect_state_root(&hash(&json!(STATE))).expect_err("another root").to_string()),
        format!(
            "state: root {} after the changes, but the header has {STATE}: changes are missing (transaction traces lack withdrawals and system calls)",
            Hex(&found)
        )
    );
}

#[test]
fn sizes_beyond_the_bounds() {
    let long = vec![b' '; TEXT_MAX + 1];
    let size = Err("67108865 bytes of JSON: split the file into parts of at most 64 MiB".to_owned());
    assert_eq!(read_proofs(&long).map(drop).map_err(|e| e.to_string()), size);
    assert_eq!(read_witness(&long).map(drop).map_err(|e| e.to_string()), size);
    assert_eq!(read_changes(&long).map(drop).map_err(|e| e.to_string()), size);
    assert_eq!(read_claims(&long).map(drop).map_err(|e| e.to_string()), size);
    assert_eq!(read_header(&long, None).map(drop).map_err(|e| e.to_string()), size);
    // Nodes: how many, all, one.
    let limit = format!("more than {NODES_MAX} nodes, or {BYTES_MAX} bytes of nodes: split the input");
    let count = format!("[{}\"0x\"]", "\"0x\",".repeat(NODES_MAX));
    let witness = read_witness(count.as_bytes()).expect("short");
    assert_eq!(Nodes::new(witness.nodes).map(drop).map_err(|e| e.to_string()), Err(limit.clone()));
    let answer = format!("{{\"address\": \"{CONTRACT}\", \"accountProof\": {count}}}");
    assert_eq!(read(&serde_json::from_str(&answer).expect("JSON"), STATE), Err(limit));
    let most = format!("a node has at most {NODE_MAX} bytes, got {}", NODE_MAX + 1);
    invalid(&[&vec![0xc0; NODE_MAX + 1]], "", &most);
    // Values and strings of any length give a short line.
    let digits = format!("0x1{}", "0".repeat((1 << 20) - 1));
    for (field, error) in [
        ("nonce", "nonce: expected 8 bytes, got 524288"),
        ("balance", "balance: expected 32 bytes, got 524288"),
        ("codeHash", "codeHash: expected 32 bytes, got 524288"),
        ("address", "address: expected 20 bytes, got 524288"),
    ] {
        let mut answer = json!({"address": CONTRACT, "accountProof": []});
        answer[field] = json!(digits);
        assert_eq!(read_proofs(&text(&answer)).map(drop).map_err(|e| e.to_string()), Err(error.into()));
    }
    for answer in
        [json!(digits), json!({"jsonrpc": "2.0", "error": {"message": digits}}), json!({"address": digits[1..]})]
    {
        one_line(read_proofs(&text(&answer)).map(drop).expect_err("refused").to_string());
    }
    // Claims: how many, and the value of an entry, which is to fit into a node.
    let claims: Vec<Claim> = (0..=1 << 20).map(|index| Claim::AbsentEntry { trie: Tag::Receipts, index }).collect();
    let error = canonical_digest(&claims).expect_err("too many").to_string();
    assert_eq!(error, "1048577 claims: a batch has at most 1048576");
    let value = vec![1; VALUE_MAX + 1];
    let entry = Claim::Entry { trie: Tag::Receipts, index: 0, value: value.clone() };
    let found = value.len();
    assert_eq!(
        canonical_digest(&[entry]).expect_err("long").to_string(),
        format!("claim 0 has a value of {found} bytes: expected 1 to {VALUE_MAX}")
    );
    assert_eq!(
        Trie::empty(Keys::Index).put(&[0x80], Some(&value)).expect_err("long").to_string(),
        format!("a value at this key has at most {VALUE_MAX} bytes, got {found}")
    );
}

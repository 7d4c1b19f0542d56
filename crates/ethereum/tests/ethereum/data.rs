//! Real blocks: every proof and every trie of the data, and blocks executed on partial tries.

use std::collections::BTreeSet;

use evergrove_ethereum::input::{check_proofs, check_transaction, read_changes, read_header, read_proofs};
use evergrove_ethereum::{Fault, Keys, Lookup, Nodes, Trie, TrieError, Tries};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::ethereum::{
    Account, Claim, EMPTY_CODE, EMPTY_ROOT, Hash, Header, Roots, Tag, canonical_digest, rlp,
};
use serde_json::{Value, json};

use crate::common::{all, bytes, claims_of, file, hash, state_root, text, word};

fn header(block: &Value) -> Header {
    let header = Header::with_hash(&bytes(&block["header"]), &hash(&block["hash"])).expect("a header");
    assert_eq!(header.roots.get(Tag::State), Some(&hash(&block["stateRoot"])));
    assert_eq!(Some(header.number), block["number"].as_u64());
    assert_eq!(read_header(&text(&block["header"]), Some(&header.hash)), Ok(header.clone()));
    header
}

/// Executes a block on the nodes of the state before it. Returns the numbers of accounts, slots and new nodes.
fn executed(name: &str) -> Option<[usize; 3]> {
    let file = file(name)?;
    let header = header(&file);
    let accounts = file["accounts"].as_array().expect("accounts");
    let side = |side| accounts.iter().flat_map(|a| claims_of(a, side)).collect::<Vec<Claim>>();
    let (before, after) = (side("pre"), side("post"));
    let nodes = Nodes::new(all(&file["preNodes"])).expect("few");
    let mut tries = Tries::new(&state_root(hash(&file["preStateRoot"])), nodes.clone());
    before.iter().for_each(|claim| tries.check(claim).expect("true before the block"));
    let changed: Vec<_> = after.iter().filter(|claim| !before.contains(claim)).collect();
    assert!(changed.iter().all(|c| matches!(tries.check(c).map_err(|e| e.fault), Err(Fault::False(_)))));

    tries.apply(&read_changes(&text(&file["accounts"])).expect("changes")).expect("all siblings are there");
    tries.expect_state_root(header.roots.get(Tag::State).expect("a state root")).expect("the header's");
    after.iter().for_each(|claim| tries.check(claim).expect("true after the block"));

    // The new nodes are those that the source lists.
    let made: BTreeSet<Hash> = tries.nodes_of(&after).expect("true").into_iter().map(keccak_256).collect();
    let made: BTreeSet<Hash> = made.into_iter().filter(|hash| nodes.get(hash).is_none()).collect();
    let listed: BTreeSet<Hash> = all(&file["newNodes"]).iter().map(|n| keccak_256(n)).collect();
    assert!(made.is_subset(&listed), "{} of {}", made.len(), listed.len());
    let known = Nodes::new(all(&file["preNodes"]).into_iter().chain(all(&file["newNodes"]))).expect("few");
    let again = Tries::new(&state_root(hash(&file["stateRoot"])), known);
    assert_eq!(again.nodes_of(&after).map(|n| n.len()), tries.nodes_of(&after).map(|n| n.len()));
    assert_ne!(canonical_digest(&before), canonical_digest(&after));

    // The same block in the form of a tracer.
    let mut diff = json!({"pre": {}, "post": {}});
    for account in accounts {
        for side in ["pre", "post"].into_iter().filter(|side| account[side].is_object()) {
            let mut fields = account[side].clone();
            let value = |s: &Value| word(&s[side]) != [0; 32];
            let slots = account["slots"].as_array().expect("slots").iter().filter(|s| value(s));
            let slots: serde_json::Map<String, Value> =
                slots.map(|s| (s["slot"].as_str().expect("a slot").to_owned(), s[side].clone())).collect();
            fields["storage"] = slots.into();
            diff[side][account["address"].as_str().expect("an address")] = fields;
        }
    }
    let mut traced = Tries::new(&state_root(hash(&file["preStateRoot"])), nodes);
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": [{"txHash": "0x00", "result": diff}]});
    traced.apply(&read_changes(&text(&answer)).expect("changes")).expect("all siblings are there");
    assert_eq!(traced.root(Tag::State), tries.root(Tag::State));
    Some([before.iter().filter(|c| !matches!(c, Claim::Slot { .. })).count(), before.len(), made.len()])
}

#[test]
fn a_block_of_withdrawals_is_executed() {
    assert_eq!(executed("mainnet-19840104.json"), Some([2, 4, 26]));
}

#[test]
fn a_block_of_transactions_is_executed() {
    if let Some(counts) = executed("mainnet-19807080.json") {
        // One further new node is a leaf that a deletion leaves alone, on the way of no claim.
        assert_eq!(counts, [29, 130, 316]);
    }
}

#[test]
fn missing_changes_are_told_from_the_header() {
    let file = file("mainnet-19840104.json").expect("in the repository");
    let mut tries =
        Tries::new(&state_root(hash(&file["preStateRoot"])), Nodes::new(all(&file["preNodes"])).expect("few"));
    let changes = read_changes(&text(&file["accounts"])).expect("changes");
    tries.apply(&changes[..1]).expect("siblings");
    let error = tries.expect_state_root(&hash(&file["stateRoot"])).expect_err("a change is missing");
    assert!(matches!(error.fault, Fault::Root { .. }));
    assert!(error.to_string().ends_with("changes are missing (transaction traces lack withdrawals and system calls)"));
}

/// Claims of answers under a root: accounts, absent accounts, slots, zero slots.
fn proven(root: &Value, answers: &Value) -> [usize; 4] {
    let root = hash(root);
    let checked = check_proofs(&root, read_proofs(&text(answers)).expect("answers")).expect("they fit");
    assert_eq!(checked.strays, 0);
    let mut counts = [0; 4];
    for claim in &checked.claims {
        checked.tries.check(claim).expect("true");
        counts[match claim {
            Claim::Account { .. } => 0,
            Claim::AbsentAccount { .. } => 1,
            Claim::Slot { value, .. } => 2 + usize::from(*value == [0; 32]),
            _ => unreachable!("no entries in answers"),
        }] += 1;
    }
    counts
}

#[test]
fn answers_of_clients_fit_their_headers() {
    let block = file("mainnet-21925176.json").expect("in the repository");
    header(&block);
    assert_eq!(proven(&block["stateRoot"], &block["proofs"]), [2, 0, 1, 0]);
    let envelope = json!({"jsonrpc": "2.0", "id": 7, "result": block["proofs"][1]});
    assert_eq!(proven(&block["stateRoot"], &envelope)[0], 1);
    let batch = json!([envelope, {"jsonrpc": "2.0", "id": 8, "result": block["proofs"][0]}]);
    assert_eq!(proven(&block["stateRoot"], &batch)[0], 2);
    if let Some(block) = file("mainnet-17463226.json") {
        header(&block);
        assert_eq!(proven(&block["stateRoot"], &block["proofs"]), [4, 0, 0, 0]);
    }
}

#[test]
fn answers_at_consecutive_blocks_fit() {
    let Some(pair) = file("mainnet-19807079-19807080-getproof.json") else { return };
    let [before, after] = [0, 1].map(|i| &pair["blocks"][i]);
    assert_eq!(header(after).parent, hash(&before["hash"]));
    for block in [before, after] {
        assert_eq!(proven(&block["stateRoot"], &block["proofs"]).iter().sum::<usize>(), 38);
    }
    let mixed = read_proofs(&text(&after["proofs"])).expect("answers");
    let error = check_proofs(&hash(&before["stateRoot"]), mixed).map(drop).expect_err("of another block");
    assert!(error.to_string().contains("the answers are of different blocks"), "{error}");
}

#[test]
fn answers_of_a_test_network_fit() {
    let Some(file) = file("ropsten-proofs.json") else { return };
    let counts: Vec<_> = file["proofs"].as_array().expect("proofs").iter().map(|p| proven(&p["root"], p)).collect();
    assert_eq!(counts, [[1, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]]);
}

/// Builds the trie of a block's transactions, receipts or withdrawals, and checks each entry by its proof.
fn indexed(block: &Value, tag: Tag) -> usize {
    let values = all(&block[tag.name()]);
    let header = Header::parse(&bytes(&block["header"])).expect("a header");
    let root = header.roots.get(tag).expect("a root");
    let mut trie = Trie::indexed(&values).expect("values");
    assert_eq!(trie.root(), *root, "{tag} of {}", header.number);
    let count = values.len() as u64;
    let mut nodes = Vec::new();
    for index in (0..count).chain([count, 1 << 40]) {
        nodes.extend(trie.proof(&rlp::integer(index)).expect("all is known").into_iter().map(<[u8]>::to_vec));
    }
    let tries = Tries::new(&Roots::new(vec![(tag, *root)]).expect("one"), Nodes::new(nodes).expect("few"));
    for (index, value) in (0..).zip(&values) {
        tries.check(&Claim::Entry { trie: tag, index, value: value.clone() }).expect("true");
        let error = tries.check(&Claim::AbsentEntry { trie: tag, index }).expect_err("it is there");
        assert!(matches!(error.fault, Fault::False(_)), "{error}");
    }
    tries.check(&Claim::AbsentEntry { trie: tag, index: count }).expect("true");
    tries.check(&Claim::AbsentEntry { trie: tag, index: 1 << 40 }).expect("true");
    if tag == Tag::Transactions {
        values.iter().for_each(|t| check_transaction(t).expect("as in the trie"));
    }
    values.len()
}

#[test]
fn tries_by_index_are_those_of_headers() {
    let block = file("mainnet-21925176.json").expect("in the repository");
    assert_eq!(indexed(&block, Tag::Withdrawals), 16);
    if std::env::var_os("EVERGROVE_TESTDATA").is_none() {
        return evergrove_testkit::not_tested("TEST", "EVERGROVE_TESTDATA is not set");
    }
    let outside = |name: &str| {
        let dir = std::env::var_os("EVERGROVE_TESTDATA").expect("set");
        let path = std::path::Path::new(&dir).join("ethereum-state").join(name);
        serde_json::from_slice::<Value>(&std::fs::read(path).expect("the file")).expect("JSON")
    };
    assert_eq!(indexed(&outside("mainnet-21925176.json"), Tag::Receipts), 202);
    let block = outside("mainnet-17463226.json");
    assert_eq!([Tag::Transactions, Tag::Withdrawals].map(|tag| indexed(&block, tag)), [217, 16]);
    let headers = outside("mainnet-24476000-headers.json");
    let list = headers["headers"].as_array().expect("headers");
    let read: Vec<Header> = list.iter().map(header).collect();
    assert_eq!(read.iter().map(|h| h.blocks).collect::<Vec<_>>(), [5; 5]);
    assert_eq!(read.windows(2).filter(|p| p[1].parent == p[0].hash).count(), 3);
    let mut last = headers["last"].clone();
    last["header"] = list[4]["header"].clone();
    assert_eq!([Tag::Transactions, Tag::Withdrawals].map(|tag| indexed(&last, tag)), [109, 16]);
}

#[test]
fn the_genesis_state_and_five_blocks() {
    let Some(file) = file("mainnet-genesis.json") else { return };
    let mut trie = Trie::empty(Keys::Hashed);
    let account = |balance: &Value| {
        let mut fields = vec![0x80];
        rlp::write_string(&mut fields, rlp::trimmed(&word(balance)));
        rlp::write_string(&mut fields, &EMPTY_ROOT);
        rlp::write_string(&mut fields, &EMPTY_CODE);
        rlp::list(&fields)
    };
    let balances = file["balances"].as_object().expect("balances");
    for (address, balance) in balances {
        trie.put(&keccak_256(&bytes(&json!(address))), Some(&account(balance))).expect("a key");
    }
    assert_eq!((balances.len(), trie.root()), (8893, hash(&file["stateRoot"])));
    let mut parent = hash(&file["hash"]);
    for block in file["blocks"].as_array().expect("blocks") {
        let header = Header::parse(&bytes(&block["header"])).expect("a header");
        assert_eq!((header.parent, header.blocks), (parent, 4));
        parent = header.hash;
        // The nodes of the accounts that a block changes are enough to follow it.
        let changes = block["changes"].as_array().expect("changes");
        let addresses: Vec<_> = changes.iter().map(|c| bytes(&c["address"])).collect();
        let mut nodes = Vec::new();
        for address in &addresses {
            nodes.extend(trie.proof(&keccak_256(address)).expect("all is known").into_iter().map(<[u8]>::to_vec));
        }
        let mut part = Tries::new(&state_root(trie.root()), Nodes::new(nodes).expect("few"));
        let listed: Vec<Value> =
            changes.iter().map(|c| json!({"address": c["address"], "post": {"balance": c["post"]}})).collect();
        part.apply(&read_changes(&text(&listed.into())).expect("changes")).expect("no deletions");
        part.expect_state_root(header.roots.get(Tag::State).expect("a root")).expect("the header's");
        for (change, address) in changes.iter().zip(&addresses) {
            trie.put(&keccak_256(address), Some(&account(&change["post"]))).expect("a key");
            let account =
                Account { nonce: 0, balance: word(&change["post"]), storage_root: EMPTY_ROOT, code_hash: EMPTY_CODE };
            let address = address[..].try_into().expect("20 bytes");
            part.check(&Claim::Account { address, account }).expect("true");
        }
        assert_eq!(trie.root(), hash(&block["stateRoot"]));
    }
}

#[test]
fn tries_of_ethereums_tests() {
    let file = file("ethereum-tests-trie.json").expect("in the repository");
    let literal = |v: &Value| v.as_str().map(|s| if s.starts_with("0x") { bytes(v) } else { s.into() });
    let (mut built, mut refused) = (0, Vec::new());
    for (name, cases) in file["files"].as_object().expect("files").iter().filter(|(n, _)| !n.contains("nextprev")) {
        let secure = name.to_lowercase().contains("secure");
        for (case, content) in cases.as_object().expect("cases") {
            let pairs: Vec<(Vec<u8>, Option<Vec<u8>>)> = match &content["in"] {
                Value::Object(map) => {
                    map.iter().map(|(k, v)| (literal(&json!(k)).expect("a key"), literal(v))).collect()
                }
                list => {
                    let pair = |p: &Value| (literal(&p[0]).expect("a key"), literal(&p[1]));
                    list.as_array().expect("a list").iter().map(pair).collect()
                }
            };
            let mut trie = Trie::empty(if secure { Keys::Hashed } else { Keys::Index });
            let put = pairs.iter().try_for_each(|(key, value)| {
                let key = if secure { keccak_256(key).to_vec() } else { key.clone() };
                trie.put(&key, value.as_deref())
            });
            match put {
                Ok(()) => {
                    assert_eq!(trie.root(), hash(&content["root"]), "{name}: {case}");
                    built += 1;
                }
                Err(TrieError::Length { .. } | TrieError::Key { .. }) => refused.push(case.as_str()),
                Err(other) => panic!("{name}: {case}: {other}"),
            }
        }
    }
    // In these one key is the beginning of another: branches with values, which no trie of a block has.
    refused.sort_unstable();
    let prefixes =
        ["branch-value-update", "dogs", "emptyValues", "foo", "insert-middle-leaf", "puppy", "smallValues", "testy"];
    assert_eq!((built, &refused[..]), (17, &prefixes[..]));
}

#[test]
fn cases_of_alloy_trie() {
    let Some(file) = file("alloy-trie-vectors.json") else { return };
    let mut counts = [0; 3];
    for case in file["cases"].as_array().expect("cases") {
        let name = &case["name"];
        let pair = |p: &Value| (bytes(&p[0]), bytes(&p[1]));
        if let Some(leaves) = case["leaves"].as_array() {
            let mut trie = Trie::empty(Keys::Index);
            leaves.iter().map(pair).for_each(|(key, value)| trie.put(&key, Some(&value)).expect("a key"));
            assert_eq!(trie.root(), hash(&case["root"]), "{name}");
            counts[0] += 1;
        }
        for proof in case["proofs"].as_array().expect("proofs") {
            let nibbles: Vec<u8> = proof["keyNibbles"]
                .as_array()
                .expect("nibbles")
                .iter()
                .map(|n| n.as_u64().expect("a nibble") as u8)
                .collect();
            let (pairs, []) = nibbles.as_chunks::<2>() else {
                counts[2] += 1;
                continue;
            };
            let key: Vec<u8> = pairs.iter().map(|[a, b]| a << 4 | b).collect();
            let nodes = Nodes::new(all(&proof["proof"])).expect("few");
            let trie = Trie::new(&hash(&case["root"]), Keys::Index, nodes.into());
            let value = proof["value"].as_str().map(|_| bytes(&proof["value"]));
            match trie.get(&key) {
                Ok(Lookup::Present(found)) => assert_eq!(Some(found), value, "{name}"),
                Ok(Lookup::Absent(_)) => assert_eq!(None, value, "{name}"),
                Err(error) => panic!("{name}: {error}"),
            }
            counts[1] += 1;
        }
    }
    assert_eq!(counts, [7, 16, 2], "roots, proofs, keys of half bytes");
}

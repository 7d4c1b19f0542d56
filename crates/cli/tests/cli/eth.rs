//! Answers of Ethereum's clients about real state.

use serde_json::{Value, json};

use crate::world::World;

/// Block 19,840,104, and answers about the accounts that it touches, after the block (`post`) or before it (`pre`).
fn block(side: &str) -> (Value, Vec<Value>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/ethereum/mainnet-19840104.json");
    let block: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let nodes = |name: &str| block[name].as_array().unwrap().clone();
    let nodes = [nodes("newNodes"), nodes("preNodes")].concat();
    let answers = block["accounts"].as_array().unwrap().iter().map(|account| {
        let mut answer = account[side].clone();
        let slots = account["slots"]
            .as_array()
            .unwrap()
            .iter()
            .map(|slot| json!({ "key": slot["slot"], "value": slot[side], "proof": nodes }));
        answer["address"] = account["address"].clone();
        answer["accountProof"] = nodes.clone().into();
        answer["storageProof"] = slots.collect();
        json!({ "jsonrpc": "2.0", "id": 1, "result": answer })
    });
    (block.clone(), answers.collect())
}

/// A directory with the header and both answers, and the block.
fn world_with_answers() -> (World, Value) {
    let world = World::new();
    let (block, answers) = block("post");
    world.write("header.txt", block["header"].as_str().unwrap());
    world.write("a.json", answers[0].to_string());
    world.write("b.json", answers[1].to_string());
    (world, block)
}

#[test]
fn answers_are_checked_against_a_header() {
    let (world, block) = world_with_answers();
    let hash = block["hash"].as_str().unwrap();
    let check = ["eth", "check", "--proofs", "a.json", "b.json", "--header", "header.txt", "--block-hash", hash];
    let report = world.json(&check);
    assert_eq!(
        (&report["block_number"], &report["block_hash"], &report["state_root"]),
        (&19_840_104.into(), &block["hash"], &block["stateRoot"])
    );
    assert_eq!(report["claims"].as_array().unwrap().len(), 4);
    let text = world.run(&check);
    assert_eq!(text.code, 0, "{}", text.err);
    assert!(text.out.contains("4 claims are true in the block with hash"), "{}", text.out);
    assert!(text.out.contains("that this block is in the canonical chain was not shown"), "{}", text.out);

    // The printed claims are read again. Part of the claims have another digest, and a false claim is refused.
    world.write("claims.json", report["claims"].to_string());
    let root = block["stateRoot"].as_str().unwrap();
    let by_root = ["eth", "check", "--proofs", "a.json", "b.json", "--state-root", root, "--claims", "claims.json"];
    assert_eq!(world.json(&by_root)["canonical_digest"], report["canonical_digest"]);
    world.write("claims.json", json!([report["claims"][0]]).to_string());
    assert_ne!(world.json(&by_root)["canonical_digest"], report["canonical_digest"]);
    let mut claim = report["claims"][0].clone();
    claim["nonce"] = "0x123456".into();
    world.write("claims.json", json!([claim]).to_string());
    assert!(world.fails(1, &by_root).contains("claims.json"));
}

/// Arguments that check `a.json`.
fn check<'a>(anchor: &[&'a str]) -> Vec<&'a str> {
    [&["eth", "check", "--proofs", "a.json"], anchor].concat()
}

#[test]
fn answers_about_other_blocks_are_refused() {
    let world = World::new();
    let (block, mut answers) = block("post");
    world.write("header.txt", block["header"].as_str().unwrap());
    world.write("a.json", answers[0].to_string());
    let other = format!("0x{}", "11".repeat(32));
    assert!(world.fails(1, &check(&["--header", "header.txt", "--block-hash", &other])).contains(&other));
    assert!(world.fails(1, &check(&["--state-root", &other])).contains("expected root"));
    world.fails(2, &check(&["--state-root", "0x11"]));
    world.fails(2, &check(&[]));
    world.fails(2, &check(&["--state-root", &other, "--block-hash", &other]));

    // A reported field that the proof contradicts, a client's error, and text that is not JSON.
    answers[0]["result"]["nonce"] = "0x2".into();
    world.write("a.json", answers[0].to_string());
    let said = world.fails(1, &check(&["--header", "header.txt"]));
    assert!(said.contains("reported nonce 2 differs from the proof's 1"), "{said}");
    world.write("a.json", "{\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"missing trie node\"}}");
    assert!(world.fails(2, &check(&["--header", "header.txt"])).contains("missing trie node"));
    world.write("a.json", "no json");
    assert!(world.fails(2, &check(&["--header", "header.txt"])).contains("a.json: not JSON"));
}

#[test]
fn slots_are_numbered() {
    let world = World::new();
    let slot = |args: &[&str]| world.json(&[&["eth", "slot"], args].concat())["slot"].as_str().unwrap().to_owned();
    let padded = |x: &str| format!("0x{x:0>64}");
    assert_eq!(slot(&["--base", "3"]), padded("3"));
    assert_eq!(slot(&["--base", "0x3", "--member", "2"]), padded("5"));
    // keccak(0) is the slot of the first element of an array at slot 0.
    let array = "0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563";
    assert_eq!(slot(&["--base", "0", "--element", "0"]), array);
    // keccak(0, 0) is the slot of the value of key 0 in a mapping at slot 0.
    let mapping = "0xad3228b676f7d3cd4284a5443f17f1962b36e491b30a40b2405849e597ba5fb5";
    assert_eq!(slot(&["--base", "0", "--key", "0"]), mapping);
    assert_eq!(slot(&["--base", "0", "--key", "0x0", "--vyper"]), mapping);
    assert_ne!(slot(&["--base", "1", "--key", "0"]), slot(&["--base", "1", "--key", "0", "--vyper"]));
    for bad in ["x", "0x", "-1", "0xg", &format!("0x{}", "1".repeat(65))] {
        world.fails(2, &["eth", "slot", &format!("--base={bad}")]);
    }
}

#[test]
fn claims_are_proven_and_verified() {
    let (world, block) = world_with_answers();
    let hash = block["hash"].as_str().unwrap();
    let anchor = ["--header", "header.txt", "--block-hash", hash];
    let prove = [&["eth", "prove", "--proofs", "a.json", "b.json"], &anchor[..]].concat();
    let dry = world.json(&[&prove[..], &["--dry-run"]].concat());
    assert_eq!((&dry["new_proofs"], dry["claims"].as_array().unwrap().len()), (&1.into(), 4));
    assert!(dry["seconds"].as_f64().unwrap() > 0.01);
    assert!(world.fails(2, &prove).contains("--out"));
    let made = world.json(&[&prove[..], &["--out", "state.proof", "--claims-out", "claims.json"]].concat());
    for (file, kind) in [("state.proof", "state proof"), ("claims.json", "claims")] {
        let said = world.json(&["inspect", file]);
        assert_eq!((&said["kind"], &said["canonical_digest"]), (&kind.into(), &made["canonical_digest"]));
    }
    assert_eq!(made["keccak_blocks"], dry["keccak_blocks"]);

    let verify = [&["eth", "verify", "--proof", "state.proof"], &anchor[..]].concat();
    let with_claims = [&verify[..], &["--claims", "claims.json"]].concat();
    let report = world.json(&with_claims);
    assert_eq!((&report["canonical_digest"], &report["block_hash"]), (&made["canonical_digest"], &block["hash"]));
    assert!(report["bits_unique_decoding"].as_f64().unwrap() >= 100.0);
    let text = world.run(&with_claims);
    assert!(text.out.contains("4 claims are true in the block with hash"), "{}", text.out);
    assert!(world.json(&verify).get("claims").is_none());

    // Other claims, another block, and bytes that are not a proof.
    let mut claims = made["claims"].clone();
    claims.as_array_mut().unwrap().pop();
    world.write("claims.json", claims.to_string());
    assert!(world.fails(1, &with_claims).contains("the proof is about other claims than these"));
    let other = format!("0x{}", "11".repeat(32));
    let other = ["eth", "verify", "--proof", "state.proof", "--state-root", &other];
    assert!(world.fails(1, &other).contains("another state root"));
    let proof = std::fs::read(world.path("state.proof")).unwrap();
    for (at, what) in [
        (0, "it does not begin with the magic bytes"),
        (6, ""),
        (42, "the proof is refused"),
        (43, "it has no root"),
        (44, "the tags of its roots do not increase"),
        (50, "another state root"),
        (80, ""),
        (200, "the proof is refused"),
        (proof.len() - 1, ""),
    ] {
        let mut changed = proof.clone();
        changed[at] ^= 1;
        std::fs::write(world.path("state.proof"), changed).unwrap();
        assert!(world.fails(1, &verify).contains(what), "{at}");
    }
    std::fs::write(world.path("state.proof"), &proof[..50]).unwrap();
    assert!(world.fails(1, &verify).contains("it is cut off"));
}

/// With the header in the proof, the hash of the block is enough for a verifier.
#[test]
fn a_proof_that_names_a_block_is_verified_by_its_hash() {
    let (world, block) = world_with_answers();
    let hash = block["hash"].as_str().unwrap();
    let prove = ["eth", "prove", "--proofs", "a.json", "--anchor", "block", "--out", "state.proof"];
    let of_root = ["--state-root", block["stateRoot"].as_str().unwrap()];
    assert!(world.fails(2, &[&prove[..], &of_root].concat()).contains("add the header of the block with --header"));
    let of_hash = ["--block-hash", hash];
    assert!(world.fails(2, &[&prove[..], &of_hash].concat()).contains("add the header of the block with --header"));
    let check = ["eth", "check", "--proofs", "a.json", "--block-hash", hash];
    assert!(world.fails(2, &check).contains("the roots of this block are not known"));
    let made = world.json(&[&prove[..], &["--header", "header.txt", "--claims-out", "claims.json"]].concat());
    assert_eq!((&made["anchor"], &made["block_hash"]), (&"block".into(), &block["hash"]));
    let shown = world.json(&["inspect", "state.proof"]);
    assert_eq!((&shown["anchor"], &shown["block_hash"]), (&"block".into(), &block["hash"]));

    let verify = ["eth", "verify", "--proof", "state.proof", "--claims", "claims.json"];
    let report = world.json(&[&verify[..], &of_hash].concat());
    assert_eq!((&report["canonical_digest"], &report["block_hash"]), (&made["canonical_digest"], &block["hash"]));
    assert!(report.get("state_root").is_none() && report["bits_unique_decoding"].as_f64().unwrap() >= 100.0);
    let text = world.run(&[&verify[..], &of_hash].concat()).out;
    assert!(text.contains(&format!("3 claims are true in the block with hash {hash}\n")), "{text}");
    assert!(text.contains("that this block is in the canonical chain was not shown"), "{text}");
    let report = world.json(&[&verify[..], &["--header", "header.txt"]].concat());
    assert_eq!((&report["state_root"], &report["anchor"]), (&block["stateRoot"], &"block".into()));
    let e = world.fails(1, &[&verify[..], &of_root].concat());
    assert!(e.contains(hash) && e.contains("take its header, or name its hash"), "{e}");
    let other = format!("0x{}", "11".repeat(32));
    let e = world.fails(1, &[&verify[..], &["--block-hash", &other]].concat());
    assert!(e.contains(hash) && e.contains("the block that you check it against"), "{e}");

    // A proof about roots does not name the block.
    let of_roots = ["eth", "prove", "--proofs", "a.json", "--header", "header.txt", "--out", "roots.proof"];
    assert_eq!(world.json(&of_roots)["anchor"], "roots");
    let e = world.fails(1, &["eth", "verify", "--proof", "roots.proof", "--block-hash", hash]);
    assert!(e.contains("the state root, which the proof is about, is not known"), "{e}");
}

/// A batch about a block, and the next block. The header before the block is made up.
#[test]
fn a_batch_that_names_its_block_follows_the_chain() {
    let (world, block) = world_with_answers();
    let (_, before) = self::block("pre");
    world.write("before.json", json!(before).to_string());
    let text = |name: &str| block[name].as_str().unwrap().to_string();
    let [root, old] = ["stateRoot", "preStateRoot"].map(|name| text(name)[2..].to_string());
    world.write("old.txt", text("header").replace(&root, &old));
    let options = ["--anchor", "block", "--batch", "b.evgb", "--cut", "3", "--out", "a.proof"];
    let made =
        world.json(&[&["eth", "prove", "--proofs", "before.json", "--header", "old.txt"], &options[..]].concat());
    assert!(made["joins"].as_u64().unwrap() > 0, "{made}");
    let old_hash = made["block_hash"].as_str().unwrap();
    let verify = |proof: &str, hash: &str| world.json(&["eth", "verify", "--proof", proof, "--block-hash", hash]);
    assert_eq!(verify("a.proof", old_hash)["canonical_digest"], made["canonical_digest"]);
    let listed = world.json(&["eth", "claims", "--batch", "b.evgb"]);
    assert_eq!((&listed["claims"], &listed["block_hash"]), (&made["claims"], &made["block_hash"]));
    let shown = world.json(&["inspect", "b.evgb"]);
    assert_eq!((&shown["anchor"], &shown["block_hash"]), (&"block".into(), &made["block_hash"]));

    let update = ["eth", "update", "--batch", "b.evgb", "--proofs", "a.json", "b.json", "--out", "next.proof"];
    let e = world.fails(2, &[&update[..], &["--state-root", &text("stateRoot")]].concat());
    assert!(e.contains("its proof is about a block") && e.contains("--header"), "{e}");
    let done = world.json(&[&update[..], &["--header", "header.txt"]].concat());
    assert!(done["new_proofs"].as_u64().unwrap() > 0, "{done}");
    assert_eq!(verify("next.proof", &text("hash"))["canonical_digest"], done["canonical_digest"]);
    world.fails(1, &["eth", "verify", "--proof", "next.proof", "--block-hash", old_hash]);
}

/// A batch before the block, in two or more pieces, and then the block in each form that clients give.
#[test]
fn a_batch_follows_the_chain() {
    let (world, block) = world_with_answers();
    let (_, before) = self::block("pre");
    world.write("before.json", json!(before).to_string());
    let root = |name: &str| block[name].as_str().unwrap().to_string();
    let (old, new) = (root("preStateRoot"), root("stateRoot"));
    let options = ["--batch", "first.evgb", "--cut", "3", "--out", "first.proof", "--claims-out", "claims.json"];
    let made = world.json(&[&["eth", "prove", "--proofs", "before.json", "--state-root", &old], &options[..]].concat());
    let count = |report: &Value, name: &str| report[name].as_u64().unwrap();
    assert!(count(&made, "pieces") >= 2 && count(&made, "joins") == count(&made, "pieces") - 1, "{made}");
    assert_eq!(count(&made, "new_proofs"), count(&made, "pieces") + count(&made, "joins"));
    let verify = |proof: &str, root: &str| {
        world.json(&["eth", "verify", "--proof", proof, "--state-root", root, "--claims", "claims.json"])
    };
    assert_eq!(verify("first.proof", &old)["canonical_digest"], made["canonical_digest"]);
    let listed = world.json(&["eth", "claims", "--batch", "first.evgb"]);
    let said = world.json(&["inspect", "first.evgb"]);
    assert_eq!((&said["kind"], &said["canonical_digest"]), (&"batch of claims".into(), &listed["canonical_digest"]));
    assert_eq!((&listed["claims"], &listed["state_root"]), (&made["claims"], &made["state_root"]));

    world.write("witness.json", json!({ "state": block["preNodes"] }).to_string());
    world.write("changes.json", block["accounts"].to_string());
    world.write("new.json", block["newNodes"].to_string());
    let anchor = ["--header", "header.txt", "--block-hash", block["hash"].as_str().unwrap()];
    let forms: [&[&str]; 3] = [
        &["--proofs", "a.json", "b.json"],
        &["--witness", "witness.json", "--changes", "changes.json"],
        &["--witness", "new.json"],
    ];
    let mut digest = None;
    for (i, form) in forms.into_iter().enumerate() {
        std::fs::copy(world.path("first.evgb"), world.path("batch.evgb")).unwrap();
        let update = [&["eth", "update", "--batch", "batch.evgb"], form, &anchor[..]].concat();
        let dry = world.json(&[&update[..], &["--dry-run"]].concat());
        let digest = digest.get_or_insert_with(|| dry["canonical_digest"].clone());
        assert_eq!((&dry["canonical_digest"], count(&dry, "changed_claims")), (&*digest, 4));
        if i > 0 {
            continue;
        }
        let done = world.json(&[&update[..], &["--out", "next.proof", "--claims-out", "claims.json"]].concat());
        assert_eq!(done["new_proofs"], dry["new_proofs"]);
        let verified = verify("next.proof", &new);
        assert_eq!(verified["canonical_digest"], *digest);
        // The batch is now about the new block, and nothing is left to prove.
        let again = world.json(&[&update[..], &["--dry-run"]].concat());
        assert_eq!((count(&again, "changed_claims"), count(&again, "new_proofs")), (0, 0));
    }

    // Missing nodes, a block that is not the next one, and files that are not a batch.
    let update = ["eth", "update", "--batch", "first.evgb", "--state-root", &new, "--out", "x.proof"];
    let with = |code, more: &[&str]| world.fails(code, &[&update[..], more].concat());
    world.write("none.json", "[]");
    assert!(with(1, &["--witness", "none.json"]).contains("no node has the root hash"));
    world.write("few.json", json!([block["accounts"][1]]).to_string());
    let error = with(1, &["--witness", "witness.json", "--changes", "few.json"]);
    assert!(error.contains("after the changes, but the header has"), "{error}");
    assert!(with(2, &[]).contains("--proofs"));
    let batch = std::fs::read(world.path("first.evgb")).unwrap();
    for (bytes, what) in [(&batch[..100], "it is cut off"), (b"EVGE\x02\0", "it does not begin as a batch does")] {
        std::fs::write(world.path("bad.evgb"), bytes).unwrap();
        assert!(world.fails(1, &["eth", "claims", "--batch", "bad.evgb"]).contains(what));
    }
    assert!(!world.path("x.proof").exists());
}

/// Accounts and withdrawals of one block in one proof, and the absence of a withdrawal.
#[test]
fn lists_of_a_block_are_proven_beside_accounts() {
    let world = World::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/ethereum/mainnet-21925176.json");
    let block: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let text = |name: &str| block[name].as_str().unwrap().to_string();
    world.write("header.txt", text("header"));
    world.write("a.json", block["proofs"].to_string());
    world.write("withdrawals.json", json!({ "jsonrpc": "2.0", "id": 1, "result": block["withdrawals"] }).to_string());
    let anchor = ["--header", "header.txt", "--block-hash", &text("hash")];
    let inputs = ["--proofs", "a.json", "--withdrawals", "withdrawals.json"];
    let all = world.json(&[&["eth", "check"], &inputs[..], &anchor].concat());
    let claims = all["claims"].as_array().unwrap();
    let of_lists = |claims: &[Value]| claims.iter().filter(|claim| claim.get("trie").is_some()).count();
    assert_eq!(of_lists(claims), 16);
    assert!(claims.len() > 17);
    assert_eq!((&all["state_root"], &all["withdrawals_root"]), (&block["stateRoot"], &block["withdrawalsRoot"]));

    // Some of the claims, and an entry that the list does not have.
    let mut some = vec![claims[0].clone(), claims[claims.len() - 1].clone(), claims[claims.len() - 3].clone()];
    some.push(json!({ "trie": "withdrawals", "index": 16, "absent": true }));
    world.write("claims.json", json!(some).to_string());
    let options = ["--claims", "claims.json", "--out", "block.proof"];
    let made = world.json(&[&["eth", "prove"], &inputs[..], &anchor, &options].concat());
    let verify = ["eth", "verify", "--proof", "block.proof", "--claims", "claims.json"];
    let report = world.json(&[&verify[..], &anchor].concat());
    assert_eq!(report["canonical_digest"], made["canonical_digest"]);
    let (state, withdrawals) = (text("stateRoot"), text("withdrawalsRoot"));
    let by_roots = ["--state-root", &state, "--withdrawals-root", &withdrawals];
    let said = world.run(&[&verify[..], &by_roots].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("withdrawals 16: absent"), "{}", said.out);
    let said = world.fails(1, &[&verify[..], &["--state-root", &state]].concat());
    assert!(said.contains("the withdrawals root, which the proof is about, is not known"), "{said}");
    let said = world.fails(1, &[&verify[..], &["--state-root", &state, "--withdrawals-root", &state]].concat());
    assert!(said.contains("the proof is about another withdrawals root"), "{said}");

    // The same withdrawals in the form of a block, proven in pieces. An update cannot move them to another block.
    let fields = |raw: &Value| {
        let bytes = hex::decode(&raw.as_str().unwrap()[2..]).unwrap();
        let mut items = evergrove::proof::ethereum::rlp::Reader::new(&bytes).list().unwrap();
        let mut next = || format!("0x{}", hex::encode(items.string(1, 32).unwrap()));
        json!({ "index": next(), "validatorIndex": next(), "address": next(), "amount": next() })
    };
    let list: Vec<Value> = block["withdrawals"].as_array().unwrap().iter().map(fields).collect();
    world.write("block.json", json!({ "number": "0x1", "withdrawals": list }).to_string());
    let of_block = ["--withdrawals", "block.json", "--withdrawals-root", &withdrawals];
    let options = ["--batch", "list.evgb", "--out", "list.proof", "--claims-out", "list.json"];
    let made = world.json(&[&["eth", "prove"], &of_block[..], &options].concat());
    assert_eq!(of_lists(made["claims"].as_array().unwrap()), 16);
    let verify =
        ["eth", "verify", "--proof", "list.proof", "--claims", "list.json", "--withdrawals-root", &withdrawals];
    assert_eq!(world.json(&verify)["canonical_digest"], made["canonical_digest"]);
    assert_eq!(world.json(&["eth", "claims", "--batch", "list.evgb"])["claims"], made["claims"]);
    let update =
        |batch| ["eth", "update", "--batch", batch, "--proofs", "a.json", "--header", "header.txt", "--dry-run"];
    assert!(world.fails(2, &update("list.evgb")).contains("are of one block alone"));

    // A list with a gap, a root that was not given, and bytes that are not a transaction.
    world.write("few.json", json!(list[1..]).to_string());
    let said = world.fails(1, &["eth", "check", "--withdrawals", "few.json", "--withdrawals-root", &withdrawals]);
    assert!(said.contains("few.json: withdrawals: their root is 0x"), "{said}");
    assert!(said.contains("give all of one block, in their order"), "{said}");
    let said = world.fails(2, &["eth", "check", "--receipts", "few.json", "--state-root", &state]);
    assert!(said.contains("receipts 0: missing field `status`"), "{said}");
    world.write("few.json", "[\"0x01\"]");
    let said = world.fails(2, &["eth", "check", "--receipts", "few.json", "--state-root", &state]);
    assert!(
        said.contains("the receipts root is not known: take the header of the block, or name --receipts-root"),
        "{said}"
    );
    let said = world.fails(2, &["eth", "check", "--transactions", "few.json", "--transactions-root", &state]);
    assert!(said.contains("transactions 0: transaction: invalid RLP"), "{said}");
}

/// Answers are packed: each node once, compressed if the file name says so. Commands that read the file get the claims
/// of the answers, and a proof of the same size.
#[test]
fn answers_are_packed_into_a_file_of_nodes() {
    let (world, block) = world_with_answers();
    let header = ["--header", "header.txt", "--block-hash", block["hash"].as_str().unwrap()];
    let answers = ["--proofs", "a.json", "b.json"];
    let checked = world.json(&[&["eth", "check"], &answers[..], &header].concat());
    let import = [&["eth", "import"], &answers[..], &header].concat();
    let made = world.json(&[&import[..], &["--out", "nodes.json"]].concat());
    for field in ["claims", "canonical_digest", "state_root", "stray_nodes"] {
        assert_eq!(made[field], checked[field], "{field}");
    }
    assert_eq!((&made["files"], &made["refused"]), (&2.into(), &json!([])));
    let nodes = made["nodes"].as_u64().unwrap();
    let packed: Value = serde_json::from_slice(&world.read("nodes.json")).unwrap();
    let mut listed: Vec<&str> = packed["state"].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect();
    assert_eq!(listed.len() as u64, nodes);
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len() as u64, nodes);
    assert_eq!(packed["claims"], checked["claims"]);
    // A file of nodes that is given twice, in addition to the answers, changes nothing.
    let again = world.json(&[&import[..], &["--nodes", "nodes.json", "nodes.json", "--out", "nodes.json.gz"]].concat());
    assert_eq!((&again["canonical_digest"], &again["nodes"]), (&made["canonical_digest"], &made["nodes"]));
    assert!(world.read("nodes.json.gz").starts_with(&[0x1f, 0x8b]));
    assert!(again["file_bytes"].as_u64() < made["file_bytes"].as_u64());

    let from_nodes = ["--nodes", "nodes.json.gz"];
    let report = world.json(&[&["eth", "check"], &from_nodes[..], &header].concat());
    assert_eq!((&report["claims"], &report["stray_nodes"]), (&checked["claims"], &0.into()));
    let dry = |inputs: &[&str]| world.json(&[&["eth", "prove", "--dry-run"], inputs, &header].concat());
    assert_eq!(dry(&from_nodes)["keccak_blocks"], dry(&answers)["keccak_blocks"]);
    // With only some of the claims, the other nodes are strays.
    world.write("one.json", json!([checked["claims"][0]]).to_string());
    let one = dry(&["--nodes", "nodes.json.gz", "--claims", "one.json"]);
    assert_eq!(one["claims"].as_array().unwrap().len(), 1);
    assert_eq!(one["stray_nodes"].as_u64().unwrap() + one["nodes"].as_u64().unwrap(), nodes);

    // The file gives the new state of a batch.
    let (_, before) = self::block("pre");
    world.write("before.json", json!(before).to_string());
    let old = block["preStateRoot"].as_str().unwrap();
    let prove =
        ["eth", "prove", "--proofs", "before.json", "--state-root", old, "--batch", "b.evgb", "--out", "b.proof"];
    world.json(&prove);
    let update = ["eth", "update", "--batch", "b.evgb", "--witness", "nodes.json.gz", "--dry-run"];
    assert_eq!(world.json(&[&update[..], &header].concat())["canonical_digest"], checked["canonical_digest"]);

    // A missing node, a false claim, nodes without claims, and a file that is cut off.
    let mut changed = packed.clone();
    changed["state"].as_array_mut().unwrap().pop();
    world.write("few.json", changed.to_string());
    let check = |file: &str, code| world.fails(code, &[&["eth", "check", "--nodes", file], &header[..]].concat());
    let said = check("few.json", 1);
    assert!(said.contains("few.json: ") && (said.contains("missing node") || said.contains("no node has")), "{said}");
    let mut changed = packed.clone();
    changed["claims"][0]["nonce"] = "0x123456".into();
    world.write("false.json", changed.to_string());
    assert!(check("false.json", 1).contains("false.json: account"), "{}", check("false.json", 1));
    world.write("bare.json", packed["state"].to_string());
    let said = check("bare.json", 2);
    assert!(said.contains("bare.json: nodes without claims\nhelp: say with --claims"), "{said}");
    world.write("list.json", checked["claims"].to_string());
    let with = [&["eth", "check", "--nodes", "bare.json", "--claims", "list.json"], &header[..]].concat();
    assert_eq!(world.json(&with)["canonical_digest"], checked["canonical_digest"]);
    let cut = &world.read("nodes.json.gz")[..200];
    std::fs::write(world.path("cut.json.gz"), cut).unwrap();
    assert!(check("cut.json.gz", 2).contains("cut.json.gz: not a whole gzip file"), "{}", check("cut.json.gz", 2));

    // Answers of another block and a client's error: all are named, and nothing is written.
    world.write("old.json", before[0].to_string());
    world.write("error.json", "{\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"missing trie node\"}}");
    let mixed = ["eth", "import", "--proofs", "a.json", "old.json", "error.json", "b.json", "--out", "mixed.json"];
    let mixed = [&mixed[..], &header].concat();
    let said = world.fails(1, &mixed);
    assert!(said.contains("error: 2 of 4 files refused: old.json: account 0x"), "{said}");
    assert!(said.contains("; error.json: the client answered with an error: \"missing trie node\""), "{said}");
    assert!(!world.path("mixed.json").exists());
    let skipped = world.json(&[&mixed[..], &["--skip-refused"]].concat());
    assert_eq!((&skipped["files"], &skipped["canonical_digest"]), (&2.into(), &checked["canonical_digest"]));
    assert_eq!(skipped["refused"].as_array().unwrap().len(), 2);
    assert_eq!(world.read("mixed.json"), world.read("nodes.json"));
    let none = ["eth", "import", "--proofs", "old.json", "--skip-refused", "--out", "none.json"];
    assert!(world.fails(1, &[&none[..], &header].concat()).contains("1 of 1 files refused"));
    let other = ["eth", "import", "--proofs", "a.json", "--state-root", old, "--out", "none.json"];
    assert!(world.fails(1, &other).contains("1 of 1 files refused: a.json"));
    assert!(!world.path("none.json").exists());
}

/// The accounts of a batch move to the next block. Its entries of lists stay the same, under their own root.
#[test]
fn entries_stay_when_the_state_moves() {
    let (world, block) = world_with_answers();
    let (_, before) = self::block("pre");
    world.write("before.json", json!(before).to_string());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/ethereum/mainnet-21925176.json");
    let lists: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    world.write("withdrawals.json", lists["withdrawals"].to_string());
    follow_with_lists(&world, &block, "before.json", &["--proofs", "a.json", "b.json"], &lists);
}

/// The same over block 19,807,080 and its transactions.
#[test]
#[ignore = "eth: real data"]
fn entries_stay_over_a_block_of_transactions() {
    let Some(dir) = std::env::var_os("EVERGROVE_TESTDATA") else {
        return evergrove_testkit::not_tested("ETH", "EVERGROVE_TESTDATA is not set");
    };
    let read = |name: &str| -> Value {
        let path = std::path::Path::new(&dir).join("ethereum-state").join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let (pair, lists) = (read("mainnet-19807079-19807080-getproof.json"), read("mainnet-17463226.json"));
    let [before, after] = [0, 1].map(|i| &pair["blocks"][i]);
    let world = World::new();
    world.write("header.txt", after["header"].as_str().unwrap());
    world.write("before.json", before["proofs"].to_string());
    world.write("after.json", after["proofs"].to_string());
    world.write("withdrawals.json", lists["withdrawals"].to_string());
    let block = json!({ "preStateRoot": before["stateRoot"], "stateRoot": after["stateRoot"] });
    follow_with_lists(&world, &block, "before.json", &["--proofs", "after.json"], &lists);
}

/// Proves accounts before a block and withdrawals of another block in one batch, then moves the accounts to the block.
fn follow_with_lists(world: &World, block: &Value, before: &str, after: &[&str], lists: &Value) {
    let text = |of: &Value, name: &str| of[name].as_str().unwrap().to_string();
    let (old, new) = (text(block, "preStateRoot"), text(block, "stateRoot"));
    let withdrawals = text(lists, "withdrawalsRoot");
    let inputs = ["--proofs", before, "--withdrawals", "withdrawals.json"];
    let roots = ["--state-root", &old, "--withdrawals-root", &withdrawals];
    // All accounts, a withdrawal, and an index that the list does not have.
    let all = world.json(&[&["eth", "check"], &inputs[..], &roots].concat());
    let of_list = |claim: &&Value| claim.get("trie").is_some();
    let mut some: Vec<Value> = all["claims"].as_array().unwrap().iter().filter(|c| !of_list(c)).cloned().collect();
    some.push(all["claims"].as_array().unwrap().iter().rfind(of_list).unwrap().clone());
    some.push(json!({ "trie": "withdrawals", "index": 16, "absent": true }));
    world.write("some.json", json!(some).to_string());
    let options = ["--claims", "some.json", "--batch", "b.evgb", "--cut", "3", "--out", "b.proof"];
    let made = world.json(&[&["eth", "prove"], &inputs[..], &roots, &options].concat());
    let update = [&["eth", "update", "--batch", "b.evgb"], after, &["--header", "header.txt"]].concat();
    let dry = world.run(&[&update[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, 0, "{}", dry.err);
    let note = format!("the withdrawals root {withdrawals} is that of the batch: its entries are not of the new block");
    assert!(dry.out.contains(&note), "{}", dry.out);
    let done = world.json(&[&update[..], &["--out", "next.proof", "--claims-out", "next.json"]].concat());
    assert_eq!((&done["state_root"], &done["withdrawals_root"]), (&json!(new), &json!(withdrawals)));
    assert!(done["new_proofs"].as_u64() <= made["new_proofs"].as_u64());
    let claims: Vec<Value> = serde_json::from_slice(&world.read("next.json")).unwrap();
    let entries = |claims: &[Value]| claims.iter().filter(of_list).cloned().collect::<Vec<_>>();
    assert_eq!((entries(&claims).len(), entries(&claims)), (2, entries(&some)));
    assert_ne!(claims, some);
    let verify = ["eth", "verify", "--proof", "next.proof", "--claims", "next.json"];
    let by =
        |state: &str| [&verify[..], &["--state-root", state, "--withdrawals-root", &withdrawals]].concat().join(" ");
    let run = |state: &str, code: i32| {
        let args = by(state);
        let args: Vec<&str> = args.split(' ').collect();
        if code == 0 { world.json(&args)["canonical_digest"].to_string() } else { world.fails(code, &args) }
    };
    assert_eq!(run(&new, 0), done["canonical_digest"].to_string());
    assert!(run(&old, 1).contains("the proof is about another state root"));
    // No block has both roots.
    let said = world.fails(1, &[&verify[..], &["--header", "header.txt"]].concat());
    assert!(said.contains("withdrawals root"), "{said}");
}

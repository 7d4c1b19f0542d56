//! Slots of a contract as rows, and answers about them.

use evergrove::ethereum::{Keys, Trie};
use evergrove::primitives::hash::keccak::keccak_256;
use evergrove::proof::ethereum::{Account, Address, Hex, Word, rlp};
use serde_json::{Value, json};

use crate::world::World;

const CONTRACT: &str = "0xc0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0";
const OTHER: &str = "0xd0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0";
const SUMS: &str = "SELECT SUM(units), SUM(rest), MIN(units), MAX(units), COUNT(*) FROM t";

/// The balances of each of two tokens, with six decimals. A list may leave out the last one.
const BALANCES: [u128; 6] = [5_000_000, 1, 0, 123_456_789_012_345_678_901, 7_999_999, 250_000_000];

fn word(x: u128) -> Word {
    let mut word = [0; 32];
    word[16..].copy_from_slice(&x.to_be_bytes());
    word
}

fn hex(nodes: Vec<&[u8]>) -> Vec<String> {
    nodes.into_iter().map(|node| Hex(node).to_string()).collect()
}

/// A state with two contracts: its root, and a client's answers about both.
fn state() -> (String, [Value; 2]) {
    let mut state = Trie::empty(Keys::Hashed);
    let contracts: [(u8, Address); 2] = [(0xc0, [0xc0; 20]), (0xd0, [0xd0; 20])];
    let mut answers = contracts.map(|(tag, address)| {
        let mut storage = Trie::empty(Keys::Hashed);
        let slots: Vec<(Word, Word)> =
            (0..).zip(BALANCES).map(|(i, x)| (word(u128::from(tag) << 8 | i), word(x))).collect();
        for (slot, value) in slots.iter().filter(|(_, value)| *value != [0; 32]) {
            let mut item = Vec::new();
            rlp::write_string(&mut item, rlp::trimmed(value));
            storage.put(&keccak_256(slot), Some(&item)).unwrap();
        }
        let account = Account { nonce: 1, balance: word(9), storage_root: storage.root(), code_hash: [tag; 32] };
        state.put(&keccak_256(&address), Some(&account.rlp())).unwrap();
        let slots = slots.iter().map(|(slot, value)| {
            let proof = hex(storage.proof(&keccak_256(slot)).unwrap());
            let trimmed = value.iter().position(|byte| *byte != 0).unwrap_or(31);
            let digits = Hex(&value[trimmed..]).to_string().replace("0x0", "0x");
            let digits = if digits == "0x" { "0x0".into() } else { digits };
            json!({ "key": Hex(slot).to_string(), "value": digits, "proof": proof })
        });
        let slots: Vec<Value> = slots.collect();
        json!({
            "address": Hex(&address).to_string(), "nonce": "0x1", "balance": "0x9",
            "storageHash": Hex(&account.storage_root).to_string(), "codeHash": Hex(&account.code_hash).to_string(),
            "storageProof": slots,
        })
    });
    let root = Hex(&state.root()).to_string();
    for (answer, (_, address)) in answers.iter_mut().zip(contracts) {
        answer["accountProof"] = hex(state.proof(&keccak_256(&address)).unwrap()).into();
    }
    (root, answers)
}

/// The value of an aggregate.
fn value<'a>(report: &'a Value, name: &str) -> &'a str {
    let answer = report["answer"].as_array().unwrap();
    answer.iter().find(|entry| entry["name"] == name).unwrap()["value"].as_str().unwrap()
}

struct Proven {
    world: World,
    root: String,
    commitment: String,
}

/// Five proven slots of the first contract, a table of them with six decimals, and the answer to a query over it.
fn proven() -> Proven {
    let world = World::new();
    let (root, [mut answer, other]) = state();
    let all = answer.clone();
    answer["storageProof"].as_array_mut().unwrap().pop();
    world.write("a.json", answer.to_string());
    world.write("all.json", all.to_string());
    world.write("b.json", other.to_string());
    let prove = ["eth", "prove", "--state-root", &root];
    let outputs = ["--out", "state.proof", "--claims-out", "claims.json"];
    world.json(&[&prove[..], &["--proofs", "a.json"], &outputs].concat());
    let table = ["eth", "table", "--claims", "claims.json", "--store", "t", "--decimals", "6", "--out", "table.proof"];
    let made = world.json(&table);
    assert_eq!((&made["slots"], &made["contract"], &made["batch"]), (&5.into(), &CONTRACT.into(), &"slots".into()));
    let said = world.json(&["inspect", "table.proof"]);
    assert_eq!((&said["kind"], &said["format_version"]), (&"proof of a table of slots".into(), &1.into()));
    for field in ["contract", "slots", "decimals", "claims_digest", "canonical_digest"] {
        assert_eq!(said[field], made[field], "{field}");
    }
    assert_eq!(said["bytes"], made["proof_bytes"]);
    // A dry run gives the same numbers, without a store and at the place of an existing store.
    let dry = ["eth", "table", "--claims", "claims.json", "--decimals", "6", "--dry-run"];
    for place in [&[][..], &["--store", "t", "--out", "dry.proof"]] {
        let dry = world.json(&[&dry[..], place].concat());
        for field in ["contract", "slots", "decimals", "claims_digest", "canonical_digest", "schema_digest"] {
            assert_eq!(dry[field], made[field], "{field}");
        }
        assert_eq!((&dry["circuit_slots"], dry.get("commitment")), (&256.into(), None));
        assert!(!world.path("dry.proof").exists());
    }
    assert!(world.fails(2, &dry[..6]).contains("--store"));
    // A failure leaves nothing behind.
    for wrong in [["--name", "no name", "--out", "u.proof"], ["--name", "slots", "--out", "u/table.proof"]] {
        let refused = world.run(
            &[&["eth", "table", "--claims", "claims.json", "--store", "u"][..], &wrong, &["--decimals", "6"]].concat(),
        );
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(!world.path("u").exists() && !world.path("u.proof").exists(), "{wrong:?}");
    }
    // An existing directory keeps its content.
    std::fs::create_dir(world.path("kept")).unwrap();
    world.write("kept/note", "a note");
    let failing = ["--store", "kept", "--name", "no name", "--decimals", "6", "--out", "u.proof"];
    assert_eq!(world.run(&[&["eth", "table", "--claims", "claims.json"][..], &failing].concat()).code, 2);
    let left: Vec<_> = std::fs::read_dir(world.path("kept")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["note"]);
    let query = ["app", "aggregate", "--store", "t", "--batch", "slots", "--sql", SUMS, "--out", "answer.proof"];
    assert_eq!(world.json(&query)["canonical_digest"], made["canonical_digest"]);
    let commitment = made["commitment"].as_str().unwrap().to_owned();
    Proven { world, root, commitment }
}

impl Proven {
    /// Arguments of verify-table with some of them replaced.
    fn args<'a>(&'a self, replaced: &[(&str, &'a str)]) -> Vec<&'a str> {
        let all = [
            ("--state", "state.proof"),
            ("--state-root", &self.root),
            ("--table", "table.proof"),
            ("--contract", CONTRACT),
            ("--decimals", "6"),
            ("--root", &self.commitment),
            ("--proof", "answer.proof"),
            ("--sql", SUMS),
        ];
        let mut args = vec!["eth", "verify-table"];
        for (flag, own) in all {
            let found = replaced.iter().find(|(name, _)| *name == flag).map_or(own, |(_, value)| value);
            if !found.is_empty() {
                args.extend([flag, found]);
            }
        }
        args
    }
    fn refused(&self, replaced: &[(&str, &str)], what: &str) {
        let said = self.world.fails(1, &self.args(replaced));
        assert!(said.contains(what), "{replaced:?}: {said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{said}");
    }
}

#[test]
fn answers_about_listed_slots_are_verified() {
    let proven = proven();
    let Proven { world, .. } = &proven;
    let report = world.json(&proven.args(&[]));
    let listed = &BALANCES[..5];
    let sum = |f: fn(&u128) -> u128| listed.iter().map(f).sum::<u128>().to_string();
    assert_eq!(value(&report, "SUM(units)"), sum(|x| x / 1_000_000));
    assert_eq!(value(&report, "SUM(rest)"), sum(|x| x % 1_000_000));
    assert_eq!((value(&report, "MIN(units)"), value(&report, "MAX(units)")), ("0", "123456789012345"));
    assert_eq!(value(&report, "COUNT(*)"), "5");
    assert!(report["bits_unique_decoding"].as_f64().unwrap() >= 100.0);
    assert_eq!((&report["accepted"], &report["slots"], &report["listed"]), (&true.into(), &5.into(), &false.into()));
    let text = world.run(&[&proven.args(&[])[..], &["--claims", "claims.json"]].concat());
    assert_eq!(text.code, 0, "{}", text.err);
    for line in [
        "the 5 slots that are listed; slots that are not listed are not counted",
        "SUM(units) = 123456789012357",
        "that a block has this state root was not shown",
        "these claims",
    ] {
        assert!(text.out.contains(line), "{}", text.out);
    }
    assert!(!text.out.contains("which slots are listed was not checked"), "{}", text.out);

    // The plain proof of the batch.
    world.json(&["prove", "--store", "t", "--batch", "slots", "--out", "rows.proof"]);
    let report = world.json(&proven.args(&[("--proof", "rows.proof"), ("--sql", "")]));
    assert_eq!(report.get("answer"), None);
    proven.refused(&[("--proof", "rows.proof")], "");
    proven.refused(&[("--sql", "")], "the proof is of the scheme evergrove1-selected, not evergrove1");
    let of_batch = proven.args(&[("--proof", "rows.proof"), ("--sql", "")]);
    for flag in ["--keys", "--key-file"] {
        let said = world.fails(2, &[&of_batch[..], &[flag, "none"]].concat());
        let line =
            format!("error: {flag} is about the circuits of a query, and --sql is missing\nhelp: name the query");
        assert!(said.contains(&line), "{said}");
    }

    // The rows are those of the claims: an export shows slots and values.
    world.json(&["export", "--store", "t", "--batch", "slots", "--leaves", "rows.csv"]);
    let rows = world.text("rows.csv");
    assert_eq!(rows.lines().next(), Some("index,slot,units,rest"));
    assert!(rows.contains(&format!("{},123456789012345,678901", Hex(&word(0xc003)))), "{rows}");
}

#[test]
fn proofs_that_do_not_fit_are_refused() {
    let proven = proven();
    let Proven { world, root, commitment } = &proven;
    let zeros = format!("0x{}", "00".repeat(32));
    proven.refused(&[("--state-root", &zeros)], "state.proof: the proof is about another state root");
    proven
        .refused(&[("--contract", OTHER)], &format!("the table is of the contract {CONTRACT}, --contract is {OTHER}"));
    proven.refused(&[("--decimals", "5")], "its units are 10^6, --decimals is 5");
    proven.refused(&[("--sql", "SELECT SUM(rest) FROM t")], "");
    proven.refused(&[("--table", "state.proof")], "state.proof: not a proof about a contract's table");
    proven.refused(&[("--state", "table.proof")], "table.proof: not a proof about Ethereum's state");
    proven.refused(&[("--proof", "table.proof")], "not a proof file");
    assert!(world.fails(2, &proven.args(&[("--sql", "SELECT SUM(slot) FROM t")])).contains("slot"));
    assert!(world.fails(2, &proven.args(&[("--contract", "0x11")])).contains("40 hexadecimal digits"));

    // More claims than those that were proven, and a table of them.
    let prove = ["eth", "prove", "--state-root", root];
    let outputs = ["--out", "all.proof", "--claims-out", "more.json"];
    world.json(&[&prove[..], &["--proofs", "all.json"], &outputs].concat());
    let table = ["eth", "table", "--claims", "more.json", "--decimals", "6"];
    world.json(&[&table[..], &["--store", "all", "--out", "more.proof"]].concat());
    proven.refused(&[("--table", "more.proof")], "relates the table to claims with the canonical digest");
    proven.refused(&[("--state", "all.proof")], "relates the table to claims with the canonical digest");
    proven.refused(&[("--state", "all.proof"), ("--table", "more.proof")], "relates the claims to rows with");
    let with = [&proven.args(&[])[..], &["--claims", "more.json"]].concat();
    assert!(world.fails(1, &with).contains("the proof is about other claims than these"));

    // An answer over all rows, over some rows, and after a change of a row.
    let query = |more: &[&str]| {
        world.json(&[&["app", "aggregate", "--store", "t", "--sql", SUMS, "--out", "other.proof"], more].concat())
    };
    query(&["--name", "complete"]);
    proven.refused(&[("--proof", "other.proof")], "scheme evergrove1-complete is not accepted");
    query(&["--indices", "0-3", "--name", "few"]);
    proven.refused(&[("--proof", "other.proof")], "relates the claims to rows with the canonical digest");
    query(&["--indices", "0-4", "--name", "listed"]);
    world.json(&proven.args(&[("--proof", "other.proof")]));
    let changed = world.json(&["update", "--store", "t", "--set", "1=units=99"]);
    let after = changed["commitment"].as_str().unwrap();
    assert_ne!(after, commitment);
    proven.refused(&[("--root", after)], "");
    query(&["--indices", "0-4", "--name", "listed"]);
    proven.refused(&[("--proof", "other.proof")], "");
    proven.refused(&[("--proof", "other.proof"), ("--root", after)], "relates the claims to rows with");

    // Claims that do not make a table.
    let table = |claims: &str, more: &[&str]| {
        let args = ["eth", "table", "--claims", claims, "--store", "none", "--out", "none.proof"];
        world.fails(2, &[&args[..], more].concat())
    };
    assert!(table("claims.json", &[]).contains("units of 10^0 must be below 2^63"));
    assert!(table("claims.json", &["--decimals", "19"]).contains("19"));
    world.json(&[&prove[..], &["--proofs", "a.json", "b.json", "--out", "x", "--claims-out", "both.json"]].concat());
    assert!(table("both.json", &["--decimals", "6"]).contains("a table holds the slots of one contract"));
    let claims: Vec<Value> = serde_json::from_slice(&world.read("claims.json")).unwrap();
    let account: Vec<&Value> = claims.iter().filter(|claim| claim.get("slot").is_none()).collect();
    world.write("account.json", json!(account).to_string());
    assert!(table("account.json", &[]).contains("no claim is about a slot"));
    assert!(!world.path("none").exists() && !world.path("none.proof").exists());
    let again = ["eth", "table", "--claims", "claims.json", "--decimals", "6", "--store", "t", "--out", "x.proof"];
    assert!(world.fails(3, &again).contains("t already holds a store"));
    assert!(!world.path("x.proof").exists());
}

/// Wrapped ether of six holders, and one more slot of the contract, after block 19,807,080.
#[test]
#[ignore = "eth: real data"]
fn balances_of_wrapped_ether() {
    let Some(dir) = std::env::var_os("EVERGROVE_TESTDATA") else {
        return evergrove_testkit::not_tested("ETH", "EVERGROVE_TESTDATA is not set");
    };
    let name = "ethereum-state/mainnet-19807079-19807080-getproof.json";
    let data: Value = serde_json::from_slice(&std::fs::read(std::path::Path::new(&dir).join(name)).unwrap()).unwrap();
    let block = &data["blocks"][1];
    let contract = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
    let proofs = block["proofs"].as_array().unwrap();
    let weth = proofs.iter().find(|proof| proof["address"] == contract).unwrap();
    let world = World::new();
    world.write("weth.json", weth.to_string());
    world.write("header.txt", block["header"].as_str().unwrap());
    let anchor = ["--header", "header.txt", "--block-hash", block["hash"].as_str().unwrap()];
    let outputs = ["--out", "state.proof", "--batch", "weth.evgb"];
    world.json(&[&["eth", "prove", "--proofs", "weth.json"], &anchor[..], &outputs].concat());
    let options = ["--store", "t", "--decimals", "18", "--out", "table.proof", "--name", "holders"];
    let made = world.json(&[&["eth", "table", "--batch", "weth.evgb"], &options[..]].concat());
    let query = ["app", "aggregate", "--store", "t", "--batch", "holders", "--sql", SUMS, "--out", "answer.proof"];
    world.json(&query);
    let root = made["commitment"].as_str().unwrap();
    let verify = ["eth", "verify-table", "--state", "state.proof", "--table", "table.proof", "--contract", contract];
    let of_answer = ["--decimals", "18", "--root", root, "--proof", "answer.proof", "--sql", SUMS];
    let report = world.json(&[&verify[..], &anchor, &of_answer].concat());
    let values = weth["storageProof"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slot| u128::from_str_radix(&slot["value"].as_str().unwrap()[2..], 16).unwrap());
    let values: Vec<u128> = values.collect();
    let sum = value(&report, "SUM(units)").parse::<u128>().unwrap() * 10_u128.pow(18)
        + value(&report, "SUM(rest)").parse::<u128>().unwrap();
    assert_eq!(sum, values.iter().sum::<u128>());
    let most = values.iter().max().unwrap() / 10_u128.pow(18);
    assert_eq!(value(&report, "MAX(units)"), most.to_string());
    assert_eq!(report["block_number"], 19_807_080);
}

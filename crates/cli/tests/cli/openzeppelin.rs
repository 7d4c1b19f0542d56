//! OpenZeppelin's tree: the trees of its own library, committed and proven on the command line.

use std::collections::BTreeMap;

use evergrove::openzeppelin::{self, Order, Tree};
use evergrove::proof::ethereum::Hex;
use evergrove::store::Store;
use serde_json::{Value, json};

use crate::world::World;

fn schema(types: &[Value]) -> String {
    let column = |(i, kind): (usize, &Value)| format!("[[column]]\nname = \"c{i}\"\ntype = {kind}\n");
    types.iter().enumerate().map(column).collect()
}

/// The rows as lines of a jsonl file.
fn jsonl(rows: &[Value]) -> String {
    let line = |row: &Value| {
        let cells = row.as_array().unwrap().iter().enumerate().map(|(i, cell)| (format!("c{i}"), cell.clone()));
        format!("{}\n", Value::Object(cells.collect()))
    };
    rows.iter().map(line).collect()
}

fn hex(digest: &[u8; 32]) -> String {
    Hex(digest).to_string()
}

#[test]
fn roots_and_proofs_are_those_of_the_library() {
    let vectors = include_str!("../../../../vectors/openzeppelin.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let (mut tables, mut refused) = (0, 0);
    for case in vectors["cases"].as_array().unwrap() {
        // The other cases are trees over digests, not over rows.
        let Some(types) = case["leafEncoding"].as_array() else { continue };
        let (name, values) = (&case["name"], case["values"].as_array().unwrap());
        let order = if case["options"]["sortLeaves"] == false { Order::Unsorted } else { Order::Sorted };
        let world = World::new();
        world.write("schema.toml", schema(types));
        world.write("t.jsonl", jsonl(values));
        let commit = ["commit", "--store", "s", "--input", "t.jsonl", "--schema", "schema.toml"];
        let commit = [&commit[..], &["--order", order.name()]].concat();
        if types.contains(&json!("string")) {
            let e = world.fails(2, &commit);
            assert!(e.contains("unknown column type \"string\": choose ") && e.contains(" bytes1 to bytes32\n"), "{e}");
            refused += 1;
            continue;
        }
        let committed = world.json(&commit);
        assert_eq!((&committed["rows"], &committed["order"]), (&values.len().into(), &order.name().into()), "{name}");

        let store = Store::open(&world.path("s")).unwrap();
        let tree = Tree::of(&store.view().unwrap()).unwrap();
        assert_eq!(tree.root().as_ref().map(hex).as_deref(), case["root"].as_str(), "{name}");
        // A single leaf is in both orders.
        assert_eq!(tree.order(), Some(if values.len() == 1 { Order::Sorted } else { order }), "{name}");
        let positions: Vec<u64> = tree.leaves().iter().map(|(position, _)| *position).collect();
        let rows = openzeppelin::prove(&store.view().unwrap(), &positions).unwrap();
        drop(store);
        let by_leaf: BTreeMap<_, _> = rows.iter().map(|row| (hex(&row.leaf), row)).collect();
        for given in case["proofs"].as_array().unwrap() {
            let row = by_leaf[given["leafHash"].as_str().unwrap()];
            let siblings: Vec<_> = row.siblings.iter().map(hex).collect();
            assert_eq!(json!(siblings), given["proof"], "{name}");
            let cells = values[usize::try_from(given["i"].as_u64().unwrap()).unwrap()].as_array().unwrap();
            let cells: Vec<_> = cells.iter().map(|c| c.as_str().map_or_else(|| c.to_string(), Into::into)).collect();
            assert_eq!(row.values(), cells, "{name}");
        }
        let last = rows.last().unwrap();
        let position = last.position.to_string();
        let prove = ["app", "openzeppelin-proof", "--store", "s", "--row", &position, "--out", "p.json"];
        let mut printed = world.json(&prove);
        assert_eq!(printed.as_object_mut().unwrap().remove("out"), Some("p.json".into()));
        let expected = json!({
            "root": case["root"],
            "row": last.position,
            "types": types,
            "values": last.values(),
            "words": last.words.iter().map(hex).collect::<Vec<_>>(),
            "leaf": hex(&last.leaf),
            "proof": last.siblings.iter().map(hex).collect::<Vec<_>>(),
        });
        assert_eq!(printed, expected, "{name}");
        assert_eq!(serde_json::from_slice::<Value>(&world.read("p.json")).unwrap(), expected, "{name}");
        let text = world.run(&prove).out;
        let shown = [&expected["root"], &expected["leaf"]].into_iter().chain(expected["proof"].as_array().unwrap());
        assert!(
            shown.chain(expected["words"].as_array().unwrap()).all(|x| text.contains(x.as_str().unwrap())),
            "{text}"
        );
        tables += 1;
    }
    assert_eq!((tables, refused), (12, 1));
}

const SCHEMA: &str = "[[column]]\nname = \"to\"\ntype = \"address\"\n\n[[column]]\nname = \"amount\"\ntype = \"uint256\"\n\n\
                      [[column]]\nname = \"change\"\ntype = \"int128\"\n\n[[column]]\nname = \"paid\"\ntype = \"bool\"\n";

/// A world with these rows in csv.
fn world(rows: std::ops::Range<u64>) -> World {
    let world = World::new();
    let lines = rows.map(|i| {
        let amount = u128::from(i) * u128::from(u64::MAX) * u128::from(u32::MAX);
        format!("0x{i:040x},{amount}000,-{i},{}\n", i % 2 == 0)
    });
    world.write("t.csv", format!("to,amount,change,paid\n{}", lines.collect::<String>()));
    world.write("schema.toml", SCHEMA);
    world
}

#[test]
fn an_update_leaves_the_library_s_order_and_keeps_proofs() {
    let world = world(0..11);
    let commit = ["commit", "--store", "s", "--input", "t.csv", "--schema", "schema.toml"];
    world.json(&[&commit[..], &["--order", "openzeppelin-js"]].concat());
    let look = || {
        let store = Store::open(&world.path("s")).unwrap();
        let view = store.view().unwrap();
        let tree = Tree::of(&view).unwrap();
        let positions: Vec<u64> = tree.leaves().iter().map(|(position, _)| *position).collect();
        for row in openzeppelin::prove(&view, &positions).unwrap() {
            let root = evergrove::proof::openzeppelin::root_of_proof(row.leaf, &row.siblings);
            assert_eq!((Some(row.root), Some(root)), (tree.root(), tree.root()));
        }
        (tree.root(), tree.order())
    };
    let before = look();
    assert_eq!(before.1, Some(Order::Sorted));
    // Of 11 rows, the first 6 are deeper, at the slots from 10 on.
    let row = world.json(&["open", "--store", "s", "10"])["row"].clone();
    assert_eq!((row["paid"].is_boolean(), row["to"].as_str().map(str::len)), (true, Some(42)));
    world.json(&["update", "--store", "s", "--set", "10=amount=1"]);
    let changed = look();
    assert!(changed.0 != before.0 && changed.1 == Some(Order::Unsorted), "{changed:?}");
    world.json(&["update", "--store", "s", "--delete", "10"]);
    let shorter = look();
    assert!(shorter.0 != changed.0 && shorter.1.is_none(), "{shorter:?}");
    let e = world.fails(2, &["app", "openzeppelin-proof", "--store", "s", "--row", "10"]);
    assert!(e.contains("10 is empty"), "{e}");
}

#[test]
fn words_are_written_and_read_again() {
    let world = world(0..5);
    let commit = |store: &str, file: &str, more: &[&str]| {
        let args = ["commit", "--store", store, "--input", file, "--schema", "schema.toml"];
        world.json(&[&args[..], more].concat())["commitment"].clone()
    };
    let root = commit("s", "t.csv", &[]);
    for name in ["o.csv", "o.jsonl"] {
        world.json(&["export", "--store", "s", "--table", name]);
        assert_eq!(commit(name.trim_start_matches("o."), name, &["--index-column", "index"]), root, "{name}");
    }
    let amount = 3 * u128::from(u64::MAX) * u128::from(u32::MAX);
    let line =
        format!("{{\"index\":3,\"to\":\"0x{:040x}\",\"amount\":\"{amount}000\",\"change\":\"-3\",\"paid\":false}}", 3);
    assert_eq!(world.text("o.jsonl").lines().nth(3), Some(line.as_str()));

    // The rows of a proof, in both formats.
    let native = crate::world::NATIVE;
    world.json(
        &[&["prove", "--store", "s", "--batch", "b", "--indices", "1,3", "--out", "b.proof"], &native[..]].concat(),
    );
    for (leaves, code) in [("b.csv", 0), ("b.jsonl", 0), ("t.jsonl", 1)] {
        if code == 0 {
            world.json(&["export", "--store", "s", "--batch", "b", "--leaves", leaves]);
        } else {
            world.write(leaves, world.text("b.jsonl").replacen("\"-3\"", "\"3\"", 1));
        }
        let args = ["verify", "--proof", "b.proof", "--root", root.as_str().unwrap(), "--leaves", leaves];
        let run = world.run(&[&args[..], &["--schema", "schema.toml"], &crate::world::ALLOW].concat());
        assert_eq!(run.code, code, "{leaves}: {}", run.err);
    }
}

//! Tables of BLS keys, and what their commands refuse before anything is proven.

use crate::world::World;

/// The generator of BLS12-381 G1, and its double.
const KEYS: [&str; 2] = [
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
    "a572cbea904d67468808c8eb50a9450c9721db309128012543902d0ac358a62ae28f75bb8f1c7c42c39a8c5529bf0f4e",
];

fn table(world: &World, keys: &str) {
    world.write("keys.txt", keys);
}

const TABLE: [&str; 8] =
    ["app", "bls-table", "--keys", "keys.txt", "--out", "table.csv", "--schema-out", "schema.toml"];

#[test]
fn keys_become_a_table_that_commits() {
    let world = World::new();
    table(&world, &format!("{}\n0x{}\n", KEYS[0], KEYS[1]));
    let report = world.json(&TABLE);
    assert_eq!(report["keys"], 2);
    let rows = world.text("table.csv");
    assert!(rows.starts_with("x0,x1,x2,x3,x4,x5,x6,y0,"), "{rows}");
    // x of the generator ends in ..22c6bb: its lowest 56 bits.
    assert!(rows.lines().nth(1).is_some_and(|l| l.starts_with(&format!("{},", 0x3a_f00a_db22_c6bb_u64))), "{rows}");
    let args = ["commit", "--store", "s", "--input", "table.csv", "--schema", "schema.toml"];
    let committed = world.json(&args);
    assert_eq!(committed["schema_digest"], report["schema_digest"]);
}

#[test]
fn keys_that_are_none_are_named() {
    let world = World::new();
    let order_three = format!("80{}", "00".repeat(47));
    for (bad, what) in [
        (order_three.as_str(), "not in the subgroup"),
        (&KEYS[0][2..], "not the canonical encoding"),
        ("xyz", "not hexadecimal"),
        (&format!("c0{}", "00".repeat(47)), "identity"),
    ] {
        table(&world, &format!("{}\n{bad}\n", KEYS[0]));
        let said = world.fails(2, &TABLE);
        assert!(said.contains("line 2") && said.contains(what), "{said}");
        assert!(!world.path("table.csv").exists());
    }
}

#[test]
fn a_file_without_keys_is_refused() {
    let world = World::new();
    table(&world, "");
    let said = world.fails(2, &TABLE);
    assert!(said.contains("the file has no keys"), "{said}");
    assert!(!world.path("table.csv").exists());
}

#[test]
fn other_tables_and_proofs_are_refused() {
    let world = World::with_batch();
    let said = world.fails(2, &["app", "bls-keys", "--store", "s", "--batch", "keys", "--indices", "0,3"]);
    assert!(said.contains("BLS keys") && said.contains("bls-table"), "{said}");
    let root = world.json(&["status", "--store", "s"])["commitment"].as_str().expect("a commitment").to_owned();
    let mut args = vec!["app", "verify-bls-keys", "--proof", "b.proof", "--root", &root, "--threshold", "1"];
    args.extend(["--message", "00", "--signature", "00"]);
    let said = world.fails(1, &args);
    assert!(said.contains("policy"), "{said}");
    args[9] = "0";
    let said = world.fails(2, &args);
    assert!(said.contains("--message"), "{said}");
}

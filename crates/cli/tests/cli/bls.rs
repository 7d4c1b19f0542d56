//! Tables of BLS keys.

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
fn keys_that_come_again_are_reported() {
    let world = World::new();
    table(&world, &format!("{}\n{}\n0x{}\n{}\n", KEYS[0], KEYS[1], KEYS[0], KEYS[0].to_uppercase()));
    assert_eq!(world.json(&TABLE)["repeated_keys"], 2);
    let said = world.run(&TABLE).out;
    assert!(said.contains("2, the first on line 3, as on line 1: a threshold counts the owner"), "{said}");
}

#[test]
fn keys_become_a_table_that_commits() {
    let world = World::new();
    table(&world, &format!("{}\n0x{}\n", KEYS[0], KEYS[1]));
    let report = world.json(&TABLE);
    assert_eq!((&report["keys"], &report["repeated_keys"]), (&2.into(), &0.into()));
    let rows = world.text("table.csv");
    assert!(rows.starts_with("x0,x1,x2,x3,x4,x5,x6,y0,"), "{rows}");
    // x of the generator ends in ..22c6bb. The first column has its lowest 56 bits.
    assert!(rows.lines().nth(1).is_some_and(|l| l.starts_with(&format!("{},", 0x3a_f00a_db22_c6bb_u64))), "{rows}");
    let args = ["commit", "--store", "s", "--input", "table.csv", "--schema", "schema.toml"];
    let committed = world.json(&args);
    assert_eq!(committed["schema_digest"], report["schema_digest"]);
}

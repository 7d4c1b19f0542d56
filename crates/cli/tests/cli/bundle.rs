//! One file with a proof and everything that is checked with it.

use evergrove::proof::wire::Bundle;

use crate::world::{ALLOW, World};

fn verify<'a>(bundle: &'a str, root: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["verify", "--bundle", bundle, "--root", root], more, &ALLOW[..]].concat()
}

#[test]
fn a_bundle_is_exported_and_verified() {
    let world = World::with_table();
    let root = world.commitment();
    world.json(&["prove", "--store", "s", "--batch", "g", "--indices", "0,3,6"]);
    let exported = world.json(&["export", "--store", "s", "--batch", "g", "--bundle", "g.tar"]);
    let bytes = world.read("g.tar");
    let bundle = Bundle::decode(&bytes).unwrap();
    assert_eq!((&exported["bundle_bytes"], &exported["bundle_key"]), (&bytes.len().into(), &true.into()));
    let digest = exported["schema_digest"].as_str().unwrap();
    assert_eq!(digest, world.json(&["status", "--store", "s"])["schema_digest"]);

    // The bundle has the files that the other flags write.
    let files = ["--proof", "g.proof", "--leaves", "g.csv", "--schema", "g.toml"];
    world.json(&[&["export", "--store", "s", "--batch", "g"], &files[..]].concat());
    world.json(&["keys", "export", "--root", &root, "--out", "g.key"]);
    assert_eq!(bundle.proof, world.read("g.proof"));
    assert_eq!(bundle.rows.unwrap().1, world.read("g.csv"));
    assert_eq!(bundle.schema.unwrap(), world.read("g.toml"));
    assert_eq!(bundle.key.unwrap(), world.read("g.key"));

    let accepted = world.json(&verify("g.tar", &root, &["--schema-digest", digest]));
    assert_eq!((&accepted["leaves"], &accepted["schema_digest"]), (&3.into(), &exported["schema_digest"]));
    world.json(&verify("g.tar", &root, &["--schema", "schema.toml"]));
    // The verifier chooses the schema.
    let e = world.fails(2, &verify("g.tar", &root, &[]));
    assert!(e.contains("g.tar/schema.toml: the schema comes from whoever made the bundle"), "{e}");
    let e = world.fails(1, &verify("g.tar", &root, &["--schema-digest", &"1".repeat(64)]));
    assert!(e.contains("g.tar/schema.toml: the digest of this schema is"), "{e}");
    // The verifier also chooses the state of the table.
    world.json(&["update", "--store", "s", "--set", "3=age=9", "--no-prove"]);
    let e = world.fails(1, &verify("g.tar", &world.commitment(), &["--schema-digest", digest]));
    assert!(e.contains("root"), "{e}");
}

#[test]
fn rows_of_a_bundle_are_read_like_those_of_a_file() {
    let world = World::with_batch();
    let root = world.commitment();
    let export =
        |more: &[&str]| world.json(&[&["export", "--store", "s", "--batch", "b", "--bundle", "b.tar"], more].concat());
    // The backend native has no key.
    let exported = export(&["--output-format", "jsonl"]);
    assert_eq!(exported["bundle_key"], false);
    world.json(&verify("b.tar", &root, &["--schema", "schema.toml"]));
    // Values need no schema.
    export(&["--values"]);
    assert!(Bundle::decode(&world.read("b.tar")).unwrap().schema.is_none());
    assert_eq!(world.json(&verify("b.tar", &root, &[]))["leaves"], 450);

    let bytes = world.read("b.tar");
    let bundle = Bundle::decode(&bytes).unwrap();
    let text = String::from_utf8(bundle.rows.unwrap().1.to_vec()).unwrap();
    let with = |text: &str| {
        let rows = Some((bundle.rows.unwrap().0, text.as_bytes()));
        world.write("b.tar", Bundle { rows, ..bundle }.encode().unwrap());
    };
    with(&text.replacen("\n3,", "\n4,", 1));
    world.fails(1, &verify("b.tar", &root, &[]));
    with(&text.replacen("\n3,", "\nx,", 1));
    let e = world.fails(2, &verify("b.tar", &root, &[]));
    assert!(e.contains("b.tar/rows.csv, line 3"), "{e}");
    world.write("b.tar", Bundle { rows: None, ..bundle }.encode().unwrap());
    assert_eq!(world.json(&verify("b.tar", &root, &[]))["leaves_checked"], false);
}

#[test]
fn files_that_are_no_bundles_are_refused() {
    let world = World::with_batch();
    let root = world.commitment();
    world.json(&["export", "--store", "s", "--batch", "b", "--bundle", "b.tar"]);
    let bytes = world.read("b.tar");
    world.write("short.tar", &bytes[..bytes.len() - 600]);
    let e = world.fails(2, &verify("short.tar", &root, &[]));
    assert!(
        e.contains(&format!(
            "short.tar: the bundle has {} bytes, expected at least {}",
            bytes.len() - 600,
            bytes.len() - 512
        )),
        "{e}"
    );
    let e = world.fails(2, &verify("b.csv", &root, &[]));
    assert!(e.contains("b.csv: the bundle has no header of tar's format ustar at byte 0"), "{e}");
    // A sparse file that is longer than any bundle.
    let file = std::fs::File::create(world.path("long.tar")).unwrap();
    file.set_len(1 << 40).unwrap();
    let e = world.fails(2, &verify("long.tar", &root, &[]));
    assert!(e.contains("long.tar: 1099511627776 bytes, at most 856691200 bytes are read"), "{e}");
    world.fails(2, &["export", "--store", "s", "--batch", "b", "--bundle", "x.tar", "--output-format", "raw"]);
    world.fails(2, &["export", "--store", "s", "--bundle", "x.tar"]);
    world.fails(2, &verify("b.tar", &root, &["--leaves", "b.csv"]));
    assert!(!world.path("x.tar").exists());
    world.json(&["update", "--store", "s", "--set", "3=age=9", "--no-prove"]);
    world.fails(2, &["export", "--store", "s", "--batch", "b", "--bundle", "x.tar"]);
}

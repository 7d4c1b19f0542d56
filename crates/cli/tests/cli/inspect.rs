//! What `inspect` shows of files.

use std::path::PathBuf;

use crate::migrate::copy;
use crate::world::{NATIVE, World};

fn frozen(name: &str) -> String {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frozen");
    dir.join(name).to_str().unwrap().to_owned()
}

#[test]
fn files_are_named_with_what_they_claim() {
    let world = World::with_batch();
    let root = world.commitment();
    let inspect = |file: &str| world.json(&["inspect", file]);
    let proof = inspect("b.proof");
    assert_eq!((&proof["kind"], &proof["commitment"]), (&"proof".into(), &root.as_str().into()));
    assert_eq!((&proof["backend"], &proof["format_version"]), (&"native:1".into(), &2.into()));
    world.json(&["open", "--store", "s", "3", "--out", "o"]);
    let opening = inspect("o");
    assert_eq!((&opening["kind"], &opening["index"]), (&"opening".into(), &3.into()));
    let store = inspect("s");
    assert_eq!((&store["kind"], &store["commitment"]), (&"store".into(), &root.as_str().into()));
    assert_eq!(inspect("s/evergrove.redb")["commitment"], root.as_str());
    let schema = inspect("schema.toml");
    assert_eq!((&schema["kind"], &schema["schema_digest"]), (&"schema".into(), &store["schema_digest"]));
    world.write("root.txt", format!("{root}\n"));
    assert_eq!(inspect("root.txt")["kind"], "commitment");
    world.json(&["export", "--store", "s", "--batch", "b", "--bundle", "b.tar"]);
    let bundle = inspect("b.tar");
    assert_eq!((&bundle["kind"], &bundle["schema_digest"]), (&"bundle".into(), &store["schema_digest"]));
    assert_eq!(
        (&bundle["holds"]["rows.csv"], &bundle["commitment"]),
        (&world.read("b.csv").len().into(), &root.as_str().into())
    );
    let exported = world.json(&["keys", "export", "--root", &root, "--out", "g.key"]);
    let key = inspect("g.key");
    assert_eq!((&key["key_digest"], &key["pinned"]), (&exported["key_digest"], &true.into()));
    assert_eq!((&key["key_of"]["profile"], &key["key_of"]["height_class"]), (&"grove-100".into(), &27.into()));
    assert_eq!(key["bytes"], exported["bytes"]);
    for (file, kind) in [
        ("v1/proof.bin", "proof"),
        ("v2/proof-app.bin", "proof"),
        ("v2/opening-empty.bin", "opening"),
        ("v1/points-bn254.bin", "points of a curve"),
    ] {
        assert_eq!(inspect(&frozen(file))["kind"], kind, "{file}");
    }
    // Opening a store may write to its file.
    copy(frozen("v1/store").as_ref(), &world.path("old"));
    assert_eq!(inspect("old")["kind"], "store");
    let text = world.run(&["inspect", "b.proof"]);
    assert!(text.out.contains("Nothing of this is verified"), "{}", text.out);
}

#[test]
fn other_files_and_damaged_ones_are_refused() {
    let world = World::with_table();
    let refused = |file: &str, said: &str| {
        let e = world.fails(2, &["inspect", file]);
        assert!(e.contains(said), "{e}");
    };
    refused("table.csv", "table.csv: not a file of evergrove: it begins with \"id,");
    world.write("empty", "");
    refused("empty", "not a file of evergrove");
    world.json(&[&["prove", "--store", "s", "--batch", "b", "--indices", "0", "--out", "p"], &NATIVE[..]].concat());
    let bytes = world.read("p");
    world.write("cut", &bytes[..bytes.len() / 2]);
    refused("cut", "cut: not a whole proof: ");
    for head in [
        "EVGO",
        "EVGE\u{4}\0",
        "EVGE\u{5}\0",
        "EVGB\u{3}\0",
        "EVGB\u{4}\0",
        "EVGR\u{1}\0",
        "EVGK",
        "EVGL",
        "evgrkey\0",
        "evergrove1:x",
        "[1]",
        "[[column]]\n",
    ] {
        world.write("head", head);
        world.fails(2, &["inspect", "head"]);
    }
    world.fails(5, &["inspect", "absent"]);
}

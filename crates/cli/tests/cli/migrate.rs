//! A store of version 0.1 is read, refused for writing, and copied to a new one.

use std::fs;
use std::path::Path;

use crate::world::World;

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { assert!(fs::copy(entry.path(), to).is_ok()) }
    }
}

#[test]
fn a_store_of_version_0_1_is_migrated() {
    let world = World::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frozen/v1/store"), &world.path("old"));
    let old = world.json(&["status", "--store", "old"]);
    world.json(&["export", "--store", "old", "--batch", "proven", "--proof", "old.proof"]);
    let root = old["commitment"].as_str().unwrap();
    assert_eq!(world.json(&["verify", "--proof", "old.proof", "--root", root])["profile"], "proven");

    for change in [
        &["update", "--store", "old", "--set", "1=stock=4"][..],
        &["prove", "--store", "old", "--batch", "new", "--indices", "1"],
        &["prune", "--store", "old"],
        &["batches", "--store", "old", "--drop", "native"],
        &["serve", "--store", "old", "--no-token", "--listen", "127.0.0.1:0"],
    ] {
        let run = world.run(change);
        assert_eq!(run.code, 3, "{change:?}: {}", run.err);
        assert!(run.err.contains("format 1") && run.err.contains("migrate --store old --to DIR"), "{}", run.err);
    }

    let migrate = ["migrate", "--store", "old", "--to", "new"];
    // `paper` has the same members as `grove`. The proof of `grove` is copied, and also proves `paper`.
    let dry = world.json(&[&migrate[..], &["--dry-run"]].concat());
    assert_eq!((&dry["proven_again"], &dry["proofs_to_make"]), (&serde_json::json!(["paper", "proven"]), &1.into()));
    assert!(!world.path("new").exists());
    world.fails(2, &[&migrate[..], &["--profile", "proven"]].concat());
    let done = world.json(&migrate);
    assert_eq!((&done["commitment"], &done["epochs"], &done["batches"]), (&old["commitment"], &2.into(), &9.into()));
    assert_eq!((&done["proven_again"], &done["proofs_made"]), (&dry["proven_again"], &1.into()));
    world.fails(3, &migrate);

    let new = world.json(&["status", "--store", "new"]);
    for key in ["commitment", "epoch", "oldest_epoch", "rows", "schema_digest"] {
        assert_eq!(old[key], new[key], "{key}");
    }
    world.json(&["export", "--store", "new", "--batch", "proven", "--proof", "new.proof"]);
    assert_eq!(world.json(&["verify", "--proof", "new.proof", "--root", root])["profile"], "grove-100");
    // The source is unchanged, and the copy can be changed.
    assert_eq!(world.json(&["status", "--store", "old"]), old);
    world.json(&["update", "--store", "new", "--set", "30=stock=4", "--no-prove"]);
}

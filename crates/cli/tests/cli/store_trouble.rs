//! Stores that are locked, damaged, or on a full disk.

use std::fs;
use std::path::Path;

use evergrove::store::Store;
use redb::{Database, TableDefinition};

use crate::world::{NATIVE, World, is_bare};

/// Writes another format number into a store.
pub(crate) fn set_format(file: &Path, format: u8) {
    let database = Database::open(file).unwrap();
    let write = database.begin_write().unwrap();
    let meta: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    let value = [&b"evergrove-store"[..], &[format, 0, 0, 0]].concat();
    write.open_table(meta).unwrap().insert("format", value.as_slice()).unwrap();
    write.commit().unwrap();
}

#[test]
fn a_store_in_use_is_as_it_was_afterwards() {
    let world = World::with_batch();
    let store = Store::open(&world.path("s")).unwrap();
    for args in
        [&["status", "--store", "s"][..], &["prove", "--store", "s", "--batch", "b"], &["doctor", "--store", "s"]]
    {
        world.fails(3, args);
    }
    drop(store);
    world.check_batch();
}

#[test]
fn a_damaged_proof_is_found_and_made_anew() {
    let world = World::with_batch();
    let proofs: Vec<_> = files(&world.path("s/objects"));
    assert_eq!(proofs.len(), 6);
    for path in &proofs {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let run = world.run(&["doctor", "--store", "s", "--format", "json"]);
    assert_eq!(run.code, 3, "{}", run.err);
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["healthy"], false);
    assert!(report["findings"].as_array().unwrap().len() >= 6, "{report}");
    assert!(run.err.contains("help: "), "{}", run.err);
    world.fails(3, &["export", "--store", "s", "--batch", "b", "--proof", "x"]);
    world.json(&["prove", "--store", "s", "--batch", "b"]);
    world.check_batch();
    assert_eq!(world.json(&["doctor", "--store", "s"])["healthy"], true);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let world = World::with_table();
    let full = |blocks: u32, args: &[&str]| {
        let run = world.on_a_full_disk(blocks, args);
        assert_eq!(run.code, 5, "{args:?}: {}", run.err);
        assert!(run.err.starts_with("error: ") || run.err.contains("\nerror: "), "{}", run.err);
        assert!(!run.err.contains("panicked"), "{}", run.err);
    };
    full(8, &["commit", "--store", "new", "--input", "table.csv"]);
    assert!(is_bare(&world.path("new")));

    let before = world.state();
    full(8, &["export", "--store", "s", "--table", "out.csv"]);
    assert!(!world.path("out.csv").exists());
    let left: Vec<_> = files(&world.path("")).into_iter().filter(|p| p.to_string_lossy().ends_with(".part")).collect();
    assert_eq!(left, [] as [std::path::PathBuf; 0]);
    assert_eq!(world.state(), before);

    // Proofs of some hundred KiB do not fit. Those that fit are kept, and the same command finishes later.
    let indices: String = (0..450).map(|i| format!("{}\n", 3 * i)).collect();
    world.write("b.txt", indices);
    let database = fs::metadata(world.path("s/evergrove.redb")).unwrap().len().div_ceil(512);
    let prove = [&["prove", "--store", "s", "--batch", "b", "--indices", "b.txt"], &NATIVE[..]].concat();
    let room = u32::try_from(database).unwrap();
    let sizes = || files(&world.path("s/objects")).len();
    full(room.min(256), &prove);
    assert!(sizes() < 6);
    world.json(&prove);
    assert_eq!(sizes(), 6);
    world.check_batch();
}

/// Every file below a directory.
pub(crate) fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut out = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { dirs.push(path) } else { out.push(path) }
        }
    }
    out
}

#[test]
fn no_damaged_page_of_the_database_panics() {
    let world = World::with_table();
    let database = world.path("s/evergrove.redb");
    let sound = fs::read(&database).unwrap();
    let mut damaged = 0;
    for (k, page) in sound.chunks(4096).enumerate() {
        if page.iter().all(|b| *b == 0) {
            continue;
        }
        let mut bytes = sound.clone();
        bytes[4096 * k..][..page.len()].iter_mut().for_each(|b| *b = 0xa5_u8.wrapping_sub(*b));
        fs::write(&database, bytes).unwrap();
        let run = world.run(&["status", "--store", "s", "--format", "json"]);
        assert!(matches!(run.code, 0 | 3) && !run.err.contains("panicked"), "page {k}: {}: {}", run.code, run.err);
        damaged += usize::from(run.code == 3);
    }
    assert!(damaged > 1);
    fs::write(&database, sound).unwrap();
    assert_eq!(world.json(&["doctor", "--store", "s"])["healthy"], true);
}

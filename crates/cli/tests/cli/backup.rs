//! Backups of stores and of services, and stores restored from them.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use redb::{Database, TableDefinition};
use serde_json::Value;

use crate::serve::{Service, set};
use crate::world::{ALLOW, NATIVE, World, is_bare};

/// Proves batch `b` of a store. Returns the number of proofs made.
fn prove(world: &World, store: &str) -> u64 {
    let args = ["prove", "--store", store, "--batch", "b"];
    world.json(&args)["proofs_made"].as_u64().unwrap()
}

/// The commitment that a command has printed.
fn commitment(of: &Value) -> &str {
    of["commitment"].as_str().unwrap()
}

#[test]
fn a_service_is_backed_up_killed_and_restored() {
    let world = World::with_batch();
    let service = Service::start(&world, &[]);
    (0..3).for_each(|x| assert_eq!(service.client.post("/v1/changes", &set(3 * x, 100 + x)).status, 200));
    service.fresh();
    let url = format!("http://{}", service.client.addr());
    let made = world.backup(&["--url", &url, "--out", "b.backup"]);
    assert_eq!((&made["epoch"], &made["rows"]), (&4.into(), &500.into()));
    assert_eq!(made["bytes"].as_u64().unwrap() as usize, world.read("b.backup").len());
    let proof = service.client.get("/v1/batches/b/proof");
    let rows = service.client.get("/v1/batches/b/rows");
    assert_eq!((proof.status, rows.status), (200, 200));
    // Changes after the backup.
    (0..3).for_each(|x| assert_eq!(service.client.post("/v1/changes", &set(3 * x, 200 + x)).status, 200));
    service.signal("KILL");
    assert_eq!(service.end().0, None);

    let restored = world.json(&["restore", "b.backup", "--store", "r"]);
    assert_eq!((commitment(&restored), &restored["stale"]), (commitment(&made), &Value::Array(Vec::new())));
    assert_eq!((&restored["checked"], &restored["bytes"]), (&true.into(), &made["bytes"]));
    let status = world.json(&["status", "--store", "r"]);
    assert_eq!((commitment(&status), &status["epoch"]), (commitment(&made), &4.into()));
    assert_eq!(world.json(&["doctor", "--store", "r"])["healthy"], true);
    // The proof that the service gave is that of the restored store, and is valid for the rows that it gave.
    world.json(&["export", "--store", "r", "--batch", "b", "--proof", "r.proof", "--leaves", "r.jsonl"]);
    assert_eq!((world.read("r.proof"), world.read("r.jsonl")), (proof.body, rows.body));
    let run = world.verify("r.proof", commitment(&made), "r.jsonl");
    assert_eq!(run.code, 0, "{}", run.err);
    // Only stale parts are proven.
    assert_eq!(prove(&world, "r"), 0);
    let changed = world.json(&["update", "--store", "r", "--set", "3=name=n,amount=1.50,age=7"]);
    assert_ne!(commitment(&changed), commitment(&made));
    let batch = &changed["batches"][0];
    assert!(batch["proofs_made"].as_u64().unwrap() < batch["proofs_total"].as_u64().unwrap(), "{changed}");
    // The store of the killed service is whole, too.
    assert_eq!(world.json(&["status", "--store", "s"])["epoch"], 7);
}

#[test]
fn rows_of_a_service_are_those_of_its_proof() {
    let world = World::with_batch();
    let service = Service::start(&world, &[]);
    assert_eq!(service.client.post("/v1/changes", &set(3, 77)).status, 200);
    service.fresh();
    for epoch in ["", "?epoch=1", "?epoch=2"] {
        let [proof, rows] = ["proof", "rows"].map(|what| service.client.get(&format!("/v1/batches/b/{what}{epoch}")));
        assert_eq!((proof.status, rows.status), (200, 200), "{epoch}");
        let root = proof.header("evergrove-commitment");
        assert_eq!(
            (root, rows.header("evergrove-epoch")),
            (rows.header("evergrove-commitment"), proof.header("evergrove-epoch"))
        );
        assert_eq!(rows.header("content-type"), "application/x-ndjson");
        world.write("got.proof", &proof.body);
        world.write("got.jsonl", &rows.body);
        let run = world.verify("got.proof", root, "got.jsonl");
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.contains("each of the 450 rows is at its position"), "{}", run.out);
    }
    // Without the last row, the rows are refused.
    let cut: String = world.text("got.jsonl").lines().take(449).map(|line| format!("{line}\n")).collect();
    world.write("got.jsonl", cut);
    let root = service.status()["commitment"].as_str().unwrap().to_owned();
    assert_eq!(world.verify("got.proof", &root, "got.jsonl").code, 1);
    let proof = ["verify", "--proof", "got.proof", "--root", &root];
    assert_eq!(world.json(&[&proof[..], &ALLOW].concat())["accepted"], true);
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
}

#[test]
fn a_service_gives_backups_to_those_who_may_have_them() {
    let world = World::with_table();
    let [reader, saver] = ["reader-0123456789", "saver-token-0123456789"];
    world.write("tokens", format!("read {reader}\nbackup {saver}\n"));
    let service = Service::start(&world, &["--token-file", "tokens"]);
    let url = format!("http://{}/", service.client.addr());
    let backup = |token: Option<&str>, url: &str| {
        let mut command = world.command();
        command.args(["backup", "--url", url, "--out", "b.backup", "--quiet"]).env_remove("EVERGROVE_SERVE_TOKEN");
        let run = command.envs(token.map(|token| ("EVERGROVE_SERVE_TOKEN", token))).output().unwrap();
        let err = String::from_utf8(run.stderr).unwrap();
        assert!(!err.contains(reader) && !err.contains(saver), "{err}");
        (run.status.code(), err)
    };
    for (token, status) in [(None, "401"), (Some("another-token-0123"), "401"), (Some(reader), "403")] {
        let (code, err) = backup(token, &url);
        assert!(code == Some(2) && err.contains(status) && err.contains("EVERGROVE_SERVE_TOKEN"), "{err}");
        assert!(!world.path("b.backup").exists());
    }
    let (code, err) = backup(Some(saver), &url);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(service.client.with_token(saver).post("/v1/changes", &set(3, 1)).status, 403);
    let (code, err) = backup(Some(saver), "http://127.0.0.1:1");
    assert!(code == Some(5) && err.contains("the service does not answer"), "{err}");
    let others = ["http://localhost?x=1", "http://localhost/#x"];
    for url in ["localhost:7070", "ftp://localhost", &format!("http://me:{saver}@localhost"), others[0], others[1]] {
        let (code, err) = backup(Some(saver), url);
        assert!(code == Some(2) && err.contains("not the address of a service"), "{err}");
    }
    // While a service has the store open, the backup must come from the service.
    let e = world.fails(3, &["backup", "--store", "s", "--out", "c.backup"]);
    assert!(e.contains("in use by another process") && e.contains("--url"), "{e}");
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
    let whole = world.json(&["restore", "b.backup", "--verify-only"]);
    assert_eq!((commitment(&whole), &whole["checked"]), (world.commitment().as_str(), &false.into()));
}

#[test]
fn a_backup_that_is_interrupted_leaves_nothing() {
    let world = World::with_table();
    world.json(&["backup", "--store", "s", "--out", "whole"]);
    let (whole, dir) = (world.read("whole"), world.path("out"));
    std::fs::create_dir(&dir).unwrap();
    for name in ["INT", "TERM"] {
        // A service that sends half of a backup and no more.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut child = world.start(&["backup", "--url", &url, "--out", "out/b.backup", "--quiet"], &[]);
        let (mut stream, _) = listener.accept().unwrap();
        // An answer before the request would be an error.
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.extend(byte);
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", whole.len());
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&whole[..whole.len() / 2]).unwrap();
        let start = std::time::Instant::now();
        while is_bare(&dir) {
            assert!(start.elapsed() < Duration::from_secs(30), "it has not begun");
            thread::sleep(Duration::from_millis(5));
        }
        let killed = std::process::Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(is_bare(&dir), "{name}");
    }
}

#[test]
fn bad_backups_and_places_are_refused_in_a_line() {
    let world = World::with_batch();
    let made = world.json(&["backup", "--store", "s", "--out", "b.backup"]);
    let shown = world.json(&["inspect", "b.backup"]);
    assert_eq!((&shown["kind"], &shown["format_version"]), (&"backup of a store".into(), &1.into()));
    for field in ["commitment", "epoch", "oldest_epoch", "rows", "proofs", "bytes"] {
        assert_eq!(shown[field], made[field], "{field}");
    }
    let whole = world.read("b.backup");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    world.write("flipped", &flipped);
    world.write("cut", &whole[..whole.len() - 1]);
    world.write("more", [&whole[..], b"\n"].concat());
    world.write("empty", "");
    world.write("newer", [b"EVGS\x02\0", &whole[6..]].concat());
    for (file, says) in [
        ("flipped", "damaged in the block at byte"),
        ("cut", "cut off after"),
        ("more", "and more follow"),
        ("empty", "not a backup of a store"),
        ("table.csv", "not a backup of a store"),
        ("b.proof", "not a backup of a store"),
        ("newer", "the backup has version 2, expected 1"),
    ] {
        for args in [vec!["restore", file, "--store", "r"], vec!["restore", file, "--verify-only"]] {
            let e = world.fails(2, &[&args[..], &["--quiet"]].concat());
            assert!(e.contains(&format!("error: {file}: ")) && e.contains(says) && e.contains("help: "), "{e}");
            assert_eq!(e.lines().count(), 2, "{e}");
        }
    }
    assert!(!world.path("r").exists());
    let e = world.fails(2, &["inspect", "newer"]);
    assert!(e.contains("the backup has version 2"), "{e}");
    world.fails(5, &["restore", "none", "--store", "r"]);
    world.fails(2, &["restore", "b.backup"]);
    let e = world.fails(3, &["restore", "b.backup", "--store", "s"]);
    assert!(e.contains("already holds a store"), "{e}");
    std::fs::create_dir(world.path("other")).unwrap();
    world.write("other/file", "");
    let e = world.fails(3, &["restore", "b.backup", "--store", "other"]);
    assert!(e.contains("other is not empty") && e.contains("choose a directory"), "{e}");
    std::fs::create_dir(world.path("here")).unwrap();
    let mut here = world.command();
    here.current_dir(world.path("here")).args(["restore", "../b.backup", "--store", ".", "--quiet"]);
    let run = here.output().unwrap();
    let e = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.code() == Some(5) && e.contains("this is the current directory"), "{e}");
    world.fails(3, &["backup", "--store", "none", "--out", "c.backup"]);
    world.fails(2, &["backup", "--out", "c.backup"]);
    assert!(!world.path("c.backup").exists());

    // A full disk leaves nothing behind.
    let run = world.on_a_full_disk(20, &["restore", "b.backup", "--store", "r", "--quiet"]);
    assert_eq!((run.code, world.path("r").exists()), (5, false), "{}", run.err);
    let run = world.on_a_full_disk(20, &["backup", "--store", "s", "--out", "c.backup", "--quiet"]);
    assert_eq!((run.code, world.path("c.backup").exists()), (5, false), "{}", run.err);

    // Through stdout and stdin.
    let out = world.command().args(["backup", "--store", "s", "--out", "-", "--quiet"]).output().unwrap();
    assert!(out.status.success() && out.stdout == whole);
    let run = world.run_with(&["restore", "-", "--store", "t", "--unchecked", "--format", "json"], &whole);
    assert_eq!(run.code, 0, "{}", run.err);
    let restored: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((commitment(&restored), &restored["checked"]), (commitment(&made), &false.into()));
    assert_eq!(world.json(&["doctor", "--store", "t"])["healthy"], true);
}

#[test]
fn a_store_with_a_table_of_another_version_is_not_backed_up() {
    let world = World::with_table();
    {
        let database = Database::open(world.path("s/evergrove.redb")).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(TableDefinition::<u64, &[u8]>::new("later")).unwrap().insert(1, &[2u8][..]).unwrap();
        write.commit().unwrap();
    }
    let e = world.fails(3, &["backup", "--store", "s", "--out", "b.backup"]);
    assert!(
        e.contains("the unknown table \"later\"") && e.contains("use the version of evergrove that wrote the store"),
        "{e}"
    );
    assert!(!world.path("b.backup").exists());
}

#[test]
fn a_restore_that_is_killed_leaves_a_store_or_none() {
    let world = World::with_batch();
    let made = world.json(&["backup", "--store", "s", "--out", "b.backup"]);
    let mut seen = [0, 0];
    for pause in [0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 200] {
        let mut child = world.start(&["restore", "b.backup", "--store", "x/r"], &[]);
        thread::sleep(Duration::from_millis(pause));
        // The process may have ended already.
        let _ = child.kill();
        child.wait().unwrap();
        let dir = world.path("x/r");
        assert!(is_bare(&dir) || dir.join("evergrove.redb").exists() && dir.join("objects").exists());
        seen[usize::from(dir.exists())] += 1;
        if dir.exists() {
            let status = world.json(&["status", "--store", "x/r"]);
            assert_eq!(commitment(&status), commitment(&made));
            assert_eq!(prove(&world, "x/r"), 0);
            std::fs::remove_dir_all(&dir).unwrap();
        }
    }
    assert!(seen[0] > 0, "{seen:?}");
    world.json(&["restore", "b.backup", "--store", "x/r"]);
    let left: Vec<_> = std::fs::read_dir(world.path("x")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["r"], "what was left is swept up");
    world.json(&[&["prove", "--store", "x/r", "--batch", "c", "--indices", "0,3"][..], &NATIVE].concat());
}

impl World {
    /// Makes a backup with the service's token.
    fn backup(&self, args: &[&str]) -> Value {
        let mut command = self.command();
        command.args(["backup", "--format", "json"]).args(args).env("EVERGROVE_SERVE_TOKEN", crate::serve::TOKEN);
        let run = command.output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        serde_json::from_slice(&run.stdout).unwrap()
    }
}

//! Backups, and the rows of batches.

use std::thread;
use std::time::{Duration, Instant};

use evergrove::store::{BackupError, BackupReader, Store};
use evergrove_serve::{Config, Tokens};
use evergrove_testkit::faults::Disk;
use evergrove_testkit::http::head;
use serde_json::{Value, json};

use crate::common::{Gate, Hold, World, set};

/// Adds objects to the proofs, so that a backup does not fit into the buffers of a connection.
fn fill(world: &World, megabytes: u8) {
    let dir = world.dir.path().join("objects/proofs");
    (0..megabytes).for_each(|n| std::fs::write(dir.join(format!("{n:064x}")), vec![n; 1 << 20]).unwrap());
}

#[test]
fn a_backup_is_streamed_while_changes_are_committed() {
    let [reader, saver, writer] = ["reader-0123456789", "saver-token-0123456789", "writer-0123456789"];
    let tokens = Tokens::parse(&format!("read {reader}\nbackup {saver}\nwrite {writer}\n")).unwrap();
    let config = Config { tokens: Some(tokens), keep: Some(1), ..Config::default() };
    let world = World::start(config, Gate::open());
    let [reader, saver] = [reader, saver].map(|token| world.client.with_token(token));
    let world = World { client: world.client.with_token(writer), ..world };
    fill(&world, 64);
    let refused = reader.get("/v1/backup");
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("urn:evergrove:problem:no-backup"), "{}", refused.text());
    assert_eq!(saver.post("/v1/changes", &set(3, 1)).status, 403);

    let mut slow = saver.open("GET", "/v1/backup", &[], b"").expect("sent");
    let (status, headers) = head(&mut slow).expect("an answer");
    assert_eq!((status, headers["evergrove-epoch"].as_str()), (200, "1"));
    let running = |status: &Value| status["backups"]["running"].is_object();
    world.wait(running);
    assert_eq!(world.problem("GET", "/v1/backup", "", 429, "backup-running")["retry_after"], 10);
    // Changes do not wait for the backup. Pruning does, because the backup may need the proofs.
    (2..6).for_each(|x| drop(world.json("POST", "/v1/changes", &set(3, x), 200)));
    world.wait(|status| status["batches"][0]["fresh"] == true && running(status));
    let state = world.json("GET", "/v1/status", "", 200)["backups"].clone();
    let sent = state["running"]["bytes"].as_u64().unwrap();
    assert!((1..64 << 20).contains(&sent), "{state}");
    assert_eq!(
        (&state["running"]["epoch"], &state["finished"], &state["last_epoch"]),
        (&1.into(), &0.into(), &Value::Null)
    );
    world.json("GET", "/v1/epochs/1", "", 200);

    // The rest of the backup has the state of its start.
    let backup = BackupReader::new(slow).expect("begins");
    assert_eq!(backup.head().epoch.commitment.to_string(), headers["evergrove-commitment"]);
    let dir = tempfile::tempdir().expect("a directory");
    let restored = Store::restore(backup, &dir.path().join("r"), true, &mut |_| ()).expect("restores");
    assert_eq!((restored.epoch().unwrap().number, restored.batch("b").unwrap().fresh), (1, true));
    world.verify(&restored.export("b").unwrap(), &headers["evergrove-commitment"]);
    world.wait(|status| status["backups"]["finished"] == 1);

    // A caller that disconnects ends its backup. Then old epochs are pruned.
    let mut gone = saver.open("GET", "/v1/backup", &[], b"").expect("sent");
    assert_eq!(head(&mut gone).expect("an answer").0, 200);
    drop(gone);
    world.wait(|status| status["backups"]["broken_off"] == 1 && !running(status));
    world.json("POST", "/v1/changes", &set(3, 9), 200);
    world.wait(|_| world.client.get("/v1/epochs/1").status == 404);
    let state = world.json("GET", "/v1/status", "", 200)["backups"].clone();
    assert_eq!(state, json!({ "running": null, "finished": 1, "broken_off": 1, "last_epoch": 1 }));
    let metrics = world.client.get("/metrics");
    assert!(metrics.text().contains("\nevergrove_backups_total{outcome=\"broken-off\"} 1\n"), "{}", metrics.text());
    world.stop();
}

#[test]
fn a_caller_that_leaves_while_a_backup_begins_ends_it() {
    let (disk, hold) = (Disk::new(), Hold::default());
    let world = World::on(&disk, &hold, Config::default(), Gate::open());
    // The service reads its batches at the start, and nothing on its own after that.
    thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    hold.set(true);
    let gone = world.client.open("GET", "/v1/backup", &[], b"").expect("sent");
    while hold.waiting() == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "it has not begun");
        thread::sleep(Duration::from_millis(1));
    }
    // A second backup is refused at once while the first one begins.
    let mut second = world.client.open("GET", "/v1/backup", &[], b"").expect("sent");
    assert_eq!(head(&mut second).expect("an answer").0, 429);
    drop(gone);
    // Time for the service to notice that the caller has disconnected.
    thread::sleep(Duration::from_millis(500));
    hold.set(false);
    world.wait(|status| status["backups"]["broken_off"] == 1 && status["backups"]["running"].is_null());
    assert_eq!(world.client.get("/v1/backup").status, 200);
    world.wait(|status| status["backups"]["finished"] == 1);
    world.stop();
}

#[test]
fn a_backup_ends_with_its_token_and_is_not_begun_by_head() {
    let [saver, writer] = ["saver-token-0123456789", "writer-0123456789"];
    let tokens = Tokens::parse(&format!("backup {saver}\nwrite {writer}\n")).unwrap();
    let world = World::start(Config { tokens: Some(tokens.clone()), ..Config::default() }, Gate::open());
    let [saver, client] = [saver, writer].map(|token| world.client.with_token(token));
    let world = World { client, ..world };
    fill(&world, 64);
    let mut asked = saver.open("HEAD", "/v1/backup", &[], b"").expect("sent");
    assert_eq!(head(&mut asked).expect("an answer").0, 405);
    let mut slow = saver.open("GET", "/v1/backup", &[], b"").expect("sent");
    assert_eq!(head(&mut slow).expect("an answer").0, 200);
    tokens.replace(Tokens::parse(&format!("write {writer}\n")).unwrap());
    let cut = BackupReader::new(slow).expect("begins").verify(&mut |_| ()).expect_err("lacks its end");
    assert!(matches!(cut, BackupError::CutOff(_) | BackupError::Read(_)), "{cut:?}");
    world.wait(|status| status["backups"]["broken_off"] == 1);
    world.stop();
}

#[test]
fn a_full_disk_breaks_a_backup_off() {
    let disk = Disk::new();
    let world = World::on(&disk, &Hold::default(), Config::default(), Gate::open());
    fill(&world, 64);
    let mut slow = world.client.open("GET", "/v1/backup", &[], b"").expect("sent");
    assert_eq!(head(&mut slow).expect("an answer").0, 200);
    let room = disk.blocks();
    disk.limit(move || room);
    (2..500).find(|x| world.client.post("/v1/changes", &set(3, *x)).status == 507).expect("no room");
    disk.limit(|| usize::MAX);
    let done = world.json("POST", "/v1/changes", &set(3, 7), 200);
    let cut = BackupReader::new(slow).expect("begins").verify(&mut |_| ()).expect_err("lacks its end");
    assert!(matches!(cut, BackupError::CutOff(_) | BackupError::Read(_)), "{cut:?}");
    let status = world.json("GET", "/v1/status", "", 200);
    assert_eq!((&status["backups"]["broken_off"], &status["epoch"]), (&1.into(), &done["epoch"]));
    world.stop();
}

#[test]
fn rows_of_a_batch_are_those_of_its_last_proof() {
    let world = World::start(Config::default(), Gate::open());
    let rows = |path: &str| {
        let answer = world.client.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"), "{}", answer.text());
        let lines = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
        (answer.header("evergrove-epoch").to_owned(), lines)
    };
    let (epoch, first) = rows("/v1/batches/b/rows");
    assert_eq!((epoch.as_str(), first.len()), ("1", 20));
    assert_eq!(first[1], json!({ "index": 3, "name": "row 3", "amount": 3 }));
    world.gate.set(false);
    world.json("POST", "/v1/changes", &set(3, 7), 200);
    // Epoch 2 has no proof yet.
    assert_eq!(rows("/v1/batches/b/rows"), (epoch, first.clone()));
    assert_eq!(rows("/v1/batches/b/rows?epoch=2").1[1]["amount"], 7);
    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let (epoch, second) = rows("/v1/batches/b/rows");
    assert_eq!((epoch.as_str(), &second[1]["amount"]), ("2", &7.into()));
    assert_eq!(rows("/v1/batches/b/rows?epoch=1").1, first);

    // After a change of members, earlier epochs have no rows of the batch.
    world.json("POST", "/v1/changes", "{\"add\":[1],\"batch\":\"b\"}", 200);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    assert_eq!(rows("/v1/batches/b/rows").1.len(), 21);
    world.problem("GET", "/v1/batches/b/rows?epoch=2", "", 404, "not-proven");
    world.problem("GET", "/v1/batches/b/rows?epoch=9", "", 404, "not-found");
    world.problem("GET", "/v1/batches/b/rows?epoch=x", "", 400, "malformed");
    world.problem("GET", "/v1/batches/c/rows", "", 404, "not-found");
    world.stop();
}

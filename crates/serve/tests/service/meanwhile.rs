//! Epochs that are committed while proofs are made.

use std::time::{Duration, Instant};

use evergrove_serve::Config;
use evergrove_testkit::faults::Disk;
use serde_json::{Value, json};

use crate::common::{Gate, Hold, World, set};

/// The data of the next event, other than progress.
fn next(events: &mut impl Iterator<Item = (String, String)>) -> Value {
    let (_, data) = events.find(|(name, _)| name != "progress").expect("an event");
    serde_json::from_str(&data).expect("JSON")
}

#[test]
fn epochs_are_committed_while_proofs_are_made_and_share_the_next_proof() {
    let world = World::start(Config::default(), Gate::closed());
    let mut events = world.client.events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    world.wait(|status| status["proving"]["epoch"] == 2);
    for epoch in 3..=5 {
        assert_eq!(world.json("POST", "/v1/changes", &set(3 * epoch, 1), 200)["epoch"], epoch);
    }
    let status = world.json("GET", "/v1/status", "", 200);
    assert_eq!((&status["epoch"], &status["proving"]["epoch"]), (&5.into(), &2.into()));
    assert_eq!((&status["batches"][0]["proven"]["epoch"], &status["queue"]["waiting"]), (&1.into(), &0.into()));
    assert_eq!(world.json("GET", "/v1/batches/b/tree", "", 200)["epoch"], 2, "the tree of the proofs that are made");
    assert_eq!(world.json("GET", "/v1/epochs/3", "", 200)["committed"]["proven_after"], Value::Null);
    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let told: Vec<_> = (0..6).map(|_| next(&mut events)).map(|e| (e["event"].clone(), e["epoch"].clone())).collect();
    let told = json!(told);
    let expected = json!([["epoch", 2], ["epoch", 3], ["epoch", 4], ["epoch", 5], ["proof", 2], ["proof", 5]]);
    assert_eq!(told, expected);
    assert_eq!(world.json("GET", "/v1/batches/b/tree", "", 200)["epoch"], 5);
    // The proof of epoch 5 also shows what epochs 3 and 4 have changed.
    let proven =
        |epoch: u64| world.json("GET", &format!("/v1/epochs/{epoch}"), "", 200)["committed"]["proven_after"].clone();
    let start = Instant::now();
    while !(2..=5).all(|epoch| proven(epoch).is_f64()) {
        assert!(start.elapsed() < Duration::from_secs(30), "{}", proven(3));
    }
    assert_eq!(world.client.get("/v1/batches/b/proof?epoch=2").status, 200);
    world.problem("GET", "/v1/batches/b/proof?epoch=4", "", 404, "not-proven");
    let proof = world.client.get("/v1/batches/b/proof");
    assert_eq!(proof.header("evergrove-epoch"), "5");
    world.verify(&proof.body, status["commitment"].as_str().unwrap());
    let summary = world.stop();
    assert_eq!((summary.epochs, summary.proofs, summary.stale.len()), (4, 2, 0));
}

#[test]
fn a_proof_of_members_that_have_changed_meanwhile_does_not_count() {
    let world = World::start(Config::default(), Gate::closed());
    let mut events = world.client.events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    world.wait(|status| status["proving"]["epoch"] == 2);
    // Slot 90 is empty in epoch 2.
    let body = format!("{}\n{{\"add\":[90],\"batch\":\"b\"}}", set(90, 8));
    let third = world.json("POST", "/v1/changes", &body, 200);
    assert_eq!(world.json("GET", "/v1/batches/b/tree", "", 200)["epoch"], 3, "these members have no tree in epoch 2");
    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let told: Vec<_> = (0..3).map(|_| next(&mut events)).map(|e| (e["event"].clone(), e["epoch"].clone())).collect();
    assert_eq!(json!(told), json!([["epoch", 2], ["epoch", 3], ["proof", 3]]));
    let proof = world.client.get("/v1/batches/b/proof");
    world.verify(&proof.body, third["commitment"].as_str().unwrap());
    assert_eq!(world.stop().proofs, 1);
}

/// A failed write fails every access to the database until it is opened again, and a refresh reads it all the time.
#[test]
fn a_database_that_fails_while_proofs_are_made_is_opened_again() {
    let hold = Hold::default();
    let world = World::on(&Disk::new(), &hold, Config::default(), Gate::closed());
    let mut events = world.client.events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    world.wait(|status| status["proving"]["epoch"] == 2);
    let mut epoch = 2;
    for operations in 0.. {
        hold.fail_after(operations);
        let start = Instant::now();
        let answer = world.client.post("/v1/changes", &set(3, 10 + operations as u64));
        assert!(start.elapsed() < Duration::from_secs(20), "the refresh holds up the commit");
        let has_failed = hold.has_failed();
        hold.fail_after(usize::MAX - 1);
        epoch += u64::from(answer.status == 200);
        let status = world.json("GET", "/v1/status", "", 200);
        assert_eq!((&status["epoch"], answer.status == 200 || answer.status == 507), (&epoch.into(), true));
        if !has_failed {
            break;
        }
        // The refresh has begun again.
        world.wait(|status| status["proving"].is_object());
    }
    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true && status["epoch"] == epoch);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["failing"], json!([]));
    assert!((2..=epoch).all(|epoch| next(&mut events)["epoch"] == epoch), "all epochs are told");
    assert_eq!(next(&mut events)["event"], "proof", "no failure is told");
    world.stop();
}

#[test]
fn the_epoch_of_the_last_proof_is_kept() {
    let gate = Gate::open();
    gate.fail(1000);
    let world = World::start(Config { keep: Some(2), ..Config::default() }, gate);
    for epoch in 2..=10 {
        assert_eq!(world.json("POST", "/v1/changes", &set(3, 100 + epoch), 200)["epoch"], epoch);
        world.wait(|status| status["failing"][0]["epoch"] == epoch);
    }
    assert_eq!(world.client.get("/v1/batches/b/rows").header("evergrove-epoch"), "1");
    world.gate.fail(0);
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 11);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let start = Instant::now();
    while world.client.get("/v1/epochs/1").status != 404 {
        assert!(start.elapsed() < Duration::from_secs(30), "epoch 1 is not pruned");
    }
    assert_eq!(world.client.get("/v1/epochs/10").status, 200);
    world.stop();
}

#[test]
fn a_service_that_stops_proves_its_last_epoch() {
    let world = World::start(Config::default(), Gate::closed());
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    world.wait(|status| status["proving"]["epoch"] == 2);
    assert_eq!(world.json("POST", "/v1/changes", &set(6, 1), 200)["epoch"], 3);
    world.shutdown.drain();
    world.gate.set(true);
    let summary = world.service.join().unwrap().unwrap();
    assert_eq!((summary.epochs, summary.proofs, summary.stale.len()), (2, 2, 0));
}

/// Callers who do not wait keep the disk full, and the refresh is stopped again and again. It still prunes.
#[test]
fn a_full_disk_is_pruned_while_callers_repeat_their_requests() {
    let (disk, keep) = (Disk::new(), 4);
    let world = World::on(&disk, &Hold::default(), Config { keep: Some(keep), ..Config::default() }, Gate::open());
    let all = |x: u64| (0..80).map(|i| set(i, x + i)).collect::<Vec<_>>().join("\n");
    // One proof of a late epoch is missing, so these epochs are kept.
    world.gate.fail(usize::MAX / 2);
    (2..40).for_each(|x| drop(world.json("POST", "/v1/changes", &all(x), 200)));
    let room = disk.blocks();
    disk.limit(move || room);
    world.gate.fail(0);
    world.gate.set(false);
    let start = Instant::now();
    let mut refused = 0;
    loop {
        let status = world.client.post("/v1/changes", &all(1000 + refused)).status;
        match status {
            507 => refused += 1,
            status => assert_eq!(status, 200),
        }
        if status == 200 && refused > 0 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{refused} requests refused");
    }
    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true && status["disk_full"] == false);
    assert_eq!(world.client.get("/v1/epochs/2").status, 404);
    world.stop();
}

//! The service as its callers see it: a real socket, and the backend that executes everything again.

#[path = "service/access.rs"]
mod access;
#[path = "service/backup.rs"]
mod backup;
#[path = "service/callers.rs"]
mod callers;
mod common;
#[path = "service/meanwhile.rs"]
mod meanwhile;
mod page;
#[path = "service/tls.rs"]
mod tls;

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use common::{Gate, Hold, TOKEN, World, each_epoch, set};
use evergrove::commit::BackendChoice;
use evergrove::jobs::local::LocalEngine;
use evergrove::proof::Profile;
use evergrove::store::{Prover, Store};
use evergrove_serve::{Config, Token, Tokens};
use evergrove_testkit::faults::Disk;
use evergrove_testkit::http::head;
use serde_json::{Value, json};

#[test]
fn changes_become_epochs_and_every_epoch_has_its_proof() {
    let world = World::start(each_epoch(), Gate::open());
    let mut events = world.client.events("/v1/events");
    let (name, status) = events.next().expect("the state comes first");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((name.as_str(), &status["epoch"]), ("status", &1.into()));

    let body = format!("{}\n{}\n{{\"add\":[90],\"batch\":\"b\"}}\n", set(3, 7), set(90, 8));
    let done = world.json("POST", "/v1/changes", &body, 200);
    assert_eq!((&done["epoch"], &done["rows"], &done["changes"]), (&2.into(), &81.into(), &3.into()));
    let (name, epoch) = events.next().unwrap();
    let epoch: Value = serde_json::from_str(&epoch).unwrap();
    assert_eq!((name.as_str(), &epoch["set"], &epoch["commitment"]), ("epoch", &2.into(), &done["commitment"]));
    let (name, proof) = events.next().unwrap();
    let proof: Value = serde_json::from_str(&proof).unwrap();
    assert_eq!((name.as_str(), &proof["batch"], &proof["epoch"]), ("proof", &"b".into(), &2.into()));
    assert!(proof["proofs_made"].as_u64() < proof["proofs_total"].as_u64(), "{proof}");

    let file = world.client.get("/v1/batches/b/proof");
    assert_eq!((file.status, file.header("evergrove-epoch")), (200, "2"));
    assert_eq!(file.header("evergrove-commitment"), done["commitment"].as_str().unwrap());
    world.verify(&file.body, file.header("evergrove-commitment"));
    let etag = file.header("etag");
    let again = world.client.send("GET", "/v1/batches/b/proof", &[("if-none-match", etag)], b"").unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
    let same = world.client.get("/v1/batches/b/proof?epoch=2");
    assert_eq!((same.status, &same.body), (200, &file.body));
    // At epoch 1 the batch had other members.
    world.problem("GET", "/v1/batches/b/proof?epoch=1", "", 404, "not-proven");

    // After another change, the proof of the epoch before still exists.
    let third = world.json("POST", "/v1/changes", &set(3, 9), 200);
    assert_eq!(events.by_ref().take(2).map(|(name, _)| name).collect::<Vec<_>>(), ["epoch", "proof"]);
    let old = world.client.get("/v1/batches/b/proof?epoch=2");
    assert_eq!((old.status, old.header("evergrove-epoch"), &old.body), (200, "2", &file.body));
    assert_ne!(world.client.get("/v1/batches/b/proof").body, file.body);

    let status = world.json("GET", "/v1/status", "", 200);
    assert_eq!((&status["state"], &status["epoch"], &status["rows"]), (&"running".into(), &3.into(), &81.into()));
    assert_eq!(
        (&status["proving"], &status["failing"], &status["queue"]["waiting"]),
        (&Value::Null, &json!([]), &0.into())
    );
    let batch = world.json("GET", "/v1/batches/b", "", 200);
    assert_eq!((&batch["fresh"], &batch["members"], &batch["proven"]["epoch"]), (&true.into(), &21.into(), &3.into()));
    assert_eq!(world.json("GET", "/v1/batches", "", 200), json!([batch]));
    assert_eq!(status["batches"], json!([batch]));
    let members = world.json("GET", "/v1/batches/b/members", "", 200);
    assert_eq!(members["indices"].as_array().unwrap().last(), Some(&90.into()));
    let epoch = world.json("GET", "/v1/epochs/3", "", 200);
    assert_eq!((&epoch["commitment"], &epoch["rows"]), (&third["commitment"], &81.into()));

    let opening = world.client.get("/v1/openings/3?epoch=2");
    assert_eq!((opening.status, opening.header("evergrove-epoch")), (200, "2"));
    world.check_opening(&opening.body, 3, done["commitment"].as_str().unwrap(), 7);
    let opening = world.client.get("/v1/openings/3");
    world.check_opening(&opening.body, 3, third["commitment"].as_str().unwrap(), 9);

    let summary = world.stop();
    assert_eq!((summary.epochs, summary.proofs, summary.stale.len()), (2, 2, 0));
    assert_eq!(events.next().map(|(name, _)| name).as_deref(), Some("stopping"));
    assert!(events.next().is_none());
}

#[test]
fn what_is_wrong_with_a_request_is_told() {
    let config = Config { body_bytes: 2000, body_time: Duration::from_millis(200), ..Config::default() };
    let world = World::start(
        Config { tokens: Some(Tokens::one(Token::new(TOKEN).unwrap())), streams: 1, ..config },
        Gate::open(),
    );
    let known = world.client.with_token(TOKEN);
    for client in [world.client.clone(), world.client.with_token("another-token-0123"), known.with_token("")] {
        let answer = client.get("/v1/status");
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Bearer"));
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(client.post("/v1/changes", &set(1, 1)).status, 401);
        assert!(!answer.text().contains(TOKEN));
    }
    let basic = world.client.send("GET", "/v1/status", &[("authorization", TOKEN)], b"").unwrap();
    assert_eq!(basic.status, 401);
    let world = World { client: known, ..world };

    let before = world.json("GET", "/v1/status", "", 200);
    for (body, status, name, says) in [
        ("{\"set\":1}", 400, "malformed", "changes, line 1: "),
        (
            &format!("{}\n{{\"set\":2,\"row\":{{\"x\":1}}}}", set(1, 1)),
            400,
            "malformed",
            "changes, line 2: missing column",
        ),
        ("", 400, "malformed", "no line holds a change"),
        (&set(5000, 1), 422, "refused", "index 5000 is outside the vector of 2^7 slots"),
        (&format!("{}\n{}", set(1, 1), set(1, 2)), 422, "refused", "duplicate index 1"),
        ("{\"delete\":100}", 422, "refused", "slot 100 is empty"),
        ("{\"delete\":3}", 422, "refused", "slot 3 cannot be emptied: it is in batch \"b\""),
        ("{\"add\":[1],\"batch\":\"c\"}", 422, "refused", "unknown batch \"c\""),
        (&"\n".repeat(2001), 413, "too-large", "at most 2000 bytes"),
        // A caller that is still sending sees the answer.
        (&"\n".repeat(8 << 20), 413, "too-large", "at most 2000 bytes"),
    ] {
        let problem = world.problem("POST", "/v1/changes", body, status, name);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    // A body that exceeds the limit by one byte, and one that does not arrive.
    let long = "\n".repeat(3000);
    let mut reader = world.client.open("POST", "/v1/changes", &[("content-length", "2001")], long.as_bytes()).unwrap();
    assert_eq!(head(&mut reader).unwrap().0, 413);
    let mut reader = world.client.open("POST", "/v1/changes", &[("content-length", "100")], b"{").unwrap();
    assert_eq!(head(&mut reader).unwrap().0, 408);
    // The requests above hold no place in the queue.
    for (method, path, status, name) in [
        ("GET", "/v1/changes", 405, "method"),
        ("GET", "/v2", 404, "not-found"),
        ("GET", "/v1/batches/c", 404, "not-found"),
        ("GET", "/v1/batches/c/proof", 404, "not-found"),
        ("GET", "/v1/batches/b/proof?epoch=9", 404, "not-found"),
        ("GET", "/v1/batches/b/proof?epoch=x", 400, "malformed"),
        ("GET", "/v1/epochs/0", 404, "not-found"),
        ("GET", "/v1/epochs/x", 404, "not-found"),
        ("GET", "/v1/openings/x", 404, "not-found"),
        ("GET", "/v1/openings/1000", 422, "refused"),
    ] {
        world.problem(method, path, "", status, name);
    }
    assert_eq!(world.json("GET", "/v1/status", "", 200), before, "nothing has changed");
    let stream = world.client.events("/v1/events");
    assert_eq!(world.problem("GET", "/v1/events", "", 503, "streams")["retry_after"], 10);
    drop(stream);
    world.stop();
}

#[test]
fn requests_wait_in_a_bounded_queue_and_share_an_epoch() {
    let world = World::start(Config { queue: 2, ..each_epoch() }, Gate::closed());
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    world.wait(|status| status["proving"]["batch"] == "b");
    let post = |body: String| {
        let client = world.client.clone();
        thread::spawn(move || client.post("/v1/changes", &body))
    };
    let bad = post(set(5000, 1));
    let good = post(set(4, 2));
    world.wait(|status| status["queue"]["waiting"] == 2);
    let full = world.problem("POST", "/v1/changes", &set(5, 3), 429, "queue-full");
    assert!(full["retry_after"].as_u64().unwrap() >= 1, "{full}");
    // The proof of an epoch comes before the next epoch. Meanwhile reads still work.
    assert_eq!(world.json("GET", "/v1/status", "", 200)["epoch"], 2);
    assert_eq!(world.client.get("/v1/batches/b/proof").header("evergrove-epoch"), "1");
    world.gate.set(true);
    assert_eq!(bad.join().unwrap().status, 422, "one that cannot be made does not spoil the others");
    let good = good.join().unwrap();
    assert_eq!(good.status, 200, "{}", good.text());
    world.wait(|status| status["batches"][0]["fresh"] == true && status["epoch"] == 3);

    // A request that deletes a slot of another request gets the next epoch.
    world.gate.set(false);
    assert_eq!(world.json("POST", "/v1/changes", &set(6, 1), 200)["epoch"], 4);
    let one = post(format!("{}\n{}", set(6, 2), set(7, 2)));
    world.wait(|status| status["queue"]["waiting"] == 1);
    let two = post("{\"delete\":7}".into());
    world.wait(|status| status["queue"]["waiting"] == 2);
    world.gate.set(true);
    let epoch = |answer: evergrove_testkit::http::Answer| {
        serde_json::from_slice::<Value>(&answer.body).unwrap()["epoch"].clone()
    };
    assert_eq!((epoch(one.join().unwrap()), epoch(two.join().unwrap())), (5.into(), 6.into()));
    world.wait(|status| status["batches"][0]["fresh"] == true && status["epoch"] == 6);

    // Requests for different slots share an epoch.
    world.gate.set(false);
    assert_eq!(world.json("POST", "/v1/changes", &set(6, 9), 200)["epoch"], 7);
    let both = [post(set(8, 1)), post(set(9, 1))];
    world.wait(|status| status["queue"]["waiting"] == 2);
    world.gate.set(true);
    assert_eq!(both.map(|t| epoch(t.join().unwrap())), [8, 8].map(Value::from));

    let text = world.client.get("/metrics").text().to_owned();
    for line in
        ["evergrove_requests_turned_away_total 1", "evergrove_requests_refused_total 1", "evergrove_requests_waiting 0"]
    {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    world.stop();
}

#[test]
fn a_service_that_is_told_to_stop_ends_what_it_has_taken() {
    let world = World::start(each_epoch(), Gate::closed());
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    let client = world.client.clone();
    let waiting = thread::spawn(move || client.post("/v1/changes", &set(4, 1)));
    world.wait(|status| status["queue"]["waiting"] == 1);
    assert_eq!(world.client.get("/readyz").status, 200);
    world.shutdown.drain();
    assert_eq!((world.client.get("/readyz").status, world.client.get("/healthz").status), (503, 200));
    assert_eq!(world.problem("POST", "/v1/changes", &set(5, 1), 503, "stopping")["retry_after"], 5);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["state"], "stopping");
    world.gate.set(true);
    assert_eq!(waiting.join().unwrap().status, 200, "what was in the queue is committed");
    let dir = world.dir.clone();
    let summary = world.stop();
    assert_eq!((summary.epochs, summary.proofs, summary.stale.len()), (2, 2, 0));
    let store = Store::open(dir.path()).unwrap();
    assert!(store.epoch().unwrap().number == 3 && store.batch("b").unwrap().fresh);
}

#[test]
fn a_service_that_leaves_answers_until_callers_know() {
    let drain = Duration::from_secs(2);
    let world = World::start(Config { drain, ..Config::default() }, Gate::open());
    assert_eq!(world.client.get("/readyz").status, 200);
    let open = |stream: &mut TcpStream| {
        stream.write_all(b"GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        head(&mut std::io::BufReader::new(stream)).unwrap()
    };
    let mut stream = TcpStream::connect(world.client.addr()).unwrap();
    let mut other = stream.try_clone().unwrap();
    assert!(!open(&mut stream).1.contains_key("connection"));
    let start = Instant::now();
    world.shutdown.leave();
    assert_eq!((world.client.get("/readyz").status, world.probes.get("/readyz").status), (503, 503));
    // Everything else still works, on new connections too. Open connections end after an answer.
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["state"], "leaving");
    assert_eq!(open(&mut other).1["connection"], "close");
    assert!(start.elapsed() < drain, "{:?}", start.elapsed());
    let summary = world.service.join().unwrap().unwrap();
    assert!(start.elapsed() >= drain && start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!((summary.epochs, summary.stale.len()), (1, 0));
    assert!(TcpStream::connect(world.client.addr()).is_err(), "the listener is closed");

    // A second call drains the service, and a third one stops its proofs.
    let world = World::start(Config { drain: Duration::from_secs(60), ..Config::default() }, Gate::closed());
    let start = Instant::now();
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    for state in ["leaving", "stopping"] {
        world.shutdown.advance();
        assert_eq!(world.json("GET", "/v1/status", "", 200)["state"], state);
    }
    assert_eq!(world.client.get("/readyz").status, 503);
    world.shutdown.advance();
    let summary = world.service.join().unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!((summary.epochs, summary.stale.len()), (1, 1));
}

#[test]
fn a_service_that_has_no_time_keeps_the_epoch_and_the_next_one_proves_it() {
    let world = World::start(Config { grace: Duration::from_millis(50), ..Config::default() }, Gate::closed());
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    world.wait(|status| status["proving"]["batch"] == "b");
    let dir = world.dir.clone();
    let summary = world.stop();
    assert_eq!((summary.epochs, summary.proofs, &summary.stale[..]), (1, 0, &["b".to_owned()][..]));
    let next = World::in_dir(dir, Config::default(), Gate::open());
    next.wait(|status| status["batches"][0]["fresh"] == true && status["epoch"] == 2);
    next.stop();
}

#[test]
fn proofs_that_fail_are_tried_again() {
    let gate = Gate::open();
    gate.fail(2);
    let world = World::start(Config::default(), gate);
    let mut events = world.client.events("/v1/events");
    events.next();
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    let mut next = || serde_json::from_str::<Value>(&events.next().unwrap().1).unwrap();
    assert_eq!(next()["event"], "epoch");
    let failure = next();
    assert_eq!((&failure["event"], &failure["retry_after"]), (&"failure".into(), &1.into()));
    assert!(failure["cause"].as_str().unwrap().contains("the graph has no task"), "{failure}");
    assert_eq!(world.json("GET", "/v1/status", "", 200)["failing"][0]["batch"], "b");
    // The next epoch tries again and fails. The attempt after a pause succeeds.
    assert_eq!(world.json("POST", "/v1/changes", &set(4, 1), 200)["epoch"], 3);
    assert_eq!((next()["event"].clone(), next()["event"].clone()), ("epoch".into(), "failure".into()));
    let proof = next();
    assert_eq!((&proof["event"], &proof["epoch"]), (&"proof".into(), &3.into()));
    world.wait(|status| status["failing"] == json!([]));
    let text = world.client.get("/metrics").text().to_owned();
    assert!(text.contains("evergrove_refresh_failures_total{batch=\"b\"} 2"), "{text}");
    world.stop();
}

#[test]
fn the_table_grows_and_old_epochs_go_where_that_is_wanted() {
    let world = World::start(Config { grow: Some(10), keep: Some(2), ..each_epoch() }, Gate::open());
    assert_eq!(world.json("POST", "/v1/changes", &set(500, 1), 200)["epoch"], 2);
    for epoch in 3..=6 {
        assert_eq!(world.json("POST", "/v1/changes", &set(500, epoch), 200)["epoch"], epoch);
    }
    world.wait(|status| status["batches"][0]["proven"]["epoch"] == 6 && status["height"] == 9);
    world.problem("GET", "/v1/epochs/1", "", 404, "not-found");
    assert_eq!(world.json("GET", "/v1/epochs/5", "", 200)["rows"], 81);
    // The height is limited, because one wrong position would make every later proof deeper.
    let problem = world.problem("POST", "/v1/changes", &set(1 << 10, 1), 422, "refused");
    assert!(problem["detail"].as_str().unwrap().contains("index 1024 is outside the vector of 2^9 slots"), "{problem}");
    assert_eq!(world.json("POST", "/v1/changes", &set((1 << 10) - 1, 1), 200)["epoch"], 7);
    world.wait(|status| status["height"] == 10);
    world.stop();
}

#[test]
fn metrics_and_the_description_are_there_without_a_token() {
    let config = Config { tokens: Some(Tokens::one(Token::new(TOKEN).unwrap())), ..Config::default() };
    let world = World::start(config, Gate::open());
    let known = world.client.with_token(TOKEN);
    assert_eq!(known.post("/v1/changes", &set(3, 1)).status, 200);
    world.wait_as(&known, |status| status["batches"][0]["fresh"] == true);
    let metrics = world.client.get("/metrics");
    assert!(metrics.header("content-type").starts_with("application/openmetrics-text; version=1.0.0"));
    let text = metrics.text();
    for line in [
        "evergrove_epoch 2",
        "evergrove_epochs_total 1",
        "evergrove_proven_epoch{batch=\"b\"} 2",
        "evergrove_changes_total{kind=\"set\"} 1",
        "evergrove_tasks_done_total{kind=\"wrap\"} 1",
        "evergrove_tasks_running{kind=\"wrap\"} 0",
        "evergrove_refresh_seconds_count{batch=\"b\"} 1",
        "evergrove_http_answers_total{route=\"/v1/changes\",status=\"200\"} 1",
        "evergrove_http_seconds_count{route=\"/v1/changes\",class=\"2xx\"} 1",
        "evergrove_streams 0",
        concat!("evergrove_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    // The connections of earlier requests end soon.
    let start = Instant::now();
    while !world.client.get("/metrics").text().lines().any(|l| l == "evergrove_connections 1") {
        assert!(start.elapsed() < Duration::from_secs(30), "connections stay open");
        thread::sleep(Duration::from_millis(10));
    }
    // The store has a file, and its disk has free space.
    for (name, sizes) in [("store", 4096..1 << 30), ("free", 1..u64::MAX)] {
        let line = text.lines().find_map(|l| l.strip_prefix(&format!("evergrove_{name}_bytes ")));
        assert!(line.is_some_and(|size| sizes.contains(&size.parse().unwrap())), "{name}: {line:?}");
    }
    let mut events = known.events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    assert_eq!(world.client.send("GET", "/nowhere/at/all", &[], b"").unwrap().status, 404);
    let start = Instant::now();
    loop {
        let text = world.probes.get("/metrics").text().to_owned();
        let proofs = text.lines().any(|l| l.strip_prefix("evergrove_proofs_bytes ").is_some_and(|size| size != "0"));
        let streams = text.contains("evergrove_streams 1\n") && text.contains("evergrove_connections 1\n");
        // Labels are routes, so a caller cannot invent new ones.
        assert!(
            !text.contains("nowhere")
                && text.contains("evergrove_http_seconds_count{route=\"other\",class=\"4xx\"} 1\n")
        );
        if proofs && streams {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{text}");
        thread::sleep(Duration::from_millis(5));
    }
    drop(events);

    let document: Value = serde_json::from_str(world.client.get("/openapi.json").text()).unwrap();
    let paths: BTreeSet<_> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "/healthz",
        "/metrics",
        "/readyz",
        "/v1/backup",
        "/v1/batches",
        "/v1/batches/{name}",
        "/v1/batches/{name}/key",
        "/v1/batches/{name}/members",
        "/v1/batches/{name}/proof",
        "/v1/batches/{name}/rows",
        "/v1/batches/{name}/tree",
        "/v1/changes",
        "/v1/changes/{key}",
        "/v1/epochs",
        "/v1/epochs/{epoch}",
        "/v1/epochs/{epoch}/changes",
        "/v1/events",
        "/v1/openings/{index}",
        "/v1/status",
    ];
    assert_eq!(paths, BTreeSet::from(expected));
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let guarded = path.starts_with("/v1/");
            assert_eq!(operation["security"].is_array(), guarded, "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path}");
            let shown = path.replace("{name}", "b").replace("{epoch}", "1").replace("{index}", "1");
            let answer = world.client.send(&method.to_uppercase(), &shown, &[], b"").unwrap();
            assert_eq!(answer.status == 401, guarded, "{method} {path} answers {}", answer.status);
        }
    }
    assert!(document["components"]["securitySchemes"]["bearer"].is_object());
    // Every reference has a schema.
    let text = document.to_string();
    for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
    world.stop();
}

/// The answer to a POST to /v1/changes with these headers: status, body, and whether the request was replayed.
fn post(world: &World, headers: &[(&str, &str)], body: &str) -> (u16, Value, bool) {
    let answer = world.client.send("POST", "/v1/changes", headers, body.as_bytes()).unwrap();
    let replayed = answer.headers.get("idempotency-replayed").is_some_and(|text| text == "true");
    (answer.status, serde_json::from_slice(&answer.body).unwrap(), replayed)
}

#[test]
fn a_request_with_a_key_is_made_once() {
    let world = World::start(Config::default(), Gate::open());
    let key = [("idempotency-key", "order-17")];
    let missing = world.problem("GET", "/v1/changes/order-17", "", 404, "not-found");
    assert!(missing["detail"].as_str().unwrap().contains("order-17"));
    let (status, first, replayed) = post(&world, &key, &set(3, 1));
    assert_eq!((status, &first["epoch"], replayed), (200, &2.into(), false));
    // Another caller writes a newer row. Sending the first request again does not undo this.
    let newer = world.json("POST", "/v1/changes", &set(3, 2), 200);
    assert_eq!(newer["epoch"], 3);
    assert_eq!(post(&world, &key, &set(3, 1)), (200, first.clone(), true));
    let opening = world.client.get("/v1/openings/3");
    world.check_opening(&opening.body, 3, newer["commitment"].as_str().unwrap(), 2);
    let (status, problem, _) = post(&world, &key, &set(3, 9));
    assert_eq!((status, &problem["type"]), (422, &"urn:evergrove:problem:key-reused".into()));
    // A refused request was not made, so its key is still free.
    let other = [("idempotency-key", "order-18")];
    assert_eq!(post(&world, &other, "{\"delete\":127}").0, 422);
    assert_eq!(post(&world, &other, &set(4, 1)).1["epoch"], 4);
    assert_eq!(world.json("GET", "/v1/changes/order-17", "", 200), first);
    for wrong in ["", "a b", &"k".repeat(129)] {
        assert_eq!(post(&world, &[("idempotency-key", wrong)], &set(5, 1)).0, 400, "{wrong:?}");
    }
    // The store keeps the keys.
    let dir = world.dir.clone();
    world.stop();
    let world = World::in_dir(dir, Config::default(), Gate::open());
    assert_eq!(post(&world, &key, &set(3, 1)), (200, first, true));
    world.stop();
}

#[test]
fn a_request_that_names_an_epoch_follows_it_or_is_refused() {
    let world = World::start(Config::default(), Gate::open());
    assert_eq!(post(&world, &[("if-match", "\"1\"")], &set(3, 1)).1["epoch"], 2);
    let (status, problem, _) = post(&world, &[("if-match", "\"1\"")], &set(4, 1));
    assert_eq!((status, &problem["type"]), (412, &"urn:evergrove:problem:changed".into()));
    assert!(problem["detail"].as_str().unwrap().contains("the table is in epoch 2"), "{problem}");
    assert_eq!(post(&world, &[("if-match", "2")], &set(4, 1)).1["epoch"], 3);
    assert_eq!(post(&world, &[("if-match", "now")], &set(4, 1)).0, 400);
    world.stop();
}

/// While a proof is made, eight callers set the same row: they get one epoch, and the last row stays. Of four callers
/// that name the same epoch, one succeeds.
#[test]
fn changes_of_one_row_share_an_epoch() {
    let world = World::start(each_epoch(), Gate::closed());
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|x| {
                let caller = scope.spawn({
                    let client = &world.client;
                    move || client.send("POST", "/v1/changes", &[], set(3, 100 + x).as_bytes()).unwrap()
                });
                // One after the other, so that the last one is known.
                world.wait(|status| status["queue"]["waiting"] == x + 1);
                caller
            })
            .collect();
        world.gate.set(true);
        for caller in callers {
            let answer: Value = serde_json::from_slice(&caller.join().unwrap().body).unwrap();
            assert_eq!(answer["epoch"], 3);
        }
    });
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let status = world.json("GET", "/v1/status", "", 200);
    assert_eq!(status["epoch"], 3);
    let opening = world.client.get("/v1/openings/3");
    world.check_opening(&opening.body, 3, status["commitment"].as_str().unwrap(), 107);
    let epochs = thread::scope(|scope| {
        let asked = || scope.spawn(|| post(&world, &[("if-match", "3")], &set(4, 1)).0);
        let callers: Vec<_> = (0..4).map(|_| asked()).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!((epochs.iter().filter(|s| **s == 200).count(), epochs.iter().filter(|s| **s == 412).count()), (1, 3));
    world.stop();
}

#[test]
fn epochs_go_on_where_nobody_proves() {
    let world = World::start(Config { stall: Some(Duration::from_secs(2)), ..Config::default() }, Gate::closed());
    let mut events = world.client.events("/v1/events");
    events.next();
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    assert_eq!(world.client.get("/readyz").status, 200);
    let mut next = || serde_json::from_str::<Value>(&events.next().unwrap().1).unwrap();
    assert_eq!(next()["event"], "epoch");
    let stalled = next();
    assert_eq!(stalled["event"], "stalled");
    assert!(stalled["cause"].as_str().unwrap().contains("see whether there are workers"), "{stalled}");
    let failure = next();
    assert!(failure["cause"].as_str().unwrap().contains("no proof was begun or ended for 2 s"), "{failure}");
    // It still accepts changes, so it stays ready.
    assert_eq!(world.client.get("/readyz").status, 200);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["stalled"], true);
    let stalled = |text: &str| world.client.get("/metrics").text().contains(&format!("evergrove_stalled {text}\n"));
    assert!(stalled("1"));
    for epoch in 3..6 {
        assert_eq!(world.json("POST", "/v1/changes", &set(3, epoch), 200)["epoch"], epoch);
    }
    world.gate.set(true);
    world.wait(|status| status["batches"][0]["fresh"] == true && status["epoch"] == 5);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["stalled"], false);
    assert!(stalled("0"));
    assert!(events.by_ref().any(|(name, _)| name == "resumed"));
    world.stop();
}

#[test]
fn a_batch_that_was_never_proven_has_a_metric() {
    let world = World::start(Config::default(), Gate::open());
    let dir = world.dir.clone();
    world.stop();
    let store = Store::open(dir.path()).unwrap();
    let (backends, engine) = (common::backends(), LocalEngine::new(1));
    let choice = BackendChoice::new("native", Profile::Paper);
    Prover::new(&store, &backends, &engine).define("c", &[1, 2], &choice).unwrap();
    drop(store);
    let world = World::in_dir(dir, Config::default(), Gate::closed());
    let start = Instant::now();
    while !world.probes.get("/metrics").text().contains("evergrove_proven_epoch{batch=\"c\"} 0\n") {
        assert!(start.elapsed() < Duration::from_secs(30));
    }
    world.shutdown.abort();
    world.stop();
}

#[test]
fn a_lost_proof_is_made_again() {
    let world = World::start(Config::default(), Gate::open());
    let whole = world.client.get("/v1/batches/b/proof").body;
    let mut dir = world.dir.clone();
    world.stop();
    let key = Store::open(dir.path()).unwrap().batch("b").unwrap().proven.unwrap().key;
    let file = dir.path().join(format!("objects/proofs/{key}"));
    for bytes in [None, Some(&whole[..whole.len() - 1]), Some(b"")] {
        match bytes {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let world = World::in_dir(dir, Config::default(), Gate::closed());
        // Nothing says that it is there.
        let status = world.json("GET", "/v1/status", "", 200);
        assert_eq!((&status["batches"][0]["fresh"], &status["epoch"]), (&false.into(), &1.into()));
        assert_eq!(world.json("GET", "/v1/batches", "", 200)[0]["fresh"], false);
        assert_eq!(world.json("GET", "/v1/batches/b", "", 200)["fresh"], false);
        let problem = world.problem("GET", "/v1/batches/b/proof", "", 404, "not-proven");
        assert!(problem["detail"].as_str().unwrap().contains("missing or damaged"), "{problem}");
        world.gate.set(true);
        world.wait(|status| status["batches"][0]["fresh"] == true);
        let proof = world.client.get("/v1/batches/b/proof");
        assert_eq!((proof.status, &proof.body), (200, &whole));
        world.verify(&proof.body, status["commitment"].as_str().unwrap());
        dir = world.dir.clone();
        let summary = world.stop();
        assert_eq!((summary.proofs, summary.stale), (1, Vec::new()));
    }
}

#[test]
fn a_full_disk_stops_changes_and_nothing_else() {
    let disk = Disk::new();
    let world = World::on(&disk, &Hold::default(), Config::default(), Gate::open());
    world.json("POST", "/v1/changes", &set(3, 1), 200);
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let room = disk.blocks();
    disk.limit(move || room);
    // The free pages of the file are used up first.
    let made = (2..500).find(|x| world.client.post("/v1/changes", &set(3, *x)).status == 507).expect("no room");
    for x in 0..3 {
        let problem = world.problem("POST", "/v1/changes", &set(3, 600 + x), 507, "full");
        assert!(problem["detail"].as_str().unwrap().contains("Make room"), "{problem}");
        // Reads still work.
        let status = world.json("GET", "/v1/status", "", 200);
        assert_eq!((&status["epoch"], &status["disk_full"]), (&made.into(), &true.into()));
        let opening = world.client.get("/v1/openings/3");
        world.check_opening(&opening.body, 3, status["commitment"].as_str().unwrap(), made - 1);
        assert_eq!(world.client.get("/v1/batches/b/proof").status, 200);
        assert_eq!(world.client.get("/readyz").status, 200);
        assert!(world.client.get("/metrics").text().contains("\nevergrove_disk_full 1\n"));
    }
    disk.limit(|| usize::MAX);
    let done = world.json("POST", "/v1/changes", &set(3, 7), 200);
    assert_eq!(done["epoch"], made + 1);
    world.wait(|status| status["batches"][0]["fresh"] == true && status["disk_full"] == false);
    let proof = world.client.get("/v1/batches/b/proof");
    world.verify(&proof.body, done["commitment"].as_str().unwrap());
    world.stop();
}

/// A commit that fails once it is on the disk is one: whoever asks, listens or counts is told so.
#[test]
fn an_epoch_that_is_found_committed_is_told() {
    let hold = Hold::default();
    let world = World::on(&Disk::new(), &hold, Config::default(), Gate::open());
    let mut events = world.client.events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    let (mut found, mut epoch) = (0, 1);
    for operations in 0.. {
        world.wait(|status| status["batches"][0]["fresh"] == true);
        // Nothing but the commit writes meanwhile.
        world.gate.set(false);
        hold.fail_after(operations);
        let answer = world.client.post("/v1/changes", &set(3, 100 + operations as u64));
        let has_failed = hold.has_failed();
        hold.fail_after(usize::MAX - 1);
        let status = world.json("GET", "/v1/status", "", 200);
        world.gate.set(true);
        if answer.status == 507 {
            assert_eq!(status["epoch"], epoch);
            continue;
        }
        assert_eq!(answer.status, 200, "{}", answer.text());
        epoch += 1;
        found += u64::from(status["disk_full"] == true);
        let told = events.by_ref().find(|(name, _)| name == "epoch").expect("an event").1;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&told["epoch"], &told["set"]), (&epoch.into(), &1.into()));
        let shown = world.json("GET", &format!("/v1/epochs/{epoch}"), "", 200);
        assert_eq!(shown["committed"]["set"], 1);
        if !has_failed {
            break;
        }
    }
    assert!(found > 0, "each write that failed came before the commit");
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let metrics = world.client.get("/metrics");
    for line in [format!("evergrove_epochs_total {}", epoch - 1), format!("evergrove_epoch {epoch}")] {
        assert!(metrics.text().lines().any(|l| l == line), "{line} is not in\n{}", metrics.text());
    }
    assert_eq!(world.stop().epochs, epoch - 1);
}

#[test]
fn a_service_on_a_full_disk_prunes_what_it_need_not_keep() {
    let (disk, keep) = (Disk::new(), 8);
    let config = Config { keep: Some(keep), ..each_epoch() };
    let world = World::on(&disk, &Hold::default(), config, Gate::open());
    let all = |x: u64| (0..80).map(|i| set(i, x + i)).collect::<Vec<_>>().join("\n");
    (2..2 * keep - 1).for_each(|x| drop(world.json("POST", "/v1/changes", &all(x), 200)));
    world.wait(|status| status["batches"][0]["fresh"] == true);
    let room = disk.blocks();
    disk.limit(move || room);
    let statuses: Vec<_> = (0..10).map(|x| world.client.post("/v1/changes", &all(100 + x)).status).collect();
    assert_eq!((statuses[0], statuses[1]), (507, 200), "{statuses:?}");
    let status = world.json("GET", "/v1/status", "", 200);
    world.json("GET", &format!("/v1/epochs/{}", status["epoch"].as_u64().unwrap() - keep + 1), "", 200);
    world.stop();
}

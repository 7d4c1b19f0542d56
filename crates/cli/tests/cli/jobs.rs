//! The queue as people see it, and a service whose proofs workers make: real processes and a real Redis.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use evergrove_testkit::http::Client;
use evergrove_testkit::servers::RedisServer;
use serde_json::Value;

use crate::serve::{Service, set};
use crate::world::World;

/// A process that ends with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn code(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

/// Waits until `look` finds something.
fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn free_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn objects(world: &World) -> String {
    std::fs::create_dir_all(world.path("objects")).unwrap();
    format!("file://{}", world.path("objects").display())
}

#[test]
fn runs_are_listed_shown_cancelled_and_cleaned() {
    let Some(redis) = RedisServer::start() else { return };
    let (world, url) = (World::with_batch(), redis.url());
    world.json(&["update", "--store", "s", "--set", "3=age=9", "--no-prove"]);
    let objects = objects(&world);
    let jobs = |args: &[&str]| world.json(&[&["jobs"], args, &["--redis", &url]].concat());
    let nothing = jobs(&["list"]);
    assert_eq!((&nothing["workers"], &nothing["runs"]), (&0.into(), &Value::Array(Vec::new())));

    // A leader without workers.
    let prove = ["prove", "--store", "s", "--batch", "b", "--engine", &url, "--objects", &objects];
    let health = free_address();
    let address = health.to_string();
    let mut leader = Process::start(world.command().args(prove).args(["--health", &address]));
    let run = wait("a run", || jobs(&["list"])["runs"].get(0).filter(|run| run["planned"] != 0).cloned());
    let name = run["run"].as_str().unwrap();
    assert_eq!((&run["state"], &run["kind"], &run["done"]), (&"running".into(), &"wrap".into(), &0.into()));
    let waiting = wait("a job that waits", || {
        let out = world.run(&["jobs", "list", "--redis", &url, "--state", "prioritized", "--format", "json"]).out;
        out.lines().next().map(|line| serde_json::from_str::<Value>(line).unwrap())
    });
    assert_eq!((&waiting["kind"], &waiting["state"]), (&"bucket".into(), &"prioritized".into()));
    assert_eq!(jobs(&["list"])["jobs"]["prioritized"], 1);
    let job = waiting["job"].as_str().unwrap();
    assert!(job.starts_with(name), "{job} is one of {name}");
    assert_eq!(jobs(&["show", job])["job"], job);
    assert_eq!(jobs(&["show", name])["planned"], run["planned"]);
    assert_eq!(jobs(&["retry", job])["retried"], false);
    // The layout that BullMQ's own tools and KEDA read: see docs.bullmq.io.
    let above = run["planned"].as_u64().unwrap() - 1;
    for (key, kind, size) in [
        ("prioritized", "zset", Some(1)),
        ("waiting-children", "zset", Some(above)),
        ("events", "stream", None),
        ("meta", "hash", None),
    ] {
        let key = format!("bull:evergrove:{key}");
        assert_eq!(redis.ask(&["TYPE", &key]), format!("+{kind}\r\n"), "{key}");
        assert!(size.is_none_or(|n| redis.ask(&["ZCARD", &key]) == format!(":{n}\r\n")), "{key}");
    }
    let stored = redis.ask(&["HGETALL", &format!("bull:evergrove:{job}")]);
    for field in ["name", "bucket", "data", "opts", "timestamp", "priority", "parentKey", "parent"] {
        assert!(stored.lines().any(|line| line == field), "{field} is not in {stored}");
    }
    let text = world.run(&["jobs", "list", "--redis", &url]).out;
    assert!(text.contains(&format!("{name}: running, 0 of ")), "{text}");
    let e = world.fails(2, &["jobs", "show", "none", "--redis", &url]);
    assert!(e.contains("none"), "{e}");

    let vitals = Client::new(health);
    wait("the leader's view of the queue", || {
        let metrics = vitals.send("GET", "/metrics", &[], b"").ok()?;
        metrics.text().contains("evergrove_queue_tasks{state=\"prioritized\"} 1").then_some(())
    });
    assert_eq!(vitals.get("/readyz").status, 200);

    jobs(&["cancel", name]);
    assert_eq!(leader.code(), Some(4));
    assert_eq!(jobs(&["show", name])["state"], "cancelled");
    // The payload that a dead leader would have left.
    let payload = world.path("objects/payloads").join(name).join("0".repeat(64));
    std::fs::create_dir_all(payload.parent().unwrap()).unwrap();
    std::fs::write(&payload, "left behind").unwrap();
    assert_eq!(jobs(&["clean", "--grace", "0", "--objects", &objects])["runs"], 1);
    assert!(!payload.exists());
    let list = jobs(&["list"]);
    assert_eq!((&list["runs"], &list["jobs"]["prioritized"]), (&Value::Array(Vec::new()), &0.into()));
    assert_eq!(world.json(&["prove", "--store", "s", "--batch", "b"])["epoch"], 2);
}

#[test]
fn a_service_proves_by_workers_that_tell_how_they_are() {
    let Some(redis) = RedisServer::start() else { return };
    let (world, url) = (World::with_batch(), redis.url());
    let objects = objects(&world);
    let health = free_address();
    let address = health.to_string();
    let worker = ["worker", "--redis", &url, "--objects", &objects, "--health", &address, "--threads", "1"];
    let mut worker = Process::start(world.command().args(worker));
    let vitals = Client::new(health);
    wait("a worker that is ready", || {
        vitals.send("GET", "/readyz", &[], b"").ok().filter(|answer| answer.status == 200)
    });
    let service = Service::start(&world, &["--engine", &url, "--objects", &objects]);
    assert_eq!(service.client.post("/v1/changes", &set(3, 7)).status, 200);
    wait("the service's view of the queue", || {
        let text = service.client.get("/metrics").text().to_owned();
        let lines = ["evergrove_queue_workers 1", "evergrove_queue_tasks{state=\"failed\"} 0"];
        lines.iter().all(|line| text.lines().any(|l| l == *line)).then_some(())
    });
    let state = service.fresh();
    assert_eq!(state["epoch"], 2);
    service.signal("TERM");
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    world.check_batch();
    let text = vitals.get("/metrics").text().to_owned();
    for line in ["evergrove_tasks_done_total{kind=\"wrap\"} 1", "evergrove_tasks_running{kind=\"wrap\"} 0"] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    wait("the depth of the queue", || {
        Some(vitals.get("/metrics").text().contains("evergrove_queue_tasks{state=\"wait\"} 0")).filter(|there| *there)
    });
    assert_eq!(vitals.get("/healthz").status, 200);
    let sent = Command::new("kill").args(["-s", "TERM", &worker.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(worker.code(), Some(0));
}

#[test]
fn a_queue_that_is_gone_is_seen_within_seconds() {
    let Some(mut redis) = RedisServer::start() else { return };
    let (world, url) = (World::with_batch(), redis.url());
    let objects = objects(&world);
    let health = free_address();
    let address = health.to_string();
    let worker = ["worker", "--redis", &url, "--objects", &objects, "--health", &address, "--threads", "1"];
    let _worker = Process::start(world.command().args(worker));
    let vitals = Client::new(health);
    let service = Service::start(&world, &["--engine", &url, "--objects", &objects]);
    let both = [&vitals, &service.client];
    let queue = |client: &Client| -> Vec<String> {
        let text = client.send("GET", "/metrics", &[], b"").map(|answer| answer.text().to_owned()).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("evergrove_queue_")).map(str::to_owned).collect()
    };
    let sees = |client: &Client| {
        let lines = queue(client);
        ["evergrove_queue_up 1", "evergrove_queue_workers 1"].iter().all(|line| lines.iter().any(|l| l == line))
    };
    wait("a queue that is seen", || both.iter().all(|client| sees(client)).then_some(()));
    wait("a worker that is ready", || (vitals.get("/readyz").status == 200).then_some(()));

    redis.kill();
    let gone = Instant::now();
    wait("a queue that is missed", || {
        both.iter().all(|client| queue(client) == ["evergrove_queue_up 0"]).then_some(())
    });
    let unready = vitals.get("/readyz");
    assert_eq!((unready.status, unready.text()), (503, "not ready: the queue does not answer\n"));
    assert!(gone.elapsed() < Duration::from_secs(15), "{:?}", gone.elapsed());
    // The service accepts changes without workers.
    assert_eq!(service.client.get("/readyz").status, 200);

    redis.restart();
    wait("a queue that is back", || both.iter().all(|client| sees(client)).then_some(()));
    wait("a worker that is ready again", || (vitals.get("/readyz").status == 200).then_some(()));
}

#[test]
fn a_service_commits_and_says_so_while_there_is_no_worker() {
    let Some(redis) = RedisServer::start() else { return };
    let (world, url) = (World::with_batch(), redis.url());
    let objects = objects(&world);
    let service = Service::start(&world, &["--engine", &url, "--objects", &objects, "--stall", "4"]);
    for epoch in 2..4 {
        assert_eq!(service.client.post("/v1/changes", &set(3, epoch)).status, 200);
    }
    let status = || serde_json::from_slice::<serde_json::Value>(&service.client.get("/v1/status").body).unwrap();
    // The state comes first, the cause when the refresh has ended.
    let stalled = |status: &serde_json::Value| status["stalled"] == true && status["failing"][0].is_object();
    let status = wait("a service that is stalled", || Some(status()).filter(stalled));
    let cause = status["failing"][0]["cause"].as_str().unwrap();
    assert!(cause.contains("for 4 s: see whether there are workers"), "{cause}");
    assert_eq!(service.client.get("/readyz").status, 200, "it takes changes");
    let worker = ["worker", "--redis", &url, "--objects", &objects, "--threads", "1"];
    let _worker = Process::start(world.command().args(worker));
    assert_eq!(service.fresh()["epoch"], 3);
    assert_eq!(service.client.get("/readyz").status, 200);
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
    world.check_batch();
}

//! The service as a process: started, killed, and told to stop.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use evergrove_testkit::http::Client;
use evergrove_testkit::tls::{Issued, TlsClient};
use redb::{Database, TableDefinition};
use serde_json::Value;

use crate::world::World;

pub(crate) const TOKEN: &str = "f00d0000f00d0000f00d";

/// A service of the store `s` of a world.
pub(crate) struct Service {
    child: Child,
    pub(crate) client: Client,
}

impl Service {
    pub(crate) fn start(world: &World, args: &[&str]) -> Self {
        Self::spawn(world.command(), args)
    }

    pub(crate) fn spawn(mut command: Command, args: &[&str]) -> Self {
        command.args(["serve", "--store", "s", "--listen", "127.0.0.1:0", "--format", "json"]).args(args);
        command.env("EVERGROVE_SERVE_TOKEN", TOKEN).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let addr: SocketAddr = said["listening"].as_str().unwrap().parse().unwrap();
        Self { child, client: Client::new(addr).with_token(TOKEN) }
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(self.client.get("/v1/status").text()).unwrap()
    }

    /// Waits until every batch is proven. Returns the status.
    pub(crate) fn fresh(&self) -> Value {
        let start = Instant::now();
        loop {
            let status = self.status();
            if status["batches"].as_array().unwrap().iter().all(|b| b["fresh"] == true) {
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{status}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal by the name that kill(1) knows.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end. Returns the exit code, the last line of stdout, and stderr.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Fails if the service has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line that sets the row at a position.
pub(crate) fn set(index: u64, age: u64) -> String {
    format!("{{\"set\":{index},\"row\":{{\"name\":\"n\",\"amount\":\"1.50\",\"age\":{age}}}}}\n")
}

#[test]
fn what_a_killed_service_has_answered_is_committed_and_proven_by_the_next() {
    let world = World::with_batch();
    let mut last = (1, world.commitment());
    // Killed right after the answer, in the middle of the proofs, and perhaps after them.
    for (round, pause) in [0, 2, 5, 20].into_iter().enumerate() {
        let mut service = Service::start(&world, &[]);
        let state = service.status();
        assert_eq!((state["epoch"].as_u64(), state["commitment"].as_str()), (Some(last.0), Some(last.1.as_str())));
        let answer = service.client.post("/v1/changes", &set(3 * round as u64, 100));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let committed: Value = serde_json::from_str(answer.text()).unwrap();
        thread::sleep(Duration::from_millis(pause));
        service.child.kill().unwrap();
        service.child.wait().unwrap();
        last = (committed["epoch"].as_u64().unwrap(), committed["commitment"].as_str().unwrap().to_owned());
    }
    assert_eq!(last.0, 5);
    let service = Service::start(&world, &[]);
    let state = service.fresh();
    assert_eq!((state["epoch"].as_u64(), state["commitment"].as_str()), (Some(5), Some(last.1.as_str())));
    let proof = service.client.get("/v1/batches/b/proof");
    assert_eq!((proof.status, proof.header("evergrove-commitment")), (200, last.1.as_str()));
    service.signal("TERM");
    let (code, out, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&summary["epochs"], &summary["stale"]), (&0.into(), &Value::Array(Vec::new())));
    assert!(!err.contains(TOKEN));
    for line in err.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
    world.write("served.proof", &proof.body);
    world.check_batch();
    let doctor = world.json(&["doctor", "--store", "s"]);
    assert_eq!(doctor["healthy"], true);
    let opened = world.json(&["open", "--store", "s", "9"]);
    assert_eq!(opened["row"]["age"], 100);
}

#[test]
fn a_service_killed_while_it_proves_by_default_proves_when_it_starts() {
    let world = World::with_table();
    world.json(&["prove", "--store", "s", "--batch", "b", "--indices", "0,3,6"]);
    let mut service = Service::start(&world, &[]);
    assert_eq!(service.client.post("/v1/changes", &set(3, 100)).status, 200);
    // A proof takes hundreds of milliseconds.
    thread::sleep(Duration::from_millis(100));
    service.child.kill().unwrap();
    service.child.wait().unwrap();

    let service = Service::start(&world, &[]);
    assert_eq!(service.fresh()["epoch"], 2);
    let proof = service.client.get("/v1/batches/b/proof");
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
    world.check_by_default_policy();
    assert_eq!(proof.body, world.read("now.proof"));
}

#[test]
fn a_token_is_asked_for_and_never_shown() {
    let world = World::with_table();
    let serve = ["serve", "--store", "s", "--listen", "127.0.0.1:0"];
    let e = world.fails(2, &serve);
    assert!(e.contains("callers need a token") && e.contains("help: put it into EVERGROVE_SERVE_TOKEN"), "{e}");
    world.write("short", "secret-x\n");
    let e = world.fails(2, &[&serve[..], &["--token-file", "short"]].concat());
    assert!(e.contains("the token has 8 bytes, expected at least 16") && !e.contains("secret-x"), "{e}");
    let e = world.fails(2, &["serve", "--store", "s", "--listen", "0.0.0.0:0", "--no-token"]);
    assert!(e.contains("lets everyone in"), "{e}");
    let e = world.fails(5, &[&serve[..], &["--token-file", "none"]].concat());
    assert!(e.contains("none"), "{e}");
    let e = world.fails(3, &["serve", "--store", "t", "--no-token"]);
    assert!(e.contains("does not exist"), "{e}");

    world.write("token", format!("{TOKEN}\n"));
    let service = Service::start(&world, &["--token-file", "token"]);
    assert_eq!(service.status()["state"], "running");
    let e = world.fails(3, &["status", "--store", "s"]);
    assert!(e.contains("in use by another process"), "{e}");
    service.signal("INT");
    assert_eq!(service.end().0, Some(0));
    world.json(&["status", "--store", "s"]);
}

#[test]
fn the_log_of_people_has_colors_on_a_terminal_alone() {
    let world = World::with_table();
    let mut command = world.command();
    command.args(["serve", "--store", "s", "--listen", "127.0.0.1:0"]).env("EVERGROVE_SERVE_TOKEN", TOKEN);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let addr: SocketAddr = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
    let service = Service { child, client: Client::new(addr).with_token(TOKEN) };
    assert_eq!(service.client.post("/v1/changes", &set(3, 100)).status, 200);
    service.signal("TERM");
    let (code, _, log) = service.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains(" INFO epoch epoch=2 ") && !log.contains('\x1b'), "{log}");
}

#[test]
fn tokens_of_a_file_are_exchanged_without_a_restart() {
    let world = World::with_table();
    let [reader, writer, next] = ["reader-0123456789", "writer-0123456789", "next-token-0123456789"];
    world.write("tokens", format!("# of the auditors\nread {reader}\nwrite {writer}\n"));
    let service = Service::start(&world, &["--token-file", "tokens"]);
    let client = |token: &str| service.client.with_token(token);
    assert_eq!(client(TOKEN).get("/v1/status").status, 401, "the file takes the place of the variable");
    assert_eq!(client(reader).get("/v1/status").status, 200);
    assert_eq!(client(reader).post("/v1/changes", &set(3, 1)).status, 403);
    assert_eq!(client(writer).post("/v1/changes", &set(3, 1)).status, 200);
    // An invalid file changes nothing.
    world.write("tokens", "short\n");
    thread::sleep(Duration::from_secs(6));
    assert_eq!(client(writer).get("/v1/status").status, 200);
    world.write("tokens", format!("{next}\n"));
    let start = Instant::now();
    while client(next).get("/v1/status").status != 200 {
        assert!(start.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!([reader, writer].map(|token| client(token).get("/v1/status").status), [401, 401]);
    service.signal("TERM");
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("tokens stay as they were") && err.contains("line 1: the token has 5 bytes"), "{err}");
    assert!([reader, writer, next, "short"].iter().all(|token| !err.contains(token)), "{err}");
}

#[test]
fn certificates_are_exchanged_without_a_restart() {
    let world = World::with_table();
    let [first, second] = [2031, 2099].map(Issued::until);
    world.write("tls.crt", &first.certificate);
    world.write("tls.key", &first.key);
    let serve = ["serve", "--store", "s", "--listen", "127.0.0.1:0", "--no-token"];
    let files = ["--tls-cert", "tls.crt", "--tls-key", "tls.key"];
    let e = world.fails(2, &[&serve[..], &files[..2]].concat());
    assert!(e.contains("--tls-key"), "{e}");
    let e = world.fails(2, &[&serve[..], &["--tls-cert", "tls.key", "--tls-key", "tls.key"]].concat());
    assert!(e.contains("tls.key: the file of certificates has no CERTIFICATE") && !e.contains("PRIVATE"), "{e}");

    let service = Service::start(&world, &files);
    let client = |issued: &Issued| TlsClient::new(service.client.addr(), Some(TOKEN), &[issued]);
    let (old, new) = (client(&first), client(&second));
    let mut open = old.connect().unwrap();
    assert_eq!(old.ask(&mut open, "POST", "/v1/changes", &set(3, 1)).unwrap().status, 200);
    assert_eq!(service.client.get("/v1/status").status, 400, "plain HTTP");
    // First only one file of a new pair, then a file without a key.
    world.write("tls.key", &second.key);
    thread::sleep(Duration::from_secs(6));
    world.write("tls.key", "no key\n");
    thread::sleep(Duration::from_secs(6));
    assert_eq!(old.get("/v1/status").unwrap().status, 200);
    world.write("tls.crt", &second.certificate);
    world.write("tls.key", &second.key);
    let start = Instant::now();
    while !new.get("/v1/status").is_ok_and(|answer| answer.status == 200) {
        assert!(start.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(50));
    }
    assert!(old.get("/v1/status").is_err(), "the old certificate is gone");
    service.signal("TERM");
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    for says in [
        "tls.crt, tls.key: certificate and key cannot be used together",
        "tls.key: the key file has no PRIVATE KEY",
        "every user of this machine may read the private key",
        "2031-01-02T03:04:05Z",
        "2099-01-02T03:04:05Z",
    ] {
        assert!(err.contains(says), "{says}: {err}");
    }
    let secrets = [&first, &second].map(|issued| issued.key.lines().nth(1).unwrap().to_owned());
    assert!(!secrets.iter().any(|secret| err.contains(secret)), "{err}");
}

#[test]
fn requests_are_logged_and_the_file_may_be_moved_away() {
    let world = World::with_table();
    world.write("tokens", format!("write {TOKEN} feeder\n"));
    let service = Service::start(&world, &["--token-file", "tokens", "--access-log", "access.log"]);
    assert_eq!(service.client.post("/v1/changes", &set(3, 1)).status, 200);
    let written = |name: &str| {
        let start = Instant::now();
        // A line is written after its answer.
        while !world.path(name).exists() || world.text(name).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "{name}");
            thread::sleep(Duration::from_millis(5));
        }
        world.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let lines = written("access.log");
    assert_eq!((lines.len(), &lines[0]["token"], &lines[0]["epoch"]), (1, &"feeder".into(), &2.into()));
    std::fs::rename(world.path("access.log"), world.path("access.log.1")).unwrap();
    assert_eq!(service.status()["state"], "running");
    assert_eq!(written("access.log")[0]["path"], "/v1/status");
    assert_eq!(written("access.log.1").len(), 1);
    service.signal("TERM");
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(!world.text("access.log.1").contains(TOKEN) && !err.contains(TOKEN));

    let service = Service::start(&world, &["--access-log", "-"]);
    assert_eq!(service.status()["state"], "running");
    service.signal("TERM");
    let (code, out, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["path"], &lines[1]["epochs"]), (2, &"/v1/status".into(), &0.into()));
    let e = world.fails(5, &["serve", "--store", "s", "--no-token", "--access-log", "none/access.log"]);
    assert!(e.contains("--access-log none/access.log"), "{e}");
}

#[test]
fn a_service_that_is_told_to_stop_leaves_first() {
    let world = World::with_table();
    let service = Service::start(&world, &["--drain", "2"]);
    assert_eq!(service.client.get("/readyz").status, 200);
    let start = Instant::now();
    service.signal("TERM");
    while service.client.get("/readyz").status == 200 {
        assert!(start.elapsed() < Duration::from_secs(2));
    }
    assert_eq!(service.client.post("/v1/changes", &set(3, 1)).status, 200);
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(start.elapsed() >= Duration::from_secs(2));
    let service = Service::start(&world, &["--drain", "600"]);
    service.signal("TERM");
    while service.client.get("/readyz").status == 200 {}
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
}

#[test]
fn a_damaged_request_concerns_no_other() {
    let world = World::with_batch();
    {
        let database = Database::open(world.path("s/evergrove.redb")).unwrap();
        let write = database.begin_write().unwrap();
        let requests = TableDefinition::<&str, &[u8]>::new("requests");
        write.open_table(requests).unwrap().insert("spoiled", &b"x"[..]).unwrap();
        let keys = TableDefinition::<u64, &[u8]>::new("request-keys");
        write.open_table(keys).unwrap().insert(1, &b"x"[..]).unwrap();
        write.commit().unwrap();
    }
    let e = world.fails(3, &["doctor", "--store", "s"]);
    assert!(e.contains("2 findings in s"), "{e}");
    let service = Service::start(&world, &[]);
    let post = |key: &str, x| {
        let body = set(3, x);
        service.client.send("POST", "/v1/changes", &[("idempotency-key", key)], body.as_bytes()).unwrap().status
    };
    assert_eq!(
        [("spoiled", 1), ("other", 2), ("spoiled", 3), ("third", 4)].map(|(key, x)| post(key, x)),
        [500, 200, 500, 200]
    );
    assert_eq!(service.client.get("/v1/changes/spoiled").status, 500);
    assert_eq!(service.status()["epoch"], 3);
    service.signal("TERM");
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    for says in ["the outcome of request", "request-keys"] {
        assert!(err.contains(says), "{says}: {err}");
    }
}

//! The log of requests.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use evergrove_serve::{AccessLog, Config, Tokens};
use evergrove_testkit::http::{Answer, Client, head};
use serde_json::Value;

use crate::common::{Gate, World, each_epoch, set};

const READER: &str = "reader-0123456789";
const WRITER: &str = "writer-0123456789";

/// A file in memory, which has no space while it is full.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<(Vec<u8>, bool)>>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap();
        if file.1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.0.extend_from_slice(line);
        Ok(line.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn set_full(&self, full: bool) {
        self.0.lock().unwrap().1 = full;
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().0.clone()).unwrap()
    }

    /// The line of a request, which is written after its answer.
    pub(crate) fn of(&self, id: &str) -> Value {
        let start = Instant::now();
        loop {
            let text = self.text();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let found: Vec<Value> = lines.filter(|line| line["request_id"] == id).collect();
            assert!(found.len() < 2, "{found:?}");
            if let Some(line) = found.into_iter().next() {
                return line;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{id} is not in {text}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn start(lines: &Lines, gate: Gate) -> World {
    let tokens = Tokens::parse(&format!("read {READER} auditor\nwrite {WRITER}")).unwrap();
    let access = AccessLog::new(lines.clone()).unwrap();
    World::start(Config { tokens: Some(tokens), access: Some(access), ..each_epoch() }, gate)
}

fn send(client: &Client, id: &str, method: &str, path: &str, body: &str) -> Answer {
    let answer = client.send(method, path, &[("x-request-id", id)], body.as_bytes()).unwrap();
    assert_eq!(answer.header("x-request-id"), id);
    answer
}

#[test]
fn every_request_has_a_line_that_says_who_and_what() {
    let lines = Lines::default();
    let world = start(&lines, Gate::open());
    let [reader, writer] = [READER, WRITER].map(|token| world.client.with_token(token));

    assert_eq!(
        send(&writer, "w-1", "POST", "/v1/changes?x=secret", &format!("{}\n{}", set(3, 77_777), set(4, 1))).status,
        200
    );
    let line = lines.of("w-1");
    assert_eq!((&line["method"], &line["path"], &line["status"]), (&"POST".into(), &"/v1/changes".into(), &200.into()));
    assert_eq!((&line["epoch"], &line["changes"], &line["replayed"]), (&2.into(), &2.into(), &Value::Null));
    let token = line["token"].as_str().unwrap();
    assert!(token.len() == 8 && token.bytes().all(|b| b.is_ascii_hexdigit()), "a token without a name: {token}");
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(line["seconds"].as_f64().unwrap() > 0.0 && line["bytes"].as_u64().unwrap() > 50, "{line}");
    let time = line["time"].as_str().unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z') && time.len() == 24, "{time}");

    let proof = send(&reader, "r-1", "GET", "/v1/batches/b/proof?epoch=1", "");
    let line = lines.of("r-1");
    assert_eq!((&line["token"], &line["path"]), (&"auditor".into(), &"/v1/batches/b/proof".into()));
    assert_eq!(line["bytes"].as_u64(), Some(proof.body.len() as u64));
    assert!(line["epoch"].is_null());

    // Errors carry the id of the request. The line of a caller without a valid token has no name.
    let denied = send(&world.client.with_token("no-token-0123456789"), "d-1", "GET", "/v1/status", "");
    let problem: Value = serde_json::from_str(denied.text()).unwrap();
    assert_eq!((denied.status, &problem["request_id"], &problem["status"]), (401, &"d-1".into(), &401.into()));
    assert_eq!((&lines.of("d-1")["token"], &lines.of("d-1")["status"]), (&Value::Null, &401.into()));
    assert_eq!(send(&reader, "d-2", "POST", "/v1/changes", &set(3, 1)).status, 403);
    assert_eq!((&lines.of("d-2")["token"], &lines.of("d-2")["epoch"]), (&"auditor".into(), &Value::Null));
    assert_eq!(send(&reader, "n-1", "DELETE", "/nowhere", "").status, 404);
    assert_eq!(lines.of("n-1")["path"], "/nowhere");

    // The second request with the same key is a replay.
    let key = [("idempotency-key", "k"), ("x-request-id", "k-1")];
    assert_eq!(writer.send("POST", "/v1/changes", &key, set(3, 2).as_bytes()).unwrap().status, 200);
    let key = [key[0], ("x-request-id", "k-2")];
    assert_eq!(writer.send("POST", "/v1/changes", &key, set(3, 2).as_bytes()).unwrap().status, 200);
    let [once, twice] = ["k-1", "k-2"].map(|id| lines.of(id));
    assert_eq!((&once["epoch"], &once["replayed"]), (&3.into(), &Value::Null));
    assert_eq!((&twice["epoch"], &twice["replayed"]), (&3.into(), &true.into()));

    // Invalid ids are replaced, and long paths are cut.
    for id in ["a\"b", "", &"x".repeat(65)] {
        let answer = writer.send("GET", "/v1/status", &[("x-request-id", id)], b"").unwrap();
        let given = answer.header("x-request-id").to_owned();
        assert!(given.len() == 16 && given != id, "{given}");
        assert_eq!(lines.of(&given)["status"], 200);
    }
    assert_eq!(send(&writer, "long", "GET", &format!("/{}", "a".repeat(5000)), "").status, 404);
    assert!(lines.of("long")["path"].as_str().unwrap().len() == 256);

    world.stop();
    let text = lines.text();
    assert!(text.ends_with('\n'));
    for secret in [READER, WRITER, "77777", "secret", "amount"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn changes_of_a_caller_that_has_gone_have_their_epoch() {
    let lines = Lines::default();
    let world = start(&lines, Gate::closed());
    let writer = world.client.with_token(WRITER);
    // The first epoch is committed. Its proof delays the next one.
    let key = |id: &'static str| [("idempotency-key", "k"), ("x-request-id", id)];
    assert_eq!(writer.send("POST", "/v1/changes", &key("a"), set(3, 1).as_bytes()).unwrap().status, 200);
    world.wait_as(&writer, |status| status["proving"]["batch"] == "b");
    // The request is sent again, and its caller disconnects while it waits.
    let (again, length) = (set(3, 1), set(3, 1).len().to_string());
    let headers = [&key("gone")[..], &[("content-length", length.as_str())]].concat();
    let stream = writer.open("POST", "/v1/changes", &headers, again.as_bytes()).unwrap();
    world.wait_as(&writer, |status| status["queue"]["waiting"] == 1);
    drop(stream);
    // The line is written only after the changes.
    thread::sleep(Duration::from_millis(200));
    assert!(!lines.text().contains("\"gone\""));
    let stream =
        writer.open("POST", "/v1/changes", &[("content-length", "100"), ("x-request-id", "half")], b"{").unwrap();
    thread::sleep(Duration::from_millis(200));
    drop(stream);
    let line = lines.of("half");
    assert!(line["epoch"].is_null() && (line["status"].is_null() || line["status"] == 400), "{line}");
    // An event stream gets its line when it ends.
    let mut events = world.client.with_token(READER).events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    assert!(!lines.text().contains("/v1/events"));
    drop(events);
    world.gate.set(true);
    world.wait_as(&writer, |status| status["batches"][0]["fresh"] == true);
    let line = lines.of("gone");
    assert_eq!((&line["epoch"], &line["changes"], &line["replayed"]), (&2.into(), &1.into(), &true.into()));
    assert!(line["status"].is_null(), "{line}");
    world.stop();
    let text = lines.text();
    let line = text.lines().find(|line| line.contains("/v1/events")).expect("a line of the stream");
    let line: Value = serde_json::from_str(line).unwrap();
    assert!(line["status"] == 200 && line["bytes"].as_u64().unwrap() > 0, "{line}");
}

#[test]
fn a_log_on_a_full_disk_holds_up_nobody_and_is_counted() {
    let lines = Lines::default();
    let world = start(&lines, Gate::open());
    let writer = world.client.with_token(WRITER);
    let dropped = |expected: &str| {
        let start = Instant::now();
        let metric = format!("evergrove_access_lines_dropped_total {expected}\n");
        // Probes at their own address have no lines.
        while !world.probes.get("/metrics").text().contains(&metric) {
            assert!(start.elapsed() < Duration::from_secs(20), "{metric}");
            thread::sleep(Duration::from_millis(5));
        }
    };
    dropped("0");
    lines.set_full(true);
    for n in 0..3 {
        assert_eq!(send(&writer, &format!("full-{n}"), "POST", "/v1/changes", &set(3, n)).status, 200);
    }
    dropped("3");
    lines.set_full(false);
    assert_eq!(send(&writer, "room", "GET", "/v1/status", "").status, 200);
    assert_eq!(lines.of("room")["status"], 200);
    assert_eq!(lines.text().lines().count(), 1);
    world.stop();
}

/// A pipe that nobody reads until it is released.
#[derive(Clone, Default)]
struct Stuck(Arc<(Mutex<bool>, Condvar)>);

impl Write for Stuck {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let released = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(released, |released| !*released).unwrap());
        Ok(line.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_that_nobody_reads_holds_up_neither_requests_nor_the_end() {
    let stuck = Stuck::default();
    let log = AccessLog::new(stuck.clone()).unwrap();
    let tokens = Some(Tokens::parse(&format!("read {READER}")).unwrap());
    let world = World::start(Config { tokens, access: Some(log.clone()), ..Config::default() }, Gate::open());
    let mut stream = TcpStream::connect(world.client.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let request = format!("GET /v1/openings/x HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {READER}\r\n\r\n");
    // One line is being written, and 4,096 wait.
    for n in 0..4200 {
        stream.write_all(request.as_bytes()).unwrap();
        let (status, headers) = head(&mut answers).unwrap_or_else(|e| panic!("{n}: {e}"));
        assert_eq!(status, 404);
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        answers.read_exact(&mut body).unwrap();
    }
    drop((stream, answers));
    let dropped = || {
        let text = world.probes.get("/metrics").text().to_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("evergrove_access_lines_dropped_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let start = Instant::now();
    while dropped() < 4200 - 4097 {
        assert!(start.elapsed() < Duration::from_secs(20), "{}", dropped());
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((dropped(), log.waiting()), (4200 - 4097, 4097));
    let start = Instant::now();
    world.stop();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(log.waiting(), 4097, "what the log could not write is known");
    *stuck.0.0.lock().unwrap() = true;
    stuck.0.1.notify_all();
}

//! Callers that are slow, gone, too many, or without a right, and what they cannot do to others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use evergrove_serve::{Config, Tokens};
use evergrove_testkit::faults::Disk;
use evergrove_testkit::http::{Client, head};

use crate::common::{Gate, Hold, TOKEN, World, each_epoch, set};

#[test]
fn callers_without_a_token_keep_no_connection() {
    let tokens = Some(Tokens::parse(&format!("write {TOKEN}\nread reader-0123456789")).unwrap());
    let world = World::start(Config { tokens, ..Config::default() }, Gate::open());
    // Sends a request. Returns the status, and whether the answer closes the connection.
    let ask = |method: &str, path: &str, token: Option<&str>| {
        let mut stream = TcpStream::connect(world.client.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
        let (status, headers) = head(&mut reader).unwrap();
        let closes = headers.get("connection").is_some_and(|value| value == "close");
        if closes {
            // The server closes the connection, whatever the caller does.
            std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        }
        (status, closes)
    };
    for (path, status) in
        [("/healthz", 200), ("/metrics", 200), ("/openapi.json", 200), ("/v1/status", 401), ("/no", 404)]
    {
        assert_eq!(ask("GET", path, None), (status, true), "{path}");
        assert_eq!(ask("GET", path, Some("another-token-0123")), (status, true), "{path}");
    }
    assert_eq!(ask("POST", "/v1/changes", Some("reader-0123456789")), (403, true));
    assert_eq!(ask("GET", "/v1/status", Some("reader-0123456789")), (200, false));
    assert_eq!(ask("GET", "/v1/epochs/9", Some(TOKEN)), (404, false));
    world.stop();
}

#[test]
fn probes_are_answered_while_the_threads_of_the_service_are_busy() {
    let world = World::start(Config::default(), Gate::open());
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(held));
    let (began, begins) = std::sync::mpsc::channel();
    // Each task holds a thread of the runtime, as a long handshake would.
    for _ in 0..2 {
        let (held, began) = (held.clone(), began.clone());
        world.runtime.spawn(async move {
            began.send(()).unwrap();
            // An error means that the sender is dropped.
            let _ = held.lock().unwrap().recv();
        });
        begins.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(world.probes.get(path).status, 200, "{path}");
    }
    drop(release);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["state"], "running");
    world.stop();
}

#[test]
fn without_a_token_pages_of_browsers_are_refused() {
    let world = World::start(Config::default(), Gate::open());
    let before = world.json("GET", "/v1/status", "", 200);
    let page = [("origin", "https://example.org"), ("content-type", "text/plain")];
    let answer = world.client.send("POST", "/v1/changes", &page, set(3, 5).as_bytes()).unwrap();
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("urn:evergrove:problem:foreign"));
    assert_eq!(world.json("GET", "/v1/status", "", 200), before, "nothing has changed");
    world.stop();
}

#[test]
fn a_caller_that_leaves_does_not_stop_the_service() {
    let world = World::start(each_epoch(), Gate::closed());
    assert_eq!(world.json("POST", "/v1/changes", &set(3, 1), 200)["epoch"], 2);
    let body = set(4, 1);
    let length = body.len().to_string();
    let mut gone = world.client.open("POST", "/v1/changes", &[("content-length", &length)], body.as_bytes()).unwrap();
    world.wait(|status| status["queue"]["waiting"] == 1);
    gone.get_mut().flush().unwrap();
    drop(gone);
    // Time for the service to notice the end of the connection. Nothing else shows this.
    thread::sleep(Duration::from_secs(1));
    world.gate.set(true);
    world.wait(|status| status["queue"]["waiting"] == 0 && status["batches"][0]["fresh"] == true);
    // Nobody waited for the request any more, so it has no epoch.
    assert_eq!(world.json("POST", "/v1/changes", &set(5, 1), 200)["epoch"], 3);
    world.stop();
}

#[test]
fn slow_callers_and_too_many_keep_nobody_out_for_long() {
    let head_time = Duration::from_millis(300);
    let world = World::start(Config { connections: 4, head_time, ..Config::default() }, Gate::open());
    let patience = Some(Duration::from_secs(20));
    // Half a request, one complete request, and two silent connections: as many as the limit allows.
    let start = Instant::now();
    let mut slow: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(world.client.addr()).unwrap()).collect();
    slow[0].write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-").unwrap();
    slow[1].write_all(b"GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    // Callers that hold all connections do not delay probes.
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(world.probes.get(path).status, 200);
    }
    assert_eq!(world.probes.get("/v1/status").status, 404);
    assert!(start.elapsed() < head_time, "answered while all connections were held");
    assert_eq!(world.client.get("/healthz").status, 200, "after the others have been shown out");
    assert!(start.elapsed() >= head_time && start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    for stream in &mut slow {
        stream.set_read_timeout(patience).unwrap();
        let mut rest = Vec::new();
        // A connection that was closed with unread bytes is reset.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 "), "{}", String::from_utf8_lossy(&rest));
    }
    // A head that does not end.
    let mut long = TcpStream::connect(world.client.addr()).unwrap();
    long.set_read_timeout(patience).unwrap();
    long.set_write_timeout(patience).unwrap();
    let _ = long
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ")
        .and_then(|()| long.write_all(&[b'a'; 1 << 20]));
    let mut answer = Vec::new();
    let _ = long.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(world.client.get("/healthz").status, 200);
    world.stop();
}

#[test]
fn questions_of_callers_who_are_gone_keep_their_turns() {
    let (disk, hold) = (Disk::new(), Hold::default());
    let world = World::on(&disk, &hold, Config::default(), Gate::open());
    // The service reads its batches at the start, and nothing on its own after that.
    thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let ask = || world.client.open("GET", "/v1/openings/3", &[], b"").expect("sent");
    hold.set(true);
    let callers: Vec<_> = (0..40).map(|_| ask()).collect();
    while hold.waiting() < 16 {
        assert!(start.elapsed() < Duration::from_secs(30), "{} questions", hold.waiting());
        thread::sleep(Duration::from_millis(1));
    }
    drop(callers);
    let others: Vec<_> = (0..40).map(|_| ask()).collect();
    thread::sleep(Duration::from_millis(500));
    assert_eq!(hold.waiting(), 16, "16 questions at once");
    hold.set(false);
    for mut caller in others {
        assert_eq!(head(&mut caller).expect("an answer").0, 200);
    }
    world.stop();
}

#[test]
fn callers_wait_for_a_commit_or_for_a_turn_only_so_long() {
    let answer_time = Duration::from_millis(500);
    let (disk, hold) = (Disk::new(), Hold::default());
    let world = World::on(&disk, &hold, Config { answer_time, ..Config::default() }, Gate::open());
    // The service reads its batches at the start, and nothing on its own after that.
    thread::sleep(Duration::from_secs(1));
    let late = |headers: &[(&str, &str)], body: &str| {
        let answer = world.client.send("POST", "/v1/changes", headers, body.as_bytes()).unwrap();
        let is_late = answer.text().contains("urn:evergrove:problem:late");
        (answer.status, is_late, answer.headers.contains_key("retry-after"))
    };
    let key = [("idempotency-key", "k")];
    hold.set(true);
    // The first request is being committed when its time is over. The second one waits behind it and is dropped.
    let start = Instant::now();
    assert_eq!([late(&[], &set(3, 7)), late(&key, &set(4, 1))], [(503, true, true); 2]);
    assert!(start.elapsed() >= 2 * answer_time, "{:?}", start.elapsed());
    hold.set(false);
    world.wait(|status| status["queue"]["waiting"] == 0);
    let status = world.json("GET", "/v1/status", "", 200);
    assert_eq!(status["epoch"], 2);
    let opening = world.client.get("/v1/openings/3");
    world.check_opening(&opening.body, 3, status["commitment"].as_str().unwrap(), 7);
    world.problem("GET", "/v1/changes/k", "", 404, "not-found");
    assert_eq!(late(&key, &set(4, 1)).0, 200);
    assert_eq!(world.json("GET", "/v1/status", "", 200)["epoch"], 3);
    world.stop();

    let (disk, hold) = (Disk::new(), Hold::default());
    let world = World::on(&disk, &hold, Config { answer_time, ..Config::default() }, Gate::open());
    // The service reads its batches at the start, and nothing on its own after that.
    thread::sleep(Duration::from_secs(1));
    hold.set(true);
    let ask = || world.client.open("GET", "/v1/openings/3", &[], b"").expect("sent");
    let readers: Vec<_> = (0..16).map(|_| ask()).collect();
    let start = Instant::now();
    while hold.waiting() < 16 {
        assert!(start.elapsed() < Duration::from_secs(30), "{} questions", hold.waiting());
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(world.problem("GET", "/v1/status", "", 503, "busy")["retry_after"], 10);
    hold.set(false);
    for mut reader in readers {
        assert_eq!(head(&mut reader).expect("an answer").0, 200);
    }
    assert_eq!(world.client.get("/v1/status").status, 200);
    world.stop();
}

#[test]
fn callers_without_a_token_leave_turns_to_others() {
    let (disk, hold) = (Disk::new(), Hold::default());
    let tokens = Some(Tokens::parse(&format!("read {TOKEN}")).unwrap());
    let world = World::on(&disk, &hold, Config { tokens, public_read: true, ..Config::default() }, Gate::open());
    let reader = world.client.with_token(TOKEN);
    // The service looks at its batches when it starts, and reads nothing by itself after that.
    thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let wait = |questions: usize| {
        while hold.waiting() < questions {
            assert!(start.elapsed() < Duration::from_secs(30), "{} questions", hold.waiting());
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(500));
        assert_eq!(hold.waiting(), questions);
    };
    hold.set(true);
    let paths = [
        "status",
        "epochs",
        "epochs/1",
        "batches",
        "batches/b",
        "batches/b/proof?epoch=1",
        "batches/b/key",
        "batches/b/tree",
    ];
    let ask = |client: &Client, path: &str| client.open("GET", &format!("/v1/{path}"), &[], b"").expect("sent");
    let public: Vec<_> = paths.iter().cycle().take(32).map(|path| ask(&world.client, path)).collect();
    wait(4);
    let mut others = ["status", "openings/3"].map(|path| ask(&reader, path));
    wait(6);
    hold.set(false);
    for caller in &mut others {
        assert_eq!(head(caller).expect("an answer").0, 200);
    }
    for (mut caller, path) in public.into_iter().zip(paths.iter().cycle()) {
        let expected = if path.contains("proof") {
            401
        } else if path.contains("key") {
            404
        } else {
            200
        };
        assert_eq!(head(&mut caller).expect("an answer").0, expected, "{path}");
    }
    world.stop();
}

#[test]
fn heads_are_taken_up_to_their_limits() {
    let world = World::start(Config::default(), Gate::open());
    let ask = |headers: &[(String, String)]| {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        world.client.send("GET", "/v1/status", &headers, b"").map(|answer| answer.status)
    };
    let of_size = |size: usize| vec![("x-filling".to_owned(), "x".repeat(size))];
    let of_number = |number: usize| (0..number).map(|n| (format!("x-{n}"), "x".into())).collect::<Vec<_>>();
    assert_eq!(ask(&of_size(63 << 10)).expect("an answer"), 200);
    assert_eq!(ask(&of_size(65 << 10)).expect("an answer"), 431);
    // Each request also has the headers host and content-length.
    assert_eq!(ask(&of_number(98)).expect("an answer"), 200);
    assert_eq!(ask(&of_number(99)).expect("an answer"), 431);
    world.stop();
}

#[test]
fn tokens_have_rights_and_are_exchanged_while_the_service_runs() {
    let [reader, writer, next] = ["reader-0123456789", "writer-0123456789", "next-token-0123456789"];
    let tokens = Tokens::parse(&format!("read {reader}\nwrite {writer}\n")).unwrap();
    let world = World::start(Config { tokens: Some(tokens.clone()), ..Config::default() }, Gate::open());
    let [reader, writer, next] = [reader, writer, next].map(|token| (token, world.client.with_token(token)));
    let statuses = |client: &Client| [client.get("/v1/status").status, client.post("/v1/changes", &set(3, 1)).status];
    assert_eq!([&reader, &writer, &next].map(|(_, client)| statuses(client)), [[200, 403], [200, 200], [401, 401]]);
    let refused = reader.1.post("/v1/changes", &set(3, 1));
    assert!(refused.text().contains("urn:evergrove:problem:read-only"), "{}", refused.text());
    let mut events = reader.1.events("/v1/events");
    assert_eq!(events.next().unwrap().0, "status");
    tokens.replace(Tokens::parse(&format!("{}\n", next.0)).unwrap());
    assert_eq!([&reader, &writer, &next].map(|(_, client)| statuses(client)), [[401, 401], [401, 401], [200, 200]]);
    assert!(events.next().is_none(), "a stream ends with its token, before it tells of the next epoch");
    world.stop();
}

//! A service with TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use evergrove_serve::{AccessLog, Config, Tls, Token, Tokens};
use evergrove_testkit::tls::{Issued, TlsClient};
use serde_json::Value;

use crate::access::Lines;
use crate::common::{Gate, TOKEN, World, set};

fn tls(issued: &Issued) -> Tls {
    Tls::new(issued.certificate.as_bytes(), issued.key.as_bytes()).unwrap()
}

/// The answer of a server to these bytes, up to the end of the connection.
fn say(world: &World, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(world.client.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn callers_are_answered_and_see_the_certificate_of_the_time() {
    let (first, second) = (Issued::until(2031), Issued::until(2032));
    let shown = tls(&first);
    let tokens = Some(Tokens::one(Token::new(TOKEN).unwrap()));
    let lines = Lines::default();
    let access = Some(AccessLog::new(lines.clone()).unwrap());
    let world = World::start(Config { tokens, access, tls: Some(shown.clone()), ..Config::default() }, Gate::open());
    let addr = world.client.addr();
    let old = TlsClient::new(addr, Some(TOKEN), &[&first]);
    let mut open = old.connect().unwrap();
    assert_eq!(open.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    let committed = old.ask(&mut open, "POST", "/v1/changes", &set(3, 1)).unwrap();
    assert_eq!(committed.status, 200, "{}", committed.text());
    assert_eq!(TlsClient::new(addr, None, &[&first]).get("/v1/status").unwrap().status, 401);
    assert!(TlsClient::new(addr, Some(TOKEN), &[&second]).get("/v1/status").is_err(), "it is not trusted");

    shown.replace(&tls(&second));
    let new = TlsClient::new(addr, Some(TOKEN), &[&second]);
    assert_eq!(new.get("/v1/batches/b/proof").unwrap().status, 200);
    assert!(old.get("/v1/status").is_err(), "new connections see the new certificate");
    assert_eq!(old.ask(&mut open, "GET", "/v1/status", "").unwrap().status, 200, "an open connection stays");

    // A caller with plain HTTP is told why it is refused, whatever it asks for, and gets no data.
    for request in ["GET /v1/status", "POST /v1/changes", "GET /healthz"] {
        let request = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\nx-request-id: plain\r\n\r\n"
        );
        let answer = say(&world, request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("urn:evergrove:problem:plain-http"), "{answer}");
        assert!(answer.contains("connection: close") && answer.contains("x-request-id: plain"), "{answer}");
    }
    // The same for a caller that sends more than the system's buffers hold before it reads.
    let body = "\n".repeat(1 << 20);
    let head =
        format!("POST /v1/changes HTTP/1.1\r\nhost: localhost\r\nx-request-id: long\r\ncontent-length: {}", body.len());
    let answer = say(&world, format!("{head}\r\n\r\n{body}").as_bytes());
    assert!(answer.contains("urn:evergrove:problem:plain-http"), "{answer}");
    let line = lines.of("long");
    assert_eq!((&line["status"], &line["token"], &line["path"]), (&400.into(), &Value::Null, &"/v1/changes".into()));
    // Bytes that are neither HTTP nor a valid handshake.
    for bytes in [&b"\x00\x01\x02\x03\r\n\r\n"[..], b"\x16\x03\x01\x00\x05hello", b"\x16GET / HTTP/1.1\r\n\r\n"] {
        assert!(!say(&world, bytes).contains("200 OK"));
    }
    let metrics = world.probes.get("/metrics");
    assert!(
        metrics.text().contains(&format!("evergrove_certificate_expiry_seconds {}\n", shown.expires())),
        "probes are plain"
    );
    let counted = "evergrove_http_answers_total{route=\"other\",status=\"400\"} 4\n";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    world.stop();
}

#[test]
fn handshakes_that_do_not_end_keep_nobody_out_for_long() {
    let issued = Issued::until(2031);
    let head_time = Duration::from_millis(600);
    let config = Config { tls: Some(tls(&issued)), head_time, connections: 4, ..Config::default() };
    let world = World::start(config, Gate::open());
    let client = TlsClient::new(world.client.addr(), None, &[&issued]);
    let mut slow: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(world.client.addr()).unwrap()).collect();
    // The beginning of a record that never ends, and a single byte.
    slow[0].write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc").unwrap();
    slow[1].write_all(b"\x16").unwrap();
    let start = Instant::now();
    assert_eq!(client.get("/v1/status").unwrap().status, 200, "beside the others");
    assert!(start.elapsed() < head_time, "{:?}", start.elapsed());
    // All connections are taken: the next caller waits until they are closed.
    slow.extend((0..4).map(|_| TcpStream::connect(world.client.addr()).unwrap()));
    assert_eq!(client.get("/v1/status").unwrap().status, 200);
    assert!(start.elapsed() >= head_time && start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // Closed or reset, within the time limit.
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{rest:?}");
    }
    world.stop();
}

#[test]
fn a_service_that_stops_waits_for_no_handshake() {
    let config =
        Config { tls: Some(tls(&Issued::until(2031))), head_time: Duration::from_secs(60), ..Config::default() };
    let world = World::start(config, Gate::open());
    let mut stalled = TcpStream::connect(world.client.addr()).unwrap();
    stalled.write_all(b"\x16").unwrap();
    let start = Instant::now();
    while !world.probes.get("/metrics").text().contains("evergrove_connections 1\n") {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    }
    let start = Instant::now();
    world.stop();
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    drop(stalled);
}

#[test]
fn without_a_token_pages_of_browsers_are_refused_by_tls_too() {
    let issued = Issued::until(2031);
    let world = World::start(Config { tls: Some(tls(&issued)), ..Config::default() }, Gate::open());
    let client = TlsClient::new(world.client.addr(), None, &[&issued]);
    let mut stream = client.connect().unwrap();
    stream.write_all(b"GET /v1/status HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("problem:foreign"), "{answer}");
    world.stop();
}

//! Spans as an OpenTelemetry collector receives them. Run by hand, with the feature `otlp`: nothing else needs its
//! dependencies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Output;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evergrove_testkit::servers::tls_file;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::serve::{Service, TOKEN, set};
use crate::world::World;

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// The address of a collector, and everything that it has received in the end.
struct Collector {
    endpoint: String,
    seen: JoinHandle<Vec<u8>>,
}

impl Collector {
    /// A collector that listens until it has received all of `texts`.
    fn until(texts: &'static [&'static str], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let endpoint = format!("{scheme}://{}", listener.local_addr().unwrap());
        let listen = move || {
            let (mut seen, start) = (Vec::new(), Instant::now());
            while !texts.iter().all(|text| find(&seen, text)) {
                assert!(start.elapsed() < Duration::from_secs(60), "{}", String::from_utf8_lossy(&seen));
                let Ok((stream, _)) = listener.accept() else {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let mut stream: Box<dyn Stream> = match &tls {
                    Some(tls) => Box::new(StreamOwned::new(ServerConnection::new(tls.clone()).unwrap(), stream)),
                    None => Box::new(stream),
                };
                take(&mut *stream, &mut seen).unwrap();
            }
            seen
        };
        Self { endpoint, seen: thread::spawn(listen) }
    }
}

/// Reads one request and answers it.
fn take(stream: &mut dyn Stream, seen: &mut Vec<u8>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (true, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        assert!(!first || line.trim_end() == "POST /v1/traces HTTP/1.1", "{line}");
        first = false;
        seen.extend_from_slice(line.as_bytes());
        match line.to_ascii_lowercase().trim_end().split_once(": ") {
            Some(("content-length", n)) => length = n.parse().unwrap(),
            _ if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    seen.extend(body);
    let stream = reader.into_inner();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
    stream.flush()
}

fn find(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// TLS with the certificate for tests.
fn tls() -> Arc<ServerConfig> {
    let certificates =
        CertificateDer::pem_file_iter(tls_file("server.pem")).unwrap().collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(tls_file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_no_client_auth().with_single_cert(certificates, key).unwrap())
}

#[test]
fn spans_of_a_service_go_to_a_collector() {
    let collector = Collector::until(&["refresh", "commit", "plan", "witness", "execute", "bucket", "done"], None);
    let world = World::with_batch();
    let mut command = world.command();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint);
    let service = Service::spawn(command, &[]);
    assert_eq!(service.client.post("/v1/changes", &set(3, 7)).status, 200);
    service.fresh();
    service.signal("TERM");
    let (code, _, err) = service.end();
    assert_eq!(code, Some(0), "{err}");
    let seen = collector.seen.join().unwrap();
    for text in ["evergrove", "task", "outcome"] {
        assert!(find(&seen, text), "{text}");
    }
    assert!(!find(&seen, TOKEN));
}

#[test]
fn spans_of_an_update_go_to_a_collector_with_tls() {
    let collector = Collector::until(&["prove", "commit", "plan", "witness", "execute", "merge", "done"], Some(tls()));
    let world = World::with_batch();
    let update = |ca: &str| -> Output {
        let mut command = world.command();
        command.args(["update", "--store", "s", "--set", "3=age=77"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint).env("SSL_CERT_FILE", tls_file(ca));
        command.output().unwrap()
    };
    let updated = update("ca.pem");
    assert!(updated.status.success(), "{}", String::from_utf8_lossy(&updated.stderr));
    collector.seen.join().unwrap();
    world.check_batch();
}

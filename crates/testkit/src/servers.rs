//! Real servers for tests, each on a free local port: Redis, and an S3 API. A server stops when its value is dropped.
//!
//! `make tools` fetches the programs. If one is missing, the test prints a message and passes. If
//! `EVERGROVE_REQUIRE_TEST` is set, as in `.ci/run`, the test fails.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program in `target/tools`, or else on the path.
fn find(tool: &str, program: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fetched = root.join("target/tools").join(tool).join("bin").join(program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::iter::once(fetched).chain(std::env::split_paths(&path).map(|p| p.join(program))).find(|p| p.is_file());
    if found.is_none() {
        crate::not_tested("TEST", &format!("{program} is missing: run `make tools`"));
    }
    found
}

/// A file of the test certificates. `ca.pem` is the authority of `server.pem`, which is valid for `localhost` and
/// 127.0.0.1 and has the key `server.key`.
pub fn tls_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls").join(name)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the machine has a free port");
    listener.local_addr().expect("a listener has an address").port()
}

/// Creates a folder in the system's folder for temporary files.
fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("evergrove-{name}-{}-{}", std::process::id(), free_port()));
    std::fs::create_dir_all(&dir).expect("a folder for temporary files");
    dir
}

/// A Redis server with an append-only file and without eviction.
#[derive(Debug)]
pub struct RedisServer {
    program: PathBuf,
    dir: PathBuf,
    port: u16,
    options: Vec<String>,
    child: Child,
}

impl RedisServer {
    /// Starts a server; `None` if Redis is not installed.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts a server with further options, such as `--appendonly no`.
    pub fn start_with(options: &[&str]) -> Option<Self> {
        let program = find("redis", "redis-server")?;
        let (dir, port) = (folder("redis"), free_port());
        let options: Vec<String> = options.iter().map(|&o| o.into()).collect();
        let child = Self::spawn(&program, &dir, port, &options);
        let server = Self { program, dir, port, options, child };
        server.wait();
        Some(server)
    }

    /// Starts a server that also speaks TLS, with the certificate of [`tls_file`]. Returns the server and the TLS port.
    pub fn start_with_tls() -> Option<(Self, u16)> {
        let port = free_port();
        let files = ["server.pem", "server.key"].map(|name| tls_file(name).display().to_string());
        let tls_port = port.to_string();
        let options = ["--tls-port", &tls_port, "--tls-auth-clients", "no", "--tls-cert-file", &files[0]];
        let options = [&options[..], &["--tls-key-file", &files[1]]].concat();
        Some((Self::start_with(&options)?, port))
    }

    /// Sends a command and returns the raw answer of the protocol, at most 64 KiB.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn ask(&self, command: &[&str]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let mut request = format!("*{}\r\n", command.len());
        command.iter().for_each(|part| request.push_str(&format!("${}\r\n{part}\r\n", part.len())));
        // QUIT makes the server close the connection after its answer.
        stream.write_all(format!("{request}QUIT\r\n").as_bytes()).expect("it takes a command");
        let mut answer = String::new();
        stream.take(1 << 16).read_to_string(&mut answer).expect("an answer");
        answer.trim_end_matches("+OK\r\n").into()
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server as a crash would, without a last write.
    pub fn kill(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts the server again with the data on disk.
    pub fn restart(&mut self) {
        self.kill();
        self.child = Self::spawn(&self.program, &self.dir, self.port, &self.options);
        self.wait();
    }

    fn spawn(program: &Path, dir: &Path, port: u16, options: &[String]) -> Child {
        let mut command = Command::new(program);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]);
        command.args(["--appendfsync", "everysec", "--maxmemory-policy", "noeviction", "--dir"]).arg(dir);
        command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the server's program runs")
    }

    fn wait(&self) {
        let begin = Instant::now();
        while !self.answers() {
            assert!(begin.elapsed() < PATIENCE, "redis-server does not answer on port {}", self.port);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether the server has loaded its data and answers. A request for a password counts as an answer.
    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut answer = [0; 7];
        let asked = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(b"PING\r\n"));
        asked.and_then(|()| stream.read_exact(&mut answer)).is_ok() && matches!(&answer, b"+PONG\r\n" | b"-NOAUTH")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
        // Remains would be in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// An S3 API with one bucket, in memory.
#[derive(Debug)]
pub struct S3Server {
    port: u16,
    child: Child,
}

impl S3Server {
    /// The name of the bucket.
    pub const BUCKET: &str = "evergrove";

    /// Starts a server; `None` if the program is not installed.
    pub fn start() -> Option<Self> {
        let program = find("s3", "moto_server")?;
        let port = free_port();
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Self { port, child: child.expect("the server's program runs") };
        let begin = Instant::now();
        while !server.make_bucket() {
            assert!(begin.elapsed() < PATIENCE, "the S3 API does not answer on port {port}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    /// The URL of the bucket.
    pub fn url(&self) -> String {
        format!("s3://{}", Self::BUCKET)
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Environment variables for access to the server, which accepts any credentials.
    pub fn variables(&self) -> Vec<(String, String)> {
        let pairs = [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".into()),
            ("AWS_ACCESS_KEY_ID", "test".into()),
            ("AWS_SECRET_ACCESS_KEY", "test".into()),
            ("AWS_REGION", "us-east-1".into()),
        ];
        pairs.map(|(name, value)| (name.into(), value)).to_vec()
    }

    /// Opens another port to the server, on which every `n`-th request is refused as by an overloaded server. Returns
    /// the port and the count of refusals. The port works until the process ends.
    pub fn failing_every(&self, n: usize) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the machine has a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let (calls, refusals, server) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), self.port);
        let counted = refusals.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (calls, counted) = (calls.clone(), counted.clone());
                std::thread::spawn(move || {
                    let refuse = (calls.fetch_add(1, Ordering::SeqCst) + 1).is_multiple_of(n);
                    counted.fetch_add(usize::from(refuse), Ordering::SeqCst);
                    // Errors of the connection concern the client only.
                    let _ = pass_on(client, server, refuse);
                });
            }
        });
        (port, refusals)
    }

    fn make_bucket(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let request = format!(
            "PUT /{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n",
            Self::BUCKET
        );
        let mut answer = String::new();
        let asked = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(request.as_bytes()));
        asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.starts_with("HTTP/1.1 200")
    }
}

/// Passes one request and its answer on, then closes the connection.
fn pass_on(mut client: TcpStream, server: u16, refuse: bool) -> std::io::Result<()> {
    let (mut request, mut buffer) = (Vec::new(), [0; 8192]);
    let head = loop {
        let read = client.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
        if let Some(end) = request.windows(4).position(|w| w == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let lines = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let length = lines.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    while request.len() < head + length.unwrap_or(0) {
        let read = client.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
    }
    if refuse {
        return client.write_all(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server))?;
    upstream.write_all(&request[..head - 2])?;
    upstream.write_all(b"Connection: close\r\n\r\n")?;
    upstream.write_all(&request[head..])?;
    std::io::copy(&mut upstream, &mut client).map(drop)
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A service on a free port, with an engine that a test can stop or let fail.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evergrove::commit::schema::{Row, Schema};
use evergrove::commit::{
    BackendChoice, BackendError, BackendSpec, NativeBackend, NodeProof, RecursionBackend, Witness,
};
use evergrove::jobs::local::LocalEngine;
use evergrove::jobs::metrics::Metrics;
use evergrove::jobs::{Cancel, Engine, Observer, Report, Results, RunError, Runner, TaskGraph};
use evergrove::primitives::Goldilocks;
use evergrove::proof::{AppSpec, BackendId, Commitment, HeightClass, Opening, Policy, Profile, Scheme};
use evergrove::store::{Backends, DatabaseFile, Error, Options, Prover, Store};
use evergrove_serve::{Config, Parts, ServeError, Shutdown, Summary, serve};
use evergrove_testkit::faults::{Disk, DiskFile};
use evergrove_testkit::http::Client;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Handle;

pub(crate) const TOKEN: &str = "f00d0000f00d0000f00d";

/// A service that proves each epoch before it commits the next one.
pub(crate) fn each_epoch() -> Config {
    Config { prove_each_epoch: true, ..Config::default() }
}

/// A local engine behind a gate: runs wait while it is closed.
#[derive(Clone)]
pub(crate) struct Gate(Arc<(AtomicBool, AtomicUsize)>);

impl Gate {
    pub(crate) fn open() -> Self {
        Self(Arc::new((AtomicBool::new(true), AtomicUsize::new(0))))
    }

    pub(crate) fn closed() -> Self {
        let gate = Self::open();
        gate.set(false);
        gate
    }

    pub(crate) fn set(&self, open: bool) {
        self.0.0.store(open, Ordering::SeqCst);
    }

    /// Makes the next `runs` runs fail.
    pub(crate) fn fail(&self, runs: usize) {
        self.0.1.store(runs, Ordering::SeqCst);
    }
}

impl Engine for Gate {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Report, RunError> {
        observer.event(&evergrove::jobs::Event::Planned { tasks: graph.len(), to_run: graph.len() });
        while !self.0.0.load(Ordering::SeqCst) && !cancel.is_cancelled() {
            thread::sleep(Duration::from_millis(1));
        }
        let fails = self.0.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if fails {
            return Err(RunError::Empty);
        }
        LocalEngine::new(2).run(graph, runner, results, observer, cancel)
    }
}

/// Native backends with small buckets, and the same backends under the name of a succinct one.
pub(crate) fn backends() -> Backends {
    let mut backends = Backends::new();
    for class in HeightClass::ALL {
        let native = NativeBackend::new(Profile::Paper, class).with_capacity(4);
        for choice in succinct() {
            let spec = BackendSpec { choice, ..native.spec().clone() };
            backends.add(Arc::new(Succinct { native: native.clone(), spec }));
        }
        backends.add(Arc::new(native));
    }
    backends
}

/// The succinct backends of [`backends`]: one for rows, and one with an application.
pub(crate) fn succinct() -> [BackendChoice; 2] {
    let app = AppSpec { name: "count".into(), parameters: Vec::new() };
    let choice = BackendChoice::new(evergrove::Backend::Grove.name(), Profile::Paper);
    [choice.clone(), choice.with_app(Scheme::Selected, app)]
}

/// The native backend under another name. The output of its application is always the same.
struct Succinct {
    native: NativeBackend,
    spec: BackendSpec,
}

impl RecursionBackend for Succinct {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        let made = self.native.prove(witness, children)?;
        let output = self.spec.choice.app.iter().map(|_| Goldilocks::ONE).collect();
        Ok(NodeProof { output, ..made })
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.native.verify(proof)
    }
}

fn row(x: u64) -> Row {
    let schema = schema();
    schema.parse_row(&[format!("row {x}"), x.to_string()]).expect("a row")
}

fn schema() -> Schema {
    let text = "[[column]]\nname = \"name\"\ntype = \"bytes\"\n[[column]]\nname = \"amount\"\ntype = \"unsigned\"\n";
    Schema::from_toml(text).expect("a schema")
}

/// The line that sets slot `index` to the row of `x`.
pub(crate) fn set(index: u64, x: u64) -> String {
    format!("{{\"set\":{index},\"row\":{{\"name\":\"row {x}\",\"amount\":{x}}}}}")
}

/// A new store with 80 rows in 2^7 slots, and a batch `b` of slots 0, 3, .. 57, proven.
fn filled(dir: &Path, options: &Options) -> Store {
    let rows = (0..80).map(|i| Ok::<_, Error>((i, row(i))));
    let store = Store::create_with(dir, options, &schema(), None, rows).expect("a new store");
    let (backends, engine) = (backends(), LocalEngine::new(2));
    let prover = Prover::new(&store, &backends, &engine);
    let indices: Vec<u64> = (0..20).map(|i| 3 * i).collect();
    prover.define("b", &indices, &BackendChoice::new("native", Profile::Paper)).expect("a new batch");
    prover.prove("b").expect("proves");
    store
}

/// A file of a [`Disk`] as the file of a database.
#[derive(Debug)]
struct OnDisk(DiskFile, Hold);

/// Holds up the reads of a file, and lets a write or sync find no room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hold(Arc<(AtomicBool, AtomicUsize, AtomicUsize)>);

impl Hold {
    pub(crate) fn set(&self, held: bool) {
        self.0.0.store(held, Ordering::SeqCst);
    }

    /// Number of reads that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }

    /// Lets `operations` more writes and syncs succeed, and the one after them fail.
    pub(crate) fn fail_after(&self, operations: usize) {
        self.0.2.store(operations + 1, Ordering::SeqCst);
    }

    /// True once that one has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.2.load(Ordering::SeqCst) == 0
    }

    fn write(&self) -> io::Result<()> {
        match self.0.2.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(1) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn pass(&self) {
        self.0.1.fetch_add(1, Ordering::SeqCst);
        while self.0.0.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        self.0.1.fetch_sub(1, Ordering::SeqCst);
    }
}

impl DatabaseFile for OnDisk {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.1.pass();
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.1.write()?;
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.1.write()?;
        self.0.write(offset, data)
    }
}

pub(crate) struct World {
    pub(crate) dir: Arc<TempDir>,
    pub(crate) client: Client,
    /// A client at the address for probes.
    pub(crate) probes: Client,
    pub(crate) gate: Gate,
    pub(crate) shutdown: Shutdown,
    pub(crate) service: JoinHandle<Result<Summary, ServeError>>,
    /// The runtime of the service.
    pub(crate) runtime: Handle,
}

impl World {
    /// A service of a store with 80 rows in 2^7 slots, and a batch `b` of slots 0, 3, .. 57, proven.
    pub(crate) fn start(config: Config, gate: Gate) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        drop(filled(dir.path(), &Options::default()));
        Self::in_dir(Arc::new(dir), config, gate)
    }

    /// A service of the store in a directory.
    pub(crate) fn in_dir(dir: Arc<TempDir>, config: Config, gate: Gate) -> Self {
        let store = Store::open(dir.path()).expect("opens");
        Self::of(store, dir, config, gate)
    }

    /// A service as in [`Self::start`], but its database is on `disk` and has no cache in memory.
    pub(crate) fn on(disk: &Disk, hold: &Hold, config: Config, gate: Gate) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (disk, hold) = (disk.clone(), hold.clone());
        let options = Options::default().with_cache_bytes(0).with_database(move |path| {
            std::fs::write(path, b"")?;
            Ok(Box::new(OnDisk(disk.open(), hold.clone())))
        });
        let store = filled(dir.path(), &options);
        Self::of(store, Arc::new(dir), config, gate)
    }

    fn of(store: Store, dir: Arc<TempDir>, config: Config, gate: Gate) -> Self {
        let mut registry = Registry::default();
        let mut parts = Parts {
            store,
            backends: backends(),
            engine: Box::new(gate.clone()),
            tasks: Metrics::new(&mut registry),
            registry,
            probes: None,
        };
        let shutdown = Shutdown::default();
        let (told, tell) = (shutdown.clone(), std::sync::mpsc::channel::<(Handle, [SocketAddr; 2])>());
        let service = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                let probes = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                let addrs = [listener.local_addr()?, probes.local_addr()?];
                tell.0.send((Handle::current(), addrs)).expect("somebody waits");
                parts.probes = Some(probes);
                serve(listener, parts, config, &told).await
            })
        });
        let (runtime, addrs) = tell.1.recv().expect("addresses");
        let [client, probes] = addrs.map(Client::new);
        Self { dir, client, probes, gate, shutdown, service, runtime }
    }

    /// Stops the service and returns its summary.
    pub(crate) fn stop(self) -> Summary {
        self.shutdown.drain();
        self.service.join().expect("no panic").expect("no error")
    }

    /// The answer of a path as JSON, after a check of its status.
    pub(crate) fn json(&self, method: &str, path: &str, body: &str, status: u16) -> Value {
        let answer = self.client.send(method, path, &[], body.as_bytes()).expect("an answer");
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.text());
        serde_json::from_slice(&answer.body).expect("JSON")
    }

    /// The problem that a path answers to a refused request.
    pub(crate) fn problem(&self, method: &str, path: &str, body: &str, status: u16, name: &str) -> Value {
        let answer = self.client.send(method, path, &[], body.as_bytes()).expect("an answer");
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(problem["type"], format!("urn:evergrove:problem:{name}"), "{problem}");
        assert_eq!(problem["status"], status);
        assert!(!problem["detail"].as_str().expect("a text").contains("--"), "flags are the operator's: {problem}");
        assert_eq!(answer.headers.contains_key("retry-after"), problem["retry_after"].is_number());
        problem
    }

    /// Waits until `is` accepts the status.
    pub(crate) fn wait(&self, is: impl Fn(&Value) -> bool) {
        self.wait_as(&self.client, is);
    }

    pub(crate) fn wait_as(&self, client: &Client, is: impl Fn(&Value) -> bool) {
        let start = Instant::now();
        loop {
            let status: Value = serde_json::from_slice(&client.get("/v1/status").body).expect("JSON");
            if is(&status) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{status}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Asserts that the proof is valid for this commitment.
    pub(crate) fn verify(&self, proof: &[u8], commitment: &str) {
        let commitment: Commitment = commitment.parse().expect("a commitment");
        let policy = Policy::default().allow_backend(BackendId::new("native", 1)).allow_profile(Profile::Paper);
        evergrove::store::verify(proof, &commitment, None, &policy, &backends()).expect("verifies");
    }

    /// Asserts that the file opens `index` to the row of `x` under this commitment.
    pub(crate) fn check_opening(&self, file: &[u8], index: u64, commitment: &str, x: u64) {
        let commitment: Commitment = commitment.parse().expect("a commitment");
        let opening = Opening::decode(file).expect("an opening");
        assert_eq!(opening.index, index);
        assert_eq!(opening.value, Some(schema().value(&row(x)).expect("a value")));
        opening.verify(&commitment).expect("verifies");
    }
}

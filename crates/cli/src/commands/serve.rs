//! `evergrove serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use evergrove::apps::catalog::Catalog;
use evergrove::commit::BackendSpec;
use evergrove::jobs::metrics::Metrics;
use evergrove::store::{Options, Store};
use evergrove::{Backend, Config, Environment};
use evergrove_serve::{Config as ServeConfig, KeyFiles, Parts, ServeError, Shutdown, Summary, Token, Tokens, serve};
use prometheus_client::registry::Registry;
use serde_json::json;
use tokio::net::TcpListener;

use super::Terminal;
use crate::args::{Output, ProverArgs, ProvingArgs, StoreArgs, parse_size};
use crate::exit::CliError;
use crate::files;
use crate::log_file;
use crate::logging::{self, Level};
#[cfg(feature = "queue")]
use crate::queue::QueueArgs;
use crate::report::{self, Report, count};
use crate::signals::on_signals;
use crate::tls;
use crate::watch::watch;

/// The variable that holds the token.
const TOKEN: &str = "EVERGROVE_SERVE_TOKEN";
/// The remedy for a missing or invalid token.
const MAKE_ONE: &str = "make one with openssl rand -hex 32";
/// Time that the end of the service waits for blocking work, such as measuring the sizes of files.
const LAST_WORK: Duration = Duration::from_secs(1);
/// Greatest size of a file of tokens in bytes.
const TOKEN_FILE_BYTES: u64 = 1 << 16;

/// Take changes over HTTP, commit them as epochs, and keep every batch proven
///
/// The service takes changes as JSON lines, answers when their epoch is committed, and serves proofs and events. /openapi.json
/// describes all paths. On SIGTERM or ctrl-c it finishes the accepted changes and their proofs, then stops. A second signal
/// leaves the proofs to the next start. During --drain, the second signal ends the drain, and a third one leaves the proofs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Separate address for /healthz, /readyz and /metrics, which callers of --listen cannot block; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    health: Option<SocketAddr>,
    /// File of tokens, one a line: `read TOKEN` may read, `backup TOKEN` may also back up, `write TOKEN` or a token alone may also
    /// make changes. A name for --access-log may follow. A changed file takes effect within seconds [default: the token in
    /// $EVERGROVE_SERVE_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let in everyone who reaches the address, which must be one of this machine alone
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    /// File of the service's certificate in PEM format, followed by its chain: --listen then speaks TLS. A changed file
    /// takes effect within seconds
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// File of the certificate's private key in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File for a line of JSON about each request to --listen, or - for stdout: when, who, what, and the epoch of its changes. If the
    /// file is moved away, it is created again
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Let callers without a token read commitments, progress, and proofs without cells, but not rows or positions. They can see which
    /// bucket a change is in, and proofs are not zero-knowledge: a proof may leak parts of its rows
    #[arg(long, conflicts_with = "no_token")]
    public_read: bool,
    /// Requests with changes that may wait for the next epoch; further ones are answered 429
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_waiting: u16,
    /// Greatest size of a request
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = parse_size)]
    max_body: u64,
    /// Connections at a time, at most 64 of them streams of events; further ones wait
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_connections: u16,
    /// Milliseconds that an epoch waits for further requests
    #[arg(long, value_name = "MS", default_value_t = 0)]
    gather: u64,
    /// Commit an epoch only when the proofs of the one before are made or have failed, so that each epoch has its proofs. Answers to
    /// changes then wait for proofs
    #[arg(long)]
    prove_each_epoch: bool,
    /// Seconds that a caller waits for the commit of its changes, or for its turn to read the store; then it is told to try again. With
    /// --prove-each-epoch, commits have no time limit
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86400))]
    max_wait: u64,
    /// Memory for pages of the database. Pages beyond it are read from the file again
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = parse_size)]
    cache: u64,
    /// Let positions beyond the vector double it, up to --max-height
    #[arg(long)]
    grow: bool,
    /// Height above which --grow does not make the vector higher: positions from 2^H on are refused
    #[arg(long, value_name = "H", default_value_t = 32, requires = "grow", value_parser = clap::value_parser!(u8).range(1..=40))]
    max_height: u8,
    /// Epochs to keep, and those since the last proof of each batch: older ones are pruned when there are twice as many [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    keep: Option<u64>,
    /// Seconds between the signal to stop and the stop. Meanwhile /readyz answers 503, so that a load balancer sends no more callers, and
    /// all other paths answer as before
    #[arg(long, value_name = "S", default_value_t = 0)]
    drain: u64,
    /// Seconds for which a stopping service continues with the proofs of its last epoch
    #[arg(long, value_name = "S", default_value_t = 30)]
    grace: u64,
    /// How much is logged
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Info)]
    log: Level,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory that proofs may take, like 4GiB or 512M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// Directory in which proving keys are kept from run to run [default: $EVERGROVE_KEYS, or evergrove/keys in the
    /// user's cache directory]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    #[command(flatten)]
    prover: ProverArgs,
    #[cfg(feature = "queue")]
    /// Let workers make the proofs (see worker), by the queue of this Redis server: redis://HOST:PORT, or rediss:// for TLS
    #[arg(long, value_name = "URL", requires = "objects", help_heading = "Workers")]
    engine: Option<String>,
    #[cfg(feature = "queue")]
    /// Store of the proofs and payloads that leader and workers share
    #[arg(long, value_name = "URL", requires = "engine", help_heading = "Workers")]
    objects: Option<String>,
    #[cfg(feature = "queue")]
    #[command(flatten, next_help_heading = "Workers")]
    workers: QueueArgs,
    #[cfg(feature = "queue")]
    /// Seconds without a started or finished proof, after which epochs are committed without proofs; status, events and metrics then
    /// say so
    #[arg(long, value_name = "S", default_value_t = 120, requires = "engine", help_heading = "Workers", value_parser = clap::value_parser!(u64).range(1..))]
    stall: u64,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let tokens = tokens(args, &Config::from_env().environment)?;
    let _log = logging::start(if terminal.quiet { Level::Warn } else { args.log }, terminal.format);
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Some(tls::start(cert, key)?),
        _ => None,
    };
    let access = args.access_log.as_deref().map(log_file::start).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let proving = proving(args);
    let cache = usize::try_from(args.cache).unwrap_or(usize::MAX);
    let store = Store::open_with(&args.store.store, &Options::default().with_cache_bytes(cache))?;
    store.check_writable()?;
    let config = proving.config(catalog, None)?;
    let mut backends = config.backends();
    config.add_apps(&mut backends, &store)?;
    let batches = store.batches()?;
    let engine = config.engine(batches.iter().map(|b| (&b.backend, config.costs(&b.backend))))?;
    let mut registry = Registry::default();
    let tasks = Metrics::new(&mut registry);
    #[cfg(feature = "queue")]
    if let Some(workers) = &config.workers {
        crate::queue::watch(workers.queue.clone(), tasks.clone())?;
    }
    #[cfg(feature = "queue")]
    let stall = config.workers.as_ref().map(|_| Duration::from_secs(args.stall));
    #[cfg(not(feature = "queue"))]
    let stall = None;
    let mut parts = Parts { store, backends, engine, registry, tasks, probes: None };
    let settings = ServeConfig {
        tokens,
        tls,
        access: access.clone(),
        public_read: args.public_read,
        key_files: Some(KeyFiles::new(move |spec| Ok(key_file(&config, spec)?))),
        queue: args.max_waiting.into(),
        body_bytes: usize::try_from(args.max_body).unwrap_or(usize::MAX),
        gather: Duration::from_millis(args.gather),
        prove_each_epoch: args.prove_each_epoch,
        answer_time: Duration::from_secs(args.max_wait),
        grow: args.grow.then_some(args.max_height),
        keep: args.keep,
        drain: Duration::from_secs(args.drain),
        grace: Duration::from_secs(args.grace),
        connections: args.max_connections.into(),
        stall,
        ..ServeConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind(args.listen).await.with_context(|| format!("--listen {}", args.listen))?;
        if let Some(addr) = args.health {
            let probes = TcpListener::bind(addr).await.with_context(|| format!("--health {addr}"))?;
            eprintln!("health at http://{}", probes.local_addr()?);
            parts.probes = Some(probes);
        }
        say_where(scheme, listener.local_addr()?, terminal)?;
        let shutdown = Shutdown::default();
        let told = shutdown.clone();
        on_signals(move || told.advance())?;
        serve(listener, parts, settings, &shutdown).await.map_err(|e| match e {
            ServeError::Store(e) => anyhow::Error::from(e),
            e => e.into(),
        })
    });
    // Measuring the files of a large store takes long, and all requests are answered already.
    runtime.shutdown_timeout(LAST_WORK);
    let summary = outcome?;
    let on_stdout = args.access_log.as_deref() == Some(Path::new(files::STDIN));
    if on_stdout && access.is_some_and(|log| log.waiting() > 0) {
        // Nobody reads stdout: printing the report would wait for ever.
        return Ok(());
    }
    print(summary, terminal)
}

fn proving(args: &Args) -> ProvingArgs {
    ProvingArgs {
        dry_run: false,
        threads: args.threads,
        max_memory: args.max_memory,
        keys: args.keys.clone(),
        prover: args.prover.clone(),
        timings: None,
        #[cfg(feature = "queue")]
        engine: args.engine.clone(),
        #[cfg(feature = "queue")]
        objects: args.objects.clone(),
        #[cfg(feature = "queue")]
        queue: args.workers.clone(),
        #[cfg(feature = "health")]
        health: None,
    }
}

fn print(summary: Summary, terminal: Terminal) -> Result<()> {
    let mut report = Report::default();
    report.add("epochs", summary.epochs);
    report.add("proofs", summary.proofs);
    let stale = summary.stale.len();
    let text = if stale == 0 { "none".into() } else { format!("{}: the next start proves", count(stale, "batch")) };
    report.add_as("stale", summary.stale, text);
    report.print(terminal.format)
}

/// The key file of a backend's proofs. Only batches of rows have a key that every verifier knows.
fn key_file(config: &Config, spec: &BackendSpec) -> Result<Option<Vec<u8>>> {
    let choice = &spec.choice;
    if choice.name != Backend::Grove.name() || choice.scheme.has_app() {
        return Ok(None);
    }
    let mut file = Vec::new();
    config.batch_key(choice.profile, spec.class)?.write_key(&mut file)?;
    Ok(Some(file))
}

/// Prints the bound address, for people and for programs that start the service.
fn say_where(scheme: &str, addr: SocketAddr, terminal: Terminal) -> Result<()> {
    match terminal.format {
        Output::Json => report::line(&json!({ "listening": addr.to_string() })),
        Output::Text => report::text(&format!("listening on {scheme}://{addr}\n")),
    }
}

/// The tokens that callers must show; `None` with `--no-token`.
fn tokens(args: &Args, environment: &Environment) -> Result<Option<Tokens>> {
    if args.no_token {
        if !args.listen.ip().is_loopback() {
            let message = format!("--no-token lets everyone in who reaches {}", args.listen);
            return Err(CliError::usage(message, "listen on 127.0.0.1, or give a token with --token-file"));
        }
        return Ok(None);
    }
    if let Some(path) = &args.token_file {
        let bytes = token_file(path)?;
        let tokens = tokens_of(path, &bytes)?;
        let (held, file) = (tokens.clone(), path.clone());
        let again = file.clone();
        let take = move |bytes: &Vec<u8>| {
            held.replace(tokens_of(&again, bytes)?);
            Ok(())
        };
        watch("the tokens", bytes, move || token_file(&file), take)?;
        return Ok(Some(tokens));
    }
    let Some(text) = &environment.serve_token else {
        let remedy = format!("put it into {TOKEN}, name a file with --token-file, or use --no-token on this machine");
        return Err(CliError::usage("callers need a token, and none is given", remedy));
    };
    let token = Token::new(text).map_err(|e| CliError::usage(format!("{TOKEN}: {e}"), MAKE_ONE))?;
    Ok(Some(Tokens::one(token)))
}

fn token_file(path: &Path) -> Result<Vec<u8>> {
    files::read(path, TOKEN_FILE_BYTES, "give a file that holds tokens alone")
}

fn tokens_of(path: &Path, bytes: &[u8]) -> Result<Tokens> {
    let tokens = Tokens::parse(&String::from_utf8_lossy(bytes));
    tokens.map_err(|e| CliError::usage(format!("{}: {e}", path.display()), MAKE_ONE))
}

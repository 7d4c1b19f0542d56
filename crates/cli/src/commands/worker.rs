//! `evergrove worker`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use evergrove::Config;
use evergrove::apps::catalog::Catalog;
use evergrove::jobs::bullmq::{Worker, WorkerConfig, WorkerEvent};
use evergrove::jobs::{Cancel, Cores};
use evergrove::store::cluster::ProofWork;

use super::Terminal;
use crate::args::ProverArgs;
use crate::exit::CliError;
use crate::logging::{self, Level};
use crate::probes::Probes;
use crate::queue::{self, QueueArgs};
use crate::report::{Report, count, plain, seconds, size};
use crate::{leader, signals};

/// Make the proofs that prove, update and app ask for with --engine, until SIGTERM or SIGINT
///
/// Takes jobs from the queue of a Redis server, and proofs and payloads from the objects that it shares with the leaders.
/// On the first signal it takes no more jobs and finishes those that it has; on the second it ends at once.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The Redis server of the queue: redis://HOST:PORT, or rediss:// for TLS
    #[arg(long, value_name = "URL")]
    redis: String,
    /// Store of the proofs and payloads: file:///DIR, s3://BUCKET/PREFIX, gs:// or az://, with credentials from the environment
    #[arg(long, value_name = "URL")]
    objects: String,
    #[command(flatten)]
    queue: QueueArgs,
    /// Proofs to make at a time. With at least as many as threads, each has a thread of its own; otherwise they share all
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Directory in which proving keys are kept from run to run [default: $EVERGROVE_KEYS, or evergrove/keys in the
    /// user's cache directory]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    #[command(flatten)]
    prover: ProverArgs,
    /// Seconds of silence after which others may take the jobs of this worker
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    lock: u64,
    /// Address for health and metrics: /healthz, /readyz and /metrics; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    health: Option<SocketAddr>,
    /// Name of this worker, for people who look at the queue [default: worker- and the number of the process]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, catalog: &Catalog, terminal: Terminal) -> Result<()> {
    let config = Config { catalog: catalog.clone(), ..leader::config(args.keys.as_deref())? };
    let config = args.prover.of(config);
    let queue = args.queue.config(&args.redis, &config.environment)?.with_lock(Duration::from_secs(args.lock));
    let objects = queue::objects(&args.objects, &config.environment)?;
    let threads = leader::threads(args.threads);
    let concurrency = usize::from(args.concurrency);
    let name = args.name.clone().unwrap_or_else(|| format!("worker-{}", std::process::id()));
    let drain = Cancel::new();
    signals::stop_on_signals(&drain, None)?;

    let known = config.provers();
    let work = ProofWork::new(move |spec| config.make(&known, spec), drain.clone());
    let work = if concurrency >= threads { work.with_cores(Arc::new(Cores::new(threads)?)) } else { work };

    if !terminal.quiet {
        let at_a_time = count(concurrency, "proof");
        eprintln!(
            "{name}: queue {} at {}, {at_a_time} at a time on {}",
            queue.queue,
            queue.redis,
            count(threads, "thread")
        );
    }
    let _log = logging::start(Level::Error, terminal.format);
    let (probes, taken) = Probes::new(args.health, Some(&queue))?;
    if let Some(addr) = taken.filter(|_| !terminal.quiet) {
        eprintln!("health at http://{addr}");
    }
    let config = WorkerConfig { queue, objects, concurrency, name };
    let observe = |event: &WorkerEvent<'_>| {
        probes.note(event);
        note(event, terminal);
    };
    let report = Worker::run(&config, &work, &observe, &drain)?;
    if let Some(reason) = work.unfit() {
        return Err(CliError::proving(reason, "put this right and start the worker again; others go on with its jobs"));
    }
    let mut out = Report::default();
    out.add("worker", config.name);
    let there = if report.already > 0 { format!(", {} of them there already", report.already) } else { String::new() };
    out.add_as("jobs_done", report.done, format!("{}{there}", report.done));
    out.hidden("jobs_already", report.already);
    out.add("jobs_failed", report.failed);
    out.add_as("proofs_bytes", report.bytes, size(report.bytes));
    out.print(terminal.format)
}

/// Tells people what the worker does.
fn note(event: &WorkerEvent<'_>, terminal: Terminal) {
    if terminal.quiet {
        return;
    }
    match event {
        WorkerEvent::Ready => eprintln!("waiting for jobs"),
        WorkerEvent::Finished { job, kind, bytes, elapsed, already } => {
            let how = if *already { "was there".into() } else { seconds(elapsed.as_secs_f64()) };
            eprintln!("{} {}: {how}, {}", plain(kind), plain(job), size(*bytes as u64));
        }
        WorkerEvent::Failed { job, kind, cause, retry, .. } => {
            let next = if *retry { "to be tried again" } else { "for good" };
            eprintln!("{} {} failed {next}: {}", plain(kind), plain(job), plain(cause));
        }
        WorkerEvent::Postponed { job, kind, cause } => {
            eprintln!("{} {} is put off: {}", plain(kind), plain(job), plain(cause));
        }
        WorkerEvent::Stalled { job } => eprintln!("{}: its worker fell silent, another takes it", plain(job)),
        WorkerEvent::Trouble { cause } => eprintln!("the queue does not answer: {}", plain(cause)),
        WorkerEvent::Draining { running } => eprintln!("taking no more jobs, {} to finish", count(*running, "job")),
        _ => {}
    }
}

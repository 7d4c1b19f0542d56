//! Measures a batch proven by workers, compares it with one process with as many threads, and simulates more workers.

mod planner;
mod schedule;
mod simulation;
mod tasks;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use evergrove_commit::BackendChoice;
use evergrove_commit::schema::{Row as TableRow, Schema};
use evergrove_jobs::bullmq::{BullmqEngine, Config, Redis};
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::objects::Objects;
use evergrove_jobs::{Cores, Engine};
use evergrove_plonky2::{BACKEND_NAME, Plonky2Backend};
use evergrove_store::{Backends, BatchReport, Prover, Store};
use evergrove_testkit::servers::RedisServer;
use evergrove_verifier::{Policy, Profile};
use serde::Serialize;

use crate::reckle::world::{World, leaves};
use crate::turns::{median, print_json};
use schedule::Overheads;
use simulation::{Seconds, Simulation};
use tasks::Tasks;
use worker::Workers;

/// Empty tasks that measure the time of the queue.
const EMPTY: usize = 1000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the vector's slots.
    #[arg(long, default_value_t = 27)]
    log_size: u8,
    /// log2 of the batch's members.
    #[arg(long, default_value_t = 12)]
    batch_log: u8,
    /// The profile of the proofs.
    #[arg(long, default_value = "paper")]
    profile: Profile,
    /// Workers of one thread each; the one process beside them has as many threads.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Turns of which the median counts.
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// Simulate up to so many workers.
    #[arg(long, default_value_t = 512)]
    simulate: usize,
    /// Directory in which proving keys are kept.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// A Redis server; one is started if it is left out.
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Be a worker with these objects, until the standard input ends.
    #[arg(long, hide = true, value_name = "URL")]
    worker: Option<String>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

/// One line of results.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    log_size: u8,
    /// Members of the batch.
    size: usize,
    proofs: usize,
    workers: usize,
    threads: usize,
    seconds: f64,
    ns_per_element: f64,
    /// Seconds of the one process divided by these seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<f64>,
    /// Seconds per task: medians over the workers' tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Medians>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Medians {
    bucket_s: f64,
    merge_s: f64,
    wrap_s: f64,
    /// A worker's time for a task, apart from the work itself.
    worker_overhead_s: f64,
    /// Time of an empty task in the queue.
    queue_overhead_s: f64,
}

impl Row {
    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let Self { r#impl, size, proofs, workers, threads, seconds, .. } = self;
        let efficiency = self.efficiency.map_or(String::new(), |e| format!(", efficiency {:.1} %", 100.0 * e));
        println!(
            "cluster {:12} batch {size}, {proofs} proofs, {workers} workers of {threads} threads: {seconds:.2} s{efficiency}",
            r#impl
        );
        if let Some(t) = self.tasks {
            println!(
                "a bucket {:.3} s, a merge {:.3} s, a wrap {:.3} s, beside it {:.1} ms in the worker and {:.2} ms in the queue",
                t.bucket_s,
                t.merge_s,
                t.wrap_s,
                1e3 * t.worker_overhead_s,
                1e3 * t.queue_overhead_s
            );
        }
        Ok(())
    }
}

/// The table, the batch, and the backends that prove it.
struct Setting<'a> {
    args: &'a Args,
    world: &'a World,
    backends: Backends,
}

impl Setting<'_> {
    fn choice(&self) -> BackendChoice {
        BackendChoice::new(BACKEND_NAME, self.args.profile)
    }

    /// Proves the first `members` of the batch in a new store. Returns the seconds, the report and the proof.
    fn prove(&self, engine: &dyn Engine, members: usize) -> anyhow::Result<(f64, BatchReport, Vec<u8>)> {
        let dir = tempfile::tempdir()?;
        let mut rows: Vec<u64> = self.world.members.iter().chain(&self.world.others).copied().collect();
        rows.sort_unstable();
        let rows =
            leaves(&self.world.vector, &rows)?.into_iter().map(|(i, v)| Ok::<_, std::io::Error>((i, TableRow::Raw(v))));
        let store = Store::create(dir.path(), &Schema::raw(), Some(self.args.log_size), rows)?;
        ensure!(store.commitment()? == self.world.vector.commitment()?, "the store has another table");
        let prover = Prover::new(&store, &self.backends, engine);
        prover.define("batch", &self.world.members[..members], &self.choice())?;
        let start = Instant::now();
        let report = prover.prove("batch")?;
        let seconds = start.elapsed().as_secs_f64();
        Ok((seconds, report, store.export("batch")?))
    }

    /// Verifies the proof of the whole batch.
    fn verify(&self, proof: &[u8]) -> anyhow::Result<()> {
        let leaves = leaves(&self.world.vector, &self.world.members)?;
        let policy = Policy::default().allow_profile(self.args.profile);
        evergrove_store::verify(proof, &self.world.vector.commitment()?, Some(&leaves), &policy, &self.backends)?;
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(objects) = &args.worker {
        let redis = args.redis.as_deref().context("a worker needs --redis")?;
        return worker::run(redis, objects, args.profile, args.log_size, args.keys.as_deref());
    }
    let server = match &args.redis {
        Some(_) => None,
        None => Some(RedisServer::start().context("there is no redis-server: run make tools, or name one by --redis")?),
    };
    let redis = args.redis.clone().or(server.as_ref().map(RedisServer::url)).unwrap_or_default();
    let config = Config::new(Redis::new(&redis, None)?).with_queue(format!("bench-{}", std::process::id()));
    let threads = args.workers;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;

    let world = World::build(args.profile, args.log_size, args.batch_log + 1, args.batch_log)?;
    let mut backends = Backends::new();
    backends.add(Arc::new(Plonky2Backend::load(args.profile, world.class, args.keys.as_deref())?));
    let setting = Setting { args, world: &world, backends };
    let objects = tempfile::tempdir()?;
    let alone = LocalEngine::new(threads).with_cores(Arc::new(Cores::new(threads)?));
    let place = format!("file://{}", objects.path().display());
    let together = BullmqEngine::new(config.clone(), Objects::open(&place, [])?);
    let workers = Workers::start(args, &config, &redis, &place)?;

    // The first proofs also make the tables of the circuits.
    let warm = (args.profile.bucket_capacity(world.class) * args.workers + 1).min(world.members.len());
    setting.prove(&alone, warm)?;
    setting.prove(&together, warm)?;
    workers.take();
    let (mut one, mut many) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..args.runs.max(1) {
        forget(objects.path())?;
        let (seconds, report, proof) = setting.prove(&alone, world.members.len())?;
        one.push(seconds);
        let (seconds, other, elsewhere) = setting.prove(&together, world.members.len())?;
        many.push(seconds);
        ensure!(
            (report.commitment, report.canonical, report.made) == (other.commitment, other.canonical, other.made),
            "the two proofs are of different statements"
        );
        setting.verify(&proof)?;
        setting.verify(&elsewhere)?;
        last = Some(report);
    }
    let report = last.context("--runs is at least 1")?;
    let done = workers.take();
    drop(workers);
    let queue = Tasks::empty(EMPTY).seconds(&BullmqEngine::local(config, threads))?;
    let of = |kind: &str| median(done.iter().filter(|t| t.kind == kind).map(|t| t.work));
    let medians = Medians {
        bucket_s: of("bucket"),
        merge_s: of("merge"),
        wrap_s: of("wrap"),
        worker_overhead_s: median(done.iter().map(|t| t.elapsed - t.work)),
        queue_overhead_s: queue,
    };
    let (one, many) = (median(one), median(many));
    let row = |name, workers, threads, seconds, efficiency, tasks| Row {
        kernel: "cluster",
        r#impl: name,
        profile: args.profile.name(),
        log_size: args.log_size,
        size: world.members.len(),
        proofs: report.total,
        workers,
        threads,
        seconds,
        ns_per_element: seconds * 1e9 / world.members.len() as f64,
        efficiency,
        tasks,
    };
    row("one-process", 1, threads, one, None, None).print(args.json)?;
    row("evergrove", args.workers, 1, many, Some(one / many), Some(medians)).print(args.json)?;

    let seconds = Seconds { bucket: medians.bucket_s, merge: medians.merge_s, wrap: medians.wrap_s };
    let duration = |s: f64| Duration::from_secs_f64(s.max(0.0));
    let overheads =
        Overheads { worker: duration(medians.worker_overhead_s), queue: duration(medians.queue_overhead_s) };
    let simulation = Simulation { world: &world, profile: args.profile, seconds, overheads, workers: args.simulate };
    simulation.print(args.batch_log, args.json)?;
    planner::print(args.json)
}

/// Deletes all results, so that they are made again.
fn forget(objects: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(objects)? {
        std::fs::remove_dir_all(entry?.path())?;
    }
    Ok(())
}

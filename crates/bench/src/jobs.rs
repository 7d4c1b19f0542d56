//! `evergrove-bench jobs` measures the overhead of the engine on BullMQ's queue, on a real Redis server.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use evergrove_jobs::bullmq::admin::Admin;
use evergrove_jobs::bullmq::{BullmqEngine, Config, Redis, Worker, WorkerConfig};
use evergrove_jobs::objects::Objects;
use evergrove_jobs::{Cancel, Engine, Job, RunError, Runner, Task, TaskFailure, TaskGraph, TaskId, Work};
use evergrove_testkit::engine::{MemoryResults, Silent, tree};
use evergrove_testkit::servers::RedisServer;
use serde::Serialize;

use crate::memory;
use crate::turns::print_json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of so many tasks (rounded up to a full binary tree), each of so many microseconds: TASKS:MICROS.
    #[arg(long, value_delimiter = ',', default_value = "2047:5000,16383:0", value_parser = parse_run)]
    runs: Vec<(usize, u64)>,
    /// Tasks of the graph that is planned and not run, to see the leader's memory; 0 for none.
    #[arg(long, default_value_t = 131_071)]
    plan: usize,
    /// Worker processes.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Tasks at once in each of them.
    #[arg(long, default_value_t = 1)]
    concurrency: usize,
    /// A Redis server of yours; else one is started.
    #[arg(long)]
    redis: Option<String>,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
    /// Be a worker at this URL with objects in this directory.
    #[arg(long, hide = true, num_args = 2)]
    work: Vec<String>,
}

fn parse_run(text: &str) -> Result<(usize, u64), String> {
    let (tasks, micros) = text.split_once(':').ok_or("give TASKS:MICROS")?;
    let number = |t: &str| t.parse::<u64>().map_err(|e| format!("{t:?}: {e}"));
    Ok((number(tasks)? as usize, number(micros)?))
}

#[derive(Serialize)]
struct RunRow {
    kernel: &'static str,
    r#impl: &'static str,
    size: usize,
    threads: usize,
    task_seconds: f64,
    seconds: f64,
    ns_per_element: f64,
    /// Seconds of the tasks alone, shared by the workers.
    floor_seconds: f64,
    overhead_seconds_per_task: f64,
}

#[derive(Serialize)]
struct PlanRow {
    kernel: &'static str,
    r#impl: &'static str,
    size: usize,
    threads: usize,
    seconds: f64,
    /// Memory of the leader's process with the graph before planning, and the peak of planning.
    graph_bytes: u64,
    peak_bytes: u64,
    /// Peak of planning beyond the graph, for all tasks and for half as many.
    planning_bytes: u64,
    half_planning_bytes: u64,
}

/// Tasks that wait for a fixed time and return their key.
struct Waiting(Duration);

impl Runner for Waiting {
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let (key, kind, payload) = (task.key, task.kind.into(), self.payload(id, task)?);
        let job = Job { key, kind, payload, inputs: Vec::new() };
        self.execute(&job, inputs)
    }

    fn payload(&self, _: TaskId, task: &Task) -> Result<Vec<u8>, TaskFailure> {
        let mut bytes = (self.0.as_micros() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&task.key.0);
        Ok(bytes)
    }
}

impl Work for Waiting {
    fn admit(&self, _: &Job) -> Result<(), TaskFailure> {
        Ok(())
    }

    fn execute(&self, job: &Job, _: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let micros = job.payload.first_chunk().map_or(0, |m| u64::from_le_bytes(*m));
        if micros > 0 {
            thread::sleep(Duration::from_micros(micros));
        }
        Ok(job.key.0.to_vec())
    }

    fn check(&self, job: &Job, bytes: &[u8]) -> Result<(), TaskFailure> {
        if bytes == job.key.0 { Ok(()) } else { Err(TaskFailure::permanent("not the job's key")) }
    }
}

/// Worker processes, which are killed when the value is dropped.
struct Workers(Vec<Child>);

impl Workers {
    fn start(args: &Args, url: &str, dir: &Path) -> anyhow::Result<Self> {
        let mut workers = Self(Vec::new());
        for _ in 0..args.workers {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["jobs", "--concurrency", &args.concurrency.to_string(), "--work", url]).arg(dir);
            workers.0.push(command.stdin(Stdio::null()).spawn().context("a worker process")?);
        }
        Ok(workers)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // The worker may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn config(url: &str) -> anyhow::Result<Config> {
    let password = std::env::var("EVERGROVE_REDIS_PASSWORD").ok();
    Ok(Config::new(Redis::new(url, password)?).with_queue("evergrove-bench"))
}

fn objects(dir: &Path) -> anyhow::Result<Objects> {
    Ok(Objects::open(&format!("file://{}", dir.display()), [])?)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if let [url, dir] = &args.work[..] {
        let (queue, objects) = (config(url)?, objects(Path::new(dir))?);
        let worker = WorkerConfig { queue, objects, concurrency: args.concurrency, name: "bench".into() };
        Worker::run(&worker, &Waiting(Duration::ZERO), &|_| {}, &Cancel::new())?;
        return Ok(());
    }
    let server = match &args.redis {
        Some(_) => None,
        None => Some(RedisServer::start().context("there is no redis-server: run `make tools`, or give --redis URL")?),
    };
    let url = args.redis.clone().or(server.as_ref().map(RedisServer::url)).unwrap_or_default();
    if args.plan > 0 {
        plan(args, &url)?;
    }
    for (tasks, micros) in &args.runs {
        measure(args, &url, *tasks, Duration::from_micros(*micros))?;
    }
    Ok(())
}

/// The depth of the smallest full binary tree with at least `tasks` nodes.
fn depth(tasks: usize) -> u32 {
    (tasks + 1).next_power_of_two().trailing_zeros().saturating_sub(1)
}

/// Measures a run, from planning to the last result.
fn measure(args: &Args, url: &str, tasks: usize, time: Duration) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let graph = tree(depth(tasks));
    let _workers = Workers::start(args, url, folder.path())?;
    let config = config(url)?;
    let admin = Admin::connect(&config)?;
    let begin = Instant::now();
    while admin.workers()? < args.workers {
        ensure!(begin.elapsed() < Duration::from_secs(20), "the workers do not start");
        thread::sleep(Duration::from_millis(20));
    }
    let (engine, results) = (BullmqEngine::new(config, objects(folder.path())?), MemoryResults::new());
    let begin = Instant::now();
    let report = engine.run(&graph, &Waiting(time), &results, &Silent, &Cancel::new())?;
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(report.done == graph.len() && results.len() == graph.len(), "{} of {} results", results.len(), graph.len());
    let slots = args.workers * args.concurrency;
    let size = graph.len();
    let floor_seconds = size as f64 * time.as_secs_f64() / slots as f64;
    let row = RunRow {
        kernel: "jobs",
        r#impl: "evergrove",
        size,
        threads: slots,
        task_seconds: time.as_secs_f64(),
        seconds,
        ns_per_element: seconds * 1e9 / size as f64,
        floor_seconds,
        overhead_seconds_per_task: (seconds - floor_seconds) / size as f64,
    };
    if args.json {
        print_json(&row)?;
    } else {
        println!(
            "{size} tasks of {:.1} ms, {} workers of {}: {seconds:.2} s, the tasks alone {floor_seconds:.2} s, {:.3} ms a task beyond",
            1e3 * row.task_seconds,
            args.workers,
            args.concurrency,
            1e3 * row.overhead_seconds_per_task
        );
    }
    Ok(())
}

/// The costs of planning a graph without workers.
struct Planned {
    seconds: f64,
    graph_bytes: u64,
    peak_bytes: u64,
}

impl Planned {
    fn planning_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.graph_bytes)
    }
}

/// Measures the leader's memory while it plans all tasks, and while it plans half as many.
fn plan(args: &Args, url: &str) -> anyhow::Result<()> {
    let half = plan_once(url, args.plan / 2)?;
    let whole = plan_once(url, args.plan)?;
    let size = (2 << depth(args.plan)) - 1;
    let row = PlanRow {
        kernel: "jobs-plan",
        r#impl: "evergrove",
        size,
        threads: 1,
        seconds: whole.seconds,
        graph_bytes: whole.graph_bytes,
        peak_bytes: whole.peak_bytes,
        planning_bytes: whole.planning_bytes(),
        half_planning_bytes: half.planning_bytes(),
    };
    if args.json {
        print_json(&row)?;
    } else {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "{size} tasks planned in {:.1} s: the leader's process has {:.0} MiB with their graph, {:.0} MiB at most; planning takes {:.0} MiB, {:.0} MiB for half of them",
            row.seconds,
            mib(row.graph_bytes),
            mib(row.peak_bytes),
            mib(row.planning_bytes),
            mib(row.half_planning_bytes)
        );
    }
    Ok(())
}

fn plan_once(url: &str, tasks: usize) -> anyhow::Result<Planned> {
    let folder = tempfile::tempdir()?;
    let graph: TaskGraph = tree(depth(tasks));
    let config = config(url)?.with_queue("evergrove-bench-plan");
    let engine = BullmqEngine::new(config.clone(), objects(folder.path())?);
    let (admin, cancel, results) = (Admin::connect(&config)?, Cancel::new(), MemoryResults::new());
    let graph_bytes = memory::start_peak();
    let begin = Instant::now();
    thread::scope(|scope| {
        let leader = scope.spawn(|| engine.run(&graph, &Waiting(Duration::ZERO), &results, &Silent, &cancel));
        let planned = || {
            let jobs: u64 = admin.counts()?.iter().map(|(_, n)| n).sum();
            ensure!(!leader.is_finished(), "the leader ended before all was planned");
            Ok::<_, anyhow::Error>(jobs as usize == graph.len())
        };
        let outcome = loop {
            match planned() {
                Ok(false) => thread::sleep(Duration::from_millis(100)),
                outcome => break outcome,
            }
        };
        let (seconds, (_, peak_bytes)) = (begin.elapsed().as_secs_f64(), memory::resident());
        cancel.cancel();
        match leader.join().map_err(|_| anyhow!("the leader panicked"))? {
            Err(RunError::Cancelled { .. }) => {}
            Err(e) => return Err(e.into()),
            Ok(_) => return Err(anyhow!("nothing was left to cancel")),
        }
        outcome?;
        let left: u64 = admin.counts()?.iter().map(|(_, n)| n).sum();
        ensure!(left == 0, "{left} jobs are left in the queue");
        Ok(Planned { seconds, graph_bytes, peak_bytes })
    })
}

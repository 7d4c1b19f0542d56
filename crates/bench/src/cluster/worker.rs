//! Runs workers as separate processes and collects the times of their tasks.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::Context;
use evergrove_commit::RecursionBackend;
use evergrove_jobs::bullmq::{Config, Redis, Worker, WorkerConfig, WorkerEvent};
use evergrove_jobs::objects::Objects;
use evergrove_jobs::{Cancel, Job, TaskFailure, Work};
use evergrove_plonky2::Plonky2Backend;
use evergrove_store::cluster::ProofWork;
use evergrove_verifier::{HeightClass, Profile};
use serde::{Deserialize, Serialize};

use super::Args;

/// The environment variable with the queue's name.
const QUEUE: &str = "EVERGROVE_BENCH_QUEUE";

/// Times of a task, in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) kind: String,
    /// Decoding, verification of the inputs, proving, verification of the result.
    pub(crate) work: f64,
    /// `work`, plus reading the payload and the inputs and storing the result.
    pub(crate) elapsed: f64,
}

/// Measures the time of the work, one job at a time.
struct Timed {
    work: ProofWork,
    /// Times of proofs that the worker has not reported yet.
    times: Mutex<VecDeque<f64>>,
}

impl Work for Timed {
    fn admit(&self, job: &Job) -> Result<(), TaskFailure> {
        self.work.admit(job)
    }

    fn execute(&self, job: &Job, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let start = Instant::now();
        let made = self.work.execute(job, inputs)?;
        self.times.lock().unwrap_or_else(PoisonError::into_inner).push_back(start.elapsed().as_secs_f64());
        Ok(made)
    }

    fn check(&self, job: &Job, bytes: &[u8]) -> Result<(), TaskFailure> {
        self.work.check(job, bytes)
    }
}

/// Works on one thread until the standard input ends. Prints the times of each task.
pub(crate) fn run(
    redis: &str,
    objects: &str,
    profile: Profile,
    log_size: u8,
    keys: Option<&Path>,
) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let class = HeightClass::of(log_size).context("--log-size is from 1 to 40")?;
    let backend: Arc<dyn RecursionBackend> = Arc::new(Plonky2Backend::load(profile, class, keys)?);
    let drain = Cancel::new();
    let ended = drain.clone();
    thread::spawn(move || {
        // An error means the same as the end of the input: nobody waits for this worker.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.cancel();
    });
    let queue = Config::new(Redis::new(redis, None)?).with_queue(std::env::var(QUEUE)?);
    let config = WorkerConfig { queue, objects: Objects::open(objects, [])?, concurrency: 1, name: "bench".into() };
    let work = Timed { work: ProofWork::new(move |_| Ok(backend.clone()), drain.clone()), times: Mutex::default() };
    let observe = |event: &WorkerEvent<'_>| match event {
        WorkerEvent::Ready => println!("ready"),
        WorkerEvent::Finished { kind, elapsed, already: false, .. } => {
            let work = work.times.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default();
            let done = Done { kind: (*kind).into(), work, elapsed: elapsed.as_secs_f64() };
            println!("{}", serde_json::to_string(&done).unwrap_or_default());
        }
        WorkerEvent::Failed { cause, .. } => eprintln!("a task failed: {cause}"),
        _ => {}
    };
    Worker::run(&config, &work, &observe, &drain)?;
    Ok(())
}

/// Worker processes. Dropping the value ends them.
pub(crate) struct Workers {
    processes: Vec<Child>,
    readers: Vec<JoinHandle<()>>,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Workers {
    /// Starts the number of workers that the arguments give, and waits until they are ready.
    pub(crate) fn start(args: &Args, config: &Config, redis: &str, objects: &str) -> anyhow::Result<Self> {
        let mut workers = Self { processes: Vec::new(), readers: Vec::new(), done: Arc::default() };
        for _ in 0..args.workers {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["cluster", "--worker", objects, "--redis", redis, "--profile", args.profile.name()]);
            command.args(["--log-size", &args.log_size.to_string()]);
            if let Some(keys) = &args.keys {
                command.arg("--keys").arg(keys);
            }
            command.env(QUEUE, &config.queue).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut process = command.spawn()?;
            let mut lines = BufReader::new(process.stdout.take().context("its output is piped")?).lines();
            workers.processes.push(process);
            let first = lines.next().transpose()?;
            anyhow::ensure!(first.as_deref() == Some("ready"), "a worker did not start: {first:?}");
            let done = workers.done.clone();
            workers.readers.push(thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    let tasks = serde_json::from_str(&line).into_iter();
                    done.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
                }
            }));
        }
        Ok(workers)
    }

    /// The times of the tasks since the last call.
    pub(crate) fn take(&self) -> Vec<Done> {
        std::mem::take(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for process in &mut self.processes {
            drop(process.stdin.take());
        }
        for process in &mut self.processes {
            // An error means that the worker has already ended.
            let _ = process.wait();
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

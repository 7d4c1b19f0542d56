//! What `prove` and `update` have in common: an engine within the given bounds, estimates and results.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove_jobs::bullmq::BullmqEngine;
use evergrove_jobs::local::LocalEngine;
use evergrove_jobs::metrics::Metrics;
use evergrove_jobs::{Cancel, Cores, Engine, Observer, Report as RunReport, Results, RunError, Runner, TaskGraph};
use evergrove_primitives::lanes::Isa;
use evergrove_proof::Scheme;
use evergrove_proof::soundness::SoundnessBits;
use evergrove_recursion::prover::Trace;
use evergrove_store::{BackendSpec, Backends, BatchEstimate, BatchReport, NodeCosts};
use serde_json::{Map, Value, json};

use crate::args::ProvingArgs;
use crate::backends;
use crate::commands::Terminal;
use crate::exit::Mistake;
use crate::files;
use crate::logging::{self, Level, Log};
use crate::report::{Report, count, seconds, size};
use crate::vitals::Vitals;
use crate::{queue, signals};

/// Seconds that a proof by a worker takes beside the proving, as an estimate: payload, inputs and result as objects, and about a
/// millisecond in the queue (`evergrove-bench jobs`).
const QUEUE_SECONDS: f64 = 0.01;

/// The engine that the arguments ask for.
pub(crate) enum ChosenEngine {
    /// In this process.
    Local(LocalEngine),
    /// By workers.
    Queue(BullmqEngine),
}

impl Engine for ChosenEngine {
    fn run(
        &self,
        graph: &TaskGraph,
        runner: &dyn Runner,
        results: &dyn Results,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<RunReport, RunError> {
        match self {
            Self::Local(engine) => engine.run(graph, runner, results, observer, cancel),
            Self::Queue(engine) => engine.run(graph, runner, results, observer, cancel),
        }
    }
}

/// The engine for these backends: the queue of `--engine`, or one of this process that keeps to `--threads` and `--max-memory`;
/// without the second to half of the memory that is free. `costs` are those of a backend's proofs.
pub(crate) fn engine<'a>(
    args: &ProvingArgs,
    specs: impl Iterator<Item = &'a BackendSpec>,
    costs: impl Fn(&BackendSpec) -> NodeCosts,
) -> Result<ChosenEngine> {
    let threads = threads(args.threads);
    if let (Some(redis), Some(objects)) = (&args.engine, &args.objects) {
        let engine = BullmqEngine::new(args.queue.config(redis)?, queue::objects(objects)?);
        return Ok(ChosenEngine::Queue(engine));
    }
    let mut at_once = threads;
    for spec in specs {
        let costs = costs(spec);
        let fit = match args.max_memory {
            Some(limit) => costs.at_once(limit),
            None => free_memory().map_or(1, |free| costs.at_once(free / 2).max(1)),
        };
        if fit == 0 {
            let message = format!(
                "a proof of backend {} and profile {} takes about {}, --max-memory is {}",
                spec.id.name,
                spec.profile,
                size(costs.memory_bytes),
                size(args.max_memory.unwrap_or(0))
            );
            return Err(Mistake::usage(message, "raise --max-memory, or choose a profile with smaller circuits"));
        }
        at_once = at_once.min(usize::try_from(fit).unwrap_or(usize::MAX));
    }
    let cores = Arc::new(Cores::new(threads)?);
    Ok(ChosenEngine::Local(LocalEngine::new(at_once).with_cores(cores)))
}

/// What a leader tells of itself for as long as this is there: a log of errors, spans, and the metrics of `--health`.
pub(crate) struct Watched {
    _log: Log,
    vitals: Vitals,
}

impl Watched {
    /// What counts its tasks.
    pub(crate) fn metrics(&self) -> Metrics {
        self.vitals.metrics().clone()
    }
}

/// From now on the process tells of itself what the arguments ask for.
pub(crate) fn watched(args: &ProvingArgs, terminal: Terminal) -> Result<Watched> {
    let _log = logging::start(Level::Error, terminal.format);
    let queue = args.engine.as_ref().map(|redis| args.queue.config(redis)).transpose()?;
    let (vitals, taken) = Vitals::new(args.health, queue.as_ref())?;
    vitals.set_ready(true);
    if let Some(addr) = taken.filter(|_| !terminal.quiet) {
        eprintln!("health at http://{addr}");
    }
    Ok(Watched { _log, vitals })
}

/// A token that SIGTERM and SIGINT use where workers make the proofs, so that their jobs do not stay in the queue. Else signals
/// end the process, and what it was at is made anew by the next one.
pub(crate) fn cancel(args: &ProvingArgs) -> Result<Cancel> {
    let cancel = Cancel::new();
    if args.engine.is_some() {
        signals::stop_on_signals(&cancel)?;
    }
    Ok(cancel)
}

/// The backends without an application: those that prove, or where workers do that, that verify what they have made.
pub(crate) fn backends(args: &ProvingArgs, keys: Option<&Path>, trace: Option<&Trace>) -> Backends {
    match &args.engine {
        Some(_) => backends::verifiers(),
        None => backends::provers(keys.map(Path::to_path_buf), args.prover, trace),
    }
}

/// Gives the process as many threads as are asked for, or as there are cores, and says how many.
pub(crate) fn threads(asked: Option<u16>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, Into::into);
    let threads = asked.map_or(available, usize::from);
    // A second call keeps the first pool, which a process with one command does not meet.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    threads
}

/// What proofs cost with the engine of the arguments.
pub(crate) fn costs(args: &ProvingArgs, costs: NodeCosts) -> NodeCosts {
    let task_seconds = if args.engine.is_some() { QUEUE_SECONDS } else { 0.0 };
    NodeCosts { task_seconds, ..costs }
}

/// Memory that programs may still take without swapping, in bytes, where the system tells.
fn free_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// A record of all proofs of this run, where `--timings` asks for it.
pub(crate) fn trace(args: &ProvingArgs) -> Option<Trace> {
    let start = Instant::now();
    args.timings.is_some().then(|| Trace::new(move || start.elapsed()))
}

/// Writes the record to the file of `--timings`, and adds its table to the report.
pub(crate) fn write_trace(report: &mut Report, args: &ProvingArgs, trace: Option<&Trace>) -> Result<()> {
    let (Some(path), Some(trace)) = (&args.timings, trace) else { return Ok(()) };
    let about = [
        ("program", concat!("evergrove ", env!("CARGO_PKG_VERSION")).into()),
        ("prover", args.prover.name().into()),
        ("isa", Isa::detect().to_string().into()),
        ("threads", rayon::current_num_threads().into()),
    ];
    let json = trace.to_json(Map::from_iter(about.map(|(key, value)| (key.into(), value))));
    files::write(path, |out| writeln!(out, "{json}").context("timings"))?;
    report.add("timings", path.display().to_string());
    report.note(trace.to_string());
    Ok(())
}

/// What a scheme's proofs without and with children are called.
fn nouns(scheme: Scheme) -> [&'static str; 2] {
    match scheme {
        Scheme::Evergrove | Scheme::Selected | Scheme::Complete => ["bucket", "merge"],
        Scheme::RecklePaper | Scheme::Tree => ["block", "level"],
    }
}

/// What was proven, as the fields of a report.
pub(crate) fn add_batch(report: &mut Report, batch: &BatchReport, proof_seconds: f64) {
    let (buckets, merges) = (batch.buckets, batch.merges);
    report.add("batch", batch.name.clone());
    report.add("epoch", batch.epoch);
    report.add("commitment", batch.commitment.to_string());
    report.add("members", batch.members);
    match batch.backend.scheme.is_complete() {
        true => report.hidden("canonical_digest", Value::Null),
        false => report.add("canonical_digest", batch.canonical.to_string()),
    }
    add_scheme(report, batch.backend.scheme);
    report.add("backend", batch.backend.id.name.clone());
    report.add("profile", batch.backend.profile.name());
    let [leaf, inner] = nouns(batch.backend.scheme);
    let all = format!(
        "{} of {} ({}, {}{})",
        batch.made,
        batch.total,
        count(buckets, leaf),
        count(merges, inner),
        if batch.backend.wraps { ", 1 wrap" } else { "" }
    );
    report.add_as("proofs_made", batch.made, all);
    report.hidden("proofs_total", batch.total);
    report.hidden("buckets", buckets);
    report.hidden("merges", merges);
    report.hidden("wrapped", batch.backend.wraps);
    if batch.damaged > 0 {
        report.add_as("proofs_damaged", batch.damaged, format!("{}, made anew", batch.damaged));
    }
    report.add("proof_kind", batch.kind.name());
    report.add_as("proof_bytes", batch.bytes, size(batch.bytes as u64));
    report.add_as("seconds", proof_seconds, seconds(proof_seconds));
    add_bits(report, &batch.backend);
}

/// The scheme, which text names where it is not ours.
pub(crate) fn add_scheme(report: &mut Report, scheme: Scheme) {
    if scheme == Scheme::default() {
        report.hidden("scheme", scheme.name());
    } else {
        report.add("scheme", scheme.name());
    }
}

/// The soundness numbers of a backend's proofs.
pub(crate) fn add_bits(report: &mut Report, backend: &BackendSpec) {
    bits(report, &backend.id.name, backend.profile, backend.class);
}

/// The three soundness numbers; a backend that shows everything has none.
pub(crate) fn bits(
    report: &mut Report,
    backend: &str,
    profile: evergrove_proof::Profile,
    class: evergrove_proof::HeightClass,
) {
    if backend != backends::DEFAULT {
        for key in ["bits_unique_decoding", "bits_johnson", "bits_conjectured"] {
            report.hidden(key, Value::Null);
        }
        report
            .note(format!("the {backend} backend executes everything again: its proofs are for tests, and not short"));
        return;
    }
    add_soundness(report, evergrove_proof::soundness::bits(profile, class));
}

/// Three numbers of bits.
pub(crate) fn add_soundness(report: &mut Report, bits: SoundnessBits) {
    let mut add = |key, bits: f64, how: &str| {
        let rounded = (bits * 10.0).round() / 10.0;
        report.add_as(key, rounded, format!("{rounded:.1} ({how})"));
    };
    add("bits_unique_decoding", bits.unique_decoding, "proven, by unique decoding");
    add("bits_johnson", bits.johnson, "proven up to the Johnson bound, ePrint 2025/2055");
    add("bits_conjectured", bits.conjectured, "conjectured, random words");
}

/// An estimate as the fields of a report.
pub(crate) fn add_estimate(report: &mut Report, estimate: &BatchEstimate) {
    report.add("batch", estimate.name.clone());
    report.add("members", estimate.members);
    add_scheme(report, estimate.backend.scheme);
    report.add("backend", estimate.backend.id.name.clone());
    report.add("profile", estimate.backend.profile.name());
    let [leaf, inner] = nouns(estimate.backend.scheme);
    let parts = [(estimate.buckets, leaf), (estimate.merges, inner), (estimate.wraps, "wrap")];
    let parts: Vec<_> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| count(n, noun)).collect();
    let parts = if parts.is_empty() { "nothing to make".into() } else { parts.join(", ") };
    report.add_as(
        "proofs_to_make",
        estimate.to_make(),
        format!("{} of {} ({parts})", estimate.to_make(), estimate.total),
    );
    report.hidden("proofs_total", estimate.total);
    report.hidden("buckets", estimate.buckets);
    report.hidden("merges", estimate.merges);
    report.hidden("wraps", estimate.wraps);
    let parallel =
        format!("{} with a worker for every proof, about {}", estimate.depth, seconds(estimate.parallel_seconds));
    report.add_as("rounds", estimate.depth, parallel);
    report.hidden("parallel_seconds", estimate.parallel_seconds);
    report.add_as("seconds", estimate.seconds, format!("about {}, one proof at a time", seconds(estimate.seconds)));
    report.add_as("memory_bytes", estimate.memory_bytes, format!("about {}", size(estimate.memory_bytes)));
}

/// An estimate as an object.
pub(crate) fn estimate_object(estimate: &BatchEstimate) -> Value {
    let mut report = Report::default();
    add_estimate(&mut report, estimate);
    report.object()
}

/// A result as an object.
pub(crate) fn batch_object(batch: &BatchReport) -> Value {
    json!({
        "batch": batch.name, "members": batch.members, "canonical_digest": batch.canonical.to_string(),
        "proofs_made": batch.made, "proofs_total": batch.total, "buckets": batch.buckets, "merges": batch.merges,
        "scheme": batch.backend.scheme.name(), "wrapped": batch.backend.wraps, "proof_kind": batch.kind.name(), "proof_bytes": batch.bytes,
        "backend": batch.backend.id.name, "profile": batch.backend.profile.name(),
    })
}

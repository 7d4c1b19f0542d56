//! `evergrove-bench plonky2-prove` proves the bucket, merge and wrap circuits with our prover and with Plonky2's.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use evergrove_commit::Witness;
use evergrove_commit::watch::{Category, Observer, Step, Trace, Work};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector, vc};
use evergrove_kernels::oracle::Keep;
use evergrove_plonky2::Plonky2Backend;
use evergrove_plonky2::circuit::{C, D, F};
use evergrove_plonky2::prover::{Prover, ProverKind};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{self, Isa};
use evergrove_verifier::{HeightClass, Profile, Statement};
use plonky2::iop::witness::PartialWitness;
use plonky2::plonk::circuit_data::CircuitData;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::memory;
use crate::reckle::timed;
use crate::turns::{self, median, print_json};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Security profile; repeat for more, all if left out.
    #[arg(long, value_name = "PROFILE", value_parser = |s: &str| s.parse::<Profile>())]
    profile: Vec<Profile>,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Proofs by each prover, of which the median counts.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Also measure this many proofs of the merge at a time: on all threads, and on one thread each.
    #[arg(long, value_name = "N")]
    at_once: Option<usize>,
    /// Run our prover also on this instruction set: portable, avx2, avx512 or avx512ifma. Repeat for more.
    #[arg(long, value_name = "NAME", value_parser = isa)]
    isa: Vec<Isa>,
    /// Directory in which circuits are kept from run to run.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Write what each phase of our proofs took to this file, as a trace in Chrome's JSON format.
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
    /// Print the memory of one prover's proofs in this process, and nothing else.
    #[arg(long, hide = true, value_name = "NAME")]
    footprint: Option<ProverKind>,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn isa(name: &str) -> Result<Isa, String> {
    let known = lanes::available().find(|i| i.to_string() == name);
    known.ok_or_else(|| format!("this CPU has no {name}"))
}

/// A category of our phases: the median of its seconds, and its work.
#[derive(Serialize)]
struct Part {
    phase: &'static str,
    seconds: f64,
    hashes: u64,
    multiplications: u64,
    bytes: u64,
}

/// One prover on one circuit.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: String,
    circuit: &'static str,
    profile: &'static str,
    /// Rows of the circuit.
    size: usize,
    threads: usize,
    seconds: f64,
    /// Seconds divided by ours.
    ratio: f64,
    /// The least total processor time of all threads.
    processor_seconds: f64,
    #[serde(flatten)]
    memory: Option<Memory>,
    /// For our prover: seconds to make its tables, their bytes, and the bytes of the buffers of one proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<(f64, [usize; 2])>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<Part>,
    /// Proofs made at a time, if more than one. Then `seconds` is the total time divided by their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_once: Option<usize>,
}

/// Memory of the proofs of one prover in a separate process, beyond the loaded circuits.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Memory {
    /// The peak while two buckets, their merge and its wrap are proven one after the other. It includes the prover's
    /// tables.
    peak_bytes: u64,
    /// Additional peak of two simultaneous proofs of the merge.
    concurrent_bytes: u64,
}

impl Row {
    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let Self { profile, circuit, size, threads, seconds, ratio, .. } = self;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let memory = self.memory.map_or(String::new(), |m| {
            format!(", {:.0} MiB, {:.0} for another at a time", mib(m.peak_bytes), mib(m.concurrent_bytes))
        });
        println!(
            "{profile:8} {circuit:6} {size:6} rows, {threads} threads, {:20} {seconds:8.4} s, {ratio:5.2} times ours, {:.4} s of processor time{memory}",
            self.r#impl, self.processor_seconds,
        );
        let parts: Vec<String> = self.phases.iter().map(|p| format!("{} {:.1}", p.phase, p.seconds * 1e3)).collect();
        if !parts.is_empty() {
            println!("         ms: {}", parts.join(", "));
        }
        Ok(())
    }
}

/// A circuit with its inputs.
struct Subject<'a> {
    name: &'static str,
    circuit: &'a CircuitData<F, C, D>,
    inputs: PartialWitness<F>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build()?;
    let profiles = if args.profile.is_empty() { &Profile::PLONKY2[..] } else { &args.profile };
    let trace = Trace::new({
        let start = Instant::now();
        move || start.elapsed()
    });
    for profile in profiles {
        let backend = Plonky2Backend::load(*profile, HeightClass::H27, args.keys.as_deref())?;
        if let Some(kind) = args.footprint {
            let memory = pool.install(|| memory_here(backend.with_prover(kind)))?;
            println!("{}", serde_json::to_string(&memory)?);
            return Ok(());
        }
        let memory =
            [memory_of(args, *profile, ProverKind::Evergrove)?, memory_of(args, *profile, ProverKind::Plonky2)?];
        pool.install(|| {
            let subjects = subjects(&backend)?;
            subjects.iter().try_for_each(|subject| measure(args, *profile, subject, memory, &trace))?;
            match args.at_once {
                Some(at_once) => throughput(args, *profile, &subjects, at_once),
                None => Ok(()),
            }
        })?;
    }
    if let Some(path) = &args.timings {
        let about = [
            ("program", concat!("evergrove-bench ", env!("CARGO_PKG_VERSION")).into()),
            ("prover", ProverKind::Evergrove.name().into()),
            ("isa", Isa::detect().to_string().into()),
            ("threads", args.threads.into()),
        ];
        let json = trace.to_json(Map::from_iter(about.map(|(key, value)| (key.into(), value))));
        std::fs::write(path, format!("{json}\n")).with_context(|| format!("writing {}", path.display()))?;
        if !args.json {
            println!("{trace}");
        }
    }
    Ok(())
}

/// A full bucket, the merge of two, and their wrap.
fn subjects(backend: &Plonky2Backend) -> anyhow::Result<Vec<Subject<'_>>> {
    // Two full buckets in the two halves of the tree.
    let (height, m) = (27, backend.spec().capacity as u64);
    let far = 1 << 26;
    let members: Vec<u64> = (0..m).chain((0..m).map(|i| far + i)).collect();
    let mut vector = Vector::new(height, MemoryStore::new())?;
    let value = |i: u64| core::array::from_fn(|k| Goldilocks::reduce(i * 31 + k as u64));
    vector.apply(&members.iter().map(|i| (*i, Some(value(*i)))).collect::<Vec<_>>())?;
    let pp = vc::setup(height, backend)?;
    let (_, data) = vc::agg(&pp, &members, &vector)?;
    let proof = |s: &Statement, kind| -> &NodeProof { &data.proofs[&(*s, kind)] };
    let nodes = data.batch.nodes();
    let bucket = nodes.iter().find(|n| n.kind() == NodeKind::Bucket).context("a bucket")?;
    let merge = nodes.iter().find(|n| n.kind() == NodeKind::Merge).context("a merge")?;
    let Witness::Bucket(witness) = bucket.witness(&vector)? else { anyhow::bail!("a bucket's witness") };
    let pair = backend.circuits();
    let mut subjects =
        vec![Subject { name: "bucket", circuit: &pair.bucket.data, inputs: backend.bucket_inputs(&witness)? }];
    let Witness::Merge(witness) = merge.witness(&vector)? else { anyhow::bail!("a merge's witness") };
    let mut children = nodes.iter().filter(|n| n.kind() == NodeKind::Bucket).collect::<Vec<_>>();
    children.sort_by_key(|n| n.statement.base);
    let [left, right] = [0, 1].map(|i| proof(&children[i].statement, NodeKind::Bucket));
    let inputs = backend.merge_inputs(left, right, &witness)?;
    subjects.push(Subject { name: "merge", circuit: &pair.merge.data, inputs });
    if let Some(wrap) = backend.wrap_circuit() {
        let top = proof(&merge.statement, NodeKind::Merge);
        subjects.push(Subject { name: "wrap", circuit: &wrap.data, inputs: backend.wrap_inputs(top)? });
    }
    Ok(subjects)
}

/// Measures the memory of the proofs in this process.
fn memory_here(backend: Plonky2Backend) -> anyhow::Result<Memory> {
    let loaded = memory::start_peak();
    let subjects = subjects(&backend)?;
    let peak_bytes = memory::resident().1.saturating_sub(loaded);
    let merge = subjects.iter().find(|s| s.name == "merge").context("a merge")?;
    let prove = || backend.circuits().merge.prove(merge.inputs.clone()).map(drop);
    let (one, other) = rayon::join(prove, prove);
    one.and(other)?;
    let both = memory::resident().1.saturating_sub(loaded);
    Ok(Memory { peak_bytes, concurrent_bytes: both - peak_bytes })
}

/// Runs [`memory_here`] in a separate process.
fn memory_of(args: &Args, profile: Profile, kind: ProverKind) -> anyhow::Result<Memory> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["plonky2-prove", "--footprint", kind.name(), "--profile", profile.name()]);
    command.args(["--threads", &args.threads.to_string()]);
    if let Some(keys) = &args.keys {
        command.arg("--keys").arg(keys);
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    ensure!(output.status.success(), "measuring the memory of {kind} ended with {}", output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("the memory of {kind}"))
}

/// Seconds and work of one proof, by category.
#[derive(Clone, Copy, Default)]
struct Phases([(f64, Work); Category::ALL.len()]);

impl Phases {
    fn add(&mut self, step: &Step, seconds: f64) {
        let at = Category::ALL.iter().position(|c| *c == step.category());
        if let Some((sum, work)) = at.and_then(|at| self.0.get_mut(at)) {
            *sum += seconds;
            *work = *work + step.work;
        }
    }

    /// The medians over `proofs`.
    fn medians(proofs: &[Self]) -> Vec<Part> {
        let part = |(at, category): (usize, &Category)| {
            let seconds = median(proofs.iter().map(|p| p.0[at].0));
            let work = proofs.last().map_or(Work::default(), |p| p.0[at].1);
            let Work { hashes, multiplications, bytes, .. } = work;
            Part { phase: category.name(), seconds, hashes, multiplications, bytes }
        };
        Category::ALL.iter().enumerate().map(part).collect()
    }
}

/// Measures all provers on one circuit, in turns. First, Plonky2's verifier checks a proof of each.
fn measure(
    args: &Args,
    profile: Profile,
    subject: &Subject<'_>,
    memory: [Memory; 2],
    trace: &Trace,
) -> anyhow::Result<()> {
    let Subject { name, circuit, inputs } = subject;
    let mut isas = vec![Isa::detect()];
    isas.extend(args.isa.iter().copied().filter(|i| *i != Isa::detect()));
    let (first, tables_seconds) = timed(|| Ok(Prover::new(circuit)?))?;
    let mut ours = vec![first];
    for isa in &isas[1..] {
        ours.push(Prover::on(*isa, Keep::Values, circuit)?);
    }
    let mut proofs: Vec<Vec<Phases>> = vec![Vec::new(); isas.len()];
    let mut verified = vec![false; isas.len() + 1];
    let mut processor = vec![f64::INFINITY; isas.len() + 1];
    let medians = turns::medians(isas.len() + 1, args.runs, |k| {
        let inputs = inputs.clone();
        let before = memory::processor_seconds();
        let start = Instant::now();
        let proof = match ours.get(k) {
            Some(prover) => {
                // The first proof, in the turn that is not counted, records the order of witness generation.
                let mut traced = (k == 0 && verified[0]).then(|| trace.proof(name, circuit.common.degree()));
                let (mut last, mut phases) = (start, Phases::default());
                let proof = prover.prove_observed(circuit, inputs, &mut |step| {
                    let now = Instant::now();
                    phases.add(&step, (now - last).as_secs_f64());
                    last = now;
                    if let Some(traced) = &mut traced {
                        traced(step);
                    }
                })?;
                if verified[k] {
                    proofs[k].push(phases);
                }
                proof
            }
            None => circuit.prove(inputs)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        processor[k] = processor[k].min(memory::processor_seconds() - before);
        if !core::mem::replace(&mut verified[k], true) {
            circuit.verify(proof.clone())?;
        }
        Ok((seconds, proof.public_inputs))
    })?;
    ensure!(verified.iter().all(|v| *v), "a prover made no proof");
    for (k, seconds) in medians.iter().enumerate() {
        let (by, memory) = match isas.get(k) {
            Some(_) if k == 0 => ("evergrove".into(), Some(memory[0])),
            Some(isa) => (format!("evergrove-{isa}"), None),
            None => ("plonky2".to_owned(), Some(memory[1])),
        };
        let row = Row {
            kernel: "plonky2-prove",
            r#impl: by,
            circuit: name,
            profile: profile.name(),
            size: circuit.common.degree(),
            threads: args.threads,
            seconds: *seconds,
            ratio: seconds / medians[0],
            processor_seconds: processor[k],
            memory,
            tables: (k == 0).then(|| (tables_seconds, ours[0].memory())),
            phases: proofs.get(k).map_or(Vec::new(), |proofs| Phases::medians(proofs)),
            at_once: None,
        };
        row.print(args.json)?;
    }
    Ok(())
}

/// Measures proofs of the merge in three ways: one after the other, several at a time on shared threads, and several on
/// one thread each.
fn throughput(args: &Args, profile: Profile, subjects: &[Subject<'_>], at_once: usize) -> anyhow::Result<()> {
    let Subject { circuit, inputs, .. } = subjects.iter().find(|s| s.name == "merge").context("a merge")?;
    let prover = Prover::new(circuit)?;
    let prove = || prover.prove(circuit, inputs.clone()).map(|proof| proof.public_inputs);
    let alone = (0..at_once).map(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build());
    let alone = alone.collect::<Result<Vec<_>, _>>()?;
    let mut processor = [f64::INFINITY; 3];
    let medians = turns::medians(3, args.runs, |k| {
        let before = memory::processor_seconds();
        let start = Instant::now();
        let proofs: Vec<anyhow::Result<_>> = match k {
            0 => (0..at_once).map(|_| prove()).collect(),
            1 => (0..at_once).into_par_iter().with_max_len(1).map(|_| prove()).collect(),
            _ => std::thread::scope(|scope| {
                let threads: Vec<_> = alone.iter().map(|pool| scope.spawn(|| pool.install(prove))).collect();
                let join =
                    |t: std::thread::ScopedJoinHandle<'_, _>| t.join().unwrap_or_else(|_| bail!("a proof panicked"));
                threads.into_iter().map(join).collect()
            }),
        };
        let seconds = start.elapsed().as_secs_f64() / at_once as f64;
        processor[k] = processor[k].min((memory::processor_seconds() - before) / at_once as f64);
        Ok((seconds, proofs.into_iter().collect::<anyhow::Result<Vec<_>>>()?))
    })?;
    let ways = ["evergrove", "evergrove-shared", "evergrove-alone"];
    for ((by, seconds), processor_seconds) in ways.into_iter().zip(&medians).zip(processor) {
        let row = Row {
            kernel: "plonky2-prove",
            r#impl: by.into(),
            circuit: "merge",
            profile: profile.name(),
            size: circuit.common.degree(),
            threads: args.threads,
            seconds: *seconds,
            ratio: seconds / medians[0],
            processor_seconds,
            memory: None,
            tables: None,
            phases: Vec::new(),
            at_once: Some(at_once),
        };
        row.print(args.json)?;
    }
    Ok(())
}

//! `evergrove-bench plonky2-prove`: proofs of the bucket, merge and wrap circuits by our prover and by Plonky2's.

use std::time::Instant;

use anyhow::{Context, ensure};
use evergrove_commit::batch::Witness;
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector, vc};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{self, Isa};
use evergrove_proof::{HeightClass, Profile, Statement};
use evergrove_recursion::Plonky2Backend;
use evergrove_recursion::circuit::{C, D, F};
use evergrove_recursion::prover::{Phase, Prover};
use plonky2::iop::witness::PartialWitness;
use plonky2::plonk::circuit_data::CircuitData;
use serde::Serialize;

use crate::{memory, turns};

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
    /// Run our prover also on this instruction set: portable, avx2, avx512 or avx512ifma. Repeat for more.
    #[arg(long, value_name = "NAME", value_parser = isa)]
    isa: Vec<Isa>,
    /// Directory in which circuits are kept from run to run.
    #[arg(long, value_name = "DIR")]
    keys: Option<std::path::PathBuf>,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn isa(name: &str) -> Result<Isa, String> {
    let known = lanes::available().find(|i| i.to_string() == name);
    known.ok_or_else(|| format!("this CPU has no {name}"))
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
    /// The implementation's seconds per second of ours.
    ratio: f64,
    /// By how much the resident set grew during a proof, at most.
    peak_bytes: u64,
    /// Of our prover: seconds to make its tables, their bytes, and those of the buffers of one proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<(f64, [usize; 2])>,
    /// Seconds by phase, of the last proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<(String, f64)>,
}

impl Row {
    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let Self { profile, circuit, size, threads, seconds, ratio, .. } = self;
        println!(
            "{profile:8} {circuit:6} {size:6} rows, {threads} threads, {:20} {seconds:8.4} s, {ratio:5.2} times ours, {:5.0} MiB",
            self.r#impl,
            self.peak_bytes as f64 / f64::from(1 << 20)
        );
        let phases: Vec<String> = self.phases.iter().map(|(p, s)| format!("{p} {:.1}", s * 1e3)).collect();
        if !phases.is_empty() {
            println!("         ms: {}", phases.join(", "));
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build()?;
    let profiles = if args.profile.is_empty() { &Profile::ALL[..] } else { &args.profile };
    pool.install(|| profiles.iter().try_for_each(|p| profile(args, *p)))
}

fn profile(args: &Args, profile: Profile) -> anyhow::Result<()> {
    let backend = Plonky2Backend::load(profile, HeightClass::H27, args.keys.as_deref())?;
    // Two full buckets, side by side.
    let (height, m) = (27, backend.capacity() as u64);
    let far = 1 << 26;
    let members: Vec<u64> = (0..m).chain((0..m).map(|i| far + i)).collect();
    let mut vector = Vector::new(height, MemoryStore::new())?;
    let value = |i: u64| core::array::from_fn(|k| Goldilocks::reduce(i * 31 + k as u64));
    vector.apply(&members.iter().map(|i| (*i, Some(value(*i)))).collect::<Vec<_>>())?;
    let pp = vc::r#gen(height, &backend)?;
    let (_, data) = vc::agg(&pp, &members, &vector)?;
    let proof = |s: &Statement, kind| -> &NodeProof { &data.proofs[&(*s, kind)] };
    let nodes = data.batch.nodes();
    let bucket = nodes.iter().find(|n| n.kind() == NodeKind::Bucket).context("a bucket")?;
    let merge = nodes.iter().find(|n| n.kind() == NodeKind::Merge).context("a merge")?;
    let Witness::Bucket(witness) = bucket.witness(&vector)? else { anyhow::bail!("a bucket's witness") };
    let pair = backend.circuits();
    measure(args, profile, "bucket", &pair.bucket.data, &backend.bucket_inputs(&witness)?)?;
    let Witness::Merge(witness) = merge.witness(&vector)? else { anyhow::bail!("a merge's witness") };
    let mut children = nodes.iter().filter(|n| n.kind() == NodeKind::Bucket).collect::<Vec<_>>();
    children.sort_by_key(|n| n.statement.base);
    let [left, right] = [0, 1].map(|i| proof(&children[i].statement, NodeKind::Bucket));
    measure(args, profile, "merge", &pair.merge.data, &backend.merge_inputs(left, right, &witness)?)?;
    if let Some(wrap) = backend.wrap_circuit() {
        let top = proof(&merge.statement, NodeKind::Merge);
        measure(args, profile, "wrap", &wrap.data, &backend.wrap_inputs(top)?)?;
    }
    Ok(())
}

/// All provers on one circuit, in turns. Plonky2's verifier checks a proof of each first.
fn measure(
    args: &Args,
    profile: Profile,
    name: &'static str,
    circuit: &CircuitData<F, C, D>,
    inputs: &PartialWitness<F>,
) -> anyhow::Result<()> {
    let mut isas = vec![Isa::detect()];
    isas.extend(args.isa.iter().copied().filter(|i| *i != Isa::detect()));
    let start = Instant::now();
    let mut ours = vec![Prover::new(circuit)?];
    let tables_seconds = start.elapsed().as_secs_f64();
    for isa in &isas[1..] {
        ours.push(Prover::on(*isa, circuit)?);
    }
    let mut peaks = vec![0; isas.len() + 1];
    let mut phases: Vec<(Phase, f64)> = Vec::new();
    let mut verified = vec![false; isas.len() + 1];
    let medians = turns::medians(isas.len() + 1, args.runs, |k| {
        let before = memory::start_peak();
        let start = Instant::now();
        let proof = match ours.get(k) {
            Some(prover) => {
                let (mut last, mut ended) = (start, Vec::new());
                let proof = prover.prove_observed(circuit, inputs.clone(), &mut |phase| {
                    ended.push((phase, last.elapsed().as_secs_f64()));
                    last = Instant::now();
                })?;
                if k == 0 {
                    phases = ended;
                }
                proof
            }
            None => circuit.prove(inputs.clone())?,
        };
        let seconds = start.elapsed().as_secs_f64();
        peaks[k] = peaks[k].max(memory::resident().1.saturating_sub(before));
        if !core::mem::replace(&mut verified[k], true) {
            circuit.verify(proof.clone())?;
        }
        Ok((seconds, proof.public_inputs))
    })?;
    ensure!(verified.iter().all(|v| *v), "a prover made no proof");
    for (k, seconds) in medians.iter().enumerate() {
        let by = match isas.get(k) {
            Some(_) if k == 0 => "evergrove".into(),
            Some(isa) => format!("evergrove-{isa}"),
            None => "plonky2".to_owned(),
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
            peak_bytes: peaks[k],
            tables: (k == 0).then(|| (tables_seconds, ours[0].memory())),
            phases: match k {
                0 => phases.iter().map(|(p, s)| (format!("{p:?}").to_lowercase(), *s)).collect(),
                _ => Vec::new(),
            },
        };
        row.print(args.json)?;
    }
    Ok(())
}

//! `engine` measures proofs of the backend `grove`, a full bucket and a merge of two, compared with those of Plonky2's
//! profile `proven` with our prover.
//!
//! A run is a backend's work for a node: it verifies the children, makes the witness and the proof, and verifies the
//! new proof.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, ensure};
use evergrove_commit::watch::{Matrix, Observer, Phase, Step};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector, Witness, vc};
use evergrove_grove::{GroveBackend, circuit, shape};
use evergrove_multilinear::recursion;
use evergrove_plonky2::Plonky2Backend;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::lanes::Isa;
use evergrove_verifier::argument::{JOHNSON_128, UNIQUE_100};
use evergrove_verifier::tables::Table;
use evergrove_verifier::{HeightClass, Profile, soundness};
use serde::Serialize;

use crate::memory;
use crate::merkle::parse_isa;
use crate::turns::{medians, print_json};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// grove-100 or grove-128.
    #[arg(long, default_value_t = Profile::Grove100)]
    profile: Profile,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Proofs by each, of which the median counts.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// The instruction set that all of it is to use, the best one of this CPU by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Without Plonky2's proofs.
    #[arg(long)]
    alone: bool,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: Profiled,
    /// Leaves of a bucket.
    size: usize,
    threads: u32,
    seconds: f64,
    /// Seconds divided by ours.
    ratio: f64,
    proof_bytes: usize,
    bits_unique_decoding: f64,
    bits_johnson: f64,
    #[serde(flatten)]
    own: Option<Own>,
}

/// A profile, serialized by its name.
struct Profiled(Profile);

impl Serialize for Profiled {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

/// Fields that only our rows have.
#[derive(Serialize)]
struct Own {
    permutations: usize,
    /// Seconds to build the backend.
    start: f64,
    /// Peak memory of the proofs so far beyond that of the backend, in bytes. `None` without `--alone`.
    peak_bytes: Option<u64>,
    /// Seconds of each step of the last proof.
    claims: f64,
    witness: f64,
    commitment: f64,
    bus: f64,
    rows: f64,
    opening: f64,
    check: f64,
}

/// Seconds of the steps of the last proof.
#[derive(Default)]
struct Last(Mutex<Vec<(Step, f64)>>);

impl Last {
    fn seconds(&self, of: impl Fn(&Step) -> bool) -> f64 {
        let steps = self.0.lock().unwrap_or_else(|e| e.into_inner());
        steps.iter().filter(|(step, _)| of(step)).map(|(_, seconds)| seconds).sum()
    }
    fn phase(&self, phase: Phase) -> f64 {
        self.seconds(|step| step.phase == phase)
    }
}

/// Records the steps of each proof in the shared [`Last`].
struct Watch(Arc<Last>);

impl Observer for Watch {
    fn proof(&self, _: &'static str, _: usize) -> Box<dyn FnMut(Step)> {
        let last = Arc::clone(&self.0);
        last.0.lock().unwrap_or_else(|e| e.into_inner()).clear();
        let mut start = Instant::now();
        Box::new(move |step| {
            let seconds = core::mem::replace(&mut start, Instant::now()).elapsed().as_secs_f64();
            last.0.lock().unwrap_or_else(|e| e.into_inner()).push((step, seconds));
        })
    }
}

/// A backend's inputs: the witness of a full bucket, the witness of a merge, and the proofs of its two buckets.
struct Subject {
    bucket: Witness,
    merge: Witness,
    children: [NodeProof; 2],
}

impl Subject {
    fn new<B: RecursionBackend>(backend: &B) -> anyhow::Result<Self> {
        let (height, m) = (backend.spec().class.height_max(), backend.spec().capacity as u64);
        let far = 1 << (height - 1);
        let members: Vec<u64> = (0..m).flat_map(|i| [i, far + i]).collect();
        let mut vector = Vector::new(height, MemoryStore::new())?;
        let value = |i: u64| core::array::from_fn(|k| Goldilocks::reduce(i * 31 + k as u64));
        vector.apply(&members.iter().map(|i| (*i, Some(value(*i)))).collect::<Vec<_>>())?;
        let (_, data) = vc::agg(&vc::setup(height, backend)?, &members, &vector)?;
        let nodes = data.batch.nodes();
        let mut buckets: Vec<_> = nodes.iter().filter(|node| node.kind() == NodeKind::Bucket).collect();
        buckets.sort_by_key(|node| node.statement.base);
        ensure!(buckets.len() == 2, "{} buckets", buckets.len());
        let merge = nodes.iter().find(|node| node.kind() == NodeKind::Merge).context("a merge")?;
        let proof = |i: usize| data.proofs[&(buckets[i].statement, NodeKind::Bucket)].as_ref().clone();
        Ok(Self {
            bucket: buckets[0].witness(&vector)?,
            merge: merge.witness(&vector)?,
            children: [proof(0), proof(1)],
        })
    }
    fn of(&self, kind: NodeKind) -> (&Witness, Vec<&NodeProof>) {
        match kind {
            NodeKind::Bucket => (&self.bucket, Vec::new()),
            _ => (&self.merge, self.children.iter().collect()),
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(isa) = args.isa {
        isa.choose();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build()?;
    pool.install(|| measure(args))
}

fn measure(args: &Args) -> anyhow::Result<()> {
    let class = HeightClass::H27;
    let start = Instant::now();
    let last = Arc::new(Last::default());
    let observer: Arc<dyn Observer> = Arc::new(Watch(Arc::clone(&last)));
    let ours = GroveBackend::new(args.profile, class)?.with_observer(Some(&observer));
    let start = start.elapsed().as_secs_f64();
    let loaded = memory::start_peak();
    let own = Subject::new(&ours)?;
    let peak_bytes = args.alone.then(|| memory::resident().1.saturating_sub(loaded));
    let peer = if args.alone { None } else { Some(Plonky2Backend::load(Profile::Proven, class, None)?) };
    let peer = peer.as_ref().map(|backend| Ok::<_, anyhow::Error>((backend, Subject::new(backend)?))).transpose()?;
    for (kernel, kind) in [("engine-bucket", NodeKind::Bucket), ("engine-merge", NodeKind::Merge)] {
        let mut bytes = [0; 2];
        let seconds = medians(1 + usize::from(peer.is_some()), args.runs as usize, |k| {
            let start = Instant::now();
            let proof = if k == 0 {
                let (witness, children) = own.of(kind);
                ours.prove(witness, &children)?
            } else {
                let (backend, subject) = peer.as_ref().context("Plonky2's backend")?;
                let (witness, children) = subject.of(kind);
                backend.prove(witness, &children)?
            };
            bytes[k] = proof.bytes.len();
            Ok((start.elapsed().as_secs_f64(), ()))
        })?;
        for (k, name) in ["evergrove", "plonky2"].into_iter().enumerate().take(seconds.len()) {
            let profile = if k == 0 { args.profile } else { Profile::Proven };
            let bits = soundness::bits(profile, class);
            let row = Row {
                kernel,
                r#impl: name,
                profile: Profiled(profile),
                size: profile.bucket_capacity(class),
                threads: args.threads,
                seconds: seconds[k],
                ratio: seconds[k] / seconds[0],
                proof_bytes: bytes[k],
                bits_unique_decoding: bits.unique_decoding,
                bits_johnson: bits.johnson,
                own: (k == 0).then(|| Own {
                    permutations: permutations(args.profile, class, kind).unwrap_or(0),
                    start,
                    peak_bytes,
                    claims: last.phase(Phase::Claims),
                    witness: last.phase(Phase::Witness),
                    commitment: last.seconds(|step| step.phase == Phase::Trace || step.matrix == Some(Matrix::Stack)),
                    bus: last.phase(Phase::Bus),
                    rows: last.phase(Phase::Rows),
                    opening: last.seconds(|step| {
                        matches!(step.phase, Phase::Opening | Phase::Grinding) || step.matrix == Some(Matrix::Fold)
                    }),
                    check: last.phase(Phase::Check),
                }),
            };
            print(&row, args.json)?;
        }
    }
    Ok(())
}

/// Permutation rows of a circuit.
fn permutations(profile: Profile, class: HeightClass, kind: NodeKind) -> Option<usize> {
    let size = circuit::Size { height_max: class.height_max(), capacity: profile.bucket_capacity(class) };
    let shape = shape(profile, class)?;
    let (modes, blocks, variables) = (circuit::CircuitSet::of_batches(size).modes(), shape.blocks, shape.variables);
    let rows = match profile {
        Profile::Grove128 => {
            let parameters = recursion::parameters::<Cubic>(&JOHNSON_128, &modes, blocks, variables);
            match kind {
                NodeKind::Bucket => circuit::bucket(&parameters, size).rows(Table::Permutation),
                _ => circuit::merge(&parameters, size).rows(Table::Permutation),
            }
        }
        _ => {
            let parameters = recursion::parameters::<Quadratic>(&UNIQUE_100, &modes, blocks, variables);
            match kind {
                NodeKind::Bucket => circuit::bucket(&parameters, size).rows(Table::Permutation),
                _ => circuit::merge(&parameters, size).rows(Table::Permutation),
            }
        }
    };
    Some(rows)
}

fn print(row: &Row, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(row);
    }
    let Row { kernel, profile: Profiled(profile), threads, seconds, ratio, .. } = row;
    println!("{kernel} {:10} {profile:10} {threads} threads: {seconds:.4} s, {ratio:.2} times ours", row.r#impl);
    println!("    a proof of {} bytes, {:.1} bits by unique decoding", row.proof_bytes, row.bits_unique_decoding);
    let Some(Own { permutations, start, peak_bytes, .. }) = row.own else { return Ok(()) };
    println!("    {permutations} permutations, {start:.3} s until the first proof");
    if let Some(peak) = peak_bytes {
        println!("    {:.0} MB of memory for the proofs", peak as f64 / 1e6);
    }
    if let Some(Own { claims, witness, commitment, bus, rows, opening, check, .. }) = row.own {
        let parts = [
            ("claims", claims),
            ("witness", witness),
            ("commitment", commitment),
            ("bus", bus),
            ("rows", rows),
            ("opening", opening),
            ("check", check),
        ];
        println!("    ms: {}", parts.map(|(name, seconds)| format!("{name} {:.1}", 1e3 * seconds)).join(", "));
    }
    Ok(())
}

//! `engine-verify` verifies a merge of the backend `grove` on one thread: with the key in memory, and with a key file
//! as `evergrove-verifier` does, in lanes and in plain Rust. The peer is Plonky2's merge with our verifier.

use std::time::Instant;

use anyhow::{Context, ensure};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector, vc};
use evergrove_grove::{BACKEND_NAME, BACKEND_VERSION, GroveBackend, GroveVerifier};
use evergrove_plonky2::Plonky2Backend;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::Isa;
use evergrove_verifier::verify::{Outcome, Request};
use evergrove_verifier::{BackendId, BatchProof, Commitment, HeightClass, Policy, Profile, SCHEME};

use crate::turns::{Row, medians};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// grove-100 or grove-128.
    #[arg(long, default_value_t = Profile::Grove100)]
    profile: Profile,
    /// Verifications by each, of which the median counts.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

const CLASS: HeightClass = HeightClass::H27;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| measure(args))
}

/// A merge of two buckets.
fn merge(backend: &impl RecursionBackend) -> anyhow::Result<NodeProof> {
    let height = CLASS.height_max();
    let members: Vec<u64> = (0..backend.spec().capacity as u64).flat_map(|i| [i, (1 << (height - 1)) + i]).collect();
    let mut vector = Vector::new(height, MemoryStore::new())?;
    let value = |i: u64| core::array::from_fn(|k| Goldilocks::reduce(i * 31 + k as u64));
    vector.apply(&members.iter().map(|i| (*i, Some(value(*i)))).collect::<Vec<_>>())?;
    let (_, data) = vc::agg(&vc::setup(height, backend)?, &members, &vector)?;
    let root = data.proofs.values().find(|proof| proof.kind == NodeKind::Merge && proof.statement.height == height);
    Ok(root.context("a merge of the whole vector")?.as_ref().clone())
}

fn measure(args: &Args) -> anyhow::Result<()> {
    let proof = merge(&GroveBackend::new(args.profile, CLASS)?)?;
    let in_memory = GroveVerifier::new(args.profile, CLASS)?;
    let mut key = Vec::new();
    in_memory.write_key(&mut key)?;
    let statement = proof.statement;
    let file = BatchProof {
        scheme: SCHEME.into(),
        backend: BackendId::new(BACKEND_NAME, BACKEND_VERSION),
        profile: args.profile,
        class: CLASS,
        kind: proof.kind,
        statement,
        app: None,
        body: proof.bytes.clone(),
    };
    let file = file.encode();
    let commitment = Commitment { height: statement.height, root: statement.root };
    let policy = Policy::default().allow_profile(args.profile);
    let beside_a_file = || -> anyhow::Result<()> {
        let Outcome::Key(mut check) = Request::new(&file, &commitment, &policy).start()? else {
            anyhow::bail!("a batch needs a key")
        };
        key.chunks(1 << 16).try_for_each(|piece| check.key(piece))?;
        check.finish()?;
        Ok(())
    };
    let plonky2 = Plonky2Backend::load(Profile::Proven, CLASS, None)?;
    let theirs = merge(&plonky2)?;
    let best = Isa::detect();
    let names = ["in memory", "key file", "key file, plain Rust", "plonky2 circuits, our verifier"];
    let seconds = medians(names.len(), args.runs as usize, |k| {
        let isa = if k == 2 { Isa::Portable } else { best };
        isa.choose();
        let start = Instant::now();
        match k {
            0 => in_memory.verify(&proof)?,
            1 | 2 => beside_a_file()?,
            _ => plonky2.verify(&theirs)?,
        }
        Ok((start.elapsed().as_secs_f64(), ()))
    })?;
    best.choose();
    ensure!(seconds.len() == names.len(), "a median of each");
    for (name, &seconds_each) in names.iter().zip(&seconds) {
        let row = Row {
            ns_per_element: 1e9 * seconds_each / (proof.bytes.len() / 8) as f64,
            ratio: Some(seconds_each / seconds[0]),
            ..Row::new("engine-verify", *name, proof.bytes.len(), seconds_each)
        };
        row.print(args.json, "elements of the proof")?;
    }
    Ok(())
}

//! `evergrove-bench digest-translation`: both digests of a table proven, one leaf changed, the proof verified; beside one circuit
//! for the whole tree, which knows no updates.

mod monolithic;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use evergrove_apps::digest_translation::{BUCKET_HEIGHT, DigestTranslation, TranslationBackend};
use evergrove_commit::Witness;
use evergrove_commit::vc::{self, PublicParameters};
use evergrove_commit::{MemoryStore, RecursionBackend, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_proof::tree::Value;
use evergrove_proof::{HeightClass, Profile};
use serde::Serialize;

use crate::memory::{self, Took};
use crate::reckle::timed;
use crate::turns::print_json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the number of leaves.
    #[arg(long, default_value_t = 10)]
    log_size: u8,
    /// Only this profile; else one process for each of `paper` and `proven`.
    #[arg(long)]
    profile: Option<Profile>,
    /// log2 of the leaves of a bucket.
    #[arg(long, default_value_t = BUCKET_HEIGHT)]
    bucket_height: u8,
    /// Updates and verifications; the median counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Workers of the projection to 2^23 leaves, each like this machine.
    #[arg(long, default_value_t = 192)]
    workers: u64,
    /// Height of the greatest tree that one circuit really proves, each in a process of its own; up to 7, and where free memory
    /// does not suffice, the times are computed from it. 1 for none.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=7))]
    measured_height: u8,
    /// Directory of cached circuits.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Measure one circuit for a tree of this height, and nothing else.
    #[arg(long, hide = true, requires = "profile")]
    monolithic: Option<u8>,
    /// Measure it without keeping extensions.
    #[arg(long, hide = true, requires = "monolithic")]
    sparing: bool,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    /// Leaves.
    size: usize,
    bucket_height: u8,
    threads: usize,
    /// Rows of the circuits before padding: bucket, merge.
    rows: [usize; 2],
    bits_unique_decoding: f64,
    bits_johnson: f64,
    setup_seconds: f64,
    /// All proofs, with the wrap where the profile has one.
    seconds: f64,
    processor_seconds: f64,
    ms_per_leaf: f64,
    proofs: usize,
    /// Table and bucket; a merge; the wrap.
    bucket_seconds: f64,
    merge_seconds: Option<f64>,
    wrap_seconds: f64,
    /// One leaf changed, with the wrap.
    update_seconds: f64,
    update_processor_seconds: f64,
    update_proofs: usize,
    verify_ms: f64,
    proof_bytes: usize,
    peak_bytes: u64,
    /// Computed, not measured: 2^23 leaves on this many workers, proofs spread evenly and the path to the root at the end.
    projected_workers: u64,
    projected_seconds: f64,
}

impl Row {
    /// What the update of one leaf took.
    fn update(&self) -> Took {
        Took { seconds: self.update_seconds, processor_seconds: self.update_processor_seconds }
    }
}

const KERNEL: &str = "digest-translation";

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let Some(profile) = args.profile else {
        for profile in [Profile::Paper, Profile::Proven] {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(std::env::args_os().skip(1)).args(["--profile", profile.name()]);
            ensure!(command.status()?.success(), "profile {profile} failed");
        }
        return Ok(());
    };
    rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global()?;
    if let Some(height) = args.monolithic {
        return monolithic::measure(profile, height, args.sparing, args.repeat);
    }
    let row = measure(args, profile)?;
    print(&row, args.json)?;
    for baseline in monolithic::rows(profile, args.measured_height, args.threads, args.repeat, row.update())? {
        baseline.print(args.json)?;
    }
    Ok(())
}

fn value(i: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::reduce((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(k as u32)))
}

fn measure(args: &Args, profile: Profile) -> anyhow::Result<Row> {
    let app = DigestTranslation::with_buckets(args.bucket_height).context("--bucket-height: from 1 to 8")?;
    ensure!(args.log_size >= args.bucket_height, "a bucket has 2^{} leaves", args.bucket_height);
    let class = HeightClass::of(args.log_size).context("a height of 1 to 40")?;
    let (backend, setup_seconds) = timed(|| Ok(TranslationBackend::load(app, profile, class, args.keys.as_deref())?))?;
    let leaves = 1u64 << args.log_size;
    let mut vector = Vector::new(args.log_size, MemoryStore::new())?;
    vector.apply(&(0..leaves).map(|i| (i, Some(value(i)))).collect::<Vec<_>>())?;
    let parameters: PublicParameters<&TranslationBackend> = vc::r#gen(args.log_size, &backend)?;

    // The first proofs make the provers' tables.
    let mut small = Vector::new(args.bucket_height + 1, MemoryStore::new())?;
    small.apply(&(0..2 << args.bucket_height).map(|i| (i, Some(value(i)))).collect::<Vec<_>>())?;
    vc::agg(&vc::r#gen(small.height(), &backend)?, &[], &small)?;
    let ((_, mut data), all) = memory::took(|| Ok(vc::agg(&parameters, &[], &vector)?))?;
    let proofs = data.made;
    let cost = data.batch.cost(backend.spec().wraps);

    let nodes = data.batch.nodes();
    let Witness::Bucket(witness) = nodes[0].witness(&vector)? else { anyhow::bail!("the first node is a bucket") };
    let (_, bucket_seconds) = timed(|| Ok(backend.prove(&witness.clone().into(), &[])?))?;
    let wrap_seconds = match backend.spec().wraps {
        true => {
            let root = data.batch.root();
            let proof = data.proofs[&(root.statement, root.kind())].clone();
            timed(|| Ok(backend.prove(&Witness::Wrap, &[&proof])?))?.1
        }
        false => 0.0,
    };
    let merge_seconds = (all.seconds - wrap_seconds - cost.buckets as f64 * bucket_seconds) / cost.merges.max(1) as f64;
    let merge_seconds = (cost.merges > 0).then_some(merge_seconds);

    let (mut updates, mut update_proofs, mut last) = (Vec::new(), 0, None);
    for i in 0..args.repeat.max(1) as u64 {
        let index = (i * 0x9e37) % leaves;
        vector.apply(&[(index, Some(value(index + leaves)))])?;
        let ((proof, next), update) =
            memory::took(|| Ok(vc::upd_batch_proof(&parameters, &data, &vector, &[index], &[], &[])?))?;
        update_proofs = update_proofs.max(next.made);
        data = next;
        updates.push(update);
        last = Some(proof);
    }
    let last = last.context("an update")?;
    ensure!(last.statement.root == vector.root()?, "the proof is of another table");
    let verifications: anyhow::Result<Vec<_>> =
        (0..args.repeat.max(9)).map(|_| Ok(memory::took(|| Ok(backend.verify(&last)?))?.1)).collect();
    let update = memory::median(updates).context("an update")?;
    let verification = memory::median(verifications?).context("a verification")?;

    let bits = backend.bits();
    let large = (1u64 << 23) >> args.bucket_height;
    let rounds = large.div_ceil(args.workers) as f64;
    let merge = merge_seconds.unwrap_or(bucket_seconds);
    Ok(Row {
        kernel: KERNEL,
        r#impl: "evergrove",
        profile: profile.name(),
        size: leaves as usize,
        bucket_height: args.bucket_height,
        threads: args.threads,
        rows: [backend.circuits().bucket.rows, backend.circuits().merge.rows],
        bits_unique_decoding: bits.unique_decoding,
        bits_johnson: bits.johnson,
        setup_seconds,
        seconds: all.seconds,
        processor_seconds: all.processor_seconds,
        ms_per_leaf: all.seconds * 1e3 / leaves as f64,
        proofs,
        bucket_seconds,
        merge_seconds,
        wrap_seconds,
        update_seconds: update.seconds,
        update_processor_seconds: update.processor_seconds,
        update_proofs,
        verify_ms: verification.seconds * 1e3,
        proof_bytes: last.bytes.len(),
        peak_bytes: memory::resident().1,
        projected_workers: args.workers,
        projected_seconds: rounds * (bucket_seconds + merge) + f64::from(large.ilog2()) * merge + wrap_seconds,
    })
}

fn print(row: &Row, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(row);
    }
    let Row { profile, size, ms_per_leaf, update_seconds, verify_ms, proof_bytes, .. } = row;
    println!(
        "{profile:8} {size} leaves: {:.1} s, {ms_per_leaf:.1} ms a leaf; update {update_seconds:.2} s; verify {verify_ms:.1} ms; {proof_bytes} bytes",
        row.seconds
    );
    println!(
        "         bucket {:.2} s, merge {:.2} s, wrap {:.2} s; rows {:?}; {:.0} MiB; 2^23 leaves on {} workers, computed: {:.0} s",
        row.bucket_seconds,
        row.merge_seconds.unwrap_or(0.0),
        row.wrap_seconds,
        row.rows,
        row.peak_bytes as f64 / f64::from(1 << 20),
        row.projected_workers,
        row.projected_seconds
    );
    Ok(())
}

//! `evergrove-bench digest-translation`: both digests of a tree proven, one leaf changed, the proof verified.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use evergrove_apps::digest_translation::{BUCKET_HEIGHT, Translation, Translator};
use evergrove_primitives::Goldilocks;
use evergrove_proof::Profile;
use evergrove_proof::tree::Value;
use serde::Serialize;

use crate::memory;

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
    setup_seconds: f64,
    /// All proofs, with the wrap where the profile has one.
    seconds: f64,
    ms_per_leaf: f64,
    /// Table and bucket; a merge; the wrap.
    bucket_seconds: f64,
    merge_seconds: Option<f64>,
    wrap_seconds: f64,
    /// One leaf changed, with the wrap.
    update_seconds: f64,
    verify_ms: f64,
    proof_bytes: usize,
    peak_bytes: u64,
    /// Computed, not measured: 2^23 leaves on this many workers, proofs spread evenly and the path to the root at the end.
    projected_workers: u64,
    projected_seconds: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let Some(profile) = args.profile else {
        for profile in [Profile::Paper, Profile::Proven] {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(std::env::args_os().skip(1)).args(["--profile", profile.name()]);
            ensure!(command.status()?.success(), "profile {profile} failed");
        }
        return Ok(());
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build()?;
    pool.install(|| measure(args, profile))
}

fn value(i: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::reduce((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(k as u32)))
}

fn timed<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let out = f();
    (start.elapsed().as_secs_f64(), out)
}

fn median(mut seconds: Vec<f64>) -> Option<f64> {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

fn measure(args: &Args, profile: Profile) -> anyhow::Result<()> {
    ensure!(args.log_size >= args.bucket_height, "a bucket has 2^{} leaves", args.bucket_height);
    let (setup_seconds, translator) = timed(|| Translator::new(profile, args.bucket_height));
    let translator = translator?;
    let leaves = 1usize << args.log_size;
    let slots: Vec<Option<Value>> = (0..leaves as u64).map(|i| Some(value(i))).collect();
    let bucket = || translator.prove_bucket(0, slots[..1 << args.bucket_height].to_vec());
    // The first proof makes the prover's tables.
    bucket()?;
    let (bucket_seconds, node) = timed(bucket);
    let node = node?;
    if args.log_size > args.bucket_height {
        let next = translator.prove_bucket(
            1 << args.bucket_height,
            slots[1 << args.bucket_height..][..1 << args.bucket_height].to_vec(),
        )?;
        translator.prove_merge(&node, &next)?;
    }
    let (prove_seconds, translation) = timed(|| Translation::new(&translator, slots.clone()));
    let mut translation = translation?;
    translator.finish(translation.root())?;
    let (wrap_seconds, proof) = timed(|| translator.finish(translation.root()));
    let proof = proof?;
    let mut updates = Vec::new();
    for i in 0..args.repeat as u64 {
        let index = (i * 0x9e37) % leaves as u64;
        let (seconds, done) = timed(|| {
            translation.update(&[(index, Some(value(index + 99)))])?;
            translator.finish(translation.root())
        });
        ensure!(done?.statement != proof.statement, "an update changes both digests");
        updates.push(seconds);
    }
    let mut verifications = Vec::new();
    for _ in 0..args.repeat.max(3) {
        let (seconds, verdict) = timed(|| translator.verifier().verify(&proof));
        verdict?;
        verifications.push(seconds);
    }
    let buckets = leaves >> args.bucket_height;
    let merges = buckets - 1;
    let merge_seconds = (merges > 0).then(|| (prove_seconds - buckets as f64 * bucket_seconds) / merges as f64);
    let seconds = prove_seconds + wrap_seconds;
    let large = (1u64 << 23) >> args.bucket_height;
    let rounds = large.div_ceil(args.workers) as f64;
    let merge = merge_seconds.unwrap_or(bucket_seconds);
    let row = Row {
        kernel: "digest-translation",
        r#impl: "evergrove",
        profile: profile.name(),
        size: leaves,
        bucket_height: args.bucket_height,
        threads: args.threads,
        rows: [translator.circuits().bucket.rows, translator.circuits().merge.rows],
        setup_seconds,
        seconds,
        ms_per_leaf: seconds * 1e3 / leaves as f64,
        bucket_seconds,
        merge_seconds,
        wrap_seconds,
        update_seconds: median(updates).context("an update")?,
        verify_ms: median(verifications).context("a verification")? * 1e3,
        proof_bytes: proof.bytes.len(),
        peak_bytes: memory::resident().1,
        projected_workers: args.workers,
        projected_seconds: rounds * (bucket_seconds + merge) + f64::from(large.ilog2()) * merge + wrap_seconds,
    };
    if args.json {
        println!("{}", serde_json::to_string(&row)?);
        return Ok(());
    }
    let Row { profile, size, ms_per_leaf, update_seconds, verify_ms, proof_bytes, .. } = &row;
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

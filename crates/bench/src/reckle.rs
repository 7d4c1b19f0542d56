//! The main job at the paper's size: a batch of random slots of a large vector, aggregated, refreshed and verified.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use evergrove_commit::vc::{self, BatchData, PublicParameters};
use evergrove_commit::{MemoryStore, NativeBackend, NodeKind, RecursionBackend, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_proof::soundness;
use evergrove_proof::tree::Value;
use evergrove_proof::{HeightClass, Profile};
use evergrove_recursion::Plonky2Backend;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::memory;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the number of slots.
    #[arg(long, default_value_t = 27)]
    log_size: u8,
    /// log2 of the number of filled slots, at random positions.
    #[arg(long, default_value_t = 20)]
    fill_log: u8,
    /// log2 of the number of slots in the batch.
    #[arg(long, default_value_t = 12)]
    batch_log: u8,
    /// Only this profile; else one process for each.
    #[arg(long)]
    profile: Option<Profile>,
    /// Updates of each kind; the median counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Threads, all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Directory of cached circuits.
    #[arg(long, value_name = "DIR")]
    keys: Option<std::path::PathBuf>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// One line of results. Times are wall clock, with the wrap where the profile has one.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    log_size: u8,
    filled: usize,
    batch: usize,
    threads: usize,
    wrapped: bool,
    bits_unique_decoding: f64,
    bits_johnson: f64,
    bits_conjectured: f64,
    commit_s: f64,
    setup_s: f64,
    aggregate_s: f64,
    aggregate_proofs: usize,
    update_inside_s: f64,
    update_outside_s: f64,
    /// The most proofs that one of the updates took.
    update_proofs: usize,
    verify_ms: f64,
    /// Of `verify_ms`, the SNARK without the canonical digest.
    verify_snark_ms: f64,
    proof_bytes: usize,
    proving_key_bytes: usize,
    verification_key_bytes: usize,
    /// Resident once the tree was built, before the circuits were loaded.
    tree_rss_bytes: u64,
    /// Peak after that, tree and circuits included.
    peak_rss_bytes: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let Some(profile) = args.profile else {
        // A process for each profile, so that peak memory is its own.
        for profile in [Profile::Paper, Profile::Johnson, Profile::Proven] {
            let own = std::env::args_os().skip(1);
            let status =
                Command::new(std::env::current_exe()?).args(own).args(["--profile", profile.name()]).status()?;
            ensure!(status.success(), "the run of profile {profile} ended with {status}");
        }
        return Ok(());
    };
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let row = measure(args, profile, threads)?;
    if args.json {
        println!("{}", serde_json::to_string(&row)?);
    } else {
        print_table(&row);
    }
    Ok(())
}

fn measure(args: &Args, profile: Profile, threads: usize) -> anyhow::Result<Row> {
    ensure!(args.batch_log <= args.fill_log && args.fill_log <= args.log_size, "batch, filled slots, size must ascend");
    let class = HeightClass::of(args.log_size).context("--log-size is from 1 to 40")?;
    let mut rng = ChaCha8Rng::seed_from_u64(27);
    let mut table: BTreeMap<u64, Value> = BTreeMap::new();
    while table.len() < 1 << args.fill_log {
        table.insert(rng.gen_range(0..1 << args.log_size), random_value(&mut rng));
    }
    let mut filled: Vec<u64> = table.keys().copied().collect();
    filled.shuffle(&mut rng);
    let (members, others) = filled.split_at(1 << args.batch_log);
    ensure!(!others.is_empty(), "no slot is left outside the batch");

    let slots: Vec<(u64, Value)> = table.iter().map(|(i, v)| (*i, *v)).collect();
    let start = Instant::now();
    // The tree needs no circuits: they are loaded after it, so that memory beyond the tree includes them.
    let (mut vector, _) =
        vc::com(&vc::r#gen(args.log_size, NativeBackend::new(profile, class))?, &slots, MemoryStore::new())?;
    let commit_s = start.elapsed().as_secs_f64();
    drop(slots);
    let tree_rss_bytes = memory::start_peak();

    let start = Instant::now();
    let backend = Plonky2Backend::load(profile, class, args.keys.as_deref())?;
    let setup_s = start.elapsed().as_secs_f64();
    let pp = vc::r#gen(args.log_size, &backend)?;

    let start = Instant::now();
    let (proof, mut data) = vc::agg(&pp, members, &vector)?;
    let aggregate_s = start.elapsed().as_secs_f64();
    let aggregate_proofs = data.made;
    vc::ver(&vector.commitment()?, &leaves(&table, members), &proof, &backend)?;

    let mut update_proofs = 0;
    let mut update = |slots: &[u64]| -> anyhow::Result<f64> {
        let mut times = vec![];
        for _ in 0..args.repeat {
            let index = *slots.choose(&mut rng).context("no slot to change")?;
            let value = random_value(&mut rng);
            table.insert(index, value);
            times.push(refresh(&pp, &mut vector, &mut data, index, value)?);
            update_proofs = update_proofs.max(data.made);
        }
        Ok(median(times).as_secs_f64())
    };
    let update_inside_s = update(members)?;
    let update_outside_s = update(others)?;

    let kind = if backend.wraps() { NodeKind::Wrap } else { data.batch.root().kind() };
    let proof = data.proofs[&(*data.batch.statement(), kind)].clone();
    let claimed = leaves(&table, members);
    let commitment = vector.commitment()?;
    let times = |f: &dyn Fn() -> anyhow::Result<()>| -> anyhow::Result<f64> {
        let mut out = vec![];
        for _ in 0..21 {
            let start = Instant::now();
            f()?;
            out.push(start.elapsed());
        }
        Ok(median(out).as_secs_f64() * 1e3)
    };
    let verify_ms = times(&|| Ok(vc::ver(&commitment, &claimed, &proof, &backend)?))?;
    let verify_snark_ms = times(&|| Ok(backend.verify(&proof)?))?;

    let (_, peak_rss_bytes) = memory::resident();
    let bits = soundness::bits(profile, class);
    Ok(Row {
        kernel: "reckle",
        r#impl: "evergrove",
        profile: profile.name(),
        log_size: args.log_size,
        filled: table.len(),
        batch: members.len(),
        threads,
        wrapped: backend.wraps(),
        bits_unique_decoding: bits.unique_decoding,
        bits_johnson: bits.johnson,
        bits_conjectured: bits.conjectured,
        commit_s,
        setup_s,
        aggregate_s,
        aggregate_proofs,
        update_inside_s,
        update_outside_s,
        update_proofs,
        verify_ms,
        verify_snark_ms,
        proof_bytes: proof.bytes.len(),
        proving_key_bytes: backend.proving_key_bytes()?,
        verification_key_bytes: backend.keys().to_pinned(profile, class).key_bytes(),
        tree_rss_bytes,
        peak_rss_bytes,
    })
}

fn refresh<B: RecursionBackend>(
    pp: &PublicParameters<B>,
    vector: &mut Vector<MemoryStore>,
    data: &mut BatchData,
    index: u64,
    value: Value,
) -> anyhow::Result<Duration> {
    let start = Instant::now();
    vc::upd_all_proofs(vector, &[(index, Some(value))])?;
    let (_, next) = vc::upd_batch_proof(pp, data, vector, &[index], &[], &[])?;
    *data = next;
    Ok(start.elapsed())
}

fn leaves(table: &BTreeMap<u64, Value>, members: &[u64]) -> Vec<(u64, Value)> {
    members.iter().map(|i| (*i, table[i])).collect()
}

fn random_value(rng: &mut ChaCha8Rng) -> Value {
    core::array::from_fn(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn print_table(r: &Row) {
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    println!("profile {}: {} of 2^{} slots, {} threads", r.profile, r.batch, r.log_size, r.threads);
    println!("  commit {} slots      {:>9.2} s", r.filled, r.commit_s);
    println!("  load circuits            {:>9.2} s", r.setup_s);
    println!("  aggregate                {:>9.2} s   {} proofs", r.aggregate_s, r.aggregate_proofs);
    println!("  update inside            {:>9.2} s   at most {} proofs", r.update_inside_s, r.update_proofs);
    println!("  update outside           {:>9.2} s", r.update_outside_s);
    println!("  verify                   {:>9.2} ms  SNARK alone {:.2} ms", r.verify_ms, r.verify_snark_ms);
    println!("  proof                    {:>9} bytes{}", r.proof_bytes, if r.wrapped { ", wrapped" } else { "" });
    println!("  proving keys             {:>9.1} MiB", mib(r.proving_key_bytes as u64));
    println!("  verification key         {:>9} bytes", r.verification_key_bytes);
    println!(
        "  memory                   {:>9.1} MiB peak, {:.1} MiB with the built tree",
        mib(r.peak_rss_bytes),
        mib(r.tree_rss_bytes)
    );
    println!(
        "  bits                     {:.1} unique decoding, {:.1} Johnson, {:.1} conjectured",
        r.bits_unique_decoding, r.bits_johnson, r.bits_conjectured
    );
}

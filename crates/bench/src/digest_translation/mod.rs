//! `evergrove-bench digest-translation` proves both digests of a table, changes one leaf and verifies the proof, with
//! the circuits on tables and with those of Plonky2, in one process. Plonky2's baseline is one circuit for the whole
//! tree, which cannot be updated.

mod monolithic;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use evergrove_apps::digest_translation::{BUCKET_HEIGHT, DigestTranslation};
use evergrove_commit::Witness;
use evergrove_commit::vc::{self, PublicParameters};
use evergrove_commit::{MemoryStore, RecursionBackend, Vector};
use evergrove_plonky2::apps::digest_translation::TranslationBackend;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::policy::GROVE_BACKEND;
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile};
use serde::Serialize;

use crate::memory::{self, Took};
use crate::reckle::timed;
use crate::turns::print_json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the number of leaves.
    #[arg(long, default_value_t = 10)]
    log_size: u8,
    /// Security profiles, one after the other: rows of later ones have their seconds over those of the first.
    #[arg(long = "profile", default_values = ["grove-100", "proven"])]
    profiles: Vec<Profile>,
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
    #[arg(long, hide = true)]
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
    /// Rows of Plonky2's bucket and merge circuits before padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<[usize; 2]>,
    bits_unique_decoding: f64,
    bits_johnson: f64,
    setup_seconds: f64,
    /// All proofs, including the wrap if the profile has one.
    seconds: f64,
    processor_seconds: f64,
    ms_per_leaf: f64,
    proofs: usize,
    /// Seconds of a bucket with its table, of a merge, and of the wrap.
    bucket_seconds: f64,
    merge_seconds: Option<f64>,
    wrap_seconds: f64,
    /// Time after a change of one leaf, including the wrap.
    update_seconds: f64,
    update_processor_seconds: f64,
    update_proofs: usize,
    verify_ms: f64,
    proof_bytes: usize,
    peak_bytes: u64,
    /// Computed, not measured: 2^23 leaves on this many workers. The proofs are spread evenly, and the path to the root
    /// comes last.
    projected_workers: u64,
    projected_seconds: f64,
    /// Milliseconds of a bucket per Keccak permutation, and the prediction of docs/math/applications.md for tables.
    keccak_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_keccak_ms: Option<f64>,
    /// Seconds divided by those of the first profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// The same ratio for updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    update_ratio: Option<f64>,
}

/// From docs/math/applications.md: milliseconds per Keccak permutation in a bucket of 2^7 slots on tables, which has
/// 255 permutations, on two threads of a Zen 5.
const PREDICTED_KECCAK_MS: f64 = 1.7;

/// A backend with the properties that the benchmark prints.
struct Circuits {
    backend: Arc<dyn RecursionBackend>,
    bits: SoundnessBits,
    rows: Option<[usize; 2]>,
}

impl Circuits {
    fn load(args: &Args, app: DigestTranslation, profile: Profile, class: HeightClass) -> anyhow::Result<Self> {
        if profile.fits(GROVE_BACKEND.0) {
            let circuit_set = app.circuits_on_tables(profile, class)?;
            return Ok(Self {
                backend: Arc::new(circuit_set.backend(app.spec())?),
                bits: circuit_set.bits(),
                rows: None,
            });
        }
        let backend = TranslationBackend::load(app, profile, class, args.keys.as_deref())?;
        let (bits, circuits) = (backend.bits(), backend.circuits());
        let rows = Some([circuits.bucket.rows, circuits.merge.rows]);
        Ok(Self { backend: Arc::new(backend), bits, rows })
    }
}

impl Row {
    /// Times of the update of one leaf.
    fn update(&self) -> Took {
        Took { seconds: self.update_seconds, processor_seconds: self.update_processor_seconds }
    }
}

const KERNEL: &str = "digest-translation";

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global()?;
    if let Some(height) = args.monolithic {
        let [profile] = args.profiles[..] else { anyhow::bail!("one --profile") };
        return monolithic::measure(profile, height, args.sparing, args.repeat);
    }
    let mut first: Option<[f64; 2]> = None;
    for &profile in &args.profiles {
        let mut row = measure(args, profile)?;
        if let Some([seconds, update]) = first {
            (row.ratio, row.update_ratio) = (Some(row.seconds / seconds), Some(row.update_seconds / update));
        }
        first.get_or_insert([row.seconds, row.update_seconds]);
        print(&row, args.json)?;
        if row.rows.is_none() {
            continue;
        }
        for baseline in monolithic::rows(profile, args.measured_height, args.threads, args.repeat, row.update())? {
            baseline.print(args.json)?;
        }
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
    let (circuits, setup_seconds) = timed(|| Circuits::load(args, app, profile, class))?;
    let Circuits { ref backend, bits, rows } = circuits;
    let backend = backend.as_ref();
    let leaves = 1u64 << args.log_size;
    let mut vector = Vector::new(args.log_size, MemoryStore::new())?;
    vector.apply(&(0..leaves).map(|i| (i, Some(value(i)))).collect::<Vec<_>>())?;
    let parameters: PublicParameters<&dyn RecursionBackend> = vc::setup(args.log_size, backend)?;

    // The first proofs also make the provers' tables.
    let mut small = Vector::new(args.bucket_height + 1, MemoryStore::new())?;
    small.apply(&(0..2 << args.bucket_height).map(|i| (i, Some(value(i)))).collect::<Vec<_>>())?;
    vc::agg(&vc::setup(small.height(), backend)?, &[], &small)?;
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
        rows,
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
        keccak_ms: bucket_seconds * 1e3 / f64::from((2u32 << args.bucket_height) - 1),
        predicted_keccak_ms: (rows.is_none() && args.bucket_height == BUCKET_HEIGHT).then_some(PREDICTED_KECCAK_MS),
        ratio: None,
        update_ratio: None,
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
        row.rows.unwrap_or_default(),
        row.peak_bytes as f64 / f64::from(1 << 20),
        row.projected_workers,
        row.projected_seconds
    );
    let predicted = row.predicted_keccak_ms.map_or_else(String::new, |ms| format!(", {ms:.1} predicted"));
    println!("         a bucket's Keccak permutation {:.2} ms{predicted}", row.keccak_ms);
    if let (Some(ratio), Some(update)) = (row.ratio, row.update_ratio) {
        println!("         {ratio:.1} times the first profile's seconds, updates {update:.1} times");
    }
    Ok(())
}

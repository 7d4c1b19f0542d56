//! Measures aggregate keys of BLS signatures: the key of a committee among many keys is proven, refreshed after one
//! signer has changed, and used to check a signature. The baseline is one circuit for the whole committee, which cannot
//! be updated.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use ark_bls12_381::Fr;
use ark_ff::{BigInteger, PrimeField};
use blst::min_pk::SecretKey;
use evergrove_apps::MapReduce;
use evergrove_apps::bls::light_client::{self, CIPHERSUITE, Claim};
use evergrove_apps::bls::{BlsKeys, Output, Point, table};
use evergrove_apps::catalog::Application;
use evergrove_commit::batch::{Batch, Input};
use evergrove_commit::{MemoryStore, NodeKind, NodeProof, RecursionBackend, Vector};
use evergrove_plonky2::ProverKind;
use evergrove_plonky2::apps::OnPlonky2;
use evergrove_plonky2::apps::circuit_set::{CircuitSetSpec, Size};
use evergrove_plonky2::setup::{Circuit, PairSpec};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, Profile, Scheme, Statement};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::plonk::circuit_builder::CircuitBuilder;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use crate::memory::{self, Took};
use crate::reckle::timed;
use crate::turns::print_json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the number of keys in the table.
    #[arg(long, default_value_t = 15)]
    log_size: u8,
    /// Signers, at random positions.
    #[arg(long, default_value_t = 512)]
    signers: usize,
    /// Security profiles, one after the other: rows of later ones have their seconds over those of the first.
    #[arg(long = "profile", default_values = ["grove-100", "proven"])]
    profiles: Vec<Profile>,
    /// Updates; the median counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// log2 of the largest committee that one circuit really proves, 2^10 in some 10 GB; up to 2^10 the times are computed from it. 1 for none.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=10))]
    measured_log: u8,
    /// Threads, all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Directory of cached circuits.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Our row. Times are wall clock and include the wrap, if the profile has one.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    log_size: u8,
    /// Signers.
    size: usize,
    signers: usize,
    threads: usize,
    wrapped: bool,
    bucket_capacity: usize,
    /// log2 of the rows of Plonky2's circuits.
    #[serde(skip_serializing_if = "Option::is_none")]
    degree_bits: Option<usize>,
    bits_unique_decoding: f64,
    bits_johnson: f64,
    commit_s: f64,
    setup_s: f64,
    /// Equal to `aggregate_s`.
    seconds: f64,
    aggregate_s: f64,
    aggregate_processor_s: f64,
    aggregate_proofs: usize,
    /// Time of replacing one signer.
    update_s: f64,
    update_processor_s: f64,
    update_proofs: usize,
    verify_ms: f64,
    /// Time of checking the signature with the proven key: two pairings.
    signature_ms: f64,
    proof_bytes: usize,
    peak_rss_bytes: u64,
    /// Seconds divided by those of the first profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// The same ratio for updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    update_ratio: Option<f64>,
}

/// A row of the baseline: one circuit for 2^`height` signers, which makes a new proof for every change.
#[derive(Serialize)]
struct Baseline {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    height: u8,
    /// Signers.
    size: usize,
    signers: usize,
    threads: usize,
    rows: usize,
    degree_bits: usize,
    seconds: f64,
    processor_seconds: f64,
    extrapolated: bool,
    /// Seconds divided by those of an update in the first profile.
    ratio: f64,
    /// The same ratio of processor times, which depend less on other load of the machine.
    processor_ratio: f64,
}

impl Row {
    /// Times of the update of one signer.
    fn update(&self) -> Took {
        Took { seconds: self.update_s, processor_seconds: self.update_processor_s }
    }
}

const KERNEL: &str = "bls-keys";
const MESSAGE: &[u8] = b"evergrove-bench bls-keys";

/// A table of the keys of consecutive secrets.
struct World {
    keys: Vec<Point>,
    first: Fr,
    vector: Vector<MemoryStore>,
    signers: Vec<u64>,
    rng: ChaCha8Rng,
}

fn secret(scalar: Fr) -> anyhow::Result<SecretKey> {
    SecretKey::from_bytes(&scalar.into_bigint().to_bytes_be()).map_err(|e| anyhow::anyhow!("no secret key: {e:?}"))
}

fn opening(key: &Point) -> Vec<Goldilocks> {
    table::numbers(key).map_or(Vec::new(), |n| n.map(Goldilocks::new).to_vec())
}

impl World {
    fn build(log_size: u8, signers: usize) -> anyhow::Result<(Self, f64)> {
        let size = 1_usize << log_size;
        ensure!(
            (2..size).contains(&signers),
            "{signers} signers of {size} keys: choose at least 2, and fewer than keys"
        );
        let first = Fr::from(0x5eed_u64) * Fr::from(u64::MAX);
        let generator = Point::of_key(&secret(Fr::from(1_u64))?.sk_to_pk());
        const CHUNK: usize = 1 << 10;
        let chunks: anyhow::Result<Vec<Vec<Point>>> = (0..size.div_ceil(CHUNK))
            .into_par_iter()
            .map(|c| {
                let start = Point::of_key(&secret(first + Fr::from((c * CHUNK) as u64))?.sk_to_pk());
                let next = |p: &Point| Some(p.add(&generator));
                Ok(std::iter::successors(Some(start), next).take(CHUNK.min(size - c * CHUNK)).collect())
            })
            .collect();
        let keys = chunks?.concat();
        let schema = table::schema();
        let mut vector = Vector::new(log_size, MemoryStore::new())?;
        let (_, commit_s) = timed(|| {
            let slots: anyhow::Result<Vec<_>> = (0..size)
                .into_par_iter()
                .map(|i| {
                    let row = table::row(&keys[i]).context("the identity is no key")?;
                    Ok((i as u64, Some(schema.value(&row)?)))
                })
                .collect();
            Ok(vector.apply(&slots?)?)
        })?;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let all: Vec<u64> = (0..size as u64).collect();
        let mut signers: Vec<u64> = all.choose_multiple(&mut rng, signers).copied().collect();
        signers.sort_unstable();
        Ok((Self { keys, first, vector, signers, rng }, commit_s))
    }

    /// The signature of the signers, made with the sum of their secrets.
    fn sign(&self) -> anyhow::Result<[u8; 96]> {
        let sum: Fr = self.signers.iter().map(|i| self.first + Fr::from(*i)).sum();
        Ok(secret(sum)?.sign(MESSAGE, CIPHERSUITE, &[]).compress())
    }
}

type Proofs = HashMap<(Statement, NodeKind), NodeProof>;

/// Makes the proofs that are missing from `proofs`. Returns the last proof and the number of proofs made.
fn prove(
    backend: &dyn RecursionBackend,
    world: &World,
    batch: &Batch,
    proofs: &mut Proofs,
) -> anyhow::Result<(NodeProof, usize)> {
    let plan = batch.plan(backend.spec().wraps, |s, kind| proofs.contains_key(&(*s, kind)));
    let place = |input: &Input| match input {
        Input::Step(n) => (plan.steps[*n].statement, plan.steps[*n].kind),
        Input::Existing { statement, kind } => (*statement, *kind),
    };
    for step in &plan.steps {
        let mut witness = step.witness(&world.vector)?;
        witness.open(|index| anyhow::Ok(opening(&world.keys[index as usize])))?;
        let inputs: Vec<&NodeProof> = step.inputs.iter().map(|i| &proofs[&place(i)]).collect();
        let made = backend.prove(&witness, &inputs)?;
        proofs.insert((step.statement, step.kind), made);
    }
    Ok((proofs[&place(&plan.result)].clone(), plan.steps.len()))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let mut first: Option<Took> = None;
    let mut seconds = None;
    for &profile in &args.profiles {
        memory::start_peak();
        let mut row = measure(args, profile, threads)?;
        let update = *first.get_or_insert(row.update());
        if let Some(seconds) = seconds.replace(seconds.unwrap_or(row.seconds)) {
            (row.ratio, row.update_ratio) = (Some(row.seconds / seconds), Some(row.update_s / update.seconds));
        }
        if args.json {
            print_json(&row)?;
        } else {
            print_text(&row);
        }
        if profile.fits(evergrove_grove::BACKEND_NAME) {
            continue;
        }
        for baseline in baselines(args, profile, threads, update)? {
            if args.json {
                print_json(&baseline)?;
            } else {
                let Baseline { signers, rows, degree_bits, seconds, extrapolated, ratio, .. } = baseline;
                let how = if extrapolated { "extrapolated" } else { "measured" };
                println!(
                    "one circuit for {signers} signers: {rows} rows of 2^{degree_bits}, {seconds:.2} s ({how}), {ratio:.1} times the update in profile {}",
                    args.profiles[0]
                );
            }
        }
    }
    Ok(())
}

fn measure(args: &Args, profile: Profile, threads: usize) -> anyhow::Result<Row> {
    let (mut world, commit_s) = World::build(args.log_size, args.signers)?;
    let class = HeightClass::of(args.log_size).context("a height of 1 to 40")?;
    let app: Arc<dyn MapReduce> = Arc::new(BlsKeys);
    let (application, keys) = (Application::from(app), args.keys.as_deref());
    let ((backend, degree_bits, bits), setup_s) = timed(|| {
        let scheme = Scheme::Selected;
        if profile.fits(evergrove_grove::BACKEND_NAME) {
            let circuit_set = application.circuits(scheme, profile, class)?;
            return Ok((application.backend_on_tables(&circuit_set, None)?, None, circuit_set.bits()));
        }
        let app = OnPlonky2::new(&application).context("circuits of Plonky2")?;
        let backend = app.backend(scheme, profile, class, keys, ProverKind::default(), None)?;
        let keys = app.keys(scheme, profile, class, keys)?;
        Ok((backend, Some(keys.size.degree_bits), app.bits(scheme, profile, &keys)))
    })?;
    let mut batch = Batch::build_as(&world.vector, &world.signers, backend.spec().structure())?;
    let mut proofs = Proofs::new();
    let ((mut last, aggregate_proofs), aggregate) =
        memory::took(|| prove(backend.as_ref(), &world, &batch, &mut proofs))?;
    let (mut updates, mut update_proofs) = (Vec::new(), 0);
    for _ in 0..args.repeat.max(1) {
        let leaves = *world.signers.choose(&mut world.rng).context("a committee")?;
        let absent: Vec<u64> =
            (0..world.keys.len() as u64).filter(|i| world.signers.binary_search(i).is_err()).collect();
        let joins = *absent.choose(&mut world.rng).context("keys beside the committee's")?;
        let ((next, made), update) = memory::took(|| {
            batch = batch.update(&world.vector, &[joins], &[leaves], &[])?;
            prove(backend.as_ref(), &world, &batch, &mut proofs)
        })?;
        (last, update_proofs) = (next, update_proofs.max(made));
        updates.push(update);
        world.signers = batch.indices();
    }
    let verify: anyhow::Result<Vec<Took>> =
        (0..15).map(|_| Ok(memory::took(|| Ok(backend.verify(&last)?))?.1)).collect();
    let output = Output::from_elements(&last.output).context("an output of the application")?;
    let signature = world.sign()?;
    let claim = Claim { message: MESSAGE, signature: &signature, threshold: args.signers as u64 };
    let check: anyhow::Result<Vec<Took>> =
        (0..15).map(|_| Ok(memory::took(|| Ok(light_client::check(&output, &claim)?))?.1)).collect();
    let [update, verify, check] =
        [updates, verify?, check?].map(|times| memory::median(times).context("a measurement"));
    let update = update?;
    Ok(Row {
        kernel: KERNEL,
        r#impl: if profile.fits(evergrove_grove::BACKEND_NAME) { "evergrove" } else { "evergrove-plonky2" },
        profile: profile.name(),
        log_size: args.log_size,
        size: args.signers,
        signers: args.signers,
        threads,
        wrapped: backend.spec().wraps,
        bucket_capacity: backend.spec().capacity,
        degree_bits,
        bits_unique_decoding: bits.unique_decoding,
        bits_johnson: bits.johnson,
        commit_s,
        setup_s,
        seconds: aggregate.seconds,
        aggregate_s: aggregate.seconds,
        aggregate_processor_s: aggregate.processor_seconds,
        aggregate_proofs,
        update_s: update.seconds,
        update_processor_s: update.processor_seconds,
        update_proofs,
        verify_ms: 1e3 * verify?.seconds,
        signature_ms: 1e3 * check?.seconds,
        proof_bytes: last.bytes.len(),
        peak_rss_bytes: memory::resident().1,
        ratio: None,
        update_ratio: None,
    })
}

/// One circuit for each committee of 2^2 to 2^10 signers in a tree of the paper's height: a bucket with one slot for
/// each signer.
fn baselines(args: &Args, profile: Profile, threads: usize, update: Took) -> anyhow::Result<Vec<Baseline>> {
    const HEIGHT: u8 = 21;
    let class = HeightClass::of(HEIGHT).context("a height of 1 to 40")?;
    let mut out: Vec<Baseline> = Vec::new();
    for height in (2..=10).filter(|_| args.measured_log > 1) {
        let signers = 1 << height;
        let spec = |degree_bits| {
            CircuitSetSpec::new(
                Arc::new(BlsKeys),
                Scheme::Selected,
                profile,
                class,
                Size { capacity: signers, degree_bits },
            )
        };
        // Only the final polynomial of FRI depends on the degree.
        let rows = evergrove_plonky2::setup::bucket_rows(&spec(13));
        let degree_bits = rows.next_power_of_two().ilog2() as usize;
        let (took, extrapolated) = match out.last().filter(|_| height > args.measured_log) {
            Some(last) => {
                let times = 2f64.powi(degree_bits as i32 - last.degree_bits as i32);
                let (seconds, processor_seconds) = (last.seconds * times, last.processor_seconds * times);
                (Took { seconds, processor_seconds }, true)
            }
            None => (monolithic(&spec(degree_bits), signers, HEIGHT, args.repeat)?, false),
        };
        out.push(Baseline {
            kernel: KERNEL,
            r#impl: "monolithic",
            profile: profile.name(),
            height,
            size: signers,
            signers,
            threads,
            rows,
            degree_bits,
            seconds: took.seconds,
            processor_seconds: took.processor_seconds,
            extrapolated,
            ratio: took.seconds / update.seconds,
            processor_ratio: took.processor_seconds / update.processor_seconds,
        });
    }
    Ok(out)
}

/// Times of a proof by one circuit.
fn monolithic(spec: &CircuitSetSpec, signers: usize, height: u8, repeat: usize) -> anyhow::Result<Took> {
    let mut builder = CircuitBuilder::new(spec.spec().config.clone());
    let targets = spec.bucket(&mut builder);
    let rows = builder.num_gates();
    let circuit = Circuit::new(targets, builder.build(), rows);
    let (mut world, _) = World::build(11, signers)?;
    while world.vector.height() < height {
        world.vector.grow()?;
    }
    let batch = Batch::build_as(
        &world.vector,
        &world.signers,
        evergrove_commit::batch::Structure::Compressed { capacity: signers },
    )?;
    let [node] = batch.nodes()[..] else { anyhow::bail!("a batch of one bucket") };
    let mut witness = node.witness(&world.vector)?;
    witness.open(|index| anyhow::Ok(opening(&world.keys[index as usize])))?;
    let evergrove_commit::Witness::Bucket(witness) = witness else { anyhow::bail!("a bucket's witness") };
    let mut times = Vec::new();
    for k in 0..=repeat.max(1) {
        let (proof, took) =
            memory::took(|| circuit.prove(circuit.targets.assign(&witness, HashOut { elements: [Field::ZERO; 4] })?))?;
        if k == 0 {
            // The first proof records the order of witness generation.
            circuit.data.verify(proof)?;
        } else {
            times.push(took);
        }
    }
    memory::median(times).context("a proof")
}

fn print_text(row: &Row) {
    let Row { profile, signers, log_size, threads, bucket_capacity, .. } = row;
    println!("{signers} signers of 2^{log_size} keys, profile {profile}, {threads} threads");
    let rows = row.degree_bits.map_or(String::new(), |log| format!(", 2^{log} rows"));
    println!("  circuits              {bucket_capacity} keys a bucket{rows}; made in {:.1} s", row.setup_s);
    println!("  commit                {:.2} s", row.commit_s);
    println!("  aggregate             {:.2} s, {} proofs", row.aggregate_s, row.aggregate_proofs);
    println!("  one signer changes    {:.2} s, {} proofs", row.update_s, row.update_proofs);
    println!("  verify                {:.2} ms; the signature {:.2} ms", row.verify_ms, row.signature_ms);
    println!("  proof                 {} bytes, {:.1} bits unique decoding", row.proof_bytes, row.bits_unique_decoding);
    println!("  peak memory           {} MiB", row.peak_rss_bytes >> 20);
    if let (Some(ratio), Some(update)) = (row.ratio, row.update_ratio) {
        println!("  of the first profile  {ratio:.1} times, updates {update:.1}");
    }
}

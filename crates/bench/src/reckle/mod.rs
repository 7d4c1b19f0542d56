//! The main job at the paper's size: a batch of random slots of a large vector is aggregated, refreshed and verified;
//! and the same with the paper's scheme and with earlier schemes, in one process.

mod baselines;
mod compare;
#[cfg(test)]
mod counts;
mod footprint;
mod recursive;
mod scheme;
pub(crate) mod world;

use std::process::Command;
use std::sync::Arc;

use anyhow::ensure;
use evergrove_commit::RecursionBackend;
use evergrove_grove::GroveBackend;
use evergrove_jobs::Cores;
use evergrove_jobs::local::LocalEngine;
use evergrove_plonky2::{Plonky2Backend, Plonky2Verifier, VerifierKind};
use evergrove_primitives::lanes::Isa;
use evergrove_verifier::{Profile, soundness};
use rand::seq::SliceRandom;
use serde::Serialize;

pub(crate) use compare::{Compared, Comparison, SchemeArg};
pub(crate) use scheme::{check_time, timed};
pub(crate) use world::World;

use compare::SchemeName;
use recursive::Recursive;
use scheme::{Facts, Scheme, milliseconds};

use crate::memory;
use crate::merkle::parse_isa;
use crate::turns::{median, print_json};

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
    /// Only this profile, of Plonky2 or of grove; else one process for each of the backend.
    #[arg(long)]
    profile: Option<Profile>,
    /// With `grove`, its profiles and `proven` beside them.
    #[arg(long, default_value = "plonky2", value_parser = ["plonky2", "grove"])]
    backend: String,
    /// Updates of each kind; the median counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Threads, all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// The instruction set that all of it is to use, the best one of this CPU by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Proofs made at a time; as many as threads by default, one with `--schemes`.
    #[arg(long, value_name = "N")]
    at_once: Option<usize>,
    /// Directory of cached circuits of ours.
    #[arg(long, value_name = "DIR")]
    keys: Option<std::path::PathBuf>,
    /// Compare these schemes in one process, with the profile `paper` unless another is named: `all`, or some of
    /// `evergrove`, `reckle-paper`, `tree-of-proofs`, `monolithic`. Ours is always among them.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    schemes: Vec<SchemeArg>,
    /// log2 of the largest batch that `reckle-paper` and `tree-of-proofs` really prove; for larger ones their times are
    /// computed from the proofs of this one and the number of proofs of the batch.
    #[arg(long, default_value_t = 2)]
    measured_log: u8,
    /// q of `reckle-paper`, whose blocks have 2^q slots: the paper's unless it is named.
    #[arg(long, value_name = "Q", default_value_t = evergrove_verifier::Scheme::BLOCK_HEIGHT, value_parser = clap::value_parser!(u8).range(1..=12))]
    block_height: u8,
    /// Print the peak memory of one scheme in this process, and nothing else.
    #[arg(long, hide = true, value_name = "NAME")]
    footprint: Option<SchemeName>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// One line of results. Times are wall clock and include the wrap, if the profile has one.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    log_size: u8,
    filled: usize,
    /// Members of the batch.
    size: usize,
    batch: usize,
    threads: usize,
    /// Maximum number of proofs made at a time.
    at_once: usize,
    wrapped: bool,
    bits_unique_decoding: f64,
    bits_johnson: f64,
    bits_conjectured: f64,
    commit_s: f64,
    setup_s: f64,
    /// Equal to `aggregate_s`.
    seconds: f64,
    aggregate_s: f64,
    aggregate_proofs: usize,
    update_inside_s: f64,
    update_outside_s: f64,
    /// The largest number of proofs of one update.
    update_proofs: usize,
    verify_ms: f64,
    /// The part of `verify_ms` for the SNARK, without the canonical digest.
    verify_snark_ms: f64,
    /// The same as `verify_ms` for Plonky2's proofs, with Plonky2's verifier and one hash after the other.
    verify_scalar_ms: Option<f64>,
    proof_bytes: usize,
    proving_key_bytes: usize,
    verification_key_bytes: usize,
    /// Resident set with the tree built, before the circuits are loaded.
    tree_rss_bytes: u64,
    /// Peak after that, including tree and circuits.
    peak_rss_bytes: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let compares = !args.schemes.is_empty() || args.footprint.is_some();
    let Some(profile) = args.profile.or(compares.then_some(Profile::Paper)) else {
        // Each profile has its own process, so that its peak memory is its own.
        let grove = [Profile::Grove100, Profile::Grove128, Profile::Proven];
        for profile in if args.backend == "grove" { grove } else { [Profile::Paper, Profile::Johnson, Profile::Proven] }
        {
            let own = std::env::args_os().skip(1);
            let status =
                Command::new(std::env::current_exe()?).args(own).args(["--profile", profile.name()]).status()?;
            ensure!(status.success(), "the run of profile {profile} ended with {status}");
        }
        return Ok(());
    };
    if let Some(isa) = args.isa {
        isa.choose();
    }
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    if let Some(name) = args.footprint {
        return footprint::run(name, profile, args.block_height, args.log_size, args.batch_log);
    }
    let mut world = World::build(profile, args.log_size, args.fill_log, args.batch_log)?;
    let at_once = args.at_once.unwrap_or(if compares { 1 } else { threads });
    let engine = LocalEngine::new(at_once).with_cores(Arc::new(Cores::new(threads)?));
    let shown = |row: &Row| {
        if args.json {
            return print_json(row);
        }
        print_table(row);
        Ok(())
    };
    if profile.recursion().is_none() {
        ensure!(!compares, "--schemes are compared with profiles of Plonky2");
        let (backend, setup_s) = timed(|| Ok(GroveBackend::new(profile, world.class)?))?;
        // The circuits follow from the program, so no keys are stored.
        let facts = Facts { setup_s, proving_key_bytes: 0, verification_key_bytes: 32, proof_bytes: 0 };
        let mut ours = Recursive::new("evergrove", backend, &world, facts, usize::MAX, args.repeat).with_engine(engine);
        return shown(&measure(args, profile, [threads, at_once], &mut world, &mut ours, None)?);
    }
    let mut ours = ours(args.keys.as_deref(), profile, &world, args.repeat)?.with_engine(engine);
    let scalar = Plonky2Verifier::by(VerifierKind::Plonky2, Isa::detect(), &ours.backend.keys());
    shown(&measure(args, profile, [threads, at_once], &mut world, &mut ours, Some(&scalar))?)?;
    if compares {
        let names = SchemeArg::names(&args.schemes);
        let largest = 1 << args.measured_log;
        let mut comparison = Comparison::load(&names, profile, &world, ours, args.block_height, largest, args.repeat)?;
        comparison.footprints(profile, args.log_size, args.batch_log, threads)?;
        for compared in comparison.run(&world.members)? {
            compared.print(profile, &world, threads, args.json)?;
        }
    }
    Ok(())
}

/// Our scheme with loaded circuits.
pub(crate) fn ours(
    keys: Option<&std::path::Path>,
    profile: Profile,
    world: &World,
    repeat: usize,
) -> anyhow::Result<Recursive<Plonky2Backend>> {
    let (backend, setup_s) = timed(|| Ok(Plonky2Backend::load(profile, world.class, keys)?))?;
    let facts = Facts {
        setup_s,
        proving_key_bytes: backend.proving_key_bytes()?,
        verification_key_bytes: backend.keys().to_pinned(profile, world.class).key_bytes(),
        proof_bytes: 0,
    };
    Ok(Recursive::new("evergrove", backend, world, facts, usize::MAX, repeat))
}

fn measure<B: RecursionBackend>(
    args: &Args,
    profile: Profile,
    [threads, at_once]: [usize; 2],
    world: &mut World,
    ours: &mut Recursive<B>,
    verifier: Option<&Plonky2Verifier>,
) -> anyhow::Result<Row> {
    let aggregate = ours.aggregate(&world.members)?;
    let mut update_proofs = 0;
    let mut update = |slots: &[u64]| -> anyhow::Result<f64> {
        let mut times = vec![];
        for _ in 0..args.repeat {
            let index = *slots.choose(&mut world.rng).unwrap_or(&slots[0]);
            let timing = ours.update_at(index)?;
            times.push(timing.seconds);
            update_proofs = update_proofs.max(timing.proofs);
        }
        Ok(median(times))
    };
    let update_inside_s = update(&world.members)?;
    let update_outside_s = update(&world.others)?;
    let (verify, snark_s) = ours.verify()?;
    let scalar = |verifier: &Plonky2Verifier| {
        let (claimed, proof) = (ours.claimed()?, ours.proof()?);
        check_time(|| {
            let canonical = evergrove_verifier::batch_digest(world.height, &claimed)?;
            ensure!(canonical == proof.statement.canonical, "the proof is of other leaves");
            Ok(verifier.verify(proof)?)
        })
    };
    let verify_scalar_s = verifier.map(scalar).transpose()?;
    let (_, peak_rss_bytes) = memory::resident();
    let (bits, facts) = (soundness::bits(profile, world.class), ours.facts()?);
    Ok(Row {
        kernel: "reckle",
        r#impl: "evergrove",
        profile: profile.name(),
        log_size: args.log_size,
        filled: world.filled,
        size: world.members.len(),
        batch: world.members.len(),
        threads,
        at_once,
        wrapped: ours.backend.spec().wraps,
        bits_unique_decoding: bits.unique_decoding,
        bits_johnson: bits.johnson,
        bits_conjectured: bits.conjectured,
        commit_s: world.commit_s,
        setup_s: facts.setup_s,
        seconds: aggregate.seconds,
        aggregate_s: aggregate.seconds,
        aggregate_proofs: aggregate.proofs,
        update_inside_s,
        update_outside_s,
        update_proofs,
        verify_ms: milliseconds(verify.seconds),
        verify_snark_ms: milliseconds(snark_s),
        verify_scalar_ms: verify_scalar_s.map(milliseconds),
        proof_bytes: facts.proof_bytes,
        proving_key_bytes: facts.proving_key_bytes,
        verification_key_bytes: facts.verification_key_bytes,
        tree_rss_bytes: world.tree_rss_bytes,
        peak_rss_bytes,
    })
}

fn print_table(r: &Row) {
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    println!("profile {}: {} of 2^{} slots, {} threads", r.profile, r.batch, r.log_size, r.threads);
    println!("  commit {} slots      {:>9.2} s", r.filled, r.commit_s);
    println!("  load circuits            {:>9.2} s", r.setup_s);
    println!("  aggregate                {:>9.2} s   {} proofs", r.aggregate_s, r.aggregate_proofs);
    println!("  update inside            {:>9.2} s   at most {} proofs", r.update_inside_s, r.update_proofs);
    println!("  update outside           {:>9.2} s", r.update_outside_s);
    println!(
        "  verify                   {:>9.2} ms  SNARK alone {:.2} ms{}",
        r.verify_ms,
        r.verify_snark_ms,
        r.verify_scalar_ms.map(|ms| format!("; scalar {ms:.2} ms")).unwrap_or_default()
    );
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

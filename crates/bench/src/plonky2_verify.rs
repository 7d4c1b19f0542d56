//! `evergrove-bench plonky2-verify` measures a verifier of a batch on one thread: the last proof with our verifier and
//! with Plonky2's, and the canonical digest of the batch's leaves in lanes and one hash after the other.

use std::time::Instant;

use anyhow::Context;
use evergrove_commit::{MemoryStore, NodeProof, RecursionBackend, Vector, batch_digest, vc};
use evergrove_plonky2::{Plonky2Backend, Plonky2Verifier, VerifierKind};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::Isa;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HeightClass, Profile};

use crate::plonky2_prove::isa;
use crate::turns::{self, Row};

/// Height of the vector.
const HEIGHT: u8 = 27;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Security profile; repeat for more, all if left out.
    #[arg(long, value_name = "PROFILE", value_parser = |s: &str| s.parse::<Profile>())]
    profile: Vec<Profile>,
    /// log2 of the leaves of the canonical digest.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u8).range(1..=24))]
    batch_log: u8,
    /// Verifications by each verifier, of which the median counts.
    #[arg(long, default_value_t = 21)]
    runs: usize,
    /// Run our verifier also on this instruction set: portable, avx2, avx512 or avx512ifma. Repeat for more.
    #[arg(long, value_name = "NAME", value_parser = isa)]
    isa: Vec<Isa>,
    /// Directory in which circuits are kept from run to run.
    #[arg(long, value_name = "DIR")]
    keys: Option<std::path::PathBuf>,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let profiles = if args.profile.is_empty() { &Profile::PLONKY2[..] } else { &args.profile };
    for profile in profiles {
        snark(args, *profile)?;
    }
    digest(args)
}

fn value(i: u64) -> Value {
    core::array::from_fn(|k| Goldilocks::reduce(i * 31 + k as u64))
}

/// Measures the verification of the last proof of a batch of two buckets.
fn snark(args: &Args, profile: Profile) -> anyhow::Result<()> {
    let backend = Plonky2Backend::load(profile, HeightClass::H27, args.keys.as_deref())?;
    let members: Vec<u64> = [0, 1 << 26].to_vec();
    let mut vector = Vector::new(HEIGHT, MemoryStore::new())?;
    let members: Vec<u64> = members.iter().flat_map(|first| *first..*first + backend.spec().capacity as u64).collect();
    vector.apply(&members.iter().map(|i| (*i, Some(value(*i)))).collect::<Vec<_>>())?;
    let (proof, _) = vc::agg(&vc::setup(HEIGHT, &backend)?, &members, &vector)?;
    let keys = backend.keys();
    let mut verifiers: Vec<(String, Plonky2Verifier)> = vec![
        ("evergrove".into(), Plonky2Verifier::new(&keys)),
        ("plonky2".into(), Plonky2Verifier::by(VerifierKind::Plonky2, Isa::detect(), &keys)),
    ];
    for isa in &args.isa {
        verifiers.push((format!("evergrove-{isa}"), Plonky2Verifier::by(VerifierKind::Evergrove, *isa, &keys)));
    }
    let proof: &NodeProof = &proof;
    let seconds = turns::medians(verifiers.len(), args.runs, |k| {
        let start = Instant::now();
        verifiers[k].1.verify(proof)?;
        Ok((start.elapsed().as_secs_f64(), ()))
    })?;
    let ours = *seconds.first().context("our verifier")?;
    for ((name, _), seconds) in verifiers.iter().zip(seconds) {
        let r#impl = format!("{name} {profile} {}", proof.kind);
        row("plonky2-verify", r#impl, proof.bytes.len(), seconds, ours).print(args.json, "bytes of proof")?;
    }
    Ok(())
}

/// Measures the canonical digest.
fn digest(args: &Args) -> anyhow::Result<()> {
    let n = 1_u64 << args.batch_log;
    // The positions are spread out, but not evenly.
    let leaves: Vec<(u64, Value)> = (0..n).map(|i| (i * ((1 << HEIGHT) / n) + i % 2, value(i))).collect();
    let ways = [batch_digest, evergrove_verifier::batch_digest];
    let seconds = turns::medians(2, args.runs, |k| {
        let start = Instant::now();
        let digest = ways[k](HEIGHT, &leaves)?;
        Ok((start.elapsed().as_secs_f64(), digest))
    })?;
    for (name, seconds_of) in ["evergrove", "scalar"].into_iter().zip(&seconds) {
        row("canonical-digest", name.into(), leaves.len(), *seconds_of, seconds[0]).print(args.json, "leaves")?;
    }
    Ok(())
}

fn row(kernel: &'static str, r#impl: String, size: usize, seconds: f64, ours: f64) -> Row {
    Row { ratio: Some(seconds / ours), ..Row::new(kernel, r#impl, size, seconds) }
}

//! A Merkle SNARK by Groth16, which section 5.2 of the paper compares with: all paths of a batch in one circuit of
//! arkworks, over BN254 with its Poseidon.
//!
//! The circuit is the smallest that makes the statement: the root, and the index and value of each member, are its
//! public inputs. It has no canonical digest. Its keys are made here, by one who knows their secrets. A change of one
//! slot takes a new proof, so an update costs what the aggregation costs.

use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use ark_bn254::{Bn254, Fr};
use ark_crypto_primitives::crh::poseidon::TwoToOneCRH;
use ark_crypto_primitives::crh::poseidon::constraints::{CRHParametersVar, TwoToOneCRHGadget};
use ark_crypto_primitives::crh::{TwoToOneCRHScheme, TwoToOneCRHSchemeGadget};
use ark_crypto_primitives::snark::SNARK;
use ark_crypto_primitives::sponge::poseidon::{PoseidonConfig, find_poseidon_ark_and_mds};
use ark_ff::PrimeField;
use ark_groth16::{Groth16, prepare_verifying_key};
use ark_r1cs_std::alloc::AllocVar;
use ark_r1cs_std::boolean::Boolean;
use ark_r1cs_std::eq::EqGadget;
use ark_r1cs_std::fields::fp::FpVar;
use ark_r1cs_std::select::CondSelectGadget;
use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, SynthesisError};
use ark_serialize::CanonicalSerialize;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::Serialize;

use crate::memory;
use crate::turns::{median, print_json};

/// Proves a batch of Merkle paths in one circuit by Groth16, as a peer of `reckle`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the number of slots
    #[arg(long, default_value_t = 27, value_parser = clap::value_parser!(u8).range(1..=40))]
    log_size: u8,
    /// log2 of the number of slots in the batch; 2^6 takes some 3 GB
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..=12))]
    batch_log: u8,
    /// Proofs; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Threads, all cores by default
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, |n| n.get() as u16), value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

/// The measured times.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    /// Slots in the batch.
    size: usize,
    log_size: u8,
    threads: u16,
    constraints: usize,
    setup_s: f64,
    seconds: f64,
    processor_s: f64,
    verify_ms: f64,
    proof_bytes: usize,
    proving_key_bytes: usize,
    peak_rss_bytes: u64,
}

/// The value of a slot and the siblings of its path, from below.
#[derive(Clone)]
struct Member {
    index: u64,
    value: Fr,
    siblings: Vec<Fr>,
}

#[derive(Clone)]
struct Paths {
    hash: PoseidonConfig<Fr>,
    root: Fr,
    members: Vec<Member>,
}

impl ConstraintSynthesizer<Fr> for Paths {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        let hash = CRHParametersVar::new_constant(cs.clone(), &self.hash)?;
        let root = FpVar::new_input(cs.clone(), || Ok(self.root))?;
        for member in self.members {
            let index = FpVar::new_input(cs.clone(), || Ok(Fr::from(member.index)))?;
            let mut node = FpVar::new_input(cs.clone(), || Ok(member.value))?;
            let mut bits = Vec::with_capacity(member.siblings.len());
            for (level, sibling) in member.siblings.iter().enumerate() {
                let sibling = FpVar::new_witness(cs.clone(), || Ok(sibling))?;
                let right = Boolean::new_witness(cs.clone(), || Ok(member.index >> level & 1 == 1))?;
                let first = FpVar::conditionally_select(&right, &sibling, &node)?;
                let second = &node + &sibling - &first;
                node = TwoToOneCRHGadget::compress(&hash, &first, &second)?;
                bits.push(right);
            }
            Boolean::le_bits_to_fp(&bits)?.enforce_equal(&index)?;
            node.enforce_equal(&root)?;
        }
        Ok(())
    }
}

impl Paths {
    /// Members at random positions of a tree whose other slots are 0.
    fn random(log_size: u8, members: usize) -> anyhow::Result<Self> {
        let hash = poseidon();
        let parent = |left: Fr, right: Fr| TwoToOneCRH::compress(&hash, left, right).map_err(|e| anyhow!("{e}"));
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut level = std::collections::BTreeMap::new();
        while level.len() < members {
            level.insert(rng.next_u64() >> (64 - log_size), Fr::from(rng.next_u64()));
        }
        let mut out: Vec<Member> =
            level.iter().map(|(&index, &value)| Member { index, value, siblings: vec![] }).collect();
        let mut empty = Fr::from(0u64);
        for height in 0..log_size {
            for member in &mut out {
                let sibling = level.get(&(member.index >> height ^ 1));
                member.siblings.push(sibling.copied().unwrap_or(empty));
            }
            let mut above = std::collections::BTreeMap::new();
            for &position in level.keys() {
                let child = |side: u64| level.get(&(position & !1 | side)).copied().unwrap_or(empty);
                above.insert(position >> 1, parent(child(0), child(1))?);
            }
            empty = parent(empty, empty)?;
            level = above;
        }
        let root = level.get(&0).copied().unwrap_or(empty);
        Ok(Self { hash, root, members: out })
    }

    fn public(&self) -> Vec<Fr> {
        let members = self.members.iter().flat_map(|member| [Fr::from(member.index), member.value]);
        std::iter::once(self.root).chain(members).collect()
    }
}

/// Width 3, S-box x^5, 8 full and 57 partial rounds, as for other trees of two children over BN254.
fn poseidon() -> PoseidonConfig<Fr> {
    let (full, partial, rate) = (8, 57, 2);
    let (ark, mds) = find_poseidon_ark_and_mds::<Fr>(Fr::MODULUS_BIT_SIZE.into(), rate, full, partial, 0);
    PoseidonConfig::new(full as usize, partial as usize, 5, mds, ark, rate, 1)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(
        args.batch_log <= args.log_size,
        "--batch-log {} exceeds --log-size {}: give at most as many members as slots",
        args.batch_log,
        args.log_size
    );
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let paths = Paths::random(args.log_size, 1 << args.batch_log)?;
    let cs = ConstraintSystem::new_ref();
    paths.clone().generate_constraints(cs.clone())?;
    ensure!(cs.is_satisfied()?, "the circuit refuses the paths");
    let constraints = cs.num_constraints();
    drop(cs);
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let start = Instant::now();
    let (key, verifying_key) = Groth16::<Bn254>::circuit_specific_setup(paths.clone(), &mut rng)?;
    let setup_s = start.elapsed().as_secs_f64();
    let verifying_key = prepare_verifying_key(&verifying_key);
    let (public, mut proving, mut verify_s, mut proof_bytes) = (paths.public(), vec![], vec![], 0);
    for _ in 0..args.repeat {
        let (proof, took) = memory::took(|| Ok(Groth16::<Bn254>::prove(&key, paths.clone(), &mut rng)?))?;
        proving.push(took);
        let start = Instant::now();
        let accepted = Groth16::<Bn254>::verify_with_processed_vk(&verifying_key, &public, &proof)?;
        verify_s.push(start.elapsed().as_secs_f64());
        ensure!(accepted, "the verifier refuses the proof");
        let mut other = public.clone();
        other[2] += Fr::from(1u64);
        let accepted = Groth16::<Bn254>::verify_with_processed_vk(&verifying_key, &other, &proof)?;
        ensure!(!accepted, "the verifier accepts another value");
        proof_bytes = proof.compressed_size();
    }
    let took = memory::median(proving).context("--repeat is at least 1")?;
    let row = Row {
        kernel: "merkle-snark",
        r#impl: "arkworks-groth16",
        size: 1 << args.batch_log,
        log_size: args.log_size,
        threads: args.threads,
        constraints,
        setup_s,
        seconds: took.seconds,
        processor_s: took.processor_seconds,
        verify_ms: 1e3 * median(verify_s),
        proof_bytes,
        proving_key_bytes: key.compressed_size(),
        peak_rss_bytes: memory::resident().1,
    };
    if args.json {
        return print_json(&row);
    }
    println!(
        "2^{} of 2^{} slots by Groth16 over BN254: {} constraints, setup {:.1} s, proof {:.2} s and {} bytes, verification {:.1} ms, {} MB",
        args.batch_log,
        args.log_size,
        row.constraints,
        row.setup_s,
        row.seconds,
        row.proof_bytes,
        row.verify_ms,
        row.peak_rss_bytes / 1_000_000
    );
    Ok(())
}

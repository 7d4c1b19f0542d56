//! `engine`: a proof of the multilinear engine that verifies two proofs of its own key, beside the merge of Plonky2's profile `proven` by our
//! prover.
//!
//! A run takes two proofs and ends with the next one: their claims, the reduction of these, the witness, the proof. The circuit
//! says f(left, right) of what the two proofs say; a merge of Reckle trees has some 64 hashes more.

use std::time::Instant;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_multilinear::key::{Key, Public};
use evergrove_multilinear::poseidon;
use evergrove_multilinear::prover::{Phases, Prover};
use evergrove_multilinear::recursion::{Children, Proof, children_data, fixed_point};
use evergrove_multilinear::tables::{Table, WORD};
use evergrove_multilinear::verifier::soundness::unique_decoding;
use evergrove_multilinear::verifier::{JOHNSON_128, Parameters, Reduced, Round, UNIQUE_100};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::lanes::Isa;
use evergrove_proof::{HeightClass, Profile};
use evergrove_recursion::Plonky2Backend;
use serde::Serialize;

use crate::plonky2_prove::merge_of;
use crate::turns::{medians, print_json};

#[derive(Clone, Copy, ValueEnum)]
enum Rounds {
    /// 100 bits by unique decoding, over the extension of degree two.
    #[value(name = "unique-100")]
    Unique,
    /// 128 bits up to the Johnson bound, over the extension of degree three.
    #[value(name = "johnson-128")]
    Johnson,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folds, rates and queries.
    #[arg(long, value_enum, default_value = "unique-100")]
    rounds: Rounds,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Proofs by each, of which the median counts.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Without Plonky2's merge.
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
    /// Elements that are committed to; rows of Plonky2's circuit.
    size: usize,
    threads: u32,
    seconds: f64,
    /// Seconds per second of ours.
    ratio: f64,
    #[serde(flatten)]
    own: Option<Own>,
}

/// What only our rows have.
#[derive(Serialize)]
struct Own {
    permutations: usize,
    proof_bytes: usize,
    bits_unique_decoding: f64,
    /// Seconds of the steps of one of the proofs.
    claims: f64,
    witness: f64,
    commitment: f64,
    bus: f64,
    rows: f64,
    opening: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build()?;
    pool.install(|| match args.rounds {
        Rounds::Unique => measure::<Quadratic>(args, &UNIQUE_100),
        Rounds::Johnson => measure::<Cubic>(args, &JOHNSON_128),
    })
}

/// What hashes of information begin with.
const TAG: Goldilocks = Goldilocks::new(1);

/// A circuit about two proofs.
fn two<K: Extension>(parameters: &Parameters<K>) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let tag = builder.tag(TAG);
    let (information, children) = builder.hash_free(tag);
    let (_, [key, flags]) = builder.hash_free(tag);
    let circuits = [0, 1].map(|i| {
        let flag = builder.limb(flags, i);
        builder.boolean(flag)
    });
    let mut about = Children::new(&mut builder, parameters, key);
    for (circuit, child) in circuits.into_iter().zip(children) {
        about.child(circuit, &[child]);
    }
    about.publish(vec![information.digest()]);
    builder
}

/// A circuit about none.
fn none<K: Extension>(parameters: &Parameters<K>) -> Builder<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let tag = builder.tag(TAG);
    let (_, [key, information]) = builder.hash_free(tag);
    Children::new(&mut builder, parameters, key).publish(vec![information]);
    builder
}

struct Engine<'a, K> {
    key: &'a Key<K>,
    circuits: &'a [Circuit<K>; 2],
    provers: [Prover<'a, K>; 2],
}

impl<K: Extension> Engine<'_, K> {
    fn prove(
        &self,
        circuit: bool,
        free: &[Goldilocks],
        public: Public<[Goldilocks; WORD], K>,
    ) -> anyhow::Result<(Proof<K>, Phases, f64)> {
        let which = usize::from(circuit);
        let start = Instant::now();
        let witness = self.circuits[which].witness(free)?;
        let seconds = start.elapsed().as_secs_f64();
        let statement = public.statement(self.key, circuit);
        let (elements, phases) = self.provers[which].prove_on(Isa::detect(), &statement, &witness);
        Ok((Proof { elements, circuit, public }, phases, seconds))
    }
    /// The proof about two.
    fn two(&self, child: &Proof<K>) -> anyhow::Result<(Proof<K>, Own)> {
        let start = Instant::now();
        let word = child.public.information[0];
        let flag = Goldilocks::new(child.circuit.into());
        let mut free = [word, word, self.key.digest(), [flag, flag, Goldilocks::ZERO, Goldilocks::ZERO]].concat();
        let (data, Reduced { point, value }) = children_data(self.key, &[child; 2])?;
        free.extend(data);
        let mut state = [Goldilocks::ZERO; 12];
        state[..WORD].copy_from_slice(&word);
        state[WORD..2 * WORD].copy_from_slice(&word);
        state[2 * WORD] = TAG;
        let claims = start.elapsed().as_secs_f64();
        let public = Public { information: vec![poseidon::digest(state)], point, value };
        let (proof, phases, witness) = self.prove(true, &free, public)?;
        let least = unique_decoding(self.key.parameters()).into_iter().map(|term| term.bits);
        let own = Own {
            permutations: self.circuits[1].rows(Table::Permutation),
            proof_bytes: size_of::<Goldilocks>() * proof.elements.len(),
            bits_unique_decoding: least.fold(f64::INFINITY, f64::min),
            claims,
            witness,
            commitment: phases.commitment.as_secs_f64(),
            bus: phases.bus.as_secs_f64(),
            rows: phases.rows.as_secs_f64(),
            opening: phases.opening.as_secs_f64(),
        };
        Ok((proof, own))
    }
}

fn measure<K: Extension>(args: &Args, rounds: &[Round]) -> anyhow::Result<()> {
    let parameters = fixed_point(rounds, two::<K>);
    let blocks = parameters.layout().blocks();
    let circuits = [none(&parameters).finish_in(blocks), two(&parameters).finish()];
    let key = Key::new(parameters, circuits.each_ref());
    let provers = circuits.each_ref().map(|circuit| Prover::new(circuit, key.parameters()));
    let engine = Engine { key: &key, circuits: &circuits, provers };
    // A proof about none, about two of them, and about two of those: what is measured.
    let (point, value) = key.at(vec![K::ONE; key.variables()]);
    let public = Public { information: vec![[Goldilocks::ONE; WORD]], point, value };
    let free = [&key.digest()[..], &[Goldilocks::ONE; WORD], &public.claim_data()].concat();
    let (leaf, ..) = engine.prove(false, &free, public)?;
    let (child, _) = engine.two(&leaf)?;
    let (top, _) = engine.two(&child)?;
    top.verify(&key)?;

    let peer = if args.alone { None } else { Some(Plonky2Backend::load(Profile::Proven, HeightClass::H27, None)?) };
    let peer = peer.as_ref().map(|backend| Ok::<_, anyhow::Error>((backend, merge_of(backend)?))).transpose()?;
    let mut own = None;
    let seconds = medians(1 + usize::from(peer.is_some()), args.runs as usize, |k| {
        let start = Instant::now();
        if k == 0 {
            let (proof, parts) = engine.two(&child)?;
            let seconds = start.elapsed().as_secs_f64();
            ensure!(proof == top, "two proofs differ");
            own = Some(parts);
            Ok((seconds, Vec::new()))
        } else {
            let (backend, inputs) = peer.as_ref().context("Plonky2's merge")?;
            backend.circuits().merge.prove(inputs.clone())?;
            Ok((start.elapsed().as_secs_f64(), Vec::<u8>::new()))
        }
    })?;
    let size = key.parameters().layout().committed().elements();
    let sizes = [size, peer.as_ref().map_or(0, |(backend, _)| backend.circuits().merge.data.common.degree())];
    for (k, name) in ["evergrove", "plonky2"].into_iter().enumerate().take(seconds.len()) {
        let Args { threads, json, .. } = *args;
        let own = own.take().filter(|_| k == 0);
        let row = Row {
            kernel: "engine-recursion",
            r#impl: name,
            size: sizes[k],
            threads,
            seconds: seconds[k],
            ratio: seconds[k] / seconds[0],
            own,
        };
        if json {
            print_json(&row)?;
            continue;
        }
        println!("engine-recursion {name:10} {threads} threads: {:.4} s, {:.2} times ours", row.seconds, row.ratio);
        if let Some(Own { permutations, proof_bytes, bits_unique_decoding, .. }) = row.own {
            println!(
                "    {size} elements, {permutations} permutations, a proof of {proof_bytes} bytes, {bits_unique_decoding:.1} bits in unique decoding"
            );
        }
        if let Some(Own { claims, witness, commitment, bus, rows, opening, .. }) = row.own {
            let parts = [
                ("claims", claims),
                ("witness", witness),
                ("commitment", commitment),
                ("bus", bus),
                ("rows", rows),
                ("opening", opening),
            ];
            println!("    ms: {}", parts.map(|(name, seconds)| format!("{name} {:.1}", 1e3 * seconds)).join(", "));
        }
    }
    Ok(())
}

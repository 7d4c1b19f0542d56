//! The two schemes that make the whole proof of a batch again after every change: a tree of proofs, and one circuit.

use anyhow::Context;
use evergrove_baselines::{BatchProof, Cost, JoinKind, Monolithic, PathProof, TreeOfProofs};
use evergrove_commit::batch::Batch;
use evergrove_commit::{BucketWitness, LeafWitness, MemoryStore, Vector, Witness, batch_digest};
use evergrove_primitives::Digest;
use evergrove_verifier::tree::canonical_split;
use evergrove_verifier::{Profile, Statement};

use super::scheme::{Facts, Scheme, Timing, check_time, timed};
use super::world::{World, leaves};
use crate::memory;
use crate::turns::median;

/// The openings of a batch against the vector's root.
fn openings(vector: &Vector<MemoryStore>, members: &[u64]) -> anyhow::Result<BucketWitness> {
    // A bucket with enough capacity for all members holds all of their paths in its witness.
    match Batch::build(vector, members, members.len())?.root().witness(vector)? {
        Witness::Bucket(witness) => Ok(witness),
        _ => anyhow::bail!("a batch that fits one bucket has no bucket"),
    }
}

/// Checks that a proof is valid and is about these leaves of the vector.
fn check(
    proof: &BatchProof,
    expected: &Statement,
    verify: impl Fn(&BatchProof) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    anyhow::ensure!(proof.statement == *expected, "the proof states {:?}, not {expected:?}", proof.statement);
    verify(proof)
}

/// Measures the verification of `proof`, including the canonical digest of `members`.
fn verification(
    vector: &Vector<MemoryStore>,
    members: &[u64],
    measured_batch: usize,
    verify: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<(Timing, f64)> {
    let claimed = leaves(vector, members)?;
    let snark = check_time(verify)?;
    let seconds = snark + check_time(|| Ok(_ = batch_digest(vector.height(), &claimed)?))?;
    let extrapolated = measured_batch != members.len();
    Ok((Timing { seconds, proofs: 0, extrapolated, measured_batch }, snark))
}

/// One proof per path, joined in pairs.
pub(crate) struct Tree {
    circuits: TreeOfProofs,
    vector: Vector<MemoryStore>,
    setup_s: f64,
    /// The largest batch that is really proven; the times of larger ones are computed.
    largest: usize,
    members: Vec<u64>,
    measured_batch: usize,
    proof: Option<BatchProof>,
    paths: Vec<f64>,
    joins: [Vec<f64>; 3],
    compactions: Vec<f64>,
}

impl Tree {
    pub(crate) fn build(profile: Profile, world: &World, largest: usize) -> anyhow::Result<Self> {
        let (circuits, setup_s) = timed(|| Ok(TreeOfProofs::build(profile, world.height)?))?;
        Ok(Self {
            circuits,
            vector: world.vector.clone(),
            setup_s,
            largest,
            members: vec![],
            measured_batch: 0,
            proof: None,
            paths: vec![],
            joins: [vec![], vec![], vec![]],
            compactions: vec![],
        })
    }

    fn subtree(&mut self, root: &Digest, leaves: &[(u64, &LeafWitness)]) -> anyhow::Result<(PathProof, bool)> {
        if let [(_, leaf)] = leaves {
            let (proof, seconds) = timed(|| Ok(self.circuits.prove_path(root, leaf)?))?;
            self.paths.push(seconds);
            return Ok((proof, false));
        }
        let (left, right) = leaves.split_at(canonical_split(leaves));
        let ((left, left_joins), (right, right_joins)) = (self.subtree(root, left)?, self.subtree(root, right)?);
        let (proof, seconds) = timed(|| Ok(self.circuits.join(&left, &right)?))?;
        self.joins[JoinKind::of(left_joins, right_joins) as usize].push(seconds);
        Ok((proof, true))
    }

    fn prove(&mut self, members: &[u64]) -> anyhow::Result<Timing> {
        let witness = openings(&self.vector, members)?;
        let indexed: Vec<(u64, &LeafWitness)> = witness.leaves.iter().map(|l| (l.index, l)).collect();
        let (proof, seconds) = timed(|| {
            let (whole, _) = self.subtree(&witness.statement.root, &indexed)?;
            let (proof, seconds) = timed(|| Ok(self.circuits.compact(&whole)?))?;
            self.compactions.push(seconds);
            Ok(proof)
        })?;
        check(&proof, &witness.statement, |p| Ok(self.circuits.verify(p)?))?;
        self.proof = Some(proof);
        self.measured_batch = members.len();
        let proofs = cost(members).total();
        Ok(Timing { seconds, proofs, extrapolated: false, measured_batch: members.len() })
    }
}

fn cost(members: &[u64]) -> Cost {
    let mut members = members.to_vec();
    members.sort_unstable();
    Cost::of(&members)
}

impl Scheme for Tree {
    fn name(&self) -> &'static str {
        "tree-of-proofs"
    }

    fn aggregate(&mut self, members: &[u64]) -> anyhow::Result<Timing> {
        self.members = members.to_vec();
        if members.len() <= self.largest {
            return self.prove(members);
        }
        if self.proof.is_none() {
            self.prove(&members[..self.largest])?;
        }
        let cost = cost(members);
        // The three joins have the same size, so a join that no batch has needed yet is assumed to take as long as the
        // others.
        let all: Vec<f64> = self.joins.iter().flatten().copied().collect();
        let mut seconds = cost.paths as f64 * median(self.paths.iter().copied())
            + cost.compactions as f64 * median(self.compactions.iter().copied());
        for (count, times) in cost.joins.iter().zip(&self.joins) {
            seconds += *count as f64 * median(if times.is_empty() { &all } else { times }.iter().copied());
        }
        Ok(Timing { seconds, proofs: cost.total(), extrapolated: true, measured_batch: self.measured_batch })
    }

    fn update(&mut self) -> anyhow::Result<Timing> {
        let members = self.members.clone();
        self.aggregate(&members)
    }

    fn verify(&self) -> anyhow::Result<(Timing, f64)> {
        let proof = self.proof.as_ref().context("no batch has been proven")?;
        verification(&self.vector, &self.members, self.measured_batch, || Ok(self.circuits.verify(proof)?))
    }

    fn facts(&self) -> anyhow::Result<Facts> {
        Ok(Facts {
            setup_s: self.setup_s,
            proving_key_bytes: self.circuits.proving_key_bytes()?,
            verification_key_bytes: self.circuits.verification_key_bytes(),
            proof_bytes: self.proof.as_ref().context("no batch has been proven")?.bytes.len(),
        })
    }
}

/// One circuit for all paths of the batch.
pub(crate) struct Circuit {
    profile: Profile,
    vector: Vector<MemoryStore>,
    members: Vec<u64>,
    /// The last circuit, with its set-up time, capacity and proof.
    built: Option<Built>,
}

struct Built {
    circuit: Monolithic,
    capacity: usize,
    setup_s: f64,
    proof: BatchProof,
    seconds: f64,
}

/// Estimated memory of a circuit and its proof in bytes per row, with a margin. 39 KiB were measured at 2^14 rows; a
/// quarter of that belongs to the compaction, which does not grow.
const BYTES_PER_ROW: u64 = 48 << 10;

impl Circuit {
    pub(crate) fn new(profile: Profile, world: &World) -> Self {
        Self { profile, vector: world.vector.clone(), members: vec![], built: None }
    }

    /// The largest batch of at most `wanted` members whose circuit and proof fit into free memory.
    fn fitting(wanted: usize) -> usize {
        let rows = |members: usize| (39 * members as u64).next_power_of_two();
        let free = memory::available();
        let mut fits = wanted;
        while fits > 1 && rows(fits) * BYTES_PER_ROW > free {
            fits /= 2;
        }
        fits
    }
}

impl Scheme for Circuit {
    fn name(&self) -> &'static str {
        "monolithic"
    }

    fn aggregate(&mut self, members: &[u64]) -> anyhow::Result<Timing> {
        self.members = members.to_vec();
        let capacity = Self::fitting(members.len());
        // Drops the old circuit before building another: both together may not fit into memory.
        let circuit = match self.built.take() {
            Some(b) if b.capacity == capacity => (b.circuit, b.setup_s),
            _ => timed(|| Ok(Monolithic::build(self.profile, self.vector.height(), capacity)?))?,
        };
        let (circuit, setup_s) = circuit;
        let witness = openings(&self.vector, &members[..capacity])?;
        let (proof, seconds) = timed(|| Ok(circuit.prove(&witness)?))?;
        check(&proof, &witness.statement, |p| Ok(circuit.verify(p)?))?;
        self.built = Some(Built { circuit, capacity, setup_s, proof, seconds });
        // The rows of a circuit that does not fit grow in proportion to the members, and its time grows at least as
        // fast.
        let seconds = seconds * (members.len() as f64 / capacity as f64);
        let extrapolated = capacity != members.len();
        Ok(Timing { seconds, proofs: 2, extrapolated, measured_batch: capacity })
    }

    fn update(&mut self) -> anyhow::Result<Timing> {
        let built = self.built.as_ref().context("no batch has been proven")?;
        let (members, capacity) = (self.members.len(), built.capacity);
        let seconds = built.seconds * (members as f64 / capacity as f64);
        Ok(Timing { seconds, proofs: 2, extrapolated: capacity != members, measured_batch: capacity })
    }

    fn verify(&self) -> anyhow::Result<(Timing, f64)> {
        let Built { circuit, proof, capacity, .. } = self.built.as_ref().context("no batch has been proven")?;
        verification(&self.vector, &self.members, *capacity, || Ok(circuit.verify(proof)?))
    }

    fn facts(&self) -> anyhow::Result<Facts> {
        let Built { circuit, proof, setup_s, .. } = self.built.as_ref().context("no batch has been proven")?;
        Ok(Facts {
            setup_s: *setup_s,
            proving_key_bytes: circuit.proving_key_bytes()?,
            verification_key_bytes: circuit.verification_key_bytes(),
            proof_bytes: proof.bytes.len(),
        })
    }
}

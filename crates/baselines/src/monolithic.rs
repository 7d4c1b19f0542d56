//! One circuit that verifies all paths of a batch: a Merkle SNARK on our prover.
//!
//! The circuit is our bucket with as many slots as the batch may have members, at the root: one leaf hash, H path
//! hashes and one hash of the canonical digest for each slot, and the same constraints on indices and digest. A circuit
//! of a fixed height would save some 5 of 39 rows for each slot, but at every batch of 2^k members the padding to a
//! power of two uses them.

use evergrove_commit::{BackendError, BucketWitness, NativeBackend};
use evergrove_verifier::{HeightClass, Profile};
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;

use super::compact::{BatchProof, Compaction, height_element};
use evergrove_plonky2::cache::circuit_size;
use evergrove_plonky2::circuit::{BucketTargets, CircuitSpec, F};
use evergrove_plonky2::setup::{Circuit, build_bucket};

/// Proves batches of up to a fixed number of leaves in one proof, and compacts it.
pub struct Monolithic {
    bucket: Circuit<BucketTargets>,
    compaction: Compaction,
    rules: NativeBackend,
    height: u8,
}

impl Monolithic {
    /// Builds the circuit for vectors of this height and batches of at most `capacity` leaves: about 39 `capacity`
    /// rows, padded to a power of two, for every size of the proven batch.
    ///
    /// # Errors
    /// For a profile of another backend, and when `height` is not from 1 to 40, or `capacity` is 0.
    pub fn build(profile: Profile, height: u8, capacity: usize) -> Result<Self, BackendError> {
        let class = HeightClass::of(height)
            .filter(|_| capacity > 0)
            .ok_or_else(|| BackendError::Witness(format!("no circuit of height {height} for {capacity} leaves")))?;
        // The paths of a circuit for one height end there.
        let spec = CircuitSpec { height_max: height, capacity, ..CircuitSpec::of(profile, class)? };
        let bucket = build_bucket(&spec);
        let key = bucket.data.verifier_only.clone();
        let mut fixed = vec![(8, height_element(height)), (9, F::ZERO)];
        fixed.extend((10..14).map(|at| (at, F::ZERO)));
        let compaction = Compaction::build(profile, height, &bucket.data.common, vec![key], &fixed)?;
        let rules = NativeBackend::new(profile, class).with_capacity(capacity);
        Ok(Self { bucket, compaction, rules, height })
    }

    /// log2 of the rows of the circuit.
    pub fn degree_bits(&self) -> usize {
        self.bucket.data.common.degree_bits()
    }

    /// Rows in use before padding.
    pub fn rows(&self) -> usize {
        self.bucket.rows
    }

    /// Proves a whole batch: one proof, and its compaction.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when the witness does not show its statement, or that is not of a whole vector of this
    /// height.
    pub fn prove(&self, witness: &BucketWitness) -> Result<BatchProof, BackendError> {
        let shown = self.rules.bucket_statement(&witness.leaves)?;
        if shown != witness.statement || (shown.height, shown.base) != (self.height, 0) {
            return Err(BackendError::Witness(format!("it shows {shown:?}, not {:?}", witness.statement)));
        }
        let proof = self
            .bucket
            .targets
            .assign(witness, HashOut::ZERO)
            .and_then(|wires| self.bucket.prove(wires))
            .map_err(|e| BackendError::Witness(format!("monolithic proof: {e}")))?;
        self.compaction.prove(&proof, 0)
    }

    /// Accepts exactly the proofs of their statement. Never panics on any bytes.
    pub fn verify(&self, proof: &BatchProof) -> Result<(), BackendError> {
        self.compaction.verify(proof)
    }

    /// Size of the serialized proving circuits, in bytes.
    pub fn proving_key_bytes(&self) -> Result<usize, BackendError> {
        Ok(circuit_size(&self.bucket.data)? + self.compaction.proving_key_bytes()?)
    }

    /// Bytes that a verifier must know.
    pub fn verification_key_bytes(&self) -> usize {
        self.compaction.verification_key_bytes()
    }
}

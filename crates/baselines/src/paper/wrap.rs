//! Compaction at the top: one proof of a whole vector, verified in a circuit with a higher rate.

use plonky2::hash::hash_types::HashOut;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CommonCircuitData, VerifierCircuitTarget};
use plonky2::plonk::proof::ProofWithPublicInputsTarget;

use super::level::Keyed;
use evergrove_plonky2::circuit::gadgets::key_with_digest;
use evergrove_plonky2::circuit::{Builder, C, D, F};

/// The wires of a wrap that a prover sets.
///
/// The circuit holds for exactly the statements (C, d) of which there is a proof by the wrapped circuit, whose key is a
/// constant here: every height has a wrap of its own.
pub struct CompactionTargets {
    /// The wrapped proof.
    pub proof: ProofWithPublicInputsTarget<D>,
    /// Its key: the cap is free, the digest binds it.
    pub key: VerifierCircuitTarget,
}

impl CompactionTargets {
    /// Adds the circuit's constraints.
    pub(crate) fn build(b: &mut Builder, common: &CommonCircuitData<F, D>, key: HashOut<F>) -> Self {
        let proof = b.add_virtual_proof_with_pis(common);
        let key = b.constant_hash(key);
        let key = key_with_digest(b, key, common);
        b.verify_proof::<C>(&proof, &key, common);
        b.register_public_inputs(&proof.public_inputs);
        Self { proof, key }
    }

    /// Sets every free wire.
    pub(crate) fn assign(&self, (proof, key): Keyed<'_>) -> Result<PartialWitness<F>, anyhow::Error> {
        let mut pw = PartialWitness::new();
        pw.set_proof_with_pis_target(&self.proof, proof)?;
        pw.set_cap_target(&self.key.constants_sigmas_cap, &key.constants_sigmas_cap)?;
        Ok(pw)
    }
}

//! The final wrap: one proof of a bucket or a merge of the whole vector, verified in a circuit with a higher rate, so
//! that the final proof is smaller.

use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::BoolTarget;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CommonCircuitData, VerifierCircuitTarget, VerifierOnlyCircuitData};
use plonky2::plonk::proof::ProofWithPublicInputsTarget;

use super::gadgets::{key_with_digest, select_digest};
use super::{Builder, C, D, F, NODE_PUBLIC_INPUTS, NodeTargets, PlonkyProof};

/// The wires of a wrap that a prover sets.
///
/// The circuit holds for exactly these statements: there is a proof by the pinned bucket or the pinned merge circuit,
/// made for the pinned merge key, of (C, d, h, base = 0), and of the other public inputs that the two have.
pub struct WrapTargets {
    /// The wrapped proof.
    pub proof: ProofWithPublicInputsTarget<D>,
    /// It is a bucket (otherwise a merge).
    pub is_bucket: BoolTarget,
    /// The key for its verification: its cap is free, its digest binds it.
    pub key: VerifierCircuitTarget,
}

impl WrapTargets {
    /// Adds the circuit's constraints.
    pub(crate) fn build(
        b: &mut Builder,
        common: &CommonCircuitData<F, D>,
        bucket_key: HashOut<F>,
        merge_key: HashOut<F>,
    ) -> Self {
        let proof = b.add_virtual_proof_with_pis(common);
        let is_bucket = b.add_virtual_bool_target_safe();
        let (bucket_key, merge_key) = (b.constant_hash(bucket_key), b.constant_hash(merge_key));
        let digest = select_digest(b, is_bucket, bucket_key, merge_key);
        let key = key_with_digest(b, digest, common);
        b.verify_proof::<C>(&proof, &key, common);
        let child = NodeTargets::of_child(&proof.public_inputs);
        b.connect_hashes(child.merge_key, merge_key);
        b.assert_zero(child.base);
        b.register_public_inputs(&child.root);
        b.register_public_inputs(&child.canonical);
        b.register_public_inputs(&[child.height, child.base]);
        b.register_public_inputs(&proof.public_inputs[NODE_PUBLIC_INPUTS..]);
        Self { proof, is_bucket, key }
    }

    /// Sets every free wire.
    pub fn assign(
        &self,
        proof: &PlonkyProof,
        is_bucket: bool,
        key: &VerifierOnlyCircuitData<C, D>,
    ) -> Result<PartialWitness<F>, anyhow::Error> {
        let mut pw = PartialWitness::new();
        pw.set_proof_with_pis_target(&self.proof, proof)?;
        pw.set_bool_target(self.is_bucket, is_bucket)?;
        pw.set_cap_target(&self.key.constants_sigmas_cap, &key.constants_sigmas_cap)?;
        Ok(pw)
    }
}

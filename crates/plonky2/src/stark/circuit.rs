//! The verifier of tables that expose records, as a circuit.

use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOutTarget;
use plonky2::iop::challenger::RecursiveChallenger;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::PartialWitness;
use starky::config::StarkConfig;
use starky::cross_table_lookup::CtlCheckVarsTarget;
use starky::lookup::get_grand_product_challenge_set_target;
use starky::proof::StarkProofTarget;
use starky::recursive_verifier::{
    add_virtual_stark_proof, set_stark_proof_target, verify_stark_proof_with_challenges_circuit,
};

use super::records::looked_up;
use super::{Air, AirStark, RecordedProof};
use crate::circuit::{Builder, C, D, F, Poseidon};

/// A record as the circuit has it.
#[derive(Clone, Debug)]
pub struct RecordTargets {
    /// Whether the table must have the record; `None` if it always must.
    pub active: Option<BoolTarget>,
    /// The exposed columns of the table.
    pub values: Vec<Target>,
}

/// The wires of a table's proof.
pub struct TableTargets {
    proof: StarkProofTarget<D>,
    log_rows: usize,
    zero: Target,
}

impl TableTargets {
    /// Verifies a proof of a table of 2^`log_rows` rows that exposes exactly the active `records`, in any order.
    ///
    /// `binding` must be a digest that no two assignments of the records share: the challenge is drawn after it and the
    /// trace's cap. The records' values need no range checks: they are the table's.
    ///
    /// # Panics
    /// If the air exposes nothing or has public inputs, and for sizes that [`super::StarkProver`] refuses.
    pub fn build<A: Air>(
        b: &mut Builder,
        config: &StarkConfig,
        log_rows: usize,
        binding: HashOutTarget,
        records: &[RecordTargets],
    ) -> Self {
        assert_eq!(A::PUBLIC_INPUTS, 0, "a table that exposes records has no public inputs");
        let stark = AirStark::<A>::default();
        let exposed = A::exposed().expect("a table that exposes records");
        let nc = config.num_challenges;
        let proof = add_virtual_stark_proof(b, &stark, config, log_rows, nc, nc);
        let bits = b.constant(F::from_canonical_usize(log_rows));
        b.connect(proof.degree_bits, bits);

        let mut challenger = RecursiveChallenger::<F, Poseidon, D>::new(b);
        challenger.observe_elements(&binding.elements);
        challenger.observe_cap(&proof.trace_cap);
        let set = get_grand_product_challenge_set_target(b, &mut challenger, config.num_challenges);
        let sums = proof.openings.ctl_zs_first.clone().expect("sums of records");
        for (challenge, found) in set.challenges.iter().zip(sums) {
            let mut sum = b.zero();
            for record in records {
                let combined = challenge.combine_base_circuit(b, &record.values);
                let inverse = b.inverse(combined);
                sum = match record.active {
                    Some(active) => b.mul_add(active.target, inverse, sum),
                    None => b.add(inverse, sum),
                };
            }
            b.connect(sum, found);
        }
        let lookups = [looked_up(&exposed)];
        let vars = CtlCheckVarsTarget::from_proof(0, &proof, &lookups, &set, 0, 0, &[0]);
        let challenges = proof.get_challenges::<F, C, AirStark<A>>(
            b,
            &stark,
            &[],
            &mut challenger,
            Some(&set),
            Some(&vars),
            log_rows,
            true,
            config,
        );
        verify_stark_proof_with_challenges_circuit::<F, C, AirStark<A>, D>(
            b,
            &stark,
            &proof,
            &[],
            challenges,
            Some(&vars),
            config,
            log_rows,
            None,
        );
        Self { proof, log_rows, zero: b.zero() }
    }

    /// Sets the wires.
    ///
    /// # Errors
    /// For a proof of another shape.
    pub fn assign(&self, pw: &mut PartialWitness<F>, proof: &RecordedProof) -> anyhow::Result<()> {
        set_stark_proof_target(pw, &self.proof, &proof.proof, self.log_rows, self.zero)
    }
}

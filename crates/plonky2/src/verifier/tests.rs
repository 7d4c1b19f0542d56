//! Every check counts separately: the transcript, which hides them from each other, is taken from plonky2.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{Isa, available};
use evergrove_verifier::wire::{self, Openings, Snark};
use plonky2::field::types::Field;
use plonky2::fri::reduction_strategies::FriReductionStrategy;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};
use plonky2::plonk::config::Hasher;
use plonky2::plonk::proof::ProofChallenges;

use super::check::{Check, SnarkError};
use super::constraints::{Challenges, Constraints};
use super::fri::{FriCheck, Queries};
use crate::circuit::{Builder, C, D, F, PlonkyProof, Poseidon, from_plonky};
use crate::convert::{from_plonky_proof, shape_of, to_ext};

fn config(rate_bits: usize, challenges: usize, arities: FriReductionStrategy) -> CircuitConfig {
    let mut config = CircuitConfig::standard_recursion_config();
    config.security_bits = 1;
    config.num_challenges = challenges;
    config.fri_config.rate_bits = rate_bits;
    config.fri_config.num_query_rounds = 5;
    config.fri_config.proof_of_work_bits = 4;
    config.fri_config.cap_height = 2;
    config.fri_config.reduction_strategy = arities;
    config
}

struct Proven {
    circuit: CircuitData<F, C, D>,
    proof: PlonkyProof,
}

impl Proven {
    fn by(b: Builder, inputs: PartialWitness<F>) -> Self {
        let circuit = b.build();
        let proof = circuit.prove(inputs).unwrap();
        Self { circuit, proof }
    }

    /// Sums, products and hashes.
    fn small(config: CircuitConfig) -> Self {
        let mut b = Builder::new(config);
        let input = b.add_virtual_target();
        let mut x = input;
        for _ in 0..200 {
            x = b.mul_add(x, x, input);
        }
        let mut hash = b.hash_n_to_hash_no_pad::<Poseidon>(vec![x, input]);
        for _ in 0..40 {
            hash = b.hash_n_to_hash_no_pad::<Poseidon>(hash.elements.to_vec());
        }
        b.range_check(input, 20);
        b.register_public_inputs(&hash.elements);
        let mut inputs = PartialWitness::new();
        inputs.set_target(input, F::from_canonical_u64(77)).unwrap();
        Self::by(b, inputs)
    }

    /// A circuit that verifies the proof: every gate of recursive circuits.
    fn verified(&self, config: CircuitConfig) -> Self {
        let mut b = Builder::new(config);
        let proof = b.add_virtual_proof_with_pis(&self.circuit.common);
        let key = b.constant_verifier_data(&self.circuit.verifier_only);
        b.verify_proof::<C>(&proof, &key, &self.circuit.common);
        b.register_public_inputs(&proof.public_inputs);
        let mut inputs = PartialWitness::new();
        inputs.set_proof_with_pis_target(&proof, &self.proof).unwrap();
        Self::by(b, inputs)
    }

    fn challenges(&self) -> ProofChallenges<F, D> {
        let digest = &self.circuit.verifier_only.circuit_digest;
        self.proof.get_challenges(self.proof.get_public_inputs_hash(), digest, &self.circuit.common).unwrap()
    }

    fn snark(&self) -> Snark {
        from_plonky_proof(&self.proof.proof, &self.challenges().fri_challenges.fri_query_indices)
    }

    fn check(&self, isa: Isa) -> Check {
        Check::new(isa, &self.circuit.common, &self.circuit.verifier_only).unwrap()
    }

    /// The verdict on `snark`, in our encoding.
    fn verdict(&self, snark: &Snark) -> Result<(), SnarkError> {
        let bytes = wire::encode(snark, &shape_of(&self.circuit.common));
        self.check(Isa::detect()).verify(&bytes, &self.proof.public_inputs).map(|_| ())
    }
}

#[test]
fn proofs_of_every_shape_verify_on_every_instruction_set() {
    let constant = |arity, last| FriReductionStrategy::ConstantArityBits(arity, last);
    for (rate_bits, challenges, arities) in [
        (3, 2, constant(4, 3)),
        (3, 1, constant(1, 2)),
        (4, 3, constant(3, 1)),
        (3, 2, FriReductionStrategy::Fixed(vec![])),
        (3, 2, FriReductionStrategy::Fixed(vec![2, 3, 1])),
    ] {
        let proven = Proven::small(config(rate_bits, challenges, arities));
        let snark = proven.snark();
        let bytes = wire::encode(&snark, &shape_of(&proven.circuit.common));
        for isa in available() {
            let opened = proven.check(isa).verify(&bytes, &proven.proof.public_inputs).unwrap();
            assert!(*opened.snark() == snark, "{isa}");
        }
        let mut others = proven.proof.public_inputs.clone();
        others[0] += F::ONE;
        assert!(proven.check(Isa::detect()).verify(&bytes, &others).is_err());
        let refused = proven.check(Isa::detect()).verify(&bytes, &others[1..]).unwrap_err();
        assert_eq!(refused, SnarkError::PublicInputs { found: 3, expected: 4 });
    }
}

#[test]
fn every_opening_counts() {
    let constant = FriReductionStrategy::ConstantArityBits(4, 3);
    let inner = Proven::small(config(3, 2, constant.clone()));
    let proven = inner.verified(config(3, 2, constant));
    let (snark, found) = (proven.snark(), proven.challenges());
    proven.verdict(&snark).unwrap();
    let words = |x: &[F]| x.iter().copied().map(from_plonky).collect::<Vec<Goldilocks>>();
    let [betas, gammas, alphas] = [&found.plonk_betas, &found.plonk_gammas, &found.plonk_alphas].map(|x| words(x));
    let challenges = Challenges { betas: &betas, gammas: &gammas, alphas: &alphas, zeta: found.plonk_zeta };
    let constraints = Constraints::new(&proven.circuit.common).unwrap();
    let hash = Poseidon::hash_no_pad(&proven.proof.public_inputs);
    constraints.check(&snark.openings, &challenges, &hash).unwrap();
    let groups: [fn(&mut Openings) -> &mut Vec<wire::Ext>; 7] = [
        |o| &mut o.constants,
        |o| &mut o.sigmas,
        |o| &mut o.wires,
        |o| &mut o.zs,
        |o| &mut o.zs_next,
        |o| &mut o.partial_products,
        |o| &mut o.quotient_polys,
    ];
    for (g, group) in groups.into_iter().enumerate() {
        for i in 0..snark.openings.groups()[g].len() {
            for part in 0..2 {
                let mut openings = snark.openings.clone();
                group(&mut openings)[i][part] += Goldilocks::ONE;
                let refused = constraints.check(&openings, &challenges, &hash);
                assert!(matches!(refused, Err(SnarkError::Constraints { .. })), "opening {i} of group {g}");
            }
        }
    }
    let other = Poseidon::hash_no_pad(&proven.proof.public_inputs[1..]);
    assert_eq!(constraints.check(&snark.openings, &challenges, &other), Err(SnarkError::Constraints { challenge: 0 }));
}

#[test]
fn every_query_counts() {
    for arities in [FriReductionStrategy::ConstantArityBits(4, 3), FriReductionStrategy::Fixed(vec![1, 2])] {
        let proven = Proven::small(config(3, 2, arities));
        let (snark, found) = (proven.snark(), proven.challenges());
        let check = FriCheck::new(Isa::detect(), &shape_of(&proven.circuit.common));
        let o = &snark.openings;
        let at_zeta = [&o.constants, &o.sigmas, &o.wires, &o.zs, &o.partial_products, &o.quotient_polys];
        let values: Vec<_> = at_zeta.into_iter().flatten().map(to_ext).collect();
        let next: Vec<_> = o.zs_next.iter().map(to_ext).collect();
        let fri = &found.fri_challenges;
        let (zeta, alpha) = (found.plonk_zeta, fri.fri_alpha);
        let queries = Queries { zeta, alpha, betas: fri.fri_betas.clone(), values: &values, next: &next };
        check.check(&snark, &queries).unwrap();
        for (query, q) in snark.queries.iter().enumerate() {
            for (oracle, opened) in q.initial.iter().enumerate() {
                for at in 0..opened.leaf.len() {
                    let mut other = snark.clone();
                    other.queries[query].initial[oracle].leaf[at] += Goldilocks::ONE;
                    assert_eq!(
                        check.check(&other, &queries),
                        Err(SnarkError::Fold { query, layer: 0 }),
                        "{oracle} {at}"
                    );
                }
            }
            for (step, opened) in q.steps.iter().enumerate() {
                for at in 0..opened.leaf.len() {
                    let mut other = snark.clone();
                    other.queries[query].steps[step].leaf[at] += Goldilocks::ONE;
                    let last = step + 1 == q.steps.len();
                    match check.check(&other, &queries) {
                        // The value to which the layer before folds, or the inputs of its own fold.
                        Err(SnarkError::Fold { query: found, layer }) => {
                            assert!(found == query && (layer == step || layer == step + 1 && !last));
                        }
                        Err(SnarkError::FinalPolynomial { query: found }) => assert!(found == query && last),
                        verdict => panic!("element {at} of layer {step}: {verdict:?}"),
                    }
                }
            }
            let mut other = snark.clone();
            other.queries[query].index ^= 1;
            assert!(check.check(&other, &queries).is_err(), "another position");
        }
        for at in 0..snark.final_poly.len() {
            let mut other = snark.clone();
            other.final_poly[at][0] += Goldilocks::ONE;
            assert_eq!(check.check(&other, &queries), Err(SnarkError::FinalPolynomial { query: 0 }));
        }
        for at in 0..values.len() {
            let mut others = values.clone();
            others[at] += F::ONE.into();
            let queries = Queries { values: &others, betas: fri.fri_betas.clone(), ..queries };
            assert_eq!(check.check(&snark, &queries), Err(SnarkError::Fold { query: 0, layer: 0 }));
        }
        let mut others = next.clone();
        others[1] += F::ONE.into();
        let queries = Queries { next: &others, betas: fri.fri_betas.clone(), ..queries };
        assert_eq!(check.check(&snark, &queries), Err(SnarkError::Fold { query: 0, layer: 0 }));
    }
}

#[test]
fn a_point_that_is_opened_and_queried_is_refused() {
    let proven = Proven::small(config(3, 1, FriReductionStrategy::ConstantArityBits(4, 3)));
    let (snark, found) = (proven.snark(), proven.challenges());
    let shape = shape_of(&proven.circuit.common);
    let check = FriCheck::new(Isa::detect(), &shape);
    let index = snark.queries[2].index as usize;
    let exponent = index.reverse_bits() >> (usize::BITS as usize - shape.lde_bits());
    let root = F::primitive_root_of_unity(shape.lde_bits()).exp_u64(exponent as u64);
    let zeta = (F::MULTIPLICATIVE_GROUP_GENERATOR * root).into();
    let values: Vec<_> = snark.openings.groups().into_iter().flatten().map(to_ext).collect();
    let (next, values) = values.split_at(1);
    let fri = &found.fri_challenges;
    let queries = Queries { zeta, alpha: fri.fri_alpha, betas: fri.fri_betas.clone(), values, next };
    // Plonky2 takes any proof of work: now and then an earlier query is at the same point.
    let first = snark.queries.iter().position(|query| query.index as usize == index).unwrap();
    assert_eq!(check.check(&snark, &queries), Err(SnarkError::Point { query: first }));
}

#[test]
fn work_and_positions_are_checked() {
    let proven = Proven::small(config(3, 2, FriReductionStrategy::ConstantArityBits(4, 3)));
    let snark = proven.snark();
    proven.verdict(&snark).unwrap();
    let [mut lazy, mut moved] = [0, 0];
    for nonce in 0..200 {
        let mut other = snark.clone();
        other.pow_witness = Goldilocks::new(nonce);
        if other == snark {
            continue;
        }
        match proven.verdict(&other) {
            Err(SnarkError::ProofOfWork { found, expected: 4 }) if found < 4 => lazy += 1,
            // Enough work, for other queries than those that are answered: one of them may be the same by chance.
            Err(SnarkError::Index { .. }) => moved += 1,
            verdict => panic!("nonce {nonce}: {verdict:?}"),
        }
        let plonky2 = {
            let mut proof = proven.proof.clone();
            proof.proof.opening_proof.pow_witness = F::from_canonical_u64(nonce);
            proven.circuit.verify(proof)
        };
        assert!(plonky2.is_err());
    }
    assert!(lazy > 150 && moved > 0, "{lazy} with too little work, {moved} with other queries");
    let mut key = proven.circuit.verifier_only.clone();
    key.constants_sigmas_cap.0.iter_mut().for_each(|entry| entry.elements[0] += F::ONE);
    let check = Check::new(Isa::detect(), &proven.circuit.common, &key).unwrap();
    let bytes = wire::encode(&snark, &shape_of(&proven.circuit.common));
    let refused = check.verify(&bytes, &proven.proof.public_inputs).unwrap_err();
    assert!(matches!(refused, SnarkError::Decode(wire::DecodeError::Cap { .. })), "{refused}");
}

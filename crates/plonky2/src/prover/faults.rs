//! Faults in the middle of a proof: an error in any phase never gives a proof that verifies.

use std::cell::Cell;

use evergrove_kernels::ntt::Row;
use evergrove_primitives::Goldilocks;
use plonky2::field::types::Field;
use plonky2::fri::proof::FriProof;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_builder::CircuitBuilder;
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};
use plonky2::plonk::proof::OpeningSet;

use super::{E, F, Prover};
use crate::circuit::{C, D, Poseidon};

/// The place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Wires,
    PartialProducts,
    Quotient,
    /// The value of a wire, a quotient chunk, Z, Z at the next row.
    Opening(usize),
    Combination,
    Folding,
    FinalPolynomial,
    Grinding,
    /// A word of a row, of a layer's leaf.
    Answer(bool),
}

thread_local! {
    /// The fault, and the place among those of its kind.
    static NEXT: Cell<Option<(Fault, usize)>> = const { Cell::new(None) };
}

/// The place, if this is where the fault strikes.
fn strikes(fault: Fault) -> Option<usize> {
    NEXT.get().filter(|next| next.0 == fault).map(|next| next.1)
}

pub(super) fn strike_row(fault: Fault, rows: &mut [Row]) {
    if let Some(at) = strikes(fault) {
        let row = at % rows.len();
        rows[row][0] += Goldilocks::ONE;
    }
}

pub(super) fn strike_element(fault: Fault, elements: &mut [E]) {
    if let Some(at) = strikes(fault) {
        let at = at % elements.len();
        elements[at] += E::ONE;
    }
}

pub(super) fn strike_openings(mut openings: OpeningSet<F, D>) -> OpeningSet<F, D> {
    let batches =
        [&mut openings.wires, &mut openings.quotient_polys, &mut openings.plonk_zs, &mut openings.plonk_zs_next];
    for (i, batch) in batches.into_iter().enumerate() {
        strike_element(Fault::Opening(i), batch);
    }
    openings
}

pub(super) fn strike_answers(mut proof: FriProof<F, Poseidon, D>) -> FriProof<F, Poseidon, D> {
    if strikes(Fault::Grinding).is_some() {
        proof.pow_witness += F::ONE;
    }
    let round = &mut proof.query_round_proofs[0];
    if let Some(at) = strikes(Fault::Answer(false)) {
        round.initial_trees_proof.evals_proofs[1].0[at] += F::ONE;
    }
    if strikes(Fault::Answer(true)).is_some() {
        round.steps[0].evals[0] += E::ONE;
    }
    proof
}

/// A circuit whose every routed wire of some rows counts: hashes of hashes.
fn circuit() -> (CircuitData<F, C, D>, PartialWitness<F>) {
    let mut config = CircuitConfig::standard_recursion_config();
    config.security_bits = 1;
    config.fri_config.num_query_rounds = 10;
    config.fri_config.proof_of_work_bits = 8;
    let mut b = CircuitBuilder::<F, D>::new(config);
    let input = b.add_virtual_target();
    let mut hash = b.hash_n_to_hash_no_pad::<Poseidon>(vec![input]);
    for _ in 0..60 {
        hash = b.hash_n_to_hash_no_pad::<Poseidon>(hash.elements.to_vec());
    }
    b.register_public_inputs(&hash.elements);
    let mut inputs = PartialWitness::new();
    inputs.set_target(input, F::TWO).expect("a fresh target");
    (b.build(), inputs)
}

#[test]
fn a_fault_in_any_phase_is_refused() {
    let (circuit, inputs) = circuit();
    let prover = Prover::new(&circuit).unwrap();
    let accepted = |next| {
        NEXT.set(next);
        let proof = prover.prove(&circuit, inputs.clone());
        NEXT.set(None);
        proof.is_ok_and(|proof| circuit.verify(proof).is_ok())
    };
    assert!(accepted(None));
    let mut faults = vec![
        Fault::Wires,
        Fault::PartialProducts,
        Fault::Quotient,
        Fault::Combination,
        Fault::Folding,
        Fault::FinalPolynomial,
        Fault::Grinding,
        Fault::Answer(false),
        Fault::Answer(true),
    ];
    faults.extend((0..4).map(Fault::Opening));
    for fault in faults {
        // Column 0 of the wires is an input of the hash in nearly all rows: places 0, 1, 2 are rows 0, n/2, n/4.
        for at in 0..3 {
            assert!(!accepted(Some((fault, at))), "{fault:?} at {at}");
        }
    }
    assert!(accepted(None), "a fault leaves nothing behind in the buffers");
}

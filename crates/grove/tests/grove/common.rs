//! Shared parts of attacks. An attacker may choose all free data, and change every column afterwards.
//!
//! An attack tests one constraint only if everything else holds, so tests also bound the number of faults from above.

use evergrove_commit::NodeProof;
use evergrove_grove::circuit::{Family, Size};
use evergrove_grove::shape;
use evergrove_multilinear::circuit::{Circuit, Fault, Witness};
use evergrove_multilinear::recursion;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_verifier::argument::{Parameters, UNIQUE_100};
use evergrove_verifier::{HeightClass, Profile};

/// The parameters of `grove-100`, with the modes of circuits of this size.
pub(crate) fn parameters(size: Size) -> Parameters<Quadratic> {
    parameters_of(&Family::of_batches(size))
}

/// The parameters of `grove-100`, with the modes of these circuits.
pub(crate) fn parameters_of(family: &Family<'_>) -> Parameters<Quadratic> {
    let shape = shape(Profile::Grove100, HeightClass::H27).expect("a profile of the backend");
    recursion::parameters(&UNIQUE_100, &family.modes(), shape.blocks, shape.variables)
}

/// The columns for free data that is cut or padded to the length that the circuit needs.
pub(crate) fn fill(circuit: &Circuit<Quadratic>, free: &[Goldilocks]) -> Witness {
    let mut free = free.to_vec();
    loop {
        match circuit.witness(&free) {
            Ok(witness) => return witness,
            Err(e) => free.resize(e.taken, Goldilocks::ZERO),
        }
    }
}

/// The number of cases of a long test: `EVERGROVE_CASES`, or the default.
pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("EVERGROVE_CASES").map_or(default, |count| count.parse().expect("EVERGROVE_CASES is a number"))
}

/// Demands between 1 and `most` faults.
pub(crate) fn refused(what: &str, circuit: &Circuit<Quadratic>, witness: &Witness, most: usize) -> Vec<Fault> {
    let faults = witness.faults(circuit);
    assert!((1..=most).contains(&faults.len()), "{what}: {} faults: {faults:?}", faults.len());
    faults
}

/// Demands that a valid proof is refused with another root and with another output.
pub(crate) fn says_nothing_else(proof: &NodeProof, holds: impl Fn(&NodeProof) -> bool) {
    assert!(holds(proof));
    for i in 0..proof.output.len() {
        let mut other = proof.clone();
        other.output[i] += Goldilocks::ONE;
        assert!(!holds(&other));
    }
    let mut other = proof.clone();
    other.statement.root.0[0] += Goldilocks::ONE;
    assert!(!holds(&other));
}

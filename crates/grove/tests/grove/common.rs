//! What attacks share: an attacker may choose all free data, and every column on top.
//!
//! An attack counts as a test of one constraint where everything else holds: tests bound what is wrong from above, too.

use evergrove_commit::NodeProof;
use evergrove_grove::circuit::{Family, Size};
use evergrove_grove::shape;
use evergrove_multilinear::circuit::{Circuit, Fault, Witness};
use evergrove_multilinear::recursion;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_verifier::argument::{Parameters, UNIQUE_100};
use evergrove_verifier::{HeightClass, Profile};

/// Those of `grove-100`, with rows of bits for this size.
pub(crate) fn parameters(size: Size) -> Parameters<Quadratic> {
    parameters_of(&Family::of_batches(size))
}

/// The same with rows of bits for these circuits.
pub(crate) fn parameters_of(family: &Family<'_>) -> Parameters<Quadratic> {
    let shape = shape(Profile::Grove100, HeightClass::H27).expect("a profile of the backend");
    recursion::parameters(&UNIQUE_100, &family.modes(), shape.blocks, shape.variables)
}

/// The columns for free data, which is cut or filled up to what rows take.
pub(crate) fn fill(circuit: &Circuit<Quadratic>, free: &[Goldilocks]) -> Witness {
    let mut free = free.to_vec();
    loop {
        match circuit.witness(&free) {
            Ok(witness) => return witness,
            Err(e) => free.resize(e.taken, Goldilocks::ZERO),
        }
    }
}

/// How many cases a long test tries: as many as `EVERGROVE_CASES` says.
pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("EVERGROVE_CASES").map_or(default, |count| count.parse().expect("EVERGROVE_CASES is a number"))
}

/// Demands that 1 to `most` things are wrong.
pub(crate) fn refused(what: &str, circuit: &Circuit<Quadratic>, witness: &Witness, most: usize) -> Vec<Fault> {
    let faults = witness.faults(circuit);
    assert!((1..=most).contains(&faults.len()), "{what}: {} faults: {faults:?}", faults.len());
    faults
}

/// Demands that a proof that holds does not with another root, nor with another output.
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

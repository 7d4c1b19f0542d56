//! Shared parts of attacks. An attacker may choose all free data, and change every column afterwards.
//!
//! An attack tests one constraint only if everything else holds, so tests also bound the number of faults from above.

use evergrove_commit::NodeProof;
use evergrove_grove::circuit::{CircuitSet, Size};
use evergrove_grove::shape;
use evergrove_multilinear::circuit::{Circuit, Fault, Witness};
use evergrove_multilinear::recursion;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_verifier::argument::{Parameters, UNIQUE_100};
use evergrove_verifier::{HeightClass, Profile};
use rayon::prelude::*;

/// The parameters of `grove-100`, with the modes of circuits of this size.
pub(crate) fn parameters(size: Size) -> Parameters<Quadratic> {
    parameters_of(&CircuitSet::of_batches(size))
}

/// The parameters of `grove-100`, with the modes of these circuits.
pub(crate) fn parameters_of(circuit_set: &CircuitSet<'_>) -> Parameters<Quadratic> {
    let shape = shape(Profile::Grove100, HeightClass::H27).expect("a profile of the backend");
    recursion::parameters(&UNIQUE_100, &circuit_set.modes(), shape.blocks, shape.variables)
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

/// A circuit beside columns without faults, which tells quickly whether it holds for other free data.
pub(crate) struct Judge {
    pub(crate) circuit: Circuit<Quadratic>,
    sound: Witness,
}

impl Judge {
    /// For a circuit and free data for which it holds.
    pub(crate) fn new(circuit: Circuit<Quadratic>, free: &[Goldilocks]) -> Self {
        let sound = circuit.witness(free).unwrap();
        let faults = sound.faults(&circuit);
        assert_eq!(faults.len(), 0, "{:?}", &faults[..faults.len().min(8)]);
        Self { circuit, sound }
    }
    pub(crate) fn faults(&self, free: &[Goldilocks]) -> Vec<Fault> {
        self.circuit.witness(free).unwrap().faults_beside(&self.circuit, &self.sound)
    }
    pub(crate) fn holds(&self, free: &[Goldilocks]) -> bool {
        self.circuit.witness(free).unwrap().faults_beside(&self.circuit, &self.sound).is_empty()
    }
}

/// The number of cases of a long test: `EVERGROVE_CASES`, or the default.
pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("EVERGROVE_CASES").map_or(default, |count| count.parse().expect("EVERGROVE_CASES is a number"))
}

/// Runs random cases on all threads: `case` takes its number and a source of numbers below a bound, and says whether the
/// circuit had to accept. Demands that a twentieth of the cases is accepted and a quarter refused.
pub(crate) fn in_parallel(cases: u64, case: impl Fn(u64, &mut dyn FnMut(u64) -> u64) -> Option<bool> + Sync) {
    let outcomes = (0..cases).into_par_iter().map(|i| case(i, &mut random(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
    let count = |outcome: Option<bool>| [u64::from(outcome == Some(true)), u64::from(outcome == Some(false))];
    let [accepted, refused] = outcomes.map(count).reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
    assert!(accepted > cases / 20 && refused > cases / 4, "{accepted} accepted and {refused} refused of {cases}");
    println!("{accepted} accepted and {refused} refused of {cases}");
}

/// Numbers below a bound.
pub(crate) fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut seed = seed.wrapping_mul(2) + 1;
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
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

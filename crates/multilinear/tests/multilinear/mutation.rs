//! The verifier and the verifier in a circuit accept the same proofs, whatever their contents.

use evergrove_multilinear::circuit::{Builder, Circuit, InCircuit};
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_verifier::argument::{Statement, read_up_to_fixed, tags, verify};
use evergrove_verifier::tables::{Tables, bits, query};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rayon::prelude::*;

use crate::proof::Example;

/// A circuit that verifies proofs of the example: free data are key and public inputs, the circuit's number, the proof.
pub(crate) fn verifier(example: &Example<Quadratic>) -> Circuit<Quadratic> {
    let schedule = example.parameters.schedule();
    let depths: Vec<usize> = (0..schedule.rounds.len()).map(|i| schedule.depth(i)).collect();
    let query = query::Parameters {
        bits: *depths.iter().max().unwrap(),
        variables: schedule.variables - schedule.rounds[0].fold,
    };
    let work = 0..schedule.rounds[0].grinding;
    let mut builder = Builder::new(Tables::new(query, bits::Parameters::new(depths, Vec::from([work]))));
    let tag = builder.tag(Goldilocks::ONE);
    let (_, [key, public]) = builder.hash_free(tag);
    let (_, [flag, _]) = builder.hash_free(tag);
    let flag = builder.limb(flag, 0);
    let circuit = builder.boolean(flag);
    let statement = Statement { key, circuit, public };
    let _claim = verify(&mut InCircuit::new(&mut builder, tags::TRANSCRIPT), &example.parameters, &statement);
    builder.finish()
}

/// A statement and a proof, one of them changed.
fn mutate(
    rng: &mut ChaCha8Rng,
    statement: &mut Statement<[Goldilocks; 4], bool>,
    proof: &mut [Goldilocks],
    others: &[Vec<Goldilocks>],
) {
    let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
    match below(16) {
        0 => {}
        1 => statement.key[below(4)] += Goldilocks::ONE,
        2 => statement.public[below(4)] += Goldilocks::ONE,
        3 => statement.circuit = !statement.circuit,
        4 | 5 => {
            // A part of another proof.
            let other = &others[below(others.len())];
            let end = proof.len().min(other.len());
            let (from, len) = (below(end), 1 + below(64));
            let to = end.min(from + len);
            proof[from..to].copy_from_slice(&other[from..to]);
        }
        6 => {
            let (a, b) = (below(proof.len()), below(proof.len()));
            proof.swap(a, b);
        }
        7 => proof[below(proof.len())] = Goldilocks::ZERO,
        kind => {
            let at = below(proof.len());
            let by = [
                Goldilocks::ONE,
                -Goldilocks::ONE,
                Goldilocks::new(1 << 32),
                Goldilocks::reduce(below(usize::MAX) as u64),
            ];
            proof[at] += by[kind % 4];
        }
    }
}

fn accept_alike(cases: u64) {
    let example = Example::<Quadratic>::new();
    let circuit = verifier(&example);
    let proof = example.proof(&example.witness);
    // One that holds, of another circuit, and one of a witness that does not.
    let mut wrong = example.witness.clone();
    wrong.row_mut(&example.parameters.tables().clone(), evergrove_verifier::tables::Table::Dot, 1)[0] +=
        Goldilocks::ONE;
    let other = Example::<Quadratic>::about(200);
    let others = [example.proof(&wrong), other.proof(&other.witness)];
    let accepted: u64 = (0..cases)
        .into_par_iter()
        .map(|case| {
            let mut rng = ChaCha8Rng::seed_from_u64(case);
            let (mut statement, mut proof) = (example.statement, proof.clone());
            if case < 2 {
                proof.clone_from(&others[case as usize]);
            } else {
                mutate(&mut rng, &mut statement, &mut proof, &others);
            }
            let outside = read_up_to_fixed(&proof, &example.parameters, &statement).is_ok();
            let flag = [u64::from(statement.circuit), 0, 0, 0, 0, 0, 0, 0].map(Goldilocks::new);
            let free = [&statement.key[..], &statement.public, &flag, &proof].concat();
            // Other indices have paths of other lengths.
            let inside = circuit.witness(&free).is_ok_and(|witness| witness.check(&circuit).is_ok());
            assert_eq!(inside, outside, "case {case}");
            u64::from(outside)
        })
        .sum();
    assert!(accepted > 0 && accepted < cases, "{accepted} of {cases} are accepted");
}

#[test]
fn two_thousand() {
    accept_alike(2000);
}

#[test]
#[ignore = "slow: half an hour of processor time, a hundred thousand proofs"]
fn a_hundred_thousand() {
    accept_alike(100_000);
}

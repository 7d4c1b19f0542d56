//! Proofs by the prover without tricks: accepted, and refused whatever is changed.

use evergrove_multilinear::circuit::{Circuit, Witness};
use evergrove_multilinear::reference::{holds, prove};
use evergrove_multilinear::tables::Table;
use evergrove_multilinear::verifier::{Parameters, Reader, Refusal, Round, Schedule, Statement, tags, verify};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};

use crate::circuit::{built, chain};

/// A circuit that uses all tables, a witness, and what its proofs state.
struct Example<K> {
    circuit: Circuit<K>,
    parameters: Parameters<K>,
    witness: Witness,
    statement: Statement<[Goldilocks; 4], K>,
}

impl<K: Extension> Example<K> {
    fn new() -> Self {
        let (mut builder, _, free) = built::<K>();
        let inputs = core::array::from_fn::<_, 8, _>(|i| Goldilocks::new(100 + i as u64));
        let words = inputs.as_chunks::<4>().0;
        let halves = [builder.word(words[0]), builder.word(words[1])];
        let tag = builder.tag(tags::PUBLIC_INPUTS);
        builder.hash_public(tag, halves);
        let circuit = builder.finish();
        let witness = circuit.witness(&free).unwrap();
        witness.check(&circuit).unwrap();
        let variables = circuit.layout().committed().variables();
        let round = |fold, rate, cap| Round { fold, rate, queries: 5, cap, grinding: 3 };
        let rows = 1 << (variables - 7);
        let schedule = Schedule {
            variables,
            width: circuit.layout().committed().elements().div_ceil(rows).next_multiple_of(8),
            rounds: vec![round(7, 1, 3), round(3, 2, 2), round(2, 4, 1)],
        };
        let parameters = Parameters { tables: circuit.tables().clone(), layout: circuit.layout().clone(), schedule };
        let public_word = chain(tags::PUBLIC_INPUTS, &inputs);
        let statement = Statement {
            key: [7, 8, 9, 10].map(Goldilocks::new),
            circuit: K::ONE,
            public: public_word.map(K::from),
            public_word,
        };
        Self { circuit, parameters, witness, statement }
    }
    fn proof(&self, witness: &Witness) -> Vec<Goldilocks> {
        prove(&self.circuit, &self.parameters, &self.statement, witness)
    }
    /// Whether a proof of the statement is accepted, with the claim about fixed columns.
    fn check(&self, statement: &Statement<[Goldilocks; 4], K>, proof: &[Goldilocks]) -> Result<bool, Refusal> {
        let mut reader = Reader::new(proof);
        let claim = verify(&mut reader, &self.parameters, statement);
        reader.finish()?;
        Ok(holds(&self.circuit, &claim))
    }
}

fn a_proof_is_accepted_and_any_other_refused<K: Extension>() {
    let example = Example::<K>::new();
    let proof = example.proof(&example.witness);
    assert_eq!(example.check(&example.statement, &proof), Ok(true));

    // Any element of the proof.
    for at in (0..proof.len()).step_by(41).chain([proof.len() - 1]) {
        let mut changed = proof.clone();
        changed[at] += Goldilocks::ONE;
        assert!(example.check(&example.statement, &changed).is_err(), "element {at}");
    }
    let shorter = &proof[..proof.len() - 1];
    assert!(matches!(example.check(&example.statement, shorter), Err(Refusal::Length { .. })));
    // Any part of the statement.
    let mut statement = example.statement;
    statement.key[2] += Goldilocks::ONE;
    assert!(example.check(&statement, &proof).is_err());
    let statement = Statement { circuit: K::ZERO, ..example.statement };
    assert!(example.check(&statement, &proof).is_err());
    let mut statement = example.statement;
    statement.public[1] += K::ONE;
    assert!(example.check(&statement, &proof).is_err());
    let mut statement = example.statement;
    statement.public_word[1] += Goldilocks::ONE;
    assert!(example.check(&statement, &proof).is_err());
}

#[test]
fn proofs_over_the_quadratic_extension() {
    a_proof_is_accepted_and_any_other_refused::<Quadratic>();
}

#[test]
fn proofs_over_the_cubic_extension() {
    a_proof_is_accepted_and_any_other_refused::<Cubic>();
}

#[test]
fn a_witness_that_does_not_hold_has_no_proof() {
    let example = Example::<Quadratic>::new();
    for (table, row, column) in [
        (Table::Permutation, 3, 50),
        (Table::Permutation, 511, 0),
        (Table::Operation, 2, 7),
        (Table::Dot, 1, 0),
        (Table::Query, 0, 1),
        (Table::Bits, 0, 60),
    ] {
        let mut witness = example.witness.clone();
        witness.row_mut(example.circuit.tables(), table, row)[column] += Goldilocks::ONE;
        assert!(witness.check(&example.circuit).is_err());
        let proof = example.proof(&witness);
        assert!(example.check(&example.statement, &proof).is_err(), "{} {row} {column}", table.name());
    }
}

#[test]
fn a_proof_about_other_fixed_columns_is_found_at_the_root() {
    let example = Example::<Quadratic>::new();
    // The same rows, and one constant that is another: what its uses are worth follows.
    let (mut builder, _, free) = built::<Quadratic>();
    let inputs = core::array::from_fn::<_, 8, _>(|i| Goldilocks::new(200 + i as u64));
    let words = inputs.as_chunks::<4>().0;
    let halves = [builder.word(words[0]), builder.word(words[1])];
    let tag = builder.tag(tags::PUBLIC_INPUTS);
    builder.hash_public(tag, halves);
    let other = builder.finish();
    let public_word = chain(tags::PUBLIC_INPUTS, &inputs);
    let statement = Statement { public: public_word.map(Quadratic::from), public_word, ..example.statement };
    let proof = prove(&other, &example.parameters, &statement, &other.witness(&free).unwrap());
    assert_eq!(example.check(&statement, &proof), Ok(false));
}

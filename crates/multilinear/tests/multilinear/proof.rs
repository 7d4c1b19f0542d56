//! Proofs by the prover without tricks: accepted, and refused after every change.

use evergrove_multilinear::circuit::{Builder, Circuit, Witness};
use evergrove_multilinear::count::Count;
use evergrove_multilinear::prover::{ProofField, Prover, Step};
use evergrove_multilinear::reference::{holds, opening, prove};
use evergrove_multilinear::whir::{self, Oracles};
use evergrove_multilinear::writer::Writer;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};
use evergrove_primitives::lanes::{Isa, available};
use evergrove_verifier::argument::{
    Parameters, ParametersError, Refusal, Round, Schedule, Statement, read_up_to_fixed, tags,
};
use evergrove_verifier::tables::{BLOCK, Table};

use crate::arithmetic::application;
use crate::circuit::{built, chain, tree};
use crate::common::Elements;

/// A circuit that uses all tables, a witness, and the statement of its proofs.
pub(crate) struct Example<K> {
    pub(crate) circuit: Circuit<K>,
    pub(crate) parameters: Parameters<K>,
    pub(crate) witness: Witness,
    pub(crate) statement: Statement<[Goldilocks; 4], bool>,
}

impl<K: Extension> Example<K> {
    pub(crate) fn new() -> Self {
        Self::about(100)
    }
    /// With public inputs from this number on.
    pub(crate) fn about(first: u64) -> Self {
        Self::of(first, [0; 2])
    }
    /// With this many more hashes and operations.
    fn of(first: u64, [hashes, operations]: [usize; 2]) -> Self {
        let (mut builder, _, mut free) = built::<K>();
        free.extend(tree(&mut builder, &mut Elements::new(5)));
        free.extend(application(&mut builder, &mut Elements::new(6)));
        let mut chain_of = builder.tag(Goldilocks::new(1));
        for _ in 0..hashes {
            let word = chain_of.digest();
            chain_of = builder.hash(chain_of, [word; 2]);
        }
        let mut power = builder.element(Elements::new(3).element::<K>());
        for _ in 0..operations {
            power = builder.combine([Goldilocks::ONE, Goldilocks::new(5), Goldilocks::ONE], power, power, power);
        }
        Self::made(builder, &free, first)
    }
    /// Of these rows, which take this free data, with public inputs from this number on.
    pub(crate) fn made(mut builder: Builder<K>, free: &[Goldilocks], first: u64) -> Self {
        let inputs = core::array::from_fn::<_, 8, _>(|i| Goldilocks::new(first + i as u64));
        let words = inputs.as_chunks::<4>().0;
        let halves = [builder.word(words[0]), builder.word(words[1])];
        let tag = builder.tag(tags::PUBLIC_INPUTS);
        let inputs_hash = builder.hash(tag, halves);
        builder.publish(inputs_hash);
        let circuit = builder.finish();
        let witness = circuit.witness(free).unwrap();
        witness.check(&circuit).unwrap();
        let variables = circuit.layout().committed().variables();
        // With samples outside the domain where profiles have them.
        let samples = K::DEGREE - 2;
        let round = |fold, rate, cap| Round { fold, rate, queries: 5, cap, grinding: 3, samples };
        let rows = 1 << (variables - 7);
        let schedule = Schedule {
            variables,
            width: circuit.layout().committed().elements().div_ceil(rows).next_multiple_of(8),
            rounds: vec![round(7, 1, 3), round(3, 2, 2), round(3, 4, 1)],
        };
        let parameters = Parameters::new(circuit.tables().clone(), circuit.layout().blocks(), schedule).unwrap();
        let public = chain(tags::PUBLIC_INPUTS, &inputs);
        let statement = Statement { key: [7, 8, 9, 10].map(Goldilocks::new), circuit: true, public };
        Self { circuit, parameters, witness, statement }
    }
    pub(crate) fn proof(&self, witness: &Witness) -> Vec<Goldilocks> {
        prove(&self.circuit, &self.parameters, &self.statement, witness)
    }
    /// Whether a proof of the statement is accepted, with the claim about fixed columns.
    pub(crate) fn check(
        &self,
        statement: &Statement<[Goldilocks; 4], bool>,
        proof: &[Goldilocks],
    ) -> Result<bool, Refusal> {
        read_up_to_fixed(proof, &self.parameters, statement).map(|claim| holds([&self.circuit; 2], &claim))
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
    for i in 0..4 {
        let mut statement = example.statement;
        statement.key[i] += Goldilocks::ONE;
        assert!(example.check(&statement, &proof).is_err());
        let mut statement = example.statement;
        statement.public[i] += Goldilocks::ONE;
        assert!(example.check(&statement, &proof).is_err());
    }
    let statement = Statement { circuit: false, ..example.statement };
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
    // The same rows with other constants.
    let other = Example::<Quadratic>::about(200);
    let proof = other.proof(&other.witness);
    let statement = other.statement;
    assert_eq!(example.check(&statement, &proof), Ok(false));
}

/// Honest proofs of other heights, folds, domains, queries and proofs of work.
#[test]
fn proofs_by_other_parameters_are_refused() {
    let example = Example::<Quadratic>::new();
    for change in [
        (|s| s.rounds[1].rate += 1) as fn(&mut Schedule),
        |s| s.rounds[1].fold += 1,
        |s| s.rounds[2].fold -= 1,
        |s| s.rounds[0].queries -= 1,
        |s| s.rounds[1].queries += 1,
        |s| s.rounds[1].cap -= 1,
        |s| s.rounds[2].grinding = 1,
        |s| s.rounds[0].samples = 1,
    ] {
        let mut schedule = example.parameters.schedule().clone();
        change(&mut schedule);
        let Example { circuit, statement, witness, .. } = &example;
        let other = Parameters::new(circuit.tables().clone(), circuit.layout().blocks(), schedule.clone()).unwrap();
        let proof = Prover::new(circuit, &other).prove(statement, witness);
        assert!(read_up_to_fixed(&proof, &other, statement).is_ok());
        assert!(example.check(statement, &proof).is_err(), "{schedule:?}");
    }
    let taller = Example::<Quadratic>::of(1, [900, 600]);
    let proof = Prover::new(&taller.circuit, &taller.parameters).prove(&taller.statement, &taller.witness);
    assert!(example.check(&example.statement, &proof).is_err());
}

/// The bytes of an opening are those of the definition.
fn openings_are_those_of_the_definition<K: Extension>() {
    let parameters = Example::<K>::new().parameters;
    let mut elements = Elements::new(23);
    let stack = parameters.layout().committed();
    let data = elements.bases(stack.elements());
    let point: Vec<K> = elements.elements(parameters.layout().row_variables());
    let eta: K = elements.element();
    let mut expected = Writer::new(tags::TRANSCRIPT);
    opening(&parameters, &data, &point, eta, &mut expected);
    let expected = expected.finish();
    let oracles = Oracles::new(parameters.schedule());
    // The second one has the memory of the first.
    let other = elements.bases(data.len());
    for elements in [&other, &data] {
        let mut writer = Writer::new(tags::TRANSCRIPT);
        let sent = whir::commit(&oracles, stack, elements).send(&mut writer);
        let sums = sent.sums(&point);
        sent.open(|table| parameters.layout().shape(table), &point, eta, sums, &mut writer);
        assert_eq!(writer.finish() == expected, *elements == data);
    }
}

#[test]
fn openings() {
    openings_are_those_of_the_definition::<Quadratic>();
    openings_are_those_of_the_definition::<Cubic>();
}

/// The bytes of a proof are those of the definition, with one block of each table and with several.
fn proofs_are_those_of_the_definition<K: ProofField>() {
    for example in [Example::<K>::new(), Example::of(1, [900, 600])] {
        let Example { circuit, parameters, witness, statement } = &example;
        let expected = example.proof(witness);
        let prover = Prover::new(circuit, parameters);
        for isa in available() {
            assert!(prover.prove_on(isa, statement, witness) == expected, "{:?} on {isa}", circuit.layout().blocks());
        }
        assert_eq!(example.check(statement, &expected), Ok(true));
    }
}

#[test]
fn proofs() {
    proofs_are_those_of_the_definition::<Quadratic>();
}

/// Steps follow each other in the order of the protocol, and their work is that of its shapes.
#[test]
fn steps_and_their_work() {
    let counts = |rows: usize| {
        let example = Example::<Quadratic>::of(1, [rows, 0]);
        let Example { circuit, parameters, witness, statement } = &example;
        let (layout, schedule) = (parameters.layout(), parameters.schedule());
        let mut steps = Vec::new();
        let writer = Writer::new(tags::TRANSCRIPT);
        let prover = Prover::new(circuit, parameters);
        let proof = prover.write(Isa::detect(), writer, statement, witness, &mut |step| steps.push(step));
        assert!(proof == prover.prove(statement, witness), "an observer changes nothing");

        let oracle = |i: usize| {
            let coset = [whir::Stage::Extension, whir::Stage::Leaves];
            let cosets = [coset].repeat(1 << schedule.rounds[i].rate).concat();
            cosets.into_iter().chain([whir::Stage::Levels]).map(move |stage| (i, stage)).collect::<Vec<_>>()
        };
        let oracles: Vec<_> = (0..schedule.rounds.len()).flat_map(oracle).collect();
        let found =
            |step: &Step| if let Step::Whir(whir::Step::Oracle(i, stage)) = step { Some((*i, *stage)) } else { None };
        assert_eq!(steps.iter().filter_map(found).collect::<Vec<_>>(), oracles);
        assert_eq!(steps[0], Step::Stack);
        let at = |of: &dyn Fn(&Step) -> bool| steps.iter().position(of).expect("a step");
        let (bus, rows) = (at(&|step| matches!(step, Step::Bus(_))), at(&|step| matches!(step, Step::Rows(_))));
        assert_eq!((bus, rows), (1 + oracle(0).len(), bus + 1));

        let (mut opening, mut tried) = (Count::default(), 0);
        for step in &steps[rows + 1..] {
            match step {
                Step::Whir(whir::Step::Products(count)) => opening += *count,
                Step::Whir(whir::Step::Grinding(numbers)) => tried += u64::from(*numbers > 0),
                Step::Whir(whir::Step::Oracle(i, _)) => assert!(*i > 0),
                other => panic!("{other:?} in an opening"),
            }
        }
        assert_eq!(tried as usize, schedule.rounds.len());
        // Every variable is bound once.
        assert_eq!(opening.rounds as usize, schedule.variables);
        let (Step::Bus(bus), Step::Rows(rows)) = (steps[bus], steps[rows]) else { unreachable!("found above") };
        // Layers of two and more lines.
        let layers = layout.bus_variables() as u64;
        assert_eq!((bus.rounds, rows.rounds as usize), (layers * (layers - 1) / 2, layout.row_variables()));
        // Three products of K a node, thirteen and two a line of each layer, and the fractions of all ports.
        let places = 1_u64 << layers;
        assert!(bus.products > 4 * (3 * (places - 2) + 15 * (places - 2) - 13 * (layers - 1)));
        [bus, rows, opening]
    };
    let [few, many] = [counts(20 * BLOCK), counts(40 * BLOCK)];
    for (few, many) in few.into_iter().zip(many) {
        assert!(few.products > 0 && few.products < many.products && few.bytes < many.bytes, "{few:?} {many:?}");
    }
    // The permutations have doubled, which are most of the work on rows.
    let ratio = many[1].products as f64 / few[1].products as f64;
    assert!((1.8..2.0).contains(&ratio), "{ratio}");
}

/// More blocks than a sum takes products without a carry.
#[test]
fn a_table_of_many_blocks() {
    let example = Example::<Quadratic>::of(1, [0, 600 * BLOCK]);
    let Example { circuit, parameters, witness, statement } = &example;
    let proof = Prover::new(circuit, parameters).prove(statement, witness);
    assert_eq!(example.check(statement, &proof), Ok(true));
}

#[test]
fn proofs_over_the_cubic_extension_in_lanes() {
    proofs_are_those_of_the_definition::<Cubic>();
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let Example { circuit, parameters, .. } = Example::<Quadratic>::new();
    let with = |change: &dyn Fn(&mut Schedule)| {
        let mut schedule = parameters.schedule().clone();
        change(&mut schedule);
        Parameters::new(circuit.tables().clone(), circuit.layout().blocks(), schedule)
    };
    assert_eq!(with(&|_| ()), Ok(parameters.clone()));
    assert!(matches!(with(&|s| s.width -= 8), Err(ParametersError::Stack { .. })));
    let odd = |s: &mut Schedule| (s.variables, s.width) = (s.variables + 1, s.width - 4);
    assert!(matches!(with(&odd), Err(ParametersError::Leaf { oracle: 0, .. })));
    assert!(matches!(with(&|s| s.rounds[1].fold = 1), Err(ParametersError::Leaf { oracle: 1, elements: 4 })));
    assert!(matches!(with(&|s| s.rounds[2].fold = 30), Err(ParametersError::Stack { .. })));
    assert!(matches!(with(&|s| s.rounds.clear()), Err(ParametersError::Stack { .. })));
    assert!(matches!(with(&|s| s.variables = 60), Err(ParametersError::Stack { .. })));
    let none = Parameters::new(circuit.tables().clone(), [0; Table::ALL.len()], parameters.schedule().clone());
    assert_eq!(none, Err(ParametersError::Permutations));
    for change in [
        (|s| s.rounds[0].cap = 0) as fn(&mut Schedule),
        |s| s.rounds[0].cap = 30,
        |s| s.rounds[0].rate = 30,
        |s| s.rounds[0].queries = 0,
        |s| s.rounds[0].rate = 0,
        |s| s.rounds[0].grinding = 0,
        |s| s.rounds[0].grinding = 60,
    ] {
        assert!(matches!(with(&change), Err(ParametersError::Round { oracle: 0, .. })));
    }
}

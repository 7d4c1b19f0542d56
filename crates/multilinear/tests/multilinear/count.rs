//! How large a circuit is that verifies two proofs of its own kind, and that the verifier in it is the one that reads.

use evergrove_multilinear::circuit::wires::{Chain, Element, Word};
use evergrove_multilinear::circuit::{Builder, Circuit, InCircuit};
use evergrove_multilinear::tables::{Layout, Table, Tables, WORD, bits, query};
use evergrove_multilinear::verifier::soundness::unique_decoding;
use evergrove_multilinear::verifier::{
    Claim, JOHNSON_128, Machine, Parameters, Reader, Reduced, Round, Schedule, Statement, UNIQUE_100, reduce, tags,
    verify,
};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};

use crate::common::Elements;

/// The parameters of circuits of these heights, whose committed stack has so many variables.
fn parameters<K: Extension>(rounds: &[Round], blocks: [usize; 6], variables: usize) -> Parameters<K> {
    let shape = Schedule { variables, width: 0, rounds: rounds.to_vec() };
    let depths: Vec<usize> = (0..rounds.len()).map(|i| shape.depth(i)).collect();
    let work = 0..rounds[0].grinding;
    let tables = Tables::new(
        query::Parameters { bits: *depths.iter().max().unwrap(), variables: variables - rounds[0].fold },
        bits::Parameters::new(depths, Vec::from([work])),
    );
    let elements = Layout::new(&tables, blocks).committed().elements();
    Parameters::new(tables, blocks, Schedule::new(rounds, elements)).unwrap()
}

/// The digest of public inputs: commitment and digest, height and base, key, and the claim that is handed on.
fn public_inputs<K: Extension>(builder: &mut Builder<K>, h: Chain, key: Word, claim: &[Element]) -> Chain {
    let (h, [information, _]) = builder.hash_free(h);
    let mut h = builder.hash(h, [information, key]);
    for part in claim.chunks(builder.elements_of_block()) {
        h = builder.hash_elements(h, part);
    }
    h
}

/// A circuit that verifies two proofs, and reduces their claims about fixed columns and those that they hand on.
fn circuit<K: Extension>(parameters: &Parameters<K>) -> Circuit<K> {
    let mut builder = Builder::new(parameters.tables().clone());
    let begin = builder.tag(tags::PUBLIC_INPUTS);
    let (start, [key, flags]) = builder.hash_free(begin);
    let coordinates = parameters.layout().fixed().variables() + 2;
    let mut claims = Vec::new();
    for i in 0..2 {
        let mut handed = InCircuit::new(&mut builder).receive(coordinates);
        let digest = public_inputs(&mut builder, start, key, &handed);
        let flag = builder.limb(flags, i);
        let circuit = builder.boolean(flag);
        let statement = Statement { key, circuit, public: digest.digest() };
        claims.push(Claim::Fixed(verify(&mut InCircuit::new(&mut builder), parameters, &statement)));
        let value = handed.pop().unwrap();
        claims.push(Claim::At { point: handed, value });
    }
    let Reduced { point: mut claim, value } = reduce(&mut InCircuit::new(&mut builder), parameters, &claims);
    claim.push(value);
    let end = public_inputs(&mut builder, start, key, &claim);
    builder.hash_public(end, [key, flags]);
    builder.finish()
}

/// The circuit that verifies proofs of circuits of its own heights.
fn fixed_point<K: Extension>(rounds: &[Round]) -> (Circuit<K>, Parameters<K>) {
    let mut blocks = [27, 31, 23, 2, 1, 1];
    let mut variables = 22;
    for _ in 0..10 {
        let parameters = parameters::<K>(rounds, blocks, variables);
        let circuit = circuit(&parameters);
        let next = Table::ALL.map(|table| circuit.layout().shape(table).map_or(0, |shape| shape.blocks()));
        let needed = circuit.layout().committed().variables();
        if (next, needed) == (blocks, variables) {
            return (circuit, parameters);
        }
        (blocks, variables) = (next, needed);
    }
    panic!("no fixed point");
}

fn counts<K: Extension>(rounds: &[Round]) -> Vec<usize> {
    let (circuit, parameters) = fixed_point::<K>(rounds);
    let layout = circuit.layout();
    let mut counts = Table::ALL.map(|table| circuit.rows(table)).to_vec();
    counts.extend([layout.committed().elements(), layout.fixed().elements()]);
    counts.extend([layout.bus_variables(), parameters.schedule().variables, parameters.schedule().width]);
    counts
}

/// Rows of permutations, operations, dots, queries, bits and constants; committed elements, fixed elements; variables of the bus and of the
/// committed stack; columns of the first oracle.
#[test]
fn a_circuit_of_two_verifiers_has_these_rows() {
    let unique = counts::<Quadratic>(&UNIQUE_100);
    assert_eq!(unique, [13_596, 14_588, 14_394, 1_028, 354, 172, 2_269_184, 614_400, 19, 22, 72]);
    let johnson = counts::<Cubic>(&JOHNSON_128);
    assert_eq!(johnson, [8_986, 13_078, 11_296, 406, 142, 172, 1_753_088, 438_272, 19, 21, 112]);
}

#[test]
fn bits() {
    let (_, parameters) = fixed_point::<Quadratic>(&UNIQUE_100);
    let terms = unique_decoding(&parameters);
    let shown: Vec<String> = terms.iter().map(|term| format!("{} {:.1}", term.name, term.bits)).collect();
    let model = "bus 106.4, layer of the bus 126.4, lambda 120.2, round over rows 125.0, eta 119.5, claims 126.0, \
                 folds 0 108.0, joining 0 120.3, folds 1 113.4, joining 1 121.0, folds 2 114.0, joining 2 121.5, \
                 folds 3 115.0, joining 3 121.5, queries 0 100.3, queries 1 100.8, queries 2 101.0, queries 3 100.5";
    assert_eq!(shown.join(", "), model);
    assert!(terms.iter().all(|term| term.bits >= 100.0));
}

/// The verifier on a proof of random elements, by itself and in a circuit: both sides of each of its equations are the same.
fn the_verifier_is_the_same_in_a_circuit<K: Extension>(rounds: &[Round]) {
    let (_, parameters) = fixed_point::<K>(rounds);
    let mut elements = Elements::new(11);
    let data = elements.bases(1 << 18);
    let words: [[Goldilocks; WORD]; 2] = [0, 1].map(|_| core::array::from_fn(|_| elements.base()));
    let claim = |point: Vec<K>| Claim::At { value: point[0], point };
    let z: Vec<K> = elements.elements(parameters.layout().fixed().variables() + 1);

    let mut reader = Reader::<K>::new(&data);
    let statement = Statement { key: words[0], circuit: true, public: words[1] };
    let own = verify(&mut reader, &parameters, &statement);
    let _ = reduce(&mut reader, &parameters, &[Claim::Fixed(own), claim(z.clone())]);
    let taken = reader.taken();
    assert!(taken < data.len());

    let mut builder = Builder::new(parameters.tables().clone());
    let [key, public] = words.map(|word| builder.word(word));
    let one = builder.one();
    let circuit = builder.boolean(one);
    let z: Vec<Element> = z.into_iter().map(|x| builder.element(x)).collect();
    let statement = Statement { key, circuit, public };
    let own = verify(&mut InCircuit::new(&mut builder), &parameters, &statement);
    let handed = Claim::At { value: z[0], point: z };
    let _ = reduce(&mut InCircuit::new(&mut builder), &parameters, &[Claim::Fixed(own), handed]);
    let circuit = builder.finish();
    let witness = circuit.witness(&data[..taken]).unwrap();
    // The first check is that of the circuit's bit.
    let equations = &circuit.checks(&witness)[1..];
    assert!(equations.len() > 20);
    assert_eq!(equations, reader.equations());
}

#[test]
fn the_verifier_in_a_circuit_is_the_one_that_reads() {
    the_verifier_is_the_same_in_a_circuit::<Quadratic>(&UNIQUE_100);
    the_verifier_is_the_same_in_a_circuit::<Cubic>(&JOHNSON_128);
}

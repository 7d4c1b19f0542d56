//! The size of a circuit that verifies two proofs of its own kind, and a comparison of its verifier with the one that
//! reads.

use evergrove_multilinear::circuit::wires::Element;
use evergrove_multilinear::circuit::{Builder, InCircuit};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};
use evergrove_verifier::argument::soundness::{Term, johnson, unique_decoding};
use evergrove_verifier::argument::{Claim, JOHNSON_128, Reader, Round, Statement, UNIQUE_100, reduce, tags, verify};
use evergrove_verifier::tables::{Table, WORD};

use crate::common::Elements;
use crate::recursion::merges;

fn counts<K: Extension>(rounds: &[Round]) -> Vec<usize> {
    let (circuit, parameters) = merges::<K>(rounds);
    let layout = circuit.layout();
    // Tables of applications have no rows.
    let mut counts = Table::ALL.map(|table| circuit.rows(table)).to_vec();
    assert!(counts.drain(8..).all(|rows| rows == 0));
    counts.extend([layout.committed().elements(), layout.fixed().elements()]);
    counts.extend([layout.bus_variables(), parameters.schedule().variables, parameters.schedule().width]);
    counts
}

/// Rows of permutations, operations, dots, queries, bits, constants, tuples and sponges; committed elements, fixed elements; variables of the bus and of the
/// committed stack; columns of the first oracle.
#[test]
fn a_circuit_of_two_verifiers_has_these_rows() {
    let unique = counts::<Quadratic>(&UNIQUE_100);
    assert_eq!(unique, [13_585, 14_588, 14_394, 1_028, 354, 175, 0, 0, 2_269_184, 614_400, 19, 22, 72]);
    let johnson = counts::<Cubic>(&JOHNSON_128);
    assert_eq!(johnson, [8_965, 13_078, 11_296, 406, 142, 175, 0, 0, 1_753_088, 438_272, 19, 21, 112]);
}

#[test]
fn bits() {
    let (_, parameters) = merges::<Quadratic>(&UNIQUE_100);
    let terms = unique_decoding(&parameters);
    let shown: Vec<String> = terms.iter().map(|term| format!("{} {:.1}", term.name, term.bits)).collect();
    let model = "bus 106.4, layer of the bus 126.4, lambda 120.1, round over rows 125.0, eta 119.5, claims 126.0, \
                 folds 0 108.0, joining 0 120.3, folds 1 113.4, joining 1 121.0, folds 2 114.0, joining 2 121.5, \
                 folds 3 115.0, joining 3 121.5, queries 0 100.3, queries 1 100.8, queries 2 101.0, queries 3 100.5";
    assert_eq!(shown.join(", "), model);
    assert!(terms.iter().all(|term| term.bits >= 100.0));
}

/// Up to the Johnson bound. The design's model, whose terms were compared with soundcalc's, has 128.2 for the queries of the first oracle: it takes
/// the multiplicity that needs the fewest queries.
#[test]
fn bits_up_to_the_johnson_bound() {
    let (_, parameters) = merges::<Cubic>(&JOHNSON_128);
    let terms = johnson(&parameters);
    assert!(terms.iter().all(|term| term.bits >= 128.0), "{terms:?}");
    let shown: Vec<String> = terms.iter().map(|term| format!("{} {:.1}", term.name, term.bits)).collect();
    let model = "bus 161.6, layer of the bus 181.6, lambda 175.3, round over rows 180.2, eta 174.6, claims 181.2, \
                 joining samples 182.2, samples 0 154.4, folds 0 128.7, queries 0 128.6, joining 0 175.2, \
                 samples 1 159.1, folds 1 129.9, queries 1 129.8, joining 1 175.7, samples 2 162.1, folds 2 131.3, \
                 queries 2 131.3, joining 2 186.9";
    assert_eq!(shown.join(", "), model);
    // The field of degree two is too small for the bound of folds there.
    let (_, parameters) = merges::<Quadratic>(&UNIQUE_100);
    let least = |terms: Vec<Term>| terms.into_iter().map(|term| term.bits).fold(f64::INFINITY, f64::min);
    assert_eq!(format!("{:.1} {:.1}", least(unique_decoding(&parameters)), least(johnson(&parameters))), "100.3 91.2");
}

/// The verifier on a proof of random elements, by itself and in a circuit: both sides of each of its equations are the same.
fn the_verifier_is_the_same_in_a_circuit<K: Extension>(rounds: &[Round]) {
    let (_, parameters) = merges::<K>(rounds);
    let mut elements = Elements::new(11);
    let data = elements.bases(1 << 18);
    let words: [[Goldilocks; WORD]; 2] = [0, 1].map(|_| core::array::from_fn(|_| elements.base()));
    let claim = |point: Vec<K>| Claim::At { value: point[0], point };
    let z: Vec<K> = elements.elements(parameters.layout().fixed().variables() + 1);

    let mut reader = Reader::<K>::new(&data);
    let statement = Statement { key: words[0], circuit: true, public: words[1] };
    let own = verify(&mut reader, &parameters, &statement);
    let _ = reduce(&mut reader, &parameters, words[0], &[Claim::Fixed(own), claim(z.clone())]);
    let taken = reader.taken();
    assert!(taken < data.len());

    let mut builder = Builder::new(parameters.tables().clone());
    let [key, public] = words.map(|word| builder.word(word));
    let one = builder.one();
    let circuit = builder.boolean(one);
    let z: Vec<Element> = z.into_iter().map(|x| builder.element(x)).collect();
    let statement = Statement { key, circuit, public };
    let own = verify(&mut InCircuit::new(&mut builder, tags::TRANSCRIPT), &parameters, &statement);
    let handed = Claim::At { value: z[0], point: z };
    let _ = reduce(&mut InCircuit::new(&mut builder, tags::TRANSCRIPT), &parameters, key, &[Claim::Fixed(own), handed]);
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

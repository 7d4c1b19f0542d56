//! How large a circuit is that verifies two proofs of its own kind, and that the verifier in it is the one that reads.

use evergrove_multilinear::circuit::wires::{Base, Element, Word};
use evergrove_multilinear::circuit::{Builder, Circuit, InCircuit};
use evergrove_multilinear::tables::{Layout, Table, Tables, WORD, bits, query};
use evergrove_multilinear::verifier::{Claim, Parameters, Reader, Round, Schedule, Statement, reduce, tags, verify};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};

use crate::common::Elements;

/// Folds, rates, queries, caps and grinding of each oracle.
struct Profile {
    rounds: &'static [Round],
}

const fn round(fold: usize, rate: usize, queries: usize, cap: usize, grinding: usize) -> Round {
    Round { fold, rate, queries, cap, grinding }
}

/// 100 bits by unique decoding, over K of degree two.
const UNIQUE: Profile = Profile {
    rounds: &[round(7, 1, 208, 9, 14), round(4, 2, 128, 8, 14), round(4, 5, 91, 8, 14), round(2, 8, 87, 8, 14)],
};
/// 128 bits up to the Johnson bound, over K of degree three.
const JOHNSON: Profile = Profile { rounds: &[round(7, 2, 113, 8, 16), round(4, 4, 57, 7, 16), round(4, 7, 33, 7, 16)] };

/// The parameters of circuits of these heights.
fn parameters<K: Extension>(profile: &Profile, blocks: [usize; 6], variables: usize) -> Parameters<K> {
    let folds: usize = profile.rounds[0].fold;
    let mut schedule = Schedule { variables, width: 0, rounds: profile.rounds.to_vec() };
    let depths: Vec<usize> = (0..schedule.rounds.len()).map(|i| schedule.depth(i)).collect();
    let tables = Tables::new(
        query::Parameters { bits: *depths.iter().max().unwrap(), variables: variables - folds },
        bits::Parameters::new(depths, vec![0..profile.rounds[0].grinding]),
    );
    let layout = Layout::new(&tables, blocks);
    schedule.width = layout.committed().elements().div_ceil(1 << (variables - folds)).next_multiple_of(8);
    Parameters { tables, layout, schedule }
}

/// A circuit that verifies two proofs, and reduces their claims about fixed columns and those that they hand on.
fn circuit<K: Extension>(parameters: &Parameters<K>) -> Circuit<K> {
    let mut builder = Builder::new(parameters.tables.clone());
    let key = {
        let tag = builder.tag(tags::PUBLIC_INPUTS);
        let (_, [key, _]) = builder.hash_free(tag);
        key
    };
    let mut claims = Vec::new();
    for _ in 0..2 {
        // Public inputs: commitment and digest, height and base, key; the claim that is handed on.
        let mut h = builder.tag(tags::PUBLIC_INPUTS);
        (h, _) = builder.hash_free(h);
        let (next, [_, _]) = builder.hash_free(h);
        h = builder.hash(next, [key, key]);
        let mut handed = Vec::new();
        while handed.len() < parameters.layout.fixed().variables() + 2 {
            let count = builder.elements_of_block();
            let (next, elements) = builder.hash_free_elements(h, count);
            h = next;
            handed.extend(elements);
        }
        let public_word = h.digest();
        let public = core::array::from_fn::<_, WORD, _>(|i| builder.limb(public_word, i).into());
        let (_, flags) = {
            let tag = builder.tag(tags::PUBLIC_INPUTS);
            builder.hash_free(tag)
        };
        let kind = builder.limb(flags[0], 0);
        let kind = builder.boolean(kind);
        let kind = Element::from(Base::from(kind));
        let statement = Statement { key, circuit: kind, public, public_word };
        let own = verify(&mut InCircuit::new(&mut builder), parameters, &statement);
        claims.push(Claim::Fixed(own));
        handed.truncate(parameters.layout.fixed().variables() + 2);
        let value = handed.pop().unwrap();
        claims.push(Claim::At { point: handed, value });
    }
    let (point, value) = reduce(&mut InCircuit::new(&mut builder), parameters, &claims);
    let mut h = builder.tag(tags::PUBLIC_INPUTS);
    for part in [&point[..], &[value]].concat().chunks(builder.elements_of_block()) {
        h = builder.hash_elements(h, part);
    }
    builder.hash_public(h, [key, Word::from(value)]);
    builder.finish()
}

/// The circuit that verifies proofs of circuits of its own heights.
fn fixed_point<K: Extension>(profile: &Profile) -> (Circuit<K>, Parameters<K>) {
    let mut blocks = [27, 31, 23, 2, 1, 1];
    let mut variables = 22;
    for _ in 0..10 {
        let parameters = parameters::<K>(profile, blocks, variables);
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

fn counts<K: Extension>(profile: &Profile) -> Vec<usize> {
    let (circuit, parameters) = fixed_point::<K>(profile);
    let layout = circuit.layout();
    let mut counts = Table::ALL.map(|table| circuit.rows(table)).to_vec();
    counts.extend([layout.committed().elements(), layout.fixed().elements()]);
    counts.extend([layout.bus_variables(), parameters.schedule.variables, parameters.schedule.width]);
    counts
}

/// Rows of permutations, operations, dots, queries, bits and constants; committed elements, fixed elements; variables of the bus and of the
/// committed stack; columns of the first oracle.
#[test]
fn a_circuit_of_two_verifiers_has_these_rows() {
    let unique = counts::<Quadratic>(&UNIQUE);
    assert_eq!(unique, [13_586, 14_588, 14_394, 1_028, 354, 172, 2_269_184, 614_400, 19, 22, 72]);
    let johnson = counts::<Cubic>(&JOHNSON);
    assert_eq!(johnson, [8_958, 12_670, 11_296, 406, 142, 172, 1_744_896, 434_176, 19, 21, 112]);
}

/// The verifier on a proof of random elements, by itself and in a circuit: both sides of each of its equations are the same.
fn the_verifier_is_the_same_in_a_circuit<K: Extension>(profile: &Profile) {
    let (_, parameters) = fixed_point::<K>(profile);
    let mut elements = Elements::new(11);
    let data = elements.bases(1 << 18);
    let words: [[Goldilocks; WORD]; 2] = [0, 1].map(|_| core::array::from_fn(|_| elements.base()));
    let one = K::ONE;
    let claim = |point: Vec<K>| Claim::At { value: point[0], point };
    let z: Vec<K> = elements.elements(parameters.layout.fixed().variables() + 1);

    let mut reader = Reader::<K>::new(&data);
    let statement = Statement { key: words[0], circuit: one, public: words[1].map(K::from), public_word: words[1] };
    let own = verify(&mut reader, &parameters, &statement);
    reduce(&mut reader, &parameters, &[Claim::Fixed(own), claim(z.clone())]);
    let taken = reader.taken();
    assert!(taken < data.len());

    let mut builder = Builder::new(parameters.tables.clone());
    let [key, public_word] = words.map(|word| builder.word(word));
    let public = words[1].map(|x| builder.constant(x).into());
    let circuit = builder.one().into();
    let z: Vec<Element> = z.into_iter().map(|x| builder.element(x)).collect();
    let statement = Statement { key, circuit, public, public_word };
    let own = verify(&mut InCircuit::new(&mut builder), &parameters, &statement);
    let handed = Claim::At { value: z[0], point: z };
    reduce(&mut InCircuit::new(&mut builder), &parameters, &[Claim::Fixed(own), handed]);
    let circuit = builder.finish();
    let witness = circuit.witness(&data[..taken]).unwrap();
    let equations = circuit.checks(&witness);
    assert!(equations.len() > 20);
    assert_eq!(equations, reader.equations());
}

#[test]
fn the_verifier_in_a_circuit_is_the_one_that_reads() {
    the_verifier_is_the_same_in_a_circuit::<Quadratic>(&UNIQUE);
    the_verifier_is_the_same_in_a_circuit::<Cubic>(&JOHNSON);
}

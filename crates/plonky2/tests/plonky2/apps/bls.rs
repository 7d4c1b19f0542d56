//! The aggregation of BLS keys by Plonky2: the laws, additions, rows.

#[path = "../../../../apps/tests/apps/bls/laws.rs"]
mod laws;

/// The circuits that the laws compare with the code.
use evergrove_plonky2::apps::laws as circuits;

use ark_bls12_381::Fq;
use evergrove_apps::MapReduce;
use evergrove_apps::bls::{BlsKeys, Output, Point};
use evergrove_plonky2::apps::bls::{ROWS_PER_ADDITION, rows_per_addition};
use evergrove_plonky2::apps::laws::{MapCircuit, ReduceCircuit};
use evergrove_plonky2::assignment::Assignment;
use evergrove_plonky2::circuit::from_plonky;

use laws::public;

/// Pairs of operands: distinct, equal, inverse, identities, and a point of order 3 outside the subgroup.
fn pairs() -> Vec<[Point; 2]> {
    let [p, q] = [1, 2].map(|seed| Point::of_key(&public(seed)));
    let order_three = Point::new(Fq::from(0_u64), Fq::from(2_u64)).expect("0 + 4 = 2^2");
    let none = Point::IDENTITY;
    vec![
        [p, q],
        [p, p],
        [p, p.neg()],
        [p, none],
        [none, p],
        [none, none],
        [order_three, order_three],
        [order_three, order_three.neg()],
        [order_three, p],
        [p.add(&q), q],
    ]
}

#[test]
fn additions_are_complete() {
    let circuit = ReduceCircuit::build(&BlsKeys);
    for (k, [p, q]) in pairs().into_iter().enumerate() {
        let [left, right] = [(p, 5), (q, 1 << 39)].map(|(key, count)| Output { key, count }.to_elements());
        let due = BlsKeys.reduce(&left, &right).expect("two outputs");
        let inputs = circuit.inputs(&left, &right);
        let assignment = Assignment::complete(&circuit.data, &[], inputs);
        assert_eq!(assignment.violations(), Default::default(), "pair {k}");
        let found: Vec<_> = assignment.public_inputs().iter().copied().map(from_plonky).collect();
        assert_eq!(found, due, "pair {k}");
    }
}

#[test]
fn circuits_are_proven() {
    let circuit = ReduceCircuit::build(&BlsKeys);
    let [p, q] = [Point::of_key(&public(1)), Point::of_key(&public(2))];
    let [left, right] = [(p, 5), (q, 7)].map(|(key, count)| Output { key, count }.to_elements());
    let prover = evergrove_plonky2::prover::Prover::new(&circuit.data).expect("a circuit of this prover's");
    let ours = prover.prove(&circuit.data, circuit.inputs(&left, &right)).expect("a proof");
    circuit.data.verify(ours).expect("a proof that verifies");
    let theirs = circuit.data.prove(circuit.inputs(&left, &right)).expect("a proof");
    circuit.data.verify(theirs).expect("a proof that verifies");
}

#[test]
fn rows_are_those_of_the_snapshot() {
    let rows = [MapCircuit::build(&BlsKeys).rows, ReduceCircuit::build(&BlsKeys).rows, rows_per_addition()];
    assert_eq!(rows, [36, 58, ROWS_PER_ADDITION], "rows of a leaf, of a reduction, of an addition");
}

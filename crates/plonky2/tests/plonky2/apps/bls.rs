//! The aggregation of BLS keys by Plonky2: the laws, additions, rows.

#[path = "../../../../apps/tests/apps/bls/laws.rs"]
mod laws;

/// The circuits that the laws compare with the code.
use evergrove_plonky2::apps::laws as circuits;

use ark_bls12_381::Fq;
use evergrove_apps::MapReduce;
use evergrove_apps::bls::{BlsKeys, Output, POINT_ELEMENTS, Point};
use evergrove_plonky2::apps::bls::{Addition, PointTargets};
use evergrove_plonky2::apps::laws::{MapCircuit, ReduceCircuit};
use evergrove_plonky2::assignment::Assignment;
use evergrove_plonky2::circuit::{Builder, from_plonky};
use plonky2::plonk::circuit_data::CircuitConfig;

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

/// Rows that an addition takes in a circuit of many, on a sum of 64 points.
fn rows_per_addition() -> usize {
    const POINTS: usize = 64;
    let mut b = Builder::new(CircuitConfig::standard_recursion_config());
    let point = |b: &mut Builder| PointTargets::of_output(&b.add_virtual_targets(POINT_ELEMENTS));
    let mut sum = point(&mut b);
    let before = b.num_gates();
    for _ in 1..POINTS {
        let next = point(&mut b);
        sum = Addition::build(&mut b, &sum, &next).sum;
    }
    (b.num_gates() - before).div_ceil(POINTS - 1)
}

#[test]
fn rows_are_those_of_the_snapshot() {
    let rows = [MapCircuit::build(&BlsKeys).rows, ReduceCircuit::build(&BlsKeys).rows, rows_per_addition()];
    assert_eq!(rows, [36, 58, 48], "rows of a leaf, of a reduction, of an addition");
}

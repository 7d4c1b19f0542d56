//! Attacks on the gadgets by setting wires: each derived wire is forced to a value that differs from the one that the
//! inputs give, with the wires around it chosen so that as much as possible still holds.

use evergrove_commit::schema::{Column, ColumnType, Schema};
use evergrove_primitives::Goldilocks;
use plonky2::field::types::Field;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};

use evergrove_apps::aggregate::{PRODUCTS, SUM, Width};
use evergrove_apps::aggregate::{Plan, Query};

use super::number::{at_least, at_least_constant, normalise, reduce_limbs};
use super::row::RowTargets;
use crate::apps::LeafTargets;
use crate::assignment::{Assignment, assert_refused_at_a_child};
use crate::circuit::{Builder, C, D, F, to_plonky};

/// A circuit of one gadget.
struct Gadget<T> {
    data: CircuitData<F, C, D>,
    inputs: Vec<Target>,
    wires: T,
}

impl<T> Gadget<T> {
    fn build(inputs: usize, gadget: impl FnOnce(&mut Builder, &[Target]) -> T) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let inputs = b.add_virtual_targets(inputs);
        let wires = gadget(&mut b, &inputs);
        Self { data: b.build(), inputs, wires }
    }

    fn assignment(&self, inputs: &[u64], forced: &[(Target, u64)]) -> Assignment<'_> {
        let mut pw = PartialWitness::new();
        for (t, x) in self.inputs.iter().zip(inputs) {
            pw.set_target(*t, F::from_canonical_u64(*x)).unwrap();
        }
        let forced: Vec<_> = forced.iter().map(|(t, x)| (*t, F::from_noncanonical_u64(*x))).collect();
        Assignment::complete(&self.data, &forced, pw)
    }

    #[track_caller]
    fn holds(&self, inputs: &[u64], forced: &[(Target, u64)]) {
        assert_eq!(self.assignment(inputs, forced).violations(), Default::default(), "{inputs:?}");
    }

    #[track_caller]
    fn refuses(&self, inputs: &[u64], forced: &[(Target, u64)]) {
        assert_refused_at_a_child(&self.assignment(inputs, forced));
    }
}

fn limbs(x: u64) -> [u64; 2] {
    [x & 0xffff_ffff, x >> 32]
}

/// Numbers at the ends of limbs, and the pairs whose difference wraps around p into the range of a number.
const EDGES: [u64; 10] = [
    0,
    1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 62) - 1,
    (1 << 63) - (1 << 32),
    (1 << 63) - (1 << 32) + 1,
    (1 << 63) - 1,
    1 << 63,
];

#[test]
fn no_comparison_has_another_outcome() {
    let gadget = Gadget::build(4, |b, x| at_least(b, [x[0], x[1]], [x[2], x[3]]));
    for l in EDGES {
        for r in EDGES {
            let inputs = [limbs(l), limbs(r)].concat();
            gadget.holds(&inputs, &[(gadget.wires.target, (l >= r) as u64)]);
            gadget.refuses(&inputs, &[(gadget.wires.target, (l < r) as u64)]);
        }
    }
}

#[test]
fn no_comparison_with_a_constant_has_another_outcome() {
    for bound in EDGES.into_iter().filter(|b| (1..1 << 63).contains(b)).chain([10, 3 << 32]) {
        let gadget = Gadget::build(2, |b, x| at_least_constant(b, [x[0], x[1]], bound));
        for x in EDGES.into_iter().filter(|x| *x < 1 << 63).chain([9, 10, 11, (3 << 32) - 1, 3 << 32]) {
            gadget.holds(&limbs(x), &[(gadget.wires.target, (x >= bound) as u64)]);
            gadget.refuses(&limbs(x), &[(gadget.wires.target, (x < bound) as u64)]);
        }
    }
}

#[test]
fn no_sum_has_other_limbs() {
    for width in [SUM, PRODUCTS] {
        let Width { limb_bits, limbs } = width;
        let gadget = Gadget::build(2 * limbs, |b, x| reduce_limbs(b, width, &x[..limbs], &x[limbs..]));
        let most = (1 << limb_bits) - 1;
        let mut inputs = vec![0; 2 * limbs];
        inputs[0] = most;
        inputs[1] = 5;
        inputs[limbs] = 1;
        gadget.holds(&inputs, &[(gadget.wires[0], 0), (gadget.wires[1], 6)]);
        // The carry stays in the limb, or is taken from the limb above.
        gadget.refuses(&inputs, &[(gadget.wires[0], 1 << limb_bits), (gadget.wires[1], 5)]);
        gadget.refuses(&inputs, &[(gadget.wires[0], 0), (gadget.wires[1], 5)]);
        gadget.refuses(&inputs, &[(gadget.wires[0], Goldilocks::ORDER - (1 << limb_bits)), (gadget.wires[1], 7)]);
        // The last limb has nowhere to carry to.
        inputs[limbs - 1] = most;
        inputs[2 * limbs - 1] = 1;
        gadget.refuses(&inputs, &[]);
        gadget.refuses(&inputs, &[(gadget.wires[limbs - 1], 1 << limb_bits)]);
        gadget.refuses(&inputs, &[(gadget.wires[limbs - 1], 0)]);

        let gadget = Gadget::build(3, |b, x| normalise(b, width, x));
        let inputs = [(1 << 61) - 1, (1 << 61) - 1, 0];
        gadget.holds(&inputs, &[]);
        let low = inputs[0] & most;
        gadget.refuses(&inputs, &[(gadget.wires[0], low + 1)]);
        gadget.refuses(&inputs, &[(gadget.wires[0], low + (1 << limb_bits))]);
        gadget.refuses(&inputs, &[(gadget.wires[limbs - 1], 1)]);
    }
}

/// The wires that a row's attack may set.
struct RowWires {
    passes: BoolTarget,
    known: [Option<BoolTarget>; 3],
    number: [Target; 2],
    factor: [Target; 3],
}

/// Columns u (63 bits), s (signed, nullable) and k (text, nullable), in one row of six elements.
fn row(sql: &str) -> (Plan, Gadget<RowWires>) {
    let columns = vec![
        Column::new("u", ColumnType::Unsigned),
        Column::new("s", ColumnType::Signed).nullable(),
        Column::new("k", ColumnType::Bytes).nullable(),
    ];
    let plan = Query::parse(&Schema::new(columns).unwrap(), sql).unwrap().plan().clone();
    let gadget = Gadget::build(11, |b, x| {
        let active = BoolTarget::new_unsafe(x[0]);
        b.assert_bool(active);
        let leaf = LeafTargets { active, index: x[0], value: [x[1], x[2], x[3], x[4]], opening: x[5..].to_vec() };
        let mut row = RowTargets::open(&plan, b, &leaf);
        let passes = row.passes(b);
        let known = [0, 1, 2].map(|c| row.known(b, c));
        RowWires { passes, known, number: row.number(b, 0), factor: row.factor(b, 0) }
    });
    (plan, gadget)
}

fn inputs(plan: &Plan, cells: &[&str]) -> Vec<u64> {
    let row = plan.schema().parse_row(cells).unwrap();
    let elements = plan.schema().elements(&row).unwrap();
    let value = plan.schema().value(&row).unwrap();
    std::iter::once(1).chain(value.into_iter().chain(elements).map(|x| to_plonky(x).0)).collect()
}

#[test]
fn no_row_reads_otherwise_than_it_is() {
    let (plan, gadget) = row("SELECT SUM(u * u), COUNT(k) FROM t WHERE s < 0 AND k = 'a' OR s IS NULL");
    let wires = &gadget.wires;
    assert!(wires.known[0].is_none());
    for (cells, passes, known) in [
        (["4294967296", "-1", "a"], true, [true, true]),
        (["0", "0", "a"], false, [true, true]),
        (["9223372036854775807", "-1", "b"], false, [true, true]),
        (["5", "", "a"], true, [false, true]),
        (["5", "-5", ""], false, [true, false]),
    ] {
        let inputs = inputs(&plan, &cells);
        gadget.holds(&inputs, &[(wires.passes.target, passes as u64)]);
        gadget.refuses(&inputs, &[(wires.passes.target, !passes as u64)]);
        gadget.refuses(&inputs, &[(wires.passes.target, 2)]);
        for (k, known) in known.into_iter().enumerate() {
            let wire = wires.known[k + 1].unwrap().target;
            gadget.holds(&inputs, &[(wire, known as u64)]);
            gadget.refuses(&inputs, &[(wire, !known as u64)]);
        }
    }
}

#[test]
fn no_number_has_other_limbs() {
    let (plan, gadget) = row("SELECT SUM(u * u) FROM t");
    let wires = &gadget.wires;
    let x = (5 << 48) + (7 << 32) + (3 << 24) + 9;
    let inputs = inputs(&plan, &[&x.to_string(), "", ""]);
    gadget.holds(&inputs, &[]);
    let [low, high] = limbs(x);
    gadget.refuses(&inputs, &[(wires.number[0], low + (1 << 32)), (wires.number[1], high - 1)]);
    gadget.refuses(&inputs, &[(wires.number[0], low - 1), (wires.number[1], high)]);
    let [a, b, c] = [x & 0xff_ffff, x >> 24 & 0xff_ffff, x >> 48];
    gadget.refuses(&inputs, &[(wires.factor[0], a + (1 << 24)), (wires.factor[1], b - 1)]);
    gadget.refuses(&inputs, &[(wires.factor[1], b + (1 << 24)), (wires.factor[2], c - 1)]);
    gadget.refuses(&inputs, &[(wires.factor[0], a), (wires.factor[1], b), (wires.factor[2], c + 1)]);
}

#[test]
fn no_other_row_opens_the_value() {
    let (plan, gadget) = row("SELECT SUM(u), COUNT(k) FROM t");
    let honest = inputs(&plan, &["7", "1", "a"]);
    gadget.holds(&honest, &[]);
    for at in 1..11 {
        let mut other = honest.clone();
        other[at] ^= 1;
        gadget.refuses(&other, &[]);
        // Of a slot that holds no leaf nothing is shown, and nothing counts.
        other[0] = 0;
        gadget.holds(&other, &[]);
    }
    let mut beyond = inputs(&plan, &["7", "1", "a"]);
    beyond[5] = 1 << 63;
    beyond[0] = 0;
    gadget.refuses(&beyond, &[]);
}

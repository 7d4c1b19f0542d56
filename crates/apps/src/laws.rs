//! The laws of an application, for its tests.
//!
//! [`check`] holds code against circuits on leaves of the caller's; [`refuses_leaf`] and [`refuses_pair`] show that both
//! refuse. [`MapCircuit`] and [`ReduceCircuit`] are the circuits on their own, for attacks that set wires
//! ([`evergrove_recursion::assignment`]); [`FoldCircuit`] is that of a bucket's slots.

use evergrove_primitives::Goldilocks;
use evergrove_proof::tree::Value;
use evergrove_recursion::assignment::{Assignment, assert_refused_at_a_child};
use evergrove_recursion::circuit::{Builder, C, D, F, from_plonky, to_plonky};
use plonky2::field::types::Field;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};

use crate::{Leaf, LeafTargets, MapReduce};

mod tables;

use tables::OnTables;

/// A leaf with what opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Position in the vector.
    pub index: u64,
    /// The slot's value.
    pub value: Value,
    /// What opens the value.
    pub opening: Vec<Goldilocks>,
}

impl Case {
    /// What an honest prover sets where a slot holds no leaf.
    pub fn dummy(app: &dyn MapReduce) -> Self {
        Self { index: 0, value: Value::default(), opening: vec![Goldilocks::ZERO; app.opening_len()] }
    }

    /// The leaf.
    pub fn leaf(&self) -> Leaf<'_> {
        Leaf { index: self.index, value: self.value, opening: &self.opening }
    }
}

/// The map's circuit on its own. Its public inputs are the output.
pub struct MapCircuit {
    /// The circuit.
    pub data: CircuitData<F, C, D>,
    /// Its leaf.
    pub leaf: LeafTargets,
    /// The output.
    pub output: Vec<Target>,
    /// Rows in use.
    pub rows: usize,
}

impl MapCircuit {
    /// The circuit of an application's map.
    ///
    /// # Panics
    /// If the output has not `output_len()` elements.
    pub fn build(app: &dyn MapReduce) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let leaf = slot(app, &mut b);
        let output = app.map_circuit(&mut b, &leaf);
        assert_eq!(output.len(), app.output_len(), "elements of a mapped leaf");
        b.register_public_inputs(&output);
        let rows = b.num_gates();
        Self { data: b.build(), leaf, output, rows }
    }

    /// What an honest prover sets for a leaf, or for a slot without one.
    pub fn inputs(&self, active: bool, case: &Case) -> PartialWitness<F> {
        let mut pw = PartialWitness::new();
        set_slot(&mut pw, &self.leaf, active, case);
        pw
    }
}

/// The reduction's circuit on its own. Its public inputs are the output.
pub struct ReduceCircuit {
    /// The circuit.
    pub data: CircuitData<F, C, D>,
    /// The two operands.
    pub operands: [Vec<Target>; 2],
    /// The output.
    pub output: Vec<Target>,
    /// Rows in use.
    pub rows: usize,
}

impl ReduceCircuit {
    /// The circuit of an application's reduction.
    ///
    /// # Panics
    /// If the output has not `output_len()` elements.
    pub fn build(app: &dyn MapReduce) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let operands = [(); 2].map(|()| b.add_virtual_targets(app.output_len()));
        let output = app.reduce_circuit(&mut b, &operands[0], &operands[1]);
        assert_eq!(output.len(), app.output_len(), "elements of a reduction");
        b.register_public_inputs(&output);
        let rows = b.num_gates();
        Self { data: b.build(), operands, output, rows }
    }

    /// What an honest prover sets for two operands.
    pub fn inputs(&self, left: &[Goldilocks], right: &[Goldilocks]) -> PartialWitness<F> {
        let mut pw = PartialWitness::new();
        for (targets, values) in self.operands.iter().zip([left, right]) {
            for (t, x) in targets.iter().zip(values) {
                pw.set_target(*t, to_plonky(*x)).expect("each target once");
            }
        }
        pw
    }
}

/// The fold's circuit on its own, over `n` slots. Its public inputs are the output.
pub struct FoldCircuit {
    /// The circuit.
    pub data: CircuitData<F, C, D>,
    /// Its slots.
    pub slots: Vec<LeafTargets>,
    /// The output.
    pub output: Vec<Target>,
    /// Rows in use.
    pub rows: usize,
}

impl FoldCircuit {
    /// The circuit of an application's fold over `n` slots.
    ///
    /// # Panics
    /// If the output has not `output_len()` elements.
    pub fn build(app: &dyn MapReduce, n: usize) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let slots: Vec<_> = (0..n).map(|_| slot(app, &mut b)).collect();
        let output = app.fold_circuit(&mut b, &slots);
        assert_eq!(output.len(), app.output_len(), "elements of a fold");
        b.register_public_inputs(&output);
        let rows = b.num_gates();
        Self { data: b.build(), slots, output, rows }
    }

    /// What a prover sets for slots with leaves, active or not.
    pub fn inputs(&self, slots: &[(bool, &Case)]) -> PartialWitness<F> {
        let mut pw = PartialWitness::new();
        for (targets, (active, case)) in self.slots.iter().zip(slots) {
            set_slot(&mut pw, targets, *active, case);
        }
        pw
    }
}

fn slot(app: &dyn MapReduce, b: &mut Builder) -> LeafTargets {
    LeafTargets {
        active: b.add_virtual_bool_target_safe(),
        index: b.add_virtual_target(),
        value: b.add_virtual_target_arr(),
        opening: b.add_virtual_targets(app.opening_len()),
    }
}

fn set_slot(pw: &mut PartialWitness<F>, slot: &LeafTargets, active: bool, case: &Case) {
    let mut set = |t: Target, x: F| pw.set_target(t, x).expect("each target once");
    set(slot.active.target, F::from_bool(active));
    set(slot.index, F::from_canonical_u64(case.index));
    slot.value.iter().zip(case.value).for_each(|(t, x)| set(*t, to_plonky(x)));
    slot.opening.iter().zip(&case.opening).for_each(|(t, x)| set(*t, to_plonky(*x)));
}

/// All laws on these leaves, which the application maps, in the order of their positions.
///
/// The circuits give what the code gives for every leaf, for every pair of neighbouring outputs and for the reduction of
/// growing prefixes; a slot without a leaf satisfies the map's circuit; `identity` is neutral; brackets do not matter,
/// nor does the order where the application says so. Elements of outputs that are changed one by one satisfy no circuit:
/// the output follows from the operands alone.
///
/// # Panics
/// If a law does not hold, and for fewer than three leaves.
pub fn check(app: &dyn MapReduce, cases: &[Case]) {
    assert!(cases.len() >= 3, "three leaves at least, for the associative law");
    assert!(app.output_len() > 0, "an output has at least one element");
    let name = app.name();
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'_');
    assert!((1..=32).contains(&name.len()) && name.bytes().all(plain), "{name:?} is no name");
    let identity = app.identity();
    assert_eq!(identity.len(), app.output_len(), "elements of the identity");

    let circuit = MapCircuit::build(app);
    let dummy = Case::dummy(app);
    let unused = Assignment::complete(&circuit.data, &[], circuit.inputs(false, &dummy));
    assert_eq!(unused.violations(), Default::default(), "{name}: a slot without a leaf");
    let mapped: Vec<Vec<Goldilocks>> = cases
        .iter()
        .map(|case| {
            let native = app.map(&case.leaf()).unwrap_or_else(|e| panic!("{name}: {case:?}: {e}"));
            satisfied(&circuit.data, circuit.inputs(true, case), &native, &format!("{name}: map of {case:?}"));
            native
        })
        .collect();
    determined(&circuit.data, &circuit.output, circuit.inputs(true, &cases[0]), &mapped[0]);

    let circuit = ReduceCircuit::build(app);
    let reduce = |l: &[Goldilocks], r: &[Goldilocks]| {
        let native = app.reduce(l, r).unwrap_or_else(|e| panic!("{name}: {l:?} and {r:?}: {e}"));
        satisfied(&circuit.data, circuit.inputs(l, r), &native, &format!("{name}: reduction of {l:?} and {r:?}"));
        native
    };
    assert_eq!(reduce(&identity, &identity), identity, "{name}: identity with itself");
    let mut prefix = identity.clone();
    for (k, x) in mapped.iter().enumerate() {
        assert_eq!(&reduce(&identity, x), x, "{name}: identity on the left of output {k}");
        assert_eq!(&reduce(x, &identity), x, "{name}: identity on the right of output {k}");
        let next = &mapped[(k + 1) % mapped.len()];
        if app.is_commutative() {
            assert_eq!(reduce(x, next), reduce(next, x), "{name}: outputs {k} and {}, exchanged", k + 1);
        }
        if k + 1 < mapped.len() {
            let (in_front, behind) = (reduce(&reduce(&prefix, x), next), reduce(&prefix, &reduce(x, next)));
            assert_eq!(in_front, behind, "{name}: brackets at output {k}");
        }
        prefix = reduce(&prefix, x);
    }
    let native = app.reduce(&mapped[0], &mapped[1]).unwrap_or_else(|e| panic!("{name}: {e}"));
    determined(&circuit.data, &circuit.output, circuit.inputs(&mapped[0], &mapped[1]), &native);
    check_fold(app, cases, &mapped);
    check_tables(app, &mapped, &native);
}

/// The reduction on tables, of neighbours and of growing prefixes.
fn check_tables(app: &dyn MapReduce, mapped: &[Vec<Goldilocks>], first: &[Goldilocks]) {
    let Some(circuits) = app.on_tables() else { return };
    let circuit = OnTables::reduce(app, circuits);
    let mut prefix = app.identity();
    for x in mapped {
        for (left, right) in [(&prefix, x), (x, &prefix), (x, x)] {
            if let Ok(native) = app.reduce(left, right) {
                circuit.gives(&[&left[..], right].concat(), &native, &format!("{left:?} and {right:?}"));
            }
        }
        prefix = app.reduce(&prefix, x).unwrap_or_else(|e| panic!("{}: {e}", app.name()));
    }
    circuit.determines(&[&mapped[0][..], &mapped[1]].concat(), first, app.name());
}

/// The fold counts the active slots, and nothing of the others: dummies, and leaves that a prover leaves inactive.
fn check_fold(app: &dyn MapReduce, cases: &[Case], mapped: &[Vec<Goldilocks>]) {
    let (name, dummy, n) = (app.name(), Case::dummy(app), cases.len());
    let circuit = FoldCircuit::build(app, n);
    let on_tables = app.on_tables().map(|circuits| (OnTables::fold(app, circuits, n), circuits));
    let all = u64::MAX >> (64 - n.min(64));
    for active in [all, all & 0x5555_5555_5555_5555, 1, 0, all >> 1] {
        let is_active = |k: usize| active >> k.min(63) & 1 == 1;
        let native = (0..n).filter(|k| is_active(*k)).fold(app.identity(), |before, k| {
            app.reduce(&before, &mapped[k]).unwrap_or_else(|e| panic!("{name}: fold: {e}"))
        });
        for others_empty in [true, false] {
            let slot = |(k, case)| (is_active(k), if others_empty && !is_active(k) { &dummy } else { case });
            let slots: Vec<_> = cases.iter().enumerate().map(slot).collect();
            satisfied(&circuit.data, circuit.inputs(&slots), &native, &format!("{name}: fold of {active:b}"));
            if let Some((circuit, circuits)) = &on_tables {
                let free = OnTables::slots(app, *circuits, &slots);
                circuit.gives(&free, &native, &format!("{name}: fold of {active:b}"));
                if active == all && others_empty {
                    circuit.determines(&free, &native, name);
                }
            }
        }
    }
    let slots: Vec<_> = cases.iter().map(|c| (true, c)).collect();
    let assignment = Assignment::complete(&circuit.data, &[], circuit.inputs(&slots));
    let native: Vec<_> = assignment.public_inputs().iter().copied().map(from_plonky).collect();
    determined(&circuit.data, &circuit.output, circuit.inputs(&slots), &native);
}

/// Neither code nor circuit maps the leaf.
///
/// # Panics
/// If one of them does.
pub fn refuses_leaf(app: &dyn MapReduce, case: &Case) {
    assert!(app.map(&case.leaf()).is_err(), "{}: {case:?} is mapped", app.name());
    let circuit = MapCircuit::build(app);
    assert_refused_at_a_child(&Assignment::complete(&circuit.data, &[], circuit.inputs(true, case)));
    if let Some(circuits) = app.on_tables() {
        let circuit = OnTables::fold(app, circuits, 1);
        circuit.refuses(&OnTables::slots(app, circuits, &[(true, case)]), &format!("{case:?}"));
    }
}

/// Neither code nor circuit reduces the two.
///
/// # Panics
/// If one of them does.
pub fn refuses_pair(app: &dyn MapReduce, left: &[Goldilocks], right: &[Goldilocks]) {
    assert!(app.reduce(left, right).is_err(), "{}: {left:?} and {right:?} are reduced", app.name());
    let circuit = ReduceCircuit::build(app);
    assert_refused_at_a_child(&Assignment::complete(&circuit.data, &[], circuit.inputs(left, right)));
    if let Some(circuits) = app.on_tables() {
        OnTables::reduce(app, circuits).refuses(&[left, right].concat(), &format!("{left:?} and {right:?}"));
    }
}

fn satisfied(data: &CircuitData<F, C, D>, inputs: PartialWitness<F>, output: &[Goldilocks], what: &str) {
    assert!(!output.is_empty(), "{what}");
    let assignment = Assignment::complete(data, &[], inputs);
    assert_eq!(assignment.violations(), Default::default(), "{what}");
    let found: Vec<_> = assignment.public_inputs().iter().copied().map(from_plonky).collect();
    assert_eq!(found, output, "{what}");
}

/// No element of the output may be another than it is, as long as the inputs stay.
fn determined(data: &CircuitData<F, C, D>, output: &[Target], inputs: PartialWitness<F>, native: &[Goldilocks]) {
    for (k, target) in output.iter().enumerate() {
        let forced = (*target, to_plonky(native[k]) + F::ONE);
        if inputs.target_values.contains_key(target) {
            // The element is an input handed through: it can not be another while the inputs stay.
            continue;
        }
        let inputs = PartialWitness { target_values: inputs.target_values.clone() };
        assert_refused_at_a_child(&Assignment::complete(data, &[forced], inputs));
    }
}

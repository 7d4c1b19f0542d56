//! The laws of an application with circuits of Plonky2, for its tests.
//!
//! [`check`], [`refuses_leaf`] and [`refuses_pair`] compare the code with these circuits, as those of
//! [`evergrove_apps::laws`] compare it with circuits on tables, using the same outputs of the code.
//!
//! [`MapCircuit`] and [`ReduceCircuit`] are the separate circuits, for attacks that set wires ([`crate::assignment`]);
//! [`FoldCircuit`] is that of a bucket's slots.

use evergrove_apps::MapReduce;
use evergrove_apps::laws::{Case, Outputs, Reduction, folds, outputs};
use evergrove_primitives::Goldilocks;
use plonky2::field::types::Field;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};

use crate::apps::{LeafTargets, Plonky2Circuits};
use crate::assignment::{Assignment, assert_refused_at_a_child};
use crate::circuit::{Builder, C, D, F, from_plonky, to_plonky};

/// The separate circuit of the map. Its public inputs are the output.
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
    /// If the output does not have `output_len()` elements.
    pub fn build(app: &dyn Plonky2Circuits) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let leaf = slot(app, &mut b);
        let output = app.map_circuit(&mut b, &leaf);
        assert_eq!(output.len(), app.output_len(), "elements of a mapped leaf");
        b.register_public_inputs(&output);
        let rows = b.num_gates();
        Self { data: b.build(), leaf, output, rows }
    }

    /// The values that an honest prover sets for a leaf, or for a slot without one.
    pub fn inputs(&self, active: bool, case: &Case) -> PartialWitness<F> {
        let mut pw = PartialWitness::new();
        set_slot(&mut pw, &self.leaf, active, case);
        pw
    }
}

/// The separate circuit of the reduction. Its public inputs are the output.
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
    /// If the output does not have `output_len()` elements.
    pub fn build(app: &dyn Plonky2Circuits) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let operands = [(); 2].map(|()| b.add_virtual_targets(app.output_len()));
        let output = app.reduce_circuit(&mut b, &operands[0], &operands[1]);
        assert_eq!(output.len(), app.output_len(), "elements of a reduction");
        b.register_public_inputs(&output);
        let rows = b.num_gates();
        Self { data: b.build(), operands, output, rows }
    }

    /// The values that an honest prover sets for two operands.
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

/// The separate circuit of the fold, over `n` slots. Its public inputs are the output.
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
    /// If the output does not have `output_len()` elements.
    pub fn build(app: &dyn Plonky2Circuits, n: usize) -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let slots: Vec<_> = (0..n).map(|_| slot(app, &mut b)).collect();
        let output = app.fold_circuit(&mut b, &slots);
        assert_eq!(output.len(), app.output_len(), "elements of a fold");
        b.register_public_inputs(&output);
        let rows = b.num_gates();
        Self { data: b.build(), slots, output, rows }
    }

    /// The values that a prover sets for slots with leaves, active or not.
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

/// All laws on these leaves, which the application maps, in the order of their positions: as [`evergrove_apps::laws::check`], of
/// these circuits.
///
/// # Panics
/// If a law does not hold, and for fewer than three leaves.
pub fn check(app: &dyn Plonky2Circuits, cases: &[Case]) {
    let Outputs { mapped, reductions } = outputs(app, cases);
    let name = app.name();
    let circuit = MapCircuit::build(app);
    let dummy = Case::dummy(app);
    let unused = Assignment::complete(&circuit.data, &[], circuit.inputs(false, &dummy));
    assert_eq!(unused.violations(), Default::default(), "{name}: a slot without a leaf");
    for (case, native) in cases.iter().zip(&mapped) {
        satisfied(&circuit.data, circuit.inputs(true, case), native, &format!("{name}: map of {case:?}"));
    }
    determined(&circuit.data, &circuit.output, circuit.inputs(true, &cases[0]), &mapped[0]);

    let circuit = ReduceCircuit::build(app);
    for Reduction { left, right, output } in &reductions {
        let what = format!("{name}: reduction of {left:?} and {right:?}");
        satisfied(&circuit.data, circuit.inputs(left, right), output, &what);
    }
    let native = app.reduce(&mapped[0], &mapped[1]).unwrap_or_else(|e| panic!("{name}: {e}"));
    determined(&circuit.data, &circuit.output, circuit.inputs(&mapped[0], &mapped[1]), &native);

    let circuit = FoldCircuit::build(app, cases.len());
    for fold in folds(app, cases, &dummy, &mapped) {
        satisfied(&circuit.data, circuit.inputs(&fold.slots), &fold.output, &fold.what);
    }
    let slots: Vec<_> = cases.iter().map(|c| (true, c)).collect();
    let assignment = Assignment::complete(&circuit.data, &[], circuit.inputs(&slots));
    let native: Vec<_> = assignment.public_inputs().iter().copied().map(from_plonky).collect();
    determined(&circuit.data, &circuit.output, circuit.inputs(&slots), &native);
}

/// Neither code nor circuit map the leaf.
///
/// # Panics
/// If the code or the circuit does.
pub fn refuses_leaf(app: &dyn Plonky2Circuits, case: &Case) {
    assert!(app.map(&case.leaf()).is_err(), "{}: {case:?} is mapped", app.name());
    let circuit = MapCircuit::build(app);
    assert_refused_at_a_child(&Assignment::complete(&circuit.data, &[], circuit.inputs(true, case)));
}

/// Neither code nor circuit reduce the two.
///
/// # Panics
/// If the code or the circuit does.
pub fn refuses_pair(app: &dyn Plonky2Circuits, left: &[Goldilocks], right: &[Goldilocks]) {
    assert!(app.reduce(left, right).is_err(), "{}: {left:?} and {right:?} are reduced", app.name());
    let circuit = ReduceCircuit::build(app);
    assert_refused_at_a_child(&Assignment::complete(&circuit.data, &[], circuit.inputs(left, right)));
}

fn satisfied(data: &CircuitData<F, C, D>, inputs: PartialWitness<F>, output: &[Goldilocks], what: &str) {
    assert!(!output.is_empty(), "{what}");
    let assignment = Assignment::complete(data, &[], inputs);
    assert_eq!(assignment.violations(), Default::default(), "{what}");
    let found: Vec<_> = assignment.public_inputs().iter().copied().map(from_plonky).collect();
    assert_eq!(found, output, "{what}");
}

/// As long as the inputs stay, no element of the output may change.
fn determined(data: &CircuitData<F, C, D>, output: &[Target], inputs: PartialWitness<F>, native: &[Goldilocks]) {
    for (k, target) in output.iter().enumerate() {
        let forced = (*target, to_plonky(native[k]) + F::ONE);
        if inputs.target_values.contains_key(target) {
            // The output element is itself an input, so it cannot change while the inputs stay the same.
            continue;
        }
        let inputs = PartialWitness { target_values: inputs.target_values.clone() };
        assert_refused_at_a_child(&Assignment::complete(data, &[forced], inputs));
    }
}
